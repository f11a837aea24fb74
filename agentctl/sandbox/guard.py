"""Looking after the guarded names of a workspace: a command must not write them, nor make them.

Where the means can, those that exist are read-only while a command runs. Afterwards each is looked at again: what
appeared is moved aside, what was changed all the same is put back. The command's processes are gone by then.

One name never stands in another's way: what cannot be put right is told, and the rest goes on.
"""

import os
import shutil
import stat
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from agentctl.errors import ToolError
from agentctl.sandbox.guarded import appeared, candidates, is_directory
from agentctl.sandbox.names import GIT, NAMES
from agentctl.sandbox.register import Entering, Register

__all__ = ["Copies", "Guard"]

_COPY_MAX: Final = 32 << 20  # bytes of one guarded name that are kept to put back
_ASIDE: Final = ".agentctl-aside"  # what cannot be moved to another place is renamed to this
_ALL: Final = ""  # in an entry: every name that it does not hold was absent
_NAME_MAX: Final = 120
_Print = tuple[tuple[str, int, int, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A name as it stood before: the links on its way (path, target), whether it was there, and its copy."""

    links: tuple[tuple[str, str], ...] = ()
    there: bool = False
    print: _Print = ()
    copy: str | None = None


_ABSENT: Final = _Seen()


class Copies:
    """Copies of guarded names in a directory of ours, made anew only when a name's content has changed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[_Print, str]] = {}
        self._count = 0

    def of(self, path: str, prints: _Print) -> str:
        """Where the copy of `path` is. Raises ToolError where it cannot be kept: then nothing may run beside it."""
        return self._copied(path, path, prints)

    def again(self, copy: str, prints: _Print) -> str:
        """A copy of ours of another session's copy. Raises ToolError."""
        if copy.startswith(self._folder + "/"):
            return copy
        return self._copied(prints[0][0], copy, prints)

    def _copied(self, path: str, source: str, prints: _Print) -> str:
        with self._lock:
            kept = self._kept.get(path)
            if kept is not None and kept[0] == prints:
                return kept[1]
            self._count += 1
            target = os.path.join(self._folder, str(self._count))
            try:
                _copy(source, target)
            except (OSError, shutil.Error):
                raise ToolError("a guarded name of the workspace is too large or odd to be kept safe") from None
            self._kept[path] = (prints, target)
            return target


class Guard:
    """The guarded names of some workspaces around one call. `aside` is a directory of ours for what is moved away.

    With `copies`, what exists is copied first, so that it can be put back where the means cannot keep it read-only.
    Notes hold names of our own list and the workspace's path, never a name that a command chose.
    """

    def __init__(self, roots: Sequence[str], *, aside: str, copies: Copies | None, register: Register | None) -> None:
        """`register`: of calls that put right what they find. Raises ToolError where that cannot be done."""
        self._roots = tuple(roots)
        self._aside = aside
        self._copies = copies
        self._count = 0
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._entries = ExitStack()
        try:
            for root in roots:
                if register is None:
                    self._seen |= {(root, path): self._look(root, path) for path in candidates(root)}
                    continue
                with register.entering(root) as entering:
                    self._enter(root, entering)
        except OSError as error:
            self._entries.close()
            raise ToolError(f"the workspace cannot be looked after: {error.strerror}") from None
        except BaseException:
            self._entries.close()
            raise

    def close(self, *, move: bool) -> list[str]:
        """What became of the names, one line each; with `move`, put right."""
        notes: list[str] = []
        with self._entries:
            now = ((root, path) for root in self._roots for path in candidates(root))
            for root, path in dict.fromkeys((*self._seen, *now)):
                before = self._seen.get((root, path), _ABSENT)
                shown = _shown(root, path)
                try:
                    for what in self._settle(root, path, before, move=move):
                        notes.append(f"{what}: {shown}")  # noqa: PERF401  # each as it is done: the next may fail
                except (OSError, shutil.Error):
                    notes.append(f"still there, remove it: {shown}")
        if self._count:
            notes.append(f"what was moved aside is in {self._aside}, or beside its place with `{_ASIDE}` in its name")
        return notes

    def _enter(self, root: str, entering: Entering) -> None:
        """INVARIANT: what another call that still runs has found holds, whatever it made of it since."""
        found: dict[str, _Seen] = {}
        for other in entering.others():
            for path, seen in other.items():
                found.setdefault(path, _read(seen))
        for path in candidates(root):
            if path not in found:
                # a name that no running call saw was not there when they began, so it is one of theirs
                found[path] = _ABSENT if found and _ALL in found else self._look(root, path)
        found.setdefault(_ALL, _ABSENT)
        self._entries.callback(entering.leave({path: asdict(seen) for path, seen in found.items()}).close)
        for path, seen in found.items():
            if path != _ALL:
                self._seen[root, path] = self._own(seen)

    def _own(self, seen: _Seen) -> _Seen:
        """The same with a copy of our own: that of another session goes when it ends."""
        if seen.copy is None or self._copies is None:
            return seen
        return replace(seen, copy=self._copies.again(seen.copy, seen.print))

    def _look(self, root: str, path: str) -> _Seen:
        links = _links(root, path)
        if not os.path.lexists(path):
            return _Seen(links=links)
        prints = _fingerprint(path)
        kept = self._copies is not None and not (os.path.basename(path) == GIT and is_directory(path))
        copy = self._copies.of(path, prints) if self._copies is not None and kept else None
        return _Seen(links=links, there=True, print=prints, copy=copy)

    def _settle(self, root: str, path: str, before: _Seen, *, move: bool) -> Iterator[str]:
        was, now = dict(before.links), dict(_links(root, path))
        for link, target in was.items():
            if now.get(link) == target:
                continue
            if not move:
                yield "changed"
                return
            if os.path.lexists(link):
                yield self._away([link], move=move)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(target, link)
            yield "put back"
        for link in now:
            if link not in was:
                # a link that was not there decides where the name leads
                yield self._away([link], move=move)
                break
        if path in was:
            return  # the same link: what it leads to is a name of its own
        if os.path.lexists(path) and _fingerprint(path) != before.print:
            if not before.there:
                if new := appeared(path):
                    yield self._away(new, move=move)
                return
            if (before.copy is None and os.path.basename(path) != GIT) or not move:
                yield "changed"
                return
            yield self._away([path], move=move)
        if before.there and not os.path.lexists(path):
            yield self._back(root, path, before, move=move)

    def _back(self, root: str, path: str, before: _Seen, *, move: bool) -> str:
        """Put a name back that is gone: from its copy, or a repository from where it was moved to."""
        if move and before.copy is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not os.path.lexists(path):
                _copy(before.copy, path)
            return "put back"
        if move:
            for entry in os.scandir(root):
                if entry.inode() == before.print[0][1] and entry.is_dir(follow_symlinks=False):
                    os.rename(entry.path, path)
                    return "put back"
        return "removed"

    def _away(self, paths: Sequence[str], *, move: bool) -> str:
        if not move:
            return "appeared"
        for path in paths:
            for place in (os.path.dirname(path), path):
                _open_up(place)
            self._count += 1
            try:
                os.makedirs(self._aside, mode=0o700, exist_ok=True)
                os.rename(path, os.path.join(self._aside, f"{self._count}-{os.path.basename(path)}"[:_NAME_MAX]))
            except OSError:
                # another file system, or an odd kind of file: in its own directory everything can be renamed
                name = f"{os.path.basename(path)[:_NAME_MAX]}{_ASIDE}-{os.urandom(4).hex()}"
                os.rename(path, os.path.join(os.path.dirname(path), name))
        return "moved aside" if len(paths) == 1 else f"moved aside, {len(paths)} of them"


def _shown(root: str, path: str) -> str:
    name = os.path.relpath(path, root)
    return f"{root}/{name}" if name in NAMES else f"what a guarded name of {root} leads to"


def _read(value: Mapping[str, Any]) -> _Seen:
    """What another call found, from its entry."""
    return _Seen(
        links=tuple((link, target) for link, target in value["links"]),
        there=bool(value["there"]),
        print=tuple((name, inode, size, changed, mode) for name, inode, size, changed, mode in value["print"]),
        copy=value["copy"],
    )


def _links(root: str, path: str) -> tuple[tuple[str, str], ...]:
    """The symbolic links between a workspace and a guarded path, with where they lead."""
    found = []
    part = root
    for name in os.path.relpath(path, root).split("/"):
        part = os.path.join(part, name)
        try:
            found.append((part, os.readlink(part)))
        except OSError:
            continue
    return tuple(found)


def _fingerprint(path: str) -> _Print:
    """Name, inode, size and times of a file, or of everything in a directory: any change shows in the change time.

    Of a repository only that it is the same directory.
    """
    if os.path.basename(path) == GIT and is_directory(path):
        return ((path, os.lstat(path).st_ino, 0, 0, stat.S_IFDIR),)
    found = [(name, entry.st_ino, entry.st_size, entry.st_ctime_ns, entry.st_mode) for name, entry in _walk(path)]
    return tuple(sorted(found))


def _walk(path: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(OSError):
        yield path, os.lstat(path)
    if is_directory(path):
        for folder, folders, files in os.walk(path):
            for name in folders + files:
                with suppress(OSError):
                    yield os.path.join(folder, name), os.lstat(os.path.join(folder, name))


def _open_up(path: str) -> None:
    """Let us change a directory that a command of ours closed to its owner. Whatever else it is stays as it is."""
    with suppress(OSError):
        # INVARIANT: what is changed is a directory and no link to one; reading its mode needs no right to read it
        reading = os.O_RDONLY if sys.platform == "darwin" else os.O_PATH
        descriptor = os.open(path, reading | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if mode & 0o700 != 0o700:
                os.chmod(descriptor if sys.platform == "darwin" else f"/proc/self/fd/{descriptor}", mode | 0o700)
        finally:
            os.close(descriptor)


def _copy(path: str, target: str) -> None:
    size = sum(entry.st_size for _, entry in _walk(path) if stat.S_ISREG(entry.st_mode))
    if size > _COPY_MAX:
        raise OSError(0, f"`{path}` is too large to be kept")
    if is_directory(path):
        shutil.copytree(path, target, symlinks=True)
    else:
        shutil.copy2(path, target, follow_symlinks=False)
