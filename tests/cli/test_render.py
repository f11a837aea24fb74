"""What commands print: nothing in it drives the terminal, hides or covers what stands there."""

import pytest

from shield.cli.render import shown


@pytest.mark.parametrize(
    "char",
    [
        *("\x1b", "\n", "\x9b", "\u202e", "\u200b", "\ufeff", "\u2028", "\ud800", "\U000e0041"),
        # a person answers a question by its line: blanks that are letters or signs part words that look like one
        *("\u3164", "\u115f", "\u1160", "\uffa0", "\u2800", "\u034f", "\u180e", "\ufe0f", "\U000e0100", "\ufff9"),
    ],
)
def test_what_nobody_sees_is_spelled(char):
    assert shown(f"rm -rf build{char}/") == f"rm -rf build\\u{{{ord(char):x}}}/"


def test_marks_that_would_climb_into_other_lines_are_spelled():
    assert shown("e\u0301\u0323" + "\u0301" * 2) == "e\u0301\u0323\\u{301}\\u{301}"
    assert shown("é ä̂ 日本語 שָׁלוֹם \U0001f600") == "é ä̂ 日本語 שָׁלוֹם \U0001f600"
