"""What is kept of a makefile that was read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.facts.programs.makefiles.values import Values

__all__ = ["Makefile", "Rule", "Told"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What make is told besides: `given` among its words, `env` by its environment, which wins over the makefile where
    `overriding`; `goals`: what it is to make; `folders`: where else it looks for what is included."""

    given: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    overriding: bool = False
    goals: Sequence[str] = ()
    folders: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """`needs`, `lines`: as they stand. `fitting`: the targets among `targets` have to fit this pattern, whose stem is
    that of `needs`."""

    targets: tuple[str, ...]
    needs: str
    lines: list[str]
    fitting: str | None = None

    @property
    def by_pattern(self) -> bool:
        return any("%" in target for target in self.targets) and self.fitting is None


@dataclass(slots=True)
class Makefile:
    """`own`: variables of targets, by the name or the pattern; `exported`: names, `*` for all; `included`: the names of
    what is read, which is made first where a rule says how; `folders`: where else it looks for what is needed; `asked`:
    how often a condition could not be told."""

    values: Values
    rules: list[Rule] = field(default_factory=list)
    own: list[tuple[str, str, str, str]] = field(default_factory=list)
    exported: set[str] = field(default_factory=set)
    included: list[str] = field(default_factory=list)
    first: str | None = None
    unread: bool = False
    folders: list[str] = field(default_factory=list)
    asked: int = 0

    def plain(self, name: str) -> str:
        return self.values.value(name).strip()
