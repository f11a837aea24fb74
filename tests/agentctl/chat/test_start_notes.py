"""What is said at the start of what remembers the log: nothing twice, and nothing is left out for another remark."""

import pytest

from agentctl.gateway import _notes

BEGAN = "began the log `shield.local/X` in `/h`"
LINKED = "`/v/re2.so` has a second name, through which it can be changed; install again with UV_LINK_MODE=copy"
LOST = "`/s` knows nothing of the log `shield.local/X`, which was begun before: it was emptied"
UNSEALED = "records 1 to 3 were not sealed when the log was opened: its last writer ended without sealing"
OUTSIDE = "what remembers the log is in trouble"
DIFFERS = "disk and running policy differ"


@pytest.mark.parametrize(
    ("remarks", "notes", "shown"),
    [
        ((), [OUTSIDE, DIFFERS], [OUTSIDE, DIFFERS]),
        ((BEGAN,), [OUTSIDE], [BEGAN, OUTSIDE]),
        ((LINKED,), [OUTSIDE], [LINKED, OUTSIDE]),
        ((LOST,), [OUTSIDE, DIFFERS], [LOST, DIFFERS]),
        ((LINKED, UNSEALED), [OUTSIDE], [LINKED, UNSEALED]),
        ((LOST,), [OUTSIDE, OUTSIDE], [LOST, OUTSIDE]),  # of another place than the first
    ],
)
def test_notes_at_the_start(remarks, notes, shown):
    reasons = {OUTSIDE: "audit.outside", DIFFERS: "policy.differs"}
    assert _notes(remarks, [{"reason": reasons[note], "detail": note} for note in notes]) == shown


@pytest.mark.parametrize("found", [None, {}, "x", [], ["x", 3]])
def test_a_report_of_another_shape_has_no_notes(found):
    assert _notes((BEGAN,), found) == [BEGAN]
