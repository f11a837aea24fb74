"""What tools leave behind, and a script may sweep away though where it lies, or which files it is, is not known."""

import re
from collections.abc import Sequence

from shield.regex import regex
from shield.types import CommandFact, Origin, PathFact

__all__ = ["leaves_behind", "swept", "temporary"]

_MADE = (
    r"(?:__pycache__|_build|\.[\w-]*cache|\.coverage|\.next|\.nox|\.nuxt|\.nyc_output|\.output|\.svelte-kit|\.tox|\.turbo"
    r"|\.venv|\.vite|build|coverage|dist|htmlcov|node_modules|target|test-results)"
)
# `$ROOT/build`, `$(pwd)/dist/*`, `$ROOT/*.o`, `${OUT:-build}`: what is not known is where the project lies.
_BENEATH = regex(
    rf"(?:\$[^/]*/)?(?:{_MADE}(?:/\*?)?|\*\.(?:o|obj|a|so|pyc|pyo|class|log|tmp|egg-info))|\$\{{\w+:?-{_MADE}\}}"
)
# `app-$VERSION.tar.gz`
_ARCHIVE = regex(r"[\w.-]+\$[^/]*\.(?:tar\.\w+|tgz|zip|whl|gem|log|tmp|pid)|[\w./-]*\$[^/]*\.(?:o|d|lo|gcno|gcda|pyc)")
_VARIABLE = regex(r"\$\{?(\w+)(?::[?-])?\}?(?:/.*)?", re.DOTALL)
_NEW = r" -p [-\w./${}]+| -(?!p)[-\w]+(?:=[-\w./${}]+)?| [-\w./${}]*XXX[-\w./${}]*"
_TEMPORARY = regex(rf"(?:\$\(|`)mktemp(?:{_NEW})*(?:\)|`)|(?:\$\{{TMPDIR:-/tmp\}}|/tmp)/.*", re.DOTALL)
# Words that give variables, and `mktemp`, other meanings.
_OTHERWISE = regex(r"\b(?:eval|coproc|wait -\w*p)\s|\bmktemp\s*\(\)|\bfunction\s+mktemp\b|\balias\s+mktemp=")
_LOOPS = regex(r"\b(?:for|select)\s+(\w+)")
_SETTING = frozenset(("declare", "export", "local", "readonly", "typeset"))
_READING = frozenset(("getopts", "mapfile", "printf", "read", "readarray"))
_PATTERN = (
    r"(?:__pycache__|\*\.py\[co\]|\*\.py[co]|\*\.(?:o|class|swp|egg-info)|\.DS_Store|\.ipynb_checkpoints|\.pytest_cache"
    r"|\.mypy_cache|\.ruff_cache|\*~)"
)
_ROOT = r"(?:[A-Za-z0-9_.]|\./)[A-Za-z0-9._/-]*"
_NAMED = rf"-name {_PATTERN}(?: -o -name {_PATTERN})*"
_TESTS = rf"(?: -type [fd])? (?:{_NAMED}|\( {_NAMED} \))(?: -type [fd])?"
_DOES = r"(?: -prune)?(?P<does> -delete| -exec rm(?: -\w+)? \{\} (?:;|\+)| -print0?)?"
_FIND = regex(rf"find(?: {_ROOT})*{_TESTS}{_DOES}")
_RM = regex(r"rm(?: -[rfv]+)* (?:--? )?\{\}")


def temporary(commands: Sequence[CommandFact], text: str) -> frozenset[str]:
    """Variables of the script `text` that are given the names of new temporary files, and nothing else."""
    makers = [command.origin for command in commands if command.name == "mktemp"]
    if _OTHERWISE.search(text) or not {Origin.SYSTEM, Origin.UNKNOWN}.issuperset(makers):
        return frozenset()
    found: dict[str, bool] = dict.fromkeys(_LOOPS.findall(text), False)
    moved = re.search(r"\bTMPDIR\b[+:]?=", text) is not None
    for command in commands:
        given = dict(command.assignments) if not command.name else {}
        if command.name in _SETTING:
            given |= {word.partition("=")[0]: word.partition("=")[2] for word in command.argv[1:]}
        if command.name in _READING:
            found |= dict.fromkeys(command.argv[1:], False)
        for name, text in given.items():
            if text:
                made = _TEMPORARY.fullmatch(text) is not None and _stays(text)
                made = made and not (moved and "TMPDIR" in text)
                found[name] = found.get(name, True) and made
    return frozenset(name for name, made in found.items() if made)


def _stays(text: str) -> bool:
    """Whether no part of a path is wholly unknown, and so may lead up: `/tmp/x-$y` does not, `/tmp/$y` may."""
    return ".." not in text and re.search(r"/[\"']?(?:\$(?!\$)|`)", text) is None


def leaves_behind(path: PathFact, temporary: frozenset[str] = frozenset()) -> bool:
    """Whether a path that is not known in full is that of something that is made again, or of a temporary one."""
    if ".." in path.raw:
        return False
    named = _VARIABLE.fullmatch(path.raw)
    return (
        ("temp" in path.categories and _stays(path.raw))
        or (named is not None and named[1] in temporary and _stays(path.raw))
        or _BENEATH.fullmatch(path.raw) is not None
        or _ARCHIVE.fullmatch(path.raw) is not None
    )


def swept(commands: Sequence[CommandFact], at: int) -> bool:
    """Whether all that `commands[at]` deletes are files that a `find` names by a pattern of what is made again."""
    found = _find(commands[at])
    if found is not None:
        return found["does"] == " -delete"
    if _RM.fullmatch(" ".join(commands[at].argv)) is None:
        return False
    before = at - 1
    through = commands[at].via[-1:] == ("xargs",)
    while through and before >= 0 and commands[before].name in ("rm", "xargs"):
        before -= 1  # it may be given no names at all
    found = _find(commands[before]) if before >= 0 else None
    if found is None:
        return False
    does = found["does"] or " -print"
    return does.startswith(" -print") if through else does.startswith(" -exec") and commands[at].via[-1:] == ("find",)


def _find(command: CommandFact) -> re.Match[str] | None:
    plain = all(" " not in word for word in command.argv) and ".." not in " ".join(command.argv)
    return _FIND.fullmatch(" ".join(command.argv)) if plain else None
