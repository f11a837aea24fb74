"""From the tree to Python: names, fields, types and guards are checked, and two texts come out.

`fast` uses Python's own `and`, `or`, `any` and assumes that nothing raises; `exact` absorbs errors as CEL asks and runs
only when `fast` raised. They differ in nothing else. INVARIANT: generated text consists of names made here, field
names of the schema, `ascii()` of literals, and markers of constants; no text of a condition reaches Python otherwise.
"""

from dataclasses import replace

from shield.policy.cel import calls, macros, operators, values
from shield.policy.cel.functions import FUNCTIONS, METHODS, QUALIFIED, ZONED, accepts
from shield.policy.cel.scan import RESERVED
from shield.policy.cel.schema import BOOL, DOUBLE, DYN, INT, TYPE, ListOf, MapOf, SetOf, describe, join, opaque
from shield.policy.cel.scope import NOTHING, TYPE_NAMES, Code, Path, Scope, nearest
from shield.policy.cel.syntax import (
    COMPREHENSIONS,
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
    Unary,
)

__all__ = ["translate"]

MAX_NESTED = 2  # comprehensions inside one another
MAX_MACROS = 32

_NONE: frozenset[Path] = frozenset()


def translate(node: Node, scope: Scope) -> Code:
    """The two texts and the type of `node`. Raises CelLoadError with the position of what is wrong."""
    before = scope.spending
    code = _translate(node, scope)
    if scope.spending > before:
        scope.costly.add(id(node))
    return code


def _translate(node: Node, scope: Scope) -> Code:
    match node:
        case Literal():
            return values.literal(node)
        case Name():
            return scope.name(node)
        case Select():
            return _select(node, scope)
        case Index():
            return values.index(node, translate(node.base, scope), plain(node.key, scope), scope)
        case Items():
            return values.items(node, [plain(item, scope) for item in node.items], scope)
        case Entries():
            parts = [plain(side, scope) for entry in node.entries for side in entry]
            return values.entries(node, parts, scope)
        case Unary():
            return _unary(node, scope)
        case Binary():
            left = plain(node.left, scope)
            right = translate(node.right, scope) if node.op == "in" else plain(node.right, scope)
            return operators.binary(node, left, right, scope)
        case Logic():
            return _logic(node, scope)
        case Choice():
            return _choice(node, scope)
        case Call():
            return _call(node, scope)


def truth(node: Node, scope: Scope) -> Code:
    """`node` as a bool: a `dyn` is tested at run time."""
    code = translate(node, scope)
    if code.type == BOOL:
        return code
    if code.type != DYN:
        raise scope.error(f"expected bool, found {describe(code.type)}", node)
    return Code.of("b_({0})", BOOL, [code])


def plain(node: Node, scope: Scope) -> Code:
    """`node` as an ordinary CEL value: not a declared object, not a set."""
    code = translate(node, scope)
    if opaque(code.type):
        raise scope.error(f"{describe(code.type)} cannot be used as a value here: name one of its fields", node)
    return code


# --- names ---


def _select(node: Select, scope: Scope) -> Code:
    dotted = _dotted(node)
    if dotted in TYPE_NAMES and dotted.partition(".")[0] not in scope.schema.roots:
        return scope.type_name(dotted)
    constant = scope.named_list(node)
    return constant if constant is not None else scope.field(translate(node.base, scope), node.field, node)


def _dotted(node: Node) -> str:
    parts: list[str] = []
    while isinstance(node, Select):
        parts.append(node.field)
        node = node.base
    return ".".join([node.name, *parts[::-1]]) if isinstance(node, Name) else ""


# --- logic ---


def _unary(node: Unary, scope: Scope) -> Code:
    if node.op == "!":
        arg = truth(node.arg, scope)
        return replace(Code.of("(not {0})", BOOL, [arg], total=True), yes=arg.no, no=arg.yes)
    arg = plain(node.arg, scope)
    if arg.type not in (INT, DOUBLE, DYN):
        raise scope.error(f"`-` takes a number, not {describe(arg.type)}", node)
    return Code.of("neg({0})", arg.type, [arg])


def _logic(node: Logic, scope: Scope) -> Code:
    known = _NONE
    parts: list[Code] = []
    for arg in node.args:
        with scope.knowing(known):
            part = truth(arg, scope)
        parts.append(part)
        # INVARIANT: what an operand tells holds for the operands after it, because fast text stops at the first
        # decisive one; exact text evaluates on after an error and therefore tests each optional field it reads.
        known |= part.yes if node.op == "and" else part.no
    either = frozenset.intersection(*[part.no if node.op == "and" else part.yes for part in parts])
    total = all(part.total for part in parts)
    fast = "(" + f" {node.op} ".join(part.fast for part in parts) + ")"
    exact = f"{node.op}_(" + ", ".join(f"lambda: {part.exact}" for part in parts) + ")"
    return Code(
        fast=fast,
        exact="(" + f" {node.op} ".join(part.exact for part in parts) + ")" if total else exact,
        type=BOOL,
        total=total,
        yes=known if node.op == "and" else either,
        no=either if node.op == "and" else known,
    )


