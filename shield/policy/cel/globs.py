"""Patterns for paths: `path.glob("src/**/*.py")` and `path.reaches("**/.env")`.

`*` `?` `[…]` match within one component, dot files included; `**` is any number of components. `glob` is for allow
rules and says that a path, and all beneath it where it is taken as a whole, surely matches. `reaches` is for rules
that protect and says that it, or something beneath it, may match: letters are also compared without case, since the
volume may do so. INVARIANT: what `glob` says of a path, `reaches` says too. Matching takes a step for each component
of the path and of the pattern; one component's pattern never goes back over another's.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from shield.policy.cel.runtime import STEP, spend
from shield.regex import regex

__all__ = ["GlobError", "Globs", "read_globs"]

MAX_PATTERN = 1024
MAX_PARTS = 32
_ANY = "**"
_META = regex(r"[*?\[]")
_CLASS = regex(r"\[(?:[!^]?\]?[^\]]*)\]")


class GlobError(Exception):
    """The pattern is refused; the text says why and what to write."""


@dataclass(frozen=True, slots=True)
class _Name:
    """One component of a path, as it is and, where that is asked, as a volume that ignores case compares it."""

    text: str
    folded: str


@dataclass(frozen=True, slots=True)
class _Part:
    """One component of a pattern: a literal, or an expression for both ways of comparing; `None` twice is `**`."""

    literal: str | None = None
    exact: re.Pattern[str] | None = None
    folded: re.Pattern[str] | None = None

    @property
    def deep(self) -> bool:
        return self.literal is None and self.exact is None

    def fits(self, name: "_Name", *, sure: bool) -> bool:
        if self.literal is not None:
            return self.literal == name.text or (not sure and _fold(self.literal) == name.folded)
        if self.exact is not None and self.exact.match(name.text):
            return True
        return not sure and self.folded is not None and self.folded.match(name.folded) is not None


@dataclass(frozen=True, slots=True)
class _Glob:
    parts: tuple[_Part, ...]
    relative: bool  # to the workspace

    def after(self, names: Sequence[_Name], *, sure: bool) -> frozenset[int]:
        """The places in the pattern that these components may lead to; `len(parts)` is its end."""
        states = self._open({0})
        for name in names:
            following = set()
            for state in states:
                if state == len(self.parts):
                    continue
                part = self.parts[state]
                if part.deep:
                    following.add(state)
                elif part.fits(name, sure=sure):
                    following.add(state + 1)
            states = self._open(following)
            if not states:
                break
        return states

    def _open(self, states: set[int]) -> frozenset[int]:
        """With the places behind each `**`, which may stand for nothing."""
        found = set(states)
        for state, part in enumerate(self.parts):
            if state in found and part.deep:
                found.add(state + 1)
        return frozenset(found)

    def surely(self, names: Sequence[_Name], *, whole_tree: bool) -> bool:
        states = self.after(names, sure=True)
        if whole_tree:
            # everything beneath matches only where a last `**` is reached
            return bool(self.parts) and self.parts[-1].deep and len(self.parts) - 1 in states
        return len(self.parts) in states

    def maybe(self, names: Sequence[_Name], *, whole_tree: bool) -> bool:
        states = self.after(names, sure=False)
        return bool(states) if whole_tree else len(self.parts) in states


@dataclass(frozen=True, slots=True)
class Globs:
    """Patterns of one call; a path that fits one of them fits."""

    globs: tuple[_Glob, ...]
    relative: bool

    def glob(self, path: Any, workspace: Any = "", budget: list[int] | None = None) -> bool:
        """Whether the path surely matches. One that cannot be resolved does not: a person decides about it anyway."""
        return self._any(path, workspace, budget, sure=True)

    def reaches(self, path: Any, workspace: Any = "", budget: list[int] | None = None) -> bool:
        """Whether the path, or what is beneath it, may match. What cannot be resolved is a person's in any case."""
        return self._any(path, workspace, budget, sure=False)

    def _any(self, path: Any, workspace: Any, budget: list[int] | None, *, sure: bool) -> bool:
        if path.resolved is None:
            return False
        names = _names(path.resolved, sure=sure)
        if budget is not None:
            spend(budget, len(self.globs) * (len(names) + 1) * STEP)
        root = _names(workspace, sure=sure) if isinstance(workspace, str) and workspace.startswith("/") else None
        for glob in self.globs:
            below = names if not glob.relative else _below(names, root, sure=sure)
            if below is not None:
                fits = glob.surely if sure else glob.maybe
                if fits(below, whole_tree=path.recursive):
                    return True
            elif not sure and path.recursive and root is not None and _below(root, names, sure=False) is not None:
                return True  # a tree that holds the workspace
        return False


def _names(path: str, *, sure: bool) -> list[_Name]:
    return [_Name(part, part if sure else _fold(part)) for part in path.split("/") if part]


def _below(names: list[_Name], root: list[_Name] | None, *, sure: bool) -> list[_Name] | None:
    """The components after those of `root`; None where the path is not beneath it."""
    if root is None or len(names) < len(root):
        return None
    for name, wanted in zip(names, root, strict=False):
        if (name.text != wanted.text) if sure else (name.folded != wanted.folded):
            return None
    return names[len(root) :]


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def read_globs(texts: Sequence[str]) -> Globs:
    """Compile the patterns of one call.

    Raises:
        GlobError: empty, `..`, `~`, `**` inside a component, a backslash, an open `[`, too long.
    """
    if not texts:
        raise GlobError("there is no pattern in the list")
    globs = tuple(_read(text) for text in texts)
    return Globs(globs, any(glob.relative for glob in globs))


def _read(text: str) -> _Glob:
    if not text or len(text) > MAX_PATTERN:
        raise GlobError(f"a pattern has 1 to {MAX_PATTERN} characters")
    if text.startswith("~"):
        raise GlobError("`~` is not known here: write `**/` before the rest, or an absolute path")
    if "\\" in text or "\0" in text:
        raise GlobError("a pattern has no backslash: write `[*]` for a star")
    parts = text.removeprefix("/").split("/")
    if len(parts) > MAX_PARTS:
        raise GlobError(f"a pattern has at most {MAX_PARTS} components")
    relative = not text.startswith(("/", "**/")) and text != _ANY
    return _Glob(tuple(_part(part, text) for part in parts), relative)


def _part(part: str, text: str) -> _Part:
    if part == _ANY:
        return _Part()
    if part in ("", ".", ".."):
        raise GlobError(f"`{text}` has an empty component, `.` or `..`: resolved paths have none")
    if _ANY in part:
        raise GlobError(f"`**` is a component of its own: write `**/{part.replace(_ANY, '*')}`")
    bare = _CLASS.sub("", part)
    if "[" in bare or (part.count("[") and "/" in part):
        raise GlobError(f"the `[` in `{part}` is never closed")
    if not _META.search(part):
        return _Part(literal=part)
    pattern = part.replace("[^", "[!")
    return _Part(exact=re.compile(translate(pattern)), folded=re.compile(translate(_fold(pattern))))
