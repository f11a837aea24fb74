"""What an archive holds, as far as it may be unpacked: names that mean one place on every file system, and no more.

INVARIANT: a plan holds regular files and directories only. Links, devices and FIFOs are left out and counted; a name
that could lead out of the destination, onto another entry or to a guarded place makes the whole archive refused.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentctl.errors import ToolError

__all__ = ["MAX_ENTRIES", "MAX_TOTAL", "Kind", "Member", "Plan", "guarded", "most", "planned"]

MAX_ENTRIES: Final = 10_000
MAX_TOTAL: Final = 128 * 1024 * 1024  # bytes of all files together, unpacked
_MAX_RATIO: Final = 100  # unpacked to packed, beyond what any text comes to; small archives may exceed it
_SMALL: Final = 16 * 1024 * 1024
_MAX_NAME: Final = 255  # bytes of a component, linux/limits.h
_MAX_PATH: Final = 1024
_MAX_DEPTH: Final = 32
_SHOWN: Final = 5

# Cc control, Cf invisible and direction marks, Cs lone surrogates, Zl and Zp line ends: none of them is printable
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_SHORT: Final = re.compile(r"[^.]*~[0-9]+(\..*)?")  # a name of eight and three characters, by which NTFS reaches others
# Hidden names that steer nothing. All others are refused: hooks, settings, credentials, what shells and editors run.
_HARMLESS: Final = frozenset(
    {
        ".babelrc",
        ".clang-format",
        ".coveragerc",
        ".dockerignore",
        ".editorconfig",
        ".env.example",
        ".env.sample",
        ".env.template",
        ".eslintignore",
        ".eslintrc",
        ".eslintrc.json",
        ".flake8",
        ".gitattributes",
        ".gitignore",
        ".gitkeep",
        ".keep",
        ".node-version",
        ".npmignore",
        ".nvmrc",
        ".prettierignore",
        ".prettierrc",
        ".prettierrc.json",
        ".pylintrc",
        ".python-version",
        ".ruby-version",
        ".rustfmt.toml",
        ".stylelintrc",
        ".tool-versions",
    }
)
# Names without a dot in front that agents, shells and interpreters read by themselves.
_STEERING: Final = frozenset(
    {
        "agents.md",
        "authorized_keys",
        "claude.md",
        "conventions.md",
        "gemini.md",
        "git-rebase-todo",
        "identity.md",
        "memory.md",
        "sitecustomize.py",
        "soul.md",
        "user.md",
        "usercustomize.py",
    }
)
_STEERING_ENDS: Final = (".pth",)


class Kind(StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    SPECIAL = "device or FIFO"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry of an archive. `size` is what it unpacks to, `read` gives exactly that many bytes or raises ToolError.

    `mtime` is unix seconds, None where the format does not say.
    """

    name: str
    kind: Kind
    size: int = 0
    executable: bool = False
    mtime: int | None = None
    read: Callable[[], bytes] = bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is made, below the destination: directories, each after the one it lies in, and files by their path.

    `left_out` says of which kinds how many entries are not made.
    """

    directories: tuple[tuple[str, ...], ...]
    files: tuple[tuple[tuple[str, ...], Member], ...]
    left_out: str

    @property
    def top(self) -> tuple[str, ...]:
        """The names that appear in the destination itself."""
        return tuple(dict.fromkeys(path[0] for path in (*self.directories, *(path for path, _ in self.files))))


def planned(members: Iterable[Member], packed: int) -> Plan:
    """The plan of an archive of `packed` bytes. Raises ToolError for one that is not unpacked here."""
    directories: dict[tuple[str, ...], None] = {}
    files: dict[tuple[str, ...], Member] = {}
    spellings: dict[tuple[str, ...], tuple[str, ...]] = {}
    left_out: dict[Kind, int] = {}
    total = 0
    for count, member in enumerate(members, start=1):
        if count > MAX_ENTRIES:
            raise ToolError(f"it holds more than {MAX_ENTRIES} entries; unpack it with a command")
        path = _path(member.name)
        if member.kind not in (Kind.FILE, Kind.DIRECTORY):
            left_out[member.kind] = left_out.get(member.kind, 0) + 1
            continue
        total += member.size
        if total > most(packed):
            raise ToolError(f"it would unpack to more than {most(packed)} bytes; look into it with a command")
        if not path and member.kind is Kind.DIRECTORY:
            continue  # the destination itself
        if not path:
            raise _refused(member.name, "names no file")
        folded = tuple(_fold(part) for part in path)
        for depth in range(1, len(path) + 1):
            here = path[:depth]
            if spellings.setdefault(folded[:depth], here) != here:
                raise _refused(member.name, "is another spelling of an entry before it")
            if depth < len(path):
                directories.setdefault(here)
        if path in files or (member.kind is Kind.FILE and path in directories):
            raise _refused(member.name, "is there twice")
        if member.kind is Kind.FILE:
            files[path] = member
        else:
            directories.setdefault(path)
    for path in files:
        if any(path[:depth] in files for depth in range(1, len(path))):
            raise _refused("/".join(path), "lies below a file")
    meant = [path for path in (*directories, *files) if guarded(path)]
    if meant:
        names = ", ".join(f"`{'/'.join(path)}`" for path in meant[:_SHOWN])
        raise ToolError(
            f"nothing was unpacked: {names} would steer agents, git, shells or editors, or be hidden; unpack the other"
            " entries with a command that names them"
        )
    return Plan(directories=tuple(directories), files=tuple(files.items()), left_out=_told(left_out))


def most(packed: int) -> int:
    """To how many bytes an archive of `packed` bytes may unpack."""
    return min(MAX_TOTAL, max(_SMALL, packed * _MAX_RATIO))


def guarded(path: Sequence[str]) -> bool:
    """Whether a part of the path is hidden (but for names known to be harmless), or read by programs on their own."""
    for part in path:
        folded = _fold(part)
        if folded.startswith(".") and folded not in _HARMLESS:
            return True
        if folded in _STEERING or folded.endswith(_STEERING_ENDS) or _SHORT.fullmatch(part):
            return True
    return False


def _path(name: str) -> tuple[str, ...]:
    """The components of an entry's name. `./` in front and `/` behind are how tar and zip write them."""
    plain = name
    while plain.startswith("./"):
        plain = plain[2:]
    plain = plain.removesuffix("/")
    if plain in ("", "."):
        if name in ("", "/"):
            raise _refused(name, "is empty")
        return ()
    if plain.startswith("/") or _DRIVE.match(plain):
        raise _refused(name, "is absolute")
    parts = tuple(plain.split("/"))
    if len(plain.encode("utf-8", "replace")) > _MAX_PATH or len(parts) > _MAX_DEPTH:
        raise _refused(name, "is too long")
    for part in parts:
        if part in ("", ".", ".."):
            raise _refused(name, "is not a plain path")
        if len(part.encode("utf-8", "replace")) > _MAX_NAME:
            raise _refused(name, "is too long")
        if "\\" in part or part[-1] in ". " or part[0] == " ":
            raise _refused(name, "means another place on other systems")
        if not part.isprintable() and any(unicodedata.category(character) in _UNSEEN for character in part):
            raise _refused(name, "holds characters that cannot be seen")
    return parts


def _fold(name: str) -> str:
    """One spelling for all that some file system takes for the same name (case, Unicode form, compatibility)."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFD", name).casefold()).casefold()


def _told(left_out: dict[Kind, int]) -> str:
    return ", ".join(f"{count} {kind.value}{'s' if count > 1 else ''}" for kind, count in left_out.items())


def _refused(name: str, why: str) -> ToolError:
    shown = name if len(name) <= 120 else f"{name[:119]}…"
    return ToolError(f"nothing was unpacked: the entry {shown!r} {why}; look into the archive with a command")
