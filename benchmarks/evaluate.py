"""Whole evaluations in process, without the disk's commit: parse, facts on real files, protection, tier 0, settle."""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from row import MeasureError, Row, cpu_us
from shield.actions.request import parse_request
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.types import Decision

LINE = "cd src && ls -la | grep -v tests | sort | head -5"


def rows() -> Iterator[Row]:
    """`evaluate.file` and `evaluate.shell5`, CPU microseconds."""
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        root = Path(folder).resolve()
        (root / "src").mkdir()
        (root / "README.md").write_text("hello\n")
        policy = load_policy("default", shipped_shelf())
        place = Place(
            files=LocalFiles(),
            home=str(Path.home()),
            cwd=str(root),
            workspace_roots=(str(root),),
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(Path.home())},
            shell="/bin/bash",
        )
        for name, kind, payload, goal in (
            ("evaluate.file", "read_file", {"path": "README.md"}, 500),
            ("evaluate.shell5", "execute_command", {"command": LINE}, 1000),
        ):
            raw = json.dumps({"id": "b", "type": kind, "payload": payload, "cwd": str(root)}).encode()

            def evaluate(raw: bytes = raw) -> Decision:
                request = parse_request(raw)
                verdict, _ = dry_run(request, place, policy, agent="bench", now_ms=time.time_ns() // 1_000_000)
                return verdict.decision

            decision = evaluate()
            if decision is not Decision.ALLOW:
                raise MeasureError(f"{name}: {decision}, so this measures something else; {os.getcwd()}")
            yield Row(name=name, median=cpu_us(evaluate), unit="us", goal=goal)
