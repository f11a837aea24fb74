"""The texts of an action by what they are read as: every string of its payload, with its place and its kind."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shield.actions.registry import FIELDS_BY_NAME, Field, FieldRole, lookup
from shield.facts.text import pointer
from shield.tiers.texts import Text
from shield.types import Access, Action, Facts, Json, TextKind

__all__ = ["leaves"]

_BODIES = frozenset(("write_file", "edit_file"))  # their texts become what stands in a file
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
# the same that `shield.facts.strings` takes for a name
_PLAIN_KEY = re.compile(r"[\w.$ -]{1,19}")
_TALK = re.compile(r"\S+\s+\S+\s+\S+\s+\S|[\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{8}")
_LONG_NAME = 200  # code points; what is longer says more than a name
_PIECE = 160  # code points: a longer string says enough by itself to be read by itself


def leaves(action: Action, facts: Facts) -> tuple[Text, ...]:
    """Every string of the payload, and every key that is more than a name; of short strings that are said to somebody
    also all of them as one, so that what is told in pieces is read as a whole.

    `name_only` texts are identifiers: they are held against the rules, and not put to the classifier.
    """
    type = lookup(action.type)
    written = [path for path in facts.paths if path.access is Access.WRITE]
    # what an agent reads as its own thoughts or orders is read as speech, not as the body of a file
    file = type.name in _BODIES and not any(path.categories & _AGENT_FILES for path in written)
    inside = bool(written) and all(path.inside_workspace for path in written)
    found: list[Text] = []
    for name, value in action.payload.items():
        for text, where, key in _strings(value, pointer(name), name):
            field = type.fields.get(name) if key == name else None
            read = _text(field or FIELDS_BY_NAME.get(key.lower()), text, where, key)
            if field is None and read.kind in (TextKind.URL, TextKind.COMMAND) and _TALK.search(text):
                # a name that no schema gave says nothing about who will read the words under it
                found.append(Text(text=text, kind=TextKind.PROSE, where=where))
            if read.kind is TextKind.PROSE and (file or where == "/stdin"):
                read = replace(read, kind=TextKind.CODE, body=file and inside)
            found.append(read)
    return (*found, *_joined(found))


def _text(field: Field | None, text: str, where: str, name: str) -> Text:
    kind, role = TextKind.PROSE, field.role if field is not None else None
    if name.lower() in _QUERIES:
        kind = TextKind.URL
    elif name == "command":
        kind = TextKind.COMMAND
    elif role is not None:
        kind = _KINDS.get(role, TextKind.PROSE)
    identifier = role in _NAMES and len(text) <= _LONG_NAME and not _TALK.search(text)
    return Text(text=text, kind=kind, where=where, name_only=identifier)


def _strings(value: Json, where: str, field: str) -> Iterator[tuple[str, str, str]]:
    """The strings of a field's value in order: text, pointer, the name that it stands under (none for a name)."""
    if not _PLAIN_KEY.fullmatch(field):
        yield field, where, ""
    pending: list[tuple[Json, str, str]] = [(value, where, field)]
    while pending:
        item, at, key = pending.pop()
        if isinstance(item, str):
            yield item, at, key
        elif isinstance(item, Mapping):
            for name in item:
                if not _PLAIN_KEY.fullmatch(name):
                    yield name, f"{at}{pointer(name)}", ""
            pending += [(inner, f"{at}{pointer(name)}", name) for name, inner in reversed(item.items())]
        elif isinstance(item, list):
            pending += [(inner, f"{at}/{index}", key) for index, inner in reversed(list(enumerate(item)))]


def _joined(found: list[Text]) -> Iterator[Text]:
    """What is said in several short strings, as one."""
    said = [
        text.text
        for text in found
        if text.kind is TextKind.PROSE and not text.name_only and 0 < len(text.text) <= _PIECE
    ]
    if len(said) > 1:
        yield Text(text=" ".join(said), kind=TextKind.PROSE)
