"""Interpreters, build tools and package managers: whose code would run."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.types import Access, Operation, RunsCode

__all__ = ["INTERPRETERS"]

_VERSION = frozenset(["--version", "-V", "-VV", "--help", "-h"])


def _only_version(call: Invocation) -> bool:
    return bool(call.words) and all(word.fixed and word.text in _VERSION for word in call.words)


def _standard_input(call: Invocation) -> None:
    """An interpreter without a script runs what it is fed."""
    call.reading.run(RunsCode.FETCHED if call.context.fetched else RunsCode.INLINE)


def _script_and_rest(call: Invocation, operands: list[Value]) -> None:
    if not operands or (operands[0].fixed and operands[0].text == "-"):
        _standard_input(call)
        return
    call.reading.use(Use.SCRIPT, operands[0])
    if not operands[0].fixed:
        call.reading.code = True
    for word in operands[1:]:
        if not word.head.startswith("-"):
            call.reading.use(Use.ANY, word)


def _shell(call: Invocation) -> bool:
    """sh and kin: `-c STRING` is read as a script of its own, everything else is code that is not seen."""
    reading, words = call.reading, list(call.words)
    if _only_version(call):
        return True
    string = False
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
            reading.code |= text == "--login"
            words.pop(0)
        elif text in ("--rcfile", "--init-file"):
            reading.code = True
            for value in words[1:2]:
                reading.use(Use.SCRIPT, value)
            words = words[2:]
        elif text in ("-o", "+o", "-O", "+O"):
            reading.code |= text.endswith("O")
            words = words[2:]
        elif text.startswith(("-", "+")) and len(text) > 1:
            string |= "c" in text
            # -i and -l read start-up files, -s reads standard input, -o inside a cluster takes a word.
            reading.code |= bool(set(text[1:]) - set("ceuxfnv"))
            words.pop(0)
        else:
            break
    if string and words:
        reading.operations.add(Operation.EXECUTE)
        reading.nested.append(Nested(kind=NestedKind.SHELL, words=tuple(words), via=(call.name,)))
        return True
    if not words:
        _standard_input(call)
        return True
    _script_and_rest(call, words)
    return True


def _python(call: Invocation) -> bool:
    arguments = call.arguments
    if _only_version(call):
        return True
    if arguments.has("-c"):
        for word in call.operands:
            if not word.head.startswith("-"):
                call.reading.use(Use.ANY, word)
        return True
    modules = arguments.values("-m")
    if modules:
        module = modules[0].text
        call.reading.run(RunsCode.FETCHED if module in ("pip", "ensurepip", "pipx", "uv") else RunsCode.WORKSPACE)
        for word in call.operands:
            if "/" in word.text or word.text.startswith(("~", ".")):
                call.reading.use(Use.ANY, word)
        return True
    _script_and_rest(call, call.operands)
    return True


def _interpreter(call: Invocation) -> bool:
    if _only_version(call):
        return True
    inline = any(option.value is Use.CODE for option, _ in call.arguments.given)
    call.reading.run(RunsCode.INLINE)
    if inline:
        for word in call.operands:
            if not word.head.startswith("-"):
                call.reading.use(Use.ANY, word)
    else:
        _script_and_rest(call, call.operands)
    return True


def _node(call: Invocation) -> bool:
    if _only_version(call) or (call.arguments.has("-v") and not call.operands):
        return True
    if call.name.rpartition("/")[2] in ("deno", "bun"):
        call.reading.run(RunsCode.FETCHED)
    inline = any(option.value is Use.CODE for option, _ in call.arguments.given)
    if inline:
        return _interpreter(call)
    _script_and_rest(call, call.operands)
    return True


_NPM_READS_TEXT = """
ls list ll outdated view info why explain root prefix bin version help fund search ping whoami
"""
_NPM_READS = frozenset(_NPM_READS_TEXT.split())
_NPM_RUNS_TEXT = """
test t run run-script start stop restart
"""
_NPM_RUNS = frozenset(_NPM_RUNS_TEXT.split())


def _npm(call: Invocation) -> bool:
    verbs = [word for word in call.words if not word.head.startswith("-")]
    verb = verbs[0].text if verbs and verbs[0].fixed else ""
    if verb in _NPM_READS and call.name.rpartition("/")[2] == "npm" and all(word.fixed for word in call.words):
        call.reading.operations |= {Operation.READ}
        if verb in ("outdated", "view", "info", "search", "ping", "whoami"):
            call.reading.operations.add(Operation.NETWORK)
        if len(verbs) > 1 and verb == "version":
            call.reading.run(RunsCode.WORKSPACE)
        return True
    if _only_version(call):
        return True
    call.reading.run(RunsCode.WORKSPACE if verb in _NPM_RUNS else RunsCode.FETCHED)
    return True


_PIP_READS_TEXT = """
list show freeze check help debug inspect tree
"""
_PIP_READS = frozenset(_PIP_READS_TEXT.split())


def _pip(call: Invocation) -> bool:
    verbs = [word for word in call.words if not word.head.startswith("-")]
    verb = verbs[0].text if verbs and verbs[0].fixed else ""
    kind = call.name.rpartition("/")[2]
    if kind in ("pip", "pip3") and verb in _PIP_READS and all(word.fixed for word in call.words):
        call.reading.operations.add(Operation.READ)
        if any(word.text.partition("=")[0] not in _PIP_FLAGS for word in call.words if word.text.startswith("-")):
            call.reading.caution()
        return True
    if _only_version(call):
        return True
    runs = verb == "run" and kind != "pip"
    call.reading.run(RunsCode.WORKSPACE if runs else RunsCode.FETCHED)
    if runs:
        call.command(list(call.words[call.words.index(verbs[0]) + 1 :]))
    for word in verbs[1:]:
        if word.text.startswith(("/", "~", "./", "../")):
            call.reading.use(Use.ANY, word)
    return True


_PIP_FLAGS_TEXT = """
--format --outdated -o --local -l --user --editable -e --not-required -v --verbose -q --quiet -f --files --all
"""
_PIP_FLAGS = frozenset(_PIP_FLAGS_TEXT.split())
_CARGO_FETCHES_TEXT = """
install add update fetch search publish login owner yank uninstall
"""
_CARGO_FETCHES = frozenset(_CARGO_FETCHES_TEXT.split())


def _cargo(call: Invocation) -> bool:
    verbs = [word for word in call.words if not word.head.startswith(("-", "+"))]
    verb = verbs[0].text if verbs and verbs[0].fixed else ""
    if _only_version(call) or verb in ("version", "help", "tree", "metadata", "locate-project"):
        call.reading.operations.add(Operation.READ)
        if not all(word.fixed for word in call.words) or any("config" in word.text for word in call.words):
            call.reading.run(RunsCode.WORKSPACE)
        return True
    call.reading.run(RunsCode.FETCHED if verb in _CARGO_FETCHES else RunsCode.WORKSPACE)
    return True


def _go(call: Invocation) -> bool:
    verbs = [word for word in call.words if not word.head.startswith("-")]
    verb = verbs[0].text if verbs and verbs[0].fixed else ""
    if verb in ("version", "help") or (verb == "env" and len(call.words) == len(verbs)):
        call.reading.operations.add(Operation.READ)
        return True
    call.reading.run(RunsCode.FETCHED if verb in ("get", "install", "mod", "work") else RunsCode.WORKSPACE)
    return True


def _compiler(call: Invocation) -> bool:
    """Compilers read sources and write objects; plug-ins, wrappers and response files run or hide more."""
    reading = call.reading
    output = False
    for word in call.words:
        text = word.text
        if _only_version(call):
            return True
        if output:
            reading.path(word, Access.WRITE)
            output = False
        elif text == "-o":
            output = True
        elif not word.fixed or text.startswith(
            ("-wrapper", "-fplugin", "@", "-B", "-specs", "-load", "-Wl", "-Xlinker", "-C")
        ):
            reading.run(RunsCode.WORKSPACE)
        elif not text.startswith("-"):
            reading.path(word, Access.READ)
    reading.operations |= {Operation.READ, Operation.WRITE}
    reading.run(RunsCode.WORKSPACE)
    return True


INTERPRETERS: Mapping[str, Special] = MappingProxyType(
    {
        "shell": _shell,
        "python": _python,
        "interpreter": _interpreter,
        "node": _node,
        "npm": _npm,
        "pip": _pip,
        "cargo": _cargo,
        "go": _go,
        "compiler": _compiler,
    }
)
