"""What a payload field is: its role, its JSON type, and what is done to the path in it."""

from dataclasses import dataclass
from enum import StrEnum

from shield.types import Access, Json

__all__ = ["Field", "FieldRole", "Kind", "fits"]


class FieldRole(StrEnum):
    """What a payload field is to the facts."""

    PATH = "path"
    COMMAND = "command"
    URL = "url"
    RECIPIENT = "recipient"
    TEXT = "text"
    SECRET = "secret"  # noqa: S105  # a role, not a value
    PATTERN = "pattern"
    OPTION = "option"


class Kind(StrEnum):
    """Which JSON type a known field has; any other makes the action malformed."""

    STRING = "string"
    STRINGS = "string or list of strings"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    OBJECT = "object"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A payload field. `access` is set for role PATH; `recursive` says that the path stands for all beneath it."""

    role: FieldRole
    kind: Kind = Kind.STRING
    access: Access | None = None
    recursive: bool = False


def fits(value: Json, kind: Kind) -> bool:
    """Whether the value of a field has the JSON type that it should."""
    if kind is Kind.STRING:
        return isinstance(value, str)
    if kind is Kind.STRINGS:
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    if kind is Kind.BOOLEAN:
        return isinstance(value, bool)
    if kind is Kind.INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is Kind.OBJECT:
        return isinstance(value, dict)
    return kind is Kind.ANY
