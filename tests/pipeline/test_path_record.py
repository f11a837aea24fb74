"""What an agent writes into every field it has, and what of that the log holds: always a record, never a secret."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.entry import Draft, encode
from pipeline_bench import ALLOW, ASK, BLOCK, NONCE, Bench
from shield.actions.request import make_action
from shield.errors import PermitError
from shield.permits import PermitKey
from shield.pipeline.bodies import view
from shield.pipeline.redacted import Known
from shield.types import ApprovalAnswer, Decision, Facts, Isolation

SECRET = "ghp_" + "a1B2" * 9
WORST = ("\x01", "\\", '"', "\U0001f600", "é", "\u2028")


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    (found.workspace / "a.txt").write_text("hello\n")
    yield found
    found.close()


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


@pytest.mark.parametrize("char", WORST)
@pytest.mark.parametrize("nested", [False, True])
def test_no_payload_is_too_large_to_be_recorded(bench, char, nested):
    fields = {char * 300 + str(index): char * 300 for index in range(30)}
    payload = {"path": "a.txt", **({"headers": fields} if nested else fields)}
    _, verdict = run(
        bench.evaluate(payload=payload, intent=char * 900, cwd="/" + char * 1_000, id="~" * 128, tool_call_id="c" * 64)
    )
    assert verdict.decision in Decision
    (record,) = bench.log.records
    # raises where the log would not take it
    encode(Draft(kind="decision", body=record["body"], session="s" * 64, agent="a" * 64, call_id="c" * 64), log="l")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(WORST), st.integers(150, 260)), min_size=15, max_size=40))
def test_a_view_of_keys_alone_is_small_too(keys):
    payload = {f"{char * length}{index}": 1 for index, (char, length) in enumerate(keys)}
    action = make_action("notify", payload, None)
    body = {"view": view(action, Known(action, Facts()))}
    assert len(encode(Draft(kind="decision", body=body), log="l").body) <= 9_000


@pytest.mark.parametrize(
    "more",
    [
        {"id": SECRET},
        {"tool_call_id": SECRET},
        {"intent": f"use {SECRET}"},
        {"cwd": f"/tmp/{SECRET}"},
        {"type": f"mcp:{SECRET}/x"},
        {"payload": {"path": "a.txt", SECRET: 1}},
        {"payload": {"path": SECRET}},
        {"payload": {"path": "a.txt", "x": [[[{"y": SECRET}]]]}},
    ],
)
def test_a_secret_in_any_field_stays_out_of_the_log(bench, more):
    run(bench.evaluate(**more))
    assert bench.log.kinds() == ["decision"]
    assert SECRET not in str(bench.log.records)


@pytest.mark.parametrize("opinion", [ALLOW, ASK, BLOCK])
def test_a_secret_in_a_rule_stays_out_of_the_log(bench, opinion):
    bench.rules.opinion = replace(opinion, rule=f"mine.{SECRET}", reason=f"because {SECRET}", evidence=(SECRET,))

    async def main():
        _, verdict = await bench.evaluate()
        if verdict.approval is not None:
            await bench.pipeline.answer(verdict.approval, ApprovalAnswer(approve=True, note=SECRET), by="person")
            await bench.pipeline.current(verdict.evaluation, owner="tok", wait_s=0)

    run(main())
    assert bench.log.kinds() == (["decision"] if opinion is not ASK else ["decision", "approval", "decision"])
    assert SECRET not in str(bench.log.records)


def test_a_permit_that_nobody_gave_out_leaves_a_trace(bench):
    action = {"type": "read_file", "payload": {"path": "a.txt"}, "cwd": str(bench.workspace)}

    async def main():
        _, verdict = await bench.evaluate()
        foreign = PermitKey().sign_permit(bench.pipeline._evaluator.ledger.issued(verdict.evaluation).permit)
        for permit, owner in (("x.y.z", "tok"), (foreign, "tok"), (verdict.permit, "another token")):
            with pytest.raises(PermitError):
                await bench.pipeline.redeem(permit, action, NONCE, Isolation.NONE, owner=owner)
        await bench.pipeline.stop()

    run(main())
    rejected = [record["body"] for record in bench.log.records if record["kind"] == "rejected"]
    assert [body["reason"] for body in rejected] == ["mismatch", "mismatch"]
    assert sum(body["count"] for body in rejected) == 3
    assert "x.y.z" not in str(rejected)


@pytest.mark.parametrize("approve", [True, False])
def test_what_follows_a_persons_answer_names_it(bench, approve):
    bench.rules.opinion = ASK

    async def main():
        request, asked = await bench.evaluate()
        await bench.evaluate()
        await bench.pipeline.answer(asked.approval, ApprovalAnswer(approve=approve), by="person")
        verdict = await bench.pipeline.current(asked.evaluation, owner="tok", wait_s=0)
        if approve:
            await bench.redeem(verdict, request)

    run(main())
    shown = [(record["kind"], record["ref"]) for record in bench.log.records]
    expected = [("decision", None), ("decision", None), ("approval", 0), ("decision", 2)]
    assert shown == ([*expected, ("executing", 3)] if approve else expected)
