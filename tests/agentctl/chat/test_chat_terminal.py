"""`agentctl chat` on a real pseudo-terminal with the real Shield: trust, a verdict, a question, an answer, Ctrl-C."""

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pytest

import agentctl

ROOT = Path(agentctl.__file__).parent.parent
PATIENCE_S = 30


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "agentctl.cli", "chat", "-w", str(workspace)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd="/",
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": str(home.parent / "user"),
                "SHIELD_HOME": str(home),
                "TERM": "dumb",
                "PYTHONPATH": str(ROOT),
            },
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.seen = ""
        self.mark = 0

    def until(self, pattern: str) -> str:
        """What came since the last match, up to and with this one."""
        limit = time.monotonic() + PATIENCE_S
        while True:
            found = re.search(pattern, self.seen[self.mark :])
            if found:
                piece = self.seen[self.mark : self.mark + found.end()]
                self.mark += found.end()
                return piece
            assert time.monotonic() < limit, f"no {pattern!r} in:\n{self.seen[self.mark :]}"
            self.read(0.2)

    def read(self, timeout_s: float) -> None:
        if select.select([self.master], [], [], timeout_s)[0]:
            try:
                text = os.read(self.master, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
            except OSError:
                pytest.fail(f"it ended:\n{self.seen}")
            self.seen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def answer(self, word: str) -> None:
        """A word and Enter as a person types them, each key once the one before stands there."""
        for key in word:
            at = len(self.seen)
            self.type(key)
            limit = time.monotonic() + PATIENCE_S
            while key not in self.seen[at:]:
                assert time.monotonic() < limit, self.seen
                self.read(0.2)
        self.type("\n")

    def insist(self, key: str, pattern: str) -> None:
        """Press a key until it is answered: a signal that comes while `input` is not yet waiting is lost."""
        for _ in range(4):
            self.type(key)
            limit = time.monotonic() + PATIENCE_S / 4
            while time.monotonic() < limit:
                self.read(0.2)
                found = re.search(pattern, self.seen[self.mark :])
                if found:
                    self.mark += found.end()
                    return
        pytest.fail(f"no {pattern!r} in:\n{self.seen[self.mark :]}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        base = Path(folder).resolve()
        for name in ("home", "user", "ws"):
            (base / name).mkdir(mode=0o700)
        (base / "ws" / "README.md").write_text("hello reader\n")
        yield base


def test_trust_allow_block_ask_approve_deny_and_stop(place):
    terminal = Terminal(place / "home", place / "ws")
    try:
        terminal.until("not trusted")
        terminal.until("to confirm: ")
        terminal.answer("yes")
        start = terminal.until(r"isolation \w+")
        assert "embedded, started here" in start
        assert "asks here" in start
        # whoever knows the name of the log notices another one
        assert re.search(r" · log [0-9A-Z]{26}, \d+ records", start)
        terminal.until("agentctl> ")

        terminal.type("/read README.md\n")
        assert "ALLOW" in terminal.until("hello reader")
        terminal.until("agentctl> ")

        terminal.type("/read ~/.ssh/id_rsa\n")
        terminal.until("BLOCK")
        terminal.until("agentctl> ")

        # a question: an answer typed ahead of it is thrown away, nothing but yes or no is taken
        terminal.type("!python3 -c 'import ctypes; print(6*7)'\n")
        question = terminal.until("type yes/no, .* s left: ")
        assert "print(6*7)" in question
        terminal.type("\n")
        terminal.until("that is no answer")
        terminal.until("s left: ")
        terminal.answer("y")
        terminal.until("that is no answer")
        terminal.until("s left: ")
        terminal.answer("yes")
        terminal.until(r"\| 42")
        terminal.until("agentctl> ")

        terminal.type('!python3 -c \'import ctypes; open("made", "w")\'\n')
        terminal.until("s left: ")
        terminal.answer("no")
        terminal.until("BLOCK")
        terminal.until("agentctl> ")
        assert not (place / "ws" / "made").exists()

        # Ctrl-C stops the call and leaves no child
        terminal.type("!tail -f README.md\n")
        terminal.until("ALLOW")
        time.sleep(0.3)  # whichever point it has reached, a stop leaves nothing behind
        terminal.type("\x03")
        terminal.until("stopped")
        terminal.until("agentctl> ")
        assert not children_named("tail", place / "ws")

        # at the prompt it ends the line, nothing else
        terminal.type("half a line")
        terminal.until("half a line")
        terminal.insist("\x03", "agentctl> ")
        terminal.type("/read README.md\n")
        terminal.until("hello reader")
        terminal.until("agentctl> ")

        terminal.type("/quit\n")
        assert terminal.process.wait(PATIENCE_S) == 0
    finally:
        terminal.close()
    assert not (place / "home" / "run" / "shield.sock").exists(), "the embedded Shield ended with us"


def children_named(name: str, cwd: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text().strip() == name and os.readlink(entry / "cwd") == str(cwd):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
