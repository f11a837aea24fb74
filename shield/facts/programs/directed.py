"""What Go and Elixir have run by lines of their sources: `//go:generate` comments, aliases of a mix.exs.

They are read as scripts are; what is code beside them stays that. Sources: `go help generate`; Mix, "Aliases".
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import script_text
from shield.facts.programs.task_files import Step, found_above, show_steps
from shield.regex import regex

__all__ = ["go_directives", "mix_aliases"]

_MAX_FILES = 200
_MAX_FOLDERS = 200
_MAX_NAMES = 500
_DIRECTIVE = regex(r"^//go:generate[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_WORD = regex(r'"((?:[^"\\]|\\.)*)"|(\S+)')
_PACKAGE = regex(r"^package[ \t]+(\w+)", re.MULTILINE)


def go_directives(call: Invocation, operands: Sequence[Value]) -> None:
    """go generate PACKAGE…: the comments of their sources."""
    if call.name != "go generate" or "-n" in call.reading.flags:
        return
    named = [word.text for word in operands if word.fixed] or ["."]
    for base in bases_of(call):
        files = list(dict.fromkeys(path for name in named for path in _sources(base, name, call.context.place)))
        for path in files[:_MAX_FILES]:
            text = script_text(path, call.context.place) or ""
            steps = list(_steps(text, path)) if "//go:generate" in text else []
            if steps:
                show_steps(call, steps, path)


def _sources(base: str | None, name: str, place: Place) -> Iterator[str]:
    """The Go files that a package, a pattern of some or a file stands for."""
    if base is None or not (name.startswith((".", "/")) or name.endswith(".go")):
        return
    folder = posixpath.normpath(posixpath.join(base, name.removesuffix("...")))
    if name.endswith(".go"):
        yield folder
        return
    waiting, seen = [folder], 0
    while waiting and seen < _MAX_FOLDERS:
        folder, seen = waiting.pop(0), seen + 1
        try:
            names = place.files.listdir(folder, _MAX_NAMES)
            kinds = {each: place.files.lstat(posixpath.join(folder, each)) for each in names}
        except FileSystemUnknownError:
            continue
        for each, stat in kinds.items():
            if stat is not None and stat.kind is FileKind.FILE and each.endswith(".go"):
                yield posixpath.join(folder, each)
            elif stat is not None and stat.kind is FileKind.DIRECTORY and name.endswith("..."):
                # the go command passes these over
                waiting += [posixpath.join(folder, each)] if each[0] not in "._" and each != "testdata" else []


def _steps(text: str, path: str) -> Iterator[Step]:
    named: dict[str, list[str]] = {}
    package = _PACKAGE.search(text)
    env = (
        ("GOFILE", posixpath.basename(path)),
        ("GOPACKAGE", package[1] if package is not None else ""),
        ("DOLLAR", "$"),
    )
    for line in _DIRECTIVE.findall(text):
        words = [found[1].replace('\\"', '"') if found[1] else found[0] for found in _WORD.finditer(line)]
        if words[:1] == ["-command"] and len(words) > 2:
            named[words[1]] = words[2:]
            continue
        words = [*named.get(words[0], words[:1]), *words[1:]] if words else []
        yield Step(text=" ".join(map(_quoted, words)), folder=posixpath.dirname(path), env=env)


def _quoted(word: str) -> str:
    """A word in which names are replaced, and nothing else is."""
    return re.sub(r"\\?([\"`\\])", r"\\\1", word).join('""') if "$" in word else shlex.quote(word)


_LISTS = (
    (regex(r"\bdefp?[ \t]+aliases\b"), regex(r"^[ \t]*end\b", re.MULTILINE)),
    (regex(r"\baliases:[ \t]*\["), regex(r"^[ \t]*\]", re.MULTILINE)),
)
_ALIAS = regex(r"(?:\"([\w.]+)\"|\b([a-z][\w.]*)):\s*(\[[^\[\]]*\]|\"(?:[^\"\\]|\\.)*\")")
_TEXT = regex(r'"((?:[^"\\]|\\.)*)"')


def mix_aliases(call: Invocation, operands: Sequence[Value]) -> None:
    """mix NAME: what an alias of the mix.exs has run by `cmd`, and by the tasks that it names."""
    words = [*call.name.split()[1:], *(word.text for word in operands if word.fixed)]
    names = [word.strip(",") for word in (words[1:] if words[:1] == ["do"] else words[:1])]
    for base in bases_of(call):
        text, path = found_above(base, ["mix.exs"], call.context.place, upward=False)
        if text is None or path is None:
            continue
        said = {
            quoted or plain: _TEXT.findall(value)
            for listed in _listed(text)
            for quoted, plain, value in _ALIAS.findall(listed)
        }
        lines: list[str] = []
        seen: set[str] = set()
        for name in names:
            _follow(name, said, lines, seen)
        steps = [Step(text=line, folder=posixpath.dirname(path)) for line in dict.fromkeys(lines)]
        show_steps(call, steps, path)


def _listed(text: str) -> Iterator[str]:
    """What stands in the list of aliases, wherever it is written."""
    for begins, ends in _LISTS:
        begin = begins.search(text)
        end = ends.search(text, begin.end()) if begin is not None else None
        if begin is not None:
            yield text[begin.end() : end.start() if end is not None else len(text)]


def _follow(name: str, said: dict[str, list[str]], lines: list[str], seen: set[str]) -> None:
    """The lines that the tasks of an alias are; one that is named like the alias is the task itself."""
    if name in seen or len(seen) > _MAX_FILES:
        return
    seen.add(name)
    for line in said.get(name, ())[:_MAX_FILES]:
        task, _, rest = line.partition(" ")
        if task == "cmd":
            lines.append(rest)
        elif task in said:
            _follow(task, said, lines, seen)
        elif task != name:
            lines.append(f"mix {line}")
