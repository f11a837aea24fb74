"""Scripts of package.json that the words of a package manager name, in the package where it stands or in several."""

import json
import posixpath
import re
from collections.abc import Sequence

from shield.facts.paths import resolve_path
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.javascript.members import packages
from shield.facts.programs.javascript.scripts import package_scripts, project_targets
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import script_text

__all__ = ["named_scripts", "standing", "tasks_of_packages"]

# Options that have it run in other packages of the project: npm run(1), pnpm-filter, `bun run --filter`, `lerna run`.
_SPREADING = {
    "npm": ("--workspace", "--workspaces", "--ws"),
    "pnpm": ("--recursive", "--filter", "--filter-prod", "--parallel", "--workspace-root"),
    "bun": ("--filter", "--workspaces"),
    "yarn": ("--top-level",),
}
_LETTERS = {"npm": "w", "pnpm": "rFw", "bun": "F", "yarn": "T"}
_EVERY = frozenset(("lerna", "nx", "turbo", "workspace", "workspaces"))


def named_scripts(call: Invocation, manager: str, names: Sequence[str]) -> None:
    """Add what the scripts of these names run, wherever they may be run."""
    for name in names:
        package_scripts(call.reading, manager, name, call.context.place, standing(call, manager))


def standing(call: Invocation, manager: str) -> tuple[str | None, ...]:
    """The directories of the packages whose scripts it may run; which of those that are chosen counts for all."""
    own = bases_of(call)
    if not _spreads(call, manager):
        return own
    found = packages(call.context.place, own, beneath=manager == "pnpm", every=manager == "nx")
    if not found.complete and manager != "nx":
        call.reading.unknown.append(f"in which packages `{call.name[:80]}` runs is not known")
    return tuple(dict.fromkeys((*own, *found.roots, *found.members)))


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


_PARTS = re.compile(r"[:,=#]")
# A comment, or a text that may hold what looks like one.
_COMMENT = re.compile(r"(\"(?:[^\"\\]|\\.)*\")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
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
    for name in names[:_MAX_NAMES]:
        package_scripts(call.reading, manager, name, call.context.place, bases)
    project_targets(call.reading, manager, names, call.context.place, bases)


def _depending(call: Invocation, manager: str) -> dict[str, list[str]]:
    """What each task has run before it: `dependsOn` of turbo.json and nx.json."""
    found: dict[str, list[str]] = {}
    for base in standing(call, manager):
        for file in ("turbo.json", "turbo.jsonc", "nx.json") if base is not None else ():
            where = resolve_path(posixpath.join(base or "/", file), call.context.place, base=None, expand_tilde=False)
            text = script_text(where.path, call.context.place) if where.path is not None and where.exists else None
            try:
                said = json.loads(_COMMENT.sub(lambda match: match[1] or "", text or "{}"))
            except (ValueError, RecursionError):
                continue
            for key in ("tasks", "pipeline", "targetDefaults"):
                listed = said.get(key) if isinstance(said, dict) else None
                for name, task in listed.items() if isinstance(listed, dict) else ():
                    needs = task.get("dependsOn") if isinstance(task, dict) else None
                    names = [
                        each.lstrip("^").rpartition("#")[2]
                        for each in (needs if isinstance(needs, list) else [])
                        if isinstance(each, str)
                    ]
                    found.setdefault(str(name).rpartition("#")[2], []).extend(names)
    return found
