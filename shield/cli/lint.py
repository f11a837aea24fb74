"""`shield lint`: what is wrong, useless or dangerous in policies that load.

Exit codes: 0 nothing but notes, 1 an error or a warning was found, 2 a policy does not load.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from shield.cli.render import compact, default_form, shown
from shield.errors import PolicyError, ShieldError
from shield.regex import regex

if TYPE_CHECKING:
    from pathlib import Path

    from shield.cli.notices import Notice
    from shield.policy.tools.sources import Sources

__all__ = ["command"]

_NAME = regex(r"[a-z0-9][a-z0-9_-]*\Z")  # of a policy: no path, whatever lies here
_BASE = "default"  # what a workspace's file is added to, where no policy is named


@click.command("lint", short_help="Find what is wrong in policies that load.")
@click.argument("policies", nargs=-1, required=True, metavar="POLICY…")
@click.option(
    "--base",
    default=_BASE,
    show_default=True,
    metavar="NAME|FILE",
    help="What a `.shield.yaml` among them is added to.",
)
@click.option("--strict", is_flag=True, help="Notes count as findings, too.")
@click.option("--ignore", "ignored", multiple=True, metavar="CODE…", help="Leave these codes out.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "github"]),
    help="Default: github where GITHUB_ACTIONS is true, else text on a terminal, JSON off one.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def command(
    policies: tuple[str, ...], base: str, strict: bool, ignored: tuple[str, ...], form: str | None, as_json: bool
) -> None:
    """Contradictions, rules without effect, leave that is too broad, words that no fact is, what is unused or unsaid.

    POLICY is a name or a file; a file named `.shield.yaml` is a workspace's. Of a file of heuristics it is said whether
    it loads beside the shipped ones and does what its examples say. Each finding has a code with a section
    in docs/reference/lint.md, and a fix.

    \b
    Exit codes
      0  nothing but notes (with --strict: nothing)
      1  an error or a warning (with --strict: anything)
      2  a policy does not load
    """
    from shield.cli.notices import Level, as_github, as_sarif  # heavy
    from shield.policy.lint import CODES  # heavy

    unknown = [code for code in ignored if code not in CODES]
    if unknown:
        raise click.UsageError(f"there is no code `{unknown[0][:64]}`; the codes are {', '.join(CODES)}")
    found: list[Notice] = []
    failed = False
    for name in policies:
        try:
            found.extend(notice for notice in _lint(name, base) if notice.code not in ignored)
        except (ShieldError, OSError) as error:
            failed = True
            click.echo(f"shield lint: {shown(str(error))}", err=True)
            found.append(_unloadable(name, error))
    found = list(dict.fromkeys(found))
    match form or default_form(os.environ, as_json=as_json):
        case "json":
            click.echo(compact({"findings": [notice.as_json() for notice in found]}))
        case "sarif":
            titles = {code.id: code.title for code in CODES.values()}
            click.echo(as_sarif(found, {**titles, _LOAD: "a policy that does not load"}))
        case "github":
            if found:
                click.echo(as_github(found))
            click.echo(_summary(found))
        case _:
            for notice in found:
                click.echo(_text(notice))
            click.echo(_summary(found))
    bad = [notice for notice in found if strict or notice.level is not Level.NOTE]
    sys.exit(2 if failed else 1 if bad else 0)


_LOAD = "SH000"


def _lint(name: str, base: str) -> "Iterator[Notice]":
    from shield.cli.notices import Level, Notice  # heavy
    from shield.policy.lint import lint  # heavy

    if _checked_heuristics(name):
        return
    for finding in lint(_sources(name, base)):
        yield Notice(
            code=finding.code.id,
            level=Level(finding.code.level.value),
            file=finding.file,
            line=finding.mark.line,
            column=finding.mark.column,
            rule=finding.rule,
            message=finding.message,
            fix=finding.fix,
        )


def _checked_heuristics(name: str) -> bool:
    """Whether this is one of heuristics and no policy. It is loaded as Shield does: the owner's folder, or what lies in
    it, as a whole; any other file beside the shipped ones; and every example is tried. Raises PolicyError."""
    from pathlib import Path

    from shield.config.home import home_from  # heavy
    from shield.heuristics.load import HEURISTICS, load_heuristics  # heavy
    from shield.heuristics.schema import is_heuristics  # heavy
    from shield.policy.load import WORKSPACE_FILE  # heavy
    from shield.policy.proven import is_proven  # heavy
    from shield.policy.shelf import read_bounded  # heavy
    from shield.resources import data_folder  # heavy

    if not name or _NAME.match(name):
        return False
    path, own = Path(name), Path(home_from(os.environ).heuristics)
    shipped = data_folder(HEURISTICS)
    if os.path.realpath(own) in (os.path.realpath(path), os.path.realpath(path.absolute().parent)):
        _check_own(path, own, shipped)
        return True
    if not name.endswith((".yaml", ".yml")) or path.name == WORKSPACE_FILE:
        return False
    raw = read_bounded(path)
    if not is_heuristics(raw, name):
        return False
    if name.endswith(".yml"):
        raise PolicyError("a heuristics file ends in `.yaml`; rename it", file=name)
    if os.path.realpath(path.absolute().parent) == os.path.realpath(shipped):
        load_heuristics(shipped)  # a shipped one is not loaded beside itself
    elif not is_proven(raw):
        load_heuristics(shipped, beside=path)
    return True


def _check_own(path: "Path", own: "Path", shipped: "Path") -> None:
    """The owner's folder as a whole; `path` is it, or has to be one of the files that are read there."""
    from shield.heuristics.load import load_heuristics  # heavy

    if not os.path.lexists(path):
        raise PolicyError("there is no such file", file=str(path))
    files = {rule.file for rule in load_heuristics(shipped, own).rules.values()}
    if os.path.realpath(path) != os.path.realpath(own) and str(own / path.name) not in files:
        hint = "a heuristics file ends in `.yaml`, and its name does not begin with `.` or `#`; rename it"
        raise PolicyError(f"this is not read: {hint}", file=str(path))


