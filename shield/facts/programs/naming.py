"""Programs to which the name of a file may be more than a name: an address, macros, a part of a command."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import unquote

from shield.facts.programs.addresses import FILE_URL, file_names
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["NAMING"]

_REMOTE = regex(r"(?i)(?!file:)[a-z][a-z0-9+.-]*:/?/")


def _xmllint(call: Invocation) -> bool:
    """xmllint: `%2f` in a name is a slash, and `-o` may be a URL, too (xmlIO.c of libxml2)."""
    named = [(word, Access.READ) for word in call.operands]
    named += [(value, Access.WRITE) for value in call.arguments.values("-o", "--output")]
    for value, access in named:
        # What a pattern stands for is there, and opened by that name.
        there = value.pattern is not None and "//" not in value.text
        for each in _decoded(value):
            remote = _REMOTE.match(each.text) is not None
            if remote or not (each.fixed or each.head or there):
                call.reading.use(Use.URL, each)
            if not remote:
                call.reading.path(each, access)
    return True


def _decoded(value: Value) -> list[Value]:
    """The name as it stands, and as it may be taken."""
    if not value.fixed:
        return [value]
    found = file_names(value.text) if FILE_URL.match(value.text) else (unquote(value.text, errors="surrogateescape"),)
    return [value, *(Value(text=name, head=name) for name in found if name != value.text)]


# What cloc unpacks; a name that git may know, where there is no such file, is a tree to it.
_UNPACKED = regex(r"(?i).*(?:\.(?:tar|tgz|gz|z|bz2|xz|zip|whl|deb|rpm)|(?:\A|/)-)\Z", re.DOTALL)
_COMMIT = regex(r"(?:[a-f\d]{5,40}|master|HEAD)(?:~\d+)?")
_ENDING = regex(r".*\.\w+\Z", re.DOTALL)


def _cloc(call: Invocation) -> bool:
    """cloc: archives and commits are unpacked by commands for a shell, with names in them as they are."""
    if not all(_counted(word) for word in call.operands):
        call.reading.run(RunsCode.INLINE)
        call.reading.unknown.append("`cloc` may hand the name of what it unpacks to a shell")
    return False


def _counted(word: Value) -> bool:
    """Whether the word is surely no archive and no commit: of a pattern the end says so."""
    if word.fixed:
        return _UNPACKED.match(word.text) is None and _COMMIT.fullmatch(word.text) is None
    patterns = (word.text,) if word.pattern is not None else word.look.only if word.look is not None else ()
    return bool(patterns) and all(_ENDING.match(each) and _UNPACKED.match(each) is None for each in patterns)


def _rpm(call: Invocation) -> bool:
    """rpm: macros in names of files and in lists of packages are expanded, and those of headers where a format says so.

    `%(…)` is a command for a shell. A file that is no package is such a list (rpm(8), --nomanifest).
    """
    arguments = call.arguments
    formats = arguments.values("--queryformat", "--qf")
    plain = all(value.fixed and "expand" not in value.text for value in formats)
    # braces are rpm's own to expand
    plain &= all(word.fixed and not set("%{") & set(word.text) for word in call.operands)
    if arguments.has("-p", "--package"):
        # to verify a package its own script is run
        plain &= arguments.has("--nomanifest") and not arguments.has("-V", "--verify")
    if not plain:
        call.reading.run(RunsCode.INLINE)
        call.reading.unknown.append("`rpm` may run what it expands: a package as a file is read with `--nomanifest`")
    return False


NAMING: Mapping[str, Special] = MappingProxyType({"cloc": _cloc, "rpm": _rpm, "xmllint": _xmllint})
