"""A made file system, in memory: the world in which the examples of rules and the cases of policies are judged."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat, twins

__all__ = ["PLAIN_PROGRAMS", "MadeFile", "MadeFiles"]

_DEVICE = 64_000  # any number: all of a made world is one device
_MAX_LINKS = 40
_MAX_PLACES = 4_096

# The programs of a plain Linux that cases may name without making them.
_NAMES = """
apt apt-get apt-mark ar as awk base64 basename bash bc bunzip2 busybox bzcat bzip2 cargo cat cc chgrp chmod chown
chroot chsh cksum clang cmp column comm cp crontab curl cut dash date dd df diff diff3 dig dirname dmesg docker dpkg
dpkg-query du echo egrep emacs env expand expr false fd fgrep file find flock fmt fold free ftp fuser g++ gawk gcc gdb
getent getfacl gh git go gpg grep groups gunzip gzip head hexdump host hostname iconv id ifconfig install ionice ip
iptables java journalctl jq kill killall kubectl ld ldd less ln locale locate logger login ls lsblk lsof make man mawk
md5sum mkdir mkfifo mknod mktemp more mount mv mysql nano nc ncat netstat nft nice nl nm nmap node nohup npm npx
nslookup objdump od openssl passwd paste patch perl pgrep php pidof ping pip pip3 pkill pnpm printenv printf ps psql
pstree pwd pytest python python3 readelf readlink realpath reboot redis-cli rename renice rg rm rmdir rsync ruby rustc
scp screen script sed seq service setfacl setsid sftp sh sha1sum sha256sum sha512sum shasum shred shuf shutdown sleep
socat sort split sqlite3 ss ssh ssh-add ssh-agent ssh-keygen stat stdbuf strace strings su sudo sum sync sysctl
systemctl tac tail tar tcpdump tee telnet terraform test time timeout tmux top touch tr traceroute tree true truncate
tsort tty umount uname unexpand uniq unlink unxz unzip uptime useradd usermod users uv vi vim vmstat wall watch wc
wget whatis whereis which who whoami xargs xxd xz xzcat yarn yes zcat zip zsh
"""
PLAIN_PROGRAMS = frozenset(_NAMES.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFile:
    """One entry of a made world: a file with content, a link, or a directory.

    `symlink` is where a link points; `~/` is the home of that world.
    `mode` is the permission bits; None means 0644 for files and 0755 for directories.
    """

    content: bytes = b""
    symlink: str | None = None
    directory: bool = False
    mode: int | None = None
    socket: bool = False


@lru_cache(maxsize=8)
def _bare(home: str, cwd: str, programs: frozenset[str]) -> "MadeFiles":
    return MadeFiles(None, home=home, cwd=cwd, programs=programs)


class MadeFiles:
    """A FileSystem made of `files` (absolute or `~/` paths, or relative to `cwd`); their directories come with them.

    With `programs`, these stand in /usr/bin (and /bin, a link to it), owned by root; everything else is the user's.
    """

    __slots__ = ("_entries", "_folds", "_names", "_places")

    def __init__(
        self,
        files: Mapping[str, MadeFile] | None = None,
        *,
        home: str = "/home/user",
        cwd: str = "/home/user/ws",
        programs: frozenset[str] = PLAIN_PROGRAMS,
        folds_case: bool = False,
    ) -> None:
        self._folds = folds_case
        # Where paths stand; nothing is put into a world that has been asked once.
        self._places: dict[str, str | None] = {}
        if files is None:
            self._entries: dict[str, tuple[Stat, MadeFile]] = {}
            self._names: dict[str, set[str]] = {"/": set()}
            self._found(home, cwd, programs)
        else:
            bare = _bare(home, cwd, programs)
            self._entries = dict(bare._entries)  # noqa: SLF001 - another of its own kind
            self._names = {directory: set(names) for directory, names in bare._names.items()}  # noqa: SLF001
        for raw, file in (files or {}).items():
            path = home + raw[1:] if raw == "~" or raw.startswith("~/") else posixpath.join(cwd, raw)
            path = "/" + posixpath.normpath(path).lstrip("/")
            self._directories(posixpath.dirname(path), 1000)
            if file.directory and not file.symlink:
                self._directories(path, 1000)
            if file.symlink is not None and (file.symlink == "~" or file.symlink.startswith("~/")):
                file = replace(file, symlink=home + file.symlink[1:])  # noqa: PLW2901 - the same entry, spelled out
            self._put(path, file, 1000)

    def _found(self, home: str, cwd: str, programs: frozenset[str]) -> None:
        """The world before anybody put a file into it."""
        for directory in ("/", "/etc", "/tmp", "/usr/bin", "/usr/local/bin", "/dev", home, cwd):  # noqa: S108 - made
            self._directories(directory, 0 if directory not in (home, cwd) else 1000)
        if programs:
            for name in ("bin", "sbin"):
                self._put(f"/{name}", MadeFile(symlink="usr/bin"), 0)
            for name in sorted(programs):
                self._put(f"/usr/bin/{name}", MadeFile(content=b"\x7fELF", mode=0o755), 0)

    def lstat(self, path: str) -> Stat | None:
        """The entry itself; as the kernel does, links on the way are followed and the last one is not."""
        entry = self._find(path)
        return None if entry is None else entry[0]

    def readlink(self, path: str) -> str:
        """Where a link points, as it is written."""
        entry = self._find(path)
        if entry is None or entry[1].symlink is None:
            raise FileSystemUnknownError(f"the link `{path}` cannot be read")
        return entry[1].symlink

    def listdir(self, path: str, limit: int) -> tuple[str, ...]:
        """Names in a directory, sorted; more than `limit` of them is unknown."""
        where = self._place(path)
        names = self._names.get(where) if where is not None else None
        if names is None:
            raise FileSystemUnknownError(f"`{path}` cannot be listed")
        if len(names) > limit:
            raise FileSystemUnknownError(f"`{path}` holds more than {limit} entries")
        return tuple(sorted(names))

    def read(self, path: str, limit: int) -> bytes | None:
        """The content of a regular file; None if it is larger than `limit` bytes."""
        entry = self._find(path)
        if entry is None or entry[0].kind is not FileKind.FILE:
            raise FileSystemUnknownError(f"`{path}` is no regular file")
        content = entry[1].content
        return content if len(content) <= limit else None

    def piece(self, path: str, start: int, size: int) -> bytes:
        """Of such a file no more than `size` bytes, from byte `start` on; fewer where it ends."""
        entry = self._find(path)
        if entry is None or entry[0].kind is not FileKind.FILE:
            raise FileSystemUnknownError(f"`{path}` is no regular file")
        return entry[1].content[start : start + size]

    def folds(self, parent: str, folder: Stat | None, name: str, stat: Stat) -> bool:  # noqa: ARG002 - the Protocol's signature
        """Whether another spelling of `name` leads to the same entry, too."""
        found = (self.lstat(f"{parent}/{twin}") for twin in twins(name)) if self._folds else ()
        return any(other is not None and (other.dev, other.ino) == (stat.dev, stat.ino) for other in found)

    def _find(self, path: str) -> tuple[Stat, MadeFile] | None:
        where = self._place(path)
        return None if where is None else self._entries.get(where)

    def _place(self, path: str) -> str | None:
        try:
            return self._places[path]
        except KeyError:
            pass
        if len(self._places) >= _MAX_PLACES:
            self._places.clear()
        where = self._places[path] = self._walk(path)
        return where

    def _walk(self, path: str) -> str | None:
        """Where `path` stands in this world, links followed but for the last; None if there is no such place."""
        pending = [name for name in path.split("/") if name not in ("", ".")][::-1]
        at, links = "/", 0
        while pending:
            name = pending.pop()
            if name == "..":
                at = posixpath.dirname(at)
                continue
            if at not in self._names:
                return None
            here = f"{'' if at == '/' else at}/{self._spelled(at, name) if self._folds else name}"
            entry = self._entries.get(here)
            if entry is None:
                return None
            target = entry[1].symlink
            if target is not None and pending:
                links += 1
                if links > _MAX_LINKS:
                    raise FileSystemUnknownError(f"the links of `{path}` lead in a circle")
                pending.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
                at = "/" if target.startswith("/") else at
            else:
                at = here
        return at

    def _spelled(self, directory: str, name: str) -> str:
        if name in self._names[directory]:
            return name
        folded = name.casefold()
        return next((known for known in sorted(self._names[directory]) if known.casefold() == folded), name)

    def _directories(self, path: str, uid: int) -> None:
        at = "/"
        if at not in self._entries:
            self._put(at, MadeFile(directory=True), 0)
        for name in path.split("/"):
            if name:
                at = posixpath.join(at, name)
                if at not in self._entries:
                    self._put(at, MadeFile(directory=True), uid if at == path else 0)

    def _put(self, path: str, file: MadeFile, uid: int) -> None:
        if file.symlink is not None:
            kind, mode = FileKind.LINK, 0o777
        elif file.directory:
            kind, mode = FileKind.DIRECTORY, 0o755
        elif file.socket:
            kind, mode = FileKind.SOCKET, 0o755
        else:
            kind, mode = FileKind.FILE, 0o644
        known = self._entries.get(path)
        stat = Stat(
            kind=kind,
            mode=mode if file.mode is None else file.mode,
            dev=_DEVICE,
            ino=known[0].ino if known else len(self._entries) + 2,
            size=len(file.content) if kind is FileKind.FILE else 0,
            ctime_ns=0,
            uid=uid,
        )
        self._entries[path] = (stat, file)
        if kind is FileKind.DIRECTORY:
            self._names.setdefault(path, set())
        if path != "/":
            self._names.setdefault(posixpath.dirname(path), set()).add(posixpath.basename(path))
