"""What a builtin does to the shell itself: where it stands, what it holds (bash(1) SHELL BUILTIN COMMANDS)."""

import re
from collections.abc import Mapping

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Value
from shield.facts.shell.arithmetic import UntrustedError, evaluate
from shield.facts.shell.content import Shell
from shield.facts.shell.environment import Influence, influence
from shield.facts.shell.frame import Done, Frame
from shield.facts.shell.glob import superset
from shield.facts.shell.variables import (
    Attribute,
    Content,
    Keyed,
    Listed,
    Number,
    State,
    Token,
    known_texts,
)
from shield.facts.shell.virtual import entered, only_enters

__all__ = ["DECLARING", "carry_out"]

# Their words are assignments where they look like some: not split.
DECLARING = frozenset(("export", "declare", "typeset", "local", "readonly"))
_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?)=(.*))?\Z", re.DOTALL)
_OPTIONS = re.compile(r"[-+][A-Za-z]+\Z")
_MAX_MOVES = 16
# Options of `read` and others that take the next word.
_READ_VALUES = frozenset("dinNptu")
_FILLS_ARRAY = re.compile(r"-\w*a")
_MAPFILE_VALUES = frozenset("dnOsuCc")


def carry_out(
    name: str,
    words: tuple[Value, ...],
    given: Mapping[int, Content],
    state: State,
    place: Place,
    shell: Shell,
    frame: Frame,
) -> Done:
    """Apply the effect of `name words…` to `state`; how the shell goes on."""
    match name:
        case "cd":
            return _cd(words, state, place)
        case "pushd" | "popd":
            return _stacked(name, words, state, place)
        case "exit" | "logout":
            return Done(None, None)
        case "return" if frame.body is not None:
            frame.body.leave(state)
            return Done(None, None)
        case "break" | "continue" if frame.loop is not None:
            frame.loop.leave(state)
            return Done(None, None)
        case "export" | "declare" | "typeset" | "local" | "readonly":
            _declare(name, words, given, state, shell, frame)
        case "unset":
            _unset(words, state, place)
        case "source" | ".":
            _source(words, state, place, shell)
        case "let":
            _let(words, state, shell)
        case "shift":
            _shift(words, state)
        case "set":
            _set(words, state)
        case "shopt":
            _shopt(words, state)
        case _:
            _names(_assigned(name, words, state), state, shell)
    return Done(state, state)


def _assigned(name: str, words: tuple[Value, ...], state: State) -> list[Value]:
    """The names that a builtin gives values of its own."""
    match name:
        case "read":
            named = _operands(words, _READ_VALUES, "a", state)
            if any(word.fixed and _FILLS_ARRAY.match(word.text) for word in words):
                state.arrays.update(word.text for word in named)
            return named
        case "mapfile" | "readarray":
            named = _operands(words, _MAPFILE_VALUES, "", state)
            state.arrays.update(word.text for word in named)
            return named
        case "getopts":
            return list(words[1:2])
        case "printf" if len(words) > 1 and words[0].fixed and words[0].text == "-v":
            return [words[1]]
    return []


def _source(words: tuple[Value, ...], state: State, place: Place, shell: Shell) -> None:
    """`source .venv/bin/activate`: programs are looked for in the environment first."""
    base = state.bases[0] if len(state.bases) == 1 else None
    environment = entered(words[0].text, place, base) if words and words[0].fixed else None
    path = state.variables.get("PATH")
    if environment is not None and not state.searched:
        shell.assign("VIRTUAL_ENV", environment, state)
        shell.assign("PATH", f"{environment}/bin:{path}" if isinstance(path, str) else None, state)
        state.searched = True
        kept = any(name.startswith("_OLD_VIRTUAL") for name in (*state.variables, *place.env))
        state.entered = not kept and not state.functions and only_enters(environment, place)


# --- where the shell stands ------------------------------------------------------------------------------------------


