"""The few kernel calls that Python has no name for, by ctypes. Linux; standard library only.

Nothing here decides anything: numbers and structures are those of the kernel's headers, errors are OSError.
"""

import ctypes
import os
import sys
from typing import Final

__all__ = [
    "add_path_rule",
    "add_port_rule",
    "become_subreaper",
    "die_with_parent",
    "drop_capabilities",
    "hide_memory",
    "landlock_abi",
    "load_filter",
    "loopback_up",
    "new_ruleset",
    "no_new_privileges",
    "restrict_self",
    "show_memory",
    "unshare",
]

# include/uapi/linux/prctl.h
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_CAPBSET_DROP: Final = 24
_PR_SET_SECUREBITS: Final = 28
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_SECCOMP_MODE_FILTER: Final = 2
# SECBIT_NOROOT, NO_SETUID_FIXUP, KEEP_CAPS locked, NO_CAP_AMBIENT_RAISE: each with its lock, but not NO_SETUID_FIXUP
_SECUREBITS: Final = 0b1110_0011
_CAPABILITIES: Final = 64  # more than there are; the kernel answers EINVAL beyond its last
_CAPABILITY_VERSION_3: Final = 0x20080522
# The same on every architecture: asm-generic/unistd.h from 424 on.
_SYS_LANDLOCK_CREATE_RULESET: Final = 444
_SYS_LANDLOCK_ADD_RULE: Final = 445
_SYS_LANDLOCK_RESTRICT_SELF: Final = 446
_RULE_PATH_BENEATH: Final = 1
_RULE_NET_PORT: Final = 2
_CREATE_RULESET_VERSION: Final = 1
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1

# Linked already: looked up once per process, in the process that uses it.
_libc: Final = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    _fields_ = (("access", ctypes.c_uint64), ("port", ctypes.c_uint64))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def no_new_privileges() -> None:
    """What is executed from here on gains nothing by set-id bits or file capabilities."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """No other process of this user may trace this one or open its /proc entries; lost at exec."""
    _prctl(_PR_SET_DUMPABLE, 0)


def show_memory() -> None:
    """Undo `hide_memory`, as an exec would."""
    _prctl(_PR_SET_DUMPABLE, 1)


def die_with_parent(signal_number: int) -> None:
    """This signal comes when the thread that forked us ends. The caller checks that it had not ended before."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def become_subreaper() -> None:
    """Descendants whose parent ended become our children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def drop_capabilities() -> None:
    """Give up every capability for good: bounding set, ambient, inheritable, permitted and effective.

    INVARIANT: a later exec as uid 0 gets none back (SECBIT_NOROOT, and nothing in the bounding set).
    """
    for number in range(_CAPABILITIES):
        if _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0) != 0:
            error = ctypes.get_errno()
            if error == 22:  # EINVAL: there is no such capability
                break
            if error != 1:  # EPERM: not ours to drop, so it cannot be gained either where no_new_privileges holds
                raise OSError(error, os.strerror(error))
    if os.geteuid() == 0:
        _libc.prctl(_PR_SET_SECUREBITS, ctypes.c_ulong(_SECUREBITS), 0, 0, 0)  # EPERM without CAP_SETPCAP
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = _CapabilityHeader(version=_CAPABILITY_VERSION_3, pid=0)
    empty = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(ctypes.byref(header), ctypes.byref(empty)))


def load_filter(program: bytes) -> None:
    """Install a seccomp filter, an array of `struct sock_filter`; needs no_new_privileges."""
    code = ctypes.create_string_buffer(program, len(program))
    loaded = _Program(length=len(program) // 8, filter=ctypes.cast(code, ctypes.c_void_p))
    _check(_libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.byref(loaded), 0, 0))


def landlock_abi() -> int:
    """The version of Landlock that the kernel has, 0 where there is none or it is switched off."""
    if sys.platform != "linux":
        return 0
    version = _syscall(_SYS_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_CREATE_RULESET_VERSION))
    return max(0, version)


def new_ruleset(*, fs: int, net: int, scoped: int) -> int:
    """A descriptor of an empty Landlock ruleset: what it handles is denied but for the rules added to it."""
    attributes = _Ruleset(fs=fs, net=net, scoped=scoped)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    return _check(_syscall(_SYS_LANDLOCK_CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0)))


def add_path_rule(ruleset: int, access: int, path: int) -> None:
    """Grant `access` on an open path and, where it is a directory, on everything beneath it."""
    rule = _PathBeneath(access=access, parent=path)
    kind = ctypes.c_int(_RULE_PATH_BENEATH)
    _check(_syscall(_SYS_LANDLOCK_ADD_RULE, ctypes.c_int(ruleset), kind, ctypes.byref(rule), ctypes.c_uint32(0)))


def add_port_rule(ruleset: int, access: int, port: int) -> None:
    """Grant `access` on a TCP port, at whatever address."""
    rule = _NetPort(access=access, port=port)
    kind = ctypes.c_int(_RULE_NET_PORT)
    _check(_syscall(_SYS_LANDLOCK_ADD_RULE, ctypes.c_int(ruleset), kind, ctypes.byref(rule), ctypes.c_uint32(0)))


def restrict_self(ruleset: int) -> None:
    """Enter the ruleset, for good; needs no_new_privileges."""
    _check(_syscall(_SYS_LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))


def unshare(flags: int) -> None:
    """Leave the namespaces named by CLONE_NEW* `flags` for new ones."""
    _check(_libc.unshare(ctypes.c_int(flags)))


def loopback_up(descriptor: int) -> None:
    """Switch the loopback interface of our network namespace on; `descriptor` is any socket in it."""
    request = ctypes.create_string_buffer(b"lo", 40)  # struct ifreq: the name, then 16 bits of flags
    address = ctypes.addressof(request)
    _check(_libc.ioctl(ctypes.c_int(descriptor), ctypes.c_ulong(_SIOCGIFFLAGS), ctypes.c_void_p(address)))
    flags = ctypes.c_int16.from_address(address + 16)
    flags.value |= _IFF_UP
    _check(_libc.ioctl(ctypes.c_int(descriptor), ctypes.c_ulong(_SIOCSIFFLAGS), ctypes.c_void_p(address)))


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero))


def _syscall(number: int, *arguments: object) -> int:
    return int(_libc.syscall(ctypes.c_long(number), *arguments))


def _check(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
