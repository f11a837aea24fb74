"""What an action needs whatever the policy says: the registry's least tier, unreadable input, code that nobody read.

These opinions only raise; the one that blocks is for an action without a target, which no tool could carry out.
"""

from shield.actions.fields import FieldRole, fits
from shield.actions.registry import ActionType
from shield.actions.urls import no_url
from shield.facts.programs.aims import only_signals
from shield.types import Action, Answer, Dynamic, Facts, Isolation, Opinion, RunsCode, Severity, Tier

__all__ = ["floor", "required_isolation"]


def required_isolation(facts: Facts) -> Isolation:
    """The least sandbox level under which the action may run without a person.

    Code that nobody judged stays away from Shield's state, and so do signals whose aim nobody knows; code fetched from
    elsewhere is also confined to the workspace and to the hosts that were judged (DESIGN 5).
    """
    least = Isolation.NONE
    for command in facts.commands:
        if command.runs_code is RunsCode.FETCHED:
            return Isolation.CONFINED
        if command.runs_code is not RunsCode.NONE or only_signals(command):
            least = Isolation.STATE_HIDDEN
    return least


def floor(
    action: Action, kind: ActionType, facts: Facts, *, min_tier: Tier, isolation: Isolation
) -> tuple[Opinion, ...]:
    """The opinions of rules `input.*` and `facts.*`, strongest first; empty for an ordinary action.

    `isolation` is the strongest sandbox level that the session offers.
    """
    found: list[Opinion] = []
    for fields in kind.targets:
        if not any(field in action.payload for field in fields):
            wanted = " or ".join(f"`{field}`" for field in fields)
            found.append(
                _raise(
                    "input.payload",
                    f"the payload has no {wanted}",
                    f"send the call again with {wanted}",
                    answer=Answer.BLOCK,
                )
            )
    found.extend(_of_urls(action, kind))
    if facts.malformed:
        found.append(
            _raise(
                "input.malformed",
                _malformed(action, kind),
                "send the call again with the types of the tool's schema",
            )
        )
    if not kind.known:
        found.append(
            _raise(
                "input.type",
                "this tool is not known to Shield, so a person decides",
                "use a known tool if there is one",
            )
        )
    found.extend(_of_commands(facts, isolation))
    least = max(kind.least_tier, min_tier)
    if least > Tier.POLICY and not any(opinion.need >= least for opinion in found):
        found.append(_raise("input.min_tier", "the caller asked for a closer look", None, need=least))
    return tuple(found)


def _of_urls(action: Action, kind: ActionType) -> list[Opinion]:
    """A target that can only be a URL and is none is as good as absent: nobody can say what is to be asked."""
    found: list[Opinion] = []
    for name in (fields[0] for fields in kind.targets if len(fields) == 1):
        value = action.payload.get(name)
        if kind.fields[name].role is not FieldRole.URL or not isinstance(value, str):
            continue
        fault = no_url(value)
        if fault is not None:
            found.append(
                _raise(
                    "input.payload",
                    f"the `{name}` in the payload is no URL: {fault}",
                    "send the call again with the whole URL, such as `https://host.example/path`",
                    answer=Answer.BLOCK,
                )
            )
    return found


def _malformed(action: Action, kind: ActionType) -> str:
    for name, value in action.payload.items():
        known = kind.fields.get(name)
        if known is not None and not fits(value, known.kind):
            return f"`{name}` in the payload has another JSON type than it should: {known.kind.value}"
    return "a field of the payload has another JSON type than it should"


def _of_commands(facts: Facts, isolation: Isolation) -> list[Opinion]:
    found: list[Opinion] = []
    dynamic = {command.dynamic for command in facts.commands}
    if not facts.shell.parsed or Dynamic.CODE in dynamic:
        found.append(
            _raise(
                "facts.code",
                "what this line would run cannot be told before the shell runs it",
                "write it as plain commands with constant words, one step a call",
            )
        )
    elif Dynamic.PROGRAM in dynamic:
        found.append(
            _raise(
                "facts.program",
                "which program this line would run cannot be told before the shell runs it",
                "name the program by a constant word",
            )
        )
    required = required_isolation(facts)
    if isolation.covers(required):
        return found
    if required is Isolation.CONFINED:
        found.append(
            _raise(
                "facts.fetched_code",
                "this runs code fetched from elsewhere, and no sandbox here confines it",
                "fetch it to a file, read it, and ask the user to run it",
            )
        )
    elif all(command.runs_code is RunsCode.NONE for command in facts.commands):
        found.append(
            _raise(
                "facts.signals",
                "which processes this reaches without a sandbox cannot be told, so a person decides",
                "end what the same line started with `kill %1`",
            )
        )
    else:
        found.append(
            _raise(
                "facts.runs_code",
                "this runs code of the workspace without a sandbox, so a person decides",
                "say in `intent` what it is for; read-only commands need no one",
            )
        )
    return found


def _raise(
    rule: str, reason: str, advice: str | None, *, answer: Answer = Answer.NO_OBJECTION, need: Tier = Tier.PERSON
) -> Opinion:
    return Opinion(
        tier=Tier.POLICY,
        answer=answer,
        need=need,
        rule=rule,
        reason=reason,
        advice=advice,
        severity=Severity.HIGH if answer is Answer.BLOCK else Severity.MEDIUM,
    )
