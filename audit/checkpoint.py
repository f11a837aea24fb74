"""Checkpoints and proofs as text: c2sp.org/tlog-checkpoint and /tlog-proof, without extension lines."""

from dataclasses import dataclass
from typing import Final

from audit.entry import check_log
from audit.errors import EntryError, NoteError, SignatureError
from audit.merkle import HASH, leaf_hash, verify_inclusion
from audit.note import MAX_NOTE, SigningKey, VerifyKey, decode64, encode64, number, open_note, sign

_PROOF: Final = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log commits to: its first `size` records have this root."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The signed text: origin, size, root, each on a line."""
        return f"{self.origin}\n{self.size}\n{encode64(self.root)}\n"

    def sign(self, *keys: SigningKey) -> str:
        """The checkpoint as a note with one line a key; the record that changes the key needs both keys' lines."""
        text = self.text()
        return f"{text}\n{''.join(sign(text, key).line() for key in keys)}"

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
        root = decode64(lines[2])
        if len(root) != HASH:
            raise NoteError("a checkpoint's root is not 32 bytes")
        return cls(lines[0], number(lines[1]), root)

    @classmethod
    def open(cls, note: str, key: VerifyKey) -> "Checkpoint":
        """The checkpoint in a note that `key` signed, of the log that `key` names. Raises NoteError, SignatureError.

        A log whose key may have changed is opened through `audit.chain.KeyChain`.
        """
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
            f"{_PROOF}\nindex {self.index}\n" + "".join(f"{encode64(step)}\n" for step in self.path) + f"\n{self.note}"
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
        path = tuple(decode64(line) for line in lines[2:])
        if any(len(step) != HASH for step in path):
            raise NoteError("a proof's hash is not 32 bytes")
        return cls(number(lines[1].removeprefix("index ")), path, note)

    def verify(self, leaf: bytes, key: VerifyKey) -> Checkpoint:
        """The checkpoint under which `leaf` stands at `index`. Raises NoteError, SignatureError or ProofError."""
        checkpoint = Checkpoint.open(self.note, key)
        verify_inclusion(
            index=self.index, size=checkpoint.size, digest=leaf_hash(leaf), proof=self.path, root=checkpoint.root
        )
        return checkpoint
