"""A bundle, the folder that an export is (SPEC, section 5.2), as a source for the verifier.

What is asked for out of the order of its records is answered from what a first walk has noted.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from audit.bundle_walk import MAX_BYTES, checkpoint_of, walk
from audit.chain import ROTATE
from audit.checkpoint import Checkpoint
from audit.errors import ReadError
from audit.folder import lines_of, open_file, read_file, tile_path
from audit.kinds import OPEN
from audit.merkle import HASH, WIDTH, Edge
from audit.note import VerifyKey
from audit.source import PAD, Change, Referring, Row, TamperedError, chain_of

_TILE_BYTES: Final = WIDTH * HASH


class BundleSource:
    """A bundle of `size` records, of which it presents `presented`."""

    def __init__(self, folder: Path, key: VerifyKey, index: Path, *, ready: bool = False) -> None:
        """`index`: where the temporary database is, or (`ready`) was made.

        Raises ReadError (no bundle, or of another log), TamperedError, OSError.
        """
        self._folder = folder
        self._index = sqlite3.connect(index, isolation_level=None)
        self._index.text_factory = bytes
        self._last: tuple[tuple[int, int], bytes] | None = None
        self._records: BinaryIO | None = None
        try:
            self._load(key, ready=ready)
        except BaseException:
            self.close()
            raise

    def _load(self, key: VerifyKey, *, ready: bool) -> None:
        newest = self._newest(key)
        self.size = self.newest = newest.size
        if not ready:
            walk(self._folder, self._file(), self._index, self.size, key)
        lines, fault = self._index.execute("SELECT lines, fault FROM found").fetchone()
        self.presented = int(lines)
        self._fault: str | None = None if fault is None else fault.decode()
        self.chain = chain_of(key, self._changes(), dict(self.notes(-1, 0)).get(0))
        if read_file(self._folder / "audit.vkey", MAX_BYTES) != f"{self.chain.newest.line()}\n".encode():
            self._fault = "audit.vkey"

    @property
    def selection(self) -> bool:
        """Whether records were left out."""
        return self.presented < self.size

    def close(self) -> None:
        """Let the files go."""
        self._index.close()
        if self._records is not None:
            self._records.close()

    def _newest(self, key: VerifyKey) -> Checkpoint:
        self._records = open_file(self._folder / "records.jsonl")
        if self._records is None:
            raise ReadError(f"`{self._folder}` is no bundle: it has no `records.jsonl`")
        note = read_file(self._folder / "checkpoint", MAX_BYTES)
        if note is None:
            raise ReadError(f"`{self._folder}` is no bundle: it has no `checkpoint`")
        found = checkpoint_of(note)[0]
        if found.origin != key.name:
            raise ReadError(f"the key is of the log `{key.name}`, the bundle says it is `{found.origin}`")
        return found

    def _file(self) -> BinaryIO:
        assert self._records is not None  # `_newest` opened it
        return self._records

    def _marked(self, kind: str) -> list[int]:
        return [seq for (seq,) in self._index.execute("SELECT seq FROM marks WHERE kind = ? ORDER BY seq", (kind,))]

    def _changes(self) -> Iterator[Change]:
        for line in self._marked(ROTATE):
            change = Change.read(None if self.selection else line, self.leaf(line) or b"")
            if change is not None:
                yield change

    # -- the source --------------------------------------------------------------------------------------------------

    def rows(self, start: int, stop: int) -> list[Row]:
        stop = min(stop, self.presented)
        return [(seq, leaf, self._hash(seq)) for seq, leaf in zip(range(start, stop), self.leaves(start), strict=False)]

    def leaves(self, start: int) -> Iterator[bytes]:
        """The lines from line `start` on."""
        row = self._index.execute("SELECT line, at FROM places WHERE line <= ? ORDER BY line DESC", (start,)).fetchone()
        if row is None:
            return iter(())
        self._file().seek(row[1])
        found = lines_of(self._file())
        for _ in range(start - row[0]):
            next(found, None)
        return found

    def hash_at(self, seq: int) -> bytes:
        """The leaf hash of record `seq`, as tile level 0 has it; empty if it is not there."""
        return self._hash(seq)

    def _hash(self, seq: int) -> bytes:
        index, at = divmod(seq, WIDTH)
        return self.tile(0, index)[at * HASH : (at + 1) * HASH]

    def leaf(self, seq: int) -> bytes | None:
        return next(self.leaves(seq), None) if seq >= 0 else None

    def tile(self, level: int, index: int) -> bytes:
        if self._last is not None and self._last[0] == (level, index):
            return self._last[1]
        here = (self.size >> (8 * level)) - index * WIDTH
        found = b""
        if here > 0:
            width = min(here, WIDTH)
            found = read_file(self._folder / tile_path(level, index, width), _TILE_BYTES) or b""
            found = found if len(found) == width * HASH else b""
        self._last = (level, index), found
        return found

    def notes(self, after: int, upto: int) -> Iterator[tuple[int, str]]:
        sql = "SELECT size, note FROM notes WHERE size > ? AND size <= ? ORDER BY size"
        for size, note in self._index.execute(sql, (after, upto)).fetchall():
            yield size, note.decode()

    def sealed(self, upto: int) -> int:
        found = self._index.execute("SELECT max(size) FROM notes WHERE size <= ?", (upto,)).fetchone()[0]
        return -1 if found is None else int(found)

    def opening(self, before: int) -> int | None:
        sql = "SELECT max(seq) FROM marks WHERE kind = ? AND seq < ?"
        found = self._index.execute(sql, (OPEN, before)).fetchone()[0]
        return None if found is None else int(found)

    def referring(self, start: int, stop: int) -> Iterator[Referring]:
        sql = f"SELECT (ref + {PAD}) || ' ' || kind, CAST(seq AS TEXT) FROM refs WHERE ref >= ? AND ref < ? ORDER BY ref, kind, seq"  # noqa: S608, E501 - a fixed number  # fmt: skip
        cursor = self._index.execute(sql, (start, stop))
        while some := cursor.fetchmany(4096):
            yield Referring([text for text, _ in some], [seq for _, seq in some])

    def earlier(self, ref: int, kind: str, before: int) -> int | None:
        sql = "SELECT min(seq) FROM refs WHERE ref = ? AND kind = ? AND seq < ?"
        found = self._index.execute(sql, (ref, kind, before)).fetchone()[0]
        return None if found is None else int(found)

    def again(self, start: int, stop: int) -> set[int]:
        return {
            seq for (seq,) in self._index.execute("SELECT seq FROM again WHERE seq >= ? AND seq < ?", (start, stop))
        }

    def check_edge(self, edge: Edge) -> None:
        for level, index, tile in edge.partial():
            if self.tile(level, index) != tile:
                raise TamperedError("the stored tiles are not those that the records make")

    def check_structures(self) -> None:
        if self._fault is not None:
            raise TamperedError(f"the bundle's folder contradicts itself at `{self._fault}`")
