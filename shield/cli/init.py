"""`shield init`."""

import json
import os
import stat
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import click

from shield.cli.render import shown
from shield.cli.terminal import confirm, tell, terminal, unseen
from shield.config.home import Home, home_from
from shield.config.loading import load
from shield.errors import ConfigError
from shield.service.birth import SHOWN_ONCE, initialise, new_tokens
from shield.service.home import is_empty, prepare
from shield.service.listener import claimed
from shield.service.outside import check_folder
from shield.service.renewal import Lost, lost, renew
from shield.types import Role

__all__ = ["command"]


@click.command("init", short_help="Begin a home: key, log, tokens.")
@click.option(
    "--new-tokens", "renew_tokens", is_flag=True, help="Replace the tokens of people in a home that was begun."
)
@click.option("--no-tokens", is_flag=True, help="Make no tokens of people: nobody can then answer an ESCALATE.")
@click.option("--token-fd", type=click.IntRange(min=3), help="Write the tokens to this pipe, not to the terminal.")
@click.option("--new-log", "reason", metavar="REASON", help="Begin a new log in place of one that is lost or damaged.")
@click.option("--passphrase", "ask", is_flag=True, help="Protect the audit key by a passphrase, typed twice.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout; it never holds a token.")
def command(
    *, renew_tokens: bool, no_tokens: bool, token_fd: int | None, reason: str | None, ask: bool, as_json: bool
) -> None:
    """Begin $SHIELD_HOME (default ~/.shield): the audit key, an empty log, the agent's token.

    The tokens of approver, admin and auditor are shown once, on the terminal; only their SHA-256 is kept. With a
    passphrase, Shield starts only where it can be asked: `shield serve`.

    --new-log is for a log that does not start any more. After a `yes` on the terminal the old log and its keys move to
    `old/`, and the new one begins with a record that names the old one, how far it is proved to have gone, and REASON.
    Tokens and trusted directories stay.

    Exit codes: 0 done; 1 not confirmed; 2 refused (the home was begun already, no terminal to show tokens on).
    """
    if (reason is not None) + renew_tokens > 1 or (reason is not None and (no_tokens or token_fd is not None)):
        raise click.UsageError("--new-log makes no tokens; run `shield init --new-tokens` for these")
    if ask and renew_tokens:
        raise click.UsageError("--passphrase is for a new key; `shield audit rotate-key` changes one")
    home = home_from(os.environ)
    if reason is not None:
        _new_log(home, reason, ask=ask, as_json=as_json)
        return
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
    if renew_tokens:
        if is_empty(home):
            raise ConfigError(f"`{home.path}` was not begun yet; run `shield init`")
        secrets = new_tokens(home, roles, now_ms=now_ms)
        click.echo("a running Shield takes the new tokens at its next reload or start", err=True)
    else:
        checkpoints = check_folder(load(home, os.environ), home, os.environ)
        passphrase = _chosen() if ask else None
        with claimed(home):
            born = initialise(home, now_ms=now_ms, checkpoints=checkpoints, roles=roles, passphrase=passphrase)
        _say(born.said)
        log, secrets = born.log, born.secrets
    if secrets:
        _hand_over(secrets, token_fd)
    if as_json:
        shape = {"home": home.path, "log": log, "vkey": home.audit_vkey, "tokens": sorted(secrets)}
        click.echo(json.dumps(shape))
    else:
        click.echo(f"home {home.path}" + ("" if log is None else f"\nlog  {log}\nkey  {home.audit_vkey}"))


def _new_log(home: Home, reason: str, *, ask: bool, as_json: bool) -> None:
    os.umask(0o077)
    prepare(home)
    checkpoints = check_folder(load(home, os.environ), home, os.environ)
    with claimed(home):
        if not confirm(_question(home, lost(home, checkpoints)), term=os.environ.get("TERM", "")):
            click.echo("nothing was changed", err=True)
            raise SystemExit(1)
        done = renew(
            home,
            reason=reason,
            now_ms=time.time_ns() // 1_000_000,
            checkpoints=checkpoints,
            version=_version(),
            passphrase=_chosen() if ask else None,
        )
    _say(done.said)
    if as_json:
        shape = {
            "home": home.path,
            "log": done.log,
            "vkey": home.audit_vkey,
            "old": done.lost.name,
            "moved": done.moved,
        }
        click.echo(json.dumps(shape))
    else:
        moved = "" if done.moved is None else f"\nold  {done.moved}"
        click.echo(f"home {home.path}\nlog  {done.log}\nkey  {home.audit_vkey}{moved}")


def _question(home: Home, gone: Lost) -> str:
    name = "unknown" if gone.name is None else shown(gone.name)
    proved = "nothing that is left" if gone.checkpoint is None else f"{gone.checkpoint.size} records"
    found = "nothing that can be read" if gone.found is None else f"{gone.found} records"
    return (
        f"the log of {shown(home.path)} is given up and a new one begun, for good:\n"
        f"  log       {name}\n  proved    {proved}\n  in place  {found}\n"
        "its files and keys are kept in `old/`; whoever relies on the old log must be told of the new key"
    )


def _chosen() -> str:
    first = unseen("passphrase for the audit key: ")
    if not first or first != unseen("once more: "):
        raise ConfigError("the two are not the same, or empty; run this again")
    return first


def _say(lines: tuple[str, ...]) -> None:
    for line in lines:
        click.echo(f"shield: {line}", err=True)


def _version() -> str:
    try:
        return version("shield-sidecar")
    except PackageNotFoundError:
        return "0"


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
