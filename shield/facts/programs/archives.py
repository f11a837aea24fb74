"""Programs that pack files into archives and take them out again."""

import posixpath
import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value, plain_globs
from shield.facts.programs.unpacking import tar_is_read, unzip_is_read
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["ARCHIVES"]

# gzip takes capitals, too, and these marks for a dot (gzip(1), "files with ... suffix").
_PACKED = regex(r"(?i)(?:\.(?:gz|z|tgz|taz|bz2?|tbz2?|xz|txz|lzma|tlz|zst|tzst)|[-_]g?z)\Z")
_OF_TAR = regex(r"(?i)\.(?:tgz|taz|tbz2?|txz|tlz|tzst)\Z")
# What zip reads as one option where its letters stand together (zip -so).
_PAIRS_TEXT = """
db dc dd dg ds du dv DF FF FI FS fd fz h2 ll lf la li mm MM nw RE sp sv sb sc sd sf so su sU tt TT UN ws
"""
_PAIRS = tuple(_PAIRS_TEXT.split())


_CHANGING = ("-c", "--create", "-r", "--append", "-u", "--update", "-A", "--catenate", "--concatenate", "--delete")


def _tar(call: Invocation) -> bool:
    reading, arguments = call.reading, call.arguments
    if arguments.has("-x", "--extract", "--get") and tar_is_read(call):
        return True
    moved = _moves(call)
    for _, value in moved:
        reading.path(value, Access.LIST)
    actions = arguments.values("--checkpoint-action")
    reading.nested += glimpse(call.name, (value.text.removeprefix("exec=") for value in actions))
    archives = [value for value in arguments.values("-f", "--file") if value.text != "-"]
    for archive in archives:
        if ":" in archive.text and not arguments.has("--force-local"):
            reading.hosts.append(Value(text=archive.text.partition(":")[0].rpartition("@")[2]))
            reading.run(RunsCode.INLINE)  # rmt over rsh
    without = plain_globs(arguments.values("--exclude")) or ()
    look = Look(follows=arguments.has("-h", "--dereference"), without=without)
    if arguments.has(*_CHANGING):
        for archive in archives:
            reading.path(archive, Access.WRITE)
        for operand in call.operands:
            _packs(call, operand, _bases(call, operand, moved), look)
        if arguments.has("--remove-files"):
            for operand in call.operands:
                reading.path(operand, Access.DELETE, recursive=True)
    else:
        for archive in archives:
            reading.path(archive, Access.READ)
        if not arguments.has("-t", "--list", "-O", "--to-stdout", "-d", "--diff", "--compare"):
            for target in [value for _, value in moved] or [Value(text=".", head=".")]:
                reading.path(target, Access.WRITE, recursive=True)
            reading.reshapes = True
            if arguments.has("-P", "--absolute-names"):
                reading.caution()
    return True


def _moves(call: Invocation) -> list[tuple[int, Value]]:
    """Where each `-C` leads, which begins where the one before has led, and the place of its word: -1 where that is not
    seen."""
    found: list[tuple[int, Value]] = []
    for value in call.arguments.values("-C", "--directory", "--cd"):
        last, led = found[-1] if found else (-1, None)
        joined = tuple(f"{option}{value.text}" for option in ("-C", "--directory=", "--cd="))
        words = enumerate(call.words[last + 1 :], last + 1)
        place = next((index for index, word in words if word is value or word.text in joined), -1)
        if led is None:
            found.append((place, value))
        elif led.fixed and value.fixed:
            text = posixpath.join(led.text, value.text)
            found.append((place, Value(text=text, head=text)))
        else:
            found.append((place, Value(text=value.text, known=False)))
    return found


def _bases(call: Invocation, operand: Value, moved: list[tuple[int, Value]]) -> list[Value | None]:
    """The directories in which `operand` may be looked for: that of the last `-C` before it."""
    at = next((index for index, word in enumerate(call.words) if word is operand), -1)
    if at < 0 or any(place < 0 for place, _ in moved):
        return [None, *(value for _, value in moved)]
    before = [value for place, value in moved if place < at]
    return [before[-1]] if before else [None]


def _packs(call: Invocation, operand: Value, bases: list[Value | None], look: Look) -> None:
    reading = call.reading
    for base in bases:
        reading.moved = base
        reading.path(operand, Access.READ, recursive=True, look=look)
    if operand.text.startswith("@"):
        # to bsdtar an archive, or a list of files (bsdtar(1), `@archive`)
        reading.use(Use.NAMES, operand._replace(text=operand.text[1:], head=operand.head[1:]))
    reading.moved = None


