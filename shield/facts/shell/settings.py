"""Assignments: what a variable becomes, and what that changes in how the rest of the line runs."""

from collections import Counter
from functools import reduce

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.shell.arithmetic import UntrustedError, evaluate
from shield.facts.shell.content import Shell, calculated, content_of
from shield.facts.shell.environment import Influence, influence
from shield.facts.shell.expand import expand
from shield.facts.shell.grammar.script import Assignment
from shield.facts.shell.named import secret_in
from shield.facts.shell.state import State
from shield.facts.shell.tilde import Mode
from shield.facts.shell.variables import (
    INTEGER,
    OWN_VARIABLES,
    Attribute,
    Content,
    Keyed,
    Listed,
    Number,
    Secret,
    is_natural,
    united,
)

__all__ = ["Settings"]

# Of the shell's own those that may hold anything: what they hold is not relied on, wherever it is read (`_` is
# overwritten by every command that runs).
_FREE = frozenset(("REPLY", "MAPFILE", "OPTARG", "COLUMNS", "LINES", "HOSTNAME", "PS1", "PS2", "PS3", "_"))
_COUNTERS = frozenset(("SECONDS", "RANDOM", "OPTIND", "OPTERR"))
_SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_DEFAULT_IFS = " \t\n"
_MAX_NOTED = 32  # contents of one variable that are kept apart


