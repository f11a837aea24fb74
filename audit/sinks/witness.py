"""Checkpoints that a witness cosigned: it saw the log grow from what it remembers, and will take nothing less.

What it cosigned last is kept in a file, with its line in the note: evidence for whoever trusts the witness.
"""

from pathlib import Path
from typing import Final

from audit.checkpoint import Checkpoint
from audit.clock import Clock
from audit.cosignature import WitnessKey, check_cosigned
from audit.errors import NoteError, SinkError
from audit.keyfiles import replace_file
from audit.note import MAX_NOTE, Signature, number, parse_signature, split_note
from audit.sinks import Growth
from audit.sinks.folder import file_name, prepare
from audit.sinks.post import Place, Reply
from audit.witness.request import NAME, AddCheckpoint

TIMEOUT_S: Final = 10.0
MAX_SKEW_S: Final = 300
"""Seconds between our clock and a cosignature's that are remarked upon."""


class WitnessSink:
    """Asks one witness for its cosignature of every checkpoint of one log (c2sp.org/tlog-witness, add-checkpoint)."""

    def __init__(
        self, url: str, key: WitnessKey, folder: Path, log: str, *, clock: Clock, timeout_s: float = TIMEOUT_S
    ) -> None:
        """`url`: the witness's submission prefix; `folder`: where the newest cosigned note is kept.

        Raises SinkError for an URL that cannot be used.
        """
        self._place = Place.parse(url)
        self._key = key
        self._folder = folder
        self._path = folder / f"{file_name(log)}.{key.id.hex()}.cosigned"
        self._log = log
        self._clock = clock
        self._timeout_s = timeout_s
        self.warning: str | None = None

    @property
    def name(self) -> str:
        """The witness's own name, as its key has it."""
        return self._key.name

    def send(self, note: str, growth: Growth) -> int:
        """As `Sink.send`: the size that the witness cosigned."""
        checkpoint = Checkpoint.parse(split_note(note)[0])
        if checkpoint.origin != self._log:
            raise SinkError(f"a checkpoint of the log `{checkpoint.origin}` is none of `{self._log}`")
        prepare(self._folder)
        kept = self._kept()
        old = 0 if kept is None else kept[1].size
        self._check_growth(old, checkpoint)
        reply = self._ask(old, note, checkpoint, growth)
        warning = None
        if reply.status == 409:
            known = self._size(reply)
            if known == old:
                raise SinkError(
                    f"the witness `{self.name}` knows {known} other records of the log: it was rewritten, or another "
                    "log has its name; keep everything and run `verify`"
                )
            self._check_growth(known, checkpoint)
            if known < old:
                warning = f"the witness `{self.name}` forgot what it cosigned: {old} records, now it knows {known}"
            reply = self._ask(known, note, checkpoint, growth)
        if reply.status != 200:
            raise SinkError(f"the witness `{self.name}` does not cosign: {reply.status} {_printable(reply.body)}")
        self._keep(note, reply)
        self.warning = self._skew(reply) or warning
        return checkpoint.size

    def remembered(self) -> tuple[str, ...]:
        """The newest note that the witness cosigned, if there is one. Raises SinkError."""
        kept = self._kept()
        return () if kept is None else (kept[0],)

    def _check_growth(self, known: int, checkpoint: Checkpoint) -> None:
        if known > checkpoint.size:
            raise SinkError(
                f"the witness `{self.name}` cosigned {known} records and the log shows {checkpoint.size}: it was cut "
                "back, or another log has its name; keep everything and run `verify`"
            )

    def _ask(self, old: int, note: str, checkpoint: Checkpoint, growth: Growth) -> Reply:
        path = tuple(growth(old)) if 0 < old < checkpoint.size else ()
        return self._place.post(NAME, AddCheckpoint(old, path, note).body(), timeout_s=self._timeout_s)

    def _size(self, reply: Reply) -> int:
        try:
            if reply.kind != "text/x.tlog.size" or not reply.body.endswith(b"\n"):
                raise NoteError("not a size")
            return number(reply.body[:-1].decode("ascii", "replace"))
        except NoteError as error:
            raise SinkError(f"the witness `{self.name}` answers 409 {_printable(reply.body)}") from error

    def _lines(self, reply: Reply) -> tuple[Signature, ...]:
        """The witness's own lines; those of keys that nobody here knows do not count (c2sp.org/tlog-witness)."""
        lines = reply.body.decode("utf-8", "replace").split("\n")
        if lines.pop():
            raise NoteError("the last line does not end")
        found = [parse_signature(line) for line in lines]
        return tuple(one for one in found if one.name == self._key.name and one.id == self._key.id)

    def _keep(self, note: str, reply: Reply) -> None:
        try:
            lines = self._lines(reply)
            check_cosigned(split_note(note)[0], lines, self._key)
        except NoteError as error:
            raise SinkError(f"the witness `{self.name}` answers with no cosignature of its key: {error}") from error
        try:
            # One line, however many came: with too many the note would be none.
            replace_file(self._path, (note + max(lines, key=_stamp).line()).encode())
        except OSError as error:
            raise SinkError(f"cannot write `{self._path}`: {error.strerror or error}; make room for it") from error

    def _skew(self, reply: Reply) -> str | None:
        skew = max(map(_stamp, self._lines(reply))) - self._clock.time_ms() // 1000
        if abs(skew) <= MAX_SKEW_S:
            return None
        return f"the clock of the witness `{self.name}` is {abs(skew)} s {'ahead of' if skew > 0 else 'behind'} ours"

    def _kept(self) -> tuple[str, Checkpoint] | None:
        try:
            with open(self._path, "rb") as file:
                note = file.read(4 * MAX_NOTE).decode()
            text, signatures = split_note(note)
            checkpoint = Checkpoint.parse(text)
            check_cosigned(text, signatures, self._key)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise SinkError(f"cannot read `{self._path}`: {error.strerror or error}") from error
        except (NoteError, UnicodeDecodeError) as error:
            raise SinkError(f"`{self._path}` holds no checkpoint that `{self.name}` cosigned; move it away") from error
        if checkpoint.origin != self._log:
            raise SinkError(f"`{self._path}` holds a checkpoint of the log `{checkpoint.origin}`; move it away")
        return note, checkpoint


def _stamp(line: Signature) -> int:
    return int.from_bytes(line.raw[:8], "big")


def _printable(body: bytes) -> str:
    text = body[:200].decode("utf-8", "replace").strip()
    return "".join(char if char.isprintable() else "?" for char in text)
