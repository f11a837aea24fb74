"""What rules, lists, macros and agents may be called, and which names are Shield's own."""

from typing import Final

__all__ = ["AGENT", "DEFAULT_RULE", "MACRO", "NAME", "RESERVED", "RESERVED_PREFIXES", "WORD"]

DEFAULT_RULE: Final = "default"
# without the anchors that Python and JSON Schema write differently
NAME: Final = "[a-z0-9][a-z0-9._-]{0,63}"
WORD: Final = "[A-Za-z_][A-Za-z0-9_]{0,63}"
AGENT: Final = "[A-Za-z0-9._:-]{1,64}"  # what a token's name may be
MACRO: Final = rf"{WORD}(?:\({WORD}(?:, ?{WORD})*\))?"
RESERVED: Final = frozenset({DEFAULT_RULE, "internal", "approval", "no_approver"})
RESERVED_PREFIXES: Final = (
    "protection.",
    "input.",
    "facts.",
    "audit.",
    "approval.",
    "permit.",
    "person.",
    "tier1.",
    "tier2.",
    "tier3.",
)
