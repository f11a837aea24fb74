"""Scripts of a package.json and targets of a project.json, which package managers and Nx give a name to.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`).
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence

from shield.facts.place import Place
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.facts.programs.task_files import text_of
from shield.types import Access

__all__ = ["last_command", "names_script", "package_scripts", "project_targets", "words_of"]

_MAX_TEXT = 32_768
_MAX_DEEP = 12


def package_scripts(reading: Reading, name: str, script: str, place: Place, bases: Sequence[str | None]) -> None:
    """Add what `npm run script` would run: the script with what comes before and after it."""
    for base in bases:
        scripts, path = _scripts(place, base)
        if path is None or scripts is None:
            continue
        reading.path(Value(text=path, head=path, source="package.json"), Access.EXECUTE)
        lines = [scripts.get(each) for each in (f"pre{script}", script, f"post{script}")]
        text = "\n".join(line for line in lines if isinstance(line, str))[:_MAX_TEXT]
        _add(reading, name, text, path, base=base)


def project_targets(
    reading: Reading, name: str, targets: Sequence[str], place: Place, bases: Sequence[str | None]
) -> None:
    """Add the commands of these targets of each project.json, which Nx runs."""
    for base in bases:
        text, path = text_of(base, "project.json", place)
        try:
            said = json.loads(text) if text is not None else None
        except (ValueError, RecursionError):
            said = None
        listed = said.get("targets") if isinstance(said, dict) else None
        if not isinstance(listed, dict) or path is None:
            continue
        for target in targets:
            lines = list(_commands(listed.get(target)))
            # they stand at the root of the workspace unless `cwd` says otherwise
            _add(reading, name, "\n".join(f"( {line}\n)" for line in lines)[:_MAX_TEXT], path)


def _commands(value: object, deep: int = 0) -> Iterator[str]:
    """Every text under `command` and `commands`."""
    for key, each in value.items() if isinstance(value, dict) and deep < _MAX_DEEP else ():
        if key in ("command", "commands"):
            yield from (text for text in (each if isinstance(each, list) else [each]) if isinstance(text, str))
        listed = each if isinstance(each, list) else [each]
        for inner in listed:
            yield from _commands(inner, deep + 1)


def last_command(script: str, place: Place, bases: Sequence[str | None]) -> list[str]:
    """The words of the command that `npm run script -- …` adds words to, the last one; none where that is not plain."""
    for base in bases:
        line = (_scripts(place, base)[0] or {}).get(script)
        words = words_of(line) if isinstance(line, str) else []
        if words:
            return words
    return []


def words_of(line: str) -> list[str]:
    """The words of the last command of a line, without what it sets; none where it is not plain."""
    try:
        words = shlex.split(_PARTS.split(line)[-1])
    except (ValueError, IndexError):
        words = []
    while words and _ASSIGNED.match(words[0]):
        words.pop(0)
    return words


_PARTS = re.compile(r"[;&|]+")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


def names_script(script: str, place: Place, bases: Sequence[str | None]) -> bool:
    """Whether package.json, where there is one, has a script of this name."""
    return any(script in (_scripts(place, base)[0] or {}) for base in bases)


def _scripts(place: Place, base: str | None) -> tuple[dict[str, object] | None, str | None]:
    text, path = text_of(base, "package.json", place)
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        found = None
    scripts = found.get("scripts") if isinstance(found, dict) else None
    return scripts if isinstance(scripts, dict) else None, path


def _add(reading: Reading, name: str, text: str, path: str, *, base: str | None = None) -> None:
    """Add what is run; `base`: the directory it is started in, where that is not the caller's own."""
    if text.strip():
        line = Value(text=text, head=text)
        moved = Value(text=base, head=base) if base is not None else None
        reading.nested.append(Nested(kind=NestedKind.SCRIPT, words=(line,), via=(name, path), moved=moved, file=path))
