"""What a Taskfile says of its tasks, and those that it includes."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.facts.place import Place
from shield.facts.programs.plain_yaml import plain_yaml
from shield.facts.programs.task_files import MAX_FILES, UNKNOWN, text_of
from shield.facts.programs.taskfiles.values import filled

__all__ = ["TASKFILES", "Task", "Taskfile", "read_taskfile"]

TASKFILES = (
    "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
    "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
)  # fmt: skip
_TOP = frozenset(
    ("version", "output", "method", "includes", "vars", "env", "tasks", "silent", "dotenv", "run", "interval", "set",
     "shopt", "failfast")
)  # fmt: skip
_TASK = frozenset(
    ("aliases", "cmd", "cmds", "deps", "desc", "dir", "dotenv", "env", "failfast", "for", "generates", "if",
     "ignore_error", "interactive", "internal", "label", "method", "platforms", "preconditions", "prefix", "prompt",
     "requires", "run", "set", "shopt", "short", "silent", "sources", "status", "summary", "vars", "watch")
)  # fmt: skip
_NONE: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """`said`: as it stands; `prefix`: of the names that it uses; `folder`: where it runs unless it says otherwise;
    `file`: which it stands in; `given`: variables of whoever includes that."""

    said: Mapping[str, object]
    prefix: str
    folder: str
    file: str
    given: Mapping[str, object] = field(default_factory=lambda: _NONE)


@dataclass(slots=True)
class Taskfile:
    """A Taskfile with those that it includes. `dotenv`: a file says more of the environment; `unread`: there is more
    than was understood."""

    tasks: dict[str, list[Task]] = field(default_factory=dict)
    variables: dict[str, object] = field(default_factory=dict)
    env: dict[str, object] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    dotenv: bool = False
    unread: bool = False


def read_taskfile(
    text: str,
    path: str,
    made: Taskfile,
    place: Place,
    prefix: str = "",
    folder: str = "",
    given: Mapping[str, object] = _NONE,
) -> None:
    """Add what the file says. Never raises."""
    made.files.append(path)
    folder = folder or posixpath.dirname(path)
    said = plain_yaml(text)
    if said is None:
        made.unread = True
        return
    made.unread |= not _TOP.issuperset(key for key in said if not key.startswith(("x-", ".")))
    made.dotenv |= bool(said.get("dotenv"))
    for name, held in (("vars", made.variables), ("env", made.env)):
        for key, value in _mapping(said.get(name)).items():
            if held.setdefault(key, value) != value:
                held[f"{key} {path}"] = value
                held[f"{key} "] = held[key]
                held[key] = None  # which of them it is depends on who asks
    for name, value in _mapping(said.get("tasks")).items():
        body = value if isinstance(value, dict) else {"cmds": value if isinstance(value, list) else [value]}
        body = {str(key): each for key, each in body.items()}
        made.unread |= not _TASK.issuperset(body)
        task = Task(said=body, prefix=prefix, folder=folder, file=path, given=given)
        aliases = body.get("aliases")
        for key in (name, *(aliases if isinstance(aliases, list) else ())):
            made.tasks.setdefault(f"{prefix}{key}", []).append(task)
    for name, value in _mapping(said.get("includes")).items():
        _include(name, value, path, made, place, prefix, folder)


def _include(name: str, value: object, path: str, made: Taskfile, place: Place, prefix: str, folder: str) -> None:
    said = value if isinstance(value, dict) else {"taskfile": value}
    where = said.get("taskfile")
    where = filled(where, {**made.variables, "OS": "linux"}) if isinstance(where, str) else UNKNOWN
    if UNKNOWN in where or "://" in where or where.startswith("git@"):
        made.unread = True
        return
    flat = str(said.get("flatten")).lower() == "true"
    own = posixpath.dirname(path)
    inner = said.get("dir")
    inside = posixpath.join(own, filled(inner, made.variables)) if isinstance(inner, str) else folder
    made.unread |= UNKNOWN in inside
    for each in (where, *(posixpath.join(where, file) for file in TASKFILES)):
        text, there = text_of(own, each, place)
        if there is None:
            continue
        if text is None or len(made.files) >= MAX_FILES:
            made.unread = True
        elif there not in made.files:
            others = said.get("aliases")
            names = (
                [prefix]
                if flat
                else [f"{prefix}{key}:" for key in (name, *(others if isinstance(others, list) else ()))]
            )
            for scope in names:
                made.files = [file for file in made.files if file != there]
                read_taskfile(text, there, made, place, scope, inside, _mapping(said.get("vars")))
        return


def _mapping(value: object) -> dict[str, object]:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}
