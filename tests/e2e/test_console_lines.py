"""The guarded console: `agentctl chat` without a model. Each line is a tool call, judged and run like a model's."""

import os
import shutil
import signal
import socketserver
import subprocess
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest

from guarded import ground
from terminal import Terminal, actions, agentctl_command, environ, fifo_reader, judged

PROMPT = r"\nagentctl> "
ASK = r"type yes/no, \d+ s left: "


@pytest.fixture(scope="module")
def console():
    with ground() as place:
        subprocess.run(["git", "init", "-q", str(place.workspace)], check=True, env=place.environ())
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place)) as terminal:
            terminal.until("agentctl> ")

            def line(text: str, until: str = PROMPT) -> str:
                terminal.type(f"{text}\n")
                return terminal.until(until)

            yield SimpleNamespace(place=place, terminal=terminal, line=line)


def test_read_shows_the_file(console):
    shown = console.line("/read README.md")
    assert "ALLOW" in shown
    assert "# a project" in shown


def test_help_fits_the_screen_and_names_every_form(console):
    shown = console.line("/help")
    for word in ("/read", "/write", "/edit", "/ls", "/search", "/grep", "/http", "!", "/git", "/help", "/quit"):
        assert word in shown
    assert max(map(len, shown.splitlines())) < 80


def test_write_edit_grep_and_list(console):
    file = console.place.workspace / "note.txt"
    assert "ALLOW" in console.line("/write note.txt 'two words'")
    assert file.read_text() == "two words\n"
    assert "ALLOW" in console.line("/edit note.txt two three")
    assert file.read_text() == "three words\n"
    assert "note.txt:1:three words" in console.line("/grep 'three w'")
    assert "note.txt" in console.line("/ls")
    assert "note.txt" in console.line("/search '*.txt'")
    (action,) = judged(console.place, "write_file", path="note.txt")
    assert action["outcome"]["body"]["status"] == "ok"


def test_a_command_line_and_its_exit_code(console):
    shown = console.line("!ls -a; false")
    assert "README.md" in shown
    assert "exit code 1" in shown


def test_git(console):
    shown = console.line("/git status")
    assert "ALLOW" in shown
    assert "README.md" in shown


def test_a_forbidden_one_is_refused_with_the_advice(console):
    shown = console.line("!rm -rf ~")
    assert "BLOCK" in shown
    assert "→" in shown
    assert console.place.workspace.exists()
    (action,) = judged(console.place, "execute_command", command="rm -rf ~")
    assert action["executing"] is None


def test_http_is_asked_and_sent_once_after_yes(console):
    paths = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a page")

        def log_message(self, *_):
            pass

    with socketserver.TCPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        question = console.line(f"/http http://127.0.0.1:{server.server_address[1]}/it", ASK)
        assert "would talk to: 127.0.0.1" in question
        assert not paths
        console.terminal.answer("yes")
        assert "a page" in console.terminal.until(PROMPT)
        server.shutdown()
    assert paths == ["/it"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/frobnicate x", "there is no such tool"),
        ("hello there", "only tool calls are understood"),
        ("/read", "write `/read PATH [FIRST [COUNT]]`, what is in brackets only if you like"),
        ("/edit a", "write `/edit PATH OLD NEW`; quote"),
        ("/git status x", "write `/git status`; quote"),
        ("/read 'open", "cannot be read"),
        ("!", "such as `!ls -la`"),
        ("/", "/help"),
        ("/read README.md x", "no line number"),
        ("/git push", "such tool as `/git push`, but `/git status`"),
        ("/git", "such tool as `/git`, but `/git status`"),
    ],
)
def test_a_line_that_means_nothing_says_what_to_do(console, text, answer):
    before = len(actions(console.place))
    assert answer in console.line(text)
    assert len(actions(console.place)) == before, "nothing was proposed"


def test_an_empty_line_is_nothing(console):
    before = len(actions(console.place))
    for text in ("", "   "):
        assert not console.line(text).replace("agentctl> ", "").strip()
    assert len(actions(console.place)) == before


