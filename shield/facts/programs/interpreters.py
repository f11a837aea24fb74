"""Interpreters: whose code would run, and what it is pointed to."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Context, Invocation, Special
from shield.facts.programs.leading import mention_value
from shield.facts.programs.mention import mention
from shield.facts.programs.model import Use, models
from shield.facts.programs.node_proof import node_proven
from shield.facts.programs.perl_proof import perl_proven, plain_operand
from shield.facts.programs.python_proof import Proof, proven, runs_alone
from shield.facts.programs.reading import Nested, NestedKind, Value
from shield.facts.programs.scripts import language_of, read_code, run_script
from shield.types import Access, Operation, RunsCode

__all__ = ["INTERPRETERS"]

_VERSION = frozenset(["--version", "-V", "-VV", "--help", "-h"])


def _only_version(call: Invocation) -> bool:
    return bool(call.words) and all(word.fixed and word.text in _VERSION for word in call.words)


def _standard_input(call: Invocation) -> None:
    """An interpreter without a script runs what it is fed."""
    text = call.context.stdin
    if text is not None and call.context.whole and language_of(call.name) == "python" and not call.context.fetched:
        _judge_python(call, text, call.operands[1:], "-")
        return
    call.reading.run(RunsCode.FETCHED if call.context.fetched else RunsCode.INLINE)
    if text is not None and language_of(call.name) not in (None, "sh"):
        _inline(call, text, call.operands[1:])
    if call.context.fetched:
        call.reading.unknown.append(f"what `{call.name[:80]}` is fed comes from elsewhere")


def _script_and_rest(call: Invocation, operands: list[Value]) -> None:
    if not operands or (operands[0].fixed and operands[0].text == "-"):
        _standard_input(call)
        return
    call.reading.use(Use.SCRIPT, operands[0])
    if not operands[0].fixed:
        call.reading.code = True
    run_script(call.reading, operands[0], call.name, operands[1:], call.context)
    _arguments(call, operands[1:])


def _inline(call: Invocation, code: str, words: list[Value]) -> None:
    language = language_of(call.name)
    if language is not None:
        read_code(call.reading, code, language, call.name, words, call.context)


def _given_code(call: Invocation) -> None:
    """What `-e CODE` and its kin show."""
    for option, value in call.arguments.given:
        if option.value is Use.CODE and value is not None and value.fixed:
            _inline(call, value.text, call.operands)


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
        if option.value is Use.TEXT and option.name != "-c":
            mention_value(call.reading, value, home=call.context.place.home)


def _python(call: Invocation) -> bool:
    arguments = call.arguments
    _values(call)
    if _only_version(call):
        return True
    if arguments.foreign or arguments.has("-i"):
        call.reading.run(RunsCode.INLINE)
    if arguments.has("-c"):
        _python_code(call)
        return True
    modules = arguments.values("-m")
    if modules:
        _module(call, modules[0], call.operands)
        return True
    _script_and_rest(call, call.operands)
    return True


_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?\Z")
_QUIET_FLAGS = frozenset("-c -B -E -s -S -I -P -u -q -b -bb -O -OO".split())  # noqa: SIM905


def _python_code(call: Invocation) -> None:
    """`python -c`: where it surely does no more than compute, print and read what it names, that is all."""
    reading, arguments = call.reading, call.arguments
    codes = arguments.values("-c")
    if not codes or not codes[0].fixed:
        reading.run(RunsCode.INLINE)
        _arguments(call, call.operands)
        return
    _judge_python(call, codes[0].text, call.operands, "-c")


def _judge_python(call: Invocation, code: str, words: list[Value], name: str) -> None:
    """Python code that the line holds, run with `words` and `name` before them for its arguments."""
    reading, arguments = call.reading, call.arguments
    plain = not (arguments.foreign or reading.loose) and all(
        option.name in _QUIET_FLAGS for option, _ in arguments.given
    )
    given = (name, *(word.text if word.fixed else None for word in words))
    proof = proven(code, given, lambda name: _projects_own(call, name)) if plain and _PYTHON.match(call.name) else None
    if proof is not None and _alone(call):
        _as_proven(call, proof, words)
    else:
        reading.run(RunsCode.INLINE)
        _arguments(call, words)
        proof = None
    if proof is None or proof.modules:
        _inline(call, code, words)


def _as_proven(call: Invocation, proof: Proof, words: list[Value]) -> None:
    reading = call.reading
    # The table knows only that an option brings code.
    reading.runs = RunsCode.NONE
    reading.operations = {Operation.EXECUTE}
    if proof.modules:
        reading.run(RunsCode.WORKSPACE)
        _arguments(call, words)
    for text in proof.reads:
        reading.path(Value(text=text, head=text), Access.READ)
    for text in proof.looks:
        reading.path(Value(text=text, head=text), Access.LIST)
    if not proof.modules and not call.arguments.has("-I"):
        # It holds as long as nothing in the directory takes the name of a module.
        reading.path(Value(text=".", head="."), Access.EXECUTE)


def _alone(call: Invocation) -> bool:
    isolated, place = call.arguments.has("-I"), call.context.place
    return all(runs_alone(base, place, isolated=isolated) for base in call.context.bases)


def _projects_own(call: Invocation, module: str) -> bool:
    """Whether the project has a module of this name where it is started, or in `src`."""
    place = call.context.place
    names = [f"./{folder}{module}{end}" for folder in ("", "src/") for end in (".py", "/__init__.py", "")]
    found = [resolve_path(name, place, base=base, expand_tilde=False) for base in call.context.bases for name in names]
    roots = tuple(root.rstrip("/") + "/" for root in place.workspace_roots)
    return any(each.exists and each.path is not None and each.path.startswith(roots) for each in found)


# Modules of the library that read or print when they are run, by their own arguments alone.
_TELLING = frozenset(("json.tool", "site", "calendar"))
_TELLING_FLAGS = frozenset("--sort-keys --no-ensure-ascii --json-lines --indent --tab --no-indent --compact -".split())  # noqa: SIM905


def _module(call: Invocation, module: Value, words: list[Value]) -> None:
    """`python -m`: a tool's module does what its program does; any other is code of the project or what it uses."""
    reading = call.reading
    if not (module.fixed and module.text in _TELLING):
        reading.run(RunsCode.WORKSPACE)
    if not module.fixed:
        reading.code = True
        return
    name = module.text.partition(".")[0]
    if module.text in _TELLING and _PYTHON.match(call.name) and _tells(call, module.text, words):
        return
    reading.run(RunsCode.WORKSPACE)
    tool = {"pre_commit": "pre-commit", "sphinx": "sphinx-build"}.get(name, name)
    model = models().get(tool) if name in _TOOLS else None
    if name in _FETCHING:
        reading.run(RunsCode.FETCHED)
        reading.unknown.append(f"what `python -m {name}` fetches is pinned by nothing")
    elif name in ("timeit", "pdb", "profile", "cProfile", "trace", "runpy", "code", "asyncio", "idlelib"):
        # These run a statement or a script that is given.
        reading.run(RunsCode.INLINE if name in ("timeit", "code", "pdb", "asyncio") else RunsCode.WORKSPACE)
        for word in words if name == "timeit" else ():
            if word.fixed:
                _inline(call, word.text, [])
    elif module.text in ("http.server", "smtpd", "pydoc", "xmlrpc.server"):
        reading.unknown.append(f"`python -m {module.text}` may serve files to others")
    if model is not None:
        call.read_as(tool, model, tuple(words))
        if reading.runs is RunsCode.FETCHED and _shadowed(call, name):
            reading.unknown.append(f"`{name}` may be the project's own module")
        return
    _arguments(call, words)


