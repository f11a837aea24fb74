"""No text becomes a special token, places are code points of the text, and long texts cost no more than the cap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from shield.model.manifest import Manifest
from shield.model.tokens import MAX_CODE_POINTS, Tokens
from shield.types import TextKind
from tier1_folder import IDS, SPECIAL, ours, ours_files, unigram, wordpiece

MANIFEST = ours(ours_files())
TEMPLATE = Manifest(name="dropin", files={}, attack=(1,))
OURS = Tokens(wordpiece().to_str().encode(), MANIFEST, vocabulary=None, most=32)
DROPIN = Tokens(unigram().to_str().encode(), TEMPLATE, vocabulary=None, most=32)
FRAMES = {number for name, number in IDS.items() if name in SPECIAL and name != "[UNK]"}
PARTS = st.sampled_from(
    [*SPECIAL, "a", " ", "override", "漢", "é", "e\u0301", "\ud800", "\u200b", "👩‍👧", "[", "]", "\n"]
)


@pytest.mark.parametrize("kind", list(TextKind))
def test_each_kind_has_its_marker(kind: TextKind) -> None:
    (window,) = OURS.cut("a", kind).windows
    assert window.ids == (IDS["[CLS]"], IDS[f"[{kind}]"], IDS["a"], IDS["[SEP]"])


def test_a_dropin_frames_its_text_itself_and_is_neither_cut_nor_padded() -> None:
    (window,) = DROPIN.cut("a b c a b c a b c a b c", TextKind.CODE).windows
    assert window.ids[0] == IDS["[CLS]"]
    assert window.ids[-1] == IDS["[SEP]"]
    assert IDS["[PAD]"] not in window.ids
    assert len([number for number in window.ids if number != IDS["[UNK]"]]) == 14


@given(st.lists(PARTS, max_size=60))
def test_no_text_becomes_a_special_token(parts: list[str]) -> None:
    text = "".join(parts)
    for window in OURS.cut(text, TextKind.TOOL_RESULT).windows:
        assert FRAMES.isdisjoint(window.ids[2:-1])
        assert 0 <= window.start < window.end <= len(text)
    for window in DROPIN.cut(text, TextKind.TOOL_RESULT).windows:
        assert (FRAMES - {IDS[f"[{kind}]"] for kind in TextKind}).isdisjoint(window.ids[1:-1])
        assert 0 <= window.start < window.end <= len(text)


def test_a_vocabulary_that_spells_special_tokens_out_does_not_help() -> None:
    """The pieces of a Unigram model hold `[SEP]` itself: encoding it as ordinary text gives that very id."""
    plain = unigram()
    plain.encode_special_tokens = True
    assert IDS["[SEP]"] in plain.encode("a [SEP] a", add_special_tokens=False).ids
    (window,) = DROPIN.cut("a [SEP] a", TextKind.PROSE).windows
    assert window.ids.count(IDS["[SEP]"]) == 1


def test_a_special_token_in_a_text_is_read_as_what_it_says() -> None:
    """Not left out either: what stands around it would be joined."""
    bert = wordpiece()
    bert.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL[:4]])
    bert.post_processor = unigram().post_processor
    tokens = Tokens(bert.to_str().encode(), TEMPLATE, vocabulary=None, most=32)
    (window,) = tokens.cut("a[SEP]cls", TextKind.PROSE).windows
    begin, end, unknown = IDS["[CLS]"], IDS["[SEP]"], IDS["[UNK]"]
    assert window.ids == (begin, IDS["a"], IDS["["], unknown, IDS["]"], IDS["cls"], end)


def test_places_count_code_points() -> None:
    text = "👩‍👧 漢 " * 40 + "override"
    cut = OURS.cut(text, TextKind.PROSE)
    last = cut.windows[-1]
    assert text[: last.end].endswith("override")
    assert text[cut.windows[0].start] == "👩"


@given(st.integers(1, 400), st.integers(0, 399))
def test_the_window_that_holds_a_word_says_where(count: int, at: int) -> None:
    at %= count
    words = ["a"] * count
    words[at] = "override"
    text = " ".join(words)
    place = text.index("override")
    hit = [window for window in OURS.cut(text, TextKind.PROSE).windows if IDS["override"] in window.ids]
    assert hit
    assert all(window.start <= place and place + 8 <= window.end for window in hit)


def test_beyond_the_cap_head_and_tail_are_read_at_their_places() -> None:
    text = "override " + "a " * 5_000 + "obey"
    cut = OURS.cut(text, TextKind.PROSE)
    assert (len(cut.windows), cut.whole) == (32, False)
    assert IDS["override"] in cut.windows[0].ids
    assert IDS["obey"] in cut.windows[-1].ids
    assert cut.windows[-1].end == len(text)


@pytest.mark.parametrize("filler", ["a ", "a", " ", "\u200b", "漢", "e\u0301", "!", "\ud800"])
@pytest.mark.parametrize("tokens", [OURS, DROPIN], ids=["ours", "dropin"])
def test_a_huge_text_is_cut_before_it_is_tokenised(tokens: Tokens, filler: str) -> None:
    """A megabyte, also as one word: bounded by the cap, the end still read at its place, never called whole."""
    text = "override " + filler * (1_000_000 // len(filler)) + " obey"
    cut = tokens.cut(text, TextKind.PROSE)
    assert not cut.whole
    assert len(cut.windows) <= 32
    assert IDS["override"] in cut.windows[0].ids
    assert IDS["obey"] in cut.windows[-1].ids
    assert cut.windows[-1].end == len(text)


def test_the_cap_itself_is_whole() -> None:
    assert OURS.cut(" " * (MAX_CODE_POINTS - 1) + "a", TextKind.PROSE).whole
    assert not OURS.cut(" " * MAX_CODE_POINTS + "a", TextKind.PROSE).whole


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_text_without_tokens_has_no_window(text: str) -> None:
    assert OURS.cut(text, TextKind.PROSE).windows == ()
    assert OURS.cut(text, TextKind.PROSE).whole
