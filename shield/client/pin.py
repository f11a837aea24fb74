"""Which Shield is ours: the one whose home only we can have made, and whose key lies in that home.

The key that signs permits lives in the memory of one running Shield; its public half is told to whoever started it by
an inherited descriptor, and to everybody else by `run/permit.pub`, which that Shield writes when it starts and takes
away when it ends. A session's answers count only if they are signed by the key that was pinned before it began.
"""

import base64
import binascii
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shield.errors import ClientError, Reason

__all__ = ["check_home", "holds_home", "pinned_key", "read_owned", "working_tree"]

_FILE_MAX: Final = 4096
_KEY_BYTES: Final = 32
_LOOSE: Final = 0o022


def pinned_key(home: Path) -> bytes:
    """The raw Ed25519 key (32 bytes) of the Shield that runs on this home.

    Raises ClientError (`service.impostor`) where the file is missing, a link, someone else's, open to others or no key.
    """
    path = home / "run" / "permit.pub"
    _private_directory(path.parent)
    try:
        key = base64.b64decode(read_owned(path).strip(), validate=True)
    except FileNotFoundError:
        raise _impostor(f"`{path}` is missing, so nobody can tell whose Shield answers; restart it") from None
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise _impostor(f"`{path}` holds no key; restart Shield")
    return key


def read_owned(path: Path) -> bytes:
    """At most 4 KiB of a regular file of ours that nobody else can read or write.

    Raises FileNotFoundError, ClientError (`service.impostor`).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _impostor(f"`{path}` cannot be read ({error.strerror}); look who made it") from None
    try:
        entry = os.fstat(descriptor)
        if not stat.S_ISREG(entry.st_mode) or entry.st_uid != os.geteuid() or entry.st_mode & 0o077:
            raise _impostor(f"`{path}` is not a file of yours alone; remove it and restart Shield")
        return os.read(descriptor, _FILE_MAX)
    except OSError as error:
        raise _impostor(f"`{path}` cannot be read ({error.strerror}); restart Shield") from None
    finally:
        os.close(descriptor)


def check_home(home: Path, *, workspace: Path | None = None, user: Path | None = None) -> None:
    """Refuse a home that somebody else, or a project, could have prepared; one that is not there yet is fine.

    It is absolute, neither in the workspace nor in the working tree around it (unless these hold the user's own home
    directory, `user`), a directory of ours that others cannot write, and all above it is ours or root's alone.
    Raises ClientError (`service.impostor`).
    """
    if not home.is_absolute():
        raise _impostor(f"Shield's home `{home}` is not absolute; set SHIELD_HOME to an absolute path")
    real = Path(os.path.realpath(home))
    # INVARIANT: both the way as it is written and the way behind its links; a link itself is its owner's to change
    way = list(dict.fromkeys([*_way(real), *_way(Path(os.path.normpath(home)))]))
    if workspace is not None:
        for top in (Path(os.path.realpath(workspace)), working_tree(workspace, user)):
            if not holds_home(top, user) and any(place.is_relative_to(top) for place in way):
                raise _impostor(f"Shield's home `{home}` lies in the project `{top}`; set SHIELD_HOME to one outside")
    for place in way:
        _check_place(place, own=place == real)


def _way(path: Path) -> Iterator[Path]:
    """Every name on the way to `path`, each where it really stands."""
    yield Path(path.anchor)
    for place in (*reversed(path.parents[:-1]), path):
        yield Path(os.path.realpath(place.parent)) / place.name


def _check_place(path: Path, *, own: bool) -> None:
    try:
        entry = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _impostor(f"`{path}` cannot be looked at ({error.strerror}); set SHIELD_HOME elsewhere") from None
    owners = (os.geteuid(),) if own else (os.geteuid(), 0)
    if entry.st_uid not in owners:
        raise _impostor(f"`{path}` belongs to another user, and Shield's home is there; set SHIELD_HOME elsewhere")
    if stat.S_ISLNK(entry.st_mode):
        return
    if not stat.S_ISDIR(entry.st_mode):
        raise _impostor(f"`{path}` is no directory, and Shield's home is there; set SHIELD_HOME elsewhere")
    # in a sticky directory, such as /tmp, others can add names but not replace ours
    if entry.st_mode & _LOOSE and (own or not entry.st_mode & stat.S_ISVTX):
        raise _impostor(f"others can write in `{path}`, and Shield's home is there; run `chmod go-w` on it")


def _private_directory(path: Path) -> None:
    try:
        entry = os.lstat(path)
    except OSError as error:
        raise _impostor(f"`{path}` cannot be looked at ({error.strerror}); start Shield") from None
    if not stat.S_ISDIR(entry.st_mode) or entry.st_uid != os.geteuid() or entry.st_mode & 0o077:
        raise _impostor(f"`{path}` is not a directory of yours alone; make it 0700 and restart Shield")


def working_tree(workspace: Path, user: Path | None) -> Path:
    """The innermost directory at or above the workspace that is under version control, else the workspace; resolved.

    A tree that holds the user's home directory is no project: some keep their settings so.
    """
    real = Path(os.path.realpath(workspace))
    for place in (real, *real.parents):
        if holds_home(place, user):
            break
        if os.path.lexists(place / ".git"):
            return place
    return real


def holds_home(top: Path, user: Path | None) -> bool:
    """Whether `top` is the root or holds the user's home directory: it is nobody's project."""
    return top == Path("/") or (user is not None and Path(os.path.realpath(user)).is_relative_to(top))


def _impostor(detail: str) -> ClientError:
    return ClientError(detail, reason=Reason.SERVICE_IMPOSTOR)
