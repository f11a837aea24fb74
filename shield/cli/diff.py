"""`shield diff`: which decisions another policy would change, over cases or over what a log recorded.

Exit codes: 0 none, 1 some (with `--fail-on weaker`: some became weaker), 2 an error.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shield.cli.render import compact, default_form, shown
from shield.errors import ConfigError, PolicyError, ShieldError
from shield.types import Isolation, Json

if TYPE_CHECKING:
    from shield.cli.comparison import Change, Comparison

__all__ = ["command"]

_HOME = "home"
_MANY = 100  # changes that a person reads; --json has all


@click.command("diff", short_help="Say which decisions another policy would change.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--cases", "case_files", multiple=True, metavar="FILE", help="Judge the actions of these cases.")
@click.option(
    "--log", "log", metavar="FILE|home", help="Judge the actions that an audit log recorded; `home`: this home's."
)
@click.option(
    "--private-key", metavar="FILE", help="The log's private key, which tells actions exactly. Default: the home's."
)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the newest N recorded decisions.")
@click.option("--workspace", metavar="DIR", help="The workspace of recorded actions. Default: the current directory.")
@click.option("--home", metavar="DIR", help="What ~ and $HOME mean in recorded actions.")
@click.option(
    "--isolation",
    type=click.Choice([level.value for level in Isolation]),
    default=Isolation.CONFINED.value,
    show_default=True,
    help="The sandbox level of recorded actions.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["any", "weaker"]),
    default="any",
    show_default=True,
    help="Which changes make the exit code 1.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    help="Default: github where GITHUB_ACTIONS is true, else text on a terminal, JSON off one.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    a: str,
    b: str,
    case_files: tuple[str, ...],
    log: str | None,
    private_key: str | None,
    last: int | None,
    workspace: str | None,
    home: str | None,
    isolation: str,
    fail_on: str,
    form: str | None,
    as_json: bool,
) -> None:
    """Judge the same actions with the policies A and B: what B blocks, asks or allows that A does not.

    Cases are judged in their made worlds. Recorded actions are judged on this machine as it is now, by both policies;
    actions that the log does not hold whole (secrets, long texts) are counted and left out.

    \b
    Exit codes
      0  no decision differs (with --fail-on weaker: none is weaker)
      1  some decision differs (with --fail-on weaker: some is weaker)
      2  a file cannot be read or does not load
    """
    if bool(case_files) == (log is not None):
        raise click.UsageError("name what to judge: `--cases FILE` or `--log FILE`, one of them")
    form = form or default_form(os.environ, as_json=as_json)
    counted: Mapping[str, int] = {}
    try:
        if log is None:
            comparison = _over_cases(a, b, [Path(name) for name in case_files])
        else:
            comparison, counted = _over_log(a, b, log, private_key, last, workspace, home, Isolation(isolation))
    except (ShieldError, OSError) as error:
        click.echo(f"shield diff: {shown(str(error))}", err=True)
        sys.exit(2)
    if form == "json":
        shape: dict[str, Json] = {"a": a, "b": b, **comparison.as_json()}
        click.echo(compact({**shape, "log": dict(counted)} if log is not None else shape))
    else:
        if form == "github":
            click.echo(_annotations(comparison), nl=bool(comparison.changes))
        for line in _text(a, b, comparison, counted):
            click.echo(shown(line))
    failing = comparison.weaker if fail_on == "weaker" else comparison.differ
    sys.exit(1 if failing else 0)


def _over_cases(a: str, b: str, files: list[Path]) -> "Comparison":
    from shield.cli.comparison import Change, Comparison, Judgement, compare  # heavy
    from shield.cli.progress import Progress
    from shield.cli.trial import load_subjects, try_case  # heavy
    from shield.policy.cases import read_cases  # heavy
    from shield.policy.shelf import read_bounded  # heavy

    one, other = load_subjects([a, b])
    found: list[Change] = []
    count = 0
    with Progress() as tick:
        for file in files:
            for case in read_cases(read_bounded(file), str(file)):
                before, after = (Judgement.of(try_case(case, subject.policy).verdict) for subject in (one, other))
                count += 1
                tick("cases", 1)
                found.append(
                    Change(
                        name=case.id,
                        where=f"{case.file}:{case.line}",
                        what=_what(case.request.action.type, case.request.action.payload),
                        before=before,
                        after=after,
                        direction=compare(before, after),
                        file=case.file,
                        line=case.line,
                    )
                )
    return Comparison.of(count, found)


def _over_log(
    a: str,
    b: str,
    log: str,
    private_key: str | None,
    last: int | None,
    workspace: str | None,
    home: str | None,
    isolation: Isolation,
) -> "tuple[Comparison, Mapping[str, int]]":
    from collections import Counter
    from dataclasses import replace

    from shield.cli.comparison import Change, Comparison, Judgement, compare  # heavy
    from shield.cli.local import local  # heavy
    from shield.cli.progress import Progress
    from shield.cli.replay import recorded  # heavy
    from shield.config.home import current_directory  # heavy
    from shield.pipeline import dry_run  # heavy
    from shield.types import Tier

    path, private = _places(log, private_key)
    here = current_directory()
    one, other = (
        local(os.environ, policy=policy, workspace=workspace, home=home, isolation=isolation, current=here)
        for policy in (a, b)
    )
    for overlay in one.policy.overlays:
        if overlay.error is not None:  # under it every action is a person's by both policies: nothing would differ
            raise PolicyError(overlay.error)
    counted: Counter[str] = Counter(records=0, exact=0, likely=0, redacted=0, lost=0, differs_from_record=0)
    found: dict[tuple[str, str], Change] = {}
    compared = 0
    with Progress() as tick:
        for past in recorded(path, private, last):
            counted["records"] += 1
            counted[past.fidelity.value] += 1
            tick("records", 1)
            if past.request is None:
                continue
            compared += 1
            key = (past.request.action.hash, past.agent)
            if key in found:
                known = found[key]
                found[key] = replace(known, times=known.times + 1)
                before = known.before
            else:
                place = one.at(past.request.action.cwd)
                before, after = (
                    Judgement.of(
                        dry_run(
                            past.request, place, where.policy, agent=past.agent, now_ms=past.time, max_tier=Tier.POLICY
                        )[0]
                    )
                    for where in (one, other)
                )
                found[key] = Change(
                    name=f"record {past.seq}",
                    where=f"record {past.seq}",
                    what=_what(past.type, past.request.action.payload),
                    before=before,
                    after=after,
                    direction=compare(before, after),
                )
            counted["differs_from_record"] += before.strength != past.decision.strength
    return Comparison.of(compared, list(found.values())), counted


def _places(log: str, private_key: str | None) -> tuple[Path, Path | None]:
    """The log's database and the private key, if there is one.

    Raises:
        ConfigError: there is no such log.
    """
    from shield.config.home import home_from  # heavy

    home = home_from(os.environ)
    path = Path(home.audit_db) if log == _HOME else Path(log)
    if not path.is_file():
        raise ConfigError(f"there is no log `{path}`; name its database, or `home` for the one of `{home.path}`")
    own = Path(home.audit_private)
    if private_key is None and log == _HOME and own.exists():
        return path, own
    return path, Path(private_key) if private_key is not None else None


def _what(type: str, payload: Mapping[str, Json]) -> str:
    text = f"{type} {compact(payload)}"
    return text if len(text) <= 120 else f"{text[:119]}…"


def _text(a: str, b: str, comparison: "Comparison", counted: Mapping[str, int]) -> Iterator[str]:
    yield (
        f"{a} → {b}: {comparison.compared} judged, {comparison.differ} differ, {comparison.weaker} weaker; "
        f"{comparison.rules} decided alike by another rule"
    )
    for change in comparison.changes[:_MANY]:
        yield from _change(change)
    if len(comparison.changes) > _MANY:
        yield f"  … {len(comparison.changes) - _MANY} more, see --json"
    if counted:
        yield (
            f"of {counted['records']} recorded decisions {counted['exact']} are replayed exactly, "
            f"{counted['likely']} most likely, {counted['redacted']} without their secrets, "
            f"{counted['lost']} not at all"
        )
        if counted["differs_from_record"]:
            yield (
                f"{counted['differs_from_record']} are judged otherwise by A today than they were then: the policy was "
                "another one, or files, session or sandbox were"
            )


def _change(change: "Change") -> Iterator[str]:
    times = f" ({change.times} times)" if change.times > 1 else ""
    name = f"{change.where}: {change.name}" if change.file is not None else change.name
    yield f"  {change.direction.value:<8}  {name}{times}: {change.before} → {change.after}"
    yield f"            {change.what}"


def _annotations(comparison: "Comparison") -> str:
    from shield.cli.comparison import Direction  # heavy
    from shield.cli.notices import Level, Notice, as_github  # heavy

    return as_github(
        Notice(
            code=f"diff.{change.direction.value}",
            level=Level.WARNING if change.direction is Direction.WEAKER else Level.NOTE,
            file=change.file or "",
            line=change.line or 1,
            message=f"{change.name}: {change.before} → {change.after}",
        )
        for change in comparison.changes[:_MANY]
    )
