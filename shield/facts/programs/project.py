"""Test runners, build tools, linters and formatters: they run the project's own code or configuration.

What they run lies in the workspace; what matters is where their words point them: files outside, code given inline, and
tools of the project's own that they start.
"""

import posixpath
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.bins import starts_by_name
from shield.facts.programs.cleared import cleared, emptied, emptied_by_settings
from shield.facts.programs.cmake import works_as_tool
from shield.facts.programs.handed import hands_code, hands_program
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.java import built_by_java
from shield.facts.programs.leading import mention_value
from shield.facts.programs.library import models
from shield.facts.programs.listed import abbreviated, counted, listed
from shield.facts.programs.making import SHELL_MARKS, made_of, parted, recipes
from shield.facts.programs.mention import MAX_WORD, leaves_out, mention
from shield.facts.programs.model import Option, Use
from shield.facts.programs.owned import own_program
from shield.facts.programs.project_scripts import project_scripts
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import run_script
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["PROJECT"]


def _project(call: Invocation) -> bool:
    """Options of the entry as it says; every other word is looked through for paths. The first operand may be a
    subcommand of the entry, which then says how the rest is read."""
    call.words = tuple(counted(call))
    reading, words = call.reading, list(call.words)
    operands: list[Value] = []
    edits = empties = False
    unlisted = ""  # the option right before, which may take the next word for its value
    while words:
        word = words.pop(0)
        text = word.text if word.fixed else word.head
        if word.fixed and text == "--":
            operands.extend(words)
            if call.name == "cmake":
                made_of(call, words)  # `cmake --build build -- …`
            break
        if not text.startswith("-") or text == "-":
            sub = (call.model.subcommands or {}).get(text) if word.fixed else None
            # Which word is the subcommand is only a guess where unlisted options may take values: what asks, asks.
            if sub is not None and (not operands or sub.asks is not None or sub.runs in _UNTRUSTED):
                call.read_as(f"{call.name} {text}", sub, tuple(words))
                return True
            if leaves_out(unlisted) and "," in text:
                mention_value(reading, word, home=call.context.place.home)
            else:
                if unlisted:
                    mention(call, word, Access.READ, doubtful=True)
                operands.append(word)
            unlisted = ""
            continue
        reading.flags.append(text.partition("=")[0])
        found = listed(call, word, words)
        unlisted = "" if found or "=" in text else text
        if not found:
            if call.model.verbs and not operands:
                reading.unknown.append(f"what `{text[:80]}` is to `{call.name[:80]}` is not known")
            abbreviated(call, text.partition("=")[0])
            mention(call, word, Access.READ, doubtful=True)
        for option, value in found:
            _given(call, option, value)
            edits |= Operation.WRITE in option.adds
            empties |= Operation.DELETE in option.adds and option.value is None
    edits |= call.model.rest is Use.EDIT
    if call.model.verbs and call.model.subcommands is not None and operands:
        reading.unknown.append(f"what `{call.name[:80]} {operands[0].text[:80]}` does is not known")
    _operands(call, operands, Access.READ, *([Access.WRITE] if edits else []))
    if empties:
        cleared(call, operands, f"{call.name} --clear")
    project_scripts(call, operands)
    built_by_java(call, operands)
    _started(call, operands)
    return True


def _started(call: Invocation, operands: list[Value]) -> None:
    """What the first operand, a script or a program of the project, is run by; and code that comes another way."""
    set_here = (_VARIABLE.fullmatch(word.text) for word in call.words)
    if hands_code(call.name, call.words) or any(
        found is not None and hands_program(found[1], found[2].replace(";", " ")) for found in set_here
    ):
        call.reading.run(RunsCode.INLINE)
    lines = call.name in _FED
    fed = operands[0].text == "-" and (lines or call.name in _STARTS_SCRIPTS) if operands else lines
    if fed and _TELLS.isdisjoint(call.reading.flags):
        call.reading.run(RunsCode.INLINE)
    if any(_JAVA_STARTS.search(word.text) for word in call.words):
        call.reading.run(RunsCode.INLINE)
    at = next((index for index, word in enumerate(call.words) if operands and word is operands[0]), len(call.words))
    words = list(call.words[at:])  # its own options, too
    if call.name in ("bun run", "yarn run") and starts_by_name(call, words, system=call.name == "bun run"):
        return
    if call.name in _STARTS_SCRIPTS and operands:
        run_script(call.reading, operands[0], call.name.partition(" ")[0], operands[1:], call.context)


def _operands(call: Invocation, operands: list[Value], *accesses: Access) -> None:
    for word in operands:
        if call.name in _LABELLED and word.fixed and _labels(word.text):
            continue
        mention(call, word, *accesses)
        call.reading.unknown += [
            f"`{call.name[:80]}`: {why}"
            for pattern, why in call.model.guarded.items()
            if not word.fixed or fnmatchcase(word.text, pattern)
        ]


def _given(call: Invocation, option: Option, value: Value | None) -> None:
    """Take an option of the entry for what it does."""
    reading = call.reading
    reading.run(option.runs if not (option.name == "-E" and works_as_tool(call)) else RunsCode.WORKSPACE)
    reading.operations |= option.adds
    if option.asks is not None:
        reading.unknown.append(f"`{call.name[:80]} {option.name}`: {option.asks}")
    if value is not None and option.value is Use.TEXT and leaves_out(option.name):
        mention_value(reading, value, home=call.context.place.home)
    elif value is not None and option.value is not None:
        _use(call, option.value, value)
        if Operation.DELETE in option.adds:
            emptied(call, value, f"{call.name} {option.name}")
        elif call.name == "cypress":
            emptied_by_settings(call, value)


