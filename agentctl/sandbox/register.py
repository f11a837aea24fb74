"""Which calls run in a workspace right now, and what each of them found there: for calls side by side.

A call that begins while another one runs must not take what that one planted for the user's own. So each call leaves
what it found under a lock that it holds while it runs; one that begins reads what those that still run have found. The
sessions of one user share a register, since they share its directory.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["Register"]


class Register:
    """Files beneath `folder`, a directory of ours: one directory for each workspace, in it one file for each call."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @contextmanager
    def entering(self, root: str) -> Iterator["Entering"]:
        """The moment at which a call begins in a workspace: nobody else begins or ends meanwhile. Raises OSError."""
        place = os.path.join(self._folder, hashlib.sha256(os.fsencode(root)).hexdigest()[:32])
        os.makedirs(place, mode=0o700, exist_ok=True)
        lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Entering(place)
        finally:
            os.close(lock)


class Entering:
    """What others have found, and the place for what this call has."""

    def __init__(self, place: str) -> None:
        self._place = place

    def others(self) -> list[Mapping[str, Any]]:
        """What the calls that still run have found, the earliest first."""
        found: list[tuple[float, Mapping[str, Any]]] = []
        for name in os.listdir(self._place):
            path = os.path.join(self._place, name)
            with suppress(OSError, ValueError), open(path, "rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    found.append((os.fstat(file.fileno()).st_mtime, json.loads(file.read())))
                else:
                    os.unlink(path)  # its call was killed
        return [entry for _, entry in sorted(found, key=lambda item: item[0])]

    def leave(self, found: Mapping[str, Any]) -> "Entry":
        """Say what this call has found; it holds until the entry is closed. Raises OSError."""
        path = os.path.join(self._place, os.urandom(8).hex())
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(json.dumps(found).encode("ascii"))
        except BaseException:
            os.close(descriptor)
            raise
        return Entry(path, descriptor)


class Entry:
    """A call that runs."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def close(self) -> None:
        """It has ended, and what it left behind is put right."""
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._descriptor)
