"""What every interpreter may be given: a script and words for it, code in its words, code that it is fed."""

from collections.abc import Callable

from shield.facts.programs.invocation import Invocation, read_invocation
from shield.facts.programs.library import models
from shield.facts.programs.managed import managed
from shield.facts.programs.mention import mention
from shield.facts.programs.model import Use
from shield.facts.programs.outcomes import told_outcome
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import language_of, read_code, run_script
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["arguments", "fed_code", "given_code", "inline", "only_version", "script_and_rest"]

_OF_PACKAGE = regex(r"(?:^|/)node_modules/(?:\.bin/)?(?:@[\w.-]+/)?([\w.-]+?)(?:\.[cm]?js)?(?:/|$)")
_VERSION = frozenset(["--version", "-V", "-VV", "--help", "-h"])
# To others `-v` is no more than to say more.
_TELLING = frozenset(("perl", "php", "ruby"))


def only_version(call: Invocation) -> bool:
    """Whether it is only asked what it is."""
    told = _VERSION | {"-v"} if call.name in _TELLING and len(call.words) == 1 else _VERSION
    return bool(call.words) and all(word.fixed and word.text in told for word in call.words)


def fed_code(call: Invocation) -> None:
    """An interpreter without a script runs what it is fed."""
    text = call.context.stdin
    call.reading.run(RunsCode.FETCHED if call.context.fetched else RunsCode.INLINE)
    if text is not None and language_of(call.name) not in (None, "sh"):
        inline(call, text, call.operands[1:])
    if call.context.fetched:
        call.reading.unknown.append(f"what `{call.name[:80]}` is fed comes from elsewhere")


def script_and_rest(call: Invocation, operands: list[Value], fed: Callable[[Invocation], None] = fed_code) -> None:
    """The first of the words is a script, and the rest is what it is given; `fed` reads standard input instead."""
    if not operands or (operands[0].fixed and operands[0].text == "-"):
        fed(call)
        return
    call.reading.use(Use.SCRIPT, operands[0])
    if not operands[0].fixed:
        call.reading.code = True
    program = "python" if call.name.startswith("coverage") else call.name
    run_script(call.reading, operands[0], program, operands[1:], call.context)
    managed(call.reading, operands[0], operands[1:])
    _packaged(call, operands[0], operands[1:])
    arguments(call, operands[1:])


def _packaged(call: Invocation, script: Value, words: list[Value]) -> None:
    """`node node_modules/rimraf/bin.js x`: what the words mean to the program that the package brings."""
    found = _OF_PACKAGE.search(script.text) if script.fixed and call.name in ("node", "nodejs", "bun") else None
    model = models().get(found[1]) if found is not None else None
    if model is None or model.special not in ("project", "removes"):
        return
    told_outcome(call.reading, model.name, words)
    given = read_invocation(model.name, model, tuple(words), call.context, call.specials)
    call.reading.unknown += given.unknown
    call.reading.unread += given.unread
    call.reading.run(given.runs)
    call.reading.paths += [each for each in given.paths if each.access is Access.DELETE]


def inline(call: Invocation, code: str, words: list[Value]) -> None:
    """Code that the line itself gives, run with `words`."""
    language = language_of(call.name)
    if language is not None:
        read_code(call.reading, code, language, call.name, words, call.context)


def given_code(call: Invocation) -> None:
    """What `-e CODE` and its kin show."""
    for option, value in call.arguments.given:
        if option.value is Use.CODE and value is not None and value.fixed:
            inline(call, value.text, call.operands)


def arguments(call: Invocation, words: list[Value]) -> None:
    """What a script is given: it may read or write whatever the words name."""
    for word in words:
        dashed = (word.text if word.fixed else word.head).startswith("-")
        mention(call, word, Access.READ, *(() if dashed else (Access.WRITE,)), doubtful=dashed)
