"""What git prints of its settings: addresses of remotes, in which a password may stand."""

import posixpath

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.logins import holds_login
from shield.facts.programs.git.repository import git_dirs, may_start_in
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Value
from shield.types import Access

__all__ = ["shows_addresses"]


def shows_addresses(call: Invocation, *, alone: bool = True) -> None:
    """It prints addresses of remotes, with what the user's own settings make of them: where one has a password in it,
    that is read."""
    place = call.context.place
    files = [posixpath.join(place.home, name) for name in (".gitconfig", ".config/git/config")]
    for base in may_start_in(call):
        try:
            found = git_dirs(place, base) or ()
        except FileSystemUnknownError:
            found = ()
        files += [posixpath.join(each.common, "config") for each in found]
        files += [posixpath.join(each.own, "config.worktree") for each in found]
    moved, call.reading.moved = call.reading.moved, None
    for path in dict.fromkeys(files):
        if holds_login(path, place, addresses=alone):
            call.reading.path(Value(text=path, head=path), Access.READ)
    call.reading.moved = moved
