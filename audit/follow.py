"""The end of a log, and what is added to it while one looks."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from audit.errors import LogTruncatedError
from audit.query import Filter, Record, select_from, size_of
from audit.schema import check_schema, reading


def last(path: Path, where: Filter, count: int) -> tuple[list[Record], int]:
    """The newest `count` matching records, oldest first, and the size of the log that they were looked for in.

    Raises ReadError, LogDamagedError.
    """
    with reading(path) as database:
        check_schema(database)
        size = size_of(database)
        stop = size if where.stop is None else min(size, where.stop)
        found = list(select_from(database, replace(where, stop=stop, limit=count, reverse=True))) if count else []
    return found[::-1], size


def follow(path: Path, where: Filter, size: int, pause: Callable[[], None]) -> Iterator[Record]:
    """Matching records from the `size`th on, as they come; `pause` waits before each look. Ends at `where.stop`.

    Raises ReadError, LogDamagedError; LogTruncatedError when the log holds less than it was seen to hold.
    """
    while where.stop is None or size < where.stop:
        pause()
        with reading(path) as database:
            check_schema(database)
            now = size_of(database)
            if now < size:
                raise LogTruncatedError(f"the log held {size} records and now holds {now}; keep a copy and verify it")
            stop = now if where.stop is None else min(now, where.stop)
            yield from select_from(database, replace(where, start=max(where.start, size), stop=stop))
        size = now
