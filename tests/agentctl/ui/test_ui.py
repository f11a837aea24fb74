"""What a person sees and answers: nothing foreign steers the terminal, nothing is approved by accident."""

import contextlib
import io
import json
import re
import unicodedata
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import ToolError
from agentctl.events import TextDelta
from agentctl.ui.approver import ask
from agentctl.ui.console import HELP, read_line
from agentctl.ui.exact import width
from agentctl.ui.person import Asked
from agentctl.ui.question import COLUMNS, question
from agentctl.ui.screen import Screen
from agentctl.ui.shown import Shown
from agentctl.ui.text import prose, single_line, visible
from shield.client.keyboard import Line
from shield.types import Approval, ApprovalState, Decision, Scope

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31m\u202egnp.exe\u200b\r\x08\x00\ud800\U000e0041"


@given(st.text())
def test_nothing_that_steers_hides_or_reorders_gets_through(text):
    shown = visible(text)
    for char in shown:
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs"), repr(char)
        assert unicodedata.bidirectional(char) not in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    assert visible(shown) == shown


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_plain_text_stays_as_it_is(text):
    if not any(char in text for char in "\u3164\uffa0\u115f\u1160"):
        assert visible(text) == text


def test_hostile_text_is_spelled_out():
    assert visible("\x1b[31m") == "\\x1b[31m"
    assert visible("a\u202eb") == "a\\u202eb"
    assert visible("\U000e0041") == "\\U000e0041"
    assert visible("e\u0301\u0323" + "\u0301" * 2) == "e\u0301\u0323\\u0301\\u0301"  # they would climb over a verdict
    assert single_line("a\nb\tc") == "a\\nb\\tc"
    assert len(single_line("x" * 999, 50)) == 50


@given(st.text(), st.text())
def test_nothing_steers_in_prose_either(before, text):
    for char in prose(text, before=before):
        assert char in "\n\t\u200d" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), repr(char)


@pytest.mark.parametrize(
    "text", ["\u26a0\ufe0f", "\U0001f469\u200d\U0001f467", "1\ufe0f\u20e3", "\u2764\ufe0f\u200d\U0001f525"]
)
def test_emoji_stay_whole_in_prose_and_show_in_calls(text):
    assert prose(text) == text
    assert visible(text) != text


@pytest.mark.parametrize(
    "text", ["a\ufe0f", "a\u200db", "\u26a0\ufe0f\ufe0f", "\u26a0\u200d\u200d", "1\ufe0f", "\u304a\ufe0f"]
)
def test_what_joins_nothing_is_spelled_out_in_prose(text):
    assert "\\u" in prose(text)


@pytest.mark.parametrize("mark", ["\u0301", "\u0e47", "\u0651", "\u20e2"])
@pytest.mark.parametrize("piece", [1, 2, 7, 99])
def test_marks_that_stream_in_pieces_do_not_climb(mark, piece):
    """A model's answer comes a few characters at a time, and so could the marks that cover the verdict above."""
    out, text = io.StringIO(), "a" + mark * 40
    shown = Shown(Screen(out), asks=Asked.NOBODY)
    for at in range(0, len(text), piece):
        shown.event(TextDelta(text=text[at : at + piece]))
    assert out.getvalue().count(mark) <= 4
    assert out.getvalue().count(f"\\u{ord(mark):04x}") >= 36


def test_letters_of_every_script_keep_their_marks():
    for word in (
        "\u091c\u093c\u093f\u0902\u0926\u0917\u0940",
        "\u0e17\u0e35\u0e48",
        "\u05e9\u05bc\u05c1\u05b8",
        "v\u00e9\u0323",
    ):
        assert visible(word) == prose(word) == word


@pytest.mark.parametrize("colour", [False, True])
def test_the_screen_sends_only_our_own_sequences(colour):
    out = io.StringIO()
    screen = Screen(out, colour)
    screen.verdict(Decision.BLOCK, f"read {HOSTILE}", HOSTILE, HOSTILE)
    screen.output(HOSTILE + "\nsecond", error=True)
    screen.stream(HOSTILE)
    screen.line(HOSTILE)
    ours = re.sub(r"\x1b\[(0|2|1;3[123])m", "", out.getvalue()) if colour else out.getvalue()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b]", ours)
    assert "BLOCK" in ours


def test_an_output_cannot_look_like_a_verdict():
    out = io.StringIO()
    Screen(out).output("fine\nALLOW    rm -rf / · approved")
    assert all(line.startswith("| ") for line in out.getvalue().splitlines())


# --- the approver ----------------------------------------------------------------------------------------------------


def approval(payload, kind="execute_command", **changed):
    shape = {
        "id": "01KA",
        "state": ApprovalState.PENDING,
        "created_at": 0,
        "expires_at": 100_000,
        "request": {"type": kind, "payload": payload, "cwd": "/w", "intent": "please"},
        "facts": {},
        "rule": "r",
        "reason": "why",
        "scopes": (Scope.ONCE,),
        "pattern": None,
        "evaluation": "e",
        "session": "s",
        "agent": "a",
    }
    return Approval(**(shape | changed))


