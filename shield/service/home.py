"""`$SHIELD_HOME` on disk: its private files and modes, and the directories that a person trusted."""

import base64
import contextlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping

from shield.config.home import Home, checkpoints_folder, holds, user_home
from shield.config.loading import load
from shield.errors import ConfigError

__all__ = [
    "check_root",
    "is_empty",
    "prepare",
    "published_key",
    "read_private",
    "read_trusted",
    "trust",
    "within_trusted",
    "write_private",
]

PRIVATE_MAX = 1024 * 1024


def prepare(home: Home) -> tuple[str, ...]:
    """Make the home and its directories, all 0700. What is ours but open to others is closed, and said in the result;
    what is not ours or no directory raises ConfigError."""
    said = []
    for path in (home.path, home.policies, home.heuristics, home.keys, home.tokens, home.run, home.models):
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            status = os.lstat(path)
        except FileExistsError:
            raise ConfigError(f"`{path}` is no directory; move it away") from None
        except OSError as error:
            raise ConfigError(f"`{path}` cannot be made: {error.strerror}; set SHIELD_HOME elsewhere") from None
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise ConfigError(f"`{path}` is not a directory of this user; move it away")
        if status.st_mode & 0o077:
            os.chmod(path, 0o700)
            said.append(f"`{path}` was open to others (mode {stat.S_IMODE(status.st_mode):04o}), now 0700")
    return tuple(said)


def is_empty(home: Home) -> bool:
    """Whether nothing of an earlier log is left here, neither key nor log nor state. `outside.refuse_second` says
    whether there was one all the same."""
    left = (
        home.audit_db,
        home.audit_checkpoint,
        home.audit_key,
        home.audit_private,
        home.state_db,
        home.token_book,
        home.old,
    )
    return not any(os.path.lexists(path) for path in left)


def read_private(path: str) -> bytes | None:
    """The file's bytes, None if there is none. Raises ConfigError if others could write or read it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read: {error.strerror}; move it away") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise ConfigError(f"`{path}` is not a regular file of this user; move it away")
        if status.st_mode & 0o077:
            raise ConfigError(f"`{path}` is open to others; run `chmod 600` on it if you believe its content")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(PRIVATE_MAX + 1)
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be read: {error.strerror}; move it away") from None
    finally:
        os.close(descriptor)
    if len(raw) > PRIVATE_MAX:
        raise ConfigError(f"`{path}` is larger than {PRIVATE_MAX} bytes; move it away")
    return raw


def write_private(path: str, raw: bytes) -> None:
    """Replace the file whole, mode 0600, durable when this returns. Raises ConfigError."""
    # a name that no crash has left behind: in a container every start has the same process id
    temporary = f"{path}.{secrets.token_hex(8)}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except FileNotFoundError:
        raise ConfigError(f"`{path}` cannot be written: its directory is missing; run `shield init` first") from None
    except OSError as error:
        raise ConfigError(f"`{path}` cannot be written: {error.strerror}; nothing was changed") from None


@contextlib.contextmanager
def published_key(home: Home, key: bytes) -> Iterator[None]:
    """`run/permit.pub`, one line of base64, for as long as the Shield with this key runs. The caller holds the lock.

    A client pins it before it opens a session (`shield.client.pinned_key`). Raises ConfigError.
    """
    write_private(home.permit_key, base64.b64encode(key) + b"\n")
    try:
        yield
    finally:
        # INVARIANT: we hold the home's lock, so the file is still ours
        with contextlib.suppress(FileNotFoundError):
            os.unlink(home.permit_key)


# --- trusted directories ---------------------------------------------------------------------------------------------


def check_root(path: str, home: Home, environ: Mapping[str, str]) -> str:
    """`path` with every link followed, if it may be a workspace. Raises ConfigError for `/`, `~`, what is above them
    or above Shield's home, what lies in Shield's home, and what is no directory."""
    if not os.path.isabs(path) or "\0" in path:
        raise ConfigError(f"`{path}` is not absolute; give the whole path of the directory")
    root = os.path.realpath(path)
    for inner, name in ((os.path.realpath(user_home(environ)), "your home directory"), (home.path, "Shield's home")):
        if holds(root, inner):
            raise ConfigError(f"`{root}` is or contains {name}; choose a directory below it")
    if holds(home.path, root):
        raise ConfigError(f"`{root}` lies in Shield's home; choose a directory outside it")
    remembered = checkpoints_folder(load(home, environ).audit.checkpoints, environ)
    if holds(remembered, root) or holds(root, remembered):
        raise ConfigError(f"`{root}` is, holds or lies in `{remembered}`, where the log is remembered; choose another")
    if not os.path.isdir(root):
        raise ConfigError(f"`{root}` is not a directory; create it first")
    return root


def read_trusted(home: Home) -> tuple[str, ...]:
    """The directories trusted with `shield trust`, absolute. Raises ConfigError if the list is damaged or unsafe."""
    raw = read_private(home.trusted)
    if raw is None:
        return ()
    damaged = ConfigError(f"`{home.trusted}` is damaged; remove it and trust the directories again")
    try:
        value = json.loads(raw)
        roots = tuple(value["roots"]) if value["version"] == 1 else None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged from None
    if roots is None or not all(isinstance(root, str) and os.path.isabs(root) for root in roots):
        raise damaged
    return roots


def trust(home: Home, root: str) -> None:
    """Add `root`, as `check_root` returned it, to the list. Raises ConfigError."""
    roots = sorted({*read_trusted(home), root})
    write_private(home.trusted, json.dumps({"version": 1, "roots": roots}, ensure_ascii=False, indent=1).encode())


def within_trusted(root: str, trusted: tuple[str, ...]) -> bool:
    """Whether `root` (resolved) is one of the trusted directories or lies in one."""
    return any(_beneath(root, os.path.realpath(top)) for top in trusted if os.path.isabs(top))


def _beneath(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")
