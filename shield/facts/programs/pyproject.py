"""Tasks that a pyproject.toml names, for poe, pdm, hatch and rye: what they run.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`). Sources:
poethepoet "Tasks", PDM "User scripts", Hatch "Environments" (scripts), Rye "Scripts".
"""

import posixpath
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.interpreted import arguments
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import script_text
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["PYPROJECT"]

_MAX_LINES = 200
_MAX_TEXT = 32_768
_MAX_ABOVE = 24
# What stands for a task in a table, and what of it is lines for a shell, or names of further tasks.
_LINES = ("cmd", "shell")
_FURTHER = ("ref", "sequence", "parallel", "control", "switch", "composite", "chain", "deps", "uses")

_FIELD = regex(r"\{(?!args[:}])[a-z_]+(?:[:!][^{}]*)?\}")

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
    # Which environment of hatch it is, options, variables and templates say as well: all of them count.
    runs = [_Run({**named, **each}, tool) for each in _environments(said)] if tool == "hatch" else []
    runs = runs or [_Run(named, tool)]
    told = shlex.join([word.text if word.fixed else "$unknown" for word in operands[1:]])
    lines = []
    for run in runs:
        lines += _given([line for each in _around(run, name) for line in _lines(run, each, [])], told)
    lines = list(dict.fromkeys(_formatted(line) for line in lines)) if tool == "hatch" else lines
    lines += _installing(said, operands[0].text) if tool == "hatch" else []
    text = "\n".join(f"( {line}\n)" for line in lines)
    if any(run.unread for run in runs) or len(runs) > _MAX_LINES or len(text) > _MAX_TEXT:
        call.reading.unread.append(f"what `{name[:80]}` runs is not known")
        text = text[:_MAX_TEXT]
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


@dataclass(slots=True)
class _Run:
    """One reading of the tasks that are `named`: how many more steps of it are followed, and whether some were not."""

    named: _Named
    tool: str
    left: int = _MAX_LINES
    unread: bool = False


def _around(run: _Run, name: str) -> list[str]:
    """A task, and what pdm runs before and behind it; what words it is given stands behind the last."""
    if run.tool != "pdm":
        return [name]
    others = (f"pre_{name}", f"post_{name}", "pre_script", "post_script", "pre_run", "post_run")
    return [*(each for each in others if each in run.named and each != name), name]


def _environments(said: _Named) -> list[_Named]:
    """The tasks of every environment of hatch."""
    found = _table(said, "tool", "hatch", "envs")
    return [_table(found, name, "scripts") for name in list(found)[: _MAX_LINES + 1]]


def _formatted(line: str) -> str:
    """What hatch puts in for its other fields is not known: `{env:NAME:otherwise}`, `{root}`."""
    return _FIELD.sub("$unknown", line)


def _installing(said: _Named, name: str) -> list[str]:
    """What hatch runs where it makes the environment first."""
    environment = name.rpartition(":")[0] or "default"
    own = _table(said, "tool", "hatch", "envs", environment)
    found = [own.get(key) for key in ("pre-install-commands", "post-install-commands")]
    return [str(each) for lines in found if isinstance(lines, list) for each in lines]


def _lines(run: _Run, task: object, seen: list[object]) -> list[str]:
    """The lines of a task, and of those that it names. A word alone that names another task stands for that one."""
    named = run.named
    if run.left <= 0:
        run.unread = True
        return []
    run.left -= 1
    if isinstance(task, str):
        first, _, rest = task.strip().partition(" ")
        if first in named and first not in seen:
            inner = [*seen, first]
            beside = [line for each in _around(run, first)[:-1] if seen for line in _lines(run, each, inner)]
            return [*beside, *_given(_lines(run, named[first], inner), rest)]
        return [task]
    found: list[str] = []
    if isinstance(task, list):
        plain = run.tool in ("pdm", "rye") and all(isinstance(each, str) for each in task)
        if plain and not any(each in named for each in task):
            return [shlex.join(str(each) for each in task)]
        for each in task:
            found += _lines(run, each, seen)
            if run.unread:
                break
    elif isinstance(task, dict):
        for key in _FURTHER:
            found += _lines(run, task[key], seen) if isinstance(task.get(key), str | list | dict) else []
        for key in _LINES:
            line = task.get(key)
            found += [line] if isinstance(line, str) else []
            found += [shlex.join(map(str, line))] if isinstance(line, list) else []
    return found


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
