"""The Merkle tree of RFC 9162, section 2.1, stored as tiles of 256 hashes (c2sp.org/tlog-tiles).

Tile (level, index) holds the hashes of up to 256 neighbouring complete subtrees of 256**level leaves each, 32 bytes
a hash. Only full tiles and the right edge are ever stored; every other node is computed from one tile.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Final

from audit.errors import ProofError

HASH: Final = 32
HEIGHT: Final = 8
WIDTH: Final = 1 << HEIGHT
EMPTY_ROOT: Final = sha256(b"").digest()

TileReader = Callable[[int, int], bytes]
"""(level, index) -> the tile's hashes, at least as many as the tree of the asked size has there."""


def leaf_hash(leaf: bytes) -> bytes:
    """SHA-256 of 0x00 and the leaf (RFC 9162, 2.1.1)."""
    return sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256 of 0x01 and both children (RFC 9162, 2.1.1)."""
    return sha256(b"\x01" + left + right).digest()


class Edge:
    """The growing right edge of a tree: enough to append and to know the root, O(log n) in memory.

    `tiles[level]` holds the hashes of the level's unfinished tile; `_peaks` the roots of the complete subtrees that
    make up the tree by their height: one for each set bit of `size`.
    """

    __slots__ = ("_peaks", "size", "tiles")

    def __init__(self) -> None:
        self.size = 0
        self.tiles: list[bytearray] = []
        self._peaks: dict[int, bytes] = {}

    @classmethod
    def load(cls, size: int, read: TileReader) -> "Edge":
        """The edge of a stored tree. Raises ProofError if a tile of the edge is shorter than `size` says."""
        edge = cls()
        edge.size = size
        level, width = 0, size
        while width:
            width, count = divmod(width, WIDTH)
            tile = _take(read(level, width), count) if count else b""
            edge.tiles.append(bytearray(tile))
            for bit, peak in _tile_peaks(tile):
                edge._peaks[level * HEIGHT + bit] = peak
            level += 1
        return edge

    def copy(self) -> "Edge":
        """An edge that grows independently."""
        twin = Edge()
        twin.size = self.size
        twin.tiles = [bytearray(tile) for tile in self.tiles]
        twin._peaks = dict(self._peaks)
        return twin

    def __eq__(self, other: object) -> bool:
        """Whether both would grow alike."""
        if not isinstance(other, Edge):
            return NotImplemented
        return (self.size, self.tiles, self._peaks) == (other.size, other.tiles, other._peaks)

    __hash__ = None  # type: ignore[assignment]  # it grows

    def append(self, digest: bytes) -> list[tuple[int, int, bytes]]:
        """Add a leaf hash; returns the tiles it completed as (level, index, hashes)."""
        return self.extend((digest,))

    def extend(self, digests: Sequence[bytes]) -> list[tuple[int, int, bytes]]:
        """Add leaf hashes; returns the tiles they completed as (level, index, hashes), level by level."""
        done: list[tuple[int, int, bytes]] = []
        # INVARIANT: `nodes` are complete subtrees of the height, the first of them at index `first` in their row
        nodes, first, height = list(digests), self.size, 0
        self.size += len(nodes)
        while nodes:
            if height % HEIGHT == 0:
                self._put(height // HEIGHT, first, nodes, done)
            if first & 1:
                nodes.insert(0, self._peaks.pop(height))
            if len(nodes) & 1:
                self._peaks[height] = nodes.pop()
            pairs = iter(nodes)
            nodes = [sha256(b"\x01" + left + right).digest() for left, right in zip(pairs, pairs, strict=True)]
            first >>= 1
            height += 1
        return done

    def _put(self, level: int, first: int, nodes: Sequence[bytes], done: list[tuple[int, int, bytes]]) -> None:
        if level == len(self.tiles):
            self.tiles.append(bytearray())
        tile = self.tiles[level]
        tile += b"".join(nodes)
        index = first >> HEIGHT
        while len(tile) >= WIDTH * HASH:
            done.append((level, index, bytes(tile[: WIDTH * HASH])))
            del tile[: WIDTH * HASH]
            index += 1

    def partial(self) -> Iterator[tuple[int, int, bytes]]:
        """The unfinished tiles as (level, index, hashes)."""
        for level, tile in enumerate(self.tiles):
            if tile:
                yield level, self.size >> (HEIGHT * (level + 1)), bytes(tile)

    def root(self) -> bytes:
        """The root of the tree as it stands (RFC 9162, 2.1.1)."""
        root: bytes | None = None
        for height in sorted(self._peaks):
            peak = self._peaks[height]
            root = peak if root is None else node_hash(peak, root)
        return EMPTY_ROOT if root is None else root


def tile_count(size: int) -> int:
    """How many tiles, unfinished ones included, a tree of `size` leaves is stored in."""
    count = 0
    while size:
        count += -(-size // WIDTH)
        size //= WIDTH
    return count


def root_at(size: int, read: TileReader) -> bytes:
    """The root of the tree's first `size` leaves. Raises ProofError if a tile is too short."""
    return _range(0, size, read) if size else EMPTY_ROOT


