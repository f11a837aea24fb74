"""Text that is spelled in numbers, or stands somewhere in base64: found by what reads as text in the bytes.

Everything here takes time in proportion to what it is given.
"""

import binascii
import re
from collections.abc import Iterable, Sequence
from itertools import repeat

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.facts.text_words import COMMON, words_of
from shield.regex import regex

__all__ = ["from_bits", "from_codes", "from_hex_numbers", "from_numbers", "within_base64"]

# Letters with no more than six other signs between two of them. Zeros do not count: UTF-16 and UTF-32 are full of them.
_LETTER = rb"(?:[A-Za-z]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
_SIGNS = rb"[\t\n\r\x20-\x40\x5b-\x60\x7b-\x7e]{0,6}"
_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
_STRETCH = re2.compile(_SIGNS + rb"(?:" + _LETTER + _SIGNS + rb"){12,}", _BYTES)
_SAID = bytes(code for code in range(256) if code >= 0x80 or chr(code).isalpha() or chr(code).isspace())
_LEAST_SAID = 0.8  # letters and blanks: 0.88 of docs/explanation with its links and code, 0.56 of all signs of ASCII
_GAP = regex(r"\s|[\u3001\u3002\uff0c]")
_WORDY = 2  # common words
_NONE = 7  # a byte that stands in no text

_LEAST_WITHIN = 24  # bytes; random ones come to that 1e-10 of the time
_LEAST_LETTERS = 8  # different ones of them: what repeats itself does so in base64, too
_CONCATENATED = regex(rb"[\"'`]\s*[+.]\s*[\"'`]")
_URLSAFE = bytes.maketrans(b"-_=", b"+/A")  # padding is zeros
_NO_BASE64 = bytes(code for code in range(256) if not (code < 0x80 and chr(code).isalnum()) and code not in b"+/-_=")

_DECIMALS = {f"{code:0{width}}": code for code in range(256) for width in (1, 3)}
_OCTALS = {f"{code:0{width}o}": code for code in range(256) for width in (1, 3, 4)}
_BINARIES = {f"{code:0{width}b}": code for code in range(256) for width in (7, 8)}
_HEXES = {f"{code:0{width}x}": code for code in range(256) for width in (2, 4, 6, 8)}


def from_codes(codes: Sequence[int]) -> str | None:
    """What the bytes of UTF-8, or the code points, in `codes` spell between what is neither; None where they do not
    read as text."""
    found = _stretches(bytes(code if 0 <= code < 256 else _NONE for code in codes))
    if any(code > 0xFF for code in codes):
        points = "".join(chr(code) if 0 <= code <= 0x10FFFF else "\a" for code in codes)
        found += _stretches(points.encode("utf-8", "replace"))
    return _shown(text for text in dict.fromkeys(found) if _reads(text, wordy=False))


def from_numbers(run: str) -> str | None:
    """What decimal, octal or binary numbers spell, if that has words in it; tables of numbers have none."""
    numbers = re.findall(r"[0-9]+", run)
    return _looked_up(numbers, _BINARIES) or _looked_up(numbers, _DECIMALS) or _looked_up(numbers, _OCTALS)


def from_hex_numbers(run: str) -> str | None:
    """The same of hexadecimal ones, `0x53`, `U+0053`, `\\53` and `53`."""
    return _looked_up(re.findall(r"[0-9a-f]{2,8}", run.lower().replace("0x", " ")), _HEXES)


def from_bits(run: str) -> str | None:
    """The same of bits without a gap, eight to a letter."""
    whole = run[: len(run) // 8 * 8]
    return _wordy(int(whole, 2).to_bytes(len(whole) // 8, "big"))


def within_base64(text: str) -> str | None:
    """What base64 in `text` spells, wherever it begins and however its lines are cut; None where it spells nothing.

    All signs of `text` that base64 has are taken for it, from the first four places on: what is glued to it, or stands
    around it, comes to bytes that are no text.
    """
    raw = _CONCATENATED.sub(b"", text.encode("ascii", "ignore")).translate(_URLSAFE, _NO_BASE64)
    found: list[str] = []
    for start in range(4) if len(raw) > _LEAST_WITHIN * 4 // 3 else ():
        decoded = binascii.a2b_base64(raw[start : len(raw) - (len(raw) - start) % 4])
        found += filter(_stands_within, _stretches(decoded))
    return _shown(found)


def _stands_within(text: str) -> bool:
    """Whether `text` is too long and too various to have come out of other bytes by chance, of which many are UTF-8."""
    various = len(text) >= _LEAST_WITHIN and len(set(text)) >= _LEAST_LETTERS
    return various and (text.isascii() or _reads(text, wordy=False))


def _looked_up(numbers: list[str], table: dict[str, int]) -> str | None:
    return _wordy(bytes(map(table.get, numbers, repeat(_NONE))))


def _wordy(raw: bytes) -> str | None:
    return _shown(text for text in _stretches(raw) if _reads(text, wordy=True))


def _stretches(raw: bytes) -> list[str]:
    found = _STRETCH.finditer(raw.translate(None, b"\0"))
    return [match[0].decode("utf-8", "replace") for match in found]


def _reads(text: str, *, wordy: bool) -> bool:
    """Whether `text` is letters and blanks for the most part, with a gap or common words among them, and with these in
    any case if it is to be `wordy`."""
    raw = text.encode()
    if len(raw) - len(raw.translate(None, _SAID)) < _LEAST_SAID * len(raw):
        return False
    return (not wordy and _GAP.search(text) is not None) or len(words_of(text) & COMMON) >= _WORDY


def _shown(found: Iterable[str]) -> str | None:
    return "\n".join(found) or None
