"""What tier 1 says of harmless calls as Shield reads them: not the JSON as one text, but each string by its role."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from models.training.report import percent
from models.training.row import WRITTEN_PAYLOADS, Row
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.policy.world import made_place
from shield.tiers.classifier import ClassifierTier
from shield.tiers.texts import TextJudge
from shield.tiers.tier import Case
from shield.types import Action, ActionRequest, Answer, Json, Opinion, Tier

__all__ = ["payloads"]

_PLACE = "/home/user/ws"
_POLICY = Opinion(tier=Tier.POLICY, need=Tier.CLASSIFIER)
_CALLED = ("tool", "name", "function", "method")
_GIVEN = ("arguments", "args", "input", "parameters", "params", "inputs")


def payloads(rows: Iterable[Row], judge: TextJudge) -> str:
    """A table in Markdown: of the calls among `rows`, and of the objects among the written ones, how many tier 1 blocks
    and sends up."""
    tier = ClassifierTier(texts=judge)
    lines = ["| source (objects) | BLOCK | BLOCK or ESCALATE |", "|---|---|---|"]
    for name, found in _actions(rows).items():
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            said = Counter(pool.map(lambda action: _answer(tier, action), found))
        blocked, up = said[Answer.BLOCK], said[Answer.BLOCK] + said[Answer.ESCALATE]
        lines.append(f"| {name} ({len(found)}) | {percent(blocked, len(found))} | {percent(up, len(found))} |")
    return "\n".join(lines) + "\n"


def _actions(rows: Iterable[Row]) -> Mapping[str, Sequence[Action]]:
    """Of each family, every object once, as a call of a tool that Shield does not know."""
    found: dict[str, dict[str, Action]] = {"bfcl-call": {}, WRITTEN_PAYLOADS: {}}
    for row in rows:
        if row.family in found and not row.label and row.text not in found[row.family]:
            for name, given in _calls(row.text):
                found[row.family][row.text] = make_action(f"mcp:calls/{name}", given, _PLACE)
    return {name: tuple(actions.values()) for name, actions in found.items() if actions}


def _calls(text: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """The tool's name and what it is given, where `text` is an object."""
    try:
        value = json.loads(text)
    except ValueError:
        return
    if isinstance(value, dict):
        given = next((value[key] for key in _GIVEN if isinstance(value.get(key), dict)), value)
        yield next((value[key] for key in _CALLED if isinstance(value.get(key), str)), "any"), given


def _answer(tier: ClassifierTier, action: Action) -> Answer:
    facts = compute(action, lookup(action.type), made_place(cwd=action.cwd))
    return tier.opinion(Case(request=ActionRequest(id="p", action=action), facts=facts, opinions=(_POLICY,))).answer
