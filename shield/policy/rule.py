"""A policy file as it is written: rules before their conditions are compiled, with the place of everything."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from shield.policy.reader import Map, Mark, Scalar
from shield.types import Effect, Json, Severity, Tier

__all__ = ["Default", "Example", "Grant", "MacroText", "Named", "PolicyFile", "RuleOrigin", "RuleText", "strength"]


class Grant(StrEnum):
    """What an allow rule speaks for: its condition is asked once for each such element."""

    PATH = "path"
    COMMAND = "command"
    HOST = "host"
    RECIPIENT = "recipient"
    ACTION = "action"


class RuleOrigin(StrEnum):
    """Whose rule it is. A workspace's file could be written by an agent: its texts never reach the model."""

    BASELINE = "baseline"
    OWNER = "owner"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A name that stands in a list of names, such as `extends`."""

    name: str
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """What holds where no rule allows the whole action. Never allow: there is no such value."""

    effect: Effect = Effect.ESCALATE
    to: Tier = Tier.PERSON
    mark: Mark = field(default_factory=lambda: Mark(1, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """An action that a rule's own condition must hold for (`match`) or not (`no_match`)."""

    matches: bool
    action: Map
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroText:
    """A condition under a name, to be used in conditions of the same file."""

    name: str
    params: tuple[str, ...]
    text: Scalar
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """One rule. `to` is set for escalate rules, `grants` for allow rules; `actions` None means every type.

    `agents` None means every agent. `enforce` False: it is judged and recorded, and decides nothing. `stated` are the
    keys that the file wrote.
    """

    id: str
    effect: Effect
    mark: Mark
    to: Tier | None = None
    grants: Grant | None = None
    min_tier: Tier = Tier.POLICY
    actions: tuple[str, ...] | None = None
    agents: frozenset[str] | None = None
    enforce: bool = True
    when: Scalar | None = None
    severity: Severity = Severity.MEDIUM
    reason: str = ""
    advice: str | None = None
    references: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    stated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """One file. `content` is what its digest is taken over: all of it but comments and layout."""

    file: str
    content: Json
    name: str
    extends: tuple[Named, ...] = ()
    overrides: tuple[Named, ...] = ()
    default: Default | None = None
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    macros: Mapping[str, MacroText] = field(default_factory=lambda: MappingProxyType({}))
    rules: tuple[RuleText, ...] = ()


_EFFECTS = {Effect.BLOCK: 2, Effect.ESCALATE: 1, Effect.ALLOW: 0}


def strength(effect: Effect, tier: Tier) -> tuple[int, int]:
    """Deny-overrides as an order: block above escalate above allow, then the tier that is asked for."""
    return _EFFECTS[effect], 0 if effect is Effect.BLOCK else int(tier)
