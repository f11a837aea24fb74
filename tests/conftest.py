"""Settings and values that tests of several packages share."""

import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from shield.types import Approval, ApprovalState, Scope

settings.register_profile("ci", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")
os.umask(0o077)


@pytest.fixture(scope="session", autouse=True)
def _one_folder_for_all_temporary_ones():
    """What a test makes with `tempfile` goes away with the run. Short: socket paths end at 107 bytes."""
    folder = tempfile.tempdir = tempfile.mkdtemp(prefix="sh")
    os.chmod(folder, 0o711)  # tests that become another user pass through it
    # a Shield that is started without a home directory of its own remembers its log here, not in the person's
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before
    tempfile.tempdir = None
    shutil.rmtree(folder, ignore_errors=True)


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
