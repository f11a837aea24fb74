"""Lines and server-sent events out of bytes (WHATWG HTML, section 9.2.6), however the bytes are cut."""

import re
from dataclasses import dataclass

from agentctl.errors import ModelAnswerError

__all__ = ["MAX_LINE", "LineSplitter", "SseDecoder", "SseEvent"]

MAX_LINE = 8 * 1024 * 1024  # bytes; the limit of a body at Shield, a call that is larger could never be judged
_END_OF_LINE = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineSplitter:
    """Lines ended by LF, CRLF or CR. Memory stays below `limit` plus one chunk."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._skip_lf = False  # the last byte was a CR: an LF that follows belongs to it

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that these bytes complete, without their ends. Raises ModelAnswerError for one that is too long."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        self._buffer += chunk
        lines = []
        start = 0
        for match in _END_OF_LINE.finditer(self._buffer, self._scanned):
            self._bound(match.start() - start)
            lines.append(bytes(self._buffer[start : match.start()]))
            start = match.end()
            self._skip_lf = match.group() == b"\r" and start == len(self._buffer)
        del self._buffer[:start]
        self._scanned = len(self._buffer)
        self._bound(len(self._buffer))
        return lines

    def end(self) -> bytes:
        """What stands after the last line end."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._scanned = 0
        return rest

    def _bound(self, size: int) -> None:
        if size > self._limit:
            raise ModelAnswerError(f"a line of the model's answer is longer than {self._limit} bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class SseEvent:
    """One dispatched event: its `event` field (empty where absent) and its data lines joined by newlines."""

    event: str
    data: str


class SseDecoder:
    """Server-sent events out of bytes. Comments, `id`, `retry` and unknown fields are skipped."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._lines = LineSplitter(limit)
        self._limit = limit
        self._first = True
        self._event = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that these bytes complete. Raises ModelAnswerError (too long, not UTF-8)."""
        events = []
        for line in self._lines.feed(chunk):
            event = self._line(line)
            if event is not None:
                events.append(event)
        return events

    def end(self) -> list[SseEvent]:
        """The last event. The standard drops one without its blank line, but servers do end so; a prefix of a JSON
        object is never one, so a torn event cannot pass for a whole one."""
        found = [self._line(self._lines.end()), self._dispatch()]
        return [event for event in found if event is not None]

    def _line(self, raw: bytes) -> SseEvent | None:
        if self._first:
            self._first = False
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if not raw:
            return self._dispatch()
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            raise ModelAnswerError("the model's answer is not utf-8; check the server") from None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._size += len(raw)
            if self._size > self._limit:
                raise ModelAnswerError(f"an event of the model's answer is longer than {self._limit} bytes")
            self._data.append(value)
        elif name == "event":
            self._event = value
        return None

    def _dispatch(self) -> SseEvent | None:
        event = SseEvent(event=self._event, data="\n".join(self._data)) if self._data else None
        self._event = ""
        self._data = []
        self._size = 0
        return event