_PLAIN_PATH = regex(r"(?:/[\w.+-]+)+")
_UNTRUSTED = (RunsCode.FETCHED, RunsCode.INLINE)
# `//pkg:target`, `@repository//…`: what these build by name, and no path.
_LABELLED = frozenset(("bazel", "bazelisk", "buck2", "pants"))
_LABEL = regex(r"-?@{0,2}[\w.~+-]*//[\w./:*+-]*")
# `deps(//a/...) except kind("cc_.*", //b)`: what stands before and between the labels of a query.
_QUERY = regex(r"[\w \"'.*^$|,()+=-]*")


def _labels(text: str) -> bool:
    """Whether the word is a label, or a query of labels."""
    if _LABEL.fullmatch(text):
        return True
    return "(" in text and len(text) <= MAX_WORD and _QUERY.fullmatch(_LABEL.sub("", text)) is not None


# Without a script they run what they are fed, line by line.
_FED = frozenset(
    ("crystal i", "dune utop", "gleam shell", "kotlin", "kotlinc", "rebar3 shell", "sbt", "stack ghci",
     "stack repl", "swift", "swift repl", "ts-node", "tsx")
)  # fmt: skip
_TELLS = frozenset(("-h", "--help", "-help", "-v", "--version", "-version"))
# `-J-XX:OnError=COMMAND`, `-Dorg.gradle.jvmargs=-XX:OnOutOfMemoryError=…`, `-agentlib:jdwp=launch=COMMAND,…`
_JAVA_STARTS = regex(r"-XX:On|-Xrun|-agent(?:lib|path):")
# `./configure CC=…`, `cmake -DCMAKE_C_COMPILER:FILEPATH=…`, where a semicolon parts words
_VARIABLE = regex(r"(?:-D)?([A-Z][A-Z0-9_]*)(?::[A-Z]+)?=(.*)", re.DOTALL)
_STARTS_SCRIPTS = frozenset(("tsx", "ts-node", "bun run"))


def _use(call: Invocation, use: Use, value: Value) -> None:
    if use is Use.TEXT:
        mention(call, value)
    elif use is Use.PROGRAM:
        # What it names runs with the project's own rights; where it lies is what counts.
        mention(call, value, Access.READ)
        if SHELL_MARKS & set(value.text):
            call.reading.run(RunsCode.INLINE)
    elif use is Use.WRITE and _is_output(call, value):
        call.reading.use(use, value)
    else:
        mention_value(call.reading, value, home=call.context.place.home)
        call.reading.use(use, value)


def _is_output(call: Invocation, value: Value) -> bool:
    """Whether what is written there is new, or takes a file's place: of a folder that is there what lies in it is read,
    too, and may be run (`--target-dir`)."""
    if not value.fixed or not _PLAIN_PATH.fullmatch(value.text):
        return False
    found = [resolve_path(value.text, call.context.place, base=base, expand_tilde=False) for base in call.context.bases]
    return all(
        each.path is not None and (each.stat is None or each.stat.kind is FileKind.FILE) and not each.symlink
        for each in found
    )


def _make(call: Invocation) -> bool:
    call.words = parted(call)
    made_of(call, call.words)
    _project(call)
    recipes(call)
    return True


def _removes(call: Invocation) -> bool:
    """rimraf and kin, which delete what they are given with all beneath."""
    for word in call.words:
        if not word.fixed or not word.text.startswith("-"):
            # patterns it reads itself
            emptied(call, word if not set("*?[{!(") & set(word.text) else Value(text=word.text, known=False), call.name)
    return True


def _environment(call: Invocation) -> bool:
    """`poetry run`, `bundle exec` and kin: the words are a command, started in the project's environment."""
    for option, value in call.arguments.given:
        if value is not None and Operation.DELETE in option.adds:
            emptied(call, value, f"{call.name} {option.name}")
    words = _behind_dashes(call)
    if words and words[0].fixed and words[0].text in (call.model.subcommands or {}):
        return False
    if words:
        call.command([own_program(call, words[0]), *words[1:]])
    return True


def _behind_dashes(call: Invocation) -> list[Value]:
    """The words of the command: where there is a `--`, those behind it."""
    words = list(call.operands)
    at = next((index for index, word in enumerate(words) if word.text == "--"), -1)
    dashed = at > 0 and not any(word.text.startswith("-") for word in words[:1])
    return words if dashed else words[at + 1 :]


def _built(call: Invocation) -> bool:
    """`stack exec`, `dune exec`: a program that the project has built, of any name, or one that everybody knows."""
    words = _behind_dashes(call)
    if words and words[0].fixed and posixpath.basename(words[0].text) in models():
        call.command(words)
    else:
        for word in words:
            mention(call, word, Access.READ, doubtful=True)
    return True


PROJECT: Mapping[str, Special] = MappingProxyType(
    {"project": _project, "make": _make, "environment": _environment, "built": _built, "removes": _removes}
)
