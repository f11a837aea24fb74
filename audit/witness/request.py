"""The body of an `add-checkpoint` request (c2sp.org/tlog-witness): what was there, what is, and the proof between."""

from dataclasses import dataclass
from typing import Final

from audit.errors import NoteError
from audit.merkle import HASH
from audit.note import decode64, encode64, number

NAME: Final = "add-checkpoint"
MAX_BODY: Final = 64 * 1024
MAX_PATH: Final = 63
"""Hashes in a consistency proof (c2sp.org/tlog-witness)."""


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """`old`: the size cosigned last; `path`: the proof that the tree grew (RFC 9162, 2.1.4); `note`: the checkpoint."""

    old: int
    path: tuple[bytes, ...]
    note: str

    def body(self) -> bytes:
        """The request's bytes."""
        proof = "".join(f"{encode64(step)}\n" for step in self.path)
        return f"old {self.old}\n{proof}\n{self.note}".encode()

    @classmethod
    def parse(cls, body: bytes) -> "AddCheckpoint":
        """Read a request; its checkpoint is not looked at. Raises NoteError."""
        if len(body) > MAX_BODY:
            raise NoteError(f"a request may take {MAX_BODY} bytes")
        try:
            head, gap, note = body.decode().partition("\n\n")
        except UnicodeDecodeError as error:
            raise NoteError("a request is UTF-8 text") from error
        first, *rest = head.split("\n")
        if not gap or not first.startswith("old "):
            raise NoteError("a request is the line `old <size>`, the proof's hashes, an empty line and a checkpoint")
        if len(rest) > MAX_PATH:
            raise NoteError(f"a proof has at most {MAX_PATH} hashes")
        path = tuple(decode64(line) for line in rest)
        if any(len(step) != HASH for step in path):
            raise NoteError("a proof's hash is not 32 bytes")
        return cls(number(first.removeprefix("old ")), path, note)
