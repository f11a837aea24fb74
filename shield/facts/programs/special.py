"""Readers for programs whose arguments are a language of their own; every one of them is named in a `*.yaml` entry."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.administration import ADMINISTRATION
from shield.facts.programs.git import GIT
from shield.facts.programs.interpreters import INTERPRETERS
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.language import LANGUAGE
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.facts.programs.transfer import TRANSFER
from shield.types import Access, Operation, RunsCode

__all__ = ["SPECIALS"]

_FIND_ALONE_TEXT = """
-daystart -depth -d -ignore_readdir_race -noignore_readdir_race -mount -xdev -noleaf -empty -executable -readable
-writable -nogroup -nouser -true -false -print -print0 -ls -prune -quit -not ! -a -and -o -or , ( ) -follow -nowarn
-warn -X -x -s -E -H -L -P
"""
_FIND_ALONE = frozenset(_FIND_ALONE_TEXT.split())
_FIND_VALUE_TEXT = """
-maxdepth -mindepth -regextype -amin -atime -cmin -ctime -mmin -mtime -fstype -gid -group -ilname -iname -inum
-ipath -iregex -iwholename -links -lname -name -path -perm -regex -size -type -uid -used -user -wholename -xtype
-context -printf -newermt -newerat -newerct -D -Olevel
"""
_FIND_VALUE = frozenset(_FIND_VALUE_TEXT.split())
_FIND_READ_TEXT = """
-anewer -cnewer -newer -samefile -files0-from -newermm -neweraa -newercc
"""
_FIND_READ = frozenset(_FIND_READ_TEXT.split())
_FIND_WRITE_TEXT = """
-fprint -fprint0 -fls
"""
_FIND_WRITE = frozenset(_FIND_WRITE_TEXT.split())
_FIND_EXEC_TEXT = """
-exec -execdir -ok -okdir
"""
_FIND_EXEC = frozenset(_FIND_EXEC_TEXT.split())


def _find(call: Invocation) -> bool:
    """find(1): starting points, then an expression that may delete, write and execute."""
    reading, words = call.reading, list(call.words)
    roots: list[Value] = []
    while words and words[0].fixed and words[0].text in ("-H", "-L", "-P"):
        words.pop(0)
    while words and not (words[0].text if words[0].fixed else words[0].head).startswith(("-", "(", ")", "!", ",")):
        word = words.pop(0)
        reading.loose |= word.adrift
        roots.append(word)
    roots = roots or [Value(text=".", head=".")]
    for root in roots:
        reading.path(root, Access.LIST, recursive=True)
    while words:
        word = words.pop(0)
        name = word.text
        if not word.fixed:
            reading.loose = True
        elif name in _FIND_ALONE or name.startswith("-O"):
            reading.flags.append(name)
        elif name in _FIND_VALUE or name in _FIND_READ or name in _FIND_WRITE or name == "-fprintf":
            reading.flags.append(name)
            value = words.pop(0) if words else None
            if value is None:
                continue
            # A value of unknown content is one word if it is quoted; else it may be more of the expression.
            reading.loose |= value.many
            if name in _FIND_READ:
                reading.path(value, Access.READ)
            elif name in _FIND_WRITE or name == "-fprintf":
                reading.path(value, Access.WRITE)
                if name == "-fprintf" and words:
                    words.pop(0)
        elif name == "-delete":
            reading.flags.append(name)
            for root in roots:
                reading.path(root, Access.DELETE, recursive=True)
        elif name in _FIND_EXEC:
            reading.flags.append(name)
            words = _find_exec(call, words, tuple(roots))
        else:
            reading.flags.append(name)
            reading.caution()
    return True


def _find_exec(call: Invocation, words: list[Value], roots: tuple[Value, ...]) -> list[Value]:
    command: list[Value] = []
    while words:
        word = words.pop(0)
        if word.fixed and word.text == ";":
            break
        if word.fixed and word.text == "+" and command and command[-1].roots is not None:
            break
        if not word.fixed and word.many:
            call.reading.loose = True
        if "{}" in word.text:
            lead = word.text.partition("{}")[0]
            # find(1) starts every name with its starting point, so `{}` cannot begin with a dash unless that does.
            dashed = not lead and any((root.head or "-").startswith("-") for root in roots)
            alone = word.text == "{}"
            word = Value(
                text=word.text,
                known=alone,
                head="" if dashed else (lead or "/"),
                many=dashed,
                roots=roots if alone and not dashed else None,
                bare=lead,
            )
        command.append(word)
    call.command(command)
    return words


def _xargs(call: Invocation) -> bool:
    """xargs(1): the command gets further arguments of unknown content, or `-I` puts them in."""
    replace = [value.text for value in call.arguments.values("-I", "-J", "-i", "--replace") if value.fixed]
    if call.arguments.has("-i", "--replace") and not replace:
        replace = ["{}"]
    words = call.operands or [Value(text="echo", head="echo")]
    if replace:
        command = [
            Value(
                text=word.text,
                known=False,
                many=False,
                head=word.text.partition(replace[0])[0],
                bare=word.text.replace(replace[0], ""),
            )
            if replace[0] and replace[0] in word.text
            else word
            for word in words
        ]
    else:
        command = [*words, Value(text="$(xargs)", known=False, many=True, bare="")]
    call.command(command)
    return True


def _dd(call: Invocation) -> bool:
    for word in call.words:
        name, equals, tail = word.text.partition("=")
        value = Value(text=tail, head=tail) if word.fixed else Value(text=tail, known=False, head="")
        if name == "if" and equals:
            call.reading.path(value, Access.READ)
        elif name == "of" and equals:
            call.reading.path(value, Access.WRITE)
        elif not word.fixed:
            call.reading.loose = True
        elif name not in (
            "bs",
            "ibs",
            "obs",
            "cbs",
            "count",
            "skip",
            "seek",
            "iseek",
            "oseek",
            "conv",
            "status",
            "iflag",
            "oflag",
        ):
            call.reading.caution()
    return True


def _copy(call: Invocation) -> bool:
    """cp, mv, install, ln: all but the last are sources. A link opens its target's whole tree under another name."""
    reading, operands = call.reading, list(call.operands)
    kind = call.name.rpartition("/")[2]
    target = not call.arguments.has("-t", "--target-directory")
    if kind == "install" and call.arguments.has("-d", "--directory"):
        for operand in operands:
            reading.path(operand, Access.WRITE)
        return True
    last = operands.pop() if target and len(operands) > 1 else None
    links = kind in ("ln", "link") or call.arguments.has("-l", "-s", "--link", "--symbolic-link")
    for operand in operands:
        if kind == "mv":
            reading.use(Use.MOVE, operand)
        else:
            reading.path(operand, Access.READ, recursive=links or call.recursive)
            if links and kind in ("ln", "link"):
                # What is later written through the link lands there.
                reading.path(operand, Access.WRITE, recursive=True)
    if last is None and target and kind in ("ln", "link"):
        last = Value(text=".", head=".")
    if last is not None:
        reading.path(last, Access.WRITE, recursive=call.recursive)
        if not last.fixed:
            reading.path(last, Access.READ)
        for operand in operands:
            # A source keeps its name below a target that is a directory.
            if operand.fixed and last.fixed and (base := operand.text.rstrip("/").rpartition("/")[2]):
                reading.path(Value(text=last.text.rstrip("/") + "/" + base, head=last.text), Access.WRITE)
    preserving = call.arguments.has("-d", "-P", "-p", "--no-dereference", "--preserve")
    reading.reshapes |= kind in ("mv", "ln", "link") or links or call.recursive or preserving
    return True


