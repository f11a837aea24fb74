"""What package managers install: what a lock file of the project pins, from the hosts of an index, or nothing pins."""

import posixpath
import re

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.javascript.lock import names_all
from shield.facts.programs.javascript.named import named_scripts
from shield.facts.programs.mention import bases_of
from shield.facts.programs.reading import Value
from shield.facts.programs.requirements import read_requirements
from shield.facts.programs.sources import SOURCES, Source
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["fetched", "install", "npm_install", "pip_install", "tool_of"]

_MAX_SETTINGS = 1 << 16
_OFFLINE = frozenset(("--offline", "--no-index"))
# What these run of the project's own package.json while they install (npm, "Life Cycle Scripts").
_SCRIPTED = frozenset(("bun", "npm", "pnpm", "yarn"))
_LIFE = ("preinstall", "install", "postinstall", "prepublish", "prepare")
_ONLY = regex(r"\( npx (?:-y |--yes )?only-allow (?:bun|npm|pnpm|yarn)\n\)")  # it looks at what installs
_INDEX = frozenset(("--registry", "-i", "--index-url", "--default-index"))


def install(call: Invocation) -> bool:
    """An installation from a lock file of the project."""
    reading, tool = call.reading, tool_of(call)
    source = SOURCES.get(tool)
    reading.run(RunsCode.FETCHED)
    if source is None:
        return _unpinned(call, "nothing is known of this tool")
    locked = not source.pins or any(
        option.name in source.pins and value is None for option, value in call.arguments.given
    )
    if not locked:
        return _unpinned(call, f"without `{min(source.pins)}` it may install what no lock file names")
    if call.operands:
        return _unpinned(call, "what it adds is in no lock file")
    if not _understood(call, source):
        return True
    for base in bases_of(call):
        lock = _nearest(call, base, source.locks)
        if lock is None:
            return _unpinned(call, f"there is no `{source.locks[0]}`")
        _bind(call, lock)
        _settings(call, posixpath.dirname(lock), source)
    _hosts(call, source)
    if tool in _SCRIPTED and not call.arguments.has("--ignore-scripts"):
        named_scripts(call, tool, _LIFE)
        reading.nested = [each for each in reading.nested if _ONLY.fullmatch(each.words[0].text) is None]
    return True


def npm_install(call: Invocation) -> bool:
    """npm install: without a package, what the lock file names, where that is what package.json asks for."""
    place = call.context.place
    for base in [] if call.operands else bases_of(call):
        package, lock = (
            resolve_path(f"./{name}", place, base=base, expand_tilde=False).path if base is not None else None
            for name in ("package.json", "package-lock.json")
        )
        if package is None or lock is None or not names_all(lock, package, place):
            call.reading.run(RunsCode.FETCHED)
            return _unpinned(call, "what `package.json` asks for is not surely what `package-lock.json` names")
        _bind(call, package)
    return install(call)


def pip_install(call: Invocation) -> bool:
    """pip install -r FILE: pinned where every line of every file has a hash; then pip wants one for each package."""
    reading, arguments = call.reading, call.arguments
    reading.run(RunsCode.FETCHED)
    source = SOURCES["pip"]
    named = [*arguments.values("-r", "--requirement", "--requirements")]
    uv = tool_of(call) == "uv"
    if uv and call.model.name == "sync":
        named += call.operands
    elif call.operands:
        return _unpinned(call, "what is named on the command line is pinned by no hash")
    if uv and not arguments.has("--require-hashes"):
        return _unpinned(call, "without `--require-hashes` what is installed need not be pinned")
    if not named:
        return _unpinned(call, "no file says what is installed")
    if not _understood(call, source if not uv else SOURCES["uv"]):
        return True
    replaced = False
    for value in (*named, *arguments.values("-c", "--constraint", "--constraints")):
        for base in bases_of(call):
            found = resolve_path(value.text, call.context.place, base=base, expand_tilde=False)
            if not value.fixed or found.path is None:
                return _unpinned(call, "which file says what is installed is not known")
            asked = read_requirements(found.path, call.context.place)
            if asked.doubts:
                return _unpinned(call, f"`{value.text[:80]}`: {asked.doubts[0]}")
            for file in asked.files:
                _bind(call, file)
            reading.hosts.extend(Value(text=url, head=url) for url in asked.urls)
            replaced |= asked.indexed
    _hosts(call, source, replaced=replaced)
    return True


def _understood(call: Invocation, source: Source) -> bool:
    """Whether nothing but what was looked at steers the installation: no unknown option, no variable."""
    reading = call.reading
    if call.arguments.foreign or reading.loose or reading.cautious:
        _unpinned(call, "what its options change is not known")
        return False
    steering = [name for name in call.context.place.env if re.match(source.variables, name)]
    if steering:
        _unpinned(call, f"the environment sets `{steering[0][:80]}`")
    return not steering


def _unpinned(call: Invocation, why: str) -> bool:
    call.reading.unknown.append(f"`{call.name[:80]}`: {why}")
    return True


def _hosts(call: Invocation, source: Source, *, replaced: bool = False) -> None:
    """The index's own hosts, unless another one was named in its place or nothing is to be fetched."""
    arguments = call.arguments
    if arguments.has(*_OFFLINE) or replaced or arguments.has(*_INDEX):
        return
    for host in source.hosts:
        call.reading.hosts.append(Value(text=f"https://{host}/", head="https://"))
    call.reading.operations.add(Operation.NETWORK)


def _bind(call: Invocation, path: str) -> None:
    """The file decides what runs: its content is bound, and nothing else of the line may change it."""
    moved, call.reading.moved = call.reading.moved, None
    call.reading.path(Value(text=path, head=path), Access.READ, Access.EXECUTE)
    call.reading.moved = moved


def _settings(call: Invocation, folder: str, source: Source) -> None:
    place = call.context.place
    for name in source.settings:
        path = resolve_path(posixpath.join(folder, name), place, base=None, expand_tilde=False)
        if path.path is not None and not path.exists:
            continue
        try:
            raw = place.files.read(path.path, _MAX_SETTINGS) if path.path is not None else None
        except (FileSystemUnknownError, OSError):
            raw = None
        if raw is None or re.search(source.programs, raw.decode("utf-8", "replace")):
            _unpinned(call, f"`{name}` may name a program that it runs")


def _nearest(call: Invocation, base: str | None, names: tuple[str, ...]) -> str | None:
    """The first of `names` in the directory or, inside the workspace, above it."""
    place = call.context.place
    roots = resolved_roots(place)
    while base is not None and inside(base, roots):
        for name in names:
            found = resolve_path(posixpath.join(base, name), place, base=None, expand_tilde=False)
            if found.stat is not None and found.stat.kind is FileKind.FILE:
                return posixpath.join(base, name)
        base = posixpath.dirname(base)
    return None


def tool_of(call: Invocation) -> str:
    """The manager by its plain name: `pip` of `/usr/bin/pip3.11 install`."""
    return call.name.split(" ", 1)[0].rpartition("/")[2].rstrip("0123456789.")


def fetched(call: Invocation) -> bool:
    """Fetches what nothing pins, or does what is not followed."""
    call.reading.run(RunsCode.FETCHED)
    return _unpinned(call, "what it fetches is pinned by nothing")
