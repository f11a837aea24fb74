"""Package managers: what is installed from a lock file, and from where; what runs without fetching anything.

INVARIANT: an invocation that fetches has a line in `unknown`, or every package is pinned by a file whose content a
permit binds and its hosts are all it may reach, or it has no host at all: then what is not there yet cannot be fetched
where `fetched` may run. Whoever allows `runs_code: fetched` relies on that.
"""

import posixpath
import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.programs.bins import starts_by_name
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.javascript.lock import names_all
from shield.facts.programs.javascript.named import named_scripts
from shield.facts.programs.library import models
from shield.facts.programs.mention import bases_of, mention
from shield.facts.programs.model import Use
from shield.facts.programs.owned import own_program
from shield.facts.programs.reading import Value
from shield.facts.programs.requirements import read_requirements
from shield.facts.programs.scripts import run_script
from shield.facts.programs.sources import SOURCES, Source
from shield.types import Access, Operation, RunsCode

__all__ = ["PACKAGES"]

_MAX_SETTINGS = 1 << 16
_OFFLINE = frozenset(("--offline", "--no-index"))
_NPM_RUNNERS = frozenset(("npm exec", "npm x", "npx"))
_INDEX = frozenset(("--registry", "-i", "--index-url", "--default-index"))


def _install(call: Invocation) -> bool:
    """An installation from a lock file of the project."""
    reading, tool = call.reading, _tool(call)
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
    return True


def _npm_install(call: Invocation) -> bool:
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
    return _install(call)


def _pip_install(call: Invocation) -> bool:
    """pip install -r FILE: pinned where every line of every file has a hash; then pip wants one for each package."""
    reading, arguments = call.reading, call.arguments
    reading.run(RunsCode.FETCHED)
    source = SOURCES["pip"]
    named = [*arguments.values("-r", "--requirement", "--requirements")]
    uv = _tool(call) == "uv"
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


def _tool(call: Invocation) -> str:
    return call.name.split(" ", 1)[0].rpartition("/")[2].rstrip("0123456789.")


def _fetched(call: Invocation) -> bool:
    """Fetches what nothing pins, or does what is not followed."""
    call.reading.run(RunsCode.FETCHED)
    return _unpinned(call, "what it fetches is pinned by nothing")


def _package_runner(call: Invocation) -> bool:
    """npx, uvx and kin: the project's own program of that name if it is installed, else one that is fetched."""
    reading, words = call.reading, list(call.operands)
    if not words:
        return _fetched(call)
    if call.arguments.foreign or call.arguments.has("-p", "--package", "-c", "--call") or "@" in words[0].text:
        return _fetched(call)
    # npm looks in every directory above, too (libnpmexec, `localFileExists`)
    found = own_program(call, words[0], ("node_modules/.bin",), upward=call.name in _NPM_RUNNERS)
    if found is words[0]:
        for word in words[1:]:
            mention(call, word, Access.READ, Access.WRITE)
        return _fetched(call)
    reading.operations.add(Operation.EXECUTE)
    call.command([found, *words[1:]])
    return True


def _uv_run(call: Invocation) -> bool:
    """uv run: brings the environment up to date, which may fetch what the lock names, then runs a command in it."""
    reading, arguments, words = call.reading, call.arguments, list(call.operands)
    still = arguments.has("--offline") or arguments.has("--no-sync")
    if not still:
        # Without hosts nothing can be fetched where `fetched` may run at all: then only what is there runs.
        reading.run(RunsCode.FETCHED)
    if arguments.foreign or arguments.has("--with", "--with-editable", "--with-requirements", "--isolated"):
        return _fetched(call)
    modules = arguments.values("-m", "--module")
    if modules or arguments.has("-s", "--script"):
        python = own_program(call, Value(text="python", head="python"))
        flag = [Value(text="-m", head="-m"), modules[0]] if modules else []
        call.command([python, *flag, *words])
        if not modules:
            _script(call, words)
        return True
    if not words:
        return _fetched(call)
    if not words[0].fixed or "://" in words[0].text or words[0].text == "-":
        return _fetched(call)
    if words[0].text.endswith((".py", ".pyw")):
        _script(call, words)
        words.insert(0, own_program(call, Value(text="python", head="python")))
    call.command([own_program(call, words[0]), *words[1:]])
    return True


def _script(call: Invocation, words: list[Value]) -> None:
    """A script may name packages of its own in its head (PEP 723), which are pinned by nothing."""
    place = call.context.place
    for base in bases_of(call):
        found = resolve_path(words[0].text, place, base=base, expand_tilde=False) if words and words[0].fixed else None
        try:
            raw = place.files.read(found.path, _MAX_SETTINGS) if found and found.path and found.exists else None
        except (FileSystemUnknownError, OSError):
            raw = None
        if raw is None or re.search(rb"(?m)^# /// script", raw):
            _fetched(call)
            return


def _bare_install(call: Invocation) -> bool:
    """yarn, pnpm: without a subcommand they install."""
    if call.operands:
        known = call.operands[0].fixed and call.model.sub(call.operands[0].text) is not None
        if not known:
            _named(call)
        return not known and starts_by_name(call, call.operands, system=_tool(call) == "pnpm")
    if call.arguments.has("-v", "--version", "-h", "--help"):
        return True
    return _install(call)


def _named(call: Invocation) -> None:
    """`yarn NAME`, `pnpm NAME`, `bun NAME`: what the script of that name runs."""
    if call.operands[0].fixed:
        at = next((at for at, word in enumerate(call.words, 1) if word is call.operands[0]), len(call.words))
        named_scripts(call, _tool(call), [call.operands[0].text], lambda _: call.words[at:])


def _yarn_workspace(call: Invocation) -> bool:
    """yarn workspace NAME COMMAND…: the same command, in a part of the project."""
    call.reading.spread = True
    call.read_as("yarn", models()["yarn"], call.words[1:])
    return True


def _yarn_foreach(call: Invocation) -> bool:
    """yarn workspaces foreach OPTIONS… COMMAND…: the same command, in parts of the project."""
    call.reading.spread = True
    call.read_as("yarn", models()["yarn"], tuple(call.operands))
    return True


def _recursive(call: Invocation) -> bool:
    """pnpm recursive COMMAND…: the same command, in every package."""
    call.reading.spread = True
    call.read_as("pnpm", models()["pnpm"], call.words)
    return True


def _bun(call: Invocation) -> bool:
    """bun: a subcommand, or a script."""
    sub = call.model.subcommands or {}
    if not call.operands or (call.operands[0].fixed and call.operands[0].text in sub):
        if any(option.value is Use.CODE for option, _ in call.arguments.given):
            call.reading.run(RunsCode.INLINE)
        return False
    if call.operands[0].text == "-":
        call.reading.run(RunsCode.INLINE)
    _named(call)
    if starts_by_name(call, call.operands, system=False):
        return True
    for word in call.operands:
        mention(call, word, Access.READ, Access.WRITE)
    if call.operands:
        run_script(call.reading, call.operands[0], "bun", call.operands[1:], call.context)
    return True


PACKAGES: Mapping[str, Special] = MappingProxyType(
    {
        "bare_install": _bare_install,
        "recursive": _recursive,
        "yarn_foreach": _yarn_foreach,
        "yarn_workspace": _yarn_workspace,
        "bun": _bun,
        "install": _install,
        "npm_install": _npm_install,
        "pip_install": _pip_install,
        "fetched": _fetched,
        "package_runner": _package_runner,
        "uv_run": _uv_run,
    }
)
