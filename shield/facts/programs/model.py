"""What is known of a program: which options it has, and what its arguments make it read, write, send or run.

The data stands in `*.yaml` beside this module (`schema.json` is its JSON Schema), one mapping from names (several,
blank-separated) to an entry:

    does:      operations of every invocation, blank-separated; `network` without a host means the program's own service
    flags:     options without a value, blank-separated
    values:    options with a value: {"-n --lines": USE}; a USE ending in `!` takes the place of the first operand
    optional:  options whose value may only be joined (`--color=always`, `-i.bak`): {"--color": USE}
    pairs:     options with two values, a name and what it stands for: {"--arg": USE}, of the second one
    recursive: options that make path operands recursive
    tells:     options and subcommands that, as the only word, make the program tell about itself and end, before it
               reads what a project may hold (plug-ins, settings that name code, a version of itself); `help` may
               stand before the names of subcommands
    helps:     the same for the program and each of its subcommands: `docker run --help`
    led:       names of files that choose which version of the program runs, where it is started or above: with one of
               them even a question is that version's to answer
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
               `helpful` (`help` behind any names tells), `response` (an operand `@FILE` stands for the words in that
               file), `elsewhere` (the command that it runs is started on another machine, or sees another root)
    special:   the name of the reader in code that completes the entry
    subcommands: entries by the first operand, with which the options before it end (unless `open`); a name with `*` is
               a pattern, the longest one counts; `same: NAME` repeats another entry of the same mapping
    choices:   entries by the one option that says what is to be done (`dpkg -l`); they say what the operands are

An option that is not in its program's entry makes the invocation cautious: it may do anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.types import Operation, RunsCode

__all__ = ["ALL_OPERATIONS", "NOBODY", "NO_OPTIONS", "Model", "Option", "Use"]

# What a program that is not known may do.
ALL_OPERATIONS = frozenset({Operation.EXECUTE, Operation.READ, Operation.WRITE, Operation.NETWORK, Operation.DELETE})
NOBODY: Mapping[str, str] = MappingProxyType({})


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
    STORE = "store"  # a path, or what OpenSSL opens by a URI: an engine, a token, an address
    LABEL = "label"  # becomes a part of a host's name
    REPOSITORY = "repository"  # `OWNER/NAME` at the program's own service, `HOST/OWNER/NAME` or a URL
    MOUNT = "mount"  # `PATH:…` or `type=bind,source=PATH,…`: a tree of this machine that another one sees
    PARAM = "param"  # text, or a file's content: `@PATH`, `file://PATH`, `fileb://PATH`, after `=`, too; `…file=PATH`
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
    """One option. `value` is None where it takes none; `joined`: only in the same word; `pair`: the second of two."""

    name: str
    value: Use | None = None
    joined: bool = False
    pair: bool = False
    spares_first: bool = False
    recursive: bool = False
    adds: frozenset[Operation] = frozenset()
    runs: RunsCode = RunsCode.NONE
    asks: str | None = None
    ends: bool = False


NO_OPTIONS: Mapping[str, Option] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    name: str
    does: frozenset[Operation] = frozenset()
    options: Mapping[str, Option] = field(default_factory=lambda: NO_OPTIONS)
    tells: frozenset[str] = frozenset()
    led: frozenset[str] = frozenset()
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
    helpful: bool = False
    asks: str | None = None
    guarded: Mapping[str, str] = field(default_factory=lambda: NOBODY)
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
