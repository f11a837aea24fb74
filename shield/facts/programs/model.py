"""What is known of a program: which options it has, and what its arguments make it read, write, send or run.

The data stands in `*.yaml` beside this module (`schema.json` is its JSON Schema), one mapping from names (several,
blank-separated) to an entry:

    does:      operations of every invocation, blank-separated; `network` without a host means the program's own service
    flags:     options without a value, blank-separated
    values:    options with a value: {"-n --lines": USE}; a USE ending in `!` takes the place of the first operand
    optional:  options whose value may only be joined (`--color=always`, `-i.bak`): {"--color": USE}
    recursive: options that make path operands recursive
    tells:     options and subcommands that, as the only word, make the program tell about itself and end
    adds:      operations that an option adds: {"-i": write}
    runs:      what kind of code an option makes it run: {"--pre": inline}
    questions: why an option, or an operand by a pattern, leaves the rest to a person: {"--raw *secret*": it shows them}
    first:     uses of the leading operands, blank-separated; rest: of all others; last: of the last one of several
    default:   the operand where none is given
    fewer:     why it is left to a person if nothing follows the `first` operands (`its input is run`)
    runs_code: what kind of code every invocation runs
    ends:      options after which, and whose value, everything is operands
    asks:      why nobody but a person can tell what an invocation leads to (`what it sends, others see`)
    mode:      `leading` (options end at the first operand), `words` (`-name` is one option), `digits` (`-10`),
               `tree` (paths are always recursive), `steady` (no option changes what kind of things it does), `bundle`
               (the first operand is a cluster), `open` (options that are not listed, and operands, are looked
               through for paths), `verbs` (a subcommand or choice that is not listed asks), `shared` (its options hold
               after a subcommand, too), `params` (long options that are not listed take values, as `param`),
               `response` (an operand `@FILE` stands for the words in that file), `elsewhere` (the command that it
               runs is started on another machine, or sees another root)
    special:   the name of the reader in code that completes the entry
    subcommands: entries by the first operand, with which the options before it end (unless `open`); a name with `*` is
               a pattern, the longest one counts; `same: NAME` repeats another entry of the same mapping
    choices:   entries by the one option that says what is to be done (`dpkg -l`); they say what the operands are

An option that is not in its program's entry makes the invocation cautious: it may do anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from shield.types import Operation, RunsCode

__all__ = ["ALL_OPERATIONS", "Model", "Option", "Use", "load_models", "models"]

# What a program that is not known may do.
ALL_OPERATIONS = frozenset({Operation.EXECUTE, Operation.READ, Operation.WRITE, Operation.NETWORK, Operation.DELETE})
_MODES_TEXT = "leading words digits tree steady bundle open verbs shared params response elsewhere"
_MODES = frozenset(_MODES_TEXT.split())
_TEXTS_TEXT = "does flags recursive tells first rest last default fewer runs_code ends asks mode special same"
_TEXTS = frozenset(_TEXTS_TEXT.split())
_TABLES = frozenset(("values", "optional", "adds", "runs", "questions"))
_ENTRIES = frozenset(("subcommands", "choices"))
_NOBODY: Mapping[str, str] = MappingProxyType({})


class Use(StrEnum):
    """What an argument is to its program."""

    TEXT = "text"
    READ = "read"
    WRITE = "write"
    EDIT = "edit"  # read and written
    MOVE = "move"  # read and deleted
    DELETE = "delete"
    LIST = "list"
    TREE = "tree"  # read with all beneath
    NAMES = "names"  # read for the names of further files
    CHDIR = "chdir"  # later relative paths start there
    HOST = "host"
    URL = "url"
    SOURCE = "source"  # a URL, else a path that is read
    LABEL = "label"  # becomes a part of a host's name
    REPOSITORY = "repository"  # `OWNER/NAME` at the program's own service, `HOST/OWNER/NAME` or a URL
    MOUNT = "mount"  # `PATH:…` or `type=bind,source=PATH,…`: a tree of this machine that another one sees
    PARAM = "param"  # text, or a file's content: `@PATH`, `file://PATH`, `fileb://PATH`, after `=`, too; `x-file=PATH`
    SQL = "sql"  # statements for a database
    DATABASE = "database"  # its name, URI or connection string
    SHELL = "shell"  # a string that a shell runs
    COMMAND = "command"  # this and all that follows is a command
    PROGRAM = "program"  # a program's name, with or without arguments
    CODE = "code"  # code of another language
    SCRIPT = "script"  # a file that is run
    ANY = "any"  # not known: read and written where it looks like a path


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. `value` is None where it takes none; `joined`: only in the same word."""

    name: str
    value: Use | None = None
    joined: bool = False
    spares_first: bool = False
    recursive: bool = False
    adds: frozenset[Operation] = frozenset()
    runs: RunsCode = RunsCode.NONE
    asks: str | None = None
    ends: bool = False


