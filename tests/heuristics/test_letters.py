"""`\\pL` by blocks: the letters of living languages are in, what stands between words is not."""

import re
import unicodedata

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from shield.heuristics.letters import BEYOND_LATIN, LETTERS, beyond_latin, by_block

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


@pytest.mark.parametrize(
    ("pattern", "beyond"),
    [
        ("忽", True),
        ("忽?", False),
        ("a|忽", False),
        ("a忽|b无", True),
        ("(?:忽|无)b", True),
        ("(?:忽|a)b", False),
        ("(?:忽)?x", False),
        ("(?:忽|无)+?x", True),
        ("[忽无]", True),
        ("[忽a]", False),
        ("[^忽]", False),
        ("忽{0,2}", False),
        ("忽{1,2}", True),
        (r"\bигнор\w*", True),
        ("é", False),
        ("…", False),
        ("μ", False),
        ("忽)", False),
        ("(忽", False),
        ("", False),
        ("[^]π]", False),
        ("[]π]", False),
        (r"\Qи\E*a", False),
        ("и(?i)*x", False),
        ("(?P<и>a)", False),
        ("ω", False),
        ("Ω", False),
        ("\u2c62", False),
        ("\ua7ae", False),
    ],
)
def test_a_pattern_that_needs_letters_beyond_latin_is_known(pattern, beyond):
    assert beyond_latin(pattern) is beyond


PATTERNS = st.recursive(
    st.sampled_from(
        ["a", "忽", "и", "[忽无]", "[a忽]", "[^b]", ".", r"\w", r"\pL", r"\x{438}", "μ", "ẞ", "…", "^", r"\b"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "??", "{0,2}", "{1,2}", "{2}", "{0}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        st.tuples(inner, inner).map("|".join),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.text("aAbéÉµßſ K…\u2713 ", max_size=6))
def test_nothing_without_such_a_letter_matches_a_pattern_that_needs_one(pattern, text):
    if beyond_latin(pattern) and BEYOND_LATIN.search(text) is None:
        options = re2.Options()
        options.case_sensitive = False
        assert re2.search(by_block(pattern), text, options) is None


def test_no_letter_that_is_sure_is_another_way_to_write_a_latin_one():
    sure = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and beyond_latin(re.escape(chr(code)))]
    assert len(sure) > 40_000
    others = "".join(
        letter for code in range(0x110000) if BEYOND_LATIN.match(letter := chr(code)) is None and letter.isalpha()
    )
    options = re2.Options()
    options.case_sensitive = False
    for start in range(0, len(sure), 2_000):
        assert re2.search(f"[{''.join(sure[start : start + 2_000])}]", others, options) is None
