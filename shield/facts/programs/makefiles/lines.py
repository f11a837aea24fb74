"""The lines of a makefile: joined where they go on, and without comments (GNU make manual, "Splitting Long Lines")."""

import re

__all__ = ["closing", "collapsed", "joined", "top_level", "uncommented"]

_CLOSES = {"(": ")", "{": "}"}
_MAX_DEEP = 200


def joined(text: str) -> list[str]:
    """The lines, the last one first, with the breaks where they go on: those of a recipe are the shell's, to which a
    comment ends there."""
    out: list[str] = []
    whole = ""
    open_ = False
    for raw in text.split("\n"):
        line = raw.removesuffix("\r")
        whole = f"{whole}\n{line}" if open_ else line
        open_ = (len(whole) - len(whole.rstrip("\\"))) % 2 == 1
        if not open_:
            out.append(whole)
    if open_:
        out.append(whole)
    return out[::-1]


def collapsed(line: str) -> str:
    """The line in one, where it is none of a recipe."""
    return re.sub(r"[ \t]*\\\n[ \t]*", " ", line) if "\n" in line else line


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
