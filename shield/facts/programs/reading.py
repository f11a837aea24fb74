"""What one invocation of a program was found to do; built up argument by argument."""

import re
from dataclasses import dataclass, field
from enum import Enum

from shield.facts.beneath import Look
from shield.facts.programs.addresses import FILE_URL, file_names
from shield.facts.programs.model import ALL_OPERATIONS, Use
from shield.facts.programs.statements import copied_to, only_reads
from shield.facts.programs.value import Listing, Lost, Value, plain_globs
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["Listing", "Lost", "Nested", "NestedKind", "PathUse", "Reading", "Value", "plain_globs"]

_RUN_ORDER = (RunsCode.NONE, RunsCode.WORKSPACE, RunsCode.INLINE, RunsCode.FETCHED)


class NestedKind(Enum):
    ARGV = "argv"  # a command given as words
    SHELL = "shell"  # a string that a shell parses
    SCRIPT = "script"  # what a script says: followed as far as it is understood, in an analysis of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """A command that this one would run. `fresh`: in another process or shell, so its `cd` moves nothing here.
    `external`: looked up on PATH only, no builtins. `moved`: the directory it is started in, where given."""

    kind: NestedKind
    words: tuple[Value, ...]
    via: tuple[str, ...] = ()
    fresh: bool = True
    external: bool = True
    assignments: tuple[tuple[str, str], ...] = ()
    moved: Value | None = None
    elsewhere: bool = False  # on another machine or root: its paths are not ours
    file: str | None = None  # the resolved path of the script, where it is a file
    given: tuple[Value, ...] | None = None  # its parameters; None: not known
    without: tuple[str, ...] | None = ()  # variables that it does not get; None: it gets none but `assignments`
    standard: bool = False  # it is looked up in the system's own directories, whatever PATH is
    started: bool = False  # start-up files have run before it


@dataclass(frozen=True, slots=True, kw_only=True)
class PathUse:
    """One path and what is done to it. `below`: what is touched goes by this one's last component, beneath `value`
    where that is a directory, else it is `value` itself; `recursive` then holds where it is no single file. `whole`:
    `value` itself, directory or not; `parents`: by all components of `below`."""

    value: Value
    access: Access
    recursive: bool = False
    moved: Value | None = None
    below: Value | None = None
    whole: bool = False
    parents: bool = False
    look: Look | None = None  # which entries of a tree, where that was looked at


@dataclass(slots=True)
class Reading:
    """The builder. Its defaults say that the invocation does nothing; whoever cannot tell calls `caution`."""

    operations: set[Operation] = field(default_factory=set)
    paths: list[PathUse] = field(default_factory=list)
    hosts: list[Value] = field(default_factory=list)
    runs: RunsCode = RunsCode.NONE
    nested: list[Nested] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # the same, where it holds of what a script runs, too
    flags: list[str] = field(default_factory=list)
    cautious: bool = False
    loose: bool = False  # an argument of unknown value may be an option
    code: bool = False  # what runs cannot be known
    program_unknown: bool = False
    reshapes: bool = False  # may put links or whole trees where later commands of the line look
    moved: Value | None = None  # -C and the like: where relative paths start
    spread: bool = False  # it runs in other packages of the project, too
    prints: Listing | None = None
    said: list[str] = field(default_factory=list)  # statements that are not followed, which may name files
    # scripts that it runs for what each of these texts was proven to do
    proven: dict[str, frozenset[str]] = field(default_factory=dict)

    def caution(self) -> None:
        self.cautious = True
        self.operations |= ALL_OPERATIONS

    def ask(self, why: str) -> None:
        """What the invocation leads to is a person's to decide, on the line and in a script that it runs."""
        self.unread.append(why)

    def run(self, kind: RunsCode) -> None:
        """The invocation runs code of this kind; the least trusted kind stays."""
        if _RUN_ORDER.index(kind) > _RUN_ORDER.index(self.runs):
            self.runs = kind
        if kind is not RunsCode.NONE:
            self.operations |= ALL_OPERATIONS

    def path(self, value: Value, *accesses: Access, recursive: bool = False, look: Look | None = None) -> None:
        """Add a use. Everything beneath a tree that is read counts, unless `look` says which entries do."""
        for access in accesses:
            if look is None and recursive and access is Access.READ and Access.DELETE not in accesses:
                look = Look()
            self.paths.append(PathUse(value=value, access=access, recursive=recursive, moved=self.moved, look=look))
            self.operations.add(_OPERATION[access])

    def use(self, use: Use, value: Value, *, recursive: bool = False) -> None:  # noqa: C901 - one branch a use
        """Take `value` for what `use` says."""
        match use:
            case Use.TEXT:
                pass
            case Use.READ:
                self.path(value, Access.READ, recursive=recursive)
            case Use.TREE:
                self.path(value, Access.READ, recursive=True)
            case Use.NAMES:
                self.path(value, Access.READ)
                self.unknown.append(f"which files `{value.text[:80]}` names is not known")
            case Use.LIST:
                self.path(value, Access.LIST, recursive=recursive)
            case Use.WRITE:
                self.path(value, Access.WRITE, recursive=recursive)
            case Use.EDIT:
                self.path(value, Access.READ, Access.WRITE, recursive=recursive)
            case Use.MOVE:
                self.path(value, Access.READ, Access.DELETE, recursive=True)
            case Use.DELETE:
                self.path(value, Access.DELETE, recursive=recursive)
            case Use.CHDIR:
                self.path(value, Access.LIST)
                self.moved = value
            case Use.HOST | Use.URL:
                self.hosts.append(value)
                self.operations.add(Operation.NETWORK)
            case Use.SOURCE if FILE_URL.match(value.text):
                for name in file_names(value.text):
                    self.path(Value(text=name, known=value.fixed, head=name), Access.READ)
            case Use.SOURCE:
                url = _SCHEME.match(value.text if value.fixed else value.head)
                self.use(Use.URL if url or not (value.fixed or value.head) else Use.READ, value, recursive=recursive)
            case Use.STORE:
                self._store(value)
            case Use.LABEL:
                if not value.fixed or _LABEL.fullmatch(value.text) is None:
                    self.caution()
                    self.unknown.append(f"which host `{value.text[:80]}` leads to is not known")
            case Use.REPOSITORY:
                if not value.fixed or value.text.count("/") > 1 or ":" in value.text:
                    self.hosts.append(value)
            case Use.MOUNT:
                self._mount(value)
            case Use.PARAM:
                self._param(value)
            case Use.SQL:
                file = copied_to(value.text) if value.fixed else None
                if file is not None and file != "-":
                    self.path(Value(text=file, head=file), Access.WRITE)
                elif file is None and not (value.fixed and only_reads(value.text)):
                    self.run(RunsCode.INLINE)
                    self.said.append(value.text)
            case Use.DATABASE:
                self._database(value)
            case Use.SHELL:
                self.operations |= ALL_OPERATIONS
                self.nested.append(Nested(kind=NestedKind.SHELL, words=(value,)))
            case Use.PROGRAM:
                self.run(RunsCode.INLINE)
                self.nested.append(Nested(kind=NestedKind.SHELL, words=(value,)))
            case Use.CODE:
                self.run(RunsCode.INLINE)
            case Use.SCRIPT:
                self._script(value)
            case Use.COMMAND | Use.ANY:
                self.caution()
                self.path(value, Access.READ, Access.WRITE)

    def _script(self, value: Value) -> None:
        """Code in a file, or (to node and its kin) at a URL, or that it is fed."""
        if value.text == "-" or value.text.startswith(("/dev/stdin", "/dev/fd/")):
            self.run(RunsCode.INLINE)
            return
        self.path(value, Access.READ, Access.EXECUTE)
        self.run(RunsCode.WORKSPACE)
        if _FETCHED.match(value.text):
            self.run(RunsCode.FETCHED)
            self.ask(f"what `{value.text[:80]}` holds is pinned by nothing")
        elif value.text[:5].lower() == "data:":
            self.run(RunsCode.INLINE)

    def _store(self, value: Value) -> None:
        """A file is looked for first, unless the name has `scheme://` (ossl_store(7)); an engine is code."""
        if value.fixed and _FETCHED.match(value.text):
            self.use(Use.URL, value)
            return
        self.path(value, Access.READ)
        if FILE_URL.match(value.text):
            self.use(Use.SOURCE, value)
        elif _STORE.match(value.text) or (not value.fixed and "//" in value.text):
            self.run(RunsCode.INLINE)
            self.unknown.append(f"what `{value.text[:80]}` opens is not known")

    def _param(self, value: Value) -> None:
        """Text that may stand for a file's content, or (to version 1 of aws) for what is at a URL."""
        if _FETCHED.match(value.text):
            self.use(Use.URL, value)
            return
        if value.sample:
            if any(_CONTENT.search(text) or _FETCHED.match(text) for text in (value.sample, value.bare or "")):
                self.path(Value(text=value.text, known=False), Access.READ)
            return
        named = _CONTENT.search(value.text)
        if named is not None:
            self.path(Value(text=named[1], known=value.fixed, head=named[1] if value.fixed else ""), Access.READ)
        elif not value.fixed and (not value.head or value.head[0] in "@f"):
            self.path(Value(text=value.text, known=False), Access.READ)

    def _mount(self, value: Value) -> None:
        """What a container is given of this machine; a name without a slash is a volume of its own."""
        if "source=" in value.text or "src=" in value.text:
            pairs = (part.partition("=") for part in value.text.split(","))
            paths = [path for name, _, path in pairs if name in ("source", "src")]
        else:
            paths = value.text.split(":")[:1]
        for path in paths:
            if not value.fixed or path.startswith(("/", "~", ".")):
                given = Value(text=path, known=value.fixed, head=path if value.fixed else "")
                self.path(given, Access.READ, Access.WRITE, recursive=True)

    def _database(self, value: Value) -> None:
        """A database by name is one of the client's own server. Connection strings name servers, and files of keys."""
        text = value.text
        if not value.fixed:
            self.caution()
            self.unknown.append(f"which database `{text[:80]}` is, is not known")
        elif _SCHEME.match(text):
            self.use(Use.URL, value)
            if "?" in text:
                self.caution()
        elif "=" in text:
            self.caution()
            self.unknown.append(f"where `{text[:80]}` leads is not known")


_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.\-]*:/?/")
_STORE = regex(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_FETCHED = regex(r"(?i)https?://")
_LABEL = regex(r"[A-Za-z0-9-]{1,63}")
_CONTENT = regex(r"(?:(?:\A|=)(?:fileb?://|@)|\A[A-Za-z-]*file=)(.+)", re.DOTALL)
_OPERATION = {
    Access.READ: Operation.READ,
    Access.LIST: Operation.READ,
    Access.WRITE: Operation.WRITE,
    Access.DELETE: Operation.DELETE,
    Access.EXECUTE: Operation.EXECUTE,
}
