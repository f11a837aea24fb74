"""Programs that print names of files, one after the other, for `xargs`: which names these can be.

`xargs` splits at blanks and takes quotes and backslashes away, so a list with a newline after each name stands for the
files themselves only where no name in the tree holds any of these (xargs(1)).
"""

import posixpath
from collections.abc import Sequence

from shield.facts.beneath import holds_name
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Listing, Value
from shield.types import CommandFact, Origin, RunsCode

__all__ = ["filtered", "printed_by_find", "printed_by_grep", "taken_apart"]

_ODD = frozenset(" \t\n\v\f\r'\"\\")
# What find may be told besides, so that it prints the names that it found and nothing else.
_FIND_TESTS_TEXT = """
-P -amin -anewer -atime -cmin -cnewer -ctime -daystart -depth -empty -executable -false -group -iname -inum -ipath
-iregex -links -maxdepth -mindepth -mmin -mount -mtime -name -newer -nogroup -not -nouser -path -perm -print -print0
-prune -readable -regex -regextype -samefile -size -true -type -uid -user -wholename -iwholename -writable -xdev -gid
-a -and -o -or ! ( )
"""
_FIND_TESTS = frozenset(_FIND_TESTS_TEXT.split())
_FILTERS = {
    "grep": frozenset(("-v", "-i", "-E", "-F", "-w", "-x", "-z", "-iv", "-vi", "-vE", "-Ev", "-iE", "-vF", "-Fv")),
    "head": frozenset(("-z",)),
    "tail": frozenset(("-z",)),
    "sort": frozenset(("-u", "-r", "-n", "-V", "-f", "-z", "-zu", "-uz", "-ru", "-zr")),
    "uniq": frozenset(("-u", "-d", "-i", "-z")),
}


def printed_by_find(words: Sequence[Value], roots: Sequence[Value], listing: Listing) -> Listing | None:
    """What a find(1) prints that was told `words`; `listing` says of which entries."""
    flags = [word.text for word in words if word.fixed and (word.text.startswith("-") or word.text in ("!", "(", ")"))]
    printing = [flag for flag in flags if flag in ("-print", "-print0")]
    known = all(word.fixed for word in words) and set(flags) <= _FIND_TESTS and len(printing) <= 1
    if not known or not _plain_roots(roots):
        return None
    return listing._replace(nul=printing == ["-print0"])


def printed_by_grep(flags: Sequence[str], roots: Sequence[Value], listing: Listing) -> Listing | None:
    """What grep or rg prints that is told to name files only."""
    names = {"-l", "-L", "--files-with-matches", "--files-without-match"}
    others = {"-c", "--count", "-Z", "-0", "--null", "--json", "--heading", "-p", "--pretty", "--color", "--stats"}
    others |= {"--path-separator", "--hyperlink-format"}
    if not names & set(flags) or others & set(flags) or not roots or not _plain_roots(roots):
        return None
    return listing


def _plain_roots(roots: Sequence[Value]) -> bool:
    return all(root.fixed and not root.text.startswith("-") and not set(root.text) & _ODD for root in roots)


def filtered(listing: Listing, command: CommandFact) -> Listing | None:
    """What is left of the names behind a program that only leaves some of them out, or sorts them."""
    words = command.argv[1:]
    options = [word for word in words if word.startswith("-")]
    operands = len(words) - len(options)
    allowed = _FILTERS.get(command.name)
    plain = command.origin is Origin.SYSTEM and command.runs_code is RunsCode.NONE and not command.assignments
    if allowed is None or not plain or command.redirects or ("z" in "".join(options)) is not listing.nul:
        return None
    if command.name in ("head", "tail"):
        counts = [word for word in words if word.lstrip("-").isdigit() or (word[:2] == "-n" and word[2:].isdigit())]
        rest = [word for word in words if word not in counts and word != "-n"]
        return listing if set(rest) <= allowed else None
    if operands != (1 if command.name == "grep" else 0) or not set(options) <= allowed:
        return None
    return listing


def taken_apart(listing: Listing, place: Place, bases: Sequence[str | None], *, nul: bool) -> Value | None:
    """A word of the command that xargs starts with these names; None where it may get other words than these."""
    if listing.nul is not nul:
        return None
    if nul:
        return listing.value
    for base in bases:
        for root in listing.roots:
            top = resolve_path(root.text, place, base=base, expand_tilde=False).path
            if top is None or holds_name(top, place, _is_odd):
                return None
    return listing.value


def _is_odd(path: str) -> bool:
    return bool(_ODD & set(posixpath.basename(path)))
