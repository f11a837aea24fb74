"""What a policy set says: per-element grants, deny-overrides, the need algebra, and that trouble is never consent."""

import pytest

from policy_support import NOW, Folder, ask, command, facts, host, path, rules
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.types import (
    Access,
    Answer,
    Dynamic,
    Facts,
    Operation,
    Origin,
    Severity,
    ShellFact,
    Tier,
)

READ = "{id: read.ws, effect: allow, grants: path, when: path.inside_workspace && path.access == 'read', reason: r}"
LS = "{id: ls, effect: allow, grants: command, when: command.name == 'ls' && command.origin == 'system'}"
CAT = "{id: cat, effect: allow, grants: command, when: command.name == 'cat' && command.origin == 'system'}"
HOST = "{id: host, effect: allow, grants: host, when: host.host == 'index.example'}"
TO = "{id: to, effect: allow, grants: recipient, when: recipient == 'a@b.example'}"


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_no_rules_at_all_never_allow(folder):
    for default, answer in (("{effect: escalate, to: 3}", Answer.ESCALATE), ("{effect: block}", Answer.BLOCK)):
        opinion = ask(folder.policy(rules(default=default)), "read_file", paths=(path(),))
        assert (opinion.answer, opinion.rule) == (answer, "default")


def test_one_covered_path_is_allowed(folder):
    opinion = ask(folder.policy(rules(READ)), "read_file", paths=(path(),))
    assert (opinion.answer, opinion.need, opinion.rule, opinion.reason) == (Answer.ALLOW, Tier.POLICY, "read.ws", "r")


@pytest.mark.parametrize(
    "known",
    [
        facts("read_file", paths=(path(), path("/etc/hosts"))),
        facts("read_file", paths=(path(None, inside_workspace=True),)),
        facts("read_file", paths=(path(access=Access.WRITE),)),
        facts("read_file", paths=()),
        facts("read_file", paths=(path(),), unknown=("a link could not be read",)),
        facts("read_file", paths=(path(),), malformed=True),
        facts("read_file", paths=(path(),), shell=ShellFact(parsed=False)),
        facts("read_file", paths=(path(),), hosts=(host(),)),
        facts("read_file", paths=(path(),), recipients=("a@b.example",)),
        facts("read_file", paths=(path(),), commands=(command(),)),
        facts("read_file", paths=(path(),), operations=frozenset({Operation.READ, Operation.EXECUTE})),
        facts("read_file", paths=(path(),), operations=frozenset({Operation.READ, Operation.NETWORK})),
        facts("read_file", paths=(path(),), operations=frozenset({Operation.READ, Operation.SCHEDULE})),
        Facts(),
    ],
)
def test_anything_uncovered_unknown_or_unseen_is_not_allowed(folder, known):
    assert ask(folder.policy(rules(READ)), "read_file", known).answer is Answer.ESCALATE
    blocking = folder.policy(rules(READ, default="{effect: block}"))
    assert ask(blocking, "read_file", known).answer is Answer.BLOCK


def test_ls_then_x_is_not_allowed_because_of_ls(folder):
    policy = folder.policy(rules(LS))
    x = command("x", origin=Origin.UNKNOWN, program=None)
    assert ask(policy, "execute_command", commands=(command("ls"), x)).answer is Answer.ESCALATE
    assert ask(policy, "execute_command", commands=(command("ls"),)).answer is Answer.ALLOW


def test_two_commands_by_two_rules_are_allowed(folder):
    both = {"commands": (command("ls"), command("cat"))}
    assert ask(folder.policy(rules(LS, CAT)), "execute_command", **both).answer is Answer.ALLOW
    assert ask(folder.policy(rules(LS)), "execute_command", **both).answer is Answer.ESCALATE


def test_paths_of_commands_are_elements_too(folder):
    seen = {"commands": (command("cat"),), "paths": (path("/etc/hosts", source="commands[0]"),)}
    assert ask(folder.policy(rules(CAT, READ)), "execute_command", **seen).answer is Answer.ESCALATE


def test_an_empty_command_is_not_allowed(folder):
    anything = "{id: any, effect: allow, grants: command, when: 'true'}"
    action = "{id: act, effect: allow, grants: action, actions: [execute_command]}"
    assert ask(folder.policy(rules(anything, action)), "execute_command").answer is Answer.ESCALATE


