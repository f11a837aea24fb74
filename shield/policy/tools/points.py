"""The places in a condition where it is decided one way or the other, each with two conditions that say so.

A point's `yes` holds for an action for which the evaluation comes to this place and finds it true, `no` the same for
false: what `&&`, `||` and `?:` stand before it are part of them. Inside a macro one element is enough.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shield.policy.cel.syntax import Call, Choice, Literal, Logic, Node, Unary, parts
from shield.policy.tools.tree import both, is_macro, negated, written

__all__ = ["Point", "points"]

_Reach = Callable[[Node], Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """`node` is true or false there, `depth` counts the macros around it. `whole`: it is the whole condition."""

    node: Node
    yes: Node
    no: Node
    depth: int = 0
    whole: bool = False

    @property
    def text(self) -> str:
        """The condition of this place, as CEL."""
        return written(self.node)


def points(tree: Node) -> tuple[Point, ...]:
    """All points of a condition, the whole first, then in the order of the text. Constants are none."""
    found = list(_truths(tree, lambda node: node, 0))
    if len(found) == 1 and found[0].node is tree:
        return (Point(node=tree, yes=tree, no=negated(tree), whole=True),)
    rest = (point for point in found if point.node is not tree)
    return (Point(node=tree, yes=tree, no=negated(tree), whole=True), *rest)


def _truths(node: Node, reach: _Reach, depth: int) -> Iterator[Point]:
    """The points of a node that is true or false."""
    match node:
        case Literal():
            return
        case Logic():
            before: tuple[Node, ...] = ()
            for arg in node.args:
                yield from _truths(arg, _after(reach, before), depth)
                before = (*before, arg if node.op == "and" else negated(arg))
        case Unary() if node.op == "!":
            yield from _truths(node.arg, reach, depth)
        case Choice():
            yield from _truths(node.test, reach, depth)
            yield from _truths(node.yes, _after(reach, (node.test,)), depth)
            yield from _truths(node.no, _after(reach, (negated(node.test),)), depth)
        case _:
            yield Point(node=node, yes=reach(node), no=reach(negated(node)), depth=depth)
            yield from _values(node, reach, depth)


def _values(node: Node, reach: _Reach, depth: int) -> Iterator[Point]:
    """The points inside a node of any type."""
    if isinstance(node, Call) and is_macro(node):
        yield from _inside(node, reach, depth)
    elif isinstance(node, Logic) or (isinstance(node, Unary) and node.op == "!"):
        yield from _truths(node, reach, depth)
    elif isinstance(node, Choice):
        yield from _truths(node.test, reach, depth)
        yield from _values(node.yes, _after(reach, (node.test,)), depth)
        yield from _values(node.no, _after(reach, (negated(node.test),)), depth)
    else:
        for part in parts(node):
            yield from _values(part, reach, depth)


def _inside(node: Call, reach: _Reach, depth: int) -> Iterator[Point]:
    assert node.target is not None
    yield from _values(node.target, reach, depth)
    variable, *bodies = node.args

    def for_one(body: Node) -> Node:
        return reach(Call(node.pos, "exists", node.target, (variable, body)))

    if node.name != "map":
        yield from _truths(bodies[0], for_one, depth + 1)
    elif len(bodies) == 2:
        yield from _truths(bodies[0], for_one, depth + 1)
        yield from _values(bodies[1], _after(for_one, (bodies[0],)), depth + 1)
    else:
        yield from _values(bodies[0], for_one, depth + 1)


def _after(reach: _Reach, before: tuple[Node, ...]) -> _Reach:
    return (lambda node: reach(both((*before, node)))) if before else reach
