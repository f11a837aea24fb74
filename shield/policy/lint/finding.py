"""What lint can find: a code, how bad, how sure. Codes are stable; `docs/reference/lint.md` has a section for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from shield.policy.reader import Mark

__all__ = ["CODES", "Code", "Finding", "Level", "Sure"]


class Level(StrEnum):
    """`error`: the rule does not do what anybody could mean; `warning`: look at it; `note`: good to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Sure(StrEnum):
    """`proven`: it follows from the form of the policy, for every action; `likely`: it is mostly a mistake."""

    PROVEN = "proven"
    LIKELY = "likely"


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One kind of finding. `title` is the heading of its section."""

    id: str
    title: str
    level: Level
    sure: Sure


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding at one place. `rule` is None for what is about a file; `fix` says what to write instead."""

    code: Code
    file: str
    mark: Mark
    message: str
    fix: str
    rule: str | None = None


def _codes(*rows: tuple[str, str, Level, Sure]) -> Mapping[str, Code]:
    return MappingProxyType(
        {name: Code(id=name, title=title, level=level, sure=sure) for name, title, level, sure in rows}
    )


CODES: Final = _codes(
    ("SH001", "a condition that can never hold", Level.ERROR, Sure.PROVEN),
    ("SH002", "action types that exclude each other", Level.ERROR, Sure.PROVEN),
    ("SH003", "a condition that always holds", Level.WARNING, Sure.PROVEN),
    ("SH004", "a rule without effect beside a stronger one", Level.WARNING, Sure.PROVEN),
    ("SH005", "a rule that another one says already", Level.NOTE, Sure.PROVEN),
    ("SH006", "an allow rule that is too broad", Level.WARNING, Sure.LIKELY),
    ("SH007", "a condition that cannot be evaluated", Level.ERROR, Sure.PROVEN),
    ("SH008", "a list that no rule uses", Level.WARNING, Sure.PROVEN),
    ("SH009", "a macro that no rule uses", Level.WARNING, Sure.PROVEN),
    ("SH010", "a rule without a reason", Level.WARNING, Sure.PROVEN),
    ("SH011", "a refusal without advice", Level.NOTE, Sure.PROVEN),
    ("SH012", "a protective rule that sees one tool only", Level.WARNING, Sure.LIKELY),
    ("SH013", "an extended rule that is overridden", Level.NOTE, Sure.PROVEN),
    ("SH014", "a pattern without ends in an allow rule", Level.WARNING, Sure.LIKELY),
    ("SH015", "a dot in a pattern of a host", Level.WARNING, Sure.LIKELY),
    ("SH016", "a rule without examples", Level.NOTE, Sure.PROVEN),
    ("SH017", "part of a name taken for the whole", Level.WARNING, Sure.PROVEN),
    ("SH018", "leave given by a path as it is written", Level.WARNING, Sure.LIKELY),
    ("SH019", "a word that no fact ever is", Level.ERROR, Sure.PROVEN),
    ("SH020", "part of a condition that decides nothing", Level.WARNING, Sure.PROVEN),
    ("SH021", "a rule that is not enforced", Level.NOTE, Sure.PROVEN),
    ("SH022", "the wrong one of glob and reaches", Level.WARNING, Sure.LIKELY),
)
