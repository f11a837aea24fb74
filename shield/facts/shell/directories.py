"""Where the shell stands: `cd`, `pushd` and `popd` (bash(1) SHELL BUILTIN COMMANDS)."""

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.reading import Value
from shield.facts.shell.frame import Done
from shield.facts.shell.glob import superset
from shield.facts.shell.state import State

__all__ = ["change_directory", "use_stack"]

_MAX_MOVES = 16


def change_directory(words: tuple[Value, ...], state: State, place: Place) -> Done:
    """`cd words…`: the shell where that leads, and where it stands if it fails."""
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
        if target.fresh and target.fresh not in state.chances:
            moved.chances = (*state.chances, target.fresh)
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


def use_stack(name: str, words: tuple[Value, ...], state: State, place: Place) -> Done:
    """`pushd words…` or `popd words…`: the same, with the stack that they keep."""
    if name == "pushd" and len(words) == 1 and words[0].fixed and not words[0].text.startswith(("-", "+")):
        done = change_directory(words, state, place)
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
