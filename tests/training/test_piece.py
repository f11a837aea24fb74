from dataclasses import replace
from itertools import islice
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from models.training.banks import BANKS, HERE, Pair, load_banks
from models.training.compose import attacks, harmless
from models.training.piece import piece


@given(st.text(max_size=300), st.integers(0, 99))
def test_a_piece_holds_only_words_of_the_text(text, seed):
    found = piece(text, Random(seed))
    assert all(word in text for word in found.split())
    assert len(found) <= len(text)


def test_pieces_are_lines_fields_and_sentences():
    text = '{"title": "Final deadline", "body": "Bring the keys. Close the door."}\n| a | next row |'
    found = {piece(text, Random(seed)) for seed in range(200)}
    assert {"Final deadline", "Bring the keys.", "next row"} <= found
    assert not any("{" in one or "|" in one for one in found)


def test_a_short_text_alone_is_more_often_clean_than_not():
    banks = load_banks(BANKS)
    good, bad = harmless(banks, Random(1)), attacks(banks, Random(2))
    short = [
        sum(len(row.text) < 60 and row.kind == "tool_result" for row in (next(rows) for _ in range(2_000)))
        for rows in (good, bad)
    ]
    assert short[0] > 2 * short[1]
    assert not any(HERE in next(good).text for _ in range(300))


def test_of_a_pair_the_place_is_read_where_its_documents_differ():
    pair = Pair(
        clean="a " * 400 + "calm " + "b " * 400, poisoned="a " * 400 + "storm now " + "b " * 400, family="twins"
    )
    assert pair.parts == ("a " * 400, "calm", "storm now", " " + "b " * 400)
    banks = replace(load_banks(BANKS), pairs=(pair,))
    for make, words, share in ((attacks, "storm now", 0.7), (harmless, "calm", 0.35)):
        found = [row for row in islice(make(banks, Random(3)), 3_000) if row.family == "twins"]
        assert len(found) > 50
        plain = [row for row in found if words in row.text]
        assert len(plain) > share * len(found)
        assert sorted(row.text.index(words) for row in plain)[len(plain) * 9 // 10] < 520


def test_of_a_clean_document_every_place_is_read():
    pair = Pair(
        clean=" ".join(map(str, range(400))), poisoned="storm " + " ".join(map(str, range(400))), family="twins"
    )
    banks = replace(load_banks(BANKS), pairs=(pair,))
    texts = [row.text for row in islice(harmless(banks, Random(3)), 3_000) if row.family == "twins"]
    assert not any("storm" in text for text in texts)
    assert all(any(f" {number} " in text for text in texts) for number in (10, 100, 200, 300, 380))
