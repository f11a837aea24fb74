"""A loaded policy set and what it says of one action: deny-overrides, grants per element, trouble is never consent.

INVARIANT: an error, an unknown and an empty set all end in BLOCK or ESCALATE; no path through `judge` reaches ALLOW
without an allow rule having held for every element of the action.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from shield.actions.registry import ActionType
from shield.policy.compiled import Rule
from shield.policy.coverage import Coverage, cover
from shield.policy.names import DEFAULT_RULE
from shield.policy.roots import environment
from shield.policy.rule import Default, PolicyFile, RuleOrigin
from shield.policy.slices import Index, Slice
from shield.policy.trouble import Troubles
from shield.types import Action, Answer, Effect, Facts, Opinion, Tier

__all__ = ["Overlay", "PolicySet", "Shadowed"]

MAX_NAMES: Final = 8  # of rules in one line of evidence
BROKEN_OVERLAY: Final = "workspace:"  # a name that no rule can have


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What a workspace's `.shield.yaml` adds. `error` is set where it is present but does not load."""

    rules: tuple[Rule, ...] = ()
    file: PolicyFile | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadowed:
    """What tier 0 would say if rules that are not enforced were: `rules` are the ids of those that held."""

    rules: tuple[str, ...]
    opinion: Opinion

    @property
    def line(self) -> str:
        """One line of evidence: names and a decision, no text of a rule."""
        names = ", ".join(f"`{name}`" for name in self.rules[:MAX_NAMES])
        more = f" and {len(self.rules) - MAX_NAMES} more" if len(self.rules) > MAX_NAMES else ""
        needs = f" needing tier {int(self.opinion.need)}" if self.opinion.answer is not Answer.BLOCK else ""
        return f"not enforced: {names}{more}; if so, {self.opinion.answer.value}{needs} by `{self.opinion.rule}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A protective rule that held, or could not be evaluated and counts as if it had."""

    rule: Rule
    tier: Tier
    failed: bool


class PolicySet:
    """Immutable but for the count of errors. `digest` names everything that decides; verdicts carry it.

    `overridden` are the ids of extended rules (or `default`) that the owner's policy lowered or switched off, `files`
    what was loaded, the baseline first.
    """

    def __init__(
        self,
        *,
        name: str,
        digest: str,
        rules: Sequence[Rule],
        default: Default,
        overridden: Sequence[str] = (),
        overlays: Sequence[Overlay] = (),
        files: Sequence[PolicyFile] = (),
        troubles: Troubles | None = None,
        indexed: bool = True,
    ) -> None:
        self.name = name
        self.digest = digest
        self.rules = tuple(rules)
        self.default = default
        self.overridden = tuple(overridden)
        self.overlays = tuple(overlays)
        self.files = tuple(files)
        self._allows: dict[tuple[str, Tier, bool], Opinion] = {}
        self._troubles = troubles if troubles is not None else Troubles()
        self._indexed = indexed
        everything = (*self.rules, *(rule for overlay in self.overlays for rule in overlay.rules))
        self._index = Index(everything, indexed=indexed)
        self._broken = next((overlay for overlay in self.overlays if overlay.error is not None), None)

    @property
    def errors(self) -> Mapping[str, int]:
        """How often each rule could not be evaluated, since this set was loaded. Holds no values of actions."""
        return self._troubles.snapshot()

    def overlaid(self, overlay: Overlay, digest: str) -> "PolicySet":
        """This set with a workspace's rules added. They can only block or escalate, so it is never weaker."""
        return self._with(overlays=(*self.overlays, overlay), digest=digest, indexed=self._indexed)

    def unindexed(self) -> "PolicySet":
        """This set, asking every rule of a type in turn: what the index is measured and tested against."""
        return self._with(overlays=self.overlays, digest=self.digest, indexed=False)

    def _with(self, *, overlays: Sequence[Overlay], digest: str, indexed: bool) -> "PolicySet":
        return PolicySet(
            name=self.name,
            digest=digest,
            rules=self.rules,
            default=self.default,
            overridden=self.overridden,
            overlays=overlays,
            files=self.files,
            troubles=self._troubles,
            indexed=indexed,
        )

    def judge(
        self,
        action: Action,
        type: ActionType,  # the registry's word for it
        facts: Facts,
        *,
        agent: str,
        workspace: str,
        now: datetime,
    ) -> Opinion:
        """Tier 0's opinion. `now` is aware; `workspace` is the first workspace root or empty. Never raises."""
        try:
            return self._judge(action, type, facts, agent, workspace, now)
        except Exception:  # noqa: BLE001 - whatever goes wrong here, nothing may come out as allowed
            self._troubles.count("internal")
            return Opinion(tier=Tier.POLICY, answer=Answer.BLOCK, reason="the policy could not be evaluated")

    def shadowed(
        self, action: Action, type: ActionType, facts: Facts, *, agent: str, workspace: str, now: datetime
    ) -> "Shadowed | None":
        """What rules that are not enforced would make of an action; None where none of them held.

        Raises CelError: `now` has no time zone and a rule asks for it.
        """
        rules, values = self._asked(action, type, facts, agent, workspace, now)
        return self._shadowed(rules.tried, type, facts, values)

    def _asked(
        self, action: Action, kind: ActionType, facts: Facts, agent: str, workspace: str, now: datetime
    ) -> tuple[Slice, tuple[object, ...]]:
        rules = self._index.slice(action.type, agent)
        moment = now if rules.asks_time else None
        return rules, environment(action, kind, facts, agent=agent, workspace=workspace, now=moment)

    def _judge(
        self, action: Action, kind: ActionType, facts: Facts, agent: str, workspace: str, now: datetime
    ) -> Opinion:
        rules, values = self._asked(action, kind, facts, agent, workspace, now)
        opinion = self._decide(rules, kind, facts, values, self._troubles)
        if rules.tried is None:
            return opinion
        shadowed = self._shadowed(rules.tried, kind, facts, values)
        # INVARIANT: of rules that are not enforced nothing but this line comes out
        return opinion if shadowed is None else replace(opinion, evidence=(shadowed.line, *opinion.evidence))

    def _shadowed(
        self, tried: Slice | None, kind: ActionType, facts: Facts, values: tuple[object, ...]
    ) -> "Shadowed | None":
        if tried is None:
            return None
        try:
            apart = Troubles()
            matched, failed = tried.protective.test(values)
            held = (*matched, *failed, *cover(tried, kind, facts, values, apart).rules)
            names = tuple(dict.fromkeys(rule.id for rule in held if not rule.text.enforce))
            for rule in failed:
                if not rule.text.enforce:
                    self._troubles.count(rule.id)
            if not names:
                return None
            return Shadowed(rules=names, opinion=self._decide(tried, kind, facts, values, apart))
        except Exception:  # noqa: BLE001  # what is only tried must not disturb what decides
            self._troubles.count("internal")
            return None

    def _decide(
        self, rules: Slice, kind: ActionType, facts: Facts, values: tuple[object, ...], troubles: Troubles
    ) -> Opinion:
        held = _protective(rules, values, troubles)
        if held:
            blocks = [found for found in held if found.rule.effect is Effect.BLOCK]
            if blocks:
                return _opinion(Answer.BLOCK, Tier.PERSON, blocks)
        coverage = cover(rules, kind, facts, values, troubles)
        if not coverage.whole and self.default.effect is Effect.BLOCK:
            return _uncovered(Answer.BLOCK, Tier.PERSON, coverage)
        if self._broken is not None:
            return _broken_overlay(self._broken)
        asked = max([found.tier for found in held]) if held else Tier.POLICY
        if not coverage.whole:
            asked_by_default = Tier.PERSON if coverage.doubtful else self.default.to
            need = max(asked, asked_by_default, coverage.need)
            if held and asked == need:
                return _opinion(Answer.ESCALATE, need, held)
            return _uncovered(Answer.ESCALATE, need, coverage)
        if held:
            return _opinion(Answer.ESCALATE, max(asked, coverage.need), held)
        return self._allowed(coverage)

    def _allowed(self, coverage: Coverage) -> Opinion:
        """Of a set's rules and two flags there are only so many ALLOWs: each is made once."""
        need = coverage.need
        rule = coverage.named
        assert rule is not None  # where all is covered, something covers it
        # where no covering rule asks for more than tier 0, none asks for tier 1
        consents = need is not Tier.POLICY and any(found.tier is Tier.CLASSIFIER for found in coverage.rules)
        key = (rule.id, need, consents)
        opinion = self._allows.get(key)
        if opinion is None:
            opinion = self._allows[key] = _allow(rule, need, consents=consents)
        return opinion


