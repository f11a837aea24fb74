"""`shield check`: what Shield would say of actions, without a service, a record or a permit.

Exit codes: 2 a line could not be read or anything failed, else 1 a BLOCK, else 3 an ESCALATE, else 0, all ALLOW.
"""

import functools
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from shield.actions.fields import Kind
from shield.actions.registry import canonical_name, lookup
from shield.actions.request import parse_proposal
from shield.canonical import parse
from shield.cli.render import compact, shown, verdict_line
from shield.cli.standard_input import standard_input, typed
from shield.errors import InputError, Reason, ShieldError
from shield.regex import regex
from shield.types import Decision, Isolation, Json, Role, Tier

if TYPE_CHECKING:
    from shield.tiers.classifier import ClassifierTier

__all__ = ["command", "line_of"]

MAX_LINE = 8 << 20  # DESIGN 3: body 8 MiB
_EXITS = {Decision.BLOCK: 1, Decision.ESCALATE: 3, Decision.ALLOW: 0}
_PRECEDENCE = (2, 1, 3, 0)
_AGENT = "check"
_PIPE = "pipe the actions in, or name one"
_TRIED = "not enforced:"  # what rules that only record would have done, as `shield.policy.set` says it
_INTEGER = regex(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """`tier1` is loaded for the first action that needs it, which few do."""

    as_json: bool
    facts: bool
    max_tier: Tier
    tier1: "Callable[[], ClassifierTier]"


@click.command("check", short_help="Say what Shield would decide about actions: a dry run.")
@click.argument("action", nargs=-1, metavar="[TYPE KEY=VALUE…]")
@click.option(
    "--policy", metavar="NAME|FILE", help="The policy to judge with. Default: what shield.toml names, else `default`."
)
@click.option("--workspace", metavar="DIR", help="The workspace and default cwd. Default: the current directory.")
@click.option("--home", metavar="DIR", help="What ~ and $HOME mean in the judged actions.")
@click.option(
    "--isolation",
    type=click.Choice([level.value for level in Isolation]),
    help="The sandbox level at which the actions would run. Default: what this machine offers.",
)
@click.option(
    "--max-tier",
    type=click.IntRange(0, 3),
    default=1,
    show_default=True,
    help="What needs a higher tier is ESCALATE; no person and no judge model is ever asked.",
)
@click.option("--facts", is_flag=True, help="Add the facts that were judged.")
@click.option("--json/--text", "as_json", default=None, help="Default: JSON off a terminal, text on one.")
def command(
    action: tuple[str, ...],
    policy: str | None,
    workspace: str | None,
    home: str | None,
    isolation: str | None,
    max_tier: int,
    facts: bool,
    as_json: bool | None,
) -> None:
    """Judge one action from the command line, or one JSON action a line from standard input.

    Nothing is written, recorded or run; no service is needed. KEY=VALUE gives a string (a number or true/false where
    the type wants one), KEY:=VALUE any JSON. The types and their fields:
    docs/reference/actions.md.

    \b
    Examples
      shield check read_file path=README.md
      shield check execute_command command='git push --force'
      shield check --policy strict send_email to:='["ana@example.org"]' body=hello

    \b
    Exit codes
      0  every action is ALLOW
      1  at least one is BLOCK
      2  a line could not be read, or anything failed
      3  at least one is ESCALATE, none BLOCK
    """
    gc.disable()  # what is loaded now stays: looking through it for garbage takes longer than judging
    from shield.cli.local import local  # heavy: `--help` starts without it
    from shield.cli.offered import offered
    from shield.config.home import current_directory

    options = _Options(
        as_json=as_json if as_json is not None else not sys.stdout.isatty(),
        facts=facts,
        max_tier=Tier(max_tier),
        tier1=functools.cache(_tier1),
    )
    try:
        if not action and typed():
            raise click.UsageError("name an action (`shield check read_file path=README.md`) or pipe in JSON lines")
        lines = [line_of(action)] if action else _lines(standard_input(_PIPE))
        where = local(
            os.environ,
            policy=policy,
            workspace=workspace,
            home=home,
            isolation=Isolation.NONE if isolation is None else Isolation(isolation),
            current=current_directory(),
        )
        gc.freeze()
        gc.enable()
        if isolation is None:
            # found out for the first action that depends on it, which few do
            where = where.deferring(lambda: offered(os.environ))
        codes = {_judge(number, line, where, options) for number, line in enumerate(lines, 1)}
    except (ShieldError, OSError) as error:
        click.echo(f"shield check: {shown(str(error))}", err=True)
        sys.exit(2)
    finally:
        gc.enable()
    if not codes:
        click.echo("shield check: nothing to judge on standard input", err=True)
        sys.exit(2)
    sys.exit(next(code for code in _PRECEDENCE if code in codes))


def _tier1() -> "ClassifierTier":
    from shield.cli.model_reading import tier1  # heavy

    return tier1(os.environ)


def _judge(number: int, line: bytes | InputError, where: Any, options: _Options) -> int:
    from shield.facts.json import facts_json  # heavy
    from shield.pipeline import dry_run  # heavy
    from shield.policy.set import BROKEN_OVERLAY  # heavy
    from shield.service.shapes import verdict_json  # heavy

    try:
        if isinstance(line, InputError):
            raise line
        if not line.strip():
            # INVARIANT: it is not passed over: where an action should stand, it may be what a program failed to write
            raise InputError("an empty line, and each is one action; leave it out")
        request = parse_proposal(line).request(where.default_cwd)
    except InputError as error:
        _print_unreadable(number, error, options)
        return 2
    now_ms = time.time_ns() // 1_000_000
    place = where.at(request.action.cwd)
    judge = functools.partial(
        dry_run,
        request,
        policy=where.policy,
        agent=_AGENT,
        now_ms=now_ms,
        max_tier=options.max_tier,
        tier1=options.tier1,
    )
    verdict, facts = judge(place=place)
    there, by = where.placed(place, facts)
    told = where.from_settings  # to a person, what they could not tell from the line that they typed
    if there is not place:
        before = verdict
        verdict, facts = judge(place=there)
        told |= (verdict.decision, verdict.rule) != (before.decision, before.rule)
    if options.as_json:
        shape = {**verdict_json(verdict, Role.ADMIN), "judged": by.as_json()}
        click.echo(compact(shape | {"facts": facts_json(facts)} if options.facts else shape))
    else:
        click.echo(verdict_line(verdict))
        if told:
            click.echo(f"          judged by {shown(by.text)}")
        for said in verdict.evidence:
            if said.startswith(_TRIED) or verdict.rule == BROKEN_OVERLAY:
                click.echo(shown(f"          {said}"))
        if options.facts:
            click.echo(compact(facts_json(facts)))
    return _EXITS[verdict.decision]


def _print_unreadable(number: int, error: InputError, options: _Options) -> None:
    reason = error.detail
    if error.offset is not None:
        reason += f" (byte {error.offset})"
    elif error.pointer:
        reason += f" (at `{error.pointer}`)"
    if not options.as_json:
        click.echo(shown(f"BLOCK     {error.reason.value}: line {number}: {reason}"))
        return
    shape: dict[str, Json] = {
        "id": None,
        "line": number,
        "decision": Decision.BLOCK.value,
        "tier": 0,
        "rule": error.reason.value,
        "reason": reason,
    }
    click.echo(compact(shape))


def _lines(stream: BinaryIO) -> Iterator[bytes | InputError]:
    """The lines of the stream without their ends. One that is too long is never held in memory as a whole."""
    while line := stream.readline(MAX_LINE + 2):
        if line.endswith(b"\n"):
            line = line[:-1].removesuffix(b"\r")
        if len(line) > MAX_LINE:
            while (rest := stream.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield InputError(f"the line is longer than {MAX_LINE} bytes", reason=Reason.INPUT_SIZE)
        else:
            yield line


def line_of(words: Sequence[str]) -> bytes:
    """`TYPE KEY=VALUE…` as one JSON line, so that it takes the same door as every other action.

    Raises:
        InputError: a word is no `KEY=VALUE`, or comes twice.
    """
    kind = lookup(words[0])
    payload: dict[str, Json] = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        raw = key.endswith(":")
        key = key.removesuffix(":")
        if not equals or not key:
            raise InputError(f"`{word[:64]}` is not KEY=VALUE; write for example `path=README.md`")
        if key in payload:
            raise InputError(f"`{key[:64]}` is given twice", reason=Reason.INPUT_DUPLICATE_KEY)
        field = kind.fields.get(key)
        if raw:
            payload[key] = _parsed(key, value)
        else:
            payload[key] = _value(value, field.kind if field is not None else None)
    return compact({"type": canonical_name(words[0]), "payload": payload}).encode("ascii")


def _parsed(key: str, text: str) -> Json:
    try:
        return parse(text.encode("utf-8", "surrogateescape"))
    except InputError as error:
        where = "" if error.offset is None else f" (byte {error.offset})"
        raise InputError(f"what follows `{key[:64]}:=` is {error.detail}{where}", reason=error.reason) from None


def _value(text: str, kind: Kind | None) -> Json:
    if kind is Kind.BOOLEAN and text in ("true", "false"):
        return text == "true"
    if (
        kind is Kind.INTEGER
        and text.removeprefix("-").isascii()
        and text.removeprefix("-").isdigit()
        and len(text) < 19
    ):
        return int(text)
    return text
