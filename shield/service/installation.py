"""What of this machine the programs are: the Python that runs them, and every file that its next start would import.

Read once when Shield starts; nothing of it changes while it runs, and what changes on disk is what is guarded.
"""

import importlib.metadata
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import ModuleType

__all__ = ["PACKAGES", "Installation", "installation"]

PACKAGES = ("shield", "agentctl", "audit")
_COMMANDS = ("shield", "agentctl")
_DISTRIBUTION = "shield-sidecar"
_SYSTEM_PREFIXES = frozenset(("/", "/usr", "/usr/local", "/opt/homebrew", "/opt/local"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Absolute paths, as they are written: links are not followed, and not all need exist.

    `code`: files and directories that are imported or started; `apart`: directories inside of these from which nothing
    is; `own`: both programs' packages, their metadata and commands; `command`: how this process was started; `linked`:
    a file that is imported and has another name somewhere, through which it could be changed. None if there is none.
    """

    code: frozenset[str]
    apart: frozenset[str]
    own: frozenset[str]
    command: tuple[str, ...]
    linked: str | None = None


def installation(
    *,
    import_path: Sequence[str] = tuple(sys.path),
    path: str = "",
    modules: Mapping[str, ModuleType] = sys.modules,
    prefix: str = sys.prefix,
    base_prefix: str = sys.base_prefix,
    executable: str = sys.executable,
) -> Installation:
    """The installation that this process runs from; `path` is the PATH by which people find the commands."""
    imported = {entry for entry in import_path if os.path.isabs(entry)}
    own = {folder for name in PACKAGES for folder in _package(name)} | set(_recorded())
    commands = {os.path.join(folder, name) for folder in _folders(path) for name in _COMMANDS}
    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    code = {*imported, *own, *commands, *stdlib, *_interpreter(prefix, base_prefix, executable)}
    code |= _user_site(prefix, base_prefix)
    code |= {place for place in _loaded(modules) if not _within(place, code)}
    # Of an isolated environment the base's own packages are no part, though they lie beside what is.
    packages = {os.path.join(folder, name) for folder in stdlib for name in ("site-packages", "dist-packages")}
    used = {entry for entry in imported if prefix == base_prefix or not _within(entry, {prefix})}
    isolated = {folder for folder in packages if prefix == base_prefix or not _within(folder, {prefix})}
    apart = {folder for folder in isolated if not any(_within(entry, {folder}) for entry in used)}
    return Installation(
        code=frozenset(code),
        apart=frozenset(apart),
        own=frozenset(own),
        command=tuple(sys.orig_argv),
        linked=_linked(modules),
    )


def _interpreter(prefix: str, base_prefix: str, executable: str) -> set[str]:
    """What decides which interpreter starts, with which standard library: PEP 405 looks for `pyvenv.cfg` beside it."""
    found: set[str] = set()
    if prefix != base_prefix:
        found.add(prefix)
    for program in (executable, os.path.realpath(executable)):
        folder = os.path.dirname(program)
        found |= {folder, os.path.join(os.path.dirname(folder), "pyvenv.cfg")}
    if base_prefix not in _SYSTEM_PREFIXES:
        found |= {os.path.join(base_prefix, name) for name in ("bin", "lib", "lib64", "pyvenv.cfg")}
    return found


def _user_site(prefix: str, base_prefix: str) -> set[str]:
    """The user's own packages, unless an isolated environment leaves them out: a flag of this start does not."""
    if prefix != base_prefix:
        try:
            with open(os.path.join(prefix, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
                pairs = [line.partition("=") for line in file]
        except OSError:
            pairs = []
        shared = any(name.strip() == "include-system-site-packages" and "true" in value for name, _, value in pairs)
        if not shared:
            return set()
    return {site.getusersitepackages()}


def _package(name: str) -> Iterable[str]:
    """The directories of a package, wherever an editable install finds it."""
    spec = importlib.util.find_spec(name)
    return () if spec is None else tuple(spec.submodule_search_locations or ())


def _recorded() -> Iterable[str]:
    """The metadata and commands that the installer has recorded."""
    try:
        distribution = importlib.metadata.distribution(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return ()
    found: set[str] = set()
    for file in distribution.files or ():
        metadata = len(file.parts) == 2 and file.parts[0].endswith(".dist-info")
        if metadata or file.name in _COMMANDS:
            place = os.path.normpath(str(distribution.locate_file(file)))
            found.add(os.path.dirname(place) if metadata else place)
    return found


def _loaded(modules: Mapping[str, ModuleType]) -> set[str]:
    """What has been imported, by whatever finder: a package's directory, else the module's file."""
    found: set[str] = set()
    for name, module in list(modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not os.path.isabs(file) or name == "__main__":
            continue
        inside = isinstance(getattr(module, "__path__", None), list) and "." not in name
        found.add(os.path.dirname(file) if inside else file)
    return found


def _linked(modules: Mapping[str, ModuleType]) -> str | None:
    """uv installs by hard links out of its cache by default: then other environments share our very files."""
    for module in list(modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and os.path.isabs(file):
            try:
                entry = os.stat(file)
            except OSError:
                continue
            if entry.st_nlink > 1 and entry.st_uid == os.geteuid():
                return file
    return None


def _folders(path: str) -> Iterable[str]:
    return [folder for folder in path.split(":") if os.path.isabs(folder)]


def _within(path: str, roots: Set[str]) -> bool:
    return path in roots or path.startswith(tuple(root.rstrip("/") + "/" for root in roots))
