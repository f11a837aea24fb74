"""Whether `git branch -d` loses nothing: git deletes a branch that its upstream reaches, or HEAD where it has none.

Which the upstream is stands in the repository's settings (git-config(1), `branch.NAME.merge`). It may be the branch
itself, one that goes with it, or a name that stands for it: then nothing else reaches what is deleted.
"""

import posixpath

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.git.passive import settings
from shield.facts.programs.git.repository import git_dirs, may_start_in
from shield.facts.programs.invocation import Invocation
from shield.facts.repositories import Repository
from shield.regex import regex

__all__ = ["keeps_merged"]

_HEADS = "refs/heads/"
_HERE = "."
_SECTION = regex(r'[ \t]*+\[([A-Za-z]++)(?:[ \t]++"([^"\\\r\n]*+)")?\][ \t]*+\r?')
_KEY = regex(r"[ \t]*+([A-Za-z][A-Za-z0-9-]*+)[ \t]*+=([^\n]*)")
_BRANCH = regex(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_REMOTE = regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_FETCHED = regex(r"\+?refs/heads/(?P<here>[^:]+):refs/remotes/(?P<remote>[^/:]+)/(?P<there>[^:]+)")


# What is fetched by these is no branch of theirs.
_NO_BRANCHES = regex(r"\+?refs/(?:merge-requests|notes|pull|tags)/")

# What the settings say of each branch and remote: all values of each key, in small letters, as they stand there.
_Told = dict[tuple[str, str], dict[str, list[str]]]


def keeps_merged(call: Invocation) -> bool:
    """Whether whatever this `git branch -d` deletes stays reachable by another name."""
    if call.arguments.has("-r", "--remotes"):
        return False  # names of what others have are deleted unasked, and theirs may be gone
    words = call.operands
    sure = all(word.fixed and _BRANCH.fullmatch(word.text) for word in words)
    # a file system may take another spelling for the same
    names = frozenset(word.text.casefold() for word in words) if sure else None
    bases = may_start_in(call)
    place = call.context.place
    try:
        found = [git_dirs(place, base) for base in bases]
        return bool(bases) and all(
            each is not None and all(_keeps(repository, place, names) for repository in each) for each in found
        )
    except FileSystemUnknownError:
        return False


def _keeps(repository: Repository, place: Place, names: frozenset[str] | None) -> bool:
    """`names`: the branches that are deleted; None where these may be any."""
    text = settings(place, repository)
    if text is None:
        return False
    told = _told(text)
    for (kind, name), values in told.items():
        if kind != "branch" or not (names is None or name.casefold() in names):
            continue
        merges = [value.removeprefix(_HEADS) for value in values.get("merge", [])]
        for remote in values.get("remote", []):
            for merge in merges:
                where = _upstream(remote, merge, told)
                goes_too = remote == _HERE and (names is None or merge.casefold() in names)
                if where is None or goes_too or _stands_for_another(repository, place, where):
                    return False
    return True


def _upstream(remote: str, merge: str, told: _Told) -> str | None:
    """The full name of the upstream; None where it is not as `git clone` and `git branch --track` put it down."""
    if not _BRANCH.fullmatch(merge) or ".." in merge:
        return None
    if remote == _HERE:
        return _HEADS + merge
    if not _REMOTE.fullmatch(remote):
        return None
    for value in told.get(("remote", remote), {}).get("fetch", []):
        found = _FETCHED.fullmatch(value)
        plain = found is not None and found["remote"] == remote and found["here"] == found["there"]
        if not plain and not _NO_BRANCHES.match(value):
            return None
    return f"refs/remotes/{remote}/{merge}"


def _stands_for_another(repository: Repository, place: Place, name: str) -> bool:
    """Whether the name is no more than another one's (git-symbolic-ref(1))."""
    path = posixpath.join(repository.common, name)
    entry = place.files.lstat(path)
    if entry is None or entry.kind is FileKind.DIRECTORY:
        return False
    content = place.files.read(path, 255) if entry.kind is FileKind.FILE else None
    return content is None or content.lstrip().startswith(b"ref:")


def _told(text: str) -> _Told:
    found: _Told = {}
    values: dict[str, list[str]] = {}
    for line in text.split("\n"):
        section, key = _SECTION.fullmatch(line), _KEY.fullmatch(line)
        if section is not None:
            values = found.setdefault((section[1].lower(), section[2] or ""), {})
        elif key is not None:
            values.setdefault(key[1].lower(), []).append(key[2].removesuffix("\r").strip(" \t"))
    return found
