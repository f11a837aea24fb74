"""Shapes: what a leaf looks like apart from its values, as one regular expression, so that most need no JSON parser.

Leaves that programs write repeat a few structures. Once `audit.entry.decode` has accepted a structure, its member
names, brackets and their order become literal text of a pattern and only the scalars stay open, each within the
canonical form (SPEC, section 1). INVARIANT: whatever a shape matches and whose `prev` is the hash before, `decode`
accepts, and the pattern's groups are the envelope. What matches no shape goes through `decode`. Who wants all of a
record (`envelopes`) gets it from any JSON parser then, without what `decode` does in Python for each object.

Records with a meaning of their own (`log.open`, `key.rotate`) are always decoded.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from audit.entry import MAX_LEAF, Envelope, decode
from audit.errors import EntryError

MAX_SHAPES: Final = 64
"""Shapes that are kept; a log of more structures is read, but more slowly."""
MAX_MEMBERS: Final = 200
"""Scalars in a shape; compiling a larger one takes longer than it saves."""
_SIGHTINGS: Final = 3
_MAX_SEEN: Final = 1024
_PAUSE: Final = 16_384  # leaves to decode before another structure may replace an old one

_NUMBER: Final = rb"0|-?[1-9][0-9]{0,14}+"
_COUNT: Final = rb"(0|[1-9][0-9]{0,14}+)"
_NAME: Final = rb"[A-Za-z0-9._:-]{1,64}+"
# Where a leaf holds neither backslash nor control character, a string ends at the next quote.
_PLAIN: Final = rb'"[^"]*+"'
_ESCAPED: Final = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]))[^"\\\x00-\x1f]*+)*+"'
_SCALAR: Final = b"\x00"  # where a scalar stands in a pattern that is not finished
_TOKEN = re.compile(rb'[{}\[\],:]|"(?:[^"\\]|\\.)*+"|[^{}\[\],:"]++')
_HASH = re.compile(rb"[0-9a-f]{64}")
_JSON: Final = json.JSONDecoder()
_CONTROLS: Final = tuple(bytes([code]) for code in range(32) if code != 0x0A)
_ENVELOPE: Final = {
    b'"agent"': rb'(?:null|"' + _NAME + rb'")',
    b'"boot_id"': rb'"(' + _NAME + rb')"',
    b'"call_id"': rb'((?:null|"' + _NAME + rb'")',  # its group ends with the kind: see `Fields.call`
    b'"kind"': rb'"([a-z][a-z0-9_.]{0,31}+))"',
    b'"mono_ns"': rb'"(0|[1-9][0-9]{0,19}+)"',
    b'"prev"': rb'(?:null|"([^"]*+)")',
    b'"ref"': rb"(?:null|" + _COUNT + rb")",
    b'"seq"': _COUNT,
    b'"session"': rb'(?:null|"' + _NAME + rb'")',
    b'"time"': _COUNT,
    b'"v"': rb"1",
}


class Fields(NamedTuple):
    """What a verifier needs of one leaf, as it stands in it; None for null.

    `call`: the text from the value of `call_id` to the kind: `"<call id>","kind":"<kind>`, or from null.
    """

    boot_id: bytes
    call: bytes
    kind: bytes
    mono_ns: bytes
    prev: bytes | None
    ref: bytes | None
    seq: bytes
    time: bytes


Match = Callable[[bytes], "re.Match[bytes] | None"]


def fields_of(record: Envelope) -> Fields:
    """The fields of a decoded leaf."""
    call = "null" if record.call_id is None else f'"{record.call_id}"'
    return Fields(
        boot_id=record.boot_id.encode(),
        call=f'{call},"kind":"{record.kind}'.encode(),
        kind=record.kind.encode(),
        mono_ns=record.mono_ns.encode(),
        prev=None if record.prev is None else record.prev.encode(),
        ref=None if record.ref is None else b"%d" % record.ref,
        seq=b"%d" % record.seq,
        time=b"%d" % record.time,
    )


class Shapes:
    """The shapes of one log's leaves, learned as they come."""

    def __init__(self, log: str, *, marks: frozenset[str]) -> None:
        """`marks`: the kinds that must always be decoded."""
        self._log = log
        self._marks = marks
        self._seen: dict[bytes, int] = {}
        self._alive: list[bytes] = []
        self._pause = 0
        # by their number of braces, which is quick to find; a string that holds braces leads to the wrong ones
        self._plain: dict[int, list[Match]] = {}
        self._escaped: dict[int, list[Match]] = {}
        self.decoded = 0
        """Leaves that matched no shape."""

    def read(self, leaves: Sequence[bytes]) -> list[Fields | tuple[bytes | None, ...]]:
        """The fields of each leaf, `prev` as it stands there. Raises EntryError: malformed, or of another log."""
        joined = b"\n".join(leaves)
        if max(map(len, leaves)) > MAX_LEAF or not _is_utf8(joined):
            return [fields_of(decode(leaf)) for leaf in leaves]
        clean = joined.count(b"\n") == len(leaves) - 1 and not any(code in joined for code in _CONTROLS)
        found: list[Fields | tuple[bytes | None, ...]] = []
        for leaf in leaves:
            shapes = self._plain if clean and b"\\" not in leaf else self._escaped
            for match in shapes.get(leaf.count(b"{"), ()):
                groups = match(leaf)
                if groups is not None:
                    found.append(groups.groups())
                    break
            else:
                groups = _any(shapes, leaf)
                found.append(self._decode(leaf) if groups is None else groups.groups())
        return found

    def envelopes(self, leaves: Sequence[bytes]) -> list[Envelope]:
        """What `decode` says of each leaf. Raises EntryError: one of them is malformed, or of another log."""
        return [_envelope(leaf, found) for leaf, found in zip(leaves, self.read(leaves), strict=True)]

    def _decode(self, leaf: bytes) -> Fields:
        self.decoded += 1
        record = decode(leaf)
        if record.log != self._log:
            raise EntryError(f"the record is of the log `{record.log}`")
        if self._pause:
            self._pause -= 1
        elif record.kind not in self._marks:
            self._learn(leaf)
        return fields_of(record)

    def _learn(self, leaf: bytes) -> None:
        pattern = _pattern(leaf, re.escape(self._log.encode()))
        if pattern is None or pattern in self._alive:
            return
        if len(self._seen) >= _MAX_SEEN:
            self._seen.clear()
        self._seen[pattern] = self._seen.get(pattern, 0) + 1
        if self._seen[pattern] < _SIGHTINGS:
            return
        del self._seen[pattern]
        if len(self._alive) == MAX_SHAPES:
            self._alive.clear()
            self._plain.clear()
            self._escaped.clear()
            self._pause = _PAUSE
        self._alive.append(pattern)
        for shapes, string in ((self._plain, _PLAIN), (self._escaped, _ESCAPED)):
            scalar = b"(?:" + string + b"|" + _NUMBER + b"|null|true|false)"
            compiled = re.compile(pattern.replace(_SCALAR, scalar))
            shapes.setdefault(pattern.count(b"\\{"), []).append(compiled.fullmatch)


