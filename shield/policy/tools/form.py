"""A condition as a list of terms, each a set of claims: it is true where all claims of one term are.

A claim is about one value: that it is one of some constants or none of them, that it lies below or above a number, that
some or all items of a list fulfil a condition; anything else stands for itself. Too many terms are no form at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from shield.policy.cel.syntax import Binary, Call, Choice, Items, Literal, Logic, Name, Node, Select, Unary, parts
from shield.policy.tools.tree import both, is_macro, negated, rebuilt, written

__all__ = ["Bounds", "Claim", "Form", "Itself", "Lists", "OneOf", "Quantified", "Term", "conjoined", "form"]

MAX_TERMS: Final = 256

Lists = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class OneOf:
    """`subject` is (or with `inside` False is not) one of `values`."""

    subject: str
    values: frozenset[object]
    inside: bool


@dataclass(frozen=True, slots=True)
class Bounds:
    """`least` <= `subject` <= `most`, in whole numbers; None is without end."""

    subject: str
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Quantified:
    """Some item of `base`, or with `every` all of them, fulfil `form`; it speaks of the item as `item`."""

    base: str
    every: bool
    item: str
    form: "Form"


@dataclass(frozen=True, slots=True)
class Itself:
    """A condition that nothing is known of but its own text; `positive` False: it is false."""

    text: str
    positive: bool


Claim = OneOf | Bounds | Quantified | Itself
Term = frozenset[Claim]


@dataclass(frozen=True, slots=True)
class Form:
    """Any of the terms; none is never true, an empty term always. None: too many to tell."""

    terms: tuple[Term, ...] | None


_ALWAYS = Form((frozenset(),))
_NEVER = Form(())


def form(tree: Node | None, lists: Lists, item: str | None = None) -> Form:
    """The form of a condition; of one that is left out, which always holds. `item` names the element of an allow rule,
    which is then spoken of as the first macro's variable is."""
    if tree is None:
        return _ALWAYS
    bound = {} if item is None else {item: "v0"}
    return _form(_plain(tree, lists, bound, len(bound)))


# --- the plain tree ---


def _plain(node: Node, lists: Lists, bound: Mapping[str, str], depth: int) -> Node:
    """The tree with lists spelled out, variables of macros numbered from the outside and roots unmarked, so that equal
    meanings have equal texts."""
    if isinstance(node, Name):
        name = bound.get(node.name) if not node.rooted else None
        return Name(0, name or node.name, False)
    if isinstance(node, Select) and isinstance(node.base, Name) and node.base.name == "lists" and node.field in lists:
        return Items(0, tuple(Literal(0, word) for word in lists[node.field]))
    if is_macro(node):
        assert isinstance(node, Call)
        assert node.target is not None
        variable, *bodies = node.args
        assert isinstance(variable, Name)
        name = f"v{depth}"
        inner = {**bound, variable.name: name}
        args = (Name(0, name, False), *(_plain(body, lists, inner, depth + 1) for body in bodies))
        return Call(0, node.name, _plain(node.target, lists, bound, depth), args)
    return rebuilt(node, [_plain(part, lists, bound, depth) for part in parts(node)])


# --- from the tree to terms ---


def _form(node: Node) -> Form:
    match node:
        case Literal() if isinstance(node.value, bool):
            return _ALWAYS if node.value else _NEVER
        case Logic():
            found = [_form(arg) for arg in node.args]
            return conjoined(found) if node.op == "and" else _either(found)
        case Choice():
            yes = _form(both((node.test, node.yes)))
            return _either((yes, _form(both((negated(node.test), node.no)))))
        case Unary() if node.op == "!":
            return _form_not(node.arg)
    return Form((frozenset((_claim(node),)),))


def _form_not(node: Node) -> Form:
    match node:
        case Literal() if isinstance(node.value, bool):
            return _NEVER if node.value else _ALWAYS
        case Logic():
            op = "or" if node.op == "and" else "and"
            return _form(Logic(0, op, tuple(negated(arg) for arg in node.args)))
        case Choice():
            return _form(Choice(0, node.test, negated(node.yes), negated(node.no)))
        case Unary() if node.op == "!":
            return _form(node.arg)
    return Form((frozenset((_opposite(node),)),))


