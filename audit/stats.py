"""Counts over a log, in one pass and in memory that does not grow with it."""

import json
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from audit.checkpoint import Checkpoint
from audit.errors import LogDamagedError, NoteError
from audit.known import latency_of
from audit.note import split_note
from audit.plain import rfc3339
from audit.query import Filter, rows, size_of
from audit.reader import newest_note
from audit.schema import check_schema, reading

NAMES: Final = 4096
"""Different names that are counted one by one; all others count as one."""
OTHERS: Final = "(others)"
_FINE: Final = 64  # steps between two powers of two: a latency is known within 1.6 %


class Tally:
    """How often each name came: exact for the first `NAMES` names, the rest under `OTHERS`."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.others = 0

    def add(self, name: str) -> None:
        """Count one."""
        if name in self.counts or len(self.counts) < NAMES:
            self.counts[name] = self.counts.get(name, 0) + 1
        else:
            self.others += 1

    def top(self, count: int | None = None) -> dict[str, int]:
        """The most frequent names first, equal ones by name; what is left over last."""
        order = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        shown, rest = (order, []) if count is None else (order[:count], order[count:])
        others = self.others + sum(number for _, number in rest)
        return dict(shown) | ({OTHERS: others} if others else {})

    def by_name(self) -> dict[str, int]:
        """In the order of the names."""
        return dict(sorted(self.counts.items())) | ({OTHERS: self.others} if self.others else {})


class Spread:
    """Percentiles of whole numbers from 0, within 1.6 %, in some thousand counters."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], int] = {}
        self.count = 0

    def add(self, value: int) -> None:
        """Count one value; what is below 0 is none."""
        if value < 0:
            return
        shift = max(0, value.bit_length() - _FINE.bit_length())
        place = (shift, value >> shift)
        self._counts[place] = self._counts.get(place, 0) + 1
        self.count += 1

    def at(self, share: float) -> int | None:
        """The value that `share` of all values do not exceed; None if there are none."""
        left = share * self.count
        for shift, value in sorted(self._counts):
            left -= self._counts[shift, value]
            if left <= 0:
                return value << shift
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What was counted. Times in ms and µs, sizes in bytes; `bytes_per_record` is of the whole database."""

    log: str
    records: int
    matching: int
    first: int | None
    last: int | None
    kinds: dict[str, int]
    decisions: dict[str, int]
    types: dict[str, int]
    rules: dict[str, int]
    tiers: dict[str, int]
    sessions: int
    agents: dict[str, int]
    days: dict[str, int]
    refused: float | None
    latency_median_us: int | None
    latency_p95_us: int | None
    disk: int
    bytes_per_record: int | None
    checkpoints: int
    sealed: int
    sessions_exact: bool

    @property
    def unsealed(self) -> int:
        """Records beyond the newest checkpoint."""
        return max(0, self.records - self.sealed)


def stats(path: Path, where: Filter, *, rules: int = 10) -> Stats:
    """Count the matching records of the log at `path`. Raises ReadError, LogDamagedError.

    The newest checkpoint's signature is not looked at: only `verify` shows that the log is what was signed.
    """
    counted = _Counted()
    with reading(path) as database:
        check_schema(database)
        records, sealed, checkpoints, name = _whole(database)
        for seq, leaf, _ in rows(database, where):
            counted.add(seq, leaf)
    disk = os.path.getsize(path) + _wal(path)
    decisions = counted.decisions.by_name()
    decided = sum(decisions.values())
    return Stats(
        log=name,
        records=records,
        matching=counted.records,
        first=counted.first,
        last=counted.last,
        kinds=counted.kinds.top(),
        decisions=counted.decisions.top(),
        types=counted.types.top(rules),
        rules=counted.rules.top(rules),
        tiers=counted.tiers.by_name(),
        sessions=len(counted.sessions.counts),
        sessions_exact=not counted.sessions.others,
        agents=counted.agents.top(rules),
        days=counted.days.by_name(),
        refused=(decided - decisions.get("ALLOW", 0)) / decided if decided else None,
        latency_median_us=counted.latency.at(0.5),
        latency_p95_us=counted.latency.at(0.95),
        disk=disk,
        bytes_per_record=disk // records if records else None,
        checkpoints=checkpoints,
        sealed=sealed,
    )


def _wal(path: Path) -> int:
    try:
        return os.path.getsize(f"{path}-wal")
    except FileNotFoundError:
        return 0  # it comes and goes with the writer


def _whole(database: sqlite3.Connection) -> tuple[int, int, int, str]:
    try:
        newest = Checkpoint.parse(split_note(newest_note(database))[0])
    except NoteError as error:
        raise LogDamagedError(f"the newest checkpoint is malformed: {error}; run `verify`") from error
    count = database.execute("SELECT count(*) FROM checkpoints").fetchone()[0]
    return size_of(database), newest.size, count, newest.origin


class _Counted:
    def __init__(self) -> None:
        self.records = 0
        self.first: int | None = None
        self.last: int | None = None
        self.kinds, self.decisions, self.types, self.rules = Tally(), Tally(), Tally(), Tally()
        self.tiers, self.sessions, self.agents, self.days = Tally(), Tally(), Tally(), Tally()
        self.latency = Spread()
        self._day, self._day_at = "", -1

    def add(self, seq: int, leaf: bytes) -> None:
        # Not decoded strictly: nothing is shown of the leaf but counts, and `verify` is the judge of its form.
        try:
            value = json.loads(leaf)
            time, kind, body = value["time"], value["kind"], value["body"]
            session, agent = value["session"], value["agent"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise LogDamagedError(f"record {seq} is malformed; run `verify`") from error
        if type(time) is not int or type(kind) is not str or type(body) is not dict:
            raise LogDamagedError(f"record {seq} is malformed; run `verify`")
        self.records += 1
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)
        self.kinds.add(kind)
        if isinstance(session, str):
            self.sessions.add(session)
        if isinstance(agent, str):
            self.agents.add(agent)
        self.days.add(self._day_of(time))
        if isinstance(body.get("decision"), str):
            self._decided(body)

    def _decided(self, body: dict[str, Any]) -> None:
        self.decisions.add(body["decision"])
        for tally, name in ((self.types, body.get("type")), (self.rules, body.get("rule"))):
            if isinstance(name, str):
                tally.add(name)
        if type(body.get("tier")) is int:
            self.tiers.add(str(body["tier"]))
        latency = latency_of(body)
        if latency is not None:
            self.latency.add(latency)

    def _day_of(self, time_ms: int) -> str:
        number = time_ms // 86_400_000
        if number != self._day_at:
            self._day_at, self._day = number, rfc3339(max(time_ms, 0))[:10]
        return self._day
