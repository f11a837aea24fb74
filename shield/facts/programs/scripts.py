"""Script files: small ones are read and judged by what they say, and bound to the permit by their content.

What a script shows only adds to what rules that forbid see. It stays code of whoever's file it is (`runs_code`), and a
script that cannot be understood is that and nothing more.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.hosts import host_fact
from shield.facts.paths import path_fact, resolve_path
from shield.facts.place import Place
from shield.facts.programs.argued import deletes_words, joined_paths
from shield.facts.programs.deeds import Deeds, add_deeds
from shield.facts.programs.invocation import Context
from shield.facts.programs.leavings import leaves_behind, swept, temporary
from shield.facts.programs.literals import LANGUAGES, literal_deeds
from shield.facts.programs.python.argued import python_deletes_words
from shield.facts.programs.python.code import python_deeds
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.facts.snapshot import Snapshot
from shield.types import Access, CommandFact, Dynamic, HostFact, IpClass, Origin, PathFact, RunsCode

__all__ = ["MAX_SCRIPT", "language_of", "read_code", "run_file", "run_script", "script_text", "shown"]

MAX_SCRIPT = 65_536
_MAX_IN_ALL = 262_144  # bytes of all scripts of one action
_READ = "scripts"
_SHELLS = frozenset(("ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"))
_NAMED = {"nodejs": "node", "bun": "node", "deno": "node", "luajit": "lua", "Rscript": "r", "pypy": "python"}
_NAMED |= {"tsx": "node", "ts-node": "node"}
# Places without a meaning of their own: a script may look at them as every program does.
_PLAIN = frozenset(("executable", "fresh", "source", "temp"))
_SYSTEM = frozenset(("system",))
# Addresses that belong to the machine itself: no script has a reason to ask them.
_NOBODYS = (IpClass.METADATA, IpClass.LINK_LOCAL)
_SWEEPERS = frozenset(("find", "rm"))
_RUN_ORDER = (RunsCode.NONE, RunsCode.WORKSPACE, RunsCode.INLINE, RunsCode.FETCHED)


def script_text(path: str, place: Place) -> str | None:
    """The text of the script at a resolved path; None where there is none that is small, regular and UTF-8."""
    files = place.files
    known = files.looked if isinstance(files, Snapshot) else {}
    if (path, _READ) in known:
        found = known[path, _READ]
        return found if isinstance(found, str) else None
    spent = known.get(("", _READ), 0)
    text = _text(path, place) if isinstance(spent, int) and spent < _MAX_IN_ALL else None
    known[path, _READ] = text
    known["", _READ] = (spent if isinstance(spent, int) else 0) + len(text or "")
    return text


def _text(path: str, place: Place) -> str | None:
    try:
        stat = place.files.lstat(path)
        if stat is None or stat.kind is not FileKind.FILE or stat.size > MAX_SCRIPT:
            return None
        content = place.files.read(path, MAX_SCRIPT)
    except FileSystemUnknownError:
        return None
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def language_of(program: str) -> str | None:
    """`sh` for every shell, else the language that the program of this name runs; None where it is not known."""
    name = posixpath.basename(program).removesuffix(".exe")
    if name in _SHELLS:
        return "sh"
    bare = name.rstrip("0123456789.") or name
    bare = _NAMED.get(name, _NAMED.get(bare, bare))
    return bare if bare in LANGUAGES or bare == "python" else None


def run_script(reading: Reading, value: Value, name: str, words: Sequence[Value], context: Context) -> None:
    """`name` runs the script that `value` names, with `words` for its arguments."""
    language = language_of(name)
    if not value.fixed or language is None:
        return
    for base in _bases(reading, context):
        found = resolve_path(value.text, context.place, base=base, expand_tilde=False)
        if found.path is None:
            continue
        # INVARIANT: what is judged by its content is bound by its content; one that is not there yet may be written
        # by an earlier command of the line.
        reading.path(Value(text=found.path, head=found.path, source=value.text), Access.EXECUTE)
        file = found.stat is not None and found.stat.kind is FileKind.FILE
        text = script_text(found.path, context.place) if file else None
        if text is not None:
            read_code(reading, text, language, name, words, context, file=found.path)


def run_file(reading: Reading, path: str, words: Sequence[Value], context: Context) -> None:
    """The program at the resolved `path` is a file that is started itself: read as its first line says (execve(2))."""
    text = script_text(path, context.place)
    if text is None or text.startswith("\x7f"):  # the first byte of every ELF
        return
    first = text.split("\n", 1)[0]
    match = re.match(r"#!\s*(\S+)(?:\s+(.*))?", first)
    program = posixpath.basename(match[1]) if match is not None else "sh"
    if program == "env" and match is not None:
        rest = [word for word in (match[2] or "").split() if not word.startswith("-") and "=" not in word]
        program = rest[0] if rest else ""
    language = language_of(program)
    if language is not None:
        read_code(reading, text, language, posixpath.basename(path), words, context, file=path)


def read_code(
    reading: Reading,
    text: str,
    language: str,
    name: str,
    words: Sequence[Value],
    context: Context,
    *,
    file: str | None = None,
) -> bool:
    """Add what code in a language shows; answers whether it could be read. `file`: where it stands, None for code that
    the line itself gives."""
    home = context.place.home
    if language == "sh":
        line = Value(text=text, head=text)
        via = (name, file) if file is not None else (name,)
        own = tuple(words) if file is not None else None
        reading.nested.append(Nested(kind=NestedKind.SCRIPT, words=(line,), via=via, file=file, given=own))
        return True
    if language == "python":
        given = (file or "-c", *(word.text if word.fixed else None for word in words))
        deeds = python_deeds(text, home=home, arguments=given, file=file or "")
        argued = bool(words) and python_deletes_words(text)
    else:
        whole = joined_paths(text, posixpath.dirname(file or "")) if language == "node" else text
        deeds = literal_deeds(whole, language, home=home)
        argued = bool(words) and deletes_words(text, language)
    if deeds is None:
        return False
    for word in words if argued else ():
        # `--dir=x` names one, too
        named = word.text.partition("=")[2] if word.text.startswith("-") else word.text
        if word.fixed and named:
            deeds.path(named, Access.DELETE, recursive=True)
    if file is None:
        add_deeds(reading, deeds, name=name, home=home)
        return True
    _add_meant(reading, deeds, name, file, context)
    return True


def _add_meant(reading: Reading, deeds: Deeds, name: str, file: str, context: Context) -> None:
    """What code of a file does to its own workspace is what the sandbox is for; what has a meaning is shown."""
    place, bases = context.place, _bases(reading, context)
    paths = [
        (text, accesses, recursive)
        for text, accesses, recursive in deeds.paths
        if any(
            _means(path_fact(raw, access, place, base=base, recursive=recursive, source="", expand_tilde=False))
            for access in accesses
            for base in bases
            for raw in (text if text.startswith("/") else f"./{text}",)
        )
    ]
    hosts = [host for host in deeds.hosts if (fact := host_fact(host)) is not None and fact.ip_class in _NOBODYS]
    add_deeds(reading, replace(deeds, paths=paths, hosts=hosts), name=name, home=place.home, file=file)


def _bases(reading: Reading, context: Context) -> tuple[str | None, ...]:
    moved = reading.moved
    if moved is None:
        return context.bases
    if not moved.fixed:
        return ()
    return tuple(resolve_path(moved.text, context.place, base=base, expand_tilde=False).path for base in context.bases)


def shown(
    commands: Sequence[CommandFact],
    paths: Sequence[PathFact],
    hosts: Sequence[HostFact],
    *,
    file: str | None,
    text: str = "",
) -> tuple[list[CommandFact], list[PathFact], list[HostFact]]:
    """What is shown of the facts of a script that was followed on its own; `commands[i]` in `source` counts anew.

    Of a line that other code hands to a shell (`file` None) all of it. Of a file: paths that have a meaning or lie in
    the workspace, and commands that are known, each as code of whoever's file it is. One that is not known says no more
    than that the file is code; it is left out unless a path with a meaning is its own.
    """
    if file is None:
        return list(commands), list(paths), list(hosts)
    sweeping = {
        f"commands[{at}]" for at, command in enumerate(commands) if command.name in _SWEEPERS and swept(commands, at)
    }
    ours = temporary(commands, text)
    meant = [
        path
        for path in paths
        if _means(path)
        and not (path.access is Access.DELETE and path.inside_workspace and path.source in sweeping)
        and not (path.access is Access.DELETE and path.resolved is None and leaves_behind(path, ours))
    ]
    owners = {
        path.source
        for path in meant
        if path.access is Access.DELETE or not (path.resolved is not None and path.inside_workspace)
    }
    kept: list[CommandFact] = []
    places: dict[str, str] = {}
    for index, command in enumerate(commands):
        source = f"commands[{index}]"
        # A program that is nowhere on PATH may be one of the project's own environment, or none.
        known = command.dynamic not in (Dynamic.PROGRAM, Dynamic.CODE)
        if (known and (not command.name or command.origin is not Origin.UNKNOWN)) or source in owners:
            places[source] = f"commands[{len(kept)}]"
            kind = max(command.runs_code, RunsCode.WORKSPACE, key=_RUN_ORDER.index)
            kept.append(replace(command, runs_code=kind))
    return kept, [replace(path, source=places[path.source]) for path in meant if path.source in places], list(hosts)


def _means(path: PathFact) -> bool:
    if path.resolved is not None and path.inside_workspace:
        return True
    if path.resolved is None and path.access is Access.DELETE:
        return True
    looks = path.access in (Access.READ, Access.LIST, Access.EXECUTE)
    if path.resolved is None:
        # Of a path that may be anywhere only its beginning says something, not all that may lie beneath it.
        return bool(path.categories - _PLAIN - _SYSTEM)
    return bool((path.categories | path.covers) - _PLAIN - (_SYSTEM if looks else frozenset()))
