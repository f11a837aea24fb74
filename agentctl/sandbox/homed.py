"""What of a workspace the user's own home leads to: a folder of dotfiles is obeyed by the names of its links there.

`~/.bashrc` may be a link into the workspace, or source a file of it. The words are those of `shield.facts.homed`; there
a table says which places mean something, here whatever is hidden may.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from agentctl.sandbox.names import FILLED
from agentctl.sandbox.places import is_within, listed
from agentctl.sandbox.started import MAX_SCRIPTS, is_made, text_of

__all__ = ["led_by_home"]

_MAX_INNER: Final = 200  # in a folder there; of one that holds more, nothing is looked at
_MAX_FOLDERS: Final = 200
_MAX_DEPTH: Final = 3
_READ_TEXT: Final = """
.bash_aliases .bash_login .bash_profile .bashrc .config/fish/config.fish .config/nvim/init.lua .config/nvim/init.vim
.config/tmux/tmux.conf .crontab .gvimrc .inputrc .profile .ssh/config .tmux.conf .vimrc .xprofile .xsession .xsessionrc
.zlogin .zprofile .zshenv .zshrc
/etc/crontab /etc/profile /etc/rc.local
"""
_READ: Final = tuple(_READ_TEXT.split())
_FOLDERS: Final = (
    *(".bashrc.d", ".config/autostart", ".config/environment.d", ".config/systemd/user", ".zshrc.d"),
    *("/etc/cron.d", "/etc/profile.d", "/etc/sudoers.d", "/etc/supervisor/conf.d", "/etc/systemd/system"),
)
_HOME: Final = re.compile(r"(?<![\w./])~/|\$HOME/|\$\{HOME\}/|%h/")
_REST: Final = re.compile(r"[^\s\"'();|&<>`$!{},:\[\]]++")


def led_by_home(root: str) -> Iterator[str]:
    """What lies in a workspace that links and settings of the user's own lead to."""
    home = os.path.expanduser("~")
    if is_within(home, root):
        return  # every name of it is looked at as it stands
    real = os.path.realpath(root)
    for path in _links(home):
        end = os.path.realpath(path)
        if is_within(end, real) and end != real:
            yield root + end[len(real) :]
    yield from _named(root, home)


def _links(home: str) -> Iterator[str]:
    waiting, folders = [(home, _MAX_DEPTH)], 0
    while waiting and folders < _MAX_FOLDERS:
        folder, depth = waiting.pop(0)
        folders += 1
        with suppress(OSError), os.scandir(folder) as entries:
            found = list(entries)
            for entry in found if folder == home or len(found) <= _MAX_INNER else ():
                if folder == home and not entry.name.startswith("."):
                    continue
                if entry.is_symlink():
                    yield entry.path
                elif depth > 1 and entry.name not in FILLED and entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, depth - 1))


def _named(root: str, home: str) -> Iterator[str]:
    """The files of a workspace that start-up files name by their whole path."""
    files = [os.path.join(home, name) for name in _READ]
    for folder in (os.path.join(home, name) for name in _FOLDERS):
        files += [os.path.join(folder, name) for name in sorted(listed(folder))[:_MAX_INNER]]
    count = 0
    for file in files:
        text = _HOME.sub(lambda _: f"{home}/", text_of(file))
        for rest in text.split(f"{root}/")[1:]:
            found = _REST.match(rest)
            count += 1
            if found is None or count > MAX_SCRIPTS or is_made(found[0]):
                continue
            path = os.path.normpath(f"{root}/{found[0]}")
            if not os.path.isdir(path):
                yield path
