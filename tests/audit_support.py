"""Logs to test with: real files, a real key, a clock that only moves when told."""

import shutil
import tempfile
import weakref
from dataclasses import dataclass, field
from pathlib import Path

from audit import keys
from audit.entry import Draft
from audit.kinds import Kind, KindTable, Ref
from audit.log import Log
from audit.note import SigningKey

KINDS = KindTable.of(
    [
        Kind(name="log.open"),
        Kind(name="log.close"),
        Kind(name="decision"),
        Kind(name="approval", ref=Ref.MAY, to=frozenset({"decision"})),
        Kind(
            name="executing",
            ref=Ref.MUST,
            to=frozenset({"decision"}),
            once=True,
            then=frozenset({"outcome"}),
        ),
        Kind(name="outcome", ref=Ref.MUST, to=frozenset({"executing"}), once=True),
    ]
)
NEVER = 10**9  # a `seal_every_ms` that is never due


@dataclass
class FakeClock:
    """Implements `audit.clock.Clock`."""

    boot_id: str = "boot-1"
    now_ms: int = 1_795_000_000_000
    now_ns: int = 1_000_000_000
    step_ns: int = field(default=0)

    def time_ms(self) -> int:
        return self.now_ms

    def mono_ns(self) -> int:
        self.now_ns += self.step_ns
        return self.now_ns


class Home:
    """A folder with a key and the paths of a log."""

    def __init__(self, name: str = "test.example/01K") -> None:
        self.path = Path(tempfile.mkdtemp(prefix="sh"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self.key: SigningKey = keys.create(self.path / "keys", name)
        self.vkey = self.path / "keys" / "audit.vkey"
        self.db = self.path / "audit.db"
        self.checkpoint = self.path / "checkpoint"
        self.clock = FakeClock()

    def open(self, *, create: bool = False, begin: bool = True, seal_every_ms: int = NEVER, **more: int) -> Log:
        log = Log.open(
            self.db,
            key=self.key,
            checkpoint_file=self.checkpoint,
            kinds=KINDS,
            clock=self.clock,
            create=create,
            seal_every_ms=seal_every_ms,
            **more,
        )
        if begin:
            log.append(Draft(kind="log.open", body={}))
        return log

    def fill(self, decisions: int, *, seal_at: tuple[int, ...] = ()) -> None:
        """A closed log of `decisions` + 1 records, with checkpoints where asked and at the end."""
        with self.open(create=True) as log:
            bounds = [*(at - 1 for at in seal_at), decisions]
            done = 0
            for bound in bounds:
                waiting = [log.submit(decision(number)) for number in range(done, bound)]
                for one in waiting:
                    one.result(30)
                done = bound
                log.checkpoint()

    def leave_unsealed(self, log: Log, decisions: int) -> None:
        """Leave the open log as a killed writer would, or somebody who wrote there without its key: its last records
        are well formed, chained and signed by nobody."""
        with log:
            log.checkpoint()
            files = {self.checkpoint: self.checkpoint.read_bytes()}
            for _ in range(decisions):
                log.append(decision(1000 + log.size))
            files |= {file: file.read_bytes() for file in (self.db, Path(f"{self.db}-wal"))}
        for file, content in files.items():
            file.write_bytes(content)


def decision(number: int, **more: object) -> Draft:
    body: dict[str, object] = {"decision": "BLOCK" if number % 7 == 0 else "ALLOW", "number": number}
    return Draft(kind="decision", body=body, session="s1", agent="me", call_id=f"call-{number}", **more)  # type: ignore[arg-type]  # test data