def _tells(call: Invocation, module: str, words: list[Value]) -> bool:
    """json.tool [INPUT [OUTPUT]] and its kin, where nothing in the directory stands in for them."""
    plain = all(option.name in (*_QUIET_FLAGS, "-m") for option, _ in call.arguments.given)
    if call.arguments.foreign or not plain or not all(word.fixed for word in words) or not _alone(call):
        return False
    before = (None, *words)[: len(words)]
    operands = [
        word
        for word, last in zip(words, before, strict=True)
        if not word.text.startswith("-") and not (last is not None and last.text == "--indent" and word.text.isdigit())
    ]
    if any(word.text.startswith("-") and word.text not in _TELLING_FLAGS for word in words) or len(operands) > 2:
        return False
    reading = call.reading
    reading.operations = {Operation.EXECUTE}
    for word, access in zip(operands if module == "json.tool" else [], (Access.READ, Access.WRITE), strict=False):
        reading.path(word, access)
    if not call.arguments.has("-I"):
        reading.path(Value(text=".", head="."), Access.EXECUTE)
    return True


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
    if call.name == "perl" and _perl_tells(call):
        return True
    # An option that is not known, or that loads a module or changes files in place, may bring code along.
    if inline or call.arguments.foreign or call.arguments.has("-i", "-M", "-m", "-d", "-S", "-B", "-R", "-E", "-a"):
        call.reading.run(RunsCode.INLINE)
    for option, value in call.arguments.given:
        if value is not None and option.value is Use.TEXT:
            mention(call, value)
    if inline:
        _given_code(call)
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
    if inline and _node_tells(call):
        return True
    if inline or given or (not call.operands and arguments.has("--test", "--run")):
        _given_code(call)
        _arguments(call, call.operands)
        return True
    _script_and_rest(call, call.operands)
    return True


