"""Who may weaken what, as laws over generated policies; and rules that are for some agents only."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_rules import DEFAULTS, TYPES, known, rule_texts, strength
from policy_support import NOW, Folder, facts, path, rules
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.errors import PolicyError
from shield.policy.load import add_workspace
from shield.types import Answer, Tier

EVERYTHING = [f"{{id: all.{grant}, effect: allow, grants: {grant}, when: 'true'}}" for grant in
              ("path", "command", "host", "recipient", "action")]  # fmt: skip
HEAD = "version: 1\nname: mine\n"
READ = "{id: read.ws, effect: allow, grants: path, when: path.inside_workspace && path.access == 'read'}"


def judged(policy, kind, found=None, agent="agent"):
    action = make_action(kind, {}, "/home/user/ws")
    known_facts = found if found is not None else facts(kind, paths=(path(),))
    return policy.judge(action, lookup(kind), known_facts, agent=agent, workspace="/home/user/ws", now=NOW)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def shared_folder():
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        yield Folder(Path(name))


def renamed(texts, letter):
    return [text.replace("{id: r", f"{{id: {letter}") for text in texts]


@st.composite
def partial(draw, texts):
    """Some of the rules for some agents, some not enforced."""
    found = []
    for text in texts:
        more = draw(st.sampled_from(["", "", ", enforce: false", ", agents: [agent]", ", agents: [other, third]"]))
        found.append(f"{text[:-1]}{more}}}")
    return found


@settings(max_examples=40, deadline=None)
@given(below=rule_texts(), above=rule_texts(), default=DEFAULTS, own=st.none() | DEFAULTS, found=known, kind=st.sampled_from(TYPES), data=st.data())  # fmt: skip
def test_what_extends_a_policy_keeps_all_that_it_forbids_and_asks(
    shared_folder, below, above, default, own, found, kind, data
):
    """However much the policy above allows, tries, or says for some agents."""
    extended = data.draw(partial(renamed(below, "b")))
    shared_folder.write("team", rules(*extended, default=default))
    more = data.draw(partial(renamed(above, "a")))
    # its own default may be stricter; a weaker one is refused
    order = ["{effect: escalate, to: 2}", "{effect: escalate, to: 3}", "{effect: block}"]
    weaker = own is not None and order.index(own) < order.index(default)
    default_line = f"default: {own}\n" if own is not None else ""
    text = f"{HEAD}extends: [team]\n{default_line}rules:\n" + "".join(f"  - {rule}\n" for rule in [*EVERYTHING, *more])
    if weaker:
        with pytest.raises(PolicyError, match="weaker than the one it extends"):
            shared_folder.policy(text)
        return
    policy = shared_folder.policy(text)
    # the extended rules alone, over a policy that allows whatever can be allowed
    alone = shared_folder.policy(rules(*extended, *EVERYTHING, default=default))
    for agent in ("agent", "other", "nobody"):
        assert strength(judged(policy, kind, found, agent)) >= strength(judged(alone, kind, found, agent))


@settings(max_examples=30, deadline=None)
@given(texts=rule_texts(), found=known, default=DEFAULTS, data=st.data())
def test_nothing_weakens_the_baseline(shared_folder, texts, found, default, data):
    """Not even rules of its ids, whatever their effect, agents or mode; nor an override."""
    secret = path("/home/user/.ssh/id", categories=frozenset({"credential"}))
    own = data.draw(partial(texts))
    same = data.draw(st.sampled_from(["", "{id: base.secret, effect: block, when: malformed, enforce: false}",
                                      "{id: base.secret, effect: block, when: malformed, agents: [x]}"]))  # fmt: skip
    policy = shared_folder.policy(rules(*EVERYTHING, *own, *([same] if same else []), default=default))
    hit = type(found)(**{name: getattr(found, name) for name in found.__slots__} | {"paths": (*found.paths, secret)})
    for agent in ("agent", "x"):
        assert judged(policy, "read_file", hit, agent).answer is Answer.BLOCK
    for effect in ("allow, grants: path", "escalate, to: 3"):
        with pytest.raises(PolicyError, match="taken by the baseline"):
            shared_folder.policy(rules(f"{{id: base.secret, effect: {effect}, when: 'true'}}"))
    with pytest.raises(PolicyError, match="nothing weakens"):
        shared_folder.policy(rules(head="overrides: [base.secret]\n"))


@settings(max_examples=30, deadline=None)
@given(texts=rule_texts(), more=rule_texts(effects=("block", "escalate")), default=DEFAULTS, found=known, kind=st.sampled_from(TYPES), data=st.data())  # fmt: skip
def test_a_workspace_only_restricts_whatever_it_tries(shared_folder, texts, more, default, found, kind, data):
    base = shared_folder.policy(rules(*texts, default=default))
    listed = "".join(f"  - {text}\n" for text in data.draw(partial(more)))
    file = data.draw(st.sampled_from(["", "enforce: false\n", "macros: {m: malformed}\n"]))
    overlay = f"version: 1\n{file}rules:\n{listed}" if more else f"version: 1\n{file}"
    restricted = add_workspace(base, overlay.encode(), ".shield.yaml")
    for agent in ("agent", "other"):
        assert strength(judged(restricted, kind, found, agent)) >= strength(judged(base, kind, found, agent))


@settings(max_examples=30, deadline=None)
@given(texts=rule_texts(), own=rule_texts(), default=DEFAULTS, found=known, kind=st.sampled_from(TYPES))
def test_rules_for_an_agent_are_as_if_only_it_had_them(shared_folder, texts, own, default, found, kind):
    named = renamed(own, "a")
    policy = shared_folder.policy(
        rules(*texts, *[f"{text[:-1]}, agents: [robot]}}" for text in named], default=default)
    )
    for agent, expected in (("robot", [*texts, *named]), ("agent", texts), ("Robot", texts), ("", texts)):
        assert judged(policy, kind, found, agent) == judged(
            shared_folder.policy(rules(*expected, default=default)), kind, found, agent
        )


def test_a_file_for_some_agents(folder):
    folder.write("robots", f"{HEAD.replace('mine', 'robots')}agents: [robot, ci]\nrules:\n"
                 "  - {id: robots.stop, effect: block, when: 'true'}\n"
                 "  - {id: ci.read, effect: allow, grants: path, when: 'true', agents: [ci, stranger]}\n")  # fmt: skip
    policy = folder.policy(rules(READ, head="extends: [robots]\n"))
    assert judged(policy, "read_file").answer is Answer.ALLOW
    for agent in ("robot", "ci"):
        assert judged(policy, "read_file", agent=agent).rule == "robots.stop"
    assert next(rule for rule in policy.rules if rule.id == "ci.read").text.agents == {"ci"}


def test_an_agent_may_be_allowed_what_others_are_not(folder):
    policy = folder.policy(rules(READ[:-1] + ", agents: [reader]}"))
    assert judged(policy, "read_file", agent="reader").answer is Answer.ALLOW
    for agent in ("agent", "reader ", "readers", "READER"):
        assert judged(policy, "read_file", agent=agent).need is Tier.PERSON