def _either(forms: Sequence[Form]) -> Form:
    terms: list[Term] = []
    for one in forms:
        if one.terms is None:
            return one
        terms.extend(one.terms)
    return Form(tuple(dict.fromkeys(terms))) if len(terms) <= MAX_TERMS else Form(None)


def conjoined(forms: Sequence[Form]) -> Form:
    """The form of all of them at once."""
    known = [one.terms for one in forms if one.terms is not None]
    if any(not terms for terms in known):
        return _NEVER
    if len(known) < len(forms):
        return Form(None)
    count = 1
    for terms in known:
        count *= len(terms)
    if count > MAX_TERMS:
        return Form(None)
    return Form(tuple(dict.fromkeys(frozenset().union(*chosen) for chosen in product(*known))))


def _claim(node: Node) -> Claim:
    match node:
        case Binary() if node.op in ("==", "in"):
            return _member(node) or Itself(written(node), True)
        case Binary() if node.op == "!=":
            found = _member(Binary(0, "==", node.left, node.right))
            return _turned(found) if isinstance(found, OneOf) else Itself(written(node), True)
        case Binary() if node.op in _MIRRORED:
            return _bounds(node) or Itself(written(node), True)
        case Call() if is_macro(node) and node.name in ("exists", "all") and len(node.args) == 2:
            return _quantified(node, node.args[1], node.name == "all")
    return Itself(written(node), True)


def _opposite(node: Node) -> Claim:
    if isinstance(node, Call) and is_macro(node) and node.name in ("exists", "all") and len(node.args) == 2:
        return _quantified(node, negated(node.args[1]), node.name == "exists")
    if isinstance(node, Binary) and node.op in _OPPOSED:
        return _bounds(Binary(0, _OPPOSED[node.op], node.left, node.right)) or Itself(written(node), False)
    return _turned(_claim(node))


def _turned(claim: Claim) -> Claim:
    match claim:
        case OneOf():
            return OneOf(claim.subject, claim.values, not claim.inside)
        case Itself():
            return Itself(claim.text, not claim.positive)
    raise AssertionError("quantifiers and bounds are turned in the tree")


def _member(node: Binary) -> Claim | None:
    left, right = node.left, node.right
    if node.op == "==":
        if isinstance(left, Literal):
            left, right = right, left
        if not isinstance(right, Literal) or isinstance(left, Literal):
            return None
        if isinstance(right.value, bool):
            return Itself(written(left), right.value)
        return OneOf(written(left), frozenset((_constant(right),)), True)
    if isinstance(right, Items) and not isinstance(left, Literal) and all(isinstance(i, Literal) for i in right.items):
        return OneOf(written(left), frozenset(_constant(i) for i in right.items if isinstance(i, Literal)), True)
    return None


def _constant(node: Literal) -> object:
    # 1, 1.0 and True are equal for Python; CEL keeps a bool apart from numbers
    return (type(node.value) is bool, node.value)


_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSED: Final = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _bounds(node: Binary) -> Bounds | None:
    left, op, right = node.left, node.op, node.right
    if isinstance(left, Literal):
        left, op, right = right, _MIRRORED[op], left
    if not isinstance(right, Literal) or type(right.value) is not int or not _counts(left):
        return None
    number = right.value
    match op:
        case "<":
            return Bounds(written(left), 0, number - 1)
        case "<=":
            return Bounds(written(left), 0, number)
        case ">":
            return Bounds(written(left), max(number + 1, 0), None)
    return Bounds(written(left), max(number, 0), None)


def _counts(node: Node) -> bool:
    """Whether the value is a whole number that is never below 0: nothing lies between two of them."""
    return isinstance(node, Call) and node.name in ("size", "getHours", "getMinutes", "getDayOfWeek", "getMonth")


def _quantified(node: Call, body: Node, every: bool) -> Quantified:
    assert node.target is not None
    variable = node.args[0]
    assert isinstance(variable, Name)
    return Quantified(written(node.target), every, variable.name, _form(body))
