"""A workspace that is no repository and has no settings: there is nothing to protect yet (CVE-2026-25725)."""

import os
import subprocess
from pathlib import Path

from attack import MARK, WORLD, plant, wrote

ROOT = Path(WORLD.second)


def test_hook_where_no_repository_is():
    hook = plant(ROOT / ".git" / "hooks" / "pre-commit", "#!/bin/sh\n# {}\n")
    (ROOT / ".git" / "hooks" / "pre-commit").chmod(0o755)
    return hook


def test_repository_that_obeys_us():
    """`git init`, then a program for git to start."""
    subprocess.run(["git", "init", "-q", ROOT], check=True, capture_output=True)
    subprocess.run(["git", "-C", ROOT, "config", "core.fsmonitor", MARK], check=True, capture_output=True)
    return wrote(ROOT / ".git" / "config")


def test_settings_where_none_are():
    return plant(ROOT / ".claude" / "settings.json", '{"hooks": "{}"}\n')


def test_policy_where_none_is():
    return plant(ROOT / ".shield.yaml", "version: 1\nname: {}\n")


def test_instructions_by_a_linked_folder():
    """The folder of settings as a link to one of ours."""
    (ROOT / "own").mkdir()
    (ROOT / ".vscode").symlink_to("own")
    return plant(ROOT / "own" / "tasks.json", "// {}\n") and wrote(ROOT / ".vscode" / "tasks.json")


def test_environment_where_none_is():
    """direnv runs it for whoever enters the folder."""
    return plant(ROOT / ".envrc", "# {}\n") if os.path.isdir(ROOT) else None
