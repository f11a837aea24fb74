"""Texts that `shield model` reads: JSON lines of `{"id","text","kind"}` as they come, and whole files."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from shield.canonical import parse
from shield.errors import ConfigError, InputError, Reason
from shield.types import TextKind

__all__ = ["MAX_BYTES", "STDIN", "Row", "Unread", "batches", "file_row", "opened", "plain_row", "read_row"]

MAX_BYTES = 8 << 20  # of a line and of a file; DESIGN 3: body 8 MiB
STDIN = "-"
_PIECE = 1 << 16
_BATCH = 64  # texts read together; more would keep who waits for an answer waiting
_KINDS = ", ".join(kind.value for kind in TextKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One text, what it is read as, and what it is called in the answer. `line` counts from 1."""

    id: str
    line: int
    text: str
    kind: TextKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A line that holds no text that could be read, and why. `id` is what it calls itself, where that can be read."""

    line: int
    error: InputError
    id: str | None = None


def batches(descriptor: int) -> Iterator[Sequence[tuple[int, bytes | InputError]]]:
    """The lines of a file or a pipe with their numbers, without their ends, as many together as have come.

    A writer who waits for the answer to one line gets it. A line that is too long is never held as a whole.
    """
    held, number, skipping = bytearray(), 0, False
    found: list[tuple[int, bytes | InputError]] = []
    while piece := os.read(descriptor, _PIECE):
        held += piece
        if b"\n" in piece:
            *lines, rest = held.split(b"\n")
            held = rest
            for line in lines:
                number += 1
                found.append((number, _too_long() if skipping or len(line) > MAX_BYTES else _ended(line)))
                skipping = False
        if len(held) > MAX_BYTES:
            held, skipping = bytearray(), True
        for at in range(0, len(found), _BATCH):
            yield found[at : at + _BATCH]
        found = []
    if held or skipping:
        yield [(number + 1, _too_long() if skipping else _ended(held))]


def read_row(number: int, line: bytes | InputError, kind: TextKind | None) -> Row | Unread:
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
        return Unread(line=number, error=error, id=called)


def plain_row(number: int, line: bytes | InputError, kind: TextKind) -> Row | Unread:
    """A line that is itself the text."""
    if isinstance(line, InputError):
        return Unread(line=number, error=line)
    return Row(id=str(number), line=number, text=line.decode("utf-8", "replace"), kind=kind)


def file_row(path: str, kind: TextKind) -> Row:
    """All that a file, or standard input, holds as one text; what is no UTF-8 in it is read as U+FFFD.

    Raises:
        ConfigError: it cannot be read, or is too large.
    """
    raw = bytearray()
    with opened(path) as descriptor:
        while len(raw) <= MAX_BYTES and (piece := os.read(descriptor, _PIECE)):
            raw += piece
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"`{path}` is larger than {MAX_BYTES} bytes; split it and scan the parts")
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return Row(id=path, line=1, text=raw.decode(encoding, "replace"), kind=kind)


@contextmanager
def opened(path: str) -> Iterator[int]:
    """A descriptor of the file, or of standard input for `-`. A FIFO or device is never waited for.

    Raises:
        ConfigError: it cannot be opened, or is no regular file.
    """
    if path == STDIN:
        yield sys.stdin.fileno()
        return
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise ConfigError(f"`{path}` cannot be read: {why.lower()}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise ConfigError(f"`{path}` is a folder; name its files")
        if not stat.S_ISREG(mode):
            raise ConfigError(f"`{path}` is not a regular file; pipe it in as `-`")
        yield descriptor
    finally:
        os.close(descriptor)


def _ended(line: bytearray) -> bytes:
    return bytes(line).removesuffix(b"\r")


def _too_long() -> InputError:
    return InputError(f"the line is longer than {MAX_BYTES} bytes", reason=Reason.INPUT_SIZE)
