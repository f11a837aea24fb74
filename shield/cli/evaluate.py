"""`shield eval`: policies against case files, for policy authors and their CI.

Exit codes: 0 every case passed, 1 a case failed or too little is covered, 2 a file could not be read or did not load.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shield.cli.render import compact, default_form, shown
from shield.errors import ShieldError

if TYPE_CHECKING:
    from shield.cli.trial import Report

__all__ = ["command"]

# what each of these options says something about; alone it would say nothing
_ABOUT = {
    "fail_under": ("coverage", "mutate"),
    "extended": ("coverage", "mutate"),
    "mutants": ("mutate",),
    "seed": ("mutate",),
}


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
@click.option("--coverage", is_flag=True, help="Which rules and which sides of their conditions no case comes to.")
@click.option("--mutate", is_flag=True, help="Make one small mistake at a time; say which ones nothing notices.")
@click.option(
    "--mutants",
    type=click.IntRange(1),
    default=400,
    show_default=True,
    metavar="N",
    help="How many mistakes at most (--mutate).",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Which of them, if there are more (--mutate).",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit 1 if fewer sides are seen (--coverage) or fewer mistakes noticed (--mutate).",
)
@click.option(
    "--extended", is_flag=True, help="--coverage and --mutate also of what is extended. Default: of POLICY's own rules."
)
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Processes (Linux; elsewhere one). Default: one for each core."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit", "sarif", "github"]),
    help="Default: github where GITHUB_ACTIONS is true, else text on a terminal, JSON off one.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.pass_context
def command(
    context: click.Context,
    policies: tuple[str, ...],
    case_files: tuple[str, ...],
    overlay: str | None,
    coverage: bool,
    mutate: bool,
    mutants: int,
    seed: int,
    fail_under: float | None,
    extended: bool,
    jobs: int | None,
    form: str | None,
    as_json: bool,
) -> None:
    """Judge every case with each policy alone (and what it extends), in a made world: nothing of this machine counts.

    \b
    Exit codes
      0  every case passed
      1  a case failed, or less was covered or noticed than --fail-under
      2  a file cannot be read or does not load
    """
    from shield.cli.progress import Progress
    from shield.cli.trial import Wanted, run_trials  # heavy

    for option, about in _ABOUT.items():
        given = context.get_parameter_source(option) is not click.core.ParameterSource.DEFAULT
        if given and not any(context.params[name] for name in about):
            wanted_too = " or ".join(f"`--{name}`" for name in about)
            one = "it" if len(about) == 1 else "one of them"
            raise click.UsageError(f"`--{option.replace('_', '-')}` is about {wanted_too}: add {one}")
    form = form or default_form(os.environ, as_json=as_json)
    wanted = Wanted(coverage=coverage, mutants=mutants if mutate else 0, seed=seed, extended=extended)
    files = [Path(name) for name in case_files]
    try:
        with Progress() as tick:
            jobs = jobs or os.cpu_count() or 1
            report = run_trials(
                policies, files, Path(overlay) if overlay else None, wanted=wanted, jobs=jobs, tick=tick
            )
    except (ShieldError, OSError) as error:
        click.echo(f"shield eval: {shown(str(error))}", err=True)
        sys.exit(2)
    for note in report.notes:
        click.echo(f"shield eval: {shown(note)}", err=True)
    click.echo(_shaped(report, form))
    low = [] if fail_under is None else list(report.below(fail_under))
    for line in low:
        click.echo(f"shield eval: {shown(line)}", err=True)
    sys.exit(0 if report.passed and not low else 1)


def _shaped(report: "Report", form: str) -> str:
    from shield.cli.reports import eval_github, eval_junit, eval_sarif, eval_text  # heavy

    match form:
        case "json":
            return compact(report.as_json())
        case "junit":
            return eval_junit(report)
        case "sarif":
            return eval_sarif(report)
        case "github":
            return eval_github(report)
    return eval_text(report)
