"""`agentctl chat|run|tools|config`. Heavy imports stay inside the commands, so that `--help` starts fast.

Exit codes of `chat` and `run`: 0 done · 1 the model or the session database failed · 2 wrong usage or settings, or
the output cannot be written · 3 no Shield that can be trusted, nothing more was run · 4 stopped before the end (limit,
cut off, refused over and over) · 130 interrupted. The other commands end with 0, 2, 3 or 130.
"""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from agentctl.ending import ended

if TYPE_CHECKING:
    from agentctl.config import Settings
    from agentctl.sandbox.offer import Offer

__all__ = ["main"]


_workspace = click.option(
    "-w",
    "--workspace",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    default=".",
    show_default=True,
    help="The directory to work in; a person must have trusted it.",
)
_isolation = click.option(
    "--isolation",
    type=click.Choice(["none", "state_hidden", "confined"]),
    help="The sandbox level for code of the workspace. Default: the strongest that holds here.",
)


class _Program(click.Group):
    """Every command, and every help, ends as `agentctl.ending` says: the one place for what all have in common."""

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with ended():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with ended():
            return super().invoke(ctx)


@click.group(
    cls=_Program,
    epilog="Exit codes: 0 done; 2 wrong usage or settings, or the output cannot be written; 3 no Shield that can be"
    " trusted; 130 interrupted. `chat` and `run` have more.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="shield-sidecar", prog_name="agentctl")
def main() -> None:
    """An agent whose every tool call is judged by Shield before it runs."""


@main.command(short_help="Talk with a model through guarded tools.")
@_workspace
@_isolation
def chat(workspace: str, isolation: str | None) -> None:
    """Talk with a model that works through guarded tools; without a model, a guarded console.

    Starts an embedded Shield if none answers. Ctrl-C stops a turn, Ctrl-D ends.

    Exit codes: 0 done; 1 the session database failed; 2 wrong usage or settings, or the output cannot be written; 3 no
    Shield that can be trusted; 130 interrupted. A model that fails does not end it.
    """
    import io
    from functools import partial
    from pathlib import Path

    from agentctl.chat import chat as talk
    from agentctl.ui.person import Person

    terminal = sys.stdin.isatty()
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(
            errors="surrogateescape"
        )  # bytes that are no text make one line wrong, not the whole chat
    settings = _settings(workspace, isolation)
    person = Person(
        out=sys.stdout,
        talk=sys.stderr,
        # in a talk what is pasted is one thing that is said; in the console each line is a call
        ask=partial(_ask, pasted_whole=settings.model is not None) if terminal else _next_line,
        terminal=terminal,
        colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
    )
    sys.exit(talk(settings, Path(workspace), os.environ, person))


@main.command(short_help="Do one task and ask nobody here.")
@click.argument("prompt")
@_workspace
@_isolation
@click.option("--json", "as_json", is_flag=True, help="One JSON object: answer, end, exit, session, calls by verdict.")
def run(prompt: str, workspace: str, isolation: str | None, *, as_json: bool) -> None:
    """Do one task and ask nobody here: what needs a person is refused at once, or waits for one where a Shield runs
    already that somebody answers (`shield approvals`, another `agentctl chat`).

    The answer goes to standard output, verdicts and what tools gave to standard error.

    \b
    Example
      agentctl run -w ~/project 'what changed since yesterday?'

    Exit codes: 0 done; 1 the model or the session database failed; 2 wrong usage or settings, or the output cannot be
    written; 3 no Shield that can be trusted; 4 stopped before the end; 130 interrupted.
    """
    from pathlib import Path

    from agentctl.chat import once
    from agentctl.ui.person import Person

    if not prompt.strip():
        raise click.BadParameter("say what is to be done", param_hint="PROMPT")
    person = Person(out=sys.stdout, talk=sys.stderr, ask=lambda _: None, terminal=False, colour=False)
    sys.exit(once(_settings(workspace, isolation), Path(workspace), os.environ, person, prompt, as_json=as_json))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON array with names, descriptions and schemas.")
def tools(as_json: bool) -> None:
    """List the tools that a model is offered."""
    import json

    from agentctl.tools.registry import Registry

    specs = Registry().specs()
    if as_json:
        shapes = [
            {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)} for spec in specs
        ]
        click.echo(json.dumps(shapes, indent=2))
        return
    for spec in specs:
        click.echo(f"{spec.name:<16} {spec.description}")


@main.command(short_help="Show the settings and where they come from.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def config(as_json: bool) -> None:
    """Show the settings in force and where each comes from: the file, a variable, or nobody said anything (default).

    Keys are never shown.
    """
    import json

    from agentctl.ui.text import visible

    settings = _settings(".")
    offer = _offer(settings)
    sandbox = {
        "levels": [level.value for level in offer.levels],
        "means": None if offer.means is None else offer.means.value,
        "reasons": list(offer.reasons),
    }
    if as_json:
        shape = {setting.name: setting.value for setting in settings.shown}
        origins = {setting.name: setting.origin for setting in settings.shown}
        click.echo(json.dumps({**shape, "origins": origins, "sandbox": sandbox}, indent=2))
        return
    for setting in settings.shown:
        value = ", ".join(map(str, setting.value)) if isinstance(setting.value, list) else setting.value
        click.echo(visible(f"{setting.name:<12} {'-' if value in (None, '') else value} ({setting.origin})"))
    click.echo(f"{'sandbox':<12} {offer.strongest.value}{'' if offer.means is None else f' ({offer.means.value})'}")
    for reason in offer.reasons:
        click.echo(f"{'':<12} {reason}")


def _offer(settings: "Settings") -> "Offer":
    from pathlib import Path

    from agentctl.errors import AgentError
    from agentctl.sandbox.confinement import choose
    from agentctl.sandbox.offer import Offer

    try:
        return choose(settings, Path.cwd(), environ=os.environ).offer
    except AgentError as error:
        return Offer(reasons=(error.detail,))


def _settings(workspace: str, isolation: str | None = None) -> "Settings":
    from pathlib import Path

    from agentctl.config import load
    from agentctl.errors import SettingsError
    from agentctl.ui.text import visible
    from shield.errors import ClientError

    try:
        return load(os.environ, cwd=Path(workspace), isolation=isolation)
    except SettingsError as error:
        wrong, code = error.detail, 2
    except ClientError as error:
        wrong, code = error.detail, 3
    click.echo(f"agentctl: {visible(wrong)}", err=True)
    sys.exit(code)


def _ask(prompt: str, *, pasted_whole: bool) -> str | None:
    """A line from the terminal, with editing; empty after Ctrl-C, None at Ctrl-D."""
    from agentctl.ui.line import ask

    return ask(prompt, pasted_whole=pasted_whole)


def _next_line(prompt: str) -> str | None:
    """A line from a pipe, shown as if it had been typed."""
    from agentctl.ui.text import visible

    try:
        line = sys.stdin.readline()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "/dev/stdin") from None
    if not line:
        return None
    click.echo(visible(f"{prompt}{line.rstrip()}"))
    return line.rstrip("\r\n")


if __name__ == "__main__":
    main()
