"""The written banks and what is generated of them."""

import re
from collections import Counter
from itertools import islice
from random import Random

import pytest

from models.training.banks import BANKS, HERE, THRESHOLDS, UNSEEN, BankError, load_banks
from models.training.compose import attacks, goal_of, harmless
from models.training.disguise import DISGUISES
from models.training.public import HELD, public
from models.training.row import KINDS, Row, read_rows, write_rows
from shared_data import shared


@pytest.fixture(scope="module")
def banks():
    return load_banks(BANKS)


@pytest.fixture(scope="module")
def unseen():
    return load_banks(UNSEEN)


def every_text(banks):
    entries = (*banks.leads, *banks.wholes, *banks.carriers, *banks.harmless)
    return [*banks.goals, *(entry.text for entry in entries)]


def test_there_is_enough_of_everything_and_nothing_twice(banks, unseen):
    thresholds = every_text(load_banks(THRESHOLDS))
    texts = every_text(banks) + every_text(unseen) + thresholds
    assert len(every_text(unseen)) >= 1_500
    assert len(thresholds) >= 800
    assert [text for text, times in Counter(texts).items() if times > 1] == []
    assert len(banks.goals) >= 500
    assert len(banks.leads) >= 800
    assert len(banks.carriers) >= 250
    assert len(banks.harmless) >= 1_000
    assert {entry.kind for entry in banks.harmless} == set(KINDS)
    assert {whole.direct for whole in banks.wholes} == {True, False}
    for families in (banks.leads, banks.wholes, banks.carriers, banks.harmless):
        assert len({entry.family for entry in families}) >= 12


def runs(text, words=8):
    told = re.findall(r"[a-z0-9@]+(?:[.'-][a-z0-9@]+)*", text.lower())
    return {" ".join(told[at : at + words]) for at in range(len(told) - words + 1)}


@pytest.mark.parametrize("folder", [UNSEEN, THRESHOLDS])
def test_what_is_not_trained_on_has_no_twin_in_training(banks, folder):
    """Boilerplate is where writers who do not know of each other write the same."""
    known = (*(entry.text for entry in (*banks.harmless, *banks.carriers)), *(pair.clean for pair in banks.pairs))
    trained = {run for text in known for run in runs(text, words=4)}
    others = load_banks(folder)
    for text in (*(entry.text for entry in others.harmless), *(pair.clean for pair in others.pairs)):
        own = runs(text, words=4)
        assert len(own) < 8 or len(own & trained) < 0.6 * len(own), text


def test_pairs_are_the_same_document_with_and_without_a_few_words(banks, unseen):
    pairs = banks.pairs + unseen.pairs
    assert len(unseen.pairs) >= 150
    assert len({pair.clean for pair in pairs}) == len(pairs)
    for pair in pairs:
        clean, poisoned = ({text[at : at + 5] for at in range(len(text) - 4)} for text in (pair.clean, pair.poisoned))
        assert len(clean & poisoned) > 0.5 * len(clean), pair.clean
        assert poisoned - clean, pair.poisoned
        before, own, planted, after = pair.parts
        assert (before + own + after, before + planted + after) == (pair.clean, pair.poisoned)


def test_a_pair_that_is_none_is_refused_where_it_stands(tmp_path):
    (tmp_path / "documents").mkdir()
    path = tmp_path / "documents" / "one.yaml"
    path.write_text("pairs: [{clean: a, poisoned: b}, {clean: a, poisoned: 'a '}]")
    with pytest.raises(BankError, match=r"one.yaml: pair 1 has to have `clean` and `poisoned`"):
        load_banks(tmp_path)
    path.write_text("pairs: [{clean: a, poisoned: b}]")
    assert [pair.poisoned for pair in load_banks(tmp_path).pairs] == ["b"]


def test_nothing_is_taken_from_what_the_classifier_is_measured_on(banks, unseen):
    held = {run for row in public(shared("data/tier1"), HELD, Random(1)) if row.label for run in runs(row.text)}
    assert len(held) > 10_000
    texts = [*banks.goals, *(entry.text for one in (banks, unseen) for entry in (*one.leads, *one.wholes))]
    same = {run for text in texts for run in runs(text)} & held
    assert {run for run in same if len(set(run.split())) >= 5} == set()


def test_every_slot_is_filled(banks):
    names = set(banks.slots) | {"goal", "Goal"}
    left = re.compile(r"\{(" + "|".join(sorted(names)) + r")\}")
    rng = Random(1)
    for entry in (*banks.leads, *banks.wholes, *banks.carriers, *banks.harmless):
        assert not left.search(banks.filled(entry.text, rng, goal_of(banks, rng))), entry


def test_a_slot_has_one_word_within_a_text(banks):
    for seed in range(20):
        first, second = banks.filled("{name}|{name}", Random(seed)).split("|")
        assert first == second


def test_the_same_seed_gives_the_same_rows(banks, tmp_path):
    for make in (attacks, harmless):
        rows = list(islice(make(banks, Random(7)), 300))
        assert rows == list(islice(make(banks, Random(7)), 300))
        assert rows != list(islice(make(banks, Random(8)), 300))
        assert write_rows(tmp_path / "rows.jsonl", rows) == 300
        assert list(read_rows(tmp_path / "rows.jsonl")) == rows


def test_rows_fit_a_window_and_show_no_mark(banks):
    for row in (*islice(attacks(banks, Random(3)), 1_500), *islice(harmless(banks, Random(3)), 1_500)):
        assert row.text.strip(), row
        assert row.kind in KINDS
        assert HERE not in row.text
        assert "{goal}" not in row.text.lower()


def test_every_carrier_comes_clean_and_poisoned(banks):
    clean = {row.family for row in islice(harmless(banks, Random(5)), 12_000)}
    assert {carrier.family for carrier in banks.carriers} <= clean


@pytest.mark.parametrize(
    "text", ["One line {name} of it.\nAnother, of more words\n", '{"a": "some words", "b": []}', "word"]
)
def test_a_document_found_comes_clean_and_poisoned_at_any_of_its_words(banks, text):
    document = Row(text=text, label=0, kind="code", family="found", source="machine")
    good = [row.text for row in islice(harmless(banks, Random(5), [document]), 3_000) if row.family == "found"]
    kept = set(re.findall(r"\w+", text))
    assert any(set(re.findall(r"\w+", said)) <= kept for said in good)
    assert any(not set(re.findall(r"\w+", said)) <= kept for said in good), "nothing ordinary planted"
    first, last = text.split()[0], text.split()[-1]
    bad = [row.text for row in islice(attacks(banks, Random(5), [document]), 3_000) if first in row.text]
    assert any(said.startswith(first) for said in bad)
    assert any(said.rstrip().endswith(last) and not said.startswith(first) for said in bad)


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_keeps_something_to_read(name):
    said = "please send the quarterly report to the new address"
    changed = {DISGUISES[name](said, Random(seed)) for seed in range(5)}
    assert changed != {said}
    assert all(text.strip() for text in changed)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("leads/a.yaml", "texts: [no goal]", "no place for a goal"),
        ("carriers/a.yaml", "texts: [no place]", HERE),
        ("harmless/a.yaml", "kind: poem\ntexts: [x]", "poem"),
        ("harmless/a.yaml", "texts: {a: b}", "a list"),
        ("harmless/a.yaml", "texts: [' ']", "no text"),
        ("other/a.yaml", "texts: [x]", "other"),
        ("goals/a.yaml", "texts: [", "a.yaml"),
    ],
)
def test_a_bank_that_is_none_is_refused(tmp_path, name, content, says):
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(BankError, match=re.escape(says)):
        load_banks(tmp_path)
