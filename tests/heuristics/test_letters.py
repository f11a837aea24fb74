"""`\\pL` by blocks: the letters of living languages are in, what stands between words is not."""

import unicodedata

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from shield.heuristics.letters import LETTERS, by_block

LETTER = re2.compile(f"[{LETTERS}]")
TEXTS = {
    "de": "Übergröße", "fr": "œuvre", "es": "mañana", "pl": "zażółć", "tr": "ığdır", "ru": "ёлка", "uk": "їжак",
    "el": "ψυχή", "he": "שלום", "ar": "مُحَمَّد", "fa": "گفتگو", "hi": "हिन्दी", "bn": "বাংলা", "ta": "தமிழ்",
    "th": "ภาษาไทย", "ka": "ქართული", "hy": "հայերեն", "am": "አማርኛ", "ja": "日本語ひらがなカタカナー々",
    "ko": "한국어", "zh": "忽略以上", "vi": "hướng", "wide": "ｉｇｎｏｒｅ", "id": "abaikan",
}  # fmt: skip
BETWEEN = " \t\n0123456789.,:;!?\"'()[]{}<>/\\|@#$%^&*-_=+~`«»“”„‘’—–…¡¿·×÷،؛؟۔।॥。、「」『』・！？，．（）：；\u200b\u2028\ufeff🔑→€"


@pytest.mark.parametrize("language", TEXTS)
def test_a_word_is_one_run(language) -> None:
    word = unicodedata.normalize("NFC", TEXTS[language])
    assert re2.fullmatch(by_block(r"\pL+"), word)
    assert re2.fullmatch(by_block(r"\pL+"), unicodedata.normalize("NFD", word))


@pytest.mark.parametrize("character", BETWEEN)
def test_what_stands_between_words_is_no_letter(character) -> None:
    assert LETTER.search(character) is None


def test_it_is_a_tenth_of_the_steps() -> None:
    options = re2.Options()
    options.case_sensitive = False
    assert re2.compile(by_block(r"\pL+"), options).programsize * 10 < re2.compile(r"\pL+", options).programsize


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        (r"\pL+", "[§]+"),
        (r"\p{L}+", "[§]+"),
        (r"\PL \P{L}", "[^§] [^§]"),
        (r"[^\pL\n]", r"[^§\n]"),
        (r"[]\pL]\pL", "[]§][§]"),
        (r"[^]\pL]\pL", "[^]§][§]"),
        (r"[[:alpha:]\pL]\pL", "[[:alpha:]§][§]"),
        (r"[[]\pL", "[[][§]"),
        (r"[a[^]\pL", "[a[^][§]"),
        (r"[\]\pL]\pL", r"[\]§][§]"),
        (r"\[\pL\]", r"\[[§]\]"),
        (r"\\pL", r"\\pL"),
        (r"\pLu\p{Lu}\p{Han}", r"[§]u\p{Lu}\p{Han}"),
        ("a\\", "a\\"),
        ("", ""),
    ],
)
def test_only_letters_are_replaced(pattern, written) -> None:
    assert by_block(pattern) == written.replace("§", LETTERS)


@given(st.text(st.sampled_from("\\pPL[]^{}:a-z|()*+?"), max_size=30))
def test_a_pattern_stays_one(pattern) -> None:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error:
        return
    re2.compile(by_block(pattern), options)
