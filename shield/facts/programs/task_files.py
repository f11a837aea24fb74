"""Files of named tasks: the text of one, and what it has run."""

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.exposed import UNKNOWN, exposed
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import language_of, read_code, script_text

__all__ = ["MAX_DEEP", "MAX_FILES", "UNKNOWN", "Step", "files_beneath", "found_above", "show_steps", "text_of"]

MAX_FILES: Final = 16
MAX_DEEP: Final = 24
_MAX_TEXT = 32_768
_MAX_NAMES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Lines for a shell, or for `program` (as behind `#!`), run in `folder`; `given`: its parameters; `env`: what it
    has in its environment besides."""

    text: str
    folder: str | None = None
    program: str = ""
    given: tuple[str, ...] | None = None
    env: tuple[tuple[str, str], ...] = ()


def show_steps(call: Invocation, steps: Iterable[Step], path: str) -> None:
    """Add what the file of tasks at `path` has run."""
    name = call.name.partition(" ")[0]
    for step in steps:
        text = step.text[:_MAX_TEXT]
        language = _language(step.program) if step.program else "sh"
        shown = exposed(text) if language == "sh" else text
        if len(step.text) > _MAX_TEXT or shown is None or (language != "sh" and UNKNOWN in text):
            call.reading.unread.append(f"what `{posixpath.basename(path)[:80]}` runs is not known")
        text = text if shown is None else shown
        if not text.strip() or language is None:
            continue
        words = [Value(text=each, known=UNKNOWN not in each) for each in step.given or ()]
        if language != "sh":
            read_code(call.reading, text, language, name, words, call.context, file=path)
            continue
        moved = Value(text=step.folder, head=step.folder) if step.folder is not None else None
        call.reading.nested.append(
            Nested(
                kind=NestedKind.SCRIPT,
                words=(Value(text=text, head=text),),
                via=(name, path),
                moved=moved,
                file=path,
                given=None if step.given is None else tuple(words),
                assignments=step.env,
            )
        )


def _language(program: str) -> str | None:
    words = program.split()
    if words and posixpath.basename(words[0]) == "env":
        words = [word for word in words[1:] if "=" not in word]
    return language_of(next((word for word in words if not word.startswith("-")), "sh"))


def found_above(
    base: str | None, names: Sequence[str], place: Place, *, upward: bool = True
) -> tuple[str | None, str | None]:
    """The text and the path of the first of the files, here or (`upward`) in a directory above."""
    for _ in range(MAX_DEEP):
        if base is None:
            break
        for name in names:
            text, path = text_of(base, name, place)
            if path is not None:
                return text, path
        if base == "/" or not upward:
            break
        base = posixpath.dirname(base)
    return None, None


def text_of(base: str | None, name: str, place: Place) -> tuple[str | None, str | None]:
    found = resolve_path(name if name.startswith("/") else f"./{name}", place, base=base, expand_tilde=False)
    if found.path is None or found.stat is None or found.stat.kind is not FileKind.FILE:
        return None, None
    text = script_text(found.path, place)
    return text.removeprefix("\ufeff") if text is not None else None, found.path


def files_beneath(folder: str, suffix: str, place: Place) -> list[str]:
    """The files of this suffix in a folder and those in it, a bounded number."""
    waiting, found, seen = [folder], list[str](), 0
    while waiting and seen < MAX_DEEP and len(found) < MAX_FILES:
        here, seen = waiting.pop(0), seen + 1
        try:
            names = place.files.listdir(here, _MAX_NAMES)
            kinds = {name: place.files.lstat(posixpath.join(here, name)) for name in names}
        except FileSystemUnknownError:
            continue
        for name, stat in kinds.items():
            if stat is not None and stat.kind is FileKind.DIRECTORY:
                waiting.append(posixpath.join(here, name))
            elif stat is not None and stat.kind is FileKind.FILE and name.endswith(suffix):
                found.append(posixpath.join(here, name))
    return found[:MAX_FILES]
