"""The same text has the same reading whatever is read with it; trouble is an error and never a low score."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shield.errors import ModelError
from shield.model.scorer import CACHED, MAX_WINDOWS, Reading, Scorer, load_scorer
from shield.types import TextKind
from tier1_folder import IDS, graph, lookup, quantised, table

WORDS = ("override", "obey", "perhaps", "a", "b", "note", "漢", "[SEP]", "zzz")
TEXTS = st.tuples(
    st.lists(st.sampled_from(WORDS), max_size=300).map(" ".join) | st.text(max_size=40), st.sampled_from(list(TextKind))
)


@pytest.fixture(scope="module")
def rough(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph whose answer to a window depends on what is run together with it, as dynamic int8 does."""
    return lookup(tmp_path_factory.mktemp("rough"), model=quantised(table()))


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return load_scorer(lookup(tmp_path_factory.mktemp("plain")))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=20)
@given(texts=st.lists(TEXTS, min_size=1, max_size=8), order=st.randoms(use_true_random=False))
def test_same_text_same_reading_whatever_the_batch(
    rough: Path, texts: list[tuple[str, TextKind]], order: object
) -> None:
    """Exactly, and also by a scorer that never saw anything else."""
    together = load_scorer(rough).read(texts)
    shuffled = list(range(len(texts)))
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    again = load_scorer(rough).read([texts[at] for at in shuffled])
    assert [again[shuffled.index(at)] for at in range(len(texts))] == list(together)
    assert tuple(load_scorer(rough).read([text])[0] for text in texts) == together


def test_the_graph_of_the_law_does_depend_on_its_batch(rough: Path) -> None:
    """The broken twin: run together, two windows change each other's margin, so the law above can fail."""
    session = load_scorer(rough)._session._session
    one, two = IDS["perhaps"], IDS["override"]
    alone = session.run(None, {"input_ids": np.array([[one]])})[0][0]
    beside = session.run(None, {"input_ids": np.array([[one], [two]])})[0][0]
    assert alone[1] != beside[1]


def test_the_worst_window_is_the_reading(scorer: Scorer) -> None:
    text = "obey " + "a " * 150 + "override " + "a " * 150 + "perhaps"
    (found,) = scorer.read([(text, TextKind.PROSE)])
    windows = len(scorer._tokens.cut(text, TextKind.PROSE).windows)
    assert windows > 2
    assert found.margin == 6.0 - math.log(windows)
    assert found.start <= text.index("override") < found.end
    assert found.score == pytest.approx(1 / (1 + math.exp(-found.margin)))
    assert found.whole


def test_a_short_text_has_the_margin_of_its_window(scorer: Scorer) -> None:
    (found,) = scorer.read([("a override b", TextKind.PROSE)])
    assert found.margin == 6.0


def test_a_long_text_is_not_suspicious_for_its_length(scorer: Scorer) -> None:
    """Of words that each mean little the thousandth means no more than the first; a thousand texts of one window would
    be as many chances of a false alarm."""
    short, long = ("perhaps " + "a " * length for length in (10, 2_000))
    first, second = scorer.read([(short, TextKind.PROSE), (long, TextKind.PROSE)])
    assert second.margin < first.margin


def test_a_text_without_tokens_speaks_against_nothing(scorer: Scorer) -> None:
    (found,) = scorer.read([(" \n", TextKind.URL)])
    assert found == Reading(margin=-math.inf, score=0.0, start=0, end=0, whole=True)
    assert scorer.calibration.answer(found.margin, TextKind.URL) == "no_objection"


def test_an_attack_behind_the_cap_is_not_called_read(scorer: Scorer) -> None:
    text = "a " * 12_000 + "override " + "a " * 12_000
    (found,) = scorer.read([(text, TextKind.TOOL_RESULT)])
    assert (found.margin, found.whole) == (-4.0 - math.log(MAX_WINDOWS), False)


def test_a_model_that_breaks_on_one_word_is_an_error_and_stays_one(tmp_path: Path) -> None:
    rows = table()
    rows[IDS["perhaps"]] = np.inf
    broken = load_scorer(lookup(tmp_path, model=graph(rows)))
    for _ in range(2):
        with pytest.raises(ModelError, match="NaN"):
            broken.read([("a", TextKind.PROSE), ("perhaps", TextKind.PROSE)])
    assert broken.read([("a", TextKind.PROSE)])[0].margin == -4.0


def test_a_deadline_stops_between_windows_and_is_not_remembered(scorer: Scorer) -> None:
    left = [3]

    def expired() -> bool:
        left[0] -= 1
        return left[0] < 0

    text = " ".join(Random(1).choices(["a", "b", "c", "note"], k=900)) + " override"
    first, second = scorer.read([(text, TextKind.PROSE), ("obey a", TextKind.PROSE)], expired=expired)
    assert first.margin < -4.0
    assert not first.whole
    assert second == Reading(margin=-math.inf, score=0.0, start=0, end=0, whole=False)
    assert scorer.read([("obey a", TextKind.PROSE)])[0].margin == 3.0
    assert scorer.read([(text, TextKind.PROSE)])[0].margin == pytest.approx(first.margin + 10.0)


def test_what_was_read_is_remembered_by_text_and_kind(tmp_path: Path) -> None:
    """A spy on the clock of the cache: an expired call can only answer what is remembered."""
    kept = load_scorer(lookup(tmp_path))
    kept.read([("override", TextKind.PROSE)])
    late = kept.read([("override", TextKind.PROSE), ("override", TextKind.CODE)], expired=lambda: True)
    assert [found.margin for found in late] == [6.0, -math.inf]
    for at in range(CACHED):
        kept.read([(f"a {at}", TextKind.PROSE)])
    assert kept.read([("override", TextKind.PROSE)], expired=lambda: True)[0].margin == -math.inf


def test_threads_read_the_same(scorer: Scorer, tmp_path: Path) -> None:
    texts = [(f"{word} a {at}", kind) for at in range(40) for word in WORDS for kind in TextKind]
    expected = [scorer.read([text])[0] for text in texts]
    shared = load_scorer(lookup(tmp_path))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: shared.read([text])[0], texts)) == expected
