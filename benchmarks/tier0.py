"""Tier 0 without facts: one judgement by 100, 1,000 and 10,000 rules, beside other engines asked the same conditions.

`tier0.rules10000` asks every rule of the action's type, `tier0.rules10000.prefilter` those that its index finds; sets
of any other size are measured as they run. The peers live in build/peers (`common-expression-language`, `cedarpy`,
`agent-governance-toolkit-core`); cel-python is there anyway. They are given the rules of the action's type. CPU time,
medians; a ratio is to ours of the same size, at 10,000 rules to the one that asks every rule.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
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
PART = 5_000  # a file holds at most a mebibyte
LARGEST = 10_000
PEERS = ("common-expression-language", "cedarpy", "agent-governance-toolkit-core")
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
    """`n` rules of which nine in ten block or escalate, in files of at most 5,000."""
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        folder = Path(name)
        (folder / "baseline.yaml").write_text("version: 1\nname: baseline\n")
        parts = []
        for begin in range(0, n - 1, PART):
            lines = ["version: 1", f"name: part{begin}", "rules:"]
            for i in range(begin, min(begin + PART, n - 1)):
                effect = "block" if i % 2 else "escalate"
                lines.append(f"  - {{id: r{i}, effect: {effect}, when: {json.dumps(condition(i))}}}")
            (folder / f"part{begin}.yaml").write_text("\n".join(lines))
            parts.append(f"part{begin}")
        last = "{id: read, effect: allow, grants: path, when: path.inside_workspace && path.access == 'read'}"
        text = (
            f"version: 1\nname: bench\nextends: [{', '.join(parts)}]\n"
            f"default: {{effect: escalate, to: 3}}\nrules:\n  - {last}\n"
        )
        return load_text(text.encode(), str(folder / "bench.yaml"), Shelf(shipped=folder))


def load_ms(n: int = 1_000, rounds: int = 3) -> float:
    """The median CPU milliseconds of loading one rule, of a policy of `n`."""
    policy(32)  # the grammar is made once
    found = []
    for _ in range(rounds):
        begun = time.process_time()
        policy(n)
        found.append((time.process_time() - begun) / n * 1e3)
    return statistics.median(found)


def rows() -> list[Row]:
    """The rows `tier0.*` and `policy.load_per_rule`, ours first."""
    action = make_action("read_file", {"path": "README.md"}, "/home/user/ws")
    kind = lookup("read_file")
    facts = compute(action, kind, made_place())
    found = []

    def measured(name: str, goal: float, rules: PolicySet) -> float:
        def judge() -> object:
            return rules.judge(action, kind, facts, agent="agent", workspace="/home/user/ws", now=NOW)

        ours = cpu_us(judge)
        found.append(Row(name=name, median=ours, unit="us", goal=goal))
        return ours

    values = facts_json(facts) | {"action": {"type": action.type}}
    for n, goal in ((100, 20.0), (1_000, 150.0)):
        found.extend(_peers(n, values, measured(f"tier0.rules{n}", goal, policy(n))))
    largest = policy(LARGEST)
    measured(f"tier0.rules{LARGEST}.prefilter", 50.0, largest)
    found.extend(_peers(LARGEST, values, measured(f"tier0.rules{LARGEST}", 2_000.0, largest.unindexed())))
    found.append(Row(name="policy.load_per_rule", median=load_ms(), unit="ms", goal=2.0))
    return found


def _peers(n: int, values: dict, ours: float) -> list[Row]:
    script = str(Path(__file__).with_name("tier0_peers.py"))
    work = json.dumps({"conditions": [condition(i) for i in range(n - 1)], "values": values, "types": TYPES})
    found = []
    peers = Path(os.environ.get("SHIELD_PEERS", ROOT / "build" / "peers")) / "bin" / "python"
    engines = [(sys.executable, "cel-python")] if n <= 100 else []
    if peers.exists():
        engines += [(str(peers), name) for name in PEERS]
    else:
        print(f"tier0: build/peers is not there, so {', '.join(PEERS)} are left out", file=sys.stderr)
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
