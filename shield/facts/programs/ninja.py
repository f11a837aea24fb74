"""ninja: what the rules of a build.ninja run for the targets of a line, read as scripts are.

Source: The Ninja build system, "Ninja file reference".
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shield.facts.place import Place
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.task_files import MAX_FILES, UNKNOWN, Step, show_steps, text_of
from shield.facts.programs.task_words import TaskWords
from shield.regex import regex
from shield.types import Access

__all__ = ["built_by_cmake", "ninja_rules"]

_MAX_STEPS = 64
_MAX_EDGES = 4_000
_MAX_LONG = 8_192  # characters of one command
_NAME = regex(r"\$(?:\{([\w.-]+)\}|([\w-]+)|(.))", re.DOTALL)
_SETTING = regex(r"([\w.-]+)\s*=\s*(.*)", re.DOTALL)
# What only compiles, archives and links is no work to follow, and there may be very much of it.
_COMPILER = regex(r"(?:cc|c\+\+|g\+\+|gcc|clang(?:\+\+)?|ar|ranlib|ld|rustc|as)(?:-[\d.]+)?")
_MARKS = frozenset(";&|`$()")
_VALUED = frozenset(("-C", "-f", "-j", "-k", "-l", "-d", "-w", "-t"))
_TELLING = frozenset(("-n", "-t", "--version", "-h", "--help"))
_CMAKE_VALUED = frozenset(("--build", "-t", "--target", "--config", "--parallel", "--preset"))


@dataclass(slots=True)
class _Edge:
    rule: str
    inputs: list[str]
    outputs: list[str]
    further: list[str]
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Rules:
    commands: dict[str, str] = field(default_factory=dict)
    edges: list[_Edge] = field(default_factory=list)
    defaults: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


def ninja_rules(call: Invocation, _: Sequence[Value]) -> None:
    """ninja TARGET…: what is run for those targets, else for the default ones."""
    words = TaskWords(call, _VALUED, late=True)
    if words.has(_TELLING):
        return
    file = words.value("-f") or "build.ninja"
    for base in bases_of(call):
        text, path = text_of(base, file, call.context.place)
        if text is None or path is None:
            continue
        call.reading.path(Value(text=path, head=path, source=posixpath.basename(path)), Access.EXECUTE)
        rules = _Rules()
        _read(text, base, rules, call.context.place, [path])
        lines = list(dict.fromkeys(_lines(rules, [*words.rest, *words.behind])))[:_MAX_STEPS]
        show_steps(call, [Step(text=line, folder=base) for line in lines], path)


def built_by_cmake(call: Invocation, _: Sequence[Value]) -> None:
    """cmake --build FOLDER: what ninja or make runs there."""
    words = TaskWords(call, _CMAKE_VALUED, late=True)
    named = words.value("--build")
    if named is None or UNKNOWN in named:
        return
    targets = [*(value for name, value in words.options if name in ("-t", "--target")), *words.rest]
    targets = [each for each in targets if re.fullmatch(r"[\w./+-]+", each)]
    if words.has(frozenset(("--clean-first",))):
        targets.insert(0, "clean")
    for base in bases_of(call):
        folder = posixpath.normpath(posixpath.join(base, named)) if base is not None else None
        for file, program in (("build.ninja", "ninja"), ("Makefile", "make")):
            _text, path = text_of(folder, file, call.context.place)
            if path is not None:
                show_steps(call, [Step(text=" ".join((program, *targets)), folder=folder)], path)
                break


def _read(text: str, base: str | None, rules: _Rules, place: Place, read: list[str]) -> None:
    """Add what a file says, and what it includes."""
    inside: _Edge | str | None = None
    for line in re.sub(r"\$\r?\n[ \t]*", "", text).split("\n"):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        setting = _SETTING.fullmatch(bare)
        if line[0] in " \t":
            if setting is not None and isinstance(inside, str) and setting[1] == "command":
                rules.commands[inside] = setting[2]
            elif setting is not None and isinstance(inside, _Edge):
                inside.settings[setting[1]] = _filled(setting[2], rules.settings)
            continue
        inside = None
        word, _, rest = bare.partition(" ")
        if word == "rule":
            inside = rest.strip()
        elif word == "build" and len(rules.edges) < _MAX_EDGES:
            inside = _edge(rest, rules.settings)
            rules.edges += [inside] if inside is not None else []
        elif word == "default":
            rules.defaults += _filled(rest, rules.settings).split()
        elif word in ("include", "subninja") and len(read) < MAX_FILES:
            more, path = text_of(base, _filled(rest, rules.settings).strip(), place)
            if more is not None and path is not None and path not in read:
                read.append(path)
                _read(more, base, rules, place, read)
        elif setting is not None:
            rules.settings[setting[1]] = _filled(setting[2], rules.settings)


def _edge(text: str, settings: Mapping[str, str]) -> _Edge | None:
    outputs, colon, rest = re.sub(r"\$:", "\0", text).partition(":")
    words = _filled(rest.partition("|@")[0].replace("\0", ":"), settings).split()
    if not colon or not words:
        return None
    marks = [at for at, word in enumerate(words) if word in ("|", "||")]
    own = words[1 : marks[0]] if marks else words[1:]
    further = [word for word in words[marks[0] :] if word not in ("|", "||")] if marks else []
    made = [word for word in _filled(outputs.replace("\0", ":"), settings).split() if word != "|"]
    return _Edge(words[0], own, made, further)


def _lines(rules: _Rules, targets: Sequence[str]) -> Iterator[str]:
    by_output = {output: edge for edge in rules.edges for output in edge.outputs}
    waiting = list(targets or rules.defaults or by_output)
    seen: set[int] = set()
    while waiting:
        edge = by_output.get(waiting.pop(0).removesuffix("^"))
        if edge is None or id(edge) in seen:
            continue
        seen.add(id(edge))
        waiting += [*edge.inputs, *edge.further]
        own = {"in": " ".join(edge.inputs), "out": " ".join(edge.outputs), **edge.settings}
        line = _filled(rules.commands.get(edge.rule, ""), {**rules.settings, **own})[:_MAX_LONG]
        if line.strip() and not _compiles(line):
            yield line


def _compiles(line: str) -> bool:
    program, _, words = line.removeprefix(": && ").partition(" ")
    return _COMPILER.fullmatch(posixpath.basename(program)[-20:]) is not None and _MARKS.isdisjoint(words)


def _filled(text: str, settings: Mapping[str, str]) -> str:
    """With what stands for the names in it; `$$` is a dollar, `$ ` a blank. No longer than a command may be: settings
    that name each other twice double each time."""
    parts: list[str] = []
    at = size = 0
    for found in _NAME.finditer(text):
        value = found[3] or settings.get(found[1] or found[2], "")
        parts += [text[at : found.start()], value]
        at, size = found.end(), size + found.end() - at + len(value)
        if size > _MAX_LONG:
            return "".join(parts)[:_MAX_LONG]
    return "".join((*parts, text[at:]))
