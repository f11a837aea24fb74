"""What templates of a Taskfile stand for, as far as that is known (Task, "Templating Reference")."""

import re
from collections.abc import Mapping
from typing import Final

from shield.facts.programs.task_files import UNKNOWN
from shield.regex import regex

__all__ = ["ELSEWHERE", "filled", "listed", "valued"]

_MAX_TEXT = 32_768
_MAX_DEEP = 12
# `{{-` and `-}}` take the blanks beside them away.
_FILLED = regex(r"(\s*)\{\{(-?)\s*(.*?)\s*(-?)\}\}(\s*)", re.DOTALL)
ELSEWHERE: Final = "."  # a name of no variable: a file that was not read gives values, too
_QUOTED = r"(?:\"([^\"\\]*)\"|`([^`]*)`|'([^']*)')"
_NAME = regex(r"\.(\w+)")
_DEFAULT = regex(rf"(?:\.(\w+)\s*\|\s*default\s+{_QUOTED}|default\s+{_QUOTED}\s+\.(\w+))")
_TEXT = regex(_QUOTED)
# What stands between them may be there or not, once or often.
_CONTROL = regex(r"(?:if|else|end|range|with|break|continue)\b|/\*")
_OPENING = regex(r"(?:if|range|with)\b|/\*")
_LATEST = regex(r"(?:\{\{-?\s*(?:(?:if|else|end|range|with)\b|/\*)[^{}]*\}\})+\Z")
_NEXT = regex(r"\A(?:\{\{-?\s*(?:(?:if|else|end|range|with)\b|/\*)[^{}]*\}\})+")
_WORD_BEFORE, _WORD_BEHIND = regex(r"[^\s;&|()]\Z"), regex(r"[^\s;&|()]")
_TELLING = {"OS": "linux", "exeExt": ""}


def filled(text: str, values: Mapping[str, object], deep: int = 0) -> str:
    """The text with what is known of each template in its place, `$unknown` for what is not."""

    def one(match: re.Match[str]) -> str:
        made = _one(match[3], values, deep)
        if _OPENING.match(match[3]) and not match[1] and _WORD_BEFORE.search(_LATEST.sub("", text[: match.start()])):
            made = UNKNOWN  # what it holds is a part of the word
        elif match[3].startswith("end") and not match[5] and _WORD_BEHIND.match(_NEXT.sub("", text[match.end() :])):
            made = UNKNOWN
        return f"{match[1] if not match[2] else ''}{made}{match[5] if not match[4] else ''}"

    text = text[:_MAX_TEXT]
    return _FILLED.sub(one, text)[:_MAX_TEXT]


def _one(inner: str, values: Mapping[str, object], deep: int) -> str:
    if (found := _TEXT.fullmatch(inner)) is not None:
        return next(each for each in found.groups() if each is not None)
    if (found := _NAME.fullmatch(inner)) is not None:
        name = found[1]
        return valued(values[name], values, deep) if name in values else UNKNOWN if ELSEWHERE in values else ""
    if (found := _DEFAULT.fullmatch(inner)) is not None:
        name = found[1] or found[8]
        told = valued(values[name], values, deep) if name in values else UNKNOWN if ELSEWHERE in values else ""
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
