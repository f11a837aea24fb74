"""A name of a file that `xargs -I` puts into the script of a shell: `sh -c 'wc -l {}'`.

Where no name that it can be holds a character that a shell reads otherwise than as a part of a word, the script does
with it what it would do with a parameter of that value. Whoever attacks this should look for a place in a script where
the two differ, and for a name that was not looked at: what the line itself makes before is no list of names.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from shield.facts.beneath import holds_name
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.git.names import tracked_names
from shield.facts.programs.reading import Listing, Value
from shield.regex import regex

__all__ = ["filled_script", "plain_names"]

_SHELLS = frozenset(("bash", "dash", "sh"))
_SCRIPT = regex(r"-[eux]*c")
# In a name: nothing that any shell reads otherwise than as a part of a word.
_PLAIN = regex(r"[A-Za-z0-9_./@+-]*", re.ASCII)
# In a script: quotes that keep a parameter from being one, what runs a text, and what counts or moves parameters.
_OTHERWISE = regex(
    r"['\\`#]|<<|\(\(|\[\[|\(\)|\$[@*#]|\$\{[^0-9A-Za-z_]"
    r"|\b(?:alias|case|eval|for|function|getopts|select|set|shift|source|trap)\b|(?:\A|[\s;&|(])\.\s"
)
_BEFORE = (" ", "\t", "\n", '"', "/", "=", ":", "<", ">")
_NEVER_BEHIND = ("(", "[", "{", "=")


def _plain_trees(roots: Sequence[Value], place: Place, bases: Sequence[str | None]) -> bool:
    """Whether a shell reads every name beneath `roots` as a part of a word."""
    for root in roots:
        if not root.fixed or _PLAIN.fullmatch(root.text) is None or root.text.startswith("-"):
            return False
        for base in bases:
            top = resolve_path(root.text, place, base=base, expand_tilde=False).path
            if top is None or holds_name(top, place, _is_lively):
                return False
    return True


def plain_names(listing: Listing, place: Place, bases: Sequence[str | None]) -> bool:
    """The same of all names that are listed."""
    if listing.index_file is None:
        return _plain_trees(listing.roots, place, bases)
    names = tracked_names(listing.index_file, listing.within, place)
    return names is not None and not any(_is_lively(name) for name in names)


def _is_lively(name: str) -> bool:
    return _PLAIN.fullmatch(name.rpartition("/")[2]) is None


def filled_script(words: Sequence[Value], mark: str, named: Value) -> list[Value] | None:
    """The command with one more parameter, which stands in the place of `mark`; None where the command is no shell with
    a script, or where that is not the same."""
    if len(words) < 3 or not all(word.fixed for word in words[:3]):
        return None
    shell, option, script = (word.text for word in words[:3])
    if shell.removeprefix("/usr").removeprefix("/bin/") not in _SHELLS or _SCRIPT.fullmatch(option) is None:
        return None
    # elsewhere it would name the shell, or its script
    if not mark or any(mark in word.text for word in (*words[:2], *words[3:])) or _OTHERWISE.search(script):
        return None
    pieces = script.split(mark)
    if len(pieces) == 1:
        return None
    given = list(words[3:]) or [Value(text=shell, head=shell)]
    if any(word.several or word.many for word in given):
        return None
    if any(piece[-1:] not in _BEFORE for piece in pieces[:-1]) or any(
        piece[:1] in _NEVER_BEHIND for piece in pieces[1:]
    ):
        return None
    out, quoted = pieces[0], [False]
    for before, piece in pairwise(pieces):
        _read_quotes(before, quoted)
        out += (f"${{{len(given)}}}" if quoted[-1] else f'"${{{len(given)}}}"') + piece
    return [words[0], words[1], Value(text=out, head=out), *given, named]


def _read_quotes(text: str, quoted: list[bool]) -> None:
    """Go on through `text`: whether quotes stand open in each of the commands that stand open. A slip here leaves a
    parameter without quotes, which is then one of unknown value."""
    for char in text:
        if char == '"':
            quoted[-1] = not quoted[-1]
        elif char == "(":
            quoted.append(False)
        elif char == ")" and len(quoted) > 1 and not quoted[-1]:
            quoted.pop()
