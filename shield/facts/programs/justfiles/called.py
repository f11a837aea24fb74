"""What `just RECIPE WORDS…` runs: the recipe, and what it needs, with the words that each is given."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shield.facts.place import Place
from shield.facts.programs.exposed import ends
from shield.facts.programs.justfiles.reader import Justfile, Recipe
from shield.facts.programs.justfiles.values import Scope, filled, several, valued
from shield.facts.programs.task_files import UNKNOWN, Step
from shield.regex import regex

__all__ = ["groups", "steps_of"]

_MAX_RECIPES = 200
_OWN_PROGRAM = regex(r"\s*[@-]*\s*\"?\$")


def groups(words: Sequence[str], made: Justfile) -> list[tuple[str, list[str]]]:
    """Which recipes the words name, each with what it takes of the rest."""
    waiting = list(words) or [made.first or ""]
    found: list[tuple[str, list[str]]] = []
    while waiting:
        name = waiting.pop(0)
        while name in made.modules and waiting:
            name = f"{name}::{waiting.pop(0)}"
        params = next((each.params for each in made.recipes.get(name, ()) if not _is_alias(each)), ())
        target = next((each.needs[0][0] for each in made.recipes.get(name, ()) if _is_alias(each)), None)
        if target is not None:
            params = next((each.params for each in made.recipes.get(target, ())), ())
        takes = len(waiting) if any(mark for mark, *_ in params) else len(params)
        found.append((target or name, waiting[:takes]))
        waiting = waiting[takes:]
    return found


def _is_alias(recipe: Recipe) -> bool:
    return not recipe.lines and len(recipe.needs) == 1 and not recipe.params and not recipe.needs[0][1]


def steps_of(
    asked: Sequence[tuple[str, list[str]]],
    made: Justfile,
    given: Mapping[str, str],
    env: Mapping[str, str],
    place: Place,
    base: str | None,
) -> list[Step]:
    """What is run, in the order that it is met; `made.unread` is set where that is not all."""
    top = next(iter(made.files), "")
    places = {
        "justfile_directory": top.rpartition("/")[0], "justfile": top, "just_executable": "just", "os_family": "unix",
        "invocation_directory": base or UNKNOWN, "invocation_directory_native": base or UNKNOWN,
        "os": "macos" if place.platform == "darwin" else "linux", "just_pid": "1", "home_directory": place.home,
    }  # fmt: skip
    scope = Scope(given=dict(given), named=made.named, places=places, env=env, dotenv=made.dotenv)
    for text in made.named.values():
        valued(text, scope)  # whatever is asked for
    steps: list[Step] = []
    waiting = list(asked)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting and len(seen) < _MAX_RECIPES:
        name, words = waiting.pop(0)
        key = (name, tuple(words))
        made.unread |= name not in made.recipes and bool(name)
        if key in seen:
            continue
        seen.add(key)
        for recipe in made.recipes.get(name, ()):
            taken = _taken(recipe, words, scope)
            places["source_directory"] = recipe.source.rpartition("/")[0]
            inner = replace(scope, given={**scope.given, **taken})
            waiting += [(valued(f"'{need}'", inner), several(parts, inner)) for need, parts in recipe.needs]
            steps.append(_step(recipe, words, taken, inner, made, base))
    made.unread |= bool(waiting)
    ran = "\n".join(f"( {command}\n)" for command in scope.ran)
    return [Step(text=ran, folder=top.rpartition("/")[0] or None), *steps]


def _taken(recipe: Recipe, words: Sequence[str], scope: Scope) -> dict[str, str]:
    """The parameters of a recipe that is given these words."""
    found: dict[str, str] = {}
    left = list(words)
    for mark, _, name, default in recipe.params:
        if mark and left:
            found[name], left = " ".join(left), []
        elif left:
            found[name] = left.pop(0)
        else:
            inner = replace(scope, given={**scope.given, **found})
            found[name] = valued(default, inner) if default is not None else ""
    return found


def _step(
    recipe: Recipe, words: Sequence[str], taken: Mapping[str, str], scope: Scope, made: Justfile, base: str | None
) -> Step:
    exported = {name: scope.value(name) for name in made.named if name in made.exports or "*" in made.exports}
    exported |= {name: taken[name] for _, env, name, _ in recipe.params if env or "*" in made.exports}
    lines = [filled(line, scope) for line in _joined(recipe.lines)]
    folder = recipe.folder or base
    if lines and lines[0].startswith("#!"):
        return Step(
            text="\n".join(lines),
            folder=folder,
            program=lines[0][2:].strip(),
            given=tuple(words),
            env=tuple(exported.items()),
        )
    # what a variable of a file says is run is not seen
    made.unread |= made.dotenv and any(_OWN_PROGRAM.match(line) for line in lines)
    text = "\n".join(f"( {line}\n)" for line in lines if line)
    made.unread |= not all(map(ends, lines))
    given = tuple(words) if made.positional else None
    return Step(text=text, folder=folder, given=given, env=tuple(exported.items()))


def _joined(lines: Sequence[str]) -> list[str]:
    """Lines that go on with a backslash in one; `@` and `-` in front of them say nothing of what is run."""
    if lines and lines[0].startswith("#!"):
        return list(lines)
    text = re.sub(r"\\\n", "", "\n".join(lines))
    return [line.lstrip("@-?") for line in text.split("\n") if line]
