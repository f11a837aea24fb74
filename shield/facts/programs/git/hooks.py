"""Hooks of a repository that a command of git starts: they are read as scripts are. Source: githooks(5)."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shield.facts.filesystem import FileKind
from shield.facts.programs.git.passive import hook_folders
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import run_file, script_text
from shield.facts.repositories import Repository
from shield.regex import regex
from shield.types import Access

__all__ = ["started_hooks"]

_COMMITTING = "pre-commit prepare-commit-msg commit-msg post-commit"
_MERGING = "pre-merge-commit prepare-commit-msg commit-msg post-merge"
_STARTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        verb: tuple(names.split())
        for verb, names in (
            ("commit", f"{_COMMITTING} post-rewrite"),
            ("merge", _MERGING),
            ("rebase", f"pre-rebase post-checkout post-rewrite {_COMMITTING}"),
            ("cherry-pick", "prepare-commit-msg commit-msg post-commit"),
            ("revert", "prepare-commit-msg commit-msg post-commit"),
            ("am", "applypatch-msg pre-applypatch post-applypatch"),
            ("checkout", "post-checkout"),
            ("switch", "post-checkout"),
            ("restore", "post-checkout"),
            ("worktree", "post-checkout"),
            ("push", "pre-push"),
        )
    }
)
# These `--no-verify` leaves out; to some commands `-n` is that, too.
_VERIFYING = frozenset(("pre-commit", "commit-msg", "pre-merge-commit", "pre-rebase", "pre-push"))
# They are given the name of a file with the message.
_TOLD = Value(text="$1", known=False)
_MESSAGES = frozenset(("commit-msg", "prepare-commit-msg"))
# Those of git-lfs, which moves large files between the repository and its own store.
_LARGE_FILES = regex(
    r"""#!/bin/sh\n(?:command -v git-lfs >/dev/null 2>&1 \|\| \{ (?:echo|printf) >&2(?: "[^"$`]*")+; exit 2; \}\n)?"""
    r"""git lfs (?:post-checkout|post-commit|post-merge|pre-push) "\$@"\n*"""
)
_UNVERIFIED = frozenset(("--no-verify", "--no-verif", "--no-veri", "--no-ver"))


def started_hooks(call: Invocation, repository: Repository, settings: str, verb: str) -> None:
    """Add what the hooks run that `git VERB` starts, at the top of the working tree."""
    place = call.context.place
    texts = {word.text for word in call.words if word.fixed}
    top = Value(text=repository.top, head=repository.top)
    unverified = bool(_UNVERIFIED & texts) or (verb == "commit" and "-n" in texts)
    for folder in hook_folders(repository, settings):
        for name in _STARTED.get(verb, ()):
            if unverified and name in _VERIFYING:
                continue
            path = posixpath.join(folder, name)
            stat = place.files.lstat(path)
            if stat is None or stat.kind is not FileKind.FILE or not stat.executable:
                continue
            if _LARGE_FILES.fullmatch(script_text(path, place) or "") is not None:
                continue
            # INVARIANT: what is judged by its content is bound by its content
            call.reading.path(Value(text=path, head=path, source=name), Access.EXECUTE)
            start = len(call.reading.nested)
            run_file(call.reading, path, [_TOLD] if name in _MESSAGES else (), call.context)
            call.reading.nested[start:] = [replace(each, moved=top) for each in call.reading.nested[start:]]
