"""The process that becomes a command: from a fork of the supervisor to exec. Standard library only.

It is forked before it is needed and waits for its order, since a fork takes longer than all the rest.

Order matters: first what needs the rights that are given up, then giving them up, then exec. Whatever fails is told
through `trouble` and the process ends: INVARIANT: a step that fails is never skipped.
"""

import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Final, NoReturn

from agentctl.sandbox import kernel, limits
from agentctl.sandbox.order import DESCRIPTORS, HEADER, Network, Order, decode_order

__all__ = ["Ends", "become"]

CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000
ORDER_MAX: Final = 64 << 20  # bytes: a body is at most 8 MiB, each byte of it six characters in JSON
TROUBLE_MAX: Final = 4096
HIGHEST: Final = 4096  # of descriptors: the spawner opens a handful: none of its own is above
_BACKLOG: Final = 64
_NOT_STARTED: Final = 127


class Ends:
    """Descriptors of a child: `feed` brings its order, to `line` it hands a listener, `trouble` is told what fails.

    `status` is what bubblewrap writes its own report to.
    """

    __slots__ = ("feed", "line", "status", "trouble")

    def __init__(self, *, feed: int, line: int, trouble: int, status: int) -> None:
        self.feed, self.line, self.trouble, self.status = feed, line, trouble, status


def become(ends: Ends) -> NoReturn:
    """Wait for an order and turn this process into its command. Ends by itself where there comes none."""
    try:
        os.setsid()
        _default_signals()
        if sys.platform == "linux":
            kernel.die_with_parent(signal.SIGKILL)
        received = _receive(ends.feed)
        if received is None:
            os._exit(_NOT_STARTED)
        order, given = received
        ruleset = given.pop() if order.landlock else -1
        _prepare(order, given, ruleset, ends)
        if order.wrapper:
            _wrapped(order, ruleset, ends)
        _confine(order, ruleset)
        os.execve(order.argv[0], order.argv, dict(order.env))  # noqa: S606  # the argv of an action with a receipt
    except BaseException as error:  # noqa: BLE001  # nothing may return into the supervisor's code
        with suppress(OSError):
            os.write(ends.trouble, _why(error).encode("utf-8", "replace")[:TROUBLE_MAX])
    finally:
        os._exit(_NOT_STARTED)


def _receive(feed: int) -> tuple[Order, list[int]] | None:
    """The order and the descriptors that come with it, None where the feed closes first. Raises ValueError."""
    with socket.socket(fileno=feed) as stream:
        message, descriptors, _, _ = socket.recv_fds(stream, 1, DESCRIPTORS + 1)
        if not message:
            return None
        (size,) = HEADER.unpack(_exactly(stream, HEADER.size))
        if size > ORDER_MAX:
            raise ValueError(f"an order of {size} bytes is too long")
        order = decode_order(_exactly(stream, size))
        if len(descriptors) != DESCRIPTORS + order.landlock:
            raise ValueError("the order comes without its descriptors")
        return order, list(descriptors)


def _exactly(stream: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = stream.recv(min(size - len(data), 1 << 20))
        if not chunk:
            raise EOFError("the order ends early")
        data += chunk
    return bytes(data)


def _prepare(order: Order, given: list[int], ruleset: int, ends: Ends) -> None:
    *streams, cwd = given
    os.umask(order.umask)
    if sys.platform == "linux":
        # memory that cannot be seen makes /proc/self root's; there is no secret in it
        kernel.show_memory()
    # first out of the way of 0, 1 and 2, which they may be themselves
    for number, descriptor in enumerate([os.dup(descriptor) for descriptor in streams]):
        os.dup2(descriptor, number, inheritable=True)
    kept = {cwd, ends.line, ends.trouble, ends.status, ruleset}
    _close_but(kept - {-1})
    os.fchdir(cwd)
    for path, device, inode in order.pinned:
        entry = os.lstat(path)
        if (entry.st_dev, entry.st_ino) != (device, inode):
            raise OSError(0, f"`{path}` is not what it was when the action was judged")
    limits.apply(order.limits)
    if order.network is Network.LISTENER:
        _leave_network()
        _listen(order.listen, ends.line)


def _confine(order: Order, ruleset: int) -> None:
    if not order.privileges:
        kernel.no_new_privileges()
        kernel.drop_capabilities()
    if order.landlock:
        kernel.restrict_self(ruleset)
    if order.seccomp:
        kernel.load_filter(order.seccomp)


def _wrapped(order: Order, ruleset: int, ends: Ends) -> NoReturn:
    # the wrapper needs its capabilities to mount; it gives them up itself, and installs the filter last
    kernel.no_new_privileges()
    if order.landlock:
        kernel.restrict_self(ruleset)
    own = ["--json-status-fd", str(ends.status)]
    os.set_inheritable(ends.status, True)
    if order.seccomp:
        own += ["--seccomp", str(_in_memory("seccomp", order.seccomp))]
    for name, value in order.env:
        own += ["--setenv", name, value]
    options = b"".join(os.fsencode(option) + b"\0" for option in (*order.wrapper[1:], *own))
    program = order.wrapper[0]
    argv = [program, "--args", str(_in_memory("options", options)), "--", *order.argv]
    os.execve(program, argv, {})  # noqa: S606  # bubblewrap, with options of ours; the environment is among them


def _leave_network() -> None:
    """A network namespace of our own, with its loopback up and no other interface; shared memory goes with it."""
    try:
        kernel.unshare(CLONE_NEWNET | CLONE_NEWIPC)
    except PermissionError:
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        kernel.loopback_up(any_socket.fileno())


def _listen(port: int, line: int) -> None:
    """Listen on our loopback and hand the listener over; what it accepts is served from outside."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
        with socket.socket(fileno=os.dup(line)) as stream:
            socket.send_fds(stream, [b"L"], [listener.fileno()])


def _in_memory(name: str, data: bytes) -> int:
    """A descriptor that the wrapper inherits and reads `data` from."""
    descriptor = os.memfd_create(name, 0)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _close_but(kept: set[int]) -> None:
    """Close every descriptor above the streams but these, and let none of these pass on."""
    low = 3
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        os.set_inheritable(descriptor, False)
        low = descriptor + 1
    os.closerange(low, HIGHEST)


def _default_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # numbers that the C library keeps for itself cannot be set
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _why(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
