"""What earlier commands of a line may have put where later ones look: links and whole trees.

Facts are taken before anything runs. `mv a b && cat b/link` reads through a link that is not at `b` yet.
"""

from collections.abc import Iterable, Sequence

from shield.facts.programs.python_proof import may_shadow
from shield.types import Access, PathFact

__all__ = ["Touched", "rewritten"]


class Touched:
    """Places that a command of the line may have reshaped, and by which command."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def add(self, name: str, facts: Iterable[PathFact]) -> None:
        for fact in facts:
            if fact.access in (Access.WRITE, Access.DELETE) and fact.resolved is not None:
                self._places.setdefault(fact.resolved, name)

    def trees(self, name: str, bases: Iterable[str | None]) -> None:
        for base in bases:
            self._places.setdefault(base if base is not None else "/", name)

    def note(self, fact: PathFact) -> str | None:
        """Why a path cannot be known, if it lies where something was reshaped."""
        if fact.resolved is None:
            return None
        for place, name in self._places.items():
            if fact.resolved == place or fact.resolved.startswith(place.rstrip("/") + "/"):
                return f"`{fact.raw[:80]}` may be another file after `{name}` has run"
        return None


def rewritten(facts: Sequence[PathFact]) -> list[str]:
    """Files whose content decides what a command runs, and which another command of the line may change before it."""
    used = [fact for fact in facts if fact.access is Access.EXECUTE and fact.resolved is not None]
    changed = [fact for fact in facts if fact.access in (Access.WRITE, Access.DELETE) and fact.resolved is not None]
    return [
        f"`{fact.raw[:80]}` decides what runs, and the same line may change it"
        for fact in used
        if any(_changes(other, fact) for other in changed if other.source != fact.source)
    ]


def _changes(other: PathFact, fact: PathFact) -> bool:
    """Whether writing `other` may change what `fact` runs: the file, or a module in the directory that is looked in."""
    if fact.resolved == other.resolved or (other.recursive and f"{fact.resolved}/".startswith(f"{other.resolved}/")):
        return True
    beneath = f"{other.resolved}".removeprefix(f"{fact.resolved}".rstrip("/") + "/")
    return beneath != other.resolved and may_shadow(beneath.split("/")[0])
