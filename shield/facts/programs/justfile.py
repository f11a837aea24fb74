"""What a justfile says of its recipes (Just Programmer's Manual)."""

import posixpath
import re

from shield.facts.place import Place
from shield.facts.programs.task_files import MAX_FILES, UNKNOWN, Task, Tasks, text_of

__all__ = ["JUSTFILES", "read_just"]

JUSTFILES = ("justfile", ".justfile", "Justfile", "JUSTFILE")
_HEADER = re.compile(
    r"@?([A-Za-z_][\w-]*)((?:\s+(?:[^\s:\"'`]|\"[^\"]*\"|'[^']*'|`[^`]*`)+)*)\s*:(?!=)\s*(.*)", re.DOTALL
)
_ASSIGNED = re.compile(r"(?:export\s+|unexport\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)", re.DOTALL)
_BACKTICKS = re.compile(r"```(.*?)```|`([^`]*)`", re.DOTALL)
_SHELL_CALL = re.compile(r"\bshell\(\s*(?:\"([^\"]*)\"|'([^']*)')")
_TAKEN_IN = re.compile(r"(import|mod)\??\s+(?:([\w-]+)\s*)?(?:\"([^\"]*)\"|'([^']*)')?")
_TAKES_IN = re.compile(r"(?:import|mod)\??\s+(?!\S+\s*:(?!:))")
_COMMENT = re.compile(r"\s+#.*\Z")
# Settings and marks that change what runs a recipe, where, and which words it is given.
_STEERS = re.compile(r"set\s+(?:shell|fallback|positional-arguments|script-interpreter|working-directory)\b")
_PLAIN_SHELL = re.compile(r"set\s+shell\s*:=\s*\[\s*['\"](?:/bin/|/usr/bin/)?(?:ba|da|z)?sh['\"][^'\"]*['\"]-")
_MARKED = re.compile(r"\[\s*(?:script|working-directory|positional-arguments)\b|\[[^\]]*\]\s*[^\s#]")
_PARAM = re.compile(r"[*+$]*([A-Za-z_][\w-]*)(?:=(?:\"([^\"]*)\"|'([^']*)'|(\S+)))?")
_NAME = re.compile(r"[A-Za-z_][\w-]*")


def read_just(text: str, path: str, tasks: Tasks, place: Place, prefix: str) -> None:
    tasks.files += 1
    current: list[str] | None = None
    for raw in text.split("\n"):
        if raw[:1] in (" ", "\t"):
            if current is not None:
                current.append(raw.strip())
            continue
        line = raw.strip()
        tasks.unread |= _MARKED.match(line) is not None
        if not line or line.startswith(("#", "[")):
            continue
        current = None
        tasks.always += [
            found.replace("\\n", "\n") for pair in (*_BACKTICKS.findall(line), *_SHELL_CALL.findall(line))
            for found in pair if found
        ]  # fmt: skip
        taken = _TAKEN_IN.fullmatch(_COMMENT.sub("", line))
        tasks.unread |= line.endswith("\\") or (taken is None and _TAKES_IN.match(line) is not None)
        tasks.unread |= _STEERS.match(line) is not None and _PLAIN_SHELL.match(line) is None
        assigned = _ASSIGNED.fullmatch(line)
        header = _HEADER.fullmatch(line)
        if line.startswith("alias ") and assigned is None and ":=" in line:
            name, _, target = line.removeprefix("alias ").partition(":=")
            tasks.named.setdefault(prefix + name.strip(), []).append(Task(needs=[prefix + target.strip()]))
        elif taken is not None:
            _take_in_just(taken, path, tasks, place, prefix)
        elif assigned is not None:
            tasks.variables[assigned[1]] = _literal(assigned[2])
        elif header is not None:
            params = list(_PARAM.finditer(header[2]))
            known = {found[1]: found[2] or found[3] or UNKNOWN for found in params if found[0] != found[1]}
            made = Task(params=tuple(found[1] for found in params), default=known)
            made.needs = [prefix + name for name in _NAME.findall(re.sub(r"\"[^\"]*\"|'[^']*'", " ", header[3]))]
            made.lines = current = []
            tasks.named.setdefault(prefix + header[1], []).append(made)
            tasks.first = tasks.first or header[1]
    for each in tasks.named.values():
        for made in each:
            made.lines[:] = _joined(made.lines)


def _joined(lines: list[str]) -> list[str]:
    """Lines that go on with a backslash in one; `@` and `-` in front of them say nothing of what is run."""
    if lines and lines[0].startswith("#!"):
        return lines
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    return [line.lstrip("@-") for line in text.split("\n") if line]


def _literal(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text[0] not in text[1:-1]
    return text[1:-1] if quoted else UNKNOWN


def _take_in_just(found: re.Match[str], path: str, tasks: Tasks, place: Place, prefix: str) -> None:
    folder, module, named = posixpath.dirname(path), found[2] or "", found[3] or found[4]
    names = [named] if named else [f"{module}.just", f"{module}/mod.just", *(f"{module}/{name}" for name in JUSTFILES)]
    for name in names:
        text, there = text_of(folder, name, place)
        if text is not None and there is not None and tasks.files < MAX_FILES:
            first = tasks.first
            read_just(text, there, tasks, place, "" if found[1] == "import" else f"{prefix}{module}::")
            tasks.first = first or tasks.first
            if found[1] == "mod":
                # `just MODULE RECIPE` is another way to say `just MODULE::RECIPE`
                for key in [key for key in tasks.named if key.startswith(f"{prefix}{module}::")]:
                    tasks.named.setdefault(key.rpartition("::")[2], []).extend(tasks.named[key])
            return
