"""What a verifier reads a log from: the interface, and the database as one.

Nothing here is believed: a source hands out what is stored, `audit.stretch` and `audit.verify` compare.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from audit.chain import ROTATE, KeyChain, Rotation
from audit.entry import MAX_INT, decode
from audit.errors import EntryError, LogForeignError, NoteError, ReadError
from audit.kinds import OPEN
from audit.merkle import WIDTH, Edge, tile_count
from audit.note import VerifyKey
from audit.reader import MARKED, tile_reader
from audit.schema import check_schema, read_text

Row = tuple[Any, Any, Any]
"""seq, leaf bytes and stored leaf hash, of whatever types they have there."""

PAD: Final = 10**15
"""Added to a `ref` in a text, so that texts sort as the numbers do; no record's number comes near."""
_PAGE: Final = 4096
_FETCH: Final = 32
_HELD: Final = 32 * 1024 * 1024  # bytes of leaves at once; as many records of the largest size take half of it
_MARKS: Final = 2  # the first format that has the index `entries_marks`


class TamperedError(Exception):
    """The log is not what was signed. `bad` is the first wrong record, or the first of those among which it is."""

    def __init__(self, reason: str, bad: int | None = None) -> None:
        super().__init__(reason, bad)
        self.reason = reason
        self.bad = bad


class Referring(NamedTuple):
    """Records that refer to others, in the order of those: `PAD` + ref, a space and the kind; and their numbers."""

    texts: list[bytes]
    seqs: list[bytes]


class Change(NamedTuple):
    """A record that changes the key, or seems to: `rotation` is None where it does not say how."""

    seq: int | None
    rotation: Rotation | None

    @classmethod
    def read(cls, seq: int | None, leaf: bytes) -> "Change | None":
        """What a leaf that may be of this kind tells, and None if it is of another. `seq`: where it stands."""
        try:
            record = decode(leaf)
        except EntryError:
            return cls(seq, None)
        if record.kind != ROTATE:  # only its body, which anyone may have had written, looked so
            return None
        try:
            return cls(record.seq, Rotation.parse(record.seq, record.body))
        except EntryError:
            return cls(record.seq, None)


def chain_of(trusted: VerifyKey, changes: Iterable[Change], first: str | None) -> KeyChain:
    """The keys up to the first change that cannot be: the stream ends there, and names it or what is wrong before.

    `first`: the checkpoint of the empty log. Raises TamperedError where the changes do not lead to `trusted`, which
    names the one that cannot be, if there is one.
    """
    rotations: list[Rotation] = []
    ids: set[bytes] = set()
    broken: Change | None = None
    for change in changes:
        rotation = change.rotation
        follows = rotation is not None and (not rotations or rotations[-1].new == rotation.old)
        if rotation is None or not follows or rotation.new.id in ids | {rotation.old.id}:
            broken = change
            break
        rotations.append(rotation)
        ids |= {rotation.old.id, rotation.new.id}
    try:
        chain = KeyChain(trusted, rotations)
        if broken is not None and not rotations and first is not None:
            chain.open(first)
    except (LogForeignError, NoteError) as error:
        if broken is None:
            raise TamperedError(str(error)) from error
        said = "a record" if broken.seq is None else f"record {broken.seq}"
        raise TamperedError(f"{said} changes the key in a way that cannot be: {error}", broken.seq) from error
    return chain


