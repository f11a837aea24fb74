"""The approver prompt: a process of its own on the controlling terminal, the only one that holds the approver's token.

    python -P -m agentctl.ui.approver --socket PATH --token-fd N

The token comes over an inherited descriptor and is kept in memory, where no other process of the user can look. The
answer is a word typed key by key at `/dev/tty`: what was typed before the question stood there is thrown away, what
comes in one piece (a paste, an injected line) is refused. There is no default answer. A question that is longer than
the screen is shown page by page, and can be approved after the last one only.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn, Protocol

from agentctl.ui.exact import exact
from agentctl.ui.line import canonical
from agentctl.ui.private import keep_private
from agentctl.ui.question import COLUMNS, WIDEST, question
from shield.client import Client, Endpoint
from shield.client.keyboard import Keyboard, Line
from shield.errors import ClientError, Reason
from shield.types import Approval, ApprovalAnswer, ApprovalState

__all__ = ["Terminal", "ask", "main"]

MAX_LINES: Final = 5000
_FEWEST_ROWS: Final = 8
_OUR_ROWS: Final = 3  # of a page, for what is asked beneath it
_TOKEN_MAX: Final = 4096
_WAIT_S: Final = 25.0
_GLANCE_S: Final = 0.5  # how long a question that was settled elsewhere still takes what is typed
_GIVE_UP_S: Final = 2.0
_LOOK_S: Final = 0.02
_GONE: Final = frozenset({Reason.SERVICE_UNREACHABLE, Reason.SERVICE_STOPPING})
_WORDS: Final = {"yes": True, "no": False}
_PASTED: Final = "that was not typed key by key: an answer is never taken from a paste\n"


class Terminal(Protocol):
    """The person's terminal. What is read while `open` is typed key by key, or marked as not typed."""

    def open(self) -> AbstractContextManager[object]: ...
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        ...

    def write(self, text: str) -> None: ...
    def flush_input(self) -> None:
        """Throw away what was typed so far."""
        ...

    def read_line(self, timeout_s: float) -> Line | None:
        """A whole line, None if none came in time. Raises KeyboardInterrupt for Ctrl-C, EOFError for Ctrl-D."""
        ...


class _Tty:
    def __init__(self, descriptor: int, term: str, parent: int) -> None:
        self._descriptor = descriptor
        self._parent = parent
        self._keyboard = Keyboard(descriptor, term=term)

    @contextmanager
    def open(self) -> Iterator[None]:
        """INVARIANT: nobody else reads the keyboard. Line editing of agentctl's gives it up when it is told to."""
        limit = time.monotonic() + _GIVE_UP_S
        while not canonical(self._descriptor) and time.monotonic() < limit:
            os.kill(self._parent, signal.SIGURG)
            time.sleep(_LOOK_S)
        with self._keyboard:
            yield

    def size(self) -> tuple[int, int]:
        try:
            columns, rows = os.get_terminal_size(self._descriptor)
        except OSError:
            columns = rows = 0
        return columns or COLUMNS + 2, rows or 24

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def flush_input(self) -> None:
        self._keyboard.flush()

    def read_line(self, timeout_s: float) -> Line | None:
        return self._keyboard.line(timeout_s)


class _Queue(Protocol):
    def approval(self, approval: str) -> Approval: ...
    def answer(self, approval: str, answer: ApprovalAnswer) -> Approval: ...


class _SettledError(Exception):
    """Nobody has to say anything any more."""


def ask(approval: Approval, queue: _Queue, terminal: Terminal, *, now: Callable[[], float] = time.time) -> float | None:
    """Put one question and send the answer. When it was Ctrl-C (unix seconds), which is no to all that the turn asks.

    Raises ClientError.
    """
    stopped: float | None = None
    yes: bool | None
    try:
        with terminal.open():
            yes = _Asking(approval, queue, terminal, now).answer()
    except _SettledError:
        yes = None
    except (KeyboardInterrupt, EOFError) as key:
        # INVARIANT: wherever in the question it comes, it is an answer, and the answer is no
        yes, stopped = False, now() if isinstance(key, KeyboardInterrupt) else None
        terminal.write("\n")
    if yes is not None:
        settled = queue.answer(approval.id, ApprovalAnswer(approve=yes))
        if stopped is None:  # who stopped the turn is told so by agentctl, which prints at the same time
            terminal.write(f"{settled.state.value}\n")
    return stopped


