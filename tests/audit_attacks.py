"""Attacks on a finished log, and what a verifier sees of each, by what it has beside the log.

`python tests/audit_attacks.py` writes the table to docs/security/audit.md; a test compares both, and every cell.
"""

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.checkpoint import Checkpoint
from audit.cosignature import WitnessKey, cosign
from audit.entry import Draft, decode, encode
from audit.kinds import Kind, KindTable
from audit.log import Log
from audit.merkle import Edge, leaf_hash
from audit.note import SigningKey, VerifyKey, split_note
from audit.schema import reading
from audit.verify import Outcome, Outside, Report, verify_log
from audit_support import KINDS, NEVER, Home, decision

SIZE = 601  # three tiles of level 0 and one of level 1
SEALS = (100, 256, 400)
REMEMBERED = 256
ROTATED = 300  # in the log whose key was changed
EARLY, LATE = 71, 421  # records that are BLOCK, below and above what the auditor remembers
PAGE = Path(__file__).resolve().parents[1] / "docs" / "security" / "audit.md"
_TABLE = KindTable.of([*KINDS.kinds, Kind(name="key.rotate")])


# -- what an attacker can do to the files ------------------------------------------------------------------------


def leaves_of(path: Path) -> list[bytes]:
    with reading(path) as database:
        return [row[0] for row in database.execute("SELECT CAST(leaf AS BLOB) FROM entries ORDER BY seq")]


def edited(leaves: list[bytes], seq: int) -> list[bytes]:
    assert b'"BLOCK"' in leaves[seq]
    return [leaf.replace(b'"BLOCK"', b'"ALLOW"') if at == seq else leaf for at, leaf in enumerate(leaves)]


def execute(path: Path, *statements: str) -> None:
    """Run statements as if there were no triggers."""
    database = sqlite3.connect(path, isolation_level=None)
    triggers = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    for sql in (*statements, *(sql for _, sql in triggers)):
        database.execute(sql)
    database.close()


def rewrite(
    path: Path,
    leaves: list[bytes],
    key: SigningKey | None,
    *,
    seals: tuple[int, ...] = SEALS,
    forget_notes: bool = False,
    relink: bool = True,
    unlinked: int | None = None,
) -> None:
    """Rebuild chain, tree and tiles as whoever can write the file can; with `key`, also sign anew."""
    database = sqlite3.connect(path, isolation_level=None)
    triggers = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        database.execute(f"DROP TRIGGER {name}")
    database.execute("BEGIN")
    database.execute("DELETE FROM entries")
    database.execute("DELETE FROM tiles")
    if key is not None or forget_notes:
        database.execute("DELETE FROM checkpoints")
    edge, prev, tiles, notes = Edge(), b"", [], {}
    for seq, leaf in enumerate(leaves):
        if seq and relink and seq != unlinked:
            leaf = leaf.replace(f'"prev":"{decode(leaf).prev}"'.encode(), f'"prev":"{prev.hex()}"'.encode())
        prev = leaf_hash(leaf)
        database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, ?, ?)", (seq, leaf.decode(), prev))
        if key is not None and seq in seals:
            notes[seq] = Checkpoint(key.name, edge.size, edge.root()).sign(key)
        tiles += edge.append(prev)
    if key is not None:
        notes[0] = Checkpoint(key.name, 0, Edge().root()).sign(key)
        notes[edge.size] = Checkpoint(key.name, edge.size, edge.root()).sign(key)
        database.executemany("INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", notes.items())
    database.executemany("INSERT INTO tiles VALUES (?, ?, ?)", [*tiles, *edge.partial()])
    database.execute("COMMIT")
    for _, sql in triggers:
        database.execute(sql)
    database.close()


def stored_notes(path: Path) -> dict[int, str]:
    with reading(path) as database:
        return {size: note.decode() for size, note in database.execute("SELECT size, note FROM checkpoints")}


# -- the logs ----------------------------------------------------------------------------------------------------