def _sources(name: str, base: str) -> "Sources":
    """The policy of this name or file, or a workspace's file on top of `base`."""
    from pathlib import Path

    from shield.policy.load import WORKSPACE_FILE, load_overlay, load_policy  # heavy
    from shield.policy.shelf import read_bounded, shipped_shelf  # heavy
    from shield.policy.tools.sources import read_sources  # heavy

    shelf = shipped_shelf()
    if Path(name).name != WORKSPACE_FILE:
        return read_sources(load_policy(name, shelf), [str(shelf.find(name))])
    return read_sources(load_overlay(load_policy(base, shelf), read_bounded(Path(name)), name), [name])


def _unloadable(name: str, error: ShieldError | OSError) -> "Notice":
    from shield.cli.notices import Level, Notice  # heavy

    at = error if isinstance(error, PolicyError) else PolicyError("")
    return Notice(
        code=_LOAD,
        level=Level.ERROR,
        file=at.file or name or ".",
        line=at.line or 1,
        column=at.column,
        message=f"does not load: {error.detail if isinstance(error, ShieldError) else error}",
    )


def _text(notice: "Notice") -> str:
    what = notice.message if notice.rule is None else f"{notice.rule}: {notice.message}"
    lines = [f"{notice.where}: {notice.code} {notice.level.value}: {what}"]
    if notice.fix is not None:
        lines.append(f"  {notice.fix}")
    return "\n".join(shown(line) for line in lines)


def _summary(found: "Sequence[Notice]") -> str:
    from shield.cli.notices import Level  # heavy

    counts = {level: sum(notice.level is level for notice in found) for level in Level}
    words = [f"{count} {level.value}{'s' * (count != 1)}" for level, count in counts.items()]
    return ", ".join(words)