_NO_OPTIONS: Mapping[str, Option] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    name: str
    does: frozenset[Operation] = frozenset()
    options: Mapping[str, Option] = field(default_factory=lambda: _NO_OPTIONS)
    tells: frozenset[str] = frozenset()
    first: tuple[Use, ...] = ()
    rest: Use = Use.TEXT
    last: Use | None = None
    default: str | None = None
    fewer: str | None = None
    runs: RunsCode = RunsCode.NONE
    leading: bool = False
    words: bool = False
    digits: bool = False
    tree: bool = False
    steady: bool = False
    bundle: bool = False
    open: bool = False
    verbs: bool = False
    shared: bool = False
    params: bool = False
    response: bool = False
    elsewhere: bool = False
    asks: str | None = None
    guarded: Mapping[str, str] = field(default_factory=lambda: _NOBODY)
    special: str | None = None
    subcommands: "Mapping[str, Model] | None" = None
    choices: "Mapping[str, Model] | None" = None

    def sub(self, name: str) -> "Model | None":
        """The subcommand of this name, else the one whose pattern is the longest that matches."""
        subcommands = self.subcommands or {}
        found = subcommands.get(name)
        if found is None:
            matching = [key for key in subcommands if "*" in key and fnmatchcase(name, key)]
            found = subcommands[max(matching, key=len)] if matching else None
        return found


@cache
def models() -> Mapping[str, Model]:
    """The shipped models by program name."""
    found: dict[str, Model] = {}
    for entry in sorted(files(__package__).iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".yaml"):
            loaded = load_models(entry.read_text("utf-8"), entry.name)
            twice = found.keys() & loaded.keys()
            if twice:
                raise ValueError(f"{entry.name}: described twice: {sorted(twice)}")
            found.update(loaded)
    return MappingProxyType(found)


def load_models(text: str, source: str) -> Mapping[str, Model]:
    """The models of one file of the package.

    Raises:
        ValueError: an entry that does not fit the schema above; the message names file and entry.
    """
    try:
        data = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"{source}: no YAML: {error}") from error
    return MappingProxyType(_entries(data, source, _NO_OPTIONS))


def _entries(data: object, source: str, shared: Mapping[str, Option]) -> dict[str, Model]:
    if not isinstance(data, dict):
        raise ValueError(f"{source}: not a mapping")
    found: dict[str, Model] = {}
    for names, given in data.items():
        if not isinstance(names, str) or not isinstance(given, dict | None):
            raise ValueError(f"{source}: `{names}` has no mapping")
        entry = given or {}
        if isinstance(entry.get("same"), str):
            like = next((value for key, value in data.items() if entry["same"] in str(key).split()), None)
            if like is None:
                raise ValueError(f"{source}: `{names}` is the same as `{entry['same']}`, which is not there")
            entry = {**like, **{key: value for key, value in entry.items() if key != "same"}}
        model: Model | None = None
        for name in names.split():
            if name in found:
                raise ValueError(f"{source}: `{name}` is described twice")
            model = _model(name, entry, f"{source}: {names}", shared) if model is None else replace(model, name=name)
            found[name] = model
    return found


