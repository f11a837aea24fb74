"""What a shell within a shell starts with, and what is left of it when it is done: variables, parameters, functions."""

from collections.abc import Mapping

from shield.facts.shell.state import State
from shield.facts.shell.variables import Attribute, Content, united

__all__ = ["fresh", "left", "restored", "with_given"]


def with_given(contents: Mapping[str, Content], state: State) -> None:
    """The assignments in front of a command are variables while it runs in this shell."""
    state.variables.update(contents)


def restored(state: State, before: State, contents: Mapping[str, Content]) -> State:
    for name in contents:
        state.variables[name] = united(before.value(name), state.value(name))
    return state


def left(state: State, before: State, contents: Mapping[str, Content]) -> State:
    """After a function: its parameters are gone, and what was local to it on some way there may be."""
    state.positional, state.stood = before.positional, before.stood
    for name in state.locals | contents.keys():
        state.variables[name] = united(before.value(name), state.value(name))
    for name in state.locals:
        if state.attributes.get(name) is Attribute.INTEGER and name not in before.attributes:
            del state.attributes[name]
    state.locals = before.locals
    return state


def fresh(state: State, contents: Mapping[str, Content], env: Mapping[str, str]) -> State:
    """Another shell: it has what is exported, variables and functions, and nothing else of this one's."""
    inner = state.copy()
    names = (*state.exported, *state.handed)
    exported = {name: value for name, value in state.variables.items() if name in env or name in names}
    # what was unset is exported only if it was told to be again
    inner.variables = {**exported, **dict.fromkeys(state.gone & state.variables.keys()), **contents}
    inner.functions = {name: bodies for name, bodies in state.functions.items() if f"{name}()" in state.handed}
    inner.attributes, inner.positional = {}, None
    inner.fed = False
    inner.split = inner.globs = True
    inner.vanishing = False
    inner.ending = False
    inner.previous, inner.stack, inner.locals = (None,), (), frozenset()
    return inner
