"""A log's key on disk: `audit.pem` (PKCS#8, 0600) and `audit.vkey` (one C2SP line) in a directory of mode 0700.

The vkey line names the key, and thereby the log; the two files belong together and are checked against each other.
"""

import os
import stat
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from audit.errors import KeyFileError, NoteError
from audit.note import SigningKey, VerifyKey

PRIVATE: Final = "audit.pem"
PUBLIC: Final = "audit.vkey"
_MAX_FILE: Final = 16 * 1024


def create(directory: Path, name: str) -> SigningKey:
    """Make a key called `name` (the log's origin) in `directory`, which is made if it is missing.

    Never replaces a key. Raises KeyFileError; NoteError if `name` cannot name a log.
    """
    key = SigningKey(name, Ed25519PrivateKey.generate())
    line = key.verifier.line()
    pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        _check_directory(directory)
        for file in (PRIVATE, PUBLIC):
            if os.path.lexists(directory / file):
                raise KeyFileError(f"`{directory / file}` exists already; move the old key away first")
        _write(directory / PRIVATE, pem)
        _write(directory / PUBLIC, f"{line}\n".encode())
        _sync_directory(directory)
    except OSError as error:
        raise KeyFileError(f"cannot write the key to `{directory}`: {error.strerror}") from error
    return key


def load(directory: Path) -> SigningKey:
    """The key in `directory`. Raises KeyFileError, also if anyone but its owner could read the private file."""
    try:
        _check_directory(directory)
    except OSError as error:
        raise KeyFileError(f"cannot read the key directory `{directory}`: {error.strerror}") from error
    public = read_verify_key(directory / PUBLIC)
    pem = _read(directory / PRIVATE, private=True)
    try:
        private = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"`{directory / PRIVATE}` is no unencrypted PKCS#8 key") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyFileError(f"`{directory / PRIVATE}` is no Ed25519 key")
    key = SigningKey(public.name, private)
    if key.verifier != public:
        raise KeyFileError(f"`{PRIVATE}` and `{PUBLIC}` in `{directory}` are not halves of one key; restore the pair")
    return key


def read_verify_key(path: Path) -> VerifyKey:
    """The public key in a file with one vkey line. Raises KeyFileError."""
    try:
        return VerifyKey.parse(_read(path, private=False).decode("ascii"))
    except (UnicodeDecodeError, NoteError) as error:
        raise KeyFileError(f"`{path}` does not hold one vkey line: {error}") from error


def _check_directory(directory: Path) -> None:
    found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise KeyFileError(f"`{directory}` must be your own directory of mode 0700; `chmod 700` it")


def _read(path: Path, *, private: bool) -> bytes:
    try:
        # O_NONBLOCK: a FIFO put in the file's place must not hang the start.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_NOFOLLOW if private else 0)
        descriptor = os.open(path, flags)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise KeyFileError(f"`{path}` is not a regular file")
            if private and (found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077):
                raise KeyFileError(f"`{path}` must be your own file of mode 0600; `chmod 600` it")
            return file.read(_MAX_FILE)
    except OSError as error:
        raise KeyFileError(f"cannot read `{path}`: {error.strerror}") from error


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
