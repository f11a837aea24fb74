"""Where the glob of a search leads besides the directory that the search starts in."""

import posixpath

from shield.facts.finding import Finding
from shield.facts.shell.braces import TooManyWordsError, braced
from shield.facts.shell.grammar.script import LITERAL, Part
from shield.regex import regex
from shield.types import Access

__all__ = ["glob_places"]

# What some engines take for a choice of one, others for itself.
_ONE = regex(r"\{([^{},]*)\}")
_MAX_DEPTH = 8


def glob_places(finding: Finding, pattern: str, source: str) -> None:
    """Add to `finding` the places that a glob at the JSON pointer `source` names by leaving where it starts.

    Braces and backslashes are read in every way that an engine may read them: `{.,.}{.,.}` is `..`, `{/etc,x}` is
    `/etc`. A pattern of which that cannot be said is unknown.
    """
    if any(".." in part and "{" in part for part in pattern.split("/")):
        finding.unknown.append(f"the pattern at {source} may lead anywhere")
    spellings = _spellings(pattern)
    if spellings is None:
        finding.unknown.append(f"the pattern at {source} has more choices than are followed")
        return
    for spelling in spellings:
        _places(finding, spelling, source)


def _spellings(pattern: str) -> list[str] | None:
    """The patterns that this one may stand for, itself among them; None where there are too many."""
    found = [pattern]
    if "\\" in pattern:
        found += [pattern.replace("\\", ""), pattern.replace("\\", "/").lstrip("/")]
    if "{" not in pattern:
        return found
    every: list[str] = []
    for text in found:
        for _ in range(_MAX_DEPTH):
            text, count = _ONE.subn(r"\1", text)  # noqa: PLW2901 - the same pattern, one layer less
            if not count:
                break
        else:
            return None
        try:
            every += ["".join(part.text for part in word) for word in braced((Part(LITERAL, text, False),))]
        except TooManyWordsError:
            return None
    return list(dict.fromkeys(every))


def _places(finding: Finding, pattern: str, source: str) -> None:
    parts = pattern.split("/")
    if not pattern.startswith(("/", "~")) and ".." not in parts:
        return
    fixed = []
    for part in parts:
        if any(mark in part for mark in "*?[{"):
            break
        fixed.append(part)
    rest = parts[len(fixed) :]
    start = finding.action.payload.get("path", ".")
    base = start if isinstance(start, str) else "."
    raw = "/".join(fixed) or ("/" if pattern.startswith("/") else ".")
    named = raw if raw.startswith(("/", "~")) else posixpath.join(base, raw)
    finding.path(named, Access.LIST, source, recursive=True)
    if ".." in rest or any("{" in part for part in rest):
        finding.unknown.append(f"the pattern at {source} may lead anywhere")
