"""Programs that move data between machines; `curl` has a module of its own."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.programs.curl import CURL, stored_as
from shield.facts.programs.forwarding import glimpse
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import PathUse, Value
from shield.facts.programs.sockets import SOCKETS, jumps
from shield.facts.programs.within import plain_within
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["TRANSFER"]


def _wget(call: Invocation) -> bool:
    reading, has = call.reading, call.arguments.has
    if not has("-O", "--output-document", "--spider"):
        folder = [Value(text=".", head="."), *call.arguments.values("-P", "--directory-prefix")][-1]
        for name in [name for url in call.operands for name in stored_as(url, folder)] or [folder]:
            reading.path(name, Access.WRITE)
    if has("-i", "--input-file", "-r", "--recursive", "-m", "--mirror", "-e", "--execute", "-p", "--page-requisites"):
        reading.unknown.append("which hosts `wget` would ask is not known")
    if has("--content-disposition"):
        reading.unknown.append("which file `wget` would write, the other side says")
    return False


# Of dig(1): flags, which may stand in one word with what follows them, and the name that is asked.
_BATCH = regex(r"-[46dhimnruv]*[fk]")
_QUERY = regex(r"-[46dhimnruv]*q(.+)")


def _lookup(call: Invocation) -> bool:
    """A look-up sends the name that is asked, whatever is in it, to a name server."""
    for word in call.words:
        asked = _QUERY.fullmatch(word.text) if word.fixed and call.name == "dig" else None
        if word.fixed and word.text.startswith("@"):
            call.reading.hosts.append(Value(text=word.text[1:]))
        elif asked is not None:
            call.reading.hosts.append(Value(text=asked[1]))
        elif word.fixed and _BATCH.match(word.text) and call.name == "dig":
            call.reading.caution()
        elif call.name == "drill" and word.text.startswith("-"):
            call.reading.caution()  # of its options some read and write files
        elif not word.text.startswith(("-", "+")):
            call.reading.hosts.append(word)
        call.reading.loose |= word.adrift
    return True


# As scp(1) tells it: a colon before the first slash, and not in front.
_REMOTE_FILE = regex(r"((?:[^/@:]+@)?\[[^\]/]*\]|[^/:][^/:]*):(?!//)")


# Options with a value, behind any that have none; of rsync those of a word that starts a program.
_SCP = regex(r"-[346ABCOpqRrsTv]*([cDFiJloPSX])(.*)(\Z)", re.DOTALL)
_RSYNC = regex(r"-[^-BTfMe]*([BTfMe])(.*)|--(?:rsh|rsync-path)(?:=(.*))?", re.DOTALL)
_RUN = frozenset("DFSeo")


def _option(call: Invocation, letter: str, value: Value) -> None:
    reading = call.reading
    if letter in "iF":
        reading.path(value, Access.READ)
    elif letter == "J":
        reading.hosts += jumps(value)
    if letter in _RUN:
        reading.run(RunsCode.INLINE)
        # what a file of settings runs is not seen
        reading.code |= not value.fixed or letter == "F"
        reading.nested += glimpse(call.name, [value.text.partition("ProxyCommand=")[2] or value.text])


def _scp(call: Invocation) -> bool:
    reading = call.reading
    operands: list[Value] = []
    words = list(call.words)
    recursive = False
    while words:
        word = words.pop(0)
        text = word.text
        if word.adrift:
            reading.loose = True
            operands.append(word)
        elif text.startswith("-") and len(text) > 1:
            recursive |= bool(re.match(r"-\w*[ra]", text)) or text == "--recursive"
            found = (_SCP if call.name == "scp" else _RSYNC).fullmatch(text)
            if found is not None:
                joined = found[2] or found[3]
                value = word._replace(text=joined, head=joined) if joined or not words else words.pop(0)
                _option(call, found[1] or "e", value)
        else:
            operands.append(word)
    for index, word in enumerate(operands):
        remote = _REMOTE_FILE.match(word.text)
        if "://" in word.text:
            reading.hosts.append(word)
        elif remote is not None:
            reading.hosts.append(Value(text="ssh://" + remote[1]))
        else:
            access = Access.WRITE if index == len(operands) - 1 and index else Access.READ
            reading.path(word, access, recursive=recursive)
    return True


# What rsync(1) copies with these stays here, under the names that it has, and nothing is deleted for it.
_PLAIN_CLUSTER = regex(r"-[avrltpgoDnhPqcuzimxHSWEAXI]+")
_PLAIN_TEXT = """
--archive --verbose --recursive --links --times --perms --group --owner --devices --specials --dry-run --human-readable
--partial --progress --quiet --checksum --update --compress --itemize-changes --prune-empty-dirs --one-file-system
--hard-links --sparse --whole-file --executability --acls --xattrs --ignore-times --stats --existing --ignore-existing
--size-only --list-only --no-perms --no-owner --no-group --no-times --mkpath
"""
_PLAIN = frozenset(_PLAIN_TEXT.split())
_PATTERNS = ("--exclude", "--include")


def _copies_here(call: Invocation) -> bool:
    """Whether this rsync is no more than a copy on this machine; takes it for such."""
    operands: list[Value] = []
    flags: set[str] = set()
    words = list(call.words)
    while words:
        word = words.pop(0)
        name, joined, _ = word.text.partition("=")
        if not word.fixed or ":" in word.text:
            return False
        if name in _PATTERNS:
            words = words if joined else words[1:]
        elif _PLAIN_CLUSTER.fullmatch(word.text):
            flags.update(word.text[1:])
        elif word.text in _PLAIN:
            flags.add(word.text)
        elif word.text.startswith("-"):
            return False
        else:
            operands.append(word)
    if len(operands) < 2:
        return False
    target = operands.pop()
    deep = not flags.isdisjoint(("a", "r", "--archive", "--recursive"))
    only_tells = not flags.isdisjoint(("n", "--dry-run", "--list-only"))
    call.reading.flags += sorted(flags)
    for operand in operands:
        call.reading.path(operand, Access.READ, recursive=deep)
    call.reading.path(target, Access.LIST if only_tells else Access.WRITE)
    if only_tells:
        return True
    call.reading.reshapes = True
    for operand in operands:
        # of a name that ends in a slash what is in it comes to lie in the target
        inner = operand.text.endswith(("/", "/.", "/..")) or operand.text in (".", "..")
        use = PathUse(value=target, access=Access.WRITE, recursive=deep, below=operand, whole=inner)
        call.reading.paths.append(use)
        if inner and deep and operand.text.rstrip("/") not in (".", "..") and not plain_within(call, operand):
            call.reading.unknown.append(f"what lies in `{operand.text[:80]}` may have a meaning where it is put")
    return True


def _rsync(call: Invocation) -> bool:
    if _copies_here(call):
        return True
    _scp(call)
    call.reading.caution()
    call.reading.reshapes = True
    for value in call.words:
        if value.text.startswith("--") and not value.fixed:
            call.reading.code = True
        if value.text.startswith("--files-from"):
            call.reading.unknown.append("which files rsync copies is not known")
        if value.text.startswith("--") and "=" in value.text and "/" in value.text:
            tail = value.text.partition("=")[2]
            call.reading.use(Use.ANY, Value(text=tail, head=tail))
    operands = [value for value in call.words if not (value.fixed and value.text.startswith("-"))]
    gone = operands[-1:] if any(value.text.startswith("--del") for value in call.words) else []
    gone += operands[:-1] if any(value.text.startswith("--remove-s") for value in call.words) else []
    for value in gone:
        if ":" not in value.text:
            call.reading.path(value, Access.DELETE, recursive=True)
    return True


TRANSFER: Mapping[str, Special] = MappingProxyType(
    {**CURL, **SOCKETS, "wget": _wget, "lookup": _lookup, "scp": _scp, "rsync": _rsync}
)
