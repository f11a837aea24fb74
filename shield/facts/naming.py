"""Files of a workspace that settings name, and by which name each of them is obeyed.

`core.hooksPath = tools/hooks` makes hooks of files that nothing else tells from others; what an `.envrc` sources is a
part of the user's shell.
"""

import posixpath
from collections.abc import Iterator
from typing import Final

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.repositories import linked
from shield.led.committing import hook_scripts
from shield.led.configured import HOOKS, INCLUDED, configured, hook_folders
from shield.led.entering import shell_files, shell_folders
from shield.led.hosting import host_scripts, told_texts
from shield.led.look import Look
from shield.led.starting import at_start

__all__ = ["Led", "named"]

# Where a file or folder truly lies, and the absolute name by which it is obeyed.
Led = tuple[str, str]

_MAX_LEVELS: Final = 20  # directories above a workspace


def named(root: str, place: Place, look: Look) -> Iterator[Led]:
    """What settings name in the resolved workspace `root`."""
    hooks: tuple[str, ...] = ()
    repository = _repository(root, place)
    if repository is not None:
        top, git = repository
        yield from ((path, _as_git(key, git)) for key, path in configured(git, top, look))
        hooks = tuple(hook_folders(git, top, look)) if top == root else ()
    yield from ((path, f"{root}/.githooks/run") for path in hook_scripts(root, look, *hooks))
    yield from ((path, f"{place.home}/.profile") for path in shell_files(root, look))
    yield from ((path, f"{root}/.githooks/host") for path in host_scripts(root, look))
    yield from ((path, f"{root}/.claude/rules/told") for path in told_texts(root, look))
    for path, file, on_path in at_start(root, look):
        yield path, f"{place.home}/.venv/bin" if on_path else _as_started(file, place)
    yield from ((path, f"{place.home}/.venv/bin") for path in shell_folders(root, look))


def _as_git(key: str, git: str) -> str:
    if key in HOOKS:
        return f"{git}/hooks"
    if key == INCLUDED:
        return f"{git}/config"
    return f"{git}/info/attributes" if key == "attributesfile" else f"{git}/hooks/{key}"


def _as_started(file: str, place: Place) -> str:
    """The name by which what the file starts is obeyed. A script that the system starts is no part of the system, and
    one that ssh does is no secret."""
    if file.startswith("/etc/") and not file.startswith("/etc/profile"):
        return f"{place.home}/.config/systemd/user/started.service"
    return f"{place.home}/.profile" if file.startswith("/etc/") or file.endswith("/.ssh/config") else file


def _repository(root: str, place: Place) -> tuple[str, str] | None:
    """The top of the working tree and the directory with its settings, of the nearest repository; None where there is
    none, or that cannot be told."""
    at = root
    try:
        for _ in range(_MAX_LEVELS):
            entry = place.files.lstat(posixpath.join(at, ".git"))
            if entry is not None and entry.kind is FileKind.DIRECTORY:
                return at, posixpath.join(at, ".git")
            if entry is not None:
                other = linked(at, place)
                return None if other is None else (at, other.common)
            if at == "/":
                break
            at = posixpath.dirname(at)
    except FileSystemUnknownError:
        pass
    return None
