"""The approver as it runs: a real terminal, real keys, real memory. Who could answer in a person's place, and cannot."""

import ctypes
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentctl.ui.private import keep_private
from guarded import ground
from shield.client.keyboard import Keyboard
from terminal import ROOT, Terminal, agentctl_command, environ

ASK = r"type yes/no, \d+ s left: "
needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root of Linux looks into every process"
)
# What the approver does with a terminal, without a Shield: it says what it takes for a line.
_READER = """
import os, sys
from shield.client.keyboard import Keyboard
tty = os.open("/dev/tty", os.O_RDWR)
for number in range(int(sys.argv[2])):
    with Keyboard(tty, term=sys.argv[1]) as keyboard:
        try:
            os.write(tty, b"ready> ")
            print("got", keyboard.line(30), flush=True)
        except (EOFError, KeyboardInterrupt) as key:
            print("key", type(key).__name__, flush=True)
print("over", flush=True)
"""


def reader(term: str = "dumb", times: int = 1) -> Terminal:
    env = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "TERM": term}
    return Terminal([sys.executable, "-P", "-c", _READER, term, str(times)], env)


@contextmanager
def asked(place, **more):
    """A chat at its first question."""
    with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place, **more)) as terminal:
        terminal.until("agentctl> ")
        terminal.type("!python3 -c 'print(6*7)' && curl https://x.example/\n")
        terminal.until(ASK)
        yield terminal


# --- keys --------------------------------------------------------------------------------------------------------------


def test_a_word_typed_key_by_key_is_a_line():
    with reader() as terminal:
        terminal.until("ready> ")
        terminal.answer("yes")
        terminal.until(r"got Line\(text='yes', typed=True\)")
        terminal.end()


@pytest.mark.parametrize(
    "piece",
    [
        "yes\n",
        "yes",
        "es\n",
        "s\n",
        "\x1b[200~yes\x1b[201~",
        "\x1b[200~yes\n\x1b[201~\n",
        "\x1b[A",
        "é",
        "no\nyes\n",
        "y" * 5000 + "\n",
    ],
)
def test_what_comes_in_one_piece_is_no_line(piece):
    with reader(times=2) as terminal:
        terminal.until("ready> ")
        terminal.type(piece)
        terminal.until(r"got Line\(text='', typed=False\)")
        # and what a person types after it is whole
        terminal.until("ready> ")
        terminal.answer("no")
        terminal.until(r"got Line\(text='no', typed=True\)")
        terminal.end()


def test_a_piece_in_the_middle_spoils_the_word():
    with reader() as terminal:
        terminal.until("ready> ")
        terminal.type("y")
        terminal.until("y")
        terminal.type("es\n")
        terminal.until(r"got Line\(text='', typed=False\)")


def test_keys_that_are_no_letters_spoil_the_word():
    """They are not dropped: `y`, a control character, `es` is not yes."""
    with reader() as terminal:
        terminal.until("ready> ")
        for key in "yes":
            terminal.answer_key(key)
        terminal.type("\x01")
        time.sleep(0.05)
        terminal.type("\n")
        terminal.until(r"got Line\(text='', typed=False\)")


def test_keys_edit_the_line():
    with reader(times=2) as terminal:
        terminal.until("ready> ")
        for key in "yess":
            terminal.answer_key(key)
        terminal.type("\x7f")
        terminal.wait_for(lambda: terminal.raw.endswith("\b \b"))
        terminal.type("\n")
        terminal.until(r"got Line\(text='yes', typed=True\)")
        terminal.until("ready> ")
        for key in "abc":
            terminal.answer_key(key)
        terminal.type("\x15")
        terminal.wait_for(lambda: terminal.raw.endswith("\b \b" * 3))
        terminal.answer("no")
        terminal.until(r"got Line\(text='no', typed=True\)")


def test_what_was_typed_before_is_thrown_away():
    with reader() as terminal:
        terminal.type("yes\n")
        terminal.until("ready> ")
        terminal.answer("no")
        terminal.until("over")
        assert terminal.seen.count("got") == 1
        assert "text='no'" in terminal.seen


@pytest.mark.parametrize(("key", "name"), [("\x03", "KeyboardInterrupt"), ("\x04", "EOFError")])
def test_the_keys_that_end(key, name):
    with reader() as terminal:
        terminal.until("ready> ")
        terminal.press(key, f"key {name}")  # again where it came before the line was read: that is thrown away


def test_stopping_and_quitting_keys_do_nothing():
    """A terminal left in this mode would show nothing that is typed."""
    with reader() as terminal:
        terminal.until("ready> ")
        for key in "\x1a\x1c":
            terminal.type(key)
            time.sleep(0.05)
        terminal.type("\n")
        terminal.until(r"got Line\(text='', typed=False\)")
        assert terminal.end() == 0


