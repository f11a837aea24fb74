"""What a verifier reads a log from: the interface, and the database as one.

Nothing here is believed: a source hands out what is stored, `audit.stretch` and `audit.verify` compare.
"""

import sqlite3
from collections.abc import Iterator
from enum import Enum
from operator import le, lt
from typing import Any, Final, NamedTuple, Protocol

from audit.chain import ROTATE, KeyChain, Rotation
from audit.entry import decode
from audit.errors import EntryError, LogForeignError, ReadError
from audit.kinds import OPEN
from audit.merkle import WIDTH, Edge, tile_count
from audit.note import VerifyKey
from audit.reader import tile_reader
from audit.schema import check_schema, read_text
from audit.tally import SessionHashes, Tallies, Tally

Row = tuple[Any, Any, Any]
"""seq, leaf bytes and stored leaf hash, of whatever types they have there."""

PAD: Final = 10**15
"""Added to a `ref` in a text, so that texts sort as the numbers do; no record's number comes near."""
_PAGE: Final = 4096
_LISTINGS: Final = 2  # the format that has the indexes of `Listing`


class TamperedError(Exception):
    """The log is not what was signed. `bad` is the first wrong record, or the first of those among which it is."""

    def __init__(self, reason: str, bad: int | None = None) -> None:
        super().__init__(reason, bad)
        self.reason = reason
        self.bad = bad


class Listing(Enum):
    """The indexes that list records by their number alone: name, and condition but for the table it is asked of."""

    MARKS = ("entries_marks", "{}kind IN ('key.rotate', 'log.open')")
    REFUSED = ("entries_refused", "json_extract({}leaf, '$.body.decision') <> 'ALLOW'")

    def condition(self, table: str = "") -> str:
        """Word by word that of the schema, or the index would not be used."""
        return self.value[1].format(table)


class Referring(NamedTuple):
    """Records that refer to others, in the order of those: `PAD` + ref, a space and the kind; and their numbers."""

    texts: list[bytes]
    seqs: list[bytes]


class Source(Protocol):
    """A log of `size` records, fixed when it was opened; of its keys, `chain`; its largest checkpoint, `newest`."""

    size: int
    newest: int
    chain: KeyChain
    faults: set[str]
    """The source's own structures that reading showed to be wrong."""

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

    def listed(self, listing: Listing, start: int, stop: int) -> list[bytes] | None:
        """The numbers from `start` below `stop` in an index, None if the source has no such index."""

    def check_edge(self, edge: Edge) -> None:
        """Raise TamperedError unless the unfinished tiles are those of `edge` and there is none too many."""

    def tallies(self) -> Tallies | None:
        """What the source's indexes list, None if it has none. Raises TamperedError where one is broken in itself."""


