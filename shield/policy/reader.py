"""The strict YAML reader: positions for every key and value, and only what a policy needs.

1. The text: UTF-8, at most `MAX_BYTES`, no control, bidirectional or invisible characters.
2. libyaml's events: anchors, aliases, tags, directives, a second document and deep nesting are refused as they come.
   Nothing is composed by libyaml: deeply nested input would end the process, and an alias bomb be built at once.
3. The values are built here. Scalars are null, true, false, whole numbers and strings; what YAML 1.1 would silently
   read as something else is refused with the way to write it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from shield.errors import PolicyError
from shield.regex import regex
from shield.types import Json

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Entry", "List", "Map", "Mark", "Node", "Scalar", "plain", "read"]

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_NODES = 200_000
MAX_INTEGER = (1 << 63) - 1

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Controls, NEL and the line separators that only YAML counts as line ends, bidirectional and zero-width characters:
# with them a reviewer sees another policy than the one that is loaded.
_HIDDEN = regex(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]|\r(?!\n)"
)
_INTEGER = regex(r"[-+]?(0|[1-9][0-9]*)\Z")
_NUMBER_LIKE = regex(r"[-+]?(0[0-9_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+|0o[0-7_]+|[0-9][0-9_]*_[0-9_]*)\Z")
_FLOAT_LIKE = regex(
    r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9]+(?=e))(e[-+]?[0-9]+)?\Z|[-+]?\.(inf|nan)\Z", re.IGNORECASE
)
_WORDS = {"true": True, "false": False, "null": None}
_TRUTHS = frozenset({"true", "yes", "on"})
_SURPRISES = frozenset({"true", "false", "null", "yes", "no", "on", "off"})


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in a file; both count from 1, columns in code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """`text` begins at `inner`: behind the quote, or on the line below the `|` or `>` of a block."""

    mark: Mark
    inner: Mark
    value: bool | int | str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    mark: Mark
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    key: str
    mark: Mark
    value: "Node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Keys are strings and each occurs once."""

    mark: Mark
    entries: tuple[Entry, ...]

    def get(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)


Node = Scalar | List | Map


def read(raw: bytes, file: str) -> Node:
    """The one document in `raw`.

    Raises:
        PolicyError: with file, line and column of what is refused.
    """
    text = _text(raw, file)
    try:
        root = _Builder(file, text).document()
    except yaml.MarkedYAMLError as error:
        mark = _at(error.problem_mark if error.problem_mark is not None else error.context_mark)
        what = " ".join(part for part in (error.context, error.problem) if part) or "not YAML"
        if _character(text, mark) == "\t":
            what = "a tab where YAML wants spaces; indent with spaces"
        raise PolicyError(f"not readable as YAML: {what}", file=file, line=mark.line, column=mark.column) from None
    except yaml.YAMLError:
        raise PolicyError("not readable as YAML", file=file, line=1, column=1) from None
    if root is None:
        raise PolicyError("the file is empty; begin with `version: 1`", file=file, line=1, column=1)
    return root


def plain(node: Node) -> Json:
    """The value without its positions."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, List):
        return [plain(item) for item in node.items]
    return {entry.key: plain(entry.value) for entry in node.entries}


def _text(raw: bytes, file: str) -> str:
    if len(raw) > MAX_BYTES:
        raise PolicyError(f"the file is larger than {MAX_BYTES} bytes; split it with `extends`", file=file)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        mark = _position(before, len(before))
        raise PolicyError("not UTF-8; save the file as UTF-8", file=file, line=mark.line, column=mark.column) from None
    hidden = _HIDDEN.search(text)
    if hidden:
        mark = _position(text, hidden.start())
        shown = f"U+{ord(hidden.group()[0]):04X}"
        raise PolicyError(
            f'the character `{shown}` is not allowed; remove it or write it as an escape in a "quoted" string',
            file=file,
            line=mark.line,
            column=mark.column,
        )
    return text


def _at(mark: Any) -> Mark:
    """libyaml's position, which counts from 0; errors of its encoding layer have none."""
    return Mark(mark.line + 1, mark.column + 1) if mark is not None else Mark(1, 1)


def _character(text: str, mark: Mark) -> str:
    """The character at a place, empty behind the end of its line."""
    lines = text.splitlines()
    return lines[mark.line - 1][mark.column - 1 : mark.column] if mark.line <= len(lines) else ""


