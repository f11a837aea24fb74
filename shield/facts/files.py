"""What a permit binds on disk: the identity of every file that an action's facts rest on, by role (DESIGN "state").

The identities are taken after the facts, of the same view of the disk where `place` has one: then they are of the very
state that was judged. Where it has none, whatever moved in between makes them None. Either way nothing is ever bound to
a state that was not judged, and a redeem takes both anew.
"""

import hashlib
import posixpath
from collections.abc import Iterator
from dataclasses import replace

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.glob import matches
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.result import results
from shield.facts.snapshot import Snapshot
from shield.types import (
    Access,
    Action,
    CommandFact,
    Facts,
    FileIdentity,
    FileRole,
    Operation,
    Origin,
    PathFact,
    RunsCode,
)

__all__ = ["MAX_CONTENT", "identities", "versions"]

MAX_CONTENT = 1 << 20  # bytes up to which content is bound by its hash
_MAX_BOUND = 2_000


class _MovedError(Exception):
    """The disk is not what the facts say."""


def identities(action: Action, facts: Facts, place: Place) -> tuple[FileIdentity, ...] | None:
    """The identities that `facts` rest on, sorted, each once. Never raises; None where one of them cannot be
    established or the disk has changed since the facts were taken: then there is no permit.

    A path of a command (`source` `commands[i]`) that is itself unknown is bound by nothing but the action's hash: it
    takes a person to allow such a command, who sees that.
    """
    files = place.files
    place = place if isinstance(files, Snapshot) else replace(place, files=Snapshot(files))
    try:
        found = set(_identities(action, facts, place))
    except (_MovedError, FileSystemUnknownError):
        return None
    if len(found) > _MAX_BOUND:
        return None
    return tuple(sorted(found, key=_order))


def versions(facts: Facts, place: Place) -> tuple[FileIdentity, ...]:
    """Which version of each file stands there that a command takes code from or may send away, as the permit binds no
    more of it than which file it is. Never raises: a file that cannot be looked at is left out, and is so again."""
    if all(one.runs_code is RunsCode.NONE and Operation.NETWORK not in one.operations for one in facts.commands):
        return ()
    found = set()
    for path in facts.paths:
        if path.access is not Access.READ or path.resolved is None or not path.source.startswith("commands["):
            continue
        try:
            stat = place.files.lstat(path.resolved)
        except FileSystemUnknownError:
            continue
        if stat is not None and _is_file(stat):
            found.add(_large(path.resolved, stat))
    return tuple(sorted(found, key=_order))


def _identities(action: Action, facts: Facts, place: Place) -> Iterator[FileIdentity]:
    for path in facts.paths:
        if path.resolved is None:
            if path.source.startswith("commands["):
                continue
            raise _MovedError
        yield from _path(action, path, place)
    for command in facts.commands:
        yield from _program(command, place)
    if facts.result and results(action, facts.paths, place)[0] != facts.result:
        raise _MovedError


def _path(action: Action, path: PathFact, place: Place) -> Iterator[FileIdentity]:
    resolved = path.resolved
    assert resolved is not None
    if resolved.startswith("/dev/std"):
        return
    pattern = path.source.startswith("commands[") and _pattern(path, place)
    stat = _stat(resolved, place)
    if (stat is not None) is not path.exists:
        raise _MovedError
    if pattern:
        found = matches(pattern, place.files)
        digest = hashlib.sha256("\0".join(found).encode("utf-8", "surrogateescape")).hexdigest()
        yield FileIdentity(role=FileRole.GLOB, path=pattern, sha256=f"sha256:{digest}", absent=not found)
    if path.access in (Access.WRITE, Access.DELETE):
        entry = _entry(path, place)
        deleted = path.access is Access.DELETE and path.source.startswith("commands[")
        yield from (replace(each, deleted=deleted and each.role is FileRole.TARGET) for each in _target(entry, place))
        if path.access is Access.DELETE:
            yield _thing(entry, place.files.lstat(entry))
    if action.type in ("edit_file", "archive_extract") and path.source == "/path":
        yield _content(resolved, stat, place) if _is_file(stat) else _thing(resolved, stat)
    elif action.type == "archive_extract" and path.source == "/destination" and stat is not None:
        yield _thing(resolved, stat)  # the very directory that is filled, besides its place
    elif path.access is Access.EXECUTE or path.source.startswith("/attachments"):
        yield _content(resolved, stat, place) if _is_file(stat) else _thing(resolved, stat)
    elif path.access in (Access.READ, Access.LIST):
        yield _thing(resolved, stat)