def _envelope(leaf: bytes, found: Fields | tuple[bytes | None, ...]) -> Envelope:
    """The record in a leaf that has a shape, or went through `decode`; `found`: its fields."""
    prev, ref, seq = found[4:7]
    assert seq is not None  # a number in every leaf
    # what a shape leaves open, for it knows no leaf but this one
    linked = seq == b"0" if prev is None else seq != b"0" and _HASH.fullmatch(prev) is not None
    if not linked or (ref is not None and int(ref) >= int(seq)):
        return decode(leaf)
    return Envelope(**_JSON.decode(leaf.decode()))


def _any(shapes: dict[int, list[Match]], leaf: bytes) -> "re.Match[bytes] | None":
    for some in shapes.values():
        for match in some:
            groups = match(leaf)
            if groups is not None:
                return groups
    return None


def _is_utf8(joined: bytes) -> bool:
    # A newline is never inside a character, so what is UTF-8 together is UTF-8 apart.
    if joined.isascii():
        return True
    try:
        joined.decode()
    except UnicodeDecodeError:
        return False
    return True


def _pattern(leaf: bytes, log: bytes) -> bytes | None:
    """The pattern of a canonical leaf, with a NUL byte where a scalar stands; None if it would be too large."""
    tokens = _TOKEN.findall(leaf)
    if sum(token[:1] not in b"{}[],:" for token in tokens) > MAX_MEMBERS:
        return None
    return _Structure(tokens, {**_ENVELOPE, b'"log"': b'"' + log + b'"'}).leaf()


class _Structure:
    """A canonical leaf's tokens becoming a pattern."""

    def __init__(self, tokens: list[bytes], envelope: dict[bytes, bytes]) -> None:
        self._tokens = tokens
        self._at = 0
        self._envelope = envelope

    def leaf(self) -> bytes:
        return self._object(lambda name: self._value() if name == b'"body"' else self._field(name))

    def _field(self, name: bytes) -> bytes:
        self._at += 1
        return self._envelope[name]

    def _value(self) -> bytes:
        token = self._tokens[self._at]
        if token == b"{":
            return self._object(lambda _name: self._value())
        if token == b"[":
            return self._list()
        self._at += 1
        return _SCALAR

    def _object(self, value: Callable[[bytes], bytes]) -> bytes:
        members = []
        self._at += 1
        while (token := self._tokens[self._at]) != b"}":
            if token == b",":
                self._at += 1
                continue
            self._at += 2  # the name and its colon
            members.append(re.escape(token) + b":" + value(token))
        self._at += 1
        return b"\\{" + b",".join(members) + b"\\}"

    def _list(self) -> bytes:
        items = []
        self._at += 1
        while (token := self._tokens[self._at]) != b"]":
            if token == b",":
                self._at += 1
                continue
            items.append(self._value())
        self._at += 1
        if all(item == _SCALAR for item in items):  # then of any length
            return b"\\[(?:" + _SCALAR + b"(?:," + _SCALAR + b")*+)?+\\]"
        return b"\\[" + b",".join(items) + b"\\]"
