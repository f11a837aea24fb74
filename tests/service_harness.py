"""Shield's HTTP service with a scripted judge behind it: a real uvicorn on a real Unix socket, in a thread."""

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import uvloop

from shield.errors import PermitError, PolicyError, Reason, RecordError, RefusedError, StateError
from shield.pipeline.inspect import Inspection
from shield.service.admission import Admission
from shield.service.app import build_app
from shield.service.call import Context
from shield.service.listener import listen_unix
from shield.service.metrics import Metrics
from shield.service.openapi import describe
from shield.service.ports import Reloaded, Remembered, Standing, TextTier
from shield.service.routes import ROUTES
from shield.service.server import make_server
from shield.service.tokens import TokenBook, issue
from shield.types import (
    ActionRequest,
    Approval,
    ApprovalState,
    Decision,
    Isolation,
    Labels,
    Outcome,
    OutcomeReply,
    Redaction,
    Role,
    Scope,
    Session,
    TextFinding,
    TextKind,
    Tier,
    Verdict,
)
from shield.types import Answer as Said

HASH = "sha256:" + "0" * 64
SESSION = Session(
    id="sess-1",
    owner="",
    agent="agent",
    workspace_roots=("/ws",),
    shell="/bin/bash",
    env=MappingProxyType({"PATH": "/usr/bin"}),
    isolation=Isolation.NONE,
    home="/home/u",
)


def approval(number: int, *, agent: str = "agent") -> Approval:
    return Approval(
        id=f"ap-{number}",
        state=ApprovalState.PENDING,
        created_at=1_795_000_000_000 + number,
        expires_at=1_795_000_300_000,
        request=MappingProxyType({"type": "send_email"}),
        facts=MappingProxyType({"recipients": ["a@b.example"]}),
        rule="send.asks",
        reason="sending is a person's decision",
        scopes=(Scope.ONCE,),
        pattern=None,
        evaluation=f"ev-{number}",
        session="sess-1",
        agent=agent,
    )


class FakeSessions:
    def __init__(self) -> None:
        self.owners: dict[str, str] = {}

    def open(self, roots, isolation, label, *, owner, agent, pids=frozenset()):
        if roots == ("/untrusted",):
            raise RefusedError("`/untrusted` is not trusted; run `shield trust`", reason=Reason.WORKSPACE_UNTRUSTED)
        name = f"sess-{len(self.owners) + 1}"
        self.owners[name] = owner
        return replace(
            SESSION, id=name, owner=owner, agent=agent, isolation=isolation, workspace_roots=roots, pids=pids
        )

    def get(self, session_id, *, owner):
        if self.owners.get(session_id) != owner:
            raise RefusedError("there is no such session", reason=Reason.SESSION_UNKNOWN)
        return replace(SESSION, id=session_id, owner=owner)


class FakeApprovals:
    def __init__(self) -> None:
        self.rows: dict[str, Approval] = {}
        self.changed = asyncio.Event()
        self.waiting = threading.Event()

    def has_approver(self) -> bool:
        return True

    def seen(self) -> None:
        pass

    def get(self, approval_id):
        if approval_id not in self.rows:
            raise RefusedError("there is no such approval", reason=Reason.APPROVAL_UNKNOWN)
        return self.rows[approval_id]

    def pending(self):
        return tuple(row for row in self.rows.values() if row.state is ApprovalState.PENDING)

    async def wait(self, timeout_s: float) -> None:
        self.waiting.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.changed.wait()
                self.changed.clear()


