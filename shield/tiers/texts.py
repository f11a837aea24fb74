"""What speaks against a text: the heuristics over all of its views, the classifier over those worth reading.

Nothing is allowed here. What could not be read is said (`whole`, `trouble`), and it is the caller's to make something
of it that is no consent.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from shield.facts.text_plain import plain, within
from shield.regex import regex
from shield.tiers.anew import Anew, Readings
from shield.tiers.judged import LATE, Judged, Text, shorter_first, strength, strongest_first
from shield.tiers.marks import Marks, looked, marked
from shield.tiers.markup import source
from shield.tiers.views import MARKUP, RAW, SOURCE, View
from shield.tiers.witnesses import MODEL_READY, Calibration, Model, NoRulesError, Reading, Rule, Rules
from shield.types import Answer, TextFinding, TextKind

__all__ = ["CLASSIFIER", "TextJudge", "squeezed"]

CLASSIFIER: Final = "classifier"  # the name of a finding that no rule made
_SQUEEZED_MAX: Final = 1 << 16  # of a text that is read together with others; of a long one they read the ends
_READ_VIEWS: Final = 8  # of one text, by the classifier: itself and what it hides
_LEAST_LETTERS: Final = 8  # a shorter text says nothing that a rule does not see
_LONG: Final = 4_000  # code points from which on a text may not be read as a whole
_AROUND: Final = 300  # code points on each side of a hit that are read of such a text in any case
_AROUND_MAX: Final = 16  # hits; a harmless mention in front hides none of the next ones
_ENDS: Final = 1_000  # code points of the head and of the tail of a body that are read whatever else there is to read
_VARIOUS: Final = frozenset((TextKind.COMMAND, TextKind.CODE))  # what is honest there is too various
# Letters of which training read little or nothing: Armenian, Syriac to Arabic's extensions, Oriya, Malayalam, Sinhala,
# Thai to Mongolian but for Hangul's parts, Yi to Meetei. It took honest Chinese for attacks before it had read some.
_FAR: Final = regex(
    "[\u0530-\u058f\u0700-\u08ff\u0b00-\u0b7f\u0d00-\u10ff\u1200-\u1c7f\u1cc0-\u1cff"
    "\ua000-\ua63f\ua6a0-\ua71f\ua800-\uab2f\uabc0-\uabff]"
)
_BLANKS: Final = regex(r"\s{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A part of a view for the classifier, from `start` on or at the places of `anew`, and which text it is of."""

    number: int
    view: View
    start: int
    text: str
    anew: Anew | None = None

    def span(self, whole: str, reading: Reading) -> tuple[int, int]:
        """Where what was read stands in the text, in code points."""
        start, end = self.start + reading.start, self.start + reading.end
        if self.anew is not None:
            start, end = self.anew.place(reading.start), self.anew.place(reading.end)
        return self.view.span(whole, start, end)


class _NoRules:
    """Implements Rules where there are none. What they do not find is nobody's silence: see `TextJudge.judge`."""

    digest = ""
    rules: Mapping[str, Rule] = MappingProxyType({})

    def scan(self, text: str, kind: TextKind) -> Sequence[TextFinding]:  # noqa: ARG002  # the shape of Rules
        return ()


_NO_RULES: Final = _NoRules()


