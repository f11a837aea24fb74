"""The keys that a log has had, one after the other: which of them must have signed a checkpoint of which size.

A key is changed by a record (`key.rotate`) that names both, and by the checkpoint that ends with this record, which
both sign. Up to it only the old key counts, after it only the new one: a key that was stolen after it was retired can
sign nothing that a verifier who knows a newer one takes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from audit.checkpoint import Checkpoint
from audit.errors import EntryError, LogForeignError, NoteError, SignatureError
from audit.note import VerifyKey, check_signed, split_note

ROTATE: Final = "key.rotate"
"""The kind of the record that changes the key; its body's member `log` is written by the log itself."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """Record `seq` replaced the key `old` by `new`."""

    seq: int
    old: VerifyKey
    new: VerifyKey

    def as_json(self) -> dict[str, str]:
        """The member `log` in the record's body."""
        return {"from": self.old.line(), "to": self.new.line()}

    @classmethod
    def parse(cls, seq: int, body: Mapping[str, Any]) -> "Rotation":
        """The rotation that the body of record `seq` tells of. Raises EntryError."""
        said = body.get("log")
        if (
            type(said) is not dict
            or said.keys() != {"from", "to"}
            or not all(type(key) is str for key in said.values())
        ):
            raise EntryError(f"a `{ROTATE}` record does not say which key follows which")
        try:
            old, new = VerifyKey.parse(said["from"]), VerifyKey.parse(said["to"])
        except NoteError as error:
            raise EntryError(f"a `{ROTATE}` record names a malformed key: {error}") from error
        if said != {"from": old.line(), "to": new.line()} or old.name != new.name or old == new:
            raise EntryError(f"a `{ROTATE}` record names keys that cannot follow each other")
        return cls(seq, old, new)


class KeyChain:
    """All keys of one log, the trusted one among them."""

    def __init__(self, trusted: VerifyKey, rotations: Iterable[Rotation] = ()) -> None:
        """`rotations` in the order of their records. Raises LogForeignError where they do not lead through `trusted`.

        Trust goes both ways along the chain: forward because the old key signed the change, backward because whatever
        is signed later covers all records before it.
        """
        self.rotations = tuple(rotations)
        for before, after in zip(self.rotations, self.rotations[1:], strict=False):
            if before.new != after.old:
                raise LogForeignError(f"the key that record {after.seq} replaces is not the one of its time")
        first = self.rotations[0].old if self.rotations else trusted
        self.keys = (first, *(rotation.new for rotation in self.rotations))
        if trusted not in self.keys:
            raise LogForeignError(
                f"the key is of the name `{trusted.name}` and none that this log has had; get the right `.vkey` file"
            )
        # also no other key of the same id: whose line it is would be open to choice
        if len({key.id for key in self.keys}) != len(self.keys):
            raise LogForeignError("the log comes back to a key that it had given up")
        # INVARIANT: a checkpoint of size rotation.seq + 1 ends with that rotation
        self._ends = [rotation.seq + 1 for rotation in self.rotations]

    @property
    def name(self) -> str:
        """The log's name."""
        return self.keys[0].name

    @property
    def newest(self) -> VerifyKey:
        """The key in force at the log's end."""
        return self.keys[-1]

    def at(self, size: int) -> tuple[VerifyKey, ...]:
        """The keys that sign a checkpoint of `size` records: one, or both where the last record changes the key."""
        epoch = bisect_left(self._ends, size)
        changed = epoch < len(self._ends) and self._ends[epoch] == size
        return self.keys[epoch : epoch + 2] if changed else (self.keys[epoch],)

    def open(self, note: str) -> Checkpoint:
        """The checkpoint in a note that the keys of its time signed, and no other key of this log.

        Raises NoteError, SignatureError.
        """
        text, signatures = split_note(note)
        checkpoint = Checkpoint.parse(text)
        if checkpoint.origin != self.name:
            raise SignatureError(f"the checkpoint is of the log `{checkpoint.origin}`, the key of `{self.name}`")
        wanted = self.at(checkpoint.size)
        for key in wanted:
            check_signed(text, signatures, key)
        others = {key.id for key in self.keys} - {key.id for key in wanted}
        if any(signature.name == self.name and signature.id in others for signature in signatures):
            raise SignatureError(f"a checkpoint of {checkpoint.size} records is signed by a key of another time")
        return checkpoint
