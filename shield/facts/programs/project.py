"""Test runners, build tools, linters and formatters: they run the project's own code or configuration.

What they run lies in the workspace; what matters is where their words point them: files outside, code given inline, and
tools of the project's own that they start.
"""

import posixpath
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.facts.programs.bins import starts_by_name
from shield.facts.programs.cleared import cleared, emptied
from shield.facts.programs.handed import hands_code, hands_program
from shield.facts.programs.invocation import Invocation, Special, read_invocation
from shield.facts.programs.javascript.named import named_scripts, standing, tasks_of_packages
from shield.facts.programs.javascript.scripts import last_command, names_script, words_of
from shield.facts.programs.leading import mention_value
from shield.facts.programs.library import models
from shield.facts.programs.listed import abbreviated, counted, listed
from shield.facts.programs.making import SHELL_MARKS, made_of, parted, recipes
from shield.facts.programs.mention import MAX_WORD, leaves_out, mention
from shield.facts.programs.model import Option, Use
from shield.facts.programs.owned import own_program
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import run_script
from shield.facts.programs.tasks import TASKED, composer_commands
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
    _scripts(call, operands)
    _built_by_java(call, operands)
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
    reading.run(option.runs)
    reading.operations |= option.adds
    if option.asks is not None:
        reading.unknown.append(f"`{call.name[:80]} {option.name}`: {option.asks}")
    if value is not None and option.value is Use.TEXT and leaves_out(option.name):
        mention_value(reading, value, home=call.context.place.home)
    elif value is not None and option.value is not None:
        _use(call, option.value, value)
        if Operation.DELETE in option.adds:
            emptied(call, value, f"{call.name} {option.name}")


_UNTRUSTED = (RunsCode.FETCHED, RunsCode.INLINE)
# `//pkg:target`, `@repository//…`: what these build by name, and no path.
_LABELLED = frozenset(("bazel", "bazelisk", "buck2", "pants"))
_LABEL = re.compile(r"-?@{0,2}[\w.~+-]*//[\w./:*+-]*")
# `deps(//a/...) except kind("cc_.*", //b)`: what stands before and between the labels of a query.
_QUERY = re.compile(r"[\w \"'.*^$|,()+=-]*")


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
_JAVA_STARTS = re.compile(r"-XX:On|-Xrun|-agent(?:lib|path):")
# `./configure CC=…`, `cmake -DCMAKE_C_COMPILER:FILEPATH=…`, where a semicolon parts words
_VARIABLE = re.compile(r"(?:-D)?([A-Z][A-Z0-9_]*)(?::[A-Z]+)?=(.*)", re.DOTALL)
_STARTS_SCRIPTS = frozenset(("tsx", "ts-node", "bun run"))
_MAVEN = frozenset(("mvn", "mvnw"))
_GRADLE = frozenset(("gradle", "gradlew"))
# What `clean` deletes is a property, in its older versions one of the line's own.
_BUILD_FOLDER = re.compile(
    r"(?:-P|--project-prop[= ]?)?(?:project\.)?(?:buildDir|layout\.buildDirectory)=(.*)", re.DOTALL
)


def _built_by_java(call: Invocation, operands: list[Value]) -> None:
    if call.name in _MAVEN:
        _plugins(call, operands)
    for word in call.words if call.name in _GRADLE else ():
        found = _BUILD_FOLDER.fullmatch(word.text)
        if found is not None:
            emptied(call, Value(text=found[1], known=word.fixed), call.name)


def _plugins(call: Invocation, goals: list[Value]) -> None:
    """Maven runs the goal of any plugin by its coordinates; those of some run what properties say, and `help:system`
    shows the environment."""
    told = any(word.text.startswith("-D") and re.search(r"\b(?:env|settings)\b", word.text) for word in call.words)
    for goal in goals:
        if goal.text in ("help:system", "help:effective-settings") or (goal.text == "help:evaluate" and told):
            call.reading.unknown.append(f"`mvn {goal.text}` shows the environment, or the user's own settings")
        if goal.text.count(":") > 1:
            call.reading.run(RunsCode.FETCHED)
            call.reading.unknown.append(f"`{goal.text[:80]}` may be a plugin that the project does not name")
        elif goal.text.startswith(("exec:", "gmaven:", "gmavenplus:", "groovy:", "jshell:")):
            call.reading.run(RunsCode.INLINE)


