"""A text with what it is read as, and what was found in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shield.types import Answer, TextFinding, TextKind

__all__ = ["LATE", "Judged", "Text", "shorter_first", "strength", "strongest_first"]

LATE: Final = "late"
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
    was read, by the rules and by the classifier, unless there is `trouble`."""

    text: Text
    findings: tuple[TextFinding, ...] = ()
    answer: Answer = Answer.NO_OBJECTION
    score: float | None = None
    margin: float | None = None
    whole: bool = False
    trouble: str | None = None


def strength(answer: Answer) -> int:
    """BLOCK 2, ESCALATE 1, anything else 0."""
    return _STRENGTH.get(answer, 0)


def shorter_first(texts: Sequence[Text]) -> list[int]:
    """The numbers of the texts, the shortest one first."""
    return sorted(range(len(texts)), key=lambda number: len(texts[number].text))


def strongest_first(findings: Iterable[TextFinding]) -> tuple[TextFinding, ...]:
    """Most severe first; of equals in the order in which they were found."""
    return tuple(sorted(findings, key=lambda finding: -strength(finding.answer)))
