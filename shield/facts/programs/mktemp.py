"""`mktemp`: where the file or folder lies that it makes, and what of its name is not by chance (mktemp(1))."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access

__all__ = ["MKTEMP", "Template", "template_of"]

_LEAST = 3  # letters by chance
_USUAL = "tmp.XXXXXXXXXX"
_FLAGS = regex(r"-[dqut]+")


class Template(NamedTuple):
    """`folder`: the directory as it is written, empty where none is, None for the one of temporary files. `start` and
    `end`: the name around what is chosen by chance. `holds`: a folder is made, no file."""

    folder: str | None
    start: str
    end: str
    holds: bool = False

    @property
    def path(self) -> str:
        """As it is written, the letters by chance as `X`."""
        return posixpath.join(self.folder or "", f"{self.start}XXXXXXXXXX{self.end}")


def template_of(words: Sequence[str], platform: str) -> Template | None:
    """What `mktemp words…` makes; None where it makes nothing (`-u`), fails, or is not understood, and where what it
    prints ends otherwise than the name: a substitution takes newlines off its end."""
    letters, folder, suffix, names = _parted(words)
    if names is None or "u" in letters or len(names) > 1:
        return None
    if platform == "darwin" and (names or folder is not None or suffix or "t" in letters):
        return None  # another program by this name
    name = names[0] if names else _USUAL
    if not name or (suffix is not None and not name.endswith("X")):
        return None
    if names and folder is None and "t" not in letters and "T" not in letters:
        folder, name = posixpath.split(name)
    elif name.startswith("/") or ("t" in letters and "/" in name):
        return None  # it fails
    elif "t" in letters:
        folder = None  # TMPDIR comes before `-p`
    lead, _, last = name.rpartition("/")
    end = last.rfind("X") + 1
    start = len(last[:end].rstrip("X"))
    tail = last[end:] + (suffix or "")
    if end - start < _LEAST or "/" in tail or tail.endswith("\n"):
        return None
    if lead:
        if folder is None:
            return None
        folder = posixpath.join(folder, lead)
    return Template(folder, last[:start], tail, holds="d" in letters)


def _parted(words: Sequence[str]) -> tuple[set[str], str | None, str | None, list[str] | None]:
    """The letters of its options (`T` for a bare `--tmpdir`), the directory, the suffix, and its operands; None for
    these where a word is not understood."""
    letters: set[str] = set()
    folder: str | None = None
    suffix: str | None = None
    names: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if word in ("--directory", "--quiet", "--tmpdir"):
            letters.add({"--directory": "d", "--quiet": "q"}.get(word, "T"))
        elif option == "--tmpdir" and equals and value:
            folder = value
        elif option == "--suffix" and (equals or rest):
            suffix = value if equals else rest.pop(0)
        elif re.fullmatch(r"-[dqt]*p", word) and rest and rest[0]:
            letters.update(word[1:-1])
            folder = rest.pop(0)
        elif _FLAGS.fullmatch(word):
            letters.update(word[1:])
        elif word == "--":
            names += rest
            break
        elif word.startswith("-"):
            return letters, folder, suffix, None
        else:
            names.append(word)
    return letters, folder, suffix, names


def _mktemp(call: Invocation) -> bool:
    """What is made anew in a directory changes nothing else there."""
    known = all(word.fixed for word in call.words)
    template = template_of([word.text for word in call.words], call.context.place.platform) if known else None
    if template is None:
        return False
    call.reading.paths.clear()
    if template.folder is not None:
        call.reading.path(Value(text=template.path, head=template.path), Access.WRITE)
    return True


MKTEMP: Mapping[str, Special] = MappingProxyType({"mktemp": _mktemp})
