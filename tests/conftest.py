"""Settings and values that tests of several packages share."""

import os

import pytest
from hypothesis import HealthCheck, settings

from shield.types import Approval, ApprovalState, Scope

settings.register_profile("ci", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")
os.umask(0o077)


@pytest.fixture
def approval() -> Approval:
    """An open question."""
    return Approval(
        id="01A",
        state=ApprovalState.PENDING,
        created_at=1_000,
        expires_at=301_000,
        request={"type": "send_message", "payload": {"to": "a"}},
        facts={"recipients": ["a"]},
        rule="messages",
        reason="sending is a person's decision",
        scopes=(Scope.ONCE,),
        pattern=None,
        evaluation="01E",
        session="01S",
        agent="tester",
    )
