"""`shield approvals`."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from shield.cli.connection import connect, must_answer, person_token
from shield.cli.render import shown
from shield.client import Client
from shield.config.home import home_from
from shield.errors import ClientError, Reason
from shield.service.process import harden
from shield.types import Approval, ApprovalAnswer, ApprovalState

__all__ = ["command"]

_JSON = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")
_WAIT_S = 30.0
_SUBJECTS = ("command", "path", "url", "to", "source", "title")
_SUBJECT_MAX = 120
_GONE = frozenset({Reason.SERVICE_UNREACHABLE, Reason.SERVICE_STOPPING})


@click.group("approvals", short_help="Answer the questions that wait for a person.")
@click.option("--token-fd", type=int, metavar="N", help="Read the token from this pipe, as a keyring's tool fills it.")
@click.pass_context
def command(context: click.Context, *, token_fd: int | None) -> None:
    """Answer the questions that wait for a person.

    The approver's token comes from a pipe, from SHIELD_TOKEN, or is typed unseen, never from an argument. It is not
    sent to a Shield that the project in the current directory chose.

    Exit codes: 0 done; 2 an error, also a question that was answered otherwise already.
    """
    context.obj = token_fd


@command.command("list", short_help="The open questions, oldest first.")
@_JSON
def list_open(*, as_json: bool) -> None:
    """The open questions, oldest first."""
    with _client() as client:
        found = client.approvals()
    if as_json:
        click.echo(json.dumps([_shape(item) for item in found], default=_plain))
        return
    for item in found:
        click.echo(_line(item))
    if not found:
        click.echo("no open questions", err=True)


@command.command("show", short_help="One question with its whole action and facts.")
@click.argument("approval")
@_JSON
def show(approval: str, *, as_json: bool) -> None:
    """One question with its whole action and facts."""
    with _client() as client:
        found = client.approval(approval)
    if as_json:
        click.echo(json.dumps(_shape(found), default=_plain))
        return
    click.echo(_line(found))
    # json escapes control characters, `shown` what else could fool the eye
    for line in json.dumps({"request": found.request, "facts": found.facts}, indent=1, default=_plain).splitlines():
        click.echo(shown(line))


@command.command("approve", short_help="Let the action of a question run, once.")
@click.argument("approval")
@click.option("--note", default="", help="Kept in the log.")
@_JSON
def approve(approval: str, *, note: str, as_json: bool) -> None:
    """Let the action of a question run, once, exactly as it was asked."""
    _answer(approval, ApprovalAnswer(approve=True, note=note), as_json=as_json)


@command.command("deny", short_help="Refuse the action of a question.")
@click.argument("approval")
@click.option("--note", default="", help="Kept in the log and told to the agent.")
@_JSON
def deny(approval: str, *, note: str, as_json: bool) -> None:
    """Refuse the action of a question."""
    _answer(approval, ApprovalAnswer(approve=False, note=note), as_json=as_json)


@command.command("watch", short_help="Print each question once, as it comes.")
@_JSON
def watch(*, as_json: bool) -> None:
    """Print each question once, as it comes, until Ctrl-C. A Shield that ends is waited for, to be started again."""
    seen: set[str] = set()
    token, answered, lost = _token(), False, False
    while True:
        try:
            with _connected(token) as client:
                while True:
                    found = client.approvals(wait_s=_WAIT_S if answered else 0)
                    if lost:
                        click.echo("shield: it answers again", err=True)
                    elif not answered and not found:
                        click.echo("no open questions yet", err=True)
                    answered, lost = True, False
                    fresh = [item for item in found if item.id not in seen]
                    seen = {item.id for item in found}
                    for item in fresh:
                        click.echo(json.dumps(_shape(item), default=_plain) if as_json else _line(item))
                    if found and not fresh:
                        _pause()
        except ClientError as error:
            if not answered or error.reason not in _GONE:
                raise
            if not lost:
                click.echo("shield: Shield does not answer any more; waiting until it does", err=True)
            lost = True
            _pause()


def _pause() -> None:
    """The service answers at once while a question is open, and where it is gone: looking again is paced here."""
    import time

    time.sleep(1)


def _client() -> Client:
    return _connected(_token())


def _token() -> str:
    harden()
    return person_token(
        os.environ,
        role="approver",
        descriptor=click.get_current_context().obj,
        before_asking=lambda: must_answer(home_from(os.environ), os.environ),
    )


def _connected(token: str) -> Client:
    return connect(home_from(os.environ), os.environ, token)


def _answer(approval: str, answer: ApprovalAnswer, *, as_json: bool) -> None:
    with _client() as client:
        settled = client.answer(approval, answer)
    click.echo(json.dumps(_shape(settled), default=_plain) if as_json else _line(settled))


def _line(item: Approval) -> str:
    moment = datetime.fromtimestamp(item.expires_at / 1000, UTC).strftime("%H:%M:%SZ")
    until = f"until {moment}" if item.state is ApprovalState.PENDING else item.state.value
    # what a settled one was about is kept no longer
    what = f"  {_what(item.request)}" if item.request else ""
    return shown(f"{item.id}  {until}  {item.agent or '-'}{what}  {item.reason}")


def _what(request: Mapping[str, Any]) -> str:
    """The type and what it is about, in few words; `show` has all of it."""
    kind, payload = str(request.get("type", "?")), request.get("payload")
    fields = payload if isinstance(payload, Mapping) else {}
    subject = next((fields[name] for name in _SUBJECTS if isinstance(fields.get(name), str)), None)
    if subject is None:
        return kind
    return f"{kind} {subject if len(subject) <= _SUBJECT_MAX else subject[:_SUBJECT_MAX] + '…'}"


def _shape(item: Approval) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__dataclass_fields__}


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)
