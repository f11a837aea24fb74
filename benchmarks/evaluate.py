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
    """`evaluate.file`, `evaluate.shell5` and `evaluate.write`, which writes in a repository: CPU microseconds."""
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        root = Path(folder).resolve()
        (root / "src").mkdir()
        (root / "README.md").write_text("hello\n")
        (root / "repository").mkdir()
        _repository(root / "repository")
        policy = load_policy("default", shipped_shelf())
        for name, where, kind, payload, goal in (
            ("evaluate.file", root, "read_file", {"path": "README.md"}, 500),
            ("evaluate.shell5", root, "execute_command", {"command": LINE}, 1000),
            ("evaluate.write", root / "repository", "write_file", {"path": "src/x.py", "content": "x = 1\n"}, None),
        ):
            raw = json.dumps({"id": "b", "type": kind, "payload": payload, "cwd": str(where)}).encode()
            place = _place(str(where))

            def evaluate(raw: bytes = raw, place: Place = place) -> Decision:
                request = parse_request(raw)
                verdict, _ = dry_run(request, place, policy, agent="bench", now_ms=time.time_ns() // 1_000_000)
                return verdict.decision

            decision = evaluate()
            if decision is not Decision.ALLOW:
                raise MeasureError(f"{name}: {decision}, so this measures something else; {os.getcwd()}")
            yield Row(name=name, median=cpu_us(evaluate), unit="us", goal=goal)


def _place(root: str) -> Place:
    return Place(
        files=LocalFiles(),
        home=str(Path.home()),
        cwd=root,
        workspace_roots=(root,),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(Path.home())},
        shell="/bin/bash",
    )


def _repository(root: Path) -> None:
    """What is looked at for files that are obeyed under another name: settings, hooks, hidden folders, links."""
    for name, text in (
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", '[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.org/x.git\n'),
        *((f".git/hooks/{number}.sample", "#!/bin/sh\n") for number in range(14)),
        (".github/workflows/ci.yml", "on: push\n"),
        (".claude/settings.json", '{"hooks": {"Stop": [{"hooks": [{"command": "scripts/check.sh"}]}]}}'),
        ("package.json", "{}"),
        *((f"f{number}.py", "x") for number in range(40)),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "AGENTS.md").symlink_to("package.json")