_MANAGERS = frozenset(("bun", "npm", "pnpm", "yarn"))
_OF_PACKAGES = frozenset(("lerna", "nx", "turbo"))
_RUNS = frozenset(("run", "run-script", "rum", "urn"))
# What comes before and after each belongs to it; a restart is a stop and a start where it has no script of its own.
_NAMED = {
    "t": ("test",), "tst": ("test",), "test": ("test",), "start": ("start",), "stop": ("stop",),
    "restart": ("restart", "stop", "start"), "pack": ("pack", "prepare"), "version": ("version",),
}  # fmt: skip


def _scripts(call: Invocation, operands: list[Value]) -> None:
    """`npm run NAME`, `yarn NAME`, `npm test`: the script of that name in package.json."""
    manager, _, verb = call.name.partition(" ")
    if manager in _OF_PACKAGES:
        tasks_of_packages(call, operands)
    if manager in TASKED:
        TASKED[manager](call, operands)
    if manager == "composer":
        named = (verb, *(word.text for word in operands[:1])) if verb not in _RUNS else [word.text for word in operands]
        for name in named:
            for line in composer_commands(call, name):
                _handed(call, words_of(line), _behind(call, name))
    if manager not in _MANAGERS:
        return
    texts = [*([verb] if verb else []), *(word.text for word in operands[:2])]
    if texts[:1] == ["pkg"] and texts[1:2] != ["get"]:
        call.reading.path(Value(text="package.json", head="package.json"), Access.READ, Access.WRITE)
    named = _NAMED.get(verb, (verb,) if manager == "yarn" and verb not in _RUNS else ())
    if (verb in _RUNS or not verb) and operands:
        # An option that is not listed may have taken the first for its value.
        named = tuple(word.text for word in _undashed(call, operands) if word.fixed)
    named_scripts(call, manager, named, lambda name: _given_to(call, manager, operands, name))
    if named:
        bases = standing(call, manager)
        _handed_on(
            call, manager, next((name for name in named if names_script(name, call.context.place, bases)), named[0])
        )


def _undashed(call: Invocation, operands: list[Value]) -> list[Value]:
    """The operands in front of `--`: those behind it belong to what is run."""
    texts = [word.text if word.fixed else "" for word in call.words]
    before = call.words[: texts.index("--")] if "--" in texts else call.words
    return [word for word in operands if any(word is each for each in before)]


def _given_to(call: Invocation, manager: str, operands: list[Value], name: str) -> list[Value]:
    """The words that the script is given: to npm options only behind `--`."""
    if manager != "npm":
        return _behind(call, name)
    own = _undashed(call, operands)
    at = next((at for at, word in enumerate(own, 1) if word.text == name), 0)
    return [*own[at:], *_behind(call, "--", whole=False)]


def _handed_on(call: Invocation, manager: str, script: str) -> None:
    """The words that a script's last command is given besides."""
    after = "--" if manager == "npm" else script
    own = last_command(script, call.context.place, standing(call, manager))
    _handed(call, own, _behind(call, after, whole=manager != "npm"))


def _behind(call: Invocation, after: str, *, whole: bool = True) -> list[Value]:
    """The words behind the first `after`; where there is none of it, all of them if `whole`."""
    texts = [word.text for word in call.words]
    words = call.words[texts.index(after) + 1 :] if after in texts else call.words if whole else ()
    return [word for word in words if word.text != "--"]


def _handed(call: Invocation, command: list[str], words: list[Value]) -> None:
    """What words make of the command of a script that they are added to counts."""
    own = [Value(text=text, head=text) for text in command]
    model = models().get(posixpath.basename(own[0].text)) if own and words else None
    if model is None:
        return
    alone, given = (
        read_invocation(model.name, model, tuple(each), call.context, call.specials)
        for each in (own[1:], own[1:] + words)
    )
    if given.runs is not alone.runs:
        call.reading.run(given.runs)
    call.reading.unknown += [each for each in given.unknown if each not in alone.unknown]
    call.reading.unread += [each for each in given.unread if each not in alone.unread]
    call.reading.hosts += [each for each in given.hosts if each not in alone.hosts]
    call.reading.code |= given.code and not alone.code
    call.reading.loose |= given.loose and not alone.loose


def _use(call: Invocation, use: Use, value: Value) -> None:
    if use is Use.TEXT:
        mention(call, value)
    elif use is Use.PROGRAM:
        # What it names runs with the project's own rights; where it lies is what counts.
        mention(call, value, Access.READ)
        if SHELL_MARKS & set(value.text):
            call.reading.run(RunsCode.INLINE)
    else:
        mention_value(call.reading, value, home=call.context.place.home)
        call.reading.use(use, value)


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
