"""A checker for the keywords of JSON Schema 2020-12 that the published schemas use; any other keyword is an error."""

import re
from collections.abc import Iterator
from typing import Any

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
SAYS_NOTHING = frozenset({"$schema", "$id", "$defs", "title", "description"})


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> Iterator[str]:
    """What is wrong with `value`, each with a pointer into it; nothing where it fits."""
    for keyword, want in schema.items():
        if keyword in SAYS_NOTHING or keyword in ("then", "else"):
            continue
        yield from _CHECKS[keyword](value, want, schema, root, at)


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    return next(problems(value, schema, root), None) is None


def _type(value, want, schema, root, at):
    kinds = [want] if isinstance(want, str) else want
    if not any(type(value) is TYPES[kind] for kind in kinds):
        yield f"{at}: not {' or '.join(kinds)}"


def _ref(value, want, schema, root, at):
    yield from problems(value, root["$defs"][want.removeprefix("#/$defs/")], root, at)


def _properties(value, want, schema, root, at):
    if isinstance(value, dict):
        for key in value.keys() & want.keys():
            yield from problems(value[key], want[key], root, f"{at}/{key}")


def _additional(value, want, schema, root, at):
    if isinstance(value, dict):
        for key in value.keys() - schema.get("properties", {}).keys():
            if want is False:
                yield f"{at}/{key}: unknown key"
            else:
                yield from problems(value[key], want, root, f"{at}/{key}")


def _names(value, want, schema, root, at):
    for key in value if isinstance(value, dict) else ():
        yield from problems(key, want, root, f"{at}/{key}")


def _required(value, want, schema, root, at):
    if isinstance(value, dict):
        for key in want:
            if key not in value:
                yield f"{at}: needs {key}"


def _items(value, want, schema, root, at):
    for place, item in enumerate(value if isinstance(value, list) else ()):
        yield from problems(item, want, root, f"{at}/{place}")


def _unique(value, want, schema, root, at):
    if want and isinstance(value, list) and len({repr(item) for item in value}) != len(value):
        yield f"{at}: an item twice"


def _least(value, want, schema, root, at):
    if isinstance(value, list) and len(value) < want:
        yield f"{at}: too few items"


def _pattern(value, want, schema, root, at):
    # Python's `$` also stands before a last line break, the standard's does not
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", want), value):
        yield f"{at}: not like {want}"


def _enum(value, want, schema, root, at):
    if not any(isinstance(value, bool) is isinstance(item, bool) and value == item for item in want):
        yield f"{at}: not one of {want}"


def _const(value, want, schema, root, at):
    yield from _enum(value, [want], schema, root, at)


def _any(value, want, schema, root, at):
    if not any(fits(value, part, root) for part in want):
        yield f"{at}: none of the alternatives"


def _all(value, want, schema, root, at):
    for part in want:
        yield from problems(value, part, root, at)


def _not(value, want, schema, root, at):
    if fits(value, want, root):
        yield f"{at}: may not be so"


def _if(value, want, schema, root, at):
    if fits(value, want, root):
        yield from problems(value, schema.get("then", {}), root, at)
    else:
        yield from problems(value, schema.get("else", {}), root, at)


_CHECKS = {
    "type": _type,
    "$ref": _ref,
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "required": _required,
    "items": _items,
    "uniqueItems": _unique,
    "minItems": _least,
    "pattern": _pattern,
    "enum": _enum,
    "const": _const,
    "anyOf": _any,
    "allOf": _all,
    "not": _not,
    "if": _if,
}
