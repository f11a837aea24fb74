"""cargo make: what the tasks of a Makefile.toml run, read as scripts are. Source: cargo-make, "Usage"."""

import posixpath
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.task_files import UNKNOWN, Step, found_above, show_steps
from shield.regex import regex
from shield.types import Access

__all__ = ["cargo_make"]

_MAX_TASKS = 200
_BEFORE = ("install_script", "pre_setup_script")
_VALUED = frozenset(
    ("--makefile", "--task", "--cwd", "--profile", "-p", "-e", "-l", "--loglevel", "--env", "--env-file")
)
_ARGUMENTS = regex(r"\$\{@\}")


def cargo_make(call: Invocation) -> None:
    """cargo make TASK…: the task and what it depends on."""
    texts = [word.text if word.fixed else UNKNOWN for word in call.words[1:]]
    own: list[str] = []
    named: dict[str, str] = {}
    while texts:
        name, equals, value = texts.pop(0).partition("=")
        if name in _VALUED:
            named[name] = value if equals else texts.pop(0) if texts else ""
        elif not name.startswith("-"):
            own.append(name + equals + value)
    own = [named["--task"], *own] if "--task" in named else own
    for base in bases_of(call):
        start = posixpath.normpath(posixpath.join(base or "/", named.get("--cwd", "."))) if base is not None else None
        text, path = found_above(start, [named.get("--makefile", "Makefile.toml")], call.context.place, upward=False)
        if text is None or path is None:
            continue
        try:
            said = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
        call.reading.path(Value(text=path, head=path, source=posixpath.basename(path)), Access.EXECUTE)
        tasks = said.get("tasks")
        if isinstance(tasks, dict):
            env = tuple([(key, each) for key, each in _dict(said.get("env")).items() if isinstance(each, str)])
            show_steps(call, _steps(tasks, own, posixpath.dirname(path), env), path)


def _steps(
    tasks: Mapping[str, object], own: Sequence[str], folder: str, env: tuple[tuple[str, str], ...]
) -> Iterator[Step]:
    waiting = [own[0] if own else "default"]
    seen: set[str] = set()
    told = shlex.join(own[1:])
    while waiting and len(seen) < _MAX_TASKS:
        name = waiting.pop(0)
        task = _dict(tasks.get(name))
        if name in seen or not task:
            continue
        seen.add(name)
        # on one system it may be another
        for each in (task, *(_dict(task.get(system)) for system in ("linux", "mac"))):
            waiting += _names(each)
            where = each.get("cwd")
            at = posixpath.join(folder, where) if isinstance(where, str) and "$" not in where else folder
            more = tuple([(key, text) for key, text in _dict(each.get("env")).items() if isinstance(text, str)])
            yield from (
                Step(text=line, folder=at, program=program, env=env + more) for line, program in _lines(each, told)
            )


def _names(task: Mapping[str, object]) -> Iterator[str]:
    for key in ("extend", "alias", "dependencies", "run_task"):
        found = task.get(key)
        for each in found if isinstance(found, list) else [found]:
            name = each.get("name") if isinstance(each, dict) else each
            yield from (one for one in (name if isinstance(name, list) else [name]) if isinstance(one, str))


def _lines(task: Mapping[str, object], told: str) -> Iterator[tuple[str, str]]:
    """Texts, and what runs each of them."""
    command, words = task.get("command"), task.get("args")
    if isinstance(command, str):
        texts = [each for each in words if isinstance(each, str)] if isinstance(words, list) else []
        line = " ".join([command, *(f'"{each}"' if "$" in each else shlex.quote(each) for each in texts)])
        yield _ARGUMENTS.sub(lambda _: told, line.replace('"${@}"', "${@}")), ""
    for key in ("script", *_BEFORE):
        script = task.get(key)
        script = script.get("content") if isinstance(script, dict) else script
        text = "\n".join(map(str, script)) if isinstance(script, list) else script
        runner = task.get("script_runner")
        if isinstance(text, str):
            yield _ARGUMENTS.sub(lambda _: told, text), _program(runner, text)


def _program(runner: object, text: str) -> str:
    """A text that begins with `#!` says itself what runs it."""
    first = text.lstrip().partition("\n")[0]
    if first.startswith("#!"):
        return first[2:].strip()
    return runner if isinstance(runner, str) and not runner.startswith("@") else ""


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
