"""Runners of named tasks: what the tasks of a justfile, a Taskfile and a composer.json run.

They are read as scripts are: for what rules that forbid see by it (`shield.facts.programs.scripts`). Source of what
composer does: Composer, "Scripts".
"""

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from shield.facts.place import Place
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.justfile import JUSTFILES, read_just
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import language_of, read_code
from shield.facts.programs.task_files import MAX_DEEP, UNKNOWN, Read, Task, Tasks, text_of
from shield.facts.programs.taskfile import TASKFILES, read_task
from shield.types import Access

__all__ = ["TASKED", "composer_commands"]

_MAX_TEXT = 32_768
_MAX_TASKS = 200


def _just(call: Invocation, operands: Sequence[Value]) -> None:
    """just: the recipes of the justfile that is nearest."""
    _follow(call, operands, JUSTFILES, ("-f", "--justfile"), read_just)


def _task(call: Invocation, operands: Sequence[Value]) -> None:
    """task: the tasks of the Taskfile that is nearest."""
    texts = [word.text if word.fixed else "" for word in call.words]
    after = call.words[texts.index("--") + 1 :] if "--" in texts else ()
    own = [word for word in operands if not any(word is each for each in after)]
    given = {"CLI_ARGS": shlex.join(word.text if word.fixed else UNKNOWN for word in after)}
    _follow(call, own, TASKFILES, ("-t", "--taskfile"), read_task, given)


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


def _composers(call: Invocation) -> Iterator[tuple[str | None, str, Tasks]]:
    for base in bases_of(call):
        text, path = text_of(base, "composer.json", call.context.place)
        if text is not None and path is not None:
            tasks = Tasks()
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
    words = [word.text if word.fixed else UNKNOWN for word in operands]
    given = {name: value for name, equals, value in (word.partition("=") for word in words) if equals}
    given |= behind
    wanted = [word for word in words if "=" not in word]
    given |= _set_by_options(call)
    for base in bases_of(call):
        for name in _files_given(call, option) or names:
            text, path = _nearest(base, name, call.context.place)
            if text is None or path is None:
                continue
            tasks = Tasks()
            read(text, path, tasks, call.context.place, "")
            # words behind the name of a recipe may be what it is given, names of tasks are all that task takes
            asked = wanted[:1] if names is JUSTFILES else wanted
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
    texts = [word.text if word.fixed else UNKNOWN for word in call.words]
    return {texts[at + 1]: texts[at + 2] for at, text in enumerate(texts[:-2]) if text == "--set"}


def _nearest(base: str | None, name: str, place: Place) -> tuple[str | None, str | None]:
    """The text and the path of the file, here or above."""
    for _ in range(MAX_DEEP):
        if base is None:
            break
        text, path = text_of(base, name, place)
        if path is not None or base == "/" or "/" in name:
            return text, path
        base = posixpath.dirname(base)
    return None, None


def _add(
    call: Invocation, tasks: Tasks, wanted: Sequence[str], given: Mapping[str, str], path: str, base: str | None
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
        return values.get(inner.removeprefix("."), UNKNOWN)

    return _FILLED.sub(one, text[:_MAX_TEXT])


def _read_composer(text: str, tasks: Tasks) -> None:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = said.get("scripts") if isinstance(said, dict) else None
    for name, value in scripts.items() if isinstance(scripts, dict) else ():
        made = Task()
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
