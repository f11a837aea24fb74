"""A bundle, the folder that an export is (SPEC, section 5.2), as a source for the verifier.

A first walk over the records notes in a temporary database what is asked for out of their order: who refers to whom,
which records open the log or change its key, where lines begin. It judges nothing but the folder's own form.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from audit.chain import ROTATE
from audit.checkpoint import Checkpoint
from audit.entry import MAX_LEAF
from audit.errors import EntryError, NoteError, ReadError
from audit.folder import is_tile, lines_of, open_file, read_file, tile_path
from audit.kinds import OPEN
from audit.merkle import HASH, WIDTH, Edge, tile_count
from audit.note import MAX_NOTE, VerifyKey, split_note
from audit.shape import Shapes
from audit.source import PAD, Change, Referring, Row, TamperedError, chain_of

_TILE_BYTES: Final = WIDTH * HASH
_STEP: Final = 64  # lines between two whose places are kept
_MAX_BYTES: Final = 4 * MAX_NOTE
_LENGTH = re.compile(rb"[1-9][0-9]{0,5}\n")
_INDEX = (
    "CREATE TABLE refs(ref INTEGER, kind TEXT, seq INTEGER, PRIMARY KEY(ref, kind, seq)) WITHOUT ROWID",
    "CREATE TABLE calls(call BLOB, seq INTEGER, PRIMARY KEY(call, seq)) WITHOUT ROWID",
    "CREATE TABLE again(seq INTEGER PRIMARY KEY)",
    "CREATE TABLE marks(seq INTEGER PRIMARY KEY, kind TEXT)",
    "CREATE TABLE places(line INTEGER PRIMARY KEY, at INTEGER)",
    "CREATE TABLE notes(size INTEGER PRIMARY KEY, note TEXT)",
    "CREATE TABLE found(lines INTEGER, fault TEXT)",
)


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
            self._walk(key)
        lines, fault = self._index.execute("SELECT lines, fault FROM found").fetchone()
        self.presented = int(lines)
        self._fault: str | None = None if fault is None else fault.decode()
        self.chain = chain_of(key, self._changes(), dict(self.notes(-1, 0)).get(0))
        if read_file(self._folder / "audit.vkey", _MAX_BYTES) != f"{self.chain.newest.line()}\n".encode():
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

    # -- the first walk ----------------------------------------------------------------------------------------------

    def _newest(self, key: VerifyKey) -> Checkpoint:
        self._records = open_file(self._folder / "records.jsonl")
        if self._records is None:
            raise ReadError(f"`{self._folder}` is no bundle: it has no `records.jsonl`")
        note = read_file(self._folder / "checkpoint", _MAX_BYTES)
        if note is None:
            raise ReadError(f"`{self._folder}` is no bundle: it has no `checkpoint`")
        found = _checkpoint(note)[0]
        if found.origin != key.name:
            raise ReadError(f"the key is of the log `{key.name}`, the bundle says it is `{found.origin}`")
        return found

    def _walk(self, key: VerifyKey) -> None:
        self._index.execute("PRAGMA journal_mode = OFF")
        self._index.execute("PRAGMA synchronous = OFF")
        self._index.execute("BEGIN")
        for sql in _INDEX:
            self._index.execute(sql)
        self._walk_notes()
        lines, fault = self._walk_records(key)
        if lines > self.size:
            raise TamperedError(f"the bundle holds {lines} records and its checkpoint covers {self.size}", self.size)
        fault = fault if lines == self.size else None
        fault = fault or self._walk_tiles(whole=lines == self.size)
        if fault is not None:  # whoever made the folder named its files
            fault = fault.encode("utf-8", "backslashreplace").decode()
        self._index.execute("INSERT INTO found VALUES (?, ?)", (lines, fault))
        self._index.execute("COMMIT")

    def _walk_notes(self) -> None:
        file = open_file(self._folder / "checkpoints")
        if file is None:
            raise TamperedError("the bundle has no `checkpoints`", 0)
        last, note = -1, b""
        with file:
            while header := file.readline(8):
                length = int(header) if _LENGTH.fullmatch(header) else 0
                note = file.read(length)
                if not 0 < length == len(note) <= _MAX_BYTES:
                    raise TamperedError("`checkpoints` of the bundle does not consist of notes and their lengths")
                checkpoint, text = _checkpoint(note)
                if checkpoint.size <= last:
                    raise TamperedError("`checkpoints` of the bundle is not in the order of sizes")
                last = checkpoint.size
                self._index.execute("INSERT INTO notes VALUES (?, ?)", (last, text))
        if note != read_file(self._folder / "checkpoint", _MAX_BYTES):
            raise TamperedError("`checkpoint` of the bundle is not the last of its `checkpoints`")

    def _walk_records(self, key: VerifyKey) -> tuple[int, str | None]:
        """How many lines there are, and whether the entry bundles hold the same (a selection has none)."""
        shapes = Shapes(key.name, marks=frozenset({OPEN, ROTATE}))
        line, at, fault = 0, 0, None
        some: list[bytes] = []
        for leaf in lines_of(self._file()):
            if (line + len(some)) % _STEP == 0:
                self._index.execute("INSERT INTO places VALUES (?, ?)", (line + len(some), at))
            at += len(leaf) + 1
            some.append(leaf)
            if len(some) == WIDTH:
                fault = fault or self._bundled(line // WIDTH, some)
                self._walk_leaves(shapes, line, some)
                line, some = line + WIDTH, []
        if some:
            fault = fault or self._bundled(line // WIDTH, some)
            self._walk_leaves(shapes, line, some)
        self._index.execute(
            "INSERT INTO again SELECT seq FROM (SELECT seq, call, lag(call) OVER (ORDER BY call, seq) AS before "
            "FROM calls) WHERE call = before"
        )
        return line + len(some), fault

    def _file(self) -> BinaryIO:
        assert self._records is not None  # `_newest` opened it
        return self._records

    def _bundled(self, index: int, leaves: list[bytes]) -> str | None:
        framed = b"".join(len(leaf).to_bytes(2, "big") + leaf for leaf in leaves)
        path = self._folder / tile_path("entries", index, len(leaves))
        if read_file(path, WIDTH * (MAX_LEAF + 3)) != framed:
            return tile_path("entries", index, len(leaves))
        return None

    def _walk_leaves(self, shapes: Shapes, line: int, leaves: list[bytes]) -> None:
        try:
            found = shapes.read(leaves)
        except EntryError:
            if len(leaves) > 1:  # the malformed one is named when it is judged
                for at, leaf in enumerate(leaves):
                    self._walk_leaves(shapes, line + at, [leaf])
            elif f',"kind":"{ROTATE}",'.encode() in leaves[0]:
                self._index.execute("INSERT INTO marks VALUES (?, ?)", (line, ROTATE))
            return
        calls, refs, marks = [], [], []
        for at, (_, call, kind, _, _, ref, *_) in enumerate(found):
            assert kind is not None
            assert call is not None
            if call.startswith(b'"'):
                calls.append((call, line + at))
            if ref is not None:
                refs.append((int(ref), kind.decode(), line + at))
            if kind in {b"log.open", b"key.rotate"}:
                marks.append((line + at, kind.decode()))
        self._index.executemany("INSERT INTO refs VALUES (?, ?, ?)", refs)
        self._index.executemany("INSERT INTO calls VALUES (?, ?)", calls)
        self._index.executemany("INSERT INTO marks VALUES (?, ?)", marks)

    def _walk_tiles(self, *, whole: bool) -> str | None:
        """Whether there are other files below `tile` than there should be; what the right ones hold is seen later."""
        wanted, level, width = tile_count(self.size), 0, self.size
        allowed: dict[str, int] = {}  # the number of hashes at a level
        while width:
            allowed[str(level)] = width
            level, width = level + 1, width // WIDTH
        if whole:
            allowed["entries"] = self.size
            wanted += -(-self.size // WIDTH)
        found = 0
        for base, _, names in os.walk(self._folder / "tile"):
            for name in names:
                path = os.path.relpath(os.path.join(base, name), self._folder)
                if not is_tile(path, allowed):
                    return path
                found += 1
        return None if found == wanted else "tile"

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


def _checkpoint(note: bytes) -> tuple[Checkpoint, str]:
    try:
        text = note.decode()
        return Checkpoint.parse(split_note(text)[0]), text
    except (UnicodeDecodeError, NoteError) as error:
        raise TamperedError(f"a checkpoint of the bundle is malformed: {error}") from error
