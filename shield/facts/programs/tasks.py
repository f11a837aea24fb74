"""Runners of named tasks: what the tasks of a justfile, a Taskfile and a composer.json run.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`). What of a file is
not understood is said of whoever runs it.
"""

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from shield.facts.place import Place
from shield.facts.programs.coded import invoke_tasks, nox_sessions, rake_tasks
from shield.facts.programs.composer import composer_commands, composer_steps
from shield.facts.programs.configured import cmake_files
from shield.facts.programs.declared import pre_commit_hooks, tox_environments
from shield.facts.programs.directed import go_directives, mix_aliases
from shield.facts.programs.gradle import gradle_tasks
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.justfiles.called import groups
from shield.facts.programs.justfiles.called import steps_of as just_steps
from shield.facts.programs.justfiles.reader import JUSTFILES, Justfile, read_justfile
from shield.facts.programs.mention import bases_of
from shield.facts.programs.ninja import ninja_rules
from shield.facts.programs.reading import Value
from shield.facts.programs.task_files import UNKNOWN, found_above, show_steps
from shield.facts.programs.task_words import TaskWords
from shield.facts.programs.taskfiles.called import steps_of as task_steps
from shield.facts.programs.taskfiles.reader import TASKFILES, Taskfile, read_taskfile
from shield.regex import regex
from shield.types import Access

__all__ = ["TASKED", "composer_commands"]

# Options that take the next word.
_JUST_VALUED = frozenset(
    ("-f", "--justfile", "-d", "--working-directory", "-s", "--show", "--color", "--dump-format", "--dotenv-filename",
     "--dotenv-path", "-E", "-D", "--list-heading", "--list-prefix", "--alias-style", "--timestamp-format", "--shell",
     "--shell-arg", "--chooser", "--command-color", "--tempdir", "--usage", "--group", "--completions", "--cygpath")
)  # fmt: skip
_TASK_VALUED = frozenset(
    ("-t", "--taskfile", "-d", "--dir", "-o", "--output", "-C", "--concurrency", "-I", "--interval", "--sort",
     "--output-group-begin", "--output-group-end", "--timeout", "--remote-cache-dir", "--cacert",
     "--cert", "--cert-key")
)  # fmt: skip
_TELLING = frozenset(
    ("-l", "--list", "--summary", "--dump", "--fmt", "-s", "--show", "--variables", "-V", "--version", "-h", "--help",
     "--groups", "--init", "--usage", "--man", "--changelog", "--completions", "--evaluate")
)  # fmt: skip
_JUST_IDLE = regex(
    r"JUST_(?:COLOR|COMMAND_COLOR|DRY_RUN|EXPLAIN|HIGHLIGHT|LIST_\w+|NO_\w+|QUIET|TIMESTAMP\w*|UNSORTED|UNSTABLE|VERBOSE"
    r"|YES|JUSTFILE)"
)


def _just(call: Invocation, _: Sequence[Value]) -> None:
    """just: the recipes of the justfile that is nearest."""
    words = TaskWords(call, _JUST_VALUED, late=False)
    told = {**call.context.place.env, **call.context.told}
    given = dict(value.split("=", 1) for name, value in words.options if name == "--set" and "=" in value)
    rest = [*words.rest, *(["--", *words.behind] if words.behind else [])]
    while rest and re.match(r"[A-Za-z_][\w-]*=", rest[0]):
        given |= dict([rest.pop(0).split("=", 1)])
    if words.has(frozenset(("-g", "--global-justfile", "--choose"))) or any(
        name.startswith("JUST_") and _JUST_IDLE.fullmatch(name) is None for name in told
    ):
        _unread(call, "just")
    file = words.value("-f", "--justfile") or told.get("JUST_JUSTFILE")
    # `just sub/x`: the recipe of the justfile there
    inner, slash, name = rest[0].rpartition("/") if rest else ("", "", "")
    rest = [name, *rest[1:]] if slash and name else rest[1:] if slash else rest
    if slash and (file or any("/" in word for word in rest[1:2])):
        _unread(call, "just")
    where = words.value("-d", "--working-directory")
    for base in bases_of(call):
        start = _within(base, inner or "/", call.context.place) if slash else base
        text, path = found_above(start, [file] if file else JUSTFILES, call.context.place, upward=not file)
        if path is None:
            if file or slash:
                _unread(call, file or inner)
            continue
        _runs(call, path)
        made = Justfile()
        folder = _within(base, where, call.context.place) if where is not None else ""
        if folder is None:
            made.unread = True
        if text is not None:
            read_justfile(text, path, made, call.context.place, folder=folder or "")
            asked = [] if words.has(_TELLING) and not rest else groups(rest, made)
            show_steps(call, just_steps(asked, made, given, told, call.context.place, base), path)
        if text is None or made.unread:
            _unread(call, path)


