"""Which stretches of a long text are read: overlapping windows, or its head and tail where it has too many."""

from dataclasses import dataclass

__all__ = ["Cut", "Window", "spans"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """`ids` as the graph reads them, framed; `start` and `end` are code points of the text."""

    ids: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The windows of one text; `whole` is False where they leave out a part of it."""

    windows: tuple[Window, ...]
    whole: bool


def spans(count: int, *, size: int, step: int, most: int) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Windows of at most `size` out of `count` tokens, each `step` behind the last, and whether they cover all.

    Where that would take more than `most`, which is at least 1, they lie as far apart as it takes, but share a quarter
    of their tokens at least; beyond that the first half of them stays and the other half ends with the text.
    """
    if most > 1:
        step = min(max(step, -(-(count - size) // (most - 1))), max(step, size - size // 4))
    begins = list(range(0, max(count - size, 0) + step, step)) if count > size else [0] * bool(count)
    # the last begins where its end is the end of the text or beyond, so none lies wholly inside the one before
    found = [(begin, min(begin + size, count)) for begin in begins]
    if len(found) <= most:
        return tuple(found), True
    tail = most // 2
    head = most - tail
    last = [(count - size - step * number, count - step * number) for number in reversed(range(tail))]
    return (*found[:head], *last), False
