"""What of a reading is new: nothing that no window has seen is left out, and what stood elsewhere is not read again."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shield.tiers.anew import Anew, Readings
from shield.tiers.judged import Text
from shield.tiers.texts import CLASSIFIER, TextJudge
from shield.types import Answer, TextKind
from tier1_world import Held, Scripted, rules

WINDOW = 600  # code points: more than a window of the classifier
PROSE = "\n".join(
    f"Line {number} says what the chapter number {number} is about, and no more." for number in range(200)
)
ADDRESS = "https://img.example/badge?label=do%20{}%20now"

lines = st.lists(
    st.sampled_from(["", "a", "b b", "**a**", "c" * 90, "d d" * 60, "x*y*z", "  a", "e\u0301", "f" * 700]), max_size=40
)


def test_the_first_reading_is_new():
    assert Readings().anew("one\ntwo") == Anew(text="one\ntwo", length=7)


def test_the_same_words_are_not_new():
    seen = Readings()
    seen.add(PROSE)
    assert seen.anew(PROSE).text == ""
    assert seen.anew("\n\n".join(f"  **{line}**\t" for line in PROSE.split("\n"))).text == ""


def test_of_a_changed_line_it_is_what_stands_around():
    seen = Readings()
    seen.add(PROSE)
    changed = PROSE.replace("number 100 is", "EVIL")
    anew = seen.anew(changed)
    assert "EVIL" in anew.text
    assert 2 * 600 < len(anew.text) < 2_000
    assert changed[anew.place(anew.text.index("EVIL")) :].startswith("EVIL")
    assert anew.times == len(changed) / len(anew.text)


def test_words_that_a_marker_parts_are_not_those_without():
    seen = Readings()
    seen.add(PROSE.replace("chapter", "ch*ap*ter"))
    assert seen.anew(PROSE).text == PROSE


def test_lines_that_change_places_are_new():
    seen = Readings()
    seen.add(PROSE)
    turned = "\n".join(reversed(PROSE.split("\n")))
    assert seen.anew(turned).text == turned


def said(text: str) -> str:
    return " ".join(text.replace("*", "").split())


@given(lines, lines, st.integers(0, 40), st.integers(0, 40))
def test_every_window_is_read_somewhere(one, other, at, until):
    """Over texts that share what comes before and behind: each stretch of the later one, as long as a window and from
    anywhere on, stands in the earlier one or in what is new of the later."""
    first = "\n".join(one)
    second = "\n".join([*one[:at], *other, *one[max(at, until) :]])
    seen = Readings()
    seen.add(first)
    anew = seen.anew(second)
    begins = [here for here, _ in anew.places]
    stretches = [said(anew.text[begin:end]) for begin, end in pairwise([*begins, len(anew.text)])]
    for start in range(0, len(second), 7):
        window = said(second[start : start + WINDOW])
        assert any(window in stretch for stretch in (*stretches, said(first))), (start, anew)
    for at in range(0, len(anew.text), 5):
        if anew.text[at] != "\n":
            assert second[anew.place(at)] == anew.text[at]


class Counting(Scripted):
    """Remembers how much it was asked to read."""

    @property
    def letters(self):
        return sum(len(text) for text, _ in self.asked)


def judged(packs, text, scorer):
    (one,) = TextJudge(packs, Held(scorer)).judge([Text(text=text, kind=TextKind.TOOL_RESULT)], budget=2 * len(text))
    return one


def test_a_page_with_an_address_in_percent_signs_is_read_once(tmp_path):
    packs, scorer = rules(tmp_path), Counting(most=1 << 17)
    text = f"{PROSE}\n{ADDRESS.format('it')}\n{PROSE[:3_000]}"
    assert judged(packs, text, scorer).whole
    assert scorer.letters < 1.3 * len(text)


def test_what_is_hidden_in_one_address_is_read_as_before(tmp_path):
    packs = rules(tmp_path)
    one = judged(packs, f"{PROSE}\n{ADDRESS.format('E%56IL')}\n{PROSE[:3_000]}", Counting(most=1 << 17))
    assert [(f.rule, f.layer) for f in one.findings] == [(CLASSIFIER, "percent")]
    assert one.answer is Answer.BLOCK
    assert one.margin < 10 - math.log(5), "a fifth of the page at most, and no likelier to hold an attack for that"
