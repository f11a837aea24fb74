"""Which file a command name would run, and where it comes from (bash(1) COMMAND EXECUTION)."""

import posixpath
from typing import NamedTuple

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.shims import shim_of
from shield.types import Origin

__all__ = ["BUILTINS", "KEYWORDS", "Found", "Lookup"]

_BUILTINS_TEXT = """
. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo
enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf
pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit
umask unalias unset wait
"""
BUILTINS = frozenset(_BUILTINS_TEXT.split())
KEYWORDS = frozenset(["time"])
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/opt",
    "/nix",
    "/run/current-system",
    "/run/wrappers",
    "/etc/profiles/per-user",
    "/snap",
    "/gnu/store",
    "/System",
    "/Library",
)
_HOMEBREW = ("/opt/homebrew", "/usr/local", "/home/linuxbrew/.linuxbrew")
_TEMP = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/private/var/folders", "/run/user")  # noqa: S108 - names, not uses
_TRUST = (Origin.SYSTEM, Origin.USER, Origin.WORKSPACE, Origin.TEMP, Origin.UNKNOWN)
_MAX_ENTRIES = 64
_FILE = FileKind.FILE


class Found(NamedTuple):
    """`shim`: where it was found, if what it starts is another program of that name. `absent`: nothing of that name
    stands where it would be looked for."""

    file: str | None = None
    origin: Origin = Origin.UNKNOWN
    shim: str | None = None
    absent: bool = False


class _Folder(NamedTuple):
    """A directory of PATH: `path` is where it is, `origin` the less trusted of that and of its name."""

    path: str
    stat: Stat
    origin: Origin


