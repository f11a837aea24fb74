"""The configuration that git is given: keys of a short list that start nothing, the person's name, what is fixed."""

import os
import re
from typing import Final

from agentctl.errors import ToolError
from agentctl.tools.git_repository import Repository, run_plain
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import OutcomeStatus

__all__ = ["config_of", "settings_in"]

# Keys that say how objects and the working tree are read. None of them names a program, a file or a host to talk to.
_KEPT: Final = re.compile(
    r"core\.(repositoryformatversion|filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|quotepath|bare"
    r"|sparsecheckout|sparsecheckoutcone|logallrefupdates)"
    r"|extensions\.(objectformat|compatobjectformat|refstorage|noop)|user\.(name|email)"
    r"|i18n\.(commitencoding|logoutputencoding)|branch\..*\.(remote|merge)|remote\..*\.fetch"
)
_EXTENSIONS: Final = re.compile(r"extensions\.(?!(objectformat|compatobjectformat|refstorage|noop|worktreeconfig)$)")
_FIXED: Final = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.untrackedCache", "false"),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "all"),
    ("log.showSignature", "false"),
    ("commit.gpgSign", "false"),
    ("gpg.program", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("color.ui", "false"),
)


def config_of(warrant: Warrant, stop: Stop, repository: Repository) -> str:
    """The configuration of ours: kept keys of the repository's file, the person's name, and what is fixed."""
    settings = [
        (name, value) for name, value in settings_in(warrant, stop, repository, "config") if _KEPT.fullmatch(name)
    ]
    named = {name for name, _ in settings}
    home = warrant.receipt.env.get("HOME", "")
    for file in (os.path.join(home, ".gitconfig"), os.path.join(home, ".config/git/config")):
        if os.path.isabs(file) and os.path.isfile(file):
            for name, value in settings_in(warrant, stop, repository, file):
                if name in ("user.name", "user.email") and name not in named:
                    settings.append((name, value))
    lines: list[str] = []
    for name, value in [*settings, *_FIXED]:
        section, _, rest = name.partition(".")
        middle, _, key = rest.rpartition(".")
        title = f'[{section} "{_quoted(middle)}"]' if middle else f"[{section}]"
        lines.append(f'{title}\n\t{key} = "{_quoted(value)}"\n')
    return "".join(lines)


def settings_in(warrant: Warrant, stop: Stop, repository: Repository, file: str) -> list[tuple[str, str]]:
    """The settings in one file, its includes not followed. Section and key in lower case, as git lists them."""
    path = os.path.join(repository.common, file)
    if not os.path.isfile(path):
        return []
    listed = run_plain(warrant, stop, repository, ["config", "--file", path, "--no-includes", "--list", "-z"])
    if listed.status is not OutcomeStatus.OK or listed.truncated:
        raise ToolError(f"`{path}` cannot be read as a git configuration")
    text = "".join(part.text for part in listed.parts if part.role == "stdout")
    found: list[tuple[str, str]] = []
    for item in text.split("\0"):
        name, newline, value = item.partition("\n")
        if _EXTENSIONS.match(name):
            raise ToolError(f"the repository uses `{name}`; use execute_command with git there")
        if name:
            found.append((name, value if newline else "true"))
    return found


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\0", "")
