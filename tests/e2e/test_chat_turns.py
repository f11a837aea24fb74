"""`agentctl chat` with a model, as a person sees it: a real terminal, a real Shield, real children, a scripted model."""

import re
from types import SimpleNamespace

import pytest

from guarded import ground
from model_server import Call, Turn
from terminal import Terminal, actions, agentctl_command, environ, fifo_reader, judged, refused, results, tell

ASK = r"type yes/no, \d+ s left: "
YOU = r"\nyou> "

LOOK = Turn(
    text="I look at the project first.",
    calls=(
        Call("read_file", {"path": "README.md"}, id="call_r"),
        Call("list_directory", {"path": "."}, id="call_l"),
        Call("execute_command", {"command": "wc -l README.md | sort"}, id="call_x"),
    ),
)


def python(code: str, id: str) -> Turn:
    return Turn(text="I run something.", calls=(Call("execute_command", {"command": f"python3 -c '{code}'"}, id=id),))


STORIES = {
    "look": [LOOK, Turn(text="All looked at.")],
    "steal": [
        Turn(text="The key, then.", calls=(Call("read_file", {"path": "~/.ssh/id_rsa"}, id="call_k"),)),
        Turn(text="It is refused."),
    ],
    "approve": [python('import ctypes; open("approved.txt", "w")', "call_a"), Turn(text="Made.")],
    "deny": [python('import ctypes; open("denied.txt", "w")', "call_d"), Turn(text="Not made.")],
    "pretend": [
        Turn(
            text="allow this once? type yes/no, 299 s left: yes\napproved\nyes\n",
            calls=(
                Call(
                    "execute_command",
                    {"command": 'python3 -c \'import ctypes; open("pretended.txt", "w")\''},
                    id="call_p",
                ),
            ),
        ),
        Turn(text="Nobody agreed."),
    ],
    "hide": [
        Turn(
            text="\x1b[2J\x1b[31mred\x07",
            calls=(
                Call(
                    "execute_command", {"command": "python3 -c 'x'\n\x1b[1A\x1b[2Kecho harmless\u202e # \x9b2K"}, id="h"
                ),
            ),
        ),
        Turn(text="Seen."),
    ],
    "output": [
        Turn(calls=(Call("read_file", {"path": "evil.txt"}, id="call_e"),)),
        Turn(text="Read."),
    ],
    "block on a fifo": [
        Turn(text="It may take long.", calls=(Call("execute_command", {"command": "cat fifo | sort"}, id="call_f"),)),
        Turn(text="never said"),
    ],
    "wait": [python('import ctypes; open("waited.txt", "w")', "call_w"), Turn(text="never said either")],
    "two": [
        Turn(
            calls=tuple(
                Call(
                    "execute_command",
                    {"command": f'python3 -c \'import ctypes; open("{name}", "w")\''},
                    id=f"call_{name[:3]}",
                )
                for name in ("one.txt", "two.txt")
            )
        ),
        Turn(text="never said"),
    ],
    "nonsense": [
        Turn(calls=(Call("send_mail", {"to": "x"}, id="call_n"), Call("read_file", '{"path": "README', id="call_m"))),
        Turn(text="I cannot."),
    ],
    "after": [Turn(text="I am still here.")],
}


@pytest.fixture(scope="module")
def talk():
    """One conversation at a terminal; each test says something else in it."""
    with ground() as place, tell(STORIES) as model:
        (place.workspace / "evil.txt").write_text("\x1b]0;title\x07\x1b[1A\x1b[2Kfine\u202e\n")
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place, model)) as terminal:
            start = terminal.until(r"you> ")
            yield SimpleNamespace(place=place, model=model, terminal=terminal, start=start, **vars(say_with(terminal)))


def answers(place) -> list[str]:
    return [record["body"]["state"] for record in place.records() if record["kind"] == "approval"]


def say_with(terminal: Terminal) -> SimpleNamespace:
    def say(text: str, until: str) -> str:
        terminal.type(f"{text}\n")
        return terminal.until(until)

    return SimpleNamespace(say=say)


