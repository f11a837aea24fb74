"""The first walk over a bundle, which judges nothing but the folder's own form.

It notes in a temporary database what is asked for out of the order of records: who refers to whom, which records open
the log or change its key, where lines begin.
"""

import os
import re
import sqlite3
from pathlib import Path
from typing import BinaryIO, Final

from audit.chain import ROTATE
from audit.checkpoint import Checkpoint
from audit.entry import MAX_LEAF
from audit.errors import EntryError, NoteError
from audit.folder import is_tile, lines_of, open_file, read_file, tile_path
from audit.kinds import OPEN
from audit.merkle import WIDTH, tile_count
from audit.note import MAX_NOTE, VerifyKey, split_note
from audit.shape import Shapes
from audit.source import TamperedError

__all__ = ["MAX_BYTES", "checkpoint_of", "walk"]

_STEP: Final = 64  # lines between two whose places are kept
MAX_BYTES: Final = 4 * MAX_NOTE
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


def walk(folder: Path, records: BinaryIO, index: sqlite3.Connection, size: int, key: VerifyKey) -> None:
    """Note in `index` what stands in a bundle whose checkpoint covers `size` records. Raises TamperedError, OSError."""
    _Walk(folder, records, index, size).whole(key)


class _Walk:
    def __init__(self, folder: Path, records: BinaryIO, index: sqlite3.Connection, size: int) -> None:
        self._folder = folder
        self._records = records
        self._index = index
        self._size = size

    def whole(self, key: VerifyKey) -> None:
        self._index.execute("PRAGMA journal_mode = OFF")
        self._index.execute("PRAGMA synchronous = OFF")
        self._index.execute("BEGIN")
        for sql in _INDEX:
            self._index.execute(sql)
        self._notes()
        lines, fault = self._lines(key)
        if lines > self._size:
            raise TamperedError(f"the bundle holds {lines} records and its checkpoint covers {self._size}", self._size)
        fault = fault if lines == self._size else None
        fault = fault or self._tiles(whole=lines == self._size)
        if fault is not None:  # whoever made the folder named its files
            fault = fault.encode("utf-8", "backslashreplace").decode()
        self._index.execute("INSERT INTO found VALUES (?, ?)", (lines, fault))
        self._index.execute("COMMIT")

    def _notes(self) -> None:
        file = open_file(self._folder / "checkpoints")
        if file is None:
            raise TamperedError("the bundle has no `checkpoints`", 0)
        last, note = -1, b""
        with file:
            while header := file.readline(8):
                length = int(header) if _LENGTH.fullmatch(header) else 0
                note = file.read(length)
                if not 0 < length == len(note) <= MAX_BYTES:
                    raise TamperedError("`checkpoints` of the bundle does not consist of notes and their lengths")
                checkpoint, text = checkpoint_of(note)
                if checkpoint.size <= last:
                    raise TamperedError("`checkpoints` of the bundle is not in the order of sizes")
                last = checkpoint.size
                self._index.execute("INSERT INTO notes VALUES (?, ?)", (last, text))
        if note != read_file(self._folder / "checkpoint", MAX_BYTES):
            raise TamperedError("`checkpoint` of the bundle is not the last of its `checkpoints`")

    def _lines(self, key: VerifyKey) -> tuple[int, str | None]:
        """How many lines there are, and whether the entry bundles hold the same (a selection has none)."""
        shapes = Shapes(key.name, marks=frozenset({OPEN, ROTATE}))
        line, at, fault = 0, 0, None
        some: list[bytes] = []
        for leaf in lines_of(self._records):
            if (line + len(some)) % _STEP == 0:
                self._index.execute("INSERT INTO places VALUES (?, ?)", (line + len(some), at))
            at += len(leaf) + 1
            some.append(leaf)
            if len(some) == WIDTH:
                fault = fault or self._bundled(line // WIDTH, some)
                self._leaves(shapes, line, some)
                line, some = line + WIDTH, []
        if some:
            fault = fault or self._bundled(line // WIDTH, some)
            self._leaves(shapes, line, some)
        self._index.execute(
            "INSERT INTO again SELECT seq FROM (SELECT seq, call, lag(call) OVER (ORDER BY call, seq) AS before "
            "FROM calls) WHERE call = before"
        )
        return line + len(some), fault

    def _bundled(self, index: int, leaves: list[bytes]) -> str | None:
        framed = b"".join(len(leaf).to_bytes(2, "big") + leaf for leaf in leaves)
        path = self._folder / tile_path("entries", index, len(leaves))
        if read_file(path, WIDTH * (MAX_LEAF + 3)) != framed:
            return tile_path("entries", index, len(leaves))
        return None

    def _leaves(self, shapes: Shapes, line: int, leaves: list[bytes]) -> None:
        try:
            found = shapes.read(leaves)
        except EntryError:
            if len(leaves) > 1:  # the malformed one is named when it is judged
                for at, leaf in enumerate(leaves):
                    self._leaves(shapes, line + at, [leaf])
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

    def _tiles(self, *, whole: bool) -> str | None:
        """Whether there are other files below `tile` than there should be; what the right ones hold is seen later."""
        wanted, level, width = tile_count(self._size), 0, self._size
        allowed: dict[str, int] = {}  # the number of hashes at a level
        while width:
            allowed[str(level)] = width
            level, width = level + 1, width // WIDTH
        if whole:
            allowed["entries"] = self._size
            wanted += -(-self._size // WIDTH)
        found = 0
        for base, _, names in os.walk(self._folder / "tile"):
            for name in names:
                path = os.path.relpath(os.path.join(base, name), self._folder)
                if not is_tile(path, allowed):
                    return path
                found += 1
        return None if found == wanted else "tile"


def checkpoint_of(note: bytes) -> tuple[Checkpoint, str]:
    try:
        text = note.decode()
        return Checkpoint.parse(split_note(text)[0]), text
    except (UnicodeDecodeError, NoteError) as error:
        raise TamperedError(f"a checkpoint of the bundle is malformed: {error}") from error
