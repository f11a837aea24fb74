"""A selection of a log's records: each stands where it says, in the tree that the checkpoints sign.

What was left out cannot be judged, so neither can what refers to it.
"""

from audit.bundle import BundleSource
from audit.chain import ROTATE, Rotation
from audit.entry import decode
from audit.errors import EntryError, NoteError
from audit.merkle import HASH, WIDTH, Edge, leaf_hash
from audit.source import TamperedError


def check_selection(bundle: BundleSource) -> int:
    """Judge a bundle that holds a selection; returns how many records the largest checkpoint covers.

    Raises TamperedError, and what the bundle raises.
    """
    _check_records(bundle)
    _check_tree(bundle)
    return bundle.newest


def _check_records(bundle: BundleSource) -> None:
    rotations = {rotation.seq: rotation for rotation in bundle.chain.rotations}
    last = -1
    for line, leaf in enumerate(bundle.leaves(0)):
        try:
            record = decode(leaf)
            rotation = Rotation.parse(record.seq, record.body) if record.kind == ROTATE else None
        except EntryError as error:
            raise TamperedError(f"line {line} of the selection is no record: {error}", last + 1) from error
        seq = record.seq
        if record.log != bundle.chain.name or not last < seq < bundle.size:
            said = f"record {seq} of the log `{record.log}`"
            raise TamperedError(f"line {line} of the selection says it is {said}", seq)
        if leaf_hash(leaf) != bundle.hash_at(seq):
            raise TamperedError(f"record {seq} does not hash to its leaf hash", seq)
        if record.prev != (bundle.hash_at(seq - 1).hex() if seq else None):
            raise TamperedError(f"record {seq} does not link to the one before", seq)
        if rotation != rotations.pop(seq, None) or (rotation and bundle.sealed(seq + 1) != seq + 1):
            raise TamperedError(f"record {seq} changes the key and no checkpoint that both sign ends with it", seq)
        last = seq


def _check_tree(bundle: BundleSource) -> None:
    edge, signed = Edge(), 0
    notes = iter([*bundle.notes(-1, 0)] or [(-1, "")])
    size, note = next(notes)
    if size:
        raise TamperedError("the checkpoint of the empty log is missing, and every log begins with it", 0)
    notes = bundle.notes(0, bundle.size)
    while True:
        _seal(bundle, edge, size, note, signed)
        signed = size
        size, note = next(notes, (bundle.size, ""))
        while edge.size < size:
            index, at = divmod(edge.size, WIDTH)
            tile = bundle.tile(0, index)[at * HASH : (at + size - edge.size) * HASH]
            if len(tile) != HASH * min(WIDTH - at, size - edge.size):
                raise TamperedError(f"the tile {index} of level 0 is missing or too short", index * WIDTH)
            for level, number, hashes in edge.extend([tile[n : n + HASH] for n in range(0, len(tile), HASH)]):
                if bundle.tile(level, number) != hashes:
                    first = number * WIDTH ** (level + 1)
                    raise TamperedError(f"the stored tile {number} of level {level} is not that of its records", first)
        if not note:
            break
    bundle.check_edge(edge)


def _seal(bundle: BundleSource, edge: Edge, size: int, note: str, signed: int) -> None:
    try:
        checkpoint = bundle.chain.open(note)
    except NoteError as error:
        raise TamperedError(f"the checkpoint of {size} records is forged: {error}", signed) from error
    if checkpoint.root != edge.root():
        raise TamperedError(f"the checkpoint of {size} records signs others than {signed} to {size - 1}", signed)
