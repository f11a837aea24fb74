"""One Shield on one home, on a socket that only we could have made."""

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from shield.config.home import SOCKET_PATH_MAX, Home
from shield.config.loopback import split_tcp
from shield.config.sections import Config
from shield.errors import ConfigError, StateError

__all__ = ["Listener", "bind", "claimed", "listen_tcp", "listen_unix"]

BACKLOG = 512
_PROBE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """`hosts` are the Host headers that are taken on TCP, None on a Unix socket."""

    socket: socket.socket
    address: str
    hosts: frozenset[bytes] | None

    @property
    def ports(self) -> frozenset[int]:
        return frozenset() if self.hosts is None else frozenset({self.socket.getsockname()[1]})

    def close(self) -> None:
        self.socket.close()
        if self.hosts is None:
            # INVARIANT: we hold the home's lock, so nobody else has put a socket of theirs here
            with suppress(FileNotFoundError):
                os.unlink(self.address)


@contextmanager
def claimed(home: Home) -> Iterator[None]:
    """Hold the home's lock; the kernel lets it go with the process. Raises StateError if another Shield holds it."""
    try:
        descriptor = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
        advice = "free space, or make the disk writable, and start again" if full else "move it away"
        raise StateError(f"`{home.lock}` cannot be opened: {error.strerror}; {advice}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StateError(
                f"another Shield runs on `{home.path}`; use it, stop it, or set SHIELD_HOME to another directory"
            ) from None
        yield
    finally:
        os.close(descriptor)


def bind(home: Home, config: Config) -> Listener:
    """The socket that the configuration asks for. Raises StateError, ConfigError."""
    if config.service.tcp is None:
        path = home.socket(config.service.socket)
        return Listener(socket=listen_unix(path), address=path, hosts=None)
    listener = listen_tcp(config.service.tcp)
    name = config.service.tcp.rpartition(":")[0]
    port = listener.getsockname()[1]
    hosts = frozenset({f"{name}:{port}".encode(), f"localhost:{port}".encode()})
    return Listener(socket=listener, address=f"{name}:{port}", hosts=hosts)


def listen_unix(path: str) -> socket.socket:
    """A listening socket, 0600, in a directory of ours that is 0700. A socket file that nobody listens on is removed;
    a live one, a link or anything else is left alone and raises StateError or ConfigError."""
    if len(os.fsencode(path)) > SOCKET_PATH_MAX:
        raise ConfigError(f"the socket path `{path}` is too long; set `[service] socket` to a shorter one")
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError as error:
        raise ConfigError(f"`{folder}` cannot be made: {error.strerror}; set `[service] socket` elsewhere") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise ConfigError(
            f"the socket's directory `{folder}` must be yours with mode 0700; `chmod 700` it or choose another"
        )
    _clear(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | getattr(socket, "SOCK_CLOEXEC", 0))
    # INVARIANT: the file is 0600 from its first moment, there is no chmod to be raced
    before = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise StateError(f"`{path}` cannot be listened on: {error.strerror}; remove what is there") from None
    finally:
        os.umask(before)
    return listener


def listen_tcp(address: str) -> socket.socket:
    """A listening loopback socket. Raises StateError, ConfigError."""
    try:
        host, port = split_tcp(address)
    except ValueError as error:
        raise ConfigError(f"`service.tcp`: {error}") from None
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise StateError(f"`{address}` cannot be listened on: {error.strerror}; choose another port") from None
    return listener


def _clear(path: str) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.getuid():
        raise StateError(f"`{path}` is there and is no socket of yours; move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(path)
        except OSError as error:
            # only this says that nobody listens: a full backlog (EAGAIN) or a time-out is a live one
            if error.errno != errno.ECONNREFUSED:
                raise StateError(f"`{path}` does not answer as a dead socket does; stop what holds it") from None
        else:
            raise StateError(f"something listens on `{path}` already; stop it or choose another socket")
    os.unlink(path)
