"""A whole pipeline on real files with a log in memory, a clock that the test turns, and rules that are a function."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from shield.actions.request import parse_request
from shield.approvals.queue import ApprovalQueue
from shield.errors import RecordError
from shield.facts.local import LocalFiles
from shield.facts.place import Place, Protected
from shield.permits import PermitKey
from shield.pipeline.pipeline import Pipeline
from shield.pipeline.pool import Pool
from shield.pipeline.ports import Appended, Clock
from shield.pipeline.sessions import Execution, SessionBook
from shield.store.state import StateStore
from shield.types import Answer, Isolation, Opinion, Tier

ALLOW = Opinion(tier=Tier.POLICY, answer=Answer.ALLOW, need=Tier.POLICY, rule="test.allow", reason="tests may")
ASK = Opinion(tier=Tier.POLICY, answer=Answer.ESCALATE, need=Tier.PERSON, rule="test.ask", reason="a person decides")
BLOCK = Opinion(tier=Tier.POLICY, answer=Answer.BLOCK, rule="test.block", reason="tests may not")
NONCE = "ab" * 16


@dataclass
class Rules:
    """Tier 0 of a test: an opinion, or a function of the facts."""

    opinion: object = ALLOW
    digest: str = "sha256:" + "0" * 64

    def judge(self, action, kind, facts, *, agent, workspace, now):
        return self.opinion(action, facts) if callable(self.opinion) else self.opinion


@dataclass
class MemoryLog:
    """Implements Recorder. `fail` refuses everything; `only` refuses one kind."""

    records: list = field(default_factory=list)
    fail: bool = False
    only: str | None = None

    async def append(self, kind, body, *, session=None, agent=None, call_id=None, ref=None, kept=None):
        await asyncio.sleep(0)
        if self.fail or kind == self.only:
            raise RecordError("no space left on `audit.db`; free space, then `shield status`")
        json.dumps(body, allow_nan=False)
        self.records.append(
            {"kind": kind, "body": body, "session": session, "call_id": call_id, "ref": ref, "kept": kept}
        )
        return Appended(seq=len(self.records) - 1)

    @property
    def healthy(self):
        return not self.fail

    def kinds(self):
        return [record["kind"] for record in self.records]


class Bench:
    """Everything behind one pipeline. `home` is Shield's, `workspace` the agent's."""

    def __init__(self, folder, *, configured=True, timeout_s=300, tier1=None):
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self.shell = folder / "shell"
        self.shell.write_text("#!/bin/bash\n")
        self.now_ms, self.now_ns = 1_795_000_000_000, 5_000_000_000
        self.rules, self.log, self.key = Rules(), MemoryLog(), PermitKey()
        self.configured = configured
        self.store = StateStore.open(str(self.home / "state.db"))
        self.pool = Pool(4)
        clock = Clock(now_ms=lambda: self.now_ms, monotonic_ns=lambda: self.now_ns)
        self.sessions = SessionBook(
            execution=Execution(shell=str(self.shell), env={"PATH": "/usr/bin:/bin", "HOME": str(folder)}, umask=0o077),
            home=str(folder),
            shield_home=str(self.home),
            trusted=lambda: (str(self.workspace),),
            now_ms=clock.now_ms,
        )
        self.pipeline = Pipeline(
            policy=lambda session: self.rules,
            place_for=self.place,
            clock=clock,
            pool=self.pool,
            recorder=self.log,
            sessions=self.sessions,
            approvals=ApprovalQueue(
                self.store,
                now_ms=clock.now_ms,
                monotonic_ns=clock.monotonic_ns,
                timeout_s=timeout_s,
                configured=lambda: self.configured,
            ),
            key=self.key,
            tier1=tier1,
        )
        self.session = self.open()

    def open(self, owner="tok", isolation=Isolation.NONE):
        return self.sessions.open((str(self.workspace),), isolation, None, owner=owner, agent="tester")

    def place(self, request, session):
        return Place(
            files=LocalFiles(),
            home=str(self.home.parent),
            cwd=request.action.cwd,
            workspace_roots=session.workspace_roots if session is not None else (),
            env=session.env if session is not None else MappingProxyType({}),
            isolation=session.isolation if session is not None else Isolation.NONE,
            protected=Protected(state=(str(self.home),)),
            session=self.sessions.facts(session),
        )

    def request(self, type="read_file", payload=None, **more):
        body = {"type": type, "payload": {"path": "a.txt"} if payload is None else payload, **more}
        return parse_request(json.dumps(body).encode(), default_cwd=str(self.workspace))

    async def evaluate(self, *args, session=..., owner="tok", **more):
        session = self.session if session is ... else session
        request = self.request(*args, **more)
        return request, await self.pipeline.evaluate(request, session=session, agent="tester", owner=owner)

    async def redeem(self, verdict, request, *, isolation=Isolation.NONE, owner="tok", **changes):
        action = {"type": request.action.type, "payload": dict(request.action.payload), "cwd": request.action.cwd}
        return await self.pipeline.redeem(verdict.permit, action | changes, NONCE, isolation, owner=owner)

    def later(self, seconds):
        self.now_ms += int(seconds * 1000)
        self.now_ns += int(seconds * 1e9)

    def close(self):
        self.pool.close()
        self.store.close()


def says(opinion, **changes):
    """An opinion with some parts changed."""
    return replace(opinion, **changes)
