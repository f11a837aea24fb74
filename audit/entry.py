"""One record: its envelope, its canonical bytes, and the strict way back.

A leaf of the tree is the record's canonical JSON: RFC 8785 narrowed to a profile without floats, with ASCII keys
and integers of at most 53 bits, in which sorting by code point and by UTF-16 unit agree. The bytes are made once,
stored as they are and never made again: a reader checks that they *are* canonical, it does not re-serialise them.
"""

import dataclasses
import json
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from audit.errors import BodyTooLargeError, EntryError

VERSION: Final = 1
MAX_LEAF: Final = 16 * 1024
"""Bytes a record; c2sp.org/tlog-tiles entry bundles carry a 16-bit length, so 65,535 would be the hard wall."""
_MAX_ENVELOPE: Final = 1024  # more than a leaf takes besides its body, with every field at its longest
MAX_PRIVATE: Final = 1024 * 1024
"""Bytes that may be kept beside a record."""
SALT: Final = 32
MAX_INT: Final = 2**53 - 1
MAX_DEPTH: Final = 32
"""Nested containers in a leaf, the envelope itself included."""

_LOG = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
_KIND = re.compile(r"[a-z][a-z0-9_.]{0,31}")
_NAME = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_HASH = re.compile(r"[0-9a-f]{64}")
_COUNT = re.compile(r"0|[1-9][0-9]{0,19}")
_KEYS: Final = [
    *("agent", "body", "boot_id", "call_id", "kind", "log", "mono_ns"),
    *("prev", "ref", "seq", "session", "time", "v"),
]
# Every token of the profile. The alternatives exclude each other and the quantifiers are possessive: linear time.
# With at most 15 digits an integer cannot be too large; only a leaf that has a longer one gets each looked at.
_PIECES = (
    r"(?:[{}\[\],:]|true|false|null|0|-?[1-9][0-9]{digits}(?![0-9])"
    r'|"[^"\\\x00-\x1f]*+(?:\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))[^"\\\x00-\x1f]*+)*+")*+'
)
_SMALL = re.compile(_PIECES.replace("{digits}", "{0,14}+"))
_LARGE = re.compile(_PIECES.replace("{digits}", "{0,15}+"))
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """What must not stand in a record and is kept beside it, sealed: 32 random bytes of salt, and the content that
    the record commits to with SHA-256(salt, content); empty where only the salt is kept."""

    salt: bytes = dataclasses.field(repr=False)
    content: bytes = dataclasses.field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller wants recorded. `body` is plain JSON without floats; the log adds the rest of the envelope.

    A second draft with the same `call_id` and `kind` is the same record: it is not written again.
    """

    kind: str
    body: dict[str, Any]
    session: str | None = None
    agent: str | None = None
    call_id: str | None = None
    ref: int | None = None
    private: Private | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One record as its leaf holds it; `prev` is the leaf hash of the record before, None for the first."""

    v: int
    log: str
    seq: int
    prev: str | None
    kind: str
    time: int
    mono_ns: str
    boot_id: str
    session: str | None
    agent: str | None
    call_id: str | None
    ref: int | None
    body: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """A draft whose content is checked and frozen as text; only the log's own fields are missing."""

    kind: str
    session: str | None
    agent: str | None
    call_id: str | None
    ref: int | None
    body: str
    # No part of the record: a repeated draft is the same whatever is private to it.
    private: Private | None = dataclasses.field(default=None, compare=False, repr=False)

    def leaf(self, *, log: str, seq: int, prev: str | None, time: int, mono_ns: str, boot_id: str) -> bytes:
        """The canonical bytes. Every piece was checked against an alphabet that needs no JSON escape."""
        return (
            f'{{"agent":{_name(self.agent)},"body":{self.body},"boot_id":"{boot_id}","call_id":{_name(self.call_id)},'
            f'"kind":"{self.kind}","log":"{log}","mono_ns":"{mono_ns}","prev":{_name(prev)},'
            f'"ref":{"null" if self.ref is None else self.ref},"seq":{seq},"session":{_name(self.session)},'
            f'"time":{time},"v":{VERSION}}}'
        ).encode()


