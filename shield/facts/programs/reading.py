"""What one invocation of a program was found to do; built up argument by argument."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from shield.facts.beneath import Look
from shield.facts.programs.model import ALL_OPERATIONS, Model, Option, Use
from shield.types import Access, Operation, RunsCode

__all__ = ["Arguments", "Nested", "NestedKind", "PathUse", "Reading", "Value", "plain_globs", "read_arguments"]

_RUN_ORDER = (RunsCode.NONE, RunsCode.WORKSPACE, RunsCode.INLINE, RunsCode.FETCHED)


class Value(NamedTuple):
    """A word as the program would get it. A tuple, as each word of a line becomes one.

    `text` is its value, or its source where it is not `known`. `pattern` is set for a glob: the same text with quoted
    characters made literal. `many`: it may become any number of words. `head` is what it surely begins with.
    `source` is how it was written where a tilde was
    expanded. `bare` is the text with every unknown part empty. `roots`: it stands for entries beneath these (`find`'s
    `{}`).
    """

    text: str
    known: bool = True
    pattern: str | None = None
    many: bool = False
    head: str = ""
    bare: str | None = None
    roots: "tuple[Value, ...] | None" = None
    look: Look | None = None  # which entries beneath `roots`
    source: str | None = None

    @property
    def shown(self) -> str:
        """As it was written, where that is worth telling (`~/x`)."""
        return self.source if self.source is not None else self.text

    @property
    def adrift(self) -> bool:
        """It may begin with a dash, or become further words: an option for all that is known."""
        if self.fixed or self.roots is not None:
            return False
        return self.many or (not self.head and self.pattern is None) or self.head.startswith("-")

    @property
    def fixed(self) -> bool:
        """One word of known text."""
        return self.known and self.pattern is None and self.roots is None


class NestedKind(Enum):
    ARGV = "argv"  # a command given as words
    SHELL = "shell"  # a string that a shell parses


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PathUse:
    """One path and what is done to it. `below`: what is touched goes by this one's last component, beneath `value`
    where that is a directory, else it is `value` itself; `recursive` then holds where it is no single file. `whole`:
    `value` itself, directory or not."""

    value: Value
    access: Access
    recursive: bool = False
    moved: Value | None = None
    below: Value | None = None
    whole: bool = False
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
    flags: list[str] = field(default_factory=list)
    cautious: bool = False
    loose: bool = False  # an argument of unknown value may be an option
    code: bool = False  # what runs cannot be known
    program_unknown: bool = False
    reshapes: bool = False  # may put links or whole trees where later commands of the line look
    moved: Value | None = None  # -C and the like: where relative paths start

    def caution(self) -> None:
        self.cautious = True
        self.operations |= ALL_OPERATIONS

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
            case Use.SHELL:
                self.operations |= ALL_OPERATIONS
                self.nested.append(Nested(kind=NestedKind.SHELL, words=(value,)))
            case Use.PROGRAM:
                self.run(RunsCode.INLINE)
                self.nested.append(Nested(kind=NestedKind.SHELL, words=(value,)))
            case Use.CODE:
                self.run(RunsCode.INLINE)
            case Use.SCRIPT:
                self.path(value, Access.READ)
                self.run(RunsCode.WORKSPACE)
            case Use.COMMAND | Use.ANY:
                self.caution()
                self.path(value, Access.READ, Access.WRITE)


_OPERATION = {
    Access.READ: Operation.READ,
    Access.LIST: Operation.READ,
    Access.WRITE: Operation.WRITE,
    Access.DELETE: Operation.DELETE,
    Access.EXECUTE: Operation.EXECUTE,
}


@dataclass(slots=True)
class Arguments:
    """An invocation's words told apart. `given` are the options in order, each with its value."""

    operands: list[Value] = field(default_factory=list)
    given: list[tuple[Option, Value | None]] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # options that the model does not have

    def has(self, *names: str) -> bool:
        return any(option.name in names for option, _ in self.given)

    def values(self, *names: str) -> list[Value]:
        return [value for option, value in self.given if option.name in names and value is not None]


def plain_globs(values: list[Value]) -> tuple[str, ...] | None:
    """Patterns of names that every program reads alike; None where one is not such."""
    texts = tuple(value.text for value in values if value.fixed and not set(value.text) & set("/\\[{"))
    return texts if len(texts) == len(values) else None


