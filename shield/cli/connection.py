"""How a command reaches the Shield of this home, and with which token."""

import getpass
import warnings
from collections.abc import Mapping
from pathlib import Path

from shield.client import Client, Endpoint, agent_token
from shield.config import Home, load, token_from
from shield.errors import ConfigError

__all__ = ["connect", "endpoint", "person_token"]


def endpoint(home: Home, environ: Mapping[str, str]) -> Endpoint:
    """Where the Shield of this home listens, as its configuration says. Raises ConfigError."""
    config = load(home, environ)
    if config.service.tcp is not None:
        return Endpoint(url=f"http://{config.service.tcp}")
    return Endpoint(socket=Path(home.socket(config)))


def person_token(environ: Mapping[str, str], *, role: str) -> str:
    """`SHIELD_TOKEN`, else what a person types unseen. Never an argument: those can be read by every process."""
    given = token_from(environ)
    if given is None:
        with warnings.catch_warnings():
            # without a terminal it would read standard input, and show what is typed
            warnings.simplefilter("error", getpass.GetPassWarning)
            try:
                given = getpass.getpass(f"{role} token: ").strip()
            except (EOFError, OSError, getpass.GetPassWarning):
                given = ""
    if not given or not given.isascii() or not given.isprintable():
        raise ConfigError(f"a token of role `{role}` is needed; set SHIELD_TOKEN or type it in a terminal")
    return given


def connect(home: Home, environ: Mapping[str, str], token: str | None = None) -> Client:
    """A client with `token`, else with the agent's own. Raises ClientError, ConfigError."""
    if token is None:
        token = agent_token(Path(home.path))
    return Client(endpoint(home, environ), token)
