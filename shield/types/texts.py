"""What a text is read as, and what speaks against it."""

from dataclasses import dataclass
from enum import StrEnum

from shield.types.decision import Answer

__all__ = ["TextFinding", "TextKind"]


class TextKind(StrEnum):
    """What a text is read as: who would write it and what an honest one looks like. Thresholds and rules go by it."""

    PROSE = "prose"  # what a user, an agent or a message says
    TOOL_RESULT = "tool_result"  # what a tool brought back: pages, mails, documents, output
    COMMAND = "command"
    CODE = "code"  # the body of a file
    URL = "url"  # addresses and queries


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFinding:
    """What speaks against one text. `start` and `end` are code points of the text itself; of what stands in a decoded
    layer they are those of the whole text. `score` is calibrated, 0 to 1; a rule has none."""

    rule: str
    answer: Answer
    kind: TextKind
    where: str = ""
    layer: str = "raw"
    start: int = 0
    end: int = 0
    score: float | None = None
