"""`shield serve`."""

import base64
import json
import os

import click

from shield.config import home_from
from shield.service.run import Hooks, Listening, serve

__all__ = ["command"]


@click.command("serve", short_help="Run Shield in the foreground.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line on stdout once requests are answered.")
def command(*, as_json: bool) -> None:
    """Run Shield on $SHIELD_HOME until SIGTERM or Ctrl-C; SIGHUP loads policy and tokens anew.

    An empty home is begun first, without tokens of people (`shield init --new-tokens` makes them).

    Exit codes: 0 after an orderly end; 2 where it may not start: another Shield on the home, a damaged or foreign log,
    a policy or configuration that does not load.
    """

    def listening(at: Listening) -> None:
        if as_json:
            key = base64.b64encode(at.public_key).decode()
            click.echo(json.dumps({"socket": at.address, "public_key": key, "pid": os.getpid()}))
        else:
            click.echo(f"shield listens on {at.address}", err=True)

    home = home_from(os.environ)
    serve(
        home,
        Hooks(
            environ=os.environ,
            overrides=os.environ,
            listening=listening,
            said=lambda line: click.echo(f"shield: {line}", err=True),
        ),
    )
