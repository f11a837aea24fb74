"""What builtins declare of variables: `declare` and its kin, and what `unset` takes back."""

import re
from collections.abc import Mapping

from shield.facts.place import Place
from shield.facts.programs.reading import Value
from shield.facts.shell.content import Shell
from shield.facts.shell.environment import Influence, influence
from shield.facts.shell.frame import Frame
from shield.facts.shell.state import State
from shield.facts.shell.variables import Attribute, Content, Fresh, Keyed, Listed, Number, Token, known_texts
from shield.regex import regex

__all__ = ["NAME", "declare", "unset"]

NAME = regex(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?)=(.*))?\Z", re.DOTALL)
_OPTIONS = regex(r"[-+][A-Za-z]+\Z")


def declare(
    name: str, words: tuple[Value, ...], given: Mapping[int, Content], state: State, shell: Shell, frame: Frame
) -> None:
    """`name words…` of a builtin that declares; `given`: what the assignments among the words give, by their place."""
    flags = ""
    inside = frame.body is not None and bool(frame.calls)
    for index, word in enumerate(words):
        if word.fixed and (_OPTIONS.match(word.text) or word.text == "--"):
            flags += word.text.lstrip("-") if word.text.startswith("-") else ""
            _doubt_flags(name, word.text, state)
            continue
        if word.fixed and "f" in flags and (name == "export" or "x" in flags):
            state.handed |= {f"{word.text}()"}
        match = NAME.match(word.text)
        if match is None or not (word.fixed or (match[3] is not None and not word.many)):
            state.doubt(f"`{name}` with options or names that are not constant")
            continue
        variable = match[1]
        if name == "local" and not inside:
            shell.assign(variable, None, state)  # an error, and nothing is assigned
            continue
        if inside and name in ("local", "declare", "typeset") and "g" not in flags:
            state.locals |= {variable}
        _attributes(variable, flags, state)
        content = given.get(index, match[3] if word.fixed and not word.fresh else None)
        if "a" in flags or "A" in flags:
            state.arrays.add(variable)
        if match[3] is not None and variable in state.arrays and _may_list(content):
            state.doubt(f"`{name}` makes an array of a text")
        if "A" in flags:
            state.variables[variable] = Keyed()
        elif match[3] is not None:
            shell.assign(variable, None if match[2] else content, state)
        elif "a" in flags:
            state.variables.setdefault(variable, Listed(()))
        elif name != "export" and inside:
            state.variables[variable] = None
        if name == "export" or "x" in flags:
            _exported(variable, state)
        if name == "readonly" or "r" in flags:
            state.attributes[variable] = Attribute.CHANGED  # what is assigned later is refused


def _may_list(content: Content) -> bool:
    """Whether it may be `(…)`: bash expands it, commands and all, even where it was quoted."""
    texts = known_texts(content)
    if texts is not None:
        return any(text.startswith("(") for text in texts)
    return not isinstance(content, Number | Token | Fresh)


def _doubt_flags(name: str, option: str, state: State) -> None:
    known = {"export": "p", "readonly": "paA", "local": "airxpAIg"}.get(name, "airxpAFgult")
    if option == "--" or (option.startswith("-") and set(option[1:]) <= set(known)):
        return
    if option.startswith("+") and set(option[1:]) <= set("xrt") and name != "export":
        return
    state.doubt(f"`{name} {option[:20]}` is not followed")


def _exported(variable: str, state: State) -> None:
    content = state.variables.get(variable)
    code = influence(variable, content if isinstance(content, str) else None) is Influence.CODE
    if code and variable not in ("PATH", "PS1", "PS2"):  # prompts are of interactive shells
        state.doubt(f"`{variable}` is exported")
    elif influence(variable) is not Influence.NONE and variable not in state.exported:
        state.exported = (*state.exported, variable)


def _attributes(variable: str, flags: str, state: State) -> None:
    if "i" in flags:
        state.attributes[variable] = Attribute.INTEGER
    elif set(flags) & set("ulc"):
        state.attributes[variable] = Attribute.CHANGED


def unset(words: tuple[Value, ...], state: State, place: Place, frame: Frame) -> None:
    """`unset words…`: variables are gone, functions may be. In a function another variable by that name may be seen
    again, which a function that called this one hid by its own."""
    for word in words:
        if word.fixed and word.text in ("-v", "-f", "--"):
            continue
        match = NAME.match(word.text) if word.fixed else None
        if match is None or match[3] is not None:
            state.doubt("`unset` of what is not a plain name")
            continue
        state.variables[match[1]] = None
        hidden = bool(frame.calls) and match[1] not in state.locals
        if not hidden and match[1] not in state.functions and state.attributes.get(match[1]) is None:
            del state.variables[match[1]]
            state.gone |= {match[1]}
        if match[1] == "IFS" or (match[1] in place.env and influence(match[1]) is Influence.CODE):
            state.doubt(f"`{match[1]}` is unset")
        if match[1] in state.functions:
            state.functions[match[1]] = (*state.functions[match[1]], None)
