"""What a justfile says of its recipes, its variables and how it runs them."""

import posixpath
import re
from dataclasses import dataclass, field

from shield.facts.place import Place
from shield.facts.programs.task_files import MAX_FILES, text_of
from shield.regex import regex

__all__ = ["JUSTFILES", "Justfile", "Recipe", "read_justfile"]

JUSTFILES = ("justfile", ".justfile", "Justfile", "JUSTFILE")
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|`[^`]*`"
_BRACKETED = rf"\((?:[^()\"'`]|{_QUOTED}|\((?:[^()\"'`]|{_QUOTED})*\))*\)"
_WORD = rf"(?:[^\s:\"'`()]|{_QUOTED}|{_BRACKETED})+"
_HEADER = regex(rf"@?([A-Za-z_][\w-]*)((?:\s+{_WORD})*)\s*:(?!=)\s*(.*)", re.DOTALL)
_ASSIGNED = regex(r"(export\s+|unexport\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)", re.DOTALL)
_UNEXPORTED = regex(r"unexport\s+[A-Za-z_][\w-]*")
_TAKEN_IN = regex(r"(import|mod)\??\s+(?:([\w-]+)\s*)?(?:\"([^\"]*)\"|'([^']*)')?")
_TAKES_IN = regex(r"(?:import|mod)\??\s+(?!\S+\s*:(?!:))")
_COMMENT = regex(r"(?:\A|(?<!\s)\s++)#.*\Z")
_SET = regex(r"set\s+([\w-]+)(?:\s*:=\s*(.*))?", re.DOTALL)
# Settings that change nothing of what runs.
_IDLE = frozenset(
    ("allow-duplicate-recipes", "allow-duplicate-variables", "ignore-comments", "lists", "no-exit-message", "quiet",
     "tempdir", "unstable", "windows-powershell", "windows-shell", "dotenv-required")
)  # fmt: skip
_DOTENV = frozenset(("dotenv-load", "dotenv-filename", "dotenv-path", "dotenv-override"))
_SHELL = regex(r"(?:/usr/bin/env|(?:/usr)?/bin/)?(?:ba|da|z|k|a)?sh")
_SHELL_FLAGS = regex(r"-[eufxlv]*c|-[eufxv]+o?|pipefail|-o|errexit|nounset")
# Marks that change what runs a recipe, where, and which words it is given.
_MARKED = regex(r"\[\s*(?:script|working-directory|extension|positional-arguments)\b|\[[^\]]*\]\s*[^\s#]")
_HERE = regex(r"\[[^\]]*\bno-cd\b[^\]]*\]")
_PARAM = regex(rf"([*+]?)(\$?)([A-Za-z_][\w-]*)(?:\s*=\s*({_QUOTED}|{_BRACKETED}|[^\s\"'`]+))?")
_NEED = regex(rf"\(\s*([\w:-]+)((?:[^()\"'`]|{_QUOTED}|{_BRACKETED})*)\)|([\w:-]+)")


@dataclass(slots=True)
class Recipe:
    """`params`: mark, whether it is exported, name, default; `needs`: names, with what they are given; `folder`: where
    it runs, None where it is called."""

    params: tuple[tuple[str, bool, str, str | None], ...] = ()
    lines: list[str] = field(default_factory=list)
    needs: list[tuple[str, str]] = field(default_factory=list)
    folder: str | None = None
    source: str = ""


@dataclass(slots=True)
class Justfile:
    """A justfile with those that it takes in. `exports`: variables that recipes have in their environment, `*` for all;
    `dotenv`: so they have those of a file; `unread`: there is more than was understood."""

    recipes: dict[str, list[Recipe]] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    exports: set[str] = field(default_factory=set)
    first: str | None = None
    dotenv: bool = False
    positional: bool = False
    files: list[str] = field(default_factory=list)
    unread: bool = False


def read_justfile(text: str, path: str, made: Justfile, place: Place, prefix: str = "", folder: str = "") -> None:
    """Add what the file says. `prefix`: of the names of its recipes; `folder`: where they run. Never raises."""
    made.files.append(path)
    folder = folder or posixpath.dirname(path)
    current: Recipe | None = None
    here = False
    lines = _whole(text)
    while lines:
        raw = lines.pop()
        if raw[:1] in (" ", "\t"):
            if current is not None:
                current.lines.append(raw.strip())
            continue
        line = raw.strip()
        made.unread |= _MARKED.match(line) is not None
        if not line or line.startswith(("#", "[")):
            here |= _HERE.match(line) is not None
            continue
        current = None
        taken = _TAKEN_IN.fullmatch(_COMMENT.sub("", line))
        made.unread |= taken is None and _TAKES_IN.match(line) is not None
        assigned, header, setting = _ASSIGNED.fullmatch(line), _HEADER.fullmatch(line), _SET.fullmatch(line)
        if setting is not None and (header is None or setting[2] is not None or setting[1] in _IDLE | _DOTENV):
            _take_setting(setting[1], _COMMENT.sub("", setting[2] or "true"), made)
        elif line.startswith("alias ") and ":=" in line:
            name, _, target = _COMMENT.sub("", line).removeprefix("alias ").partition(":=")
            recipe = Recipe(needs=[(prefix + target.strip(), "")], folder=folder, source=path)
            made.recipes.setdefault(prefix + name.strip(), []).append(recipe)
        elif taken is not None:
            _take_in(taken, path, made, place, prefix, folder)
        elif assigned is not None:
            made.named[assigned[2]] = assigned[3]
            if (assigned[1] or "").startswith("export"):
                made.exports.add(assigned[2])
        elif header is not None:
            current = _recipe(header, prefix, None if here else folder, path)
            made.recipes.setdefault(prefix + header[1], []).append(current)
            made.first = made.first or prefix + header[1]
            here = False
        else:
            made.unread |= _UNEXPORTED.fullmatch(line) is None


def _whole(text: str) -> list[str]:
    """The lines, the last one first; those that go on, or hold a text of several lines, in one."""
    out: list[str] = []
    open_ = ""
    for raw in text.split("\n"):
        line = raw.removesuffix("\r")
        top = bool(out) and not out[-1][:1].isspace()
        if open_:
            out[-1] += "\n" + line
            open_ = "" if open_ in line else open_
        elif out and top and out[-1].endswith("\\") and not out[-1].lstrip().startswith("#"):
            out[-1] = out[-1][:-1] + " " + line.strip()
        elif out and top and out[-1].count("(") > out[-1].count(")") and ":=" in out[-1]:
            out[-1] += " " + line.strip()
        else:
            out.append(line)
        for quote in ("'''", '"""', "```"):
            if not open_ and not out[-1][:1].isspace() and out[-1].count(quote) % 2 and quote in line:
                open_ = quote
    return out[::-1]


def _take_setting(name: str, value: str, made: Justfile) -> None:
    value = value.strip()
    off = value == "false"
    if name in _DOTENV:
        made.dotenv |= not off
    elif name == "export":
        made.exports |= set() if off else {"*"}
    elif name == "positional-arguments":
        made.positional |= not off
    elif name == "shell":
        words = re.findall(r"\"([^\"]*)\"|'([^']*)'", value)
        texts = [first or second for first, second in words]
        plain = bool(texts) and _SHELL.fullmatch(texts[0]) is not None
        made.unread |= not plain or not all(map(_SHELL_FLAGS.fullmatch, texts[1:]))
    elif name not in _IDLE and not off:
        made.unread = True


def _recipe(header: re.Match[str], prefix: str, folder: str | None, path: str) -> Recipe:
    params = tuple((mark, bool(env), name, given or None) for mark, env, name, given in _PARAM.findall(header[2]))
    needs = [
        (prefix + (inner or name), given)
        for inner, given, name in _NEED.findall(_COMMENT.sub("", header[3]))
        if inner or name
    ]
    return Recipe(params=params, needs=needs, folder=folder, source=path)


def _take_in(found: re.Match[str], path: str, made: Justfile, place: Place, prefix: str, folder: str) -> None:
    own, module, named = posixpath.dirname(path), found[2] or "", found[3] or found[4]
    names = [named] if named else [f"{module}.just", f"{module}/mod.just", *(f"{module}/{name}" for name in JUSTFILES)]
    for name in names:
        text, there = text_of(own, name, place)
        if text is None or there is None:
            made.unread |= there is not None
            continue
        if len(made.files) >= MAX_FILES or there in made.files:
            made.unread |= there not in made.files
            return
        first = made.first
        if found[1] == "import":
            read_justfile(text, there, made, place, prefix, folder)
        else:
            made.modules.add(f"{prefix}{module}")
            read_justfile(text, there, made, place, f"{prefix}{module}::")
        made.first = first or (made.first if found[1] == "import" else None)
        return