class DatabaseSource:
    """A database opened by `audit.schema.reading`. Every statement is a short transaction of its own."""

    def __init__(self, database: sqlite3.Connection, key: VerifyKey, size: int | None = None) -> None:
        """`size`: look at no more records than these, which somebody else fixed.

        Raises TamperedError, LogForeignError (no audit log), LogDamagedError, ReadError (another log).
        """
        self._database = database
        self.faults: set[str] = set()
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
        if newest is None:
            raise TamperedError("the log holds no checkpoint, and every log begins with one", 0)
        if first < 0:
            raise TamperedError(f"there is a checkpoint of {first} records", 0)
        self.newest = int(newest)
        try:
            self.chain = KeyChain(key, self._rotations())
        except LogForeignError as error:
            raise TamperedError(str(error)) from error

    def _rotations(self) -> Iterator[Rotation]:
        """What the index lists; the stream shows whether it is all and right, and names what is malformed."""
        for seq in self._marked(ROTATE, self.size, "ASC"):
            try:
                yield Rotation.parse(seq, decode(self.leaf(seq) or b"").body)
            except EntryError:
                continue

    def _marked(self, kind: str, before: int, order: str) -> Iterator[int]:
        # not by the column `kind`, for a malformed leaf has none
        condition = Listing.MARKS.condition() if self._format >= _LISTINGS else "leaf IS NOT NULL"
        sql = f"SELECT seq, instr(leaf, ?) FROM entries WHERE {condition} AND seq < ? ORDER BY seq {order}"  # noqa: S608 - fixed text
        for seq, there in self._database.execute(sql, (f',"kind":"{kind}",', before)):
            if there:
                yield seq

    def rows(self, start: int, stop: int) -> list[Row]:
        sql = "SELECT seq, leaf, leaf_hash FROM entries NOT INDEXED WHERE seq >= ? AND seq < ? ORDER BY seq"
        try:
            return self._database.execute(sql, (start, min(stop, self.size))).fetchall()
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

    # -- indexes ---------------------------------------------------------------------------------------------------

    def referring(self, start: int, stop: int) -> Iterator[Referring]:
        last = b""
        for texts, seqs in self._pages(
            f"(ref + {PAD}) || ' ' || kind",
            "entries_ref",
            "ref, kind, seq",
            # beyond one pair's records; those of that pair
            ("ref IS NOT NULL AND (ref, kind) > (?, ?) AND ref < ?", "ref = ? AND kind = ? AND seq > ?"),
            lambda text: (int(text[:16]) - PAD, text[17:].decode()),
            (start - 1, "\U0010ffff"),
            (stop,),
        ):
            if not (all(map(le, texts, texts[1:])) and last <= texts[0]):
                self.faults.add("entries_ref")
                return
            last = texts[-1]
            yield Referring(texts, seqs)

    def earlier(self, ref: int, kind: str, before: int) -> int | None:
        sql = "SELECT min(seq) FROM entries WHERE ref = ? AND kind = ? AND seq < ?"
        found = self._database.execute(sql, (ref, kind, before)).fetchone()[0]
        return None if found is None else int(found)

    def again(self, start: int, stop: int) -> set[int]:  # noqa: ARG002 - a unique index, which is compared as a whole
        return set()

    def listed(self, listing: Listing, start: int, stop: int) -> list[bytes] | None:
        if self._format < _LISTINGS:
            return None
        sql = f"SELECT group_concat(seq) FROM (SELECT seq FROM entries INDEXED BY {listing.value[0]} WHERE {listing.condition()} AND seq >= ? AND seq < ? ORDER BY seq)"  # noqa: S608, E501 - fixed text  # fmt: skip
        found = self._database.execute(sql, (start, stop)).fetchone()[0]
        return [] if found is None else found.split(b",")

    def check_edge(self, edge: Edge) -> None:
        if self._tiles != [tile_count(self.size)] * 2 or any(
            self._edge.get((level, index)) != tile for level, index, tile in edge.partial()
        ):
            raise TamperedError("the stored tiles are not those that the records make")

    def tallies(self) -> Tallies:
        found = Tallies()
        self._tally_calls(found.calls)
        self._tally_sessions(found.sessions)
        found.refs.count = self._count("entries_ref", "ref IS NOT NULL")
        self._check_lookups(found)
        return found

    def _tally_calls(self, tally: Tally) -> None:
        last = b""
        for texts, seqs in self._pages(
            '\'"\' || call_id || \'","kind":"\' || kind',
            "entries_call",
            "call_id, kind, seq",
            ("call_id IS NOT NULL AND (call_id, kind) > (?, ?)", None),
            lambda text: tuple(text[1:].decode().split('","kind":"', 1)),
            ("", ""),
            (),
        ):
            if not (all(map(lt, texts, texts[1:])) and last < texts[0]):
                self.faults.add("entries_call")
                return
            last = texts[-1]
            tally.add(map(hash, texts), list(map(hash, seqs)))

    def _tally_sessions(self, tally: Tally) -> None:
        hashes = SessionHashes()
        page = (
            "SELECT session, count(*), group_concat(seq), max(seq) FROM (SELECT session, seq FROM entries "  # noqa: S608 - fixed
            f"INDEXED BY entries_session WHERE {{}} AND seq < ? ORDER BY session, seq LIMIT {_PAGE}) GROUP BY session"
        )
        beyond = page.format("session IS NOT NULL AND session > ?")
        same = page.format("session = ? AND seq > ?")
        query, last = beyond, ""
        values: tuple[str | int, ...] = (last,)
        while True:
            rows = self._database.execute(query, (*values, self.size)).fetchall()
            for session, count, listed, _ in rows:
                seqs = listed.split(b",")
                if count != len(seqs):
                    return self.faults.add("entries_session")
                tally.count += count
                tally.total += hashes[session] * sum(map(hash, seqs))
            before = last, values[-1] if query is same else 0
            try:
                last = rows[-1][0].decode() if rows else last
            except UnicodeDecodeError:
                return self.faults.add("entries_session")
            if rows and (last, rows[-1][3]) <= before:  # or it would never end
                return self.faults.add("entries_session")
            if sum(row[1] for row in rows) == _PAGE:  # there may be more of the last session
                query, values = same, (last, rows[-1][3])
            elif query is same:
                query, values = beyond, (last,)
            else:
                return None

    def _pages(
        self,
        text: str,
        index: str,
        order: str,
        bounds: tuple[str, str | None],
        place: Any,
        after: tuple[Any, ...],
        until: tuple[int, ...],
    ) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """An index in its order, a page a transaction: `text` of each entry, and the number of its record.

        `bounds`: what comes after a place, which `place` makes of a text; and what has the same place and comes after
        a number, None if no two entries have the same. One row a page, for each costs more than what is in it.
        """
        columns = order.replace(", seq", "")
        inner = f"FROM entries INDEXED BY {index} WHERE {{}} AND seq < ? ORDER BY {order} LIMIT {_PAGE}"
        sql = f"SELECT count(*), count(text), group_concat(text, x'0a'), group_concat(seq) FROM (SELECT {text} AS text, {columns}, seq {inner})"  # noqa: S608, E501 - fixed text  # fmt: skip
        beyond, same = (None if bound is None else sql.format(bound) for bound in bounds)
        assert beyond is not None
        query, values = beyond, (*after, *until)
        while True:
            count, there, texts, seqs = self._database.execute(query, (*values, self.size)).fetchone()
            if count:
                page = texts.split(b"\n"), seqs.split(b",")
                # INVARIANT: no text is NULL or holds the separator, or parts and records would not match
                if not count == there == len(page[0]) == len(page[1]):
                    self.faults.add(index)
                    return
                yield page
                try:
                    after = place(page[0][-1])
                except ValueError:
                    self.faults.add(index)
                    return
            if count == _PAGE and same is not None:
                query, values = same, (*after, int(page[1][-1]))
            elif query is not beyond or count == _PAGE:
                query, values = beyond, (*after, *until)
            else:
                return

    def _check_lookups(self, tallies: Tallies) -> None:
        """Every record is found by its number, and each partial index finds what it lists and lists nothing else.

        The joins look up every number from the root of the tree, so that also inner pages are shown to lead there;
        in falling order, because SQLite takes a shortcut to the next number.
        """
        found = self._database.execute(
            "SELECT count(*) FROM (SELECT seq FROM entries NOT INDEXED WHERE seq < ? ORDER BY seq DESC LIMIT -1) AS a "
            "CROSS JOIN entries AS b NOT INDEXED ON b.seq = a.seq "
            "WHERE typeof(b.leaf) = 'text' AND typeof(b.leaf_hash) = 'blob'",
            (self.size,),
        ).fetchone()[0]
        if found != self.size:
            self.faults.add("entries")
        # what sorts before every text has no place in a page
        for name, condition, tally in (
            ("entries_call", "call_id IS NOT NULL", tallies.calls),
            ("entries_session", "session IS NOT NULL", tallies.sessions),
        ):
            if self._count(name, condition) != tally.count:
                self.faults.add(name)
        # These entries hold the record's number twice: as what they are sorted by, and as what they lead to.
        lookups = [("entries_session", "{}session IS NOT NULL", "b.session = a.session AND b.seq = a.seq")]
        if self._format >= _LISTINGS:
            lookups += [(listing.value[0], listing.value[1], "b.seq = a.seq") for listing in Listing]
        for name, condition, same in lookups:
            if self._count(name, condition.format("")) != self._find(name, condition, same):
                self.faults.add(name)
        for table in ("tiles", "checkpoints", "meta"):
            said = read_text(self._database.execute(f"PRAGMA integrity_check({table})").fetchone()[0])
            if said != "ok":
                self.faults.add(table)

    def _count(self, index: str, condition: str) -> int:
        """The entries of a partial index."""
        sql = f"SELECT count(*) FROM entries INDEXED BY {index} WHERE {condition} AND seq < ?"  # noqa: S608 - fixed text
        return int(self._database.execute(sql, (self.size,)).fetchone()[0])

    def _find(self, index: str, condition: str, same: str) -> int:
        """The entries of a partial index that it also finds when it is asked for each."""
        tables = f"entries AS a INDEXED BY {index} CROSS JOIN entries AS b INDEXED BY {index}"
        conditions = " AND ".join(condition.format(table) for table in ("a.", "b."))
        sql = f"SELECT count(*) FROM {tables} WHERE {conditions} AND {same} AND a.seq < ?"  # noqa: S608 - fixed text
        return int(self._database.execute(sql, (self.size,)).fetchone()[0])


def _unfinished(size: int) -> Iterator[tuple[int, int]]:
    """Which tiles of a tree of `size` leaves are unfinished, as (level, index)."""
    level = 0
    while size:
        if size % WIDTH:
            yield level, size // WIDTH
        size //= WIDTH
        level += 1
