"""A policy set with the files that it was read from: the trees of its conditions, where they stand, what they name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shield.policy.cel import Condition, compile_tree
from shield.policy.cel.syntax import Node
from shield.policy.compiled import Rule
from shield.policy.reader import Mark
from shield.policy.rule import PolicyFile
from shield.policy.set import PolicySet
from shield.policy.tools.tree import start

__all__ = ["Sources", "read_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """`files` in the order in which they were loaded, the baseline first. `own` names the files that are under test:
    the policy's own and a workspace's, not what it extends."""

    policy: PolicySet
    files: tuple[PolicyFile, ...]
    own: frozenset[str]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule that is in force, a workspace's last."""
        return (*self.policy.rules, *(rule for overlay in self.policy.overlays for rule in overlay.rules))

    def of(self, *, extended: bool) -> tuple[Rule, ...]:
        """The rules under test: those of its own files, or with `extended` all."""
        return tuple(rule for rule in self.rules if extended or rule.file in self.own)

    def file(self, rule: Rule) -> PolicyFile:
        """The file that the rule stands in."""
        return next(file for file in self.files if file.file == rule.file)

    def tree(self, rule: Rule) -> Node | None:
        """The tree of the rule's condition, macros expanded; None where it has none and always holds."""
        return None if rule.condition is None else rule.condition.tree

    def place(self, rule: Rule, node: Node) -> Mark:
        """Where a part of the rule's condition begins in the rule's file."""
        if rule.condition is None:
            return rule.text.mark
        found = rule.condition.text.place(start(node))
        return Mark(found.line, found.column)

    def compile(self, rule: Rule, tree: Node) -> Condition:
        """Another condition over what the rule's own may name. Raises CelLoadError."""
        assert rule.condition is not None
        return compile_tree(tree, rule.condition.schema, rule.condition.text)

    def replacing(self, rule: Rule, changed: Rule | None) -> PolicySet:
        """The set with another rule in the place of `rule`, or with none."""

        def swapped(rules: Sequence[Rule]) -> tuple[Rule, ...]:
            kept = (changed if one is rule else one for one in rules)
            return tuple(one for one in kept if one is not None)

        policy = self.policy
        return PolicySet(
            name=policy.name,
            digest=policy.digest,
            rules=swapped(policy.rules),
            default=policy.default,
            overlays=[replace(overlay, rules=swapped(overlay.rules)) for overlay in policy.overlays],
        )


def read_sources(policy: PolicySet, own: Iterable[str]) -> Sources:
    """The sources of a loaded set; `own` are the files under test, as they were named when it was loaded."""
    overlays = tuple(overlay.file for overlay in policy.overlays if overlay.file is not None)
    return Sources(policy=policy, files=(*policy.files, *overlays), own=frozenset(own))
