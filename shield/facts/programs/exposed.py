"""Lines for a shell that another program has filled in: where it is not known with what, no quotes may hide that."""

import re
from typing import Final

from shield.regex import regex

__all__ = ["OUTPUT", "UNKNOWN", "ends", "exposed"]

UNKNOWN: Final = "$unknown"
# What a command printed, by its number.
OUTPUT: Final = regex("\ue000(\\d+)\ue001")
_HERE = regex(r"(?<!<)<<(?!<)-?[ \t]*('[^'\n]*'|\"[^\"\n]*\"|[^\s<>|;&()]+)")
_CALCULATED = regex(r"\(\([^()]*\)\)")
_MARK = regex(rf"{re.escape(UNKNOWN)}|{OUTPUT.pattern}")


def exposed(text: str) -> str | None:
    """The text with what is not known taken out of single quotes, in which a shell would take it for itself; None where
    it cannot be told what is quoted."""
    if "'" not in text or _MARK.search(text) is None:
        return text
    if "<<" in text:
        return None
    out: list[str] = []
    quote = ""
    at = 0
    while at < len(text):
        mark = text[at]
        found = _MARK.match(text, at)
        if found is not None:
            out.append(f"'\"{found[0]}\"'" if quote == "'" else found[0])
            at = found.end()
            continue
        if mark == "\\" and quote != "'":
            out.append(text[at : at + 2])
            at += 2
            continue
        if mark == quote:
            quote = ""
        elif not quote and mark in "'\"":
            quote = mark
        elif not quote and mark == "#" and (at == 0 or text[at - 1] in " \t\n;&|("):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        out.append(mark)
        at += 1
    return None if quote else "".join(out)


def ends(text: str) -> bool:
    """Whether nothing that the line opens goes on behind it: quotes, `${`, `$((`, a here-document."""
    lines, kept = text.split("\n")[::-1], list[str]()
    while lines:
        kept.append(lines.pop())
        for word in _HERE.findall(_CALCULATED.sub("", kept[-1])):
            mark = word.strip("'\"").replace("\\", "")
            at = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].lstrip("\t") == mark), None)
            if at is None:
                return False
            del lines[at:]
    return not _open("\n".join(kept))


def _open(text: str) -> bool:
    quote, plain = "", list[str]()
    at = 0
    while at < len(text):
        mark = text[at]
        at += 1
        if mark == "\\" and quote != "'":
            at += 1
        elif mark == quote:
            quote = ""
        elif not quote and mark in "'\"`":
            quote = mark
        elif not quote and mark == "#" and text[at - 2 : at - 1] in ("", *" \t\n;&|("):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif quote != "'":
            plain.append(mark)
    whole = "".join(plain)
    return bool(quote) or whole.count("${") > whole.count("}") or whole.count("$((") > whole.count("))")
