"""Rules beside rules: one that never matters because of a stronger one, one that says what another one says already."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shield.policy.compiled import Rule
from shield.policy.lint.finding import CODES, Finding
from shield.policy.rule import Grant, strength
from shield.policy.tools.form import Form, form
from shield.policy.tools.logic import implies, never
from shield.policy.tools.sources import Sources
from shield.types import Effect

__all__ = ["check_pairs"]

MAX_PAIRS: Final = 250_000  # of rules compared: some seconds
_LISTS = {Grant.PATH: "paths", Grant.COMMAND: "commands", Grant.HOST: "hosts", Grant.RECIPIENT: "recipients"}


@dataclass(frozen=True, slots=True)
class _Stated:
    """A rule with its condition's form: about the action, and for an allow rule about one element of a list."""

    rule: Rule
    form: Form
    among: str | None


def check_pairs(sources: Sources) -> Iterator[Finding]:
    """SH004 and SH005: each rule under test with every rule that is in force."""
    own = {rule.id for rule in sources.of(extended=False)}
    stated = [_stated(rule, sources) for rule in sources.rules if rule.text.enforce]
    stated = [one for one in stated if not never(one.form)]
    checked = [one for one in stated if one.rule.id in own]
    for weak in checked[: MAX_PAIRS // max(len(stated), 1)]:
        for strong in stated:
            found = _compare(weak, strong)
            if found is not None:
                yield found
                break


def _stated(rule: Rule, sources: Sources) -> _Stated:
    among = _LISTS.get(rule.grants) if rule.grants is not None else None
    item = rule.grants.value if among is not None and rule.grants is not None else None
    return _Stated(rule, form(sources.tree(rule), sources.file(rule).lists, item), among)


def _compare(weak: _Stated, strong: _Stated) -> Finding | None:
    one, other = weak.rule, strong.rule
    if one is other or not _wherever(one, other):
        return None
    if other.effect is Effect.ALLOW:
        # an allow rule makes another one needless only where both speak of the same elements, and it asks for as much
        if one.effect is not Effect.ALLOW or one.grants is not other.grants or one.tier > other.tier:
            return None
        if not implies(weak.form, strong.form) or (one.tier == other.tier and _first(weak, strong)):
            return None
        if one.tier < other.tier:
            return _finding("SH004", one, other, f"asks for tier {int(other.tier)} wherever this rule holds")
        return _finding("SH005", one, other, "covers all that this rule allows")
    above, below = strength(other.effect, other.tier), strength(one.effect, one.tier)
    if above < below or not implies(weak.form, strong.form, weak.among):
        return None
    if other.effect is one.effect and above == below:
        return (
            None
            if _first(weak, strong)
            else _finding("SH005", one, other, f"{other.effect.value}s all of this already")
        )
    return _finding("SH004", one, other, f"{other.effect.value}s wherever this rule holds")


def _wherever(one: Rule, other: Rule) -> bool:
    """Whether `other` is asked whenever `one` is: for the same types and agents."""
    types = other.types is None or (one.types is not None and one.types <= other.types)
    agents = one.text.agents, other.text.agents
    return types and (agents[1] is None or (agents[0] is not None and agents[0] <= agents[1]))


def _first(weak: _Stated, strong: _Stated) -> bool:
    """Of two rules that say the same, only the later one is needless."""
    return implies(strong.form, weak.form) and _wherever(strong.rule, weak.rule) and weak.rule.id < strong.rule.id


def _finding(code: str, one: Rule, other: Rule, said: str) -> Finding:
    where = f"{other.file}:{other.text.mark.line}"
    fix = "remove this rule" if code == "SH005" else "remove this rule, or narrow the other one"
    message = f"`{other.id}` ({where}) {said}"
    return Finding(code=CODES[code], file=one.file, mark=one.text.mark, rule=one.id, message=message, fix=fix)
