"""`shield audit`: the log's own command line with this home's paths."""

import os

import click

from shield.config import home_from

__all__ = ["command"]

_KEYED = frozenset({"verify", "prove"})


@click.group(
    "audit",
    short_help="Read and verify this home's audit log.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def command() -> None:
    """Read and verify this home's audit log, offline, as `python -P -m audit` does with a copy of it.

    Exit codes: 0 all is well; 1 tampered; 2 cannot tell.
    """


def _delegate(name: str, line: str) -> None:
    @command.command(name, short_help=line, help=line, add_help_option=False, context_settings={
        "ignore_unknown_options": True, "allow_extra_args": True,
    })  # fmt: skip
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def run(arguments: tuple[str, ...]) -> None:
        from audit.cli import main

        home = home_from(os.environ)
        given = [name, home.audit_db, *arguments]
        if name in _KEYED:
            given += ["--key", home.audit_vkey]
        if name == "verify" and os.path.lexists(home.audit_checkpoint):
            given += ["--checkpoint", home.audit_checkpoint]
        main(given, prog_name="shield audit")


_delegate("verify", "Verify the whole log: 0 ok, 1 tampered, 2 cannot tell.")
_delegate("list", "List records, with filters.")
_delegate("prove", "Print the proof of a record.")
_delegate("checkpoint", "Print the newest checkpoint.")
