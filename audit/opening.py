"""`audit.open`: a log with the choices made that most programs make."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from audit import keys
from audit.chain import ROTATE
from audit.clock import Clock, SystemClock
from audit.entry import Draft
from audit.kinds import OPEN, Kind, KindTable, Ref
from audit.log import Log
from audit.note import SigningKey
from audit.private import MasterKey

OWN: Final = (Kind(name=OPEN), Kind(name=ROTATE), Kind(name="redaction", ref=Ref.MAY))
"""The kinds that the log's own methods write; a table need not name them."""


def open_log(
    path: str | Path,
    key: SigningKey | str | Path,
    kinds: KindTable | Iterable[Kind],
    *,
    create: bool = False,
    name: str | None = None,
    passphrase: str | None = None,
    checkpoint_file: str | Path | None = None,
    master: MasterKey | None = None,
    outside: Sequence[str] = (),
    body: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> Log:
    """Open the log at `path`, or begin a new one with `create`, and write the `log.open` record that comes first.

    `key`: the key itself, or the directory it is in. With `create` the directory gets a new key, which names the log:
    `name`, else `log/` and a random part; an old key is never used for a new log. `kinds`: the kinds of records there
    are. `checkpoint_file`: where the newest checkpoint is kept, by default beside the database (`.checkpoint`); better
    on another disk. `master`, `outside`: see `Log.open`. `body`: what the `log.open` record says besides.

    Raises KeyFileError, PassphraseError, NoteError (`name`), EntryError (`kinds`, `body`), and what `Log.open` raises.
    """
    path = Path(path)
    table = kinds if isinstance(kinds, KindTable) else _table(kinds)
    if not isinstance(key, SigningKey):
        directory = Path(key)
        if create:
            key = keys.create(directory, f"log/{os.urandom(16).hex()}" if name is None else name, passphrase)
        else:
            key = keys.load(directory, passphrase, log=path)
    log = Log.open(
        path,
        key=key,
        checkpoint_file=path.with_suffix(".checkpoint") if checkpoint_file is None else Path(checkpoint_file),
        kinds=table,
        clock=SystemClock.read() if clock is None else clock,
        create=create,
        master=master,
        outside=outside,
    )
    try:
        log.append(Draft(kind=OPEN, body=dict(body or {})))
    except BaseException:
        log.close()
        raise
    return log


def _table(kinds: Iterable[Kind]) -> KindTable:
    given = tuple(kinds)
    named = {kind.name for kind in given}
    return KindTable.of((*given, *(kind for kind in OWN if kind.name not in named)))
