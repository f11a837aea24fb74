"""A group whose commands are imported when one is used, so that `--help` costs only click."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """`table` has for each name the module below shield.cli and one line. The command is the module's `command`, or
    what bears its name there where `own_names`."""

    def __init__(
        self, *arguments: Any, table: Mapping[str, tuple[str, str]], own_names: bool = False, **more: Any
    ) -> None:
        super().__init__(*arguments, **more)
        self._table = table
        self._own_names = own_names

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # as above
        row = self._table.get(cmd_name)
        if row is None:
            return None
        module = import_module(f"shield.cli.{row[0]}")
        command = getattr(module, cmd_name if self._own_names else "command")
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._table and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], self._table, n=1)
            raise click.UsageError(
                f"there is no command `{args[0][:64]}`" + (f", did you mean `{near[0]}`?" if near else ""), ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._table.items()])
