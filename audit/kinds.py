"""The table of kinds a log is opened with: which there are, and which refer to which.

The table travels inside the log, in the body of every `log.open` record, so that a verifier needs nothing else and
nobody without the key can change it. The package gives no kind a meaning except `log.open`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from audit.entry import check_kind
from audit.errors import EntryError, KindError

OPEN: Final = "log.open"
"""The first record of a log and of each time it is opened; its body's member `log` is written by the log itself."""


class Ref(Enum):
    """Whether a record of a kind names an earlier record."""

    NEVER = "never"
    MAY = "may"
    MUST = "must"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind. `to`: the kinds its `ref` may name (empty: any). `once`: at most one record of this kind for each
    referred record. `then`: the kinds one of which is expected to refer to it later (missing: noted, no tampering)."""

    name: str
    ref: Ref = Ref.NEVER
    to: frozenset[str] = frozenset()
    once: bool = False
    then: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KindTable:
    """All kinds of a log, `log.open` among them."""

    kinds: tuple[Kind, ...]
    _by_name: dict[str, Kind] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {kind.name: kind for kind in self.kinds}
        object.__setattr__(self, "_by_name", by_name)
        if len(by_name) != len(self.kinds):
            raise KindError("a kind is listed twice")
        if OPEN not in by_name or by_name[OPEN].ref is not Ref.NEVER:
            raise KindError(f"the table needs the kind `{OPEN}`, without `ref`")
        for kind in self.kinds:
            try:
                check_kind(kind.name)
            except EntryError as error:
                raise KindError(str(error)) from error
            if unknown := (kind.to | kind.then) - by_name.keys():
                raise KindError(f"`{kind.name}` names the unknown kind `{min(unknown)}`")
            if kind.ref is Ref.NEVER and (kind.to or kind.once):
                raise KindError(f"`{kind.name}` never refers, so it can have neither `to` nor `once`")

    @classmethod
    def of(cls, kinds: Iterable[Kind]) -> "KindTable":
        """The table of these kinds, in the order of their names. Raises KindError."""
        return cls(tuple(sorted(kinds, key=lambda kind: kind.name)))

    def get(self, name: str) -> Kind:
        """The kind called `name`. Raises KindError."""
        kind = self._by_name.get(name)
        if kind is None:
            raise KindError(f"`{name}` is no kind of this log; add it to the table the log is opened with")
        return kind

    def check(self, name: str, ref: int | None) -> Kind:
        """The kind called `name`, if it may be used with this `ref`. Raises KindError."""
        kind = self.get(name)
        if ref is None and kind.ref is Ref.MUST:
            raise KindError(f"`{name}` must refer to an earlier record")
        if ref is not None and kind.ref is Ref.NEVER:
            raise KindError(f"`{name}` must not refer to another record")
        return kind

    def as_json(self) -> dict[str, Any]:
        """The form in which a `log.open` record carries the table."""
        return {
            kind.name: {
                "once": kind.once,
                "ref": kind.ref.value,
                "then": sorted(kind.then),
                "to": sorted(kind.to),
            }
            for kind in self.kinds
        }

    @classmethod
    def parse(cls, value: object) -> "KindTable":
        """The table from its JSON form. Raises KindError on anything that `as_json` would not write."""
        if type(value) is not dict:
            raise KindError("the table of kinds is no object")
        return cls.of(_parse(name, rule) for name, rule in value.items())


def _parse(name: str, rule: object) -> Kind:
    if type(rule) is not dict or rule.keys() != {"once", "ref", "then", "to"} or type(rule["once"]) is not bool:
        raise KindError(f"the rule of the kind `{name}` is malformed")
    for names in (rule["then"], rule["to"]):
        if type(names) is not list or not all(type(item) is str for item in names) or names != sorted(set(names)):
            raise KindError(f"the rule of the kind `{name}` lists kinds that are not sorted names")
    try:
        ref = Ref(rule["ref"])
    except ValueError as error:
        raise KindError(f"the rule of the kind `{name}` has an unknown `ref`") from error
    return Kind(name=name, ref=ref, to=frozenset(rule["to"]), once=rule["once"], then=frozenset(rule["then"]))
