"""A second reading of a condition, by cel-python's grammar: what two parsers read differently is not judged with.

Its lexer reads some literals wrongly (raw strings, `\\?`, `\\X41`, newlines in triple quotes), `a inb` as `a in b` and
`nullable` as `null`. So it is given the same text with each string replaced by a plain one of equal length, names that
begin as literals do by others, and comments by blanks: its lexer has nothing left to misread.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import lark
from celpy.celparser import CELParseError, CELParser

from shield.policy.cel.scan import ScanError, Token, TokenKind, scan
from shield.policy.cel.syntax import (
    Binary,
    Call,
    Choice,
    Entries,
    Index,
    Items,
    Literal,
    Logic,
    Name,
    Node,
    Select,
    Source,
    Unary,
    parts,
)

__all__ = ["confirm", "folded"]

_CHAIN = frozenset(
    [
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
    ]
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


_WORDS = frozenset({"true", "false", "null"})


def confirm(tree: Node, source: Source) -> None:
    """Raises CelLoadError where the grammar reads `source` as another tree than this one, or not at all."""
    other = folded(source.text)
    if other is None:
        raise source.error("a second parser does not take this condition: say it in a simpler way", tree.pos)
    differing = _difference(tree, other)
    if differing is not None:
        raise source.error("a second parser reads this part differently: say it in a simpler way", differing.pos)


@lru_cache(maxsize=1024)  # the same texts are loaded again with every change of one rule
def folded(text: str) -> Node | None:
    """The tree that the grammar reads; None where it refuses the text or what it reads is not supported."""
    try:
        tokens = scan(text)
        tree = CELParser().parse(_masked(text, tokens))
        return _Fold({token.offset: token for token in tokens}).node(tree, 0)
    except (ScanError, CELParseError, lark.exceptions.LarkError, RecursionError, TypeError, ValueError, KeyError):
        return None


def _masked(text: str, tokens: Sequence[Token]) -> str:
    masked = [" "] * len(text)
    for token in tokens:
        shown = token.text
        if token.kind is TokenKind.STRING:
            shown = "b" * isinstance(token.value, bytes)
            shown += '"' + "s" * (len(token.text) - len(shown) - 2) + '"'
        elif token.kind is TokenKind.NAME and shown not in _WORDS:
            shown = "_" + shown[1:]
        masked[token.offset : token.offset + len(shown)] = shown
    return "".join(masked)


def _difference(one: Node, other: Node) -> Node | None:
    """The first node of `one` that is not the same in `other`; where it stands does not count."""
    if _said(one) != _said(other):
        return one
    below, beside = parts(one), parts(other)
    if len(below) != len(beside):
        return one
    return next((found for pair in zip(below, beside, strict=True) if (found := _difference(*pair)) is not None), None)


def _said(node: Node) -> tuple[object, ...]:
    """What a node says itself. A literal by its type and digits: to Python `1`, `1.0` and `true` are equal."""
    match node:
        case Literal():
            return Literal, type(node.value), repr(node.value)
        case Name():
            return Name, node.name, node.rooted
        case Select():
            return Select, node.field
        case Call():
            return Call, node.name, node.target is None
        case Unary() | Binary() | Logic():
            return type(node), node.op
    return (type(node),)


class _Fold:
    """Folds a parse tree into our nodes. Lark's trees are untyped, so `Any` stops here."""

    def __init__(self, tokens: Mapping[int, Token]) -> None:
        self.tokens = tokens

    def node(self, tree: Any, pos: int) -> Node:
        tree = _unwrap(tree)
        found = getattr(tree.meta, "start_pos", None)
        pos = pos if found is None else found  # `true` and `false` have no position
        data = str(tree.data)
        match data:
            case "literal":
                return self.literal(tree.children[0], pos)
            case "ident" | "dot_ident":
                return Name(pos, self.name(tree.children[0]), data == "dot_ident")
            case "expr":
                test, yes, no = (self.node(child, pos) for child in tree.children)
                return Choice(pos, test, yes, no)
            case "conditionalor" | "conditionaland":
                args = tuple(self.node(child, pos) for child in _flatten(tree, data))
                return Logic(pos, "or" if data == "conditionalor" else "and", args)
            case "relation" | "addition" | "multiplication":
                operator, right = tree.children
                left = self.node(operator.children[0], pos)
                return Binary(pos, _BINARY[str(operator.data)], left, self.node(right, pos))
            case "unary":
                operator, arg = tree.children
                return Unary(pos, "!" if operator.data == "unary_not" else "-", self.node(arg, pos))
            case "member_dot":
                base, field = tree.children
                return Select(field.start_pos, self.node(base, pos), self.name(field))
            case "member_index":
                base, key = tree.children
                return Index(pos, self.node(base, pos), self.node(key, pos))
            case "list_lit":
                return Items(pos, self.args(tree.children, pos))
            case "map_lit":
                flat = self.args(tree.children, pos)
                return Entries(pos, tuple(zip(flat[::2], flat[1::2], strict=True)))
            case "ident_arg" | "member_dot_arg":
                target = None if data == "ident_arg" else self.node(tree.children[0], pos)
                name, *rest = tree.children[0 if target is None else 1 :]
                return Call(name.start_pos, self.name(name), target, self.args(rest, pos))
        raise ValueError(data)

    def args(self, children: list[Any], pos: int) -> tuple[Node, ...]:
        return tuple(self.node(child, pos) for child in (children[0].children if children else []))

    def name(self, token: lark.Token) -> str:
        return self.tokens[token.start_pos or 0].text

    def literal(self, token: lark.Token, pos: int) -> Literal:
        text = str(token)
        match token.type:
            case "STRING_LIT" | "MLSTRING_LIT" | "BYTES_LIT":
                return Literal(pos, self.tokens[pos].value)
            case "BOOL_LIT":
                return Literal(pos, text == "true")
            case "NULL_LIT":
                return Literal(pos, None)
            case "INT_LIT":
                return Literal(pos, int(text, 16 if "x" in text else 10))
            case "FLOAT_LIT":
                return Literal(pos, float(text))
        raise ValueError(token.type)


def _unwrap(tree: lark.Tree[Any]) -> lark.Tree[Any]:
    while tree.data in _CHAIN and len(tree.children) == 1 and isinstance(tree.children[0], lark.Tree):
        tree = tree.children[0]
    return tree


def _flatten(tree: lark.Tree[Any], data: str) -> list[Any]:
    """The operands of `a && b && …`, left to right; && and || are associative in CEL, errors included."""
    args: list[Any] = []
    current: Any = tree
    while current.data == data and len(current.children) == 2:
        args.append(current.children[1])
        current = _unwrap(current.children[0])
    args.append(current)
    return args[::-1]
