"""What remembers the log out of its own reach: a folder outside of every home, the system log, witnesses.

The folder keeps the newest checkpoints of each log and the list of all logs that were ever begun. Whoever removes a
home, puts an older copy in its place, or the log of another home, has not removed that: the next start finds it and
refuses. Whoever removes the folder itself leaves a log that was remembered in it: the next start says so.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from audit.clock import Clock
from audit.errors import AuditError, NoteError, SinkError
from audit.log import Log
from audit.note import VerifyKey
from audit.plain import unsealed_text
from audit.publisher import Publisher, SinkStatus
from audit.sinks import Sink
from audit.sinks.file import FileSink
from audit.sinks.register import Begun, Register
from audit.sinks.syslog import SyslogSink
from shield.config.home import Home, checkpoints_folder, holds, user_home
from shield.config.sections import Audit, Config
from shield.errors import ConfigError, StateError
from shield.service.home import read_trusted
from shield.service.ports import Remembered

__all__ = ["Outside", "check_folder", "check_listed", "last_begun", "list_log", "refuse_second"]

_LAST_S = 2.0  # for the last checkpoint to go out at the end; a witness that does not answer keeps nobody waiting


def check_folder(config: Config, home: Home, environ: Mapping[str, str]) -> str:
    """The folder that remembers checkpoints, if it lies apart from the home and from every workspace.

    Raises ConfigError.
    """
    folder, user = checkpoints_folder(config.audit.checkpoints, environ), os.path.realpath(user_home(environ))
    set_it = "set `[audit] checkpoints` in shield.toml to a folder of its own, best on another disk"
    if holds(home.path, folder):
        raise ConfigError(f"`{folder}` lies in Shield's home: who can change the log could change it, too; {set_it}")
    if holds(folder, user) or holds(folder, home.path):
        raise ConfigError(f"`{folder}` holds your home directory or Shield's; {set_it}")
    for root in map(os.path.realpath, (*config.workspaces.roots, *read_trusted(home))):
        if holds(root, folder) or holds(folder, root):
            raise ConfigError(f"`{folder}` and `{root}`, where agents work, lie in one another; {set_it}")
    return folder


def last_begun(folder: str, home: Home) -> Begun | None:
    """The newest log of this home that the folder lists. Raises StateError if the list cannot be read."""
    found = [one for one in _logs(folder, home) if one.where in home.names]
    return found[-1] if found else None


def _logs(folder: str, home: Home) -> tuple[Begun, ...]:
    try:
        return Register(Path(folder)).logs()
    except SinkError as error:
        raise StateError(f"{error}; without it nobody can tell whether a log of `{home.path}` is missing") from None


def refuse_second(folder: str, home: Home) -> None:
    """Raise StateError where a log of this home was begun before, though the home itself shows nothing of one."""
    begun = last_begun(folder, home)
    if begun is not None:
        raise StateError(
            f"the log `{begun.key.name}` of `{home.path}` was begun before, as `{folder}` remembers, and is gone;"
            " put the home back from a copy, or run `shield init --new-log REASON`"
        )


def check_listed(folder: str, home: Home, key: VerifyKey) -> str | None:
    """Hold the log that a home has against the list: a remark where that knows nothing of it, else None.

    Raises StateError where another log was begun last under a name of this home, or where the list cannot be read."""
    logs = _logs(folder, home)
    for name in home.names:
        last = next((one.key.name for one in reversed(logs) if one.where == name), key.name)
        if last != key.name:
            raise StateError(
                f"the log in `{home.path}` is `{key.name}`, but that of `{name}` is `{last}`, as `{folder}` remembers;"
                " put that one back from a copy, or begin a new log that says so with `shield init --new-log REASON`"
            )
    if any(one.key.name == key.name for one in logs):
        return None
    return (
        f"`{folder}` knows nothing of the log `{key.name}`, which was begun before: if nobody set another folder,"
        " it was emptied; compare the log with a checkpoint that you have elsewhere"
    )


def list_log(folder: str, home: Home, key: VerifyKey) -> str | None:
    """Have the folder list the log of this home, under each of its names, durably; why it could not, None where it
    did."""
    try:
        for name in home.names:
            Register(Path(folder)).begin(key, where=name, time_ms=time.time_ns() // 1_000_000)
    except SinkError as error:
        return f"the log `{key.name}` is not listed out of its reach: {error}"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The places that remember one log, `folder` first, and how often they are told. `remarks` are what was found odd
    about the folder when Shield started; they stay to be seen until the next start."""

    folder: str
    sinks: tuple[Sink, ...]
    interval_s: float
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Audit, folder: str, log: str, clock: Clock, *, remarks: Iterable[str] = ()) -> Self:
        """As `[audit]` says, for the log of this name. Raises ConfigError for a witness that cannot be used."""
        sinks: list[Sink] = [FileSink(Path(folder), log)]
        if settings.syslog:
            sinks.append(SyslogSink())
        for witness in settings.witnesses:
            # HTTP and TLS take memory and time that only this needs
            from audit.cosignature import WitnessKey
            from audit.sinks.witness import WitnessSink

            url, _, line = witness.partition(" ")
            try:
                sinks.append(WitnessSink(url, WitnessKey.parse(line), Path(folder), log, clock=clock))
            except (NoteError, SinkError) as error:
                raise ConfigError(f"`audit.witnesses`: {error}; take the line that the witness shows") from None
        names = [sink.name for sink in sinks]
        if len(set(names)) != len(names):
            raise ConfigError(f"`audit.witnesses`: two places go by one name among {', '.join(names)}; keep one")
        return cls(folder=folder, sinks=tuple(sinks), interval_s=settings.interval_s, remarks=tuple(remarks))

    def remembered(self) -> tuple[str, ...]:
        """The notes that the log has to agree with when it is opened. Raises StateError where they cannot be read."""
        try:
            return tuple(note for sink in self.sinks for note in sink.remembered())
        except AuditError as error:
            raise StateError(
                f"what is remembered of the log cannot be read: {error}; put the file back,"
                " or set `[audit] checkpoints` elsewhere if you know why it is broken"
            ) from None

    def publish(self, log: Log, clock: Clock) -> "Publishing":
        """Tell every place of the newest checkpoint from now on."""
        remarks = (*self.remarks, unsealed_text(log.taken_over)) if log.taken_over else self.remarks
        return Publishing(Publisher(log, self.sinks, interval_s=self.interval_s, clock=clock), clock, remarks)

    def compared(self, size: int, before: str | None) -> Self:
        """With remarks on a log that was opened with `size` records and says that it was remembered in `before`."""
        found = list(self.remarks)
        if before is not None and before != self.folder:
            found.append(
                f"the log was remembered in `{before}` and is now in `{self.folder}`; if nobody moved it, see why"
            )
        if size > 0 and not found and not self.sinks[0].remembered():
            found.append(f"the log has {size} records, and `{self.folder}` remembers none of them: were files removed?")
        return replace(self, remarks=tuple(found))


class Publishing:
    """The places being told; none of them can hold a verdict up."""

    def __init__(self, publisher: Publisher, clock: Clock, remarks: tuple[str, ...] = ()) -> None:
        """`remarks` are what was found odd about the log or its places when Shield started."""
        self.remarks = remarks
        self._publisher = publisher
        self._clock = clock

    def remembered(self) -> tuple[Remembered, ...]:
        """How each place stands."""
        now = self._clock.time_ms()
        first, *others = (_standing(status, now) for status in self._publisher.status())
        return (replace(first, trouble=first.trouble or "; ".join(self.remarks) or None), *others)

    def close(self) -> None:
        """Tell them of the last checkpoint. Call it after the log was closed."""
        self._publisher.close(_LAST_S)


def _standing(status: SinkStatus, now_ms: int) -> Remembered:
    return Remembered(
        name=status.name,
        size=status.size,
        age_s=None if status.at_ms is None else max(0, now_ms - status.at_ms) / 1000,
        behind_s=status.behind_ms / 1000,
        trouble=status.error or status.warning,
    )
