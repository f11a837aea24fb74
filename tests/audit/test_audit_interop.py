"""Notes, proofs and tiles of ours against golang.org/x/mod/sumdb, which shares no code with them, in both directions."""

import base64
import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from audit.checkpoint import Checkpoint, Proof
from audit.errors import AuditError
from audit.export import export_bundle
from audit.merkle import prove_consistency, verify_consistency
from audit.note import VerifyKey, encode64, open_note
from audit.reader import prove, tile_reader
from audit.schema import reading
from audit_bundles import bundle_of
from audit_bundles import key as key_of
from audit_support import Home
from audit_tools import tool

SOURCE = Path(__file__).parent / "interop" / "interop.go"
GOPATH = Path("/usr/share/gocode")
SIZE = 515  # two whole tiles of level 0, an unfinished one, and one of level 1
SEALS = (1, 7, 255, 256, 300)


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Builds the Go program and returns what asks it."""
    go = tool("go", "golang-go golang-golang-x-mod-dev", GOPATH / "src/golang.org/x/mod/sumdb/note")
    place = tmp_path_factory.mktemp("go")
    binary = place / "interop"
    quiet = {"GO111MODULE": "off", "GOPATH": str(GOPATH), "GOCACHE": str(place / "cache"), "GOFLAGS": ""}
    env = {**os.environ, **quiet, "HOME": str(place)}
    subprocess.run([go, "build", "-o", binary, SOURCE], env=env, check=True, capture_output=True, timeout=300)

    def request(**asked):
        run = subprocess.run([binary], input=json.dumps(asked).encode(), capture_output=True, timeout=120, check=False)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    return request


@pytest.fixture(scope="module")
def log():
    home = Home()
    home.fill(SIZE - 1, seal_at=SEALS)
    return home


def bundle(log):
    return bundle_of(log.db, log.key.verifier.line())


def test_our_notes_open_there_and_broken_ones_open_nowhere(ask, log):
    key = log.key.verifier
    notes = bundle(log).notes
    text, line = notes[-1].split("\n\n")
    other = notes[1].split("\n\n")[1]
    twins = [
        f"{text}\n\n{other}",
        f"{text}x\n\n{line}",
        f"{text}\n\n{line[:-1]}",
        f"{text}\n{line}",
        f"{text}\n\n",
        notes[-1].replace("\u2014 ", "- "),
        notes[-1].replace("\n", "\r\n"),
        notes[-1].replace("\n\n", "\n\t\n\n"),
        f"{text}\n\n{line[:20]}\u00e9{line[20:]}",
        line,
        "",
        "\n\n",
    ]
    said = ask(Vkey=key.line(), Notes=[*notes, *twins])["Notes"]
    assert said[: len(notes)] == [""] * len(notes)
    assert all(said[len(notes) :])
    for note in notes:
        assert open_note(note, key)
    for twin in twins:
        with pytest.raises(AuditError):
            open_note(twin, key)
    stranger = Home("other.example/01K").key.verifier
    assert all(ask(Vkey=stranger.line(), Notes=list(notes))["Notes"])


def test_a_checkpoint_at_a_change_of_keys_opens_there_with_either(ask):
    old, new, other = key_of(0), key_of(1), key_of(2)
    note = Checkpoint(old.name, 7, bytes(32)).sign(old, new)
    for key in (old, new):
        assert ask(Vkey=key.verifier.line(), Notes=[note])["Notes"] == [""]
    assert ask(Vkey=other.verifier.line(), Notes=[note])["Notes"] != [""]


def test_nothing_opens_here_that_does_not_open_there(ask, log):
    """We may be stricter than the other side, never laxer."""
    rng = random.Random(1)
    key = log.key.verifier
    note = bundle(log).notes[-1] + "\u2014 witness AAAAAAAA\n"
    twins = []
    for _ in range(1500):
        at = rng.randrange(len(note))
        insert = rng.choice(
            ["", "\n", " ", "+", "=", "A", "\u2014 ", "\u00e9", "\u2003", "\x7f", "\x00", note[at:][:40]]
        )
        twins.append(note[:at] + insert + note[at + rng.randrange(3) :])
    said = ask(Vkey=key.line(), Notes=twins)["Notes"]
    both = 0
    for twin, refused in zip(twins, said, strict=True):
        try:
            Checkpoint.open(twin, key)
        except AuditError:
            continue
        assert refused == "", repr(twin)
        both += 1
    assert both > 20


def test_our_proofs_hold_there_and_broken_ones_hold_nowhere(ask, log):
    key = log.key.verifier
    proofs, broken = [], []
    for seq in [*range(0, SIZE, 13), 255, 256, 511, 512, SIZE - 1]:
        leaf, proof = prove(log.db, seq, key)
        proofs.append((leaf, proof))
        flipped = bytes([proof.path[0][0] ^ 1]) + proof.path[0][1:]
        broken += [
            (leaf + b" ", proof),
            (leaf, Proof(seq ^ 1, proof.path, proof.note)),
            (leaf, Proof(seq, proof.path[1:], proof.note)),
            (leaf, Proof(seq, (*proof.path, proof.path[0]), proof.note)),
            (leaf, Proof(seq, (flipped, *proof.path[1:]), proof.note)),
            (leaf, Proof(SIZE, proof.path, proof.note)),
        ]
    rows = [{"Text": proof.text(), "Leaf": leaf.decode()} for leaf, proof in [*proofs, *broken]]
    said = ask(Vkey=key.line(), Proofs=rows)["Proofs"]
    assert said[: len(proofs)] == [""] * len(proofs)
    assert all(said[len(proofs) :])
    for leaf, proof in proofs:
        assert Proof.parse(proof.text()).verify(leaf, key).size == SIZE
    for leaf, proof in broken:
        with pytest.raises(AuditError):
            Proof.parse(proof.text()).verify(leaf, key)


def test_our_consistency_proofs_hold_there_and_broken_ones_hold_nowhere(ask, log):
    key = log.key.verifier
    notes = {Checkpoint.open(note, key).size: note for note in bundle(log).notes}
    del notes[0]  # sumdb knows no empty log
    good, broken = [], []
    with reading(log.db) as database:
        read = tile_reader(database)
        for old in sorted(notes):
            for new in sorted(notes):
                if old > new:
                    continue
                path = prove_consistency(old, new, read)
                good.append((old, new, path))
                broken.append((old, new, [*path, bytes(32)]))
                if path:
                    broken += [(old, new, path[:-1]), (old, new, [bytes(32), *path[1:]])]
                if old != new:
                    broken.append((new, old, path))
    rows = [
        {"Old": notes[old], "New": notes[new], "Path": [encode64(step) for step in path]}
        for old, new, path in [*good, *broken]
    ]
    said = ask(Vkey=key.line(), Growths=rows)["Growths"]
    assert said[: len(good)] == [""] * len(good)
    assert all(said[len(good) :])
    roots = {size: Checkpoint.open(note, key).root for size, note in notes.items()}
    for old, new, path in broken:
        with pytest.raises(AuditError):
            verify_consistency(old=old, new=new, old_root=roots[old], new_root=roots[new], proof=path)


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, SIZE])
def test_tiles_entries_and_root_of_an_export_are_read_there(ask, tmp_path, size):
    home = Home()
    home.fill(size - 1)
    folder = tmp_path / "bundle"
    export_bundle(home.db, folder, home.key.verifier)
    vkey = home.key.verifier.line()
    assert ask(Vkey=vkey, Bundle=str(folder))["Bundle"] == ""
    for file in [*folder.glob("tile/**/*"), folder / "records.jsonl", folder / "checkpoint"]:
        if file.is_file():
            content = file.read_bytes()
            file.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
            assert ask(Vkey=vkey, Bundle=str(folder))["Bundle"] != "", file
            file.write_bytes(content)


def test_what_is_signed_there_opens_here(ask, log):
    key = log.key
    verifier = key.verifier
    seed = key.private.private_bytes_raw()
    skey = f"PRIVATE+KEY+{key.name}+{verifier.id.hex()}+{base64.b64encode(bytes([1]) + seed).decode()}"
    texts = [Checkpoint(key.name, size, bytes([size]) * 32).text() for size in range(5)]
    signed = ask(Skey=skey, Texts=[*texts, "free text\n\nof \u00e9\u2014\u201c more\n"])["Signed"]
    for size, note in enumerate(signed[:-1]):
        assert Checkpoint.open(note, verifier) == Checkpoint(key.name, size, bytes([size]) * 32)
        assert note == Checkpoint(key.name, size, bytes([size]) * 32).sign(key)
        with pytest.raises(AuditError):
            Checkpoint.open(note.replace("\n\n", "1\n\n"), verifier)
    assert open_note(signed[-1], verifier) == "free text\n\nof \u00e9\u2014\u201c more\n"
    assert VerifyKey.parse(verifier.line()) == verifier