def read_arguments(model: Model, words: tuple[Value, ...], reading: Reading) -> Arguments:
    """Tell options from operands as getopt_long(3) does: clusters, `--x=y`, `--`, unambiguous abbreviations."""
    found = Arguments()
    at = 0
    if model.bundle and words and words[0].fixed and not words[0].text.startswith("-"):
        # tar(1), ps(1): the first operand is a cluster without its dash, its values follow in order.
        cluster, at = words[0].text, 1
        for letter in cluster:
            option = model.options.get("-" + letter)
            if option is None:
                found.foreign.append("-" + letter)
            elif option.value is not None and not option.joined:
                value = words[at] if at < len(words) else None
                at += 1
                _spill(value, found, reading)
                found.given.append((option, value))
            else:
                found.given.append((option, None))
    while at < len(words):
        word = words[at]
        at += 1
        text = word.text if word.fixed else word.head
        if text == "--" and word.fixed:
            found.operands.extend(words[at:])
            break
        if not word.fixed and not text:
            # It may begin with anything: an option, several, or nothing.
            reading.loose |= word.adrift
            found.operands.append(word)
        elif not text.startswith("-") or (text == "-" and word.fixed):
            if model.options and text.startswith("+") and "+" in model.options:
                found.given.append((model.options["+"], None))
                continue
            found.operands.append(word)
            if word.many:
                reading.loose = True
        else:
            at = _option(model, word, words, at, found, reading)
            if found.given and found.given[-1][0].ends:
                found.operands.extend(words[at:])
                break
            continue
        if model.leading:
            found.operands.extend(words[at:])
            break
    reading.flags.extend(option.name for option, _ in found.given)
    reading.flags.extend(found.foreign)
    if found.foreign:
        reading.caution()
    return found


def _option(model: Model, word: Value, words: tuple[Value, ...], at: int, found: Arguments, reading: Reading) -> int:
    """One word that begins with a dash; gives the place of the next word."""
    text = word.text if word.fixed else word.head
    name, joined, tail = text.partition("=")
    if text.startswith("--") or model.words:
        option = _long(model, name, reading)
        if option is None:
            found.foreign.append(name)
            if not word.fixed:
                reading.loose = True
                found.operands.append(word)
            return at
        value: Value | None = None
        if joined:
            value = Value(text=tail) if word.fixed else _rest_of(word, len(name) + 1)
            if option.value is None:
                found.foreign.append(text)
        elif not word.fixed:
            reading.loose = True
        elif option.value is not None and not option.joined:
            value = words[at] if at < len(words) else None
            at += 1
            _spill(value, found, reading)
        found.given.append((option, value))
        return at
    if not word.fixed and word.roots is None and (word.many or len(text) < 2):
        reading.loose = True
        found.operands.append(word)
        return at
    if model.digits and text[1:].isdigit():
        return at
    return _cluster(model, word, words, at, found, reading)


def _cluster(model: Model, word: Value, words: tuple[Value, ...], at: int, found: Arguments, reading: Reading) -> int:
    """`-abc`, the last of which may have its value in the same word or the next."""
    text = word.text if word.fixed else word.head
    for index in range(1, len(text)):
        option = model.options.get("-" + text[index])
        if option is None:
            found.foreign.append("-" + text[index] if word.fixed else text)
            continue
        if option.value is None:
            found.given.append((option, None))
            continue
        rest = text[index + 1 :]
        value = None
        if rest or not word.fixed:
            value = Value(text=rest) if word.fixed else _rest_of(word, index + 1)
        elif not option.joined:
            value = words[at] if at < len(words) else None
            at += 1
            _spill(value, found, reading)
        found.given.append((option, value))
        return at
    if not word.fixed:
        reading.loose = True
    return at


def _spill(value: Value | None, found: Arguments, reading: Reading) -> None:
    """A value that may be many words: the option takes the first, what follows is operands or further options."""
    if value is not None and value.many:
        reading.loose = True
        found.operands.append(value)


def _rest_of(word: Value, skip: int) -> Value:
    """A word of unknown value without its first characters, which are known."""
    return Value(
        text=word.text[skip:],
        known=word.known,
        pattern=None if word.pattern is None else word.text[skip:],
        many=word.many,
        head=word.head[skip:],
        bare=word.bare[skip:] if word.bare is not None else None,
        roots=word.roots,
    )


def _long(model: Model, name: str, reading: Reading) -> Option | None:
    exact = model.options.get(name)
    if exact is not None or model.words:
        return exact
    close = [option for key, option in model.options.items() if key.startswith(name) and key.startswith("--")]
    if len(close) != 1:
        return None
    # An abbreviation is this option only if the model knows every option of the program: take both readings.
    reading.caution()
    return close[0]