def _choice(node: Choice, scope: Scope) -> Code:
    test = truth(node.test, scope)
    with scope.knowing(test.yes):
        yes = translate(node.yes, scope)
    with scope.knowing(test.no):
        no = translate(node.no, scope)
    kind = join([yes.type, no.type])
    if (
        kind == DYN
        and DYN not in (yes.type, no.type)
        and not (accepts(yes.type, no.type) and accepts(no.type, yes.type))
    ):
        raise scope.error(f"the two sides of `?:` differ: {describe(yes.type)} and {describe(no.type)}", node)
    if kind == DYN and (opaque(yes.type) or opaque(no.type)):
        raise scope.error("the two sides of `?:` differ", node)
    return replace(
        Code.of("({1} if {0} else {2})", kind, [test, yes, no], total=True),
        yes=(test.yes | yes.yes) & (test.no | no.yes),
        no=(test.yes | yes.no) & (test.no | no.no),
    )


# --- calls ---


def _call(node: Call, scope: Scope) -> Code:
    if node.target is None:
        return _function(node, scope)
    qualified = _qualified(node, scope)
    if qualified is not None:
        parts = [_arg(arg, node, scope) for arg in node.args]
        return calls.apply(node, QUALIFIED[qualified], parts, scope, qualified)
    if node.name in COMPREHENSIONS and len(node.args) >= 2:
        return _macro(node, scope)
    if node.name in calls.GLOBS:
        return calls.globbed(node, translate(node.target, scope), [translate(arg, scope) for arg in node.args], scope)
    if node.name == "matches":
        return _matches(node, [node.target, *node.args], scope)
    found = METHODS.get(node.name)
    if found is None:
        if isinstance(node.target, Name):
            scope.name(node.target)  # an unknown namespace is the better message
        raise scope.error(
            f"unknown function `.{node.name}()`",
            node,
            nearest(node.name, [*METHODS, *COMPREHENSIONS, *calls.GLOBS, "matches"]),
        )
    if node.name in ZONED and len(node.args) == 1:
        return calls.zoned(node, plain(node.target, scope), scope)
    parts = [_arg(arg, node, scope) for arg in (node.target, *node.args)]
    return calls.apply(node, found, parts, scope, f".{node.name}")


def _qualified(node: Call, scope: Scope) -> str | None:
    """The function of an extension that is called, such as `sets.contains`."""
    if not isinstance(node.target, Name) or not scope.is_free(node.target.name, rooted=node.target.rooted):
        return None
    name = f"{node.target.name}.{node.name}"
    return name if name in QUALIFIED else None


def _arg(arg: Node, node: Call, scope: Scope) -> Code:
    """`size` counts declared objects and sets as well, and the sets extension takes sets."""
    code = translate(arg, scope)
    sized = node.name == "size" and isinstance(code.type, SetOf | ListOf | MapOf)
    taken = (
        isinstance(code.type, SetOf)
        and isinstance(node.target, Name)
        and f"{node.target.name}.{node.name}" in QUALIFIED
    )
    if not sized and not taken and opaque(code.type):
        raise scope.error(f"{describe(code.type)} cannot be used as a value here: name one of its fields", arg)
    return code


def _matches(node: Call, args: list[Node], scope: Scope) -> Code:
    if len(args) != 2:
        raise scope.error("`matches()` takes a string and a pattern", node)
    return calls.matches(node, plain(args[0], scope), args[1], scope)


def _function(node: Call, scope: Scope) -> Code:
    match node.name:
        case "has":
            return _has(node, scope)
        case "matches":
            return _matches(node, list(node.args), scope)
        case "dyn" if len(node.args) == 1:
            return replace(plain(node.args[0], scope), type=DYN, value=NOTHING, path=None)
        case "type" if len(node.args) == 1:
            return Code.of("type_of({0})", TYPE, [plain(node.args[0], scope)])
    found = FUNCTIONS.get(node.name)
    if found is None:
        known = [*FUNCTIONS, "has", "matches", "dyn", "type"]
        raise scope.error(f"unknown function `{node.name}()`", node, nearest(node.name, known))
    return calls.apply(node, found, [_arg(arg, node, scope) for arg in node.args], scope, node.name)


def _has(node: Call, scope: Scope) -> Code:
    arg = node.args[0] if len(node.args) == 1 else None
    if not isinstance(arg, Select):
        raise scope.error("has() takes one field, such as has(x.name)", node)
    return scope.field(translate(arg.base, scope), arg.field, arg, testing=True)


def _macro(node: Call, scope: Scope) -> Code:
    assert node.target is not None
    variable, *rest = node.args
    if len(rest) not in ((1, 2) if node.name == "map" else (1,)):
        raise scope.error(f"`{node.name}()` takes a variable and an expression", node)
    if not isinstance(variable, Name) or variable.rooted or variable.name.startswith("__"):
        raise scope.error(f"the first argument of `{node.name}()` is the name of a variable", variable)
    if variable.name in RESERVED or variable.name in TYPE_NAMES:
        raise scope.error(f"`{variable.name}` is a reserved word", variable)
    base = translate(node.target, scope)
    kind, items = macros.items_of(base, node, scope)
    if len(scope.locals) == MAX_NESTED:
        raise scope.error(f"more than {MAX_NESTED} of `exists`, `all`, `filter` and the like inside one another", node)
    scope.macros += 1
    if scope.macros > MAX_MACROS:
        raise scope.error(f"more than {MAX_MACROS} of `exists`, `all`, `filter` and the like in one condition", node)
    with scope.variable(variable.name, kind, base) as v:
        if node.name == "map":
            test = truth(rest[0], scope) if len(rest) == 2 else None
            with scope.knowing(test.yes if test else _NONE):
                body = translate(rest[-1], scope)
            return macros.mapped(items, test, body, v)
        body = truth(rest[0], scope)
    return macros.quantified(node.name, base, items, body, v)
