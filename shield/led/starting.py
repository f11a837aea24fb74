"""Files of a workspace that what the user's login, desktop or system starts names by their whole path.

`~/.bashrc` may source one; a unit of systemd or an entry of autostart may start it, as one of the system's may.
"""

import posixpath
from collections.abc import Iterator
from typing import Final

from shield.led.look import Look
from shield.led.started import MAX_SCRIPTS, is_made
from shield.regex import regex

__all__ = ["at_start"]

_MAX_INNER: Final = 200  # in a folder of such; of one that holds more, nothing is looked at
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
_HOME: Final = regex(r"(?<![\w./])~/|\$HOME/|\$\{HOME\}/|%h/")
_REST: Final = regex(r"[^\s\"'();|&<>`$!{},:\[\]]++")


def at_start(root: str, look: Look) -> Iterator[tuple[str, str, bool]]:
    """What lies in the resolved workspace `root`, the file that names it, and whether that puts it on PATH: then it is
    a folder."""
    files = [posixpath.join(look.home, name) for name in _READ]
    for folder in (posixpath.join(look.home, name) for name in _FOLDERS):
        files += [f"{folder}/{name}" for name in look.names(folder, _MAX_INNER)]
    count = 0
    for file in files:
        raw = look.text(file)
        text = _HOME.sub(lambda _: f"{look.home}/", raw) if raw else ""
        for line in text.split("\n") if f"{root}/" in text else ():
            for rest in line.split(f"{root}/")[1:]:
                found = _REST.match(rest)
                count += 1
                if found is None or count > MAX_SCRIPTS or is_made(found[0]):
                    continue
                path = posixpath.normpath(f"{root}/{found[0]}")
                if not look.is_folder(path):
                    yield path, file, False
                elif "PATH" in line or "path" in line:
                    yield path, file, True
