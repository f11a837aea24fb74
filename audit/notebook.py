"""Checkpoints kept in files that only grow: one note after the other, each followed by an empty line.

A crash or a full disk may leave the last one torn. A note that its empty line does not follow was never written
wholly: the writer cuts it away before it goes on, a reader is told.
"""

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from audit.durable import sync
from audit.errors import NoteError, ReadError, SinkError
from audit.keyfiles import sync_directory
from audit.note import MAX_NOTE, split_note

LIMIT: Final = 16 * 1024 * 1024
"""Bytes after which the next file is begun; about 60,000 checkpoints."""

_DASH: Final = "\u2014 ".encode()
_MAX_BYTES: Final = 4 * MAX_NOTE
_END = re.compile(rb"(?:\A|\n)\xe2\x80\x94 [^\n]*\n(?=\n)")
_TAILS: Final = (8 * 1024, 2 * _MAX_BYTES + 8)


class Stored(NamedTuple):
    """A note as it stands in a file; `ended` says whether its empty line follows. Only the last may lack it."""

    note: str
    ended: bool


def read_notes(path: Path) -> Iterator[Stored]:
    """The notes of a file in their order, none of them verified; also of a file with one note, or of several put
    together without empty lines. The last one may be torn. Raises ReadError, NoteError.
    """
    lines: list[bytes] = []
    size, gap, signed = 0, False, False
    try:
        with open(path, "rb") as file:
            for line in iter(lambda: file.readline(_MAX_BYTES + 1), b""):
                if signed and not line.startswith(_DASH):
                    yield _stored(lines, ended=line == b"\n")
                    lines, size, gap, signed = [], 0, False, False
                if line == b"\n" and not lines:
                    continue
                lines.append(line)
                size += len(line)
                if size > _MAX_BYTES:
                    raise NoteError(f"`{path}` is no file of checkpoints: a note may take {MAX_NOTE} characters")
                gap = gap or line == b"\n"
                signed = gap and line.startswith(_DASH) and line.endswith(b"\n")
    except OSError as error:
        raise ReadError(f"cannot read `{path}`: {error.strerror or error}") from error
    if lines:
        yield _stored(lines, ended=False)


def _stored(lines: list[bytes], *, ended: bool) -> Stored:
    # A torn character is no reason to lose the notes before it: what it makes of the note is seen by who parses it.
    return Stored(b"".join(lines).decode("utf-8", "replace"), ended)


class Notebook:
    """The files `<path>`, `<path>.1`, `<path>.2` …, the one with the highest number being written."""

    def __init__(self, path: Path, *, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit

    def files(self) -> tuple[Path, ...]:
        """The files that there are, oldest first; none where there is no folder. Raises SinkError."""
        return tuple(self._file(number) for number in self._numbers())

    def _numbers(self) -> list[int]:
        pattern = re.compile(rf"{re.escape(self._path.name)}(?:\.([1-9][0-9]{{0,8}}))?")
        try:
            found = [pattern.fullmatch(name) for name in os.listdir(self._path.parent)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise SinkError(f"cannot read `{self._path.parent}`: {error.strerror or error}") from error
        return sorted(int(one[1] or 0) for one in found if one is not None)

    def _file(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def last(self) -> str | None:
        """The newest whole note, None if there is none. Raises SinkError."""
        for file in reversed(self.files()):
            try:
                with open(_open(file, os.O_RDONLY), "rb") as reader:
                    note = _last_whole(file, reader.fileno())[0]
            except OSError as error:
                raise SinkError(f"cannot read `{file}`: {error.strerror or error}") from error
            if note is not None:
                return note
        return None

    def append(self, note: str) -> None:
        """Write a note behind the others; when this returns it is on the disk. The folder must be there.

        Raises SinkError; then the note is not there, or only a broken disk makes it seem so: append it again.
        """
        number = max(self._numbers(), default=0)
        file = self._file(number)
        try:
            if not self._write(file, note):
                self._write(self._file(number + 1), note)
        except BlockingIOError as error:
            raise SinkError(f"another process writes `{file}`; one log has one writer") from error
        except OSError as error:
            raise SinkError(f"cannot write `{file}`: {error.strerror or error}; make room for it") from error

    def _write(self, file: Path, note: str) -> bool:
        """False where the next file has to be begun instead."""
        content = f"{note}\n".encode()
        with open(_open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT), "rb") as holder:
            descriptor = holder.fileno()
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size, end = os.fstat(descriptor).st_size, _last_whole(file, descriptor)[1]
            if end < size and not _cut(descriptor, end):
                return False
            if end and end + len(content) > self._limit:
                return False
            try:
                if os.write(descriptor, content) != len(content):
                    raise OSError(0, "only a part could be written")
                sync(descriptor)
            except OSError:
                _cut(descriptor, end)  # what may not be on the disk is not to be read as if it were
                raise
            sync_directory(file.parent)
        return True


def _open(path: Path, flags: int) -> int:
    # O_NONBLOCK: a FIFO in the file's place must not hang anyone.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SinkError(f"`{path}` is not a regular file; move it away")
    return descriptor


def _cut(descriptor: int, size: int) -> bool:
    try:
        os.ftruncate(descriptor, size)
    except OSError:  # an append-only file: what is torn stays where it is
        return False
    return True


def _last_whole(path: Path, descriptor: int) -> tuple[str | None, int]:
    """The last note that its empty line follows, and where that line ends. Raises SinkError, OSError."""
    size = os.fstat(descriptor).st_size
    for window in _TAILS:
        start = max(0, size - window)
        tail = os.pread(descriptor, window, start)
        ends = [match.end() + 1 for match in _END.finditer(tail)]
        if len(ends) > 1 or (ends and not start):
            note = tail[ends[-2] if len(ends) > 1 else 0 : ends[-1] - 1].decode("utf-8", "replace")
            try:
                split_note(note)
            except NoteError as error:
                raise SinkError(f"`{path}` is no file of checkpoints ({error}); move it away") from error
            return note, start + ends[-1]
        if not start:
            break
    if size > _MAX_BYTES:
        raise SinkError(f"`{path}` is no file of checkpoints; move it away")
    return None, 0
