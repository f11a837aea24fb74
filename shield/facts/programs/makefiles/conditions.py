"""The conditions of a makefile: which of its lines are read (GNU make manual, "Conditional Parts")."""

import re
from collections.abc import Sequence

from shield.facts.programs.exposed import OUTPUT, UNKNOWN
from shield.facts.programs.makefiles.functions import is_known
from shield.facts.programs.makefiles.lines import top_level
from shield.facts.programs.makefiles.model import Makefile
from shield.regex import regex

__all__ = ["Conditions"]

_CONDITION = regex(r"\s*(ifeq|ifneq|ifdef|ifndef)\b\s*(.*)\Z")
_OTHERWISE = regex(r"\s*else\b\s*(.*)\Z")
_END = regex(r"\s*endif\b")


class Conditions:
    """Of one makefile and what it includes. `choices`: how those that cannot be told are taken, one after the other."""

    def __init__(self, makefile: Makefile, choices: Sequence[bool]) -> None:
        self._makefile = makefile
        self._values = makefile.values
        self._choices = choices
        self._decided: dict[tuple[str, str], bool] = {}

    def follow(self, line: str, taken: list[bool | None]) -> bool:
        """Whether the line is of a condition, which it then follows."""
        found = _CONDITION.match(line)
        if found is not None:
            taken.append(self._holds(found[1], found[2]) if all(taken) else None)
            return True
        other = _OTHERWISE.match(line) if taken else None
        if other is not None:
            before = taken.pop()
            deeper = _CONDITION.match(other[1])
            if before is not False or not all(taken):
                taken.append(None)
            else:
                taken.append(self._holds(deeper[1], deeper[2]) if deeper is not None else True)
            return True
        if _END.match(line) and taken:
            taken.pop()
            return True
        return False

    def _holds(self, kind: str, text: str) -> bool:
        if kind in ("ifdef", "ifndef"):
            first, second = self._values.held.get(self._values.expanded(text).strip(), ("", True))[0], ""
            equal = kind == "ifndef"
            if not OUTPUT.fullmatch(first) and first != UNKNOWN:
                return (first == "") is equal
        else:
            first, second = (self._values.expanded(each).strip() for each in _pair(text))
            equal = kind == "ifeq"
        if is_known(first + second):
            return (first == second) is equal
        key = (self._values.shown(first), self._values.shown(second))
        if key not in self._decided:
            at = self._makefile.asked
            self._decided[key] = self._choices[at] if at < len(self._choices) else True
            self._makefile.asked += 1
        return self._decided[key] is equal


def _pair(text: str) -> tuple[str, str]:
    """What `ifeq` compares: `(a,b)`, `"a" "b"`."""
    text = text.strip()
    if text.startswith("("):
        inner = text[1:].rpartition(")")[0]
        comma = top_level(inner, ",")
        return (inner[:comma], inner[comma + 1 :]) if comma >= 0 else (inner, "")
    found = re.fullmatch(r"""(?:"([^"]*)"|'([^']*)')\s*(?:"([^"]*)"|'([^']*)')""", text)
    return (found[1] or found[2] or "", found[3] or found[4] or "") if found is not None else (UNKNOWN, text)
