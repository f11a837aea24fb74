import base64
import hashlib
import json
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import ProofError
from audit.merkle import (
    EMPTY_ROOT,
    WIDTH,
    Edge,
    leaf_hash,
    prove_consistency,
    prove_inclusion,
    root_at,
    tile_count,
    verify_consistency,
    verify_inclusion,
)
from shared_data import shared


def vectors(folder):
    for path in sorted(shared(f"vectors/merkle/testdata/{folder}").rglob("*.json")):
        case = json.loads(path.read_text())
        for name, value in case.items():
            if name in {"root", "root1", "root2", "leafHash"}:
                case[name] = base64.b64decode(value)
        case["proof"] = [base64.b64decode(step) for step in case["proof"] or []]
        yield path.name, case


def outcome(step):
    try:
        step()
    except ProofError:
        return True
    return False


def test_rfc9162_inclusion_vectors():
    seen = 0
    for name, case in vectors("inclusion"):
        seen += 1
        failed = outcome(
            lambda case=case: verify_inclusion(
                index=case["leafIdx"],
                size=case["treeSize"],
                digest=case["leafHash"],
                proof=case["proof"],
                root=case["root"],
            )
        )
        assert failed == case["wantErr"], name
    assert seen == 98


def test_rfc9162_consistency_vectors():
    seen = 0
    for name, case in vectors("consistency"):
        seen += 1
        failed = outcome(
            lambda case=case: verify_consistency(
                old=case["size1"],
                new=case["size2"],
                old_root=case["root1"],
                new_root=case["root2"],
                proof=case["proof"],
            )
        )
        assert failed == case["wantErr"], name
    assert seen == 98


def test_subtree_inclusion_vectors():
    """Subtrees are not RFC 9162, but inclusion in an aligned one is inclusion in a tree of its own."""
    seen = 0
    for name, case in vectors("subtreeinclusion"):
        seen += 1
        start, end = case["start"], case["end"]
        width = end - start
        aligned = width > 0 and start % (1 << (width - 1).bit_length()) == 0
        failed = not aligned or outcome(
            lambda case=case, start=start, width=width: verify_inclusion(
                index=case["leafIdx"] - start,
                size=width,
                digest=case["leafHash"],
                proof=case["proof"],
                root=case["root"],
            )
        )
        assert failed == case["wantErr"], name
    assert seen == 204


def test_subtree_consistency_vectors():
    """A subtree that begins at the first leaf is the tree of an older size; others have no counterpart in RFC 9162."""
    seen = 0
    for name, case in vectors("subtreeconsistency"):
        if case["start"] or (case["end"] == 0 and not case["wantErr"]):  # nothing is proven from the empty tree
            continue
        seen += 1
        failed = outcome(
            lambda case=case: verify_consistency(
                old=case["end"],
                new=case["size"],
                old_root=case["root1"],
                new_root=case["root2"],
                proof=case["proof"],
            )
        )
        assert failed == case["wantErr"], name
    assert seen == 100


def reference(hashes):
    """MTH of RFC 9162, 2.1.1, as written there."""
    if not hashes:
        return hashlib.sha256(b"").digest()
    if len(hashes) == 1:
        return hashes[0]
    k = 1 << ((len(hashes) - 1).bit_length() - 1)
    return hashlib.sha256(b"\x01" + reference(hashes[:k]) + reference(hashes[k:])).digest()


def grow(size):
    edge, tiles, hashes = Edge(), {}, []
    for number in range(size):
        hashes.append(leaf_hash(b"%d" % number))
        for level, index, tile in edge.append(hashes[-1]):
            assert (level, index) not in tiles
            tiles[level, index] = tile
    stored = {**tiles, **{(level, index): tile for level, index, tile in edge.partial()}}
    return edge, hashes, lambda level, index: stored.get((level, index), b""), stored


@cache
def big():
    return grow(WIDTH * WIDTH + 2 * WIDTH + 3)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 513, 1000])
def test_edge_root_is_the_rfc_root(size):
    edge, hashes, read, stored = grow(size)
    assert edge.root() == reference(hashes) == root_at(size, read)
    assert len(stored) == tile_count(size)
    again = Edge.load(size, read)
    assert (again.root(), again.tiles, again.size) == (edge.root(), edge.tiles, size)
    twin = again.copy()
    for extra in range(300):
        assert twin.append(leaf_hash(b"x%d" % extra)) == edge.append(leaf_hash(b"x%d" % extra))
    assert twin.root() == edge.root() != again.root()


def test_a_tree_of_three_levels():
    edge, hashes, read, stored = big()
    assert edge.root() == reference(hashes) == root_at(edge.size, read)
    assert max(level for level, _ in stored) == 2
    assert len(stored) == tile_count(edge.size)
    assert Edge.load(edge.size, read).root() == edge.root()


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_every_proof_of_a_stored_tree_verifies_and_its_broken_twins_do_not(data):
    edge, hashes, read, _ = big()
    size = data.draw(st.integers(1, edge.size) | st.integers(1, 600))
    index = data.draw(st.integers(0, size - 1))
    proof, root = prove_inclusion(index, size, read), root_at(size, read)
    verify_inclusion(index=index, size=size, digest=hashes[index], proof=proof, root=root)
    twins = [
        (index, size, leaf_hash(b"other"), proof, root),
        (index, size, hashes[index], [*proof, b"\0" * 32], root),
        (index, size, hashes[index], proof, leaf_hash(b"other")),
        (size, size, hashes[index], proof, root),
        (-1, size, hashes[index], proof, root),
        (index, size, hashes[index][:31], proof, root),
    ]
    if proof:
        at = data.draw(st.integers(0, len(proof) - 1))
        flipped = bytes([proof[at][0] ^ 1]) + proof[at][1:]
        twins += [
            (index, size, hashes[index], proof[:-1], root),
            (index, size, hashes[index], [*proof[:at], flipped, *proof[at + 1 :]], root),
        ]
    for number, size_, digest, path, root_ in twins:
        with pytest.raises(ProofError):
            verify_inclusion(index=number, size=size_, digest=digest, proof=path, root=root_)


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_consistency_holds_between_any_two_sizes_and_no_others(data):
    edge, _, read, _ = big()
    new = data.draw(st.integers(1, edge.size) | st.integers(1, 600))
    old = data.draw(st.integers(1, new))
    proof = prove_consistency(old, new, read)
    one, two = root_at(old, read), root_at(new, read)
    verify_consistency(old=old, new=new, old_root=one, new_root=two, proof=proof)
    twins = [
        (old, new, leaf_hash(b"x"), two, proof),
        (old, new, one, leaf_hash(b"x"), proof),
        (old, new, one, two, [*proof, one]),
    ]
    if proof:
        twins.append((old, new, one, two, proof[:-1]))
    for a, b, root_a, root_b, path in twins:
        with pytest.raises(ProofError):
            verify_consistency(old=a, new=b, old_root=root_a, new_root=root_b, proof=path)


def test_there_is_nothing_to_prove_outside_the_tree():
    read = big()[2]
    for index, size in ((5, 5), (-1, 5), (0, 0)):
        with pytest.raises(ProofError):
            prove_inclusion(index, size, read)
    for old, new in ((0, 5), (6, 5), (-1, 5)):
        with pytest.raises(ProofError):
            prove_consistency(old, new, read)
    with pytest.raises(ProofError):
        root_at(big()[0].size + 256, read)
    assert root_at(0, read) == EMPTY_ROOT
