"""What of a workspace the user's own home leads to: a folder of dotfiles is obeyed by the names of its links there.

`~/.bashrc` may be a link into the workspace. In `shield.facts.homed` a table says which places mean something, here
whatever is hidden may.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from agentctl.sandbox.names import FILLED
from agentctl.sandbox.places import is_within

__all__ = ["led_by_home"]

_MAX_INNER: Final = 200  # in a folder there; of one that holds more, nothing is looked at
_MAX_FOLDERS: Final = 200
_MAX_DEPTH: Final = 3


def led_by_home(root: str) -> Iterator[str]:
    """What lies in a workspace that links of the user's own lead to."""
    home = os.path.expanduser("~")
    if is_within(home, root):
        return  # every name of it is looked at as it stands
    real = os.path.realpath(root)
    for path in _links(home):
        end = os.path.realpath(path)
        if is_within(end, real) and end != real:
            yield root + end[len(real) :]


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