def _position(text: str, offset: int) -> Mark:
    return Mark(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _refusal(event: Any) -> str | None:
    kind = type(event)
    if kind is yaml.DocumentStartEvent:
        return "directives (`%YAML`, `%TAG`) are not allowed; remove them" if event.version or event.tags else None
    if kind is yaml.AliasEvent:
        return f"the alias `*{event.anchor}` is not allowed; write the value again"
    if event.anchor is not None:
        return f"the anchor `&{event.anchor}` is not allowed; remove it"
    if event.tag is not None:
        return f"the tag `{event.tag}` is not allowed; remove it"
    return None


class _Builder:
    """Builds the values of one document from its events."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = text.split("\n")
        self._events = yaml.parse(text, Loader=_LOADER)
        self._nodes = 0

    def document(self) -> Node | None:
        """The root; None where there is no document."""
        root: Node | None = None
        documents = 0
        for event in self._events:
            kind = type(event)
            if kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise self._error("a second document is not allowed; use one file each", _at(event.start_mark))
                self._check(event)
                root = self._node(next(self._events), 1)
        return root

    def _node(self, event: Any, depth: int) -> Node:
        mark = self._check(event)
        kind = type(event)
        if kind is yaml.ScalarEvent:
            return self._scalar(event, mark)
        if depth > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", mark)
        if kind is yaml.SequenceStartEvent:
            items: list[Node] = []
            while type(event := next(self._events)) is not yaml.SequenceEndEvent:
                items.append(self._node(event, depth + 1))
            return List(mark=mark, items=tuple(items))
        if kind is yaml.MappingStartEvent:
            return Map(mark=mark, entries=tuple(self._entries(depth)))
        raise self._error("not a value", mark)

    def _check(self, event: Any) -> Mark:
        mark = _at(event.start_mark)
        self._nodes += 1
        refused = _refusal(event) if self._nodes <= MAX_NODES else f"more than {MAX_NODES} values"
        if refused:
            raise self._error(refused, mark)
        return mark

    def _entries(self, depth: int) -> Iterator[Entry]:
        seen: dict[str, Mark] = {}
        while type(event := next(self._events)) is not yaml.MappingEndEvent:
            mark = self._check(event)
            if type(event) is not yaml.ScalarEvent:
                raise self._error("a key must be a word, not a list or a mapping", mark)
            key = event.value
            if not event.style:
                if key == "<<":
                    raise self._error("the merge key `<<` is not allowed; write the keys out", mark)
                if not isinstance(self._plain(key, mark), str):
                    raise self._error(f'a key must be a string; write `"{key}"`', mark)
            if key in seen:
                raise self._error(f"the key `{key}` is given twice, first in line {seen[key].line}; keep one", mark)
            seen[key] = mark
            yield Entry(key=key, mark=mark, value=self._node(next(self._events), depth + 1))

    def _scalar(self, event: Any, mark: Mark) -> Scalar:
        text: str = event.value
        if event.style in ("'", '"'):
            return Scalar(mark=mark, inner=Mark(mark.line, mark.column + 1), value=text, text=text)
        if event.style in ("|", ">"):
            return Scalar(mark=mark, inner=self._block_start(mark), value=text, text=text)
        return Scalar(mark=mark, inner=mark, value=self._plain(text, mark), text=text)

    def _plain(self, text: str, mark: Mark) -> bool | int | str | None:
        if text in _WORDS:
            return _WORDS[text]
        if text == "":
            return None
        folded = text.lower()
        if folded in _SURPRISES:
            meant = "null" if folded == "null" else "true" if folded in _TRUTHS else "false"
            raise self._error(f'`{text}` is ambiguous; write `{meant}`, or `"{text}"` for the word', mark)
        if text == "~":
            raise self._error('`~` is ambiguous; write `null`, or `"~"` for the home directory', mark)
        if _INTEGER.match(text):
            number = int(text) if len(text) <= 20 else MAX_INTEGER + 1
            if abs(number) > MAX_INTEGER:
                raise self._error(f"`{text[:24]}` does not fit 64 bits; write it as a string in quotes", mark)
            return number
        if _NUMBER_LIKE.match(text) or _FLOAT_LIKE.match(text):
            raise self._error(f'`{text}` is not a plain whole number; write `"{text}"` for the string', mark)
        return text

    def _block_start(self, mark: Mark) -> Mark:
        for number in range(mark.line, len(self._lines)):
            line = self._lines[number]
            if line.strip():
                return Mark(number + 1, len(line) - len(line.lstrip(" ")) + 1)
        return mark

    def _error(self, detail: str, mark: Mark) -> PolicyError:
        return PolicyError(detail, file=self._file, line=mark.line, column=mark.column)
