"""All rules over one text, in time linear in its length.

Which patterns could match at all is found in one pass; only those are run. Patterns see UTF-8; what comes out counts
code points.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType
from typing import Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.facts.secrets import find_secrets
from shield.heuristics.letters import BEYOND_LATIN
from shield.heuristics.patterns import Filter, compiled
from shield.heuristics.rule import NEAR, UNLESS, HeuristicRule, Pattern, softened
from shield.types import Answer, SecretFact, Severity, TextFinding, TextKind

__all__ = ["MAX_FINDINGS", "MAX_PLACES", "MAX_WEIGHED", "Heuristics"]

MAX_PLACES: Final = 4  # of one rule in one text
MAX_FINDINGS: Final = 64  # of one text
# From here on a pattern's hit counts in full without a look at what stands around it: nobody quotes that often, and
# the last of a thousand may be the one that is meant.
MAX_WEIGHED: Final = 1_000

_ANSWERS: Final = {Answer.BLOCK: 0, Answer.ESCALATE: 1}
_SEVERITIES: Final = {Severity.CRITICAL: 0, Severity.HIGH: 1, Severity.MEDIUM: 2, Severity.LOW: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    rule: HeuristicRule
    near: "tuple[re2._Regexp, ...]"
    unless: "tuple[re2._Regexp, ...]"
    despite: "tuple[re2._Regexp, ...]"

    def weigh(self, text: str, start: int, end: int, answer: Answer) -> Answer:
        """What a hit means, by what stands around it."""
        if self.near:
            around = text[max(0, start - NEAR) : end + NEAR].encode()
            if not _any(self.near, around):
                return Answer.NO_OBJECTION
        if self.unless:
            before = text[max(0, start - UNLESS) : start].encode()
            if _any(self.unless, before) and not _any(self.despite, before):
                return softened(answer)
        return answer


class _Place(NamedTuple):
    """Sorted: the strongest answer first, then by position."""

    rank: int
    start: int
    end: int
    answer: Answer


class _Engine:
    """All patterns of some rules, compiled."""

    def __init__(self, rules: Iterable[HeuristicRule], step: Callable[[], None]) -> None:
        ready = [_ready(rule, step) for rule in rules]
        # rules may share a pattern, one for a plain answer and one that asks for something near: it is run once
        shared: dict[tuple[str, bool], list[tuple[_Ready, Pattern]]] = {}
        for one in ready:
            for pattern in one.rule.patterns:
                shared.setdefault((pattern.text, one.rule.case), []).append((one, pattern))
        self.filter = Filter([(its[0][0].rule, its[0][1]) for its in shared.values()], step=step)
        self.owners = tuple(tuple(one for one, _ in its) for its in shared.values())
        self.secrets = tuple(one for one in ready if one.rule.secrets)
        self._by_kind = {
            kind: frozenset(
                number for number, owners in enumerate(self.owners) if any(kind in one.rule.kinds for one in owners)
            )
            for kind in TextKind
        }

    def candidates(self, raw: bytes, kind: TextKind, *, latin: bool) -> Sequence[int]:
        return self.filter.candidates(raw, self._by_kind[kind], latin=latin)


class Heuristics:
    """The rules of a set of files. Immutable; any thread may scan."""

    __slots__ = ("_building", "_engine", "_step", "digest", "rules")

    def __init__(self, rules: Iterable[HeuristicRule], digest: str, *, step: Callable[[], None] = lambda: None) -> None:
        """They are compiled when the first text is scanned, which takes longer than to read them. `step` is called
        before each pattern; what it raises is what that scan raises, and the next one begins anew."""
        self.digest = digest
        self._step = step
        self.rules: Mapping[str, HeuristicRule] = MappingProxyType({rule.id: rule for rule in rules})
        self._building = Lock()
        self._engine: _Engine | None = None

    def rule(self, name: str) -> HeuristicRule:
        """The rule that a finding names; KeyError for any other."""
        return self.rules[name]

    def scan(self, text: str, kind: TextKind, *, only: str | None = None) -> tuple[TextFinding, ...]:
        """What the rules (or the one that is named) find in `text`, most severe first: of a rule at most `MAX_PLACES`,
        none overlapping another, and `MAX_FINDINGS` together. The first scan raises PolicyError at the place of a
        pattern that cannot be run."""
        engine = self._engine or self._built()
        raw = text.encode("utf-8", "replace")
        narrow = len(raw) == len(text)
        if not text.isascii():
            text = raw.decode()  # a lone surrogate has become a question mark: as long, and it can be encoded
        places: dict[str, list[_Place]] = {}
        latin = narrow or BEYOND_LATIN.search(text) is None
        for number in engine.candidates(raw, kind, latin=latin):
            for owner in engine.owners[number]:
                if kind in owner.rule.kinds and only in (None, owner.rule.id):
                    hits = engine.filter.spans(number, raw, narrow=narrow)
                    places.setdefault(owner.rule.id, []).extend(_weighed(owner, hits, owner.rule.kinds[kind], text))
        asked = [one for one in engine.secrets if kind in one.rule.kinds and only in (None, one.rule.id)]
        secrets = find_secrets(text) if asked else ()
        for owner in asked:
            places[owner.rule.id] = _secret_hits(owner, secrets, kind, text)
        return self._findings(places, kind)

    def _built(self) -> _Engine:
        with self._building:
            if self._engine is None:
                self._engine = _Engine(self.rules.values(), self._step)
            return self._engine

    def _findings(self, places: Mapping[str, list[_Place]], kind: TextKind) -> tuple[TextFinding, ...]:
        found = [
            (place.rank, _SEVERITIES[self.rules[name].severity], place.start, name, place)
            for name, its in places.items()
            for place in _apart(its)
        ]
        return tuple(
            TextFinding(rule=name, answer=place.answer, kind=kind, start=place.start, end=place.end)
            for *_, name, place in sorted(found)[:MAX_FINDINGS]
        )


def _ready(rule: HeuristicRule, step: Callable[[], None]) -> _Ready:
    def of(key: str, patterns: Iterable[Pattern]) -> "tuple[re2._Regexp, ...]":
        found = []
        for pattern in patterns:
            step()
            found.append(compiled(rule, key, pattern))
        return tuple(found)

    return _Ready(
        rule=rule,
        near=of("near", rule.near),
        unless=of("unless", rule.unless),
        despite=of("despite", rule.despite),
    )


def _any(regexes: "Iterable[re2._Regexp]", raw: bytes) -> bool:
    return any(regex.search(raw) for regex in regexes)


def _secret_hits(owner: _Ready, secrets: Iterable[SecretFact], kind: TextKind, text: str) -> list[_Place]:
    spans = ((secret.start, secret.end) for secret in secrets if secret.kind in owner.rule.secrets)
    return list(_weighed(owner, spans, owner.rule.kinds[kind], text))


def _weighed(owner: _Ready, spans: Iterable[tuple[int, int]], answer: Answer, text: str) -> Iterator[_Place]:
    """The hits that mean something, until there are enough that mean the most."""
    enough = MAX_PLACES
    for number, (start, end) in enumerate(spans):
        means = owner.weigh(text, start, end, answer) if number < MAX_WEIGHED else answer
        if means is Answer.NO_OBJECTION:
            continue
        yield _Place(_ANSWERS[means], start, end, means)
        enough -= means is answer
        if not enough:
            return


def _apart(places: list[_Place]) -> list[_Place]:
    """The strongest that do not overlap."""
    kept: list[_Place] = []
    for place in sorted(places):
        if len(kept) == MAX_PLACES:
            break
        if all(place.end <= other.start or other.end <= place.start for other in kept):
            kept.append(place)
    return kept
