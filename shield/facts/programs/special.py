"""Readers for programs whose arguments are a language of their own; every one of them is named in a `*.yaml` entry."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.administration import ADMINISTRATION
from shield.facts.programs.editors import EDITORS
from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.git import GIT
from shield.facts.programs.interpreters import INTERPRETERS
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.language import LANGUAGE
from shield.facts.programs.listing import printed_by_find, taken_apart
from shield.facts.programs.model import Use
from shield.facts.programs.packages import PACKAGES
from shield.facts.programs.project import PROJECT
from shield.facts.programs.reading import Listing, PathUse, Value, plain_globs
from shield.facts.programs.toolchain import TOOLCHAIN
from shield.facts.programs.transfer import TRANSFER
from shield.facts.programs.wrapping import WRAPPING
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
    look = _find_look(call.words)
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
            if name == "-files0-from":
                reading.use(Use.NAMES, value)
            elif name in _FIND_READ:
                reading.path(value, Access.READ)
            elif name in _FIND_WRITE or name == "-fprintf":
                reading.path(value, Access.WRITE)
                if name == "-fprintf" and words:
                    words.pop(0)
        elif name == "-delete":
            reading.flags.append(name)
            here = Value(text="{}", known=False, roots=tuple(roots), look=replace(look, follows=False))
            reading.path(here, Access.DELETE, recursive=True)
        elif name in _FIND_EXEC:
            reading.flags.append(name)
            words = _find_exec(call, words, tuple(roots), look, elsewhere=name in ("-execdir", "-okdir"))
        else:
            reading.flags.append(name)
            reading.caution()
    reading.prints = _find_prints(call, roots, look)
    return True


def _find_prints(call: Invocation, roots: list[Value], look: Look) -> Listing | None:
    if call.reading.cautious or call.reading.loose:
        return None
    return printed_by_find(call.words, roots, Listing(tuple(roots), look))


# Parts of an expression that can only leave entries out, so that those before and after them still hold.
_FIND_NARROWS_TEXT = """
-maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -size -perm -user -group -empty -readable -newer -depth
-xdev -mount -print -print0 -exec -execdir -delete -ls -name -type
"""
_FIND_NARROWS = frozenset(_FIND_NARROWS_TEXT.split())


def _find_look(words: tuple[Value, ...]) -> Look:
    """Which entries the actions of this expression see, where it is one conjunction that begins with its tests."""
    tests: list[str] = []
    files, only = False, None
    for index, word in enumerate(words):
        if not word.fixed or word.text in ("-exec", "-execdir", "-delete"):
            break
        if word.text.startswith(("-", "!", "(", ",")):
            tests.append(word.text)
            value = words[index + 1] if index + 1 < len(words) else None
            files |= word.text == "-type" and value is not None and value.fixed and value.text == "f"
            if word.text == "-name" and value is not None:
                only = plain_globs([value])
    # Without `-type f` an entry may be a link, which the command that gets its name follows.
    if any(test not in _FIND_NARROWS for test in tests) or any(
        word.fixed and word.text in ("-o", "-or", ",", "-L", "-H", "-follow") for word in words
    ):
        return Look(follows=True)
    return Look(follows=not files, only=only or ())


def _find_exec(
    call: Invocation, words: list[Value], roots: tuple[Value, ...], look: Look, *, elsewhere: bool
) -> list[Value]:
    """One `-exec` and its command. `elsewhere`: it is started in the directory of each entry, wherever that is."""
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
                look=look,
                bare=lead,
            )
        command.append(word)
    if elsewhere:
        call.reading.unknown.append("what the command finds in each directory that it is started in is not known")
    call.command(command)
    return words


def _xargs(call: Invocation) -> bool:
    """xargs(1): the command gets further arguments of unknown content, or `-I` puts them in."""
    replace = [value.text for value in call.arguments.values("-I", "-J", "-i", "--replace") if value.fixed]
    if call.arguments.has("-i", "--replace") and not replace:
        replace = ["{}"]
    words = call.operands or [Value(text="echo", head="echo")]
    named = _named(call)
    if replace:
        command = [_filled(word, replace[0], named) for word in words]
    elif named is not None:
        if not call.arguments.has("-r", "--no-run-if-empty"):
            call.command(list(words))  # of an empty list it is started once, without a name
        command = [*words, named]
    else:
        command = [*words, Value(text="$(xargs)", known=False, many=True, bare="")]
    call.command(command)
    return True


def _named(call: Invocation) -> Value | None:
    """A word that the command gets, where xargs reads a list of names from a program that prints nothing else."""
    arguments, context = call.arguments, call.context
    if context.names is None or arguments.foreign or arguments.has("-a", "--arg-file", "-R", "--process-slot-var"):
        return None
    ends = arguments.values("-d", "--delimiter")
    if any(value.text != "\\n" for value in ends):
        return None
    return taken_apart(context.names, context.place, context.bases, nul=arguments.has("-0", "--null"))


def _filled(word: Value, mark: str, named: Value | None) -> Value:
    """A word of the command with the name in the place of `mark`."""
    if not mark or mark not in word.text:
        return word
    if named is not None and word.text == mark:
        return named
    lead = word.text.partition(mark)[0]
    return Value(text=word.text, known=False, many=False, head=lead, bare=word.text.replace(mark, ""))


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
    reading, operands, arguments = call.reading, list(call.operands), call.arguments
    kind = call.name.rpartition("/")[2]
    if kind == "install" and arguments.has("-d", "--directory"):
        for operand in operands:
            reading.path(operand, Access.WRITE)
        return True
    if arguments.has("-S", "--suffix"):
        # What was there is kept under a name that ends in this: which one, may be a file with a meaning.
        reading.caution()
    given = arguments.values("-t", "--target-directory")
    lone = len(operands) == 1 and operands[0].fixed
    # A lone pattern may match several names, the last of which is then the target.
    last = None if given or not operands or lone else operands[-1] if len(operands) == 1 else operands.pop()
    links = kind in ("ln", "link") or arguments.has("-l", "-s", "--link", "--symbolic-link")
    for operand in operands:
        if kind == "mv":
            reading.use(Use.MOVE, operand)
        else:
            look = Look(follows=arguments.has("-L", "--dereference")) if call.recursive else None
            reading.path(operand, Access.READ, recursive=links or call.recursive, look=look)
            if links and kind in ("ln", "link"):
                # What is later written through the link lands there.
                reading.path(operand, Access.WRITE, recursive=True)
    if last is None and not given and kind in ("ln", "link"):
        last = Value(text=".", head=".")
    if last is not None:
        reading.path(last, Access.WRITE)
        if not last.fixed:
            reading.path(last, Access.READ)
    whole = arguments.has("-T", "--no-target-directory")
    for target in [*given, *([last] if last is not None else [])]:
        for operand in operands:
            # A source keeps its name below a target that is a directory, or takes the target's.
            reading.paths.append(
                PathUse(
                    value=target,
                    access=Access.WRITE,
                    recursive=call.recursive or kind == "mv",
                    moved=reading.moved,
                    below=operand,
                    whole=whole,
                )
            )
    preserving = arguments.has("-d", "-P", "-p", "--no-dereference", "--preserve")
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
    actions = arguments.values("--checkpoint-action")
    reading.nested += glimpse(call.name, (value.text.removeprefix("exec=") for value in actions))
    archives = [value for value in arguments.values("-f", "--file") if value.text != "-"]
    for archive in archives:
        if ":" in archive.text and not arguments.has("--force-local"):
            reading.hosts.append(Value(text=archive.text.partition(":")[0].rpartition("@")[2]))
            reading.run(RunsCode.INLINE)  # rmt over rsh
    without = plain_globs(arguments.values("--exclude")) or ()
    look = Look(follows=arguments.has("-h", "--dereference"), without=without)
    if arguments.has("-c", "--create", "-r", "--append", "-u", "--update", "-A"):
        for archive in archives:
            reading.path(archive, Access.WRITE)
        for operand in call.operands:
            for base in [None, *moved]:
                reading.moved = base
                reading.path(operand, Access.READ, recursive=True, look=look)
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


_PACKED = (".gz", ".z", ".Z", ".tgz", ".taz", ".bz2", ".tbz", ".tbz2", ".xz", ".txz", ".lzma", ".tlz", ".zst", ".tzst")


def _packed(call: Invocation) -> bool:
    """gzip and kin: to standard output or only listing, the file stays. Else another takes its place, named after
    it, or as the archive itself says."""
    reading, arguments = call.reading, call.arguments
    if arguments.has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"):
        reading.operations = {Operation.READ}
        for operand in call.operands:
            reading.path(operand, Access.READ, recursive=call.recursive)
        return True
    if arguments.has("-N", "--name", "-S", "--suffix"):
        reading.caution()
    unpacks = call.name.rpartition("/")[2].startswith("un") or arguments.has("-d", "--decompress", "--uncompress")
    unpacks |= call.name.endswith("gunzip") or call.name.endswith("bunzip2")
    for operand in call.operands:
        reading.path(operand, Access.WRITE, recursive=call.recursive)
        if unpacks and not operand.fixed:
            reading.caution()
        elif unpacks:
            bare = next((operand.text.removesuffix(end) for end in _PACKED if operand.text.endswith(end)), operand.text)
            reading.path(Value(text=bare, head=bare), Access.WRITE)
    return False


def _zip(call: Invocation) -> bool:
    """zip: `-m` deletes what it has packed."""
    if call.arguments.has("-m", "--move"):
        for operand in call.operands[1:]:
            call.reading.path(operand, Access.DELETE, recursive=True)
    tree = call.arguments.has("-r", "--recurse-paths")
    look = Look(follows=not call.arguments.has("-y", "--symlinks"))
    for operand in call.operands[1:]:
        call.reading.path(operand, Access.READ, recursive=tree, look=look if tree else None)
    for operand in call.operands[:1]:
        call.reading.path(operand, Access.WRITE)
    return True


def _diff(call: Invocation) -> bool:
    """diff: links met on the way down are followed (diffutils, 11 Comparing Directories)."""
    look = Look(
        follows=not call.arguments.has("--no-dereference"),
        without=plain_globs(call.arguments.values("-x", "--exclude")) or (),
    )
    for operand in call.operands:
        call.reading.path(operand, Access.READ, recursive=call.recursive, look=look if call.recursive else None)
    return True


def _sums(call: Invocation) -> bool:
    """md5sum and kin: `-c` reads the names of files, and tells whether they hold what is written there."""
    if call.arguments.has("-c", "--check"):
        for operand in call.operands or [Value(text="-", head="-")]:
            call.reading.use(Use.NAMES, operand)
        return True
    return False


_PS_ENVIRONMENT = re.compile(r"environ", re.IGNORECASE)


def _ps(call: Invocation) -> bool:
    """ps: `e` without a dash, or the column of that name, shows the environment of every program (ps(1))."""
    first = call.words[0] if call.words else None
    words = [*call.operands, *([first] if first is not None and not first.text.startswith("-") else [])]
    shows = any(not word.fixed or "e" in word.text for word in words)
    columns = call.arguments.values("-o", "--format")
    if shows or any(not value.fixed or _PS_ENVIRONMENT.search(value.text) for value in columns):
        call.reading.path(Value(text="/proc/1/environ", head="/proc/1/environ"), Access.READ)
    return True


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


_OWN: dict[str, Special] = {
    "find": _find,
    "xargs": _xargs,
    "dd": _dd,
    "copy": _copy,
    "mode": _mode,
    "tar": _tar,
    "unzip": _unzip,
    "packed": _packed,
    "zip": _zip,
    "diff": _diff,
    "ps": _ps,
    "sums": _sums,
    "file": _file,
    "echo": _echo,
    "own_process": _own_process,
    "printf": _printf,
    "test": _test,
}
SPECIALS: Mapping[str, Special] = MappingProxyType(
    {
        **_OWN,
        **ADMINISTRATION,
        **EDITORS,
        **GIT,
        **INTERPRETERS,
        **LANGUAGE,
        **PACKAGES,
        **PROJECT,
        **TOOLCHAIN,
        **TRANSFER,
        **WRAPPING,
    }
)
