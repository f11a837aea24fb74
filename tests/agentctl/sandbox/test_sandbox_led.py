"""What the settings of a workspace lead to is guarded like hooks: the same as the policy asks about."""

import json
import os
from pathlib import Path

import pytest
import yaml

from agentctl.sandbox.guarded import candidates
from agentctl.sandbox.looking import Disk
from shield.led.configured import configured
from shield.led.entering import shell_files

CASES = Path(__file__).parents[2] / "corpora" / "bypasses" / "led.yaml"


def _made(root, files):
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def _guarded(root):
    return {os.path.relpath(path, root) for path in candidates(str(root))}


@pytest.mark.parametrize(
    ("config", "script"),
    [
        ('[diff "x"]\n\ttextconv = scripts/show.sh\n', "scripts/show.sh"),
        ('[filter "x"]\n\tclean = python3 clean.py %f\n', "clean.py"),
        ('[merge "x"]\n\tdriver = ./tools/merge %O %A %B\n', "tools/merge"),
        ('[alias]\n\tfix = "!f() { ./bin/fix \\"$@\\"; }; f"\n', "bin/fix"),
        ("[core]\n\tfsmonitor = \\\ntools/monitor\n", "tools/monitor"),
        ("[core]\n\thooksPath = tools/h\n", "tools/h"),
    ],
)
def test_scripts_that_git_runs(tmp_path, monkeypatch, config, script):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    _made(tmp_path / "ws", {".git/config": config, "clean.py": "x"})
    assert script in _guarded(tmp_path / "ws")
    (tmp_path / "ws/.git/config").write_text("[core]\n\tbare = false\n")
    assert script not in _guarded(tmp_path / "ws")


def test_hooks_and_scripts_by_the_users_settings_and_by_included_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    _made(tmp_path / "home", {".gitconfig": "[core]\n\thooksPath = dev/hooks\n"})
    shared = "[gpg]\n\tprogram = tools/sign\n"
    _made(tmp_path / "ws", {".git/config": "[include]\n\tpath = ../shared\n", "shared": shared})
    assert {"dev/hooks", "shared", "tools/sign"} <= _guarded(tmp_path / "ws")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".envrc", "source_env dev/env.sh\n"),
        (".envrc", 'if true; then . "./dev/env.sh"; fi\n'),
        (".envrc", "[ -f x ] && source $PWD/dev/env.sh\n"),
        ("mise.toml", '[env]\n_.source = [\n  "dev/env.sh",\n]\n'),
        (".mise.toml", '[env]\n_.source = {path = "{{config_root}}/dev/env.sh", redact = true}\n'),
    ],
)
def test_what_a_shell_sources(tmp_path, name, content):
    _made(tmp_path, {name: content})
    assert "dev/env.sh" in _guarded(tmp_path)


def test_what_is_plain_stays_so(tmp_path, monkeypatch):
    """Folders, programs of the machine and of an environment, and what is built anew are nobody's script."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = """
[core]
\teditor = code --wait
\tfsmonitor = true
[filter "lfs"]
\tclean = git-lfs clean -- %f
[filter "nbstripout"]
\tclean = ./.venv/bin/python -m nbstripout
[alias]
\tl = !git log -- docs/
"""
    _made(tmp_path / "ws", {".git/config": config, "docs/a.md": "x", "sub/a": "x", "clean/a": "x"})
    assert list(configured(str(tmp_path / "ws/.git"), str(tmp_path / "ws"), Disk())) == []
    _made(
        tmp_path / "ws",
        {".envrc": "source .venv/bin/activate\nsource env/bin/activate\nsource_env sub\n. install/setup.sh\n"},
    )
    assert list(shell_files(str(tmp_path / "ws"), Disk())) == []


def _written():
    """The cases in which a tool writes a file; but for folders in which a shell looks for commands: installers put
    theirs there, too. The system's own settings no test makes."""
    cases = yaml.safe_load(CASES.read_text())["cases"]
    by_tool = [case for case in cases if case["action"]["type"] == "write_file"]
    here = [case for case in by_tool if not any(name.startswith("/etc/") for name in case.get("files", ()))]
    return [case for case in here if not case["action"]["payload"]["path"].endswith("/ls")]


@pytest.mark.parametrize("case", _written(), ids=lambda case: case["id"])
def test_what_the_policy_asks_about_is_kept_from_code(case, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    files = {
        name: made["content"].replace("/home/user", str(tmp_path))
        for name, made in case["files"].items()
        if "content" in made
    }
    _made(tmp_path, {name[2:]: content for name, content in files.items() if name.startswith("~/")})
    _made(tmp_path / "ws", {name: content for name, content in files.items() if not name.startswith("~/")})
    for name, made in case["files"].items():
        if "symlink" in made:
            link = tmp_path / name.removeprefix("~/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(made["symlink"].replace("/home/user", str(tmp_path)))
    path = case["action"]["payload"]["path"]
    found = _guarded(tmp_path / "ws")
    guarded = any(name == path or path.startswith(f"{name}/") for name in found)
    assert guarded is not case["id"].endswith(".twin")


@pytest.mark.parametrize("token", ["[", "a = ", "source ", ". ", "then ", ";", "\\\n", "!", "(", "./"])
def test_long_settings_take_no_longer_than_their_length(tmp_path, monkeypatch, token):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    long = token * (60_000 // len(token))
    _made(tmp_path, {".git/config": "[alias]\n\tx = !" + long, ".envrc": long, "mise.toml": "[env]\n" + long})
    assert len(list(configured(str(tmp_path / ".git"), str(tmp_path), Disk()))) < 100
    assert len(list(shell_files(str(tmp_path), Disk()))) <= 1_000


@pytest.mark.parametrize(
    "command", ["tools/guard.py", '"$CLAUDE_PROJECT_DIR"/tools/guard.py', "python3 ${X_PROJECT_DIR}/tools/guard.py"]
)
@pytest.mark.parametrize("folder", ["ws", "home"])
def test_scripts_of_an_agents_hooks(tmp_path, monkeypatch, command, folder):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}}
    _made(tmp_path / "ws", {"src/a.py": "x"})
    _made(tmp_path / folder, {".claude/settings.json": json.dumps(settings)})
    assert "tools/guard.py" in _guarded(tmp_path / "ws")
    (tmp_path / folder / ".claude/settings.json").write_text('{"hooks": [')
    assert "tools/guard.py" not in _guarded(tmp_path / "ws")
