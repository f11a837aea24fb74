"""Scripts of a project that the words of its tools name, and what these are given: `npm run NAME`, `composer NAME`."""

import posixpath

from shield.facts.programs.invocation import Invocation, read_invocation
from shield.facts.programs.javascript.named import named_scripts, standing, tasks_of_packages
from shield.facts.programs.javascript.scripts import last_command, names_script, words_of
from shield.facts.programs.library import models
from shield.facts.programs.reading import Value
from shield.facts.programs.tasks import TASKED, composer_commands
from shield.types import Access

__all__ = ["project_scripts"]

_MANAGERS = frozenset(("bun", "npm", "pnpm", "yarn"))
_OF_PACKAGES = frozenset(("lerna", "nx", "turbo"))
_RUNS = frozenset(("run", "run-script", "rum", "urn"))
# What comes before and after each belongs to it; a restart is a stop and a start where it has no script of its own.
_NAMED = {
    "t": ("test",), "tst": ("test",), "test": ("test",), "start": ("start",), "stop": ("stop",),
    "restart": ("restart", "stop", "start"), "pack": ("pack", "prepare"), "version": ("version",),
}  # fmt: skip


def project_scripts(call: Invocation, operands: list[Value]) -> None:
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
    call.reading.hosts += [each for each in given.hosts if each not in alone.hosts]
    call.reading.code |= given.code and not alone.code
    call.reading.loose |= given.loose and not alone.loose
