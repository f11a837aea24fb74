"""Frameworks for the web, for databases and for queues: their verbs run the project's own code.

Words of theirs may be code: what names an application is called, `flask --app 'os:system("x")'`, and rake runs what
stands behind `-e`. So only options that an entry lists are taken for harmless, and only what names a module that lies
where the command is started.
"""

import re
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.coded import rake_tasks
from shield.facts.programs.interpreted import arguments
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import run_script
from shield.regex import regex
from shield.types import RunsCode

__all__ = ["FRAMEWORKS"]

_MODULE = regex(r"(?P<name>[A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*)?", re.ASCII)
_FILE = regex(r"(?:\./)?(?:[\w-]+/)*(?P<name>[A-Za-z_]\w*)\.py(?::[A-Za-z_]\w*)?", re.ASCII)
# They are imported before the application is, whatever lies where the command is started.
_LOADED_TEXT = """
alembic amqp anyio asgiref billiard blinker celery click click_didyoumean click_plugins click_repl colorama dotenv
flask flask_cors flask_migrate flask_sqlalchemy gevent greenlet gunicorn h11 httptools hypercorn idna itsdangerous
jinja2 kombu mako markupsafe packaging pip pkg_resources prompt_toolkit rich setuptools six sniffio sqlalchemy
starlette typer typing_extensions uvicorn uvloop vine watchfiles websockets werkzeug wsproto
"""
_LOADED = frozenset(_LOADED_TEXT.split())
# Variables in which their options stand as well, of which only these are looked at.
_STEERING = regex(r"(?:ALEMBIC|CELERY|FLASK|GUNICORN|HYPERCORN|JUPYTER|STREAMLIT|UVICORN)_\w+|RAKEOPT|THOR_\w+")
_PLAIN_VARIABLES = frozenset(("FLASK_APP", "FLASK_DEBUG", "FLASK_ENV", "FLASK_RUN_HOST", "FLASK_RUN_PORT"))
_SETTINGS = regex(r"[\w./-]+", re.ASCII)
_ENVIRONMENTS = frozenset(("test", "development"))
_ABSENT = regex(r"--(?:no|skip)-[a-z-]+")
# What rake takes for a task or for a variable; of variables those that lose no data.
_TASK = regex(
    r"[a-z_]\w*(?::\w+)*(?:\[[\w., -]*\])?|RAILS_ENV=(?:test|development)|VERBOSE=\w+|SEED=\d+",
    re.ASCII,
)
_NAMED_CLASS = regex(r"[A-Za-z]\w*:?[\w:{},!^-]*", re.ASCII)
_NOTEBOOKS = regex(r"[^*?\[]+|(?:[^*?\[]*/)?[^/]*\.ipynb")
_EXPORTER = regex(r"asciidoc|html|latex|markdown|notebook|python|rst|script|slides", re.ASCII)


def _app(call: Invocation) -> bool:
    """The options in front of the verb: one of them, or a variable, names the application."""
    _named(call, call.arguments.values("-A", "--app"))
    return False


def _server(call: Invocation) -> bool:
    """uvicorn and kin: the operand names it."""
    _named(call, call.operands[:1])
    _verb(call)
    settings = call.arguments.values("-c", "--config", "--log-config")
    # `python:MODULE` is one, too
    if len(call.operands) != 1 or not all(_SETTINGS.fullmatch(value.text) for value in settings):
        call.reading.run(RunsCode.INLINE)
    return True


def _verb(call: Invocation) -> bool:
    """The project's own code runs, with these words."""
    foreign = [name for name in call.arguments.foreign if not _ABSENT.fullmatch(name)]
    if foreign or any(not word.fixed for word in call.words) or _steered(call):
        call.reading.run(RunsCode.INLINE)
    arguments(call, call.operands)
    for pattern, why in call.model.guarded.items():
        if any(fnmatchcase(word.text, pattern) for word in call.operands):
            call.reading.ask(f"`{call.name[:80]}`: {why}")
    return True


def _tasks(call: Invocation) -> bool:
    """The verb of rails that this is, or a task, and more of them."""
    _verb(call)
    verb = call.name.partition(" ")[2]
    rake_tasks(call, [Value(text=verb, head=verb), *call.operands])
    if not all(_TASK.fullmatch(word.text) for word in call.operands):
        call.reading.run(RunsCode.INLINE)
    return True


def _generated(call: Invocation) -> bool:
    _verb(call)
    if not all(_NAMED_CLASS.fullmatch(word.text) for word in call.operands):
        call.reading.run(RunsCode.INLINE)
    return True


def _page(call: Invocation) -> bool:
    """streamlit run: a script of the workspace; it takes an address, too."""
    _verb(call)
    script = call.operands[0] if call.operands else None
    if script is None or not _FILE.fullmatch(script.text):
        call.reading.run(RunsCode.INLINE)
        return True
    call.reading.use(Use.SCRIPT, script)
    run_script(call.reading, script, "python", call.operands[1:], call.context)
    return True


def _converted(call: Invocation) -> bool:
    """jupyter nbconvert: with `--execute` it runs the notebooks."""
    _verb(call)
    # It matches patterns itself, and shows how a file begins that is no notebook.
    named = all(_NOTEBOOKS.fullmatch(word.text) for word in call.operands)
    if not named or not all(_EXPORTER.fullmatch(value.text) for value in call.arguments.values("--to")):
        call.reading.run(RunsCode.INLINE)
    return True


def _steered(call: Invocation) -> bool:
    names = {**call.context.place.env, **call.context.told}
    if any(names.get(name, "test") not in _ENVIRONMENTS for name in ("RAILS_ENV", "RACK_ENV")):
        return True
    return any(_STEERING.fullmatch(name) and name not in _PLAIN_VARIABLES for name in names)


def _named(call: Invocation, values: list[Value]) -> None:
    """Whether each names a module of the workspace. Others have functions that read their own code from the words of
    the command or from what it is fed: `timeit:main`, `code:interact`."""
    told = call.context.told.get("FLASK_APP") if call.name == "flask" else None
    values = [*values, *([Value(text=told)] if told is not None else [])]
    if call.context.piped or not all(value.fixed and _lies_here(value.text, call) for value in values):
        call.reading.run(RunsCode.INLINE)


def _lies_here(text: str, call: Invocation) -> bool:
    file = _FILE.fullmatch(text)
    found = file or _MODULE.fullmatch(text)
    if found is None or found["name"] in sys.stdlib_module_names or found["name"] in _LOADED:
        return False
    place = call.context.place
    module = text.partition(":")[0]
    stem = module.replace(".", "/")
    # A directory without `__init__.py` stands behind what is installed by its name (PEP 420).
    names = (module,) if file else (f"{stem}.py", f"{stem}/__init__.py")
    for base in call.context.bases:
        stats = [resolve_path(f"./{name}", place, base=base, expand_tilde=False).stat for name in names]
        if not any(stat is not None and stat.kind is FileKind.FILE for stat in stats):
            return False
    return True


FRAMEWORKS: Mapping[str, Special] = MappingProxyType(
    {
        "app": _app,
        "server": _server,
        "verb": _verb,
        "tasks": _tasks,
        "generated": _generated,
        "page": _page,
        "converted": _converted,
    }
)
