"""Interpreters: whose code would run, and what it is pointed to."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.interpreted import (
    arguments,
    fed_code,
    given_code,
    inline,
    only_version,
    script_and_rest,
)
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.javascript.program import NODE
from shield.facts.programs.mention import mention
from shield.facts.programs.model import Use
from shield.facts.programs.perl_proof import perl_proven, plain_operand, plain_pattern, plain_split
from shield.facts.programs.php_proof import php_proven
from shield.facts.programs.python.program import PYTHON
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.ruby_proof import ruby_proven
from shield.facts.programs.startup import STARTED, Start, start_of
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["INTERPRETERS"]


def _shell(call: Invocation) -> bool:
    """sh and kin: `-c STRING` is read as a script of its own, everything else is code that is not seen."""
    reading, words = call.reading, list(call.words)
    if len(words) == 1 and words[0].fixed and words[0].text in ("--version", "--help"):
        return True  # `-h` and `-V` are options that change how it reads what it is fed
    if _parses(call):
        return True
    string = started = False
    while words:
        word = words[0]
        text = word.text
        if not word.fixed:
            if not word.head or word.head.startswith("-"):
                reading.code = True
            break
        if text in ("--", "-"):
            words.pop(0)
            break
        if text in ("--noprofile", "--norc", "--posix", "--restricted", "--login", "--verbose", "--noediting"):
            reading.code |= text == "--posix"
            started |= text == "--login"
            words.pop(0)
        elif text in ("--rcfile", "--init-file"):
            reading.code = True
            for value in words[1:2]:
                reading.use(Use.SCRIPT, value)
            words = words[2:]
        elif text.startswith(("-", "+")) and len(text) > 1:
            string |= "c" in text
            # -s reads standard input; each `o` takes a word, and `keyword`, say, makes assignments of later words
            names = words[1 : 1 + text.count("o")]
            settles = all(name.fixed and name.text in _SETTINGS for name in names) and not text.startswith("--")
            reading.code |= bool(set(text[1:]) - set("ceilux" if call.name == "zsh" else "ceilfnouvx")) or not settles
            started |= bool({"i", "l"} & set(text))
            words = words[1 + text.count("o") :]
        else:
            break
    start = Start.NOTHING
    if started or call.name == "zsh":  # that one reads some in any case
        start = start_of(call.context.told, call.context.place)
        reading.code |= start is Start.OTHERS or call.name not in STARTED or (started and not (string and words))
    if start is Start.OWN:
        reading.run(RunsCode.WORKSPACE)  # no more than that: a sandbox bounds it
    if string and words:
        reading.operations.add(Operation.EXECUTE)
        started |= start is Start.OWN
        reading.nested.append(Nested(kind=NestedKind.SHELL, words=tuple(words), via=(call.name,), started=started))
        return True
    if not words:
        fed_code(call)
        return True
    script_and_rest(call, words)
    return True


# Shells of which `-n` is known to run nothing; zsh reads its own files first.
_PARSERS = frozenset(("bash", "dash", "sh"))


def _parses(call: Invocation) -> bool:
    """Whether it is `-n SCRIPT`, which reads it and runs none of it. A variable may name one that is run first."""
    words, told = call.words, {**call.context.place.env, **call.context.told}
    if call.name not in _PARSERS or len(words) != 2 or not all(word.fixed for word in words) or words[0].text != "-n":
        return False
    if words[1].text.startswith(("-", "+")) or "BASH_ENV" in told or "ENV" in told:
        return False
    call.reading.path(words[1], Access.READ)
    return True


_SETTINGS = frozenset(("errexit", "noclobber", "noglob", "nounset", "pipefail", "verbose", "xtrace"))


_HERE = regex(r"(?:localhost|127\.0\.0\.1|\[::1\]):\d+")


def _interpreter(call: Invocation) -> bool:
    """perl, ruby, php and kin: inline code where an option gives it, else a script."""
    if only_version(call):
        return True
    inline = any(option.value is Use.CODE for option, _ in call.arguments.given)
    if call.name == "perl" and _perl_tells(call):
        return True
    if (call.name == "php" and _php_looks(call)) or (call.name == "ruby" and _ruby_tells(call)):
        return True
    # An option that is not known, or that loads a module or changes files in place, may bring code along.
    brings = call.arguments.has("-i", "-M", "-m", "-B", "-R", "-E", "-a")
    served = call.arguments.values("-S") if call.name == "php" else []
    brings |= call.arguments.has("-S") and not served
    brings |= any(option.name == "-d" and not _sets_limit(call, value) for option, value in call.arguments.given)
    # To PHP what stands behind `-l` in its word are more options: `-ld extension=./x.so`.
    brings |= call.name == "php" and any(
        option.name == "-l" and value is not None for option, value in call.arguments.given
    )
    if inline or call.arguments.foreign or brings:
        call.reading.run(RunsCode.INLINE)
    for option, value in call.arguments.given:
        if value is not None and option.value is Use.TEXT:
            mention(call, value)
    if inline:
        given_code(call)
        arguments(call, call.operands)
    elif any(option.value is Use.SCRIPT for option, _ in call.arguments.given):
        call.reading.run(RunsCode.WORKSPACE)
        arguments(call, call.operands)
    elif served and not call.operands and all(_HERE.fullmatch(where.text) for where in served):
        call.reading.run(RunsCode.WORKSPACE)
        for folder in call.arguments.values("-t") or [Value(text=".", head=".")]:
            call.reading.path(folder, Access.READ, recursive=True)
    else:
        script_and_rest(call, call.operands)
    return True


_LIMITS = regex(
    r"(?:date\.timezone|display_errors|error_reporting|max_execution_time|memory_limit|opcache\.enable(?:_cli)?"
    r"|pcov\.enabled|precision|xdebug\.mode|zend\.assertions)=[\w./+-]*"
)


def _sets_limit(call: Invocation, value: Value | None) -> bool:
    """`php -d memory_limit=1G`: a setting that names no file. perl's `-d` is another."""
    return call.name == "php" and value is not None and value.fixed and _LIMITS.fullmatch(value.text) is not None


