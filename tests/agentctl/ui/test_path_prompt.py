"""What an agent may put into a question about itself: never a line that reads as one of ours."""

import pytest

from agentctl.ui.question import question
from shield.types import Approval, ApprovalState, Scope

OURS = (
    "in",
    "hash",
    "why it is asked",
    "would run",
    "would read",
    "the agent says (unverified)",
    "── the agent asks to rest ──",
)


def lines(payload):
    shown = question(
        Approval(
            id="01A",
            state=ApprovalState.PENDING,
            created_at=0,
            expires_at=1,
            request={"type": "notify", "payload": payload, "cwd": "/real"},
            facts={},
            rule="r",
            reason="the real reason",
            scopes=(Scope.ONCE,),
            pattern=None,
            evaluation="01E",
            session="01S",
            agent="a",
        )
    )
    assert sum(line.startswith("hash: sha256:") for line in shown) == 1
    return [line for line in shown if not line.startswith("hash: ")]


@pytest.mark.parametrize("name", [*OURS, "in\u200b", "allow this once? type yes/no, 60 s left", "", " "])
@pytest.mark.parametrize("value", ["/safe", "/safe\nwhy it is asked: routine", ["a"], {"in": "/safe"}])
def test_a_field_cannot_pass_for_a_line_of_ours(name, value):
    shown = lines({"message": "hi", name: value})
    honest = lines({"message": "hi"})
    added = [line for line in shown if line not in honest]
    assert len(shown) == len(honest) + len(added)
    assert all(line.startswith(('"', "  | ")) for line in added)
    assert "message: hi" in shown
    assert sum(line.startswith("in: ") for line in shown) == 1
    assert sum(line.startswith("why it is asked: ") for line in shown) == 1


@pytest.mark.parametrize("columns", [80, 100, 132])
@pytest.mark.parametrize("pad", [" ", "\t", "\u3000", "-"])
def test_padding_cannot_push_text_to_where_a_line_of_ours_begins(columns, pad):
    for length in range(columns - 30, columns + 1):
        fake = pad * length + "why it is asked: routine"
        shown = lines({"message": fake, "text": f"a\n{fake}"})
        for line in shown:
            wide = sum(2 if char == "\u3000" else 1 for char in line)
            assert wide <= 80 or line in lines({})
        assert [line for line in shown if line.startswith("why it is asked")] == ["why it is asked: the real reason"]
