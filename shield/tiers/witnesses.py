"""Who is heard about a text: rules that were loaded, and a classifier that may be missing or still loading."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from shield.types import Answer, Severity, TextFinding, TextKind

__all__ = ["MODEL_READY", "NO_MODEL", "Calibration", "Model", "NoRulesError", "Reader", "Reading", "Rule", "Rules"]

MODEL_READY: Final = "ready"


class NoRulesError(Exception):
    """There are no heuristics; `state` is `loading` or `failed: …`."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class Reading(Protocol):
    """What the classifier says of a text: that of its worst window, `start` to `end` in code points."""

    @property
    def margin(self) -> float: ...
    @property
    def score(self) -> float: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def whole(self) -> bool:
        """Whether all of the text was read."""


class Calibration(Protocol):
    """Thresholds by kind of text."""

    def answer(self, margin: float, kind: TextKind) -> Answer:
        """NO_OBJECTION, ESCALATE or BLOCK."""

    def score(self, margin: float) -> float:
        """What it is called for a person, 0 to 1."""


class Reader(Protocol):
    """A loaded classifier; `shield.model.scorer.Scorer` is one. Any thread may call it."""

    @property
    def digest(self) -> str: ...
    @property
    def calibration(self) -> Calibration: ...
    def read(self, texts: Sequence[tuple[str, TextKind]], /, *, expired: Callable[[], bool]) -> Sequence[Reading]:
        """One reading for each. `expired` is asked between windows; what it cuts off is not `whole`."""


class Model(Protocol):
    """Where the classifier comes from; `shield.model.holder.ModelHolder` is one. `state` is `ready`, `loading`,
    `absent` or `failed: …`."""

    @property
    def state(self) -> str: ...
    @property
    def scorer(self) -> Reader | None: ...


class Rule(Protocol):
    """The words of a heuristic."""

    @property
    def severity(self) -> Severity: ...
    @property
    def reason(self) -> str: ...
    @property
    def advice(self) -> str | None: ...


class Rules(Protocol):
    """The heuristics; `shield.heuristics.scan.Heuristics` is one."""

    @property
    def digest(self) -> str: ...
    @property
    def rules(self) -> Mapping[str, Rule]: ...
    def scan(self, text: str, kind: TextKind) -> Sequence[TextFinding]: ...


@dataclass(frozen=True, slots=True)
class _Absent:
    state: str = "absent"
    scorer: None = None


NO_MODEL: Final[Model] = _Absent()