class Source(Protocol):
    """A log of `size` records, fixed when it was opened; of its keys, `chain`; its largest checkpoint, `newest`."""

    size: int
    newest: int
    chain: KeyChain

    def rows(self, start: int, stop: int) -> list[Row]:
        """Records from `start` below `stop`, at least the first if it is there."""

    def leaf(self, seq: int) -> bytes | None:
        """The leaf of one record."""

    def tile(self, level: int, index: int) -> bytes:
        """A stored tile, empty if there is none."""

    def notes(self, after: int, upto: int) -> Iterator[tuple[int, str]]:
        """The stored checkpoints of more than `after` and at most `upto` records, in the order of their sizes."""

    def sealed(self, upto: int) -> int:
        """The size of the largest stored checkpoint of at most `upto` records, -1 if there is none."""

    def opening(self, before: int) -> int | None:
        """The last `log.open` record below `before`."""

    def referring(self, start: int, stop: int) -> Iterator[Referring]:
        """The records that refer to those from `start` below `stop`."""

    def earlier(self, ref: int, kind: str, before: int) -> int | None:
        """The first record of a kind below `before` that refers to `ref`."""

    def again(self, start: int, stop: int) -> set[int]:
        """The records from `start` below `stop` whose call and kind an earlier one has."""

    def check_edge(self, edge: Edge) -> None:
        """Raise TamperedError unless the unfinished tiles are those of `edge` and there is none too many."""

    def check_structures(self) -> None:
        """Raise TamperedError unless whatever finds records finds all of them and nothing else."""


