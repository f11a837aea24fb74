"""The system-call filter: a classic BPF program, assembled here. Standard library only.

A filter sees numbers, not what pointers lead to, so it takes away only what can be told by numbers: whole calls, socket
families, ioctl requests, namespace flags. Arguments that the kernel reads as `int` are compared in their low half only:
with 64 bits compared, a set high bit would pass by.
"""

import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from agentctl.sandbox.syscalls import MACHINES

__all__ = ["Strictness", "assemble"]

_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_KILL: Final = 0x80000000  # the process: an architecture for which the numbers below mean something else

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_SET: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER_AT: Final = 0  # struct seccomp_data: nr, arch, instruction pointer, six arguments of 64 bits
_ARCH_AT: Final = 4
_ARGUMENTS_AT: Final = 16
_X32: Final = 0x40000000

_AF_UNIX: Final = 1
_AF_INET: Final = 2
_AF_INET6: Final = 10
_AF_NETLINK: Final = 16
_SOCK_MASK: Final = 0xF
_SOCK_STREAM: Final = 1
_SOCK_DGRAM: Final = 2
_SOCK_SEQPACKET: Final = 5
_TCP: Final = 6
_UDP: Final = 17
_PING: Final = (1, 58)  # IPPROTO_ICMP, IPPROTO_ICMPV6: datagram sockets for ping, where the machine allows them
_MSG_FASTOPEN: Final = 0x20000000
_PRIO_USER: Final = 2
_IOPRIO_WHO_USER: Final = 3
_TIOCSTI: Final = 0x5412
_TIOCLINUX: Final = 0x541C
# CLONE_NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET; NEWTIME is among the signal bits of clone
_NAMESPACES: Final = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_NEWTIME: Final = 0x80
_SET_USER_ID: Final = 0o4000
# Each with the argument that is the mode; not on every machine.
_CHANGES_MODE: Final = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}

# The kernel's own machinery: nothing that a build or a test needs, and each a way around or out.
_NEVER: Final = (
    "acct",
    "add_key",
    "bpf",
    "delete_module",
    "fanotify_init",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_by_handle_at",
    "open_tree",
    "open_tree_attr",
    "perf_event_open",
    "pivot_root",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "setns",
    "swapoff",
    "swapon",
    "syslog",
    "umount2",
    "userfaultfd",
)
# Answered as if the kernel were older: libraries then do without (an io_uring call would pass every check below).
_ABSENT: Final = ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup")


class Strictness(Enum):
    """What takes care of the rest, and so how much the filter has to."""

    NAMESPACES = "namespaces"  # mounts hide sockets by their paths
    LANDLOCK = "landlock"  # nothing does: no socket may be connected to by a path
    LANDLOCK_OFFLINE = "landlock_offline"  # as LANDLOCK, and of the network TCP alone, which Landlock judges by port


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    code: int
    k: int
    yes: int = 0
    no: int = 0


def assemble(machine: str, strictness: Strictness) -> bytes:
    """An array of `struct sock_filter` for `machine` (as `os.uname().machine`). Raises KeyError for another one."""
    arch, x32, numbers = MACHINES[machine]
    program = [_load(_ARCH_AT), _Step(code=_EQUAL, k=arch, yes=1), _return(_KILL), _load(_NUMBER_AT)]
    if x32:
        program += [_Step(code=_AT_LEAST, k=_X32, no=1), _return(_KILL)]
    blocks: dict[str, list[_Step]] = {name: [_deny(errno.EPERM)] for name in _NEVER}
    blocks |= {name: [_deny(errno.ENOSYS)] for name in _ABSENT}
    blocks |= {
        "ioctl": [_argument(1), *_unless_equal((_TIOCSTI, _TIOCLINUX), errno.EPERM)],
        "clone": [_argument(0), *_unless_set(_NAMESPACES, errno.EPERM)],
        "unshare": [_argument(0), *_unless_set(_NAMESPACES | _NEWTIME, errno.EPERM)],
        # an implicit connect that no hook of the kernel sees
        "sendto": [_argument(3), *_unless_set(_MSG_FASTOPEN, errno.EOPNOTSUPP)],
        "sendmsg": [_argument(2), *_unless_set(_MSG_FASTOPEN, errno.EOPNOTSUPP)],
        "sendmmsg": [_argument(3), *_unless_set(_MSG_FASTOPEN, errno.EOPNOTSUPP)],
        "socket": _sockets(strictness),
        "socketpair": _pairs(strictness),
    }
    if strictness is not Strictness.NAMESPACES:
        # another process of the user's could be starved by its limits; 0 is the caller itself
        blocks["prlimit64"] = [_argument(0), _Step(code=_EQUAL, k=0, no=1), _return(_ALLOW), _deny(errno.EPERM)]
        blocks["setpriority"] = _only_itself(_PRIO_USER)
        blocks["ioprio_set"] = _only_itself(_IOPRIO_WHO_USER)
        # Landlock judges no chmod: any file of the user's, one in /tmp that is shared say, could be made a program that
        # gives everybody the user's rights. The bit for the group stays: chmod(1) keeps it on folders that have it.
        for name in _CHANGES_MODE.keys() & numbers.keys():
            blocks[name] = [_argument(_CHANGES_MODE[name]), *_unless_set(_SET_USER_ID, errno.EPERM)]
    for name, block in sorted(blocks.items(), key=lambda item: numbers[item[0]]):
        program += [_Step(code=_EQUAL, k=numbers[name], no=len(block)), *block]
    program.append(_return(_ALLOW))
    return b"".join(struct.pack("=HBBI", step.code, step.yes, step.no, step.k) for step in program)


