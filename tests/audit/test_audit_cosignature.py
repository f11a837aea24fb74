"""Cosignatures, against real ones: a checkpoint that four public witnesses cosigned on 23 May 2026."""

import dataclasses

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from audit.checkpoint import Checkpoint
from audit.cosignature import WitnessKey, check_cosigned, cosign
from audit.errors import AuditError, NoteError, SignatureError
from audit.note import Signature, SigningKey, VerifyKey, check_signed, decode64, encode64, sign, split_note

# the CT log arche2025h1 (staging), as published; the vkeys are those that the witnesses publish themselves
NOTE = """arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0tgh0XwzdZsDsUAQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
— witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==
"""
LOG = "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
WITNESSES = [
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "witness1.smartit.nu/witness1+a48c820f+BPSFWg9G6KPiO7QPryYO5Xq4oYJJ+kAvLKLSimDhoxMO",
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
]
TEXT, SIGNATURES = split_note(NOTE)
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = WitnessKey("witness.example/one", PRIVATE.public_key().public_bytes_raw())


@pytest.mark.parametrize("line", WITNESSES)
def test_real_cosignatures_hold(line):
    key = WitnessKey.parse(line)
    assert key.line() == line
    assert check_cosigned(TEXT, SIGNATURES, key) == 1_779_573_024  # 2026-05-23T21:50:24Z
    check_signed(TEXT, SIGNATURES, VerifyKey.parse(LOG))
    assert Checkpoint.parse(TEXT).size == 1_432_088_532


@pytest.mark.parametrize("line", WITNESSES)
def test_what_was_changed_under_a_real_cosignature_does_not_hold(line):
    key = WitnessKey.parse(line)
    with pytest.raises(SignatureError):
        check_cosigned(TEXT.replace("1432088532", "1432088533"), SIGNATURES, key)
    for at in range(len(SIGNATURES[2].raw) - 1):  # every byte, those of the time too
        flipped = tuple(
            dataclasses.replace(one, raw=one.raw[:at] + bytes([one.raw[at] ^ 1]) + one.raw[at + 1 :])
            for one in SIGNATURES[2:]
        )
        with pytest.raises(SignatureError):
            check_cosigned(TEXT, flipped, key)


def test_only_lines_of_the_key_count_and_all_of_them_must_hold():
    own = cosign(TEXT, PRIVATE, KEY.name, 7)
    stranger = dataclasses.replace(own, name="witness.example/two")
    with pytest.raises(SignatureError, match="carries no cosignature"):
        check_cosigned(TEXT, (*SIGNATURES, stranger), KEY)
    forged = dataclasses.replace(own, raw=own.raw[:-1] + bytes([own.raw[-1] ^ 1]))
    with pytest.raises(SignatureError, match="does not match"):
        check_cosigned(TEXT, (own, forged), KEY)
    for raw in (own.raw + b"\0", own.raw[:-1], own.raw[8:], b""):
        with pytest.raises(SignatureError, match="malformed"):
            check_cosigned(TEXT, (dataclasses.replace(own, raw=raw),), KEY)


def test_the_latest_time_counts():
    lines = tuple(cosign(TEXT, PRIVATE, KEY.name, seconds) for seconds in (5, 9, 7))
    assert check_cosigned(TEXT, lines, KEY) == 9


def test_a_time_beyond_what_the_format_allows_is_refused_on_both_sides():
    assert check_cosigned(TEXT, (cosign(TEXT, PRIVATE, KEY.name, 2**63 - 1),), KEY) == 2**63 - 1
    for seconds in (-1, 2**63):
        with pytest.raises(NoteError, match="out of range"):
            cosign(TEXT, PRIVATE, KEY.name, seconds)
    signed = PRIVATE.sign(f"cosignature/v1\ntime {2**63}\n{TEXT}".encode())
    line = Signature(KEY.name, KEY.id, (2**63).to_bytes(8, "big") + signed)
    with pytest.raises(SignatureError, match="impossible time"):
        check_cosigned(TEXT, (line,), KEY)


def test_a_cosignature_is_no_signature_of_a_log_even_of_the_same_key():
    log = SigningKey(KEY.name, PRIVATE)
    line = cosign(TEXT, PRIVATE, KEY.name, 7)
    with pytest.raises(SignatureError):
        check_signed(TEXT, (line,), log.verifier)
    with pytest.raises(SignatureError):
        check_signed(TEXT, (dataclasses.replace(line, id=log.verifier.id, raw=line.raw[8:]),), log.verifier)
    own = sign(TEXT, log)
    with pytest.raises(SignatureError):
        check_cosigned(TEXT, (dataclasses.replace(own, id=KEY.id, raw=bytes(8) + own.raw),), KEY)


@pytest.mark.parametrize(
    "line",
    [
        LOG,  # a log's key: type 0x01
        "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqkl",  # not base64
        "witness.stagemole.eu+67f7aea1+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",  # another id
        "witness.stagemole.ue+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",  # another name
        "witness.stagemole.eu+67F7AEA0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",  # upper case
        "remora.n621.de+67f7aea0",
        "",
    ],
)
def test_what_is_no_key_of_a_witness_is_refused(line):
    with pytest.raises(NoteError):
        WitnessKey.parse(line)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "tab\t", "nbsp\u00a0", "x" * 256, "lone\ud800", "nul\0"])
def test_what_cannot_name_a_witness_is_refused(name):
    with pytest.raises(NoteError):
        WitnessKey(name, KEY.public)
    with pytest.raises(NoteError):
        cosign(TEXT, PRIVATE, name, 7)


@given(st.text() | st.binary(max_size=40).map(lambda raw: f"w+{raw[:4].hex()}+{encode64(raw)}"))
def test_nothing_but_our_errors_leaves_the_parser(line):
    try:
        assert WitnessKey.parse(line).line() == line.removesuffix("\n")
    except AuditError:
        pass


@given(st.binary(max_size=90), st.text(max_size=50))
def test_nothing_but_our_errors_leaves_the_check(raw, text):
    with pytest.raises(SignatureError):
        check_cosigned(text.encode("utf-8", "replace").decode(), (Signature(KEY.name, KEY.id, raw),), KEY)


def test_the_line_is_what_the_format_says():
    line = cosign("a.example/log\n1\nx\n", PRIVATE, KEY.name, 0x0102030405).line()
    name, encoded = line.removeprefix("— ").removesuffix("\n").split(" ")
    raw = decode64(encoded)
    assert (name, raw[:4], raw[4:12], len(raw)) == (KEY.name, KEY.id, bytes([0, 0, 0, 1, 2, 3, 4, 5]), 4 + 8 + 64)
