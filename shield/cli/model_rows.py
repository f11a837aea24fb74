"""Texts that `shield model` reads: JSON lines of `{"id","text","kind"}` as they come, and whole files."""

import codecs
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from shield.canonical import parse
from shield.cli.standard_input import standard_input
from shield.errors import ConfigError, InputError, Reason
from shield.types import TextKind

__all__ = [
    "MAX_BYTES",
    "STDIN",
    "Row",
    "Source",
    "Unread",
    "UnreadFile",
    "batches",
    "file_row",
    "opened",
    "plain_row",
    "read_row",
]

MAX_BYTES = 8 << 20  # of a line and of a file; DESIGN 3: body 8 MiB
STDIN = "-"
_PIECE = 1 << 16
_BATCH = 64  # texts read together; more would keep who waits for an answer waiting
_KINDS = ", ".join(kind.value for kind in TextKind)
_NOT_UTF_8 = "not UTF-8; save it as UTF-8"
# the mark of UTF-32 begins as that of UTF-16 does
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# `parse` speaks to who sends a request; this is somebody's file
_OF_A_FILE = {
    Reason.INPUT_ENCODING: _NOT_UTF_8,
    Reason.INPUT_NODES: "it holds too many values; leave out what is not `id`, `text` or `kind`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One text, what it is read as, and what it is called in the answer. `line` counts from 1; `unread` says why some
    of it could not be decoded."""

    id: str
    line: int
    text: str
    kind: TextKind
    unread: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A line that holds no text that could be read, and why. `id` is what it calls itself, where that can be read;
    `file` is where it stands, None for standard input."""

    line: int
    error: InputError
    id: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFile:
    """A file of which nothing, or nothing more, can be read, and why."""

    file: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An open file, or standard input, and how to call it."""

    descriptor: int
    name: str

    def piece(self) -> bytes:
        """What comes next, nothing at the end. Raises ConfigError: it cannot be read."""
        try:
            return os.read(self.descriptor, _PIECE)
        except OSError as error:
            raise ConfigError(f"{self.name} cannot be read: {_reason(error)}") from None


def batches(source: Source) -> Iterator[Sequence[tuple[int, bytes | InputError]]]:
    """The lines of a file or a pipe with their numbers, without their ends, as many together as have come.

    A writer who waits for the answer to one line gets it. A line that is too long is never held as a whole. A byte
    order mark of UTF-8 belongs to no line.

    Raises:
        ConfigError: it cannot be read on.
    """
    held, number, skipping = bytearray(), 0, False
    found: list[tuple[int, bytes | InputError]] = []
    while piece := source.piece():
        held += piece
        if b"\n" in piece:
            *lines, rest = held.split(b"\n")
            held = rest
            for line in lines:
                number += 1
                found.append((number, _too_long() if skipping or len(line) > MAX_BYTES else _ended(line, number)))
                skipping = False
        if len(held) > MAX_BYTES:
            held, skipping = bytearray(), True
        for at in range(0, len(found), _BATCH):
            yield found[at : at + _BATCH]
        found = []
    if held or skipping:
        yield [(number + 1, _too_long() if skipping else _ended(held, number + 1))]


def read_row(number: int, line: bytes | InputError, kind: TextKind | None, *, file: str | None = None) -> Row | Unread:
    """A JSON line as a text. `kind` is for lines that name none; keys beside the three are not looked at."""
    called: str | None = None
    try:
        if isinstance(line, InputError):
            raise line
        if not line.strip():
            raise InputError("the line is empty; remove it", reason=Reason.INPUT_JSON)
        found = parse(line)
        if not isinstance(found, dict):
            raise InputError('this is no object; write {"id": …, "text": …, "kind": …}')
        name = found.get("id", str(number))
        if not isinstance(name, str):
            raise InputError("`id` is no string", pointer="/id")
        called = name
        text = found.get("text")
        if not isinstance(text, str):
            raise InputError("`text` is missing or no string", pointer="/text")
        said = found.get("kind", kind)
        named = next((one for one in TextKind if one.value == said), None)
        if named is None:
            raise InputError(f"`kind` has to be one of {_KINDS}; or give `--kind`", pointer="/kind")
        return Row(id=name, line=number, text=text, kind=named)
    except InputError as error:
        return Unread(line=number, error=_of_a_file(error), id=called, file=file)


def plain_row(number: int, line: bytes | InputError, kind: TextKind) -> Row | Unread:
    """A line that is itself the text."""
    if isinstance(line, InputError):
        return Unread(line=number, error=line)
    try:
        return Row(id=str(number), line=number, text=line.decode("utf-8"), kind=kind)
    except UnicodeDecodeError as error:
        refused = InputError(_NOT_UTF_8, reason=Reason.INPUT_ENCODING, offset=error.start)
        return Unread(line=number, error=refused)


def file_row(path: str, kind: TextKind) -> Row:
    """All that a file, or standard input, holds as one text, in UTF-8 or what its byte order mark says. What cannot be
    decoded is U+FFFD in it, and `unread` says so: what other readers make of it was not judged.

    Raises:
        ConfigError: it cannot be read, or is too large.
    """
    raw = bytearray()
    with opened(path) as source:
        while len(raw) <= MAX_BYTES and (piece := source.piece()):
            raw += piece
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"`{path}` is larger than {MAX_BYTES} bytes; split it and scan the parts")
    called = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "UTF-8")
    unread = None
    try:
        text = raw.decode(called)
    except UnicodeDecodeError as error:
        text = raw.decode(called, "replace")
        unread = f"it is not {called} (at byte {error.start}), so not all of it was read; save it as UTF-8"
    if called == "UTF-8":  # the others take their mark away themselves
        text = text.removeprefix("\ufeff")
    return Row(id=path, line=1, text=text, kind=kind, unread=unread)


@contextmanager
def opened(path: str) -> Iterator[Source]:
    """The file, or standard input for `-`. A FIFO or device is never waited for.

    Raises:
        ConfigError: it cannot be opened, or is no regular file.
    """
    if path == STDIN:
        descriptor = standard_input("pipe the texts in, or name a file").fileno()
        yield Source(descriptor=descriptor, name="standard input")
        return
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = _reason(error) if isinstance(error, OSError) else "not a path"
        raise ConfigError(f"`{path}` cannot be read: {why}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise ConfigError(f"`{path}` is a folder; name its files")
        if not stat.S_ISREG(mode):
            raise ConfigError(f"`{path}` is not a regular file; pipe it in as `-`")
        yield Source(descriptor=descriptor, name=f"`{path}`")
    finally:
        os.close(descriptor)


def _ended(line: bytearray, number: int) -> bytes:
    ended = bytes(line).removesuffix(b"\r")
    return ended.removeprefix(codecs.BOM_UTF8) if number == 1 else ended


def _of_a_file(error: InputError) -> InputError:
    said = _OF_A_FILE.get(error.reason)
    return error if said is None else InputError(said, reason=error.reason, pointer=error.pointer, offset=error.offset)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _too_long() -> InputError:
    return InputError(f"the line is longer than {MAX_BYTES} bytes", reason=Reason.INPUT_SIZE)
