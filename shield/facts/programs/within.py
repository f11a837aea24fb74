"""What lies in a directory whose content is copied into another one: names with a meaning would have it there, too."""

from shield.facts.beneath import Look, look_beneath
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value

__all__ = ["plain_within"]


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
