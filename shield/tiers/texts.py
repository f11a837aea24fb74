"""What speaks against a text: the heuristics over all of its views, the classifier over those worth reading.

Nothing is allowed here. What could not be read is said (`whole`, `trouble`), and it is the caller's to make something
of it that is no consent.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shield.tiers.views import RAW, View, views
from shield.tiers.witnesses import MODEL_READY, Calibration, Model, NoRulesError, Reading, Rules
from shield.types import Answer, TextFinding, TextKind

__all__ = ["CLASSIFIER", "LATE", "Judged", "Text", "TextJudge", "strength"]

CLASSIFIER: Final = "classifier"  # the name of a finding that no rule made
LATE: Final = "late"
_FINDINGS_MAX: Final = 32  # of one text
_READ_VIEWS: Final = 8  # of one text, by the classifier: itself and what it hides
_LEAST_LETTERS: Final = 8  # a shorter text says nothing that a rule does not see
_LONG: Final = 4_000  # code points from which on a text may not be read as a whole
_AROUND: Final = 300  # code points on each side of a hit that are read of such a text in any case
_AROUND_MAX: Final = 4
_ENDS: Final = 1_000  # code points of the head and of the tail of a body that are read whatever else there is to read
_STRENGTH: Final = {Answer.BLOCK: 2, Answer.ESCALATE: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text, what it is read as, and its place (a JSON pointer or a role). `body`: of a file, where head, tail and
    what the rules find are enough. `name_only`: an identifier, which only the rules read."""

    text: str
    kind: TextKind
    where: str = ""
    body: bool = False
    name_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was found in one text, most severe first. `answer` is the most severe of the findings. `score` and `margin`
    are the highest of the classifier's, whatever they come to; None where it did not read the text. `whole`: all of it
    was read, by the rules and, unless there is `trouble`, by the classifier."""

    text: Text
    findings: tuple[TextFinding, ...] = ()
    answer: Answer = Answer.NO_OBJECTION
    score: float | None = None
    margin: float | None = None
    whole: bool = False
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A part of a view for the classifier, from `start` on, and which text it is of."""

    number: int
    view: View
    start: int
    text: str


