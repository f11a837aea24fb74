"""Bundles of the audit log as `audit/SPEC.md` 5.2 describes them, made by hand from that text: good ones and spoiled ones.

A `Story` is a log as whoever holds its keys can write it: any records, linked, hashed and signed. A `Bundle` is the
files that come of it, which whoever can write the folder changes.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.note import SigningKey

NAME = "second.example/01K"
WIDTH = 256


def key(seed: int, name: str = NAME) -> SigningKey:
    """A key that is the same in every run."""
    return SigningKey(name, Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"key %d" % seed).digest()))


def kind(ref: str = "never", *, to: Sequence[str] = (), then: Sequence[str] = (), once: bool = False) -> dict[str, Any]:
    return {"once": once, "ref": ref, "then": sorted(then), "to": sorted(to)}


KINDS = {
    "approval": kind("may", to=["decision"]),
    "decision": kind(),
    "executing": kind("must", to=["decision"], then=["outcome"], once=True),
    "key.rotate": kind(),
    "log.open": kind(),
    "outcome": kind("must", to=["executing"], once=True),
}


@dataclass(frozen=True)
class Record:
    """One record: members other than `v`, `log`, `seq`, `prev`; `members` may override those; `spoil` changes the leaf."""

    members: Mapping[str, Any]
    spoil: Callable[[bytes], bytes] | None = None

    def leaf(self, seq: int, prev: str | None) -> bytes:
        whole = {"v": 1, "log": NAME, "seq": seq, "prev": prev, **self.members}
        leaf = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
        return self.spoil(leaf) if self.spoil else leaf


def record(kind_: str, number: int, body: Mapping[str, Any] | None = None, **more: object) -> Record:
    plain = {"agent": "me", "boot_id": "boot-1", "call_id": None, "session": "s1", "ref": None}
    clock = {"time": 1_795_000_000_000 + number, "mono_ns": str(1_000_000 + number)}
    return Record({**plain, **clock, "kind": kind_, "body": dict(body or {}), **more})


def opening(number: int, *, sealed: int | None = None, size: int | None = None, kinds: object = None) -> Record:
    found = number if size is None else size
    said = {"kinds": KINDS if kinds is None else kinds, "sealed": found if sealed is None else sealed, "size": found}
    return record("log.open", number, {"log": said, "version": "1"}, session=None)


def rotation(number: int, old: SigningKey, new: SigningKey) -> Record:
    said = {"from": old.verifier.line(), "to": new.verifier.line()}
    return record("key.rotate", number, {"log": said, "reason": "due"}, session=None)


@dataclass(frozen=True)
class Story:
    """`seals`: the sizes of checkpoints; `keys`: in the order of their use; `changes`: the `seq` of each change."""

    records: tuple[Record, ...]
    seals: tuple[int, ...]
    keys: tuple[SigningKey, ...] = (key(0),)
    changes: tuple[int, ...] = ()

    def leaves(self) -> tuple[bytes, ...]:
        out: list[bytes] = []
        for seq, one in enumerate(self.records):
            out.append(one.leaf(seq, leaf_hash(out[-1]).hex() if out else None))
        return tuple(out)

    def signers(self, size: int) -> list[SigningKey]:
        before = sum(change < size for change in self.changes)  # the record that changes the key is among `size`
        return list(self.keys[before - 1 : before + 1] if size - 1 in self.changes else self.keys[before : before + 1])

    def note(self, size: int, leaves: Sequence[bytes] | None = None) -> str:
        hashes = [leaf_hash(leaf) for leaf in (self.leaves() if leaves is None else leaves)[:size]]
        return signed(f"{NAME}\n{size}\n{base64.b64encode(root(hashes)).decode()}\n", self.signers(size))

    def bundle(self) -> "Bundle":
        leaves = self.leaves()
        notes = tuple(self.note(size, leaves) for size in self.seals)
        return Bundle(leaves, notes, self.keys[0].verifier.line(), last_key=self.keys[-1].verifier.line())


@dataclass(frozen=True)
class Bundle:
    """What a bundle is made of. `chosen`: the records of a selection. `trusted`: the vkey line to verify with."""

    leaves: tuple[bytes, ...]
    notes: tuple[str, ...]
    trusted: str
    last_key: str
    chosen: tuple[int, ...] | None = None
    since: tuple[str, ...] = ()

    def files(self) -> dict[str, bytes]:
        covered = int(self.notes[-1].split("\n")[1])
        leaves = self.leaves[:covered]
        shown = leaves if self.chosen is None else [leaves[seq] for seq in self.chosen]
        files = {
            "records.jsonl": b"".join(leaf + b"\n" for leaf in shown),
            "checkpoint": self.notes[-1].encode(),
            "checkpoints": b"".join(b"%d\n%b" % (len(note.encode()), note.encode()) for note in self.notes),
            "audit.vkey": self.last_key.encode() + b"\n",
        }
        row = [leaf_hash(leaf) for leaf in leaves]
        level = 0
        while row:
            files |= {path(str(level), at, tile): b"".join(tile) for at, tile in enumerate(groups(row))}
            row = [root(tile) for tile in groups(row) if len(tile) == WIDTH]
            level += 1
        if self.chosen is None:
            for at, some in enumerate(groups(leaves)):
                files[path("entries", at, some)] = b"".join(len(leaf).to_bytes(2, "big") + leaf for leaf in some)
        return files


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files below a new folder."""
    folder.mkdir()
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def bundle_of(database: Path, trusted: str) -> Bundle:
    """The bundle of a log that its writer has closed, read without any code of the package."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as rows:
        leaves = tuple(row[0] for row in rows.execute("SELECT CAST(leaf AS BLOB) FROM entries ORDER BY seq"))
        notes = tuple(row[0] for row in rows.execute("SELECT note FROM checkpoints ORDER BY size"))
    return Bundle(leaves, notes, trusted, last_key=trusted)


def groups(row: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for at in range(0, len(row), WIDTH):
        yield row[at : at + WIDTH]


def path(level: str, index: int, tile: Sequence[object]) -> str:
    """c2sp.org/tlog-tiles, for fewer than a million tiles."""
    number = f"{index:03}" if index < 1000 else f"x{index // 1000:03}/{index % 1000:03}"
    return f"tile/{level}/{number}" + ("" if len(tile) == WIDTH else f".p/{len(tile)}")


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\0" + leaf).digest()


def root(hashes: Sequence[bytes]) -> bytes:
    """MTH of RFC 9162, 2.1.1, over leaf hashes."""
    if len(hashes) < 2:
        return hashes[0] if hashes else hashlib.sha256(b"").digest()
    k = 1 << ((len(hashes) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + root(hashes[:k]) + root(hashes[k:])).digest()


def signed(text: str, keys: Sequence[SigningKey]) -> str:
    """A note of c2sp.org/signed-note."""
    lines = ""
    for one in keys:
        raw = one.verifier.id + one.private.sign(text.encode())
        lines += f"\u2014 {one.name} {base64.b64encode(raw).decode()}\n"
    return f"{text}\n{lines}"
