"""What a record's body says, by convention (SPEC.md, section 9): the members that readers know, if they are there.

A body is opaque to the log. A member that is missing or of another type than the convention's is None here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from audit.plain import size_text, span_text

_MAIN: Final = ("command", "path", "url", "query", "name", "tool")
"""Members of a view that alone say most of what was asked for, the best first."""
_SHOWN: Final = 4  # members of an unknown body in one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The conventional members of one body. `latency_us`: the sum of its parts; `facts`, `view`: objects."""

    decision: str | None
    type: str | None
    tier: int | None
    need: int | None
    rule: str | None
    reason: str | None
    view: Mapping[str, Any] | None
    cwd: str | None
    intent: str | None
    evidence: tuple[str, ...]
    operations: tuple[str, ...]
    facts: Mapping[str, Any] | None
    latency_us: int | None
    policy: str | None
    status: str | None
    exit_code: int | None
    duration_us: int | None
    bytes: int | None
    state: str | None
    answered_by: str | None
    note: str | None
    count: int | None
    isolation: str | None
    enforced: str | None
    withheld: tuple[str, ...]

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Known":
        """Read a body; nothing in it is an error."""
        args = body.get("args")
        return cls(
            decision=_text(body, "decision"),
            type=_text(body, "type"),
            tier=_number(body, "tier"),
            need=_number(body, "need"),
            rule=_text(body, "rule"),
            reason=_text(body, "reason"),
            view=_object(args, "view") if isinstance(args, dict) else None,
            cwd=_text(body, "cwd"),
            intent=_text(body, "intent"),
            evidence=_texts(body, "evidence"),
            operations=_texts(body, "operations"),
            facts=_object(body, "facts"),
            latency_us=latency_of(body),
            policy=_text(body, "policy"),
            status=_text(body, "status"),
            exit_code=_number(body, "exit_code"),
            duration_us=_number(body, "duration_us"),
            bytes=_number(body, "bytes"),
            # what else is called `state` is a digest of files
            state=_text(body, "state") if "answered_by" in body else None,
            answered_by=_text(body, "answered_by"),
            note=_text(body, "note"),
            count=_number(body, "count"),
            isolation=_text(body, "isolation"),
            enforced=_text(body, "enforced"),
            withheld=_texts(body, "withheld"),
        )

    @property
    def main(self) -> str | None:
        """The view's most telling member as one text."""
        view = self.view or {}
        for name in _MAIN:
            if isinstance(view.get(name), str):
                return str(view[name])
        return next((value for value in view.values() if isinstance(value, str)), None)

    def outcome(self) -> Iterator[str]:
        """What came of a call, in pieces: status, that not all of it was given back, exit code, size, duration."""
        if self.status is not None:
            yield self.status
        if self.withheld:
            yield "withheld"
        if self.exit_code is not None:
            yield f"exit {self.exit_code}"
        if self.bytes is not None:
            yield size_text(self.bytes)
        if self.duration_us is not None:
            yield span_text(self.duration_us)


def summary(body: Mapping[str, Any], known: Known) -> str:
    """One line for a list: what was asked for and which rule spoke, or what else the body tells."""
    if known.decision is not None:
        said = known.rule or known.reason or ""
        return f"{known.main} [{said}]" if known.main and said else known.main or said
    if known.status is not None:
        return " ".join(known.outcome())
    if known.state is not None:
        by = f" by {known.answered_by}" if known.answered_by else ""
        return f"{known.state}{by}" + (f": {known.note}" if known.note else f" [{known.rule}]" if known.rule else "")
    if known.enforced is not None:
        return f"isolation {known.isolation}" if known.isolation else f"enforced by {known.enforced}"
    if known.reason is not None:
        return known.reason if known.count in {None, 1} else f"{known.reason}, {known.count} times"
    return " ".join(f"{name}={value}" for name, value in scalars(body)[:_SHOWN])


def scalars(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The members that are no containers and not null, as text; those of an object within as `object.member`."""
    found: list[tuple[str, str]] = []
    for name, value in body.items():
        inside = value.items() if isinstance(value, dict) else [(None, value)]
        for inner, one in inside:
            if isinstance(one, str | int):
                text = str(one).lower() if isinstance(one, bool) else str(one)
                found.append((name if inner is None else f"{name}.{inner}", text))
    return found


def latency_of(body: Mapping[str, Any]) -> int | None:
    """How long a decision took in µs: the sum of the parts that it names."""
    value = body.get("latency_us")
    if isinstance(value, dict):
        parts = [part for part in value.values() if type(part) is int]
        return sum(parts) if parts else None
    return value if type(value) is int else None


def _text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None


def _number(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = body.get(name)
    return value if isinstance(value, dict) else None


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
