"""What cmake's own language deletes and starts while it runs: a script (`cmake -P FILE`), or the files of a project
that is configured. Named places are known by what cmake calls them; of others nothing is said.

Sources: cmake(1), cmake-commands(7) `file`, `execute_process`, `include`, `add_subdirectory`.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.mention import bases_of
from shield.facts.programs.ninja import built_by_cmake
from shield.facts.programs.reading import Value
from shield.facts.programs.task_files import MAX_FILES, UNKNOWN, Step, show_steps, text_of
from shield.facts.programs.task_words import TaskWords
from shield.regex import regex
from shield.types import Access

__all__ = ["cmake_files"]

_VALUED = frozenset(
    ("-S", "-B", "-G", "-A", "-T", "-C", "-P", "-D", "-U", "--preset", "--build", "--install", "--open", "--toolchain",
     "-t", "--target", "-j", "--parallel", "--config", "--prefix", "--component")
)  # fmt: skip
_MAX_COMMANDS = 500
# One in brackets that nothing ends goes to the end.
_COMMENT = regex(r"#\[(=*)\[.*?(?:\]\1\]|\Z)|#[^\n]*", re.DOTALL)
_COMMAND = regex(r"^[ \t]*(\w+)[ \t]*\(((?:\"(?:[^\"\\]|\\.)*+\"|[^()\"]|\([^()]*+\))*+)\)", re.MULTILINE)
_WORD = regex(r"\"((?:[^\"\\]|\\.)*)\"|([^\s\"]+)")
_FIELD = regex(r"\$\{(\w+)\}")
_SOURCE = ("CMAKE_SOURCE_DIR", "CMAKE_HOME_DIRECTORY", "PROJECT_SOURCE_DIR")
_BINARY = ("CMAKE_BINARY_DIR", "CMAKE_CURRENT_BINARY_DIR", "PROJECT_BINARY_DIR")
_REMOVES = ("REMOVE", "REMOVE_RECURSE")


def cmake_files(call: Invocation, operands: Sequence[Value]) -> None:
    """cmake: what the script or the project's files have done, or what is built."""
    built_by_cmake(call, operands)
    words = TaskWords(call, _VALUED, late=True)
    script = words.value("-P")
    told = [word.text for word in call.words if word.fixed]
    if script is None and {"--build", "--install", "--open", "-E", "--help", "--version"}.intersection(told):
        return
    for base in bases_of(call):
        if base is None:
            continue
        source = base if script is not None else _within(base, words.value("-S") or next(iter(words.rest), "."))
        binary = base if script is not None else _within(base, words.value("-B") or ".")
        places = dict.fromkeys(_SOURCE, source) | dict.fromkeys(_BINARY, binary) | {"CMAKE_COMMAND": "cmake"}
        waiting = [(_within(base, script) if script else posixpath.join(source, "CMakeLists.txt"), source)]
        read: list[str] = []
        while waiting and len(read) < MAX_FILES:
            file, folder = waiting.pop(0)
            text, path = text_of("/", file, call.context.place)
            if text is None or path is None or path in read:
                continue
            read.append(path)
            named = {**places, "CMAKE_CURRENT_SOURCE_DIR": folder, "CMAKE_CURRENT_LIST_DIR": posixpath.dirname(path)}
            lines = list(_lines(text, named, folder, waiting))
            if lines:
                call.reading.path(Value(text=path, head=path, source=posixpath.basename(path)), Access.EXECUTE)
                show_steps(call, [Step(text=line, folder=folder) for line in lines], path)


def _within(base: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(base, name))


def _lines(text: str, places: Mapping[str, str], folder: str, waiting: list[tuple[str, str]]) -> Iterator[str]:
    """Lines of a shell that do the same; what is included comes to those that wait."""
    names = dict(places)
    for at, found in enumerate(_COMMAND.finditer(_COMMENT.sub("", text))):
        if at >= _MAX_COMMANDS:
            break
        words = [_filled(quoted or bare, names) for quoted, bare in _WORD.findall(found[2])]
        match found[1].lower(), words:
            case "set", [name, value]:
                names[name] = value
            case "file", [verb, *rest] if verb in _REMOVES:
                known = [shlex.quote(each) for each in rest if UNKNOWN not in each]
                if known:
                    yield " ".join(("rm", "-rf" if verb == "REMOVE_RECURSE" else "-f", "--", *known))
            case "include", [file, *_] if UNKNOWN not in file:
                waiting.append((_within(folder, file), folder))
            case "add_subdirectory", [inner, *_] if UNKNOWN not in inner:
                waiting.append((_within(folder, inner) + "/CMakeLists.txt", _within(folder, inner)))
            case "execute_process", rest:
                yield from _started(rest)


def _started(words: Sequence[str]) -> Iterator[str]:
    """The commands of `execute_process`, each up to the next word that is one of its own."""
    taken: list[str] = []
    for word in (*words, "COMMAND"):
        if re.fullmatch(r"[A-Z_]{6,}", word):
            if len(taken) > 1 and UNKNOWN not in " ".join(taken):
                yield shlex.join(taken[1:])
            taken = ["COMMAND"] if word == "COMMAND" else []
        elif taken:
            taken.append(word)


def _filled(text: str, names: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda found: names.get(found[1], UNKNOWN), text)[:4_096]