@pytest.mark.parametrize(("term", "asks"), [("xterm-256color", True), ("dumb", False)])
def test_terminals_that_can_are_asked_to_bracket_pastes(term, asks):
    with reader(term) as terminal:
        terminal.until("ready> ")
        terminal.answer("no")
        terminal.end()
        assert ("\x1b[?2004h" in terminal.raw) is asks
        assert ("\x1b[?2004l" in terminal.raw) is asks
        assert terminal.raw.rfind("\x1b[?2004l") >= terminal.raw.rfind("\x1b[?2004h")


def test_the_terminal_gets_its_mode_back():
    for key in ("\n", "\x03", "\x04"):
        with reader() as terminal:
            before = termios.tcgetattr(terminal.master)
            terminal.until("ready> ")
            # the prompt comes first; what is typed before the line is read is thrown away
            terminal.wait_for(lambda: not termios.tcgetattr(terminal.master)[3] & termios.ICANON)
            terminal.type(key)
            terminal.until("over")
            assert termios.tcgetattr(terminal.master) == before


def test_a_signal_that_comes_just_before_a_wait_is_not_kept_waiting(monkeypatch):
    asked = []
    monkeypatch.setattr(select, "select", lambda *given: asked.append(given[3]) or ([], [], []))
    at = iter((0.0, 0.0, 30.0))
    assert Keyboard(0, term="dumb", clock=lambda: next(at)).line(30) is None
    assert max(asked) <= 0.25
    assert sum(asked) == pytest.approx(30)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_cannot_paste_an_answer():
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        tmux = ["tmux", "-S", f"{folder}/t", "-f", "/dev/null"]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm", "LANG": "C.UTF-8", "HOME": folder}
        script = Path(folder, "reader.py")
        script.write_text(_READER)

        def run(*words: str) -> str:
            done = subprocess.run([*tmux, *words], env=env, capture_output=True, text=True, timeout=20, check=True)
            return done.stdout

        def until(text: str, times: int = 1) -> None:
            limit = time.monotonic() + 20
            while (screen := run("capture-pane", "-p", "-t", "x")).count(text) < times:
                assert time.monotonic() < limit, screen
                time.sleep(0.05)

        run("new-session", "-d", "-s", "x", "-x", "100", "-y", "40", f"{sys.executable} -P {script} screen 3; sleep 20")
        try:
            until("ready>")
            run("set-buffer", "yes\n")
            run("paste-buffer", "-p", "-t", "x")
            until("typed=False")
            run("paste-buffer", "-t", "x")
            until("typed=False", 2)
            until("ready>", 3)
            for key in ("n", "o"):
                run("send-keys", "-t", "x", key)
                until(f"ready> {'n' if key == 'n' else 'no'}")
            run("send-keys", "-t", "x", "Enter")
            until("Line(text='no', typed=True)")
        finally:
            run("kill-server")


# --- the whole session ---------------------------------------------------------------------------------------------------


def child_of(pid: int, module: str) -> int | None:
    """The descendant of `pid` that runs the module."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    for number in parents:
        above = number
        while above in parents and above != pid:
            above = parents[above]
        try:
            words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if above == pid and module.encode() in words:
            return number
    return None


def memory(pid: int) -> bytes:
    """All that a process can read of its own memory."""
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            span, access = line.split()[:2]
            if access.startswith("r") and "[v" not in line:
                start, end = (int(part, 16) for part in span.split("-"))
                mem.seek(start)
                try:
                    found.append(mem.read(end - start))
                except OSError:
                    continue
    return b"".join(found)


@needs_root
def test_the_loop_never_holds_the_approvers_token():
    """The whole memory of the process that talks with the model, after a question that was approved."""
    with ground() as place, asked(place) as terminal:
        terminal.answer("yes")
        terminal.until("agentctl> ")
        loop = terminal.process.pid
        approver = child_of(loop, "agentctl.ui.approver")
        assert approver is not None
        tokens = set(re.findall(rb"shield_approver_[0-9a-f]{64}", memory(approver)))
        assert tokens, "the approver does hold it, so that looking for it means something"
        seen = memory(loop)
        for token in tokens:
            assert token not in seen
            assert bytes.fromhex(token[-64:].decode()) not in seen
        agent = (place.shield_home / "tokens" / "agent.token").read_bytes().strip()
        assert agent in seen, "what it does hold is found"
        # neither does anything else that it could be read from
        for number in (loop, approver):
            for name in ("environ", "cmdline"):
                assert b"shield_approver" not in Path(f"/proc/{number}/{name}").read_bytes()
        names = {
            item.partition(b"=")[0] for item in Path(f"/proc/{approver}/environ").read_bytes().split(b"\0") if item
        }
        allowed = {b"HOME", b"LANG", b"PATH", b"TERM", b"USER", b"LOGNAME", b"SHIELD_HOME", b"PYTHONPATH", b"LC_CTYPE"}
        assert names <= allowed
        assert b"Max core file size        0 " in Path(f"/proc/{approver}/limits").read_bytes()
        terminal.type("/quit\n")
        assert terminal.end() == 0


def test_a_pasted_yes_is_refused_and_the_chat_goes_on():
    with ground() as place, asked(place) as terminal:
        terminal.type("yes\n")
        terminal.until("never taken from a paste")
        terminal.until(ASK)
        terminal.type("\x1b[200~yes\n\x1b[201~")
        terminal.until("never taken from a paste")
        terminal.until(ASK)
        terminal.answer("no")
        assert "BLOCK" in terminal.until("agentctl> ")
        terminal.type("/read README.md\n")
        terminal.until("# a project")


def test_the_approver_survives_ctrl_c_and_asks_again():
    with ground() as place, asked(place) as terminal:
        terminal.type("\x03")
        terminal.until("agentctl> ")
        terminal.type("!python3 -c 'print(1)' && curl https://x.example/\n")
        terminal.until(ASK)
        assert termios.tcgetattr(terminal.master)[3] & termios.ISIG
        terminal.answer("no")
        terminal.until("agentctl> ")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.skipif(sys.platform != "linux", reason="signals of another process are seen in /proc")
def test_ctrl_c_does_not_reach_an_approver_that_starts():
    """From its first moment on: while it loads it could only die of it, and say so on the person's terminal."""
    with ground() as place, Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place)) as terminal:
        while (approver := child_of(terminal.process.pid, "agentctl.ui.approver")) is None:
            assert terminal.process.poll() is None
        masks = re.findall(r"^Sig(?:Blk|Ign):\t(\w+)$", Path(f"/proc/{approver}/status").read_text(), re.MULTILINE)
        assert any(int(mask, 16) & 1 << signal.SIGINT - 1 for mask in masks)
        terminal.until("agentctl> ")


