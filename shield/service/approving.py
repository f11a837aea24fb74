"""What an approver does: see the open questions, look at one, answer it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from shield.service.call import Body, Call, Context, Reply, held, read_body, wait_of
from shield.service.shapes import approval_json, encode
from shield.types import Approval, ApprovalAnswer, Scope

__all__ = ["answer", "approval", "approvals"]


_LISTED_MAX = 4 * 1024 * 1024  # bytes of questions in one answer, which a client takes up to MAX_ANSWER of


class AnswerBody(Body):
    answer: Literal["approve", "deny"]
    scope: Literal["once", "session"] = "once"
    pattern: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    note: Annotated[str, Field(max_length=4096)] = ""


async def approvals(context: Context, call: Call) -> Reply:
    """`GET /v1/approvals?wait=`: the open questions, oldest first; `wait` holds an empty answer back.

    The first one, and of the others as many as fit: with 20 of 8 MiB an agent would keep people from seeing any.
    """
    queue = context.judge.approvals
    queue.seen()

    async def ask(wait_s: float) -> Sequence[Approval]:
        ends = context.now() + wait_s
        while not (found := queue.pending()) and (left := ends - context.now()) > 0 and not context.stopping.is_set():
            await queue.wait(left)
        return found

    found = await held(context, call, wait_of(call), ask)
    queue.seen()
    return Reply(body=b'{"approvals":[%b]}' % b",".join(_listed(found)))


def _listed(found: Sequence[Approval]) -> Iterator[bytes]:
    left = _LISTED_MAX
    for item in found:
        shape = encode(approval_json(item))
        left -= len(shape)
        if left < 0 and item is not found[0]:
            return
        yield shape


async def approval(context: Context, call: Call) -> Reply:
    """`GET /v1/approvals/{approval}`: the whole question."""
    context.judge.approvals.seen()
    return Reply(body=encode(approval_json(context.judge.approvals.get(call.params["approval"]))))


async def answer(context: Context, call: Call) -> Reply:
    """`POST /v1/approvals/{approval}`: the first answer stands; another one is 409."""
    body, _ = read_body(call.body, AnswerBody)
    context.judge.approvals.seen()
    given = ApprovalAnswer(
        approve=body.answer == "approve", scope=Scope(body.scope), pattern=body.pattern, note=body.note
    )
    by = call.caller.name
    settled = await context.judge.answer(call.params["approval"], given, by=by)
    return Reply(body=encode(approval_json(settled)))
