"""What references in a makefile stand for: its variables, and the functions of GNU make ("Functions")."""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from shield.facts.programs.makefiles.lines import closing

__all__ = ["UNKNOWN", "Disk", "Values", "fits", "is_known", "with_stem"]

UNKNOWN: Final = "$unknown"
_MAX_TEXT = 32_768
_MAX_STEPS = 20_000
_MAX_DEEP = 40
_LISTING = frozenset(("echo", "find", "ls"))
_NOTHING: Mapping[str, str] = MappingProxyType({})
# The output of a command, by its number: a shell finds out what it is.
_OUTPUT = re.compile("\ue000(\\d+)\ue001")


class Disk(Protocol):
    """The files that a makefile sees, by names from where make runs."""

    def text(self, name: str) -> str | None: ...

    def matching(self, pattern: str) -> list[str] | None: ...

    def exists(self, name: str) -> bool: ...

    @property
    def base(self) -> str | None: ...

    @property
    def system(self) -> str: ...


def is_known(text: str) -> bool:
    return UNKNOWN not in text and "\ue000" not in text


def fits(pattern: str, name: str) -> str | None:
    """The stem that `%` stands for; None where the name does not fit."""
    head, mark, tail = pattern.partition("%")
    if not mark:
        return "" if pattern == name else None
    long = len(name) >= len(head) + len(tail)
    return name[len(head) : len(name) - len(tail)] if long and name.startswith(head) and name.endswith(tail) else None


def with_stem(pattern: str, stem: str) -> str:
    return pattern.replace("%", stem, 1)


