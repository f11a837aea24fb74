"""`[[ … ]]` in the typed JSON of `shfmt`."""

from collections.abc import Iterator

from shield.facts.shell.grammar.script import Condition, RefusedLineError, combined
from shield.facts.shell.grammar.shfmt_words import Node, Words, expect

__all__ = ["Conditions"]


class Conditions(Words):
    def condition(self, node: Node) -> Condition:
        # The tree of `shfmt` has `&&`, `||` and `!` of a test all bind alike, to the right (`! a && b || c` is
        # `!(a && (b || c))` in it). Bash has the precedence of the manual, so the tree is made a row of operands and
        # operators again; parentheses are nodes of their own.
        row = list(self.row(node))
        row.reverse()
        condition = _either(row)
        if row:
            raise RefusedLineError("a test of the second parser is out of order")
        return condition

    def row(self, node: Node) -> Iterator[Condition | str]:
        kind = node["Type"]
        if kind == "BinaryTest" and node["Op"] in ("&&", "||"):
            expect(node, "OpPos", "Op", "X", "Y")
            yield from self.row(node["X"])
            yield node["Op"]
            yield from self.row(node["Y"])
        elif kind == "UnaryTest" and node["Op"] == "!":
            expect(node, "OpPos", "Op", "X")
            yield "!"
            yield from self.row(node["X"])
        elif kind == "ParenTest":
            expect(node, "Lparen", "Rparen", "X")
            yield self.condition(node["X"])
        else:
            yield self.operation_of(node)

    def operation_of(self, node: Node) -> Condition:
        if node["Type"] == "Word":
            return Condition("-n", (), (self.word(_only(node, "Parts")),))
        if node["Type"] == "UnaryTest":
            expect(node, "OpPos", "Op", "X")
            at = node["OpPos"]["Offset"]
            return Condition(self.gap(at, at + 2), (), (self.word(_only(node["X"], "Parts")),))
        expect(node, "OpPos", "Op", "X", "Y")
        operator = "==" if node["Op"] == "=" else node["Op"]
        return Condition(operator, (), (self.word(_only(node["X"], "Parts")), self.word(_only(node["Y"], "Parts"))))


def _either(row: list[Condition | str]) -> Condition:
    """The condition at the end of `row`, which is reversed."""
    condition = _both(row)
    while row and row[-1] == "||":
        row.pop()
        condition = combined("||", condition, _both(row))
    return condition


def _both(row: list[Condition | str]) -> Condition:
    condition = _operand(row)
    while row and row[-1] == "&&":
        row.pop()
        condition = combined("&&", condition, _operand(row))
    return condition


def _operand(row: list[Condition | str]) -> Condition:
    first = row.pop()
    if first == "!":
        return Condition("!", (_operand(row),))
    if isinstance(first, str):
        raise RefusedLineError("a test of the second parser is out of order")
    return first


def _only(node: Node, key: str) -> Node:
    """`node`, which has to have `key`."""
    if key not in node:
        raise RefusedLineError("a test of something else than words")
    return node
