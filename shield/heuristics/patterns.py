"""RE2 patterns, each compiled once, and which of them could match a text at all."""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel ships no types

from shield.errors import PolicyError
from shield.heuristics.letters import beyond_latin
from shield.heuristics.rule import HeuristicRule, Pattern

__all__ = ["MAX_PATTERNS", "MAX_PROGRAM", "Filter", "compiled"]

MAX_PATTERNS: Final = 5_000  # RE2's filter has refused more by 20,000
# RE2 instructions. Where its automaton does not fit into its memory, RE2 takes a step for each of them and each byte.
MAX_PROGRAM: Final = 5_000
# Bytes of one pattern's automaton, and of one of several patterns. RE2 forgets all its states when they do not fit, and
# builds them again. Measured over 191 different parts of pages, licences, code and banks, 10 kB each: a scan takes a
# fifth less time than with half of it; over words of the rules' own examples in any order, which need the most states,
# a quarter less, and after 1.2 MB of them the process holds 354 MB instead of 290.
_MEMORY: Final = 2 << 20
_GATE_MEMORY: Final = 8 << 20
# Patterns that one pass looks for the needed pieces of. RE2 gives a pass 8 MB for its states and forgets them when they
# do not fit. Measured over 500 pages, licences and files of code, 10 kB each: .2 to .3 ms with 60 to 90, .7 with 150,
# 1.8 with 215, 4 with all 430.
_A_PASS: Final = 80
# Measured over pages, licences, code and changelogs in parts of 10 kB: with six 1.0 to 1.4 ms, with one 1.3 to 2.6;
# with sixteen the automata are built again and again.
_TOGETHER: Final = 6
_LONG: Final = 2_000  # bytes; a shorter text is not worth compiling them


def compiled(rule: HeuristicRule, key: str, pattern: Pattern) -> "re2._Regexp":
    """One pattern of `near`, `unless` or `despite`.

    Raises:
        PolicyError: it is none, or too large, at its place.
    """
    try:
        return _fit(rule, key, pattern, re2.compile(pattern.text, _options(case=rule.case)))
    except (re2.error, UnicodeError) as error:
        raise _not_one(rule, key, pattern, error) from None


class Filter:
    """The `patterns` of all rules, by number.

    Four steps, each exact and cheaper than the next: whether there is a letter that is not Latin, which patterns have
    their needed pieces of text in it (one pass for `_A_PASS`), which of these match together with their neighbours (one
    pass for up to `_TOGETHER`), where each matches.
    """

    def __init__(
        self, wanted: Sequence[tuple[HeuristicRule, Pattern]], *, step: Callable[[], None] = lambda: None
    ) -> None:
        """`step` is called before each pattern; what it raises ends this.

        Raises PolicyError at the place of a pattern that is none or too large."""
        if len(wanted) > MAX_PATTERNS:
            rule, pattern = wanted[MAX_PATTERNS]
            raise _error(rule, "patterns", pattern, f"more than {MAX_PATTERNS} patterns together; join some")
        beyond = frozenset(number for number, (_, pattern) in enumerate(wanted) if beyond_latin(pattern.text))
        latin = [number for number in range(len(wanted)) if number not in beyond]
        self._latin = tuple(_passes(wanted, latin, step))
        self._beyond = tuple(_passes(wanted, sorted(beyond), step))
        passes = (*self._latin, *self._beyond)
        regexes = {number: one.filter.re(place) for one in passes for place, number in enumerate(one.numbers)}
        self._regexes = tuple(
            _fit(rule, "patterns", pattern, regexes[number]) for number, (rule, pattern) in enumerate(wanted)
        )
        self._gates, self._gate_of = _gates(wanted, frozenset(self._passing(b"", latin=False)))

    def candidates(self, raw: bytes, among: Container[int], *, latin: bool) -> Sequence[int]:
        """The numbers of the patterns that could match, ascending. `latin`: there is no letter of `BEYOND_LATIN`."""
        found = sorted(number for number in self._passing(raw, latin=latin) if number in among)
        if len(raw) < _LONG:
            return found
        behind: dict[int, list[int]] = {}
        for number in found:
            behind.setdefault(self._gate_of[number], []).append(number)
        return sorted(
            number
            for gate, some in behind.items()
            if len(some) == 1 or self._gates[gate].search(raw)
            for number in some
        )

    def _passing(self, raw: bytes, *, latin: bool) -> Iterator[int]:
        """The patterns whose needed pieces are in the text."""
        for one in self._latin if latin else (*self._latin, *self._beyond):
            for place in one.filter.Match(raw, True) or ():
                yield one.numbers[place]

    def spans(self, number: int, raw: bytes, *, narrow: bool) -> Iterator[tuple[int, int]]:
        """Where a pattern matches UTF-8, in code points, from left to right. `narrow`: each is one byte."""
        seen = count = 0
        for match in self._regexes[number].finditer(raw):
            start, end = match.span()
            if narrow:
                yield start, end
                continue
            first = count + len(raw[seen:start].decode("utf-8", "replace"))
            count = first + len(raw[start:end].decode("utf-8", "replace"))
            seen = end
            yield first, count


