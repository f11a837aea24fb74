"""The need algebra: silence is not consent, trouble is not consent, nothing lowers a need."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shield.tiers.absent import AbsentTier
from shield.tiers.person import no_approver, person
from shield.tiers.settle import need_of, settle
from shield.types import Answer, Decision, Opinion, Tier

ORDER = [Decision.ALLOW, Decision.ESCALATE, Decision.BLOCK]
OPINIONS = st.builds(
    Opinion,
    tier=st.sampled_from(Tier),
    answer=st.sampled_from(Answer),
    need=st.sampled_from(Tier),
    consents_to_silence=st.booleans(),
)


def opinion(tier, answer, need=0, **more):
    return Opinion(tier=Tier(tier), answer=answer, need=Tier(need), rule=f"t{tier}", **more)


def test_no_opinion_at_all_is_block():
    settled = settle(())
    assert (settled.decision, settled.need) == (Decision.BLOCK, Tier.PERSON)


def test_the_default_opinion_blocks():
    assert settle((Opinion(tier=Tier.POLICY),)).decision is Decision.BLOCK


@pytest.mark.parametrize(
    ("opinions", "decision", "need"),
    [
        ([(0, Answer.ALLOW)], Decision.ALLOW, 0),
        ([(0, Answer.NO_OBJECTION)], Decision.ESCALATE, 0),
        ([(0, Answer.ALLOW, 1)], Decision.ESCALATE, 1),
        ([(0, Answer.ALLOW, 1), (1, Answer.NO_OBJECTION)], Decision.ESCALATE, 1),
        ([(0, Answer.ALLOW, 1), (1, Answer.ALLOW)], Decision.ALLOW, 1),
        ([(0, Answer.ALLOW, 2), (1, Answer.ALLOW)], Decision.ESCALATE, 2),
        ([(0, Answer.ALLOW), (0, Answer.NO_OBJECTION, 3)], Decision.ESCALATE, 3),
        ([(0, Answer.ESCALATE)], Decision.ESCALATE, 1),
        ([(0, Answer.ESCALATE, 2), (2, Answer.ALLOW)], Decision.ALLOW, 2),
        ([(0, Answer.ESCALATE, 2), (2, Answer.ESCALATE)], Decision.ESCALATE, 3),
        ([(0, Answer.ESCALATE, 3), (2, Answer.ALLOW)], Decision.ESCALATE, 3),
        ([(0, Answer.ESCALATE, 3), (3, Answer.ALLOW, 3)], Decision.ALLOW, 3),
        ([(0, Answer.BLOCK), (3, Answer.ALLOW, 3)], Decision.BLOCK, 3),
        ([(0, Answer.ALLOW), (0, Answer.BLOCK)], Decision.BLOCK, 0),
        ([(0, Answer.ESCALATE, 2), (1, Answer.BLOCK)], Decision.BLOCK, 2),
    ],
)
def test_table(opinions, decision, need):
    settled = settle([opinion(*item) for item in opinions])
    assert settled.decision is decision
    if decision is not Decision.BLOCK:
        assert settled.need == need


def test_silence_is_consent_only_where_an_allow_rule_asked_tier_1():
    allow = opinion(0, Answer.ALLOW, 1, consents_to_silence=True)
    silent = opinion(1, Answer.NO_OBJECTION)
    assert settle([allow, silent]).decision is Decision.ALLOW
    assert settle([allow, opinion(1, Answer.NO_OBJECTION, consents_to_silence=True)]).decision is Decision.ALLOW
    assert settle([opinion(0, Answer.ALLOW, 1), silent]).decision is Decision.ESCALATE
    # only tier 0 consents, and only for tier 1
    assert settle(
        [opinion(0, Answer.ALLOW, 1), opinion(1, Answer.NO_OBJECTION, consents_to_silence=True)]
    ).decision is (Decision.ESCALATE)
    assert settle(
        [opinion(0, Answer.ALLOW, 2, consents_to_silence=True), opinion(2, Answer.NO_OBJECTION)]
    ).decision is (Decision.ESCALATE)


@given(st.lists(OPINIONS, max_size=5), st.sampled_from(Tier), st.sampled_from(Tier))
def test_a_higher_least_never_weakens(opinions, least, other):
    low, high = sorted((least, other))
    assert ORDER.index(settle(opinions, low).decision) <= ORDER.index(settle(opinions, high).decision) or (
        # a higher need can only be answered by a higher tier that itself allowed
        settle(opinions, high).by.tier == settle(opinions, high).need
    )
    assert settle(opinions, low).need <= settle(opinions, high).need


@given(st.lists(OPINIONS, max_size=5), OPINIONS)
def test_nothing_lowers_need(opinions, one_more):
    assert need_of([*opinions, one_more]) >= need_of(opinions)


@given(st.lists(OPINIONS, max_size=5), OPINIONS.filter(lambda found: found.answer is Answer.BLOCK))
def test_any_block_is_final(opinions, block):
    for position in range(len(opinions) + 1):
        assert settle([*opinions[:position], block, *opinions[position:]]).decision is Decision.BLOCK


@given(st.lists(OPINIONS, min_size=1, max_size=6))
def test_allow_means_that_the_tier_of_need_answered(opinions):
    settled = settle(opinions)
    if settled.decision is Decision.ALLOW:
        assert any(
            item.tier == settled.need and item.answer in (Answer.ALLOW, Answer.NO_OBJECTION) for item in opinions
        )
        assert all(item.need <= settled.need for item in opinions)


@given(st.lists(OPINIONS, min_size=1, max_size=4))
def test_order_does_not_matter(opinions):
    decisions = {(settle(list(order)).decision, settle(list(order)).need) for order in itertools.permutations(opinions)}
    assert len(decisions) == 1


@pytest.mark.parametrize("tier", [Tier.CLASSIFIER, Tier.JUDGE])
def test_an_absent_tier_hands_up_and_explains_what_nothing_else_asked_for(tier):
    absent = AbsentTier(tier=tier).opinion()
    allowed = opinion(0, Answer.ALLOW, tier)
    settled = settle([allowed, absent])
    assert (settled.decision, settled.need) == (Decision.ESCALATE, tier + 1)
    assert settled.by is absent
    # who reads "reading inside the workspace" does not learn why they are asked
    for asked in (opinion(0, Answer.ESCALATE, 3), opinion(0, Answer.NO_OBJECTION, 3)):
        assert settle([allowed, asked, absent]).by is asked


def test_a_policy_that_asks_has_consented_to_nothing():
    silent = opinion(1, Answer.NO_OBJECTION)
    assert settle([opinion(0, Answer.ALLOW, 1, consents_to_silence=True), silent]).decision is Decision.ALLOW
    for answer in (Answer.ESCALATE, Answer.NO_OBJECTION):
        asked = opinion(0, answer, 1, consents_to_silence=True)
        assert settle([asked, silent]).decision is Decision.ESCALATE


def test_what_was_content_with_less_does_not_explain_a_question():
    allowed = opinion(0, Answer.ALLOW, 1)
    silent = opinion(1, Answer.NO_OBJECTION)
    assert settle([allowed, silent]).by is allowed
    found = opinion(1, Answer.ESCALATE, 3)
    assert settle([allowed, found]).by is found


def test_nobody_to_ask_is_a_block_that_says_what_for():
    found = no_approver("it sends a message")
    assert found.answer is Answer.BLOCK
    assert found.rule == "no_approver"
    assert "it sends a message" in found.reason
    # answering needs a token, and there is none: what makes one comes first
    assert found.advice.index("shield init --new-tokens") < found.advice.index("shield approvals watch")


def test_an_open_question_is_no_answer(approval):
    assert person(approval) is None