def _mode(call: Invocation) -> bool:
    """chmod: a mode may begin with a dash (`-x`), which is no option."""
    modes = [flag for flag in call.arguments.foreign if re.fullmatch(r"-[rwxXst]+", flag)]
    if modes and len(modes) == len(call.arguments.foreign):
        for operand in call.operands:
            call.reading.path(operand, Access.WRITE, recursive=call.recursive)
        return True
    return False


def _tar(call: Invocation) -> bool:
    reading, arguments = call.reading, call.arguments
    for value in arguments.values("-C", "--directory", "--cd"):
        reading.path(value, Access.LIST)
    moved = arguments.values("-C", "--directory", "--cd")
    archives = [value for value in arguments.values("-f", "--file") if value.text != "-"]
    for archive in archives:
        if ":" in archive.text and not arguments.has("--force-local"):
            reading.hosts.append(Value(text=archive.text.partition(":")[0].rpartition("@")[2]))
            reading.run(RunsCode.INLINE)  # rmt over rsh
    if arguments.has("-c", "--create", "-r", "--append", "-u", "--update", "-A"):
        for archive in archives:
            reading.path(archive, Access.WRITE)
        for operand in call.operands:
            for base in [None, *moved]:
                reading.moved = base
                reading.path(operand, Access.READ, recursive=True)
        reading.moved = None
        if arguments.has("--remove-files"):
            for operand in call.operands:
                reading.path(operand, Access.DELETE, recursive=True)
    else:
        for archive in archives:
            reading.path(archive, Access.READ)
        if not arguments.has("-t", "--list", "-O", "--to-stdout", "-d", "--diff", "--compare"):
            for target in moved or [Value(text=".", head=".")]:
                reading.path(target, Access.WRITE, recursive=True)
            reading.reshapes = True
            if arguments.has("-P", "--absolute-names"):
                reading.caution()
    return True