class _Pass(NamedTuple):
    """Patterns by their numbers, whose needed pieces are looked for together."""

    numbers: Sequence[int]
    filter: "re2.Filter"


def _passes(
    wanted: Sequence[tuple[HeuristicRule, Pattern]], numbers: Sequence[int], step: Callable[[], None]
) -> Iterator[_Pass]:
    for start in range(0, len(numbers), _A_PASS):
        some = numbers[start : start + _A_PASS]
        yield _Pass(some, _filter([wanted[number] for number in some], step))


def _filter(wanted: Sequence[tuple[HeuristicRule, Pattern]], step: Callable[[], None]) -> "re2.Filter":
    made = re2.Filter()
    for rule, pattern in wanted:
        step()
        try:
            made.Add(pattern.text, _options(case=rule.case))
        except (re2.error, UnicodeError):
            compiled(rule, "patterns", pattern)  # says what is wrong with it
            raise
    made.Compile()
    return made


class _Gate:
    """Some patterns as one; compiled when the first long text needs it."""

    __slots__ = ("_case", "_patterns", "_regex")

    def __init__(self, patterns: Sequence[Pattern], *, case: bool) -> None:
        self._patterns = patterns
        self._case = case
        self._regex: re2._Regexp | None = None

    def search(self, raw: bytes) -> bool:
        """Whether one of the patterns matches."""
        if self._regex is None:  # two threads may both do it: the same comes out
            options = _options(case=self._case)
            options.max_mem = _GATE_MEMORY
            self._regex = re2.compile("|".join(f"(?:{pattern.text})" for pattern in self._patterns), options)
        return self._regex.search(raw) is not None


def _gates(wanted: Sequence[tuple[HeuristicRule, Pattern]], always: Container[int]) -> tuple[list[_Gate], list[int]]:
    """The gates, and for each pattern the place of its own: those of a rule together, and apart from them those that
    need no piece, whose gates every text comes to."""
    together: dict[tuple[str, bool], list[int]] = {}
    for number, (rule, _) in enumerate(wanted):
        together.setdefault(("" if number in always else rule.id, rule.case), []).append(number)
    gates: list[_Gate] = []
    places = [0] * len(wanted)
    for (_, case), numbers in together.items():
        for start in range(0, len(numbers), _TOGETHER):
            part = numbers[start : start + _TOGETHER]
            for number in part:
                places[number] = len(gates)
            gates.append(_Gate([wanted[number][1] for number in part], case=case))
    return gates, places


def _options(*, case: bool) -> "re2.Options":
    options = re2.Options()
    options.case_sensitive = case
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


def _fit(rule: HeuristicRule, key: str, pattern: Pattern, regex: "re2._Regexp") -> "re2._Regexp":
    if regex.programsize > MAX_PROGRAM:
        raise _error(rule, key, pattern, f"the pattern needs {regex.programsize} steps of {MAX_PROGRAM}; split it")
    if regex.search(b"") is not None:
        raise _error(rule, key, pattern, "the pattern matches where nothing is, so it says nothing; narrow it")
    return regex


def _not_one(rule: HeuristicRule, key: str, pattern: Pattern, error: Exception) -> PolicyError:
    said = error.args[0] if error.args and isinstance(error, re2.error) else "not text"
    why = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return _error(rule, key, pattern, f"not a regular expression as RE2 takes it: {why}")


def _error(rule: HeuristicRule, key: str, pattern: Pattern, detail: str) -> PolicyError:
    mark = pattern.mark
    return PolicyError(detail, file=rule.file, line=mark.line, column=mark.column, key=f"rule `{rule.id}`, {key}")
