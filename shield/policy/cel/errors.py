"""What this package raises: a condition that does not load, and a condition that cannot be answered.

    ShieldError
    ├── PolicyError
    │   └── CelLoadError    the text of a condition is refused; `line`, `column`, `suggestion`
    └── CelError            a loaded condition has no answer for these facts

INVARIANT: no message of `CelError` holds a value of the action; the texts are fixed in this package.
"""

from shield.errors import PolicyError, ShieldError

__all__ = ["CelError", "CelLoadError"]


class CelLoadError(PolicyError):
    """A condition is refused at load. `suggestion` is the nearest known name, None where there is none."""

    def __init__(self, detail: str, *, line: int, column: int, suggestion: str | None = None) -> None:
        super().__init__(detail, line=line, column=column)
        self.suggestion = suggestion


class CelError(ShieldError):
    """A condition has no answer (CEL's `error`): the caller decides as the rule's effect asks, never towards ALLOW."""
