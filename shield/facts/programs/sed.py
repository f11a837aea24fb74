"""sed(1): which files its script reads and writes, where every sed reads the script alike.

GNU's, BSD's and BusyBox's differ in where a label, a text and a regular expression end. What is text to one may be a
command to another: a script in which that could matter is not understood (sed(1), "Reporting Bugs"; POSIX, sed).
"""

import re

from shield.regex import regex
from shield.types import Access

__all__ = ["sed_files"]

_MAX_SCRIPT = 4_096
_MAX_COMMANDS = 200

# In brackets the delimiter ends nothing; older ones of GNU end there, and find that a bracket is missing.
_BRACKET = r"\[\^?+\]?+(?:[^\[\]\\\n]|\\[^\]\n]|\[[:.=][^\[\]\\\n]*+\]|\[(?![:.=]))*+\]"
_BLANKS = r"[ \t]*+"


def _regex(delimiter: str) -> str:
    return rf"(?:(?!{delimiter})[^\\\n\[]|\\[^\n]|{_BRACKET})*+{delimiter}"


_MATCHING = "|".join((f"/{_regex('/')}", *(rf"\\{mark}{_regex(mark)}" for mark in (r"\|", *",#%@!:"))))
_PLACE = rf"(?:\d++(?:~\d++)?|\$|(?:{_MATCHING})[IM]*+)"
_PLACES = rf"(?:{_PLACE}{_BLANKS}(?:,{_BLANKS}(?:[+~]\d++|{_PLACE}){_BLANKS})?)?(?:!{_BLANKS})?"
_NAME = r"[^\s;{}\\]++(?=\n|\Z)"
_COMMAND = regex(
    rf"{_PLACES}(?:"
    r"(?P<opens>\{)"
    # a text lasts to the end of the line, and on where a backslash stands there
    rf"|[aic]{_BLANKS}(?!\\[ \t]+\n)(?:\\\n)?(?=[^\n])(?:[^\\\n]|\\[\s\S])++(?=\n|\Z)"
    rf"|(?P<kind>[rRwW])[ \t]++(?P<name>{_NAME})"
    rf"|(?:[=dDgGhHnNpPxFz]|[qQlL]{_BLANKS}\d*+"
    rf"|(?P<label>[btT]{_BLANKS}[\w.-]*+|:{_BLANKS}[\w.-]++)(?!{_BLANKS}#)"
    r"|y(?P<y>[/|,#@:!%+])(?:(?:(?!(?P=y))[^\\\n\[]|\\[^\n])*+(?P=y)){2}"
    rf"|s(?P<s>[/|,#@:!%+_~=;])(?P<what>{_regex('(?P=s)')})"
    rf"(?:(?!(?P=s))[^\\\n]|\\[\s\S])*+(?P=s)[gpiImM0-9]*+(?P<ending>{_BLANKS}w[ \t]++(?P<target>{_NAME}))?"
    rf"){_BLANKS}(?:#[^\n\\]*+)?(?=[;}}\n]|\Z)"
    r")"
)
_BETWEEN = regex(r"(?:[ \t\n;]|#[^\n\\]*+(?=\n|\Z))*+")
_CLOSES = regex(rf"\}}{_BLANKS}(?=[;}}\n#]|\Z)")
_BRACKETS = regex(_BRACKET)


def sed_files(script: str) -> tuple[tuple[Access, str], ...] | None:
    """What the script does to files besides those it is given, by their names; None where it may do anything."""
    if len(script) > _MAX_SCRIPT:
        return None
    found: list[tuple[Access, str]] = []
    at = depth = line = 0
    for _ in range(_MAX_COMMANDS):
        at = _skipped(script, at)
        if at == len(script):
            return tuple(found) if depth == 0 else None
        command = _COMMAND.match(script, at)
        if command is None:
            closes = _CLOSES.match(script, at)
            depth -= 1
            if closes is None or depth < 0:
                return None
            at = closes.end()
            continue
        start, at = command.span()
        # To BSD's all of the line is a label: what goes on over its end would begin there.
        if (start < line and "\n" in command[0]) or (command["s"] and _may_end_early(command)):
            return None
        if command["label"]:
            line = (script + "\n").index("\n", start)
        depth += bool(command["opens"])
        if command["name"]:
            found.append((Access.READ if command["kind"] in "rR" else Access.WRITE, command["name"]))
        if command["target"]:
            found.append((Access.WRITE, command["target"]))
    return None


def _skipped(script: str, at: int) -> int:
    between = _BETWEEN.match(script, at)
    return between.end() if between is not None else at


def _may_end_early(command: re.Match[str]) -> bool:
    """Whether a sed for which brackets hide no delimiter may find a file there that it opens before it gives up."""
    mark = command["s"]
    hidden = any(mark in bracket for bracket in _BRACKETS.findall(command["what"]))
    return hidden and re.search(re.escape(mark) + r"[gpiImMe0-9 \t]*w", command[0]) is not None
