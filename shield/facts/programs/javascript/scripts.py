"""Scripts of a package.json and targets of a project.json, which package managers and Nx give a name to.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`).
"""

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from shield.facts.place import Place
from shield.facts.programs.exposed import ends
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.facts.programs.task_files import found_above, text_of
from shield.regex import regex
from shield.types import Access

__all__ = [
    "fitting_scripts",
    "last_command",
    "names_script",
    "nx_commands",
    "package_scripts",
    "project_targets",
    "words_of",
]

_MAX_TEXT = 32_768
_MAX_DEEP = 12


def package_scripts(
    reading: Reading, name: str, script: str, place: Place, bases: Sequence[str | None], words: Sequence[Value] = ()
) -> None:
    """Add what `npm run script` would run: the script, which is given `words`, with what comes before and after it."""
    more = "".join(f" {_quoted(word)}" for word in words)
    for base in bases:
        scripts, path = _scripts(place, base)
        if path is None or scripts == {}:
            continue
        reading.path(Value(text=path, head=path, source="package.json"), Access.EXECUTE)
        if scripts is None:
            reading.unread.append("what `package.json` runs is not known")
            continue
        lines = [scripts.get(each) for each in (f"pre{script}", script, f"post{script}")]
        lines[1] = f"{lines[1]}{more}" if isinstance(lines[1], str) else None
        # each is run by a shell of its own
        texts = [line for line in lines if isinstance(line, str)]
        text = "\n".join(f"( {line}\n)" for line in texts)
        if len(text) > _MAX_TEXT or not all(map(ends, texts)):
            reading.unread.append("what `package.json` runs is not known")
        told = (("npm_execpath", name), ("npm_node_execpath", "node"), ("npm_lifecycle_event", script))
        _add(reading, name, text[:_MAX_TEXT], path, base=posixpath.dirname(path), env=told)


def _quoted(word: Value) -> str:
    return shlex.quote(word.text) if word.fixed else "$unknown" if word.many or word.pattern else '"$unknown"'


def fitting_scripts(pattern: str, place: Place, bases: Sequence[str | None]) -> list[str]:
    """The names of scripts that fit: `build:*` is of one part behind the colon, `build:**` of any."""
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    form = "".join({"**": ".*", "*": "[^:]*", "?": "[^:]"}.get(part, re.escape(part)) for part in parts)
    names = (name for base in bases for name in _scripts(place, base)[0] or {})
    return [name for name in dict.fromkeys(names) if re.fullmatch(form, name)]


def project_targets(
    reading: Reading, name: str, targets: Sequence[str], place: Place, bases: Sequence[str | None]
) -> list[str]:
    """Add the commands of these targets of each project.json, and of `nx` of package.json, which Nx runs; answers which
    scripts and targets they run besides."""
    further: list[str] = []
    for base in bases:
        for file in ("project.json", "package.json"):
            text, path = text_of(base, file, place)
            found = _object(text) or {}
            said = found.get("nx") if file == "package.json" else found
            listed = said.get("targets") if isinstance(said, dict) else None
            if not isinstance(listed, dict) or path is None:
                continue
            for target in targets:
                further += nx_commands(reading, name, listed.get(target), path)
    return further


def nx_commands(reading: Reading, name: str, target: object, path: str) -> list[str]:
    """Add what a target, or what is said for all of its name, runs by commands; answers what it names."""
    lines = list(_texts(target, ("command", "commands")))
    # they stand at the root of the workspace unless `cwd` says otherwise
    text = "\n".join(f"( {line}\n)" for line in lines)
    if len(text) > _MAX_TEXT or not all(map(ends, lines)):
        reading.unread.append(f"what `{posixpath.basename(path)[:80]}` runs is not known")
    _add(reading, name, text[:_MAX_TEXT], path)
    needs = [each.lstrip("^").rpartition(":")[2] for each in _texts(target, ("dependsOn", "target"))]
    return [*needs, *_texts(target, ("script",))]


def _texts(value: object, keys: Sequence[str], deep: int = 0) -> Iterator[str]:
    """Every text under these keys."""
    for key, each in value.items() if isinstance(value, dict) and deep < _MAX_DEEP else ():
        listed = each if isinstance(each, list) else [each]
        if key in keys:
            yield from (text for text in listed if isinstance(text, str))
        for inner in listed:
            yield from _texts(inner, keys, deep + 1)


def _object(text: str | None) -> dict[str, object] | None:
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


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


_PARTS = regex(r"[;&|]+")
_ASSIGNED = regex(r"[A-Za-z_]\w*=")


def names_script(script: str, place: Place, bases: Sequence[str | None]) -> bool:
    """Whether package.json, where there is one, has a script of this name."""
    return any(script in (_scripts(place, base)[0] or {}) for base in bases)


def _scripts(place: Place, base: str | None) -> tuple[dict[str, object] | None, str | None]:
    """Those of the nearest package.json, and where it is; none is None where it cannot be read."""
    text, path = found_above(base, ("package.json",), place)
    found = _object(text)
    scripts = found.get("scripts", {}) if found is not None else None
    return scripts if isinstance(scripts, dict) else None, path


def _add(
    reading: Reading, name: str, text: str, path: str, *, base: str | None = None, env: tuple[tuple[str, str], ...] = ()
) -> None:
    """Add what is run; `base`: the directory it is started in, where that is not the caller's own; `env`: what it has
    in its environment besides."""
    if text.strip():
        line = Value(text=text, head=text)
        moved = Value(text=base, head=base) if base is not None else None
        reading.nested.append(
            Nested(kind=NestedKind.SCRIPT, words=(line,), via=(name, path), moved=moved, file=path, assignments=env)
        )
