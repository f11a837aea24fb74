"""Where everything of one Shield lies, and what else of this user is where."""

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass

from shield.errors import ConfigError
from shield.user import user_home

__all__ = [
    "SOCKET_PATH_MAX",
    "Home",
    "agent_homes",
    "checkpoints_folder",
    "current_directory",
    "holds",
    "home_from",
    "same_place",
    "token_from",
    "user_home",
]

SOCKET_PATH_MAX = 100  # bytes; sun_path holds 108 on Linux and 104 on macOS, with the NUL


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where everything of one Shield lies. `path` is absolute with every link followed, `given` as it was named."""

    path: str
    given: str | None = dataclasses.field(default=None, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Both, without repetition: a link put in its place keeps the one, another name for it the other."""
        return (self.path,) if self.given in (None, self.path) else (self.path, self.given)

    @property
    def toml(self) -> str:
        return os.path.join(self.path, "shield.toml")

    @property
    def policies(self) -> str:
        return os.path.join(self.path, "policies")

    @property
    def heuristics(self) -> str:
        """What the owner adds to tier 1's rules."""
        return os.path.join(self.path, "heuristics")

    @property
    def keys(self) -> str:
        return os.path.join(self.path, "keys")

    @property
    def audit_key(self) -> str:
        return os.path.join(self.keys, "audit.pem")

    @property
    def audit_vkey(self) -> str:
        return os.path.join(self.keys, "audit.vkey")

    @property
    def audit_private(self) -> str:
        return os.path.join(self.keys, "private.key")

    @property
    def audit_db(self) -> str:
        return os.path.join(self.path, "audit.db")

    @property
    def audit_checkpoint(self) -> str:
        return os.path.join(self.path, "audit.checkpoint")

    @property
    def state_db(self) -> str:
        return os.path.join(self.path, "state.db")

    @property
    def tokens(self) -> str:
        return os.path.join(self.path, "tokens")

    @property
    def token_book(self) -> str:
        return os.path.join(self.tokens, "tokens.json")

    @property
    def agent_token(self) -> str:
        return os.path.join(self.tokens, "agent.token")

    @property
    def models(self) -> str:
        return os.path.join(self.path, "models")

    @property
    def run(self) -> str:
        return os.path.join(self.path, "run")

    @property
    def lock(self) -> str:
        return os.path.join(self.run, "shield.lock")

    @property
    def permit_key(self) -> str:
        """The public half of the running Shield's permit key, for who did not start it."""
        return os.path.join(self.run, "permit.pub")

    @property
    def old(self) -> str:
        """Logs that a person replaced by new ones, each with its keys."""
        return os.path.join(self.path, "old")

    @property
    def trusted(self) -> str:
        return os.path.join(self.path, "trusted.json")

    def socket(self, name: str) -> str:
        """The absolute path of the socket that `[service] socket` names.

        Raises ConfigError where it does not fit the operating system's limit.
        """
        path = os.path.join(self.path, name)
        if len(os.fsencode(path)) > SOCKET_PATH_MAX:
            raise ConfigError(
                f"the socket path `{path}` is longer than {SOCKET_PATH_MAX} bytes;"
                " set `[service] socket` in shield.toml to a shorter absolute path"
            )
        return path


def same_place(one: str, other: str) -> bool:
    """Whether two paths, with every link followed, lead to one directory, under whatever names: case counts for nothing
    on many a Mac, and a bind mount is a second name."""
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def holds(outer: str, inner: str) -> bool:
    """Whether `outer` is `inner` or above it, in the same sense."""
    place = inner
    while not same_place(outer, place):
        if place in ("", "/"):
            return False
        place = os.path.dirname(place)
    return True


def home_from(environ: Mapping[str, str]) -> Home:
    """`$SHIELD_HOME`, else `~/.shield`. Raises ConfigError if it is not absolute."""
    given = environ.get("SHIELD_HOME")
    if given is None:
        given = os.path.join(user_home(environ), ".shield")
    if not os.path.isabs(given):
        raise ConfigError(f"SHIELD_HOME is `{given}`; set it to an absolute path")
    return Home(path=os.path.realpath(given), given=os.path.normpath(given))


def token_from(environ: Mapping[str, str]) -> str | None:
    """The token that a person put into `SHIELD_TOKEN` for `shield approvals|status|audit`."""
    return environ.get("SHIELD_TOKEN") or None


def agent_homes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where agentctl keeps its configuration and its sessions (XDG Base Directory Specification)."""
    user = user_home(environ)
    bases = (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", os.path.join(".local", "share")))
    given = ((environ.get(name, ""), os.path.join(user, default)) for name, default in bases)
    return tuple(os.path.join(base if os.path.isabs(base) else default, "agentctl") for base, default in given)


def checkpoints_folder(given: str | None, environ: Mapping[str, str]) -> str:
    """Where the newest checkpoint of every log of this user is remembered, outside of every home, links followed.

    That is what the owner says (`given`), else `shield` in the user's state directory (XDG Base Directory
    Specification).
    """
    if not given:
        state = environ.get("XDG_STATE_HOME", "")
        base = state if os.path.isabs(state) else os.path.join(user_home(environ), ".local", "state")
        given = os.path.join(base, "shield")
    return os.path.realpath(given)


def current_directory() -> str:
    """Where this was started. Raises ConfigError: that directory was removed, or may not be looked into."""
    try:
        return os.getcwd()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ConfigError(f"the current directory cannot be named: {why}; `cd` to one that is there") from None