def _name(value: str | None) -> str:
    return "null" if value is None else f'"{value}"'


def canonical(value: object) -> str:
    """The canonical text of plain JSON: dict, list or tuple, str, int, bool, None. Anything else is an EntryError."""
    _check(value, 0)
    text = _ENCODER.encode(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EntryError("a string holds a lone surrogate; replace it before it is recorded") from error
    return text


# INVARIANT: in the profile that _check() lets through, json's own encoder writes RFC 8785; a test holds them together.
_ENCODER = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)


def _check(value: Any, depth: int) -> None:
    """The record profile: plain JSON without floats, ASCII keys, integers that every reader holds, bounded depth."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return
    if kind is dict:
        _deep(depth + 1)
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                raise EntryError("an object key is not an ASCII string; rename it before it is recorded")
            within = type(item)
            # most of what there is: text, nothing, and small numbers
            if within is str or item is None or (within is int and -MAX_INT <= item <= MAX_INT):
                continue
            _check(item, depth + 1)
    elif isinstance(value, int):
        if not -MAX_INT <= value <= MAX_INT:
            raise EntryError("an integer exceeds 2^53-1; record it as a string")
    elif isinstance(value, list | tuple):
        _deep(depth + 1)
        for item in value:
            _check(item, depth + 1)
    elif not isinstance(value, str):
        raise EntryError(f"a `{kind.__name__}` is not plain JSON of the record profile; convert it first")


def _deep(depth: int) -> None:
    if depth > MAX_DEPTH - 1:
        raise EntryError(f"the body is nested deeper than {MAX_DEPTH - 1}; flatten it before it is recorded")


def encode(draft: Draft, *, log: str) -> Encoded:
    """Check and freeze a draft. Raises EntryError, or BodyTooLargeError if the leaf could exceed MAX_LEAF bytes."""
    check_kind(draft.kind)
    for field, value in (("session", draft.session), ("agent", draft.agent), ("call_id", draft.call_id)):
        if value is not None and not (type(value) is str and _NAME.fullmatch(value)):
            raise EntryError(f"`{field}` must match [A-Za-z0-9._:-]{{1,64}} or be None")
    if draft.ref is not None and not (type(draft.ref) is int and 0 <= draft.ref <= MAX_INT):
        raise EntryError("`ref` must be the seq of an earlier record or None")
    if type(draft.body) is not dict:
        raise EntryError("`body` must be a dict")
    if draft.private is not None:
        _check_private(draft.private)
    encoded = Encoded(
        kind=draft.kind,
        session=draft.session,
        agent=draft.agent,
        call_id=draft.call_id,
        ref=draft.ref,
        body=canonical(draft.body),
        private=draft.private,
    )
    if 4 * len(encoded.body) + _MAX_ENVELOPE <= MAX_LEAF:
        return encoded  # at four bytes a character at the most
    # INVARIANT: the limit does not depend on when the record is written, so the widest fields count.
    widest = encoded.leaf(log=log, seq=MAX_INT, prev="0" * 64, time=MAX_INT, mono_ns=str(2**64), boot_id="0" * 64)
    if len(widest) > MAX_LEAF:
        size = len(encoded.body.encode())
        raise BodyTooLargeError(size=size, limit=max(0, MAX_LEAF - (len(widest) - size)))
    return encoded


def _check_private(private: Private) -> None:
    if type(private.salt) is not bytes or len(private.salt) != SALT or type(private.content) is not bytes:
        raise EntryError(f"what is private to a record is {SALT} bytes of salt and bytes of content")
    if len(private.content) > MAX_PRIVATE:
        raise EntryError(f"what is private to a record may take {MAX_PRIVATE} bytes; cut it before it is recorded")


def check_kind(kind: object) -> None:
    """Raise EntryError unless `kind` matches `[a-z][a-z0-9_.]{0,31}`."""
    if not (type(kind) is str and _KIND.fullmatch(kind)):
        raise EntryError("`kind` must match [a-z][a-z0-9_.]{0,31}")


def check_log(log: object) -> None:
    """Raise EntryError unless `log` can name a log: `[A-Za-z0-9._:/-]{1,128}`."""
    if not (type(log) is str and _LOG.fullmatch(log)):
        raise EntryError("a log's name must match [A-Za-z0-9._:/-]{1,128}")


def decode(leaf: bytes) -> Envelope:
    """The record in a leaf. Raises EntryError unless the bytes are exactly the canonical form of a whole envelope."""
    if len(leaf) > MAX_LEAF:
        raise EntryError(f"the record takes {len(leaf)} bytes and may take {MAX_LEAF}")
    try:
        text = leaf.decode()
    except UnicodeDecodeError as error:
        raise EntryError("the record is not UTF-8") from error
    small = _SMALL.fullmatch(text) is not None
    if not small and not _LARGE.fullmatch(text):
        raise EntryError("the record is not canonical JSON of the record profile")
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _scan_depth(text)
    try:
        value = (_PLAIN if small else _COUNTING).decode(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise EntryError("the record is not JSON") from error
    if type(value) is not dict or list(value) != _KEYS:
        raise EntryError("the record does not have exactly the keys of the envelope")
    _check_fields(value)
    return Envelope(**value)


def _scan_depth(text: str) -> None:
    depth = 0
    for char in _STRING.sub("", text):
        if char in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise EntryError(f"the record is nested deeper than {MAX_DEPTH}")
        elif char in "}]":
            depth -= 1


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    previous = None
    for key, _ in pairs:
        # Strictly rising keys are sorted and unique at once.
        if not key.isascii() or (previous is not None and key <= previous):
            raise EntryError("the record has keys that are not ASCII, not sorted or not unique")
        previous = key
    return dict(pairs)


def _integer(digits: str) -> int:
    if len(digits) > 17 or not -MAX_INT <= (number := int(digits)) <= MAX_INT:
        raise EntryError("the record holds an integer beyond 2^53-1")
    return number


def _refuse(token: str) -> NoReturn:
    raise EntryError(f"the record holds the number `{token}`, which the profile does not have")


# The token patterns have no fractions, exponents or NaN, so the refusals are a second bolt.
_PLAIN: Final = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=_refuse, parse_constant=_refuse)
_COUNTING: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_refuse, parse_constant=_refuse
)


def _check_fields(value: dict[str, Any]) -> None:
    if value["v"] is True or value["v"] != VERSION:
        raise EntryError(f"the record's version is not {VERSION}; use a newer verifier")
    for field, shape in (("log", _LOG), ("kind", _KIND), ("mono_ns", _COUNT), ("boot_id", _NAME)):
        if not (type(value[field]) is str and shape.fullmatch(value[field])):
            raise EntryError(f"the record's `{field}` is malformed")
    for field, shape in (("session", _NAME), ("agent", _NAME), ("call_id", _NAME), ("prev", _HASH)):
        if value[field] is not None and not (type(value[field]) is str and shape.fullmatch(value[field])):
            raise EntryError(f"the record's `{field}` is malformed")
    for field in ("seq", "time"):
        if type(value[field]) is not int or value[field] < 0:
            raise EntryError(f"the record's `{field}` is not a number from 0")
    if (value["prev"] is None) != (value["seq"] == 0):
        raise EntryError("the record's `prev` is null only in the first record")
    ref = value["ref"]
    if ref is not None and (type(ref) is not int or not 0 <= ref < value["seq"]):
        raise EntryError("the record's `ref` is not the seq of an earlier record")
    if type(value["body"]) is not dict:
        raise EntryError("the record's `body` is not an object")
