"""`python -m MODULE`: modules of the library as the programs that they are, tools, and modules of the project."""

import re
import sys
from dataclasses import replace
from itertools import pairwise

from shield.facts.beneath import Look
from shield.facts.paths import resolve_path
from shield.facts.programs.cleared import cleared
from shield.facts.programs.interpreted import arguments, script_and_rest
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.library import models
from shield.facts.programs.model import Use
from shield.facts.programs.python.files import FileUse
from shield.facts.programs.python.judged import as_computed, judge_python, stands_alone
from shield.facts.programs.python.library import LIBRARY, Does, Module
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import read_code, script_text
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["run_module"]


_TOOLS_TEXT = """
autopep8 bandit black coverage flake8 flit isort mkdocs mypy nose2 nox pip poetry pre_commit pycodestyle pydocstyle
pyflakes pylint pyright pytest ruff tox twine uv vulture yapf hatch pdm pipenv alembic celery flask gunicorn uvicorn
streamlit jupyter sphinx unittest conda pyupgrade autoflake semgrep yamllint sqlfluff codespell interrogate invoke
"""
_TOOLS = frozenset(_TOOLS_TEXT.split())
_FETCHING = frozenset(("ensurepip", "pipx", "uvx", "build"))
_UNISOLATED = ("-n", "--no-isolation")  # then it builds by what is installed
_MAX_DEEP = 4
# Names of the module in which timeit runs what it is given (Lib/timeit.py).
_TIMES = frozenset(
    ("Timer", "default_number", "default_repeat", "default_timer", "dummy_src_name", "gc", "itertools", "main",
     "reindent", "repeat", "sys", "template", "time", "timeit")
)  # fmt: skip


def run_module(call: Invocation, named: Value, words: list[Value], depth: int = 0) -> None:
    """Take `python -m NAMED words…` for what it does."""
    reading = call.reading
    if not named.fixed or depth > _MAX_DEEP:
        reading.run(RunsCode.WORKSPACE)
        reading.code = True
        return
    name = named.text.partition(".")[0]
    module = LIBRARY.get(named.text)
    own = _is_own(call, name)
    if module is not None and not own:
        _library(call, named.text, module, words, depth)
        return
    reading.run(RunsCode.WORKSPACE)
    if name == "keyring":
        reading.unknown.append("`python -m keyring` shows what the user keeps secret")
    if name in _FETCHING and not (name == "build" and any(word.text in _UNISOLATED for word in words)):
        reading.run(RunsCode.FETCHED)
        reading.ask(f"what `python -m {name}` fetches is pinned by nothing")
    elif name in sys.stdlib_module_names and name not in _TOOLS and not own:
        reading.unknown.append(f"what `python -m {named.text[:80]}` does is not known")
    if name in _TOOLS:
        _tool(call, name, words)
        return
    if name == "virtualenv" and any(word.text.startswith("--cl") for word in words):
        cleared(call, words, "python -m virtualenv --clear")
    if not own and any(_is_code(option, value) for option, value in pairwise(words)):
        reading.run(RunsCode.INLINE)
    _shown(call, named.text, words)
    arguments(call, words)


def _shown(call: Invocation, name: str, words: list[Value]) -> None:
    """What the file of a module of the project shows; it may be any on the path, and so allows nothing."""
    place, stem = call.context.place, name.replace(".", "/")
    for base in call.context.bases:
        for each in (f"./{stem}.py", f"./{stem}/__main__.py"):
            found = resolve_path(each, place, base=base, expand_tilde=False)
            text = script_text(found.path, place) if found.path is not None and found.exists else None
            if text is not None:
                read_code(call.reading, text, "python", "python", words, call.context, file=found.path)
                break


def _is_code(option: Value, value: Value) -> bool:
    """`-c CODE`, as IPython, xonsh and other modules that are installed take it."""
    return option.text in ("-c", "-e", "--code", "--command", "--eval", "--execute") and (
        not value.fixed or re.search(r"[\s();=]", value.text) is not None
    )


def _tool(call: Invocation, name: str, words: list[Value]) -> None:
    tool = {"pre_commit": "pre-commit", "sphinx": "sphinx-build"}.get(name, name)
    model = models().get(tool)
    if model is None:
        arguments(call, words)
        return
    call.read_as(tool, model, tuple(words))
    if call.reading.runs is RunsCode.FETCHED and _shadowed(call, name):
        call.reading.unknown.append(f"`{name}` may be the project's own module")


