"""Whose programs these are: the one rule for what `~` means, for Shield and for agentctl."""

import os
import pwd
from collections.abc import Mapping

from shield.errors import ConfigError

__all__ = ["user_home"]


def user_home(environ: Mapping[str, str]) -> str:
    """What `~` means: `$HOME` if it is absolute, else what the password database says. Raises ConfigError."""
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        return home
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise ConfigError(f"the user {os.getuid()} has no home directory; set HOME to an absolute path") from None
