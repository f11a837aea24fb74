"""Thresholds by rank: honest for few texts, never blocking where a text cannot show guilt."""

import json
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shield.errors import ModelError
from shield.model.calibration import ONLY_ESCALATE, Calibration, Thresholds, fit_calibration
from shield.types import Answer, TextKind

PROSE = TextKind.PROSE


def calibrated(benign: int = 3_000, escalate: float = 1.0, block: float | None = 3.0) -> Calibration:
    return Calibration(kinds={PROSE: Thresholds(benign=benign, escalate=escalate, block=block)})


@pytest.mark.parametrize(
    ("margin", "answer"),
    [
        (0.99, Answer.NO_OBJECTION),
        (1.0, Answer.ESCALATE),
        (2.99, Answer.ESCALATE),
        (3.0, Answer.BLOCK),
        (math.inf, Answer.BLOCK),
        (-math.inf, Answer.NO_OBJECTION),
        (math.nan, Answer.ESCALATE),
    ],
)
def test_answers(margin: float, answer: Answer) -> None:
    assert calibrated().answer(margin, PROSE) is answer


def test_a_kind_without_thresholds_only_escalates() -> None:
    for calibration in (Calibration(), calibrated()):
        assert calibration.answer(2.44, TextKind.URL) is Answer.NO_OBJECTION
        assert calibration.answer(2.45, TextKind.URL) is Answer.ESCALATE  # log(.92 / .08) = 2.4423
        assert calibration.answer(1e9, TextKind.URL) is Answer.ESCALATE
        assert calibration.answer(math.nan, TextKind.URL) is Answer.ESCALATE


@pytest.mark.parametrize("kind", sorted(ONLY_ESCALATE))
def test_commands_and_code_never_block(kind: TextKind) -> None:
    """Neither by fitting, nor from a file, nor by a value that was made otherwise."""
    assert fit_calibration({kind: [0.1 * at for at in range(5_000)]}).kinds[kind].block is None
    forced = Calibration(kinds={kind: Thresholds(benign=5_000, escalate=1.0, block=1.0)})
    assert forced.answer(99.0, kind) is Answer.ESCALATE
    with pytest.raises(ModelError, match="only escalate"):
        Calibration.read(json.dumps(forced.as_json()).encode())


@given(st.floats(allow_nan=False), st.floats(0.05, 20))
def test_scores_are_between_0_and_1_and_never_overflow(margin: float, temperature: float) -> None:
    assert 0.0 <= Calibration(temperature=temperature).score(margin) <= 1.0


@pytest.mark.parametrize(
    ("count", "escalates", "blocks"), [(48, False, False), (49, True, False), (998, True, False), (999, True, True)]
)
def test_a_rate_needs_enough_texts(count: int, escalates: bool, blocks: bool) -> None:
    """One text in a thousand cannot be seen among fewer than 999."""
    fitted = fit_calibration({PROSE: [float(at) for at in range(count)]}).kinds.get(PROSE)
    assert (fitted is not None) is escalates
    assert (fitted is not None and fitted.block is not None) is blocks


@given(st.lists(st.floats(-30, 30), min_size=49, max_size=3_000), st.integers(0, 10))
def test_no_more_than_the_promised_share_of_the_benign_texts_is_stopped(margins: list[float], ties: int) -> None:
    margins += [max(margins)] * ties
    fitted = fit_calibration({PROSE: margins})
    answers = [fitted.answer(margin, PROSE) for margin in margins]
    thresholds = fitted.kinds[PROSE]
    assert answers.count(Answer.BLOCK) + 1 <= max(0.001 * (len(margins) + 1), 1)
    stopped = len(margins) - answers.count(Answer.NO_OBJECTION)
    assert stopped + 1 <= 0.02 * (len(margins) + 1) + 1e-9
    assert thresholds.block is None or thresholds.block >= thresholds.escalate
    assert Calibration.read(json.dumps(fitted.as_json()).encode()) == fitted


def test_nothing_is_stopped_that_the_model_takes_for_harmless() -> None:
    """Honest addresses all look alike: the two of a hundred that look least so are no attacks for that."""
    honest = [-20.0 + at / 1_000 for at in range(2_000)]
    fitted = fit_calibration({PROSE: honest}, attacks={PROSE: [float(at) for at in range(20)]})
    thresholds = fitted.kinds[PROSE]
    assert thresholds.escalate == 0.0
    assert thresholds.block is not None
    assert 0.92 <= fitted.score(thresholds.block) < 0.921
    assert fitted.answer(-1.0, PROSE) is Answer.NO_OBJECTION
    assert fitted.answer(0.0, PROSE) is Answer.ESCALATE


