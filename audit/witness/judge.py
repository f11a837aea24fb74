"""Whether a witness cosigns: the checks of c2sp.org/tlog-witness in the order of that page, and its memory.

1. the request is well formed, else 400
2. the checkpoint is of a log that the witness knows, else 404
3. it is signed by a key of the log, and not only by one that a later key of the log has followed, else 403
4. the old size is not above the new one, else 400
5. the old size is what was cosigned last, else 409 with that size
6. the proof shows that the tree grew, else 422; of two trees of one size the roots are the same, else 409

5, 6 and the new memory are one step: two requests at once cannot take the witness back.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from audit.checkpoint import Checkpoint
from audit.clock import Clock
from audit.cosignature import check_cosigned
from audit.errors import NoteError, ProofError, SignatureError, SinkError
from audit.merkle import EMPTY_ROOT, verify_consistency
from audit.note import Signature, VerifyKey, check_signed, split_note
from audit.witness.key import CosigningKey
from audit.witness.ledger import Ledger
from audit.witness.request import AddCheckpoint

TEXT: Final = "text/plain; charset=utf-8"
SIZE: Final = "text/x.tlog.size"
_ED25519: Final = 64
_LINES: Final = 4  # of a log's own that are kept; a change of key takes two


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with."""

    status: HTTPStatus
    text: str
    kind: str = TEXT


@dataclass(frozen=True, slots=True)
class _Known:
    """What was cosigned last: the checkpoint, which of the log's keys signed it (the newest), and the note."""

    checkpoint: Checkpoint
    epoch: int
    note: str | None


class _RefusedError(Exception):
    def __init__(self, status: HTTPStatus, text: str, kind: str = TEXT) -> None:
        super().__init__(text)
        self.answer = Answer(status, text if kind == SIZE else f"{text}\n", kind)


class Judge:
    """A witness's key, its memory, and the logs that it knows. Every method may be called from any thread."""

    def __init__(self, key: CosigningKey, ledger: Ledger, logs: Iterable[VerifyKey], clock: Clock) -> None:
        """`logs`: their keys; of several keys of one log the older ones first.

        Raises SinkError if the memory is not what this witness would remember of these logs.
        """
        self.key = key
        self._ledger = ledger
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, list[VerifyKey]] = {}
        for log in logs:
            keys = self._keys.setdefault(log.name, [])
            if log not in keys:
                keys.append(log)
        self._known = {origin: self._recall(origin) for origin in self._keys}

    def sizes(self) -> dict[str, int]:
        """The logs, and up to which size each was cosigned."""
        return {origin: known.checkpoint.size for origin, known in self._known.items()}

    def newest(self, origin: str) -> str | None:
        """The note cosigned last, with the cosignature; None if there is none."""
        known = self._known.get(origin)
        return None if known is None else known.note

    def add_checkpoint(self, body: bytes) -> Answer:
        """Answer the body of one request. Raises nothing."""
        try:
            return self._judge(body)
        except _RefusedError as refused:
            return refused.answer
        except OSError as error:
            reason = f"the witness cannot remember this: {error.strerror or error}"
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{reason}\n")

    def _judge(self, body: bytes) -> Answer:
        try:  # 1
            request = AddCheckpoint.parse(body)
            text, signatures = split_note(request.note)
            checkpoint = Checkpoint.parse(text)
        except NoteError as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from error
        origin = checkpoint.origin
        if origin not in self._keys:  # 2
            raise _RefusedError(HTTPStatus.NOT_FOUND, "this witness does not know the log")
        epoch = self._epoch(text, signatures, self._keys[origin])  # 3
        if request.old > checkpoint.size:  # 4
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the old size is above the checkpoint's")
        with self._lock:
            known = self._known[origin]
            if epoch < known.epoch:
                raise _RefusedError(HTTPStatus.FORBIDDEN, "the checkpoint is signed by a key that was replaced")
            size = known.checkpoint.size
            if request.old != size:  # 5
                raise _RefusedError(HTTPStatus.CONFLICT, f"{size}\n", SIZE)
            _check_proof(known.checkpoint, checkpoint, request.path)  # 6
            cosignature = self.key.cosign(text, self._clock.time_ms() // 1000).line()
            # What is kept is shown to auditors. The log's own lines belong to it, also that of a key not known here
            # yet; whoever sends the checkpoint once more, with lines of theirs, changes nothing of it.
            if known.note is not None and checkpoint.size == known.checkpoint.size:
                signatures = split_note(known.note)[1]
            note = f"{text}\n{self._own(origin, signatures)}{cosignature}"
            self._ledger.keep(origin, note)
            # INVARIANT: what is cosigned was kept before; sizes never shrink.
            self._known[origin] = _Known(checkpoint, epoch, note)
        return Answer(HTTPStatus.OK, cosignature)

    def _own(self, origin: str, signatures: Sequence[Signature]) -> str:
        """The lines of a log's own name, few enough that the note stays one whatever was sent: those that were checked
        come first.
        """
        own = {one for one in signatures if one.name == origin and len(one.raw) == _ED25519}
        ranked = sorted(own, key=lambda one: (not self._is_known(one, self._keys[origin]), one.id, one.raw))
        return "".join(one.line() for one in ranked[:_LINES])

    @staticmethod
    def _is_known(signature: Signature, keys: Sequence[VerifyKey]) -> bool:
        return any(signature.name == key.name and signature.id == key.id for key in keys)

    def _epoch(self, text: str, signatures: tuple[Signature, ...], keys: Sequence[VerifyKey]) -> int:
        claimed = [epoch for epoch, key in enumerate(keys) if any(self._is_known(one, (key,)) for one in signatures)]
        try:
            for epoch in claimed:
                check_signed(text, signatures, keys[epoch])
        except SignatureError as error:
            raise _RefusedError(HTTPStatus.FORBIDDEN, str(error)) from error
        if not claimed:
            raise _RefusedError(
                HTTPStatus.FORBIDDEN, "the checkpoint is signed by no key of the log that is known here"
            )
        return claimed[-1]

    def _recall(self, origin: str) -> _Known:
        note = self._ledger.recall(origin)
        if note is None:
            return _Known(Checkpoint(origin, 0, EMPTY_ROOT), 0, None)
        path = self._ledger.path(origin)
        try:
            text, signatures = split_note(note)
            checkpoint = Checkpoint.parse(text)
            check_cosigned(text, signatures, self.key.verifier)
            if checkpoint.origin != origin:
                raise NoteError(f"it is of the log `{checkpoint.origin}`")
            epoch = self._epoch(text, signatures, self._keys[origin])
        except (NoteError, _RefusedError) as error:
            raise SinkError(
                f"`{path}` is not what this witness cosigned of `{origin}`: {error}; give all keys of the log, or "
                "restore the file"
            ) from error
        return _Known(checkpoint, epoch, note)


def _check_proof(known: Checkpoint, new: Checkpoint, path: Sequence[bytes]) -> None:
    if new.size == known.size:
        if path or (not new.size and new.root != EMPTY_ROOT):
            raise _RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "the proof does not hold")
        if new.root != known.root:
            raise _RefusedError(HTTPStatus.CONFLICT, f"{known.size}\n", SIZE)
        return
    try:
        if known.size:
            verify_consistency(old=known.size, new=new.size, old_root=known.root, new_root=new.root, proof=path)
        elif path:
            raise ProofError("there is nothing to prove from no record")
    except ProofError as error:
        raise _RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, f"the proof does not hold: {error}") from error
