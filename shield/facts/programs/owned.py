"""Programs of the project's own environment, which tools that start programs there look for before those on PATH."""

import posixpath

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value

__all__ = ["own_program"]

_ENVIRONMENTS = (".venv/bin", "venv/bin", "node_modules/.bin")


def own_program(call: Invocation, word: Value, folders: tuple[str, ...] = _ENVIRONMENTS) -> Value:
    """The word as the path of the project's own program of this name, where its environment stands in one of `folders`.

    A tool that starts programs in the project's environment looks there before PATH.
    """
    if not word.fixed or "/" in word.text or not word.text:
        return word
    found: set[str | None] = set()
    for base in bases_of(call):
        found.add(_installed(call, base, word.text, folders))
    path = found.pop() if len(found) == 1 else None
    return Value(text=path, head="/") if path is not None else word


def _installed(call: Invocation, base: str | None, name: str, folders: tuple[str, ...]) -> str | None:
    place = call.context.place
    for folder in folders if base is not None else ():
        path = posixpath.join(base or "/", folder, name)
        found = resolve_path(path, place, base=None, expand_tilde=False)
        if found.stat is not None and found.stat.kind is FileKind.FILE and found.stat.executable:
            return path
    return None