def _task(call: Invocation, _: Sequence[Value]) -> None:
    """task: the tasks of the Taskfile that is nearest."""
    words = TaskWords(call, _TASK_VALUED, late=True)
    told = {**call.context.place.env, **call.context.told}
    given = dict(word.split("=", 1) for word in words.rest if "=" in word)
    behind = [UNKNOWN if UNKNOWN in word else shlex.quote(word) for word in words.behind]
    given |= {"CLI_ARGS": " ".join(behind)}
    names = [word for word in words.rest if "=" not in word]
    if words.has(frozenset(("-g", "--global"))) or any(name.startswith("TASK_X_") for name in told):
        _unread(call, "task")
    file, where = words.value("-t", "--taskfile"), words.value("-d", "--dir")
    for base in bases_of(call):
        start = _within(base, where, call.context.place) if where is not None else base
        named = [file, *(posixpath.join(file, name) for name in TASKFILES)] if file else TASKFILES
        text, path = found_above(base if file else start, named, call.context.place, upward=not file)
        if path is None:
            if file or start is None:
                _unread(call, file or "Taskfile.yml")
            continue
        _runs(call, path)
        made = Taskfile()
        if text is not None:
            folder = start if where is not None and start is not None else posixpath.dirname(path)
            read_taskfile(text, path, made, call.context.place, folder=folder)
            default = [] if words.has(_TELLING) or "default" not in made.tasks else ["default"]
            show_steps(call, task_steps(names or default, made, given, told, base), path)
        if text is None or made.unread:
            _unread(call, path)


def _composer(call: Invocation, operands: Sequence[Value]) -> None:
    """composer run NAME, composer test: what stands before, in and after that script of composer.json."""
    for path, steps, unread in composer_steps(call, operands):
        _runs(call, path)
        show_steps(call, steps, path)
        if unread:
            _unread(call, path)


def _runs(call: Invocation, path: str) -> None:
    call.reading.path(Value(text=path, head=path, source=posixpath.basename(path)), Access.EXECUTE)


def _unread(call: Invocation, path: str) -> None:
    call.reading.unread.append(f"what `{posixpath.basename(path)[:80]}` runs is not known")


def _within(base: str | None, name: str, place: Place) -> str | None:
    if UNKNOWN in name or (base is None and not name.startswith("/")):
        return None
    found = place.home + name[1:] if name == "~" or name.startswith("~/") else name
    return posixpath.normpath(posixpath.join(base or "/", found))


TASKED: Mapping[str, Callable[[Invocation, Sequence[Value]], None]] = MappingProxyType(
    {
        "just": _just,
        "task": _task,
        "composer": _composer,
        "tox": tox_environments,
        "pre-commit": pre_commit_hooks,
        "nox": nox_sessions,
        "go": go_directives,
        "mix": mix_aliases,
        "ninja": ninja_rules,
        "samu": ninja_rules,
        "cmake": cmake_files,
        "inv": invoke_tasks,
        "invoke": invoke_tasks,
        "rake": rake_tasks,
        "gradle": gradle_tasks,
        "gradlew": gradle_tasks,
    }
)