def test_ctrl_c_at_the_prompt_drops_the_line_and_nothing_else(console):
    console.terminal.type("!touch never.txt")
    console.terminal.until("never.txt")
    console.terminal.press("\x03", PROMPT)
    assert "# a project" in console.line("/read README.md")
    assert not (console.place.workspace / "never.txt").exists()


def test_ctrl_c_stops_a_running_line_and_leaves_no_child(console):
    with fifo_reader(console.place.workspace / "fifo") as reading:
        console.terminal.type("!cat fifo | cat\n")
        reading()
        console.terminal.type("\x03")
        assert "stopped" in console.terminal.until(PROMPT)
    (action,) = judged(console.place, "execute_command", command="cat fifo | cat")
    assert action["outcome"]["body"]["status"] == "cancelled"


def test_the_end_of_input_ends_it_and_its_shield():
    with ground() as place:
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place)) as terminal:
            terminal.until("agentctl> ")
            before = terminal.seen
            terminal.type("\x04")
            assert terminal.end() == 0
            assert not terminal.seen[len(before) :].strip(), "and says nothing more"
        assert not (place.shield_home / "run" / "shield.sock").exists()
        assert actions(place) == []
        assert [record["kind"] for record in place.records()] == ["log.open", "log.close"]


def test_when_its_shield_is_killed_it_says_so_and_runs_nothing_more():
    with ground() as place:
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place)) as terminal:
            terminal.until("agentctl> ")
            os.kill(embedded(terminal.process.pid), signal.SIGKILL)
            terminal.type("/write made.txt x\n")
            assert terminal.end() == 3
            assert "Shield gave no verdict" in terminal.seen
            assert "Traceback" not in terminal.seen
        assert not (place.workspace / "made.txt").exists()
        assert actions(place) == []


def embedded(parent: int) -> int:
    """The Shield that this agentctl has started."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        if b"--embedded" in Path(f"/proc/{child}/cmdline").read_bytes():
            return int(child)
    raise AssertionError("there is no embedded Shield")


def test_lines_from_a_pipe_are_shown_and_nobody_is_asked():
    with ground() as place:
        done = subprocess.run(
            agentctl_command("chat", "-w", str(place.workspace)),
            input='/read README.md\n!python3 -c \'import ctypes; open("made", "w")\'\n/read ~/.ssh/id_rsa\n',
            capture_output=True,
            text=True,
            env=environ(place),
            cwd="/",
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "asks nobody" in done.stdout
        assert "agentctl> /read README.md\n" in done.stdout
        assert "# a project" in done.stdout
        assert done.stdout.count("BLOCK") == 2
        assert "\x1b" not in done.stdout + done.stderr, "colours only where a person looks"
        assert not (place.workspace / "made").exists()
        (asked,) = judged(place, "execute_command")
        assert asked["decision"]["body"]["rule"] == "no_approver"


def test_what_shield_says_of_its_log_is_shown_at_the_start():
    """A Shield of ours has no terminal: what it says of a log that may have been put back would reach nobody."""

    def notes(place):
        done = subprocess.run(
            agentctl_command("chat", "-w", str(place.workspace)),
            input="/quit\n",
            capture_output=True,
            text=True,
            env=environ(place),
            cwd="/",
            timeout=60,
            check=True,
        )
        return [line for line in done.stdout.splitlines() if line.startswith("note: ")]

    with ground() as place:
        (begun,) = notes(place)
        assert begun.startswith("note: began the log `shield.local/")
        assert notes(place) == []
        shutil.rmtree(place.root / "home" / ".local" / "state" / "shield")
        (lost,) = notes(place)
        assert "knows nothing of the log" in lost
        shutil.rmtree(place.root / "home" / ".local" / "state" / "shield")
        with place.start():
            (told,) = notes(place)
        assert (
            told
            == "note: what remembers the log is in trouble or not as it was; `shield status` says more with SHIELD_TOKEN set"
        )