def _unzip(call: Invocation) -> bool:
    if unzip_is_read(call):
        return True
    if not call.arguments.has("-l", "-t", "-v", "-Z", "-z", "-p", "-c"):
        for target in [] if call.arguments.has("-d") else [Value(text=".", head=".")]:
            call.reading.path(target, Access.WRITE, recursive=True)
        call.reading.reshapes = True
    return False


def _packed(call: Invocation) -> bool:
    """gzip and kin: to standard output or only listing, the file stays. Else another takes its place, named after
    it, or as the archive itself says."""
    reading, arguments = call.reading, call.arguments
    if arguments.has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test"):
        if not arguments.foreign:  # `--fil=NAMES`
            reading.operations = {Operation.READ}
        for operand in call.operands:
            reading.path(operand, Access.READ, recursive=call.recursive)
        return True
    if arguments.has("-N", "--name", "-S", "--suffix"):
        reading.caution()
    unpacks = call.name.rpartition("/")[2].startswith("un") or arguments.has("-d", "--decompress", "--uncompress")
    unpacks |= call.name.endswith("gunzip") or call.name.endswith("bunzip2")
    for operand in call.operands:
        if call.recursive:
            # every file of the tree goes, and another takes its place
            reading.path(operand, Access.READ, Access.WRITE, Access.DELETE, recursive=True, look=Look())
        else:
            reading.path(operand, Access.WRITE)
        # of a tree it is not seen which names come out of it
        if unpacks and (call.recursive or not operand.fixed):
            reading.caution()
        elif unpacks:
            bare = _PACKED.sub(".tar" if _OF_TAR.search(operand.text) else "", operand.text)
            reading.path(Value(text=bare, head=bare), Access.WRITE)
    return False


_SHORT = regex(r"\.(?:zst|zstd|br|lz4|gz|xz|lzma)\Z")
_MADE = {"brotli": ".br", "lz4": ".lz4"}


def _kept(call: Invocation) -> bool:
    """zstd, brotli and lz4 keep what they pack, and write beside it, or where they are told to."""
    reading, arguments, name = call.reading, call.arguments, call.name.rpartition("/")[2]
    for operand in call.operands:
        reading.path(operand, Access.READ, recursive=call.recursive)
    if arguments.has("-c", "--stdout", "-l", "--list", "-t", "--test"):
        if not arguments.foreign:
            reading.operations = {Operation.READ}
        return True
    unpacks = name.startswith("un") or arguments.has("-d", "--decompress", "--uncompress")
    if arguments.has("-o", "--output") and len(call.operands) == 1 and call.operands[0].fixed:
        return True  # where it writes was told
    if arguments.has("-o", "--output") or (name.endswith("lz4") and len(call.operands) > 1):
        reading.caution()  # to lz4 the second one is what it writes
    for operand in call.operands:
        if call.recursive or not operand.fixed or (unpacks and not _SHORT.search(operand.text)):
            reading.caution()
        else:
            made = _SHORT.sub("", operand.text) if unpacks else operand.text + _MADE.get(name, ".zst")
            reading.path(Value(text=made, head=made), Access.WRITE)
    return True


def _zip(call: Invocation) -> bool:
    """zip: `-m` deletes what it has packed. Some options have two letters (`-lf LOG`), and `@` ends a list of names."""
    shorts = [word.text for word in call.words if word.fixed and re.match(r"-[^-]", word.text)]
    for value in call.arguments.values("-x", "-i"):
        if value.text.startswith("@") and len(value.text) > 1:
            call.reading.path(value._replace(text=value.text[1:], head=value.head[1:]), Access.READ)
    if any(pair in word for word in shorts for pair in _PAIRS) or any(word.text == "@" for word in call.operands):
        call.reading.caution()
    if call.arguments.has("-m", "--move"):
        for operand in call.operands[1:]:
            call.reading.path(operand, Access.DELETE, recursive=True)
    tree = call.arguments.has("-r", "--recurse-paths")
    look = Look(follows=not call.arguments.has("-y", "--symlinks"))
    for operand in call.operands[1:]:
        call.reading.path(operand, Access.READ, recursive=tree, look=look if tree else None)
    for operand in call.operands[:1]:
        call.reading.path(operand, Access.WRITE)
        if operand.fixed and "." not in posixpath.basename(operand.text):
            name = f"{operand.text}.zip"
            call.reading.path(Value(text=name, head=name), Access.WRITE)
    return True


ARCHIVES: Mapping[str, Special] = MappingProxyType(
    {"tar": _tar, "unzip": _unzip, "packed": _packed, "kept": _kept, "zip": _zip}
)
