"""The laws of tier 0: order does not matter, more rules never weaken, errors and unknowns never allow."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_rules import BOTH, CONDITIONS, DEFAULTS, TYPES, known, quoted, rule_texts, strength
from policy_support import Folder, ask, rules
from shield.policy.load import add_workspace
from shield.types import Answer, Dynamic, Operation, Origin


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        yield Folder(Path(name))


@settings(max_examples=80, deadline=None)
@given(texts=rule_texts(), default=DEFAULTS, found=known, kind=st.sampled_from(TYPES), data=st.data())
def test_the_order_of_rules_is_irrelevant(folder, texts, default, found, kind, data):
    one = ask(folder.policy(rules(*texts, default=default)), kind, found)
    other = ask(folder.policy(rules(*data.draw(st.permutations(texts)), default=default)), kind, found)
    assert one == other


@settings(max_examples=80, deadline=None)
@given(
    texts=rule_texts(),
    more=rule_texts(effects=("block", "escalate")),
    default=DEFAULTS,
    found=known,
    kind=st.sampled_from(TYPES),
)
def test_a_workspace_overlay_never_weakens(folder, texts, more, default, found, kind):
    base = folder.policy(rules(*texts, default=default))
    listed = "".join(f"  - {text}\n" for text in more)
    overlay = f"version: 1\nrules:\n{listed}" if more else "version: 1\n"
    weaker, stronger = ask(base, kind, found), ask(add_workspace(base, overlay.encode(), ".shield.yaml"), kind, found)
    assert strength(stronger) >= strength(weaker)
    broken = ask(add_workspace(base, b"version: 1\nversion: 1\n", ".shield.yaml"), kind, found)
    assert strength(broken) >= max(strength(weaker), (1, 3))


@settings(max_examples=80, deadline=None)
@given(texts=rule_texts(), default=DEFAULTS, found=known, kind=st.sampled_from(TYPES), data=st.data())
def test_nothing_lowers_need_and_nothing_unknown_is_allowed(folder, texts, default, found, kind, data):
    policy = folder.policy(rules(*texts, default=default))
    opinion = ask(policy, kind, found)
    if opinion.answer is Answer.ALLOW:
        assert not found.malformed
        assert not found.unknown
        assert found.shell.parsed
        assert kind != "rockets"
        assert all(item.resolved is not None for item in found.paths)
        assert all(item.dynamic in (Dynamic.NONE, Dynamic.ARGUMENT) for item in found.commands)
        assert all(item.name == "" or item.origin is not Origin.UNKNOWN for item in found.commands)
        assert Operation.EXECUTE not in found.operations or found.commands
    # a block or escalate rule more, wherever it stands, only raises
    extra = data.draw(st.sampled_from(["block", "escalate, to: 2", "escalate, to: 3"]))
    when = data.draw(st.sampled_from(BOTH))
    raised = ask(
        folder.policy(rules(*texts, f"{{id: x, effect: {extra}, when: {quoted(when)}}}", default=default)), kind, found
    )
    assert strength(raised) >= strength(opinion)


@settings(max_examples=40, deadline=None)
@given(found=known, kind=st.sampled_from(TYPES), default=DEFAULTS)
def test_an_error_is_never_an_allow(folder, found, kind, default):
    broken = [
        f'{{id: {grant}, effect: allow, grants: {grant}, when: "int(agent) > 3 || int(workspace) > 3"}}'
        for grant in CONDITIONS
    ]
    policy = folder.policy(rules(*broken, default=default))
    assert ask(policy, kind, found).answer is not Answer.ALLOW
