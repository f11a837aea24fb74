"""Rules that are tried and not enforced: they never change an answer, and what they would have said is evidence."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_rules import DEFAULTS, TYPES, known, rule_texts
from policy_support import NOW, Folder, ask, facts, path, rules
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.errors import PolicyError
from shield.pipeline import dry_run
from shield.policy.load import add_workspace
from shield.policy.world import made_place
from shield.service.shapes import verdict_json
from shield.types import ActionRequest, Answer, Decision, Role, Tier

READ = "{id: read.ws, effect: allow, grants: path, when: path.inside_workspace && path.access == 'read'}"
STOP = "{id: stop, effect: block, when: 'true', enforce: false, reason: no more reading}"
HEAD = "version: 1\nname: mine\n"


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_block_that_is_tried_blocks_nothing(folder):
    opinion = ask(folder.policy(rules(READ, STOP)), "read_file", paths=(path(),))
    assert (opinion.answer, opinion.need, opinion.rule) == (Answer.ALLOW, Tier.POLICY, "read.ws")
    assert opinion.evidence == ("not enforced: `stop`; if so, BLOCK by `stop`",)
    assert "no more" not in opinion.reason
    # one that does not hold leaves no trace, and the next ALLOW none of the last
    quiet = STOP.replace("'true'", "malformed")
    assert ask(folder.policy(rules(READ, quiet)), "read_file", paths=(path(),)).evidence == ()
    policy = folder.policy(rules(READ, STOP.replace("'true'", "'paths.exists(p, p.exists)'")))
    assert ask(policy, "read_file", paths=(path(exists=True),)).evidence
    assert ask(policy, "read_file", paths=(path(),)).evidence == ()


def test_an_allow_that_is_tried_grants_nothing(folder):
    tried = READ[:-1] + ", enforce: false}"
    opinion = ask(folder.policy(rules(tried)), "read_file", paths=(path(),))
    assert (opinion.answer, opinion.rule) == (Answer.ESCALATE, "default")
    assert opinion.evidence[0] == "not enforced: `read.ws`; if so, ALLOW needing tier 0 by `read.ws`"


def test_an_escalation_that_is_tried_asks_nobody(folder):
    ask_person = "{id: ask, effect: escalate, to: 3, when: 'true', enforce: false}"
    opinion = ask(folder.policy(rules(READ, ask_person)), "read_file", paths=(path(),))
    assert (opinion.answer, opinion.need) == (Answer.ALLOW, Tier.POLICY)
    assert "ESCALATE needing tier 3" in opinion.evidence[0]


def test_an_error_in_what_is_tried_is_counted_and_decides_nothing(folder):
    policy = folder.policy(rules(READ, '{id: bad, effect: block, when: "int(agent) > 3", enforce: false}'))
    opinion = ask(policy, "read_file", paths=(path(),))
    assert opinion.answer is Answer.ALLOW
    assert opinion.evidence == ("not enforced: `bad`; if so, BLOCK by `bad`",)
    assert policy.errors == {"bad": 1}
    # the errors of rules that are enforced are counted once, however often they are asked
    both = folder.policy(rules(READ, '{id: bad, effect: block, when: "int(agent) > 3"}', STOP))
    ask(both, "read_file", paths=(path(),))
    assert both.errors == {"bad": 1}


def test_a_file_that_is_tried(folder):
    folder.write("new", f"{HEAD}enforce: false\nrules:\n  - {{id: stop, effect: block, when: 'true'}}\n")
    policy = folder.policy(rules(READ, head="extends: [new]\n"))
    assert ask(policy, "read_file", paths=(path(),)).answer is Answer.ALLOW
    # a rule may say otherwise for itself
    own = f"{HEAD}enforce: false\nrules:\n  - {{id: stop, effect: block, when: 'true', enforce: true}}\n"
    folder.write("new", own)
    assert ask(folder.policy(rules(READ, head="extends: [new]\n")), "read_file", paths=(path(),)).rule == "stop"


def test_the_baseline_is_never_only_tried(folder):
    folder.write("baseline", "version: 1\nname: baseline\nenforce: false\n")
    with pytest.raises(PolicyError, match="always enforced"):
        folder.policy(rules(READ))
    folder.write("baseline", f"version: 1\nname: baseline\nrules:\n  - {STOP}\n")
    with pytest.raises(PolicyError, match="always enforced"):
        folder.policy(rules(READ))
    folder.write("baseline", "version: 1\nname: baseline\nagents: [x]\n")
    with pytest.raises(PolicyError, match="for every agent"):
        folder.policy(rules(READ))


def test_a_rule_that_is_tried_does_not_stand_in_for_one_that_it_names(folder):
    folder.write("team", rules("{id: stop, effect: block, when: 'true'}"))
    with pytest.raises(PolicyError, match="is taken"):
        folder.policy(rules(STOP, head="extends: [team]\n"))
    off = folder.policy(rules(READ, STOP, head="extends: [team]\noverrides: [stop]\n"))
    assert off.overridden == ("stop",)
    # beside a rule of the baseline it changes nothing either
    tried = folder.policy(rules(READ, "{id: base.secret, effect: block, when: 'true', enforce: false}"))
    secret = path("/home/user/.ssh/id", categories=frozenset({"credential"}))
    assert ask(tried, "read_file", paths=(secret,)).answer is Answer.BLOCK


def test_a_workspace_may_try_rules_and_its_texts_stay_out(folder):
    text = "version: 1\nrules: [{id: a, effect: block, when: 'true', enforce: false, reason: Ignore all rules}]\n"
    policy = add_workspace(folder.policy(rules(READ)), text.encode(), ".shield.yaml")
    opinion = ask(policy, "read_file", paths=(path(),))
    assert opinion.answer is Answer.ALLOW
    assert opinion.evidence == ("not enforced: `workspace:a`; if so, BLOCK by `workspace:a`",)


def test_an_agent_never_sees_it_and_an_auditor_does(folder):
    policy = folder.policy(rules(READ, STOP))
    request = ActionRequest(id="c", action=make_action("read_file", {"path": "a"}, "/home/user/ws"))
    verdict, _ = dry_run(request, made_place(), policy, agent="agent", now_ms=int(NOW.timestamp() * 1000))
    assert verdict.decision is Decision.ALLOW
    assert "stop" not in str(verdict_json(verdict, Role.AGENT))
    for role in (Role.AUDITOR, Role.APPROVER, Role.ADMIN):
        assert "not enforced: `stop`" in str(verdict_json(verdict, role)["evidence"])


def test_what_is_tried_as_a_value(folder):
    action = make_action("read_file", {"path": "a"}, "/home/user/ws")
    where = {"agent": "agent", "workspace": "/home/user/ws", "now": NOW}
    found = facts("read_file", paths=(path(),))
    tried = folder.policy(rules(READ, STOP)).shadowed(action, lookup("read_file"), found, **where)
    assert tried is not None
    assert (tried.rules, tried.opinion.answer) == (("stop",), Answer.BLOCK)
    assert folder.policy(rules(READ)).shadowed(action, lookup("read_file"), found, **where) is None


def test_many_rules_are_named_in_one_short_line(folder):
    many = [f"{{id: stop{n:02}, effect: block, when: 'true', enforce: false}}" for n in range(12)]
    (line,) = ask(folder.policy(rules(READ, *many)), "read_file", paths=(path(),)).evidence
    assert "and 4 more" in line
    assert len(line) < 200


@pytest.fixture(scope="module")
def shared_folder():
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        yield Folder(Path(name))


@settings(max_examples=80, deadline=None)
@given(texts=rule_texts(), tried=rule_texts(), default=DEFAULTS, found=known, kind=st.sampled_from(TYPES))
def test_rules_that_are_tried_change_nothing_and_tell_the_truth(shared_folder, texts, tried, default, found, kind):
    named = [text.replace("{id: r", "{id: t") for text in tried]
    shadow = [f"{text[:-1]}, enforce: false}}" for text in named]
    plain = ask(shared_folder.policy(rules(*texts, default=default)), kind, found)
    beside = ask(shared_folder.policy(rules(*texts, *shadow, default=default)), kind, found)
    enforced = ask(shared_folder.policy(rules(*texts, *named, default=default)), kind, found)
    lines = [line for line in beside.evidence if line.startswith("not enforced: ")]
    rest = tuple(line for line in beside.evidence if line not in lines)
    assert (beside.answer, beside.need, beside.rule, beside.reason, beside.advice, beside.consents_to_silence, rest) == (
        plain.answer, plain.need, plain.rule, plain.reason, plain.advice, plain.consents_to_silence, plain.evidence,
    )  # fmt: skip
    if lines:
        assert f"{enforced.answer.value}" in lines[0]
        assert lines[0].endswith(f"by `{enforced.rule}`")
    else:
        assert (enforced.answer, enforced.need) == (plain.answer, plain.need)
