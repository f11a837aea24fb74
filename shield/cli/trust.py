"""`shield trust`."""

import json
import os

import click

from shield.cli.render import shown
from shield.cli.terminal import confirm
from shield.config.home import current_directory, home_from
from shield.service.home import check_root, prepare, read_trusted, trust, within_trusted

__all__ = ["command"]


@click.command("trust", short_help="Let agents work in a directory.")
@click.argument("directory", required=False, metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
def command(directory: str | None, *, as_json: bool) -> None:
    """Let agents open sessions in DIR and below, after a person confirmed it on the terminal; without DIR, list them.

    Never `/`, your home directory, what is above them, or anything that holds Shield's own home.

    Exit codes: 0 trusted; 1 not confirmed; 2 refused.
    """
    home = home_from(os.environ)
    if directory is None:
        roots = read_trusted(home)
        click.echo(json.dumps({"roots": list(roots)}) if as_json else "\n".join(map(shown, roots)), nl=bool(roots))
        return
    root = check_root(os.path.join(current_directory(), directory), home, os.environ)
    known = within_trusted(root, read_trusted(home))
    if not known:
        question = f"agents may then read and, as the policy says, change everything in\n  {shown(root)}"
        if not confirm(question, term=os.environ.get("TERM", "")):
            click.echo("not trusted", err=True)
            raise SystemExit(1)
        os.umask(0o077)
        prepare(home)
        trust(home, root)
    click.echo(json.dumps({"root": root, "known": known}) if as_json else f"trusted {shown(root)}")
