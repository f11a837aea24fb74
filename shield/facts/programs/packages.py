"""Package managers: what is installed from a lock file, and from where; what runs without fetching anything.

INVARIANT: an invocation that fetches has a line in `unknown`, or every package is pinned by a file whose content a
permit binds and its hosts are all it may reach, or it has no host at all: then what is not there yet cannot be fetched
where `fetched` may run. Whoever allows `runs_code: fetched` relies on that.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.programs.bins import starts_by_name
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.javascript.named import named_scripts
from shield.facts.programs.library import models
from shield.facts.programs.locked import fetched, install, npm_install, pip_install, tool_of
from shield.facts.programs.mention import bases_of, mention
from shield.facts.programs.model import Use
from shield.facts.programs.owned import own_program
from shield.facts.programs.reading import Value
from shield.facts.programs.scripts import run_script
from shield.types import Access, Operation, RunsCode

__all__ = ["PACKAGES"]

_MAX_SCRIPT = 1 << 16
_NPM_RUNNERS = frozenset(("npm exec", "npm x", "npx"))


def _package_runner(call: Invocation) -> bool:
    """npx, uvx and kin: the project's own program of that name if it is installed, else one that is fetched."""
    reading, words = call.reading, list(call.operands)
    if not words:
        return fetched(call)
    if call.arguments.foreign or call.arguments.has("-p", "--package", "-c", "--call") or "@" in words[0].text:
        return fetched(call)
    # npm looks in every directory above, too (libnpmexec, `localFileExists`)
    found = own_program(call, words[0], ("node_modules/.bin",), upward=call.name in _NPM_RUNNERS)
    if found is words[0]:
        for word in words[1:]:
            mention(call, word, Access.READ, Access.WRITE)
        return fetched(call)
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
        return fetched(call)
    modules = arguments.values("-m", "--module")
    if modules or arguments.has("-s", "--script"):
        python = own_program(call, Value(text="python", head="python"))
        flag = [Value(text="-m", head="-m"), modules[0]] if modules else []
        call.command([python, *flag, *words])
        if not modules:
            _script(call, words)
        return True
    if not words:
        return fetched(call)
    if not words[0].fixed or "://" in words[0].text or words[0].text == "-":
        return fetched(call)
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
            raw = place.files.read(found.path, _MAX_SCRIPT) if found and found.path and found.exists else None
        except (FileSystemUnknownError, OSError):
            raw = None
        if raw is None or re.search(rb"(?m)^# /// script", raw):
            fetched(call)
            return


def _offline(call: Invocation) -> bool:
    """cargo update --offline: what a lock file names is chosen among what lies here."""
    if not call.arguments.has("--offline", "--frozen") or call.arguments.foreign or call.reading.loose:
        return fetched(call)
    call.reading.run(RunsCode.WORKSPACE)
    return False


def _tried_out(call: Invocation) -> bool:
    """cargo publish --dry-run: all but the sending."""
    if not call.arguments.has("-n", "--dry-run") or call.arguments.foreign or call.operands or call.reading.loose:
        call.reading.caution()
        call.reading.ask("`cargo publish`: what it sends reaches others")
        return True
    call.reading.run(RunsCode.WORKSPACE)
    return False


def _bundled(call: Invocation) -> bool:
    """bundle install --local: gems that are there; the Gemfile is code, and so is what builds them."""
    if not call.arguments.has("--local") or call.arguments.foreign or call.operands or call.reading.loose:
        return fetched(call)
    call.reading.run(RunsCode.WORKSPACE)
    for value in call.arguments.values("--path"):
        call.reading.path(value, Access.WRITE)
    return True


def _bare_install(call: Invocation) -> bool:
    """yarn, pnpm: without a subcommand they install."""
    if call.operands:
        known = call.operands[0].fixed and call.model.sub(call.operands[0].text) is not None
        if not known:
            _named(call)
        return not known and starts_by_name(call, call.operands, system=tool_of(call) == "pnpm")
    if call.arguments.has("-v", "--version", "-h", "--help"):
        return True
    return install(call)


def _named(call: Invocation) -> None:
    """`yarn NAME`, `pnpm NAME`, `bun NAME`: what the script of that name runs."""
    if call.operands[0].fixed:
        at = next((at for at, word in enumerate(call.words, 1) if word is call.operands[0]), len(call.words))
        named_scripts(call, tool_of(call), [call.operands[0].text], lambda _: call.words[at:])


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
        "bundled": _bundled,
        "offline": _offline,
        "tried_out": _tried_out,
        "recursive": _recursive,
        "yarn_foreach": _yarn_foreach,
        "yarn_workspace": _yarn_workspace,
        "bun": _bun,
        "install": install,
        "npm_install": npm_install,
        "pip_install": pip_install,
        "fetched": fetched,
        "package_runner": _package_runner,
        "uv_run": _uv_run,
    }
)
