"""How cost grows with size: `make bench-growth`. Each row's ratio is its cost over that of the size before it, divided
by the growth in size: 1 is linear, below 1 better, above 1 worse."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from audit.merkle import Edge, leaf_hash
from audit_growth import rows as audit_rows
from row import Row, cpu_us
from shield.actions.registry import lookup
from shield.actions.request import make_action, parse_request
from shield.canonical import encode, parse
from shield.facts.compute import compute
from shield.policy.world import made_place
from tier0 import NOW, policy

SMALL = {"rounds": 3, "seconds": 0.05}


def rows() -> Iterator[Row]:
    """Canonical form by values, facts by commands of a line, tier 0 by rules, the log's tree by leaves, the log."""
    yield from _series("canonical", (10, 100, 1_000, 9_000), _canonical)
    yield from _series("facts.shell", (1, 5, 50, 200), _shell)
    yield from _series("tier0.rules", (10, 100, 1_000, 3_000), _rules)
    yield from _series("audit.tree", (1_000, 10_000, 100_000), _tree)
    yield from audit_rows()


def _series(name: str, sizes: Sequence[int], cost: Callable[[int], float]) -> Iterator[Row]:
    before: tuple[int, float] | None = None
    for size in sizes:
        median = cost(size)
        ratio = None if before is None else median / before[1] / (size / before[0])
        yield Row(
            name=f"growth.{name}.{size}",
            median=median,
            unit="us",
            peer=None if before is None else f"linear from {before[0]}",
            ratio=ratio,
        )
        before = (size, median)


def _canonical(size: int) -> float:
    value = {f"key{index}": ["text", index] for index in range(size // 3)}
    raw = json.dumps(value).encode()
    return cpu_us(lambda: encode(parse(raw)), **SMALL)


def _shell(size: int) -> float:
    line = " && ".join(f"ls dir{index}" for index in range(size))
    raw = json.dumps({"type": "execute_command", "payload": {"command": line}, "cwd": "/home/user/ws"}).encode()
    kind, place = lookup("execute_command"), made_place()
    return cpu_us(lambda: compute(parse_request(raw).action, kind, place), **SMALL)


def _rules(size: int) -> float:
    rules = policy(size)
    action = make_action("read_file", {"path": "README.md"}, "/home/user/ws")
    kind = lookup("read_file")
    facts = compute(action, kind, made_place())
    judge = partial(rules.judge, action, kind, facts, agent="a", workspace="/home/user/ws", now=NOW)
    return cpu_us(judge, **SMALL)


def _tree(size: int) -> float:
    """Microseconds to append the last thousand of `size` leaves, each."""
    leaf = leaf_hash(b"a record")
    tree = Edge()
    for _ in range(size - 1_000):
        tree.append(leaf)
    started = time.process_time()
    for _ in range(1_000):
        tree.append(leaf)
    return (time.process_time() - started) * 1_000
