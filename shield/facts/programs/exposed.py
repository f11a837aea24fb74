"""Lines for a shell that another program has filled in: where it is not known with what, no quotes may hide that."""

import re
from typing import Final

__all__ = ["OUTPUT", "UNKNOWN", "exposed"]

UNKNOWN: Final = "$unknown"
# What a command printed, by its number.
OUTPUT: Final = re.compile("\ue000(\\d+)\ue001")
_MARK = re.compile(rf"{re.escape(UNKNOWN)}|{OUTPUT.pattern}")


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