@dataclass
class Target:
    """A copy of a log and of the file beside it, to be attacked; the keys that the attacker may have."""

    db: Path
    checkpoint: Path
    key: SigningKey
    old: SigningKey | None
    trusted: VerifyKey

    def publish(self) -> None:
        """Put what the database says is the newest checkpoint into the file beside it, as an attacker would."""
        notes = stored_notes(self.db)
        self.checkpoint.write_text(notes[max(notes)])


@dataclass(frozen=True)
class Original:
    """A finished log, and what is known of it elsewhere."""

    home: Home
    old: SigningKey | None
    remembered: str
    witnessed: str
    witness: WitnessKey
    torn: tuple[bytes, bytes] | None = None  # database and WAL before the writer ended

    def copy(self, folder: Path) -> Target:
        target = Target(folder / "audit.db", folder / "checkpoint", self.home.key, self.old, self.home.key.verifier)
        shutil.copy(self.home.db, target.db)
        shutil.copy(self.home.checkpoint, target.checkpoint)
        return target


def _fill(log: Log, start: int, stop: int) -> None:
    for one in [log.submit(decision(number)) for number in range(start, stop)]:
        one.result(30)


def _finished(home: Home, old: SigningKey | None = None, torn: tuple[bytes, bytes] | None = None) -> Original:
    private = Ed25519PrivateKey.from_private_bytes(b"w" * 32)
    witness = WitnessKey("witness.example/w", private.public_key().public_bytes_raw())
    note = home.checkpoint.read_text()
    line = cosign(split_note(note)[0], private, witness.name, 1_795_000_000).line()
    return Original(home, old, stored_notes(home.db)[REMEMBERED], note + line, witness, torn)


@cache
def plain() -> Original:
    home = Home()
    with home.open(create=True) as log:
        for start, stop in zip((1, *SEALS), (*SEALS, SIZE), strict=True):
            _fill(log, start - 1, stop - 1)
            log.checkpoint()
        torn = home.db.read_bytes(), (home.path / "audit.db-wal").read_bytes()
    return _finished(home, torn=torn)


@cache
def rotated() -> Original:
    home = Home()
    old, new = home.key, SigningKey(home.key.name, Ed25519PrivateKey.from_private_bytes(b"n" * 32))
    log = Log.open(
        home.db,
        key=old,
        checkpoint_file=home.checkpoint,
        kinds=_TABLE,
        clock=home.clock,
        create=True,
        seal_every_ms=NEVER,
    )
    with log:
        log.append(Draft(kind="log.open", body={}))
        for start, stop in ((0, 99), (99, 255), (255, ROTATED - 1)):
            _fill(log, start, stop)
            log.checkpoint()
        assert log.rotate(new, {"reason": "test"}).seq == ROTATED
        _fill(log, ROTATED, SIZE - 1)
    home.key = new
    return _finished(home, old)


# -- the attacks -------------------------------------------------------------------------------------------------

Attack = Callable[[Target], None]


def edit(target: Target) -> None:
    execute(target.db, f"UPDATE entries SET leaf = replace(leaf, 'BLOCK', 'ALLOW') WHERE seq = {LATE}")


def add(target: Target, *drafts: Draft) -> None:
    """Records at the log's end that its writer never saw; no attack of the table, for nothing there is wrong."""
    leaves = leaves_of(target.db)
    for draft in drafts:
        leaves.append(
            encode(draft, log=target.trusted.name).leaf(
                log=target.trusted.name,
                seq=len(leaves),
                prev=leaf_hash(leaves[-1]).hex(),
                time=1_795_000_000_000,
                mono_ns="1000000000",
                boot_id="boot-1",
            )
        )
    rewrite(target.db, leaves, None)


def rebuild(target: Target) -> None:
    rewrite(target.db, edited(leaves_of(target.db), LATE), None)


def sign_again(target: Target, seq: int = LATE) -> None:
    rewrite(target.db, edited(leaves_of(target.db), seq), target.key)
    target.publish()


def sign_again_early(target: Target) -> None:
    sign_again(target, EARLY)


def cut(target: Target) -> None:
    execute(target.db, f"DELETE FROM entries WHERE seq >= {SIZE - 50}")


