"""The log's command line: one module a command, loaded when it is called, so that `--help` is quick.

Exit codes: 0 all is well, 1 tampered, 2 cannot tell (also wrong usage).
"""

from importlib import import_module
from typing import Any, Final

import click

__all__ = ["main"]

# name: (module, one line for `--help`)
COMMANDS: Final = {
    "list": ("audit.cli.listing", "List records, with filters."),
    "show": ("audit.cli.show", "Tell the story of one call."),
    "tail": ("audit.cli.tail", "Show the newest records and those that come."),
    "stats": ("audit.cli.stats", "Count what a log holds."),
    "verify": ("audit.cli.verify", "Verify a whole log."),
    "prove": ("audit.cli.prove", "Print the proof of a record."),
    "checkpoint": ("audit.cli.checkpoint", "Print the newest checkpoint."),
    "export": ("audit.cli.export", "Export records, or a bundle that verifies alone."),
    "redact": ("audit.cli.redact", "Destroy what is kept, sealed, beside records."),
    "rotate-key": ("audit.cli.rotate", "Give a log a new key."),
    "open": ("audit.cli.opened", "Open what is kept beside a record."),
    "witness": ("audit.cli.witness", "Remember, for others, how far their logs grew."),
}


class _Lazy(click.Group):
    """Every command, and what is printed about them, ends as `explained` says: click's own status for a pipe that
    nobody reads and for Ctrl-C is 1, tampered."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        from audit.cli.terms import explained

        with explained():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        from audit.cli.terms import explained

        with explained():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name in self.commands:  # a caller's own form of it
            return self.commands[cmd_name]
        found = COMMANDS.get(cmd_name)
        if found is None:
            return None
        command: click.Command = import_module(found[0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001 - click's
    if not value:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"audit, version {version('shield-sidecar')}")
    except PackageNotFoundError:
        raise click.UsageError("this copy was not installed, so it has no version; see SPEC.md beside it") from None
    ctx.exit()


@click.command(
    cls=_Lazy,
    epilog="Exit codes: 0 all is well; 1 tampered; 2 cannot tell, also wrong usage.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version.")
def main() -> None:
    """Read and verify an audit log offline."""