class FakeJudge:
    """Answers as the payload's `answer` says; remembers what it was asked."""

    public_key = bytes(range(32))

    def __init__(self) -> None:
        self.sessions = FakeSessions()
        self.approvals = FakeApprovals()
        self.judged: list[ActionRequest] = []
        self.refused: list[tuple[Reason, bytes, int | None]] = []
        self.waiting = threading.Event()
        self.entered = threading.Event()
        self.go_on = asyncio.Event()
        self.verdicts: dict[str, tuple[str, Verdict]] = {}
        self.outcomes: list[Outcome] = []
        self.inspected: list[tuple[Any, ...]] = []

    async def evaluate(self, request, *, session, agent, owner):
        self.judged.append(request)
        answer = request.action.payload.get("answer", "ALLOW")
        if answer == "slow":
            self.entered.set()
            await self.go_on.wait()
            answer = "ALLOW"
        if answer == "raise":
            raise ValueError("the secret is hunter2")
        if answer == "unrecorded":
            return Verdict(id=request.id, evaluation="ev-0", rule="audit.unavailable", reason="the disk is full")
        if answer == "unnumbered":
            return Verdict(id=request.id, evaluation="ev-0", decision=Decision.ALLOW, permit="eyJ", reason="fine")
        if answer == "permit":
            return Verdict(id=request.id, evaluation="ev-0", permit="eyJ", reason="fine", seq=1)
        if answer == "state":
            raise StateError("the state database cannot be read")
        verdict = Verdict(
            id=request.id,
            evaluation=f"ev-{len(self.judged)}",
            decision=Decision(answer),
            tier=Tier.POLICY,
            rule="files.read.workspace",
            reason="reading inside the workspace",
            action_hash=request.action.hash,
            policy=HASH,
            evaluated_at=1_795_000_000_001,
            expires_at=1_795_000_060_001 if answer == "ALLOW" else None,
            approval="ap-1" if answer == "ESCALATE" else None,
            approval_expires_at=1_795_000_300_000 if answer == "ESCALATE" else None,
            permit="eyJ.permit" if answer == "ALLOW" else None,
            seq=len(self.judged),
            latency_us=MappingProxyType({"facts": 70, "record": 900}),
            evidence=("score 0.97",),
        )
        self.verdicts[verdict.evaluation] = (owner, verdict)
        return verdict

    async def current(self, evaluation, *, owner, wait_s):
        known = self.verdicts.get(evaluation)
        if known is None or known[0] != owner:
            raise RefusedError("there is no such evaluation", reason=Reason.EVALUATION_UNKNOWN)
        if wait_s > 0:
            self.waiting.set()
            await asyncio.sleep(wait_s)
        return known[1]

    async def redeem(self, permit, action, nonce, isolation, *, owner):
        if permit != "eyJ.permit":
            raise PermitError("the permit was used already", reason=Reason.PERMIT_USED)
        return "eyJ.receipt"

    async def outcome(self, outcome, *, owner):
        if outcome.jti == "unknown":
            raise RefusedError("no permit of this name was redeemed", reason=Reason.OUTCOME_NO_PERMIT)
        self.outcomes.append(outcome)
        return OutcomeReply(seq=42, content=outcome.content, labels=Labels())

    async def inspect(self, content, direction, source, *, session, agent):
        self.inspected.append((content, direction, source, session, agent))
        found = TextFinding(rule="injection.test", answer=Said.ESCALATE, kind=TextKind.PROSE, start=0, end=4)
        return Inspection(
            decision=Decision.ESCALATE,
            content=content,
            labels=Labels(integrity="untrusted"),
            redactions=(Redaction(kind="jwt", role=direction.value, start=0, end=4),),
            findings=(found,),
            seq=43,
        )

    async def answer(self, approval_id, answer, *, by):
        row = self.approvals.get(approval_id)
        if row.state is not ApprovalState.PENDING:
            raise RefusedError("answered already", reason=Reason.APPROVAL_ANSWERED)
        state = ApprovalState.APPROVED if answer.approve else ApprovalState.DENIED
        self.approvals.rows[approval_id] = replace(row, state=state, answered_by=by)
        return self.approvals.rows[approval_id]

    async def rejected(self, reason, raw, peer_uid):
        self.refused.append((reason, raw, peer_uid))


class FakeJournal:
    size = 3
    unsealed = 1
    name = "shield.local/X"

    def __init__(self) -> None:
        self.trouble: str | None = None
        self.remembered = (Remembered(name="file", size=2, age_s=1.5, behind_s=0.0, trouble=None),)

    def records(self, start, limit, filters):
        leaves = [f'{{"seq":{seq},"kind":"decision"}}'.encode() for seq in range(self.size)]
        return leaves[start : start + limit] if not filters else []

    def checkpoint(self):
        if self.trouble is not None:
            raise RecordError(self.trouble)
        return "shield.local/X\n3\nAAAA\n\n— shield.local/X AAAA\n"

    def proof(self, seq):
        return f"c2sp.org/tlog-proof@v1\nindex {seq}\n\n{self.checkpoint()}"


