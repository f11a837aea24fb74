"""Signed notes, checkpoints and proofs as text: c2sp.org/signed-note, /tlog-checkpoint and /tlog-proof.

Parsing is stricter than the specifications ask: one spelling for every value, no extension lines, no signature line
that cannot be read. A note may carry further signatures (a witness's); they are kept and ignored.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.entry import MAX_INT, check_log
from audit.errors import EntryError, NoteError, SignatureError
from audit.merkle import HASH, leaf_hash, verify_inclusion

MAX_NOTE: Final = 64 * 1024
MAX_SIGNATURES: Final = 16
ED25519: Final = 0x01
"""Signature type of c2sp.org/signed-note: Ed25519 (RFC 8032) over the note's text."""

_DASH: Final = "\u2014 "
_PROOF: Final = "c2sp.org/tlog-proof@v1"
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
        return _key_id(self.name, self.public)

    def line(self) -> str:
        """The vkey line, `<name>+<id>+<base64 of type and key>`, without a newline."""
        return f"{self.name}+{self.id.hex()}+{_encode(bytes([ED25519]) + self.public)}"

    @classmethod
    def parse(cls, line: str) -> "VerifyKey":
        """A vkey line with or without its newline. Raises NoteError."""
        parts = line.removesuffix("\n").split("+", 2)
        if len(parts) != 3:
            raise NoteError("a verifier key has the form <name>+<id>+<base64>; is this the `.vkey` file?")
        raw = _decode(parts[2])
        if len(raw) != 1 + 32 or raw[0] != ED25519:
            raise NoteError("a verifier key that is not Ed25519 cannot be used")
        key = cls(parts[0], raw[1:])
        if parts[1] != key.id.hex():
            raise NoteError("a verifier key's id does not belong to its name and bytes")
        return key


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
class Checkpoint:
    """What a log commits to: its first `size` records have this root."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The signed text: origin, size, root, each on a line."""
        return f"{self.origin}\n{self.size}\n{_encode(self.root)}\n"

    def sign(self, key: SigningKey) -> str:
        """The checkpoint as a signed note. Ed25519 is deterministic: the same checkpoint gives the same note."""
        text = self.text()
        signature = key.private.sign(text.encode())
        return f"{text}\n{_DASH}{key.name} {_encode(key.verifier.id + signature)}\n"

    @classmethod
    def parse(cls, text: str) -> "Checkpoint":
        """The checkpoint in a note's text. Raises NoteError."""
        lines = text.split("\n")
        if len(lines) != 4 or lines[3]:
            raise NoteError("a checkpoint has exactly three lines: origin, size, root")
        try:
            check_log(lines[0])
        except EntryError as error:
            raise NoteError(f"a checkpoint's origin is malformed: {error}") from error
        root = _decode(lines[2])
        if len(root) != HASH:
            raise NoteError("a checkpoint's root is not 32 bytes")
        return cls(lines[0], _number(lines[1]), root)

    @classmethod
    def open(cls, note: str, key: VerifyKey) -> "Checkpoint":
        """The checkpoint in a note that `key` signed, of the log that `key` names. Raises NoteError, SignatureError."""
        checkpoint = cls.parse(open_note(note, key))
        if checkpoint.origin != key.name:
            raise SignatureError(f"the checkpoint is of the log `{checkpoint.origin}`, the key of `{key.name}`")
        return checkpoint


@dataclass(frozen=True, slots=True)
class Proof:
    """That one record is in a log: its index, its path to the root, and the checkpoint that signs the root."""

    index: int
    path: tuple[bytes, ...]
    note: str

    def text(self) -> str:
        """The proof as c2sp.org/tlog-proof text."""
        return (
            f"{_PROOF}\nindex {self.index}\n" + "".join(f"{_encode(step)}\n" for step in self.path) + f"\n{self.note}"
        )

    @classmethod
    def parse(cls, text: str) -> "Proof":
        """Read a proof. Raises NoteError."""
        if len(text) > MAX_NOTE:
            raise NoteError(f"a proof may take {MAX_NOTE} characters")
        head, gap, note = text.partition("\n\n")
        lines = head.split("\n")
        if not gap or len(lines) < 2 or lines[0] != _PROOF or not lines[1].startswith("index "):
            raise NoteError(f"a proof begins with `{_PROOF}` and its index")
        if len(lines) > 2 + 63:
            raise NoteError("a proof has at most 63 hashes")
        path = tuple(_decode(line) for line in lines[2:])
        if any(len(step) != HASH for step in path):
            raise NoteError("a proof's hash is not 32 bytes")
        return cls(_number(lines[1].removeprefix("index ")), path, note)

    def verify(self, leaf: bytes, key: VerifyKey) -> Checkpoint:
        """The checkpoint under which `leaf` stands at `index`. Raises NoteError, SignatureError or ProofError."""
        checkpoint = Checkpoint.open(self.note, key)
        verify_inclusion(
            index=self.index, size=checkpoint.size, digest=leaf_hash(leaf), proof=self.path, root=checkpoint.root
        )
        return checkpoint


def open_note(note: str, key: VerifyKey) -> str:
    """The text of a note that `key` signed. Raises NoteError if malformed, SignatureError if not signed by `key`."""
    text, signatures = _split_note(note)
    mine = [signature for name, signature in signatures if name == key.name and signature[:4] == key.id]
    if not mine:
        raise SignatureError(f"the note carries no signature of the key `{key.name}`")
    public = Ed25519PublicKey.from_public_bytes(key.public)
    for signature in mine:  # every line that claims the key must hold, or a forged line could ride along
        try:
            public.verify(signature[4:], text.encode())
        except InvalidSignature as error:
            raise SignatureError(f"a signature of the key `{key.name}` does not match the note") from error
    return text


def _split_note(note: str) -> tuple[str, Sequence[tuple[str, bytes]]]:
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
    return head + "\n", [_signature(line) for line in lines]


def _signature(line: str) -> tuple[str, bytes]:
    name, gap, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not gap or not _NAME.fullmatch(name):
        raise NoteError("a signature line has the form `\u2014 <name> <base64>`")
    raw = _decode(encoded)
    if len(raw) < 5:
        raise NoteError("a signature line is too short")
    return name, raw


def _key_id(name: str, public: bytes) -> bytes:
    return sha256(name.encode() + b"\n" + bytes([ED25519]) + public).digest()[:4]


def _number(digits: str) -> int:
    if not _NUMBER.fullmatch(digits) or int(digits) > MAX_INT:
        raise NoteError("a number is not a plain decimal below 2^53")
    return int(digits)


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _decode(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True) if _BASE64.fullmatch(text) else None
    except (binascii.Error, ValueError) as error:
        raise NoteError("a value is not base64") from error
    if raw is None or _encode(raw) != text:  # trailing bits would give one value two spellings
        raise NoteError("a value is not canonical base64")
    return raw