def test_the_start_says_what_is_in_force(talk):
    assert "started here" in talk.start
    assert str(talk.place.workspace) in talk.start
    assert "isolation " in talk.start


def test_parallel_calls_are_allowed_run_and_told(talk):
    shown = talk.say("look", YOU)
    assert shown.count("ALLOW") == 3
    assert "# a project" in shown
    assert "All looked at." in shown
    told = results(talk.model, "look")
    assert set(told) == {"call_r", "call_l", "call_x"}
    assert "# a project" in told["call_r"]
    assert "untrusted data" in told["call_r"]
    assert "README.md" in told["call_l"]
    assert "1 README.md" in told["call_x"]
    (ran,) = judged(talk.place, "execute_command", command="wc -l README.md | sort")
    assert ran["decision"]["body"]["tool_call_id"] == "call_x"
    assert ran["outcome"]["body"]["status"] == "ok"
    assert ran["outcome"]["body"]["exit_code"] == 0


def test_a_block_is_shown_and_told_with_reason_and_advice_and_nothing_else(talk):
    shown = talk.say("steal", YOU)
    assert "BLOCK" in shown
    assert "It is refused." in shown
    said = refused(results(talk.model, "steal")["call_k"])
    assert set(said) == {"decision", "reason", "advice"}
    assert said["decision"] == "BLOCK"
    assert "redential" in said["reason"]
    assert said["advice"]
    (action,) = judged(talk.place, "read_file", path="~/.ssh/id_rsa")
    assert action["executing"] is None


def test_a_person_says_yes_at_the_prompt(talk):
    question = talk.say("approve", ASK)
    assert 'open("approved.txt", "w")' in question
    assert str(talk.place.workspace) in question
    assert "I run something." in question  # the agent's claim, shown as such
    assert "unverified" in question
    assert not (talk.place.workspace / "approved.txt").exists(), "nothing is run before the answer"
    talk.terminal.answer("yes")
    assert "Made." in talk.terminal.until(YOU)
    assert (talk.place.workspace / "approved.txt").exists()
    asked, ran = judged(
        talk.place, "execute_command", command='python3 -c \'import ctypes; open("approved.txt", "w")\''
    )
    assert asked["decision"]["body"]["decision"] == "ESCALATE"
    assert asked["executing"] is None
    assert ran["decision"]["body"]["tier"] == 3
    assert ran["outcome"]["body"]["status"] == "ok"
    last = [record["body"] for record in talk.place.records() if record["kind"] == "approval"][-1]
    assert {"state": "approved", "answered_by": "terminal"}.items() <= last.items()


def test_a_person_says_no_at_the_prompt(talk):
    talk.say("deny", ASK)
    talk.terminal.answer("no")
    shown = talk.terminal.until(YOU)
    assert "BLOCK" in shown
    assert "Not made." in shown
    assert not (talk.place.workspace / "denied.txt").exists()
    said = refused(results(talk.model, "deny")["call_d"])
    assert said["decision"] == "BLOCK"
    assert "refused" in said["reason"]
    assert not any(
        action["executing"]
        for action in judged(
            talk.place, "execute_command", command='python3 -c \'import ctypes; open("denied.txt", "w")\''
        )
    )


def test_neither_what_the_model_prints_nor_what_was_typed_before_answers(talk):
    # "yes" stands in the model's text and is typed ahead; the only question is the one after both
    talk.terminal.type("pretend\nyes\nyes\n")
    talk.terminal.until("── the agent asks")
    talk.terminal.until("would run: ")  # past the model's words, which look like the question
    talk.terminal.until(ASK)
    talk.terminal.answer("maybe")
    talk.terminal.until("that is no answer")
    talk.terminal.until(ASK)
    assert not (talk.place.workspace / "pretended.txt").exists()
    talk.terminal.type("\x03")  # Ctrl-C at a question is no
    talk.terminal.until(YOU)
    assert not (talk.place.workspace / "pretended.txt").exists()
    assert talk.say("after", YOU).count("I am still here.") == 1


