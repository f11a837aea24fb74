"""Conversations on a real disk: the owner's alone, whole turns or interrupted ones, one process at a time."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.errors import HistoryError
from agentctl.events import TurnEnd
from agentctl.history.codec import dump, load
from agentctl.history.store import History
from agentctl.sessions.session import Session
from agentctl.turns.messages import (
    AssistantMessage,
    StopReason,
    SystemMessage,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from shield.types import Decision, Labels

ROOT = Path(__file__).resolve().parents[3]
ANSWER = AssistantMessage(
    parts=(
        ThinkingPart(text="hm", signature="s"),
        TextPart(text="é😀"),
        ToolCall(id="c", name="read_file", arguments_text='{"a": 1, "a": 2}'),
    ),
    stop=StopReason.TOOLS,
)
RESULT = ToolMessage(
    results=(
        ToolResult(id="c", content="x", decision=Decision.ALLOW, reason="r", labels=Labels(integrity="untrusted")),
    )
)


def opened(path, **more):
    ticks = count(1_000)
    return History(str(path / "a" / "sessions.db"), now=lambda: next(ticks))


def started(history, path, id_="s1"):
    return Session.start(history, locks=str(path / "a" / "locks"), workspace="/w", new_id=lambda: id_)


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
optional = st.none() | text
results = st.builds(
    ToolResult,
    id=text,
    content=text,
    is_error=st.booleans(),
    decision=st.none() | st.sampled_from(Decision),
    reason=optional,
    advice=optional,
    labels=st.none() | st.builds(Labels, confidentiality=text, integrity=text),
)
parts = (
    st.builds(TextPart, text=text)
    | st.builds(ThinkingPart, text=text, signature=optional, redacted=optional)
    | st.builds(ToolCall, id=text, name=text, arguments_text=text)
)
messages = st.lists(
    st.builds(SystemMessage, text=text)
    | st.builds(UserMessage, text=text)
    | st.builds(AssistantMessage, parts=st.lists(parts, max_size=3).map(tuple), stop=st.sampled_from(StopReason))
    | st.builds(ToolMessage, results=st.lists(results, max_size=3).map(tuple)),
    max_size=4,
).map(tuple)


@settings(max_examples=100, deadline=None)
@given(messages=messages)
def test_what_is_stored_is_what_is_read(messages):
    assert load(dump(messages)) == messages


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "null",
        "{}x",
        "[1]",
        '[{"role":"god","text":"x"}]',
        '[{"role":"user","text":5}]',
        '[{"role":"assistant","stop":"maybe","parts":[]}]',
        '[{"role":"assistant","stop":"end","parts":[{"kind":"x"}]}]',
        '[{"role":"tool","results":[{"id":"c"}]}]',
        dump((RESULT,)).replace('"ALLOW"', '"MAYBE"'),
    ],
)
def test_a_damaged_message_is_an_error(broken):
    with pytest.raises(HistoryError):
        load(broken)


def test_a_conversation_can_be_taken_up_again(tmp_path):
    with opened(tmp_path) as history, started(history, tmp_path) as session:
        session.begin(UserMessage(text="first line\nsecond"))
        session.finish([ANSWER, RESULT], TurnEnd.DONE)
        session.begin(UserMessage(text="more"))
        session.finish([], TurnEnd.CANCELLED)
        said = session.messages
    with opened(tmp_path) as history, Session.resume(history, "s", locks=str(tmp_path / "a" / "locks")) as session:
        assert session.messages == said
        assert said == (UserMessage(text="first line\nsecond"), ANSWER, RESULT, UserMessage(text="more"))
        (listed,) = history.sessions()
        assert (listed.title, listed.turns, listed.workspace) == ("first line", 2, "/w")
        assert [turn.end for turn in history.turns("s1")] == [TurnEnd.DONE, TurnEnd.CANCELLED]


def test_files_are_the_owners_alone(tmp_path):
    old = os.umask(0)
    try:
        with opened(tmp_path) as history, started(history, tmp_path) as session:
            session.begin(UserMessage(text="x"))
            modes = {name.name: stat.S_IMODE(name.stat().st_mode) for name in (tmp_path / "a").iterdir()}
            lock = stat.S_IMODE((tmp_path / "a" / "locks" / "s1.lock").stat().st_mode)
    finally:
        os.umask(old)
    assert modes == {"sessions.db": 0o600, "sessions.db-wal": 0o600, "sessions.db-shm": 0o600, "locks": 0o700}
    assert lock == 0o600
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path):
    opened(tmp_path).close()
    path = tmp_path / "a" / "sessions.db"
    path.chmod(0o644)
    opened(tmp_path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["symlink", "hardlink", "directory", "fifo"])
def test_anything_but_a_plain_file_is_refused(tmp_path, kind):
    other, path = tmp_path / "other", tmp_path / "a" / "sessions.db"
    path.parent.mkdir()
    other.write_text("")
    {
        "symlink": lambda: path.symlink_to(other),
        "hardlink": lambda: path.hardlink_to(other),
        "directory": path.mkdir,
        "fifo": lambda: os.mkfifo(path),
    }[kind]()
    with pytest.raises(HistoryError):
        opened(tmp_path)


@pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 40, None])
def test_a_damaged_or_foreign_database_is_refused(tmp_path, content):
    path = tmp_path / "a" / "sessions.db"
    path.parent.mkdir()
    if content is None:
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE other (x)")
        db.close()
    else:
        path.write_bytes(content)
    with pytest.raises(HistoryError, match="move it away"):
        opened(tmp_path)


def test_a_later_version_is_refused(tmp_path):
    opened(tmp_path).close()
    db = sqlite3.connect(tmp_path / "a" / "sessions.db")
    db.execute("PRAGMA user_version = 2")
    db.close()
    with pytest.raises(HistoryError, match="version"):
        opened(tmp_path)


def test_a_damaged_row_is_an_error_not_a_guess(tmp_path):
    with opened(tmp_path) as history, started(history, tmp_path) as session:
        session.begin(UserMessage(text="x"))
        session.finish([], TurnEnd.DONE)
    db = sqlite3.connect(tmp_path / "a" / "sessions.db")
    with db:
        db.execute("UPDATE turns SET end = 'fine'")
    db.close()
    with opened(tmp_path) as history, pytest.raises(HistoryError):
        history.turns("s1")


def test_a_turn_ends_once(tmp_path):
    with opened(tmp_path) as history, started(history, tmp_path) as session:
        with pytest.raises(HistoryError, match="no turn open"):
            session.finish([], TurnEnd.DONE)
        session.begin(UserMessage(text="x"))
        with pytest.raises(HistoryError, match="turn open"):
            session.begin(UserMessage(text="y"))
        session.finish([], TurnEnd.DONE)
        with pytest.raises(HistoryError, match="finished elsewhere"):
            history.finish_turn("s1", 1, (), TurnEnd.DONE)


def test_a_session_that_is_not_there_or_not_one_is_an_error(tmp_path):
    with opened(tmp_path) as history:
        for id_ in ("ab1", "ab2", "a%"):
            started(history, tmp_path, id_).close()
        for prefix in ("", "x", "ab", "%", "a_"):
            with pytest.raises(HistoryError):
                history.session(prefix)
        assert history.session("ab1").id == "ab1"
        assert history.session("a%").id == "a%"
        assert len(history.sessions(2)) == 2
        with pytest.raises(HistoryError):
            history.begin_turn("nobody", "x")


def test_a_session_is_open_once(tmp_path):
    with opened(tmp_path) as history:
        with started(history, tmp_path), pytest.raises(HistoryError, match="another agentctl"):
            Session.resume(history, "s1", locks=str(tmp_path / "a" / "locks"))
        Session.resume(history, "s1", locks=str(tmp_path / "a" / "locks")).close()


def test_a_closed_session_takes_nothing(tmp_path):
    with opened(tmp_path) as history:
        session = started(history, tmp_path)
        session.close()
        session.close()
        with pytest.raises(HistoryError, match="closed"):
            session.begin(UserMessage(text="x"))


def test_a_full_disk_loses_nothing(tmp_path):
    """A page limit stands for it: the turn is refused as a whole, and room lets it through."""
    with opened(tmp_path) as history, started(history, tmp_path) as session:
        session.begin(UserMessage(text="x"))
        (pages,) = history._db.execute("PRAGMA page_count").fetchone()
        history._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(HistoryError, match="full"):
            session.finish([UserMessage(text="y" * 100_000)], TurnEnd.DONE)
        assert history.turns("s1")[0].end is None
        history._db.execute("PRAGMA max_page_count = 100000")
        session.finish([UserMessage(text="y" * 100_000)], TurnEnd.DONE)
        assert history.turns("s1")[0].end is TurnEnd.DONE


CHILD = """
import os, signal, sys
from agentctl.events import TurnEnd
from agentctl.history.store import History
from agentctl.sessions.session import Session
from agentctl.turns.messages import AssistantMessage, StopReason, TextPart, UserMessage
history = History(sys.argv[1], now=lambda: 1)
session = Session.start(history, locks=sys.argv[2], workspace=None, new_id=lambda: "s1")
session.begin(UserMessage(text="one"))
session.finish([AssistantMessage(parts=(TextPart(text="done"),), stop=StopReason.END)], TurnEnd.DONE)
session.begin(UserMessage(text="two"))
print("stored", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_kill_the_users_message_is_there_and_the_turn_says_that_it_was_interrupted(tmp_path):
    path, locks = str(tmp_path / "a" / "sessions.db"), str(tmp_path / "a" / "locks")
    child = subprocess.run(
        [sys.executable, "-c", CHILD, path, locks], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (child.returncode, child.stdout) == (-signal.SIGKILL, "stored\n"), child.stderr
    with opened(tmp_path) as history:
        assert [(turn.user, turn.end) for turn in history.turns("s1")] == [("one", TurnEnd.DONE), ("two", None)]
        with Session.resume(history, "s1", locks=locks) as session:  # the lock died with its holder
            *_, user, told = session.messages
            assert user == UserMessage(text="two")
            assert "interrupted" in told.text
            assert not told.calls
            session.begin(UserMessage(text="three"))
            session.finish([], TurnEnd.DONE)
        assert history.turns("s1")[1].end is None  # nothing is made up afterwards
