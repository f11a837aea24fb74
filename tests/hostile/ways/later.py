"""What a later, harmless command starts: `git status`, which nobody would ask about, in a repository that was prepared.

Only prepared here; the driver gives the command, and looks whether the program that was planted came to run, and how far
it came: it writes where only a command that is not confined could write.
"""

import os
import subprocess
from pathlib import Path

from attack import HERE, MARK, WORLD, got

ROOT = Path(WORLD.workspace)
AIM = Path(WORLD.home) / "letter.txt"


def test_submodule_with_a_program():
    """`git status` looks into a submodule with that one's own configuration, which names a program."""
    program = HERE / "program.sh"
    program.write_text(f"#!/bin/sh\necho {MARK} >>{AIM}\nexit 1\n")
    program.chmod(0o755)
    inner = ROOT / "module"
    git("init", "-q", inner)
    git("-C", inner, "commit", "-q", "--allow-empty", "-m", "x")
    head = git("-C", inner, "rev-parse", "HEAD").strip()
    git("-C", inner, "config", "core.fsmonitor", program)
    git("-C", ROOT, "update-index", "--add", "--cacheinfo", f"160000,{head},module")
    return got("prepared")


def git(*arguments):
    given = {
        "GIT_AUTHOR_NAME": "x",
        "GIT_AUTHOR_EMAIL": "x@x.example",
        "HOME": "/nonexistent",
        "PATH": os.environ["PATH"],
    }
    given |= {"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@x.example"}
    return subprocess.run(
        ["git", *map(str, arguments)], check=True, capture_output=True, text=True, env=given, timeout=20
    ).stdout
