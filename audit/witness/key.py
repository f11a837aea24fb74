"""A witness's key on disk: `witness.pem` (PKCS#8, 0600) and `witness.vkey` (one line) in a folder of mode 0700."""

import os
from dataclasses import dataclass
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

from audit.cosignature import WitnessKey, cosign
from audit.errors import KeyFileError, NoteError
from audit.keyfiles import check_directory, make_directory, read_file, sync_directory, write_file
from audit.note import Signature

PRIVATE: Final = "witness.pem"
PUBLIC: Final = "witness.vkey"


@dataclass(frozen=True, slots=True)
class CosigningKey:
    """The private half of a witness's key."""

    name: str
    private: Ed25519PrivateKey

    @property
    def verifier(self) -> WitnessKey:
        """The public half."""
        return WitnessKey(self.name, self.private.public_key().public_bytes_raw())

    def cosign(self, text: str, seconds: int) -> Signature:
        """The cosignature of a checkpoint's text at `seconds` since 1970. Raises NoteError."""
        return cosign(text, self.private, self.name, seconds)


def create(folder: Path, name: str) -> CosigningKey:
    """Make a key called `name` in `folder`, which is made if it is missing. Never replaces a key.

    Raises KeyFileError; NoteError if `name` cannot name a witness.
    """
    key = CosigningKey(name, Ed25519PrivateKey.generate())
    line = key.verifier.line()
    pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        make_directory(folder)
        if os.path.lexists(folder / PRIVATE) or os.path.lexists(folder / PUBLIC):
            raise KeyFileError(f"there is a key in `{folder}` already; take another folder for another witness")
        write_file(folder / PRIVATE, pem)
        write_file(folder / PUBLIC, f"{line}\n".encode())
        sync_directory(folder)
    except OSError as error:
        raise KeyFileError(f"cannot write the key to `{folder}`: {error.strerror}") from error
    return key


def load(folder: Path) -> CosigningKey:
    """The key in `folder`. Raises KeyFileError, also if anyone but its owner could read the private file."""
    try:
        check_directory(folder)
    except OSError as error:
        raise KeyFileError(f"cannot read the folder `{folder}`: {error.strerror}") from error
    try:
        public = WitnessKey.parse(read_file(folder / PUBLIC, private=False).decode())
        private = load_pem_private_key(read_file(folder / PRIVATE, private=True), password=None)
    except (NoteError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(
            f"`{PRIVATE}` and `{PUBLIC}` in `{folder}` are not the files of a key; restore them"
        ) from error
    if not isinstance(private, Ed25519PrivateKey) or private.public_key().public_bytes_raw() != public.public:
        raise KeyFileError(f"`{PRIVATE}` and `{PUBLIC}` in `{folder}` are not halves of one key; restore the pair")
    return CosigningKey(public.name, private)
