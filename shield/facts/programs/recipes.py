"""Commands that a project's own files give a name to: rules of a makefile, scripts of a package.json.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`).
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.facts.programs.scripts import script_text
from shield.types import Access

__all__ = [
    "deleting",
    "last_command",
    "made_by_rules",
    "names_script",
    "package_scripts",
    "project_targets",
    "rules_of",
    "words_of",
]

_NAMES = ("GNUmakefile", "makefile", "Makefile")  # in the order of make(1)
_MAX_RULES = 200
_MAX_TEXT = 32_768
_MAX_DEEP = 12
_RULE = re.compile(r"([^\s:#=][^:#=]*?)\s*::?(?!=)\s*([^;#=]*)(?:;(.*))?\Z")
_SET = re.compile(r"(?:export\s+|override\s+)*([\w.-]+)\s*(:{1,3}|\?|\+|!)?=\s*(.*)\Z")
_INCLUDE = re.compile(r"\s*(?:-|s)?include\s+(.*)\Z")
_REFERENCE = re.compile(r"\$(?:\$|\(([\w.-]+)\)|\{([\w.-]+)\}|([@<^*?+%])|\(([^()]*)\)|\{([^{}]*)\}|(\w))")
_UNKNOWN = "$unknown"
_MAX_STEPS = 2_000
_MAX_INCLUDED = 16
_NOTHING: Mapping[str, str] = MappingProxyType({})
_OWN = {"MAKE": "make", "RM": "rm -f", "CURDIR": ".", "SHELL": "sh"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What make is told besides: `given` among its words, `env` by its environment, which wins over the makefile where
    `overriding`; `set_here`: what of that the same line says."""

    given: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    overriding: bool = False
    set_here: Sequence[str] = ()

    def without(self, name: str) -> "Settings":
        given, env = (
            {other: value for other, value in each.items() if other != name} for each in (self.given, self.env)
        )
        return replace(self, given=given, env=env)

    def value(self, name: str) -> str:
        return self.given.get(name, self.env.get(name, ""))


_TOLD_NOTHING = Settings()


@dataclass(slots=True)
class _Makefile:
    """`rules`: prerequisites and recipes by target, as they stand; `first`: the target that is made without one."""

    variables: dict[str, str] = field(default_factory=dict)
    rules: dict[str, tuple[list[str], list[list[str]]]] = field(default_factory=dict)
    first: str | None = None
    steps: int = 0
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


def made_by_rules(
    reading: Reading,
    name: str,
    targets: Sequence[str],
    settings: Settings,
    files: Sequence[str],
    place: Place,
    bases: Sequence[str | None],
) -> None:
    """Add the recipes that `make targets…` would run, from the makefile in each of `bases` (or `files`, where named)
    and those that it includes."""
    for base in bases:
        for file in files or _NAMES:
            text, path = _read(file, place, base)
            if path is not None:
                reading.path(Value(text=path, head=path, source=file), Access.EXECUTE)
                if text is not None:
                    loaded = _Loaded(place, base)
                    _add(reading, name, rules_of(text, targets, settings, loaded.text), path)
                    for each in loaded.paths:
                        reading.path(Value(text=each, head=each, source=file), Access.EXECUTE)
                break


class _Loaded:
    """Makefiles that others include, by their names from the directory that make runs in."""

    __slots__ = ("_base", "_place", "paths")

    def __init__(self, place: Place, base: str | None) -> None:
        self._place = place
        self._base = base
        self.paths: list[str] = []

    def text(self, name: str) -> str | None:
        text, path = _read(name, self._place, self._base)
        if path is None or path in self.paths or len(self.paths) >= _MAX_INCLUDED:
            return None
        self.paths.append(path)
        return text


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
        text, path = _read("project.json", place, base)
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


# Programs of recipes that delete what they are given.
_DELETES = re.compile(r"(?:\A|[\s;&|(@-])(?:rm|rmdir|unlink|shred|find|rimraf|git\s+clean|rsync)\s")


