"""What a login shell or an interactive one runs before its line: the start-up files of whoever's shell it is."""

from collections.abc import Mapping
from enum import Enum

from shield.facts.guards import inside
from shield.facts.paths import path_fact, resolved_roots
from shield.facts.place import Place
from shield.types import Access

__all__ = ["STARTED", "Start", "start_of"]


class Start(Enum):
    """Whose code it is."""

    NOTHING = "nothing"  # none of the files is there
    OWN = "own"  # the user's, written by hand outside of everything that an agent works on
    OTHERS = "others"  # the workspace's, or it cannot be told


# bash(1) and dash(1), INVOCATION; zsh(1), STARTUP/SHUTDOWN FILES. Whichever of them is read: all of them count. The
# first ones a distribution's build of bash reads besides. A login shell reads `.bash_logout` at its `exit`.
_SYSTEM = """
/etc/bash.bashrc /etc/bashrc /etc/bash.bash_logout /etc/profile
/etc/zshenv /etc/zprofile /etc/zshrc /etc/zlogin /etc/zlogout
/etc/zsh/zshenv /etc/zsh/zprofile /etc/zsh/zshrc /etc/zsh/zlogin /etc/zsh/zlogout
"""
_HOME = """
.bash_login .bash_logout .bash_profile .bashrc .profile .zlogin .zlogout .zprofile .zshenv .zshrc
"""
# Shells of which it is known what they read.
STARTED = frozenset(("bash", "dash", "sh", "zsh"))
# They name further ones, or a file that an interactive shell cuts short.
_NAMING = ("BASH_ENV", "ENV", "HISTFILE", "HISTFILESIZE", "HISTSIZE", "SAVEHIST", "ZDOTDIR")


def start_of(told: Mapping[str, str], place: Place) -> Start:
    """Whose start-up files a shell with the variables `told` reads.

    What they do is not read: whoever starts a shell so runs the user's code, as the user does at every login.
    """
    if told.get("HOME") != place.home or any(name in told or name in place.env for name in _NAMING):
        return Start.OTHERS
    if any(_reached(path, place) for path in place.session.written):
        return Start.OTHERS
    start = Start.NOTHING
    for path in (*_SYSTEM.split(), *(f"{place.home}/{name}" for name in _HOME.split())):
        fact = path_fact(path, Access.READ, place, base=None, expand_tilde=False)
        if fact.resolved is None or fact.inside_workspace or "temp" in fact.categories:
            return Start.OTHERS
        if fact.exists:
            start = Start.OWN
    return start


def _reached(path: str, place: Place) -> bool:
    """Whether a start-up file may take in what the session wrote there."""
    if inside(path, resolved_roots(place)):
        return False
    return "temp" not in path_fact(path, Access.READ, place, base=None, expand_tilde=False).categories