def _cd(words: tuple[Value, ...], state: State, place: Place) -> Done:
    operands = [word for word in words if not (word.fixed and word.text in ("-L", "-P", "-e", "-@", "--"))]
    physical = any(word.text == "-P" for word in words)
    if not operands:
        home = state.variables.get("HOME")
        operands = [Value(text=home)] if isinstance(home, str) and home else [Value(text="", known=False)]
    moved = state.copy()
    moved.previous = state.bases
    target = operands[0]
    if target.pattern is not None and len(operands) == 1:
        return _moved_to_match(target.pattern, state, moved, place)
    if len(operands) > 1 or not target.fixed or state.variables.get("CDPATH") is not None:
        moved.bases = (None,)
    elif target.text == "-":
        moved.bases, moved.linked = state.previous, True
    elif target.text.startswith("-"):
        moved.bases = (None,)
    else:
        _move(target.text, state, moved, place, physical=physical)
    return Done(moved, state)


def _move(text: str, state: State, moved: State, place: Place, *, physical: bool) -> None:
    dotted = ".." in text.split("/")
    bases: list[str | None] = []
    linked = False
    for base in state.bases:
        raw = text if text.startswith("/") else "./" + text
        resolved = resolve_path(raw, place, base=base, expand_tilde=False)
        linked |= resolved.symlink
        # bash takes `..` off the name it knows, the kernel off the directory: with links on the way they differ.
        unsure = dotted and not physical and (state.linked or resolved.symlink)
        bases.append(None if unsure else resolved.path)
    moved.linked = (state.linked and not text.startswith("/")) or linked
    moved.bases = tuple(dict.fromkeys(bases))


def _moved_to_match(pattern: str, state: State, moved: State, place: Place) -> Done:
    """`cd "$d"` in `for d in */`: to any one of the matches."""
    bases: list[str | None] = []
    for base in state.bases:
        found = superset(pattern, place, base)
        if found is None or len(found) > _MAX_MOVES or base is None:
            bases.append(None)
            continue
        resolved = [resolve_path("./" + item, place, base=base, expand_tilde=False) for item in found]
        moved.linked |= any(item.symlink for item in resolved)
        bases.extend(item.path for item in resolved)
    moved.bases = tuple(dict.fromkeys(bases)) or (None,)
    if len(moved.bases) > _MAX_MOVES:
        moved.bases = (None,)
    return Done(moved, state)


def _stacked(name: str, words: tuple[Value, ...], state: State, place: Place) -> Done:
    if name == "pushd" and len(words) == 1 and words[0].fixed and not words[0].text.startswith(("-", "+")):
        done = _cd(words, state, place)
        if done.success is not None:
            done.success.stack = (*state.stack, state.bases)
        return done
    moved = state.copy()
    moved.previous = state.bases
    if name == "popd" and not words and state.stack:
        moved.bases, moved.stack, moved.linked = state.stack[-1], state.stack[:-1], True
    else:
        moved.bases, moved.stack = (None,), ()
    return Done(moved, state)


# --- variables -------------------------------------------------------------------------------------------------------


def _declare(
    name: str, words: tuple[Value, ...], given: Mapping[int, Content], state: State, shell: Shell, frame: Frame
) -> None:
    flags = ""
    inside = frame.body is not None and bool(frame.calls)
    for index, word in enumerate(words):
        if word.fixed and (_OPTIONS.match(word.text) or word.text == "--"):
            flags += word.text.lstrip("-") if word.text.startswith("-") else ""
            _doubt_flags(name, word.text, state)
            continue
        match = _NAME.match(word.text)
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
        content = given.get(index, match[3] if word.fixed else None)
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
    return not isinstance(content, Number | Token)


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


def _unset(words: tuple[Value, ...], state: State, place: Place) -> None:
    for word in words:
        if word.fixed and word.text in ("-v", "-f", "--"):
            continue
        match = _NAME.match(word.text) if word.fixed else None
        if match is None or match[3] is not None:
            state.doubt("`unset` of what is not a plain name")
            continue
        state.variables[match[1]] = None
        if match[1] not in state.functions and state.attributes.get(match[1]) is None:
            del state.variables[match[1]]
            state.gone |= {match[1]}
        if match[1] == "IFS" or (match[1] in place.env and influence(match[1]) is Influence.CODE):
            state.doubt(f"`{match[1]}` is unset")
        if match[1] in state.functions:
            state.functions[match[1]] = (*state.functions[match[1]], None)


