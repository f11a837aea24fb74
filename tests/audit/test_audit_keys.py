import os
import stat

import pytest

from audit import keys
from audit.errors import KeyFileError, NoteError, PassphraseError


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "keys"


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_key_is_made_private_and_loads_again(folder):
    made = keys.create(folder, "test.example/01K")
    assert (mode(folder), mode(folder / "audit.pem")) == (0o700, 0o600)
    assert (folder / "audit.vkey").read_text() == made.verifier.line() + "\n"
    assert keys.load(folder).verifier == made.verifier == keys.read_verify_key(folder / "audit.vkey")
    assert b"PRIVATE" not in (folder / "audit.vkey").read_bytes()


def test_a_key_is_never_replaced(folder):
    keys.create(folder, "test.example/01K")
    with pytest.raises(KeyFileError, match="exists already"):
        keys.create(folder, "test.example/01L")
    for name in ("audit.pem", "audit.vkey"):
        os.rename(folder / name, folder / "audit.next")  # also one that is only on its way
        with pytest.raises(KeyFileError, match="exists already"):
            keys.create(folder, "test.example/01L")


@pytest.mark.parametrize(("name", "bits"), [("audit.pem", 0o640), ("audit.pem", 0o604), (".", 0o750), (".", 0o701)])
def test_wider_modes_are_refused(folder, name, bits):
    keys.create(folder, "test.example/01K")
    os.chmod(folder / name, bits)
    with pytest.raises(KeyFileError, match="mode 0"):
        keys.load(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_somebody_elses_key_is_refused(folder):
    keys.create(folder, "test.example/01K")
    os.chown(folder / "audit.pem", 65534, 65534)
    with pytest.raises(KeyFileError, match="your own"):
        keys.load(folder)


def test_a_link_or_a_pipe_in_the_keys_place_is_refused(folder):
    keys.create(folder, "test.example/01K")
    os.rename(folder / "audit.pem", folder / "real.pem")
    os.symlink("real.pem", folder / "audit.pem")
    with pytest.raises(KeyFileError):
        keys.load(folder)
    (folder / "audit.pem").unlink()
    os.mkfifo(folder / "audit.pem", 0o600)
    with pytest.raises(KeyFileError, match="regular"):
        keys.load(folder)


def test_halves_of_two_keys_are_no_key(folder):
    keys.create(folder, "test.example/01K")
    other = keys.create(folder.parent / "other", "test.example/01K")
    (folder / "audit.vkey").write_text(other.verifier.line() + "\n")
    with pytest.raises(KeyFileError, match="halves"):
        keys.load(folder)


def test_what_is_missing_or_no_key_is_said(folder):
    with pytest.raises(KeyFileError):
        keys.load(folder)
    keys.create(folder, "test.example/01K")
    (folder / "audit.pem").write_text("no pem")
    with pytest.raises(KeyFileError, match="PKCS#8"):
        keys.load(folder)
    with pytest.raises(KeyFileError, match="vkey line"):
        keys.read_verify_key(folder / "audit.pem")


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "ü"])
def test_a_name_that_a_note_cannot_carry_is_refused(folder, name):
    with pytest.raises(NoteError):
        keys.create(folder, name)
    assert not folder.exists()


def test_an_auditor_may_reach_the_public_key_through_a_link(folder):
    made = keys.create(folder, "test.example/01K")
    link = folder.parent / "trusted.vkey"
    link.symlink_to(folder / "audit.vkey")
    assert keys.read_verify_key(link) == made.verifier


def test_a_key_may_have_a_passphrase(folder):
    made = keys.create(folder, "test.example/01K", "correct horse ü")
    assert b"ENCRYPTED" in (folder / "audit.pem").read_bytes()
    assert keys.load(folder, "correct horse ü").verifier == made.verifier
    with pytest.raises(PassphraseError, match="needs its passphrase"):
        keys.load(folder)
    with pytest.raises(PassphraseError, match="give the right one") as caught:
        keys.load(folder, "battery staple")
    assert "battery" not in str(caught.value)
    assert "horse" not in str(caught.value)
    plain = keys.create(folder.parent / "plain", "test.example/01K")
    with pytest.raises(PassphraseError, match="has no passphrase"):
        keys.load(folder.parent / "plain", "correct horse ü")
    assert keys.load(folder.parent / "plain").verifier == plain.verifier


@pytest.mark.parametrize("bad", ["", "x" * 1024, "\ud800"])
def test_a_passphrase_that_cannot_be_one_is_refused_before_anything_is_made(folder, bad):
    with pytest.raises(PassphraseError, match="choose another"):
        keys.create(folder, "test.example/01K", bad)
    assert not folder.exists()


def test_a_damaged_key_with_a_passphrase_is_no_key(folder):
    keys.create(folder, "test.example/01K", "correct horse")
    text = (folder / "audit.pem").read_bytes()
    (folder / "audit.pem").write_bytes(text[:80] + text[90:])
    with pytest.raises(KeyFileError):
        keys.load(folder, "correct horse")
