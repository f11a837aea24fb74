"""What earlier commands of a line do to a repository, so that a later git command of the line runs a program."""

import posixpath
from collections.abc import Iterable

from shield.facts.beneath import holds_name
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.git.repository import STAYING
from shield.facts.programs.reading import Value
from shield.regex import regex

__all__ = ["after_changes", "leads", "stages"]

# What makes a directory a repository, or another one of it (`is_git_directory` in git's setup).
_PARTS = frozenset({".git", "HEAD", "commondir", "config", "gitdir", "index", "objects", "packed-refs", "refs"})

# These bring nothing into the index that is not there.
_STAGING_NOTHING = frozenset(
    ("commit", "describe", "diff", "diff-files", "diff-index", "diff-tree", "grep", "push", "rm", "status", "version")
)
# Options of `add` under which it takes no more than what is named, or all.
_ADDING = frozenset(("-A", "--all", "-v", "--verbose", "-u", "--update", "--"))
_MAX_LEVELS = 64
_OF_TREES = frozenset(("list", "lock", "prune", "remove", "unlock"))


def stages(words: tuple[Value, ...], place: Place, bases: tuple[str | None, ...], *, still: bool) -> bool:
    """Whether this git command may put another repository into the index: all but adding plain files that are named,
    and folders in which no other repository lies. `still`: no command before it has changed any file."""
    at = _verb_at(words)
    verb = words[at].text if at < len(words) else "version"
    if verb in STAYING or verb in _STAGING_NOTHING:
        return False
    if verb == "stash" and any(word.fixed and word.text in ("list", "show") for word in words[at + 1 : at + 2]):
        return False
    if verb == "worktree" and any(word.fixed and word.text in _OF_TREES for word in words[at + 1 : at + 2]):
        return False
    if verb not in ("add", "stage") or at > 0:
        return True
    if any(word.fixed and word.text in ("-n", "--dry-run") for word in words[1:]):
        return False
    named = [word for word in words[1:] if not (word.fixed and word.text in _ADDING)]
    if not named and any(word.fixed and word.text in ("-A", "--all") for word in words[1:]):
        return not (still and all(_is_alone(_top(base, place), place, top=True) for base in bases))
    return not all(
        word.fixed
        and not word.text.startswith("-")
        and (_is_file(word.text, place, base) or (still and _is_plain(word.text, place, base)))
        for word in named
        for base in bases
    )


def leads(words: tuple[Value, ...]) -> bool:
    """Whether this git command may say of a branch what its upstream is, or call a branch by another name."""
    at = _verb_at(words)
    leading = _LEADING.get(words[at].text) if at < len(words) else None
    return leading is not None and any(not word.fixed or leading.match(word.text) for word in words[at + 1 :])


_TRACKING = regex(r"--(?:t|set-)|-[A-Za-z]*[tu]")
_LEADING = {
    "branch": regex(r"--(?:t|set-|c|m)|-[A-Za-z]*[tumMcC]"),
    "checkout": _TRACKING,
    "pull": _TRACKING,
    "push": _TRACKING,
    "switch": _TRACKING,
}
_DELETING = regex(r"--d|-[A-Za-z]*d")


def after_changes(words: tuple[Value, ...], *, staged: bool, led: bool, written: Iterable[str]) -> bool:
    """Whether a repository that earlier commands of the line changed may make this git command run a program, or
    delete a branch that nothing else reaches.

    Facts are taken before anything runs: a gitlink that is staged then, files that make a repository of their
    directory, or what is then `led` elsewhere, are not there yet.
    """
    at = _verb_at(words)
    verb = words[at].text if at < len(words) else ""
    looks = at < len(words) and verb not in STAYING | {"commit", "push"}
    drops = verb == "branch" and any(not word.fixed or _DELETING.match(word.text) for word in words[at + 1 :])
    return (staged and looks) or (led and drops) or any(not _PARTS.isdisjoint(path.split("/")) for path in written)


def _verb_at(words: tuple[Value, ...]) -> int:
    """Where the subcommand stands, behind git's own options and their values; the number of words if there is none."""
    at = 0
    while at < len(words) and words[at].fixed and words[at].text.startswith("-"):
        at += 2 if words[at].text in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env") else 1
    return at


def _is_plain(text: str, place: Place, base: str | None) -> bool:
    """Whether `text` names a folder in which no other repository lies."""
    top = _top(base, place)
    path = None if base is None else resolve_path(text, place, base=base, expand_tilde=False).path
    if path is None or top is None or not f"{path}/".startswith(f"{top}/"):
        return False
    return _is_alone(path, place, top=path == top)


def _is_alone(path: str | None, place: Place, *, top: bool) -> bool:
    """Whether no repository begins in the folder at the resolved `path`, but for the one whose `top` it is."""
    try:
        found = None if path is None else place.files.lstat(path)
        if path is None or found is None or found.kind is not FileKind.DIRECTORY:
            return False
        own = f"{path}/.git" if top else ""
        return not holds_name(path, place, lambda inner: inner.lower().endswith("/.git") and inner != own)
    except FileSystemUnknownError:
        return False


def _top(base: str | None, place: Place) -> str | None:
    """The nearest folder, from `base` upward, that has a `.git`."""
    at = base
    for _ in range(_MAX_LEVELS):
        try:
            if at is None or place.files.lstat(posixpath.join(at, ".git")) is not None:
                return at
        except FileSystemUnknownError:
            return None
        at = posixpath.dirname(at) if at != "/" else None
    return None


def _is_file(text: str, place: Place, base: str | None) -> bool:
    if base is None:
        return False
    path = resolve_path(text, place, base=base, expand_tilde=False).path
    try:
        found = None if path is None else place.files.lstat(path)
    except FileSystemUnknownError:
        return False
    return found is not None and found.kind is FileKind.FILE