class DatabaseSource:
    """A database opened by `audit.schema.reading`. Every statement is a short transaction of its own."""

    def __init__(self, database: sqlite3.Connection, key: VerifyKey, size: int | None = None) -> None:
        """`size`: look at no more records than these, which somebody else fixed.

        Raises TamperedError, LogForeignError (no audit log), LogDamagedError, ReadError (another log).
        """
        self._database = database
        self._format = check_schema(database)
        database.execute("BEGIN")  # one state of the log for all that changes with a record
        names = [(read_text(name), read_text(value)) for name, value in database.execute("SELECT * FROM meta")]
        low, high = database.execute("SELECT min(seq), max(seq) FROM entries").fetchone()
        self.size = (0 if high is None else high + 1) if size is None else size
        first, newest = database.execute("SELECT min(size), max(size) FROM checkpoints").fetchone()
        self._tiles = [
            database.execute(f"SELECT count(*) FROM tiles {how}").fetchone()[0]  # noqa: S608 - fixed text
            for how in ("NOT INDEXED", "INDEXED BY sqlite_autoindex_tiles_1 WHERE level >= 0")
        ]
        self._edge = {place: self.tile(*place) for place in _unfinished(self.size)}
        database.execute("COMMIT")
        found = dict(names).get("log")
        if found != key.name:
            raise ReadError(f"the key is of the log `{key.name}`, the database says it is `{found}`")
        if len(names) != 1:
            raise TamperedError("`meta` holds more than the log's name")
        if low is not None and low < 0:
            raise TamperedError(f"there is a record {low} before the first", 0)
        if high is not None and high > MAX_INT:
            raise TamperedError(f"there is a record {high}, which is beyond all numbers of records")
        if newest is None:
            raise TamperedError("the log holds no checkpoint, and every log begins with one", 0)
        if first < 0:
            raise TamperedError(f"there is a checkpoint of {first} records", 0)
        self.newest = int(newest)
        self.chain = chain_of(key, self._changes(), dict(self.notes(-1, 0)).get(0))

    def _changes(self) -> Iterator[Change]:
        """What the index lists; the stream shows whether it is all and right."""
        for seq in self._marked(ROTATE, self.size, "ASC"):
            change = Change.read(seq, self.leaf(seq) or b"")
            if change is not None:
                yield change

    def _marked(self, kind: str, before: int, order: str) -> Iterator[int]:
        # not by the column `kind`, for a malformed leaf has none
        condition = MARKED if self._format >= _MARKS else "leaf IS NOT NULL"
        sql = f"SELECT seq, instr(leaf, ?) FROM entries WHERE {condition} AND seq < ? ORDER BY seq {order}"  # noqa: S608 - fixed text
        for seq, there in self._database.execute(sql, (f',"kind":"{kind}",', before)):
            if there:
                yield seq

    def rows(self, start: int, stop: int) -> list[Row]:
        sql = "SELECT seq, leaf, leaf_hash FROM entries NOT INDEXED WHERE seq >= ? AND seq < ? ORDER BY seq"
        try:
            found: list[Row] = []
            held = 0
            cursor = self._database.execute(sql, (start, min(stop, self.size)))
            # whoever wrote the file may have made leaves far larger than any record
            while held <= _HELD and (some := cursor.fetchmany(_FETCH)):
                found += some
                held += sum(len(leaf) for _, leaf, _ in some if isinstance(leaf, bytes))
            return found
        except sqlite3.DatabaseError:
            if stop - start < 2:
                raise
            return self.rows(start, (start + stop) // 2)  # up to the first that cannot be read

    def leaf(self, seq: int) -> bytes | None:
        row = self._database.execute("SELECT leaf FROM entries WHERE seq = ?", (seq,)).fetchone()
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def tile(self, level: int, index: int) -> bytes:
        return tile_reader(self._database)(level, index)

    def notes(self, after: int, upto: int) -> Iterator[tuple[int, str]]:
        sql = "SELECT size, note FROM checkpoints WHERE size > ? AND size <= ? ORDER BY size LIMIT 1024"
        while rows := self._database.execute(sql, (after, upto)).fetchall():
            for size, note in rows:
                yield size, read_text(note)
            after = rows[-1][0]

    def sealed(self, upto: int) -> int:
        sql = "SELECT max(size) FROM checkpoints WHERE size <= ?"
        found = self._database.execute(sql, (upto,)).fetchone()[0]
        return -1 if found is None else int(found)

    def opening(self, before: int) -> int | None:
        return next(self._marked(OPEN, before, "DESC"), None)

    def referring(self, start: int, stop: int) -> Iterator[Referring]:
        # A page in one row, for each row costs more than what is in it. Beyond the last pair of a page; before that,
        # where the page was full, what is left of that pair.
        page = (
            f"SELECT count(*), group_concat((CAST(ref AS INTEGER) + {PAD}) || ' ' || kind, x'0a'), group_concat(seq) "  # noqa: S608 - fixed
            "FROM (SELECT ref, kind, seq FROM entries INDEXED BY entries_ref WHERE {} AND seq < ? "
            f"ORDER BY ref, kind, seq LIMIT {_PAGE})"
        )
        beyond = page.format("ref IS NOT NULL AND (ref, kind) > (?, ?) AND ref < ?")
        same = page.format("ref = ? AND kind = ? AND seq > ?")
        query, values = beyond, (start - 1, "\U0010ffff", stop)
        last = (b"", -1)
        while True:
            count, texts, seqs = self._database.execute(query, (*values, self.size)).fetchone()
            if count:
                found = Referring(texts.split(b"\n"), seqs.split(b","))
                # an index that lies is found out when the structures are checked; here it must only not confuse
                if not count == len(found.texts) == len(found.seqs):
                    return
                last, at = (found.texts[-1], int(found.seqs[-1])), last
                if last <= at:
                    return  # or it would never end
                yield found
                ref, kind = int(last[0][:16]) - PAD, last[0][17:].decode("utf-8", "replace")
            if count == _PAGE:
                query, values = same, (ref, kind, last[1])
            elif query is same:
                query, values = beyond, (ref, kind, stop)
            else:
                return

    def earlier(self, ref: int, kind: str, before: int) -> int | None:
        sql = "SELECT min(seq) FROM entries WHERE ref = ? AND kind = ? AND seq < ?"
        found = self._database.execute(sql, (ref, kind, before)).fetchone()[0]
        return None if found is None else int(found)

    def again(self, start: int, stop: int) -> set[int]:  # noqa: ARG002 - a unique index, which is compared as a whole
        return set()

    def check_edge(self, edge: Edge) -> None:
        if self._tiles != [tile_count(self.size)] * 2 or any(
            self._edge.get((level, index)) != tile for level, index, tile in edge.partial()
        ):
            raise TamperedError("the stored tiles are not those that the records make")

    def check_structures(self) -> None:
        # SQLite's own, of every table and index: whoever can write the file can make a b-tree whose look-ups lead to
        # other rows than a walk over them, and an index that lists what no record says
        found = read_text(self._database.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if found != "ok":
            raise TamperedError(f"the database contradicts itself: {found}")


def _unfinished(size: int) -> Iterator[tuple[int, int]]:
    """Which tiles of a tree of `size` leaves are unfinished, as (level, index)."""
    level = 0
    while size:
        if size % WIDTH:
            yield level, size // WIDTH
        size //= WIDTH
        level += 1