_NODE_QUIET = frozenset(("-e", "--eval", "-p", "--print"))


def _node_tells(call: Invocation) -> bool:
    """`node -e`, `-p`: where the code surely does no more than compute, print and read what it names."""
    reading, context = call.reading, call.context
    codes = [value for option, value in call.arguments.given if option.value is Use.CODE]
    plain = all(option.name in _NODE_QUIET for option, _ in call.arguments.given)
    if len(codes) != 1 or codes[0] is None or not (codes[0].fixed and plain) or call.arguments.foreign or reading.loose:
        return False
    proof = node_proven(codes[0].text) if call.name in ("node", "nodejs") else None
    steered = any(name.startswith("NODE_") and name != "NODE_ENV" for name in context.place.env)
    if proof is None or steered or not all(_is_json(context, name) for name in proof.requires):
        return False
    reading.runs = RunsCode.NONE
    reading.operations = {Operation.EXECUTE}
    for text in (*proof.reads, *proof.requires):
        reading.path(Value(text=text, head=text), Access.READ)
    for text in proof.looks:
        reading.path(Value(text=text, head=text), Access.LIST)
    for text in proof.requires:
        # a link in its place, or a directory, would be run by what it leads to
        reading.path(Value(text=text, head=text), Access.EXECUTE)
    return True


def _is_json(context: Context, name: str) -> bool:
    """Node follows links first and then goes by the name of the file: of a directory it runs the code in it."""
    found = [resolve_path(name, context.place, base=base, expand_tilde=False) for base in context.bases]
    return all(
        each.stat is not None and each.stat.kind is FileKind.FILE and (each.path or "").endswith(".json")
        for each in found
    )


_PERL_QUIET = frozenset(("-n", "-p", "-l", "-a", "-w", "-e", "-E", "-0", "-F", "-i"))


def _perl_tells(call: Invocation) -> bool:
    """`perl -ne`, `-pe`: filters that read the files they are given, and with `-i` change them."""
    reading, arguments = call.reading, call.arguments
    codes = [value for option, value in arguments.given if option.name in ("-e", "-E")]
    if not codes or not all(code is not None and code.fixed and perl_proven(code.text) for code in codes):
        return False
    plain = all(option.name in _PERL_QUIET for option, _ in arguments.given)
    splits = all(value.fixed and re.fullmatch(r"[\w:,;|/ .-]*", value.text) for value in arguments.values("-F", "-0"))
    named = all(word.fixed and plain_operand(word.text) for word in call.operands)
    steered = any(name.startswith("PERL") for name in call.context.place.env)
    if arguments.foreign or reading.loose or steered or not (plain and splits and named):
        return False
    suffixes = arguments.values("-i")
    if not all(value.fixed and re.fullmatch(r"[\w.~-]*", value.text) for value in suffixes):
        return False
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
    call.reading.run(RunsCode.WORKSPACE if verb in ("fmt", "lint") or _only_version(call) else RunsCode.FETCHED)
    if call.reading.runs is RunsCode.FETCHED:
        call.reading.unknown.append("what `deno` fetches is pinned by nothing")
    for word in call.words[1:] if verb == "eval" else ():
        if word.fixed and not word.text.startswith("-"):
            _inline(call, word.text, [])
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
