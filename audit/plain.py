"""Text and times for people: nothing that a record holds can steer the terminal it is shown on."""

import re
import unicodedata
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Final

_LAST: Final = 253402300799999  # 9999-12-31T23:59:59.999Z, the last moment that a date can be
# drawn as nothing or as a blank although they are letters or marks (Unicode: Default_Ignorable_Code_Point)
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef\u2800]"
)
_MARKS_MAX: Final = 2  # on one letter; more of them climb into other lines
_ASCII: Final = re.compile(r"[ -\[\]-~]*")


def printable(text: str) -> str:
    """The text on one line, with `\\` and whatever is unseen, moves or reorders as `\\\\`, `\\u202e`, `\\U000e0001`.

    Unambiguous: a real escape character and the letters `\\u001b` look different.
    """
    if _ASCII.fullmatch(text):
        return text
    out: list[str] = []
    marks = _MARKS_MAX  # nothing stands before the text that could carry one
    for char in text:
        mark = unicodedata.category(char)[0] == "M"
        marks = marks + 1 if mark else 0
        out.append(_escape(char) if mark and marks > _MARKS_MAX else _shown(char))
    return "".join(out)


@cache
def _shown(char: str) -> str:
    return _escape(char) if char == "\\" or not char.isprintable() or _UNSEEN.match(char) else char


def _escape(char: str) -> str:
    if char == "\\":
        return "\\\\"
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def rfc3339(time_ms: int) -> str:
    """A record's time as RFC 3339 UTC with milliseconds; what no record's date can be is shown as the nearest one."""
    seconds, millis = divmod(max(0, min(time_ms, _LAST)), 1000)
    return f"{_second(seconds)}.{millis:03}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    """Records stand in the order of their times, so that many share one."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def span_text(microseconds: int) -> str:
    """A stretch of time with three digits or so: `763 µs`, `5.94 ms`, `2.00 s`, `3 min 20 s`."""
    sign, left = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    if left < 1_000:
        return f"{sign}{left} µs"
    for unit, size in (("ms", 1_000), ("s", 1_000_000)):
        if left < 1_000 * size and (unit == "ms" or left < 60_000_000):
            value = left / size
            return f"{sign}{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    minutes, seconds = divmod(left // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{sign}{days} d {hours} h"
    return f"{sign}{hours} h {minutes} min" if hours else f"{sign}{minutes} min {seconds} s"


def unsealed_text(found: range) -> str:
    """What to say of records (`Log.taken_over`) that nobody had signed when the log was opened."""
    which = f"record {found.start} was" if len(found) == 1 else f"records {found.start} to {found.stop - 1} were"
    return (
        f"{which} not sealed when the log was opened: its last writer ended without sealing, or somebody wrote there"
        f" who needed no key for it; look at `audit list --seq {found.start}..{found.stop - 1}`"
    )


def size_text(size: int) -> str:
    """Bytes as `198 B`, `1.2 kB`, `73.7 kB`, `7.01 GB` (powers of ten)."""
    if size < 1_000:
        return f"{size} B"
    power = min((len(str(size)) - 1) // 3, 4)
    value, unit = size / 1_000**power, ("B", "kB", "MB", "GB", "TB")[power]
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
