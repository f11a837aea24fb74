"""Tasks of Gradle: what the blocks of those that are named delete and start.

Of a build file the blocks that begin where a task's name stands are read, and those of tasks that they name; what
they do is read as the line of a shell that does the same. Source: Gradle User Manual, "Working With Files" (`Delete`,
`Exec`).
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.task_files import Step, show_steps, text_of
from shield.regex import regex
from shield.types import Access

__all__ = ["gradle_tasks"]

_FILES = ("build.gradle", "build.gradle.kts")
_MAX_TASKS = 24
_MAX_BLOCKS = 64
# `tasks.register("x") {`, `task x {`, `val x by … {`, `tasks.x {`, `x.doLast {`; `tasks.register(…` is no task `tasks`
_BEGINS = (
    r"(?:[\"']NAME[\"']|\b(?:task|val)[ \t]+NAME\b|\btasks\.NAME\b"
    r"|^[ \t]*NAME\b(?!\.(?:create|getBy|named|register|with)))[^\n{}]{0,300}\{"
)
_NAME = regex(r":?(?:[\w.-]+:)*[A-Za-z]\w*")
_STRING = r"(?:\"((?:[^\"\\\n$]|\\.)*+)\"|'((?:[^'\\\n]|\\.)*+)')"
_STRINGS = rf"{_STRING}(?:\s*,\s*{_STRING})*"
_OPENS = r"(?:file|fileTree|files|layout\.projectDirectory(?:\.dir|\.file))"
# `delete("x", "y")`, `delete 'x'`, `delete(file("x"))`, `setDelete("x")`, `targetFiles.from("x")`
_DELETES = regex(rf"\b(?:delete|setDelete)\b\s*\(?\s*(?:{_OPENS}\(\s*)?({_STRINGS})")
_RECURSES = regex(rf"\b(?:file|File)\(\s*({_STRINGS})\s*\)\.(?:delete|deleteRecursively|deleteDir)\(")
_STARTS = regex(rf"\bcommandLine\b\s*\(?\s*(?:listOf\(|\[)?\s*({_STRINGS})")
_EACH = regex(_STRING)
# A text is none, though `"**/*.csv"` looks like one; one that nothing ends goes to the end.
_COMMENT = regex(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def gradle_tasks(call: Invocation, operands: Sequence[Value]) -> None:
    """gradle NAME…: the blocks of those tasks in the build file, and in that of the project that a name leads to."""
    named = [word.text for word in operands if word.fixed and _NAME.fullmatch(word.text)]
    for base in bases_of(call):
        inner = {name.rpartition(":")[0].strip(":").replace(":", "/") for name in named}
        for folder in sorted({"", *inner}):
            for file in _FILES:
                text, path = text_of(base, posixpath.join(folder, file), call.context.place)
                if text is None or path is None:
                    continue
                blocks = _blocks(_COMMENT.sub(r"\1", text), [name.rpartition(":")[2] for name in named])
                lines = list(dict.fromkeys(line for block in blocks for line in _lines(block)))
                if lines:
                    call.reading.path(Value(text=path, head=path, source=file), Access.EXECUTE)
                    steps = [Step(text=line, folder=posixpath.dirname(path)) for line in lines]
                    show_steps(call, steps, path)


def _blocks(text: str, names: list[str]) -> Iterator[str]:
    """The blocks of the tasks of these names, and of those that they name."""
    waiting, seen = names[:_MAX_TASKS], set[str]()
    left = _MAX_BLOCKS
    while waiting and len(seen) < _MAX_TASKS:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for found in re.finditer(_BEGINS.replace("NAME", re.escape(name)), text, re.MULTILINE):
            left -= 1
            if left < 0:
                return
            block = _balanced(text, found.end())
            # in front of it stand what it needs, and words of its kind
            head = text[text.rfind("\n", 0, found.start()) + 1 : found.end()]
            waiting += re.findall(r"\w+", "".join(re.findall(r"(?:dependsOn|finalizedBy)[^\n]*", head + block)))
            yield block


def _balanced(text: str, start: int) -> str:
    """From behind a brace to the one that closes it."""
    deep = 1
    for found in re.finditer(r"[{}]", text[start:]):
        deep += 1 if found[0] == "{" else -1
        if not deep:
            return text[start : start + found.start()]
    return text[start:]


def _lines(block: str) -> Iterator[str]:
    for pattern in (_DELETES, _RECURSES):
        for found in pattern.finditer(block):
            yield shlex.join(("rm", "-rf", "--", *_texts(found[1])))
    for found in _STARTS.finditer(block):
        yield shlex.join(_texts(found[1]))


def _texts(strings: str) -> list[str]:
    return [double or single for double, single in _EACH.findall(strings)]
