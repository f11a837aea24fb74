"""The built wheel in an environment that has nothing but its own dependencies: what a person installs works there."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from guarded import ground
from terminal import PATIENCE_S, Terminal, environ

CASES = """\
version: 1
cases:
  - id: read
    action: {type: read_file, payload: {path: README.md}}
    expect: {decision: ALLOW}
  - id: key
    action: {type: read_file, payload: {path: ~/.ssh/id_rsa}}
    expect: {decision: BLOCK}
"""
ACTIONS = [
    {"id": "a", "type": "read_file", "payload": {"path": "README.md"}},
    {"id": "b", "type": "read_file", "payload": {"path": "~/.ssh/id_rsa"}},
    {"id": "c", "type": "execute_command", "payload": {"command": "make"}},
]


@pytest.fixture(scope="module")
def bare():
    given = os.environ.get("SHIELD_BARE")
    if not given:
        pytest.skip("SHIELD_BARE does not name an environment that has only the wheel; `make test` makes one")
    with ground() as place:
        env = environ(place)
        del env["PYTHONPATH"]

        def run(name: str, *arguments: str, stdin: str = "", cwd: Path = place.workspace):
            return subprocess.run(
                [str(Path(given, "bin", name)), *arguments],
                input=stdin,
                capture_output=True,
                text=True,
                env=env,
                cwd=cwd,
                timeout=PATIENCE_S * 2,
                check=False,
            )

        yield SimpleNamespace(place=place, env=env, run=run, bin=Path(given, "bin"))


def test_it_has_no_development_tools_and_only_our_three_packages(bare):
    listed = bare.run("python", "-m", "pip", "list", "--format=json")
    names = {entry["name"].lower() for entry in json.loads(listed.stdout)}
    assert "shield-sidecar" in names
    assert not names & {"pytest", "hypothesis", "mypy", "ruff", "openai", "anthropic", "torch", "transformers"}
    found = bare.run("python", "-P", "-c", "import shield, agentctl, audit; print(shield.__file__)", cwd=Path("/"))
    assert str(bare.bin.parent) in found.stdout, found.stderr
    for name in ("tests", "policies", "models", "benchmarks"):
        assert bare.run("python", "-P", "-c", f"import {name}", cwd=Path("/")).returncode == 1


@pytest.mark.parametrize("name", ["shield", "agentctl"])
def test_help(bare, name):
    done = bare.run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
    assert not done.stderr


def test_check(bare):
    lines = "".join(f"{json.dumps(action)}\n" for action in ACTIONS)
    done = bare.run("shield", "check", "--isolation", "none", "--workspace", str(bare.place.workspace), stdin=lines)
    assert done.returncode == 1, done.stderr
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(verdict["id"], verdict["decision"]) for verdict in verdicts] == [
        ("a", "ALLOW"),
        ("b", "BLOCK"),
        ("c", "ESCALATE"),
    ]


def test_eval_of_every_shipped_policy(bare):
    cases = bare.place.root / "cases.yaml"
    cases.write_text(CASES)
    done = bare.run("shield", "eval", "default", "strict", "permissive", "--cases", str(cases), "--format", "json")
    report = json.loads(done.stdout)
    assert [policy["policy"] for policy in report["policies"]] == ["default", "strict", "permissive"]
    assert report["policies"][0]["failed"] == 0
    assert done.returncode in (0, 1), done.stderr


def test_a_console_session_and_the_proof_afterwards(bare):
    with Terminal([str(bare.bin / "agentctl"), "chat"], bare.env, cwd=bare.place.workspace) as terminal:
        terminal.until("agentctl> ")
        terminal.type("/read README.md\n")
        terminal.until(r"ALLOW(.|\n)*# a project(.|\n)*agentctl> ")
        terminal.type("/read ~/.ssh/id_rsa\n")
        terminal.until(r"BLOCK(.|\n)*agentctl> ")
        terminal.type("!python3 -c 'import ctypes; print(6 * 7)'\n")
        terminal.until(r"type yes/no, \d+ s left: ")
        terminal.answer("yes")
        terminal.until(r"\| 42(.|\n)*agentctl> ")
        terminal.type("/quit\n")
        assert terminal.end() == 0, terminal.seen
    home = bare.place.shield_home
    arguments = ("verify", str(home / "audit.db"), "--key", str(home / "keys" / "audit.vkey"))
    done = bare.run("python", "-P", "-m", "audit", *arguments, cwd=Path("/"))
    assert done.returncode == 0, done.stderr
    assert "OK" in done.stdout
    # one byte of a stored record changed: the same command names it
    stored = (home / "audit.db").read_bytes()
    assert stored.count(b"~/.ssh/id_rsa") >= 1
    (home / "audit.db").write_bytes(stored.replace(b"~/.ssh/id_rsa", b"~/.ssh/id_rsb"))
    assert bare.run("python", "-P", "-m", "audit", *arguments, cwd=Path("/")).returncode == 1
