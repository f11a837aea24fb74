"""The approver prompt: a process of its own on the controlling terminal, the only one that holds the approver's token.

    python -P -m agentctl.ui.approver --socket PATH --token-fd N

The token comes over an inherited descriptor and is kept in memory. The answer is read from `/dev/tty`, never from
standard input, and whatever was typed before the question stood there is thrown away. There is no default answer.
What does not fit on the screen cannot be approved here: nobody approves what they have not seen.
"""

import argparse
import ctypes
import difflib
import json
import os
import re
import resource
import selectors
import signal
import sys
import termios
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from agentctl.ui.text import single_line, visible
from shield.client import Client, Endpoint
from shield.errors import ClientError, Reason
from shield.types import Approval, ApprovalAnswer, ApprovalState, Json

__all__ = ["Terminal", "ask", "main", "question"]

MAX_LINES: Final = 400
FOLD: Final = 78  # columns of a piece of foreign text
WIDTH: Final = 400  # longer lines wrap on the screen all the same, but are counted as several
_TOKEN_MAX: Final = 4096
_PR_SET_DUMPABLE: Final = 4  # <linux/prctl.h>
_WAIT_S: Final = 25.0
_GLANCE_S: Final = 0.5  # how long a question that was settled elsewhere still takes what is typed
_GONE: Final = frozenset({Reason.SERVICE_UNREACHABLE, Reason.SERVICE_STOPPING})
_PLAIN: Final = re.compile("[A-Za-z][A-Za-z0-9_]{0,63}")
_OURS: Final = frozenset({"in"})  # lines of ours that begin with a single word
_WORDS: Final = {"yes": True, "no": False}


class Terminal(Protocol):
    """The person's terminal."""

    def write(self, text: str) -> None: ...
    def flush_input(self) -> None:
        """Throw away what was typed so far."""
        ...

    def read_line(self, timeout_s: float) -> str | None:
        """A whole line, None if none came in time. Raises KeyboardInterrupt for Ctrl-C, EOFError for Ctrl-D."""
        ...


class _Tty:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def flush_input(self) -> None:
        termios.tcflush(self._descriptor, termios.TCIFLUSH)
        self._rest = b""

    def read_line(self, timeout_s: float) -> str | None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return None
        chunk = os.read(self._descriptor, 4096)
        if not chunk:
            raise EOFError
        self._rest += chunk
        line, newline, rest = self._rest.partition(b"\n")
        if not newline:
            return None
        self._rest = rest
        return line.decode("utf-8", "replace")


class _Queue(Protocol):
    def approval(self, approval: str) -> Approval: ...
    def answer(self, approval: str, answer: ApprovalAnswer) -> Approval: ...


def ask(approval: Approval, queue: _Queue, terminal: Terminal, *, now: Callable[[], float] = time.time) -> bool:
    """Put one question and send the answer. False where it was Ctrl-C, which is no to all that the turn asks.

    Raises ClientError.
    """
    stopped = False
    try:
        yes = _asked(approval, queue, terminal, now)
    except (KeyboardInterrupt, EOFError) as key:
        # INVARIANT: wherever in the question it comes, it is an answer, and the answer is no
        terminal.write("\n")
        yes, stopped = False, isinstance(key, KeyboardInterrupt)
    if yes is not None:
        settled = queue.answer(approval.id, ApprovalAnswer(approve=yes))
        if not stopped:  # who stopped the turn is told so by agentctl, which prints at the same time
            terminal.write(f"{settled.state.value}\n")
    return not stopped


