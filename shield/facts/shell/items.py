"""What the variable of a `for` becomes: words, names that patterns stand for, and what commands print."""

from collections.abc import Iterable

from shield.facts.programs.reading import Reading, Value
from shield.facts.shell.braces import numbers
from shield.facts.shell.content import content
from shield.facts.shell.frame import Frame, Walk
from shield.facts.shell.glob import superset
from shield.facts.shell.grammar.script import For, PartKind
from shield.facts.shell.named import fresh_of, secret_in
from shield.facts.shell.state import State
from shield.facts.shell.variables import Content, Hashes, Matching, Number, Token
from shield.types import Access

__all__ = ["MAX_UNROLLED", "Items"]

# What a loop's variable becomes, and whether it surely does.
_Item = tuple[Content, bool]

# More words, or names that a pattern stands for, are not followed one by one.
MAX_UNROLLED = 24


class Items:
    """Of the loops of one line."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def of(self, node: For, state: State, frame: Frame) -> tuple[list[_Item] | None, Content]:
        """What the loop's variable becomes, one after the other, and whether it surely does; None and what is common
        to all where they are not known or too many."""
        if node.words is None:
            given = state.parameters()
            return None if given is None else self._contents(given, state, frame), None
        found: list[_Item] = []
        whole = True
        secret: Content = None
        for word in node.words:
            secret = secret or secret_in(word, state)
            ends = numbers(word)
            single = len(word) == 1 and word[0].kind is PartKind.SUBSTITUTION and not word[0].quoted
            items: list[_Item] | None
            if ends is not None and abs(ends[0] - ends[1]) >= MAX_UNROLLED:
                common: Content = Number(natural=min(ends) >= 0)
                items = None
            elif single:
                common = content(word[0], state, self._walk.shell(frame))
                row = common.row if isinstance(common, Number) and state.split else ()
                if 0 < len(row) <= MAX_UNROLLED:
                    found.extend((text, True) for text in row)
                    continue
                number: Content = Number(natural=common.natural) if isinstance(common, Number) and state.split else None
                number = Token(revision=True) if isinstance(common, Hashes) and state.split else number
                common = number or (self._walk.entry(word[0], state) if common is None else None)
                items = None
            else:
                common, items = None, self._contents(self._walk.values(word, state, frame), state, frame)
            if common is not None and len(node.words) == 1:
                return None, common
            whole &= items is not None
            found.extend(items or ())
        return found if whole else None, secret

    def _contents(self, values: Iterable[Value], state: State, frame: Frame) -> list[_Item] | None:
        out: list[_Item] = []
        for value in values:
            if value.fresh or value.lost is not None:
                out.append((fresh_of(value), True))
            elif value.fixed:
                out.append((value.text, True))
            elif value.pattern is not None and not value.many:  # of many, some may begin with a dash
                out.extend((item, False) for item in self._matches(value, state, frame))
            elif value.number:
                out.append((Number(natural=True), not value.many))
            elif value.roots is not None:
                out.append((Matching(value._replace(many=False, unset=None), state.bases), False))
            else:
                return None
        return out

    def _matches(self, value: Value, state: State, frame: Frame) -> list[Content]:
        """The names that a pattern stands for, where they are few; else one of them, whichever."""
        reading = Reading()
        reading.path(value, Access.LIST)
        self._walk.bare(reading, state, frame)
        if len(state.bases) != 1:
            return [Matching(value, state.bases)]
        pattern, place, base = value.pattern or "", self._walk.place, state.bases[0]
        found = superset(pattern, place, base)
        if found is None or len(found) > MAX_UNROLLED:
            return [Matching(value, state.bases)]
        # a pattern that matches nothing is itself
        return list(found) if superset(pattern, place, base, dots=False) else [*found, value.text]