def _operands(words: tuple[Value, ...], valued: frozenset[str], named: str, state: State) -> list[Value]:
    """The names among the words; a letter of `named` is an option whose value is one."""
    out: list[Value] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.fixed or not word.text.startswith("-") or word.text == "-":
            out.extend(words[at - 1 :])
            break
        if word.text == "--":
            out.extend(words[at:])
            break
        for place, letter in enumerate(word.text[1:], start=2):
            if letter == "C":
                state.doubt("`mapfile -C` runs a command")
            if letter in valued or letter in named:
                value = Value(text=word.text[place:]) if word.text[place:] else words[at] if at < len(words) else None
                at += not word.text[place:]
                if letter in named and value is not None:
                    out.append(value)
                break
    return out


def _names(words: list[Value], state: State, shell: Shell) -> None:
    for word in words:
        match = _NAME.match(word.text) if word.fixed else None
        if match is None or match[3] is not None:
            state.doubt("a name that is assigned to is not plain")
        else:
            shell.assign(match[1], None, state)


def _let(words: tuple[Value, ...], state: State, shell: Shell) -> None:
    for word in words:
        try:
            if not word.fixed:
                raise UntrustedError
            evaluate(word.text, state, lambda name, value: shell.assign(name, value, state))
        except UntrustedError:
            state.doubt("arithmetic on what is not known to be a number")


def _shift(words: tuple[Value, ...], state: State) -> None:
    count = int(words[0].text) if words and words[0].fixed and words[0].text.isdigit() else None if words else 1
    if state.positional is None:
        return
    if count is None or any(value.many or value.several for value in state.positional):
        state.positional, state.exact = None, False
    elif count <= len(state.positional):
        state.positional = state.positional[count:]


# --- options ---------------------------------------------------------------------------------------------------------


def _set(words: tuple[Value, ...], state: State) -> None:
    for index, word in enumerate(words):
        text = word.text if word.fixed else ""
        if text == "--":
            state.give(words[index + 1 :])
            return
        if not text.startswith(("-", "+")):
            if index and words[index - 1].text.endswith("o"):
                continue
            state.give(words[index:])
            return
        if "f" in text:
            state.globs = False


_UNCHANGED_TEXT = """
nullglob failglob inherit_errexit checkwinsize checkhash checkjobs huponexit histappend histreedit histverify
hostcomplete cmdhist lithist execfail mailwarn no_empty_cmd_completion progcomp autocd cdspell dirspell direxpand
"""
_UNCHANGED = frozenset(_UNCHANGED_TEXT.split())
_OFF = frozenset(("extglob", "expand_aliases", "lastpipe", "cdable_vars", "extdebug", "xpg_echo", "compat31"))
_UNCHANGED_SET = frozenset(
    ("errexit", "nounset", "pipefail", "xtrace", "verbose", "noclobber", "errtrace", "functrace")
)
_MATCHING = frozenset(("dotglob", "globstar", "nocaseglob", "nocasematch", "globasciiranges", "globskipdots"))


def _shopt(words: tuple[Value, ...], state: State) -> None:
    options = [word.text for word in words if word.fixed and word.text.startswith("-")]
    if all(word.fixed for word in words) and not any(set(option) & set("su") for option in options):
        return  # it tells how they are set
    if options == ["-u"] and all(word.fixed and (word.text in _OFF or word.text in options) for word in words):
        return  # as they are where nobody types; the line that sets one is not understood
    if "-o" in options and all(word.fixed and (word.text in _UNCHANGED_SET or word.text in options) for word in words):
        return
    for word in words:
        if word.fixed and word.text in ("-s", "-u", "-q", "-p", "--"):
            continue
        state.vanishing |= word.text == "nullglob"
        if word.fixed and word.text in _MATCHING:
            state.globs = False
        elif not word.fixed or word.text not in _UNCHANGED:
            state.doubt(f"`shopt {word.text[:40]}` changes how the line is read")
