"""How a command reaches the Shield of this home, and with which token."""

import getpass
import os
import stat
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from shield.client import Client, Endpoint, agent_token, check_home, probe, refuse_project
from shield.config.home import Home, current_directory, token_from, user_home
from shield.config.loading import load
from shield.errors import ConfigError

__all__ = ["connect", "endpoint", "from_pipe", "must_answer", "person_token"]

_SECRET_MAX = 4096


def endpoint(home: Home, environ: Mapping[str, str]) -> Endpoint:
    """Where the Shield of this home listens, as its configuration says. Raises ConfigError."""
    config = load(home, environ)
    if config.service.tcp is not None:
        return Endpoint(url=f"http://{config.service.tcp}")
    return Endpoint(socket=Path(home.socket(config.service.socket)))


def person_token(
    environ: Mapping[str, str],
    *,
    role: str,
    descriptor: int | None = None,
    before_asking: Callable[[], None] = lambda: None,
) -> str:
    """What a pipe gives, `SHIELD_TOKEN`, or what a person types unseen, after `before_asking`, which may raise.

    Never an argument: those can be read by every process. Raises ConfigError.
    """
    given = token_from(environ) if descriptor is None else from_pipe(descriptor).strip()
    if given is None:
        before_asking()
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


def from_pipe(descriptor: int) -> str:
    """The secret that a pipe gives, to its end. Raises ConfigError for what is no pipe: secrets are kept in no file."""
    try:
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            raise ConfigError(f"the descriptor {descriptor} is no pipe: a secret is never kept in a file")
        with os.fdopen(descriptor, "rb") as pipe:
            return pipe.read(_SECRET_MAX).decode("utf-8", "replace")
    except OSError:
        raise ConfigError(f"the descriptor {descriptor} cannot be read; pass the read end of a pipe") from None


def connect(home: Home, environ: Mapping[str, str], token: str | None = None) -> Client:
    """A client with `token`, a person's, else with the agent's own. Raises ClientError, ConfigError."""
    if token is None:
        token = agent_token(Path(home.path))
    else:
        _check_ours(home, environ)
    return Client(endpoint(home, environ), token)


def must_answer(home: Home, environ: Mapping[str, str]) -> None:
    """Raise ClientError, ConfigError where nothing answers that a person's token may be sent to: before they are asked
    for it."""
    _check_ours(home, environ)
    probe(endpoint(home, environ))


def _check_ours(home: Home, environ: Mapping[str, str]) -> None:
    # INVARIANT: a person's token is not sent where the project that they stand in says
    user, here = Path(user_home(environ)), Path(current_directory())
    refuse_project(environ, here, user=user)
    check_home(Path(home.path), workspace=here, user=user)