def _asked(approval: Approval, queue: _Queue, terminal: Terminal, now: Callable[[], float]) -> bool | None:
    """What the person says; None where nobody has to say anything any more."""
    lines = question(approval)
    cut = sum(1 + len(line) // WIDTH for line in lines) > MAX_LINES
    if cut:
        lines = [*lines[:40], f"… {len(lines)} lines, too long to be shown here …"]
    terminal.write("\n".join(["", *lines, ""]))
    if cut:
        terminal.write(
            f"what is not shown cannot be approved here: `shield approvals show {single_line(approval.id)}`\n"
        )
    words = "no" if cut else "yes/no"
    terminal.flush_input()
    while (left := approval.expires_at / 1000 - now()) > 0:
        terminal.write(f"allow this once? type {words}, {int(left)} s left: ")
        line = _line(approval, queue, terminal, now)
        if line is None:
            if now() * 1000 < approval.expires_at:
                terminal.write("\nno answer is needed any more\n")
                return None
            terminal.write("\n")
            break
        yes = _WORDS.get(line.strip().lower())
        if yes is not None and not (yes and cut):
            return yes
        terminal.write(f"that is no answer: type {words}\n")
    terminal.write("time is up: this is not run\n")
    return None


def _line(approval: Approval, queue: _Queue, terminal: Terminal, now: Callable[[], float]) -> str | None:
    """The next line typed; None once the question is settled otherwise or its time is up."""
    while now() * 1000 < approval.expires_at:
        line = terminal.read_line(min(_GLANCE_S, max(0.0, approval.expires_at / 1000 - now())))
        if line is not None:
            return line
        if queue.approval(approval.id).state is not ApprovalState.PENDING:
            return None
    return None


def question(approval: Approval) -> list[str]:
    """The whole question as lines: what, why, what it would touch. Every character of the agent's is made visible."""
    request = approval.request
    payload = request.get("payload")
    fields: Mapping[str, Json] = payload if isinstance(payload, dict) else {"payload": payload}
    kind = request.get("type")
    lines = [f"── the agent asks to {single_line(str(kind).replace('_', ' '))} ──"]
    if kind == "edit_file":
        lines += _diff(fields)
        fields = {name: value for name, value in fields.items() if name not in ("old", "new")}
    for name, value in fields.items():
        lines += _field(name, value)
    lines += [f"in: {single_line(str(request.get('cwd')))}", f"why it is asked: {single_line(approval.reason, 1000)}"]
    intent = request.get("intent")
    if isinstance(intent, str) and intent:
        lines += _folded(f"the agent says (unverified): {single_line(intent, 1000)}")
    return [*lines, *(piece for line in _facts(approval.facts) for piece in _folded(line))]


def _field(name: str, value: Json) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    rows = visible(text).split("\n")
    shown = _name(name)
    if len(rows) == 1:
        return _folded(f"{shown}: {rows[0]}")
    return [f"{shown}:", *(piece for row in rows for piece in _folded(f"  | {row}"))]


def _folded(line: str) -> list[str]:
    """A line of foreign text in pieces that an ordinary terminal does not wrap.

    INVARIANT: every piece but the first is marked: padding cannot push text to where a line of ours would begin.
    """
    pieces, left = [""], FOLD
    for char in line.expandtabs(8):
        size = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if size > left:
            pieces.append("  … ")
            left = FOLD - 4
        pieces[-1] += char
        left -= size
    return pieces


def _name(name: str) -> str:
    """A field's name. INVARIANT: no line of the agent's begins as one of ours does: what is no plain word is quoted."""
    plain = _PLAIN.fullmatch(name) is not None and name not in _OURS
    return name if plain else json.dumps(single_line(name), ensure_ascii=False)


def _diff(fields: Mapping[str, Json]) -> list[str]:
    old, new = (visible(str(fields.get(name, ""))).split("\n") for name in ("old", "new"))
    rows = difflib.unified_diff(old, new, "before", "after", lineterm="")
    return ["the change:", *(f"  {row}" for row in rows)]


def _facts(facts: Mapping[str, Json]) -> Iterator[str]:
    for command in _objects(facts.get("commands")):
        name = single_line(str(command.get("program") or command.get("name")))
        yield f"would run: {name} (from {command.get('origin')}, code: {command.get('runs_code')})"
    for path in _objects(facts.get("paths")):
        marks = ", ".join(str(mark) for mark in _items(path.get("categories")))
        where = "" if path.get("inside_workspace") else " OUTSIDE the workspace"
        resolved = single_line(str(path.get("resolved") or path.get("raw")))
        yield f"would {path.get('access')}: {resolved}{where}{f' [{marks}]' if marks else ''}"
    for host in _objects(facts.get("hosts")):
        yield f"would talk to: {single_line(str(host.get('host')))} port {host.get('port')} ({host.get('ip_class')})"
    for recipient in _items(facts.get("recipients")):
        yield f"would write to: {single_line(str(recipient))}"
    for secret in _objects(facts.get("secrets")):
        yield f"holds a secret: {single_line(str(secret.get('kind')))} at {single_line(str(secret.get('where')))}"
    for unknown in _items(facts.get("unknown")):
        yield f"could not be established: {single_line(str(unknown))}"


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else []


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    for item in _items(value):
        if isinstance(item, dict):
            yield item


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C is an answer while a question stands there, and nothing to us otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _hide() -> None:
    """Keep the token from other processes of the same user: no tracing, no core (prctl(2); elsewhere best effort)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _serve(client: Client, terminal: Terminal, parent: int) -> None:
    stopped: dict[str | None, float] = {}  # session: when the person stopped its turn
    while os.getppid() == parent:
        for approval in client.approvals(wait_s=_WAIT_S):
            try:
                if approval.created_at / 1000 < stopped.get(approval.session, 0.0):
                    client.answer(approval.id, ApprovalAnswer(approve=False))
                    continue
                with _interruptible():
                    if not ask(approval, client, terminal):
                        stopped[approval.session] = time.time()
            except ClientError as error:
                if error.reason in _GONE:
                    raise
                terminal.write(f"not taken: {single_line(error.detail)}\n")
            except KeyboardInterrupt:
                terminal.write("\n")  # while the answer was sent: what is still open is asked again
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when Shield or agentctl is gone, 1 where there is no terminal or no token."""
    parser = argparse.ArgumentParser(prog="agentctl.ui.approver")
    parser.add_argument("--socket", required=True)
    parser.add_argument("--token-fd", type=int, required=True)
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _hide()
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
            _serve(client, _Tty(descriptor), parent)
    except ClientError as error:
        if error.reason not in _GONE:
            print(f"the approver prompt ends: {single_line(error.detail)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
