"""What a text holds in one encoding or another: one step, bounded in what it unpacks."""

import base64
import binascii
import codecs
import re
import unicodedata
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.facts.text_codes import from_bits, from_hex_numbers, from_numbers, within_base64
from shield.facts.text_plain import LINK
from shield.facts.text_scattered import digits_in_dump, gathered, words_apart
from shield.facts.text_shifts import shifted
from shield.facts.text_words import COMMON, words_of
from shield.regex import regex

__all__ = ["Purse", "decoded"]

_MAX_INFLATED = 1 << 17  # bytes that are unpacked of one string, all together
_MAX_MEMBERS = 16  # of what is packed, one behind the other
_PACKED = (b"\x78", b"\x1f\x8b")
_MAX_PERCENT = 8  # times that a string may be percent-encoded and still is one layer
_LEAST = 16  # characters: shorter runs decode to something by chance

_BASE64 = re2.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re2.compile(r"(?:[0-9a-fA-F]{2}){8,}|(?:\\x[0-9a-fA-F]{2}){4,}|(?:[0-9a-fA-F]{2}[ :]){7,}[0-9a-fA-F]{2}")
_BASE32 = re2.compile(r"\b(?:[A-Z2-7]{24,}|[a-z2-7]{24,})={0,6}")
# letters by their codes, whatever stands between them: `83, 89`, `83-89`, `chr(83)+chr(89)`
_NUMBERS = re2.compile(r"(?:[0-9]{2,8}[^0-9]{1,32}){15,}[0-9]{2,8}")
_HEX_NUMBERS = re2.compile(
    r"(?:(?:0[xX]|[uU]\+)?[0-9a-fA-F]{2,8}[\s,;.:|/+\"'-]{1,6}){15,}(?:0[xX]|[uU]\+)?[0-9a-fA-F]{2,8}"
    r"|(?:\\[xuU{']{0,2}[0-9a-fA-F]{2,8}[\s,;}]{0,6}){16,}"
)
_BITS = re2.compile(r"[01]{128,}")
_PERCENT = regex(r"%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2})(?:%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2}))*")
_UNIT = regex(r"%u([0-9a-fA-F]{4})")
_NAMED = regex(r"\\N\{([A-Za-z0-9 -]{2,90})\}")
_LEAST_NAMED = 4  # letters by their names, from which on a text is written in them
_MAX_APART = 16  # decoded runs that are looked for in vain in what all of them spell
# RFC 2045, section 6.7, by what no setting and no query has: lines that go on, an equals sign, or three in a row
_IS_QUOTED = regex(r"=\r?\n[^\n]*=(?:\r?\n|[0-9A-F]{2})|=3D|(?:=[0-9A-Fa-f]{2}){3}")
# in small letters only three in a row
_QUOTED = regex(r"=(?:[0-9A-Fa-f]{2}(?:=[0-9A-Fa-f]{2}){2,}|[0-9A-F]{2}(?:=[0-9A-F]{2})*)")
# RFC 2047, section 2; what parts two of them is not shown
_WORD = regex(r"=\?([\w.:-]{1,40})(?:\*[\w-]{0,40})?\?([bBqQ])\?([^?\s]*)\?=", re.ASCII)
_WORDS = regex(rf"(?:{_WORD.pattern}(?:\s+(?==\?))?)+", re.ASCII)
# of Python's there are some that take a step for each two letters
_CHARSETS = regex(
    r"us-ascii|utf-?(?:8|16(?:le|be)?)|iso-8859-\d{1,2}|windows-\d{3,4}|koi8-[ru]|big5|gb(?:k|2312|18030)|shift_jis"
    r"|euc-(?:jp|kr)|iso-2022-(?:jp|kr)",
    re.IGNORECASE,
)
_TURNED = frozenset(codecs.encode(word, "rot13") for word in COMMON)
_ANY_TURNED = re2.compile(rf"(?i)\b(?:{'|'.join(sorted(_TURNED))})\b")
_CONTROLS = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TAGS = regex("[\U000e0020-\U000e007e]+")
_SELECTORS = regex("[\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
_LEAST_UNSEEN = 4  # characters that nobody sees, from which on they may spell something


@dataclass(slots=True)
class Purse:
    """How many bytes may still be unpacked."""

    left: int = _MAX_INFLATED


def decoded(text: str, purse: Purse) -> Iterable[tuple[str, str]]:
    """What `text` holds in one encoding or another, as far as it looks like text."""
    if len(text) < 4:
        return
    if not text.isascii():
        yield from _unseen(text)
    if "\x1b]8;" in text and LINK.search(text):
        # a terminal shows no address, and who reads the text as it stands is shown each
        yield "links", LINK.sub(_from_link, text)
    if "\b" in text or "\x7f" in text:
        yield "struck", _struck(text)
    if "=?" in text and _WORD.search(text):
        yield "words", _WORDS.sub(_from_words, text)
    if _PERCENT.search(text):
        undone = text
        for _ in range(_MAX_PERCENT):
            undone = _PERCENT.sub(_from_percent, before := undone)
            if undone == before:
                break
        yield "percent", undone
    if len(text) < _LEAST:
        return
    if "\\N{" in text:
        written, named = _NAMED.subn(_from_name, text)
        if named >= _LEAST_NAMED:
            yield "names", written
    if "=" in text and _IS_QUOTED.search(text):
        yield "quoted", _from_quoted(text)
    yield from _in_runs(text, purse)
    yield from shifted(text)
    if _ANY_TURNED.search(text):
        # lines may be too short to show it where the text as a whole does; or one of them stands among plain ones
        least = 0 if _is_turned(text) else 2
        turned = [line for line in text.splitlines() if _is_turned(line, least)]
        if turned:
            yield "rot13", codecs.decode("\n".join(turned), "rot13")


def _in_runs(text: str, purse: Purse) -> Iterable[tuple[str, str]]:
    """What runs of signs or numbers spell, and such runs that other signs stand between."""
    # what goes on over many lines is told before its lines are, which are parts of it
    told = {"base64": "", "hex": ""}
    spellings = [("hex", digits) for digits in digits_in_dump(text)] + list(gathered(text))
    for name, run in spellings:
        spelled = (_from_hex if name == "hex" else _from_base64)(run, purse)
        if spelled is not None:
            told[name] += spelled + "\n"
            yield name, spelled
    yield from words_apart(text)
    within = within_base64(text)
    if within is not None:
        told["base64"] = f"{within}\n{told['base64']}"
        yield "base64", within
    for name, pattern, decode in _RUNS:
        runs = dict.fromkeys(match[0] for match in pattern.finditer(text))
        found = (spelled for run in runs if (spelled := decode(run, purse)) is not None)
        for spelled in _apart(found, told[name]) if told.get(name) else found:
            yield name, spelled


def _apart(found: Iterable[str], within: str) -> Iterable[str]:
    """What of `found` does not stand in `within`, in whose order they are: lines of one text say nothing by themselves.
    Each one that is missed takes a look at all of it, so after `_MAX_APART` of them the others are told unseen."""
    at = missed = 0
    for spelled in found:
        place = within.find(spelled, at) if missed < _MAX_APART else -1
        if place < 0:
            missed += 1
            yield spelled
        else:
            at = place


def _unseen(text: str) -> Iterable[tuple[str, str]]:
    """What tags (a letter each) and variation selectors (a byte each) spell, wherever in `text` they stand."""
    # only what begins with one of these bytes can be one: to look for them is quick
    raw = text.encode("utf-8", "surrogatepass")
    if b"\xf3\xa0" not in raw and b"\xef\xb8" not in raw:
        return
    tags = "".join(_TAGS.findall(text))
    if len(tags) >= _LEAST_UNSEEN:
        yield "tags", "".join(chr(ord(tag) - 0xE0000) for tag in tags)
    selectors = "".join(_SELECTORS.findall(text))
    if len(selectors) >= _LEAST_UNSEEN:
        places = [ord(selector) for selector in selectors]
        spelled = _text(bytes(place - 0xFE00 if place < 0xE0100 else place - 0xE0100 + 16 for place in places))
        if spelled is not None:
            yield "selectors", spelled


def _is_turned(text: str, least: int = 2) -> bool:
    """Whether `text` holds `least` common words turned, and more of them than plain ones; or none of either."""
    words = words_of(text)
    turned, common = len(words & _TURNED), len(words & COMMON)
    return turned >= least and (turned > common or not turned + common)


def _from_link(match: re.Match[str]) -> str:
    return f" {match[1]} {match[2]} " if match[1] or match[2] else ""


def _struck(text: str) -> str:
    """What of `text` is left on paper where letters are struck over each other, or were deleted (nroff's bold: `b`, a
    step back, `b`)."""
    kept: list[str] = []
    for letter in text:
        if letter not in "\b\x7f":
            kept.append(letter)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _from_words(match: re.Match[str]) -> str:
    words = _WORD.findall(match[0])
    # a letter may begin in one of them and end in the next
    raw = b"".join(_from_word(encoding.lower(), word.encode("utf-8", "surrogatepass")) for _, encoding, word in words)
    try:
        return raw.decode(words[0][0] if _CHARSETS.fullmatch(words[0][0]) else "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


def _from_word(encoding: str, word: bytes) -> bytes:
    try:
        return base64.b64decode(word + b"===") if encoding == "b" else binascii.a2b_qp(word, header=True)
    except binascii.Error:
        return word


def _from_percent(match: re.Match[str]) -> str:
    units = _UNIT.sub(lambda unit: chr(int(unit[1], 16)), match[0])
    return unquote(units.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), errors="replace")


def _from_name(match: re.Match[str]) -> str:
    try:
        return unicodedata.lookup(match[1])
    except KeyError:
        return match[0]


def _from_base64(run: str, purse: Purse) -> str | None:
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    # A character more than whole quadruples cannot be base64.
    if len(body) % 4 == 1:
        body = body[:-1]
    try:
        return _text(_inflated(base64.b64decode(body + "=" * (-len(body) % 4)), purse))
    except (binascii.Error, ValueError):
        return None


def _from_hex(run: str, _purse: Purse) -> str | None:
    try:
        return _text(bytes.fromhex(run.replace("\\x", "").replace(":", " ")))
    except ValueError:
        return None


def _from_base32(run: str, _purse: Purse) -> str | None:
    # what is in small letters has digits among them, or is a word
    if run.isalpha() and run.islower():
        return None
    body = run.rstrip("=").upper()
    try:
        return _text(base64.b32decode(body + "=" * (-len(body) % 8)))
    except (binascii.Error, ValueError):
        return None


def _from_quoted(text: str) -> str:
    def decode(match: re.Match[str]) -> str:
        decoded = bytes.fromhex(match[0].replace("=", "")).decode("utf-8", "replace")
        return match[0] if _CONTROLS.search(decoded) else decoded

    return _QUOTED.sub(decode, text.replace("=\r\n", "").replace("=\n", ""))


def _inflated(raw: bytes, purse: Purse) -> bytes:
    """What `raw` holds where it is zlib's or gzip's (RFC 1950, 1952), as far as it is looked at; else `raw`. Behind one
    member there may be others."""
    inflated, rest = b"", raw
    for _ in range(_MAX_MEMBERS):
        if not rest.startswith(_PACKED) or purse.left <= 0:
            break
        member = zlib.decompressobj(wbits=47)
        try:
            found = member.decompress(rest, purse.left)
        except zlib.error:
            break
        purse.left -= len(found)
        inflated += found
        rest = member.unused_data
    else:
        if rest.startswith(_PACKED):
            purse.left = 0
    return inflated or raw


_RUNS = (
    ("base64", _BASE64, _from_base64),
    ("base32", _BASE32, _from_base32),
    ("hex", _HEX, _from_hex),
    ("numbers", _NUMBERS, lambda run, _: from_numbers(run)),
    ("numbers", _HEX_NUMBERS, lambda run, _: from_hex_numbers(run)),
    ("numbers", _BITS, lambda run, _: from_bits(run)),
)


def _text(raw: bytes) -> str | None:
    """`raw` as text if it plausibly is some: UTF-8 or UTF-16, nearly all of it printable. A byte that fits in nowhere
    does not make it none."""
    # only what is ASCII is taken for UTF-16, and that is half zeros
    for encoding in ("utf-8", "utf-16-le", "utf-16-be") if 0 in raw else ("utf-8",):
        decoded = raw.decode(encoding, "replace").removeprefix("\ufeff")
        if decoded.count("\ufffd") > 0.1 * len(decoded):
            continue
        shown = sum(character.isprintable() or character in "\n\r\t" for character in decoded)
        known = sum(character.isascii() or character.isalpha() for character in decoded)
        if len(decoded) >= 4 and shown >= 0.95 * len(decoded) and known >= 0.9 * len(decoded):
            if encoding != "utf-8" and not decoded.isascii():
                continue
            return decoded
    return None
