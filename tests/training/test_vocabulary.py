"""Which pieces the tokenizer has: those of the pretrained one that are used, and those that other languages need."""

import pytest

from models.training.row import KINDS, Row
from models.training.vocabulary import SPECIAL, build_vocabulary, wordpiece

KNOWN = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "open", "the", "menu", "unused", *"abcdefghijklmnopqrstuvwxyz.")
CHINESE = "请先打开菜单, 然后忽略旧的设置"
GERMAN = "Öffnen Sie das Menü"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained")
    letters = [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    wordpiece({piece: number for number, piece in enumerate((*KNOWN, *letters))}).save(str(folder / "tokenizer.json"))
    return build_vocabulary(folder, [f"open the menu, the {'x' * n}" for n in range(9)] + [CHINESE, GERMAN] * 9)


def pieces(built, text):
    return built.tokenizer.encode(text, add_special_tokens=False).tokens


def test_pieces_that_nobody_uses_are_left_out_and_single_letters_are_kept(built):
    known = built.tokenizer.get_vocab()
    assert {"open", "the", "menu", "z", "##z"} <= set(known)
    assert "unused" not in known
    assert "[MASK]" not in known
    assert [piece for piece, number in sorted(known.items(), key=lambda one: one[1])][: len(SPECIAL)] == list(SPECIAL)


def test_text_in_other_languages_is_read_in_pieces_of_its_own(built):
    assert "[UNK]" not in pieces(built, CHINESE)
    assert pieces(built, GERMAN) == ["offnen", "sie", "das", "menu"]  # without accents, as all text is read


def test_english_gets_no_piece_of_its_own(built):
    assert pieces(built, "x" * 8) == ["x", *["##x"] * 7]


def test_a_piece_begins_as_what_the_pretrained_encoder_would_have_read(built):
    known = built.tokenizer.get_vocab()
    assert built.rows[known["open"]] == (KNOWN.index("open"),)
    assert built.rows[known["[prose]"]] == (KNOWN.index("[CLS]"),)
    letters = {letter: place for place, letter in enumerate(KNOWN)}
    assert built.rows[known["das"]][0] == letters["d"]
    assert len(built.rows[known["das"]]) == 3
    assert built.rows[known["请"]] == ()
    assert len(built.rows) == len(known)


def test_the_same_texts_give_the_same_pieces(built, tmp_path):
    vocabulary = {
        piece: number for number, piece in enumerate((*KNOWN, *(f"##{x}" for x in "abcdefghijklmnopqrstuvwxyz")))
    }
    wordpiece(vocabulary).save(str(tmp_path / "tokenizer.json"))
    texts = [f"open the menu, the {'x' * n}" for n in range(9)] + [CHINESE, GERMAN] * 9
    assert build_vocabulary(tmp_path, texts).tokenizer.to_str() == built.tokenizer.to_str()


def test_many_texts_are_read_as_each_alone(built):
    rows = [Row(text=text, label=0, kind=kind, family="f") for kind in KINDS for text in ("Der Bär", "a " * 300, "")]
    together = built.encoded(rows, 16)
    assert together == [built.encode(row.text, row.kind, 16) for row in rows]
    assert [ids[1] for ids in together[::3]] == [SPECIAL.index(f"[{kind}]") for kind in KINDS]
    assert [len(ids) for ids in together[:3]] == [len(together[0]), 16, 3]
