"""`shield eval`: policies against case files, for policy authors and their CI.

Exit codes: 0 every case passed, 1 a case failed, 2 a file could not be read or did not load.
"""

import sys
from pathlib import Path

import click

from shield.cli.render import compact, shown
from shield.errors import ShieldError

__all__ = ["command"]


class _EvalCommand(click.Command):
    """`--cases A B` names both files, once a policy stands before it; click takes one value an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        taking = False
        for index, word in enumerate(args):
            if word.startswith("-"):
                taking = False
            elif taking and word.endswith((".yaml", ".yml")):
                spread.append("--cases")
            elif index and args[index - 1] == "--cases":
                taking = any(not other.startswith("-") for other in args[: index - 1])
            spread.append(word)
        return super().parse_args(ctx, spread)


@click.command("eval", cls=_EvalCommand, short_help="Test policies on files of cases.")
@click.argument("policies", nargs=-1, required=True, metavar="POLICY…")
@click.option("--cases", "case_files", multiple=True, required=True, metavar="FILE…", help="Files of cases.")
@click.option("--overlay", metavar="FILE", help="A workspace's policy, added to each policy as its `.shield.yaml`.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit"]),
    help="Default: text on a terminal, JSON off one.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    policies: tuple[str, ...],
    case_files: tuple[str, ...],
    overlay: str | None,
    form: str | None,
    as_json: bool,
) -> None:
    """Judge every case with each policy alone (and what it extends), in a made world: nothing of this machine counts.

    \b
    Exit codes
      0  every case passed
      1  a case failed
      2  a file cannot be read or does not load
    """
    from shield.cli.reports import as_junit, as_text  # heavy
    from shield.cli.trial import run_trials  # heavy

    if form is None:
        form = "json" if as_json or not sys.stdout.isatty() else "text"
    try:
        report = run_trials(policies, [Path(name) for name in case_files], Path(overlay) if overlay else None)
    except (ShieldError, OSError) as error:
        click.echo(f"shield eval: {shown(str(error))}", err=True)
        sys.exit(2)
    for note in report.notes:
        click.echo(f"shield eval: {shown(note)}", err=True)
    match form:
        case "json":
            click.echo(compact(report.as_json()))
        case "junit":
            click.echo(as_junit(report))
        case _:
            click.echo(as_text(report))
    sys.exit(0 if report.passed else 1)
