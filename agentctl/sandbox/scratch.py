"""agentctl's own directories for its sandboxes: private temporary files, private caches, what was moved aside."""

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from agentctl.errors import ToolError
from agentctl.sandbox.places import TEMPORARY, Places, private_tmp

__all__ = ["Scratch"]

_SESSION = "session-"
# Directories in the home that tools keep caches in: a confined command has its own, one for each workspace.
_CACHES: Final = (".cache", ".npm")


class Scratch:
    """Beneath one directory, 0700. A session's own part is locked while it lives and removed with it; one that a killed
    session left behind is removed by the next.
    """

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._session: str | None = None
        self._held = -1
        self._stand_ins: Mapping[str, str] | None = None

    def close(self) -> None:
        """Remove the session's temporary files."""
        with self._lock:
            if self._session is not None:
                _remove(self._session)
                self._session = self._stand_ins = None
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    @property
    def made(self) -> Mapping[str, str] | None:
        """What `private` has made, if a confined command was run."""
        return self._stand_ins

    def private(self, places: Places) -> Mapping[str, str]:
        """What stands in a confined command for the shared temporary directories and for caches in the home."""
        session = self._own()
        if self._stand_ins is not None:
            return self._stand_ins
        stand_ins = {}
        for name in TEMPORARY:
            stand_ins[name] = _made(os.path.join(session, name.strip("/").replace("/", "-")))
        _made(os.path.join(stand_ins["/tmp"], os.path.basename(private_tmp(os.geteuid()))))  # noqa: S108
        digest = hashlib.sha256("\0".join(places.workspace_roots).encode("utf-8", "surrogateescape")).hexdigest()
        for name in _CACHES:
            place = os.path.join(places.home, name)
            # where a mount is to stand there must be a directory: the one that tools would make there themselves
            with suppress(OSError):
                if os.stat(places.home).st_uid == os.geteuid():
                    os.mkdir(place, 0o700)
            if os.path.isdir(place):
                stand_ins[place] = _made(os.path.join(self._path, "caches", digest[:32], name.lstrip(".")))
        self._stand_ins = stand_ins
        return stand_ins

    def shared_tmp(self) -> Mapping[str, str]:
        """The one directory for temporary files where none can stand for /tmp. Raises ToolError if it is not ours."""
        place = private_tmp(os.geteuid())
        with suppress(FileExistsError):
            os.mkdir(place, 0o700)
        entry = os.lstat(place)
        if not stat.S_ISDIR(entry.st_mode) or entry.st_uid != os.geteuid() or entry.st_mode & 0o077:
            raise ToolError(f"`{place}` is not a directory of yours alone; remove it")
        return dict.fromkeys(TEMPORARY, place)

    def aside(self) -> str:
        """A directory for what one call makes us move away; it is not made before something is put there."""
        folder = os.path.join(self._path, "aside", time.strftime("%Y%m%dT%H%M%S", time.gmtime(self._clock())))
        return f"{folder}-{os.urandom(4).hex()}"

    def copies(self) -> str:
        """A directory of the session's for what is put back after a call, should it be changed."""
        return _made(os.path.join(self._own(), "copies"))

    def _own(self) -> str:
        with self._lock:
            if self._session is None:
                _made(self._path)
                with _waited(self._path):  # so that nobody sweeps a new one away before it is locked
                    self._sweep()
                    made = tempfile.mkdtemp(prefix=_SESSION, dir=self._path)
                    self._held = _locked(made)
                self._session = made
            return self._session

    def _sweep(self) -> None:
        for name in os.listdir(self._path):
            left = os.path.join(self._path, name)
            if name.startswith(_SESSION) and (held := _locked(left)) >= 0:
                _remove(left)
                os.close(held)


def _locked(path: str) -> int:
    """A descriptor that holds the directory's lock, -1 where another session does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


@contextmanager
def _waited(path: str) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _made(path: str) -> str:
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def _remove(path: str) -> None:
    """Everything beneath, also what a command made unreadable."""

    def again(function: Callable[[str], object], failed: str, _: object) -> None:
        with suppress(OSError):
            os.chmod(os.path.dirname(failed), 0o700)
            if not os.path.islink(failed):
                os.chmod(failed, 0o700)
            function(failed)

    shutil.rmtree(path, onerror=again)