def _is_own(call: Invocation, name: str) -> bool:
    """Whether it surely is a module of the project, which stands before the library's."""
    place = call.context.place
    names = (f"./{name}.py", f"./{name}/__init__.py")
    return not call.arguments.has("-I", "-P") and all(
        any(resolve_path(each, place, base=base, expand_tilde=False).exists for each in names)
        for base in call.context.bases
    )


def _shadowed(call: Invocation, module: str) -> bool:
    """With `-m` the working directory is searched first (docs.python.org, "Command line": `-m`)."""
    place = call.context.place
    names = (f"./{module}", f"./{module}.py")
    found = [resolve_path(name, place, base=base, expand_tilde=False) for base in call.context.bases for name in names]
    return any(each.path is None or each.exists for each in found)


def _library(call: Invocation, name: str, module: Module, words: list[Value], depth: int) -> None:
    reading = call.reading
    match module.does:
        case Does.TELLS if stands_alone(call) and _tells(call, module, words):
            pass
        case Does.TIMES if (code := _statements(module, words)) is not None:
            judge_python(call, code, [], "-m", _TIMES, searches=True)  # Lib/timeit.py: `sys.path.insert(0, os.curdir)`
        case Does.TIMES | Does.PROMPTS:
            reading.run(RunsCode.INLINE)
            arguments(call, words)
        case Does.RUNS:
            _runs(call, name, module, words, depth)
        case Does.QUERIES:
            _queries(call, words)
        case Does.PACKS:
            _packs(call, name, module, words)
        case Does.ASKS if name == "http.server" and (folder := _served(words)) is not None:
            reading.run(RunsCode.WORKSPACE)
            reading.path(folder, Access.READ, recursive=True)
        case Does.ASKS:
            reading.run(RunsCode.WORKSPACE)
            reading.unknown.append(f"`python -m {name}` may serve files to others, or reach them")
            arguments(call, words)
        case _:
            _works(call, name, words)


def _served(words: list[Value]) -> Value | None:
    """The folder that http.server shows to this machine alone; None where its words may mean more."""
    folder, rest, bound = Value(text=".", head="."), list(words), ""
    while rest:
        word = rest.pop(0)
        name, joined, value = word.text.partition("=")
        if word.fixed and name in ("-b", "--bind", "-d", "--directory", "-p", "--protocol"):
            given = Value(text=value, head=value) if joined else rest.pop(0) if rest else None
            folder = given if given is not None and name in ("-d", "--directory") else folder
            bound = given.text if given is not None and given.fixed and name in ("-b", "--bind") else bound
        elif not word.fixed or not word.text.isdigit():
            return None
    return folder if bound in ("127.0.0.1", "::1", "localhost") else None


def _works(call: Invocation, name: str, words: list[Value]) -> None:
    reading = call.reading
    reading.run(RunsCode.WORKSPACE)
    texts = [word.text for word in words]
    if name == "venv" and any(text.startswith("--up") for text in texts):
        reading.run(RunsCode.FETCHED)
        reading.ask("what `python -m venv --upgrade-deps` fetches is pinned by nothing")
    elif name == "venv" and any(text.startswith("--c") for text in texts):
        cleared(call, words, "python -m venv --clear")
    elif name == "pydoc" and any(re.match(r"-w*[bpn]", text) for text in texts):
        reading.unknown.append("`python -m pydoc` may serve files to others")
    if name.startswith("unittest"):
        _tool(call, "unittest", words)
    else:
        arguments(call, words)


def _tells(call: Invocation, module: Module, words: list[Value]) -> bool:
    """Whether it does no more than print, with what it reads and writes added."""
    uses: list[FileUse] = []
    operands: list[Value] = []
    if any(word.text == "--" for word in words):
        return False  # what follows is no option
    rest = words
    while rest:  # argparse takes options behind operands, too
        split = module.split(rest)
        if split is None:
            return False
        operands += split[1][:1]
        rest = split[1][1:]
    if (module.most is not None and len(operands) > module.most) or not all(word.fixed for word in operands):
        return False
    if module.number:
        operands = [word for word in operands if not word.text.isdigit()]
        if operands:
            return False
    if module.beside and not operands:
        return False  # it takes names from its input, or all that Python finds
    if module.beside and not module.tree and any(not word.text.endswith(".py") for word in operands):
        return False  # it may take names from its input
    for at, word in enumerate(operands):
        if module.beside and module.tree and not word.text.endswith(".py"):
            uses.append(FileUse(word.text, Access.WRITE, recursive=True))
        elif module.beside:
            folder, _, name = word.text.rpartition("/")
            uses.append(FileUse(f"{folder or '.'}/__pycache__/{name}c", Access.WRITE))
        access = module.operands[min(at, len(module.operands) - 1)]
        if word.text != "-" and word.text:
            uses.append(FileUse(word.text, access, module.tree))
    as_computed(call, tuple(uses))
    return True


