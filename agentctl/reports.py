"""What is said of a tool's end: to Shield by us, and to the model by Shield."""

from typing import Final

from agentctl.tools.output import Output
from agentctl.turns.messages import ToolResult
from shield.types import Decision, Outcome, OutcomePart, OutcomeReply, OutcomeStatus

__all__ = ["report_of", "result_of", "withheld"]

_NOTE: Final = "note"
_WITHHELD: Final = "[withheld by Shield"  # begins what Shield gives in place of a part that it does not give back


def report_of(jti: str, output: Output, duration_us: int) -> Outcome:
    """What Shield is told of an action that ran."""
    note = _note(output)
    return Outcome(
        jti=jti,
        status=output.status,
        exit_code=output.exit_code,
        duration_us=duration_us,
        # our own words on it, too: they name hosts and files, and whoever ran there chose what these are called
        content=output.parts if note is None else (*output.parts, OutcomePart(role=_NOTE, text=note)),
        bytes=output.bytes,
        sha256=output.sha256,
        truncated=output.truncated,
    )


def result_of(call: str, output: Output, received: OutcomeReply) -> ToolResult:
    """The result of the model's call of this id."""
    return ToolResult(
        id=call,
        content=_shown(received.content),
        is_error=output.status is not OutcomeStatus.OK,
        decision=Decision.ALLOW,
        labels=received.labels,
        aside=_aside(output, received),
    )


def withheld(call: str, why: str) -> ToolResult:
    """The result where Shield takes no outcome: the model sees nothing of it."""
    reason = f"it ran, but its output is withheld: {why}"
    return ToolResult(id=call, content=reason, is_error=True, decision=Decision.ALLOW, reason=reason)


def _aside(output: Output, received: OutcomeReply) -> str | None:
    """Where Shield kept something back: what shows a person why. What a tool printed by itself is no such notice."""
    printed = {part.text for part in output.parts}
    if any(part.text.startswith(_WITHHELD) and part.text not in printed for part in received.content):
        return f"the model was not given it either; `shield audit show {received.seq}` says which rule spoke against it"
    return None


def _note(output: Output) -> str | None:
    """Our own word on how the tool ended, where it says more than that it went well."""
    written = any(part.text for part in output.parts)
    told = output.status is not OutcomeStatus.OK or not written or not (output.note or "").startswith("exit code")
    return f"[{output.note}]" if output.note and told else None


def _shown(content: tuple[OutcomePart, ...]) -> str:
    """What the model is given. INVARIANT: nothing but what Shield gave back, the word on how it ended included."""
    pieces = [f"[stderr]\n{part.text}" if part.role == "stderr" else part.text for part in content if part.text]
    return "\n".join(piece.rstrip("\n") for piece in pieces) or "[no output]"
