"""A group of drafts becoming records: which are written, which were written before, which are refused."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from audit.entry import Encoded, Private, canonical, decode
from audit.errors import ConflictError, EntryError, KindError, LogDamagedError
from audit.kinds import OPEN, KindTable
from audit.merkle import leaf_hash
from audit.schema import read_leaf
from audit.state import State


@dataclass(frozen=True, slots=True)
class Stamp:
    """The clock readings that a group's records carry."""

    time: int
    mono_ns: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class Appended:
    """A durable record: its position, leaf hash, time (ms), and whether it had been recorded before."""

    seq: int
    leaf_hash: bytes
    time: int
    duplicate: bool = False


Result = Appended | EntryError


class Batch:
    """One group inside its transaction. `rows`, `tiles` and `private` are what is to be written; `results` answer the
    drafts."""

    def __init__(
        self, database: sqlite3.Connection, state: State, *, log: str, kinds: KindTable, opened_at: int, careful: bool
    ) -> None:
        self._database = database
        self._log = log
        self._kinds = kinds
        self._opened_at = opened_at
        self._careful = careful
        self._seen: dict[tuple[str, str], tuple[Encoded, Appended]] = {}
        self._targets: dict[int, str] = {}
        self._used: set[tuple[int, str]] = set()
        self.edge = state.edge.copy()
        self.prev = state.prev
        self.rows: list[tuple[int, str, bytes]] = []
        self.tiles: list[tuple[int, int, bytes]] = []
        self.private: list[tuple[int, str, Private]] = []
        self.results: list[Result] = []

    def add(self, drafts: Sequence[Encoded], stamp: Stamp) -> None:
        """Decide every draft; a refused one stands alone and stops no other."""
        if refs := sorted({draft.ref for draft in drafts if draft.ref is not None}):
            self._look_up(refs)
        for draft in drafts:
            try:
                found = self._known(draft) or self._check(draft)
            except EntryError as error:
                self.results.append(error)
            else:
                self.results.append(found or self._append(draft, stamp))

    def _append(self, draft: Encoded, stamp: Stamp) -> Appended:
        seq = self.edge.size
        leaf = draft.leaf(
            log=self._log,
            seq=seq,
            prev=None if self.prev is None else self.prev.hex(),
            time=stamp.time,
            mono_ns=str(stamp.mono_ns),
            boot_id=stamp.boot_id,
        )
        self.prev = leaf_hash(leaf)
        self.rows.append((seq, leaf.decode(), self.prev))
        self.tiles += self.edge.append(self.prev)
        if draft.private is not None:
            self.private.append((seq, draft.session or "", draft.private))
        appended = Appended(seq, self.prev, stamp.time)
        if draft.call_id is not None:
            self._seen[draft.call_id, draft.kind] = draft, appended
        if draft.ref is not None:
            self._used.add((draft.ref, draft.kind))
        return appended

    def _look_up(self, refs: list[int]) -> None:
        """The kinds of the records that the group refers to, and which (ref, kind) pairs exist already."""
        asked = (json.dumps(refs),)
        # one row each, however many records: every row fetched would give up the interpreter
        one = (
            "SELECT json_group_array(json_array({0}, kind)) FROM entries WHERE {0} IN (SELECT value FROM json_each(?))"
        )
        targets, used = (
            json.loads(self._database.execute(one.format(column), asked).fetchone()[0]) for column in ("seq", "ref")
        )
        self._targets = dict(targets)
        self._used = {(ref, kind) for ref, kind in used}

    def _known(self, draft: Encoded) -> Appended | None:
        """The record this draft repeats. Outside careful mode the unique index is left to find those of old groups."""
        if draft.call_id is None:
            return None
        if (draft.call_id, draft.kind) in self._seen:
            return _repeated(draft, *self._seen[draft.call_id, draft.kind])
        return self._recorded(draft) if self._careful else None

    def _check(self, draft: Encoded) -> Appended | None:
        """Raise KindError if the record may not be written; returns it if a `once` shows that this call wrote it."""
        if self.edge.size == self._opened_at and draft.kind != OPEN:
            raise KindError(f"the first record after opening a log is `{OPEN}`; append it first")
        kind = self._kinds.check(draft.kind, draft.ref)
        if draft.ref is None:
            return None
        target = self._targets.get(draft.ref)
        if target is None:
            raise KindError(f"`{draft.kind}` refers to record {draft.ref}, which is not there")
        if kind.to and target not in kind.to:
            raise KindError(f"`{draft.kind}` cannot refer to record {draft.ref}, which is `{target}`")
        if kind.once and (draft.ref, draft.kind) in self._used:
            found = self._recorded(draft)
            if found is None:
                raise KindError(f"record {draft.ref} already has its one `{draft.kind}`")
            return found
        return None

    def _recorded(self, draft: Encoded) -> Appended | None:
        """The stored record with this draft's `call_id` and kind. Raises ConflictError if it says something else."""
        if draft.call_id is None:
            return None
        row = self._database.execute(
            "SELECT CAST(leaf AS BLOB), leaf_hash FROM entries WHERE call_id = ? AND kind = ?",
            (draft.call_id, draft.kind),
        ).fetchone()
        if row is None:
            return None
        try:
            old = decode(read_leaf(row[0], draft.call_id))
        except EntryError as error:
            raise LogDamagedError(f"a record of `{draft.call_id}` is malformed: {error}; run `verify`") from error
        first = Encoded(
            kind=old.kind,
            session=old.session,
            agent=old.agent,
            call_id=old.call_id,
            ref=old.ref,
            body=canonical(old.body),
        )
        return _repeated(draft, first, Appended(old.seq, row[1], old.time))


def _repeated(draft: Encoded, first: Encoded, appended: Appended) -> Appended:
    # Acknowledging other content under an old record's seq would acknowledge what was never recorded.
    if draft != first:
        raise ConflictError(
            f"`{draft.kind}` of `{draft.call_id}` is record {appended.seq} with other content; use a fresh call id",
            seq=appended.seq,
        )
    return Appended(appended.seq, appended.leaf_hash, appended.time, duplicate=True)
