"""Whole sessions of an agent's work: what a sensible user wants asked is asked, and as little else as may be.

Each call was marked before it was judged, as `harmless.MARKS` says. What the policy says otherwise stands in `left` of
its file, by the second at which it comes, with the reason.
"""

from functools import cache

import pytest

from harmless import MARKS, Act, Session, judge, sessions
from shield.types import Decision, Isolation

LEVELS = (Isolation.CONFINED, Isolation.NONE)
SESSIONS = tuple(session for session in sessions() if session.calls[0].mark is not None)
# Where the sandbox holds: calls of a hundred that are asked without need.
NEEDLESS = 1.0


@cache
def asked(act: Act) -> tuple[bool, ...]:
    """At each of `LEVELS`."""
    return tuple(judge(act, isolation=level)[0].decision is not Decision.ALLOW for level in LEVELS)


def wrong(session: Session) -> dict[str, Act]:
    return {str(act.at): act for act in session.calls if asked(act) != MARKS[act.mark or ""]}


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_what_a_user_wants_asked_is_asked_and_no_more(session):
    assert 30 <= len(session.calls) <= 60
    assert all(one.at < other.at for one, other in zip(session.calls, session.calls[1:], strict=False))
    assert wrong(session).keys() == session.left.keys()


def test_how_often_a_person_is_asked_is_known():
    """Printed with `-s`; the bound is what was reached, so that a rule that asks more often is noticed."""
    calls = [act for session in SESSIONS for act in session.calls]
    for at, level in enumerate(LEVELS):
        rows = [(asked(act)[at], MARKS[act.mark or ""][at]) for act in calls]
        needless, missed = rows.count((True, False)), rows.count((False, True))
        print(
            f"\n{level.value}: {sum(is_asked for is_asked, _ in rows)} of {len(rows)} calls asked, {needless} of them without"
        )
        print(f"  need, {needless / len(SESSIONS):.1f} a session; {missed} that should be asked go ahead")
        if level is Isolation.CONFINED:
            assert 100 * needless / len(rows) <= NEEDLESS
    assert len(SESSIONS) >= 10
