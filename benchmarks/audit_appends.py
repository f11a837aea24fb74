"""Durable appends, by ours and by the two plainer ways, with as many clients."""

import asyncio
import os
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from audit.aio import AsyncLog
from audit.checkpoint import Checkpoint
from audit.entry import Draft, encode
from audit.log import Log
from audit.merkle import Edge, leaf_hash
from audit.query import Filter, select
from audit.schema import OBJECTS
from audit_log import NAME, Made, begin, draft
from row import Row, cpu_us

ROUNDS = 5
SECONDS = 0.4  # of one way with one number of clients in one round
_STAMP = {"time": 1_795_000_000_000, "mono_ns": "1", "boot_id": "boot", "prev": "ab" * 32}

_DRAFTS = [draft(number) for number in range(10)]

Append = Callable[[Draft], object]
Way = Callable[[int, int], list[float]]
"""(clients, a number that no other call was given) -> the seconds that each append took."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one way did in one window."""

    latencies: list[float]
    wall: float
    cpu: float

    @property
    def rate(self) -> float:
        """Appends a second."""
        return len(self.latencies) / self.wall

    def quantile(self, part: float) -> float:
        """Milliseconds within which this part of the appends was durable."""
        return sorted(self.latencies)[int(part * (len(self.latencies) - 1))] * 1000


def append_rows(folder: Path) -> Iterator[Row]:
    """`audit.append.*`, and `audit.peer.*` beside them."""
    made = begin(folder)
    log = made.open(create=True)
    peers = folder / "peer.db", folder / "peer.jsonl"
    with closing(_peer_database(peers[0])) as database:
        for sql in OBJECTS:
            database.execute(sql)
    turn = threading.Lock()
    ways: dict[str, tuple[Way, tuple[int, ...]]] = {
        "ours": (lambda clients, first: coroutines(log, clients, first), (1, 32, 128)),
        "threads": (lambda clients, first: _threads(lambda: nullcontext(log.append), clients, first), (32,)),
        "sqlite": (lambda clients, first: _threads(lambda: _sqlite(peers[0], turn), clients, first), (1, 32, 128)),
        "jsonl": (lambda clients, first: _threads(lambda: _jsonl(peers[1]), clients, first), (1, 32, 128)),
    }
    taken: dict[tuple[str, int], list[Taken]] = {(name, n): [] for name, (_, counts) in ways.items() for n in counts}
    grown: list[tuple[int, int]] = []  # records and checkpoints of each window of 32 coroutines
    for round_ in range(ROUNDS + 1):
        for at, (name, clients) in enumerate(taken):
            before = log.size, _checkpoints(made)
            wall, cpu = time.perf_counter(), time.process_time()
            latencies = ways[name][0](clients, (round_ * 100 + at) * 1_000_000)
            window = Taken(latencies, time.perf_counter() - wall, time.process_time() - cpu)
            if round_ == 0:
                continue  # the files are small and the caches cold
            taken[name, clients].append(window)
            if (name, clients) == ("ours", 32):
                grown.append((log.size - before[0], _checkpoints(made) - before[1]))
    log.close()
    yield from _medians(taken)
    edge = Edge()
    for number in range(99_999):
        edge.append(leaf_hash(b"%d" % number))
    signing = cpu_us(lambda: Checkpoint(NAME, edge.size, edge.root()).sign(made.key))
    yield Row(
        name="audit.append.sign_us",
        median=signing * sum(seals for _, seals in grown) / sum(records for records, _ in grown),
        unit="us",
        goal=3,
    )
    leaves = statistics.mean(len(one.leaf) for one in select(made.path, Filter(limit=5_000)))
    yield Row(name="audit.append.bytes", median=made.size_on_disk() / log.size - leaves, unit="bytes")


