"""A compiled condition, and many of them as one function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar

from shield.policy.cel.errors import CelError
from shield.policy.cel.expand import Macro, expand
from shield.policy.cel.expression import MARK, Env, Expression, compiled
from shield.policy.cel.parser import read
from shield.policy.cel.runtime import BUDGET
from shield.policy.cel.schema import BOOL, DYN, Position, Schema, describe
from shield.policy.cel.scope import Code, Scope
from shield.policy.cel.syntax import Binary, Items, Literal, Logic, Name, Node, Select, Source
from shield.policy.cel.translate import translate

__all__ = ["Condition", "Group", "compile_condition", "compile_expression", "compile_tree", "group"]

_NO_MACROS: Final[Mapping[str, Macro]] = MappingProxyType({})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Condition:
    """A condition of a rule. `types`: the action types it can be true for, None for any; `roots`: the names it uses.

    `tree` is what is judged, with macros written out; `text` knows its places, `schema` its names. `costly` are the
    identities of the nodes of the tree that may end in the error of costing too much.
    """

    expression: Expression
    types: frozenset[str] | None
    tree: Node
    text: Source
    schema: Schema
    costly: frozenset[int]

    @property
    def source(self) -> str:
        return self.expression.source

    @property
    def roots(self) -> frozenset[str]:
        return self.expression.roots

    @property
    def macros(self) -> frozenset[str]:
        """The names of the macros that it uses, those inside others counted."""
        return frozenset(use.name for use in self.text.uses)

    def test(self, env: Env) -> bool:
        """True or False for `env`, root values in the schema's order (`Schema.bind`). Raises CelError, nothing else."""
        found = self.expression.value(env)
        if found is True or found is False:
            return found
        raise CelError("the condition gave no bool")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Conditions that are asked together, by one generated function."""

    conditions: tuple[Condition, ...]
    run: Callable[[Env], tuple[list[int], list[int]]]

    def __call__(self, env: Env) -> tuple[list[int], list[int]]:
        """The indices of the conditions that hold for `env` and of those that have no answer, both ascending.

        Never raises. `conditions[index].test(env)` raises the error of one that has no answer.
        """
        try:
            return self.run(env)
        except Exception:  # noqa: BLE001  # a condition thought total raised: ask each by itself
            return _one_by_one(self.conditions, env)


def compile_condition(
    source: str,
    schema: Schema,
    *,
    origin: Position | None = None,
    policy: bool = True,
    macros: Mapping[str, Macro] = _NO_MACROS,
    proven: bool = False,
) -> Condition:
    """Check and compile a rule's condition. One that is not `proven` is read by a second parser, too, and compiled by
    Python at once.

    With `policy` (rules of policy files) an index into a list and an unguarded read of what may be absent are refused.
    Raises CelLoadError with line, column and, for a misspelt name, a suggestion.
    """
    text = Source(source, origin if origin is not None else Position())
    tree, text = _shallow(text, lambda: expand(read(text, proven=proven), text, macros))
    return compile_tree(tree, schema, text, policy=policy, proven=proven)


def compile_tree(tree: Node, schema: Schema, text: Source, *, policy: bool = True, proven: bool = False) -> Condition:
    """As `compile_condition`, for a tree without macros; `text` is where its positions are. Raises CelLoadError."""
    scope, code = _translate(tree, schema, text, policy)
    if code.type not in (BOOL, DYN):
        raise text.error(f"a condition is a bool, this is {describe(code.type)}", 0)
    if code.type == DYN:
        code = Code.of("b_({0})", BOOL, [code])
    return Condition(
        expression=_build(text, scope, code, proven=proven),
        types=_types(tree, schema),
        tree=tree,
        text=text,
        schema=schema,
        costly=frozenset(scope.costly),
    )


def compile_expression(
    source: str, schema: Schema, *, origin: Position | None = None, policy: bool = False
) -> Expression:
    """Check and compile an expression of any type. Raises CelLoadError."""
    text = Source(source, origin if origin is not None else Position())
    tree = _shallow(text, lambda: read(text))
    return _build(text, *_translate(tree, schema, text, policy), proven=False)


def _translate(tree: Node, schema: Schema, text: Source, policy: bool) -> tuple[Scope, Code]:
    scope = Scope(source=text, schema=schema, policy=policy)
    return scope, _shallow(text, lambda: translate(tree, scope))


def _shallow(text: Source, work: Callable[[], _T]) -> _T:
    """What `work` gives; a tree that is too deep for it is refused."""
    try:
        return work()
    except RecursionError:
        pass
    raise text.error("the condition is too deeply nested", 0)


def _build(text: Source, scope: Scope, code: Code, *, proven: bool) -> Expression:
    """The expression; one that is not `proven` is refused here if Python cannot compile it."""
    expression = Expression(
        source=text.text,
        type=code.type,
        roots=frozenset(scope.used),
        places=tuple((place, name) for place, name in enumerate(scope.schema.roots) if name in scope.used),
        code=code,
        constants=tuple(scope.constants),
        budget=scope.budget,
    )
    if not (proven or expression.compiles):
        raise text.error("the condition is too deeply nested: split it into several rules", 0)
    return expression


def group(conditions: Sequence[Condition]) -> Group:
    """One function for many conditions; indices are places in `conditions`.

    Raises ValueError if two conditions use different roots at one place of the tuple that they are asked with.
    """
    conditions = tuple(conditions)
    parts = [condition.expression for condition in conditions]
    used = sorted({(place, name) for part in parts for place, name in part.places})
    if len({place for place, _ in used}) != len(used):
        raise ValueError("conditions of one group need the same roots in the same order")
    lines = ["def run(e):", *(f" r_{place} = e[{place}]" for place, _ in used), " h = []", " f = []"]
    named: dict[str, object] = {"S": _ask}
    for index, part in enumerate(parts):
        named[f"C{index}"] = conditions[index]
        named.update({f"K{index}_{place}": value for place, value in enumerate(part.constants)})
        body = MARK.sub(rf"K{index}_\1", part.code.fast)
        lines += [f" B = [{BUDGET}]"] * part.budget
        if part.code.total:
            lines.append(f" if {body}: h.append({index})")
        else:
            lines += [" try:", f"  if {body}: h.append({index})"]
            lines.append(f" except Exception: S(C{index}, {index}, e, h, f)")
    made = compiled([*lines, " return h, f"], named)
    run = made["run"] if made is not None else partial(_one_by_one, conditions)
    return Group(conditions=conditions, run=run)  # type: ignore[arg-type]  # generated with these parameters


def _one_by_one(conditions: tuple[Condition, ...], env: Env) -> tuple[list[int], list[int]]:
    matched: list[int] = []
    failed: list[int] = []
    for index, condition in enumerate(conditions):
        _ask(condition, index, env, matched, failed)
    return matched, failed


def _ask(condition: Condition, index: int, env: Env, matched: list[int], failed: list[int]) -> None:
    try:
        if condition.test(env):
            matched.append(index)
    except CelError:
        failed.append(index)


def _types(node: Node, schema: Schema) -> frozenset[str] | None:
    """The action types that `node` can be true for: exact, because `false && error` is false."""
    if isinstance(node, Logic) and node.op == "and":
        found = [kinds for arg in node.args if (kinds := _types(arg, schema)) is not None]
        return frozenset.intersection(*found) if found else None
    if isinstance(node, Logic):
        either = [_types(arg, schema) for arg in node.args]
        return None if None in either else frozenset().union(*[kinds for kinds in either if kinds is not None])
    if not isinstance(node, Binary) or node.op not in ("==", "in"):
        return None
    left, right = node.left, node.right
    if node.op == "==" and isinstance(left, Literal):
        left, right = right, left
    if not (
        isinstance(left, Select) and left.field == "type" and isinstance(left.base, Name) and left.base.name == "action"
    ):
        return None
    if node.op == "==":
        return frozenset({right.value}) if isinstance(right, Literal) and isinstance(right.value, str) else None
    if isinstance(right, Items) and all(
        isinstance(item, Literal) and isinstance(item.value, str) for item in right.items
    ):
        return frozenset(
            item.value for item in right.items if isinstance(item, Literal) and isinstance(item.value, str)
        )
    if isinstance(right, Select) and isinstance(right.base, Name) and right.base.name == "lists":
        return frozenset(schema.lists[right.field]) if "lists" not in schema.roots else None
    return None
