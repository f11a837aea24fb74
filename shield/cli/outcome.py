"""One case under one policy: how it was judged, what differs from what it wants, and what a report says of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from shield.errors import Reason
from shield.facts.json import facts_json
from shield.pipeline import dry_run
from shield.policy.cases import Case, Expected, contains
from shield.policy.set import PolicySet
from shield.policy.world import AGENT, NOW
from shield.types import Decision, Facts, Json, Tier, Verdict

__all__ = ["NOW_MS", "Outcome", "Result", "differences", "try_case"]

NOW_MS = int(NOW.timestamp() * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a report says of one case, in plain values: it is sent from one process to another.

    `wrong` says what differs, in words; empty where it passed. `troubled` names rules that could not be evaluated,
    which decided as their effect demands. `facts` come with what did not pass.
    """

    id: str
    file: str
    line: int
    expected: Mapping[str, Json]
    decision: Decision
    rule: str
    need: Tier
    tier: Tier
    reason: str
    evidence: tuple[str, ...]
    wrong: tuple[str, ...]
    troubled: tuple[str, ...]
    facts: Mapping[str, Json]

    @property
    def status(self) -> str:
        if self.rule == Reason.INTERNAL:
            return "error"
        return "fail" if self.wrong else "pass"

    def as_json(self) -> dict[str, Json]:
        """As CONTRACTS shows it."""
        got: dict[str, Json] = {
            "decision": self.decision.value,
            "rule": self.rule,
            "need": int(self.need),
            "tier": int(self.tier),
            "reason": self.reason,
        }
        if self.troubled:
            got["rule_errors"] = list(self.troubled)
        if self.status != "pass":
            got |= {"wrong": list(self.wrong), "evidence": list(self.evidence), "facts": dict(self.facts)}
        return {
            "id": self.id,
            "file": self.file,
            "line": self.line,
            "status": self.status,
            "expected": dict(self.expected),
            "got": got,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One case under one policy, as it was judged."""

    case: Case
    verdict: Verdict
    facts: Facts
    wrong: tuple[str, ...] = ()
    troubled: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        return self.result().status

    def result(self) -> Result:
        """What of it is reported."""
        case, verdict = self.case, self.verdict
        passed = not self.wrong and verdict.rule != Reason.INTERNAL
        return Result(
            id=case.id,
            file=case.file,
            line=case.line,
            expected=case.expected.as_json(),
            decision=verdict.decision,
            rule=verdict.rule,
            need=verdict.need,
            tier=verdict.tier,
            reason=verdict.reason,
            evidence=() if passed else verdict.evidence,
            wrong=self.wrong,
            troubled=self.troubled,
            facts={} if passed else facts_json(self.facts),
        )


def try_case(case: Case, policy: PolicySet) -> Outcome:
    """One case, judged with the tiers above 0 absent."""
    before = dict(policy.errors)
    verdict, facts = dry_run(case.request, case.place, policy, agent=AGENT, now_ms=NOW_MS, max_tier=Tier.POLICY)
    troubled = tuple(rule for rule, count in policy.errors.items() if count != before.get(rule, 0))
    wrong = differences(case.expected, verdict, facts)
    return Outcome(case=case, verdict=verdict, facts=facts, wrong=wrong, troubled=troubled)


def differences(wanted: Expected, verdict: Verdict, facts: Facts) -> tuple[str, ...]:
    """What of a verdict is not as it was wanted, in words."""
    wrong = []
    if verdict.decision not in wanted.decisions:
        words = " or ".join(decision.value for decision in wanted.decisions)
        wrong.append(f"decision is {verdict.decision.value}, not {words}")
    if wanted.rule is not None and verdict.rule != wanted.rule:
        wrong.append(f"rule is `{verdict.rule}`, not `{wanted.rule}`")
    if wanted.need is not None and verdict.need != wanted.need:
        wrong.append(f"need is {int(verdict.need)}, not {int(wanted.need)}")
    if wanted.facts:
        actual = facts_json(facts)
        wrong.extend(
            f"facts.{key} differs" for key, value in wanted.facts.items() if not contains(actual.get(key), value)
        )
    return tuple(wrong)