def _program(command: CommandFact, place: Place) -> Iterator[FileIdentity]:
    if command.program is None:
        return
    stat = _stat(command.program, place)
    if stat is None and command.origin is Origin.WORKSPACE:
        yield from _target(command.program, place)  # the line's own commands make it first
        return
    if stat is None or stat.kind is not FileKind.FILE:
        raise _MovedError
    # A program that only root can change is bound by what any change of it changes, without reading all of it.
    if command.origin is Origin.SYSTEM and stat.uid == 0 and not stat.mode & 0o022:
        yield _large(command.program, stat)
    else:
        yield _content(command.program, stat, place)


def _entry(path: PathFact, place: Place) -> str:
    """The place of what is written or deleted: for delete a link stands for itself."""
    resolved = path.resolved
    assert resolved is not None
    if path.access is not Access.DELETE or path.source.startswith("commands["):
        return resolved
    again = resolve_path(path.raw, place, base=place.cwd)
    if again.path != resolved or again.entry is None:
        raise _MovedError
    return again.entry


def _target(path: str, place: Place) -> Iterator[FileIdentity]:
    stat = place.files.lstat(path)
    parent = posixpath.dirname(path)
    above = place.files.lstat(parent)
    while above is None and parent != "/":
        parent = posixpath.dirname(parent)
        above = place.files.lstat(parent)
    if above is None or above.kind is not FileKind.DIRECTORY:
        raise _MovedError
    direct = parent == posixpath.dirname(path)
    if not direct:
        yield FileIdentity(
            role=FileRole.DIRECTORY, path=parent, dev=above.dev, ino=above.ino, kind=FileKind.DIRECTORY.value
        )
    yield FileIdentity(
        role=FileRole.TARGET,
        path=path,
        dev=above.dev if direct else None,
        ino=above.ino if direct else None,
        kind=None if stat is None else stat.kind.value,
        absent=stat is None,
    )


def _thing(path: str, stat: Stat | None) -> FileIdentity:
    if stat is None:
        return FileIdentity(role=FileRole.READ, path=path, absent=True)
    role = FileRole.DIRECTORY if stat.kind is FileKind.DIRECTORY else FileRole.READ
    return FileIdentity(role=role, path=path, dev=stat.dev, ino=stat.ino, kind=stat.kind.value)


def _content(path: str, stat: Stat | None, place: Place) -> FileIdentity:
    if stat is None:
        return FileIdentity(role=FileRole.CONTENT, path=path, absent=True)
    if stat.size > MAX_CONTENT:
        return _large(path, stat)
    content = place.files.read(path, MAX_CONTENT)
    if content is None:
        raise _MovedError
    # No device and inode: an editor that saves by renaming makes a new file, and what counts is what it holds.
    return FileIdentity(
        role=FileRole.CONTENT,
        path=path,
        kind=stat.kind.value,
        sha256=f"sha256:{hashlib.sha256(content).hexdigest()}",
    )


def _large(path: str, stat: Stat) -> FileIdentity:
    return FileIdentity(
        role=FileRole.LARGE,
        path=path,
        dev=stat.dev,
        ino=stat.ino,
        size=stat.size,
        ctime_ns=stat.ctime_ns,
        kind=stat.kind.value,
    )


def _stat(resolved: str, place: Place) -> Stat | None:
    """What stands at a resolved path, if every component of it still is what it was: no link."""
    again = resolve_path(resolved, place, base=None, expand_tilde=False)
    if again.path != resolved:
        raise _MovedError
    return again.stat


def _is_file(stat: Stat | None) -> bool:
    return stat is not None and stat.kind is FileKind.FILE


def _pattern(path: PathFact, place: Place) -> str | None:
    """The absolute pattern of a glob; None where the path is one of which `*?[` are just characters."""
    resolved = path.resolved
    if resolved is None or not any(mark in path.raw for mark in "*?["):
        return None
    if any(mark in resolved for mark in "*?["):
        return None
    raw = f"{place.home}{path.raw[1:]}" if path.raw.startswith("~/") else path.raw
    first = next(index for index, part in enumerate(raw.split("/")) if any(mark in part for mark in "*?["))
    # The fact's own directory stands for the fixed part: `cd` may have moved it away from the action's.
    return posixpath.join(resolved, *raw.split("/")[first:])


def _order(identity: FileIdentity) -> tuple[str, str, str]:
    return (identity.path, identity.role.value, repr(identity))
