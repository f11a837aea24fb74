"""Commands that a project's own files give a name to: rules of a makefile, scripts of a package.json.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`).
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.facts.programs.scripts import script_text
from shield.types import Access

__all__ = ["deleting", "last_command", "made_by_rules", "names_script", "package_scripts", "rules_of"]

_NAMES = ("GNUmakefile", "makefile", "Makefile")  # in the order of make(1)
_MAX_RULES = 200
_MAX_TEXT = 32_768
_MAX_DEEP = 12
_RULE = re.compile(r"([^\s:#=][^:#=]*?)\s*::?(?!=)\s*([^;#=]*)(?:;(.*))?\Z")
_SET = re.compile(r"(?:export\s+|override\s+)*([\w.-]+)\s*(?::{1,3}|\?|\+|!)?=\s*(.*)\Z")
_REFERENCE = re.compile(r"\$(?:\$|\(([\w.-]+)\)|\{([\w.-]+)\}|([@<^*?+%])|\(([^()]*)\)|\{([^{}]*)\}|(\w))")
_UNKNOWN = "$unknown"
_MAX_STEPS = 2_000
_OWN = {"MAKE": "make", "RM": "rm -f", "CURDIR": ".", "SHELL": "sh"}


@dataclass(slots=True)
class _Makefile:
    """`rules`: prerequisites and recipes by target, as they stand; `first`: the target that is made without one."""

    variables: dict[str, str] = field(default_factory=dict)
    rules: dict[str, tuple[list[str], list[list[str]]]] = field(default_factory=dict)
    first: str | None = None
    steps: int = 0


def made_by_rules(
    reading: Reading,
    name: str,
    targets: Sequence[str],
    given: Mapping[str, str],
    files: Sequence[str],
    place: Place,
    bases: Sequence[str | None],
) -> None:
    """Add the recipes that `make targets…` would run with the variables `given`, from the makefile in each of `bases`
    (or `files`, where named)."""
    for base in bases:
        for file in files or _NAMES:
            text, path = _read(file, place, base)
            if path is not None:
                reading.path(Value(text=path, head=path, source=file), Access.EXECUTE)
                if text is not None:
                    _add(reading, name, rules_of(text, targets, given), path)
                break


def package_scripts(reading: Reading, name: str, script: str, place: Place, bases: Sequence[str | None]) -> None:
    """Add what `npm run script` would run: the script with what comes before and after it."""
    for base in bases:
        scripts, path = _scripts(place, base)
        if path is None or scripts is None:
            continue
        reading.path(Value(text=path, head=path, source="package.json"), Access.EXECUTE)
        lines = [scripts.get(each) for each in (f"pre{script}", script, f"post{script}")]
        _add(reading, name, "\n".join(line for line in lines if isinstance(line, str))[:_MAX_TEXT], path)


# Programs of recipes that delete what they are given.
_DELETES = re.compile(r"(?:\A|[\s;&|(@-])(?:rm|rmdir|unlink|shred|find|rimraf|git\s+clean|rsync)\s")


def deleting(
    targets: Sequence[str], given: Mapping[str, str], files: Sequence[str], place: Place, bases: Sequence[str | None]
) -> list[str]:
    """Of the variables `given` those that stand in what a recipe deletes."""
    found: list[str] = []
    for base in bases if given else ():
        texts = (_read(file, place, base)[0] for file in files or _NAMES)
        text = next((each for each in texts if each is not None), "")
        lines = [line for line in rules_of(text, targets, given).split("\n") if _DELETES.search(line)]
        for name in given:
            without = {other: value for other, value in given.items() if other != name}
            others = set(rules_of(text, targets, without).split("\n"))
            if any(line not in others for line in lines):
                found.append(name)
    return found


def last_command(script: str, place: Place, bases: Sequence[str | None]) -> list[str]:
    """The words of the command that `npm run script -- …` adds words to, the last one; none where that is not plain."""
    for base in bases:
        line = (_scripts(place, base)[0] or {}).get(script)
        try:
            words = shlex.split(_PARTS.split(line)[-1]) if isinstance(line, str) else []
        except ValueError:
            words = []
        while words and _ASSIGNED.match(words[0]):
            words.pop(0)
        if words:
            return words
    return []


_PARTS = re.compile(r"[;&|]+")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


def names_script(script: str, place: Place, bases: Sequence[str | None]) -> bool:
    """Whether package.json, where there is one, has a script of this name."""
    return any(script in (_scripts(place, base)[0] or {}) for base in bases)


def _scripts(place: Place, base: str | None) -> tuple[dict[str, object] | None, str | None]:
    text, path = _read("package.json", place, base)
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        found = None
    scripts = found.get("scripts") if isinstance(found, dict) else None
    return scripts if isinstance(scripts, dict) else None, path


def _read(file: str, place: Place, base: str | None) -> tuple[str | None, str | None]:
    """The text of a file of the project, and its resolved path; a path of None: there is none."""
    found = resolve_path(file if file.startswith("/") else f"./{file}", place, base=base, expand_tilde=False)
    if found.path is None or found.stat is None or found.stat.kind is not FileKind.FILE:
        return None, None
    return script_text(found.path, place), found.path


def _add(reading: Reading, name: str, text: str, path: str) -> None:
    if text.strip():
        line = Value(text=text, head=text)
        reading.nested.append(Nested(kind=NestedKind.SCRIPT, words=(line,), via=(name, path), file=path))


def rules_of(text: str, targets: Sequence[str], given: Mapping[str, str]) -> str:
    """The recipes of `targets` (of the first rule, where none) and of all that they need, each line in a subshell of
    its own; what make would compute stands as a variable that is not known."""
    makefile = _parse(text)
    makefile.variables.update(given)
    wanted = list(targets) or ([makefile.first] if makefile.first is not None else [])
    out: list[str] = []
    seen: set[str] = set()
    size = 0
    while wanted and len(seen) < _MAX_RULES and size < _MAX_TEXT:
        target = wanted.pop(0)
        if target in seen or target not in makefile.rules:
            continue
        seen.add(target)
        needs, recipes = makefile.rules[target]
        names = [need for each in needs for need in _expand(each, makefile, target, (), 0).split() if need != "|"]
        wanted = names + wanted
        for line in (line for recipe in recipes for line in recipe):
            bare = _expand(line.lstrip(" \t@+-"), makefile, target, names, 0)
            if bare.strip():
                size += len(bare)
                out.append(f"( {bare}\n)")
    return "\n".join(out)[:_MAX_TEXT]


def _parse(text: str) -> _Makefile:
    makefile = _Makefile()
    current: list[str] = []
    for raw in re.sub(r"\\\n[ \t]*", " ", text).split("\n"):
        if raw.startswith("\t"):
            current.append(raw[1:])
            continue
        line = raw.split(" #")[0].rstrip()
        assigned = _SET.match(line)
        if assigned is not None:
            makefile.variables[assigned[1]] = assigned[2]
            continue
        rule = _RULE.match(line)
        if rule is None:
            continue
        current = [rule[3].strip()] if rule[3] else []
        for name in rule[1].split():
            needs, recipes = makefile.rules.setdefault(name, ([], []))
            needs.append(rule[2])
            recipes.append(current)  # filled by the lines that follow
            if makefile.first is None and not name.startswith("."):
                makefile.first = name
    return makefile


def _expand(text: str, makefile: _Makefile, target: str, names: Sequence[str], depth: int) -> str:
    def one(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        automatic = {"@": target, "<": names[0] if names else "", "^": " ".join(names), "+": " ".join(names)}
        if match[3]:
            return automatic.get(match[3], _UNKNOWN)
        variable = match[1] or match[2] or match[6] or ""
        value = makefile.variables.get(variable)
        makefile.steps += 1
        if value is None or depth > _MAX_DEEP or makefile.steps > _MAX_STEPS:
            return _OWN.get(variable, _UNKNOWN)
        return _expand(value, makefile, target, names, depth + 1)

    return _REFERENCE.sub(one, text[:_MAX_TEXT])[:_MAX_TEXT]