def _sockets(strictness: Strictness) -> list[_Step]:
    """socket(family, type, protocol): of each family what is named here, of other families nothing.

    AF_VSOCK and AF_BLUETOOTH belong to no network namespace, AF_ALG and the like reach deep into the kernel. A socket
    of MPTCP, SCTP or SMC connects past the hooks that judge TCP.
    """
    stream = _of_types(_SOCK_STREAM, (0, _TCP))
    datagram = _of_types(_SOCK_DGRAM, (0, _UDP, *_PING))
    internet = stream if strictness is Strictness.LANDLOCK_OFFLINE else [*stream, *datagram]
    internet = [*internet, _deny(errno.EPROTONOSUPPORT)]
    unix = [_return(_ALLOW) if strictness is Strictness.NAMESPACES else _deny(errno.EPERM)]
    route = [_argument(2), _Step(code=_EQUAL, k=0, no=1), _return(_ALLOW), _deny(errno.EPROTONOSUPPORT)]
    steps = [_argument(0)]
    for family, block in ((_AF_UNIX, unix), (_AF_INET, internet), (_AF_INET6, internet), (_AF_NETLINK, route)):
        steps += [_Step(code=_EQUAL, k=family, no=len(block)), *block]
    return [*steps, _deny(errno.EAFNOSUPPORT)]


def _of_types(kind: int, protocols: Sequence[int]) -> list[_Step]:
    """Allow this type with these protocols; the type's flags (CLOEXEC, NONBLOCK) do not matter. Falls through."""
    tests = [_argument(2)]
    for left, protocol in zip(range(len(protocols) - 1, -1, -1), protocols, strict=True):
        # the last one jumps over the ALLOW where it is not equal, the others to it where they are
        tests.append(_Step(code=_EQUAL, k=protocol, yes=left, no=0 if left else 1))
    tests.append(_return(_ALLOW))
    return [_argument(1), _Step(code=_AND, k=_SOCK_MASK), _Step(code=_EQUAL, k=kind, no=len(tests)), *tests]


def _pairs(strictness: Strictness) -> list[_Step]:
    """socketpair: without mounts no datagrams, whose ends can still send to a path; streams cannot connect again."""
    if strictness is Strictness.NAMESPACES:
        return [_return(_ALLOW)]
    kinds = [_argument(1), _Step(code=_AND, k=_SOCK_MASK)]
    for kind in (_SOCK_STREAM, _SOCK_SEQPACKET):
        kinds += [_Step(code=_EQUAL, k=kind, no=1), _return(_ALLOW)]
    return [*kinds, _deny(errno.EPERM)]


def _only_itself(user: int) -> list[_Step]:
    """(which, who): not all of a `user`'s processes, and of others only who is 0, the caller or its group."""
    which = [_argument(0), _Step(code=_EQUAL, k=user, no=1), _deny(errno.EPERM)]
    return [*which, _argument(1), _Step(code=_EQUAL, k=0, no=1), _return(_ALLOW), _deny(errno.EPERM)]


def _unless_equal(values: Sequence[int], error: int) -> list[_Step]:
    steps = []
    for value in values:
        steps += [_Step(code=_EQUAL, k=value, no=1), _deny(error)]
    return [*steps, _return(_ALLOW)]


def _unless_set(bits: int, error: int) -> list[_Step]:
    return [_Step(code=_SET, k=bits, no=1), _deny(error), _return(_ALLOW)]


def _argument(index: int) -> _Step:
    return _load(_ARGUMENTS_AT + 8 * index)  # both machines are little-endian: the low half comes first


def _load(offset: int) -> _Step:
    return _Step(code=_LOAD, k=offset)


def _deny(error: int) -> _Step:
    return _return(_ERRNO | error)


def _return(value: int) -> _Step:
    return _Step(code=_RETURN, k=value)
