"""`shield explain`: why an action is judged as it is, rule by rule and element by element, without a service.

Exit codes: 0 it was explained, whatever the verdict; 2 the action cannot be read, or anything failed.
"""

import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from shield.actions.request import parse_proposal
from shield.cli.check import MAX_LINE, line_of
from shield.cli.render import compact, near, shown, verdict_line
from shield.cli.standard_input import standard_input, typed
from shield.errors import InputError, ShieldError
from shield.types import Isolation, Json, Role, Tier

if TYPE_CHECKING:
    from shield.cli.local import Judged
    from shield.policy.tools.explanation import Element, Explanation, RuleStory
    from shield.types import ActionRequest, Opinion, Verdict

__all__ = ["command"]

_AGENT = "check"
_WIDTH = 100  # of a line of text; a terminal folds what is longer
_MARKS = {"true": "yes", "false": "no", "mixed": "some", "error": "error", "unreached": "-"}
_MANY = 12  # elements and steps on one screen; --json has all


@click.command("explain", short_help="Say why an action is judged as it is.")
@click.argument("action", nargs=-1, metavar="[TYPE KEY=VALUE…]")
@click.option(
    "--policy", metavar="NAME|FILE", help="The policy to judge with. Default: what shield.toml names, else `default`."
)
@click.option("--workspace", metavar="DIR", help="The workspace and default cwd. Default: the current directory.")
@click.option("--home", metavar="DIR", help="What ~ and $HOME mean in the action.")
@click.option(
    "--isolation",
    type=click.Choice([level.value for level in Isolation]),
    help="The sandbox level at which it would run. Default: what this machine offers.",
)
@click.option("--agent", default=_AGENT, metavar="NAME", help="Whose action it is, for rules that name agents.")
@click.option("--json/--text", "as_json", default=None, help="Default: JSON off a terminal, text on one.")
def command(
    action: tuple[str, ...],
    policy: str | None,
    workspace: str | None,
    home: str | None,
    isolation: str | None,
    agent: str,
    as_json: bool | None,
) -> None:
    """Which rules were asked about one action, which held and by what in their condition, which allow rule covers
    which path, command, host and recipient, and what is missing where none does.

    The action is given as for `shield check`, or as one JSON object on standard input. Nothing is recorded or run.

    \b
    Exit codes
      0  explained, whatever the verdict is
      2  the action cannot be read, or anything failed
    """
    from shield.cli.local import local  # heavy
    from shield.cli.offered import offered
    from shield.config.home import current_directory  # heavy
    from shield.facts.json import facts_json  # heavy
    from shield.pipeline import dry_run  # heavy
    from shield.pipeline.judge import judge  # heavy
    from shield.policy.load import WORKSPACE_FILE  # heavy
    from shield.policy.tools.asking import Asking  # heavy
    from shield.policy.tools.explanation import explain  # heavy
    from shield.policy.tools.sources import read_sources  # heavy
    from shield.service.shapes import verdict_json  # heavy

    as_json = as_json if as_json is not None else not sys.stdout.isatty()
    try:
        where = local(
            os.environ,
            policy=policy,
            workspace=workspace,
            home=home,
            isolation=Isolation.NONE if isolation is None else Isolation(isolation),
            current=current_directory(),
        )
        if isolation is None:
            where = where.deferring(lambda: offered(os.environ))
        request = _request(action, where.default_cwd)
        now_ms = time.time_ns() // 1_000_000
        place = where.at(request.action.cwd)
        judged = judge(request, place, where.policy, agent=agent, now_ms=now_ms)
        there, by = where.placed(place, judged.facts)
        if there is not place:
            place = there
            judged = judge(request, place, where.policy, agent=agent, now_ms=now_ms)
        verdict, facts = dry_run(request, place, where.policy, agent=agent, now_ms=now_ms, max_tier=Tier.POLICY)
        asking = Asking.of(
            request.action,
            facts,
            agent=agent,
            workspace=place.workspace_roots[0] if place.workspace_roots else "",
            now=datetime.fromtimestamp(now_ms / 1000, UTC),
        )
        found = explain(read_sources(where.policy, [WORKSPACE_FILE]), asking, every=as_json)
    except (ShieldError, OSError) as error:
        click.echo(f"shield explain: {shown(str(error))}", err=True)
        sys.exit(2)
    if as_json:
        opinions: list[Json] = [_opinion_json(opinion) for opinion in judged.opinions]
        shape = {"verdict": verdict_json(verdict, Role.ADMIN), "opinions": opinions}
        click.echo(compact({**shape, "judged": by.as_json(), **found.as_json(), "facts": facts_json(facts)}))
        return
    for line in _text(request, verdict, judged.opinions, found, by):
        click.echo(shown(line))


