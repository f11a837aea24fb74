"""Names in a workspace that other programs obey: read-only or put back, and moved aside where they appear."""

import os
import subprocess

import pytest

PLAIN = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"


@pytest.fixture
def workspace(inside):
    """A workspace with a repository, hooks settings and instructions, made anew for each test."""
    ws = inside.world / "ws"
    for entry in list(ws.iterdir()):
        subprocess.run(["rm", "-rf", str(entry)], check=True)
    for name in (".git/hooks", ".git/info", ".vscode", "src"):
        (ws / name).mkdir(parents=True)
    (ws / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (ws / ".git/config").write_text(PLAIN)
    (ws / ".git/hooks/pre-commit").write_text("good")
    (ws / ".shield.yaml").write_text("good")
    (ws / "AGENTS.md").write_text("good")
    (ws / ".vscode/tasks.json").write_text("good")
    for folder, folders, files in os.walk(ws):
        for name in (*folders, *files):
            os.chown(os.path.join(folder, name), inside.user, inside.user)
    return ws


def test_what_exists_stays_as_it_is(inside, workspace):
    files = (".git/config", ".git/hooks/pre-commit", ".shield.yaml", "AGENTS.md", ".vscode/tasks.json")
    before = {name: (workspace / name).read_text() for name in files}
    for name in files:
        inside(f"echo evil >> {name}; echo evil > new; mv new {name}; rm -f {name}")
        assert (workspace / name).read_text() == before[name], name


def test_a_directory_above_cannot_be_swapped(inside, workspace):
    swaps = "mv .git .away; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo '[core]fsmonitor=evil' > .git/config"
    inside(swaps + "; mv .vscode .away2; mkdir .vscode; echo evil > .vscode/tasks.json")
    assert (workspace / ".git/hooks/pre-commit").read_text() == "good"
    assert (workspace / ".git/config").read_text() == PLAIN
    assert (workspace / ".vscode/tasks.json").read_text() == "good"


def test_a_new_hook_goes(inside, workspace):
    inside("echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout")
    assert sorted(os.listdir(workspace / ".git/hooks")) == ["pre-commit"]


@pytest.mark.parametrize(
    "name", [".claude/settings.json", ".mcp.json", ".cursor/hooks.json", "CLAUDE.md", ".git/commondir", ".codex"]
)
def test_what_appears_is_moved_aside_and_told(inside, workspace, name):
    answer = inside(f"mkdir -p $(dirname {name}); echo evil > {name}; echo kept > kept; cat {name}")
    assert answer.stdout == "evil\n", "it is there while the command runs"
    assert not (workspace / name).exists()
    assert f"moved aside: {workspace / name}" in answer.note
    assert (workspace / "kept").exists()
    moved = answer.note.partition("(to ")[2].partition(")")[0]
    assert inside(f"cat {moved}", "none").stdout == "evil\n"


def test_a_directory_that_becomes_a_link_is_moved_aside(inside, workspace):
    answer = inside("mkdir evil; echo evil > evil/settings.json; ln -s evil .claude")
    assert not (workspace / ".claude/settings.json").exists()
    assert "moved aside" in answer.note


def test_a_fresh_repository_keeps_its_plain_configuration(inside, workspace):
    subprocess.run(["rm", "-rf", str(workspace / ".git")], check=True)
    answer = inside(
        "git init -q . && git remote add origin https://example.com/x.git; git status -s && echo fine",
        env={"GIT_X": ""},
    )
    assert "fine" in answer.stdout, answer
    assert "moved aside" not in answer.note, answer
    assert "example.com" in (workspace / ".git/config").read_text()


@pytest.mark.parametrize(
    "line", ["fsmonitor = evil", "hooksPath = x", "sshCommand = evil", "pager = evil", "url = ext::evil"]
)
def test_a_fresh_repository_loses_one_that_starts_programs(inside, workspace, line):
    subprocess.run(["rm", "-rf", str(workspace / ".git")], check=True)
    answer = inside(f"git init -q .; echo '\t{line}' >> .git/config; echo evil > .git/hooks/pre-push")
    assert not (workspace / ".git/config").exists()
    assert not (workspace / ".git/hooks/pre-push").exists()
    assert answer.note.count("moved aside") == 2, answer


def test_at_state_hidden_it_is_only_told(inside, workspace):
    answer = inside("echo x > .mcp.json; echo more >> AGENTS.md", "state_hidden")
    assert (workspace / ".mcp.json").exists()
    assert f"appeared: {workspace / '.mcp.json'}" in answer.note
    assert f"changed: {workspace / 'AGENTS.md'}" in answer.note
    assert answer.note.startswith("exit code 0")
