"""The tree of a condition: its nodes, and where they stand."""

from collections.abc import Iterator
from dataclasses import dataclass

from shield.policy.cel.errors import CelLoadError
from shield.policy.cel.schema import Position

__all__ = [
    "COMPREHENSIONS",
    "Binary",
    "Call",
    "Choice",
    "Entries",
    "Index",
    "Items",
    "Literal",
    "Logic",
    "Name",
    "Node",
    "Place",
    "Select",
    "Source",
    "Unary",
    "Use",
    "Value",
    "parts",
    "walk",
]

COMPREHENSIONS = frozenset({"exists", "all", "exists_one", "map", "filter"})

Value = None | bool | int | float | str | bytes


@dataclass(frozen=True, slots=True)
class Literal:
    pos: int
    value: Value


@dataclass(frozen=True, slots=True)
class Name:
    pos: int
    name: str
    rooted: bool  # written `.name`: never a macro's variable


@dataclass(frozen=True, slots=True)
class Select:
    pos: int
    base: "Node"
    field: str


@dataclass(frozen=True, slots=True)
class Index:
    pos: int
    base: "Node"
    key: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    pos: int
    name: str
    target: "Node | None"
    args: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Items:
    pos: int
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Entries:
    pos: int
    entries: tuple[tuple["Node", "Node"], ...]


@dataclass(frozen=True, slots=True)
class Unary:
    pos: int
    op: str  # ! -
    arg: "Node"


@dataclass(frozen=True, slots=True)
class Binary:
    pos: int
    op: str  # < <= >= > == != in + - * / %
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Logic:
    pos: int
    op: str  # and or
    args: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    pos: int
    test: "Node"
    yes: "Node"
    no: "Node"


Node = Literal | Name | Select | Index | Call | Items | Entries | Unary | Binary | Logic | Choice


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, in the order of the text."""
    match node:
        case Select():
            return (node.base,)
        case Index():
            return (node.base, node.key)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case Items():
            return node.items
        case Entries():
            return tuple(side for entry in node.entries for side in entry)
        case Unary():
            return (node.arg,)
        case Binary():
            return (node.left, node.right)
        case Logic():
            return node.args
        case Choice():
            return (node.test, node.yes, node.no)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    yield node
    for part in parts(node):
        yield from walk(part)


_SHIFT = 16  # a position is the offset in one text, and above these bits which text: 0 is the condition's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a position stands in the file, from 1. `macro` names the macro in whose text it is."""

    line: int
    column: int
    macro: str | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """A macro written out: its name, its text, and the position where it was used."""

    name: str
    text: "Source"
    pos: int


@dataclass(frozen=True, slots=True)
class Source:
    """A condition's text and where it stands. `uses` are the macros that were written out, in order."""

    text: str
    origin: Position
    uses: tuple[Use, ...] = ()

    @property
    def base(self) -> int:
        """What is added to the positions of the macro used last."""
        return len(self.uses) << _SHIFT

    def using(self, name: str, text: "Source", pos: int) -> "Source":
        """This source with one more macro used at `pos`."""
        return Source(self.text, self.origin, (*self.uses, Use(name, text, pos)))

    def place(self, pos: int) -> Place:
        """The line and column of a position in a tree of this source."""
        used, offset = pos >> _SHIFT, pos & ((1 << _SHIFT) - 1)
        if used:
            found = self.uses[used - 1]
            inside = found.text.place(offset)
            return Place(line=inside.line, column=inside.column, macro=found.name)
        before = self.text[:offset]
        line = before.count("\n")
        column = offset - (before.rfind("\n") + 1)
        column += self.origin.indent + 1 if line else self.origin.column
        return Place(line=self.origin.line + line, column=column)

    def error(self, detail: str, pos: int, suggestion: str | None = None) -> CelLoadError:
        """A load error at a position; the suggestion becomes part of the message, and so does the use of a macro."""
        place = self.place(pos)
        if suggestion is not None:
            detail = f"{detail}; did you mean `{suggestion}`?"
        while pos >> _SHIFT:
            use = self.uses[(pos >> _SHIFT) - 1]
            pos = use.pos
            at = self.place(pos)
            detail = f"{detail} (in the macro `{use.name}`, used in line {at.line}, column {at.column})"
        return CelLoadError(detail, line=place.line, column=place.column, suggestion=suggestion)
