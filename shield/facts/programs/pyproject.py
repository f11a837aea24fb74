"""Tasks that a pyproject.toml names, for poe, pdm, hatch and rye: what they run.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`). Sources:
poethepoet "Tasks", PDM "User scripts", Hatch "Environments" (scripts), Rye "Scripts".
"""

import posixpath
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.interpreted import arguments
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import script_text
from shield.types import Access, RunsCode

__all__ = ["PYPROJECT"]

_MAX_LINES = 200
_MAX_TEXT = 32_768
_MAX_ABOVE = 24
# What stands for a task in a table, and what of it is lines for a shell, or names of further tasks.
_LINES = ("cmd", "shell")
_FURTHER = ("ref", "sequence", "composite", "chain", "deps", "uses")

_Named = Mapping[str, object]


def _poe(call: Invocation) -> bool:
    """poe TASK"""
    operands = _after_options(call)
    if operands and operands[0].fixed:
        _follow(call, operands)
    return call.specials["project"](call)


def _run(call: Invocation) -> bool:
    """pdm run TASK and kin: a task, else a program of the environment."""
    if call.operands and call.operands[0].fixed and _follow(call, list(call.operands)):
        call.reading.run(RunsCode.WORKSPACE)
        arguments(call, call.operands[1:])
        return True
    return call.specials["environment"](call)


def _after_options(call: Invocation) -> list[Value]:
    words = list(call.words)
    while words and words[0].fixed and words[0].text.startswith("-"):
        words.pop(0)
    return words


def _follow(call: Invocation, operands: list[Value]) -> bool:
    """Whether every directory that it may be started in has the task; what it runs is added."""
    found = [_task(call, operands, base) for base in call.context.bases]
    return bool(found) and all(found)


def _task(call: Invocation, operands: list[Value], base: str | None) -> bool:
    tool = call.name.partition(" ")[0]
    path, said = _nearest(base, call)
    name = operands[0].text
    named = _named(said, tool, name)
    name = name.rpartition(":")[2] if tool == "hatch" else name
    if path is None or name not in named:
        return False
    lines = _lines(named, name, tool, [])
    told = shlex.join([word.text if word.fixed else "$unknown" for word in operands[1:]])
    text = "\n".join(f"( {line}\n)" for line in _given(lines, told))[:_MAX_TEXT]
    call.reading.path(Value(text=path, head=path, source=posixpath.basename(path)), Access.EXECUTE)
    if text:
        folder = posixpath.dirname(path)
        moved = Value(text=folder, head=folder)
        script = (Value(text=text, head=text),)
        nested = Nested(kind=NestedKind.SCRIPT, words=script, via=(tool, path), moved=moved, file=path)
        call.reading.nested.append(nested)
    return True


def _nearest(base: str | None, call: Invocation) -> tuple[str | None, _Named]:
    """The pyproject.toml here or above, and what it says."""
    for _ in range(_MAX_ABOVE):
        if base is None:
            break
        found = resolve_path("./pyproject.toml", call.context.place, base=base, expand_tilde=False)
        if found.path is not None and found.stat is not None and found.stat.kind is FileKind.FILE:
            text = script_text(found.path, call.context.place)
            try:
                return found.path, tomllib.loads(text or "")
            except (tomllib.TOMLDecodeError, RecursionError):
                return found.path, {}
        if base == "/":
            break
        base = posixpath.dirname(base)
    return None, {}


def _named(said: _Named, tool: str, name: str) -> _Named:
    """The tasks of a tool; of hatch those of the environment that `name` says, behind those of `default`."""
    if tool != "hatch":
        return _table(said, "tool", tool, "tasks" if tool == "poe" else "scripts")
    environment = name.rpartition(":")[0] or "default"
    own = _table(said, "tool", "hatch", "envs", environment, "scripts")
    return {**_table(said, "tool", "hatch", "envs", "default", "scripts"), **own}


def _table(said: _Named, *keys: str) -> _Named:
    here: object = said
    for key in keys:
        here = here.get(key) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else {}


def _lines(named: _Named, task: object, tool: str, seen: list[object]) -> list[str]:
    """The lines of a task, and of those that it names. A word alone that names another task stands for that one."""
    if isinstance(task, str):
        first, _, rest = task.strip().partition(" ")
        if first in named and first not in seen and len(seen) < _MAX_LINES:
            return _given(_lines(named, named[first], tool, [*seen, first]), rest)
        return [task]
    found: list[str] = []
    if isinstance(task, list):
        plain = tool in ("pdm", "rye") and all(isinstance(each, str) for each in task)
        if plain and not any(each in named for each in task):
            return [shlex.join(str(each) for each in task)]
        for each in task[:_MAX_LINES]:
            found += _lines(named, each, tool, seen)
    elif isinstance(task, dict):
        for key in _FURTHER:
            found += _lines(named, task[key], tool, seen) if isinstance(task.get(key), str | list) else []
        for key in _LINES:
            line = task.get(key)
            found += [line] if isinstance(line, str) else []
            found += [shlex.join(map(str, line))] if isinstance(line, list) else []
    return found[:_MAX_LINES]


def _given(lines: Sequence[str], told: str) -> list[str]:
    """The lines with the words that the task is given, where they stand for them or behind the last."""
    filled = [_filled(line, told) for line in lines]
    if told and filled and filled == list(lines):
        filled[-1] = f"{filled[-1]} {told}"
    return filled


def _filled(line: str, told: str) -> str:
    """Hatch's `{args}` and `{args:otherwise}`, pdm's likewise."""
    before, mark, after = line.partition("{args")
    if not mark or after[:1] not in (":", "}"):
        return line
    otherwise, _, rest = after[1:].partition("}") if after[0] == ":" else ("", "", after[1:])
    return f"{before}{told or otherwise}{rest}"


PYPROJECT: Mapping[str, Special] = MappingProxyType({"poe": _poe, "named_run": _run})
