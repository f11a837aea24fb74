"""A log's keys on disk, in a directory of mode 0700 of their own.

| file | holds |
|---|---|
| `audit.pem` | the private key that signs checkpoints: PKCS#8, 0600, with or without a passphrase |
| `audit.vkey` | its public half as one C2SP line; it names the key, and thereby the log |
| `audit.next` | only while the key is being changed (`audit.rotation`) |
| `private.key` | the master key of what is kept beside the records (`audit.private`), 0600, hex |
"""

import os
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from audit.cosignature import WitnessKey
from audit.errors import KeyFileError, NoteError, PassphraseError
from audit.keyfiles import check_directory, make_directory, read_file, sync_directory, write_file
from audit.note import SigningKey, VerifyKey

PRIVATE: Final = "audit.pem"
PUBLIC: Final = "audit.vkey"
NEXT: Final = "audit.next"
MAX_PASSPHRASE: Final = 1023
"""Bytes; OpenSSL takes no more."""
_ENCRYPTED: Final = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"


def create(directory: Path, name: str, passphrase: str | None = None) -> SigningKey:
    """Make a key called `name` (the log's origin) in `directory`, which is made if it is missing.

    Never replaces a key. Raises KeyFileError; NoteError if `name` cannot name a log.
    """
    key = SigningKey(name, Ed25519PrivateKey.generate())
    line = key.verifier.line()
    pem = as_pem(key, passphrase)
    try:
        make_directory(directory)
        for file in (PRIVATE, PUBLIC, NEXT):
            if os.path.lexists(directory / file):
                raise KeyFileError(f"`{directory / file}` exists already; move the old key away first")
        write_file(directory / PRIVATE, pem)
        write_file(directory / PUBLIC, f"{line}\n".encode())
        sync_directory(directory)
    except OSError as error:
        raise KeyFileError(f"cannot write the key to `{directory}`: {error.strerror}") from error
    return key


def load(directory: Path, passphrase: str | None = None, *, log: Path | None = None) -> SigningKey:
    """The key in `directory`.

    A change of the key that a crash interrupted is finished first if `log`, the database, shows that it was recorded.
    Raises KeyFileError, also if anyone but its owner could read the private file, and PassphraseError.
    """
    try:
        check_directory(directory)
    except OSError as error:
        raise KeyFileError(f"cannot read the key directory `{directory}`: {error.strerror}") from error
    if os.path.lexists(directory / NEXT):
        # A verifier reads keys too, and needs nothing of what changes them.
        from audit.rotation import settle

        settle(directory, log)
    public = read_verify_key(directory / PUBLIC)
    key = SigningKey(public.name, _from_pem(directory / PRIVATE, passphrase))
    if key.verifier != public:
        raise KeyFileError(f"`{PRIVATE}` and `{PUBLIC}` in `{directory}` are not halves of one key; restore the pair")
    return key


def read_verify_key(path: Path) -> VerifyKey:
    """The public key in a file with one vkey line. Raises KeyFileError."""
    try:
        return VerifyKey.parse(read_file(path, private=False).decode("ascii"))
    except (UnicodeDecodeError, NoteError) as error:
        raise KeyFileError(f"`{path}` does not hold one vkey line: {error}") from error


def read_witness_key(path: Path) -> WitnessKey:
    """A witness's public key in a file with one vkey line. Raises KeyFileError."""
    try:
        return WitnessKey.parse(read_file(path, private=False).decode())
    except (UnicodeDecodeError, NoteError) as error:
        raise KeyFileError(f"`{path}` does not hold one vkey line of a witness: {error}") from error


def as_pem(key: SigningKey, passphrase: str | None) -> bytes:
    """The private key as PKCS#8, encrypted where there is a passphrase. Raises PassphraseError if it cannot be one."""
    if passphrase is None:
        return key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(_secret(passphrase)))


def _from_pem(path: Path, passphrase: str | None) -> Ed25519PrivateKey:
    pem = read_file(path, private=True)
    if (_ENCRYPTED in pem) != (passphrase is not None):
        needs = "has no passphrase; load it without one" if passphrase is not None else "needs its passphrase; give it"
        raise PassphraseError(f"`{path}` {needs}")
    try:
        private = load_pem_private_key(pem, password=None if passphrase is None else _secret(passphrase))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if passphrase is not None:
            raise PassphraseError(f"the passphrase does not open `{path}`; give the right one") from error
        raise KeyFileError(f"`{path}` is no PKCS#8 key") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyFileError(f"`{path}` is no Ed25519 key")
    return private


def _secret(passphrase: str) -> bytes:
    try:
        secret = passphrase.encode()
    except UnicodeEncodeError:
        secret = b""
    if not 0 < len(secret) <= MAX_PASSPHRASE:
        raise PassphraseError(f"a passphrase is 1 to {MAX_PASSPHRASE} bytes of UTF-8; choose another")
    return secret