class Lookup:
    """Looks each name up once per command line; asks the disk only for names that are used."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._found: dict[tuple[str, str | None, str | None, bool], Found] = {}
        self._roots: tuple[str, ...] | None = None
        self._origins: dict[str, Origin] = {}
        self._folders: dict[str, _Folder | None] = {}
        temp = place.env.get("TMPDIR", "")
        self._temp = (*_TEMP_PREFIXES, *_prefixes((temp,))) if temp.startswith("/") else _TEMP_PREFIXES
        self._home = _prefixes((place.home,)) if place.home.strip("/") else ()

    def find(self, name: str, base: str | None, path: str | None, *, builtins: bool = True) -> Found:
        """What `name` runs with this PATH (None: not known) in the directory `base`."""
        if builtins and (name in BUILTINS or name in KEYWORDS):
            return Found(None, Origin.BUILTIN)
        key = (name, base, path, builtins)
        found = self._found.get(key)
        if found is None:
            found = self._search(name, base, path)
            self._found[key] = found
        return found

    def _search(self, name: str, base: str | None, path: str | None) -> Found:
        if not name:
            return Found()
        if "/" in name:
            return self._file(name, base) or Found()
        if path is None:
            return Found()
        files = self._place.files
        entries = path.split(":")
        if len(entries) > _MAX_ENTRIES:
            return Found()
        nowhere = True
        for entry in entries:
            # An empty entry is the current directory; `~` in PATH is left to the shell that reads it.
            folder = entry or "."
            if not folder.startswith("/") and (base is None or folder.startswith("~")):
                return Found()
            found = None
            if folder.startswith("/"):
                try:
                    stat = files.lstat(f"{folder}/{name}")
                    if stat is None:
                        continue
                    found = self._entry(folder, name, stat)
                except FileSystemUnknownError:
                    return Found()
            if found is None:
                nowhere = False
                found = self._file(posixpath.join(folder, name), base)
            if found is not None:
                return found
        return self._absent(entries) if nowhere and name not in BUILTINS else Found()

    def _absent(self, entries: list[str]) -> Found:
        """A name that no folder of PATH holds: nothing would run. If something comes to stand there before it does, it
        is the system's or the user's, as these folders are; with a folder that others may fill nothing is known."""
        worst = max([self._kept(entry) for entry in entries], key=_TRUST.index)
        return Found(None, worst) if worst in (Origin.SYSTEM, Origin.USER) else Found()

    def _kept(self, entry: str) -> Origin:
        folder = self._folder(entry)
        if folder is None:
            # not there yet: only root can make it
            return Origin.SYSTEM if self._origin(entry) is Origin.SYSTEM else Origin.UNKNOWN
        return _settled(folder.origin, folder.path, folder.stat)

    def _entry(self, folder: str, name: str, stat: Stat) -> Found | None:
        """The program `name` of an absolute directory, where it is a plain file there: no link is left to follow.

        None where that is not so: then the whole path is walked.
        """
        if stat.kind is not _FILE or not stat.executable or name in (".", ".."):
            return None
        parent = self._folder(folder)
        if parent is None or self._place.files.folds(parent.path, parent.stat, name, stat):
            return None
        # a plain file is where its directory is: no root begins at it
        path = f"{parent.path.rstrip('/')}/{name}"
        return Found(path, _settled(parent.origin, path, stat), shim_of(f"{folder.rstrip('/')}/{name}", path))

    def _folder(self, folder: str) -> _Folder | None:
        if folder not in self._folders:
            found = resolve_path(folder, self._place, base=None, expand_tilde=False)
            known = None
            if found.path is not None and found.stat is not None:
                known = _Folder(found.path, found.stat, self._worst((folder, found.path)))
            self._folders[folder] = known
        return self._folders[folder]

    def _file(self, path: str, base: str | None) -> Found | None:
        """The program at `path`: None where nothing there can be run, an unknown one where that cannot be told."""
        raw = path if path.startswith("/") else "./" + path
        resolved = resolve_path(raw, self._place, base=base, expand_tilde=False)
        if resolved.path is None:
            return Found()
        if not resolved.exists or resolved.stat is None:
            return None
        if resolved.stat.kind is not FileKind.FILE or not resolved.stat.executable:
            return None
        # INVARIANT: the least trusted of where the name was found and where its file lies decides.
        named = path if path.startswith("/") else posixpath.normpath(posixpath.join(base or "/", path))
        parent = resolve_path(posixpath.dirname(named), self._place, base=None, expand_tilde=False).path
        if parent is None:
            return Found(resolved.path, Origin.UNKNOWN)
        worst = self._worst((resolved.path, named, parent))
        return Found(resolved.path, _settled(worst, resolved.path, resolved.stat), shim_of(named, resolved.path))

    def coming(self, path: str, base: str | None) -> Found:
        """A program of the workspace that is not there yet, or that cannot be run yet, behind what may make it: the
        project's own code does, or something else in the line, which is then asked about (`touched.rewritten`)."""
        raw = path if path.startswith("/") else "./" + path
        resolved = resolve_path(raw, self._place, base=base, expand_tilde=False)
        if resolved.path is None or (resolved.stat is not None and resolved.stat.kind is not FileKind.FILE):
            return Found()
        named = path if path.startswith("/") else posixpath.normpath(posixpath.join(base or "/", path))
        parent = resolve_path(posixpath.dirname(named), self._place, base=None, expand_tilde=False).path
        if parent is None or self._worst((resolved.path, named, parent)) is not Origin.WORKSPACE:
            return Found()
        return Found(resolved.path, Origin.WORKSPACE)

    def _worst(self, seen: tuple[str, ...]) -> Origin:
        return max([self._origin(item) for item in seen], key=_TRUST.index)

    def _origin(self, path: str) -> Origin:
        known = self._origins.get(path)
        if known is None:
            known = self._origins[path] = self._origin_of(path)
        return known

    def _origin_of(self, path: str) -> Origin:
        if self._roots is None:
            roots = []
            for root in self._place.workspace_roots:
                resolved = resolve_path(root, self._place, base=None, expand_tilde=False).path
                roots.extend([root] if resolved is None else [root, resolved])
            self._roots = _prefixes(tuple(roots))
        slashed = path + "/"
        if slashed.startswith(self._roots):
            return Origin.WORKSPACE
        if slashed.startswith(self._temp):
            return Origin.TEMP
        if slashed.startswith(self._home):
            return Origin.USER
        return Origin.SYSTEM if slashed.startswith(_SYSTEM_PREFIXES) else Origin.UNKNOWN


def _settled(origin: Origin, path: str, stat: Stat) -> Origin:
    """`origin` by where the file at `path` lies, with who owns it and who may write it."""
    if origin in (Origin.SYSTEM, Origin.USER) and stat.mode & 0o002:
        return Origin.UNKNOWN
    theirs = origin is Origin.SYSTEM and stat.uid != 0 and not path.startswith(_HOMEBREW_PREFIXES)
    return Origin.USER if theirs else origin


def _prefixes(roots: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(root.rstrip("/") + "/" for root in roots)


_SYSTEM_PREFIXES = _prefixes(_SYSTEM + _HOMEBREW)
_HOMEBREW_PREFIXES = _prefixes(_HOMEBREW)
_TEMP_PREFIXES = _prefixes(_TEMP)
