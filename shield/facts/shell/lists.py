"""Several parameters or elements at once: `$@`, `${a[*]}`, and operations on them (bash(1) Parameter Expansion)."""

from shield.facts.shell.grammar.script import Parameter, Part, PartKind
from shield.facts.shell.named import is_all
from shield.facts.shell.state import State
from shield.facts.shell.variables import Listed

__all__ = ["is_list", "one_at_most", "spreads"]

_DEFAULTS = frozenset((":-", "-", ":=", "=", ":?", "?"))
_ALTERNATIVES = frozenset((":+", "+"))


def is_list(parameter: Parameter) -> bool:
    """Whether it stands for all parameters, or for all elements of an array."""
    return parameter.name in ("@", "*") or is_all(parameter.index)


def one_at_most(parameter: Parameter, state: State) -> bool:
    """Whether it surely stands for no more than one text."""
    count = _count(parameter, state) if is_list(parameter) else 1
    return count is not None and count < 2


def spreads(part: Part, state: State) -> bool:
    """Whether the expansion may be no word or several, though it is quoted: `"${@#x}"`, `"${x:+$@}"`."""
    parameter = part.parameter
    if parameter is None:
        return part.kind is PartKind.VARIABLE and part.text == "@"
    if parameter.operator == "#length":
        return False
    if parameter.operator == "!names" or (parameter.indirect and is_all(parameter.index)):
        return True
    defaults = parameter.operator in _DEFAULTS
    within = defaults or parameter.operator in _ALTERNATIVES
    if within and any(spreads(piece, state) for word in parameter.words for piece in word):
        return True
    if not _is_apart(parameter):
        return False
    count = _count(parameter, state)
    if parameter.operator in _ALTERNATIVES:
        return count is None or count == 0
    return count != 1 and not (defaults and count == 0)


def _is_apart(parameter: Parameter) -> bool:
    """Whether it is `$@` or `${a[@]}`, whose words stay apart in quotes."""
    return is_list(parameter) and (parameter.name if parameter.index is None else parameter.index[0].text) == "@"


def _count(parameter: Parameter, state: State) -> int | None:
    """How many texts the list holds."""
    if parameter.index is not None:
        array = state.variables.get(parameter.name)
        return len(array.items) if isinstance(array, Listed) else None
    given = state.parameters()
    return None if given is None or any(value.several for value in given) else len(given)
