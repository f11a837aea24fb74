"""What the rules of a policy file say: every key of a rule, its type and its values."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from shield.actions.registry import canonical_name, lookup, names
from shield.policy.keys import EXAMPLE_KEYS, MIN_TIERS, ONLY, RULE_KEYS, TO
from shield.policy.names import AGENT, NAME, RESERVED, RESERVED_PREFIXES
from shield.policy.reader import Entry, Map, Mark, Node, Scalar
from shield.policy.rule import Example, Grant, Named, RuleOrigin, RuleText
from shield.policy.shape import Shape, suggest
from shield.regex import regex
from shield.types import Effect, Severity, Tier

__all__ = ["RuleReader"]

_MAX_RULES: Final = 20_000
_NAME = regex(rf"{NAME}\Z")
_AGENT = regex(rf"{AGENT}\Z")
_REASONS = {
    Effect.BLOCK: "a rule of the policy forbids this",
    Effect.ESCALATE: "a rule of the policy asks for a closer look at this",
    Effect.ALLOW: "a rule of the policy allows this",
}

_T = TypeVar("_T")


class RuleReader(Shape):
    """Of one file; each method raises PolicyError at the node's place."""

    def __init__(self, file: str, origin: RuleOrigin) -> None:
        super().__init__(file)
        self._origin = origin
        self._workspace = origin is RuleOrigin.WORKSPACE

    def agents_of(self, node: Map) -> frozenset[str] | None:
        entry = node.get("agents")
        if entry is None:
            return None
        if self._origin is RuleOrigin.BASELINE:
            raise self.error("the baseline is for every agent; remove `agents`", entry.mark)
        agents = self.named(entry)
        if not agents:
            raise self.error("`agents` is empty, so nothing here could hold; name one or remove the key", entry.mark)
        for agent in agents:
            if not _AGENT.match(agent.name):
                raise self.error("an agent's name is 1 to 64 letters, digits, `.`, `_`, `:` or `-`", agent.mark)
        return frozenset(agent.name for agent in agents)

    def enforce_of(self, node: Map, *, default: bool = True) -> bool:
        entry = node.get("enforce")
        if entry is None:
            return default
        value = entry.value.value if isinstance(entry.value, Scalar) else None
        if not isinstance(value, bool):
            raise self.error("`enforce` is true or false", entry.value.mark)
        if not value and self._origin is RuleOrigin.BASELINE:
            raise self.error("the baseline is always enforced; remove `enforce`", entry.mark)
        return value

    def name(self, node: Node, what: str) -> str:
        name = self.string(node, what)
        if not _NAME.match(name):
            raise self.error(f"`{what}` is 1 to 64 of a-z, 0-9, `.`, `_`, `-`, the first a letter or digit", node.mark)
        return name

    def named(self, entry: Entry) -> tuple[Named, ...]:
        seen: dict[str, Mark] = {}
        for item in self.items(entry.value, entry.key):
            name = self.string(item, entry.key)
            if name in seen:
                raise self.error(f"`{name[:64]}` is named twice", item.mark, entry.key)
            seen[name] = item.mark
        return tuple(Named(name=name, mark=mark) for name, mark in seen.items())

    def rules(self, node: Node, agents: frozenset[str] | None, enforce: bool) -> tuple[RuleText, ...]:
        items = self.items(node, "rules")
        if len(items) > _MAX_RULES:
            raise self.error(f"more than {_MAX_RULES} rules", node.mark)
        seen: dict[str, Mark] = {}
        rules = []
        for item in items:
            rule = self._rule(item, agents, enforce)
            if rule.id in seen:
                first = seen[rule.id].line
                raise self.error(f"the id `{rule.id}` is used twice, first in line {first}; rename one", rule.mark)
            seen[rule.id] = rule.mark
            rules.append(rule)
        return tuple(rules)

    def _rule(self, node: Node, agents: frozenset[str] | None, enforce: bool) -> RuleText:
        top = self.mapping(node, "a rule", RULE_KEYS, needed=("id", "effect"))
        values = {entry.key: entry for entry in top.entries}
        rule_id = self.name(values["id"].value, "id")
        if rule_id in RESERVED or rule_id.startswith(RESERVED_PREFIXES):
            raise self.error(f"the id `{rule_id}` is Shield's own; choose another", values["id"].value.mark)
        effect = Effect(self.choice(values["effect"].value, "effect", Effect))
        if self._workspace and effect is Effect.ALLOW:
            raise self.error(
                "a workspace's policy may not allow; use `block` or `escalate`", values["effect"].value.mark
            )
        self._check_keys(effect, values)

        def value(key: str, reader: Callable[[Node], _T], default: _T) -> _T:
            return reader(values[key].value) if key in values else default

        grants = Grant(self.choice(values["grants"].value, "grants", Grant)) if "grants" in values else None
        actions = self._actions(values["actions"].value, effect) if "actions" in values else None
        when = self.condition(values["when"].value, "`when`") if "when" in values else None
        self._check_condition(top.mark, effect, grants, actions, when)
        return RuleText(
            id=rule_id,
            effect=effect,
            mark=values["id"].value.mark,
            to=value("to", lambda n: self.tier(n, "to", TO), Tier.PERSON) if effect is Effect.ESCALATE else None,
            grants=grants,
            min_tier=value("min_tier", lambda n: self.tier(n, "min_tier", MIN_TIERS), Tier.POLICY),
            actions=actions,
            agents=self._both(self.agents_of(top), agents, top),
            enforce=self.enforce_of(top, default=enforce),
            when=when,
            severity=value("severity", lambda n: Severity(self.choice(n, "severity", Severity)), Severity.MEDIUM),
            reason=value("reason", lambda n: self.prose(n, "reason"), _REASONS[effect]),
            advice=self.prose(values["advice"].value, "advice") if "advice" in values else None,
            references=value("references", self._references, ()),
            examples=value("examples", self._examples, ()),
            stated=frozenset(values),
        )

    def _both(self, own: frozenset[str] | None, file: frozenset[str] | None, node: Map) -> frozenset[str] | None:
        if own is None or file is None:
            return file if own is None else own
        if not own & file:
            raise self.error("none of the rule's `agents` is among the file's, so it could never hold", node.mark)
        return own & file

    def _check_keys(self, effect: Effect, values: Mapping[str, Entry]) -> None:
        for key, only in ONLY.items():
            if key in values and effect is not only:
                raise self.error(f"`{key}` belongs to `effect: {only.value}`; remove it", values[key].mark)
        if effect is Effect.ALLOW and "grants" not in values:
            kinds = ", ".join(Grant)
            raise self.error(f"an allow rule needs the key `grants`: one of {kinds}", values["effect"].mark)

    def _check_condition(
        self,
        mark: Mark,
        effect: Effect,
        grants: Grant | None,
        actions: tuple[str, ...] | None,
        when: Scalar | None,
    ) -> None:
        """A rule that says neither of what nor when speaks of everything: nobody means that by leaving keys out."""
        if when is not None:
            return
        if effect is Effect.ALLOW and grants is not Grant.ACTION:
            raise self.error(f"a rule that grants a {grants} needs the key `when`", mark)
        if actions is None:
            raise self.error("a rule needs the key `when`, or `actions`, or both", mark)

    def _actions(self, node: Node, effect: Effect) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for item in self.items(node, "actions"):
            word = self.string(item, "actions")
            name = canonical_name(word)
            if word.startswith("mcp:"):
                if effect is Effect.ALLOW:
                    raise self.error(f"no rule can allow `{word[:64]}`: an mcp tool is a person's decision", item.mark)
                if not lookup(word).tool:
                    raise self.error("an mcp tool is written `mcp:SERVER/TOOL`", item.mark)
            elif not lookup(name).known:
                near = suggest(word, names()) or "; see docs/reference/policy.md for the list"
                raise self.error(f"unknown action type `{word[:64]}`{near}", item.mark)
            if name in found:
                raise self.error(f"`{name[:64]}` is named twice", item.mark, "actions")
            found[name] = None
        if not found:
            raise self.error(
                "`actions` is empty, so the rule could never hold; name a type or remove the key", node.mark
            )
        return tuple(found)

    def condition(self, node: Node, what: str) -> Scalar:
        # `when: true` reads as YAML's true and means CEL's
        if not isinstance(node, Scalar) or not isinstance(node.value, str | bool) or not node.text.strip():
            raise self.error(f"{what} is a condition in CEL, written as a string", node.mark)
        return node

    def _references(self, node: Node) -> tuple[str, ...]:
        return tuple(self.prose(item, "references") for item in self.items(node, "references"))

    def _examples(self, node: Node) -> tuple[Example, ...]:
        examples = []
        for entry in self.mapping(node, "`examples`", ("match", "no_match")).entries:
            for item in self.items(entry.value, entry.key):
                action = self.mapping(item, "an example", EXAMPLE_KEYS, needed=("type", "payload"))
                examples.append(Example(matches=entry.key == "match", action=action, mark=item.mark))
        return tuple(examples)
