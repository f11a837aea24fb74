"""The first moments of a home: its key, its empty log, its agent token; and the tokens that are shown once."""

import os
from dataclasses import dataclass

from shield.config.home import Home
from shield.errors import ConfigError, RecordError, StateError
from shield.service.home import is_empty, prepare
from shield.service.log import begin_log, create_key
from shield.service.outside import list_log, refuse_second
from shield.service.tokens import (
    Token,
    TokenBook,
    agent_trouble,
    issue,
    read_book,
    read_what_is_left,
    write_agent_token,
    write_book,
)
from shield.types import Role

__all__ = ["SHOWN_ONCE", "Birth", "agent_token", "initialise", "log_name", "new_tokens", "with_approver"]

SHOWN_ONCE = (Role.APPROVER, Role.ADMIN, Role.AUDITOR)
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """What `initialise` did. `secrets` by role are in this value alone: show them once, never store them. `said` are
    remarks for the person."""

    log: str
    secrets: dict[Role, str]
    said: tuple[str, ...] = ()


def initialise(
    home: Home,
    *,
    now_ms: int,
    checkpoints: str,
    roles: tuple[Role, ...] = SHOWN_ONCE,
    passphrase: str | None = None,
) -> Birth:
    """Begin a home: keys, empty log, tokens; `roles` get theirs at once. The caller holds the lock (`claimed`).

    Raises StateError where anything of an earlier one is left, here or in the folder `checkpoints`, ConfigError,
    RecordError."""
    prepare(home)
    if not is_empty(home):
        raise StateError(f"`{home.path}` has been begun already; use it, or move it away to begin anew")
    refuse_second(checkpoints, home)
    key = create_key(home, log_name(), passphrase)
    log = begin_log(home, key)
    try:
        log.close()
    except Exception as error:  # noqa: BLE001  # audit's tree; whatever it is, there is no usable log
        raise RecordError(f"the new log could not be written: {error}; free space, remove `{home.path}`") from None
    trouble = list_log(checkpoints, home, key.verifier)
    agent_token(home, now_ms=now_ms)
    return Birth(
        log=key.name,
        secrets=new_tokens(home, roles, now_ms=now_ms) if roles else {},
        said=() if trouble is None else (trouble,),
    )


def log_name() -> str:
    """A name that no other log has: 26 random characters."""
    return "shield.local/" + "".join(_ALPHABET[byte & 31] for byte in os.urandom(26))


def agent_token(home: Home, *, now_ms: int) -> None:
    """Begin the book of tokens with the agent's. Raises ConfigError."""
    write_book(home, (_fresh_agent(home, now_ms=now_ms),))


def _fresh_agent(home: Home, *, now_ms: int) -> Token:
    agent, secret = issue(Role.AGENT, "agent", os.urandom, created_at=now_ms)
    write_agent_token(home, secret)
    return agent


def new_tokens(home: Home, roles: tuple[Role, ...], *, now_ms: int) -> dict[Role, str]:
    """Issue fresh tokens of `roles`, in place of those before; a running Shield takes them at its next reload. Where
    the book of tokens or the agent's own is lost, that is a fresh one, too; of a lost book no other is left.

    Raises ConfigError."""
    if Role.AGENT in roles:
        raise ConfigError("the agent's token is made with the home; remove `tokens/` and begin anew to change it")
    left = read_what_is_left(home)
    if left is None:
        left = TokenBook(()) if roles else read_book(home)
    kept = [token for token in left.tokens if token.role not in roles]
    issued: list[Token] = []
    if roles and agent_trouble(home, left) is not None:
        # the lost one must not count any more: nobody knows who has it
        kept = [token for token in kept if token.role is not Role.AGENT]
        issued.append(_fresh_agent(home, now_ms=now_ms))
    secrets: dict[Role, str] = {}
    for role in roles:
        token, secrets[role] = issue(role, role.value, os.urandom, created_at=now_ms)
        issued.append(token)
    write_book(home, (*kept, *issued))
    return secrets


def with_approver(book: TokenBook, *, now_ms: int) -> tuple[TokenBook, str]:
    """The book with an approver's token that lives in memory alone, and its secret."""
    token, secret = issue(Role.APPROVER, "terminal", os.urandom, created_at=now_ms)
    return TokenBook((*book.tokens, token)), secret
