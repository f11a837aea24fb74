"""The figures of a report, against what they mean."""

import math
from random import Random
from statistics import NormalDist

import pytest

from models.training.compare import by_source, shipped_table, sources_table
from models.training.report import auc, interval, measure, threshold_at
from models.training.row import WRITTEN, Row
from shield.types import Answer


def test_auc_is_the_share_of_pairs_in_order():
    rng = Random(1)
    for _ in range(30):
        bad = [rng.randint(0, 9) for _ in range(rng.randint(1, 20))]
        good = [rng.randint(0, 9) for _ in range(rng.randint(1, 20))]
        pairs = [(a > b) + (a == b) / 2 for a in bad for b in good]
        assert math.isclose(auc(bad, good), sum(pairs) / len(pairs))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.05, 0.5, 1.0])
def test_no_more_than_the_share_lies_above_the_threshold(share):
    rng = Random(2)
    for size in (1, 7, 100, 1_000):
        scores = [rng.gauss(0, 1) for _ in range(size)]
        limit = threshold_at(scores, share)
        assert sum(score > limit for score in scores) <= share * size


def test_intervals_are_wilsons():
    # Newcombe 1998, table I: 81 of 263, and 0 of 20
    assert interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert interval(0, 0) == (0.0, 1.0)


def test_a_measure_counts_what_is_above():
    found = measure([3.0, 4.0, 5.0, 0.0], [float(value) for value in range(-100, 0)], shares=(0.0, 0.01))
    assert found.recalls[0.0][0] == 1.0
    assert found.auc[0] == 1.0
    assert (found.attacks, found.harmless) == (4, 100)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05])
def test_intervals_of_recall_hold_the_recall_that_more_texts_would_show(share):
    """Also what chance does to the threshold is in them: Wilson's, of the attacks alone, hold it in 6 of 10 draws at
    .001, where seven texts set the threshold."""
    rng, normal, drawn = Random(3), NormalDist(), 200
    truth = 1 - normal.cdf(normal.inv_cdf(1 - share) - 3)
    inside = wilsons = 0
    for _ in range(drawn):
        attacks = [rng.gauss(3, 1) for _ in range(500)]
        recall, low, high = measure(attacks, [rng.gauss(0, 1) for _ in range(7_000)], (share,)).recalls[share]
        inside += low <= truth <= high
        least, most = interval(round(recall * len(attacks)), len(attacks))
        wilsons += least <= truth <= most
    assert inside >= 0.91 * drawn
    assert share > 0.001 or wilsons < 0.75 * drawn


def test_the_same_scores_have_the_same_interval():
    assert measure([1.0, 3.0], [0.0, 2.0]) == measure([1.0, 3.0], [0.0, 2.0])


def test_nothing_found_and_everything_found_are_ends_of_their_intervals():
    harmless = [float(value) for value in range(100)]
    assert measure([-1.0] * 9, harmless).recalls[0.01][:2] == (0.0, 0.0)
    assert measure([101.0] * 9, harmless).recalls[0.01][::2] == (1.0, 1.0)


def test_texts_of_other_writers_are_held_against_each_other_and_stay_out_of_the_mean():
    def rows(count, label, family, source):
        return [Row(text="t", label=label, kind="prose", family=family, source=source) for _ in range(count)]

    told = [
        *rows(10, 1, "public-attacks", "public"),
        *rows(10, 0, "public-clean", "public"),
        *rows(10, 1, "written-attacks", WRITTEN),
        *rows(10, 0, "written-harmless", WRITTEN),
        *rows(10, 0, "drawn", "generated"),
    ]
    scores = [2.0] * 10 + [1.0] * 10 + [2.0] * 10 + [3.0] * 10 + [9.0] * 10
    compared = by_source(told, {"it": scores})
    assert {one.source: one.auc[0] for one in compared} == {"public-attacks": 1.0, "written-attacks": 0.0}
    assert {one.harmless for one in compared} == {10}
    assert "**mean of 1 left-out sources** | it | 1.000" in sources_table(compared)
    shown = shipped_table(told, {"it": [Answer.NO_OBJECTION] * 20 + [Answer.ESCALATE] * 30})
    assert "| all left-out harmless (prose, 10) | harmless | 0.0 % (0.0 to 27.8) | 0.0 % (0.0 to 27.8) |" in shown
    assert "| written-harmless (prose, 10) | harmless | 0.0 % (0.0 to 27.8) | 100.0 % (72.2 to 100.0) |" in shown
