"""Programs that are shims: files of the project, where they run and in every directory above, say what they start.

A version that is installed is the user's own, like any program of theirs. Another may be fetched first, and some
managers take a folder for one, or set variables and run code (asdf `path:`, mise `[env]`, volta `hooks.json`).
"""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.place import Place
from shield.facts.programs.invocation import Context
from shield.facts.programs.reading import Reading, Value
from shield.facts.programs.scripts import script_text
from shield.regex import regex
from shield.types import RunsCode

__all__ = ["leads_shims", "read_shim", "shim_of"]

# Folders of shims, and programs that every name in a folder is a link to.
_FOLDERS = regex(r"/(?:shims|\.(?:tf|tofu|tg)env/bin|aquaproj-aqua/bin)/[^/]+\Z")
_LAUNCHERS = frozenset(("aqua-proxy", "mise", "proto", "proto-shim", "rtx", "swiftly", "tenv", "vfox", "volta-shim"))

_VERSIONS_TEXT = """
.python-version .ruby-version .node-version .nvmrc .nvmdrc .java-version .go-version .perl-version .php-version
.phpenv-version .lua-version .swift-version .crystal-version .deno-version .bun-version .terraform-version
.opentofu-version .terragrunt-version .erlang-version .elixir-version .exenv-version .scala-version .R-version
.dart-version .kotlin-version .zig-version .rust-version
"""
_SETTINGS_TEXT = """
.prototools .vfox.toml .sdkmanrc .rtx.toml .miserc.toml mise.toml .mise.toml mise.local.toml
.mise.local.toml mise/config.toml .mise/config.toml mise/config.local.toml .mise/config.local.toml mise/conf.d
.mise/conf.d .config/mise.toml .config/mise.local.toml .config/mise/config.toml .config/mise/config.local.toml
.config/mise/conf.d
"""
_VERSIONS = tuple(_VERSIONS_TEXT.split())
_ASDF = (".tool-versions", *_VERSIONS)
_ALL = (*_ASDF, *_SETTINGS_TEXT.split())
# What leads the shims of one manager alone, by the name of its program or of its folder.
_AQUA = ("aqua.yaml", "aqua.yml", ".aqua.yaml", ".aqua.yml", "aqua", ".aqua")
_OF_ONE = MappingProxyType(
    {
        ".asdf": _ASDF,
        ".rye": (".python-version", "pyproject.toml"),
        "aqua-proxy": _AQUA,
        "volta-shim": ("package.json", ".volta"),
    }
)
_LEADS = regex(
    r".*/(?:" + "|".join(re.escape(name) for name in (*_ALL, *_AQUA)) + r"|\.?mise\.[\w.-]+\.toml|package\.json"
    r"|pyproject\.toml|(?:conf\.d|\.volta|\.?aqua)/.+)\Z",
    re.IGNORECASE | re.DOTALL,  # names of folding file systems, and of folders with a line break
)
_VARIABLES = regex(r"(?:MISE|RTX|ASDF|PROTO|AQUA|VFOX|VOLTA|SWIFTLY|RYE|TENV|\w{2,5}ENV)_\w+")
_PLAIN = regex(r"[A-Za-z0-9][A-Za-z0-9._+-]*\Z", re.ASCII)
_NODE = regex(r"lts/[a-z*]+\Z")
_OTHER_NAMES = MappingProxyType({"nodejs": "node", "golang": "go"})
_SAFE_TABLES = frozenset(("min_version", "tasks", "tools"))
_KEPT = ("installs", "tools", "tools/image")  # of asdf and mise, of proto, of volta
_MAX_VERSIONS = 64
_MAX_FOLDERS = 16


def shim_of(named: str, file: str) -> str | None:
    """Where the shim is that a program is, found as `named` and lying at `file`; None where it starts no other."""
    if _FOLDERS.search(named) is not None or posixpath.basename(file) in _LAUNCHERS:
        return named
    return file if _FOLDERS.search(file) is not None else None


def leads_shims(path: str) -> bool:
    """Whether what the file at the absolute `path` says may decide what a shim starts."""
    return _LEADS.match(path) is not None


def read_shim(shim: str, file: str, reading: Reading, words: Sequence[Value], context: Context) -> None:
    """Add what the shim at `shim`, whose file is `file`, starts where that is not surely what the user has installed.

    What runs the project's code in any case, runs no more of it.
    """
    if reading.runs is RunsCode.WORKSPACE:
        return
    manager = _Manager.of(shim, file, context.place)
    if any(_VARIABLES.fullmatch(name) for name in context.told) or _led(manager, words, context):
        reading.run(RunsCode.WORKSPACE)
        reading.unknown.append(f"which program `{shim[:80]}` starts, or fetches first, the project says")


