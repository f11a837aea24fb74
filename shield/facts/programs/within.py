"""What lies in a directory whose content is copied into another one, where names with a meaning would have it, too, and
in that other one, where links lead what is written elsewhere."""

import posixpath
from collections.abc import Iterable

from shield.facts.beneath import Look, look_beneath
from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value

__all__ = ["clear_below", "plain_files", "plain_within"]


def plain_within(call: Invocation, operand: Value) -> bool:
    """Whether nothing in the directory, as deep as it goes, has a meaning by its name, wherever it is put."""
    if not operand.fixed:
        return False
    place, look = call.context.place, Look(secrets=False)
    for base in call.context.bases:
        raw = operand.text if operand.text.startswith("/") else f"./{operand.text}"
        path = resolve_path(raw, place, base=base, expand_tilde=False).path
        met = None if path is None else look_beneath(path, place, look)
        if met is None or not met.complete or met.entries or met.links:
            return False
    return True


def clear_below(call: Invocation, operand: Value, target: Value, *, whole: bool) -> bool:
    """Whether no link lies where the directory `operand` comes to stand in `target`: `cp` writes through those."""
    if not target.fixed:
        return True  # where it is written is not known, which is asked about
    start = target.text if target.text.startswith("/") else f"./{target.text}"
    source = operand.text.rstrip("/")
    own = operand.fixed and not whole and source not in (".", "..") and not source.endswith(("/.", "/.."))
    # what has a name of its own comes to stand beneath, under that
    landing = f"{start}/{posixpath.basename(source)}" if own else start
    for base in call.context.bases:
        found = resolve_path(landing, call.context.place, base=base, expand_tilde=False)
        if found.path is None or found.stat is None or found.stat.kind is not FileKind.DIRECTORY:
            continue
        met = look_beneath(found.path, call.context.place, Look(secrets=False, follows=True))
        if not met.complete or met.links:
            return False
    return True


def plain_files(call: Invocation, values: Iterable[Value]) -> bool:
    """Whether each of the values is one file that is there, and neither a link nor a tree: moved, it brings neither."""
    place = call.context.place
    for value in values:
        for base in bases_of(call):
            raw = value.text if value.text.startswith("/") else f"./{value.text}"
            found = resolve_path(raw, place, base=base, expand_tilde=False) if value.fixed else None
            if found is None or found.path is None or found.symlink:
                return False
            if found.stat is None or found.stat.kind is not FileKind.FILE:
                return False
    return True