def _medians(taken: dict[tuple[str, int], list[Taken]]) -> Iterator[Row]:
    def median(name: str, clients: int, what: Callable[[Taken], float]) -> float:
        return statistics.median(what(one) for one in taken[name, clients])

    def measured(
        name: str, clients: int, what: Callable[[Taken], float], unit: str, goal: float | None
    ) -> Iterator[Row]:
        ours, *others = (median(way, clients, what) for way in ("ours", "sqlite", "jsonl"))
        yield Row(
            name=f"audit.append.{name}",
            median=ours,
            unit=unit,
            goal=goal,
            peer="a transaction each",
            ratio=round(others[0] / ours, 4),
        )
        for peer, theirs in zip(("sqlite", "jsonl"), others, strict=True):
            ratio = round(theirs / ours, 4)
            yield Row(name=f"audit.peer.{peer}.{name}", median=theirs, unit=unit, peer=peer, ratio=ratio)

    for clients, goal in ((1, None), (32, 5_000), (128, None)):
        yield from measured(f"rps.{clients}", clients, lambda one: one.rate, "1/s", goal)
    yield from measured("p50.1", 1, lambda one: one.quantile(0.5), "ms", 1)
    yield from measured("p99.32", 32, lambda one: one.quantile(0.99), "ms", 25)
    yield from measured("rps_cpu.32", 32, lambda one: len(one.latencies) / one.cpu, "1/s", None)
    yield Row(name="audit.append.threads.32", median=median("threads", 32, lambda one: one.rate), unit="1/s")


def _record(number: int) -> Draft:
    return replace(_DRAFTS[number % len(_DRAFTS)], call_id=f"call-{number:012d}")


def coroutines(log: Log, clients: int, first: int) -> list[float]:
    async def run() -> list[float]:
        shared = AsyncLog(log, asyncio.get_running_loop())
        latencies: list[float] = []

        async def client(number: int) -> None:
            while (begun := time.perf_counter()) < until:
                await shared.append(_record(number))
                latencies.append(time.perf_counter() - begun)
                number += clients

        until = time.perf_counter() + SECONDS
        await asyncio.gather(*(client(first + at) for at in range(clients)))
        return latencies

    return asyncio.run(run())


def _threads(arrive: Callable[[], AbstractContextManager[Append]], clients: int, first: int) -> list[float]:
    """As many threads, each with what it gets by arriving."""
    latencies: list[list[float]] = [[] for _ in range(clients)]

    def client(at: int) -> None:
        number = first + at
        with arrive() as append:
            while (begun := time.perf_counter()) < until:
                append(_record(number))
                latencies[at].append(time.perf_counter() - begun)
                number += clients

    until = time.perf_counter() + SECONDS
    threads = [threading.Thread(target=client, args=(at,)) for at in range(clients)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return [one for some in latencies for one in some]


def _peer_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, timeout=60, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


@contextmanager
def _sqlite(path: Path, turn: threading.Lock) -> Iterator[Append]:
    """A client with its own connection and its own transactions. They take turns: left to SQLite's own waiting for a
    lock, 32 clients write a tenth as much."""
    with closing(_peer_database(path)) as database:

        def append(record: Draft) -> None:
            encoded = encode(record, log=NAME)
            with turn:
                database.execute("BEGIN IMMEDIATE")
                seq = database.execute("SELECT coalesce(max(seq) + 1, 0) FROM entries").fetchone()[0]
                leaf = encoded.leaf(log=NAME, seq=seq, **_STAMP)
                row = (seq, leaf.decode(), leaf_hash(leaf))
                database.execute("INSERT INTO entries(seq, leaf, leaf_hash) VALUES (?, ?, ?)", row)
                database.execute("COMMIT")

        yield append


@contextmanager
def _jsonl(path: Path) -> Iterator[Append]:
    """A client that appends lines, each durable before the next."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append(record: Draft) -> None:
        os.write(descriptor, encode(record, log=NAME).leaf(log=NAME, seq=0, **_STAMP) + b"\n")
        os.fdatasync(descriptor)

    try:
        yield append
    finally:
        os.close(descriptor)


def _checkpoints(made: Made) -> int:
    with closing(sqlite3.connect(made.path)) as database:
        return int(database.execute("SELECT count(*) FROM checkpoints").fetchone()[0])
