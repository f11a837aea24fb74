"""What code in some language was seen to do: the files, hosts and commands that stand in it as constants.

Seen, not proven: code can do what its constants do not show. Rules that forbid see more by it; none allows by it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.types import Access

__all__ = ["Deeds", "add_deeds"]

_MAX_EACH = 200


@dataclass(slots=True)
class Deeds:
    """Gathered in the order of the text. `paths`: text, accesses, whether all beneath; `lines`: for a shell;
    `mentions`: constants that look like a path and whose use is not known."""

    paths: list[tuple[str, tuple[Access, ...], bool]] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    moved: bool = False  # another directory is made the current one

    def path(self, text: str, *accesses: Access, recursive: bool = False) -> None:
        text = _written(text)
        if text and "\0" not in text and len(self.paths) < _MAX_EACH:
            entry = (text, accesses, recursive)
            if entry not in self.paths:
                self.paths.append(entry)

    def host(self, text: str) -> None:
        text = _written(text)
        if text and text not in self.hosts and len(self.hosts) < _MAX_EACH:
            self.hosts.append(text)

    def line(self, text: str) -> None:
        text = _written(text)
        if text.strip() and text not in self.lines and len(self.lines) < _MAX_EACH:
            self.lines.append(text)

    def mention(self, text: str) -> None:
        text = _written(text)
        if text not in self.mentions and len(self.mentions) < _MAX_EACH:
            self.mentions.append(text)


def _written(text: str) -> str:
    """As it can be recorded: code may put half a character into a string, no record holds one."""
    return text.encode("utf-8", "replace").decode("utf-8")


def add_deeds(reading: Reading, deeds: Deeds, *, name: str, home: str, file: str | None = None) -> None:
    """Put what was seen into a reading. `file`: the script it was seen in; None for code that the line itself gives, of
    which mere mentions count, too."""
    for text, accesses, recursive in deeds.paths:
        if file is None or not (deeds.moved and not text.startswith(("/", "~"))):
            reading.path(_located(text, home, expand=False), *accesses, recursive=recursive)
    for host in deeds.hosts:
        reading.hosts.append(Value(text=host))
    if file is None:
        for text in deeds.mentions:
            reading.path(_located(text, home, expand=True), Access.READ)
        reading.nested += glimpse(name, deeds.lines)
    elif deeds.lines:
        reading.nested.append(_script(name, deeds.lines, file))


def _script(name: str, lines: Iterable[str], file: str) -> Nested:
    text = "\n".join(lines)
    return Nested(kind=NestedKind.SCRIPT, words=(Value(text=text, head=text),), via=(name, file), file=file)


def _located(text: str, home: str, *, expand: bool) -> Value:
    """A program's own code takes no tilde for the home, unless it says so."""
    if expand and (text == "~" or text.startswith("~/")):
        return Value(text=home + text[1:], head="/", source=text)
    return Value(text=text, head=text)