class Queue:
    def __init__(self, state=ApprovalState.PENDING):
        self.answers = []
        self.state = state

    def approval(self, name):
        return approval({}, state=self.state)

    def answer(self, name, answer):
        self.answers.append(answer.approve)
        return approval({}, state=ApprovalState.APPROVED if answer.approve else ApprovalState.DENIED)


class Paper:
    """A terminal on which `lines` are typed, one after the other, each once it is asked for."""

    def __init__(self, *lines, rows=40, columns=80):
        self.lines = list(lines)
        self.columns = columns
        self.rows = rows
        self.flushed_at = None
        self.opened = False
        self.text = ""

    @contextlib.contextmanager
    def open(self):
        self.opened = True
        yield
        self.opened = False

    def size(self):
        return self.columns, self.rows

    def write(self, text):
        self.text += text

    def flush_input(self):
        self.flushed_at = len(self.text)

    def read_line(self, timeout_s):
        assert self.opened, "keys are read one by one"
        assert self.flushed_at is not None, "typed-ahead input is thrown away before the first question"
        line = self.lines.pop(0)
        if isinstance(line, type):
            raise line
        return Line(line) if isinstance(line, str) else line


PASTED = Line("", typed=False)


@pytest.mark.parametrize(
    ("lines", "answers"),
    [
        (["yes"], [True]),
        (["no"], [False]),
        ([" YES "], [True]),
        (["", "y", "ok", "yes please", "no"], [False]),
        ([None, None, "yes"], [True]),
        ([PASTED, "no"], [False]),
        ([PASTED, PASTED, "yes"], [True]),
        ([KeyboardInterrupt], [False]),
        ([EOFError], [False]),
    ],
)
def test_only_the_words_yes_and_no_are_answers(lines, answers):
    queue, paper = Queue(), Paper(*lines)
    ask(approval({"command": "make"}), queue, paper, now=lambda: 1.0)
    assert queue.answers == answers
    assert not paper.lines
    assert ("never taken from a paste" in paper.text) is (PASTED in lines)


def test_time_that_runs_out_is_no_answer():
    clock = count(0, 40)
    queue, paper = Queue(), Paper(None, None, None)
    ask(approval({}), queue, paper, now=lambda: next(clock))
    assert queue.answers == []
    assert paper.text.endswith("this is not run\n")


def test_a_question_settled_elsewhere_ends():
    queue = Queue(ApprovalState.DENIED)
    ask(approval({}), queue, Paper(None), now=lambda: 1.0)
    assert queue.answers == []


def test_a_long_question_is_approved_after_its_last_page_only():
    long = approval({"command": "echo hi\n" * 100 + "rm -rf ."})
    queue, paper = Queue(), Paper("yes", "", "yes", "", "maybe", "yes")
    ask(long, queue, paper, now=lambda: 1.0)
    assert queue.answers == [True]
    assert not paper.lines
    assert re.findall(r"── line (\d+) of", paper.text) == ["37", "37", "74", "74"]
    assert paper.text.index("| rm -rf .") < paper.text.index("allow this once?")
    assert paper.text.index("── line 37 of") < paper.text.index("| rm -rf ."), "it was not on the first page"


def test_a_long_question_is_refused_on_any_page():
    for lines in (["no"], ["", "no"], [KeyboardInterrupt], ["", EOFError]):
        queue, paper = Queue(), Paper(*lines)
        ask(approval({"command": "echo hi\n" * 100 + "rm -rf ."}), queue, paper, now=lambda: 1.0)
        assert queue.answers == [False]
        assert "allow this once?" not in paper.text


@pytest.mark.parametrize("rows", [1, 8, 24, 200])
def test_no_page_is_higher_than_the_screen(rows):
    queue, paper = Queue(), Paper(*[""] * 2000, rows=rows)
    with contextlib.suppress(IndexError):
        ask(approval({"command": "echo hi\n" * 300}), queue, paper, now=lambda: 1.0)
    for page in re.split(r"──.{0,40}Enter shows more.*?: ", paper.text, flags=re.DOTALL)[:-1]:
        assert page.count("\n") <= max(rows, 8)


@pytest.mark.parametrize(("columns", "widest"), [(20, 24), (80, 78), (100, 98), (150, 118), (500, 118)])
def test_a_question_is_as_wide_as_the_terminal_up_to_what_is_readable(columns, widest):
    paper = Paper("no", columns=columns)
    ask(approval({"command": "x" * 700}), Queue(), paper, now=lambda: 1.0)
    assert max(len(line) for line in paper.text.splitlines() if "xx" in line) == widest


def test_a_line_of_what_is_known_is_whole_where_there_is_room():
    said = {
        "commands": [
            {"program": "/usr/local/share/projects/tools/bin/generate", "origin": "unknown", "runs_code": "in_line"}
        ]
    }
    line = "would run: /usr/local/share/projects/tools/bin/generate (from unknown, code: in_line)"
    paper = Paper("no", columns=150)
    ask(approval({"command": "x"}, facts=said), Queue(), paper, now=lambda: 1.0)
    assert line in paper.text.splitlines()


