"""Policies tried on cases: each case judged by the one pipeline, in its own made world."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shield.errors import Reason
from shield.facts.json import facts_json
from shield.pipeline import dry_run
from shield.policy.cases import Case, contains, read_cases
from shield.policy.load import add_workspace, load_policy
from shield.policy.set import PolicySet
from shield.policy.shelf import read_bounded, shipped_shelf
from shield.policy.world import AGENT, NOW
from shield.types import Facts, Json, Tier, Verdict

__all__ = ["Outcome", "Report", "Trial", "run_trials", "try_case"]

_NOW_MS = int(NOW.timestamp() * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One case under one policy. `wrong` says what differs, in words; empty where it passed.

    `troubled` names rules that could not be evaluated, which decided as their effect demands.
    """

    case: Case
    verdict: Verdict
    facts: Facts
    wrong: tuple[str, ...] = ()
    troubled: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        if self.verdict.rule == Reason.INTERNAL:
            return "error"
        return "fail" if self.wrong else "pass"

    def as_json(self) -> dict[str, Json]:
        """As CONTRACTS shows it; the facts come with what did not pass."""
        got: dict[str, Json] = {
            "decision": self.verdict.decision.value,
            "rule": self.verdict.rule,
            "need": int(self.verdict.need),
            "tier": int(self.verdict.tier),
            "reason": self.verdict.reason,
        }
        if self.troubled:
            got["rule_errors"] = list(self.troubled)
        if self.status != "pass":
            got |= {
                "wrong": list(self.wrong),
                "evidence": list(self.verdict.evidence),
                "facts": facts_json(self.facts),
            }
        return {
            "id": self.case.id,
            "file": self.case.file,
            "line": self.case.line,
            "status": self.status,
            "expected": self.case.expected.as_json(),
            "got": got,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One policy on all cases."""

    policy: str
    digest: str
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> int:
        return sum(outcome.status != "pass" for outcome in self.outcomes)

    def as_json(self) -> dict[str, Json]:
        return {
            "policy": self.policy,
            "digest": self.digest,
            "passed": len(self.outcomes) - self.failed,
            "failed": self.failed,
            "cases": [outcome.as_json() for outcome in self.outcomes],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every policy's trial. `notes` are for people: an overlay that does not load, rules that were overridden."""

    trials: tuple[Trial, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(trial.failed == 0 for trial in self.trials)

    def as_json(self) -> dict[str, Json]:
        return {"policies": [trial.as_json() for trial in self.trials]}


def run_trials(policies: Sequence[str], case_files: Sequence[Path], overlay: Path | None = None) -> Report:
    """Try each policy alone on all cases.

    Raises:
        PolicyError: a policy or case file cannot be read or does not load.
    """
    cases = [case for path in case_files for case in read_cases(read_bounded(path), str(path))]
    added = read_bounded(overlay) if overlay is not None else None
    shelf = shipped_shelf()
    trials, notes = [], []
    for reference in policies:
        policy = load_policy(reference, shelf)
        if policy.overridden:
            notes.append(f"`{reference}` overrides {', '.join(policy.overridden)}")
        if overlay is not None and added is not None:
            policy = add_workspace(policy, added, str(overlay))
            notes.extend(f"the overlay does not load: {layer.error}" for layer in policy.overlays if layer.error)
        outcomes = tuple(try_case(case, policy) for case in cases)
        trials.append(Trial(policy=reference, digest=policy.digest, outcomes=outcomes))
    return Report(trials=tuple(trials), notes=tuple(dict.fromkeys(notes)))


def try_case(case: Case, policy: PolicySet) -> Outcome:
    """One case, judged with the tiers above 0 absent."""
    before = dict(policy.errors)
    verdict, facts = dry_run(case.request, case.place, policy, agent=AGENT, now_ms=_NOW_MS, max_tier=Tier.POLICY)
    troubled = tuple(rule for rule, count in policy.errors.items() if count != before.get(rule, 0))
    return Outcome(case=case, verdict=verdict, facts=facts, wrong=_differences(case, verdict, facts), troubled=troubled)


def _differences(case: Case, verdict: Verdict, facts: Facts) -> tuple[str, ...]:
    wanted = case.expected
    wrong = []
    if verdict.decision not in wanted.decisions:
        words = " or ".join(decision.value for decision in wanted.decisions)
        wrong.append(f"decision is {verdict.decision.value}, not {words}")
    if wanted.rule is not None and verdict.rule != wanted.rule:
        wrong.append(f"rule is `{verdict.rule}`, not `{wanted.rule}`")
    if wanted.need is not None and verdict.need != wanted.need:
        wrong.append(f"need is {int(verdict.need)}, not {int(wanted.need)}")
    actual = facts_json(facts)
    wrong.extend(f"facts.{key} differs" for key, value in wanted.facts.items() if not contains(actual.get(key), value))
    return tuple(wrong)