def _unzip(call: Invocation) -> bool:
    if not call.arguments.has("-l", "-t", "-v", "-Z", "-z", "-p", "-c"):
        for target in [] if call.arguments.has("-d") else [Value(text=".", head=".")]:
            call.reading.path(target, Access.WRITE, recursive=True)
        call.reading.reshapes = True
    return False


def _packed(call: Invocation) -> bool:
    """gzip and kin: to standard output or only listing, the file stays."""
    if call.arguments.has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"):
        call.reading.operations = {Operation.READ}
        for operand in call.operands:
            call.reading.path(operand, Access.READ, recursive=call.recursive)
        return True
    for operand in call.operands:
        call.reading.path(operand, Access.WRITE, recursive=call.recursive)
    return False


def _file(call: Invocation) -> bool:
    if call.arguments.has("-C", "--compile"):
        call.reading.caution()
    return False


def _echo(_: Invocation) -> bool:
    """Words are printed, or are numbers and names: nothing in them is run, read or written."""
    return True


def _own_process(call: Invocation) -> bool:
    """jobs -x runs a command, wait -p evaluates a subscript: only without options are they harmless."""
    call.reading.code |= any(not word.fixed or word.text.startswith("-") for word in call.words)
    return True


def _printf(call: Invocation) -> bool:
    """printf -v NAME evaluates a subscript in NAME, commands included (bash(1) ARITHMETIC EVALUATION)."""
    first = call.words[0] if call.words else None
    if first is not None and (not first.fixed or first.text.startswith("-v")):
        call.reading.code = True
    return True


def _test(call: Invocation) -> bool:
    """test: file tests look at paths; `-v` and `-R` evaluate a subscript, commands included."""
    words = list(call.words)
    reading = call.reading
    for index, word in enumerate(words):
        if (word.fixed and word.text in ("-v", "-R")) or word.adrift:
            reading.code |= word.fixed
            reading.loose |= not word.fixed
        elif word.fixed and re.fullmatch(r"-[a-hkprstuwxGLNOS]|-ef|-nt|-ot", word.text) and index + 1 < len(words):
            reading.path(words[index + 1], Access.LIST)
            if word.text in ("-ef", "-nt", "-ot") and index:
                reading.path(words[index - 1], Access.LIST)
    return True


def _code(call: Invocation) -> bool:
    """Runs what its arguments say, in a way that is not followed."""
    call.reading.run(RunsCode.INLINE)
    call.reading.code = True
    return True


def _project(call: Invocation) -> bool:
    """Runs the project's own code or configuration. Paths among its arguments are read and written."""
    call.reading.run(RunsCode.WORKSPACE)
    for word in call.words:
        if not word.fixed:
            continue
        text = word.text.partition("=")[2] if word.text.startswith("-") else word.text
        if text.startswith(("/", "~", "..")) or "/" in text:
            call.reading.path(Value(text=text, head=text), Access.READ, Access.WRITE)
    return True


def _fetched(call: Invocation) -> bool:
    call.reading.run(RunsCode.FETCHED)
    return _project(call)


_OWN: dict[str, Special] = {
    "find": _find,
    "xargs": _xargs,
    "dd": _dd,
    "copy": _copy,
    "mode": _mode,
    "tar": _tar,
    "unzip": _unzip,
    "packed": _packed,
    "file": _file,
    "echo": _echo,
    "own_process": _own_process,
    "printf": _printf,
    "test": _test,
    "code": _code,
    "project": _project,
    "fetched": _fetched,
}
SPECIALS: Mapping[str, Special] = MappingProxyType(
    {**_OWN, **ADMINISTRATION, **LANGUAGE, **GIT, **INTERPRETERS, **TRANSFER}
)