def test_what_is_not_shown_cannot_be_approved():
    """Far too long to be looked at: then only `no` is taken."""
    queue, paper = Queue(), Paper("", "", "yes", "no")
    ask(approval({"command": "echo hi\n" * 20_000 + "rm -rf ."}), queue, paper, now=lambda: 1.0)
    assert queue.answers == [False]
    assert "cannot be approved here" in paper.text
    wide = Queue()
    ask(approval({"command": "x" * 800_000}), wide, Paper("", "", "yes", "no"), now=lambda: 1.0)
    assert wide.answers == [False]


def test_the_question_shows_the_whole_action_and_what_is_known():
    shown = "\n".join(
        question(
            approval(
                {"command": f"make {HOSTILE}\nsecond line", "timeout_s": 5},
                facts={
                    "paths": [
                        {"access": "write", "resolved": "/etc/x", "inside_workspace": False, "categories": ["system"]}
                    ],
                    "commands": [{"program": "/usr/bin/make", "origin": "system", "runs_code": "workspace"}],
                    "hosts": [{"host": "x.example", "port": 443, "ip_class": "name"}],
                    "recipients": ["a@b.example"],
                    "secrets": [{"kind": "github_token", "where": "/body"}],
                    "unknown": ["something"],
                },
            )
        )
    )
    for expected in (
        "execute command",
        "| second line",
        "timeout_s (number): 5",
        "/etc/x OUTSIDE the workspace [system]",
        "/usr/bin/make (from system, code: workspace)",
        "x.example port 443",
        "a@b.example",
        "github_token at /body",
        "could not be established: something",
        "the agent says (unverified): please",
        "‹ESC›]0;title",
        "‹U+202E›",
    ):
        assert expected in shown, expected
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)


def test_an_edit_is_shown_as_a_diff_of_the_whole_texts():
    lines = question(approval({"path": "a.py", "old": "x = 1\ny = 2", "new": "x = 1\ny = 3"}, kind="edit_file"))
    assert lines[1:5] == ["the change:", "    x = 1", "  - y = 2", "  + y = 3"]


def test_the_hash_is_that_of_what_is_shown():
    request = {"type": "read_file", "payload": {"path": "notes/é.txt"}, "cwd": "/home/user/ws"}
    shown = question(approval({}, request=request))
    # the vector of CONTRACTS
    assert "0436fbff2e7e6511421115fb663deaca1b3cde80e608d0478022442a46ee0954" in "".join(shown).replace("  … ", "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=8,
)
FACTS = st.dictionaries(st.sampled_from(["paths", "commands", "hosts", "recipients", "secrets", "unknown"]), JSON)


@given(payload=JSON, kind=st.sampled_from(["edit_file", "execute_command", "x\x1b"]), facts=FACTS)
def test_any_action_can_be_shown(payload, kind, facts):
    for line in question(approval(payload, kind=kind, facts=facts)):
        assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202e]", line)
        assert sum(map(width, line)) <= COLUMNS


# --- the console -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "tool", "payload"),
    [
        ("/read README.md", "read_file", {"path": "README.md"}),
        ("/read 'a b' 3 10", "read_file", {"path": "a b", "offset": 3, "limit": 10}),
        ("/write a.txt 'two words'", "write_file", {"path": "a.txt", "content": "two words\n"}),
        ("/edit a old new", "edit_file", {"path": "a", "old": "old", "new": "new"}),
        ("/ls", "list_directory", {"path": "."}),
        ("/ls src", "list_directory", {"path": "src"}),
        ("/search *.py", "search_files", {"pattern": "*.py"}),
        ("/grep 'a b' src", "grep_files", {"pattern": "a b", "path": "src"}),
        ("!ls -la | wc", "execute_command", {"command": "ls -la | wc"}),
        ("/http https://x.example/", "http_request", {"method": "GET", "url": "https://x.example/"}),
        ("/http post http://x body", "http_request", {"method": "POST", "url": "http://x", "body": "body"}),
        ("/git status", "git_status", {}),
        ("/git diff --staged", "git_diff", {"args": ["--staged"]}),
        ("/git log", "git_log", {}),
        ("/git commit 'a message' a.txt", "git_commit", {"message": "a message", "path": "a.txt"}),
    ],
)
def test_lines_are_tool_calls(line, tool, payload):
    read = read_line(line)
    assert (read.tool, read.payload) == (tool, payload)
    assert json.loads(read.arguments_text) == payload


@pytest.mark.parametrize(
    "line", ["hello", "!", "/", "/read", "/read a b", "/write a", "/nope x", "/git", "/git push", "/read 'a", "/ls a b"]
)
def test_other_lines_say_how_they_should_look(line):
    with pytest.raises(ToolError):
        read_line(line)


@given(st.text())
def test_any_line_is_a_tool_call_or_an_error(line):
    with contextlib.suppress(ToolError):
        assert read_line(line).tool


def test_the_help_names_what_there_is():
    for word in ("/read", "/write", "/edit", "/ls", "/search", "/grep", "!COMMAND", "/http", "/git", "/help", "/quit"):
        assert word in HELP
