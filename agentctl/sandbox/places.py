"""Where things are that a sandbox hides, keeps or lends: a plain value, and how agentctl comes by it."""

import importlib.machinery
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from agentctl.errors import SettingsError
from agentctl.linked import Linked, linked
from shield.types import Hidden

__all__ = [
    "TEMPORARY",
    "Installation",
    "Places",
    "gather",
    "installation",
    "is_private_tmp",
    "is_within",
    "listed",
    "nearest",
    "private_tmp",
    "with_session",
]

# The folders for temporary files, of which a confined command has its own.
TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108  # names

_PACKAGES: Final = ("agentctl", "audit", "shield")
_DISTRIBUTION: Final = "shield_sidecar"
_PROGRAMS: Final = ("agentctl", "shield")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Absolute, resolved paths. `hidden`: never seen; `readonly`: never written; `ports`: never connected to.

    `scratch` is a directory of agentctl's own, outside every workspace: private /tmp, private caches, what was moved
    aside. `caches` are directories of the user that a confined command may write; `programs`, those of PATH and the
    environments around them, it may not, wherever they lie. `home` is the user's. `root`:
    commands have the user id 0, so that nothing but the sandbox keeps them from writing the system's own files.
    `linked` are repositories elsewhere that have a workspace for a working tree: read, and written as far as git does.
    """

    shield_home: str
    workspace_roots: tuple[str, ...]
    home: str
    scratch: str
    hidden: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    caches: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    linked: tuple[Linked, ...] = ()
    runtime: str | None = None
    root: bool = False

    def __post_init__(self) -> None:
        """Refuse a workspace that lies in what must be hidden."""
        for root in self.workspace_roots:
            for place in self.secret:
                if is_within(root, place):
                    raise SettingsError(f"the workspace `{root}` lies in `{place}`, which commands must not see")

    @property
    def secret(self) -> tuple[str, ...]:
        """Everything that is hidden at any level but `none`: Shield's, ours, and the packages."""
        return tuple(dict.fromkeys((self.shield_home, self.scratch, *self.hidden)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where the running programs' code is: what is to be hidden, and what is at least not to be written."""

    hidden: tuple[str, ...]
    readonly: tuple[str, ...]


def gather(
    *,
    shield_home: Path,
    workspace_roots: Sequence[str],
    home: Path,
    config: Path,
    data: Path,
    path_env: str,
    caches: Sequence[str] = (),
    runtime: Path | None = None,
) -> Places:
    """What agentctl knows before a session: Shield's home, its own directories, and the code that runs here.

    `config` and `data` are agentctl's own directories, `path_env` the PATH of the session's commands, `runtime` is
    XDG_RUNTIME_DIR. Raises SettingsError where a workspace lies in one of them.
    """
    roots = tuple(os.path.realpath(root) for root in workspace_roots)
    code = installation(roots, path_env)
    return Places(
        shield_home=os.path.realpath(shield_home),
        workspace_roots=roots,
        home=os.path.realpath(home),
        scratch=os.path.realpath(data / "sandbox"),
        hidden=_resolved((config, data, *code.hidden)),
        readonly=code.readonly,
        caches=_resolved(caches),
        programs=_started(path_env),
        linked=_linked(roots),
        runtime=None if runtime is None else os.path.realpath(runtime),
        root=os.geteuid() == 0,
    )


def with_session(places: Places, hidden: Hidden, workspace_roots: Sequence[str]) -> Places:
    """The same with what Shield named when the session began. Raises SettingsError."""
    roots = _resolved(workspace_roots)
    return replace(
        places,
        workspace_roots=roots,
        linked=_linked(roots),
        hidden=tuple(dict.fromkeys((*places.hidden, *_resolved(hidden.paths)))),
        ports=hidden.ports,
    )


def installation(roots: Sequence[str], path_env: str) -> Installation:
    """Where this interpreter imports both programs from, and which of that no command needs to see.

    A virtual environment of our own is hidden as a whole. One that commands use, too (it is on their PATH, or a
    workspace lies in or around it), can be read, but for our packages, their metadata and their programs.
    """
    prefix, base = os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)
    packages = _packages()
    folders = {os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    hidden = [*packages, *_metadata(folders), *_programs(os.path.realpath(sysconfig.get_path("scripts")))]
    for package in packages:
        parent = os.path.dirname(package)
        if parent not in folders:  # an editable checkout: the policies that ship with it lie beside it
            hidden += [place for name in ("policies", "models") if os.path.isdir(place := os.path.join(parent, name))]
    readonly = [base]
    if prefix != base:
        folder_on_path = any(is_within(os.path.realpath(entry), prefix) for entry in path_env.split(":") if entry)
        shared = folder_on_path or any(is_within(root, prefix) or is_within(prefix, root) for root in roots)
        (readonly if shared else hidden).append(prefix)
    if site.ENABLE_USER_SITE:
        readonly.append(os.path.realpath(site.getusersitepackages()))
    readonly = [place for place in readonly if place != "/" and os.path.isdir(place)]
    return Installation(hidden=_resolved(hidden), readonly=_resolved(readonly))


def _started(path_env: str) -> tuple[str, ...]:
    """The directories of PATH, and of those in a virtual environment all of it: without it its Python is another."""
    found = []
    for entry in path_env.split(":"):
        folder = os.path.realpath(entry) if os.path.isabs(entry) else "/"
        above = os.path.dirname(folder)
        found.append(above if os.path.isfile(os.path.join(above, "pyvenv.cfg")) else folder)
    return tuple(dict.fromkeys(folder for folder in found if folder != "/" and os.path.isdir(folder)))


def private_tmp(uid: int) -> str:
    """The directory for temporary files where /tmp cannot be made private: the same for all of a user's calls."""
    return f"/tmp/agentctl-{uid}"  # noqa: S108  # checked to be ours alone before it is used


def is_private_tmp(name: str) -> bool:
    """Whether this is, in /tmp, the name of somebody's `private_tmp`."""
    return name.startswith("agentctl-") and name[len("agentctl-") :].isdigit()


def is_within(path: str, place: str) -> bool:
    """Whether `path` is `place` or lies beneath it, by whole components. Both must be resolved."""
    return path == place or path.startswith(place.rstrip("/") + "/")


def nearest(path: str, places: Iterable[str]) -> str | None:
    """The deepest of `places` at or above `path`."""
    return max((place for place in places if is_within(path, place)), key=len, default=None)


def _linked(roots: Iterable[str]) -> tuple[Linked, ...]:
    return tuple(found for root in roots if (found := linked(root)) is not None)


def _resolved(paths: Iterable[str | Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths))


def _packages() -> list[str]:
    """The packages' directories, found without importing them."""
    found = []
    for name in _PACKAGES:
        loaded = sys.modules.get(name)
        spec = loaded.__spec__ if loaded is not None else importlib.machinery.PathFinder.find_spec(name)
        if spec is not None:
            found += [os.path.realpath(place) for place in spec.submodule_search_locations or ()]
    return found


def _metadata(folders: Iterable[str]) -> list[str]:
    """Our distribution's dist-info, and the `.pth` files that lead to an editable checkout."""
    patterns = (f"{_DISTRIBUTION}-*.dist-info", f"_{_DISTRIBUTION}.pth", f"__editable__*{_DISTRIBUTION}*")
    return [
        os.path.join(folder, name)
        for folder in folders
        for name in listed(folder)
        if any(fnmatch(name, pattern) for pattern in patterns)
    ]


def _programs(scripts: str) -> list[str]:
    return [place for name in _PROGRAMS if os.path.isfile(place := os.path.join(scripts, name))]


def listed(folder: str) -> list[str]:
    """The names in a directory; none where it cannot be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