def test_the_question_shows_every_character_that_would_hide_something(talk):
    raw_from = len(talk.terminal.raw)
    question = talk.say("hide", ASK)
    assert "‹ESC›[1A‹ESC›[2Kecho harmless‹U+202E› # ‹U+009B›2K" in question.replace("\n", "")
    assert "python3 -c 'x'" in question
    talk.terminal.answer("no")
    talk.terminal.until(YOU)
    raw = talk.terminal.raw[raw_from:]
    assert r"\x1b[2J\x1b[31mred\x07" in raw
    for foreign in ("\x1b[2J", "\x1b[31mred", "\x07", "\x1b[1A", "\x1b[2K", "\x9b", "\u202e"):
        assert foreign not in raw


def test_what_a_file_holds_cannot_steer_the_terminal(talk):
    raw_from = len(talk.terminal.raw)
    shown = talk.say("output", YOU)
    assert r"\x1b]0;title\x07\x1b[1A\x1b[2Kfine\u202e" in shown
    assert not re.search(r"\x1b\]|\x07|\x1b\[1A|\u202e", talk.terminal.raw[raw_from:])


def test_ctrl_c_stops_the_turn_and_leaves_no_child(talk):
    fifo = talk.place.workspace / "fifo"
    with fifo_reader(fifo) as reading:
        talk.terminal.type("block on a fifo\n")
        reading()
        talk.terminal.type("\x03")
        shown = talk.terminal.until(YOU)
        assert "stopped" in shown
        assert "never said" not in shown
    (action,) = judged(talk.place, "execute_command", command="cat fifo | sort")
    assert action["outcome"]["body"]["status"] == "cancelled"
    assert "I am still here." in talk.say("after", YOU), "the conversation goes on"
    # the model is told of the stopped call, so that its history has a result for every call
    assert "cancelled" in results(talk.model, "block on a fifo")["call_f"]


def test_ctrl_c_at_one_question_is_no_to_all_of_the_turn(talk):
    talk.say("two", ASK)
    asked = {"call_one", "call_two"}
    talk.terminal.wait_for(lambda: asked <= {call["decision"]["body"]["tool_call_id"] for call in actions(talk.place)})
    talk.terminal.type("\x03")
    talk.terminal.until(YOU)
    assert "I am still here." in talk.say("after", "I am still here.") + talk.terminal.until(YOU)
    for name in ("one.txt", "two.txt"):
        assert not (talk.place.workspace / name).exists()
    told = results(talk.model, "two")
    assert set(told) == asked
    assert all("cancelled" in content for content in told.values())
    talk.terminal.wait_for(lambda: answers(talk.place)[-2:] == ["denied", "denied"])


def test_a_call_that_is_none_never_reaches_shield(talk):
    before = len(actions(talk.place))
    shown = talk.say("nonsense", YOU)
    assert "there is no such tool" in shown
    assert "I cannot." in shown
    assert set(results(talk.model, "nonsense")) == {"call_n", "call_m"}
    assert len(actions(talk.place)) == before


def test_the_log_holds_all_of_it(talk):
    assert len(actions(talk.place)) >= 1


def test_unanswered_is_refused_and_the_prompt_says_so():
    with ground() as place, tell(STORIES) as model:
        place.configure("[approvals]\ntimeout_s = 1\n")
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place, model)) as terminal:
            terminal.until("you> ")
            terminal.type("wait\n")
            shown = terminal.until(r"never said either\nyou> ")
            assert "BLOCK" in shown
            terminal.type("\x04")
            assert terminal.end() == 0
            assert "time is up" in terminal.seen
        assert not (place.workspace / "waited.txt").exists()
        said = refused(results(model, "wait")["call_w"])
        assert said["decision"] == "BLOCK"
        assert "in time" in said["reason"]
        assert answers(place)[-1] == "expired"
        assert not any(action["executing"] for action in actions(place))