@pytest.mark.parametrize("dynamic", [Dynamic.PROGRAM, Dynamic.CODE])
def test_a_program_or_code_of_unknown_content_needs_a_person(folder, dynamic):
    policy = folder.policy(
        rules("{id: any, effect: allow, grants: command, when: 'true'}", default="{effect: escalate, to: 2}")
    )
    opinion = ask(policy, "execute_command", commands=(command("ls", dynamic=dynamic),))
    assert (opinion.answer, opinion.need) == (Answer.ESCALATE, Tier.PERSON)
    known = ask(policy, "execute_command", commands=(command("ls", dynamic=Dynamic.ARGUMENT),))
    assert known.answer is Answer.ALLOW


def test_a_workspace_ls_is_not_ls(folder):
    here = command("ls", origin=Origin.WORKSPACE, program="/home/user/ws/ls")
    assert ask(folder.policy(rules(LS)), "execute_command", commands=(here,)).answer is Answer.ESCALATE
    lost = command("ls", origin=Origin.UNKNOWN)
    policy = folder.policy(rules("{id: any, effect: allow, grants: command, when: 'true'}"))
    assert ask(policy, "execute_command", commands=(lost,)).answer is Answer.ESCALATE


def test_actions_without_elements_need_a_rule_that_grants_the_action(folder):
    own = "{id: own, effect: allow, actions: [load_tools], grants: action}"
    policy = folder.policy(rules(own, READ, LS))
    assert ask(policy, "load_tools").answer is Answer.ALLOW
    assert ask(policy, "load_skills").answer is Answer.ESCALATE
    # an action that has an element is not covered by it
    assert ask(policy, "load_tools", paths=(path("/etc/hosts"),)).answer is Answer.ESCALATE


def test_what_no_element_shows_needs_a_rule_that_names_the_type(folder):
    policy = folder.policy(rules(LS, READ))
    assert ask(policy, "create_schedule", commands=(command("ls"),)).answer is Answer.ESCALATE
    assert ask(policy, "git_push", paths=(path(),)).answer is Answer.ESCALATE
    named = "{id: n, effect: allow, actions: [create_schedule], grants: command, when: command.name == 'ls'}"
    scheduled = facts("create_schedule", commands=(command("ls"),))
    assert ask(folder.policy(rules(named)), "create_schedule", scheduled).answer is Answer.ALLOW


def test_named_hosts_and_recipients(folder):
    policy = folder.policy(rules(HOST, TO))
    assert ask(policy, "http_request", hosts=(host(),)).answer is Answer.ALLOW
    assert ask(policy, "http_request", hosts=(host(), host("evil.example"))).answer is Answer.ESCALATE
    assert ask(policy, "send_email", recipients=("a@b.example",)).answer is Answer.ALLOW
    assert ask(policy, "send_email", recipients=("a@b.example", "c@d.example")).answer is Answer.ESCALATE


@pytest.mark.parametrize("kind", ["launch_rockets", "mcp:files/read"])
def test_an_unknown_type_is_tried_by_block_and_escalate_rules_only(folder, kind):
    everything = "{id: all, effect: allow, grants: action, when: 'true'}"
    policy = folder.policy(rules(everything))
    opinion = ask(policy, kind)
    assert (opinion.answer, opinion.need) == (Answer.ESCALATE, Tier.PERSON)
    # not even where it seems to do nothing at all, and no judge model settles it
    quiet = facts("load_tools", operations=frozenset())
    opinion = ask(folder.policy(rules(everything, default="{effect: escalate, to: 2}")), kind, quiet)
    assert (opinion.answer, opinion.need) == (Answer.ESCALATE, Tier.PERSON)
    stop = "{id: stop, effect: block, when: 'action.type == \"launch_rockets\"'}"
    assert ask(folder.policy(rules(everything, stop)), "launch_rockets").answer is Answer.BLOCK


def test_deny_overrides_whatever_the_order(folder):
    block = "{id: b, effect: block, when: 'paths.exists(p, p.inside_workspace)'}"
    ask3 = "{id: e3, effect: escalate, to: 3, when: 'true'}"
    ask2 = "{id: e2, effect: escalate, to: 2, when: 'true'}"
    for order in ([READ, ask2, ask3, block], [block, ask3, READ, ask2]):
        assert ask(folder.policy(rules(*order)), "read_file", paths=(path(),)).rule == "b"
        rest = [text for text in order if text != block]
        opinion = ask(folder.policy(rules(*rest)), "read_file", paths=(path(),))
        assert (opinion.answer, opinion.need, opinion.rule) == (Answer.ESCALATE, Tier.PERSON, "e3")
        rest.remove(ask3)
        opinion = ask(folder.policy(rules(*rest)), "read_file", paths=(path(),))
        assert (opinion.answer, opinion.need, opinion.rule) == (Answer.ESCALATE, Tier.JUDGE, "e2")