class TextJudge:
    """Both together. `judge` blocks its thread and may be called from any. `broken`: why some of the rules, or all, are
    not there; None where they are."""

    def __init__(self, rules: Rules, model: Model, *, broken: Callable[[], str | None] = lambda: None) -> None:
        self.rules = rules
        self.model = model
        self._broken = broken
        self._failure: str | None = None

    @property
    def failure(self) -> str | None:
        """What went wrong when the classifier last read something; None where that went well, or nothing was read."""
        return self._failure

    @property
    def trouble(self) -> str | None:
        """Why the rules, some of them or the classifier read nothing now; None where they do."""
        try:
            self.rules.scan("", TextKind.PROSE)
        except NoRulesError as error:
            return error.state
        broken = self._broken()
        if broken is not None:
            return broken
        # a model that has become ready since is one that was late
        state = "loading" if self.model.state == MODEL_READY else self.model.state
        return state if self.model.scorer is None else None

    def judge(
        self, texts: Sequence[Text], *, budget: int | None = None, expired: Callable[[], bool] = lambda: False
    ) -> tuple[Judged, ...]:
        """One answer for each text, in order.

        `budget`: code points that the classifier reads of all of them together, the shorter ones first, and beyond it
        both ends of every body; what is hidden is looked for within a bound of its own, and of a text beyond that the
        rules read what stands there. None: as much as it takes, each text by itself. What a broken classifier raises
        is `trouble`, and so is a time that has `expired`, which is asked between texts, views and windows. Rules that
        do not load are `trouble`, too, and what is left of them and the classifier read all the same.
        """
        # INVARIANT: asked before any rule is, so that rules which are there a moment later allow nothing yet
        broken = self._broken()
        try:
            judged = self._judged(self.rules, texts, budget, expired)
        except NoRulesError as error:
            broken = error.state
            judged = self._judged(_NO_RULES, texts, budget, expired)
        return judged if broken is None else tuple(replace(one, trouble=broken) for one in judged)

    def _judged(
        self, rules: Rules, texts: Sequence[Text], budget: int | None, expired: Callable[[], bool]
    ) -> tuple[Judged, ...]:
        marks = marked(rules, texts, expired)
        judged, seen = looked(rules, texts, marks, expired, bounded=budget is not None)
        if any(one.trouble is not None for one in judged):
            return tuple(replace(one, trouble=LATE) for one in judged)
        scorer = self.model.scorer
        if scorer is None:
            trouble = self.trouble or "loading"
            return tuple(replace(one, trouble=trouble) for one in judged)
        pieces = self._pieces(judged, seen, marks, budget)
        try:
            readings = scorer.read([(piece.text, texts[piece.number].kind) for piece in pieces], expired=expired)
            for piece, reading in zip(pieces, readings, strict=True):
                judged[piece.number] = _read(judged[piece.number], piece, reading, scorer.calibration)
        except Exception as error:  # noqa: BLE001  # INVARIANT: whatever a model raises, its silence is not consent
            self._failure = f"the model raised {error.__class__.__name__}"
            trouble = f"failed: {self._failure}"
            return tuple(replace(one, trouble=trouble) for one in judged)
        if any(one.margin is not None for one in judged):
            self._failure = None
        late = LATE if expired() else None
        return tuple(replace(one, findings=strongest_first(one.findings), trouble=late) for one in judged)

    def at_sight(self, texts: Sequence[Text], *, expired: Callable[[], bool] = lambda: False) -> tuple[Judged, ...]:
        """What the rules say of the texts as they stand, for when there was no time for more, which is their
        `trouble`. `expired` is asked between texts."""
        broken = self._broken()
        try:
            marks = marked(self.rules, texts, expired)
        except NoRulesError as error:
            return tuple(Judged(text=text, trouble=error.state) for text in texts)
        trouble = LATE if broken is None else broken
        return tuple(mark.judged(text, trouble) for text, mark in zip(texts, marks, strict=True))

    def _pieces(
        self, judged: list[Judged], seen: Sequence[Sequence[View]], marks: Sequence[Marks], budget: int | None
    ) -> list[_Piece]:
        """What the classifier reads. A text of which something is left out is marked in `judged`."""
        pieces: list[_Piece] = []
        for number in shorter_first([one.text for one in judged]):
            text = judged[number].text
            if text.name_only:
                continue
            for view in seen[number][:1]:
                # of a long page what stands around the rules' hits, too, as the classifier reads pages
                parts = () if view.read else _around(view, marks[number].hits)
                words = (source(view.text[start:end]).text for start, end in parts)
                pieces += [
                    _Piece(number=number, view=View(layer=SOURCE, text=text), start=0, text=text) for text in words
                ]
            readings, read = Readings(), 0
            # what a reader sees first: of another reading what is only written otherwise is no news then
            for view in sorted(seen[number], key=lambda view: not view.layer.endswith(MARKUP)):
                if not (view.read and _says_something(view.text)):
                    continue
                anew = readings.anew(view.text)
                if not anew.text:
                    continue
                if read == _READ_VIEWS:
                    judged[number] = replace(judged[number], whole=False)
                    break
                read += 1
                spans = _around(view, marks[number].hits)
                # INVARIANT: nothing that stands beside a body keeps its ends from being read
                reach = len(anew.text) if budget is None else max(budget, 2 * _ENDS if text.body else 0)
                if len(anew.text) <= reach:
                    readings.add(view.text)
                    pieces.append(_Piece(number=number, view=view, start=0, text=anew.text, anew=anew))
                else:
                    spans = [(0, reach // 2), (len(view.text) - reach // 2, len(view.text)), *spans]
                    judged[number] = replace(judged[number], whole=False)
                budget = None if budget is None else max(0, budget - min(reach, len(anew.text)))
                pieces += [
                    _Piece(number=number, view=view, start=start, text=view.text[start:end])
                    for start, end in spans
                    if start < end
                ]
        return pieces


def _read(judged: Judged, piece: _Piece, reading: Reading, calibration: Calibration) -> Judged:
    """What a reading adds. INVARIANT: it never takes anything away."""
    text = judged.text
    if not math.isfinite(reading.margin):
        return replace(judged, whole=False)
    # INVARIANT: the classifier alone ends neither a command nor a file, nor what it has read too little of to be sure
    # INVARIANT: of a reading of which most was read elsewhere the rest counts as it would have in the whole
    margin, score = reading.margin, reading.score
    if piece.anew is not None and piece.anew.times > 1:
        margin -= math.log(piece.anew.times)
        score = calibration.score(margin)
    answer = calibration.answer(margin, text.kind)
    if answer is Answer.BLOCK and (text.kind in _VARIOUS or _is_far(piece.text[reading.start : reading.end])):
        answer = Answer.ESCALATE
    findings = judged.findings
    if strength(answer):
        start, end = piece.span(text.text, reading)
        findings = (
            *findings,
            TextFinding(
                rule=CLASSIFIER,
                answer=answer,
                kind=text.kind,
                where=text.where,
                layer=piece.view.layer,
                start=start,
                end=end,
                score=score,
            ),
        )
    return replace(
        judged,
        findings=findings,
        answer=max(judged.answer, answer, key=strength),
        score=score if judged.score is None else max(judged.score, score),
        margin=margin if judged.margin is None else max(judged.margin, margin),
        whole=judged.whole and reading.whole,
    )


def squeezed(text: str) -> str:
    """`text` as a reader sees it, runs of blanks as one: he skips them, and they would push words away from those that
    they are read together with. Of one that is longer than `_SQUEEZED_MAX` even so, both ends."""
    return _squeezed(within(text, _SQUEEZED_MAX, _squeezed, ends=True))


def _squeezed(text: str) -> str:
    return _BLANKS.sub(" ", plain(text))


def _is_far(text: str) -> bool:
    """Whether most letters of `text` are of scripts of which the classifier has read little."""
    return not text.isascii() and 2 * len(_FAR.findall(text)) > sum(letter.isalpha() for letter in text)


def _around(view: View, hits: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """What stands around the rules' hits in a view that the classifier may not read as a whole."""
    if view.layer != RAW or len(view.text) <= _LONG:
        return []
    return [(max(0, start - _AROUND), min(start + _AROUND, len(view.text))) for start, _ in hits[:_AROUND_MAX]]


def _says_something(text: str) -> bool:
    letters = 0
    for letter in text:
        letters += letter.isalpha()
        if letters >= _LEAST_LETTERS:
            return True
    return False
