"""From margins to answers: thresholds for each kind of text, found on honest text of that kind.

A threshold is set by rank: at least `benign` + 1 exchangeable texts of which `k` reach it make the chance that the
next one does (k + 1) / (n + 1) at most, whatever their distribution (split conformal prediction, Vovk et al. 2005).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shield.errors import ModelError
from shield.model.directory import CALIBRATION
from shield.model.manifest import read_json
from shield.types import Answer, Json, TextKind

__all__ = ["BLOCK_RATE", "ESCALATE_RATE", "HARD_RATE", "ONLY_ESCALATE", "Calibration", "Thresholds", "fit_calibration"]

BLOCK_RATE: Final = 0.001  # of benign texts of a kind that may be blocked; needs 999 of them
ESCALATE_RATE: Final = 0.02  # that may be escalated; needs 49
HARD_RATE: Final = ESCALATE_RATE  # of texts that look like attacks and are none that may be blocked
ONLY_ESCALATE: Final = frozenset({TextKind.COMMAND, TextKind.CODE})  # a quarter of ordinary lines look like attacks
# llm-guard's threshold for ProtectAI's v2 model on CPU: where a model starts that nobody calibrated, and the least
# score that blocks
_SURE: Final = 0.92
_VERSION: Final = 1
_STEP: Final = 1e4  # thresholds are rounded up to four places


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Margins from which on a text of one kind is answered; None never. `benign` is how many texts they rest on."""

    benign: int
    escalate: float
    block: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Thresholds on the margin and the temperature that makes scores of margins.

    A kind without thresholds may only escalate, from a score of .92 on.
    """

    temperature: float = 1.0
    kinds: Mapping[TextKind, Thresholds] = field(default_factory=dict)

    def score(self, margin: float) -> float:
        """How sure the model is, 0 to 1."""
        x = margin / self.temperature
        # each branch keeps the exponent below zero, where nothing overflows
        return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))

    def answer(self, margin: float, kind: TextKind) -> Answer:
        """NO_OBJECTION, ESCALATE or BLOCK. What compares with nothing escalates."""
        found = self.kinds.get(kind)
        if found is None:
            return Answer.NO_OBJECTION if self.score(margin) < _SURE else Answer.ESCALATE
        if found.block is not None and margin >= found.block and kind not in ONLY_ESCALATE:
            return Answer.BLOCK
        return Answer.NO_OBJECTION if margin < found.escalate else Answer.ESCALATE

    def as_json(self) -> dict[str, Json]:
        """The object of calibration.json."""
        return {
            "version": _VERSION,
            "temperature": self.temperature,
            "kinds": {
                str(kind): {"benign": found.benign, "escalate": found.escalate, "block": found.block}
                for kind, found in self.kinds.items()
            },
        }

    @classmethod
    def read(cls, raw: bytes) -> "Calibration":
        """The value of a calibration.json. Raises ModelError with the key that is wrong."""
        value = read_json(raw, CALIBRATION)
        if set(value) != {"version", "temperature", "kinds"} or type(value["version"]) is not int:
            raise _error("it holds `version`, `temperature` and `kinds`")
        kinds = value["kinds"]
        if value["version"] != _VERSION or not isinstance(kinds, dict):
            raise _error(f"`version` is {_VERSION} and `kinds` an object")
        temperature = _number(value["temperature"], "temperature")
        if temperature <= 0:
            raise _error("`temperature` must be above 0")
        unknown = sorted(set(kinds) - set(TextKind))
        if unknown:
            raise _error(f"`{unknown[0][:64]}` is no kind of text: {', '.join(TextKind)}")
        return cls(temperature=temperature, kinds={TextKind(kind): _thresholds(kind, kinds[kind]) for kind in kinds})


def fit_calibration(
    benign: Mapping[TextKind, Sequence[float]],
    *,
    hard: Mapping[TextKind, Sequence[float]] | None = None,
    attacks: Mapping[TextKind, Sequence[float]] | None = None,
) -> Calibration:
    """Thresholds from the margins of `benign` texts by kind; the temperature from them and `attacks`, else 1.

    BLOCK at 0.1 % of benign texts or fewer, ESCALATE at 2 %. Of `hard` ones, benign texts that were written to be
    mistaken, 2 % may be blocked: they stand for themselves, since their share among others is whatever somebody
    collected; of fewer than 49 nothing can be said, so they count as benign ones do. These are bounds, no goals:
    whatever honest texts look like, nothing is escalated that the model takes for harmless, nor blocked below a score
    of .92. A kind with fewer than 999 texts may not block, one with fewer than 49 gets no thresholds; commands and code
    never block.

    Raises:
        ModelError: a margin is not finite.
    """
    hostile = [margin for margins in (attacks or {}).values() for margin in margins if math.isfinite(margin)]
    hard = hard or {}
    honest = [margin for part in (benign, hard) for margins in part.values() for margin in margins]
    for kind, margins in (*benign.items(), *hard.items()):
        if not all(map(math.isfinite, margins)):
            raise ModelError(f"a text of kind `{kind}` has no finite margin; leave empty texts out")
    temperature = _temperature(honest, hostile) if hostile and honest else 1.0
    sure = _rounded_up(temperature * math.log(_SURE / (1 - _SURE)))
    kinds: dict[TextKind, Thresholds] = {}
    for kind in benign:
        misled = hard.get(kind, ())
        least = _least_margin(misled, HARD_RATE)
        margins = benign[kind] if least is not None else [*benign[kind], *misled]
        escalate = _least_margin(margins, ESCALATE_RATE)
        if escalate is None:
            continue
        block = None if kind in ONLY_ESCALATE else _least_margin(margins, BLOCK_RATE)
        if block is not None:
            block = max(block, sure, -math.inf if least is None else least)
        kinds[kind] = Thresholds(benign=len(benign[kind]) + len(misled), escalate=max(escalate, 0.0), block=block)
    return Calibration(temperature=temperature, kinds=kinds)


def _least_margin(margins: Sequence[float], rate: float) -> float | None:
    """The least margin that a new text of the same origin reaches with a chance of `rate` or less; None if too few."""
    allowed = math.floor(rate * (len(margins) + 1) + 1e-9) - 1
    if allowed < 0:
        return None
    return _rounded_up(sorted(margins, reverse=True)[allowed])


def _rounded_up(margin: float) -> float:
    found = math.ceil(margin * _STEP) / _STEP
    return found if found > margin else (math.floor(margin * _STEP) + 1) / _STEP


def _temperature(honest: Sequence[float], hostile: Sequence[float]) -> float:
    """The divisor of margins with the least log loss, both sides weighing the same; golden-section search."""

    def loss(log: float) -> float:
        scale = math.exp(-log)
        side = (
            math.fsum(_softplus(sign * margin * scale) for margin in margins) / len(margins)
            for sign, margins in ((1.0, honest), (-1.0, hostile))
        )
        return math.fsum(side)

    low, high = math.log(0.05), math.log(20.0)
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(32):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(right)
    return round(math.exp((low + high) / 2), 4)


def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def _thresholds(kind: str, value: Json) -> Thresholds:
    if not isinstance(value, dict) or set(value) != {"benign", "escalate", "block"}:
        raise _error(f"`{kind}` holds `benign`, `escalate` and `block`")
    benign = value["benign"]
    if type(benign) is not int or benign < 0:
        raise _error(f"`benign` of `{kind}` is not a number of texts")
    escalate = _number(value["escalate"], f"escalate` of `{kind}")
    block = None if value["block"] is None else _number(value["block"], f"block` of `{kind}")
    if block is not None and TextKind(kind) in ONLY_ESCALATE:
        raise _error(f"`{kind}` may only escalate; its `block` is null")
    if block is not None and block < escalate:
        raise _error(f"`{kind}` would block below where it escalates")
    return Thresholds(benign=benign, escalate=escalate, block=block)


def _number(value: Json, key: str) -> float:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _error(f"`{key}` is not a number")
    return number


def _error(what: str) -> ModelError:
    return ModelError(f"`{CALIBRATION}`: {what}; calibrate again with `shield model calibrate`")