def _model(name: str, entry: dict[str, Any], source: str, shared: Mapping[str, Option]) -> Model:
    _check(entry, source)
    mode = set(entry.get("mode", "").split())
    if "subcommands" in entry and "open" not in mode:
        mode.add("leading")  # what follows a subcommand is its own to read
    unknown = mode - _MODES
    if unknown:
        raise ValueError(f"{source}: unknown mode {sorted(unknown)}")
    try:
        own = _options(entry, source)
        options = MappingProxyType({**shared, **own} if shared else own)
        inner = options if "shared" in mode else _NO_OPTIONS
        sub, choices = entry.get("subcommands"), entry.get("choices")
        return Model(
            name=name,
            does=_operations(entry.get("does", "")),
            options=options,
            tells=frozenset(entry.get("tells", "").split()),
            first=tuple(Use(use) for use in entry.get("first", "").split()),
            rest=Use(entry.get("rest", "text")),
            last=Use(entry["last"]) if "last" in entry else None,
            default=entry.get("default"),
            fewer=entry.get("fewer"),
            runs=RunsCode(entry.get("runs_code", "none")),
            asks=entry.get("asks"),
            guarded=_guarded(entry["questions"]) if "questions" in entry else _NOBODY,
            special=entry.get("special"),
            subcommands=MappingProxyType(_entries(sub, source, inner)) if sub is not None else None,
            choices=MappingProxyType(_entries(choices, source, inner)) if choices is not None else None,
            **dict.fromkeys(mode, True),
        )
    except ValueError as error:
        text = str(error)
        raise error if text.startswith(source) else ValueError(f"{source}: {text}") from error


def _guarded(questions: Mapping[str, str]) -> Mapping[str, str]:
    """The patterns of operands among the questions."""
    return MappingProxyType(
        {name: why for names, why in questions.items() for name in names.split() if not name.startswith("-")}
    )


def _check(entry: dict[str, Any], source: str) -> None:
    """Keys and the types of their values."""
    for key, value in entry.items():
        if key in _TEXTS:
            fits = isinstance(value, str)
        elif key in _TABLES:
            fits = isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)
        elif key in _ENTRIES:
            fits = isinstance(value, dict)
        else:
            raise ValueError(f"{source}: unknown key `{key}`")
        if not fits:
            raise ValueError(f"{source}: the value of `{key}` has a wrong type")


def _options(entry: dict[str, Any], source: str) -> dict[str, Option]:
    options: dict[str, dict[str, Any]] = {}
    defined: set[str] = set()

    def put(names: str, *, defines: bool = False, **changes: Any) -> None:
        for option in names.split():
            if not option.startswith(("-", "+")):
                raise ValueError(f"{source}: `{option}` is no option")
            if defines and option in defined:
                raise ValueError(f"{source}: `{option}` is listed twice")
            if defines:
                defined.add(option)
            options.setdefault(option, {}).update(changes)

    put(entry.get("flags", ""), defines=True)
    for names, use in entry.get("values", {}).items():
        put(names, defines=True, value=Use(use.rstrip("!")), spares_first=use.endswith("!"))
    for names, use in entry.get("optional", {}).items():
        put(names, defines=True, value=Use(use), joined=True)
    put(entry.get("recursive", ""), defines=True, recursive=True)
    for names, operations in entry.get("adds", {}).items():
        put(names, adds=_operations(operations))
    for names, kind in entry.get("runs", {}).items():
        put(names, runs=RunsCode(kind))
    for names, why in entry.get("questions", {}).items():
        put(" ".join(name for name in names.split() if name.startswith("-")), asks=why)
    put(entry.get("ends", ""), ends=True)
    for name in entry.get("choices") or {}:
        put(name)
    return {key: Option(name=key, **value) for key, value in options.items()}


def _operations(text: str) -> frozenset[Operation]:
    return frozenset(Operation(word) for word in text.split())
