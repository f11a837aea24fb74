"""Compose files: whether what only tells of a project loads it from this machine alone.

Nearly every verb of Compose loads the project first, and fetches the files that `include`, `extends` or `-f` name by a
URL: `docker compose ps` clones a repository that nobody pinned, and an address may carry words of `.env` out. Source:
Compose documentation, "include" and "Use Docker Compose with remote resources"; compose-go, `loader`.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import yaml

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.interpolated import dotted, shows, variable_files
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import PathUse, Value
from shield.regex import regex
from shield.types import Access

__all__ = ["COMPOSED"]

_MAX_BYTES = 1 << 18
_MAX_FILES = 16
_MAX_NAMES = 200
_MAX_BASES = 64  # a link to its own directory gives one more each time
_MAX_EVENTS = 5_000  # of one file
_APART = frozenset(("ls", "version"))  # they load no project
_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_OVERRIDES = (
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
)
_GIVEN = ("-f", "--file")
_MOVED = ("--project-directory",)
_SET = ("--env-file",)
_MOVING = "project_directory"  # of an include: names count from there
_NAMING = frozenset(("include", "extends"))
# No URL, nor `git@host:…`, nor `github.com/…`, which Compose takes for a repository; and nothing is put in for `$`, nor
# for `~`.
_LOCAL = regex(r"(?!github\.com/|~)[^:$]*", re.IGNORECASE)
# Variables of `.env` that say which files are loaded, or who is asked. The files of one plain line are looked at.
_TELLING = regex(r"COMPOSE_(?:FILE|ENV_FILES|PATH_SEPARATOR|EXPERIMENTAL)|DOCKER_(?:CERT_PATH|CONFIG|CONTEXT|HOST|TLS)")
_FILES = regex(r"^COMPOSE_FILE=([\w./:-]+)$", re.ASCII | re.MULTILINE)
# Where readers of YAML differ on where a line or a text ends.
_ODD = regex("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SHOWS = "what the file puts `$NAME` into may show values of `.env`"
_WHY = "it may load files from elsewhere; `docker ps` and `docker logs` load none"


def _compose(call: Invocation) -> bool:
    """docker compose VERB: what it loads, which is bound where it comes from here."""
    verb = call.operands[0] if call.operands else None
    if verb is None or (verb.fixed and verb.text in _APART):
        return False
    own = not any(name.startswith("COMPOSE_") and _TELLING.match(name) for name in call.context.place.env)
    if not own or not all(_local(call, base) for base in call.context.bases):
        call.reading.caution()
        call.reading.unknown.append(f"`{call.name[:80]} {verb.text[:80]}`: {_WHY}")
    return False


def _local(call: Invocation, base: str | None) -> bool:
    """Whether every file of the project is known and names no other one elsewhere; then they are bound."""
    named, moved, given = (call.arguments.values(*names) for names in (_GIVEN, _MOVED, _SET))
    known = all(value.fixed for value in (*named, *moved, *given))
    if base is None or not known or not all(_here(value.text) for value in named):
        return False
    loading = _Loading(call.context.place)
    try:
        here = loading.real(posixpath.join(base, moved[-1].text) if moved else base)
        paths = [posixpath.join(base, value.text) for value in named] or loading.found(here)
        folder = posixpath.dirname(paths[0]) if paths and not moved else here
        set_in = [*(posixpath.join(base, value.text) for value in given), *(f"{each}/.env" for each in (folder, base))]
        told = loading.telling(set_in)
        paths += [posixpath.join(each, name) for each in (folder, base) for name in told]
        loading.load(paths, (folder, base))
    except (FileSystemUnknownError, yaml.YAMLError, UnicodeError):
        return False
    if loading.shows:
        call.reading.caution()
        call.reading.unknown.append(f"`{call.name[:80]}`: {_SHOWS}")
    for path in loading.variables():
        call.reading.path(Value(text=path, head=path), Access.READ)
    for path in loading.loaded:
        # INVARIANT: what is judged by its content is bound by it; a line that writes `.env`, which holds secrets and is
        # not, is asked about
        call.reading.paths.append(PathUse(value=Value(text=path, head=path), access=Access.EXECUTE))
    return True


def _here(name: str) -> bool:
    """Whether it names a file of this machine, and not what the command is fed."""
    return name != "-" and _LOCAL.fullmatch(name) is not None


class _Loading:
    """Files of a project. Every method raises FileSystemUnknownError where it cannot tell, or one comes from elsewhere.

    UnicodeError and yaml.YAMLError are for what Compose would not take, or take for something else.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self.loaded: list[str] = []
        self.shows = False
        self._bases: list[str] = []
        self._given: list[str] = []

    def real(self, path: str) -> str:
        found = resolve_path(path, self._place, base=None, expand_tilde=False).path
        if found is None:
            raise FileSystemUnknownError
        return found

    def found(self, folder: str) -> list[str]:
        """The files that Compose takes where none is named: those of the nearest directory that has one."""
        while True:
            first = self._those(folder, _NAMES)
            if first or folder == "/":
                return first + (self._those(folder, _OVERRIDES) if first else [])
            folder = posixpath.dirname(folder)

    def telling(self, paths: Sequence[str]) -> list[str]:
        """The compose files that these files of variables name."""
        found: list[str] = []
        for path in paths:
            text = self._text(self.real(path)) or ""
            plain = _FILES.findall(text)
            if len(plain) != len(_TELLING.findall(text)):
                raise FileSystemUnknownError
            found += [name for value in plain for name in value.split(":")]
        if not all(map(_here, found)):
            raise FileSystemUnknownError
        return found

    def variables(self) -> list[str]:
        """The files of variables that services are given, but for those that are plainly such."""
        paths = [posixpath.join(base, name) for base in self._bases for name in self._given]
        return [path for path in dict.fromkeys(paths) if not dotted(self.real(path))]

    def load(self, paths: Sequence[str], folders: Sequence[str]) -> None:
        """Look at these, and at all that they name. Which directory a name counts from, what includes a file says: so
        each counts from all that are known."""
        bases, waiting = self._bases, list(paths)
        bases += folders
        names: list[str] = []
        while waiting:
            path = waiting.pop()
            plain = posixpath.normpath(path)
            if plain != path:
                waiting.append(plain)  # Go takes `link/..` for nothing, the system for what is above the link's end
            real = self.real(path)
            text = self._text(real)
            if text is None:
                continue  # Compose goes no further, or it is no name of a file
            known = real in self.loaded  # by another path perhaps, whose directory names count from, too
            self.loaded += [] if known else [real]
            fresh = [each for each in dict.fromkeys(map(posixpath.dirname, (plain, real))) if each not in bases]
            if not known:
                self.shows |= shows(text)
                self._given += [name for name in dict.fromkeys(variable_files(text)) if name not in self._given]
            further = [] if known else [name for name in dict.fromkeys(_names(text)) if name not in names]
            bases += fresh
            waiting += [posixpath.join(base, name) for base in fresh for name in names]
            waiting += [posixpath.join(base, name) for base in bases for name in further]
            names += further
            if not all(map(_here, (*further, *self._given))) or len(names) + len(self._given) > _MAX_NAMES:
                raise FileSystemUnknownError
            if len(self.loaded) > _MAX_FILES or len(bases) > _MAX_BASES:
                raise FileSystemUnknownError

    def _those(self, folder: str, names: Sequence[str]) -> list[str]:
        paths = (posixpath.join(folder, name) for name in names)
        return [path for path in paths if self._place.files.lstat(path) is not None]

    def _text(self, path: str) -> str | None:
        """None where there is no file."""
        stat = self._place.files.lstat(path)
        if stat is None or stat.kind is FileKind.DIRECTORY:
            return None
        raw = self._place.files.read(path, _MAX_BYTES)
        if raw is None:
            raise FileSystemUnknownError
        return raw.decode("utf-8")


