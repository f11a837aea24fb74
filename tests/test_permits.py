"""Permits and receipts: they round-trip, and every forged, crossed or bent twin is refused."""

import base64
import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from shield.errors import PermitError, Reason
from shield.permits import Permit, PermitKey, Receipt, env_digest, key_id, state_digest, verify_receipt
from shield.types import FileIdentity, FileRole, HostFact, IpClass, Isolation, Tier

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = PermitKey(PRIVATE)
PERMIT = Permit(
    jti="01J", sub="agent", sid="s1", tcid="", iat=1, exp=61, act="sha256:aa", state="sha256:bb", env="sha256:cc",
    pol="sha256:dd", need=Tier.POLICY, tier=Tier.POLICY, seq=7, wsr=("/ws",), iso=Isolation.STATE_HIDDEN,
)  # fmt: skip
RECEIPT = Receipt(
    jti="01J", act="sha256:aa", state="sha256:bb", nonce="00" * 16, seq=8, exp=61,
    files=(
        FileIdentity(role=FileRole.CONTENT, path="/ws/a", dev=1, ino=2, sha256="sha256:ee"),
        FileIdentity(role=FileRole.LARGE, path="/ws/b", dev=1, ino=2, size=9, ctime_ns=1_795_000_000_000_000_001),
        FileIdentity(role=FileRole.TARGET, path="/ws/c", dev=1, ino=3, kind="file", absent=True),
        FileIdentity(role=FileRole.TARGET, path="/ws/d", dev=1, ino=3, kind="file", deleted=True),
    ),
    shell="/bin/bash", env={"PATH": "/usr/bin"},
    allow_hosts=(HostFact(url="https://a.test/", scheme="https", host="a.test", port=443, ip_class=IpClass.NAME),),
)  # fmt: skip


def test_round_trip():
    assert KEY.verify_permit(KEY.sign_permit(PERMIT)) == PERMIT
    assert verify_receipt(KEY.sign_receipt(RECEIPT), KEY.public) == RECEIPT


def _signed(claims, *, key=PRIVATE, algorithm="EdDSA", **headers):
    return jwt.encode(
        claims, key, algorithm=algorithm, headers={"typ": "shield-permit+jwt", "kid": key_id(KEY.public), **headers}
    )


def _claims(**changes):
    claims = jwt.decode(KEY.sign_permit(PERMIT), options={"verify_signature": False})
    return {name: value for name, value in (claims | changes).items() if value is not ...}


def test_the_control_of_the_forgeries_is_accepted():
    assert KEY.verify_permit(_signed(_claims())) == PERMIT


HMAC_KEY = KEY.public + b"\0" * 32
PEM = PRIVATE.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

FORGED = {
    "another key": lambda: _signed(_claims(), key=Ed25519PrivateKey.generate()),
    "another key id": lambda: _signed(_claims(), kid="0" * 16),
    "an empty key id": lambda: _signed(_claims(), kid=""),
    "another type": lambda: _signed(_claims(), typ="JWT"),
    "a receipt's type": lambda: _signed(_claims(), typ="shield-receipt+jwt"),
    "a receipt": lambda: KEY.sign_receipt(RECEIPT),
    "a receipt's audience": lambda: _signed(_claims(aud="shield-execute")),
    "another issuer": lambda: _signed(_claims(iss="evil")),
    "no expiry": lambda: _signed(_claims(exp=...)),
    "no file state": lambda: _signed(_claims(state=...)),
    "a claim too many": lambda: _signed(_claims(nbf=0)),
    "tier as text": lambda: _signed(_claims(tier="0")),
    "tier as truth": lambda: _signed(_claims(tier=True)),
    "tier 4": lambda: _signed(_claims(tier=4)),
    "an unknown isolation": lambda: _signed(_claims(iso="total")),
    "roots that are no texts": lambda: _signed(_claims(wsr=[1])),
    "algorithm none": lambda: _signed(_claims(), key=None, algorithm="none"),
    "the public key as an HMAC secret": lambda: _signed(_claims(), key=HMAC_KEY, algorithm="HS256"),
    "nothing": lambda: "",
    "not a token": lambda: "a.b.c",
    "megabytes": lambda: "A" * (2 << 20),
    "not ascii": lambda: "é.é.é",
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_forged_permits_are_refused(forge):
    with pytest.raises(PermitError) as caught:
        KEY.verify_permit(forge())
    assert caught.value.reason is Reason.PERMIT_MISMATCH


@given(st.data())
def test_one_flipped_bit_breaks_it(data):
    token = KEY.sign_permit(PERMIT)
    head, body, signature = token.split(".")
    part = data.draw(st.sampled_from([head, body, signature]))
    raw = bytearray(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    bent = base64.urlsafe_b64encode(bytes(raw)).rstrip(b"=").decode()
    with pytest.raises(PermitError):
        KEY.verify_permit(token.replace(part, bent, 1))


def test_a_receipt_of_another_shield_is_refused():
    with pytest.raises(PermitError):
        verify_receipt(PermitKey().sign_receipt(RECEIPT), KEY.public)
    with pytest.raises(PermitError):
        verify_receipt(KEY.sign_permit(PERMIT), KEY.public)


def test_the_token_names_no_private_half():
    head = json.loads(base64.urlsafe_b64decode(KEY.sign_permit(PERMIT).split(".")[0] + "=="))
    assert head == {"alg": "EdDSA", "kid": key_id(KEY.public), "typ": "shield-permit+jwt"}
    assert not [name for name in vars(KEY) if not name.startswith("_") and name != "public"]


@given(st.permutations(RECEIPT.files))
def test_state_depends_on_every_part_of_every_file(files):
    assert (state_digest(files) == state_digest(RECEIPT.files)) == (tuple(files) == RECEIPT.files)


def test_env_depends_on_all_four():
    base = ("/bin/bash", "5.2", {"A": "1"}, 0o77)
    twins = [("/bin/sh", *base[1:]), ("/bin/bash", "5.3", *base[2:]), (*base[:2], {"A": "2"}, 0o77), (*base[:3], 0o22)]
    assert len({env_digest(*item) for item in (base, *twins)}) == 5
