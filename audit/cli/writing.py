"""What the commands share that write a log: opening it with its key, which no other process may have done."""

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from audit.cli.terms import FILE
from audit.errors import KeyFileError, NoteError, PassphraseError, ReadError
from audit.plain import unsealed_text

if TYPE_CHECKING:
    from audit.log import Log
    from audit.private import MasterKey

__all__ = ["Access", "ask_twice", "opened", "writing"]

_MAX_PASSPHRASE: Final = 4096


class Access:
    """Where the log's key is, the checkpoint beside the log and those kept `outside` (files of notes), and what opens
    the key; `passphrase` is known once it was needed."""

    def __init__(
        self, keys: Path, checkpoint_file: Path | None, passphrase_fd: int | None, outside: Sequence[Path] = ()
    ) -> None:
        self.keys = keys
        self.checkpoint_file = checkpoint_file
        self.outside = tuple(outside)
        self.passphrase: str | None = None
        self._descriptor = passphrase_fd

    def ask(self) -> str:
        """The passphrase from the descriptor given, else from the terminal. Raises PassphraseError."""
        if self._descriptor is None and not sys.stdin.isatty():
            raise PassphraseError(f"the key in `{self.keys}` needs its passphrase; give it with `--passphrase-fd`")
        if self._descriptor is None:
            self.passphrase = click.prompt("Passphrase of the log's key", hide_input=True, err=True)
        else:
            self.passphrase = _read(self._descriptor)
        return self.passphrase


def writing(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `Access` is made of; the command gets it as `access`."""
    folder = click.Path(path_type=Path, file_okay=False)

    @functools.wraps(command)
    def with_access(
        *arguments: Any,
        keys: Path,
        checkpoint_file: Path | None,
        passphrase_fd: int | None,
        outside: tuple[Path, ...],
        **more: Any,
    ) -> Any:
        return command(*arguments, access=Access(keys, checkpoint_file, passphrase_fd, outside), **more)

    decorated: Callable[..., Any] = with_access
    for option in (
        click.option(
            "--passphrase-fd", type=click.IntRange(min=0), help="Read the key's passphrase from this descriptor."
        ),
        click.option(
            "--outside", type=FILE, multiple=True, help="Checkpoints kept elsewhere: the log must hold what they cover."
        ),
        click.option("--checkpoint-file", type=FILE, help="The log's own checkpoint.  [default: beside DB]"),
        click.option("--keys", "keys", type=folder, required=True, help="Directory with the log's key."),
    ):
        decorated = option(decorated)
    return decorated


def ask_twice() -> str:
    """A new passphrase, typed twice. Raises PassphraseError where there is no terminal."""
    if not sys.stdin.isatty():
        raise PassphraseError("a new passphrase is typed on a terminal; there is none")
    return str(click.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True))


@contextmanager
def opened(db: Path, access: Access, program: str, *, master: "MasterKey | None" = None) -> Iterator["Log"]:
    """The log, opened with the kinds it has; what it took over unsigned is said. Raises AuditError, LogBusyError where
    its writer runs."""
    from audit import keys
    from audit.opening import open_log
    from audit.reader import kinds_in_force

    outside = [_largest(file) for file in access.outside]
    kinds = kinds_in_force(db)
    try:
        key = keys.load(access.keys, log=db)
    except PassphraseError:
        key = keys.load(access.keys, access.ask(), log=db)
    with open_log(
        db,
        key,
        kinds,
        checkpoint_file=access.checkpoint_file,
        master=master,
        outside=outside,
        body={"program": program},
    ) as log:
        if log.taken_over:
            click.echo(f"note: {unsealed_text(log.taken_over)}", err=True)
        yield log


def _largest(file: Path) -> str:
    """Of a file's checkpoints the one that covers most; a torn one at its end is none. Raises ReadError."""
    from audit.checkpoint import Checkpoint
    from audit.note import split_note
    from audit.notebook import read_notes

    found: dict[int, str] = {}
    for note, ended in read_notes(file):
        try:
            size = Checkpoint.parse(split_note(note)[0]).size
        except NoteError as error:
            if ended or not found:
                raise ReadError(f"`{file}` holds no checkpoint where one should be: {error}") from error
            continue
        if not found or size > max(found):
            found = {size: note}
    if not found:
        raise ReadError(f"`{file}` holds no checkpoint")
    return found.popitem()[1]


def _read(descriptor: int) -> str:
    try:
        with open(descriptor, "rb") as file:
            line = file.read(_MAX_PASSPHRASE).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"no passphrase can be read from the descriptor {descriptor}") from error
    return line.removesuffix(os.linesep)
