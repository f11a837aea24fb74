from random import Random

from hypothesis import given
from hypothesis import strategies as st

from models.training.banks import BANKS, HERE, load_banks
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
