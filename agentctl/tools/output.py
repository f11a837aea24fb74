"""What a tool gives back: bounded pieces of text, and size and digest of the whole."""

import hashlib
from collections import deque
from dataclasses import dataclass, replace

from agentctl.turns.text import shorten
from shield.types import OutcomePart, OutcomeStatus

__all__ = ["MAX_CONTENT", "RESULT_CHARS", "Capture", "Digest", "Output", "of_bytes", "of_failure", "within"]

MAX_CONTENT = 256 * 1024  # CONTRACTS: content of an outcome, bytes, head and tail
RESULT_CHARS = 32_000  # of one result that a model is shown
_NOTE = 96  # room for the note between head and tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A tool's result. `status` is `ok`, `error` or `timeout`; `note` is our own short word about it, not content."""

    parts: tuple[OutcomePart, ...]
    bytes: int
    sha256: str
    truncated: bool = False
    status: OutcomeStatus = OutcomeStatus.OK
    exit_code: int | None = None
    note: str | None = None


class Digest:
    """Size and SHA-256 of everything, in the order it came."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.bytes = 0

    def add(self, data: bytes) -> None:
        self._hash.update(data)
        self.bytes += len(data)

    @property
    def sha256(self) -> str:
        return "sha256:" + self._hash.hexdigest()


class Capture:
    """Takes any amount of bytes in bounded memory: keeps head and tail, together at most `limit` bytes as UTF-8."""

    def __init__(self, role: str, limit: int, whole: Digest) -> None:
        self._role = role
        # bytes that are not UTF-8 become U+FFFD, three bytes each: see text()
        self._room = (limit - _NOTE) // 2
        self._limit = limit
        self._whole = whole
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.bytes = 0

    def add(self, data: bytes) -> None:
        self._whole.add(data)
        self.bytes += len(data)
        take = min(len(data), self._room - len(self._head))
        self._head += data[:take]
        rest = data[take:]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_size += len(rest)
        while self._tail_size - len(self._tail[0]) >= self._room:
            self._tail_size -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        return self.bytes > 2 * self._room

    def part(self) -> tuple[OutcomePart, bool]:
        """The piece, and whether something was left out."""
        tail = b"".join(self._tail)
        if not self.truncated:
            text = (bytes(self._head) + tail).decode("utf-8", "replace")
            return _fit(self._role, text, self._limit, self.bytes)
        head_text = bytes(self._head).decode("utf-8", "replace")
        tail_text = tail[-self._room :].decode("utf-8", "replace")
        return _fit(self._role, head_text + tail_text, self._limit, self.bytes, split=len(head_text))


def _fit(role: str, text: str, limit: int, size: int, *, split: int | None = None) -> tuple[OutcomePart, bool]:
    """INVARIANT: the piece has at most `limit` bytes as UTF-8, whatever the bytes decoded to."""
    if split is None and len(text.encode("utf-8")) <= limit:
        return OutcomePart(role=role, text=text), False
    middle = len(text) // 2 if split is None else split
    half = (limit - _NOTE) // 2
    head = text[:middle].encode("utf-8")[:half].decode("utf-8", "ignore")
    tail = text[middle:].encode("utf-8")[-half:].decode("utf-8", "ignore")
    return OutcomePart(role=role, text=f"{head}\n[… cut: head and tail of {size} bytes …]\n{tail}"), True


def of_bytes(role: str, data: bytes, *, note: str | None = None, more: bool = False) -> Output:
    """The output of a tool that has one piece. `more` says that the tool itself already left something out."""
    digest = Digest()
    capture = Capture(role, MAX_CONTENT, digest)
    capture.add(data)
    part, cut = capture.part()
    return Output(parts=(part,), bytes=digest.bytes, sha256=digest.sha256, truncated=cut or more, note=note)


def of_failure(why: str) -> Output:
    """The output of a tool that failed: why it did."""
    digest = Digest()
    digest.add(why.encode("utf-8", "replace"))
    part = OutcomePart(role="error", text=why)
    return Output(parts=(part,), bytes=digest.bytes, sha256=digest.sha256, status=OutcomeStatus.ERROR)


def within(output: Output, limit: int) -> Output:
    """`output` with parts that have `limit` characters together, short ones whole, of the others head and tail.

    INVARIANT: this is done before Shield judges them: words that meet where something was left out are read as they
    meet.
    """
    parts = list(output.parts)
    left, cut = limit, False
    for turn, place in enumerate(sorted(range(len(parts)), key=lambda place: len(parts[place].text))):
        text = parts[place].text
        share = left // (len(parts) - turn)
        parts[place] = replace(parts[place], text=shorten(text, share))
        cut = cut or len(text) > share
        left -= min(len(text), share)
    return replace(output, parts=tuple(parts), truncated=output.truncated or cut)
