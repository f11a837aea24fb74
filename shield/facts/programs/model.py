"""What is known of a program: which options it has, and what its arguments make it read, write, send or run.

The data stands in `*.yaml` beside this module, one mapping from names (several, blank-separated) to an entry:

    does:      operations of every invocation, blank-separated
    flags:     options without a value, blank-separated
    values:    options with a value: {"-n --lines": USE}; a USE ending in `!` takes the place of the first operand
    optional:  options whose value may only be joined (`--color=always`, `-i.bak`): {"--color": USE}
    recursive: options that make path operands recursive
    adds:      operations that an option adds: {"-i": write}
    runs:      what kind of code an option makes it run: {"--pre": inline}
    first:     uses of the leading operands, blank-separated; rest: of all others; last: of the last one of several
    default:   the operand where none is given
    runs_code: what kind of code every invocation runs
    ends:      options after which, and whose value, everything is operands
    asks:      why nobody but a person can tell what an invocation leads to (`what it sends, others see`)
    mode:      `leading` (options end at the first operand), `words` (`-name` is one option), `digits` (`-10`),
               `tree` (paths are always recursive), `steady` (no option changes what kind of things it does), `bundle`
               (the first operand is a cluster), `open` (options that are not listed, and operands, are looked
               through for paths), `verbs` (a subcommand that is not listed asks)
    special:   the name of the reader in code that completes the entry
    subcommands: entries by the first operand; `same: NAME` repeats another entry

An option that is not in its program's entry makes the invocation cautious: it may do anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import yaml

from shield.types import Operation, RunsCode

__all__ = ["ALL_OPERATIONS", "Model", "Option", "Use", "load_models", "models"]

# What a program that is not known may do.
ALL_OPERATIONS = frozenset({Operation.EXECUTE, Operation.READ, Operation.WRITE, Operation.NETWORK, Operation.DELETE})
_MODES = frozenset({"leading", "words", "digits", "tree", "steady", "bundle", "open", "verbs"})
_KEYS_TEXT = """
does flags values optional recursive adds runs ends first rest last default runs_code asks mode special subcommands
same
"""
_KEYS = frozenset(_KEYS_TEXT.split())


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
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    name: str
    does: frozenset[Operation] = frozenset()
    options: Mapping[str, Option] = field(default_factory=lambda: MappingProxyType({}))
    first: tuple[Use, ...] = ()
    rest: Use = Use.TEXT
    last: Use | None = None
    default: str | None = None
    runs: RunsCode = RunsCode.NONE
    leading: bool = False
    words: bool = False
    digits: bool = False
    tree: bool = False
    steady: bool = False
    bundle: bool = False
    open: bool = False
    verbs: bool = False
    asks: str | None = None
    special: str | None = None
    subcommands: "Mapping[str, Model] | None" = None


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
        ValueError: an entry that does not fit the schema above.
    """
    data = yaml.load(text, Loader=yaml.CSafeLoader)
    return MappingProxyType(_entries(data, source))


def _entries(data: object, source: str) -> dict[str, Model]:
    if not isinstance(data, dict):
        raise ValueError(f"{source}: not a mapping")
    found: dict[str, Model] = {}
    for names, given in data.items():
        entry = given
        if isinstance(given, dict) and "same" in given:
            like = next(value for key, value in data.items() if given["same"] in str(key).split())
            entry = {**like, **{key: value for key, value in given.items() if key != "same"}}
        for name in str(names).split():
            if name in found:
                raise ValueError(f"{source}: `{name}` is described twice")
            found[name] = _model(name, entry or {}, f"{source}: {name}")
    return found


def _model(name: str, entry: dict[str, Any], source: str) -> Model:
    unknown = entry.keys() - _KEYS
    mode = set(str(entry.get("mode", "")).split())
    if unknown or mode - _MODES:
        raise ValueError(f"{source}: unknown {sorted(map(str, unknown | (mode - _MODES)))}")
    options: dict[str, dict[str, Any]] = {}

    def put(names: str, **changes: Any) -> None:
        for option in str(names).split():
            if not option.startswith(("-", "+")):
                raise ValueError(f"{source}: `{option}` is no option")
            options.setdefault(option, {}).update(changes)

    put(entry.get("flags", ""))
    for names, use in entry.get("values", {}).items():
        put(names, value=Use(use.rstrip("!")), spares_first=use.endswith("!"))
    for names, use in entry.get("optional", {}).items():
        put(names, value=Use(use), joined=True)
    put(entry.get("recursive", ""), recursive=True)
    for names, operations in entry.get("adds", {}).items():
        put(names, adds=_operations(operations))
    for names, kind in entry.get("runs", {}).items():
        put(names, runs=RunsCode(kind))
    put(entry.get("ends", ""), ends=True)
    sub = entry.get("subcommands")
    return Model(
        name=name,
        does=_operations(entry.get("does", "")),
        options=MappingProxyType({key: Option(name=key, **value) for key, value in options.items()}),
        first=tuple(Use(use) for use in str(entry.get("first", "")).split()),
        rest=Use(entry.get("rest", "text")),
        last=Use(entry["last"]) if "last" in entry else None,
        default=entry.get("default"),
        runs=RunsCode(entry.get("runs_code", "none")),
        asks=entry.get("asks"),
        special=entry.get("special"),
        subcommands=MappingProxyType(_entries(sub, source)) if sub is not None else None,
        **dict.fromkeys(mode, True),
    )


def _operations(text: str) -> frozenset[Operation]:
    return frozenset(Operation(word) for word in str(text).split())