def cut_back(target: Target, left: int = SIZE - 50) -> None:
    """No key is needed: an older checkpoint is still one."""
    rewrite(target.db, leaves_of(target.db)[:left], None)
    execute(target.db, f"DELETE FROM checkpoints WHERE size > {left}")
    target.publish()


def cut_far_back(target: Target) -> None:
    cut_back(target, 100)


def erase(target: Target) -> None:
    rewrite(target.db, [], None, forget_notes=True)


def begin_again(target: Target) -> None:
    cut_back(target, 0)


def fork(target: Target) -> None:
    leaves = leaves_of(target.db)
    changed = [*leaves[:450], *(leaf.replace(b'"BLOCK"', b'"ALLOW"') for leaf in leaves[450:])]
    rewrite(target.db, changed, target.key)
    target.publish()


def flip_wal(target: Target) -> None:
    """SQLite takes what comes before the frame that does not check, and is silent about the rest."""
    torn = plain().torn
    assert torn is not None
    wal = bytearray(torn[1])
    wal[-len(wal) // 50] ^= 1
    target.db.write_bytes(torn[0])
    target.db.with_name("audit.db-wal").write_bytes(wal)


def swap(target: Target) -> None:
    other = Home("test.example/other")
    other.fill(3)
    shutil.copy(other.db, target.db)
    shutil.copy(other.checkpoint, target.checkpoint)


def restore(target: Target) -> None:
    file = target.checkpoint.read_text()
    cut_back(target, 400)
    target.checkpoint.write_text(file)


def replay(target: Target) -> None:
    execute(target.db, "UPDATE checkpoints SET size = 500 WHERE size = 400")


def forge_view(target: Target) -> None:
    execute(target.db, "DROP VIEW decisions", "CREATE VIEW decisions AS SELECT * FROM entries WHERE 0")


def forge_index(target: Target) -> None:
    """Queries by session find nothing: the index is emptied behind SQLite's back."""
    database = sqlite3.connect(target.db, isolation_level=None)
    page = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'entries_session'").fetchone()[0]
    size = database.execute("PRAGMA page_size").fetchone()[0]
    database.close()
    with open(target.db, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\x0a\x00\x00\x00\x00\x00\x00\x00" + b"\x00" * 8)  # an empty leaf page of an index


def splice(target: Target) -> None:
    """A change of key that the old key never signed: the attacker's own follows it."""
    thief = SigningKey(target.key.name, Ed25519PrivateKey.from_private_bytes(b"t" * 32))
    leaves = leaves_of(target.db)[: 400 + 1]
    last = decode(leaves[-1])
    change = {"from": target.key.verifier.line(), "to": thief.verifier.line()}
    opening = Draft(kind="log.open", body={"log": {"kinds": _TABLE.as_json(), "sealed": 400, "size": 401}})
    for draft in (opening, Draft(kind="key.rotate", body={"log": change})):
        encoded = encode(draft, log=target.key.name)
        leaves.append(
            encoded.leaf(
                log=target.key.name,
                seq=len(leaves),
                prev=leaf_hash(leaves[-1]).hex(),
                time=last.time,
                mono_ns=last.mono_ns,
                boot_id=last.boot_id,
            )
        )
    rewrite(target.db, leaves, None)
    edge = Edge()
    edge.extend([leaf_hash(leaf) for leaf in leaves])
    checkpoint = Checkpoint(target.key.name, edge.size, edge.root())
    execute(target.db, "DELETE FROM checkpoints WHERE size > 400")
    database = sqlite3.connect(target.db, isolation_level=None)
    database.execute("INSERT INTO checkpoints VALUES (?, ?)", (edge.size, checkpoint.sign(thief)))
    database.close()
    target.publish()


def sign_with_the_old_key(target: Target) -> None:
    """Whoever has the old key goes on from before the change, as if it had never been."""
    assert target.old is not None
    rewrite(target.db, edited(leaves_of(target.db)[:ROTATED], 288), target.old, seals=(100, REMEMBERED))
    target.publish()


def sign_with_the_old_key_for_who_trusts_it(target: Target) -> None:
    assert target.old is not None
    target.trusted = target.old.verifier
    sign_with_the_old_key(target)


ATTACKS: dict[str, tuple[Callable[[], Original], Attack]] = {
    "edit one record": (plain, edit),
    "edit, rebuild chain and tree, without the key": (plain, rebuild),
    f"edit record {LATE}, rebuild, sign again with the key": (plain, sign_again),
    f"the same with record {EARLY}": (plain, sign_again_early),
    "drop the last 50 records, keep the newest checkpoint": (plain, cut),
    "drop the last 50 records and the checkpoints that cover them": (plain, cut_back),
    "drop the last 501 records and the checkpoints that cover them": (plain, cut_far_back),
    "delete every record and checkpoint": (plain, erase),
    "delete everything but the checkpoint of the empty log": (plain, begin_again),
    "fork at record 450, signed with the key": (plain, fork),
    "flip a bit in the WAL": (plain, flip_wal),
    "put another log's database in its place": (plain, swap),
    "put back an older copy of the database alone": (plain, restore),
    "store an old checkpoint as one of more records": (plain, replay),
    "forge a view": (plain, forge_view),
    "forge an index, so that queries miss records": (plain, forge_index),
    "splice in a change of key, without the old key": (plain, splice),
    "rewrite with the old key after it was changed": (rotated, sign_with_the_old_key),
    "the same, shown to someone who trusts only the old key": (rotated, sign_with_the_old_key_for_who_trusts_it),
}

COLUMNS = (
    "the log alone",
    "+ the checkpoint file beside it",
    f"+ a remembered checkpoint of {REMEMBERED}",
    "+ a witness or sink",
)
WORDS = {Outcome.OK: "**accepts**", Outcome.TAMPERED: "detects", Outcome.CANNOT_TELL: "refuses"}


def judge(name: str, *, jobs: int = 1) -> list[Report]:
    """What a verifier says of the attacked log, by column."""
    original, attack = ATTACKS[name][0](), ATTACKS[name][1]
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        target = original.copy(Path(folder))
        attack(target)
        outsides = (
            Outside(),
            Outside(notes=[target.checkpoint.read_text()]),
            Outside(since=[original.remembered]),
            Outside(notes=[original.witnessed], witnesses=[original.witness]),
        )
        return [verify_log(target.db, target.trusted, outside=outside, jobs=jobs) for outside in outsides]


def table() -> str:
    """The table in Markdown."""
    rows = [("", *COLUMNS), ("---",) * 5]
    rows.extend((name, *(WORDS[report.outcome] for report in judge(name))) for name in ATTACKS)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


_HEAD = """# What attacks on the log show

Each row is an attack on a finished log of {size} records by somebody who can write every file of the machine it is
kept on; "with the key" means that they also have its private key. Each column is what the verifier has: only the
database and the public key; also the file with the newest checkpoint that stands beside the database; also an older
checkpoint that the auditor kept, of {remembered} records; or the newest checkpoint as a witness or a sink holds it, out
of the attacker's reach. *detects* is exit code 1, *refuses* 2, **accepts** 0.

With a checkpoint from a witness or sink every attack is found. Without one these are not, because what is left is
flawless in itself: an older state of the log, or one that the key signed. The file beside the database is in the
attacker's reach and only helps against those who forget it. What was written after the newest checkpoint outside can
be rewritten by whoever has the key: `shield status` shows how much that is.

"""
_FOOT = """

Whoever can write the database can also *add* records to its end while nobody has it open, well formed, chained and with
their tiles; no key is needed for that, and a killed writer leaves such an end, too. `verify` shows them as unsealed. The
next start takes them over, for else a crash would end the log, and says so: in its `log.open` record, before anything
signs them, on standard error, in `/readyz` and `shield status`; from then on `verify` notes them, each time. Look at
records that were taken over before you believe them.

An event that was never submitted, and what was a lie when it was recorded, no log can show.
"""


def page() -> str:
    """The whole page docs/security/audit.md."""
    return _HEAD.format(size=SIZE, remembered=REMEMBERED) + table() + _FOOT


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
