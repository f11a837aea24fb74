"""A text as it stands, as a reader sees it, and as it would read without a disguise: the views that tier 1 judges.

What is encoded is decoded by `shield.facts.text`, markup and escapes are undone by `shield.tiers.markup`, letters put
back by `shield.tiers.disguise`; here one is followed into another, within bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from shield.facts.text import layers
from shield.facts.text_plain import plain
from shield.tiers.disguise import folded, turned
from shield.tiers.markup import PAGE, TAG, source, unescaped, unmarked
from shield.tiers.pieces import humps, lines, parted

__all__ = ["MARKUP", "RAW", "SOURCE", "VISIBLE", "View", "views"]

RAW = "raw"
VISIBLE = "visible"
ESCAPES = "escapes"
MARKUP = "markup"
SOURCE = "source"
FOLDED = "folded"
LINES = "lines"
HUMPS = "humps"
NAMED = "named"
_MAX_VIEWS = 24
_MAX_FOLDED = 1 << 18  # code points of a view that are looked at for a disguise
_MAX_MOVED = 1 << 16  # code points of a text whose offsets are followed through what a reader does not see
_MAX_ROUNDS = 3  # of undoing, each on what the one before it made
_MAX_ESCAPED = 12  # escapes within escapes
_MAX_LOOKED = 1 << 20  # code points of all views that are looked at for another
_ESCAPED = 4  # escapes from which on a text is written in them


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One reading of a text. `layer` says how it was reached: `raw` is the text itself, `visible` what a reader sees,
    else the encodings and `folded`, `turned`, `lines` (of a word or two each), `humps` (names in CamelCase), `named`
    (the words of a name that is all of it), `escapes`, `markup` (what a browser shows) or `source` (all words of a
    page), joined by `+`. `read`: worth the classifier's time."""

    layer: str
    text: str
    read: bool = True

    def span(self, whole: str, start: int, end: int) -> tuple[int, int]:
        """Where `start` to `end` of this view stand in the text it is a view of, in code points of that text; the
        whole of it where that cannot be said."""
        if self.layer == RAW:
            return start, end
        if self.layer in (SOURCE, VISIBLE) and len(whole) <= _MAX_MOVED:
            origins = _origins(self.layer, whole)
            if len(origins) == len(self.text) and start < end:
                return origins[start], origins[end - 1] + 1
        return 0, len(whole)


@lru_cache(maxsize=1)  # of one text there may be many findings
def _origins(layer: str, whole: str) -> tuple[int, ...]:
    """Where in `whole` each code point of that view of it stands."""
    if layer == SOURCE:
        return source(whole).origins
    return tuple(place for place, letter in enumerate(whole) for _ in plain(letter))


class _Made(NamedTuple):
    """A reading of a text: `read`, whether it is worth the classifier's time; `more`, whether there may be another
    behind it."""

    name: str
    text: str
    read: bool
    more: bool


def views(text: str, *, expired: Callable[[], bool] = lambda: False) -> tuple[tuple[View, ...], bool]:
    """The views of `text`, itself first, none twice; and whether all of it was looked at. `expired` is asked before
    another is made of one of them."""
    first, whole = layers(text, role="", where="")
    found: dict[str, View] = {text: View(layer=RAW, text=text, read=first[0].text == text)}
    pending = [(VISIBLE if fact.layer == RAW else fact.layer, fact.text, 0) for fact in first]
    looked: set[str] = set()
    followed = {text, *(fact.text for fact in first)}
    left = _MAX_LOOKED
    # INVARIANT: where this is below zero, what is found now stands behind more than will be looked at
    room = _MAX_LOOKED - sum(len(fact.text) for fact in first)
    # INVARIANT: nothing is made of what is already `_MAX_ROUNDS` steps from a decoded text
    while pending and len(found) <= _MAX_VIEWS:
        layer, current, rounds = pending.pop(0)
        found.setdefault(current, View(layer=layer, text=current))
        left -= len(current)
        if left < 0 or expired():
            whole = False
            break
        made, complete = _undone(current, looked)
        whole = whole and complete
        if not found[current].read:
            # what is not worth reading itself is not so for being written otherwise
            made = [one._replace(read=one.read and one.name != SOURCE) for one in made]
        better = {one.name for one in made if one.read}
        if SOURCE in better or (ESCAPES in better and found[current].layer.endswith(MARKUP)):
            # nothing of this one is missing there, and it is read the better without its tags or escapes
            found[current] = replace(found[current], read=False)
        for one in made:
            at = one.name if layer in (RAW, VISIBLE) else f"{layer}+{one.name}"
            met = found.setdefault(one.text, View(layer=at, text=one.text, read=one.read))
            # INVARIANT: what is worth reading, or may hold more, counts as that however it was met before
            found[one.text] = replace(met, read=met.read or one.read)
            if not one.more or one.text in followed:
                continue
            followed.add(one.text)
            if rounds == _MAX_ROUNDS or room < 0:
                whole = False
                continue
            # what is encoded may be spelled in escapes or stand between tags
            again, complete = layers(one.text, role="", where="")
            whole = whole and complete
            room -= sum(len(fact.text) for fact in again)
            inner = [(at if fact.layer == RAW else f"{at}+{fact.layer}", fact.text, rounds + 1) for fact in again]
            pending += inner
    kept = tuple(found.values())
    return kept[:_MAX_VIEWS], whole and len(kept) <= _MAX_VIEWS and not pending


def _undone(text: str, looked: set[str]) -> tuple[list[_Made], bool]:
    """Readings of `text` without a disguise, and whether all of it was looked at. What is in `looked` was looked at for
    letters in disguise before."""
    made: list[_Made] = []
    bare, tags = unmarked(text)
    page = False
    if tags:
        made.append(_Made(MARKUP, bare, read=tags >= PAGE, more=True))
        words = source(text)
        page = words.page
        if page:
            made.append(_Made(SOURCE, words.text, read=True, more=False))
    written, escapes = unescaped(text)
    if escapes:
        deepest, again, rounds = written, escapes, 1
        while again and rounds < _MAX_ESCAPED:
            deepest, again = unescaped(deepest)
            escapes, rounds = max(escapes, again), rounds + 1
        read, shown = escapes >= _ESCAPED, plain(deepest)
        others = dict.fromkeys(other for other in (written, deepest) if other != shown)
        made += [_Made(ESCAPES, other, read=False, more=False) for other in others]
        made.append(_Made(ESCAPES, shown, read=read, more=read or again > 0 or TAG.search(shown) is not None))
        written = deepest
    if written in looked:
        return made, True
    looked.add(written)
    shown = plain(written[:_MAX_FOLDED])
    plainer, whole = folded(shown)
    if plainer is not None:
        made.append(_Made(FOLDED, plainer, read=not page, more=False))
        # a page that is in disguise is read as any other: its words alone
        words_alone, _ = folded(plain(source(written[:_MAX_FOLDED]).text)) if page else (None, True)
        if words_alone is not None:
            made.append(_Made(f"{SOURCE}+{FOLDED}", words_alone, read=True, more=False))
    said = lines(shown)
    if said:
        made.append(_Made(LINES, said, read=not page, more=False))
    name = parted(shown)
    if name:
        made.append(_Made(NAMED, name, read=True, more=False))
    sentences = humps(shown)
    if sentences:
        # what is a sentence to a rule may be a name to who wrote it
        made.append(_Made(HUMPS, sentences, read=False, more=False))
    backwards = turned(written[:_MAX_FOLDED])
    if backwards:
        made.append(_Made("turned", backwards, read=True, more=False))
    return made, whole and len(written) <= _MAX_FOLDED