def _php_looks(call: Invocation) -> bool:
    """`php -l FILE`, which compiles and runs nothing, `php -m`, and code that only computes; settings and extensions
    are those of the installation."""
    given = [(option.name, value) for option, value in call.arguments.given if option.name != "-n"]
    steered = any(name.startswith("PHP") for name in call.context.place.env)
    if len(given) != 1 or call.arguments.foreign or call.reading.loose or steered:
        return False
    name, value = given[0]
    if name == "-r":
        return _php_tells(call, value)
    if value is not None or (name != "-l" and (name != "-m" or call.operands)):
        return False
    if any(word.fixed and "://" in word.text for word in call.operands):
        return False  # a stream of its own, such as `php://stdin` or an archive's
    call.reading.runs = RunsCode.NONE
    call.reading.operations = {Operation.READ}
    for word in call.operands:
        call.reading.path(word, Access.READ)
    return True


def _php_tells(call: Invocation, code: Value | None) -> bool:
    """`php -r`: where the code surely does no more than compute, print and read what it names."""
    proof = php_proven(code.text) if code is not None and code.fixed and not call.operands else None
    if proof is None:
        return False
    call.reading.runs = RunsCode.NONE
    call.reading.operations = {Operation.EXECUTE}
    for text in proof.reads:
        call.reading.path(Value(text=text, head=text), Access.READ)
    return True


_RUBY_QUIET = frozenset(("-e", "-l", "-n", "-p", "-r", "-w"))
_RUBY_LIBRARY = frozenset(("date", "json", "set", "time"))


