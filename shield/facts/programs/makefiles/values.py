"""What references in a makefile stand for: its variables, and the functions of GNU make ("Functions")."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from shield.facts.programs.exposed import OUTPUT, UNKNOWN
from shield.facts.programs.makefiles.functions import FUNCTIONS, arguments, is_known, patsubst, plain
from shield.facts.programs.makefiles.lines import closing

__all__ = ["Disk", "Values", "again"]

_MAX_TEXT = 32_768
_MAX_STEPS = 20_000
_STEP = 64  # characters that are looked through at once
_MAX_DEEP = 40
_LISTING = frozenset(("echo", "find", "ls"))
_NOTHING: Mapping[str, str] = MappingProxyType({})


def again(text: str) -> str:
    """The text for one more expansion, which leaves what is not known as it is."""
    return text.replace(UNKNOWN, f"${UNKNOWN}")


class Disk(Protocol):
    """The files that a makefile sees, by names from where make runs."""

    def text(self, name: str) -> str | None: ...

    def matching(self, pattern: str) -> list[str] | None: ...

    def exists(self, name: str) -> bool: ...

    @property
    def base(self) -> str | None: ...

    @property
    def system(self) -> str: ...


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
    unsure: int = 0  # in how many branches that may not be taken

    def expanded(self, text: str, local: Mapping[str, str] = _NOTHING, deep: int = 0) -> str:
        """What make makes of the text."""
        if "$" not in text:
            self.unread |= len(text) > _MAX_TEXT
            return text[:_MAX_TEXT]
        self.steps += 1 + len(text) // _STEP
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
        whole = "".join(out)
        self.unread |= size >= _MAX_TEXT or len(whole) > _MAX_TEXT
        return whole[:_MAX_TEXT]

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
            command = self.ran[int(match[1])] if int(match[1]) < len(self.ran) else ""
            return f"$({command}\n)" if command.split()[:1] and command.split()[0] in _LISTING else UNKNOWN

        return OUTPUT.sub(one, text)

    def _reference(self, inner: str, local: Mapping[str, str], deep: int) -> str:
        name, *rest = inner.split(None, 1)[:2] if inner[:1].strip() else [""]
        if name in FUNCTIONS and rest:
            return self._called(name, inner[len(name) :].lstrip(), local, deep)
        inner = self.expanded(inner, local, deep + 1)
        name, colon, change = inner.partition(":")
        if colon and "=" in change:
            before, _, after = change.partition("=")
            before, after = (each if "%" in before else f"%{each}" for each in (before, after))
            return patsubst(before, after, self.value(name, local, deep))
        return self.value(inner, local, deep) if is_known(inner) else UNKNOWN

    def _called(self, name: str, text: str, local: Mapping[str, str], deep: int) -> str:
        limit = FUNCTIONS[name]
        parts = arguments(text, limit)
        if name in ("foreach", "if", "or", "and", "let"):
            return self._lazy(name, parts, local, deep + 1)
        given = [self.expanded(part, local, deep + 1) for part in parts]
        if name == "call":
            return self._call(given, local, deep + 1)
        if name == "shell":
            return self.printed(given[0])
        if name == "eval":
            self.unread |= self.unsure > 0
            self.evaluate(again(given[0]))
            return ""
        if name == "value":
            return UNKNOWN if given[0] in local else self.held.get(given[0], ("", True))[0]
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
        return self._wildcard(given[0].split()) if name == "wildcard" else plain(name, given, self.disk.base)

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
            listed = self.expanded(parts[1], local, deep)
            with self._perhaps(not is_known(listed)):
                return " ".join(self.expanded(parts[2], {**local, variable: word}, deep) for word in listed.split())
        if name == "if":
            told = self.expanded(parts[0].strip(), local, deep).strip()
            ways = parts[1:2] if told and is_known(told) else parts[2:3] if not told else parts[1:3]
            with self._perhaps(not is_known(told)):
                return " ".join(self.expanded(part, local, deep) for part in ways)
        values: list[str] = []
        for part in parts:
            with self._perhaps(not is_known("".join(values))):
                values.append(self.expanded(part.strip(), local, deep))
            if name == "and" and not values[-1]:
                return ""
            if name == "or" and values[-1] and is_known(values[-1]):
                break
        if name == "and":
            return values[-1] if is_known("".join(values[:-1])) else f"{UNKNOWN} {values[-1]}"
        return " ".join(each for each in values if each)

    @contextmanager
    def _perhaps(self, unsure: bool) -> Iterator[None]:
        """What is met within may not be done at all where it is `unsure`."""
        self.unsure += unsure
        yield
        self.unsure -= unsure

    def _call(self, given: list[str], local: Mapping[str, str], deep: int) -> str:
        name = given[0].strip()
        if name in FUNCTIONS and name not in self.held:
            return self._called(name, ",".join(given[1:]), local, deep)
        numbered = {str(at): each for at, each in enumerate([name, *given[1:]])}
        numbered |= {str(at): "" for at in range(len(given), 10)}
        found = self.held.get(name)
        text = again(found[0]) if found is not None and found[1] else found[0] if found is not None else ""
        return self.expanded(text, {**local, **numbered}, deep)

    def _wildcard(self, patterns: Sequence[str]) -> str:
        found: list[str] = []
        for pattern in patterns:
            names = self.disk.matching(pattern) if is_known(pattern) else None
            found += [UNKNOWN] if names is None else names
        return " ".join(found)