class FakeOperator:
    def __init__(self) -> None:
        self.broken = False
        self.text_tier = TextTier(heuristics=HASH)
        self.reloads: list[str] = []

    async def reload(self, by):
        if self.broken:
            raise PolicyError("unknown key `efect`", file="mine.yaml", line=3, column=5)
        self.reloads.append(by)
        return Reloaded(previous=HASH, policy="sha256:" + "1" * 64)

    def tier1(self):
        return self.text_tier

    async def standing(self, *, fresh):
        return Standing(
            tier1=self.tier1(),
            policy=HASH,
            disk=None if self.broken else HASH,
            disk_trouble="mine.yaml:3:5: unknown key `efect`" if self.broken else None,
            rule_errors=MappingProxyType({"some.rule": 2}),
            tiers=MappingProxyType({0: "ready", 1: self.text_tier.state, 2: "absent", 3: "ready"}),
        )


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("shield", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(self._path)


def call(path: str, method: str, target: str, *, token: str | None = None, body: bytes | None = None, headers=None):
    """One request on a connection of its own."""
    given = dict(headers or {})
    if token is not None:
        given.setdefault("Authorization", f"Bearer {token}")
    if body is not None:
        given.setdefault("Content-Type", "application/json")
    with contextlib.closing(_Connection(path)) as connection:
        connection.request(method, target, body=body, headers=given)
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())


def raw(path: str, data: bytes, *, end: bool = False) -> bytes:
    """Bytes as they are; everything that comes back until the server closes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(20)
        connection.connect(path)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(data)
        if end:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
        found = bytearray()
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(65536):
                found += chunk
        return bytes(found)


@dataclass
class Running:
    path: str
    judge: FakeJudge
    journal: FakeJournal
    operator: FakeOperator
    context: Context
    tokens: dict[Role, str]
    ids: dict[Role, str]
    loop: asyncio.AbstractEventLoop
    now: list[float] = field(default_factory=lambda: [1000.0])
    _stop: Any = None
    thread: threading.Thread | None = None

    def call(self, method: str, target: str, *, role: Role | None = Role.AGENT, value: Any = None, **given) -> Answer:
        if value is not None:
            given["body"] = json.dumps(value).encode()
        return call(self.path, method, target, token=None if role is None else self.tokens[role], **given)

    def stop(self) -> None:
        self._stop()

    def on_loop(self, action) -> None:
        self.loop.call_soon_threadsafe(action)


@contextlib.contextmanager
def running(
    *, portable: bool = False, rate: float = 1e6, queue: int = 256, uid: int | None = None
) -> Iterator[Running]:
    """The service on a socket of its own, stopped and joined at the end."""
    folder = tempfile.mkdtemp(prefix="sh")
    path = os.path.join(folder, "s.sock")
    secrets: dict[Role, str] = {}
    ids: dict[Role, str] = {}
    tokens = []
    for role in Role:
        token, secrets[role] = issue(role, role.value, os.urandom, created_at=0)
        ids[role] = token.id
        tokens.append(token)
    book = TokenBook(tokens)
    ready = threading.Event()
    made: list[Running] = []
    trouble: list[BaseException] = []
    now = [1000.0]

    async def main() -> None:
        judge, journal, operator = FakeJudge(), FakeJournal(), FakeOperator()
        context = Context(
            judge=judge,
            journal=journal,
            operator=operator,
            admission=Admission(rate=rate, queue=queue, now=lambda: now[0]),
            metrics=Metrics(lambda name: name),
            description=describe(ROUTES, "0.1.0"),
            stopping=asyncio.Event(),
            now=time.monotonic,
        )
        app = build_app(context, tokens=lambda: book, uid=os.getuid() if uid is None else uid, hosts=None)
        server = make_server(app, listening=ready.set, portable=portable)
        loop = asyncio.get_running_loop()

        def stop() -> None:
            def now_stop() -> None:
                context.stopping.set()
                server.should_exit = True

            loop.call_soon_threadsafe(now_stop)

        made.append(Running(path, judge, journal, operator, context, secrets, ids, loop, now=now, _stop=stop))
        await server.serve(sockets=[listen_unix(path)])

    def run() -> None:
        try:
            factory = asyncio.new_event_loop if portable else uvloop.new_event_loop
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(main())
        except BaseException as error:  # noqa: BLE001  # handed to the test
            trouble.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert ready.wait(20)
        if trouble:
            raise trouble[0]
        made[0].thread = thread
        yield made[0]
    finally:
        if made and thread.is_alive():
            made[0].stop()
        thread.join(30)
        shutil.rmtree(folder, ignore_errors=True)
    if trouble:
        raise trouble[0]
    assert not thread.is_alive()
