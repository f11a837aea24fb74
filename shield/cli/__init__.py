"""The `shield` command line. A command's module is imported when it is run, so that `--help` costs only click.

Exit codes: 0 done · 1 the answer is no (a BLOCK, tampered, not ready) · 2 an error or wrong usage · 3 an ESCALATE ·
130 interrupted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from audit.cli.streams import OutputError, check_open
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


_UNHEARD = frozenset({"audit", "serve"})  # they may run without it: `audit verify --quiet` says it by its status


@contextmanager
def _ended() -> Iterator[None]:
    """Whatever stops a command ends it with one line and a status that is no verdict. click's own for a pipe that
    nobody reads and for Ctrl-C is 1: BLOCK, a finding, a case that failed."""
    try:
        yield
    except (ShieldError, OutputError) as error:
        click.echo(f"shield: {error}", err=True)
        raise click.exceptions.Exit(2) from None
    except OSError as error:
        what = "" if error.filename is None else f"`{error.filename}`: "
        click.echo(f"shield: {what}{(error.strerror or str(error)).lower()}", err=True)
        raise click.exceptions.Exit(2) from None
    except (KeyboardInterrupt, EOFError, click.Abort):
        click.echo("shield: interrupted", err=True)
        raise click.exceptions.Exit(130) from None


class _Shield(LazyGroup):
    """Every command, and what is printed about them, ends as `_ended` says."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _ended():
            return super().make_context(*arguments, **more)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _UNHEARD:
            check_open()  # before anything is done that nobody would hear of
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _ended():
            return super().invoke(ctx)


@click.group(
    cls=_Shield,
    table=COMMANDS,
    epilog="Exit codes: 0 done; 1 the answer is no; 2 an error or wrong usage; 3 an ESCALATE; 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="shield-sidecar", prog_name="shield")
def shield() -> None:
    """Judge every tool call of an AI agent before it runs."""
