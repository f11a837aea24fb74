"""What holds when something trapped runs: at any time behind the `trap`, whatever way the line goes."""

from collections.abc import Mapping

from shield.facts.shell.environment import may_be_secret
from shield.facts.shell.settings import Settings
from shield.facts.shell.state import State
from shield.facts.shell.variables import OWN_VARIABLES, Fresh

__all__ = ["later"]


def later(ever: State, held: State, settings: Settings, env: Mapping[str, str]) -> State:
    """The state then. `ever`: what held at any time; `held`: what did where it was trapped."""
    found = ever.copy()
    kept = {name: value for name, value in env.items() if name not in settings.assigned}
    found.variables = {
        name: None if may_be_secret(name) else value for name, value in kept.items() if name not in OWN_VARIABLES
    }
    found.variables |= dict.fromkeys(settings.assigned)
    for name, content in held.variables.items():
        # what the line makes anew is known by name all the same, unless the name is of a function's own
        if isinstance(content, Fresh) and name not in ever.locals | held.locals:
            found.variables[name] = settings.ever(name, content)
    found.made, found.ending = held.made, False
    found.split &= "IFS" not in settings.assigned
    found.positional, found.exact = None, False
    return found
