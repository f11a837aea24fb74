"""Runners of named tasks: what the tasks of a justfile, a Taskfile and a composer.json run.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`). Sources: Just
Programmer's Manual; Task, "Schema Reference"; Composer, "Scripts".
"""

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.plain_yaml import plain_yaml
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import language_of, read_code, script_text
from shield.types import Access

__all__ = ["TASKED", "composer_commands"]

_MAX_TEXT = 32_768
_MAX_TASKS = 200
_MAX_FILES = 16
_MAX_UP = 24
_UNKNOWN = "$unknown"
_JUST = ("justfile", ".justfile", "Justfile", "JUSTFILE")
_TASK = (
    "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
    "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
)  # fmt: skip
_COMMANDS = frozenset(("cmd", "cmds", "defer", "preconditions", "sh", "status"))


@dataclass(slots=True)
class _Task:
    """`lines` are run each by itself, unless the first says by which program; `needs`: tasks that are run, too."""

    params: tuple[str, ...] = ()
    lines: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    default: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Tasks:
    """The tasks of a file and of those that it takes in. `always`: commands that are run whatever is asked for;
    `unread`: there is more than was understood."""

    named: dict[str, list[_Task]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    always: list[str] = field(default_factory=list)
    first: str | None = None
    files: int = 0
    unread: bool = False


Read = Callable[[str, str, _Tasks, Place, str], None]


def _just(call: Invocation, operands: Sequence[Value]) -> None:
    """just: the recipes of the justfile that is nearest."""
    _follow(call, operands, _JUST, ("-f", "--justfile"), _read_just)


def _task(call: Invocation, operands: Sequence[Value]) -> None:
    """task: the tasks of the Taskfile that is nearest."""
    texts = [word.text if word.fixed else "" for word in call.words]
    after = call.words[texts.index("--") + 1 :] if "--" in texts else ()
    own = [word for word in operands if not any(word is each for each in after)]
    given = {"CLI_ARGS": shlex.join(word.text if word.fixed else _UNKNOWN for word in after)}
    _follow(call, own, _TASK, ("-t", "--taskfile"), _read_task, given)


def _composer_scripts(call: Invocation, operands: Sequence[Value]) -> None:
    """composer run NAME, composer test: what stands before, in and after that script of composer.json."""
    verb = call.name.partition(" ")[2]
    names = [verb, *(word.text for word in operands if word.fixed)]
    for base, path, tasks in _composers(call):
        wanted = [each for name in names for each in (f"pre-{name}-cmd", name, f"post-{name}-cmd")]
        _add(call, tasks, wanted, {}, path, base)


def composer_commands(call: Invocation, name: str) -> list[str]:
    """The commands of the script of this name itself, which get what stands behind it; none where there is none."""
    return [line for _, _, tasks in _composers(call) for each in tasks.named.get(name, ()) for line in each.lines]


def _composers(call: Invocation) -> Iterator[tuple[str | None, str, _Tasks]]:
    for base in bases_of(call):
        text, path = _text(base, "composer.json", call.context.place)
        if text is not None and path is not None:
            tasks = _Tasks()
            _read_composer(text, tasks)
            yield base, path, tasks


def _follow(
    call: Invocation,
    operands: Sequence[Value],
    names: Sequence[str],
    option: tuple[str, ...],
    read: Read,
    behind: Mapping[str, str] = MappingProxyType({}),
) -> None:
    words = [word.text if word.fixed else _UNKNOWN for word in operands]
    given = {name: value for name, equals, value in (word.partition("=") for word in words) if equals}
    given |= behind
    wanted = [word for word in words if "=" not in word]
    given |= _set_by_options(call)
    for base in bases_of(call):
        for name in _files_given(call, option) or names:
            text, path = _nearest(base, name, call.context.place)
            if text is None or path is None:
                continue
            tasks = _Tasks()
            read(text, path, tasks, call.context.place, "")
            # words behind the name of a recipe may be what it is given, names of tasks are all that task takes
            asked = wanted[:1] if names is _JUST else wanted
            if tasks.unread or any(each not in tasks.named for each in asked):
                call.reading.unknown.append(f"what `{posixpath.basename(path)}` runs is not known")
            default = ["default"] if "default" in tasks.named else [tasks.first] if tasks.first else []
            _add(call, tasks, wanted or default, given, path, posixpath.dirname(path))
            break


def _files_given(call: Invocation, option: tuple[str, ...]) -> list[str]:
    """The files that the words name in place of those that are looked for."""
    found: list[str] = []
    texts = [word.text if word.fixed else "" for word in call.words]
    for at, text in enumerate(texts):
        name, equals, value = text.partition("=")
        if name in option:
            found += [value] if equals else texts[at + 1 : at + 2]
        elif text.startswith(option[0]) and len(text) > len(option[0]) and not text.startswith("--"):
            found.append(text[len(option[0]) :])
    return [name for name in found if name]


def _set_by_options(call: Invocation) -> dict[str, str]:
    """`just --set NAME VALUE`"""
    texts = [word.text if word.fixed else _UNKNOWN for word in call.words]
    return {texts[at + 1]: texts[at + 2] for at, text in enumerate(texts[:-2]) if text == "--set"}


def _nearest(base: str | None, name: str, place: Place) -> tuple[str | None, str | None]:
    """The text and the path of the file, here or above."""
    for _ in range(_MAX_UP):
        if base is None:
            break
        text, path = _text(base, name, place)
        if path is not None or base == "/" or "/" in name:
            return text, path
        base = posixpath.dirname(base)
    return None, None


def _text(base: str | None, name: str, place: Place) -> tuple[str | None, str | None]:
    found = resolve_path(name if name.startswith("/") else f"./{name}", place, base=base, expand_tilde=False)
    if found.path is None or found.stat is None or found.stat.kind is not FileKind.FILE:
        return None, None
    text = script_text(found.path, place)
    return text.removeprefix("\ufeff") if text is not None else None, found.path


def _add(
    call: Invocation, tasks: _Tasks, wanted: Sequence[str], given: Mapping[str, str], path: str, base: str | None
) -> None:
    """Add what the tasks `wanted`, and what they need, run; words behind the name of one are what it is given."""
    call.reading.path(Value(text=path, head=path, source=posixpath.basename(path)), Access.EXECUTE)
    lines = list(tasks.always)
    waiting = list(wanted)
    seen: set[str] = set()
    while waiting and len(seen) < _MAX_TASKS:
        name = waiting.pop(0)
        if name in seen or name not in tasks.named:
            continue
        seen.add(name)
        for each in tasks.named[name]:
            words = list(wanted[wanted.index(name) + 1 :]) if name in wanted else []
            # a value of the line may be another task's name: then it counts for both
            values = {**tasks.variables, **each.default, **dict(zip(each.params, words, strict=False)), **given}
            shown = [_filled(line, values) for line in each.lines]
            waiting += [_filled(need, values) for need in each.needs]
            if shown and shown[0].startswith("#!"):
                _shebang(call, "\n".join(shown)[:_MAX_TEXT], path)
            else:
                lines += shown
    text = "\n".join(f"( {line}\n)" for line in lines if line.strip())[:_MAX_TEXT]
    if text:
        moved = Value(text=base, head=base) if base is not None else None
        words_ = (Value(text=text, head=text),)
        call.reading.nested.append(
            Nested(
                kind=NestedKind.SCRIPT, words=words_, via=(call.name.partition(" ")[0], path), moved=moved, file=path
            )
        )


def _shebang(call: Invocation, text: str, path: str) -> None:
    words = text.split("\n", 1)[0][2:].split()
    words = words[1:] if words and posixpath.basename(words[0]) == "env" else words
    program = next((word for word in words if not word.startswith("-")), "sh")
    language = language_of(program)
    if language is not None:
        read_code(call.reading, text, language, call.name.partition(" ")[0], (), call.context, file=path)


_FILLED = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The text with what stands for a variable of known value in its place; anything else is not known."""

    def one(match: re.Match[str]) -> str:
        inner = match[1]
        if len(inner) > 1 and inner[0] == inner[-1] and inner[0] in "\"'" and inner[0] not in inner[1:-1]:
            return inner[1:-1]
        return values.get(inner.removeprefix("."), _UNKNOWN)

    return _FILLED.sub(one, text[:_MAX_TEXT])


# --- just ---

_HEADER = re.compile(
    r"@?([A-Za-z_][\w-]*)((?:\s+(?:[^\s:\"'`]|\"[^\"]*\"|'[^']*'|`[^`]*`)+)*)\s*:(?!=)\s*(.*)", re.DOTALL
)
_ASSIGNED = re.compile(r"(?:export\s+|unexport\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)", re.DOTALL)
_BACKTICKS = re.compile(r"```(.*?)```|`([^`]*)`", re.DOTALL)
_SHELL_CALL = re.compile(r"\bshell\(\s*(?:\"([^\"]*)\"|'([^']*)')")
_TAKEN_IN = re.compile(r"(import|mod)\??\s+(?:([\w-]+)\s*)?(?:\"([^\"]*)\"|'([^']*)')?")
_TAKES_IN = re.compile(r"(?:import|mod)\??\s+(?!\S+\s*:(?!:))")
_COMMENT = re.compile(r"\s+#.*\Z")
# Settings and marks that change what runs a recipe, where, and which words it is given.
_STEERS = re.compile(r"set\s+(?:shell|fallback|positional-arguments|script-interpreter|working-directory)\b")
_PLAIN_SHELL = re.compile(r"set\s+shell\s*:=\s*\[\s*['\"](?:/bin/|/usr/bin/)?(?:ba|da|z)?sh['\"][^'\"]*['\"]-")
_MARKED = re.compile(r"\[\s*(?:script|working-directory|positional-arguments)\b|\[[^\]]*\]\s*[^\s#]")
_PARAM = re.compile(r"[*+$]*([A-Za-z_][\w-]*)(?:=(?:\"([^\"]*)\"|'([^']*)'|(\S+)))?")
_NAME = re.compile(r"[A-Za-z_][\w-]*")


def _read_just(text: str, path: str, tasks: _Tasks, place: Place, prefix: str) -> None:
    tasks.files += 1
    current: list[str] | None = None
    for raw in text.split("\n"):
        if raw[:1] in (" ", "\t"):
            if current is not None:
                current.append(raw.strip())
            continue
        line = raw.strip()
        tasks.unread |= _MARKED.match(line) is not None
        if not line or line.startswith(("#", "[")):
            continue
        current = None
        tasks.always += [
            found.replace("\\n", "\n") for pair in (*_BACKTICKS.findall(line), *_SHELL_CALL.findall(line))
            for found in pair if found
        ]  # fmt: skip
        taken = _TAKEN_IN.fullmatch(_COMMENT.sub("", line))
        tasks.unread |= line.endswith("\\") or (taken is None and _TAKES_IN.match(line) is not None)
        tasks.unread |= _STEERS.match(line) is not None and _PLAIN_SHELL.match(line) is None
        assigned = _ASSIGNED.fullmatch(line)
        header = _HEADER.fullmatch(line)
        if line.startswith("alias ") and assigned is None and ":=" in line:
            name, _, target = line.removeprefix("alias ").partition(":=")
            tasks.named.setdefault(prefix + name.strip(), []).append(_Task(needs=[prefix + target.strip()]))
        elif taken is not None:
            _take_in_just(taken, path, tasks, place, prefix)
        elif assigned is not None:
            tasks.variables[assigned[1]] = _literal(assigned[2])
        elif header is not None:
            params = list(_PARAM.finditer(header[2]))
            known = {found[1]: found[2] or found[3] or _UNKNOWN for found in params if found[0] != found[1]}
            made = _Task(params=tuple(found[1] for found in params), default=known)
            made.needs = [prefix + name for name in _NAME.findall(re.sub(r"\"[^\"]*\"|'[^']*'", " ", header[3]))]
            made.lines = current = []
            tasks.named.setdefault(prefix + header[1], []).append(made)
            tasks.first = tasks.first or header[1]
    for each in tasks.named.values():
        for made in each:
            made.lines[:] = _joined(made.lines)


def _joined(lines: list[str]) -> list[str]:
    """Lines that go on with a backslash in one; `@` and `-` in front of them say nothing of what is run."""
    if lines and lines[0].startswith("#!"):
        return lines
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    return [line.lstrip("@-") for line in text.split("\n") if line]


def _literal(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text[0] not in text[1:-1]
    return text[1:-1] if quoted else _UNKNOWN


def _take_in_just(found: re.Match[str], path: str, tasks: _Tasks, place: Place, prefix: str) -> None:
    folder, module, named = posixpath.dirname(path), found[2] or "", found[3] or found[4]
    names = [named] if named else [f"{module}.just", f"{module}/mod.just", *(f"{module}/{name}" for name in _JUST)]
    for name in names:
        text, there = _text(folder, name, place)
        if text is not None and there is not None and tasks.files < _MAX_FILES:
            first = tasks.first
            _read_just(text, there, tasks, place, "" if found[1] == "import" else f"{prefix}{module}::")
            tasks.first = first or tasks.first
            if found[1] == "mod":
                # `just MODULE RECIPE` is another way to say `just MODULE::RECIPE`
                for key in [key for key in tasks.named if key.startswith(f"{prefix}{module}::")]:
                    tasks.named.setdefault(key.rpartition("::")[2], []).extend(tasks.named[key])
            return


# --- task ---


def _read_task(text: str, path: str, tasks: _Tasks, place: Place, prefix: str) -> None:
    tasks.files += 1
    said = plain_yaml(text)
    if said is None:
        tasks.unread = True
        return
    variables = said.get("vars")
    for name, value in variables.items() if isinstance(variables, dict) else ():
        if isinstance(value, str):
            tasks.variables.setdefault(str(name), value if "{{" not in value else _UNKNOWN)
    tasks.always += [*_said(said.get("vars")), *_said(said.get("env"))]
    listed = said.get("tasks")
    for name, value in listed.items() if isinstance(listed, dict) else ():
        made = _Task(lines=_said({"cmds": value} if not isinstance(value, dict) else value))
        made.needs = [_scoped(prefix, each) for each in _needed(value)]
        local = value.get("vars") if isinstance(value, dict) else None
        made.default = {
            str(key): each if isinstance(each, str) and "{{" not in each else _UNKNOWN
            for key, each in (local.items() if isinstance(local, dict) else ())
        }
        aliases = value.get("aliases") if isinstance(value, dict) else None
        for key in [name, *(aliases if isinstance(aliases, list) else [])]:
            tasks.named.setdefault(f"{prefix}{key}", []).append(made)
    included = said.get("includes")
    for name, value in included.items() if isinstance(included, dict) else ():
        where = value.get("taskfile") if isinstance(value, dict) else value
        flat = isinstance(value, dict) and str(value.get("flatten")).lower() == "true"
        if isinstance(where, str) and tasks.files < _MAX_FILES:
            for each in (where, *(posixpath.join(where, name_) for name_ in _TASK)):
                inner, there = _text(posixpath.dirname(path), each, place)
                if inner is not None and there is not None:
                    _read_task(inner, there, tasks, place, prefix if flat else f"{prefix}{name}:")
                    break


def _scoped(prefix: str, name: str) -> str:
    return name[1:] if name.startswith(":") else f"{prefix}{name}"


def _said(value: object, *, within: bool = False, deep: int = 0) -> list[str]:
    """Every text that is run: what stands under a key that says so."""
    if isinstance(value, str):
        return [value] if within else []
    if deep > _MAX_UP:
        return []
    if isinstance(value, list):
        return [text for each in value for text in _said(each, within=within, deep=deep + 1)]
    if isinstance(value, dict):
        return [
            text for key, each in value.items() for text in _said(each, within=key in _COMMANDS, deep=deep + 1)
        ]  # fmt: skip
    return []


def _needed(value: object, *, within: bool = False, deep: int = 0) -> list[str]:
    """Every task that is run besides: what stands under `deps` and `task`."""
    if isinstance(value, str):
        return [value] if within else []
    if deep > _MAX_UP:
        return []
    if isinstance(value, list):
        return [text for each in value for text in _needed(each, within=within, deep=deep + 1)]
    if isinstance(value, dict):
        return [
            text for key, each in value.items() for text in _needed(each, within=key in ("deps", "task"), deep=deep + 1)
        ]  # fmt: skip
    return []


# --- composer ---


def _read_composer(text: str, tasks: _Tasks) -> None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = said.get("scripts") if isinstance(said, dict) else None
    for name, value in scripts.items() if isinstance(scripts, dict) else ():
        made = _Task()
        for line in value if isinstance(value, list) else [value]:
            if not isinstance(line, str):
                continue
            first, _, rest = line.partition(" ")
            if first in ("@php", "@composer"):
                made.lines.append(f"{first[1:]} {rest}")
            elif first.startswith("@"):
                made.needs.append(first[1:])
            elif rest or "::" not in first:
                made.lines.append(line)
        tasks.named[str(name)] = [made]


TASKED: Mapping[str, Callable[[Invocation, Sequence[Value]], None]] = MappingProxyType(
    {"just": _just, "task": _task, "composer": _composer_scripts}
)
