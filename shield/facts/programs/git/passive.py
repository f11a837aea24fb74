"""Whether a repository by itself makes git run a program: by its settings, its hooks, or what is linked in it."""

import posixpath
import re

from shield.facts.filesystem import FileKind
from shield.facts.place import Place
from shield.facts.repositories import MAX_SETTINGS, WORK_TREE, Repository
from shield.regex import regex

__all__ = ["QUIET", "hook_folders", "is_passive", "settings"]

_MAX_NAMES = 10_000  # in one directory
# Settings of a repository that make git run something or read further settings (git-config(1)).
_ACTIVE_SETTING = regex(
    r"fsmonitor|external|textconv|sshcommand|pager|editor|hookspath|gitproxy|askpass|program|\[\s*(?:alias|filter|include|diff|"
    r"merge|credential|difftool|mergetool|browser|protocol|interactive|sequence|man|gpg|url|uploadpack|trailer|core\.\w*proxy)|"
    r"worktree\s*=|command|driver|cmd\s*=|helper|attributesfile|uploadpack|receivepack|vcs\s*=|update\s*=\s*!|"
    r"ext::|\\\n|promisor|partialclone|recurse|\[\s*submodule|proxy|hook|bundle|"
    # what writes or deletes elsewhere, sends elsewhere, trusts an index, or makes git stay where it was started
    r"outputdirectory|cookiefile|savecookies|curloptresolve|\[\s*remotes|pruneexpire|reflogexpire|ignorestat|checkstat|"
    r"trustctime|^[ \t]*fetch[ \t]*=|"
    r"^[ \t]*bare\b(?![ \t]*=[ \t]*false[ \t]*\r?$)",
    re.IGNORECASE | re.MULTILINE,
)
# As git writes its lines; what else it takes for one (two sections in a line, a mark of the byte order) is not read.
_LINE = regex(
    r'[ \t]*+(?:\[[A-Za-z][A-Za-z0-9-]*+(?:[ \t]++"[^"\\\r\n]*+")?\]|'
    r"[A-Za-z][A-Za-z0-9-]*+[ \t]*+(?:=[^\\\r\n]*+)?|[#;][^\r\n]*+)?[ \t]*+\r?"
)
# Lines that say where others are and what branches are called, whatever words that takes: `webhooks.git`, `fix-pager`.
# What stands before `::` is a program (gitremote-helpers(7)).
_TOLD = regex(
    r'^[ \t]*(?:\[(?:branch|remote) "[^"\\\n]*"\]|'
    r"fetch[ \t]*=[ \t]*\+?refs/[^:^\n]+:refs/(?:remotes|tags|notes)/[^:\n]+|"
    r'(?:url|pushurl|push|merge|remote|pushremote|name|email)[ \t]*=(?:(?!::)[^"\\#;\n])*|'
    r"fsmonitor[ \t]*=[ \t]*(?:true|false))$",  # git's own (git-fsmonitor--daemon(1))
    re.IGNORECASE | re.MULTILINE,
)
# What runs none of `_LATER_HOOKS` (githooks(5)): what only reads, and what changes no more than files and index
# (but `restore`, which runs `post-checkout`).
QUIET_TEXT = """
add apply clean mv reset rm stage
status diff log show shortlog rev-parse rev-list ls-files ls-tree cat-file blame describe merge-base branch tag
remote config grep show-ref for-each-ref name-rev var count-objects check-ignore diff-tree diff-index diff-files
reflog cherry whatchanged annotate check-mailmap interpret-trailers
"""
QUIET = frozenset(QUIET_TEXT.split())
# The others, `post-index-change` and `reference-transaction`, they do run.
_LATER_HOOKS_TEXT = """
applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
pre-rebase post-checkout post-merge pre-push pre-receive update post-receive post-update push-to-checkout pre-auto-gc
post-rewrite sendemail-validate fsmonitor-watchman
"""
_LATER_HOOKS = frozenset(_LATER_HOOKS_TEXT.split())
# Directories of hooks that are guarded as `.git/hooks` is, from the top, as husky and others set them.
_HOOKS_PATH = regex(
    r"^[ \t]*hookspath[ \t]*=[ \t]*(\.(?:husky|githooks|git-hooks)(?:/[A-Za-z0-9_-]+)?)/?$",
    re.IGNORECASE | re.MULTILINE,
)
_HOOK = regex(r"[a-z][a-z0-9-]{5,}")  # what git may call one; beside them lie helpers of theirs
# Directories that git writes to, or shows what stands in them; a link there leads its hand. Branches have folders in
# their names, so of these two all that lies beneath counts.
_WRITTEN = ("", "info", "rebase-merge")
_DEEP = ("logs", "refs")
# What brings in objects of another repository, a stash at the next commit, or remotes that are in no settings.
_FURTHER = ("objects/info/alternates", "objects/info/http-alternates", "MERGE_AUTOSTASH", "remotes")
# Further remotes, where anything lies in it; an empty one git itself once made.
_BRANCHES = "branches"


