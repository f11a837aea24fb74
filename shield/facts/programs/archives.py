"""Programs that pack files into archives and take them out again."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.reading import Value, plain_globs
from shield.facts.programs.unpacking import tar_is_read, unzip_is_read
from shield.types import Access, Operation, RunsCode

__all__ = ["ARCHIVES"]

_PACKED = (".gz", ".z", ".Z", ".tgz", ".taz", ".bz2", ".tbz", ".tbz2", ".xz", ".txz", ".lzma", ".tlz", ".zst", ".tzst")


def _tar(call: Invocation) -> bool:
    reading, arguments = call.reading, call.arguments
    if arguments.has("-x", "--extract", "--get") and tar_is_read(call):
        return True
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


ARCHIVES: Mapping[str, Special] = MappingProxyType({"tar": _tar, "unzip": _unzip, "packed": _packed, "zip": _zip})