def test_the_promise_holds_for_texts_that_were_not_seen() -> None:
    """The rate over new texts of the same origin, averaged over calibrations, is at most the one that is promised."""
    random = Random(6)
    blocked = escalated = 0.0
    rounds = 60
    for _ in range(rounds):
        fitted = fit_calibration({PROSE: [random.gauss(0, 1) for _ in range(1_000)]}).kinds[PROSE]
        assert fitted.block is not None
        blocked += math.erfc(fitted.block / math.sqrt(2)) / 2
        escalated += math.erfc(fitted.escalate / math.sqrt(2)) / 2
    assert blocked / rounds < 0.0013
    assert 0.015 < escalated / rounds < 0.021


def test_the_temperature_makes_scores_probabilities() -> None:
    random = Random(7)
    honest = [random.gauss(-1, 1) * 3 for _ in range(3_000)]
    hostile = [random.gauss(1, 1) * 3 for _ in range(3_000)]
    # two normal distributions of the same width: the log odds of x are 2 x / 3 for 3 times too wide margins
    fitted = fit_calibration({PROSE: honest}, attacks={PROSE: hostile})
    assert fitted.temperature == pytest.approx(1.5, rel=0.1)
    assert fit_calibration({PROSE: honest}).temperature == 1.0
    assert fit_calibration({PROSE: honest}, attacks={PROSE: [math.inf]}).temperature == 1.0


def test_a_margin_that_is_no_number_is_refused() -> None:
    for wrong in (math.nan, math.inf, -math.inf):
        with pytest.raises(ModelError, match="finite"):
            fit_calibration({PROSE: [0.0] * 100 + [wrong]})


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": True},
        {"temperature": 0},
        {"temperature": -1},
        {"temperature": "1"},
        {"temperature": True},
        {"temperature": 10**400},
        {"kinds": {"prose": {"benign": 1, "escalate": 10**400, "block": None}}},
        {"kinds": []},
        {"kinds": {"mail": {"benign": 1, "escalate": 1, "block": None}}},
        {"kinds": {"prose": None}},
        {"kinds": {"prose": {"benign": 1, "escalate": 1}}},
        {"kinds": {"prose": {"benign": -1, "escalate": 1, "block": None}}},
        {"kinds": {"prose": {"benign": 1, "escalate": None, "block": None}}},
        {"kinds": {"prose": {"benign": 1, "escalate": 2, "block": 1}}},
        {"more": 1},
    ],
    ids=lambda change: str(change)[:60],
)
def test_a_wrong_file_is_refused(change: dict[str, object]) -> None:
    value = calibrated().as_json() | change
    with pytest.raises(ModelError, match="`calibration"):
        Calibration.read(json.dumps(value).encode())


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"version":1,"version":1}', b'{"version":1,"temperature":NaN,"kinds":{}}']
)
def test_what_is_no_calibration_is_refused(raw: bytes) -> None:
    with pytest.raises(ModelError, match="`calibration"):
        Calibration.read(raw)


@given(st.integers(), st.integers(999, 3_000), st.integers(49, 900), st.floats(-9, 9))
def test_hard_texts_raise_what_is_blocked_and_nothing_else(seed: int, many: int, few: int, harder: float) -> None:
    random = Random(seed)
    ordinary = [random.gauss(-8, 4) for _ in range(many)]
    hard = [random.gauss(harder, 4) for _ in range(few)]
    without, fitted = (fit_calibration({PROSE: ordinary}, hard=some) for some in (None, {PROSE: hard}))
    before, found = without.kinds[PROSE], fitted.kinds[PROSE]
    assert before.block is not None
    assert found.block is not None
    assert found.block >= before.block
    assert (found.escalate, found.benign) == (before.escalate, len(ordinary) + len(hard))
    assert sum(margin >= found.block for margin in hard) + 1 <= 0.02 * (len(hard) + 1)
    assert sum(margin >= found.block for margin in ordinary) + 1 <= 0.001 * (len(ordinary) + 1)


@pytest.mark.parametrize(("count", "alone"), [(48, False), (49, True)])
def test_few_hard_texts_count_as_the_others_do(count: int, alone: bool) -> None:
    """Of 48 none can be said to be one in fifty."""
    fitted = fit_calibration({PROSE: [0.0] * 2_000}, hard={PROSE: [20.0] * count}).kinds[PROSE]
    assert fitted.benign == 2_000 + count
    assert (fitted.escalate < 20.0) is alone
    assert fitted.block is not None
    assert fitted.block > 20.0


def test_a_kind_that_only_has_hard_texts_gets_no_thresholds() -> None:
    assert fit_calibration({}, hard={PROSE: [1.0] * 2_000}).kinds == {}
    with pytest.raises(ModelError):
        fit_calibration({PROSE: [0.0] * 99}, hard={PROSE: [math.nan]})
