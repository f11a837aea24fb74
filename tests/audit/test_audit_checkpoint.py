import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.checkpoint import Checkpoint, Proof
from audit.errors import AuditError, NoteError, ProofError, SignatureError
from audit.merkle import Edge, leaf_hash, prove_inclusion
from audit.note import SigningKey, VerifyKey, open_note

KEY = SigningKey("test.example/01K", Ed25519PrivateKey.from_private_bytes(b"k" * 32))
OTHER = SigningKey("test.example/01K", Ed25519PrivateKey.from_private_bytes(b"o" * 32))
CHECKPOINT = Checkpoint(KEY.name, 12, b"r" * 32)
NOTE = CHECKPOINT.sign(KEY)


def test_a_note_of_another_implementation_opens():
    """The example of Go's golang.org/x/mod/sumdb/note documentation."""
    key = VerifyKey.parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    signature = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    assert open_note(f"{text}\n\u2014 PeterNeumann {signature}\n", key) == text


def test_a_checkpoint_round_trips_and_signing_is_deterministic():
    assert Checkpoint.open(NOTE, KEY.verifier) == CHECKPOINT
    assert CHECKPOINT.sign(KEY) == NOTE
    assert NOTE.startswith("test.example/01K\n12\n")


def test_a_vkey_line_round_trips():
    line = KEY.verifier.line()
    assert VerifyKey.parse(line) == VerifyKey.parse(f"{line}\n") == KEY.verifier


def test_other_signatures_may_ride_along():
    extra = NOTE + f"\u2014 witness.example/w {base64.b64encode(b'abcd' + b's' * 72).decode()}\n"
    assert Checkpoint.open(extra, KEY.verifier) == CHECKPOINT


SIGNATURE = NOTE.rsplit(" ", 1)[1].strip()
NOTES = {
    "other key of the same name": CHECKPOINT.sign(OTHER),
    "size": NOTE.replace("\n12\n", "\n13\n"),
    "root": NOTE.replace("cnJy", "cnJz", 1),
    "origin": NOTE.replace("test.example/01K\n", "test.example/01L\n", 1),
    "leading zero": NOTE.replace("\n12\n", "\n012\n"),
    "plus": NOTE.replace("\n12\n", "\n+12\n"),
    "unicode digit": NOTE.replace("\n12\n", "\n1\u0662\n"),
    "no signature": CHECKPOINT.text() + "\n",
    "no empty line": CHECKPOINT.text() + NOTE.rsplit("\n\n", 1)[1],
    "no last newline": NOTE[:-1],
    "hyphen for dash": NOTE.replace("\u2014", "-"),
    "carriage return": NOTE.replace("\n", "\r\n"),
    "tab": NOTE.replace("\n12\n", "\n12\t\n"),
    "url base64": NOTE.replace(SIGNATURE, SIGNATURE.replace("+", "-").replace("/", "_") + "-"),
    "cut signature": NOTE.replace(SIGNATURE, SIGNATURE[:-4]),
    "short signature": NOTE.replace(SIGNATURE, "YWJjZA=="),
    "padded name": NOTE.replace("\u2014 test", "\u2014  test"),
    "second, forged line of the key": NOTE
    + f"\u2014 {KEY.name} {base64.b64encode(KEY.verifier.id + b's' * 64).decode()}\n",
    "many lines": NOTE + f"\u2014 w {base64.b64encode(b'abcde').decode()}\n" * 16,
    "extension line": NOTE.replace("\n\n\u2014", "\nextra\n\n\u2014"),
    "surrogate": NOTE.replace("\n12\n", "\n12\ud800\n"),
    "huge": NOTE + "x" * 70_000,
    "empty": "",
}


@pytest.mark.parametrize("name", NOTES)
def test_a_broken_note_is_refused(name):
    assert NOTES[name] != NOTE
    with pytest.raises(NoteError):
        Checkpoint.open(NOTES[name], KEY.verifier)


def test_well_formed_but_signed_by_nobody_we_know_is_its_own_error():
    with pytest.raises(SignatureError):
        Checkpoint.open(CHECKPOINT.sign(OTHER), KEY.verifier)
    with pytest.raises(SignatureError, match="of the log"):
        Checkpoint.open(Checkpoint("test.example/else", 1, b"r" * 32).sign(KEY), KEY.verifier)


@pytest.mark.parametrize(
    "text",
    [
        "test.example/01K\n1\n",
        "test.example/01K\n1\nAAAA\n",
        "\n1\n" + "A" * 43 + "=\n",
        "test.example/01K\n-1\n" + "A" * 43 + "=\n",
        "test.example/01K\n9007199254740992\n" + "A" * 43 + "=\n",
        "test.example/01K\n1\n" + "A" * 42 + "B=\n",
        "test.example/01K\n1\n" + "A" * 43 + "=\n\n",
    ],
)
def test_a_malformed_checkpoint_is_refused(text):
    with pytest.raises(NoteError):
        Checkpoint.parse(text)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a+b",
        KEY.verifier.line().replace("01K+", "01L+"),
        KEY.verifier.line()[:-2] + "A=",
        KEY.verifier.line() + "\n\n",
        " " + KEY.verifier.line(),
        KEY.verifier.line().upper(),
        f"n+{'0' * 8}+{base64.b64encode(bytes([2]) + b'k' * 32).decode()}",
        f"n+{'0' * 8}+{base64.b64encode(bytes([1]) + b'k' * 31).decode()}",
    ],
)
def test_a_malformed_vkey_is_refused(line):
    with pytest.raises(NoteError):
        VerifyKey.parse(line)


def proof_of(index, size):
    edge, tiles = Edge(), {}
    for number in range(size):
        edge.append(leaf_hash(b"%d" % number))
    tiles = {(level, at): tile for level, at, tile in edge.partial()}
    path = prove_inclusion(index, size, lambda level, at: tiles[level, at])
    return Proof(index, tuple(path), Checkpoint(KEY.name, size, edge.root()).sign(KEY))


def test_a_proof_round_trips_and_verifies_only_its_own_leaf():
    proof = proof_of(4, 9)
    again = Proof.parse(proof.text())
    assert again == proof
    assert again.verify(b"4", KEY.verifier).size == 9
    with pytest.raises(ProofError):
        again.verify(b"5", KEY.verifier)
    with pytest.raises(ProofError):
        Proof(5, proof.path, proof.note).verify(b"4", KEY.verifier)
    with pytest.raises(SignatureError):
        again.verify(b"4", OTHER.verifier)


def test_a_proof_in_a_tree_of_one_has_no_path():
    proof = proof_of(0, 1)
    assert Proof.parse(proof.text()) == proof
    proof.verify(b"0", KEY.verifier)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_only_audit_errors_escape_the_text_parsers(data):
    text = list(data.draw(st.sampled_from([NOTE, KEY.verifier.line(), proof_of(4, 9).text()])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.text(max_size=3) | st.sampled_from(["\n", "\n\n", "+", "="])
        )
    mutated = "".join(text)
    for parse in (
        lambda: Checkpoint.open(mutated, KEY.verifier),
        lambda: VerifyKey.parse(mutated),
        lambda: Proof.parse(mutated),
    ):
        try:
            parsed = parse()
        except AuditError:
            continue
        if isinstance(parsed, Proof):
            assert parsed.text() == mutated
        elif isinstance(parsed, VerifyKey):
            assert parsed.line() == mutated.removesuffix("\n")
        else:
            assert parsed == CHECKPOINT or parsed.size == 9