def test_an_approver_that_is_ended_leaves_the_terminal_as_it_was():
    with ground() as place, asked(place) as terminal:
        approver = child_of(terminal.process.pid, "agentctl.ui.approver")
        assert approver is not None
        assert not termios.tcgetattr(terminal.master)[3] & termios.ICANON
        os.kill(approver, signal.SIGTERM)
        terminal.wait_for(lambda: bool(termios.tcgetattr(terminal.master)[3] & termios.ICANON))
        assert termios.tcgetattr(terminal.master)[3] & termios.ECHO


def test_a_question_longer_than_the_screen_is_turned_page_by_page():
    with ground() as place:
        (place.workspace / "evil.sh").write_text("")
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place)) as terminal:
            terminal.until("agentctl> ")
            text = "x" * 78 * 60
            terminal.type(f"/http post https://x.example/ {text}end-of-it\n")
            terminal.until(r"line 37 of \d+ ── Enter shows more")
            assert "end-of-it" not in terminal.seen.partition("Enter shows more")[0].rpartition("the agent asks")[2]
            terminal.answer("yes")
            terminal.until("line 37 of")
            terminal.type("\n")
            shown = terminal.until(ASK)
            assert "end-of-it" in shown
            terminal.answer("no")
            terminal.until("agentctl> ")


# --- other processes of the same user ------------------------------------------------------------------------------------


def as_nobody(work) -> int:
    """The exit code of `work` in a process of an ordinary user."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            code = work()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def looks_into(pid: int) -> int:
    """How many of the ways into a process are open."""
    ways = 0
    for name in ("mem", "environ", "maps", "auxv"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                ways += name == "mem" or bool(file.read(1))
        except OSError:
            continue
    try:
        ways += bool(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        pass
    return ways


@needs_root
@pytest.mark.parametrize("private", [True, False])
def test_no_process_of_the_same_user_looks_into_a_private_one(private):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            # becoming another user makes a process private: here it is undone
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
            if private:
                assert keep_private()
            os.write(write, b"x")
            time.sleep(60)
        finally:
            os._exit(1)
    try:
        os.read(read, 1)
        ways = as_nobody(lambda: looks_into(pid))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(read)
        os.close(write)
    assert (ways == 0) is private


@needs_root
@pytest.mark.skipif(not hasattr(termios, "TIOCSTI"), reason="this system cannot type into terminals")
def test_a_tool_cannot_type_into_the_terminal():
    """A tool is a session of its own: without a controlling terminal TIOCSTI is a privileged act (tty_ioctl(4))."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    os.chmod(name, 0o666)

    def inject() -> int:
        os.setsid()
        descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
        typed = 0
        for key in b"yes\n":
            try:
                fcntl.ioctl(descriptor, termios.TIOCSTI, bytes([key]))
                typed += 1
            except OSError:
                continue
        return typed

    try:
        assert as_nobody(inject) == 0
    finally:
        os.close(master)
        os.close(slave)
