"""From the tokens of a condition to its tree, by recursive descent.

The grammar is the language definition's ("Syntax"), without messages (`Name{…}`) and calls of rooted names (`.name()`):

    Expr    = Or ["?" Or ":" Expr]
    Or      = Unary {operator Unary}, left-associative; from loose to tight: || && (< <= >= > == != in) (+ -) (* / %)
    Unary   = {"!" | "-"} Member
    Member  = Primary {"." NAME ["(" [Exprs] ")"] | "[" Expr "]"}
    Primary = literal | ["."] NAME | NAME "(" [Exprs] ")" | "(" Expr ")" | "[" [Exprs] "]" | "{" [Entries] "}"
    Exprs   = Expr {"," Expr}; Entries = Expr ":" Expr {"," Expr ":" Expr}

INVARIANT: recursion is as deep as brackets are, which `scan` bounds; everything else is read in loops.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from shield.policy.cel.errors import CelLoadError
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

__all__ = ["MAX_LEVELS", "MAX_NODES", "parse", "read"]

MAX_NODES: Final = 2000
MAX_LEVELS: Final = 40  # keeps the generated text below CPython's limit of 200 nested parentheses

_RANKS: Final[Mapping[str, int]] = MappingProxyType(
    {"||": 1, "&&": 2}
    | dict.fromkeys(("<", "<=", ">=", ">", "==", "!=", "in"), 3)
    | dict.fromkeys("+-", 4)
    | dict.fromkeys("*/%", 5)
)
_LOGIC: Final[Mapping[str, str]] = MappingProxyType({"||": "or", "&&": "and"})
_WORDS: Final[Mapping[str, bool | None]] = MappingProxyType({"true": True, "false": False, "null": None})


def read(source: Source, *, proven: bool = False) -> Node:
    """The tree of `source`. What is not `proven` is read by cel-python's grammar as well, and refused where the two
    differ. Raises CelLoadError with the position of what is wrong."""
    tree = parse(source)
    if not proven:
        try:
            # not at the top: loading it takes longer than all the rest of a policy
            from shield.policy.cel.grammar import confirm
        except Exception as error:  # noqa: BLE001 - whatever is wrong with an installation
            why = f"the second parser does not start ({error}); install cel-python and tzdata again"
            raise source.error(why, 0) from None
        confirm(tree, source)
    return tree


def parse(source: Source) -> Node:
    """The tree as this parser alone reads it. Raises CelLoadError."""
    try:
        tokens = scan(source.text)
    except ScanError as error:
        raise source.error(error.detail, error.offset) from None
    tree = _Parser(source, tokens).condition()
    _measure(tree, source)
    return tree


class _Parser:
    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self._source = source
        self._rest = iter(tokens)
        self._token = next(self._rest)

    def condition(self) -> Node:
        tree = self._expression()
        if self._token.kind is not TokenKind.END:
            raise self._unexpected("an operator")
        return tree

    def _take(self) -> Token:
        taken = self._token
        self._token = next(self._rest)  # the END is never taken
        return taken

    def _at(self, text: str) -> bool:
        return self._token.text == text

    def _expect(self, text: str) -> None:
        if not self._at(text):
            raise self._unexpected(f"`{text}`")
        self._take()

    def _unexpected(self, wanted: str) -> CelLoadError:
        found = "the end" if self._token.kind is TokenKind.END else f"`{self._token.text[:32]}`"
        return self._source.error(f"syntax error: {wanted} is expected, not {found}", self._token.offset)

    def _expression(self) -> Node:
        choices: list[tuple[int, Node, Node]] = []
        while True:
            start = self._token.offset
            node = self._operation(1)
            if not self._at("?"):
                break
            self._take()
            yes = self._operation(1)
            self._expect(":")
            choices.append((start, node, yes))
        for start, test, yes in reversed(choices):
            node = Choice(start, test, yes, node)
        return node

    def _operation(self, least: int) -> Node:
        """Operands and the operators between them that bind at least as tightly as rank `least`."""
        start = self._token.offset
        left = self._unary()
        while (rank := _RANKS.get(self._token.text, 0)) >= least:
            operator = self._take().text
            right = self._operation(rank + 1)
            if operator not in _LOGIC:
                left = Binary(start, operator, left, right)
                continue
            op = _LOGIC[operator]  # associative, errors included: `(a && b) && c` is one node
            before = left.args if isinstance(left, Logic) and left.op == op else (left,)
            left = Logic(start, op, (*before, right))
        return left

    def _unary(self) -> Node:
        operators = []
        while self._token.text in ("!", "-"):
            operators.append(self._take())
        node = self._member()
        for operator in reversed(operators):
            node = Unary(operator.offset, operator.text, node)
        return node

    def _member(self) -> Node:
        start = self._token.offset
        node = self._primary()
        while True:
            match self._token.text:
                case ".":
                    self._take()
                    name = self._name()
                    if self._at("("):
                        node = Call(name.offset, name.text, node, self._arguments("(", ")"))
                    else:
                        node = Select(name.offset, node, name.text)
                case "[":
                    self._take()
                    key = self._expression()
                    self._expect("]")
                    node = Index(start, node, key)
                case "{":
                    raise self._source.error("messages such as `Name{…}` are not supported", start)
                case _:
                    return node

    def _primary(self) -> Node:
        token = self._token
        match token.kind:
            case TokenKind.STRING:
                return Literal(self._take().offset, token.value)
            case TokenKind.NUMBER:
                return Literal(self._take().offset, self._number(token))
            case TokenKind.NAME:
                self._take()
                if token.text in _WORDS:
                    return Literal(token.offset, _WORDS[token.text])
                if self._at("("):
                    return Call(token.offset, token.text, None, self._arguments("(", ")"))
                return Name(token.offset, token.text, rooted=False)
        match token.text:
            case "(":
                self._take()
                node = self._expression()
                self._expect(")")
                return node
            case "[":
                return Items(token.offset, self._arguments("[", "]"))
            case "{":
                return Entries(token.offset, self._entries())
            case ".":
                self._take()
                name = self._name()
                if self._at("("):
                    raise self._source.error("calls such as `.name()` are not supported", token.offset)
                return Name(token.offset, name.text, rooted=True)
        raise self._unexpected("a value")

    def _name(self) -> Token:
        if self._token.kind is not TokenKind.NAME or self._token.text in _WORDS:
            raise self._unexpected("a name")
        return self._take()

    def _arguments(self, opening: str, closing: str) -> tuple[Node, ...]:
        self._expect(opening)
        found: list[Node] = []
        while found or not self._at(closing):
            found.append(self._expression())
            if not self._at(","):
                break
            self._take()
        self._expect(closing)
        return tuple(found)

    def _entries(self) -> tuple[tuple[Node, Node], ...]:
        self._expect("{")
        found: list[tuple[Node, Node]] = []
        while found or not self._at("}"):
            key = self._expression()
            self._expect(":")
            found.append((key, self._expression()))
            if not self._at(","):
                break
            self._take()
        self._expect("}")
        return tuple(found)

    def _number(self, token: Token) -> int | float:
        text = token.text
        if "x" not in text and set(text) & set(".eE"):
            number = float(text)
            if number in (float("inf"), float("-inf")):
                raise self._source.error("the number does not fit into a double", token.offset)
            return number
        # a length that is far too large, before Python's own limit on digits is met
        value = int(text, 16 if "x" in text else 10) if len(text) < 40 else 1 << 64
        if not -(2**63) <= value < 2**63:
            raise self._source.error("the integer does not fit into 64 bits", token.offset)
        return value


def _measure(tree: Node, source: Source) -> None:
    """Refuse a tree of too many nodes or levels."""
    count = 0
    waiting: list[tuple[Node, int]] = [(tree, 0)]
    while waiting:
        node, level = waiting.pop()
        count += 1
        if count > MAX_NODES or level > MAX_LEVELS:
            raise source.error("the condition is too deeply nested or too large: split it into several rules", node.pos)
        waiting += [(child, level + 1) for child in parts(node)]
