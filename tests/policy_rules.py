"""Strategies: rules of all effects over a few conditions, and facts that they are asked about."""

from hypothesis import strategies as st

from policy_support import command, host, path
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


DEFAULTS = st.sampled_from(["{effect: escalate, to: 2}", "{effect: escalate, to: 3}", "{effect: block}"])