def _protective(rules: Slice, values: tuple[object, ...], troubles: Troubles) -> list[_Held]:
    matched, failed = rules.protective.test(values)
    if not matched and not failed:
        return []
    held = [_Held(rule=rule, tier=rule.tier, failed=False) for rule in matched]
    for rule in failed:
        troubles.count(rule.id)
        held.append(_Held(rule=rule, tier=Tier.PERSON, failed=True))
    return held


def _strongest(held: Iterable[_Held]) -> _Held:
    """The one that asks for most, then the most severe, then the first by id."""
    return min(held, key=lambda found: (-found.tier, found.rule.order))


def _opinion(answer: Answer, need: Tier, held: Sequence[_Held]) -> Opinion:
    found = _strongest(held)
    rule = found.rule
    reason, advice = rule.text.reason, rule.text.advice
    evidence: tuple[str, ...] = ()
    if rule.origin is RuleOrigin.WORKSPACE:
        # A workspace's texts reach people (evidence) and never the model (reason, advice).
        evidence = (f"rule `{rule.id}` of `{rule.file}`: {reason}",)
        reason, advice = "a rule of this workspace applies to this", None
    if found.failed:
        evidence = (*evidence, f"rule `{rule.id}` could not be evaluated for these facts")
    return Opinion(
        tier=Tier.POLICY,
        answer=answer,
        need=need,
        rule=rule.id,
        reason=reason,
        advice=advice,
        severity=rule.text.severity,
        evidence=evidence,
    )


def _broken_overlay(overlay: Overlay) -> Opinion:
    return Opinion(
        tier=Tier.POLICY,
        answer=Answer.ESCALATE,
        need=Tier.PERSON,
        rule=BROKEN_OVERLAY,
        reason="the workspace's policy file does not load, so a person decides everything here",
        evidence=(overlay.error or "it does not load",),
    )


def _uncovered(answer: Answer, need: Tier, coverage: Coverage) -> Opinion:
    return Opinion(
        tier=Tier.POLICY,
        answer=answer,
        need=need,
        rule=DEFAULT_RULE,
        reason=coverage.reason,
        advice=coverage.advice,
        evidence=coverage.gaps,
    )


def _allow(rule: Rule, need: Tier, *, consents: bool) -> Opinion:
    return Opinion(
        tier=Tier.POLICY,
        answer=Answer.ALLOW,
        need=need,
        rule=rule.id,
        reason=rule.text.reason,
        advice=rule.text.advice,
        severity=rule.text.severity,
        consents_to_silence=consents,
    )
