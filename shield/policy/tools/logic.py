"""What can be proven of conditions by their form alone: never true, always true, one true wherever another is.

INVARIANT: only what follows is claimed. Where the terms are too many, or a claim is not understood, the answer is no.
"""

from collections.abc import Iterable

from shield.policy.cel.syntax import Node
from shield.policy.tools.form import Bounds, Claim, Form, Itself, Lists, OneOf, Quantified, Term, conjoined, form
from shield.policy.tools.tree import negated

__all__ = ["always", "implies", "never"]


def never(one: Form) -> bool:
    """Whether it can be proven that the condition is never true."""
    return one.terms is not None and all(_contradictory(term) for term in one.terms)


def always(tree: Node, lists: Lists) -> bool:
    """Whether it can be proven that the condition is always true."""
    return never(form(negated(tree), lists))


def implies(one: Form, other: Form, among: str | None = None) -> bool:
    """Whether it can be proven that `other` is true wherever `one` is. With `among`, `one` speaks of one element of
    that list (see `form`): what some element has to be, it may be itself."""
    if one.terms is None or other.terms is None:
        return False
    possible = [term for term in one.terms if not _contradictory(term)]
    return all(any(_term_implies(term, wanted, among) for wanted in other.terms) for term in possible)


def _contradictory(term: Term) -> bool:
    for subject, allowed, denied in _sets(term):
        del subject
        if allowed is not None and not allowed - denied:
            return True
    for least, most in _ranges(term):
        if least is not None and most is not None and least > most:
            return True
    selves = {claim for claim in term if isinstance(claim, Itself)}
    if any(Itself(claim.text, not claim.positive) in selves for claim in selves):
        return True
    quantified = [claim for claim in term if isinstance(claim, Quantified)]
    for claim in quantified:
        if claim.every:
            continue
        if never(claim.form):
            return True
        for rule in quantified:
            if (
                rule.every
                and (rule.base, rule.item) == (claim.base, claim.item)
                and never(conjoined((claim.form, rule.form)))
            ):
                return True
    return False


def _sets(term: Iterable[Claim]) -> list[tuple[str, frozenset[object] | None, frozenset[object]]]:
    """By subject: what it may be (None: anything), and what it is not."""
    allowed: dict[str, frozenset[object]] = {}
    denied: dict[str, frozenset[object]] = {}
    for claim in term:
        if isinstance(claim, OneOf) and claim.inside:
            before = allowed.get(claim.subject)
            allowed[claim.subject] = claim.values if before is None else before & claim.values
        elif isinstance(claim, OneOf):
            denied[claim.subject] = denied.get(claim.subject, frozenset()) | claim.values
    return [
        (subject, allowed.get(subject), denied.get(subject, frozenset()))
        for subject in dict.fromkeys((*allowed, *denied))
    ]


def _ranges(term: Iterable[Claim]) -> list[tuple[int | None, int | None]]:
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for claim in term:
        if isinstance(claim, Bounds):
            if claim.least is not None:
                least[claim.subject] = max(claim.least, least.get(claim.subject, claim.least))
            if claim.most is not None:
                most[claim.subject] = min(claim.most, most.get(claim.subject, claim.most))
    return [(least.get(subject), most.get(subject)) for subject in dict.fromkeys((*least, *most))]


def _term_implies(term: Term, wanted: Term, among: str | None) -> bool:
    return all(_is_one(term, want, among) or any(_claim_implies(have, want) for have in term) for want in wanted)


def _is_one(term: Term, want: Claim, among: str | None) -> bool:
    """Whether the element that the term speaks of is the one that has to be in the list."""
    if among is None or not isinstance(want, Quantified) or want.every or want.base != among:
        return False
    return implies(Form((term,)), want.form)


def _claim_implies(have: Claim, want: Claim) -> bool:
    if have == want:
        return True
    match have, want:
        case OneOf(), OneOf() if have.subject == want.subject and have.inside:
            return have.values <= want.values if want.inside else not have.values & want.values
        case OneOf(), OneOf() if have.subject == want.subject and not want.inside:
            return want.values <= have.values
        case Bounds(), Bounds() if have.subject == want.subject:
            below = want.least is None or (have.least is not None and have.least >= want.least)
            above = want.most is None or (have.most is not None and have.most <= want.most)
            return below and above
        case Quantified(), Quantified() if have.base == want.base and have.every == want.every:
            return have.item == want.item and implies(have.form, want.form)
    return False
