"""The laws of tier 0: order does not matter, more rules never weaken, errors and unknowns never allow."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy_support import Folder, ask, command, host, path, rules
from shield.policy.load import add_workspace
from shield.types import Access, Answer, Dynamic, Facts, Operation, Opinion, Origin, RunsCode, ShellFact, Tier

CONDITIONS = {
    "path": [
        "path.inside_workspace",
        "path.access in ['read','list']",
        "path.exists",
        "'ci' in path.categories",
        "true",
    ],
    "command": ["command.name == 'ls'", "command.origin == 'system'", "command.flags.size() == 0", "true"],
    "host": ["host.host.endsWith('.example')", "host.scheme == 'https'", "true"],
    "recipient": ["recipient.endsWith('.example')", "true"],
    "action": ["action.type == 'read_file'", "'read' in action.operations", "true"],
}
BOTH = [
    "paths.exists(p, !p.inside_workspace)",
    "commands.exists(c, c.name == 'rm')",
    "hosts.size() > 1",
    "recipients.size() > 0",
    "malformed",
    "paths.exists(p, has(p.resolved) && p.resolved.startsWith('/etc'))",
    "int(workspace) > 3 && malformed",  # an error where malformed
    "int(agent) > 3",  # an error, always
    "true",
    "false",
]
TYPES = [
    "read_file",
    "write_file",
    "execute_command",
    "http_request",
    "send_email",
    "load_tools",
    "git_push",
    "rockets",
]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@st.composite
def rule_texts(draw, effects=("block", "escalate", "allow")):
    found = []
    for number in range(draw(st.integers(0, 6))):
        effect = draw(st.sampled_from(effects))
        more = ""
        if draw(st.booleans()) and effect != "allow":
            more += ", severity: critical"
        if effect == "allow":
            grants = draw(st.sampled_from(sorted(CONDITIONS)))
            when = draw(st.sampled_from(CONDITIONS[grants] + (BOTH if draw(st.booleans()) else [])))
            more += f", grants: {grants}, min_tier: {draw(st.integers(0, 3))}"
        else:
            when = draw(st.sampled_from(BOTH))
            more += f", to: {draw(st.sampled_from([2, 3]))}" if effect == "escalate" else ""
        found.append(f"{{id: r{number}, effect: {effect}, when: {quoted(when)}{more}}}")
    return found


paths = st.builds(
    path,
    st.sampled_from(["/home/user/ws/a", "/etc/hosts", "/home/user/ws/.ci/x", None]),
    st.sampled_from(Access),
    exists=st.booleans(),
    categories=st.sampled_from([frozenset(), frozenset({"ci"}), frozenset({"credential"})]),
)
commands = st.builds(
    command,
    st.sampled_from(["ls", "rm", ""]),
    origin=st.sampled_from(Origin),
    dynamic=st.sampled_from(Dynamic),
    runs_code=st.sampled_from(RunsCode),
)
known = st.builds(
    Facts,
    paths=st.lists(paths, max_size=3).map(tuple),
    commands=st.lists(commands, max_size=3).map(tuple),
    shell=st.booleans().map(lambda parsed: ShellFact(parsed=parsed)),
    hosts=st.lists(st.builds(host, st.sampled_from(["a.example", "b.test"])), max_size=2).map(tuple),
    recipients=st.lists(st.sampled_from(["a@b.example", "c@d.test"]), max_size=2).map(tuple),
    operations=st.frozensets(st.sampled_from(Operation), max_size=3),
    malformed=st.booleans(),
    unknown=st.sampled_from([(), (), ("something",)]),
)
STRENGTH = {Answer.ALLOW: 0, Answer.ESCALATE: 1, Answer.BLOCK: 2}


def strength(opinion: Opinion) -> tuple[int, int]:
    # an ALLOW that needs a higher tier is no ALLOW yet: it counts with what it still needs
    answer = STRENGTH[opinion.answer]
    return max(answer, 1 if opinion.need > Tier.POLICY else 0), int(opinion.need)


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        yield Folder(Path(name))


DEFAULTS = st.sampled_from(["{effect: escalate, to: 2}", "{effect: escalate, to: 3}", "{effect: block}"])


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
