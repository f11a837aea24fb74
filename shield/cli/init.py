"""`shield init`."""

import json
import os
import stat
import time
from collections.abc import Mapping

import click

from shield.cli.terminal import tell, terminal
from shield.config import home_from
from shield.errors import ConfigError
from shield.service.birth import SHOWN_ONCE, initialise, new_tokens
from shield.service.home import is_empty, prepare
from shield.service.listener import claimed
from shield.types import Role

__all__ = ["command"]


@click.command("init", short_help="Begin a home: key, log, tokens.")
@click.option("--new-tokens", "renew", is_flag=True, help="Replace the tokens of people in a home that was begun.")
@click.option("--no-tokens", is_flag=True, help="Make no tokens of people: nobody can then answer an ESCALATE.")
@click.option("--token-fd", type=click.IntRange(min=3), help="Write the tokens to this pipe, not to the terminal.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout; it never holds a token.")
def command(*, renew: bool, no_tokens: bool, token_fd: int | None, as_json: bool) -> None:
    """Begin $SHIELD_HOME (default ~/.shield): the audit key, an empty log, the agent's token.

    The tokens of approver, admin and auditor are shown once, on the terminal; only their SHA-256 is kept.

    Exit codes: 0 done; 2 refused (the home was begun already, no terminal to show tokens on).
    """
    home = home_from(os.environ)
    now_ms = time.time_ns() // 1_000_000
    roles = () if no_tokens else SHOWN_ONCE
    if roles:
        # before anything is made: tokens that nobody could see would be lost
        _check_way_out(token_fd)
    os.umask(0o077)
    for line in prepare(home):
        click.echo(f"shield: {line}", err=True)
    log = None
    secrets: Mapping[Role, str]
    if renew:
        if is_empty(home):
            raise ConfigError(f"`{home.path}` was not begun yet; run `shield init`")
        secrets = new_tokens(home, roles, now_ms=now_ms)
        click.echo("a running Shield takes the new tokens at its next reload or start", err=True)
    else:
        with claimed(home):
            born = initialise(home, now_ms=now_ms, roles=roles)
        log, secrets = born.log, born.secrets
    if secrets:
        _hand_over(secrets, token_fd)
    if as_json:
        shape = {"home": home.path, "log": log, "vkey": home.audit_vkey, "tokens": sorted(secrets)}
        click.echo(json.dumps(shape))
    else:
        click.echo(f"home {home.path}" + ("" if log is None else f"\nlog  {log}\nkey  {home.audit_vkey}"))


def _check_way_out(token_fd: int | None) -> None:
    if token_fd is None:
        with terminal():
            return
    try:
        mode = os.fstat(token_fd).st_mode
    except OSError:
        raise ConfigError(f"the descriptor {token_fd} is not open; pass it to this command") from None
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise ConfigError(f"the descriptor {token_fd} is no pipe: tokens are never written to a file")


def _hand_over(secrets: Mapping[Role, str], token_fd: int | None) -> None:
    if token_fd is None:
        lines = [f"  {role.value:<9}{secret}\n" for role, secret in secrets.items()]
        tell("these tokens are shown once; keep them where no agent can read:\n" + "".join(lines))
        return
    with os.fdopen(token_fd, "w", encoding="ascii") as pipe:
        json.dump({role.value: secret for role, secret in secrets.items()}, pipe)
        pipe.write("\n")
