"""The rules over texts and all that these hide."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from shield.facts.text_plain import plain, within
from shield.tiers.judged import LATE, Judged, Text, shorter_first, strongest_first
from shield.tiers.views import RAW, VISIBLE, View, views
from shield.tiers.witnesses import Rules
from shield.types import Answer, TextFinding

__all__ = ["Marks", "looked", "marked"]

_FINDINGS_MAX: Final = 32  # of one text
# Code points of all views together, of bodies and of all other texts each: some 1.2 s of looking for what is hidden
# at the 2.3 us of the dearest ones (two cores, November 2026).
_LOOKED_MAX: Final = 1 << 19
# Code points that a text may come to as a reader sees it, if it is no longer itself: one letter may become eighteen
# (U+FDFA), and a million of them took 6 s for each look.
_SHOWN_MAX: Final = 1 << 20
_VIEW_LEAST: Final = 64  # code points that a view counts for at least: a scan takes 60 us however short it is


class Marks:
    """What the rules found in a text so far. Of the same finding in several places or views the first is told; `hits`
    are all places in the text as it stands."""

    def __init__(self, text: Text) -> None:
        self.hits: list[tuple[int, int]] = []
        self._text = text.text
        self._found: dict[tuple[str, Answer], TextFinding] = {}
        self._scanned: set[str] = set()

    @cached_property
    def within(self) -> str:
        """As much of the text as is made plain."""
        return within(self._text, max(_SHOWN_MAX, len(self._text)), ends=True)

    def scan(self, rules: Rules, text: Text, view: View) -> None:
        """Adds what is found in `view`, if nothing like it was scanned before. Raises NoRulesError."""
        if view.text in self._scanned:
            return
        found = rules.scan(view.text, text.kind)
        self._scanned.add(view.text)
        for finding in found:
            if view.layer == RAW:
                self.hits.append((finding.start, finding.end))
            key = finding.rule, finding.answer
            if key not in self._found:
                start, end = view.span(text.text, finding.start, finding.end)
                self._found[key] = replace(finding, where=text.where, layer=view.layer, start=start, end=end)

    def judged(self, text: Text, trouble: str | None) -> Judged:
        """What was found; nothing is called read."""
        findings = strongest_first(self._found.values())[:_FINDINGS_MAX]
        answer = findings[0].answer if findings else Answer.NO_OBJECTION
        return Judged(text=text, findings=findings, answer=answer, trouble=trouble)


def marked(rules: Rules, texts: Sequence[Text], expired: Callable[[], bool]) -> list[Marks]:
    """The rules over each text as it stands and as a reader sees it. INVARIANT: all of them before anything else is
    made of any, so that none of them takes the time of another. Raises NoRulesError."""
    marks = [Marks(text) for text in texts]
    for turn, number in enumerate(shorter_first(texts)):
        if turn and expired():
            break
        text = texts[number]
        marks[number].scan(rules, text, View(layer=RAW, text=text.text))
        shown = plain(marks[number].within)
        if shown != text.text:
            marks[number].scan(rules, text, View(layer=VISIBLE, text=shown))
    return marks


def looked(
    rules: Rules, texts: Sequence[Text], marks: Sequence[Marks], expired: Callable[[], bool], *, bounded: bool
) -> tuple[list[Judged], list[tuple[View, ...]]]:
    """What the rules say of each text and of what it hides, and its views, in order. What there was no time for has
    LATE for `trouble`. Raises NoRulesError."""
    judged = [mark.judged(text, LATE) for text, mark in zip(texts, marks, strict=True)]
    seen: list[tuple[View, ...]] = [()] * len(texts)
    # INVARIANT: nothing that stands beside a body keeps what is hidden in it from being looked for
    spent = {True: 0, False: 0}
    for number in shorter_first(texts):
        if expired():
            break
        text, mark = texts[number], marks[number]
        before = spent[text.body]
        if not bounded or not before or before + len(text.text) <= _LOOKED_MAX:
            seen[number], whole = views(mark.within, expired=expired)
            if mark.within != text.text:
                # of its own places the rules spoke before; what is made of its ends has none
                seen[number], whole = (View(layer=RAW, text=text.text, read=False), *seen[number][1:]), False
            spent[text.body] += sum(max(len(view.text), _VIEW_LEAST) for view in seen[number])
        else:
            seen[number], whole = (View(layer=RAW, text=text.text),), False
        for view in seen[number]:
            if expired():
                break
            mark.scan(rules, text, view)
        else:
            judged[number] = replace(mark.judged(text, None), whole=whole)
    return judged, seen
