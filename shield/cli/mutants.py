"""Mutants of a policy tried on cases: which of them nobody notices."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shield.actions.registry import lookup
from shield.cli.outcome import NOW_MS, differences
from shield.cli.workers import spread
from shield.pipeline.judge import Judged, judge
from shield.pipeline.verdict import verdict_of
from shield.policy.cases import Case
from shield.policy.compiled import Rule
from shield.policy.set import PolicySet
from shield.policy.tools.asking import Answers, Asking, Shown, answers, shown_by
from shield.policy.tools.mutation import Mutant, bred, changes, sample
from shield.policy.tools.sources import Sources
from shield.policy.world import AGENT, NOW, WORKSPACE
from shield.tiers.settle import settle
from shield.types import Json, Opinion

__all__ = ["Mutation", "Prepared", "try_mutants"]

_TOGETHER = 8  # mutants that a worker is given at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """How many mutants there are, how many were tried, and those that neither a case nor an example noticed."""

    possible: int
    tried: int
    survivors: tuple[Mutant, ...]
    seed: int

    @property
    def percent(self) -> float | None:
        """The share of the tried mutants that were noticed; None where none was tried: nothing was shown."""
        return 100.0 * (self.tried - len(self.survivors)) / self.tried if self.tried else None

    def as_json(self) -> dict[str, Json]:
        return {
            "possible": self.possible,
            "tried": self.tried,
            "seed": self.seed,
            "percent": None if self.percent is None else f"{self.percent:.1f}",
            "survivors": [mutant.as_json() for mutant in self.survivors],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A case that passes, with everything that no mutant changes: the facts and the opinions of code."""

    case: Case
    asking: Asking
    others: tuple[Opinion, ...]

    @classmethod
    def of(cls, case: Case, policy: PolicySet) -> "Prepared":
        judged = judge(case.request, case.place, policy, agent=AGENT, now_ms=NOW_MS)
        # INVARIANT: tier 0's own opinion is the last one, as `judge` puts it
        return cls(case=case, asking=Asking.of(case.request.action, judged.facts), others=judged.opinions[:-1])

    def notices(self, policy: PolicySet) -> bool:
        """Whether this case fails under the policy."""
        asking, case = self.asking, self.case
        opinion = policy.judge(
            asking.action, lookup(asking.action.type), asking.facts, agent=AGENT, workspace=WORKSPACE, now=NOW
        )
        opinions = (*self.others, opinion)
        judged = Judged(facts=asking.facts, opinions=opinions, policy=policy.digest)
        verdict = verdict_of(case.request, settle(opinions), judged, evaluation="", now=NOW_MS, dry_run=True)
        return bool(differences(case.expected, verdict, asking.facts))


def try_mutants(
    sources: Sources,
    cases: Iterable[Prepared],
    *,
    count: int,
    seed: int,
    extended: bool,
    jobs: int = 1,
    tick: Callable[[str, int], None] | None = None,
) -> Mutation:
    """Breed at most `count` mutants, chosen by `seed`, and see which of them the cases and examples notice."""
    possible = changes(sources, extended=extended)
    chosen = sample(possible, count, seed)
    nursery = _Nursery(sources, tuple(cases))
    batches = [chosen[at : at + _TOGETHER] for at in range(0, len(chosen), _TOGETHER)]
    places = list(range(len(batches)))
    fates = [
        fate
        for found in spread(lambda place, heard: nursery.raise_all(batches[place], heard), places, jobs=jobs, tick=tick)
        for fate in found
    ]
    return Mutation(
        possible=len(possible),
        tried=sum(fate is not None for fate in fates),
        survivors=tuple(mutant for mutant, fate in zip(chosen, fates, strict=True) if fate),
        seed=seed,
    )


class _Nursery:
    """What the original answers, worked out once for each rule."""

    def __init__(self, sources: Sources, cases: tuple[Prepared, ...]) -> None:
        self._sources = sources
        self._cases = cases
        self._answers: dict[str, tuple[Answers, ...]] = {}
        self._shown: dict[str, tuple[Shown, ...]] = {}

    def raise_all(self, mutants: Sequence[Mutant], tick: Callable[[str, int], None]) -> list[bool | None]:
        """Whether each survives; None for one that would not load."""
        fates = [self._survives(mutant) for mutant in mutants]
        tick("mutants", len(mutants))
        return fates

    def _survives(self, mutant: Mutant) -> bool | None:
        grown = bred(self._sources, mutant)
        if grown is None:
            return None
        rule, changed = mutant.rule, grown.changed
        if mutant.tree is not None and changed is not None and not self._agrees(rule, changed):
            return False
        concerned = [case for case, was in zip(self._cases, self._was(rule), strict=True) if _differs(case, was, grown)]
        if not concerned:
            return True
        policy = self._sources.replacing(rule, changed)
        return not any(case.notices(policy) for case in concerned)

    def _was(self, rule: Rule) -> tuple[Answers, ...]:
        found = self._answers.get(rule.id)
        if found is None:
            found = self._answers[rule.id] = tuple(answers(rule, case.asking) for case in self._cases)
        return found

    def _agrees(self, rule: Rule, changed: Rule) -> bool:
        """Whether the rule's own examples still hold: a policy in which one does not would not load."""
        shown = self._shown.get(rule.id)
        if shown is None:
            shown = self._shown[rule.id] = shown_by(rule)
        return all(one.agrees(changed) for one in shown)


def _differs(case: Prepared, was: Answers, mutant: Mutant) -> bool:
    """Whether the mistake can show in this case: its condition answers otherwise, or what it leads to is another."""
    if mutant.tree is None:
        return any(answer is not False for answer in was)
    assert mutant.changed is not None
    return answers(mutant.changed, case.asking) != was