class Settings:
    """What a line assigns. `assigned`: every name it does, whatever the way."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.assigned: set[str] = set()
        self._noted: dict[str, list[Content]] = {}
        self._times: Counter[str] = Counter()
        self.shakes = 0  # how often something ran that may have assigned whatever it likes
        self.sets = 0  # how often a variable was set, or unset, that is not a function's own

    def note(self, name: str, content: Content) -> None:
        """A variable held this at some time."""
        self._times[name] += 1
        noted = self._noted.setdefault(name, [])
        if len(noted) <= _MAX_NOTED and content not in noted:
            noted.append(content)

    def shake(self) -> None:
        """Something ran that may have assigned whatever it likes."""
        self.shakes += 1

    def unset(self, name: str) -> None:
        """A variable, or the function by this name, is gone."""
        self.sets += 1
        self.note(name, "")

    def may_lack(self, name: str) -> bool:
        """Whether something may have unset the function by this name; `unset` takes variables, too."""
        noted = self._noted.get(name, [])
        return self.shakes > 0 or len(noted) > _MAX_NOTED or "" in noted

    def ever(self, name: str, held: Content) -> Content:
        """What a variable may hold after it held `held`, at any time and whatever way the line goes. What made it fails
        perhaps where it runs again."""
        noted = self._noted.get(name, [])
        if self.shakes or len(noted) > _MAX_NOTED:
            return None
        return held if self._times[name] <= 1 else reduce(united, noted, held)

    def value(self, assignment: Assignment, state: State, shell: Shell) -> Content:
        """What an assignment gives its variable, old content taken into account."""
        old = state.value(assignment.name)
        if not assignment.plain:
            state.arrays.add(assignment.name)
        if assignment.items is not None:
            return self._array(assignment, old, state, shell)
        new = content_of(assignment.value, state, shell, Mode.ASSIGNED)
        if assignment.index is not None or not assignment.plain:
            if assignment.index is not None and not isinstance(old, Keyed):
                place = calculated(assignment.index, state, shell)
                if not is_natural(place):
                    state.fail()
            elif assignment.index is not None:
                content_of(assignment.index, state, shell, Mode.WHOLE)
            kept = old if isinstance(old, Keyed | Secret) else None
            return new if isinstance(new, Secret) else kept
        if not assignment.append or isinstance(new, Secret):
            return new
        if isinstance(old, Secret):
            return old
        if state.attributes.get(assignment.name) is Attribute.INTEGER:
            state.doubt("an integer is added to")
            return Number()
        if isinstance(old, Listed | Keyed):
            return None
        return old + new if isinstance(old, str) and isinstance(new, str) else None

    def _array(self, assignment: Assignment, old: Content, state: State, shell: Shell) -> Content:
        items: list[str] = []
        known = not isinstance(old, Keyed)
        secret: Secret | None = None
        for item in assignment.items or ():
            if item.index is not None:
                if isinstance(old, Keyed):
                    content_of(item.index, state, shell, Mode.WHOLE)
                else:
                    calculated(item.index, state, shell)
                known = False
            secret = secret or secret_in(item.value, state)
            for value in expand(item.value, state, shell):
                known &= value.fixed
                items.append(value.text)
                if value.pattern is not None and (value.pattern[0] == "/" or ".." in value.pattern.split("/")):
                    # No command has this word: nobody would see that names of another directory are read.
                    state.doubt("an array takes names from elsewhere")
        if not known:
            return old if isinstance(old, Keyed) else secret
        if not assignment.append:
            return Listed(tuple(items))
        before = (
            ()
            if state.unset(assignment.name)
            else old.items
            if isinstance(old, Listed)
            else (old,)
            if isinstance(old, str)
            else None
        )
        return None if before is None else Listed((*before, *items))

    def assign(self, name: str, content: Content, state: State) -> None:
        """A variable of the shell itself; exported already if the environment has it."""
        self.assigned.add(name)
        self.sets += name not in state.locals
        self.note(name, content)
        attribute = state.attributes.get(name)
        if attribute is Attribute.CHANGED:
            state.fail()  # of what is readonly
            content = None
        elif attribute is Attribute.INTEGER:
            content = self._integer(content, state)
        if name == "IFS":
            if isinstance(content, Secret):
                state.doubt("a secret stands between words")
            state.split = content == _DEFAULT_IFS
            return
        if name == "PATH":
            self._path(content, state)
            return
        if name in OWN_VARIABLES or name == "BASH_REMATCH":
            if isinstance(content, Secret):
                state.doubt(f"a secret is kept in `{name}`")
            counter = isinstance(content, Number) or (isinstance(content, str) and bool(INTEGER.match(content)))
            if name not in _FREE and name != "BASH_REMATCH" and not (name in _COUNTERS and counter):
                state.doubt(f"`{name}` is assigned")
            return
        kind = influence(name, content if isinstance(content, str) else None)
        if kind is Influence.CODE:
            state.doubt(f"`{name}` is assigned")
        elif influence(name) is not Influence.NONE and name in self._place.env and name not in state.exported:
            state.exported = (*state.exported, name)
        state.variables[name] = content

    def _integer(self, content: Content, state: State) -> Content:
        if isinstance(content, Number):
            return content
        try:
            if not isinstance(content, str):
                raise UntrustedError
            return evaluate(content, state, lambda name, value: self.assign(name, value, state))
        except UntrustedError:
            state.doubt("arithmetic on what is not known to be a number")
            return Number()

    def _path(self, content: Content, state: State) -> None:
        """Directories of the system and of the workspace may be put into PATH: what then runs is looked for there."""
        state.variables["PATH"] = None
        state.entered = False
        if not isinstance(content, str):
            state.doubt("`PATH` is assigned")
            return
        before = self._place.env.get("PATH", "").split(":")
        entries = content.split(":")
        for entry in entries:
            if entry not in before and entry not in _SYSTEM_PATH and not self._inside(entry):
                state.doubt("`PATH` is assigned")
                return
        state.variables["PATH"] = content
        # What is only appended is looked at last.
        added = entries[: len(before)] != before
        state.searched |= added and any(entry not in before and entry not in _SYSTEM_PATH for entry in entries)

    def _inside(self, entry: str) -> bool:
        if not entry.startswith("/"):
            return False
        found = resolve_path(entry, self._place, base=None, expand_tilde=False)
        roots = [
            resolve_path(root, self._place, base=None, expand_tilde=False).path for root in self._place.workspace_roots
        ]
        return found.path is not None and any(root and f"{found.path}/".startswith(f"{root}/") for root in roots)
