"""Programs of the project's own environment, which tools that start programs there look for before those on PATH."""

import posixpath

from shield.facts.filesystem import FileKind
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value

__all__ = ["own_program"]

_ENVIRONMENTS = (".venv/bin", "venv/bin", "node_modules/.bin")


def own_program(
    call: Invocation, word: Value, folders: tuple[str, ...] = _ENVIRONMENTS, *, upward: bool = False
) -> Value:
    """The word as the path of the project's own program of this name, where its environment stands in one of `folders`.

    A tool that starts programs in the project's environment looks there before PATH. `upward`: it takes the nearest
    that stands in the directory or above it.
    """
    if not word.fixed or "/" in word.text or not word.text:
        return word
    found: set[str | None] = set()
    for base in bases_of(call):
        path = _installed(call, base, word.text, folders)
        while upward and path is None and base is not None and inside(base, resolved_roots(call.context.place)):
            base = posixpath.dirname(base)  # noqa: PLW2901 - the next one above
            path = _installed(call, base, word.text, folders)
        found.add(path if path is None or base is None or _ours(call, base) else None)
    path = found.pop() if len(found) == 1 else None
    return Value(text=path, head="/") if path is not None else word


def _ours(call: Invocation, base: str) -> bool:
    return base in bases_of(call) or inside(base, resolved_roots(call.context.place))


def _installed(call: Invocation, base: str | None, name: str, folders: tuple[str, ...]) -> str | None:
    place = call.context.place
    for folder in folders if base is not None else ():
        path = posixpath.join(base or "/", folder, name)
        found = resolve_path(path, place, base=None, expand_tilde=False)
        if found.stat is not None and found.stat.kind is FileKind.FILE and found.stat.executable:
            return path
    return None
