"""Folders that a program empties before it writes into them: where something else may be lost, that is said."""

import posixpath
from collections.abc import Iterable

from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access

__all__ = ["cleared", "emptied", "emptied_by_settings", "is_made"]

# Names of what tools make again.
_MADE = regex(
    r"_build|_site|\.coverage[\w.-]*|\.next|\.nox|\.stack-work|\.tox|\.nuxt|\.nyc_output|\.output|\.svelte-kit|\.tmp|\.turbo|\.vite|build|coverage|dist"
    r"|htmlcov|node_modules|playwright-report|site|storybook-static|target|test-results|\.[\w-]*cache"
)


def is_made(text: str) -> bool:
    """Whether a relative name is of what tools make again, and leads nowhere else."""
    parts = text.split("/")
    return (
        bool(_MADE.fullmatch(parts[-1] or posixpath.basename(text.rstrip("/"))))
        and ".." not in parts
        and parts[0] != ""
    )


def cleared(call: Invocation, words: Iterable[Value], program: str) -> None:
    """`program` empties each folder that one of `words` names (options aside)."""
    place = call.context.place
    for word in words:
        for base in [] if word.fixed and word.text.startswith("-") else call.context.bases:
            raw = word.text if word.text.startswith("/") else f"./{word.text}"
            found = resolve_path(raw, place, base=base, expand_tilde=False)
            marked = resolve_path(f"{raw}/pyvenv.cfg", place, base=base, expand_tilde=False)
            if not word.fixed or found.path is None or (found.exists and not marked.exists):
                _lost(call, word, program)


def emptied(call: Invocation, value: Value, program: str) -> None:
    """`program` deletes what `value` names before it writes there: of what tools make again it may."""
    for base in bases_of(call):
        raw = value.text if value.text.startswith("/") else f"./{value.text}"
        found = resolve_path(raw, call.context.place, base=base, expand_tilde=False)
        if (
            value.fixed
            and found.path is not None
            and (not found.exists or _MADE.fullmatch(posixpath.basename(found.path)))
        ):
            continue
        _lost(call, value, program)


_OF_CYPRESS = regex(r"(?:downloads|screenshots|videos)Folder[\"']?\s*[=:]\s*[\"']?([^\"',}]*)")


def emptied_by_settings(call: Invocation, value: Value) -> None:
    """`cypress run --config videosFolder=x`: what is in these folders goes before the tests run."""
    for found in _OF_CYPRESS.findall(value.text):
        emptied(call, Value(text=found, head=found, known=value.fixed), call.name)


def _lost(call: Invocation, value: Value, program: str) -> None:
    """Of what a script runs only paths are shown."""
    call.reading.unknown.append(f"`{program}` deletes all that is in `{value.text[:80]}`")
    call.reading.path(value if value.fixed else Value(text=value.text, known=False), Access.DELETE, recursive=True)
