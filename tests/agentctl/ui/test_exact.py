"""What is shown is what would be run: no two texts, and no two actions, look the same."""

import json
import re
import unicodedata
from types import MappingProxyType

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentctl.ui.exact import exact
from agentctl.ui.question import question
from shield.types import Approval, ApprovalState, Scope

NAMES = {"NUL": 0, "BEL": 7, "BS": 8, "LF": 10, "CR": 13, "ESC": 27, "DEL": 127}
TRICKY = st.text(
    alphabet=st.sampled_from(
        "a b\t\n\r\x00\x1b\x7f\x9b‹›⇥\\x1bU+20uE\u202e\u2066\u200b\u00ad\ufe0f\u0301\u0489\u00a0\u3000\u3164\u2028"
        "аеорсу\u0430ｘ𝐱é界😀\u200d\U000e0041\ue000\ud800\u2044\u2010'\"|: …-+"
    ),
    max_size=24,
)


def meant(shown: str) -> str:
    """Back from what is shown to the text."""

    def read(found: re.Match[str]) -> str:
        word = found[1]
        return chr(NAMES[word]) if word in NAMES else chr(int(word.removeprefix("U+"), base=16))

    return re.sub("‹([^›]*)›", read, shown.replace("⇥", "\t"))


@given(st.text() | TRICKY)
@example("\x1b")
@example("\\x1b")
@example("‹ESC›")
def test_the_text_can_be_told_from_what_is_shown(text):
    shown = exact(text)
    assert meant(shown) == text
    for char in shown:
        assert char == " " or char.isprintable()
        assert unicodedata.bidirectional(char) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    assert not shown.endswith(" ")
    assert not re.search(r"[^\W\d_][\u0300-\u036f]{3}", shown)


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E)).map(str.rstrip))
def test_plain_text_is_shown_as_it_is(text):
    assert exact(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "‹ESC›[2J"),
        ("\\x1b[2J", "\\x1b[2J"),
        ("a\x9b31m", "a‹U+009B›31m"),
        ("\x1b]52;c;ZXZpbA==\x07", "‹ESC›]52;c;ZXZpbA==‹BEL›"),
        ("rm\u202egnp.", "rm‹U+202E›gnp."),
        ("a\u200bb", "a‹U+200B›b"),
        ("\u0301a", "‹U+0301›a"),
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 40, "e\u0301\u0301" + "‹U+0301›" * 38),
        ("p\u0430ypal", "p‹U+0430›ypal"),
        ("привет", "привет"),
        ("naïve café Übung", "naïve café Übung"),
        ("日本語", "日本語"),
        ("ｒｍ", "‹U+FF52›‹U+FF4D›"),
        ("a\u00a0b", "a‹U+00A0›b"),
        ("a\u2044b", "a‹U+2044›b"),
        ("x ", "x‹U+0020›"),
        ("a\tb", "a⇥b"),
        ("a\rb", "a‹CR›b"),
        ("\U000e0041", "‹U+E0041›"),
        ("\ud800", "‹U+D800›"),
    ],
)
def test_what_could_fool_the_eye_is_spelled_out(text, shown):
    assert exact(text) == shown


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TRICKY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TRICKY, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["path", "old", "new", "command", "in", "hash", "why it is asked", "a (number)", "content"])
PAYLOADS = st.dictionaries(FIELDS | TRICKY, JSON, max_size=4)
KINDS = st.sampled_from(["edit_file", "execute_command", "execute command", "mcp:a/b", "x_y", "x__y"])


def asked(kind, payload, cwd="/w", facts=MappingProxyType({})) -> Approval:
    return Approval(
        id="01A",
        state=ApprovalState.PENDING,
        created_at=0,
        expires_at=1,
        request={"type": kind, "payload": payload, "cwd": cwd},
        facts=facts,
        rule="r",
        reason="why",
        scopes=(Scope.ONCE,),
        pattern=None,
        evaluation="01E",
        session="01S",
        agent="a",
    )


def lines(kind, payload, cwd="/w") -> list[str]:
    shown = question(asked(kind, payload, cwd))
    # without the hash, which would make any two differ
    return [line for line in shown if not line.startswith("hash: ")]


def canonical(payload) -> str:
    return json.dumps(payload, sort_keys=True)


@given(KINDS, PAYLOADS, KINDS, PAYLOADS)
@example("execute_command", {"command": "5"}, "execute_command", {"command": 5})
@example("edit_file", {"old": "a\nb", "new": "a"}, "edit_file", {"old": "a", "new": "a\nb"})
@example("edit_file", {"old": "a", "new": "a\n"}, "edit_file", {"old": "a\n", "new": "a"})
@example("execute_command", {"command": "a\nb"}, "execute_command", {"command": "a\\nb"})
@example("execute_command", {"command": None}, "execute_command", {"command": "null"})
@example("execute_command", {"a": "x", "b": "y"}, "execute_command", {"a": "x\nb: y"})
def test_two_actions_never_look_the_same(kind, payload, other_kind, other):
    assume((kind, canonical(payload)) != (other_kind, canonical(other)))
    assert lines(kind, payload) != lines(other_kind, other)


@given(KINDS, PAYLOADS, st.data())
def test_no_small_change_goes_unseen(kind, payload, data):
    """The same law where it is hard: one text of an action with one character more."""
    payload = payload | {"content": data.draw(TRICKY)}
    name = data.draw(st.sampled_from([name for name, value in payload.items() if isinstance(value, str)]))
    at = data.draw(st.integers(0, len(payload[name])))
    more = data.draw(st.sampled_from("\n\t \r\x1b\u200b\u0301…-+|‹"))
    changed = payload | {name: payload[name][:at] + more + payload[name][at:]}
    assert lines(kind, payload) != lines(kind, changed)


@given(KINDS, PAYLOADS, TRICKY, st.integers(1, 400), st.integers(0, 30))
def test_what_is_cut_short_is_never_taken_for_the_whole(kind, payload, piece, times, most):
    approval = asked(kind, payload | {"content": piece * times, "old": piece * 3, "new": piece * times})
    whole, cut = question(approval, 40), question(approval, 40, most=most)
    assert cut == whole if len(whole) <= most else len(cut) == most + 1


@pytest.mark.parametrize("content", ["x\n" * 200_000, "x" * 400_000, ["x"] * 100_000])
def test_no_more_is_worked_out_than_is_shown(content):
    """An agent that sends 8 MiB would use up the time that the person has to answer."""

    class Unread(dict):
        get = None

    assert len(question(asked("write_file", {"content": content}, facts=Unread()), most=100)) == 101


@pytest.mark.parametrize("cwd", [None, "no directory", "/w\n", "/w ", "/w"])
def test_directories_differ(cwd):
    others = [other for other in (None, "no directory", "/w\n", "/w ", "/w") if other != cwd]
    assert all(lines("read_file", {}, cwd) != lines("read_file", {}, other) for other in others)
