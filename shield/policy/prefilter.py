"""An index over many rules: which of them could hold for these facts, without asking each.

INVARIANT: a rule that is passed over is false for these values and would have said so without an error; asking all
rules and asking the ones found here come to the same opinion. Whatever cannot be told means asking all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from shield.policy.cel import Condition, Slot, Way, needed

__all__ = ["Prefilter"]

_GRAM: Final = 3
_LONG: Final = 4  # a text this many times longer than there are parts is not searched for them


class _Texts:
    """The keys of one slot: places of rules by text."""

    __slots__ = ("_everything", "_lengths", "_rules", "slot")

    def __init__(self, slot: Slot, keys: Iterable[tuple[str, int]]) -> None:
        self.slot = slot
        self._rules: dict[str, list[int]] = {}
        entries = list(keys)
        if slot.way is Way.PART:
            entries = list(_rarest(entries))
        for text, place in entries:
            self._rules.setdefault(text, []).append(place)
        self._lengths = tuple(sorted({len(text) for text in self._rules}))
        self._everything = tuple({place for _, place in entries})

    def add(self, values: Sequence[Any], found: set[int]) -> None:
        """Add the rules that one of the values' texts could make true."""
        way, rules = self.slot.way, self._rules
        for text in self._values(values):
            if way is Way.EQUAL:
                found.update(rules.get(text, ()))
            elif way is Way.PREFIX:
                for length in self._lengths:
                    found.update(rules.get(text[:length], ()))
            else:
                self._add_parts(text, found)

    def _add_parts(self, text: str, found: set[int]) -> None:
        if len(text) > _LONG * len(self._rules):
            found.update(self._everything)
            return
        rules = self._rules
        for start in range(len(text) - _GRAM + 1):
            places = rules.get(text[start : start + _GRAM])
            if places is not None:
                found.update(places)

    def _values(self, values: Sequence[Any]) -> Iterable[str]:
        """The texts at the slot; their types are those that the facts declare."""
        slot = self.slot
        root = values[slot.place]
        if slot.many or slot.members:
            return _texts(slot, root if slot.many else (root,))
        value = root if slot.field is None else getattr(root, slot.field)
        return () if value is None else (value,)


class Prefilter:
    """Conditions by what they wait for. `unknown` are the places of those that must always be asked, `known` of the
    others."""

    __slots__ = ("_texts", "known", "unknown")

    def __init__(self, conditions: Sequence[Condition]) -> None:
        slots: dict[Slot, list[tuple[str, int]]] = {}
        unknown = []
        for place, condition in enumerate(conditions):
            keys = needed(condition)
            if keys is None:
                unknown.append(place)
            for key in keys or ():
                slots.setdefault(key.slot, []).append((key.text, place))
        self.unknown = tuple(unknown)
        self._texts = tuple(_Texts(slot, keys) for slot, keys in slots.items())
        always = frozenset(unknown)
        self.known = tuple(place for place in range(len(conditions)) if place not in always)

    def candidates(self, values: Sequence[Any]) -> Sequence[int]:
        """The places of the indexed conditions that could hold for these values, ascending."""
        found: set[int] = set()
        try:
            for texts in self._texts:
                texts.add(values, found)
        except Exception:  # noqa: BLE001  # values of another shape: every condition says for itself what it makes of them
            return self.known
        return sorted(found)


def _texts(slot: Slot, roots: Iterable[Any]) -> Iterator[str]:
    for root in roots:
        value = root if slot.field is None else getattr(root, slot.field)
        if slot.members:
            yield from value
        elif value is not None:
            yield value


def _rarest(entries: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """For each text a part of fixed length that few others have: what contains the text contains that."""
    counts: Counter[str] = Counter()
    for text, place in entries:
        grams = {text[start : start + _GRAM] for start in range(len(text) - _GRAM + 1)}
        rare = min(sorted(grams), key=counts.__getitem__)
        counts[rare] += 1
        yield rare, place
