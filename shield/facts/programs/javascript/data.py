"""Which names of JavaScript stand for what a JSON file holds, or for a part of that: of such any property may be asked.

A constant that is given a chain of properties of such, what a loop takes from it one by one, and the parameters of a
function that a method of its lists calls. Each name is given once, and never anything else.
"""

import re
from collections.abc import Collection

from shield.regex import regex

__all__ = ["PLAIN_PATTERN", "data_names"]

_NAME = r"[A-Za-z_$][\w$]*"
_NAMES = rf"{_NAME}(?:\s*,\s*{_NAME})*"
# `([k, v]) =>`, `const [a, b] of`: elements by their places, as an index takes them, and nothing by a name.
PLAIN_PATTERN = regex(
    rf"(?P<lead>\(\s*|\b(?:const|let|var)\s*)\[\s*(?P<names>{_NAMES})\s*\]"
    rf"(?P<rest>(?:\s*,\s*{_NAMES})?\s*\)\s*=>|\s+of\b|\s*=(?![=>]))"
)
_BEFORE = regex(
    rf"(?:\b(?P<loop>for\s*\(\s*const)\s+(?P<each>{_NAME}|\[\s*{_NAMES}\s*\])\s+of\s+|\bconst\s+(?P<one>{_NAME})\s*=\s*)?"
    r"(?P<listed>\bObject\s*\.\s*(?:entries|values)\s*\(\s*)?\Z"
)
_CHAIN = regex(rf"(?:\s*(?:\.\s*{_NAME}(?!\s*\()(?![\w$])|\[\s*(?:\d+|'[\w@./-]*'|\"[\w@./-]*\")\s*\]))*")
# What stands behind: the end of a statement, of a loop's head, or a method that hands each part to a function.
_ENDS = regex(r"\s*(?:;|\Z|\n\s*(?=[A-Za-z]))")
_CALLS = regex(
    r"\s*\.\s*(?:every|filter|find|findIndex|findLast|flatMap|forEach|map|some|sort)\s*\(\s*"
    rf"(?:(?P<bare>{_NAME})|\((?P<some>[\w$,\s\[\]]*)\))\s*=>"
)
_MAX_BEFORE = 200


def data_names(code: str, at: int, end: int, once: Collection[str]) -> list[str]:
    """The names that get a part of the data that stands from `at` to `end`. `once`: those that may be such."""
    before = _BEFORE.search(code, max(0, at - _MAX_BEFORE), at)
    chain = _CHAIN.match(code, end)
    stop = chain.end() if chain is not None else end
    listed = before is not None and before["listed"] is not None
    if listed:
        closed = re.compile(r"\s*\)").match(code, stop)
        if closed is None:
            return []
        stop = closed.end()
    found: list[str] = []
    if before is not None and before["one"] is not None and _ENDS.match(code, stop):
        found += [before["one"]]
    if before is not None and before["loop"] is not None and re.compile(r"\s*\)").match(code, stop):
        found += re.findall(_NAME, before["each"])
    called = _CALLS.match(code, stop)
    if called is not None:
        found += re.findall(_NAME, called["bare"] or called["some"] or "")
    return [name for name in found if name in once]