class _Manager(NamedTuple):
    """Where it keeps what it has installed, which files lead it, and whether it fetches what is not there.

    Managers of one language keep `versions`: they, like asdf, fetch nothing of themselves.
    """

    root: str
    leads: tuple[str, ...]
    fetches: bool

    @classmethod
    def of(cls, shim: str, file: str, place: Place) -> "_Manager":
        root = posixpath.dirname(posixpath.dirname(shim))
        name = posixpath.basename(file)
        if name not in _LAUNCHERS:
            name = posixpath.basename(root)
            if _stands(place, f"{root}/versions") and name not in _OF_ONE:
                return cls(root, _VERSIONS, fetches=False)
        return cls(root, _OF_ONE.get(name, _ALL), fetches=name != ".asdf")


def _led(manager: _Manager, words: Sequence[Value], context: Context) -> bool:
    place = context.place
    # pyenv and rbenv look where the script is that they start
    asides = {posixpath.dirname(word.text) for word in words if word.fixed and "/" in word.text}
    if None in context.bases or len(asides) > _MAX_FOLDERS:
        return True
    for start in dict.fromkeys(posixpath.join(base or "", aside) for base in context.bases for aside in ("", *asides)):
        where = resolve_path(start, place, base=None, expand_tilde=False).path
        if where is None or any(not _is_installed(path, manager, place) for path in _above(where, manager, place)):
            return True
    return False


def _above(base: str, manager: _Manager, place: Place) -> Iterator[str]:
    """The files that lead in `base` and above. What lies in the user's home is their own."""
    own = "" if inside(place.home, resolved_roots(place)) else place.home
    folder = base
    while True:
        for name in manager.leads if folder != own else ():
            path = posixpath.join(folder, name)
            if _stands(place, path):
                yield path
        if folder == "/":
            return
        folder = posixpath.dirname(folder)


def _is_installed(path: str, manager: _Manager, place: Place) -> bool:
    """Whether a file asks for plain versions and nothing else, which are there if others would be fetched."""
    found = resolve_path(path, place, base=None, expand_tilde=False)
    text = script_text(found.path, place) if found.path is not None else None
    wanted = _wanted(posixpath.basename(path), text) if text is not None else None
    if wanted is None or len(wanted) > _MAX_VERSIONS or not all(_is_plain(*each) for each in wanted):
        return False
    return not manager.fetches or all(
        version == "system"
        or any(_stands(place, f"{manager.root}/{kind}/{name}/{version}") for kind in _KEPT for name in _names(tool))
        for tool, version in wanted
    )


def _wanted(name: str, text: str) -> Sequence[tuple[object, object]] | None:
    """The tools and versions that a file asks for; None where it may ask for more."""
    if name == "package.json":
        return _of_manifest(text)
    if name.endswith(".toml") and "mise" in name:
        return _of_table(text)
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    if name == ".tool-versions":
        return [(words[0], version) for words in lines if words for version in words[1:] or [""]]
    if name in _VERSIONS:
        tool = "node" if name == ".nvmrc" else name.removeprefix(".").removesuffix("-version")
        return [(tool, version) for words in lines for version in words]
    return None


def _of_manifest(text: str) -> Sequence[tuple[object, object]] | None:
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        return None
    pinned = manifest.get("volta", {}) if isinstance(manifest, dict) else None
    return list(pinned.items()) if isinstance(pinned, dict) and "extends" not in pinned else None


def _of_table(text: str) -> Sequence[tuple[object, object]] | None:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError):
        return None
    tools = table.get("tools", {})
    if not _SAFE_TABLES.issuperset(table) or not isinstance(tools, dict):
        return None
    return [(tool, each) for tool, given in tools.items() for each in (given if isinstance(given, list) else [given])]


def _is_plain(tool: object, version: object) -> bool:
    if not isinstance(tool, str) or not isinstance(version, str) or _PLAIN.match(tool) is None:
        return False
    return _PLAIN.match(version) is not None or (tool == "node" and _NODE.match(version) is not None)


def _names(tool: object) -> tuple[str, ...]:
    return (f"{tool}", _OTHER_NAMES.get(f"{tool}", f"{tool}"))


def _stands(place: Place, path: str) -> bool:
    """Whether something is there, for all that can be told."""
    try:
        return place.files.lstat(path) is not None
    except FileSystemUnknownError:
        return True
