"""Signed notes as text (c2sp.org/signed-note): verifier keys, signature lines, and what was signed.

Parsing is stricter than the specification asks: one spelling for every value, no signature line that cannot be read.
A note may carry lines of other keys (a witness's); they are kept and ignored.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.entry import MAX_INT, check_log
from audit.errors import EntryError, NoteError, SignatureError

MAX_NOTE: Final = 64 * 1024
MAX_SIGNATURES: Final = 16
ED25519: Final = 0x01
"""Signature type of c2sp.org/signed-note: Ed25519 (RFC 8032) over the note's text."""

_DASH: Final = "\u2014 "
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]{1,255}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True)
class VerifyKey:
    """The public half of a log's key: its name, which is the log's origin, and 32 bytes of Ed25519."""

    name: str
    public: bytes

    def __post_init__(self) -> None:
        try:
            check_log(self.name)
            Ed25519PublicKey.from_public_bytes(self.public)
        except (EntryError, ValueError) as error:
            raise NoteError("a verifier key is malformed: its name or its 32 bytes") from error

    @property
    def id(self) -> bytes:
        """The four bytes that point from a signature line to the key."""
        return key_id(self.name, ED25519, self.public)

    def line(self) -> str:
        """The vkey line, `<name>+<id>+<base64 of type and key>`, without a newline."""
        return vkey_line(self.name, ED25519, self.public)

    @classmethod
    def parse(cls, line: str) -> "VerifyKey":
        """A vkey line with or without its newline. Raises NoteError."""
        return cls(*parse_vkey(line, ED25519))


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The private half of a log's key. `name` is the log's origin."""

    name: str
    private: Ed25519PrivateKey

    @property
    def verifier(self) -> VerifyKey:
        """The public half."""
        return VerifyKey(self.name, self.private.public_key().public_bytes_raw())


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line: the key's name, the four bytes of its id, and what it signed with."""

    name: str
    id: bytes
    raw: bytes

    def line(self) -> str:
        """The line as it stands in a note, with its newline."""
        return f"{_DASH}{self.name} {encode64(self.id + self.raw)}\n"


def sign(text: str, key: SigningKey) -> Signature:
    """The key's signature of a note's text. Ed25519 is deterministic: the same text gives the same line."""
    return Signature(key.name, key.verifier.id, key.private.sign(text.encode()))


def open_note(note: str, key: VerifyKey) -> str:
    """The text of a note that `key` signed. Raises NoteError if malformed, SignatureError if not signed by `key`."""
    text, signatures = split_note(note)
    check_signed(text, signatures, key)
    return text


def check_signed(text: str, signatures: tuple[Signature, ...], key: VerifyKey) -> None:
    """Raise SignatureError unless there is a line of `key` and every one that claims to be its is."""
    mine = [signature for signature in signatures if signature.name == key.name and signature.id == key.id]
    if not mine:
        raise SignatureError(f"the note carries no signature of the key `{key.name}`")
    public = Ed25519PublicKey.from_public_bytes(key.public)
    for signature in mine:  # every line that claims the key must hold, or a forged line could ride along
        try:
            public.verify(signature.raw, text.encode())
        except InvalidSignature as error:
            raise SignatureError(f"a signature of the key `{key.name}` does not match the note") from error


def split_note(note: str) -> tuple[str, tuple[Signature, ...]]:
    """A note's text, which ends with a newline, and its signature lines, none of them verified. Raises NoteError."""
    if len(note) > MAX_NOTE:
        raise NoteError(f"a note may take {MAX_NOTE} characters")
    try:
        note.encode()
    except UnicodeEncodeError as error:
        raise NoteError("a note is UTF-8 text") from error
    if any((char < " " and char != "\n") or char == "\x7f" for char in note):
        raise NoteError("a note holds no control characters but newlines")
    head, gap, tail = note.rpartition("\n\n")
    lines = tail.split("\n")
    if not gap or not head or lines.pop() or not 0 < len(lines) <= MAX_SIGNATURES:
        raise NoteError("a note is a text, an empty line, and 1 to 16 signature lines")
    return head + "\n", tuple(parse_signature(line) for line in lines)


def parse_signature(line: str) -> Signature:
    """One signature line without its newline. Raises NoteError."""
    name, gap, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not gap or not _NAME.fullmatch(name):
        raise NoteError("a signature line has the form `\u2014 <name> <base64>`")
    raw = decode64(encoded)
    if len(raw) < 5:
        raise NoteError("a signature line is too short")
    return Signature(name, raw[:4], raw[4:])


def vkey_line(name: str, kind: int, public: bytes) -> str:
    """The vkey line of a key of any signature type, without a newline."""
    return f"{name}+{key_id(name, kind, public).hex()}+{encode64(bytes([kind]) + public)}"


def parse_vkey(line: str, kind: int) -> tuple[str, bytes]:
    """Name and 32 bytes of the vkey line of a key of signature type `kind`. Raises NoteError."""
    parts = line.removesuffix("\n").split("+", 2)
    if len(parts) != 3:
        raise NoteError("a verifier key has the form <name>+<id>+<base64>; is this the `.vkey` file?")
    raw = decode64(parts[2])
    if len(raw) != 1 + 32 or raw[0] != kind:
        raise NoteError(f"a verifier key that is not Ed25519 of type {kind:#04x} cannot be used here")
    if parts[1] != key_id(parts[0], kind, raw[1:]).hex():
        raise NoteError("a verifier key's id does not belong to its name and bytes")
    return parts[0], raw[1:]


def key_id(name: str, kind: int, public: bytes) -> bytes:
    """The first four bytes of SHA-256(name, newline, type, key)."""
    return sha256(name.encode("utf-8", "surrogatepass") + b"\n" + bytes([kind]) + public).digest()[:4]


def number(digits: str) -> int:
    """A plain decimal. Raises NoteError."""
    if not _NUMBER.fullmatch(digits) or int(digits) > MAX_INT:
        raise NoteError("a number is not a plain decimal below 2^53")
    return int(digits)


def encode64(raw: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(raw).decode("ascii")


def decode64(text: str) -> bytes:
    """The bytes of canonical base64. Raises NoteError."""
    try:
        raw = base64.b64decode(text, validate=True) if _BASE64.fullmatch(text) else None
    except (binascii.Error, ValueError) as error:
        raise NoteError("a value is not base64") from error
    if raw is None or encode64(raw) != text:  # trailing bits would give one value two spellings
        raise NoteError("a value is not canonical base64")
    return raw