def prove_inclusion(index: int, size: int, read: TileReader) -> list[bytes]:
    """The inclusion proof of leaf `index` in the tree of `size` leaves (RFC 9162, 2.1.3.1). Raises ProofError."""
    if not 0 <= index < size:
        raise ProofError(f"a tree of {size} leaves has no leaf {index}")
    path: list[bytes] = []
    low, high = 0, size
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            path.append(_range(middle, high, read))
            high = middle
        else:
            path.append(_range(low, middle, read))
            low = middle
    path.reverse()
    return path


def prove_consistency(old: int, new: int, read: TileReader) -> list[bytes]:
    """The proof that the tree of `old` leaves begins that of `new` leaves (RFC 9162, 2.1.4.1). Raises ProofError."""
    if not 0 < old <= new:
        raise ProofError(f"there is no consistency proof from {old} to {new} leaves")
    path: list[bytes] = []
    low, high, whole = 0, new, True
    while old != high:
        middle = low + _split(high - low)
        if old <= middle:
            path.append(_range(middle, high, read))
            high = middle
        else:
            path.append(_range(low, middle, read))
            low, whole = middle, False
    if not whole:
        path.append(_range(low, high, read))
    path.reverse()
    return path


def verify_inclusion(*, index: int, size: int, digest: bytes, proof: Sequence[bytes], root: bytes) -> None:
    """RFC 9162, 2.1.3.2. Raises ProofError unless leaf hash `digest` stands at `index` under `root`."""
    _sound(digest, root, *proof)
    if not 0 <= index < size:
        raise ProofError(f"a tree of {size} leaves has no leaf {index}")
    first, second, result = index, size - 1, digest
    for step in proof:
        if second == 0:
            raise ProofError("the inclusion proof is too long")
        if first & 1 or first == second:
            result = node_hash(step, result)
            while first and not first & 1:
                first >>= 1
                second >>= 1
        else:
            result = node_hash(result, step)
        first >>= 1
        second >>= 1
    if second != 0:
        raise ProofError("the inclusion proof is too short")
    if result != root:
        raise ProofError("the inclusion proof leads to another root")


def verify_consistency(*, old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """RFC 9162, 2.1.4.2. Raises ProofError unless the tree under `old_root` begins the one under `new_root`."""
    if not 0 < old <= new:
        raise ProofError(f"nothing is provable from {old} to {new} leaves")
    if old == new:
        if proof or old_root != new_root:
            raise ProofError("trees of one size have one root and no proof")
        return
    _sound(old_root, new_root, *proof)
    steps = list(proof)
    if old & (old - 1) == 0:
        steps.insert(0, old_root)
    if not steps:
        raise ProofError("the consistency proof is too short")
    first, second = old - 1, new - 1
    while first & 1:
        first >>= 1
        second >>= 1
    before = after = steps[0]
    for step in steps[1:]:
        if second == 0:
            raise ProofError("the consistency proof is too long")
        if first & 1 or first == second:
            before = node_hash(step, before)
            after = node_hash(step, after)
            while first and not first & 1:
                first >>= 1
                second >>= 1
        else:
            after = node_hash(after, step)
        first >>= 1
        second >>= 1
    if second != 0:
        raise ProofError("the consistency proof is too short")
    if before != old_root or after != new_root:
        raise ProofError("the consistency proof leads to another root")


def _sound(*digests: bytes) -> None:
    if any(len(digest) != HASH for digest in digests):
        raise ProofError("a hash is not 32 bytes long")


def _split(width: int) -> int:
    return 1 << ((width - 1).bit_length() - 1)


def _take(tile: bytes, count: int) -> bytes:
    if len(tile) < count * HASH or len(tile) % HASH:
        raise ProofError("a stored tile holds fewer hashes than the tree has")
    return tile[: count * HASH]


def _fold(hashes: bytes) -> bytes:
    row = [hashes[at : at + HASH] for at in range(0, len(hashes), HASH)]
    while len(row) > 1:
        row = [node_hash(row[at], row[at + 1]) for at in range(0, len(row), 2)]
    return row[0]


def _tile_peaks(tile: bytes) -> Iterator[tuple[int, bytes]]:
    """The roots of the complete subtrees that a tile's hashes make up, each with its height in the tile."""
    at, count = 0, len(tile) // HASH
    for bit in reversed(range(HEIGHT)):
        if count >> bit & 1:
            yield bit, _fold(tile[at * HASH : (at + (1 << bit)) * HASH])
            at += 1 << bit


def _range(low: int, high: int, read: TileReader) -> bytes:
    """The hash of leaves [low, high), which begin at a multiple of the range's largest complete subtree."""
    width = high - low
    if width & (width - 1):
        middle = low + _split(width)
        return node_hash(_range(low, middle, read), _range(middle, high, read))
    level, height = divmod(width.bit_length() - 1, HEIGHT)
    first = low >> (HEIGHT * level)
    tile, offset = divmod(first, WIDTH)
    hashes = _take(read(level, tile), offset + (1 << height))
    return _fold(hashes[offset * HASH :])
