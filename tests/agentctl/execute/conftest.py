import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentctl.execute import ShieldGate
from agentctl.turns.messages import ToolResult
from fake_shield import TOKEN, FakeShield, fake_shield, proposed
from shield.client import AsyncClient
from shield.types import Decision, Verdict


@dataclass
class Bench:
    """A gate over a FakeShield and a workspace; each `do` is one action through the whole path."""

    fake: FakeShield
    workspace: Path

    def do(self, kind: str, **payload: Any) -> ToolResult | Verdict:
        return asyncio.run(self._do(kind, payload, {}))

    def do_with(self, options: dict[str, Any], kind: str, **payload: Any) -> ToolResult | Verdict:
        return asyncio.run(self._do(kind, payload, options))

    async def _do(self, kind: str, payload: dict[str, Any], options: dict[str, Any]) -> ToolResult | Verdict:
        async with AsyncClient(self.fake.endpoint, TOKEN) as client:
            session = await client.open_session([str(self.workspace)])
            gate = ShieldGate(client, session, **options)
            return await run(gate, kind, payload)


async def run(gate: ShieldGate, kind: str, payload: dict[str, Any]) -> ToolResult | Verdict:
    proposal = proposed(kind, payload)
    verdict = await gate.propose(proposal)
    if verdict.decision is not Decision.ALLOW:
        return verdict
    return await gate.run(proposal, verdict)


@pytest.fixture
def bench() -> Iterator[Bench]:
    with fake_shield() as fake, tempfile.TemporaryDirectory(prefix="ws") as workspace:
        yield Bench(fake, Path(workspace).resolve())
