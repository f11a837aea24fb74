"""The shapes that others build on: every example of the contracts, held against what the code makes or takes."""

import asyncio
import json

import pytest

from pipeline_bench import ASK, Bench
from shield.actions.registry import lookup
from shield.actions.request import make_action, parse_request
from shield.config.home import Home
from shield.config.loading import load
from shield.errors import Reason, RecordError
from shield.facts.compute import compute
from shield.facts.json import facts_json
from shield.facts.made import MadeFile
from shield.permits import PermitKey
from shield.policy.load import load_text
from shield.policy.shelf import shipped_shelf
from shield.policy.world import made_place
from shield.service.problems import problem_of
from shield.service.shapes import approval_json, session_json, verdict_json
from shield.types import Hidden, Isolation, Role

AGENT_KEYS = [
    "id",
    "evaluation",
    "decision",
    "reason",
    "advice",
    "action_hash",
    "expires_at",
    "seq",
    "approval",
    "permit",
]
VERDICT_KEYS = [
    *AGENT_KEYS,
    *["tier", "need", "rule", "confidence", "policy", "evaluated_at", "latency_us", "dry_run", "evidence"],
]

POLICY = """\
version: 1
name: example
extends: [baseline]
default: {effect: escalate, to: 2}
lists: {readers: [cat, head, tail, wc, ls]}
rules:
  - id: credentials
    effect: block
    when: paths.exists(p, "credential" in p.categories || "credential" in p.covers)
    severity: critical
    reason: Credential files are never touched by an agent.
    advice: Ask the user to provide the value through the environment.
    examples:
      match:    [{type: read_file, payload: {path: ~/.ssh/id_rsa}}]
      no_match: [{type: read_file, payload: {path: README.md}}]
  - id: workspace.read
    effect: allow
    grants: path
    when: path.inside_workspace && path.access in ["read", "list"]
  - id: readers
    effect: allow
    grants: command
    when: command.name in lists.readers && command.origin in ["system", "builtin"]
    min_tier: 0
  - id: own.reads
    effect: allow
    actions: [memory_search, read_calendar, load_tools]
    grants: action
  - id: deploys
    effect: escalate
    to: 3
    when: commands.exists(c, c.name in ["terraform", "kubectl"])
    reason: Changes to shared infrastructure are a person's decision.
"""

CONFIG = """\
policy = "default"
[service]
socket = "run/shield.sock"
queue = 256
[approvals]
timeout_s = 300
[workspaces]
roots = []
[exec]
env = []
[protection]
identity = ["IDENTITY.md", "SOUL.md"]
instructions = ["AGENTS.md", "CLAUDE.md", ".cursorrules"]
memory = ["MEMORY.md", "USER.md"]
[facts]
filesystem = "local"
[tier1]
model = "tier1"
"""


@pytest.fixture
def bench(tmp_path):
    found = Bench(tmp_path)
    (found.workspace / "a.txt").write_text("x")
    yield found
    found.close()


def test_an_action_request():
    raw = b"""{"id": "01K", "type": "execute_command", "payload": {"command": "git status"}, "cwd": "/home/u/proj",
     "session": "01K", "tool_call_id": "call_7", "min_tier": 0, "intent": "show me what changed"}"""
    assert parse_request(raw).action.type == "execute_command"


def test_a_verdict_by_role(bench):
    async def main():
        _, allowed = await bench.evaluate()
        bench.rules.opinion = ASK
        _, asked = await bench.evaluate()
        return allowed, asked

    allowed, asked = asyncio.run(main())
    assert sorted(verdict_json(allowed, Role.AGENT)) == sorted(AGENT_KEYS)
    for role in (Role.APPROVER, Role.AUDITOR, Role.ADMIN):
        assert sorted(verdict_json(allowed, role)) == sorted(VERDICT_KEYS)
    whole = verdict_json(allowed, Role.ADMIN)
    assert set(whole["latency_us"]) == {"facts", "0", "record"}
    assert whole["expires_at"].endswith("Z")
    assert len(whole["expires_at"]) == len("2026-11-21T20:16:03.412Z")
    assert sorted(verdict_json(asked, Role.AGENT)["approval"]) == ["expires_at", "id"]
    shown = approval_json(bench.pipeline.approvals.get(asked.approval))
    wanted = [
        "id",
        "state",
        "created_at",
        "expires_at",
        "request",
        "facts",
        "rule",
        "reason",
        "scopes",
        "pattern",
        "answered_by",
        "evaluation",
    ]
    assert set(wanted) <= set(shown)
    assert (shown["state"], shown["scopes"], shown["pattern"]) == ("pending", ["once"], None)


