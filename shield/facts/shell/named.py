"""What a name stands for: a variable or a parameter of the shell, with no operation that runs or assigns anything."""

from collections.abc import Sequence

from shield.facts.programs.reading import Value
from shield.facts.shell.environment import may_be_secret
from shield.facts.shell.grammar.script import LITERAL, Parameter, PartKind, Word
from shield.facts.shell.state import State
from shield.facts.shell.variables import Content, Fresh, Keyed, Listed, Matching, Number, Secret
from shield.regex import regex

__all__ = ["NAME", "fresh_of", "is_all", "is_plain", "is_unset", "length", "may_lack", "secret_in", "value_of"]

NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NUMBERS = frozenset(("?", "#", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "UID", "EUID", "BASHPID"))
_NATURAL = Number(natural=True)


def value_of(name: str, state: State) -> Content:
    """What `$name` stands for."""
    if name == "PWD":
        return state.standing()
    positional = state.parameters()
    if positional is not None and any(value.many for value in positional):
        positional = None
    if name.isdigit():
        return None if positional is None or int(name) == 0 else _parameter_at(int(name), positional, state)
    if name in ("@", "*"):
        fixed = positional is not None and all(value.fixed for value in positional)
        return " ".join(value.text for value in positional) if fixed and positional is not None else None
    if name == "#" and positional is not None and not any(value.several for value in positional):
        return str(len(positional))
    if name in _NUMBERS:
        return Number(natural=True, maybe=name == "!")
    if name == "PPID":
        return Number()  # of the program that guards this one: to `kill` it is no number like others
    found = state.value(name)
    if isinstance(found, Listed):
        return found.items[0] if found.items else ""
    return None if isinstance(found, Keyed) else found


def _parameter_at(place: int, positional: tuple[Value, ...], state: State) -> Content:
    """`$1…`; behind one that may be several words, any may be any of these."""
    if any(value.several for value in positional[: place - 1]):
        return None
    if place > len(positional):
        return ""
    value = positional[place - 1]
    if value.several:
        return Matching(value, state.bases)
    if value.fresh or value.lost is not None:
        return fresh_of(value)
    return value.text if value.fixed else _NATURAL if value.number else None


def fresh_of(value: Value) -> Content:
    """The name of what the line makes anew, given as a word."""
    lost = value.lost.words if value.lost is not None else ()
    if not value.fixed or len(lost) > 1 or not all(each.fixed for each in lost):
        return None
    chance = value.fresh or (value.lost.name if value.lost is not None else "")
    return Fresh(value.text, chance, lost[0].text if lost else None if value.lost is None else "")


def is_plain(word: Word) -> bool:
    """Whether the word as a pattern matches one text alone."""
    return all(part.quoted or (part.kind is LITERAL and not set(part.text) & set("*?[")) for part in word)


def secret_in(word: Word, state: State) -> Secret | None:
    """The first secret that the word would put where it is expanded. Looking runs nothing."""
    for part in word:
        parameter = part.parameter
        if parameter is not None and (within := _first_in(parameter.words, state)) is not None:
            return within
        if parameter is not None and (parameter.operator == "#length" or parameter.operator.endswith("+")):
            continue  # its length, or whether it is set
        name = part.text if parameter is None else parameter.name
        if part.kind not in (PartKind.VARIABLE, PartKind.PARAMETER) or not NAME.match(name):
            continue
        found = state.value(name)
        if isinstance(found, Secret):
            return found
        if found is None and may_be_secret(name):
            return Secret("$" + name)
    return None


def is_all(index: Word | None) -> bool:
    """Whether a subscript is `@` or `*`."""
    return index is not None and len(index) == 1 and index[0].kind is LITERAL and index[0].text in ("@", "*")


def is_unset(parameter: Parameter, state: State) -> bool:
    """Whether the line itself unset the variable, or made it an array in which nothing is, or left no parameters."""
    if parameter.indirect:
        return False
    if parameter.name in ("@", "*"):
        return state.parameters() == ()
    found = state.variables.get(parameter.name)
    if isinstance(found, Listed) and not found.items:
        return True
    return parameter.index is None and state.unset(parameter.name)


def may_lack(parameter: Parameter, state: State) -> bool:
    """Whether an empty text may stand for what is not set."""
    lacks = parameter.name in state.gone or parameter.name.isdigit()
    return lacks or parameter.index is not None or parameter.indirect


def length(parameter: Parameter, subject: Content, state: State) -> Content:
    """What `${#…}` stands for; `subject`: the variable that it is of."""
    array = state.variables.get(parameter.name)
    if is_all(parameter.index):
        return str(len(array.items)) if isinstance(array, Listed) else _NATURAL
    if parameter.name in ("@", "*"):
        return value_of("#", state)
    return str(len(subject)) if isinstance(subject, str) and subject.isascii() else _NATURAL


def _first_in(words: Sequence[Word], state: State) -> Secret | None:
    """Of the words behind an operator: a default, what is put in."""
    return next((found for word in words if (found := secret_in(word, state)) is not None), None)