def _ruby_tells(call: Invocation) -> bool:
    """`ruby -e`, `-ne` and `-pe`: where the code surely does no more than compute, print and read what it names."""
    reading, arguments = call.reading, call.arguments
    codes = arguments.values("-e")
    plain = all(option.name in _RUBY_QUIET for option, _ in arguments.given)
    library = all(value.fixed and value.text in _RUBY_LIBRARY for value in arguments.values("-r"))
    steered = any(name.startswith(("RUBY", "GEM_", "BUNDLE")) for name in call.context.place.env)
    if not codes or not all(code.fixed for code in codes) or arguments.foreign or reading.loose or steered:
        return False
    proof = ruby_proven("\n".join(code.text for code in codes)) if plain and library else None
    if proof is None or any(not word.fixed or word.text.startswith("|") for word in call.operands):
        return False
    reading.runs = RunsCode.NONE
    reading.operations = {Operation.EXECUTE}
    for word in call.operands if arguments.has("-n", "-p") else ():
        reading.path(word, Access.READ)
    for text in proof.reads:
        reading.path(Value(text=text, head=text), Access.READ)
    for text in proof.looks:
        lead = re.split(r"[*?\[{]", text, maxsplit=1)[0].rpartition("/")
        top = lead[0] or lead[1] or "."
        reading.path(Value(text=top, head=top), Access.LIST, recursive=True)
    return True


_PERL_QUIET = frozenset(f"-{letter}" for letter in "npawleEFi01234567")


def _perl_tells(call: Invocation) -> bool:
    """`perl -ne`, `-pe`: filters that read the files they are given, and with `-i` change them."""
    reading, arguments = call.reading, call.arguments
    codes = [value for option, value in arguments.given if option.name in ("-e", "-E")]
    texts = [code.text for code in codes if code is not None and code.fixed]
    # perl puts them together, a line each
    if not texts or len(texts) < len(codes) or not perl_proven("\n".join(texts)):
        return False
    plain = all(option.name in _PERL_QUIET for option, _ in arguments.given)
    splits = all(value.fixed and plain_split(value.text) for value in arguments.values("-F"))
    named = all(
        plain_operand(word.text)
        if word.fixed
        else word.pattern is not None and word.known and not word.fresh and plain_pattern(word.text)
        for word in call.operands
    )
    steered = any(name.startswith("PERL") for name in call.context.place.env)
    if arguments.foreign or reading.loose or steered or not (plain and splits and named):
        return False
    suffixes = arguments.values("-i")
    if not all(value.fixed and re.fullmatch(r"[\w.~-]*", value.text) for value in suffixes):
        return False
    if any(value.text for value in suffixes) and not all(word.fixed for word in call.operands):
        return False  # where the old ones are kept is not known
    reading.runs = RunsCode.NONE
    reading.operations = {Operation.EXECUTE}
    for word in call.operands:
        reading.path(word, Access.READ, *([Access.WRITE] if arguments.has("-i") else []))
        for suffix in suffixes:
            reading.path(Value(text=word.text + suffix.text, head=word.text), Access.WRITE)
    return True


def _deno(call: Invocation) -> bool:
    """deno: only formatting and checking its own files fetches nothing that a script imports."""
    verb = call.words[0].text if call.words and call.words[0].fixed else ""
    call.reading.run(RunsCode.WORKSPACE if verb in ("fmt", "lint") or only_version(call) else RunsCode.FETCHED)
    if call.reading.runs is RunsCode.FETCHED:
        call.reading.unknown.append("what `deno` fetches is pinned by nothing")
    for word in call.words[1:] if verb == "eval" else ():
        if word.fixed and not word.text.startswith("-"):
            inline(call, word.text, [])
    arguments(call, list(call.words[1:]))
    return True


def _java(call: Invocation) -> bool:
    if only_version(call) or all(word.fixed and word.text in ("-version", "--version") for word in call.words):
        return True
    call.reading.run(RunsCode.WORKSPACE)
    foreign = call.arguments.foreign
    # `-XX:OnError=COMMAND`, `-XX:OnOutOfMemoryError=COMMAND`, `-Xrunjdwp:…,launch=COMMAND`
    if any(not flag.startswith(("-X", "-D")) or flag.startswith(("-XX:On", "-Xrun")) for flag in foreign):
        call.reading.run(RunsCode.INLINE)
    arguments(call, list(call.words))
    return True


INTERPRETERS: Mapping[str, Special] = MappingProxyType(
    {"shell": _shell, "interpreter": _interpreter, "deno": _deno, "java": _java, **NODE, **PYTHON}
)
