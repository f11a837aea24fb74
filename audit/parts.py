"""A log judged in parts, by several processes, with the same verdict as in one pass.

Each part begins at the place that the stored tiles and records claim. INVARIANT: what a process found of a part counts
only if this place is the one where the part before really ended; else the part is judged again from there. So the
whole is one pass, and the first bad record is the first of all.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, Self, TypeVar

from audit.bundle import BundleSource
from audit.errors import AuditError, ReadError
from audit.merkle import WIDTH
from audit.note import VerifyKey
from audit.place import Findings, Place
from audit.schema import reading
from audit.source import DatabaseSource, Source, TamperedError
from audit.stretch import Stretch

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_T = TypeVar("_T")
_P = ParamSpec("_P")
_PARTS: Final = 4  # a process, so that none waits long for the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """How to open a log again: for a bundle, `index` is the file of its temporary database."""

    path: Path
    key: VerifyKey
    index: Path
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a process found of a part: up to its end, or up to where `error` ended it."""

    start: Place | None
    end: Place | None = None
    findings: Findings | None = None
    error: TamperedError | AuditError | OSError | None = None


@contextmanager
def opened(log: Log) -> Iterator[Source]:
    """The log as a source. Raises TamperedError, ReadError, LogForeignError, LogDamagedError, OSError."""
    if log.path.is_dir():
        try:
            bundle = BundleSource(log.path, log.key, log.index, ready=log.size is not None)
            try:
                yield bundle
            finally:
                bundle.close()
        except sqlite3.Error as error:
            where = log.index.parent
            raise ReadError(
                f"cannot keep notes on the bundle in `{where}`: {error}; set TMPDIR to a place with room"
            ) from error
    else:
        with reading(log.path) as database:
            yield DatabaseSource(database, log.key, log.size)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a process found of the source's own structures."""

    error: TamperedError | AuditError | OSError | None


class Crew:
    """The processes, none where one job is enough. They are forked at once, before the log is opened here."""

    def __init__(self, path: Path, key: VerifyKey, jobs: int) -> None:
        """`jobs`: how many processes; 0 for as many as there are processors."""
        self._jobs = jobs or os.cpu_count() or 1
        self._stack = ExitStack()
        self._path = path
        self._key = key
        self._pool: ProcessPoolExecutor | None = None
        self._checked: Future[Checked] | None = None

    def __enter__(self) -> Self:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="audit")))
        self.log = Log(path=self._path, key=self._key, index=folder / "index")
        if self._jobs > 1:
            # only now: most verifications have no use for it
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            context = multiprocessing.get_context("fork")
            self._pool = self._stack.enter_context(ProcessPoolExecutor(self._jobs, mp_context=context))
            _answer(self._hand(int))
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._stack.close()

    def stretch(self, source: Source, findings: Findings, progress: Callable[[int], None]) -> Iterator[Stretch]:
        """One pass over the whole log: the stretch that stands at its end, or in between where an error is raised.

        Yields each stretch before it is run to its end, so that the caller sees how far it came.
        """
        place = Place.beginning()
        for stop, future in self._hand_out(source):
            stretch = Stretch(source, place, findings)
            yield stretch
            judged = _answer(future)
            if judged is None or judged.start != place or judged.end is None or judged.findings is None:
                stretch.run(stop, progress)
            else:
                stretch.adopt(judged.end, judged.findings)
                if judged.error is not None:
                    raise judged.error
                progress(stop)
            place = stretch.place

    def _hand_out(self, source: Source) -> list[tuple[int, "Future[Judged] | None"]]:
        if self._pool is None or source.size < 2 * WIDTH:
            return [(source.size, None)]
        width = max(WIDTH, source.size // (self._jobs * _PARTS) // WIDTH * WIDTH)
        log = replace(self.log, size=source.size)
        self._checked = self._hand(_check_structures, log)
        bounds = [*range(0, source.size, width), source.size]
        return [(stop, self._hand(_judge, log, start, stop)) for start, stop in pairwise(bounds)]

    def _hand(self, task: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> "Future[_T] | None":
        from concurrent.futures.process import BrokenProcessPool

        assert self._pool is not None
        try:
            return self._pool.submit(task, *args, **kwargs)
        except BrokenProcessPool:
            return None

    def check_structures(self, source: Source) -> None:
        """Raise TamperedError unless the source's own structures hold together."""
        found = _answer(self._checked)
        if found is None:
            source.check_structures()
        elif found.error is not None:
            raise found.error


def _judge(log: Log, start: int, stop: int) -> Judged:
    """In a process of its own. Nothing is raised, so that the caller can go on up to there."""
    first: Place | None = None
    findings = Findings()
    stretch: Stretch | None = None
    try:
        with opened(log) as source:
            place = Place.stored(source, start) if start else Place.beginning()
            if place is None:
                return Judged(start=None)
            first = replace(place, edge=place.edge.copy())
            stretch = Stretch(source, place, findings)
            stretch.run(stop, lambda _done: None)
    except (TamperedError, AuditError, OSError) as error:
        if stretch is None:
            return Judged(start=None)
        return Judged(start=first, end=stretch.place, findings=findings, error=error)
    return Judged(start=first, end=stretch.place, findings=findings)


def _check_structures(log: Log) -> Checked:
    try:
        with opened(log) as source:
            source.check_structures()
    except (TamperedError, AuditError, OSError) as error:
        return Checked(error)
    return Checked(None)


def _answer(future: "Future[_T] | None") -> _T | None:
    """What a process found, None if it is gone: then its work is done here."""
    if future is None:
        return None
    from concurrent.futures.process import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool:
        return None