def deleting(
    targets: Sequence[str], settings: Settings, files: Sequence[str], place: Place, bases: Sequence[str | None]
) -> list[str]:
    """Of the variables that the line itself sets those that stand in what a recipe deletes."""
    found: list[str] = []
    for base in bases if settings.set_here else ():
        texts = (_read(file, place, base)[0] for file in files or _NAMES)
        text = next((each for each in texts if each is not None), "")
        made = rules_of(text, targets, settings, _Loaded(place, base).text)
        lines = [line for line in made.split("\n") if _DELETES.search(line)]
        for name in settings.set_here:
            others = set(rules_of(text, targets, settings.without(name), _Loaded(place, base).text).split("\n"))
            if any(line not in others for line in lines):
                found.append(name)
    return found


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
    text = script_text(found.path, place)
    return text.removeprefix("\ufeff") if text is not None else None, found.path  # npm reads on behind that mark


def _add(reading: Reading, name: str, text: str, path: str, *, base: str | None = None) -> None:
    """Add what is run; `base`: the directory it is started in, where that is not the caller's own."""
    if text.strip():
        line = Value(text=text, head=text)
        moved = Value(text=base, head=base) if base is not None else None
        reading.nested.append(Nested(kind=NestedKind.SCRIPT, words=(line,), via=(name, path), moved=moved, file=path))


def rules_of(
    text: str,
    targets: Sequence[str],
    settings: Settings = _TOLD_NOTHING,
    load: Callable[[str], str | None] = lambda _: None,
) -> str:
    """The recipes of `targets` (of the default goal, where none) and of all that they need, each line in a subshell of
    its own; what make would compute stands as a variable that is not known."""
    makefiles = settings.value("MAKEFILES")
    makefile = _parse(f"{text}\n-include {makefiles}" if makefiles else text, settings, load)
    default = _expand(makefile.variables.get(".DEFAULT_GOAL", makefile.first or ""), makefile, "", (), 0).split()
    wanted = list(targets) or default
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


def _parse(text: str, settings: Settings, load: Callable[[str], str | None]) -> _Makefile:
    makefile = _Makefile(env=settings.env)
    makefile.variables.update(settings.given)
    winning = {**(settings.env if settings.overriding else {}), **settings.given}
    current: list[str] = []
    waiting = _lines(text)
    while waiting:
        raw = waiting.pop()
        if raw.startswith("\t"):
            current.append(raw[1:])
            continue
        line = raw.split(" #")[0].rstrip()
        assigned = _SET.match(line)
        if assigned is not None:
            spared = assigned[2] == "?" and (assigned[1] in settings.env or assigned[1] in makefile.variables)
            if not spared:
                makefile.variables[assigned[1]] = assigned[3]
            if assigned[1] in winning:
                makefile.variables[assigned[1]] = winning[assigned[1]]
            continue
        included = _INCLUDE.match(line)
        if included is not None:
            for name in reversed(_expand(included[1], makefile, "", (), 0).split()):
                waiting += _lines(load(name) or "")
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


def _lines(text: str) -> list[str]:
    """The lines, the last one first."""
    return re.sub(r"\\\n[ \t]*", " ", text).split("\n")[::-1]


def _expand(text: str, makefile: _Makefile, target: str, names: Sequence[str], depth: int) -> str:
    def one(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        automatic = {"@": target, "<": names[0] if names else "", "^": " ".join(names), "+": " ".join(names)}
        if match[3]:
            return automatic.get(match[3], _UNKNOWN)
        variable = match[1] or match[2] or match[6] or ""
        value = makefile.variables.get(variable, makefile.env.get(variable))
        makefile.steps += 1
        if value is None or depth > _MAX_DEEP or makefile.steps > _MAX_STEPS:
            return _OWN.get(variable, _UNKNOWN)
        return _expand(value, makefile, target, names, depth + 1)

    return _REFERENCE.sub(one, text[:_MAX_TEXT])[:_MAX_TEXT]