def _request(words: tuple[str, ...], cwd: str | None) -> "ActionRequest":
    """The action of the command line, or of standard input.

    Raises:
        InputError: it cannot be read.
    """
    if not words and typed():
        raise click.UsageError("name an action (`shield explain read_file path=README.md`) or pipe in one JSON object")
    raw = line_of(words) if words else standard_input("pipe the action in, or name it").read(MAX_LINE + 1)
    if len(raw) > MAX_LINE:
        raise InputError(f"the action is longer than {MAX_LINE} bytes")
    return parse_proposal(raw).request(cwd)


def _opinion_json(opinion: "Opinion") -> dict[str, Json]:
    return {
        "tier": int(opinion.tier),
        "answer": opinion.answer.value,
        "need": int(opinion.need),
        "rule": opinion.rule,
        "reason": opinion.reason,
        "evidence": [*opinion.evidence],
    }


def _text(
    request: "ActionRequest", verdict: "Verdict", opinions: "tuple[Opinion, ...]", found: "Explanation", by: "Judged"
) -> Iterator[str]:
    yield verdict_line(verdict)
    yield f"action    {request.action.type} {_cut(compact(request.action.payload), _WIDTH - 12)}"
    yield f"judged    by {by.text}"
    for opinion in opinions:
        who = "tier 0  " if opinion is opinions[-1] else "code    "
        need = "" if opinion.answer.value == "ALLOW" else f", asks for tier {int(opinion.need)}"
        yield f"{who}  {opinion.answer.value} by `{opinion.rule}`{need}: {opinion.reason}"
    for line in dict.fromkeys(verdict.evidence):
        yield f"          {line}"
    states = [story.state.value for story in found.rules]
    yield (
        f"rules     {len(states)} asked: {states.count('true')} hold, {states.count('error')} cannot be evaluated; "
        f"{found.others} are about other types or agents"
    )
    yield from _elements(found)
    for story in found.rules:
        if story.rule.effect.value != "allow" or story.state.value == "error":
            yield from _story(story)


def _elements(found: "Explanation") -> Iterator[str]:
    if found.elements:
        yield "covered   by an allow rule:"
    uncovered = [element for element in found.elements if not element.rules]
    covered = [element for element in found.elements if element.rules]
    shown_now = [*uncovered, *covered][:_MANY]
    for element in shown_now:
        yield from _element(element)
    if len(found.elements) > len(shown_now):
        yield f"  … {len(found.elements) - len(shown_now)} more, see --json"
    actions = [story for story in found.rules if story.state.value == "true" and story.rule.grants == "action"]
    for story in actions:
        yield f"  the action  {story.rule.id}"


def _element(element: "Element") -> Iterator[str]:
    what = f"{element.grant.value} {element.position}"
    yield f"  {what:<11} {_cut(element.text, 40):<40}  {', '.join(element.rules) or 'no rule'}"
    if element.nearest is not None and element.missing is not None:
        yield f"              nearest is {element.nearest}, but for `{_cut(element.missing, 60)}`"


def _story(story: "RuleStory") -> Iterator[str]:
    if not story.steps and story.state.value == "false":
        return
    rule = story.rule
    said = "holds" if story.state.value == "true" else "cannot be evaluated"
    tried = "" if rule.text.enforce else ", not enforced"
    yield f"{rule.effect.value:<9} {rule.id} {said}{tried} ({near(rule.file)}:{rule.text.mark.line})"
    for step in story.steps[1 : _MANY + 1] or story.steps:
        value = "" if step.value is None else f"   is {step.value}"
        yield f"  {_MARKS[step.state.value]:<7} {'  ' * step.depth}{_cut(step.text, 78)}{value}"
    if len(story.steps) > _MANY + 1:
        yield f"  … {len(story.steps) - _MANY - 1} more places, see --json"


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}…"
