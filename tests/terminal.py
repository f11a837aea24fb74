"""Programs as a person runs them: on a terminal of their own, against a model that tells a story, and what the log says.

Nothing here waits for a time: every step waits for what is printed, with a generous limit for failure only.
"""

import fcntl
import json
import os
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import agentctl
from guarded import Ground
from model_server import Request, ScriptedModel, Turn

ROOT = Path(agentctl.__file__).resolve().parent.parent
PATIENCE_S = 20
COLUMNS, ROWS = 80, 40
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


def agentctl_command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "agentctl.cli", *arguments]


def shield_command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "shield", *arguments]


def environ(place: Ground, model: ScriptedModel | None = None, **more: str) -> dict[str, str]:
    """What a person's shell would have set. `TERM=dumb` keeps line editing from sending codes of its own."""
    env = {**place.environ(), "SHIELD_HOME": str(place.shield_home), "TERM": "dumb", "PYTHONPATH": str(ROOT)}
    if model is not None:
        env |= {"AGENTCTL_MODEL": "scripted", "AGENTCTL_BASE_URL": model.openai_url, "OPENAI_API_KEY": "k"}
    return env | more


class Terminal:
    """A program whose controlling terminal is ours. `seen` is all it printed, `raw` with its escape sequences."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], *, cwd: str | Path = "/", columns: int = COLUMNS
    ) -> None:
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        self.process = subprocess.Popen(
            list(command),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.raw = self.seen = ""
        self._mark = 0

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    def press(self, key: str, pattern: str) -> str:
        """A key until it is answered: a signal that comes just before `input` waits is taken with the next key only."""
        for _ in range(5):
            self.type(key)
            limit = time.monotonic() + 2
            while time.monotonic() < limit and self._more():
                if re.search(pattern, self.seen[self._mark :]):
                    return self.until(pattern)
        raise AssertionError(f"no {pattern!r} in:\n{self.seen[self._mark :]}")

    def until(self, pattern: str) -> str:
        """What came since the last match, up to and with this one."""
        limit = time.monotonic() + PATIENCE_S
        while True:
            found = re.search(pattern, self.seen[self._mark :])
            if found:
                piece = self.seen[self._mark : self._mark + found.end()]
                self._mark += found.end()
                return piece
            assert time.monotonic() < limit, f"no {pattern!r} in:\n{self.seen[self._mark :]}\nof all:\n{self.seen}"
            assert self._more(), f"it ended before {pattern!r}:\n{self.seen}"

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Until something holds that is not printed."""
        limit = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < limit, self.seen
            assert self._more(), f"it ended:\n{self.seen}"

    def type(self, text: str) -> None:
        """Keys, at once; `\\x03` is Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self.master, text.encode())

    def answer(self, word: str) -> None:
        """A word and Enter as a person types them, each key once the one before stands there."""
        for key in word:
            self.answer_key(key)
        self.type("\n")

    def answer_key(self, key: str) -> None:
        """One key; returns when it stands there."""
        at = len(self.seen)
        self.type(key)
        self.wait_for(lambda: key in self.seen[at:])

    def end(self) -> int:
        """Wait for the end; the exit code. All that was printed is in `seen`."""
        limit = time.monotonic() + PATIENCE_S
        while self._more():
            assert time.monotonic() < limit, f"it does not end:\n{self.seen}"
        return self.process.wait(PATIENCE_S)

    def _more(self) -> bool:
        """Take what is printed within a moment; False at the end of it all."""
        if select.select([self.master], [], [], 0.5)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: nobody has the terminal open any more
                return False
            self.raw += data.decode("utf-8", "replace").replace("\r\n", "\n")
            # rewritten as a whole, as a sequence may come in two pieces
            self.seen = ESCAPES.sub("", self.raw)
        return True


def tell(stories: Mapping[str, Sequence[Turn | Callable[[Request], Turn]]]) -> ScriptedModel:
    """A model that answers each thing the user says with its own turns, in whatever order things are said."""

    def answer(request: Request) -> Turn:
        messages = request.body["messages"]
        said = max(at for at, message in enumerate(messages) if message["role"] == "user")
        step = sum(message["role"] == "assistant" for message in messages[said:])
        turn = stories[messages[said]["content"]][step]
        return turn if isinstance(turn, Turn) else turn(request)

    return ScriptedModel([answer] * 200)


def results(model: ScriptedModel, said: str) -> dict[str, str]:
    """What the model was told of each tool call of the turn in which the user said `said`, by the call's id."""
    found: dict[str, str] = {}
    for request in model.requests:
        here = False
        for message in request.body["messages"]:
            if message["role"] == "user":
                here = message["content"] == said
            elif message["role"] == "tool" and here:
                found[message["tool_call_id"]] = message["content"]
    return found


def refused(content: str) -> dict:
    """The object in a refusal, whatever stands around it."""
    return json.loads(content[content.index("{") : content.rindex("}") + 1])


@contextmanager
def fifo_reader(path: Path) -> Iterator[Callable[[], None]]:
    """A function that waits until somebody reads from the FIFO `path`; afterwards it asserts that nobody is left."""
    os.mkfifo(path)
    opened: list[int] = []
    thread = threading.Thread(target=lambda: opened.append(os.open(path, os.O_WRONLY)), daemon=True)
    thread.start()

    def wait() -> None:
        thread.join(PATIENCE_S)
        assert opened, "nobody reads from the fifo"

    try:
        yield wait
        watch = select.poll()
        watch.register(opened[0], 0)  # POLLERR is told without asking: the last reader has gone
        assert watch.poll(PATIENCE_S * 1000), "a child still reads"
    finally:
        if not opened:  # let the thread go
            with suppress(OSError):
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            thread.join(PATIENCE_S)
        for descriptor in opened:
            os.close(descriptor)


def actions(place: Ground) -> list[dict]:
    """Every action of the log in order: `decision`, `executing`, `outcome`, `approval` records that belong together.

    Asserts that the log verifies and that each record refers to the one it must.
    """
    code, report = place.verify()
    assert code == 0, report
    records = place.records()
    found: dict[int, dict] = {}
    for record in records:
        kind, ref = record["kind"], record["ref"]
        if kind == "decision":
            found[record["seq"]] = {"decision": record, "executing": None, "outcome": None, "refused": None}
        elif kind == "executing":
            decision = found[ref]
            assert decision["decision"]["body"]["decision"] == "ALLOW", "only an ALLOW is run"
            assert decision["executing"] is None, "and only once"
            assert decision["decision"]["session"] == record["session"]
            decision["executing"] = record
        elif kind == "outcome":
            assert records[ref]["kind"] == "executing"
            decision = found[records[ref]["ref"]]
            assert decision["outcome"] is None
            decision["outcome"] = record
        elif kind == "refused":
            found[ref]["refused"] = record
    return list(found.values())


def judged(place: Ground, type_: str, **fields: object) -> list[dict]:
    """The actions of this type whose recorded view has these fields."""
    return [
        action
        for action in actions(place)
        if action["decision"]["body"]["type"] == type_
        and fields.items() <= action["decision"]["body"]["args"]["view"].items()
    ]
