"""The offline verifier: needs a log and a public key, streams in constant memory, never imports the writer.

1. the database has exactly the objects of an audit log, and is the log the key names; its records tell which keys it
   has had, and the trusted one is among them
2. every record: stored under its own number without a gap, well formed, of this log, linked to the one before,
   hashing to what is stored
3. every record's kind is in the table of its time, and refers as the table says
4. every stored tile is the one the records make
5. every stored checkpoint is signed by the keys of its size and its root is the one the records make
6. so is every checkpoint brought from outside, and the log holds at least what it covers
7. the database's own structures list what the records say, in order

Safe beside a running writer: the size is fixed first, and only records below it are looked at.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from audit.bundle import BundleSource
from audit.checkpoint import Checkpoint
from audit.cosignature import WitnessKey, check_cosigned
from audit.errors import AuditError, LogDamagedError, NoteError, ReadError
from audit.merkle import root_at
from audit.note import VerifyKey, split_note
from audit.parts import Crew, opened
from audit.place import NOTES, Findings
from audit.selection import check_selection
from audit.source import Source, TamperedError
from audit.stretch import Stretch

__all__ = ["NOTES", "Outcome", "Outside", "Report", "verify_log"]


class Outcome(Enum):
    """What a verification can come to; the values are the exit codes."""

    OK = 0
    TAMPERED = 1
    CANNOT_TELL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is known about a log. Trust reaches to `signed` records, whatever `outcome` says of the rest.

    `records`: in the log; `presented`: those of them that were there to be judged, fewer only in a bundle that holds a
    selection; `signed`: shown to be under a checkpoint of the key; `confirmed`: shown to be under a checkpoint brought
    from outside, None if there was none; `since`: what the largest checkpoint that the auditor remembers covers;
    `bad`: the first record that is wrong, or the first of those among which it is; `notes`: remarkable, but no
    tampering.
    """

    outcome: Outcome
    log: str
    records: int = 0
    presented: int = 0
    signed: int = 0
    confirmed: int | None = None
    since: int | None = None
    bad: int | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def unsealed(self) -> int:
        """Records beyond the newest checkpoint: chained, but signed by nobody yet."""
        return self.records - self.signed

    def as_json(self) -> dict[str, Any]:
        """The report for `--json`."""
        return {**asdict(self), "outcome": self.outcome.name.lower(), "unsealed": self.unsealed}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Checkpoints kept where the log's operator does not reach, as note texts.

    `since`: those that the auditor remembers; `notes`: others, a sink's or a witness's; each of `notes` must carry the
    cosignature of one of the `witnesses`, and each witness must have signed one, unless there are no `witnesses`.
    """

    since: Sequence[str] = ()
    notes: Sequence[str] = ()
    witnesses: Sequence[WitnessKey] = ()


def verify_log(
    path: Path,
    key: VerifyKey,
    *,
    outside: Outside | Sequence[str] = (),
    selection: bool = False,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Verify the log at `path`, a database or a bundle, against `key` and against checkpoints kept elsewhere.

    `outside`: these checkpoints (a plain sequence: as `Outside.notes`). `selection`: be content with a bundle that
    presents only some records; anyone can leave records out of a bundle, no key is needed for it. `jobs`: processes
    that work at it; more than one are forked, which a process with other threads, or with the log open, should not do.
    `progress` is told (records done, records in all) now and then. Raises nothing: what cannot be established is
    CANNOT_TELL.
    """
    kept = outside if isinstance(outside, Outside) else Outside(notes=outside)
    run = _Run(key, progress or (lambda _done, _size: None))
    try:
        # INVARIANT: forked before SQLite opens the database here, for its locks do not survive a fork
        with Crew(path, key, jobs) as crew, opened(crew.log) as source:
            run.check(source, kept, crew)
    except TamperedError as error:
        return replace(run.report(Outcome.TAMPERED), bad=error.bad, reason=error.reason)
    except LogDamagedError as error:
        return replace(run.report(Outcome.TAMPERED), bad=run.reached, reason=str(error))
    except AuditError as error:
        return replace(run.report(Outcome.CANNOT_TELL), reason=str(error))
    except OSError as error:
        return replace(run.report(Outcome.CANNOT_TELL), reason=f"cannot read `{path}`: {error.strerror or error}")
    report = run.report(Outcome.OK)
    if report.presented < report.records and not selection:
        said = f"it is a selection of {report.presented} of {report.records} records; ask for it to judge them alone"
        return replace(report, outcome=Outcome.CANNOT_TELL, reason=said)
    return report


