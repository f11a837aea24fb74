"""What templates of a Taskfile stand for, as far as that is known (Task, "Templating Reference")."""

import re
from collections.abc import Mapping

from shield.facts.programs.task_files import UNKNOWN

__all__ = ["filled", "listed", "valued"]

_MAX_TEXT = 32_768
_MAX_DEEP = 12
_FILLED = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_QUOTED = r"(?:\"([^\"\\]*)\"|`([^`]*)`|'([^']*)')"
_NAME = re.compile(r"\.(\w+)")
_DEFAULT = re.compile(rf"(?:\.(\w+)\s*\|\s*default\s+{_QUOTED}|default\s+{_QUOTED}\s+\.(\w+))")
_TEXT = re.compile(_QUOTED)
# What stands between them may be there or not, once or often.
_CONTROL = re.compile(r"(?:if|else|end|range|with|break|continue)\b|/\*")
_TELLING = {"OS": "linux", "exeExt": ""}


def filled(text: str, values: Mapping[str, object], deep: int = 0) -> str:
    """The text with what is known of each template in its place, `$unknown` for what is not."""
    return _FILLED.sub(lambda match: _one(match[1], values, deep), text[:_MAX_TEXT])[:_MAX_TEXT]


def _one(inner: str, values: Mapping[str, object], deep: int) -> str:
    if (found := _TEXT.fullmatch(inner)) is not None:
        return next(each for each in found.groups() if each is not None)
    if (found := _NAME.fullmatch(inner)) is not None:
        return valued(values[found[1]], values, deep) if found[1] in values else ""
    if (found := _DEFAULT.fullmatch(inner)) is not None:
        name = found[1] or found[8]
        told = valued(values[name], values, deep) if name in values else ""
        return told or next((each for each in found.groups()[1:7] if each is not None), "")
    return " " if _CONTROL.match(inner) else _TELLING.get(inner, UNKNOWN)


def valued(value: object, values: Mapping[str, object], deep: int = 0) -> str:
    """A variable as a text."""
    if deep > _MAX_DEEP or not isinstance(value, str | list):
        return UNKNOWN
    if isinstance(value, list):
        return " ".join(valued(each, values, deep + 1) for each in value)
    return filled(value, values, deep + 1)


def listed(value: object, values: Mapping[str, object], *, split: str | None = None) -> list[str]:
    """What a loop over the variable goes through."""
    if isinstance(value, list):
        return [valued(each, values) for each in value]
    text = valued(value, values)
    return [text] if UNKNOWN in text else text.split(split)
