"""A stretch of a log, record by record, up to where the tree, the clock and the table of kinds stand at its end.

Records are taken some hundreds at a time and first looked at all at once; only what is remarkable there, or wrong, is
looked at again one by one, which names the record. INVARIANT: the quick look accepts nothing that the slow one would
refuse or note.
"""

from array import array
from collections.abc import Callable, Sequence
from hashlib import sha256
from operator import le, lt
from typing import Any, Final

from audit.chain import ROTATE, Rotation
from audit.entry import Envelope, decode
from audit.errors import EntryError, NoteError
from audit.kinds import OPEN, KindTable
from audit.merkle import WIDTH, leaf_hash
from audit.place import Findings, Place
from audit.shape import Shapes, fields_of
from audit.source import PAD, Row, Source, TamperedError

CHUNK: Final = 1024
"""Records that are read and looked at together."""
_SLOW: Final = 8  # as few are not worth another look at all of them
_WINDOW: Final = (
    1 << 19
)  # records, or up to twice as many, whose kinds are kept, four bytes each, for those that refer to them

Columns = list[tuple[Any, ...]]
"""The fields of some records, as `Fields`, one tuple a field."""


class Stretch:
    """One pass over a stretch of records, from a place that is either true or will be compared."""

    def __init__(self, source: Source, place: Place, findings: Findings) -> None:
        self._source = source
        self._log = source.chain.name
        self._rotations = {rotation.seq: rotation for rotation in source.chain.rotations}
        self._start = place.edge.size
        self.findings = findings
        self._shapes = Shapes(self._log, marks=frozenset({OPEN, ROTATE}))
        self._prev = place.prev
        self._clock = place.clock
        self._ids: dict[bytes, int] = {}
        self._names: list[str] = []
        self._codes = array("I")
        self._base = self._start
        self._allowed: set[tuple[int, int | None]] = set()
        self._thens: dict[bytes, list[bytes]] = {}  # the kinds awaited, with a space before, as in `Referring.texts`
        self._kinds = place.kinds
        if place.kinds is not None:
            self._put_in_force(place.kinds)
        self._answered: set[bytes] = set()
        self._again: set[int] = set()
        self._repeats: dict[int, bytes] = {}
        self.edge = place.edge
        self.signed = place.signed

    @property
    def place(self) -> Place:
        """Where the pass stands."""
        return Place(edge=self.edge, prev=self._prev, clock=self._clock, kinds=self._kinds, signed=self.signed)

    def run(self, stop: int, progress: Callable[[int], None]) -> None:
        """Go on to record `stop`. Raises TamperedError, and what the source raises."""
        if self.edge.size == 0:
            notes = dict(self._source.notes(-1, 0))
            if not notes:
                raise TamperedError("the checkpoint of the empty log is missing, and every log begins with it", 0)
            self._seal(0, notes[0])
        while self.edge.size < stop:
            start = self.edge.size
            rows = self._source.rows(start, min(stop, start + CHUNK))
            if not rows:
                raise TamperedError(f"record {start} is missing", start)
            self._chunk(rows)
            progress(self.edge.size)

    def adopt(self, end: Place, findings: Findings) -> None:
        """Take what somebody else found who went from this place to `end`."""
        self.edge, self._prev, self._clock, self._kinds, self.signed = (
            end.edge,
            end.prev,
            end.clock,
            end.kinds,
            end.signed,
        )
        self.findings.merge(findings)

    def _chunk(self, rows: list[Row]) -> None:
        start, end = self.edge.size, self.edge.size + len(rows)
        self._look_up(start, end)
        for size, note in self._source.notes(start, end):
            here = size - self.edge.size
            self._take(rows[:here])
            del rows[:here]
            self._seal(size, note)
        self._take(rows)

    def _look_up(self, start: int, stop: int) -> None:
        """Who refers to the records from `start` below `stop`: for `once` and `then`."""
        self._answered = set()
        self._again = self._source.again(start, stop)
        last = b""
        for texts, seqs in self._source.referring(start, stop):
            before = len(self._answered)
            self._answered.update(texts)
            if len(self._answered) - before != len(texts):
                for text, seq in zip(texts, seqs, strict=True):
                    if text == last:
                        self._repeats[int(seq)] = text
                    last = text
            last = texts[-1]

    def _take(self, rows: list[Row]) -> None:
        if not rows:
            return
        quick = len(rows) > _SLOW
        if quick and self._quick(rows):
            return
        if quick:
            self._take(rows[: len(rows) // 2])
            self._take(rows[len(rows) // 2 :])
            return
        for row in rows:
            self._one(row)

    # -- all at once -----------------------------------------------------------------------------------------------

    def _quick(self, rows: list[Row]) -> bool:
        """Take the records if there is nothing to say of any of them; else take none."""
        start, last = self.edge.size, self._clock
        seqs, leaves, stored = zip(*rows, strict=True)
        if last is None or self._prev is None or seqs != tuple(range(start, start + len(rows))):
            return False
        try:
            digests = [sha256(b"\x00" + leaf).digest() for leaf in leaves]
            if list(stored) != digests:
                return False
            columns = list(zip(*self._shapes.read(leaves), strict=True))
        except (TypeError, EntryError):
            return False
        boots, _, kinds, monos, prevs, refs, numbers, times = columns
        # hashes in hex, each as long as the others, with a quote between
        linked = b"".join((self._prev, *digests[:-1])).hex('"', 32)
        if None in prevs or b'"'.join(prevs).decode() != linked or tuple(map(int, numbers)) != seqs:
            return False
        if set(boots) != {last[2]} or not _rising(last[0], times) or not _rising(last[1], monos):
            return False
        marked = b"log.open" in kinds or b"key.rotate" in kinds or not self._rotations.keys().isdisjoint(seqs)
        if marked or not self._related(seqs, kinds, refs):
            return False
        self._clock = (int(times[-1]), int(monos[-1]), last[2])
        self._accept(columns, digests)
        return True

    def _related(self, seqs: tuple[int, ...], kinds: tuple[bytes, ...], refs: tuple[bytes | None, ...]) -> bool:
        """Whether each record refers as its kind may, as far as that shows; then their kinds are remembered."""
        if not (self._repeats.keys().isdisjoint(seqs) and self._again.isdisjoint(seqs)):
            return False
        codes, base, had = self._codes, self._base, len(self._codes)
        targets = [-1 if ref is None else int(ref) for ref in refs]
        early = self._start > 0 and any(0 <= target < self._start for target in targets)
        if early or not all(map(lt, targets, seqs)) or not self._ids.keys() >= set(kinds):
            return False
        codes.extend(map(self._ids.__getitem__, kinds))
        found = {
            (code, codes[target - base] if target >= base else None if target < 0 else self._far(target))
            for code, target in zip(codes[had:], targets, strict=True)
        }
        if all(map(self._may, found - self._allowed)):
            self._allowed |= found
            return True
        del codes[had:]
        return False

    def _may(self, pair: tuple[int, int | None]) -> bool:
        code, target = pair
        try:
            kind = self._table().check(self._names[code], None if target is None else 0)
        except EntryError:
            return False
        return target is None or not kind.to or self._names[target] in kind.to

    def _accept(self, columns: Columns, digests: Sequence[bytes]) -> None:
        """Take records that were found right: tree, and what is expected of later records."""
        start = self.edge.size
        kinds = columns[2]
        for level, index, tile in self.edge.extend(digests):
            if self._source.tile(level, index) != tile:
                first = index * WIDTH ** (level + 1)
                raise TamperedError(f"the stored tile {index} of level {level} is not that of its records", first)
        self._prev = digests[-1]
        self._expect(start, kinds)
        for seq in self._repeats.keys() & range(start, self.edge.size) if self._repeats else ():
            del self._repeats[seq]
        if len(self._codes) > 2 * _WINDOW:
            del self._codes[:_WINDOW]
            self._base += _WINDOW

    def _expect(self, start: int, kinds: Sequence[bytes]) -> None:
        """Note the records of `kinds`, from `start` on, that a later one should refer to and none does."""
        thens, answered = self._thens, self._answered
        missing = [
            (seq - PAD, kind)
            for seq, kind in enumerate(kinds, start + PAD)
            if kind in thens and answered.isdisjoint(map((b"%d" % seq).__add__, thens[kind]))
        ]
        for seq, kind in missing:
            names = b"` or `".join(then[1:] for then in thens[kind]).decode()
            self.findings.open.add(f"record {seq} (`{kind.decode()}`) has no `{names}`")

    # -- one by one ------------------------------------------------------------------------------------------------

    def _one(self, row: Row) -> None:
        record, digest = self._record(*row)
        self._relate(record)
        self._remark(record)
        self._codes.append(self._code(record.kind))
        self._accept([(value,) for value in fields_of(record)], (digest,))

    def _record(self, seq: object, leaf: object, stored: object) -> tuple[Envelope, bytes]:
        expected = self.edge.size
        if seq != expected:
            raise TamperedError(f"record {expected} is missing", expected)
        if not isinstance(leaf, bytes) or not isinstance(stored, bytes):
            raise TamperedError(f"record {expected} holds values of another type", expected)
        if leaf_hash(leaf) != stored:
            raise TamperedError(f"record {expected} does not hash to its leaf hash", expected)
        try:
            record = decode(leaf)
        except EntryError as error:
            raise TamperedError(f"record {expected} is malformed: {error}", expected) from error
        if record.seq != expected or record.log != self._log:
            said = f"record {record.seq} of the log `{record.log}`"
            raise TamperedError(f"record {expected} says it is {said}", expected)
        if expected in self._again:
            raise TamperedError(f"record {expected} repeats the call and kind of an earlier one", expected)
        if record.prev != (None if self._prev is None else self._prev.hex()):
            raise TamperedError(f"record {expected} does not link to the one before", expected)
        return record, stored

    def _relate(self, record: Envelope) -> None:
        try:
            if record.kind == OPEN:
                self._opened(record)
            kind = self._table().check(record.kind, record.ref)
            if record.kind == ROTATE or record.seq in self._rotations:
                self._rotated(record)
        except EntryError as error:
            raise TamperedError(f"record {record.seq} breaks the table of kinds: {error}", record.seq) from error
        if record.ref is None:
            return
        target = self._target(record.ref)
        if target is None or (kind.to and target not in kind.to):
            raise TamperedError(
                f"record {record.seq} (`{record.kind}`) refers to record {record.ref}, which is `{target}`", record.seq
            )
        if kind.once and (record.seq in self._repeats or record.ref < self._start):
            first = self._source.earlier(record.ref, record.kind, record.seq)
            # the index is checked only later
            if first is not None and self._says(first, record.ref, record.kind):
                raise TamperedError(
                    f"record {record.seq} is a second `{record.kind}` for record {record.ref}", record.seq
                )

    def _opened(self, record: Envelope) -> None:
        found = record.body.get("log")
        if type(found) is not dict or found.keys() != {"kinds", "sealed", "size"}:
            raise EntryError(f"a `{OPEN}` record does not say how the log was found")
        size, sealed = found["size"], found["sealed"]
        if type(size) is not int or type(sealed) is not int or not 0 <= sealed <= size <= record.seq:
            raise EntryError(f"a `{OPEN}` record says impossible things of how the log was found")
        self._put_in_force(KindTable.parse(found["kinds"]))
        if sealed < size:
            self.findings.gaps.add(
                f"records {sealed} to {size - 1} were not sealed when the log was opened at {record.seq}"
            )

    def _put_in_force(self, table: KindTable) -> None:
        self._kinds = table
        self._allowed.clear()
        self._thens = {
            kind.name.encode(): [f" {then}".encode() for then in sorted(kind.then)] for kind in table.kinds if kind.then
        }
        for kind in table.kinds:
            self._code(kind.name)

    def _rotated(self, record: Envelope) -> None:
        # INVARIANT: every record of this kind that stands in the stream is one of the chain, and none else is
        if record.kind != ROTATE:
            raise EntryError(f"it passed for a `{ROTATE}` record")
        if self._rotations.get(record.seq) != Rotation.parse(record.seq, record.body):
            raise EntryError(f"a `{ROTATE}` record cannot follow another, or its index hides it")
        if self._source.sealed(record.seq + 1) != record.seq + 1:
            raise EntryError(f"the checkpoint that ends with the `{ROTATE}` record is missing")

    def _remark(self, record: Envelope) -> None:
        now = (record.time, int(record.mono_ns), record.boot_id.encode())
        last, self._clock = self._clock, now
        if last is None:
            return
        if now[0] < last[0]:
            self.findings.clock.add(f"the clock went back {last[0] - now[0]} ms at record {record.seq}")
        if now[2] == last[2] and now[1] < last[1]:
            self.findings.clock.add(f"the monotonic clock went back within one boot at record {record.seq}")

    def _seal(self, size: int, note: str) -> None:
        """Compare a stored checkpoint of as many records as were taken."""
        try:
            checkpoint = self._source.chain.open(note)
        except NoteError as error:
            raise TamperedError(f"the checkpoint of {size} records is forged: {error}", self.signed) from error
        if checkpoint.size != size:
            raise TamperedError(f"a checkpoint of {checkpoint.size} records is stored as of {size}", self.signed)
        if checkpoint.root != self.edge.root():
            raise TamperedError(
                f"the checkpoint of {size} records signs others: one of the records {self.signed} to "
                f"{size - 1} was changed",
                self.signed,
            )
        self.signed = size

    # -- kinds -----------------------------------------------------------------------------------------------------

    def _table(self) -> KindTable:
        if self._kinds is None:
            raise EntryError(f"a log begins with `{OPEN}`")
        return self._kinds

    def _code(self, kind: str) -> int:
        """The number by which a kind is remembered."""
        code = self._ids.setdefault(kind.encode(), len(self._names))
        if code == len(self._names):
            self._names.append(kind)
        return code

    def _target(self, seq: int) -> str | None:
        code = self._codes[seq - self._base] if seq >= self._base else self._far(seq)
        return None if code is None else self._names[code]

    def _far(self, seq: int) -> int | None:
        """The kind of a record from before the window; None if there is none, which no kind may refer to."""
        record = self._decoded(seq)
        return None if record is None else self._code(record.kind)

    def _says(self, seq: int, ref: int, kind: str) -> bool:
        record = self._decoded(seq)
        return record is not None and (record.ref, record.kind) == (ref, kind)

    def _decoded(self, seq: int) -> Envelope | None:
        leaf = self._source.leaf(seq)
        try:
            return None if leaf is None else decode(leaf)
        except EntryError:
            return None


def _rising(last: int, texts: Sequence[bytes]) -> bool:
    """Whether these numbers, none with a leading zero, begin at `last` or later and none is below the one before."""
    if int(texts[0]) < last:
        return False
    if len(set(map(len, texts))) == 1:  # then they sort as their digits do
        return all(map(le, texts, texts[1:]))
    numbers = [*map(int, texts)]
    return all(map(le, numbers, numbers[1:]))
