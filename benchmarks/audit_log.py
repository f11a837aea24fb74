"""Big audit logs, made quickly: rows and tiles are written straight, without a disk that is waited for.

They are what a writer would have left: what `verify` says of them is part of what uses them.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from audit import keys
from audit.checkpoint import Checkpoint
from audit.clock import SystemClock
from audit.entry import Draft, Encoded, canonical
from audit.kinds import Kind, KindTable, Ref
from audit.log import Log
from audit.merkle import HEIGHT, WIDTH, Edge, leaf_hash, node_hash
from audit.note import SigningKey, VerifyKey
from audit.schema import APPLICATION_ID, FORMAT, OBJECTS

NAME = "bench.example/audit/01K"
KINDS = KindTable.of(
    [
        Kind(name="log.open"),
        Kind(name="decision"),
        Kind(name="executing", ref=Ref.MUST, to=frozenset({"decision"}), once=True, then=frozenset({"outcome"})),
        Kind(name="outcome", ref=Ref.MUST, to=frozenset({"executing"}), once=True),
    ]
)
SEALS = 200
"""Checkpoints in a log that was built: a day of one every few minutes, or an hour under load."""
_START_MS = 1_795_000_000_000
_CALLS = 100  # of one session
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Made:
    """Where a log is and the key that it is verified with."""

    path: Path
    checkpoint_file: Path
    key: SigningKey

    @property
    def verifier(self) -> VerifyKey:
        """The public half."""
        return self.key.verifier

    @property
    def vkey_file(self) -> Path:
        """The file with the vkey line."""
        return self.path.parent / "keys" / keys.PUBLIC

    def open(self, *, create: bool = False) -> Log:
        """The log, open for writing, with the record that belongs first."""
        log = Log.open(
            self.path,
            key=self.key,
            checkpoint_file=self.checkpoint_file,
            kinds=KINDS,
            clock=SystemClock.read(),
            create=create,
        )
        log.append(Draft(kind="log.open", body={}))
        return log

    def size_on_disk(self) -> int:
        """Bytes of the database; the log is closed."""
        return self.path.stat().st_size


def begin(folder: Path) -> Made:
    """A key in `folder` and the paths of a log that is not there yet."""
    return Made(folder / "audit.db", folder / "checkpoint", keys.create(folder / "keys", NAME))


def draft(number: int) -> Draft:
    """A decision as a policy sidecar records it, about 650 bytes as a leaf."""
    return Draft(
        kind="decision",
        session=_session(number),
        agent="coder",
        call_id=_call(number),
        body=json.loads(_decision(number)),
    )


def _session(number: int) -> str:
    return f"01K{number // _CALLS:023d}"


def _call(number: int) -> str:
    return f"call-{number:012d}"


def _blocked(number: int) -> bool:
    return number % 10 == 9


# Canonical texts: `json` would take most of the time that building takes. A test's verifier reads them all.
def _decision(number: int) -> str:
    view = f'{{"path":"src/module{number % 997}/é.py"}}' if number % 2 else f'{{"command":"ls \\"dir{number}\\""}}'
    blocked = _blocked(number)
    return (
        f'{{"args":{{"bytes":{60 + number % 700},"canon":"shield-jcs-1","commit":"{number:064x}","view":{view}}},'
        f'"cwd":"/home/user/project","decision":"{"BLOCK" if blocked else "ALLOW"}",'
        f'"latency_us":{{"0":{20 + number % 40},"facts":70,"parse":20}},"policy":"sha256:{"c4" * 32}",'
        f'"reason":"{"writing outside" if blocked else "reading inside"} the workspace",'
        f'"rule":"files.{"write.outside" if blocked else "read.workspace"}","tier":0,'
        f'"type":"{"read_file" if number % 2 else "execute_command"}"}}'
    )


def _executing(number: int) -> str:
    return f'{{"permit":"01K{number:023d}","sandbox":"state_hidden","state":"sha256:{number:064x}"}}'


def _outcome(number: int) -> str:
    return (
        f'{{"bytes":5120,"duration_us":{number % 90_000},"exit_code":{number % 3},'
        f'"sha256":"sha256:{number:064x}","status":"ok","truncated":false}}'
    )


def encoded(records: int) -> Iterator[Encoded]:
    """The records of a log: of ten calls nine are allowed, run and end, each step naming the one before."""
    opening = {"kinds": KINDS.as_json(), "sealed": 0, "size": 0}
    yield Encoded(kind="log.open", session=None, agent=None, call_id=None, ref=None, body=canonical({"log": opening}))
    seq = number = 0
    while seq < records - 1:
        steps = [("decision", _decision(number), None)]
        if not _blocked(number):
            steps.append(("executing", _executing(number), seq + 1))
            steps.append(("outcome", _outcome(number), seq + 2))
        for kind, body, ref in steps[: records - 1 - seq]:
            seq += 1
            yield Encoded(kind=kind, session=_session(number), agent="coder", call_id=_call(number), ref=ref, body=body)
        number += 1


def build(folder: Path, records: int) -> Made:
    """A closed, sealed log of `records` records in `folder`; ~30 µs a record."""
    made = begin(folder)
    seals = {records * part // SEALS for part in range(SEALS + 1)}
    edge, prev, note = Edge(), None, ""
    rows: list[tuple[int, str, bytes]] = []
    with closing(_empty(made)) as database:

        def seal() -> str:
            signed = Checkpoint(NAME, edge.size, edge.root()).sign(made.key)
            database.execute("INSERT INTO checkpoints VALUES (?, ?)", (edge.size, signed))
            return signed

        note = seal()
        for seq, record in enumerate(encoded(records)):
            leaf = record.leaf(
                log=NAME,
                seq=seq,
                prev=None if prev is None else prev.hex(),
                time=_START_MS + seq,
                mono_ns=str(1_000_000 * (seq + 1)),
                boot_id="b7a6e1f0-0000-4000-8000-000000000001",
            )
            prev = leaf_hash(leaf)
            rows.append((seq, leaf.decode(), prev))
            for tile in edge.append(prev):
                database.execute("INSERT INTO tiles VALUES (?, ?, ?)", tile)
            if len(rows) == _CHUNK or edge.size == records:
                database.executemany("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, ?, ?)", rows)
                rows.clear()
            if edge.size in seals:
                note = seal()
        _finish(database, edge)
    made.checkpoint_file.write_text(note)
    return made


def build_tree(folder: Path, records: int, present: int) -> Made:
    """A log of which only the tree is whole: `records` leaves, all of them record 0; `present` of them can be read.

    Enough to prove those. All leaves are alike, so that all full tiles of a level are too.
    """
    made = begin(folder)
    first = next(encoded(1))
    leaf = first.leaf(log=NAME, seq=0, prev=None, time=_START_MS, mono_ns="1", boot_id="boot")
    with closing(_empty(made)) as database:
        digest, level, width = leaf_hash(leaf), 0, records
        edge = Edge.load(records, lambda level, _: _alike(leaf_hash(leaf), level) * WIDTH)
        while width >= WIDTH:
            tile = _alike(digest, level) * WIDTH
            database.execute(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) "
                "INSERT INTO tiles SELECT ?, i, ? FROM n",
                (width // WIDTH, level, tile),
            )
            level, width = level + 1, width // WIDTH
        for seq in range(0, records, records // present):
            database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, ?, ?)", (seq, leaf.decode(), digest))
        note = Checkpoint(NAME, edge.size, edge.root()).sign(made.key)
        database.execute("INSERT INTO checkpoints VALUES (?, ?)", (edge.size, note))
        _finish(database, edge)
    made.checkpoint_file.write_text(note)
    return made


def _alike(digest: bytes, level: int) -> bytes:
    """The root of a complete subtree of 256**level leaves that all have this hash."""
    for _ in range(HEIGHT * level):
        digest = node_hash(digest, digest)
    return digest


def _empty(made: Made) -> sqlite3.Connection:
    database = sqlite3.connect(made.path, isolation_level=None)
    for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536", "locking_mode = EXCLUSIVE"):
        database.execute(f"PRAGMA {setting}")
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    database.execute(f"PRAGMA user_version = {FORMAT}")
    for sql in OBJECTS:
        database.execute(sql)
    database.execute("INSERT INTO meta VALUES ('log', ?)", (NAME,))
    database.execute("BEGIN")
    return database


def _finish(database: sqlite3.Connection, edge: Edge) -> None:
    database.executemany("INSERT INTO tiles VALUES (?, ?, ?)", edge.partial())
    database.execute("COMMIT")
    database.execute("PRAGMA locking_mode = NORMAL")
    database.execute("PRAGMA journal_mode = WAL")
