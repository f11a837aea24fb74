"""The macros over lists, sets and maps, as comprehensions."""

from dataclasses import replace

from shield.policy.cel.schema import BOOL, DYN, STRING, EnumOf, ListOf, MapOf, Scalar, SetOf, Type, describe
from shield.policy.cel.scope import Code, Scope
from shield.policy.cel.syntax import Call

__all__ = ["items_of", "mapped", "quantified"]


def items_of(base: Code, node: Call, scope: Scope) -> tuple[Type, Code]:
    """The type of a macro's variable and the texts that are iterated."""
    kind = base.type
    nested = bool(scope.locals)
    match kind:
        case ListOf() | SetOf():
            item: Type = kind.item
        case MapOf():
            item = kind.key
        case Scalar() if kind == DYN:
            return DYN, Code.of(f"it({{0}}, {scope.spends()})", DYN, [base])
        case _:
            raise scope.error(f"`{node.name}()` needs a list, set or map, not {describe(kind)}", node)
    if isinstance(kind, SetOf) and node.name in ("map", "filter"):
        base = Code.of("sorted({0})", kind, [base], total=True)  # a set has no order of its own; answers must repeat
    return item, Code.of(f"it_n({{0}}, {scope.spends()})", kind, [base]) if nested else base


def quantified(name: str, base: Code, items: Code, body: Code, v: str) -> Code:
    """`exists`, `all`, `exists_one`, `filter`: the first two absorb errors, the others do not."""
    total = items.total and body.total
    if name == "filter":
        kind = ListOf(base.type.item) if isinstance(base.type, SetOf) else base.type
        kind = ListOf(base.type.key) if isinstance(base.type, MapOf) else kind
        return Code.of(f"[{v} for {v} in {{0}} if {{1}}]", kind, [items, body], total=True)
    if name == "exists_one":
        return Code.of(f"(sum(1 for {v} in {{0}} if {{1}}) == 1)", BOOL, [items, body], total=True)
    word, empty, absorb = ("any", "False", "exists") if name == "exists" else ("all", "True", "every")
    code = Code.of(f"{word}({{1}} for {v} in {{0}})", BOOL, [items, body], total=True)
    if not total:
        code = replace(code, exact=f"{absorb}({items.exact}, lambda {v}: {body.exact})")
    if base.path is not None and len(base.path) <= 2 and base.total and base is items:
        # Most lists of facts are empty tuples: no generator is made for them. INVARIANT: the test is for that tuple and
        # not for truth, so that a root without a value fails and is not taken for an empty list.
        code = replace(code, fast=f"({empty} if {base.fast} == () else {code.fast})")
    return code


def mapped(items: Code, test: Code | None, body: Code, v: str) -> Code:
    """`map` with or without a filter."""
    kind = ListOf(STRING if isinstance(body.type, EnumOf) else body.type)
    if test is None:
        return Code.of(f"[{{1}} for {v} in {{0}}]", kind, [items, body], total=True)
    return Code.of(f"[{{2}} for {v} in {{0}} if {{1}}]", kind, [items, test, body], total=True)
