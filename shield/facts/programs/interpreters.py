"""Interpreters: whose code would run, and what it is pointed to."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.leading import mention_value
from shield.facts.programs.mention import mention
from shield.facts.programs.model import Use, models
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.types import Access, Operation, RunsCode

__all__ = ["INTERPRETERS"]

_VERSION = frozenset(["--version", "-V", "-VV", "--help", "-h"])


def _only_version(call: Invocation) -> bool:
    return bool(call.words) and all(word.fixed and word.text in _VERSION for word in call.words)


def _standard_input(call: Invocation) -> None:
    """An interpreter without a script runs what it is fed."""
    call.reading.run(RunsCode.FETCHED if call.context.fetched else RunsCode.INLINE)
    if call.context.fetched:
        call.reading.unknown.append(f"what `{call.name[:80]}` is fed comes from elsewhere")


def _script_and_rest(call: Invocation, operands: list[Value]) -> None:
    if not operands or (operands[0].fixed and operands[0].text == "-"):
        _standard_input(call)
        return
    call.reading.use(Use.SCRIPT, operands[0])
    if not operands[0].fixed:
        call.reading.code = True
    _arguments(call, operands[1:])


def _arguments(call: Invocation, words: list[Value]) -> None:
    """What a script is given: it may read or write whatever the words name."""
    for word in words:
        dashed = (word.text if word.fixed else word.head).startswith("-")
        mention(call, word, Access.READ, *(() if dashed else (Access.WRITE,)))


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


_TOOLS_TEXT = """
autopep8 bandit black coverage flake8 flit isort mkdocs mypy nose2 nox pip poetry pre_commit pycodestyle pydocstyle
pyflakes pylint pyright pytest ruff tox twine uv vulture yapf hatch pdm pipenv alembic celery flask gunicorn uvicorn
streamlit jupyter sphinx unittest conda pyupgrade autoflake semgrep yamllint sqlfluff codespell interrogate invoke
"""
_TOOLS = frozenset(_TOOLS_TEXT.split())
_FETCHING = frozenset(("ensurepip", "pipx", "uvx", "build"))


def _values(call: Invocation) -> None:
    """Values of options that are no code and no script may still lead out (`-X pycache_prefix=/x`)."""
    for option, value in call.arguments.given:
        if option.value is Use.TEXT:
            mention_value(call.reading, value, home=call.context.place.home)


def _python(call: Invocation) -> bool:
    arguments = call.arguments
    _values(call)
    if _only_version(call):
        return True
    if arguments.foreign or arguments.has("-i"):
        call.reading.run(RunsCode.INLINE)
    if arguments.has("-c"):
        _arguments(call, call.operands)
        return True
    modules = arguments.values("-m")
    if modules:
        _module(call, modules[0], call.operands)
        return True
    _script_and_rest(call, call.operands)
    return True


def _module(call: Invocation, module: Value, words: list[Value]) -> None:
    """`python -m`: a tool's module does what its program does; any other is code of the project or what it uses."""
    reading = call.reading
    reading.run(RunsCode.WORKSPACE)
    if not module.fixed:
        reading.code = True
        return
    name = module.text.partition(".")[0]
    tool = {"pre_commit": "pre-commit", "sphinx": "sphinx-build"}.get(name, name)
    model = models().get(tool) if name in _TOOLS else None
    if name in _FETCHING:
        reading.run(RunsCode.FETCHED)
        reading.unknown.append(f"what `python -m {name}` fetches is pinned by nothing")
    elif name in ("timeit", "pdb", "profile", "cProfile", "trace", "runpy", "code", "asyncio", "idlelib"):
        # These run a statement or a script that is given.
        reading.run(RunsCode.INLINE if name in ("timeit", "code", "pdb", "asyncio") else RunsCode.WORKSPACE)
    elif module.text in ("http.server", "smtpd", "pydoc", "xmlrpc.server"):
        reading.unknown.append(f"`python -m {module.text}` may serve files to others")
    if model is not None:
        call.read_as(tool, model, tuple(words))
        if reading.runs is RunsCode.FETCHED and _shadowed(call, name):
            reading.unknown.append(f"`{name}` may be the project's own module")
        return
    _arguments(call, words)


def _shadowed(call: Invocation, module: str) -> bool:
    """With `-m` the working directory is searched first (docs.python.org, "Command line": `-m`)."""
    place = call.context.place
    names = (f"./{module}", f"./{module}.py")
    found = [resolve_path(name, place, base=base, expand_tilde=False) for base in call.context.bases for name in names]
    return any(each.path is None or each.exists for each in found)


def _coverage(call: Invocation) -> bool:
    """coverage run: a script or a module, as python runs it."""
    _values(call)
    modules = call.arguments.values("-m", "--module")
    if modules:
        _module(call, modules[0], call.operands)
    else:
        _script_and_rest(call, call.operands)
    return True


def _interpreter(call: Invocation) -> bool:
    """perl, ruby, php and kin: inline code where an option gives it, else a script."""
    if _only_version(call):
        return True
    inline = any(option.value is Use.CODE for option, _ in call.arguments.given)
    # An option that is not known, or that loads a module or changes files in place, may bring code along.
    if inline or call.arguments.foreign or call.arguments.has("-i", "-M", "-m", "-d", "-S", "-B", "-R", "-E", "-a"):
        call.reading.run(RunsCode.INLINE)
    for option, value in call.arguments.given:
        if value is not None and option.value is Use.TEXT:
            mention(call, value)
    if inline:
        _arguments(call, call.operands)
    elif any(option.value is Use.SCRIPT for option, _ in call.arguments.given):
        call.reading.run(RunsCode.WORKSPACE)
        _arguments(call, call.operands)
    else:
        _script_and_rest(call, call.operands)
    return True


def _node(call: Invocation) -> bool:
    arguments = call.arguments
    if _only_version(call) or (arguments.has("-v") and not call.operands):
        return True
    call.reading.run(RunsCode.WORKSPACE)
    _values(call)
    if arguments.foreign:
        call.reading.run(RunsCode.INLINE)
    inline = any(option.value is Use.CODE for option, _ in arguments.given)
    given = any(option.name in ("-c", "--check") for option, _ in arguments.given)
    if inline or given or (not call.operands and arguments.has("--test", "--run")):
        _arguments(call, call.operands)
        return True
    _script_and_rest(call, call.operands)
    return True


def _deno(call: Invocation) -> bool:
    """deno: only formatting and checking its own files fetches nothing that a script imports."""
    verb = call.words[0].text if call.words and call.words[0].fixed else ""
    call.reading.run(RunsCode.WORKSPACE if verb in ("fmt", "lint") or _only_version(call) else RunsCode.FETCHED)
    if call.reading.runs is RunsCode.FETCHED:
        call.reading.unknown.append("what `deno` fetches is pinned by nothing")
    _arguments(call, list(call.words[1:]))
    return True


def _java(call: Invocation) -> bool:
    if _only_version(call) or all(word.fixed and word.text in ("-version", "--version") for word in call.words):
        return True
    call.reading.run(RunsCode.WORKSPACE)
    if call.arguments.foreign and any(not flag.startswith(("-X", "-D")) for flag in call.arguments.foreign):
        call.reading.run(RunsCode.INLINE)
    _arguments(call, list(call.words))
    return True


INTERPRETERS: Mapping[str, Special] = MappingProxyType(
    {
        "shell": _shell,
        "python": _python,
        "coverage_run": _coverage,
        "interpreter": _interpreter,
        "node": _node,
        "deno": _deno,
        "java": _java,
    }
)
