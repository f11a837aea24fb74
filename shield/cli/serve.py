"""`shield serve`."""

import base64
import json
import os

import click

from shield.cli.connection import from_pipe
from shield.cli.terminal import unseen
from shield.config.home import home_from
from shield.service.hooks import Hooks, Listening
from shield.service.run import serve

__all__ = ["command"]


@click.command("serve", short_help="Run Shield in the foreground.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line on stdout once requests are answered.")
@click.option("--passphrase-fd", type=click.IntRange(min=3), help="Read the audit key's passphrase from this pipe.")
def command(*, as_json: bool, passphrase_fd: int | None) -> None:
    """Run Shield on $SHIELD_HOME until SIGTERM or Ctrl-C; SIGHUP loads policy and tokens anew.

    An empty home is begun first, without tokens of people (`shield init --new-tokens` makes them). The passphrase of
    the audit key, if it has one, is asked on the terminal.

    Exit codes: 0 after an orderly end; 2 where it may not start: another Shield on the home, a damaged or foreign log,
    a policy or configuration that does not load.
    """

    def listening(at: Listening) -> None:
        if as_json:
            key = base64.b64encode(at.public_key).decode()
            click.echo(json.dumps({"socket": at.address, "public_key": key, "pid": os.getpid()}))
        else:
            click.echo(f"shield listens on {at.address}", err=True)

    def passphrase() -> str:
        if passphrase_fd is None:
            return unseen("passphrase of the audit key: ")
        return from_pipe(passphrase_fd).rstrip("\n")

    home = home_from(os.environ)
    serve(
        home,
        Hooks(
            environ=os.environ,
            overrides=os.environ,
            listening=listening,
            said=lambda line: click.echo(f"shield: {line}", err=True),
            passphrase=passphrase,
        ),
    )
