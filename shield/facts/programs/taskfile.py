"""What a Taskfile says of its tasks (Task, "Schema Reference")."""

import posixpath

from shield.facts.place import Place
from shield.facts.programs.plain_yaml import plain_yaml
from shield.facts.programs.task_files import MAX_DEEP, MAX_FILES, UNKNOWN, Task, Tasks, text_of

__all__ = ["TASKFILES", "read_task"]

TASKFILES = (
    "Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
    "Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
)  # fmt: skip
_COMMANDS = frozenset(("cmd", "cmds", "defer", "preconditions", "sh", "status"))


def read_task(text: str, path: str, tasks: Tasks, place: Place, prefix: str) -> None:
    tasks.files += 1
    said = plain_yaml(text)
    if said is None:
        tasks.unread = True
        return
    variables = said.get("vars")
    for name, value in variables.items() if isinstance(variables, dict) else ():
        if isinstance(value, str):
            tasks.variables.setdefault(str(name), value if "{{" not in value else UNKNOWN)
    tasks.always += [*_said(said.get("vars")), *_said(said.get("env"))]
    listed = said.get("tasks")
    for name, value in listed.items() if isinstance(listed, dict) else ():
        made = Task(lines=_said({"cmds": value} if not isinstance(value, dict) else value))
        made.needs = [_scoped(prefix, each) for each in _needed(value)]
        local = value.get("vars") if isinstance(value, dict) else None
        made.default = {
            str(key): each if isinstance(each, str) and "{{" not in each else UNKNOWN
            for key, each in (local.items() if isinstance(local, dict) else ())
        }
        aliases = value.get("aliases") if isinstance(value, dict) else None
        for key in [name, *(aliases if isinstance(aliases, list) else [])]:
            tasks.named.setdefault(f"{prefix}{key}", []).append(made)
    included = said.get("includes")
    for name, value in included.items() if isinstance(included, dict) else ():
        where = value.get("taskfile") if isinstance(value, dict) else value
        flat = isinstance(value, dict) and str(value.get("flatten")).lower() == "true"
        if isinstance(where, str) and tasks.files < MAX_FILES:
            for each in (where, *(posixpath.join(where, name_) for name_ in TASKFILES)):
                inner, there = text_of(posixpath.dirname(path), each, place)
                if inner is not None and there is not None:
                    read_task(inner, there, tasks, place, prefix if flat else f"{prefix}{name}:")
                    break


def _scoped(prefix: str, name: str) -> str:
    return name[1:] if name.startswith(":") else f"{prefix}{name}"


def _said(value: object, *, within: bool = False, deep: int = 0) -> list[str]:
    """Every text that is run: what stands under a key that says so."""
    if isinstance(value, str):
        return [value] if within else []
    if deep > MAX_DEEP:
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
    if deep > MAX_DEEP:
        return []
    if isinstance(value, list):
        return [text for each in value for text in _needed(each, within=within, deep=deep + 1)]
    if isinstance(value, dict):
        return [
            text for key, each in value.items() for text in _needed(each, within=key in ("deps", "task"), deep=deep + 1)
        ]  # fmt: skip
    return []