def _names(content: str) -> Iterator[str]:
    """Every text beneath a key that names other files.

    Raises:
        FileSystemUnknownError: it is too long, or readers of YAML may differ on it.
        yaml.YAMLError: it is none.
    """
    if _ODD.search(content):
        raise FileSystemUnknownError
    opened: list[_Open] = []
    for count, event in enumerate(yaml.parse(content, Loader=yaml.CSafeLoader)):
        if count == _MAX_EVENTS:
            raise FileSystemUnknownError
        if isinstance(event, yaml.CollectionEndEvent):
            opened.pop()
        if not isinstance(event, yaml.AliasEvent | yaml.ScalarEvent | yaml.CollectionStartEvent):
            continue
        around = opened[-1] if opened else _Open()
        key, names = around.key, around.names or around.named
        if (key or names) and (isinstance(event, yaml.AliasEvent) or event.tag is not None):
            raise FileSystemUnknownError  # another text stands for it, or it is one in another form: `!!binary`
        text = event.value if isinstance(event, yaml.ScalarEvent) else None
        if text is not None and names:
            if text == _MOVING:
                raise FileSystemUnknownError
            yield text
        around.named = key and text in _NAMING
        around.key = around.mapping and not key
        if isinstance(event, yaml.CollectionStartEvent):
            mapping = isinstance(event, yaml.MappingStartEvent)
            opened.append(_Open(mapping=mapping, key=mapping, names=names))


@dataclass(slots=True)
class _Open:
    """A collection that is being read. `key`: a key comes next; `named`: the last one names files, as all of `names`
    does."""

    mapping: bool = False
    key: bool = False
    named: bool = False
    names: bool = False


COMPOSED: Mapping[str, Special] = MappingProxyType({"compose": _compose})
