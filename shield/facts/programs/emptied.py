"""Files of the workspace that are emptied or cut short: what stands in them goes as if they were deleted. A log goes
on, and is no work."""

from collections.abc import Iterable

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Reading, Value
from shield.types import Access

__all__ = ["add_emptied"]

_LOGS = (".log", "/nohup.out")


def add_emptied(reading: Reading, values: Iterable[Value], place: Place, bases: Iterable[str | None]) -> None:
    """Add that these files are deleted, where something stands in them."""
    for value in values:
        if value.fixed and any(_holds_work(value.text, place, base) for base in bases):
            reading.path(value, Access.DELETE)


def _holds_work(text: str, place: Place, base: str | None) -> bool:
    found = resolve_path(text, place, base=base, expand_tilde=False)
    if (
        found.path is None
        or found.path.endswith(_LOGS)
        or found.stat is None
        or found.stat.kind is not FileKind.FILE
        or not found.stat.size
    ):
        return False
    return any(found.path.startswith(f"{root}/") for root in place.workspace_roots)
