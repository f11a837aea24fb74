"""Checkpoints in a folder of their own, best on another disk or another machine's share: `<log>.checkpoints`."""

from pathlib import Path

from audit.checkpoint import Checkpoint
from audit.errors import NoteError, SinkError
from audit.note import split_note
from audit.notebook import LIMIT, Notebook
from audit.sinks import Growth
from audit.sinks.folder import file_name, prepare


class FileSink:
    """Keeps every checkpoint of one log that it is given, and takes none that goes back."""

    name = "file"

    def __init__(self, folder: Path, log: str, *, limit: int = LIMIT) -> None:
        """Nothing is made before the first checkpoint comes. `limit`: bytes after which the next file is begun."""
        self._folder = folder
        self._log = log
        self._notebook = Notebook(folder / f"{file_name(log)}.checkpoints", limit=limit)
        self._given: Checkpoint | None = None  # what this process knows to be remembered
        self._unsure = False
        self.warning: str | None = None

    def send(self, note: str, growth: Growth) -> int:  # noqa: ARG002 - a file proves nothing; opening the log does
        """As `Sink.send`: on the disk when it returns."""
        checkpoint = self._parse(note)
        prepare(self._folder)
        last = self._notebook.last()
        kept = None if last is None else self._parse(last)
        for known in (kept, self._given):
            if known is not None:
                _check_growth(known, checkpoint)
        if self._given is not None and (kept is None or kept.size < self._given.size):
            self.warning = f"`{self._folder}` lost checkpoints that it held; is its disk mounted, did someone cut them?"
        if note != last or self._unsure:
            self._unsure = True
            self._notebook.append(note)
            self._unsure = False
        self._given = checkpoint
        return checkpoint.size

    def remembered(self) -> tuple[str, ...]:
        """The newest whole checkpoint, if there is one. Raises SinkError."""
        last = self._notebook.last()
        if last is None:
            return ()
        self._parse(last)
        return (last,)

    def files(self) -> tuple[Path, ...]:
        """The files with this log's checkpoints, oldest first, each as `audit.notebook.read_notes` reads it."""
        return self._notebook.files()

    def _parse(self, note: str) -> Checkpoint:
        try:
            checkpoint = Checkpoint.parse(split_note(note)[0])
        except NoteError as error:
            raise SinkError(f"not a checkpoint: {error}") from error
        if checkpoint.origin != self._log:
            raise SinkError(f"a checkpoint of the log `{checkpoint.origin}` stands among those of `{self._log}`")
        return checkpoint


def _check_growth(known: Checkpoint, new: Checkpoint) -> None:
    if new.size < known.size or (new.size == known.size and new.root != known.root):
        raise SinkError(
            f"the log was cut back or rewritten: {known.size} records are remembered and it shows {new.size}"
            f"{' others' if new.size == known.size else ''}; keep everything and run `verify`"
        )
