"""Words that facts can be made of: a condition that waits for another one waits for ever."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from shield.facts.categories import CATEGORIES
from shield.facts.secrets import KINDS
from shield.policy.shape import suggest
from shield.regex import regex

__all__ = ["unknown_word"]

_SECRETS: Final = frozenset(KINDS)
_UPPER = regex("[A-Z]")


def unknown_word(field: str, word: str) -> str | None:
    """What to do about a constant that this field is never equal to and never holds; None where it may."""
    check = _CHECKS.get(field)
    return None if check is None else check(word)


def _category(word: str) -> str | None:
    return None if word in CATEGORIES else _known(word, CATEGORIES)


def _kind(word: str) -> str | None:
    return None if word in _SECRETS else _known(word, _SECRETS)


def _known(word: str, known: frozenset[str]) -> str:
    near = suggest(word, known).removeprefix("; ")
    return near or f"it is one of {', '.join(sorted(known))}"


def _name(word: str) -> str | None:
    if "/" in word:
        return f"`name` is the last part of the path: write `{word.rpartition('/')[2]}`, or compare `program`"
    return None


def _host(word: str) -> str | None:
    if "/" in word:
        return "`host` has no scheme and no path: compare `url`, or write the host alone"
    if _UPPER.search(word):
        return f"hosts are lower case: write `{word.lower()}`"
    return None


def _scheme(word: str) -> str | None:
    if _UPPER.search(word) or ":" in word:
        return f"schemes are lower case and without `:`: write `{word.lower().partition(':')[0]}`"
    return None


def _resolved(word: str) -> str | None:
    if not word.startswith("/"):
        return "`resolved` is an absolute path: write one, or compare `raw`"
    return None


_CHECKS: Final[Mapping[str, Callable[[str], str | None]]] = MappingProxyType(
    {
        "categories": _category,
        "covers": _category,
        "kind": _kind,
        "name": _name,
        "host": _host,
        "scheme": _scheme,
        "resolved": _resolved,
    }
)
