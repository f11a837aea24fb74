"""`shield schema`: the JSON Schemas of the files that people write, for editors."""

from importlib.resources import files

import click

__all__ = ["command"]

_FILES = {
    "policy": "policy.schema.json",
    "workspace": "workspace.schema.json",
    "cases": "cases.schema.json",
}


@click.command("schema", short_help="Print the JSON Schema of policies or cases.")
@click.argument("kind", type=click.Choice(list(_FILES)))
def command(kind: str) -> None:
    """The JSON Schema (2020-12) of a policy file, of a workspace's `.shield.yaml`, or of a file of cases.

    An editor checks against it while you type. It knows keys and values; conditions are checked by Shield alone.

    Exit codes: 0 printed; 2 wrong usage.
    """
    click.echo(files("shield.policy").joinpath(_FILES[kind]).read_text(encoding="utf-8").rstrip("\n"))
