"""A repository that begins above the workspace: what lies beside the workspace stays unseen and untouched."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from agentctl.execute import ShieldGate
from fake_shield import TOKEN, proposed
from shield.client import AsyncClient


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return done.stdout


@pytest.fixture
def inner(bench):
    """A project inside of a repository of everything in the home directory."""
    top = bench.workspace
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "Tester")
    git(top, "config", "user.email", "tester@example.com")
    (top / ".profile").write_text("export KEY=first-hidden\n")
    git(top, "add", ".profile")
    git(top, "commit", "-q", "-m", "private settings")
    project = top / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\n")
    git(top, "add", "project/a.txt")
    git(top, "commit", "-q", "-m", "the project")
    (top / ".profile").write_text("export KEY=second-hidden\n")
    (top / "private.txt").write_text("x\n")
    (project / "a.txt").write_text("two\n")

    def do(kind, **payload):
        async def main():
            async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
                gate = ShieldGate(client, await client.open_session([str(project)]))
                proposal = proposed(kind, payload)
                return await gate.run(proposal, await gate.propose(proposal))

        return asyncio.run(main())

    return top, do


def test_only_the_workspace_is_shown(inner):
    _, do = inner
    for kind, payload, expected in (
        ("git_status", {}, "a.txt"),
        ("git_diff", {}, "-one\n+two"),
        ("git_diff", {"args": ["HEAD~1", "HEAD"]}, "+one"),
        ("git_log", {"args": ["--stat"]}, "the project"),
        ("git_log", {"args": ["--all", "--name-only"]}, "the project"),
    ):
        content = do(kind, **payload).content
        assert expected in content, (kind, payload)
        for hidden in ("hidden", ".profile", "private"):
            assert hidden not in content, (kind, payload)


def test_nothing_is_committed_there(inner):
    top, do = inner
    for payload in ({"args": ["-a"]}, {}, {"path": "a.txt"}):
        assert do("git_commit", message="all of it", **payload).is_error
    assert git(top, "log", "--oneline").count("\n") == 2
    assert Path(top, "private.txt").exists()