@dataclass(slots=True)
class Values:
    """The variables of a makefile: the text of each, and whether that is its value already. `ran`: commands that were
    run for their output; `wrote`: files that `$(file …)` wrote; `evaluate` reads what is made of a text as makefile;
    `unread`: something was met that is not understood."""

    disk: Disk
    evaluate: Callable[[str], None]
    held: dict[str, tuple[str, bool]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    wrote: list[str] = field(default_factory=list)
    unread: bool = False
    steps: int = 0

    def expanded(self, text: str, local: Mapping[str, str] = _NOTHING, deep: int = 0) -> str:
        """What make makes of the text."""
        if "$" not in text:
            return text[:_MAX_TEXT]
        self.steps += 1
        if deep > _MAX_DEEP or self.steps > _MAX_STEPS:
            self.unread = True
            return UNKNOWN
        out: list[str] = []
        at = size = 0
        while size < _MAX_TEXT:
            next_ = text.find("$", at)
            if next_ < 0:
                out.append(text[at:])
                break
            out.append(text[at:next_])
            mark = text[next_ + 1 : next_ + 2]
            if mark in ("(", "{"):
                end = closing(text, next_ + 1)
                out.append(self._reference(text[next_ + 2 : end], local, deep))
                at = end + 1
            else:
                out.append("$" if mark == "$" else self.value(mark, local, deep) if mark else "")
                at = next_ + 2
            size += len(out[-1]) + len(out[-2])
        return "".join(out)[:_MAX_TEXT]

    def value(self, name: str, local: Mapping[str, str] = _NOTHING, deep: int = 0) -> str:
        """What a variable stands for; nothing where there is none."""
        if name in local:
            return local[name]
        if len(name) == 2 and name[1] in "DF" and name[0] in local:
            parts = [posixpath.split(word) for word in local[name[0]].split()]
            return " ".join(head or "." if name[1] == "D" else tail for head, tail in parts)
        found = self.held.get(name)
        if found is None:
            return ""
        return found[0] if found[1] else self.expanded(found[0], local, deep + 1)

    def shown(self, text: str) -> str:
        """The text for a shell: what a command printed that lists files is what it prints there."""

        def one(match: re.Match[str]) -> str:
            command = self.ran[int(match[1])]
            return f"$({command}\n)" if command.split()[:1] and command.split()[0] in _LISTING else UNKNOWN

        return _OUTPUT.sub(one, text)

    def _reference(self, inner: str, local: Mapping[str, str], deep: int) -> str:
        name, _, rest = inner.partition(" ") if " " in inner else inner.partition("\t")
        if name in _FUNCTIONS and rest.strip():
            return self._called(name, rest.lstrip(), local, deep)
        inner = self.expanded(inner, local, deep + 1)
        name, colon, change = inner.partition(":")
        if colon and "=" in change:
            before, _, after = change.partition("=")
            before, after = (each if "%" in before else f"%{each}" for each in (before, after))
            return self._patsubst(before, after, self.value(name, local, deep))
        return self.value(inner, local, deep) if is_known(inner) else UNKNOWN

    def _called(self, name: str, text: str, local: Mapping[str, str], deep: int) -> str:
        limit = _FUNCTIONS[name]
        parts = _arguments(text, limit)
        if name in ("foreach", "if", "or", "and", "let"):
            return self._lazy(name, parts, local, deep + 1)
        given = [self.expanded(part, local, deep + 1) for part in parts]
        if name == "call":
            return self._call(given, local, deep + 1)
        if name == "shell":
            return self.printed(given[0])
        if name == "eval":
            self.evaluate(given[0])
            return ""
        if name == "value":
            return self.held.get(given[0], ("", True))[0]
        if name == "file":
            found = re.match(r"(>>?|<)\s*(\S+)", given[0])
            if found is not None and found[1] != "<":
                self.wrote.append(found[2])
            return "" if found is not None and found[1] != "<" else UNKNOWN
        if name == "guile":
            self.unread = True
            return UNKNOWN
        if name in ("error", "warning", "info"):
            return ""
        return self._plain(name, given)

    def printed(self, command: str) -> str:
        """What a command prints for make."""
        words = command.split()
        if words in (["uname"], ["uname", "-s"], ["uname", "2>/dev/null"]):
            self._run(command)
            return self.disk.system
        if words == ["pwd"] and self.disk.base is not None:
            return self.disk.base
        return f"\ue000{self._run(command)}\ue001"

    def _run(self, command: str) -> int:
        shown = self.shown(command).replace("\n", " ")
        if shown not in self.ran:
            self.ran.append(shown)
        return self.ran.index(shown)

    def _lazy(self, name: str, parts: list[str], local: Mapping[str, str], deep: int) -> str:
        if name == "let":
            self.unread = True
            return UNKNOWN
        if name == "foreach":
            if len(parts) < 3:
                return ""
            variable = self.expanded(parts[0], local, deep).strip()
            words = self.expanded(parts[1], local, deep).split()
            return " ".join(self.expanded(parts[2], {**local, variable: word}, deep) for word in words)
        if name == "if":
            told = self.expanded(parts[0].strip(), local, deep).strip()
            ways = parts[1:2] if told and is_known(told) else parts[2:3] if not told else parts[1:3]
            return " ".join(self.expanded(part, local, deep) for part in ways)
        values = [self.expanded(part.strip(), local, deep) for part in parts]
        if name == "and":
            return "" if "" in values else values[-1]
        known = next((at for at, each in enumerate(values) if each and is_known(each)), len(values))
        return " ".join(each for each in values[: known + 1] if each)

    def _call(self, given: list[str], local: Mapping[str, str], deep: int) -> str:
        name = given[0].strip()
        if name in _FUNCTIONS and name not in self.held:
            return self._called(name, ",".join(given[1:]), local, deep)
        numbered = {str(at): each for at, each in enumerate([name, *given[1:]])}
        numbered |= {str(at): "" for at in range(len(given), 10)}
        found = self.held.get(name)
        return self.expanded(found[0], {**local, **numbered}, deep) if found is not None else ""

    def _plain(self, name: str, given: list[str]) -> str:
        last = given[-1] if given else ""
        words = last.split()
        if not is_known(last) and name in ("sort", "firstword", "lastword", "words", "word", "wordlist", "findstring"):
            return UNKNOWN if name in ("words", "findstring") else last if len(words) < 2 else " ".join(words)
        match name:
            case "subst" if len(given) == 3:
                return last.replace(given[0], given[1]) if given[0] else last + given[1]
            case "patsubst" if len(given) == 3:
                return self._patsubst(given[0].strip(), given[1], last)
            case "filter" | "filter-out":
                kinds = given[0].split()
                keeps = name == "filter"
                return " ".join(
                    word for word in words
                    if not is_known(word + given[0]) or any(fits(kind, word) is not None for kind in kinds) is keeps
                )  # fmt: skip
            case "findstring":
                return given[0] if given[0] in last else ""
            case "wildcard":
                return self._wildcard(words)
            case "addprefix" | "addsuffix":
                return " ".join(given[0] + word if name == "addprefix" else word + given[0] for word in words)
            case "join" if len(given) == 2:
                first = given[0].split()
                longest = max(len(first), len(words))
                return " ".join("".join((*first[at : at + 1], *words[at : at + 1])) for at in range(longest))
            case "word" | "wordlist":
                return _numbered(given)
            case "abspath" | "realpath":
                base = self.disk.base
                return " ".join(
                    posixpath.normpath(posixpath.join(base, word)) if base and is_known(word) else word
                    for word in words
                )
        each = _EACH.get(name)
        if each is not None:
            return " ".join(part for part in map(each, words) if part)
        whole = _WHOLE.get(name)
        return whole(words) if whole is not None else UNKNOWN

    def _wildcard(self, patterns: Sequence[str]) -> str:
        found: list[str] = []
        for pattern in patterns:
            names = self.disk.matching(pattern) if is_known(pattern) else None
            found += [UNKNOWN] if names is None else names
        return " ".join(found)

    def _patsubst(self, before: str, after: str, text: str) -> str:
        out: list[str] = []
        for word in text.split():
            if not is_known(word):
                stem = UNKNOWN if "\ue000" in word else word
                out.append(with_stem(after, stem) if before.startswith("%") else UNKNOWN)
                continue
            stem_ = fits(before, word)
            out.append(word if stem_ is None else with_stem(after, stem_))
        return " ".join(out)


def _arguments(text: str, limit: int) -> list[str]:
    """The arguments of a function, apart by commas that stand in no brackets; the last one takes what is left."""
    parts: list[str] = []
    depth = start = 0
    for at, mark in enumerate(text):
        if mark in "({":
            depth += 1
        elif mark in ")}":
            depth -= 1
        elif mark == "," and depth == 0 and len(parts) + 1 != limit:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _numbered(given: list[str]) -> str:
    numbers = [each.strip() for each in given[:-1]]
    if not all(number.isdecimal() for number in numbers) or not is_known("".join(numbers)):
        return given[-1] if given else ""
    start = int(numbers[0])
    end = int(numbers[1]) if len(numbers) > 1 else start
    return " ".join(given[-1].split()[max(start - 1, 0) : end])


def _directory(word: str) -> str:
    return word[: word.rindex("/") + 1] if "/" in word else "./"


_EACH: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "dir": _directory,
        "notdir": lambda word: word.rpartition("/")[2],
        "basename": lambda word: posixpath.splitext(word)[0],
        "suffix": lambda word: posixpath.splitext(word)[1],
    }
)
_WHOLE: Mapping[str, Callable[[list[str]], str]] = MappingProxyType(
    {
        "strip": " ".join,
        "sort": lambda words: " ".join(sorted(dict.fromkeys(words))),
        "words": lambda words: str(len(words)),
        "firstword": lambda words: "".join(words[:1]),
        "lastword": lambda words: "".join(words[-1:]),
    }
)
_ONE = """
strip sort words firstword lastword dir notdir suffix basename wildcard realpath abspath shell eval value origin flavor
error warning info guile
"""
# How many arguments each takes; 0: any number.
_FUNCTIONS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("subst", "patsubst", "foreach", "let", "if", "wordlist"), 3)
    | dict.fromkeys(("findstring", "filter", "filter-out", "word", "addprefix", "addsuffix", "join", "file"), 2)
    | dict.fromkeys(("call", "or", "and"), 0)
    | dict.fromkeys(
        _ONE.split(), 1
    )
)  # fmt: skip
