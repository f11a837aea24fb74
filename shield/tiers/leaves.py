"""The texts of an action by what they are read as: every string of its payload, with its place and its kind."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from shield.actions.fields import Field, FieldRole
from shield.actions.registry import FIELDS_BY_NAME, lookup
from shield.facts.text import names_only, pointer
from shield.facts.text_codes import from_codes
from shield.regex import regex
from shield.tiers.judged import Text
from shield.tiers.pieces import is_said, parted, spaced
from shield.tiers.texts import squeezed
from shield.types import Access, Action, Facts, Json, TextKind

__all__ = ["leaves", "unsaid"]

_BODIES = frozenset(("content", "old", "new"))  # fields of the next two, whose texts become what stands in a file
_WRITERS = frozenset(("write_file", "edit_file"))
_SAYING = frozenset(("memory_write",))  # types that write nothing but what stands in the call
_AGENT_FILES = frozenset(("agent_identity", "agent_instruction", "agent_memory"))
_KINDS = {
    FieldRole.COMMAND: TextKind.COMMAND,
    FieldRole.URL: TextKind.URL,
    FieldRole.PATTERN: TextKind.URL,
    FieldRole.PATH: TextKind.URL,
    FieldRole.RECIPIENT: TextKind.URL,
    FieldRole.OPTION: TextKind.URL,
}
_NAMES = frozenset((FieldRole.PATH, FieldRole.RECIPIENT, FieldRole.OPTION, FieldRole.PATTERN, FieldRole.SECRET))
_QUERIES = frozenset(("query", "q", "search"))
# What is read before the rest of an object, which comes by the alphabet of its names.
_HEADS = frozenset(("heading", "key", "label", "name", "subject", "summary", "title", "topic"))
_TALK = regex(r"(?<!\S)\S+\s+\S+\s+\S+\s+\S|[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{8}")
_LONG_NAME = 200  # code points; what is longer says more than a name
_PIECE = 160  # code points: of a longer string as many at each end are read together with its neighbours
_PIECES = 4  # strings under one name from which on they may say something together
_SHORT = 20  # code points that these have on average: longer ones say what they say by themselves
_AROUND = 600  # code points on each side of an edit
_EDITS = 20  # places of a file that an edit may change and still be read in parts


class _Number(NamedTuple):
    """A number of the payload, the name that it stands under, and the array that it stands in, if any."""

    name: str
    array: str
    code: int


def leaves(action: Action, facts: Facts) -> tuple[Text, ...]:
    """Every string of the payload, and every key that is more than a name; of what is said to somebody also all of it
    as one, so that what is told in pieces is read as a whole, and of a file that agents read, how it reads after.

    `name_only` texts are identifiers: they are held against the rules, and not put to the classifier.
    """
    type = lookup(action.type)
    written = [path for path in facts.paths if path.access is Access.WRITE]
    # what an agent reads as its own thoughts or orders is read as speech, not as the body of a file
    speech = any(path.categories & _AGENT_FILES for path in written)
    file = type.name in _WRITERS and not speech
    inside = bool(written) and all(path.inside_workspace for path in written)
    found: list[Text] = []
    together: list[str] = []
    names: list[str] = []
    numbers: list[_Number] = []
    pieces: dict[str, list[str]] = {}
    for name, value in _in_order(action.payload):
        for text, where, key in _strings(value, pointer(name), name, names, numbers):
            field = type.fields.get(name) if key == name else None
            read = _text(field or FIELDS_BY_NAME.get(key.lower()), text, where, key)
            talk = _talk(text)
            if field is None and read.kind in (TextKind.URL, TextKind.COMMAND) and talk:
                # a name that no schema gave says nothing about who will read the words under it
                found.append(Text(text=text, kind=TextKind.PROSE, where=where))
            if read.kind is TextKind.PROSE and ((file and where[1:] in _BODIES) or where == "/stdin"):
                read = replace(read, kind=TextKind.CODE, body=file and inside)
            found.append(read)
            pieces.setdefault(key, []).append(text)
            talks = read.kind is TextKind.URL and not read.name_only and talk
            if _said(read) or talks or field is None or where != pointer(name):
                together.append(parted(text) or text)
    if speech and type.name == "edit_file":
        found += _edited(action, facts)
    said = [text.text for text in found if _said(text)]
    spelled = dict.fromkeys(_spelled(numbers))
    joined = dict.fromkeys([*_joined(said), *_joined(together), *_by_name(pieces)])
    return (*found, *(Text(text=text, kind=TextKind.PROSE) for text in (*spelled, *joined)), *_named(names))


def unsaid(action: Action, facts: Facts) -> str | None:
    """The place of a file that agents read as their thoughts or orders, and into which the action puts words that do
    not stand in it: a copy, a move, an archive, a command. None where it writes no such file."""
    type = lookup(action.type)
    if not type.known or type.name in _SAYING or (type.name in _WRITERS and _whole(facts)):
        return None
    return next(
        (path.source for path in facts.paths if path.access is Access.WRITE and path.categories & _AGENT_FILES), None
    )


def _whole(facts: Facts) -> bool:
    return bool(facts.result) and all(result.text is not None for result in facts.result)


def _edited(action: Action, facts: Facts) -> Iterator[Text]:
    """What stands around an edit once it is made: several small ones may say together what none of them says."""
    new = action.payload.get("new")
    said = re.escape(new) if isinstance(new, str) and new else "(?!)"
    for result in facts.result:
        text = result.text or ""
        places = [match.span() for match in islice(re.finditer(said, text), _EDITS + 1)]
        if not 0 < len(places) <= _EDITS:
            places = [(0, len(text))]
        for start, end in places:
            yield Text(text=text[max(0, start - _AROUND) : end + _AROUND], kind=TextKind.PROSE)


def _text(field: Field | None, text: str, where: str, name: str) -> Text:
    kind, role = TextKind.PROSE, field.role if field is not None else None
    if name.lower() in _QUERIES:
        kind = TextKind.URL
    elif name == "command":
        kind = TextKind.COMMAND
    elif role is not None:
        kind = _KINDS.get(role, TextKind.PROSE)
    identifier = role in _NAMES and len(text) <= _LONG_NAME and not _talk(text)
    return Text(text=text, kind=kind, where=where, name_only=identifier)


def _talk(text: str) -> bool:
    """Whether a text says more than a name does, also where its words are joined as those of a name are."""
    return _TALK.search(text) is not None or parted(text) != ""


def _said(text: Text) -> bool:
    return text.kind is TextKind.PROSE and not text.name_only


def _strings(
    value: Json, where: str, field: str, names: list[str], numbers: list[_Number]
) -> Iterator[tuple[str, str, str]]:
    """The strings of a field's value in order: text, pointer, the name that it stands under (none for a name). Every
    key is added to `names`, and every number to `numbers`."""
    names.append(field)
    if not names_only(field):
        yield field, where, ""
    pending: list[tuple[Json, str, str]] = [(value, where, field)]
    while pending:
        item, at, key = pending.pop()
        if isinstance(item, str):
            yield item, at, key
        elif isinstance(item, float):
            numbers.append(_Number(key, _array(at), int(item) if item.is_integer() else -1))
        elif isinstance(item, int) and not isinstance(item, bool):
            numbers.append(_Number(key, _array(at), item))
        elif isinstance(item, Mapping):
            names += item
            for name in item:
                if not names_only(name):
                    yield name, f"{at}{pointer(name)}", ""
            pending += [(inner, f"{at}{pointer(name)}", name) for name, inner in reversed(_in_order(item))]
        elif isinstance(item, list):
            pending += [(inner, f"{at}/{index}", key) for index, inner in reversed(list(enumerate(item)))]


def _in_order(item: Mapping[str, Json]) -> list[tuple[str, Json]]:
    """The items as they are read: what heads the others first; of numbered ones the tenth, which the canonical form
    puts before the second, last."""
    items = list(item.items())
    if all(name[-1:].isdigit() for name in item):
        return sorted(items, key=lambda named: len(named[0]))
    return sorted(items, key=lambda named: named[0].lower() not in _HEADS)


def _joined(said: Iterable[str]) -> Iterator[str]:
    """What is said in several strings, as one: short ones, and of long ones where they meet their neighbours."""
    said = [squeezed(text) for text in said if text]
    last = len(said) - 1
    if last > 0:
        yield " ".join(_meeting(text, before=at > 0, behind=at < last) for at, text in enumerate(said))


def _meeting(text: str, *, before: bool, behind: bool) -> str:
    """Of a long text the end that meets one `before` it, one `behind` it, or both."""
    if len(text) <= 2 * _PIECE:
        return text
    if before and behind:
        return f"{text[:_PIECE]}\n\n{text[-_PIECE:]}"
    return text[:_PIECE] if before else text[-_PIECE:]


def _by_name(pieces: Mapping[str, list[str]]) -> Iterator[str]:
    """What many short strings under the same name say, whatever stands between them."""
    for texts in pieces.values():
        if len(texts) >= _PIECES and sum(map(len, texts)) <= _SHORT * len(texts):
            yield from _joined(texts)


def _spelled(numbers: list[_Number]) -> Iterator[str]:
    """What numbers spell as the codes of letters: all of them in order, and those that stand under the same name; where
    that is no text, with a blank between those of one array and the next."""
    named: dict[str, list[_Number]] = {}
    for number in numbers:
        named.setdefault(number.name, []).append(number)
    for some in (numbers, *named.values()):
        text = from_codes([number.code for number in some]) or from_codes(list(_apart(some)))
        if text is not None:
            yield text


def _array(at: str) -> str:
    before, _, last = at.rpartition("/")
    return before if last.isdecimal() else ""


def _apart(numbers: list[_Number]) -> Iterator[int]:
    array = numbers[0].array if numbers else ""
    for number in numbers:
        if number.array != array:
            yield ord(" ")
        yield number.code
        array = number.array


def _named(names: list[str]) -> Iterator[Text]:
    """The keys, one after the other: names may say something together, as they are or by the words in them."""
    if len(names) > 1:
        text = " ".join(names)
        yield Text(text=text, kind=TextKind.PROSE, name_only=True)
        said = spaced(text)
        if said != text or is_said(said):
            yield Text(text=said, kind=TextKind.PROSE, name_only=not is_said(said))