class _Asking:
    """One question on the terminal until it is answered."""

    def __init__(self, approval: Approval, queue: _Queue, terminal: Terminal, now: Callable[[], float]) -> None:
        self._approval = approval
        self._queue = queue
        self._terminal = terminal
        self._now = now

    def answer(self) -> bool:
        columns, rows = self._terminal.size()
        lines = question(self._approval, min(WIDEST, columns - 2), most=MAX_LINES)
        whole = len(lines) <= MAX_LINES
        if not whole:
            lines = [*lines[:40], f"… more than {MAX_LINES} lines, too long to be shown here …"]
        pages = list(_pages(["", *lines], max(_FEWEST_ROWS, rows) - _OUR_ROWS))
        shown = 0
        for number, page in enumerate(pages, 1):
            self._terminal.write("\n".join([*page, ""]))
            shown += len(page)
            if number < len(pages) and not self._turn(f"line {shown} of {len(lines) + 1}"):
                return False
        if not whole:
            name = exact(self._approval.id)
            self._terminal.write(f"what is not shown cannot be approved here: `shield approvals show {name}`\n")
        # INVARIANT: the last page stands there before a yes is taken
        words = _WORDS if whole else {"no": False}
        while True:
            yes = words.get(self._said(f"allow this once? type {'/'.join(words)}, {{left}} s left: "))
            if yes is not None:
                return yes
            self._terminal.write(f"that is no answer: type {'/'.join(words)}\n")

    def _turn(self, where: str) -> bool:
        """Whether the next page is asked for; otherwise the answer is no."""
        while True:
            said = self._said(f"── {where} ── Enter shows more, `no` refuses, {{left}} s left: ")
            if said == "":
                return True
            if said == "no":
                return False

    def _said(self, prompt: str) -> str:
        """What is typed, in lower case. Raises _SettledError where nothing needs to be said any more."""
        self._terminal.flush_input()
        while (left := self._left()) > 0:
            self._terminal.write(prompt.format(left=int(left)))
            line = self._line()
            if line.typed:
                return line.text.strip().lower()
            self._terminal.write(_PASTED)
        return self._over()

    def _line(self) -> Line:
        while (left := self._left()) > 0:
            line = self._terminal.read_line(min(_GLANCE_S, left))
            if line is not None:
                return line
            if self._queue.approval(self._approval.id).state is not ApprovalState.PENDING:
                if self._left() > 0:
                    self._terminal.write("\nno answer is needed any more\n")
                    raise _SettledError
                break
        self._terminal.write("\n")
        return self._over()

    def _over(self) -> NoReturn:
        self._terminal.write("time is up: this is not run\n")
        raise _SettledError

    def _left(self) -> float:
        return self._approval.expires_at / 1000 - self._now()


def _pages(lines: Sequence[str], rows: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(lines), rows):
        yield lines[start : start + rows]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C is an answer while a question stands there, and nothing to us otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(client: Client, terminal: Terminal, parent: int) -> None:
    stopped: dict[str, float] = {}  # session: when the person stopped its turn
    while os.getppid() == parent:
        for approval in client.approvals(wait_s=_WAIT_S):
            try:
                if approval.created_at / 1000 < stopped.get(approval.session, 0.0):
                    client.answer(approval.id, ApprovalAnswer(approve=False))
                    continue
                with _interruptible():
                    if (moment := ask(approval, client, terminal)) is not None:
                        stopped[approval.session] = moment
            except ClientError as error:
                if error.reason in _GONE:
                    raise
                terminal.write(f"not taken: {exact(error.detail)}\n")
            except KeyboardInterrupt:
                terminal.write("\n")  # while the answer was sent: what is still open is asked again
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    """Leave through every `with`: the terminal gets its mode back."""
    sys.exit(0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when Shield or agentctl is gone, 1 where there is no terminal or no token."""
    keep_private()
    parser = argparse.ArgumentParser(prog="agentctl.ui.approver")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--token-fd", type=int, required=True)
    parser.add_argument("--term", default="dumb")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by who began us, until we ignore it
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    parent = os.getppid()
    with os.fdopen(given.token_fd, "rb") as pipe:
        token = pipe.read(_TOKEN_MAX).decode("ascii", "replace").strip()
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        print(f"no terminal to ask on: {error.strerror}", file=sys.stderr)
        return 1
    try:
        with Client(Endpoint(socket=Path(given.socket)), token) as client:
            _serve(client, _Tty(descriptor, given.term, parent), parent)
    except ClientError as error:
        if error.reason not in _GONE:
            print(f"the approver prompt ends: {exact(error.detail)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