def test_a_session(bench):
    shape = session_json(
        bench.session, PermitKey().public, Isolation.STATE_HIDDEN, Hidden(paths=("/h",), ports=(8470,))
    )
    assert sorted(shape) == sorted(
        ["session", "workspace_roots", "shell", "env", "public_key", "isolation_required", "hidden"]
    )
    assert shape["hidden"] == {"paths": ["/h"], "ports": [8470]}
    assert shape["isolation_required"] == "state_hidden"


def test_facts_have_every_key_and_nothing_is_left_out():
    place = made_place({"x": MadeFile(), "~/.ssh/id_rsa": MadeFile()})
    command = "sudo cat ~/.ssh/id_rsa > x"
    facts = facts_json(
        compute(make_action("execute_command", {"command": command}, place.cwd), lookup("execute_command"), place)
    )
    tops = [
        "paths",
        "commands",
        "shell",
        "hosts",
        "recipients",
        "secrets",
        "text",
        "result",
        "operations",
        "malformed",
        "session",
    ]
    assert sorted(facts) == sorted([*tops, "unknown"])
    paths = [
        "raw",
        "resolved",
        "access",
        "inside_workspace",
        "exists",
        "symlink",
        "recursive",
        "categories",
        "covers",
        "source",
    ]
    assert all(sorted(path) == sorted(paths) for path in facts["paths"])
    keys = [
        "name",
        "program",
        "origin",
        "argv",
        "flags",
        "assignments",
        "redirects",
        "via",
        "operations",
        "runs_code",
        "dynamic",
    ]
    assert all(sorted(item) == sorted(keys) for item in facts["commands"])
    (key,) = [path for path in facts["paths"] if path["raw"] == "~/.ssh/id_rsa"]
    assert (key["resolved"], key["access"], key["categories"], key["source"][:9]) == (
        "/home/user/.ssh/id_rsa", "read", ["credential"], "commands[",
    )  # fmt: skip
    assert facts["shell"] == {"parsed": True}
    assert sorted(facts["session"]) == ["approved", "counts", "labels", "written"]
    assert json.loads(json.dumps(facts)) == facts


def test_the_policy_of_the_design_loads_and_checks_its_examples():
    policy = load_text(POLICY.encode(), "example.yaml", shipped_shelf())
    assert policy.name == "example"
    broken = POLICY.replace(
        "no_match: [{type: read_file, payload: {path: README.md}}]",
        "no_match: [{type: read_file, payload: {path: ~/.aws/credentials}}]",
    )
    with pytest.raises(Exception, match=r"example.yaml:15:"):
        load_text(broken.encode(), "example.yaml", shipped_shelf())


def test_the_configuration_of_the_contract_loads(tmp_path):
    tmp_path.chmod(0o700)
    file = tmp_path / "shield.toml"
    file.write_text(CONFIG)
    config = load(Home(path=str(tmp_path)), {})
    assert (config.policy, config.service.queue, config.approvals.timeout_s) == ("default", 256, 300)
    file.write_text(CONFIG.replace("timeout_s", "timeout"))
    with pytest.raises(Exception, match="timeout_s"):
        load(Home(path=str(tmp_path)), {})


def test_a_problem():
    error = RecordError("no space left on `audit.db`; free space, then `shield status`")
    problem = problem_of(error)
    assert problem.status == 503
    shape = json.loads(problem.body)
    assert shape | {"title": ""} == {
        "type": "https://shield.invalid/problems/audit.unavailable",
        "title": "",
        "status": 503,
        "reason": "audit.unavailable",
        "detail": error.detail,
    }
    assert shape["title"]


def test_reasons_of_a_refused_redeem():
    permit = {reason.value for reason in Reason if "." not in reason.value} - {Reason.INTERNAL.value}
    assert permit == {"used", "expired", "state_changed", "policy", "labels", "isolation", "mismatch"}
