"""Names in a workspace whose content another program obeys: which there are, and what may appear among them."""

import os
import re
import stat
from typing import Final

__all__ = ["GIT", "NAMES", "appeared", "candidates", "is_directory", "present"]

# Relative to a workspace root.
NAMES: Final = (
    ".git",  # what is in a directory of this name is named below; a file or a link leads to another repository
    ".shield.yaml",
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/agents",
    ".claude/commands",
    ".claude/skills",
    ".codex",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".cursor/rules",
    ".gemini/settings.json",
    ".github/hooks",
    ".github/copilot-instructions.md",
    ".kiro",
    ".mcp.json",
    ".githooks",
    ".husky",
    ".devcontainer",
    ".devcontainer.json",
    ".zed",
    ".vscode/settings.json",
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".vscode/mcp.json",
    ".windsurf",
    ".idea/runConfigurations",
    ".envrc",
    ".exrc",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".dir-locals.el",
    ".cursorrules",
    ".windsurfrules",
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "IDENTITY.md",
    "SOUL.md",
)
GIT: Final = ".git"
_CONFIG_MAX: Final = 1 << 20
_SAMPLE: Final = ".sample"  # git's own examples: never run
# A fresh repository's configuration: nothing in it names a program, another file or a place outside.
_SECTION: Final = re.compile(r'\s*\[(core|extensions|user|init|branch "[^"\\]*"|remote "[^"\\]*")\]\s*')
_PLAIN: Final = re.compile(
    r"\s*(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|objectformat"
    r"|refstorage|name|email|merge|remote|fetch|defaultbranch)\s*=[^\\\n]*"
    r"|\s*url\s*=\s*(https?://|git@|/|\.)[^\\\n]*|\s*([#;].*)?",
    re.IGNORECASE,
)
_HOOKS_PATH: Final = re.compile(r"^[^\n#;]*\bhookspath\s*=\s*\"?([^\"\n]+)", re.IGNORECASE | re.MULTILINE)
_INCLUDED: Final = re.compile(r"^[^\n#;]*\bpath\s*=\s*\"?([^\"\n]+)", re.IGNORECASE | re.MULTILINE)
_FIRST: Final = frozenset(name.partition("/")[0] for name in NAMES)


def present(root: str) -> list[str]:
    """The guarded paths that exist in a workspace, without a `.git` that is a directory."""
    git = os.path.join(root, GIT)
    return [path for path in candidates(root) if os.path.lexists(path) and not (path == git and is_directory(git))]


def candidates(root: str) -> list[str]:
    """The guarded paths whose first component exists, and what these or the repository's configuration lead to.

    Only what lies in the workspace: the rest is not writable.
    """
    first = {name: os.path.lexists(os.path.join(root, name)) for name in _FIRST}
    found = [os.path.join(root, name) for name in NAMES if first[name.partition("/")[0]]]
    further: list[str] = []
    if first[GIT]:
        folder = os.path.join(root, GIT)
        config = _text(os.path.join(folder, "config")) or ""
        further += [os.path.join(root, given.strip()) for given in _HOOKS_PATH.findall(config)]
        further += [os.path.join(folder, given.strip()) for given in _INCLUDED.findall(config)]
    # where a name is a link, or stands behind one, what it leads to is obeyed
    further += [real for path in found if (real := os.path.realpath(path)) != path]
    for path in map(os.path.normpath, further):
        if path.startswith(root.rstrip("/") + "/") and path not in found:
            found.append(path)
    return found


def appeared(path: str) -> list[str]:
    """Of a guarded path that was not there, what is to go: not git's examples, nor a plain configuration."""
    if os.path.basename(path) == GIT and is_directory(path):
        return []
    if path.endswith("/.git/hooks") and is_directory(path):
        return [os.path.join(path, name) for name in sorted(os.listdir(path)) if not name.endswith(_SAMPLE)]
    if path.endswith("/.git/config") and _is_plain(path):
        return []
    return [path]


def is_directory(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _is_plain(path: str) -> bool:
    """Whether a git configuration holds only lines of a short list. Whatever else is in it, it is not."""
    text = _text(path)
    return text is not None and all(_SECTION.fullmatch(line) or _PLAIN.fullmatch(line) for line in text.split("\n"))


def _text(path: str) -> str | None:
    """What is in a small regular file, None where it is something else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        raw = file.read(_CONFIG_MAX + 1)
    try:
        return raw.decode("utf-8") if len(raw) <= _CONFIG_MAX else None
    except UnicodeDecodeError:
        return None
