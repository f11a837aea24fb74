"""The tree of a condition. cel-python's grammar parses; its parse tree is folded into the few nodes below."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from celpy.celparser import CELParseError, CELParser
from lark import Token, Tree
from lark.exceptions import LarkError

from shield.policy.cel.errors import CelLoadError
from shield.policy.cel.scan import ScanError, scan
from shield.policy.cel.schema import Position

__all__ = [
    "COMPREHENSIONS",
    "MAX_NODES",
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
    "parse",
]

MAX_NODES = 2000
COMPREHENSIONS = frozenset({"exists", "all", "exists_one", "map", "filter"})
MAX_LEVELS = 40  # keeps the generated text below CPython's limit of 200 nested parentheses

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


def parse(source: Source) -> Node:
    """The tree of `source`. Raises CelLoadError with the position of what is wrong."""
    try:
        scanned = scan(source.text)
    except ScanError as error:
        raise source.error(error.detail, error.offset) from None
    try:
        tree = CELParser().parse(scanned.masked)
    except CELParseError as error:
        raise source.error("syntax error", _offset(source.text, error.line, error.column)) from None
    except (LarkError, RecursionError, TypeError, ValueError):
        raise source.error("syntax error", 0) from None
    return _Fold(source, scanned.literals).node(tree, 0, 0)


def _offset(text: str, line: int | None, column: int | None) -> int:
    if not line or not column or line < 0 or column < 0:
        return len(text.rstrip())
    starts = text.split("\n")
    return min(sum(len(part) + 1 for part in starts[: line - 1]) + column - 1, len(text))


_CHAIN = frozenset(
    {
        "expr",
        "conditionalor",
        "conditionaland",
        "relation",
        "addition",
        "multiplication",
        "unary",
        "member",
        "primary",
        "paren_expr",
    }
)
_BINARY = {
    "relation_lt": "<",
    "relation_le": "<=",
    "relation_ge": ">=",
    "relation_gt": ">",
    "relation_eq": "==",
    "relation_ne": "!=",
    "relation_in": "in",
    "addition_add": "+",
    "addition_sub": "-",
    "multiplication_mul": "*",
    "multiplication_div": "/",
    "multiplication_mod": "%",
}


class _Fold:
    """Folds the parse tree; lark's trees are untyped, so `Any` stops here."""

    def __init__(self, source: Source, literals: Mapping[int, str | bytes]) -> None:
        self.source = source
        self.literals = literals
        self.count = 0

    def node(self, tree: Any, level: int, pos: int) -> Node:
        tree = _unwrap(tree)
        found = getattr(tree.meta, "start_pos", None)
        pos = pos if found is None else found  # cel-python's `true` and `false` have no position
        self.count += 1
        if self.count > MAX_NODES or level > MAX_LEVELS:
            raise self.source.error("the condition is too deeply nested or too large: split it into several rules", pos)
        level += 1
        data = str(tree.data)
        match data:
            case "literal":
                return self.literal(tree.children[0], pos)
            case "ident" | "dot_ident":
                return Name(pos, str(tree.children[0]), data == "dot_ident")
            case "expr":
                test, yes, no = (self.node(child, level, pos) for child in tree.children)
                return Choice(pos, test, yes, no)
            case "conditionalor" | "conditionaland":
                args = tuple(self.node(child, level, pos) for child in _flatten(tree, data))
                return Logic(pos, "or" if data == "conditionalor" else "and", args)
            case "relation" | "addition" | "multiplication":
                operator, right = tree.children
                left = self.node(operator.children[0], level, pos)
                return Binary(pos, _BINARY[str(operator.data)], left, self.node(right, level, pos))
            case "unary":
                operator, arg = tree.children
                return Unary(pos, "!" if operator.data == "unary_not" else "-", self.node(arg, level, pos))
            case "member_dot":
                base, field = tree.children
                return Select(field.start_pos, self.node(base, level, pos), str(field))
            case "member_index":
                base, key = tree.children
                return Index(pos, self.node(base, level, pos), self.node(key, level, pos))
            case "list_lit":
                return Items(pos, self.args(tree.children, level, pos))
            case "map_lit":
                flat = self.args(tree.children, level, pos)
                return Entries(pos, tuple(zip(flat[::2], flat[1::2], strict=True)))
            case "ident_arg" | "member_dot_arg":
                target = None if data == "ident_arg" else self.node(tree.children[0], level, pos)
                name, *rest = tree.children[0 if target is None else 1 :]
                return Call(name.start_pos, str(name), target, self.args(rest, level, pos))
        raise self.source.error("messages and `.name()` calls are not supported", pos)

    def args(self, children: list[Any], level: int, pos: int) -> tuple[Node, ...]:
        return tuple(self.node(child, level, pos) for child in (children[0].children if children else []))

    def literal(self, token: Token, pos: int) -> Literal:
        text = str(token)
        match token.type:
            case "STRING_LIT" | "MLSTRING_LIT" | "BYTES_LIT":
                return Literal(pos, self.literals[pos])
            case "BOOL_LIT":
                return Literal(pos, text == "true")
            case "NULL_LIT":
                return Literal(pos, None)
            case "INT_LIT":
                value = int(text, 16 if "x" in text else 10) if len(text) < 40 else 1 << 64
                if not -(2**63) <= value < 2**63:
                    raise self.source.error("the integer does not fit into 64 bits", pos)
                return Literal(pos, value)
            case "FLOAT_LIT":
                number = float(text)
                if number in (float("inf"), float("-inf")):
                    raise self.source.error("the number does not fit into a double", pos)
                return Literal(pos, number)
        raise self.source.error("this kind of literal is not supported", pos)


def _unwrap(tree: Tree[Any]) -> Tree[Any]:
    while tree.data in _CHAIN and len(tree.children) == 1 and isinstance(tree.children[0], Tree):
        tree = tree.children[0]
    return tree


def _flatten(tree: Tree[Any], data: str) -> list[Any]:
    """The operands of `a && b && …`, left to right; && and || are associative in CEL, errors included."""
    args: list[Any] = []
    current: Any = tree
    while current.data == data and len(current.children) == 2:
        args.append(current.children[1])
        current = _unwrap(current.children[0])
    args.append(current)
    return args[::-1]
