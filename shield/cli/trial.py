"""Policies tried on cases, each alone, in one process or several: results, rule coverage, surviving mutants."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shield.cli.mutants import Mutation, Prepared, try_mutants
from shield.cli.outcome import Result, try_case
from shield.cli.workers import spread
from shield.errors import PolicyError
from shield.policy.cases import read_cases
from shield.policy.load import load_overlay, load_policy
from shield.policy.set import PolicySet
from shield.policy.shelf import Shelf, read_bounded, shipped_shelf
from shield.policy.tools.asking import Asking
from shield.policy.tools.exercise import Exercise, RuleCoverage, percent
from shield.policy.tools.sources import Sources, read_sources
from shield.types import Json

__all__ = ["Report", "Subject", "Trial", "Wanted", "load_subjects", "run_trials", "try_case"]

_OWN = "name the policy that has them, or add `--extended`"
_BATCH = 50  # cases between two words of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A policy under test, with what it says to people: rules that it overrides."""

    reference: str
    policy: PolicySet
    sources: Sources
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One policy on all cases. `coverage` and `mutation` where they were asked for."""

    policy: str
    digest: str
    outcomes: tuple[Result, ...]
    coverage: tuple[RuleCoverage, ...] | None = None
    mutation: Mutation | None = None

    @property
    def failed(self) -> int:
        return sum(outcome.status != "pass" for outcome in self.outcomes)

    def as_json(self) -> dict[str, Json]:
        shape: dict[str, Json] = {
            "policy": self.policy,
            "digest": self.digest,
            "passed": len(self.outcomes) - self.failed,
            "failed": self.failed,
            "cases": [outcome.as_json() for outcome in self.outcomes],
        }
        if self.coverage is not None:
            rules: list[Json] = [rule.as_json() for rule in self.coverage]
            share = percent(self.coverage)
            shape["coverage"] = {"percent": None if share is None else f"{share:.1f}", "rules": rules}
        if self.mutation is not None:
            shape["mutation"] = self.mutation.as_json()
        return shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Every policy's trial. `notes` are for people: rules that were overridden."""

    trials: tuple[Trial, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return all(trial.failed == 0 for trial in self.trials)

    def below(self, percentage: float) -> Iterator[str]:
        """What falls short of this many per cent: sides that cases came to, mistakes that were noticed; or why there
        is nothing of which it could be a share."""
        for trial in self.trials:
            name, mutation = trial.policy, trial.mutation
            if trial.coverage is not None:
                seen = percent(trial.coverage)
                if seen is None:
                    yield f"{name}: there is no side to be seen in rules of its own; {_OWN}"
                elif seen < percentage:
                    yield f"{name}: {seen:.1f} % of sides seen, wanted {percentage:g} %"
            if mutation is not None:
                if mutation.percent is None:
                    yield f"{name}: there is no mistake to be made in rules of its own; {_OWN}"
                elif mutation.percent < percentage:
                    yield f"{name}: {mutation.percent:.1f} % of mutants noticed, wanted {percentage:g} %"

    def as_json(self) -> dict[str, Json]:
        return {"policies": [trial.as_json() for trial in self.trials]}


def load_subjects(
    policies: Sequence[str], overlay: Path | None = None, shelf: Shelf | None = None
) -> tuple[Subject, ...]:
    """The policies under test, each alone with what it extends, and on top of it the overlay.

    Raises:
        PolicyError: one of them, or the overlay, cannot be read or does not load.
    """
    shelf = shelf if shelf is not None else shipped_shelf()
    added = read_bounded(overlay) if overlay is not None else None
    found = []
    for reference in policies:
        policy = load_policy(reference, shelf)
        notes = [f"`{reference}` overrides {', '.join(policy.overridden)}"] if policy.overridden else []
        own = [str(shelf.find(reference))]
        if overlay is not None and added is not None:
            policy = load_overlay(policy, added, str(overlay))
            own.append(str(overlay))
        sources = read_sources(policy, own)
        found.append(Subject(reference=reference, policy=policy, sources=sources, notes=tuple(notes)))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a trial is to find out besides results. `mutants` 0 is none; `extended`: of what is extended, too."""

    coverage: bool = False
    mutants: int = 0
    seed: int = 0
    extended: bool = False


def run_trials(
    policies: Sequence[str],
    case_files: Sequence[Path],
    overlay: Path | None = None,
    *,
    wanted: Wanted | None = None,
    jobs: int = 1,
    tick: Callable[[str, int], None] | None = None,
) -> Report:
    """Try each policy alone on all cases. `tick` is told of what and how many more were done.

    The report is the same with any number of `jobs`.

    Raises:
        PolicyError: a policy, the overlay or a case file cannot be read or does not load.
    """
    subjects = load_subjects(policies, overlay)
    wanted = wanted if wanted is not None else Wanted()
    files = [(str(path), read_bounded(path)) for path in case_files]
    bench = _Bench(subjects=subjects, files=files, wanted=wanted)
    done: list[_Done] = []
    for found in spread(bench.tries, _shares(files, jobs), jobs=jobs, tick=tick):
        if found.refused is not None:
            raise found.refused
        done.append(found)
    trials = []
    for place, subject in enumerate(subjects):
        outcomes = tuple(result for found in done for result in found.results[place])
        coverage = None
        if wanted.coverage:
            coverage = bench.exercises[place].covered({hit for found in done for hit in found.hits[place]})
        mutation = None
        if wanted.mutants:
            passed = {(one.file, one.line) for one in outcomes if one.status == "pass"}
            prepared = _prepared(files, subject, passed)
            mutation = try_mutants(
                subject.sources,
                prepared,
                count=wanted.mutants,
                seed=wanted.seed,
                extended=wanted.extended,
                jobs=jobs,
                tick=tick,
            )
        trials.append(
            Trial(
                policy=subject.reference,
                digest=subject.policy.digest,
                outcomes=outcomes,
                coverage=coverage,
                mutation=mutation,
            )
        )
    notes = dict.fromkeys(note for subject in subjects for note in subject.notes)
    return Report(trials=tuple(trials), notes=tuple(notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """Part `part` of `of` equal parts of the cases of a file."""

    file: int
    part: int = 0
    of: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What one share came to, by policy. `refused`: its file does not load."""

    results: tuple[tuple[Result, ...], ...] = ()
    hits: tuple[frozenset[int], ...] = ()
    refused: PolicyError | None = None


@dataclass(slots=True, kw_only=True)
class _Bench:
    """Everything a share needs, made before there are several processes."""

    subjects: tuple[Subject, ...]
    files: Sequence[tuple[str, bytes]]
    wanted: Wanted
    exercises: tuple[Exercise, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.wanted.coverage:
            self.exercises = tuple(
                Exercise(subject.sources, extended=self.wanted.extended) for subject in self.subjects
            )

    def tries(self, share: _Share, tick: Callable[[str, int], None]) -> _Done:
        """One share's cases under every policy."""
        name, raw = self.files[share.file]
        try:
            cases = read_cases(raw, name, (share.part, share.of))
        except PolicyError as error:
            return _Done(refused=error)
        results: list[list[Result]] = [[] for _ in self.subjects]
        for number, case in enumerate(cases, 1):
            for place, subject in enumerate(self.subjects):
                outcome = try_case(case, subject.policy)
                results[place].append(outcome.result())
                if self.exercises:
                    self.exercises[place].see(Asking.of(case.request.action, outcome.facts))
            if number % _BATCH == 0:
                tick("cases", _BATCH)
        tick("cases", len(cases) % _BATCH)
        hits = tuple(frozenset(exercise.hits) for exercise in self.exercises)
        return _Done(results=tuple(tuple(found) for found in results), hits=hits)


def _shares(files: Sequence[tuple[str, bytes]], jobs: int) -> list[_Share]:
    """The files in order; one that alone is more than a worker's part is cut, each worker reads it anyway."""
    total = sum(len(raw) for _, raw in files)
    shares: list[_Share] = []
    for place, (_, raw) in enumerate(files):
        # INVARIANT: a file has a share, also one that holds nothing: whoever reads it says what is wrong with it
        parts = max(1, min(jobs, -(-len(raw) * jobs // max(total, 1))))
        shares.extend(_Share(file=place, part=part, of=parts) for part in range(parts))
    return shares


def _prepared(files: Sequence[tuple[str, bytes]], subject: Subject, passed: set[tuple[str, int]]) -> Iterator[Prepared]:
    """The cases that pass, judged once more with all that a mutant does not change."""
    for name, raw in files:
        for case in read_cases(raw, name):
            if (case.file, case.line) in passed:
                yield Prepared.of(case, subject.policy)
