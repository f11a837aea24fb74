"""The sets extension: lists asked as sets, with CEL's equality. Sets of the facts are taken as they are.

Source: cel-go `ext/sets.go` documentation.
"""

from collections.abc import Collection
from typing import Any

from shield.policy.cel.runtime import STEP, eq_b, fail, spend

__all__ = ["sets_contains", "sets_equivalent", "sets_intersects"]


def sets_contains(budget: list[int], items: Any, wanted: Any) -> bool:
    """Whether every one of `wanted` is among `items`."""
    whole = _items(items)
    return all(_among(item, whole, budget) for item in _items(wanted))


def sets_intersects(budget: list[int], items: Any, others: Any) -> bool:
    """Whether one of `others` is among `items`."""
    whole = _items(items)
    return any(_among(item, whole, budget) for item in _items(others))


def sets_equivalent(budget: list[int], items: Any, others: Any) -> bool:
    """Whether each holds all of the other."""
    return sets_contains(budget, items, others) and sets_contains(budget, others, items)


def _items(x: Any) -> Collection[Any]:
    return x if isinstance(x, list | tuple | frozenset) else fail()


def _among(x: Any, whole: Collection[Any], budget: list[int]) -> bool:
    if isinstance(whole, frozenset):
        # the facts' sets hold strings only
        return isinstance(x, str) and x in whole
    spend(budget, len(whole) * STEP)
    return any(eq_b(x, y, budget) for y in whole)