def _statements(module: Module, words: list[Value]) -> str | None:
    """The code of timeit: its setup, then its statements, each word a line; None where that is not known.

    What goes over the end of a line it would put together otherwise (`timeit.reindent`).
    """
    split = module.split(words)
    if split is None or not all(word.fixed for word in split[1]):
        return None
    setup = [*split[0].get("-s", []), *split[0].get("--setup", [])]
    lines = [word.text for word in (*setup, *(split[1] or [Value(text="pass")]))]
    if any("\n" in line or line.endswith("\\") or "'''" in line or '"""' in line for line in lines):
        return None
    return "\n".join(lines)


def _runs(call: Invocation, name: str, module: Module, words: list[Value], depth: int) -> None:
    """cProfile, trace and kin: options, then a script or `-m MODULE` with its own words."""
    reading = call.reading
    reading.run(RunsCode.WORKSPACE)
    if name == "runpy":
        if words:
            run_module(call, words[0], words[1:], depth + 1)
        return
    switch = "--module" if name == "trace" else "-m"
    inner = next((at for at, word in enumerate(words) if word.text == switch), None)
    split = module.split(words if inner is None else words[:inner])
    if split is not None and split[1]:
        inner = None  # it stands behind the script, which gets it
        split = module.split(words)
    if split is None:
        # an option that is not listed: what runs is somewhere in the words
        reading.run(RunsCode.INLINE)
        arguments(call, words)
        return
    for option, values in split[0].items():
        for value in values if option in module.writes else ():
            reading.path(value, Access.READ, Access.WRITE)
    if inner is not None and words[inner + 1 :]:
        run_module(call, words[inner + 1], words[inner + 2 :], depth + 1)
    elif split[1]:
        script_and_rest(call, split[1])


def _queries(call: Invocation, words: list[Value]) -> None:
    """sqlite3 [FILE [SQL]]: as the program of that name does it; without SQL it runs what it is fed."""
    reading = call.reading
    if len(words) == 2 and not any(word.text.startswith("-") for word in words) and stands_alone(call):
        as_computed(call, ())
        # the functions of the other's shell that a schema could call are not there
        call.read_as("sqlite3", replace(models()["sqlite3"], special=None, rest=Use.SQL), tuple(words))
        return
    reading.run(RunsCode.INLINE)
    arguments(call, words)


_EXTRACTS = regex(r"-v*e")  # in one word, the archive right behind
_LISTS = ("-l", "--list", "-t", "--test")
_MAKES = ("-c", "--create")


def _packs(call: Invocation, name: str, module: Module, words: list[Value]) -> None:
    """zipfile, tarfile: one option says what is done to the archive that it names. Links are kept by tarfile alone."""
    reading = call.reading
    texts = [word.text for word in words]
    verb = next((text for text in texts if text in (*_LISTS, *_MAKES)), None)
    if verb is None or module.flags.intersection(texts) or not all(word.fixed for word in words):
        reading.run(RunsCode.WORKSPACE)
        if any(text.startswith("--e") or _EXTRACTS.match(text) for text in texts):
            reading.unknown.append("which files and links the archive holds is not known")
            reading.reshapes = True
        arguments(call, words)
        return
    operands = [word for word in words if word.text != verb]
    if not operands or any(word.text.startswith("-") for word in operands) or not stands_alone(call):
        reading.run(RunsCode.WORKSPACE)
        arguments(call, words)
        return
    archive, *others = (word.text for word in operands)
    made = FileUse(archive, Access.READ if verb in _LISTS else Access.WRITE)
    look = Look(follows=True) if name == "zipfile" else None
    as_computed(call, (made, *(FileUse(text, Access.READ, recursive=True, look=look) for text in others)))
