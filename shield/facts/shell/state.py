"""The shell's state as far as a line changes it: what variables may hold, where it may stand, what it was told."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from shield.facts.programs.exposed import UNKNOWN
from shield.facts.programs.reading import Value
from shield.facts.shell.grammar.script import Function
from shield.facts.shell.variables import OWN_VARIABLES, Attribute, Content, Fresh, united, wider
from shield.regex import regex

__all__ = ["State", "join", "joined_bases", "resumed", "skips_of"]

_MAX_BASES = 16
_MAX_SKIPS = 16
# Arrays that bash makes.
_ARRAYS = ("BASH_REMATCH", "COPROC", "DIRSTACK", "FUNCNAME", "GROUPS", "MAPFILE", "PIPESTATUS")

# Set by bash where the environment does not, or by whoever starts it.
_SET_TEXT = """
HOME PATH SHELL TERM MAILCHECK LANG USER LOGNAME
"""
_SET = frozenset(_SET_TEXT.split()) | OWN_VARIABLES
_SET_PREFIXES = ("BASH", "COMP_", "READLINE_", "HIST", "EPOCH", "FUNC")
_PARAMETER = regex(r"[1-9][0-9]*\Z")


def _elsewhere_set(name: str) -> bool:
    """Whether bash or the host sets the name, or it is none (`$-`)."""
    return not name.isidentifier() or name in _SET or name.startswith(_SET_PREFIXES)


class _Missing(Enum):
    MISSING = "missing"


_MISSING = _Missing.MISSING


@dataclass(slots=True)
class State:
    """`bases`: where the shell may stand; None among them is anywhere.

    A name that is missing from `variables` is not known, unless it is in `gone`: the line itself unset it. As far as is
    known nothing sets it while the state is `exact`: nothing ran that may have. `positional` is None where `$1…` are
    not known: in an exact state, because only the host could have set them. `functions` maps to what a name may have
    been defined as, None among them: maybe not at all. `fed`: standard input was redirected for what follows. `split`:
    words are split at blanks, as by default. `globs`: patterns are matched as by default. `vanishing`: one
    that matches nothing may be no word at all. `inexact`, shared by all copies: why the line is not understood; and so
    `arrays`: names that may be arrays by now.
    """

    variables: dict[str, Content]
    bases: tuple[str | None, ...]
    linked: bool = False
    inexact: list[str] = field(default_factory=list)
    exported: tuple[str, ...] = ()
    functions: dict[str, tuple[Function | None, ...]] = field(default_factory=dict)
    positional: tuple[Value, ...] | None = None
    attributes: dict[str, Attribute] = field(default_factory=dict)
    fed: bool = False
    split: bool = True
    globs: bool = True
    vanishing: bool = False
    searched: bool = False  # PATH was given another value in the line
    entered: bool = False  # and that is because the line entered an environment of the workspace
    previous: tuple[str | None, ...] = (None,)
    stack: tuple[tuple[str | None, ...], ...] = ()
    locals: frozenset[str] = frozenset()
    exact: bool = True
    gone: frozenset[str] = frozenset()
    arrays: set[str] = field(default_factory=lambda: set(_ARRAYS))
    handed: frozenset[str] = (
        frozenset()
    )  # what the script was given in its environment, and gives on; functions as `f()`
    stood: tuple[str | None, ...] = ()  # where the shell stood when `positional` was given
    made: frozenset[str] = frozenset()  # folders that the line surely made because nothing was there
    ending: bool = False  # what fails ends the shell (`set -e`)
    chances: tuple[str, ...] = ()  # letters of names that the line makes anew, where the shell may stand in one
    # what held where an expansion may have failed, shared by all copies; None: nothing follows the rest of that line
    skips: "list[State] | None" = field(default=None, compare=False, repr=False)
    within: bool = False  # in a substitution

    def copy(self) -> "State":
        """For a subshell, or a path that may not be taken."""
        return State(
            dict(self.variables),
            self.bases,
            self.linked,
            self.inexact,
            self.exported,
            dict(self.functions) if self.functions else {},
            self.positional,
            dict(self.attributes) if self.attributes else {},
            self.fed,
            self.split,
            self.globs,
            self.vanishing,
            self.searched,
            self.entered,
            self.previous,
            self.stack,
            self.locals,
            self.exact,
            self.gone,
            self.arrays,
            self.handed,
            self.stood,
            self.made,
            self.ending,
            self.chances,
            self.skips,
            self.within,
        )

    def perhaps(self, before: "State") -> None:
        """The expansions since `before` may not have been made."""
        if before.variables != self.variables:
            after = join(before, self) or self
            self.variables, self.gone = after.variables, after.gone

    def fail(self, *, ends: bool = False) -> None:
        """An expansion may fail here: then bash skips the rest of the line, and goes on with the next. `ends`: or with
        no more of this shell; that matters where its output is asked for."""
        if self.skips is None or (ends and not self.within):
            return
        if len(self.skips) >= _MAX_SKIPS:
            self.doubt("too many expansions may fail")
        else:
            self.skips.append(self.copy())

    def give(self, words: tuple[Value, ...]) -> None:
        """The words become `$1…`, here."""
        self.positional, self.stood = words, self.bases

    def parameters(self) -> tuple[Value, ...] | None:
        """`$1…`; names that a pattern or a program found stand for nothing known once the shell has moved."""
        if self.positional is None or self.stood == self.bases:
            return self.positional
        return tuple([value if value.fixed or value.number else _unfound(value) for value in self.positional])

    def shake(self) -> None:
        """Something ran that may have assigned: what was made anew may be named by other names, or by none."""
        self.exact = self.ending = False
        for name, content in self.variables.items():
            if isinstance(content, Fresh):
                self.variables[name] = None

    def standing(self) -> Content:
        """What `$PWD` is."""
        base = self.bases[0] if len(self.bases) == 1 and not self.linked else None
        chance = next((each for each in self.chances if each in (base or "")), None)
        return base if base is None or chance is None else Fresh(base, chance)

    def doubt(self, reason: str) -> None:
        if reason not in self.inexact:
            self.inexact.append(reason)

    def value(self, name: str) -> Content:
        """What a variable holds; the empty text where it is surely not set."""
        if name == UNKNOWN[1:]:
            return None  # by this name stands what is not known, whatever sets it
        found = self.variables.get(name, _MISSING)
        if not isinstance(found, _Missing):
            return found
        return "" if self.exact and not self.inexact and name in self.gone and not _elsewhere_set(name) else None

    def unset(self, name: str) -> bool:
        """Whether the line itself unset the variable."""
        return name not in self.variables and self.value(name) == ""

    def nothing_sets(self, name: str) -> bool:
        """Whether a variable or parameter is not known only because the host may have set it."""
        if not self.exact or self.inexact:
            return False
        if name in ("@", "*") or _PARAMETER.match(name):
            return self.positional is None
        return name not in self.variables and not _elsewhere_set(name)

    def known(self) -> dict[str, str | None]:
        """Every variable with its text, None where that is not one known text."""
        return {name: value if isinstance(value, str) else None for name, value in self.variables.items()}


def _unfound(value: Value) -> Value:
    return Value(text=value.text, known=False, many=value.many or value.several)


def skips_of(text: str) -> "list[State] | None":
    """What `State.skips` begins as for a text that a shell reads line by line."""
    return [] if "\n" in text.strip() else None


def resumed(state: State) -> State:
    """The state behind a command, or behind a line of which the rest was skipped."""
    for skipped in state.skips or ():
        state = join(state, skipped) or state
    return state


def joined_bases(first: tuple[str | None, ...], second: tuple[str | None, ...]) -> tuple[str | None, ...]:
    union = tuple(dict.fromkeys((*first, *second)))
    return union if len(union) <= _MAX_BASES else (None,)


def join(first: State | None, second: State | None, *, widen: bool = False) -> State | None:
    """The state after either. `widen`: differences become what repeating them cannot change any more."""
    if first is None or second is None or first is second:
        return first if second is None else second
    meet = wider if widen else united
    variables: dict[str, Content] = {}
    for name, value in first.variables.items():
        other = second.variables.get(name, _MISSING)
        if isinstance(other, _Missing):
            variables[name] = _maybe_unset(value, second.value(name), meet)
        else:
            variables[name] = value if value is other else meet(value, other)
    for name in second.variables.keys() - first.variables.keys():
        variables[name] = _maybe_unset(second.variables[name], first.value(name), meet)
    bases = joined_bases(first.bases, second.bases)
    if widen and bases != first.bases:
        bases = (None,)
    functions = dict(first.functions)
    if first.functions != second.functions:
        for name in first.functions.keys() | second.functions.keys():
            bodies = (*first.functions.get(name, (None,)), *second.functions.get(name, (None,)))
            functions[name] = tuple(dict.fromkeys(bodies))
    attributes = first.attributes
    if first.attributes != second.attributes:
        attributes = {**first.attributes, **second.attributes}
        attributes.update(
            (name, Attribute.INTEGER)
            for name in attributes
            if Attribute.INTEGER in (first.attributes.get(name), second.attributes.get(name))
        )
    return State(
        variables,
        bases,
        first.linked or second.linked,
        first.inexact,
        first.exported
        if first.exported == second.exported
        else tuple(dict.fromkeys((*first.exported, *second.exported))),
        functions,
        first.positional if first.positional == second.positional else None,
        dict(attributes),
        first.fed or second.fed,
        first.split and second.split,
        first.globs and second.globs,
        first.vanishing or second.vanishing,
        first.searched or second.searched,
        first.entered >= first.searched and second.entered >= second.searched and first.entered | second.entered,
        joined_bases(first.previous, second.previous),
        first.stack if first.stack == second.stack else (),
        first.locals | second.locals,
        first.exact and second.exact and first.positional == second.positional,
        # of what is set again, all that matters is that it may not be exported any more
        (first.gone & second.gone) | ((first.gone | second.gone) & variables.keys()),
        first.arrays,
        first.handed | second.handed,
        first.stood if first.stood == second.stood else (),
        first.made & second.made,
        first.ending and second.ending,
        first.chances if first.chances == second.chances else tuple(dict.fromkeys((*first.chances, *second.chances))),
        first.skips,
        first.within,
    )


def _maybe_unset(value: Content, missing: Content, meet: Callable[[Content, Content], Content]) -> Content:
    """`${x-y}` tells an empty variable from one that is not set."""
    return None if value == "" else meet(value, missing)
