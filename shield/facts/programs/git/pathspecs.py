"""Pathspecs: git matches names by patterns of its own, which the shell hands on as they are (gitglossary(7)).

What is told here is which secrets they may take in; a pattern that is not understood takes in all.
"""

import posixpath
import re
from fnmatch import fnmatchcase

from shield.facts.categories import has_meaning, leads_on, may_have_meaning
from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.git.names import repository_here, tracked_names
from shield.facts.repositories import Repository
from shield.facts.snapshot import Snapshot
from shield.regex import regex

__all__ = ["excludes", "fits", "is_pattern", "tracked_secrets"]

_MAGIC = regex(r":(?:\((?P<words>[^)]*)\)|(?P<marks>[^\w.*?\[\\-]*))(?P<rest>.*)", re.DOTALL)
_GLOB = frozenset("*?[\\")
_SECRETS = "tracked secrets"


def is_pattern(text: str) -> bool:
    """Whether git reads more into it than the name of a file or directory."""
    return text.startswith(":") or not _GLOB.isdisjoint(text)


def excludes(text: str) -> bool:
    """Whether it only leaves something out: `:!x`, `:^x`, `:(exclude)x`."""
    magic = _MAGIC.fullmatch(text)
    if magic is None:
        return False
    return "exclude" in (magic["words"] or "") or not {"!", "^"}.isdisjoint(magic["marks"] or "")


def fits(text: str, name: str, within: str) -> bool:
    """Whether the pattern may take in the file `name` (from the top), where git is started in `within` (`""`, `a/`)."""
    magic = _MAGIC.fullmatch(text)
    from_top = magic is not None and ("top" in (magic["words"] or "") or "/" in (magic["marks"] or ""))
    pattern = posixpath.normpath((magic["rest"] if magic is not None else text) or ".").lower()
    pattern = pattern.replace("**/", "*")
    if "\\" in pattern or "[" in pattern or pattern.startswith("/") or ".." in pattern.split("/"):
        return True
    if not from_top and not name.startswith(within):
        return False
    start = name.lower() if from_top else name.removeprefix(within).lower()
    ends = [at for at, letter in enumerate(start) if letter == "/"]
    return pattern == "." or any(fnmatchcase(start[:end], pattern) for end in (*ends, len(start)))


def tracked_secrets(text: str, place: Place, base: str) -> list[str]:
    """The secrets, as absolute paths, that the index holds and the pattern may take in."""
    try:
        found = repository_here(place, base)
    except FileSystemUnknownError:
        return []
    if found is None:
        return []
    repository, within = found
    return [posixpath.join(repository.top, name) for name in _secrets(repository, place) if fits(text, name, within)]


def _secrets(repository: Repository, place: Place) -> tuple[str, ...]:
    """The names in the index that hold secrets; looked through once for all commands of an action."""
    known = place.files.looked if isinstance(place.files, Snapshot) else {}
    index, top = repository.index, repository.top
    secrets = known.get((index, _SECRETS))
    if isinstance(secrets, tuple):
        return secrets
    names = tracked_names(index, "", place) or ()
    inner = leads_on(top, place)
    parts = {part for name in names for part in name.split("/")}
    telling = {part for part in parts if inner or may_have_meaning(part, place, secret=True)}
    held = (name for name in names if not telling.isdisjoint(name.split("/")))
    known[index, _SECRETS] = secrets = tuple(
        name for name in held if has_meaning(posixpath.join(top, name), place, secret=True)
    )
    return secrets
