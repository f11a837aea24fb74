"""A rule that is not enforced: in the record for auditors, nowhere in what an agent gets, and of no effect."""

import asyncio

import pytest

from pipeline_bench import Bench
from policy_support import Folder, rules
from shield.service.shapes import verdict_json
from shield.types import Decision, Role

READ = "{id: read, effect: allow, grants: path, when: path.inside_workspace && path.access == 'read'}"
LINE = "not enforced: `stop`; if so, BLOCK by `stop`"


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    (found.workspace / "a.txt").write_text("hello\n")
    folder = tmp_path / "policies"
    folder.mkdir()
    stop = "{id: stop, effect: block, when: 'true', enforce: false, reason: a text of the rule}"
    found.rules = Folder(folder).policy(rules(READ, stop))
    yield found
    found.close()


def test_what_is_tried_is_recorded_and_the_call_goes_ahead(bench):
    async def main():
        request, verdict = await bench.evaluate()
        await bench.redeem(verdict, request)
        return verdict

    verdict = asyncio.run(asyncio.wait_for(main(), 60))
    assert (verdict.decision, verdict.rule) == (Decision.ALLOW, "read")
    assert bench.log.kinds() == ["decision", "executing"]
    body = bench.log.records[0]["body"]
    assert (body["decision"], body["rule"], body["evidence"]) == ("ALLOW", "read", [LINE])
    assert "a text of the rule" not in str(bench.log.records)
    assert "stop" not in str(verdict_json(verdict, Role.AGENT))
    assert verdict_json(verdict, Role.AUDITOR)["evidence"] == [LINE]


def test_lines_of_evidence_are_recorded_once(bench):
    verdict = asyncio.run(asyncio.wait_for(bench.evaluate("write_file", {"path": "b.txt", "content": "x"}), 60))[1]
    assert verdict.decision is not Decision.ALLOW
    evidence = bench.log.records[0]["body"]["evidence"]
    assert LINE in evidence
    assert len(set(evidence)) == len(evidence)
