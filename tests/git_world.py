"""Made worlds with a repository in them: the real git makes it, and its files are taken over as they are."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from shield.facts.made import MadeFile

__all__ = ["ENV", "committed", "git", "repository", "taken_over"]

ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "ana",
    "GIT_AUTHOR_EMAIL": "ana@example.org",
    "GIT_COMMITTER_NAME": "ana",
    "GIT_COMMITTER_EMAIL": "ana@example.org",
    "GIT_AUTHOR_DATE": "2026-01-01T12:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T12:00:00Z",
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
}


def git(folder: Path, *words: str) -> str:
    """Run git in `folder`, with no settings but the repository's own; what it prints."""
    done = subprocess.run(["git", *words], cwd=folder, env=ENV, check=True, capture_output=True, text=True)
    return done.stdout


def repository(
    files: Mapping[str, str | bytes], *, changes: Mapping[str, str | bytes] | None = None
) -> dict[str, MadeFile]:
    """`files` in one commit; `changes` are written afterwards. Paths are relative to the top."""
    with tempfile.TemporaryDirectory(prefix="sh") as name:
        top = Path(name)
        git(top, "init", "-q", "-b", "main")
        for path, text in files.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        git(top, "add", "-A", "-f")
        git(top, "commit", "-q", "-m", "x")
        for path, text in (changes or {}).items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        return taken_over(top)


def taken_over(top: Path) -> dict[str, MadeFile]:
    """Every file, link and directory beneath `top`, by its path from there."""
    found: dict[str, MadeFile] = {}
    for path in sorted(top.rglob("*")):
        where = str(path.relative_to(top))
        if path.is_symlink():
            found[where] = MadeFile(symlink=os.readlink(path))
        elif path.is_dir():
            found[where] = MadeFile(directory=True)
        else:
            found[where] = MadeFile(content=path.read_bytes(), mode=path.stat().st_mode & 0o777)
    return found


def committed(files: Mapping[str, str | bytes], beginnings: tuple[str, ...]) -> dict[str, MadeFile]:
    """The `.git` of a repository that holds those of `files` whose paths begin so."""
    made = repository({path: text for path, text in files.items() if path.startswith(beginnings)})
    return {path: file for path, file in made.items() if path.startswith(".git/")}
