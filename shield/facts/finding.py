"""The facts of one action while they are being found."""

from collections.abc import Callable
from dataclasses import dataclass, field

from shield.actions.registry import ActionType
from shield.facts.beneath import Look, look_beneath
from shield.facts.hosts import host_fact
from shield.facts.paths import path_fact, resolve_path
from shield.facts.place import Place
from shield.facts.recipients import recipients
from shield.facts.shell import analyse
from shield.types import (
    Access,
    Action,
    CommandFact,
    Facts,
    HostFact,
    Operation,
    PathFact,
    ResultFact,
    SecretFact,
    ShellFact,
    TextFact,
)

__all__ = ["STARTED_IN", "Finding", "OutOfTimeError"]

# The `source` of the path that a command is started in: it is looked at, but that alone reads nothing.
STARTED_IN = "/cwd"
_MAX_PATHS = 1_000
_MAX_HOSTS = 500
_MAX_COMMANDS = 32  # command lines, not commands
_ACCESS = {
    Access.READ: Operation.READ,
    Access.LIST: Operation.READ,
    Access.WRITE: Operation.WRITE,
    Access.DELETE: Operation.DELETE,
    Access.EXECUTE: Operation.EXECUTE,
}


class OutOfTimeError(Exception):
    """The deadline has passed."""


@dataclass(slots=True, kw_only=True)
class Finding:
    """What was found so far. `facts()` is as cautious as Facts' defaults until `complete`."""

    action: Action
    type: ActionType
    place: Place
    deadline: Callable[[], bool] | None = None
    paths: list[PathFact] = field(default_factory=list)
    commands: list[CommandFact] = field(default_factory=list)
    parsed: bool = True
    hosts: list[HostFact] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    secrets: list[SecretFact] = field(default_factory=list)
    text: list[TextFact] = field(default_factory=list)
    results: list[ResultFact] = field(default_factory=list)
    operations: set[Operation] = field(default_factory=set)
    malformed: bool = False
    unknown: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    lines: int = 0
    complete: bool = False

    def tick(self) -> None:
        """Raise OutOfTimeError when time is up."""
        if self.deadline is not None and self.deadline():
            raise OutOfTimeError

    def path(
        self, raw: str, access: Access, source: str, *, base: str | None = None, recursive: bool = False
    ) -> PathFact | None:
        """Add the fact of a path that stands at the JSON pointer `source`, relative to `base` or the action's cwd."""
        self.tick()
        if len(self.paths) >= _MAX_PATHS:
            self.unknown.append(f"there are more than {_MAX_PATHS} paths")
            return None
        start = self.place.cwd if base is None else base
        fact = path_fact(raw, access, self.place, base=start, recursive=recursive, source=source)
        if fact not in self.paths:
            self.paths.append(fact)
            self.paths += self._beneath(fact)
        if source != STARTED_IN:
            self.operations.add(_ACCESS[access])
        if fact.resolved is None:
            why = resolve_path(raw, self.place, base=start).unknown or "this access to it means something else"
            self.unknown.append(f"the path at {source}: {why}")
        return fact

    def _beneath(self, fact: PathFact) -> list[PathFact]:
        """Secrets in a tree that is searched or packed. git shows what it tracks, moving shows nothing."""
        if not (fact.recursive and fact.access is Access.READ and fact.inside_workspace and fact.exists):
            return []
        name = self.type.name
        if fact.resolved is None or name.startswith("git_") or name == "move_file":
            return []
        # agentctl's searches leave hidden entries out; a field that they do not know may ask for them.
        plain = name == "grep_files" and self.action.payload.keys() <= {"pattern", "path"}
        met = look_beneath(fact.resolved, self.place, Look(hidden=not plain))
        if not (met.complete or plain):
            self.unknown.append(f"what stands beneath the path at {fact.source} is too much to be looked at")
        found = [
            path_fact(path, Access.READ, self.place, base=None, recursive=True, source=fact.source)
            for path in met.entries
        ]
        return [each for each in found if each.categories & {"credential", "secret_store"} and each not in self.paths]

    def is_directory(self, raw: str) -> bool:
        """Whether a path stands for a directory, or may: what is unknown may."""
        found = resolve_path(raw, self.place, base=self.place.cwd)
        return found.path is None or (found.stat is not None and found.stat.kind.value == "directory")

    def host(self, text: str, source: str) -> None:
        """Add the host of a URL or a bare host name."""
        self.tick()
        fact = host_fact(text)
        if fact is None:
            self.unknown.append(f"the host at {source} is not certain")
        elif len(self.hosts) >= _MAX_HOSTS:
            self.unknown.append(f"there are more than {_MAX_HOSTS} hosts")
        elif fact not in self.hosts:
            self.hosts.append(fact)
        self.operations.add(Operation.NETWORK)

    def reach(self, value: str, source: str) -> None:
        """Add the recipients named in `value`."""
        found, unknown = recipients([value])
        self.recipients += [name for name in found if name not in self.recipients]
        self.unknown += [f"{line} at {source}" for line in unknown]
        self.operations.add(Operation.MESSAGE)

    def command(self, line: str, source: str, *, stdin: str | None = None) -> None:
        """Add everything that a command line would run and touch."""
        self.tick()
        self.lines += 1
        if self.lines > _MAX_COMMANDS:
            self.parsed = False
            self.unknown.append(f"there are more than {_MAX_COMMANDS} command lines")
            return
        # INVARIANT: until the analysis is in, the line counts as not understood.
        understood, self.parsed = self.parsed, False
        analysis = analyse(line, self.place, stdin=stdin)
        offset = len(self.commands)
        self.commands += analysis.commands
        self.paths += [_shifted(path, offset) for path in analysis.paths]
        self.hosts += [host for host in analysis.hosts if host not in self.hosts]
        self.operations |= analysis.operations | {Operation.EXECUTE}
        self.unknown += [f"the command at {source}: {why}" for why in analysis.unknown]
        self.absent += [name for name in analysis.absent if name not in self.absent]
        self.parsed = understood and analysis.parsed

    def facts(self) -> Facts:
        """The facts as they stand."""
        unknown = tuple(dict.fromkeys(self.unknown))
        if not self.complete and not unknown:
            unknown = ("the facts are not complete",)
        return Facts(
            paths=tuple(self.paths),
            commands=tuple(self.commands),
            shell=ShellFact(parsed=self.parsed and self.complete),
            hosts=tuple(self.hosts),
            recipients=tuple(self.recipients),
            secrets=tuple(self.secrets),
            text=tuple(self.text),
            result=tuple(self.results),
            operations=self.type.operations | self.operations if self.complete else frozenset(Operation),
            malformed=self.malformed or not self.complete,
            session=self.place.session,
            unknown=unknown,
            absent=tuple(self.absent) if self.complete else (),
        )


def _shifted(path: PathFact, offset: int) -> PathFact:
    """A path of the analysed line's `commands[i]` as one of all the action's commands."""
    if not offset or not path.source.startswith("commands["):
        return path
    index = path.source[len("commands[") :].partition("]")[0]
    if not index.isdigit():
        return path
    return PathFact(
        raw=path.raw,
        resolved=path.resolved,
        access=path.access,
        inside_workspace=path.inside_workspace,
        exists=path.exists,
        symlink=path.symlink,
        recursive=path.recursive,
        categories=path.categories,
        covers=path.covers,
        source=f"commands[{int(index) + offset}]",
    )
