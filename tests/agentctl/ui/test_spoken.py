"""Where a model's words go: for a person between the verdicts as they come, for a program the answer alone."""

import io

import pytest

from agentctl.events import CallJudged, Stop, TextDelta, ToolCallStart
from agentctl.turns.messages import StopReason, ToolCall
from agentctl.ui.person import Asked
from agentctl.ui.screen import Screen
from agentctl.ui.shown import Shown
from agentctl.ui.spoken import Spoken
from shield.types import Decision, Verdict

CALL = ToolCall(id="c", name="read_file", arguments_text='{"path": "a"}')
JUDGED = CallJudged(call=CALL, verdict=Verdict(id="c", evaluation="e", decision=Decision.BLOCK, reason="no"))
SAID = (
    TextDelta(text="I look "),
    TextDelta(text="at it."),
    ToolCallStart(index=0, name="read_file"),
    TextDelta(text=" Now."),
    Stop(reason=StopReason.TOOLS),
    JUDGED,
    TextDelta(text="It "),
    TextDelta(text="is fine."),
    Stop(reason=StopReason.END),
)


def played(events, *, at_once=False, kept=False):
    out, talk = io.StringIO(), io.StringIO()
    spoken = Spoken(Screen(talk), None if kept else Screen(out), at_once=at_once)
    shown = Shown(Screen(talk), asks=Asked.NOBODY, spoken=spoken)
    for event in events:
        shown.event(event)
    shown.end()
    return out.getvalue(), talk.getvalue(), spoken.answer


def test_a_program_gets_the_answer_alone():
    out, talk, answer = played(SAID)
    assert out == "It is fine.\n"
    assert talk == "I look at it. Now.\nBLOCK    read_file a · no\n"
    assert answer == "It is fine."


def test_a_person_sees_every_word_as_it_comes():
    out, talk, answer = played(SAID, at_once=True)
    assert out == "I look at it. Now.\nIt is fine.\n"
    assert talk == "BLOCK    read_file a · no\n"
    assert answer == "It is fine."


def test_what_is_kept_is_not_shown():
    assert played(SAID, kept=True, at_once=True)[::2] == ("", "It is fine.")


def test_an_answer_that_broke_off_is_talk():
    out, talk, answer = played((*SAID[:6], TextDelta(text="It i")))
    assert (out, answer) == ("", None)
    assert talk == "I look at it. Now.\nBLOCK    read_file a · no\nIt i\n"


@pytest.mark.parametrize("reason", [StopReason.END, StopReason.LENGTH, StopReason.REFUSAL, StopReason.UNKNOWN])
def test_what_ends_the_turn_is_the_answer(reason):
    assert played([TextDelta(text="x"), Stop(reason=reason)]) == ("x\n", "", "x")


def test_an_answer_that_paused_goes_on_in_the_next_message():
    events = [TextDelta(text="one "), Stop(reason=StopReason.PAUSE), TextDelta(text="two"), Stop(reason=StopReason.END)]
    assert played(events) == ("one two\n", "", "one two")


def test_an_answer_without_words_is_nothing():
    assert played([Stop(reason=StopReason.END)]) == ("", "", "")


@pytest.mark.parametrize("echoes", [False, True])
def test_after_ctrl_c_one_line_begins(echoes):
    out = io.StringIO()
    shown = Shown(Screen(out), asks=Asked.HERE, echoes=echoes)
    shown.event(TextDelta(text="half"))
    shown.interrupted()
    shown.end()
    assert out.getvalue() == "half\n"
