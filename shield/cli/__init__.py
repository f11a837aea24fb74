"""The `shield` command line. A command's module is imported when it is run, so that `--help` costs only click.

Exit codes: 0 done · 1 the answer is no (a BLOCK, tampered, not ready) · 2 an error or wrong usage · 3 an ESCALATE.
"""

from typing import Any

import click

from shield.cli.lazy import LazyGroup
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
    "model": ("model", "Look after the classifier; scan texts with it."),
    "schema": ("schema", "Print the JSON Schema of policies or cases."),
    "serve": ("serve", "Run Shield in the foreground."),
    "status": ("status", "Say how a running Shield is."),
    "trust": ("trust", "Let agents work in a directory."),
}


class _Shield(LazyGroup):
    """Every error of the tree ends a command with its message and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ShieldError as error:
            click.echo(f"shield: {error}", err=True)
            ctx.exit(2)


@click.group(
    cls=_Shield,
    table=COMMANDS,
    epilog="Exit codes: 0 done; 1 the answer is no; 2 an error or wrong usage; 3 an ESCALATE.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="shield-sidecar", prog_name="shield")
def shield() -> None:
    """Judge every tool call of an AI agent before it runs."""
