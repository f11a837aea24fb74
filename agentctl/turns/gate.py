"""The loop's only way to the world: propose, wait, run. `agentctl/execute.py` implements it over Shield."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentctl.turns.messages import ToolCall, ToolResult
from shield.types import Json, Verdict

__all__ = ["Gate", "Proposal", "ToolSpec", "Toolbox"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it, and the action it proposes.

    `name` matches `[A-Za-z0-9_-]{1,64}` (providers refuse others); `parameters` is a JSON Schema of type `object`
    whose fields are the payload's; `action_type` is the registry's name. Only where all calls of an answer are
    `reads_only` do they run side by side; it lowers nothing at Shield.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    action_type: str
    reads_only: bool = False


class Toolbox(Protocol):
    """The registry of tools."""

    def specs(self) -> Sequence[ToolSpec]:
        """Every tool the model may name, in a fixed order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An action about to be proposed. `call.id` is the `tool_call_id` and matches `[A-Za-z0-9_-]{1,64}`.

    `intent` is the model's own words before the call: an unverified claim.
    """

    call: ToolCall
    type: str
    payload: Mapping[str, Json]
    intent: str | None = None


class Gate(Protocol):
    """Shield's enforcement point. Every method raises GateError (or a `shield.errors.ShieldError`) where nothing that
    can be trusted came back; the loop then ends the turn and runs nothing more.

    A method that is cancelled leaves no child and no open file behind before it lets `CancelledError` go on.
    """

    async def propose(self, proposal: Proposal) -> Verdict:
        """Ask for a verdict; nothing is run. Called side by side for the calls of one answer."""
        ...

    async def wait(self, verdict: Verdict) -> Verdict:
        """One long poll on an ESCALATE that has an approval: its verdict when that changed, or after about 30 s."""
        ...

    async def run(self, proposal: Proposal, verdict: Verdict) -> ToolResult | Verdict:
        """Redeem the permit of an ALLOW, run, report, and give what the model may see.

        A `Verdict` instead says that nothing was run because the action was judged again (expired, files changed) and
        the answer is no longer ALLOW: the loop waits on it or refuses. `ToolResult.id` is `proposal.call.id`.
        """
        ...
