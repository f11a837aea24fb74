"""Laws of the whole path, for any order of faults and any mix of opinions."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline_bench import Bench, MemoryLog
from shield.errors import PermitError, RecordError
from shield.permits import verify_receipt
from shield.types import Answer, Decision, Opinion, Tier

OPINIONS = st.builds(
    Opinion,
    tier=st.just(Tier.POLICY),
    answer=st.sampled_from(Answer),
    need=st.sampled_from(Tier),
    consents_to_silence=st.booleans(),
)


class Faulty(MemoryLog):
    """A log that fails where it is told to, before or after the record is durable."""

    def __init__(self, faults):
        super().__init__()
        self.faults = list(faults)

    async def append(self, kind, body, **more):
        fault = self.faults.pop() if self.faults else "none"
        if fault == "before":
            raise RecordError("the disk is gone")
        appended = await super().append(kind, body, **more)
        if fault == "after":
            raise RecordError("durable, but nobody was told")
        return appended


@settings(max_examples=40)
@given(
    faults=st.lists(st.sampled_from(["none", "before", "after"]), max_size=12),
    opinions=st.lists(OPINIONS, min_size=1, max_size=6),
)
def test_every_allow_is_in_the_log_before_it_is_seen_and_every_receipt_too(faults, opinions):
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        bench = Bench(Path(folder), configured=False)
        (bench.workspace / "a.txt").write_text("x")
        log = Faulty(faults)
        bench.log = log
        for part in (bench.pipeline._evaluator, bench.pipeline._questions, bench.pipeline._outcomes):
            object.__setattr__(part, "recorder", log)

        async def one(opinion):
            bench.rules.opinion = opinion
            request, verdict = await bench.evaluate()
            if verdict.decision is Decision.ALLOW:
                # the law: it is there, now, and says the same
                body = log.records[verdict.seq]["body"]
                assert (body["id"], body["decision"]) == (verdict.id, "ALLOW")
                # and no ALLOW but where tier 0 itself allowed and nothing asked for more
                assert opinion.answer is Answer.ALLOW
                assert opinion.need is Tier.POLICY
                try:
                    receipt = verify_receipt(await bench.redeem(verdict, request), bench.pipeline.public_key)
                except (PermitError, RecordError):
                    return
                record = log.records[receipt.seq]
                assert (record["kind"], record["call_id"], record["ref"]) == ("executing", receipt.jti, verdict.seq)
            else:
                assert verdict.permit is None

        async def main():
            for opinion in opinions:
                await one(opinion)

        asyncio.run(main())
        executing = [record["call_id"] for record in log.records if record["kind"] == "executing"]
        assert len(executing) == len(set(executing))
        bench.close()
