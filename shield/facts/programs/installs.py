"""Where an installer would put what it installs: for as much of it as lands in an environment that protection guards.

Which environment it is follows from the interpreter, as the kernel and CPython find it (PEP 405), from options and
variables, and from the directory for those that look for a project. Nothing is run or looked up.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.paths import path_fact, resolve_path
from shield.facts.place import Place
from shield.facts.programs.ours import module_of
from shield.facts.programs.reading import Value
from shield.facts.programs.site_packages import SitePackages
from shield.regex import regex
from shield.types import Access

__all__ = ["environment_of", "guarded_by_install", "may_install"]

_DISTRIBUTION = "shield-sidecar"
_INSTALLS = frozenset(
    ("install", "uninstall", "sync", "add", "remove", "update", "upgrade", "develop", "run", "venv", "lock", "python")
)
_INSTALLERS = regex(r"(?:python|pypy|pip|easy_install|uv|poetry|pdm|hatch|rye|conda|mamba|micromamba)[a-z\d.\-]*\Z")
_PIP_MODULES = frozenset(("pip", "ensurepip", "easy_install", "pip._internal", "pip.__main__", "uv"))
_TOOL_FOLDERS = (".local/share/uv/tools", ".local/share/pipx/venvs", ".local/pipx/venvs")
_MAX_UP = 32


def may_install(name: str) -> bool:
    """Whether a program of this name is looked at at all."""
    return _INSTALLERS.match(name) is not None


def guarded_by_install(
    words: Sequence[Value],
    name: str,
    place: Place,
    bases: Sequence[str | None],
    variables: Mapping[str, str | None],
    activated: Sequence[str] = (),
) -> tuple[Value, ...]:
    """The guarded directories that the command installs into; empty for what installs nothing or elsewhere.

    `name` is the program's base name, `variables` are the shell's with those assigned for this command (None: not
    known), `activated` the environments that the line has entered.
    """
    known = {key: value for key, value in variables.items() if value is not None}
    known["PATH"] = ":".join([*(f"{path}/bin" for path in activated), known.get("PATH", place.env.get("PATH", ""))])
    if activated:
        known["VIRTUAL_ENV"] = activated[-1]
    install = _Install(name, [word.text for word in words], place, bases, known)
    found = dict.fromkeys(path for path in install.places() if _guarded(path, place))
    return tuple(Value(text=path, head=path) for path in found)


def environment_of(script: str, place: Place, base: str | None) -> str | None:
    """The environment that sourcing `…/bin/activate` enters."""
    folder, _, last = script.rpartition("/")
    if not last.startswith("activate") or posixpath.basename(folder or ".") not in ("bin", "."):
        return None
    return resolve_path(posixpath.join(folder or ".", ".."), place, base=base, expand_tilde=False).path


def _guarded(path: str, place: Place) -> bool:
    return "shield_code" in path_fact(path, Access.WRITE, place, base=None, expand_tilde=False).categories


class _Install:
    """One invocation. Options are looked for wherever they stand: too many is suspicion, too few would be leave."""

    def __init__(
        self,
        name: str,
        words: list[str],
        place: Place,
        bases: Sequence[str | None],
        variables: Mapping[str, str],
    ) -> None:
        self._name = name
        self._head = words[0]
        self._words = words[1:]
        self._place = place
        self._packages = SitePackages(place)
        self._bases = [base for base in bases if base is not None]
        self._variables = variables

    def places(self) -> Iterator[str]:
        """Every directory that this may install into."""
        name = self._name
        operands = [word for word in self._words if not word.startswith("-")]
        first, installs = operands[:1], not _INSTALLS.isdisjoint(operands)
        if name.startswith(("python", "pypy")):
            module = module_of(tuple(self._words))
            if (module is not None and module[0] in _PIP_MODULES) or (installs and first[0].endswith("setup.py")):
                yield from self._by_pip(self._located(self._head))
        elif name.startswith("easy_install") or (
            name.startswith("pip") and name not in ("pipx", "pipenv") and installs
        ):
            yield from self._by_pip(self._located(self._head))
        elif name == "pipx" or (name == "uv" and first == ["tool"]):
            yield from self._tools(operands)
        elif name == "uv" and first == ["pip"]:
            yield from self._by_options()
            if not self._values("--python", "-p", "--target", "--prefix"):
                yield from self._active()
        elif name in ("uv", "poetry", "pdm", "hatch", "pipenv", "rye") and (installs or not operands):
            yield from self._active()
            yield from self._by_options()
        elif name in ("conda", "mamba", "micromamba") and operands:
            yield from self._conda(operands)

    def _by_pip(self, programs: Iterable[str]) -> Iterator[str]:
        yield from self._by_options()
        interpreters = [*self._values("--python"), *self._known("PIP_PYTHON")]
        elsewhere = self._values("--target", "-t", "--prefix") or self._known("PIP_TARGET", "PIP_PREFIX")
        if interpreters:
            return
        for program in programs:
            versions = self._packages.versions(program)
            for prefix in self._packages.prefixes(program):
                if not elsewhere and "--user" not in self._words:
                    yield from self._packages.sites(prefix, versions)
                if not self._exists(f"{prefix}/pyvenv.cfg"):
                    yield from self._packages.user_sites(versions)

    def _by_options(self) -> Iterator[str]:
        for value in (*self._values("--target", "-t"), *self._known("PIP_TARGET")):
            yield from self._absolute(value)
        for value in (*self._values("--prefix", "--root", "-r"), *self._known("PIP_PREFIX", "PIP_ROOT")):
            for prefix in self._absolute(value):
                yield from self._packages.sites(prefix, ())
        for value in (*self._values("--python", "-p"), *self._known("PIP_PYTHON", "UV_PYTHON")):
            for path in self._absolute(value) if "/" in value else self._located(value):
                yield from self._packages.sites(path, ())
                for prefix in self._packages.prefixes(path):
                    yield from self._packages.sites(prefix, self._packages.versions(path))
        for value in self._known("PYTHONUSERBASE"):
            for prefix in self._absolute(value):
                yield from self._packages.sites(prefix, ())

    def _active(self) -> Iterator[str]:
        """The environment that is active, else the project's: `.venv` where it stands or above."""
        for value in self._known("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "CONDA_PREFIX"):
            for prefix in self._absolute(value):
                yield from self._packages.sites(prefix, ())
        moved = [path for value in self._values("--directory", "--project", "-C") for path in self._absolute(value)]
        for base in moved or self._bases:
            folder = resolve_path(base, self._place, base=None, expand_tilde=False).path
            for _ in range(_MAX_UP):
                if folder is None or folder in ("", "/"):
                    break
                yield from self._packages.sites(folder, ()) if self._exists(f"{folder}/pyvenv.cfg") else ()
                if self._exists(f"{folder}/.venv"):
                    yield from self._packages.sites(f"{folder}/.venv", ())
                    break
                folder = folder.rpartition("/")[0]
        if "--system" in self._words:
            for program in (*self._located("python3"), *self._located("python")):
                for prefix in self._packages.prefixes(program):
                    yield from self._packages.sites(prefix, self._packages.versions(program))

    def _tools(self, operands: list[str]) -> Iterator[str]:
        """Environments that hold one tool each, made by uv and pipx."""
        verbs = {"install", "upgrade", "uninstall", "inject", "uninject", "reinstall", "runpip", "update-shell"}
        whole = {"upgrade-all", "reinstall-all", "uninstall-all"} & {*operands} or "--all" in self._words
        named = any(re.split(r"[\[@=<>!~ ]", word)[0] == _DISTRIBUTION for word in operands)
        if not (whole or (named and verbs & {*operands})):
            return
        for folder in _TOOL_FOLDERS:
            path = f"{self._place.home}/{folder}/{_DISTRIBUTION}"
            if named or self._exists(path):
                yield path
        for root in self._place.protected.code:
            if any(f"/{folder.removeprefix('.local/')}/" in root for folder in _TOOL_FOLDERS):
                yield root

    def _conda(self, operands: list[str]) -> Iterator[str]:
        if operands[0] in ("install", "update", "upgrade", "remove", "uninstall", "create", "env", "clean"):
            for value in (*self._values("-p", "--prefix"), *self._known("CONDA_PREFIX")):
                for prefix in self._absolute(value):
                    yield from self._packages.sites(prefix, ())
            names = self._values("-n", "--name")
            for root in self._place.protected.code:
                if any(f"/envs/{name}/" in f"{root}/" for name in names):
                    yield root

    # --- words ------------------------------------------------------------------------------------------------------

    def _values(self, *names: str) -> list[str]:
        found: list[str] = []
        for index, word in enumerate(self._words):
            name, joined, value = word.partition("=")
            if word in names:
                found += self._words[index + 1 : index + 2]
            elif joined and name in names:
                found.append(value)
            elif word[:2] in names and not word.startswith("--"):
                found.append(word[2:])
        return found

    def _known(self, *names: str) -> list[str]:
        return [value for name in names if (value := self._variables.get(name))]

    def _absolute(self, path: str) -> list[str]:
        if path.startswith("/"):
            return [path]
        return [posixpath.normpath(posixpath.join(base, path)) for base in self._bases]

    def _located(self, name: str) -> list[str]:
        """Where the shell would find the program, links not followed; every place if that is not known."""
        if "/" in name:
            return self._absolute(name)
        found: list[str] = []
        for entry in (self._variables.get("PATH") or self._place.env.get("PATH", "")).split(":"):
            if entry.startswith("/") and self._exists(f"{entry}/{name}"):
                found.append(f"{entry}/{name}")
                break
        return found

    def _exists(self, path: str) -> bool:
        try:
            return self._place.files.lstat(path) is not None
        except FileSystemUnknownError:
            return False
