"""Files of named tasks: what is kept of one that was read, and its text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.scripts import script_text

__all__ = ["MAX_DEEP", "MAX_FILES", "UNKNOWN", "Read", "Task", "Tasks", "text_of"]

MAX_FILES: Final = 16
MAX_DEEP: Final = 24
UNKNOWN: Final = "$unknown"


@dataclass(slots=True)
class Task:
    """`lines` are run each by itself, unless the first says by which program; `needs`: tasks that are run, too."""

    params: tuple[str, ...] = ()
    lines: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    default: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Tasks:
    """The tasks of a file and of those that it takes in. `always`: commands that are run whatever is asked for;
    `unread`: there is more than was understood."""

    named: dict[str, list[Task]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    always: list[str] = field(default_factory=list)
    first: str | None = None
    files: int = 0
    unread: bool = False


Read = Callable[[str, str, Tasks, Place, str], None]


def text_of(base: str | None, name: str, place: Place) -> tuple[str | None, str | None]:
    found = resolve_path(name if name.startswith("/") else f"./{name}", place, base=base, expand_tilde=False)
    if found.path is None or found.stat is None or found.stat.kind is not FileKind.FILE:
        return None, None
    text = script_text(found.path, place)
    return text.removeprefix("\ufeff") if text is not None else None, found.path
