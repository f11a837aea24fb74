"""What a witness adds to a checkpoint (c2sp.org/tlog-cosignature, Ed25519): at this time, this was the largest tree.

Key type 0x04: the bytes that are signed begin with a line that no note begins with, so a witness's key signs nothing
that could pass for a log's own signature.
"""

import re
import struct
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.errors import NoteError, SignatureError
from audit.note import Signature, key_id, parse_vkey, vkey_line

COSIGNATURE: Final = 0x04
"""Signature type of c2sp.org/signed-note: timestamped Ed25519 cosignature."""
MAX_TIME: Final = 2**63 - 1
"""Seconds since 1970 that a cosignature may name (c2sp.org/tlog-cosignature)."""

_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,255}")
_TIME = struct.Struct(">Q")
_RAW: Final = _TIME.size + 64


@dataclass(frozen=True, slots=True)
class WitnessKey:
    """The public half of a witness's key: its name and 32 bytes of Ed25519."""

    name: str
    public: bytes

    def __post_init__(self) -> None:
        try:
            self.name.encode()
            Ed25519PublicKey.from_public_bytes(self.public)
        except ValueError as error:  # UnicodeEncodeError is one
            raise NoteError("a witness's key is malformed: its name or its 32 bytes") from error
        if not _NAME.fullmatch(self.name):
            raise NoteError("a witness's name has 1 to 255 characters, no white space and no `+`")

    @property
    def id(self) -> bytes:
        """The four bytes that point from a signature line to the key."""
        return key_id(self.name, COSIGNATURE, self.public)

    def line(self) -> str:
        """The vkey line, `<name>+<id>+<base64 of type and key>`, without a newline."""
        return vkey_line(self.name, COSIGNATURE, self.public)

    @classmethod
    def parse(cls, line: str) -> "WitnessKey":
        """A vkey line with or without its newline. Raises NoteError."""
        return cls(*parse_vkey(line, COSIGNATURE))


def cosign(text: str, private: Ed25519PrivateKey, name: str, seconds: int) -> Signature:
    """The cosignature of a checkpoint's text by the witness `name`, at `seconds` since 1970. Raises NoteError."""
    if not 0 <= seconds <= MAX_TIME:
        raise NoteError("a cosignature's time is out of range; set the clock")
    key = WitnessKey(name, private.public_key().public_bytes_raw())
    return Signature(name, key.id, _TIME.pack(seconds) + private.sign(_message(text, seconds)))


def check_cosigned(text: str, signatures: tuple[Signature, ...], key: WitnessKey) -> int:
    """The time, in seconds since 1970, at which `key` cosigned a checkpoint's text; the latest if there are several.

    Raises SignatureError unless there is a line of `key` and every one that claims to be its is.
    """
    mine = [signature for signature in signatures if signature.name == key.name and signature.id == key.id]
    if not mine:
        raise SignatureError(f"the checkpoint carries no cosignature of the witness `{key.name}`")
    return max(_check(text, signature, key) for signature in mine)


def _check(text: str, signature: Signature, key: WitnessKey) -> int:
    if len(signature.raw) != _RAW:
        raise SignatureError(f"a cosignature of the witness `{key.name}` is malformed")
    seconds: int = _TIME.unpack_from(signature.raw)[0]
    if seconds > MAX_TIME:
        raise SignatureError(f"a cosignature of the witness `{key.name}` names an impossible time")
    public = Ed25519PublicKey.from_public_bytes(key.public)
    try:
        public.verify(signature.raw[_TIME.size :], _message(text, seconds))
    except InvalidSignature as error:
        raise SignatureError(f"a cosignature of the witness `{key.name}` does not match the checkpoint") from error
    return seconds


def _message(text: str, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()