class _Run:
    """One verification of one log."""

    def __init__(self, key: VerifyKey, progress: Callable[[int, int], None]) -> None:
        self._key = key
        self._progress = progress
        self._size = 0
        self._presented = 0
        self._selected: int | None = None
        self._confirmed: int | None = None
        self._since: int | None = None
        self._findings = Findings()
        self._stretch: Stretch | None = None

    @property
    def reached(self) -> int | None:
        """The first record that was not found right, None if none was looked at."""
        return None if self._stretch is None else self._stretch.edge.size

    def report(self, outcome: Outcome) -> Report:
        return Report(
            outcome=outcome,
            log=self._key.name,
            records=self._size,
            presented=self._presented,
            signed=self._selected or (0 if self._stretch is None else self._stretch.signed),
            confirmed=self._confirmed,
            since=self._since,
            notes=self._findings.notes(),
        )

    def check(self, source: Source, kept: Outside, crew: Crew) -> None:
        """Everything, in the order of the list above. Raises TamperedError, AuditError, OSError."""
        # 1: the source could be opened
        self._size = self._presented = source.size
        # 2 to 5
        if isinstance(source, BundleSource) and source.selection:
            self._presented = source.presented
            self._selected = check_selection(source)
        else:
            self._stream(source, crew)
        # 6
        since = [self._open(note, source) for note in kept.since]
        anchors = [self._open(note, source) for note in kept.notes]
        _check_witnesses(kept)
        for checkpoint in sorted({*since, *anchors}, key=lambda checkpoint: checkpoint.size):
            _compare(checkpoint, source)
            self._confirmed = checkpoint.size
        self._since = max((checkpoint.size for checkpoint in since), default=None)
        # 7
        self._check_structures(source, crew)

    def _open(self, note: str, source: Source) -> Checkpoint:
        try:
            return source.chain.open(note)
        except NoteError as error:
            raise ReadError(f"a checkpoint brought from outside is not one of this log: {error}") from error

    def _stream(self, source: Source, crew: Crew) -> None:
        for stretch in crew.stretch(source, self._findings, lambda done: self._progress(done, source.size)):
            self._stretch = stretch
        if source.newest > source.size:
            raise TamperedError(
                f"a checkpoint covers {source.newest} records and the log ends after {source.size}", source.size
            )
        assert self._stretch is not None
        source.check_edge(self._stretch.edge)

    def _check_structures(self, source: Source, crew: Crew) -> None:
        try:
            crew.check_structures(source)
        except (TamperedError, AuditError):
            self._findings.open.clear()  # an index that lies was asked for them
            raise


def _check_witnesses(kept: Outside) -> None:
    """Raise ReadError unless each note carries the cosignature of a witness, and each witness signed a note."""
    silent = set(kept.witnesses)
    for note in kept.notes if kept.witnesses else ():
        signed_by = {witness for witness in kept.witnesses if _cosigned(note, witness)}
        if not signed_by:
            raise ReadError("a checkpoint brought from outside carries no valid cosignature of a given witness")
        silent -= signed_by
    if silent:
        name = min(witness.name for witness in silent)
        raise ReadError(f"no checkpoint brought from outside carries a cosignature of the witness `{name}`")


def _cosigned(note: str, witness: WitnessKey) -> bool:
    try:
        check_cosigned(*split_note(note), witness)
    except NoteError:
        return False
    return True


def _compare(checkpoint: Checkpoint, source: Source) -> None:
    """Raise TamperedError unless the log, whose tiles were shown to be those of its records, begins with these."""
    if checkpoint.size > source.size:
        raise TamperedError(
            f"a checkpoint from outside covers {checkpoint.size} records and the log ends after {source.size}",
            source.size,
        )
    stored = dict(source.notes(checkpoint.size - 1, checkpoint.size)).get(checkpoint.size)
    if stored is not None and Checkpoint.parse(split_note(stored)[0]).root == checkpoint.root:
        return  # it was compared with the records
    if root_at(checkpoint.size, source.tile) != checkpoint.root:
        raise TamperedError(
            f"a checkpoint from outside signs other first {checkpoint.size} records: the log was rewritten", 0
        )
