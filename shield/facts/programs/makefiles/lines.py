"""The lines of a makefile: joined where they go on, and without comments (GNU make manual, "Splitting Long Lines")."""

import re

__all__ = ["closing", "joined", "top_level", "uncommented"]

_CLOSES = {"(": ")", "{": "}"}
_MAX_DEEP = 200


def joined(text: str) -> list[str]:
    """The lines, the last one first. Those of recipes go on as the shell has it, which drops the break."""
    out: list[str] = []
    whole = ""
    open_ = recipe = False
    for raw in text.split("\n"):
        line = raw.removesuffix("\r")
        if not open_:
            recipe = line.startswith("\t")
            whole = line
        else:
            whole += line.removeprefix("\t") if recipe else " " + line.lstrip()
        ends = len(whole) - len(whole.rstrip("\\"))
        open_ = ends % 2 == 1
        if open_:
            whole = whole[:-1] if recipe else whole[:-1].rstrip()
        else:
            out.append(whole)
    if open_:
        out.append(whole)
    return out[::-1]


def uncommented(line: str) -> str:
    """The line up to a `#` that is not in a reference."""
    at = top_level(line, "#")
    while at > 0 and line[at - 1] == "\\":
        after = top_level(line[at + 1 :], "#")
        at = -1 if after < 0 else at + 1 + after
    return re.sub(r"\\#", "#", line if at < 0 else line[:at])


def top_level(text: str, marks: str) -> int:
    """Where the first of `marks` stands outside of `$(…)` and `${…}`; -1 if nowhere."""
    at = 0
    while at < len(text):
        if text[at] == "$" and text[at + 1 : at + 2] in ("(", "{"):
            at = closing(text, at + 1)
        elif text[at] in marks:
            return at
        at += 1
    return -1


def closing(text: str, start: int) -> int:
    """Where the bracket at `start` is closed; the end of the text if nowhere."""
    opens, closes = text[start], _CLOSES[text[start]]
    depth = 0
    for at in range(start, len(text)):
        if text[at] == opens:
            depth += 1
        elif text[at] == closes:
            depth -= 1
            if depth == 0:
                return at
        if depth > _MAX_DEEP:
            break
    return len(text)
