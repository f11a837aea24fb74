"""What `task NAME…` runs: the tasks, all that they call, and commands that say what variables hold."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from shield.facts.programs.exposed import ends
from shield.facts.programs.task_files import MAX_DEEP, UNKNOWN, Step
from shield.facts.programs.taskfiles.reader import Task, Taskfile
from shield.facts.programs.taskfiles.values import ELSEWHERE, filled, listed, valued
from shield.regex import regex

__all__ = ["steps_of"]

_MAX_TASKS = 300
_MAX_ITEMS = 100
_OWN_PROGRAM = regex(r"\s*\"?\$(?!unknown)")
_COMMAND = frozenset(
    ("cmd", "defer", "for", "if", "ignore_error", "platforms", "set", "shopt", "silent", "task", "vars")
)


def steps_of(
    names: Sequence[str], made: Taskfile, given: Mapping[str, str], env: Mapping[str, str], base: str | None
) -> list[Step]:
    """What is run; `made.unread` is set where that is not all."""
    return _Run(made, given, env, base).steps(names)


class _Run:
    def __init__(self, made: Taskfile, given: Mapping[str, str], env: Mapping[str, str], base: str | None) -> None:
        self._made = made
        self._given = given
        self._env = env
        self._top = posixpath.dirname(made.files[0]) if made.files else base
        self._base = base
        self._steps: list[Step] = []
        self._deep = 0
        self._seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()

    def steps(self, names: Sequence[str]) -> list[Step]:
        made = self._made
        always = [*_run_for(made.variables.values()), *_run_for(made.env.values())]
        self._add([filled(line, self._global()) for line in always], self._top, {})
        for name in names:
            self._task(name, {}, "")
        return self._steps

    def _global(self) -> dict[str, object]:
        told = {
            "ROOT_DIR": self._top or UNKNOWN, "USER_WORKING_DIR": self._base or UNKNOWN, "TASK_EXE": "task",
            "ROOT_TASKFILE": self._made.files[0] if self._made.files else "",
        }  # fmt: skip
        return {**self._env, **self._made.variables, **told, **self._given}

    def _task(self, name: str, passed: Mapping[str, object], prefix: str) -> None:
        made = self._made
        whole = name[1:] if name.startswith(":") else f"{prefix}{name}"
        key = (whole, tuple(sorted((each, str(value)) for each, value in passed.items())))
        if key in self._seen:
            return
        if len(self._seen) >= _MAX_TASKS or self._deep >= MAX_DEEP:
            made.unread = True
            return
        self._seen.add(key)
        self._deep += 1
        tasks = made.tasks.get(whole)
        if tasks is None:
            # `start:*` is called by any name that fits
            patterns = [each for each in made.tasks if "*" in each and fnmatchcase(whole, each)]
            tasks = [task for each in patterns for task in made.tasks[each]]
            made.unread |= not tasks
        for task in tasks:
            self._one(whole, task, passed)
        self._deep -= 1

    def _one(self, name: str, task: Task, passed: Mapping[str, object]) -> None:
        said = task.said
        own = _mapping(said.get("vars"))
        scope = self._global() | dict(task.given) | dict(passed)
        scope |= {"TASK": name, "TASKFILE_DIR": posixpath.dirname(task.file), "TASKFILE": task.file, "MATCH": {}}
        ways = [scope | own]
        if any(each in self._given and self._given[each] != value for each, value in own.items()):
            ways.append(scope | own | dict(self._given))
        for values in ways:
            self._run(said, values, task)

    def _run(self, said: Mapping[str, object], values: dict[str, object], task: Task) -> None:
        made = self._made
        inner = said.get("dir")
        folder = posixpath.join(task.folder, filled(inner, values)) if isinstance(inner, str) else task.folder
        if UNKNOWN in folder:
            made.unread = True
        env = {**made.env, **_mapping(said.get("env"))}
        exported = {name: valued(value, values) for name, value in env.items()}
        dotenv = made.dotenv or bool(said.get("dotenv"))
        if dotenv:
            values = {ELSEWHERE: True, **values}
        lines = [filled(line, values) for line in _run_for((*_mapping(said.get("vars")).values(), *env.values()))]
        for key in ("status", "preconditions", "if"):
            lines += [filled(line, values) for line in _conditions(said.get(key))]
        for need in _items(said.get("deps")):
            self._call(need, values, task.prefix, said)
        commands = [*_items(said.get("cmds")), *_items(said.get("cmd"))]
        for command in commands:
            lines += self._call(command, values, task.prefix, said, runs=True)
        # what a variable of a file says is run is not seen
        made.unread |= dotenv and any(_OWN_PROGRAM.match(line) for line in lines)
        self._add(lines, folder, exported)

    def _call(
        self, item: object, values: Mapping[str, object], prefix: str, said: Mapping[str, object], *, runs: bool = False
    ) -> list[str]:
        """The commands of one entry; a task that it calls is followed."""
        if isinstance(item, str):
            if runs:
                return [filled(item, values)]
            self._task(filled(item, values), {}, prefix)
            return []
        if not isinstance(item, dict):
            self._made.unread |= item is not None
            return []
        self._made.unread |= not _COMMAND.issuperset(map(str, item))
        lines: list[str] = []
        for each in self._loop(item.get("for"), values):
            inner = {**values, **each}
            for command in (item.get("cmd"), item.get("defer")):
                if isinstance(command, dict):
                    lines += self._call(command, inner, prefix, said, runs=True)
                elif command is not None:
                    lines.append(filled(str(command), inner))
            lines += [filled(line, inner) for line in _conditions(item.get("if"))]
            if isinstance(item.get("task"), str):
                passed = {name: valued(value, inner) for name, value in _mapping(item.get("vars")).items()}
                lines += [filled(line, inner) for line in _run_for(_mapping(item.get("vars")).values())]
                self._task(filled(str(item["task"]), inner), passed, prefix)
        return lines

    def _loop(self, over: object, values: Mapping[str, object]) -> Iterator[dict[str, object]]:
        if over is None:
            yield {}
            return
        name = "ITEM"
        if isinstance(over, list):
            items = listed(over, values)
        elif isinstance(over, dict) and isinstance(over.get("var"), str):
            name = str(over.get("as", "ITEM"))
            split = over.get("split")
            items = listed(values.get(over["var"], UNKNOWN), values, split=split if isinstance(split, str) else None)
        else:
            items = [UNKNOWN]
        self._made.unread |= len(items) > _MAX_ITEMS
        for item in items[:_MAX_ITEMS]:
            yield {name: item}

    def _add(self, lines: Sequence[str], folder: str | None, exported: Mapping[str, str]) -> None:
        text = "\n".join(f"( {line}\n)" for line in lines if line.strip())
        self._made.unread |= not all(map(ends, lines))
        if text:
            self._steps.append(Step(text=text, folder=folder, env=tuple(exported.items())))


def _mapping(value: object) -> dict[str, object]:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _run_for(values: object) -> list[str]:
    """The commands that variables get their values from."""
    found = [each.get("sh") for each in values if isinstance(each, dict)] if hasattr(values, "__iter__") else []
    return [each for each in found if isinstance(each, str)]


def _conditions(value: object) -> list[str]:
    texts = [each.get("sh") if isinstance(each, dict) else each for each in _items(value)]
    return [each for each in texts if isinstance(each, str)]
