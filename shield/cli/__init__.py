"""The `shield` command line. A command's module is imported when it is run, so that `--help` costs only click.

Exit codes: 0 done · 1 the answer is no (a BLOCK, tampered, not ready) · 2 an error or wrong usage · 3 an ESCALATE.
"""

from importlib import import_module
from typing import Any

import click

from shield.errors import ShieldError

__all__ = ["COMMANDS", "shield"]

# name: (module below shield.cli, one line); the lines are compared with the commands' own by a test
COMMANDS: dict[str, tuple[str, str]] = {
    "approvals": ("approvals", "Answer the questions that wait for a person."),
    "audit": ("audit", "Read and verify this home's audit log."),
    "check": ("check", "Say what Shield would decide about actions: a dry run."),
    "diff": ("diff", "Say which decisions another policy would change."),
    "eval": ("evaluate", "Test policies on files of cases."),
    "explain": ("explain", "Say why an action is judged as it is."),
    "init": ("init", "Begin a home: key, log, tokens."),
    "lint": ("lint", "Find what is wrong in policies that load."),
    "schema": ("schema", "Print the JSON Schema of policies or cases."),
    "serve": ("serve", "Run Shield in the foreground."),
    "status": ("status", "Say how a running Shield is."),
    "trust": ("trust", "Let agents work in a directory."),
}


class _Lazy(click.Group):
    """Commands by name, imported when one is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # as above
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        command = import_module(f"shield.cli.{row[0]}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            raise click.UsageError(
                f"there is no command `{args[0][:64]}`" + (f", did you mean `{near[0]}`?" if near else ""), ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ShieldError as error:
            click.echo(f"shield: {error}", err=True)
            ctx.exit(2)


@click.group(
    cls=_Lazy,
    epilog="Exit codes: 0 done; 1 the answer is no; 2 an error or wrong usage; 3 an ESCALATE.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="shield-sidecar", prog_name="shield")
def shield() -> None:
    """Judge every tool call of an AI agent before it runs."""
