"""Tier 0 without facts: one judgement by 100 and by 1,000 rules, beside other engines asked the same conditions.

The peers live in build/peers (`common-expression-language`, `cedarpy`); cel-python is there anyway. CPU time, medians.
"""

import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from row import Row, cpu_us
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.json import facts_json
from shield.policy.load import load_text
from shield.policy.set import PolicySet
from shield.policy.shelf import Shelf
from shield.policy.world import made_place

ROOT = Path(__file__).resolve().parent.parent
TYPES = ("execute_command", "read_file", "write_file", "http_request", "send_email", "git_push", "memory_write")
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def condition(i: int) -> str:
    """A third each: a type and a command; two types and a prefix; patterns, mostly with a type."""
    one, two = TYPES[i % len(TYPES)], TYPES[(i + 1) % len(TYPES)]
    if i % 3 == 0:
        return f'action.type == "{one}" && commands.exists(c, c.name == "word{i}")'
    if i % 3 == 1:
        return f'action.type in ["{one}", "{two}"] && paths.exists(p, p.raw.startsWith("/etc/d{i}/"))'
    found = f'(text.exists(t, t.text.matches("^secret{i}.*")) || hosts.exists(h, h.host.matches("^[^/]*evil{i}")))'
    return found if i % 20 == 0 else f'action.type == "{one}" && {found}'


def policy(n: int) -> PolicySet:
    """`n` rules of which nine in ten block or escalate."""
    lines = ["version: 1", "name: bench", "default: {effect: escalate, to: 3}", "rules:"]
    for i in range(n - 1):
        effect = "block" if i % 2 else "escalate"
        lines.append(f"  - {{id: r{i}, effect: {effect}, when: {json.dumps(condition(i))}}}")
    lines.append("  - {id: read, effect: allow, grants: path, when: path.inside_workspace && path.access == 'read'}")
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        folder = Path(name)
        (folder / "baseline.yaml").write_text("version: 1\nname: baseline\n")
        return load_text("\n".join(lines).encode(), str(folder / "bench.yaml"), Shelf(shipped=folder))


def rows() -> list[Row]:
    """The rows `tier0.*`, ours first."""
    action = make_action("read_file", {"path": "README.md"}, "/home/user/ws")
    kind = lookup("read_file")
    facts = compute(action, kind, made_place())
    found = []
    for n, goal in ((100, 20.0), (1_000, 150.0)):
        rules = policy(n)

        def judge(rules: PolicySet = rules) -> object:
            return rules.judge(action, kind, facts, agent="agent", workspace="/home/user/ws", now=NOW)

        ours = cpu_us(judge)
        found.append(Row(name=f"tier0.rules{n}", median=ours, unit="us", goal=goal))
        found.extend(_peers(n, facts_json(facts) | {"action": {"type": action.type}}, ours))
    return found


def _peers(n: int, values: dict, ours: float) -> list[Row]:
    script = str(Path(__file__).with_name("tier0_peers.py"))
    work = json.dumps({"conditions": [condition(i) for i in range(n - 1)], "values": values, "types": TYPES})
    found = []
    peers = ROOT / "build" / "peers" / "bin" / "python"
    engines = [(sys.executable, "cel-python")] if n <= 100 else []
    if peers.exists():
        engines += [(str(peers), "common-expression-language"), (str(peers), "cedarpy")]
    else:
        print("tier0: build/peers is not there, so two peers are left out", file=sys.stderr)
    for python, name in engines:
        done = subprocess.run([python, script, name], input=work, capture_output=True, text=True, timeout=120)
        if done.returncode:
            print(f"tier0: {name} could not be measured: {done.stderr[-300:]}", file=sys.stderr)
            continue
        median = float(done.stdout)
        found.append(
            Row(name=f"tier0.peer.{name}.rules{n}", median=median, unit="us", peer=name, ratio=round(median / ours, 2))
        )
    return found


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row.shape()))
