"""Writing a bundle (SPEC.md, section 5.2): records, tree, checkpoints and key as plain files, verified without us.

The size is fixed first, at the newest checkpoint; everything below it never changes, so it can be copied in short
transactions beside a running writer. Nothing is written that does not stand under that checkpoint: whoever gets a
bundle can verify it, or it is not made. What is kept beside the records (`private`) never leaves the database.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import IO, Final

from audit.chain import ROTATE
from audit.errors import ExportError, LogDamagedError, ProofError
from audit.folder import tile_path
from audit.merkle import HASH, WIDTH, TileReader, leaf_hash, root_at
from audit.note import VerifyKey
from audit.query import Filter, Row, rows
from audit.reader import key_chain, newest_note, tile_reader
from audit.schema import check_schema, read_text, reading

__all__ = ["Bundle", "export_bundle", "new_file"]

_CHUNK: Final = 256


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was written: the newest checkpoint's size, how many records, and whether these are all of them."""

    size: int
    records: int
    complete: bool


def export_bundle(path: Path, folder: Path, key: VerifyKey, where: Filter | None = None) -> Bundle:
    """Write the log at `path`, or the records that `where` selects, as a bundle to `folder`.

    `key`: any key that the log has had. `where.reverse` is not looked at. `folder` may exist if it is empty; it has
    mode 0700 and appears when it is whole. Raises ReadError, LogDamagedError, LogForeignError, SignatureError;
    ExportError if there is something in the folder's place or it cannot be written.
    """
    wanted = replace(where or Filter(), reverse=False)
    with _new_folder(folder) as draft, reading(path) as database:
        check_schema(database)
        note = newest_note(database)
        chain = key_chain(database, key)
        checkpoint = chain.open(note)
        read = tile_reader(database)
        try:
            whole = root_at(checkpoint.size, read) == checkpoint.root
        except ProofError as error:
            raise LogDamagedError(f"the log's tree is damaged: {error}; run `verify`") from error
        if not whole:
            raise LogDamagedError("the log's tree is not the one that its newest checkpoint signs; run `verify`")
        count = _write_records(draft / "records.jsonl", database, checkpoint.size, wanted)
        _write_tiles(draft, checkpoint.size, read)
        if count == checkpoint.size:
            _write_entries(draft, checkpoint.size)
        _write_checkpoints(draft / "checkpoints", database, checkpoint.size)
        _write(draft / "checkpoint", note.encode())
        _write(draft / "audit.vkey", f"{chain.newest.line()}\n".encode())
    return Bundle(checkpoint.size, count, complete=count == checkpoint.size)


def _tiles(size: int) -> Iterator[tuple[int, int]]:
    """Index and width of each tile that `size` hashes or entries fill."""
    full, rest = divmod(size, WIDTH)
    yield from ((index, WIDTH) for index in range(full))
    if rest:
        yield full, rest


def _write_records(path: Path, database: sqlite3.Connection, size: int, where: Filter) -> int:
    below = replace(where, stop=size if where.stop is None else min(size, where.stop))
    selected = rows(database, below)
    if below != Filter(stop=size):
        # who changes the key decides whose checkpoints count: without these records nobody could tell
        selected = merge(selected, rows(database, Filter(stop=size, kind=ROTATE)), key=lambda row: row[0])
    count, last = 0, -1
    hashes = _Hashes(tile_reader(database))
    with _create(path) as file:
        for _, same in groupby(selected, key=lambda row: row[0]):
            row = next(same)
            if row[0] <= last:  # the database's own structures are damaged
                raise LogDamagedError(f"record {row[0]} comes after record {last}; run `verify`")
            _check(row, hashes)
            file.write(row[1] + b"\n")
            count, last = count + 1, row[0]
    if below == Filter(stop=size) and count != size:
        raise LogDamagedError(f"{size - count} of {size} records are missing; run `verify`")
    return count


class _Hashes:
    """The tree's leaf hashes, one tile at a time; asked for in rising order."""

    def __init__(self, read: TileReader) -> None:
        self._read = read
        self._index, self._tile = -1, b""

    def at(self, seq: int) -> bytes:
        index, place = divmod(seq, WIDTH)
        if index != self._index:
            self._index, self._tile = index, self._read(0, index)
        return self._tile[place * HASH : (place + 1) * HASH]


def _check(row: Row, hashes: _Hashes) -> None:
    seq, leaf, _ = row
    # INVARIANT: a leaf is one line; whatever hashes to what the tree holds was checked when it was written
    if b"\n" in leaf or leaf_hash(leaf) != hashes.at(seq):
        raise LogDamagedError(f"record {seq} is not the one that the log's tree holds; run `verify`")


def _write_tiles(folder: Path, size: int, read: TileReader) -> None:
    level = 0
    while size:
        for index, width in _tiles(size):
            hashes = read(level, index)[: width * HASH]
            if len(hashes) != width * HASH:
                raise LogDamagedError(f"tile {index} of level {level} is damaged; run `verify`")
            _write(folder / tile_path(level, index, width), hashes)
        size //= WIDTH
        level += 1


def _write_entries(folder: Path, size: int) -> None:
    """Entry bundles from the records just written: all of them are there, one a line."""
    with open(folder / "records.jsonl", "rb") as file:
        for index, width in _tiles(size):
            leaves = [file.readline()[:-1] for _ in range(width)]
            content = b"".join(len(leaf).to_bytes(2, "big") + leaf for leaf in leaves)
            _write(folder / tile_path("entries", index, width), content)


def _write_checkpoints(path: Path, database: sqlite3.Connection, size: int) -> None:
    sql = "SELECT size, note FROM checkpoints WHERE size > ? AND size <= ? ORDER BY size LIMIT ?"
    after = -1
    with _create(path) as file:
        while found := database.execute(sql, (after, size, _CHUNK)).fetchall():
            for _, value in found:
                note = read_text(value).encode()
                file.write(b"%d\n" % len(note) + note)
            after = found[-1][0]


# --- files -----------------------------------------------------------------------------------------------------------


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _create(path) as file:
        file.write(content)


def _create(path: Path) -> IO[bytes]:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb")


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` that takes its place when all went well, and is gone otherwise."""
    folder = Path(os.path.abspath(folder))
    try:
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
            raise ExportError(f"`{folder}` exists already; name a folder that does not")
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            yield draft
            os.rename(draft, folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise ExportError(f"cannot write to `{folder}`: {error.strerror}") from error


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """A file of mode 0600 to write to, which is gone if that fails. Only with `force` it replaces another one.

    Raises ExportError.
    """
    draft = Path(f"{path}.partial") if force else path
    try:
        file = _create(draft)
    except FileExistsError as error:
        what = "--force replaces it" if not force else "remove it first"
        raise ExportError(f"`{draft}` exists already; {what}") from error
    except OSError as error:
        raise ExportError(f"cannot write `{draft}`: {error.strerror}") from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if force:
            os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise ExportError(f"cannot write `{path}`: {error.strerror}") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