def is_passive(place: Place, repository: Repository, text: str | None, *, quiet: bool) -> bool:
    """Whether neither its settings `text` nor its hooks run anything, and nothing in it leads out of it."""
    if text is None or not all(_LINE.fullmatch(line) for line in text.split("\n")) or _leads_out(place, repository):
        return False
    if _ACTIVE_SETTING.search(_HOOKS_PATH.sub("", _TOLD.sub("", text))):
        return False
    return not any(_hooks(place, folder, quiet=quiet) for folder in hook_folders(repository, text))


def _leads_out(place: Place, repository: Repository) -> bool:
    """Whether there may be a link in the repository, which git follows, or what stands for one."""
    lstat = place.files.lstat
    folders = dict.fromkeys((repository.own, repository.common))
    if any(lstat(posixpath.join(folder, name)) is not None for folder in folders for name in _FURTHER):
        return True
    for folder in (posixpath.join(folder, _BRANCHES) for folder in folders):
        entry = lstat(folder)
        if entry is not None and (entry.kind is not FileKind.DIRECTORY or place.files.listdir(folder, _MAX_NAMES)):
            return True
    return any(
        _holds_link(place, posixpath.join(folder, name).rstrip("/"), deep=name in _DEEP)
        for folder in folders
        for name in (*_WRITTEN, *_DEEP)
    )


def _holds_link(place: Place, top: str, *, deep: bool) -> bool:
    """Whether a link may stand in the directory `top`, or there is something else in its place."""
    entry = place.files.lstat(top)
    if entry is None:
        return False
    if entry.kind is not FileKind.DIRECTORY:
        return True
    pending, left = [top], _MAX_NAMES
    while pending:
        folder = pending.pop()
        names = place.files.listdir(folder, left)
        left -= len(names)
        for path in (posixpath.join(folder, name) for name in names):
            inner = place.files.lstat(path)
            if inner is not None and inner.kind is FileKind.LINK:
                return True
            if deep and inner is not None and inner.kind is FileKind.DIRECTORY:
                pending.append(path)
    return False


def settings(place: Place, repository: Repository) -> str | None:
    """The text of a repository's configuration; None where more than that file, or it cannot be read."""
    if place.files.lstat(posixpath.join(repository.common, "commondir")) is not None:
        return None
    text = _config(place, posixpath.join(repository.common, "config"))
    if text is None or "worktreeconfig" not in text.lower():
        # that a submodule's `core.worktree` is `top` has been seen
        return WORK_TREE.sub("", text, count=1) if text is not None and repository.module else text
    own = _config(place, posixpath.join(repository.own, "config.worktree"))
    return None if own is None or repository.module else f"{text}\n{own}"


def _config(place: Place, path: str) -> str | None:
    entry = place.files.lstat(path)
    if entry is None:
        return ""
    content = place.files.read(path, MAX_SETTINGS) if entry.kind is FileKind.FILE else None
    return content.decode("utf-8", "replace") if content is not None else None


def hook_folders(repository: Repository, text: str) -> tuple[str, ...]:
    """Where its hooks may lie: its own directory, and those that the settings name."""
    named = (posixpath.join(repository.top, path) for path in _HOOKS_PATH.findall(text))
    return (posixpath.join(repository.common, "hooks"), *named)


def _hooks(place: Place, folder: str, *, quiet: bool) -> bool:
    """Whether a hook may be there that is not one of git's samples, nor one that quiet commands never run."""
    entry = place.files.lstat(folder)
    if entry is None:
        return False
    above = place.files.lstat(posixpath.dirname(folder))
    if entry.kind is not FileKind.DIRECTORY or above is None or above.kind is not FileKind.DIRECTORY:
        return True
    names = [name.lower() for name in place.files.listdir(folder, 256)]
    return any(_HOOK.fullmatch(name) and not (quiet and name in _LATER_HOOKS) for name in names)
