"""What the environment, and what the line did before, change in what a command does."""

from collections.abc import Mapping

from shield.facts.place import Place
from shield.facts.programs.git.staging import after_changes, leads, stages
from shield.facts.programs.installs import environment_of, guarded_by_install, may_install
from shield.facts.programs.leading import mention_value, search_path
from shield.facts.programs.meant import meant
from shield.facts.programs.reading import Reading, Value
from shield.facts.shell.called import Called
from shield.facts.shell.environment import Influence, influence, is_plain_setting, names_locale, steers_tools
from shield.facts.shell.frame import Call, Frame
from shield.facts.shell.record import Record
from shield.facts.shell.state import State
from shield.types import Access, CommandFact, Operation, Origin, RunsCode

__all__ = ["Circumstances"]

_NOWHERE = frozenset(("/dev/null", "1", "2"))
# What git does to its index and its history alone.
_INDEXING = frozenset(("add", "commit", "stage"))
_READERS = frozenset(("read", "mapfile", "readarray"))


class Circumstances:
    """What the commands of one line leave to those behind them."""

    def __init__(self, place: Place, record: Record) -> None:
        self._place = place
        self._record = record
        self._aliases: set[str] = set()
        self._staged = False  # git may have been told of another repository
        self._led = False  # or of another upstream of a branch
        self._activated: list[str] = []  # environments

    def apply(self, called: Called, call: Call, state: State, frame: Frame, reading: Reading) -> None:
        """Change `reading` by what holds where the command stands."""
        name, builtin = called.name, called.found.origin is Origin.BUILTIN
        self._renamed(name, call.words, state, reading, builtin=builtin)
        # one that only changes the shell takes no notice of what it is not told to
        quiet = builtin and name in _READERS and "IFS" in call.shown
        self.influenced(
            {key: text for key, text in call.shown.items() if key != "IFS"} if quiet else call.shown, state, reading
        )
        self._installs(name, call, state, frame, reading)
        if name == "git":
            self._git(call.words[1:], state, reading)
        if name == "man" and state.variables.get("PATH") != self._place.env.get("PATH"):
            reading.run(RunsCode.INLINE)  # its pages, too, are looked for beside the directories of PATH

    def influenced(self, assignments: Mapping[str, str], state: State, reading: Reading) -> None:
        """By the assignments in front of the command, and by what the line exports."""
        if not assignments and not state.exported:
            return
        given: dict[str, str | None] = dict(assignments)
        for name in state.exported:
            if name not in given:
                value = state.variables.get(name)
                given[name] = value if isinstance(value, str) else None
        for name, value in given.items():
            if name == "PATH" and name not in assignments:
                continue  # programs are looked for in it
            if value is not None and value == self._place.env.get(name) == state.variables.get(name):
                continue  # as it was
            kind = influence(name, value)
            if kind is Influence.LOCALE and value is not None and not names_locale(name, value):
                kind = Influence.CODE
            if kind is Influence.OTHER and reading.runs is not RunsCode.NONE and steers_tools(name, value):
                kind = Influence.CODE
            match kind:
                case Influence.CODE:
                    reading.code = True
                    reading.run(RunsCode.INLINE)
                case Influence.LOCALE if value is None:
                    self._steered(name, value, state, reading)
                case Influence.SEARCH:
                    if reading.runs is RunsCode.FETCHED:
                        reading.unknown.append(f"what `{name[:80]}` changes in what runs is not known")
                    search_path(reading, value)
                case Influence.OTHER:
                    self._steered(name, value, state, reading)

    def _steered(self, name: str, value: str | None, state: State, reading: Reading) -> None:
        """By a variable of which nothing is known."""
        # make and others expand a `$` in what they find in the environment.
        steers = value is None or "$" in value or "`" in value
        if reading.runs is RunsCode.FETCHED or (reading.runs is not RunsCode.NONE and steers):
            reading.unknown.append(f"what `{name[:80]}` changes in what runs is not known")
        if reading.runs is not RunsCode.NONE:
            mention_value(reading, Value(text=value or ""), home=self._place.home)
            # `COVERAGE_FILE=.git/config`; what a program reads of a secret it may read without being told
            meant(reading, value or "", self._place, state.bases, doubtful=True, secrets=False)
        if reading.runs is not RunsCode.NONE or not is_plain_setting(name, value):
            reading.caution()

    def _renamed(self, name: str, words: tuple[Value, ...], state: State, reading: Reading, *, builtin: bool) -> None:
        """By names that mean something else than they did."""
        if state.searched and name in ("source", "."):
            reading.code = True  # a name without a slash is looked for in the PATH of the line
        if name in self._aliases:
            reading.code = True  # expanded by a shell that is told to, or that a host keeps open
        if name == "alias" and builtin:
            self._aliases.update(word.text.partition("=")[0] for word in words if "=" in word.text)

    def _installs(self, name: str, call: Call, state: State, frame: Frame, reading: Reading) -> None:
        """Add the guarded environment that an installer would change."""
        words = call.words
        if name in ("source", ".") and len(words) > 1 and words[1].fixed:
            entered = [environment_of(words[1].text, self._place, base) for base in state.bases]
            self._activated += [path for path in entered if path is not None]
        if frame.elsewhere or not may_install(name):
            return
        variables = {**state.known(), **call.shown}
        for value in guarded_by_install(words, name, self._place, state.bases, variables, self._activated):
            reading.path(value, Access.WRITE)

    def _git(self, words: tuple[Value, ...], state: State, reading: Reading) -> None:
        """Judge git anew where earlier commands of the line changed what it will find."""
        paths = self._record.paths
        written = (fact.resolved for fact in paths if fact.access is Access.WRITE and fact.resolved is not None)
        if reading.runs is RunsCode.NONE and after_changes(words, staged=self._staged, led=self._led, written=written):
            reading.run(RunsCode.WORKSPACE)
        self._led |= leads(words)
        self._staged |= stages(words, self._place, state.bases, still=self._is_still())

    def _is_still(self) -> bool:
        """Whether no command so far has changed a file: git may have changed its index."""
        return all(
            each.runs_code is RunsCode.NONE
            and (
                each.operations.isdisjoint((Operation.WRITE, Operation.DELETE))
                or (each.name == "git" and each.argv[1:2] and each.argv[1] in _INDEXING and _prints_nowhere(each))
            )
            for each in self._record.commands
        )


def _prints_nowhere(command: CommandFact) -> bool:
    """Whether no redirection of the command opens a file."""
    return all(each.target in _NOWHERE for each in command.redirects)
