"""Scripts of package.json that the words of a package manager name, in the package where it stands or in several."""

import json
import posixpath
import re
from collections.abc import Callable, Sequence

from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.javascript.members import packages
from shield.facts.programs.javascript.scripts import nx_commands, package_scripts, project_targets
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import script_text
from shield.facts.programs.task_files import MAX_DEEP, text_of
from shield.regex import regex

__all__ = ["named_scripts", "standing", "tasks_of_packages"]

# Options that have it run in other packages of the project: npm run(1), pnpm-filter, `bun run --filter`, `lerna run`.
_SPREADING = {
    "npm": ("--workspace", "--workspaces", "--ws"),
    "pnpm": ("--recursive", "--filter", "--filter-prod", "--parallel", "--workspace-root"),
    "bun": ("--filter", "--workspaces"),
    "yarn": ("--top-level",),
}
_LETTERS = {"npm": "w", "pnpm": "rFw", "bun": "F", "yarn": "T"}
_OTHERS = frozenset(("lerna", "nx", "turbo", "yarn", "bun"))
_EVERY = frozenset(("lerna", "nx", "turbo", "workspace", "workspaces"))


def named_scripts(
    call: Invocation, manager: str, names: Sequence[str], given: Callable[[str], Sequence[Value]] = lambda _: ()
) -> None:
    """Add what the scripts of these names run, wherever they may be run, with the words that each is given."""
    for name in names:
        package_scripts(call.reading, manager, name, call.context.place, standing(call, manager), given(name))


def standing(call: Invocation, manager: str) -> tuple[str | None, ...]:
    """The directories of the packages whose scripts it may run; which of those that are chosen counts for all."""
    own = bases_of(call)
    if not (_settled(call, manager, own) or _spreads(call, manager)):
        return own
    found = packages(call.context.place, own, beneath=manager == "pnpm", every=manager == "nx")
    if not found.complete and manager != "nx":
        call.reading.unknown.append(f"in which packages `{call.name[:80]}` runs is not known")
    return tuple(dict.fromkeys((*own, *found.roots, *found.members)))


# Of `.npmrc`: which shell runs a script, and in which packages.
_STEERS = regex(r"(?m)^\s*(?:script-shell|shell|node-options|shell-emulator)\s*=\s*\S")
_SPREADS = regex(r"(?m)^\s*(?:workspaces?|include-workspace-root|recursive|filter)(?:\[\])?\s*=\s*(?!false)\S")
_STEERING = regex(r"(?i)npm_config_(?:script_shell|shell|node_options)")
_SPREADING_ENV = regex(r"(?i)npm_config_(?:workspaces?|include_workspace_root|recursive|filter)")


def _settled(call: Invocation, manager: str, bases: Sequence[str | None]) -> bool:
    """Whether settings have it run in several packages; those that say by what it is run are not understood."""
    if manager in _OTHERS:
        return False
    told = {**call.context.place.env, **call.context.told}
    texts = [text for base in bases for text in _settings(base, call.context.place)]
    if any(map(_STEERS.search, texts)) or any(map(_STEERING.fullmatch, told)):
        call.reading.unread.append(f"what runs the scripts of `{manager}` is not known")
    return any(map(_SPREADS.search, texts)) or any(map(_SPREADING_ENV.fullmatch, told))


def _settings(base: str | None, place: Place) -> list[str]:
    found: list[str] = []
    for _ in range(MAX_DEEP):
        if base is None:
            break
        text, _path = text_of(base, ".npmrc", place)
        found += [text] if text is not None else []
        if base == "/":
            break
        base = posixpath.dirname(base)
    return found


def _spreads(call: Invocation, manager: str) -> bool:
    names = _SPREADING.get(manager, ())
    return (
        manager in _EVERY
        or call.reading.spread
        or any(
            len(flag) > 3 and any(name.startswith(flag) for name in names)
            if flag.startswith("--")
            else bool(_letters(flag) & set(_LETTERS.get(manager, "")))
            for flag in call.reading.flags
        )
    )


def _letters(flag: str) -> set[str]:
    return set() if flag.startswith("--") else set(flag[1:])


_PARTS = regex(r"[:,=#]")
# A comment, or a text that may hold what looks like one.
_COMMENT = regex(r"(\"(?:[^\"\\]|\\.)*\")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_MAX_NAMES = 200


def tasks_of_packages(call: Invocation, operands: Sequence[Value]) -> None:
    """turbo, nx, lerna: the scripts of the names that stand among the words, and of those that they depend on."""
    manager = call.name.partition(" ")[0]
    words = [word.text for word in (*operands, *call.words) if word.fixed]
    names = list(dict.fromkeys(part for text in words for part in (text, *_PARTS.split(text)) if part))
    depends = _depending(call, manager)
    for name in names:
        names += [each for each in depends.get(name, ()) if each not in names and len(names) < _MAX_NAMES]
    bases = standing(call, manager)
    seen = 0
    while seen < len(names[:_MAX_NAMES]):
        new, seen = names[seen:_MAX_NAMES], len(names[:_MAX_NAMES])
        for name in new:
            package_scripts(call.reading, manager, name, call.context.place, bases)
        further = project_targets(call.reading, manager, new, call.context.place, bases)
        further += _for_all(call, manager, new, bases) if manager == "nx" else []
        names += [each for each in dict.fromkeys(further) if each not in names]


def _for_all(call: Invocation, manager: str, names: Sequence[str], bases: Sequence[str | None]) -> list[str]:
    """`targetDefaults` of nx.json: what holds for every target of a name, or with an executor of one."""
    further: list[str] = []
    for base in bases:
        text, path = text_of(base, "nx.json", call.context.place)
        said = _jsonc(text)
        listed = said.get("targetDefaults") if isinstance(said, dict) else None
        for key, value in listed.items() if isinstance(listed, dict) else ():
            if path is not None and (key in names or ":" in key):
                further += nx_commands(call.reading, manager, value, path)
    return further


def _jsonc(text: str | None) -> object:
    try:
        return json.loads(_COMMENT.sub(lambda match: match[1] or "", text or "{}"))
    except (ValueError, RecursionError):
        return None


def _depending(call: Invocation, manager: str) -> dict[str, list[str]]:
    """What each task has run before it: `dependsOn` of turbo.json and nx.json."""
    found: dict[str, list[str]] = {}
    for base in standing(call, manager):
        for file in ("turbo.json", "turbo.jsonc", "nx.json") if base is not None else ():
            where = resolve_path(posixpath.join(base or "/", file), call.context.place, base=None, expand_tilde=False)
            text = script_text(where.path, call.context.place) if where.path is not None and where.exists else None
            said = _jsonc(text)
            for key in ("tasks", "pipeline", "targetDefaults"):
                listed = said.get(key) if isinstance(said, dict) else None
                for name, task in listed.items() if isinstance(listed, dict) else ():
                    said_ = task if isinstance(task, dict) else {}
                    needs = [need for key_ in ("dependsOn", "with") for need in _listed(said_.get(key_))]
                    names = [
                        each.lstrip("^").rpartition("#")[2]
                        for need in needs
                        if isinstance(each := need.get("target") if isinstance(need, dict) else need, str)
                    ]
                    found.setdefault(str(name).rpartition("#")[2], []).extend(names)
    return found


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
