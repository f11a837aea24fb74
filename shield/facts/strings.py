"""The payload's strings as text facts, with the secrets in them."""

from shield.actions.fields import FieldRole
from shield.actions.registry import FIELDS_BY_NAME
from shield.facts.finding import Finding
from shield.facts.secrets import find_secrets
from shield.facts.text import layers, names_only, pointer
from shield.types import Json, SecretFact

__all__ = ["read_strings"]

_MAX_TEXT = 2 << 20  # code points of all text facts together
_MAX_SECRETS = 500


def read_strings(finding: Finding) -> None:
    """Add every string of the payload, and every key that is more than a name. A text's role is its top-level field."""
    left = _MAX_TEXT
    for name, value in finding.action.payload.items():
        for text, where, role in _leaves(value, pointer(name), name):
            finding.tick()
            facts, whole = layers(text, role=role, where=where)
            left -= sum(len(fact.text) for fact in facts)
            if left < 0 or not whole:
                finding.unknown.append(f"the text at {where} was not looked at as a whole")
            if left < 0:
                return
            finding.text += facts
            _secrets(finding, text, name, where)
            for fact in facts[1:]:
                # A secret in a layer has no place in the string itself: it is the whole string's.
                for kind in dict.fromkeys(secret.kind for secret in find_secrets(fact.text, where, limit=_MAX_SECRETS)):
                    _add(finding, SecretFact(kind=kind, where=where, start=0, end=len(text)))


def _leaves(value: Json, where: str, field: str) -> list[tuple[str, str, str]]:
    """The strings of a field's value: text, pointer, role. A key that is no plain name is a text of role `key`."""
    found: list[tuple[str, str, str]] = [] if names_only(field) else [(field, where, "key")]
    pending: list[tuple[Json, str]] = [(value, where)]
    for item, at in pending:
        if isinstance(item, str):
            found.append((item, at, field))
        elif isinstance(item, dict):
            found += [(key, f"{at}{pointer(key)}", "key") for key in item if not names_only(key)]
            pending += [(inner, f"{at}{pointer(key)}") for key, inner in item.items()]
        elif isinstance(item, list):
            pending += [(inner, f"{at}/{index}") for index, inner in enumerate(item)]
    return found


def _secrets(finding: Finding, text: str, name: str, where: str) -> None:
    # The key that a value stands under says what it is (`authorization`, `password`), as it would in a file.
    lead = f"{where.rpartition('/')[2][:64]}: "
    found = [
        SecretFact(kind=secret.kind, where=where, start=max(secret.start - len(lead), 0), end=secret.end - len(lead))
        for secret in find_secrets(lead + text[:_MAX_TEXT], where, limit=_MAX_SECRETS + 1)
        if secret.end > len(lead)
    ]
    field = finding.type.fields.get(name) or FIELDS_BY_NAME.get(name.lower())
    if not found and text and field is not None and field.role is FieldRole.SECRET:
        found = [SecretFact(kind="named_secret", where=where, start=0, end=len(text))]
    for secret in found:
        _add(finding, secret)


def _add(finding: Finding, secret: SecretFact) -> None:
    if len(finding.secrets) < _MAX_SECRETS:
        if secret not in finding.secrets:
            finding.secrets.append(secret)
    else:
        finding.unknown.append(f"there are more than {_MAX_SECRETS} secrets")
