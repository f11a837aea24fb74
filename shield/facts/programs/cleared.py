"""Folders that a program empties before it makes an environment in them: of what is none yet, that is said."""

from collections.abc import Iterable

from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value

__all__ = ["cleared"]


def cleared(call: Invocation, words: Iterable[Value], program: str) -> None:
    """`program` empties each folder that one of `words` names (options aside)."""
    place = call.context.place
    for word in words:
        for base in [] if word.fixed and word.text.startswith("-") else call.context.bases:
            raw = word.text if word.text.startswith("/") else f"./{word.text}"
            found = resolve_path(raw, place, base=base, expand_tilde=False)
            marked = resolve_path(f"{raw}/pyvenv.cfg", place, base=base, expand_tilde=False)
            if not word.fixed or found.path is None or (found.exists and not marked.exists):
                call.reading.unknown.append(f"`{program}` deletes all that is in `{word.text[:80]}`")