class TextJudge:
    """Both together. `judge` blocks its thread and may be called from any."""

    def __init__(self, rules: Rules, model: Model) -> None:
        self.rules = rules
        self.model = model

    @property
    def trouble(self) -> str | None:
        """Why the classifier reads nothing now; None where it does."""
        # a model that has become ready since is one that was late
        state = "loading" if self.model.state == MODEL_READY else self.model.state
        return state if self.model.scorer is None else None

    def judge(
        self, texts: Sequence[Text], *, budget: int | None = None, expired: Callable[[], bool] = lambda: False
    ) -> tuple[Judged, ...]:
        """One answer for each text, in order.

        `budget`: code points that the classifier reads of all of them together, the shorter ones first, and beyond it
        both ends of every body; None: as many as it takes. What a broken classifier raises is `trouble`, and so is a
        time that has `expired`.
        """
        seen = [views(text.text) for text in texts]
        try:
            judged = [self._scanned(text, found, whole) for text, (found, whole) in zip(texts, seen, strict=True)]
        except NoRulesError as error:
            return tuple(Judged(text=text, trouble=error.state) for text in texts)
        scorer = self.model.scorer
        if scorer is None:
            trouble = self.trouble or "loading"
            return tuple(replace(one, trouble=trouble) for one in judged)
        pieces = self._pieces(judged, [found for found, _ in seen], budget)
        try:
            readings = scorer.read([(piece.text, texts[piece.number].kind) for piece in pieces], expired=expired)
            for piece, reading in zip(pieces, readings, strict=True):
                judged[piece.number] = _read(judged[piece.number], piece, reading, scorer.calibration)
        except Exception as error:  # noqa: BLE001  # INVARIANT: whatever a model raises, its silence is not consent
            trouble = f"failed: the model raised {error.__class__.__name__}"
            return tuple(replace(one, trouble=trouble) for one in judged)
        late = LATE if expired() else None
        return tuple(replace(one, findings=_sorted(one.findings), trouble=late) for one in judged)

    def _scanned(self, text: Text, seen: Sequence[View], whole: bool) -> Judged:
        """The rules over every view; what is found in the text itself is not told of its other views again."""
        found: dict[tuple[str, Answer], TextFinding] = {}
        for view in seen:
            here = set()
            for finding in self.rules.scan(view.text, text.kind):
                key = finding.rule, finding.answer
                if key in found and key not in here:
                    continue
                here.add(key)
                start, end = view.span(text.text, finding.start, finding.end)
                placed = replace(finding, where=text.where, layer=view.layer, start=start, end=end)
                found.setdefault(key, placed)
        findings = _sorted(found.values())[:_FINDINGS_MAX]
        return Judged(
            text=text,
            findings=findings,
            answer=findings[0].answer if findings else Answer.NO_OBJECTION,
            whole=whole,
        )

    def _pieces(self, judged: list[Judged], seen: Sequence[Sequence[View]], budget: int | None) -> list[_Piece]:
        """What the classifier reads. A text of which something is left out is marked in `judged`."""
        pieces: list[_Piece] = []
        for number in sorted(range(len(judged)), key=lambda number: len(judged[number].text.text)):
            text = judged[number].text
            if text.name_only:
                continue
            worth = [view for view in seen[number] if view.read and _says_something(view.text)]
            for view in worth[:_READ_VIEWS]:
                spans = _hits(view, judged[number].findings)
                # INVARIANT: nothing that stands beside a body keeps its ends from being read
                reach = len(view.text) if budget is None else max(budget, 2 * _ENDS if text.body else 0)
                if len(view.text) <= reach:
                    spans = [(0, len(view.text)), *spans]
                else:
                    spans = [(0, reach // 2), (len(view.text) - reach // 2, len(view.text)), *spans]
                    judged[number] = replace(judged[number], whole=False)
                budget = None if budget is None else max(0, budget - min(reach, len(view.text)))
                pieces += [
                    _Piece(number=number, view=view, start=start, text=view.text[start:end])
                    for start, end in spans
                    if start < end
                ]
            if len(worth) > _READ_VIEWS:
                judged[number] = replace(judged[number], whole=False)
        return pieces


def strength(answer: Answer) -> int:
    """BLOCK 2, ESCALATE 1, anything else 0."""
    return _STRENGTH.get(answer, 0)


def _read(judged: Judged, piece: _Piece, reading: Reading, calibration: Calibration) -> Judged:
    """What a reading adds. INVARIANT: it never takes anything away."""
    text = judged.text
    if not math.isfinite(reading.margin):
        return replace(judged, whole=False)
    # INVARIANT: the classifier alone ends neither a command nor a file: what is honest there is too various
    answer = calibration.answer(reading.margin, text.kind)
    if answer is Answer.BLOCK and text.kind in (TextKind.COMMAND, TextKind.CODE):
        answer = Answer.ESCALATE
    findings = judged.findings
    if strength(answer):
        start, end = piece.view.span(text.text, piece.start + reading.start, piece.start + reading.end)
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
                score=reading.score,
            ),
        )
    return replace(
        judged,
        findings=findings,
        answer=max(judged.answer, answer, key=strength),
        score=reading.score if judged.score is None else max(judged.score, reading.score),
        margin=reading.margin if judged.margin is None else max(judged.margin, reading.margin),
        whole=judged.whole and reading.whole,
    )


def _hits(view: View, findings: Sequence[TextFinding]) -> list[tuple[int, int]]:
    """What stands around the rules' hits in a view that the classifier may not read as a whole."""
    if view.layer != RAW or len(view.text) <= _LONG:
        return []
    hits = [finding for finding in findings if finding.layer == RAW][:_AROUND_MAX]
    return [(max(0, hit.start - _AROUND), min(hit.start + _AROUND, len(view.text))) for hit in hits]


def _says_something(text: str) -> bool:
    letters = 0
    for letter in text:
        letters += letter.isalpha()
        if letters >= _LEAST_LETTERS:
            return True
    return False


def _sorted(findings: Iterable[TextFinding]) -> tuple[TextFinding, ...]:
    """Most severe first; of equals in the order in which they were found."""
    return tuple(sorted(findings, key=lambda finding: -strength(finding.answer)))
