"""From a program's use of an argument to path facts, for every directory that the shell may stand in."""

import re
from dataclasses import replace

from shield.facts.paths import path_fact, resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import PathUse, Value
from shield.facts.shell.glob import fixed_directory, superset
from shield.types import Access, PathFact

__all__ = ["looks_like_path", "path_facts", "raw_path"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def raw_path(text: str) -> str:
    """To a program `file:x` is a name in the working directory, not a URI."""
    return "./" + text if _SCHEME.match(text) else text


def path_facts(use: PathUse, place: Place, bases: tuple[str | None, ...], source: str) -> list[PathFact]:
    """The facts of one use. What is not known has `resolved` None, and categories by what its beginning shows."""
    facts: list[PathFact] = []
    value = use.value
    if use.moved is not None and value.pattern is not None:
        # The shell matched in its own directory, the program looks in another.
        value = replace(value, known=False, pattern=None)
    for base in bases:
        start = base
        if use.moved is not None:
            start = (
                resolve_path(raw_path(use.moved.text), place, base=base, expand_tilde=False).path
                if use.moved.fixed
                else None
            )
        facts.extend(_one(value, use.access, place, start, use.recursive, source))
    return facts


def _one(value: Value, access: Access, place: Place, base: str | None, recursive: bool, source: str) -> list[PathFact]:
    if value.roots is not None:
        return [fact for root in value.roots for fact in _one(root, access, place, base, True, source)]
    if value.fixed:
        fact = path_fact(
            raw_path(value.text), access, place, base=base, recursive=recursive, source=source, expand_tilde=False
        )
        return [fact if fact.raw == value.shown else replace(fact, raw=value.shown)]
    if value.pattern is not None:
        return _glob(value, access, place, base, recursive, source)
    bare = value.head or value.bare or "."
    fact = path_fact(raw_path(bare), access, place, base=base, recursive=recursive, source=source, expand_tilde=False)
    return [replace(fact, raw=value.shown, resolved=None, inside_workspace=False, exists=False)]


def _glob(value: Value, access: Access, place: Place, base: str | None, recursive: bool, source: str) -> list[PathFact]:
    """The directory that all matches lie in, and each match; all beneath the directory where they are not known."""
    assert value.pattern is not None
    found = superset(value.pattern, place, base)
    lead = fixed_directory(value.pattern)
    fact = path_fact(
        raw_path(lead),
        access,
        place,
        base=base,
        recursive=recursive or found is None,
        source=source,
        expand_tilde=False,
    )
    facts = [replace(fact, raw=value.shown)]
    for match in found or ():
        fact = path_fact(
            raw_path(match), access, place, base=base, recursive=recursive, source=source, expand_tilde=False
        )
        facts.append(fact)
    return facts


def looks_like_path(word: Value, place: Place, bases: tuple[str | None, ...]) -> bool:
    """Whether an argument of an unknown program may name a file: a slash, `~`, a dot first, or it exists."""
    text = word.text
    if not word.fixed:
        return True
    if not text or "\0" in text:
        return False
    if "/" in text or text[0] in "~.":
        return True
    return any(
        (found := resolve_path(raw_path(text), place, base=base, expand_tilde=False)).exists or found.path is None
        for base in bases
    )