def test_of_equals_the_most_severe_then_the_first_by_id(folder):
    policy = folder.policy(
        rules(
            "{id: b, effect: block, when: 'true', severity: high}",
            "{id: a, effect: block, when: 'true', severity: low}",
            "{id: c, effect: block, when: 'true', severity: high}",
        )
    )
    opinion = ask(policy, "read_file", paths=(path(),))
    assert (opinion.rule, opinion.severity) == ("b", Severity.HIGH)


def test_min_tier_of_every_matching_allow_rule_counts(folder):
    one = READ.replace("reason: r", "min_tier: 1").replace("read.ws", "one")
    opinion = ask(folder.policy(rules(READ, one)), "read_file", paths=(path(),))
    assert (opinion.answer, opinion.need, opinion.consents_to_silence) == (Answer.ALLOW, Tier.CLASSIFIER, True)
    three = READ.replace("reason: r", "min_tier: 3").replace("read.ws", "three")
    opinion = ask(folder.policy(rules(READ, three)), "read_file", paths=(path(),))
    assert (opinion.need, opinion.consents_to_silence, opinion.rule) == (Tier.PERSON, False, "three")


def test_min_tier_3_asks_a_person_where_the_default_blocks(folder):
    three = READ.replace("reason: r", "min_tier: 3")
    policy = folder.policy(rules(three, default="{effect: block}"))
    opinion = ask(policy, "read_file", paths=(path(),))
    assert (opinion.answer, opinion.need) == (Answer.ALLOW, Tier.PERSON)
    assert ask(policy, "read_file", paths=(path("/etc/hosts"),)).answer is Answer.BLOCK


FAILING = 'payload.message + "" == "x"'  # the payload below holds a number there


@pytest.mark.parametrize(
    ("effect", "answer", "need"),
    [("block", Answer.BLOCK, Tier.PERSON), ("escalate, to: 2", Answer.ESCALATE, Tier.PERSON)],
)
def test_an_error_in_a_rule_counts_as_its_effect_and_is_counted(folder, effect, answer, need):
    rule = f"{{id: bad, effect: {effect}, actions: [git_commit], when: 'has(payload.message) && {FAILING}'}}"
    policy = folder.policy(rules(READ, rule))
    good = ask(policy, "git_commit", facts("read_file", paths=(path(),)), {"message": "y"})
    assert (good.answer, dict(policy.errors)) == (Answer.ALLOW, {})
    opinion = ask(policy, "git_commit", facts("read_file", paths=(path(),)), {"message": 7})
    assert (opinion.answer, opinion.need, opinion.rule) == (answer, need, "bad")
    assert dict(policy.errors) == {"bad": 1}
    assert not any("7" in text for text in (opinion.reason, *opinion.evidence))


def test_an_error_in_an_allow_rule_is_no_grant(folder):
    rule = f"{{id: bad, effect: allow, actions: [notify, git_commit], grants: action, when: 'has(payload.message) && {FAILING}'}}"
    policy = folder.policy(rules(rule))
    none = facts("read_file", operations=frozenset())
    assert ask(policy, "git_commit", none, {"message": "x"}).answer is Answer.ALLOW
    assert ask(policy, "git_commit", none, {"message": 7}).answer is Answer.ESCALATE
    assert dict(policy.errors) == {"bad": 1}


def test_what_cannot_be_judged_at_all_is_blocked(folder):
    timed = "{id: t, effect: allow, grants: path, when: 'path.inside_workspace && now.getHours() >= 0'}"
    policy = folder.policy(rules(timed))
    action = make_action("read_file", {"path": "a"}, "/home/user/ws")
    naive = NOW.replace(tzinfo=None)
    opinion = policy.judge(
        action, lookup("read_file"), facts("read_file", paths=(path(),)), agent="a", workspace="", now=naive
    )
    assert (opinion.answer, opinion.need) == (Answer.BLOCK, Tier.PERSON)
    assert policy.errors["internal"] == 1


def test_rules_see_now_agent_and_workspace(folder):
    rule = (
        '{id: r, effect: allow, grants: path, when: \'path.inside_workspace && agent == "agent"'
        ' && workspace == "/home/user/ws" && now.getHours() == 12\'}'
    )
    assert ask(folder.policy(rules(rule)), "read_file", paths=(path(),)).answer is Answer.ALLOW
