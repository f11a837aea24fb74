"""The keys of a policy file and the values of those that are a closed set."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from shield.types import Effect

__all__ = [
    "DEFAULT_EFFECTS",
    "EXAMPLE_KEYS",
    "FILE_KEYS",
    "MIN_TIERS",
    "ONLY",
    "RULE_KEYS",
    "TO",
    "WORKSPACE_KEYS",
]

FILE_KEYS: Final = (
    "version", "name", "extends", "overrides", "default", "agents", "enforce", "lists", "macros", "rules",
)  # fmt: skip
WORKSPACE_KEYS: Final = ("version", "name", "enforce", "lists", "macros", "rules")
RULE_KEYS: Final = (
    "id", "effect", "to", "actions", "agents", "grants", "when", "min_tier", "enforce", "severity", "reason", "advice",
    "references", "examples",
)  # fmt: skip
EXAMPLE_KEYS: Final = ("type", "payload", "cwd", "files")
ONLY: Final[Mapping[str, Effect]] = MappingProxyType(
    {"to": Effect.ESCALATE, "grants": Effect.ALLOW, "min_tier": Effect.ALLOW}
)
TO: Final = (2, 3)
MIN_TIERS: Final = (0, 1, 2, 3)
DEFAULT_EFFECTS: Final = (Effect.ESCALATE, Effect.BLOCK)
