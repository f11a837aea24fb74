"""Tokens that can be told by themselves: published ones hold, one character changed does not, and nothing real that
looks odd goes unredacted."""

import base64
import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secrets_world import bech32 as made_bech32
from secrets_world import crc_token, planted
from shield.facts.checksums import base58, bech32, crc_base62, macaroon
from shield.facts.secrets import KINDS, UNVERIFIED, find_secrets, redact

WORD = string.ascii_letters + string.digits
# None of these opens anything: examples of the formats' own documents and test vectors.
PUBLISHED = [
    # gist "base62", from GitHub's format of 2021
    ("github_token", "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"),
    # secretlint, issue 200
    ("npm_token", "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"),
    # C2SP/CCTV age test kit, stream_no_nonce; the README of age
    ("age_key", "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0"),
    ("age_key", "AGE-SECRET-KEY-1GQ9778VQXMMJVE8SK7J6VT8UJ4HDQAJUVSFCWCM02D8GEWQ72PVQ2Y5J33"),
    # NIP-19
    ("nostr_key", "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"),
    # Bitcoin wiki "Wallet import format"; BIP 32, test vector 1
    ("wallet_key", "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ"),
    (
        "wallet_key",
        "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
    ),
]
MADE_UP = [  # what documents write in a token's place
    "ghp_" + "x" * 36,
    "ghp_" + "1" * 36,
    "ghp_1234567890abcdefghijklmnopqrstuvwxyz",
    "ghp_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789",
    "gho_EXAMPLEexampleEXAMPLEexampleEXAMPLEe",
    "npm_" + "0" * 36,
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
    "AGE-SECRET-KEY-1" + "Q" * 58,
    "K" + "wertyuiopasdfghjkzxcvbnmqwertyuiopasdfghjkzxcvbnm123"[:51],
    "nsec1" + "q" * 58,
]


def kinds(text):
    return [secret.kind for secret in find_secrets(text)]


@pytest.mark.parametrize(("kind", "token"), PUBLISHED)
def test_a_published_token_holds(kind, token) -> None:
    assert kinds(f"key {token}, as agreed") == [kind]


@pytest.mark.parametrize(("kind", "token"), PUBLISHED)
def test_one_character_changed_is_another_kind_or_none(kind, token) -> None:
    for place in (len(token) - 1, len(token) - 9, len(token) // 2):
        old = token[place]
        letter = next(other for other in ("qw" if old.islower() else "QW" if old.isupper() else "27") if other != old)
        twin = token[:place] + letter + token[place + 1 :]
        assert kinds(twin) == ([] if kind == "wallet_key" else [UNVERIFIED]), twin


def test_what_is_mistyped_is_redacted_all_the_same() -> None:
    token = "ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18"
    assert redact(f"it is {token} today")[0] == "it is [redacted unverified_token] today"


@pytest.mark.parametrize("token", MADE_UP)
def test_a_placeholder_is_no_secret(token) -> None:
    assert kinds(f"set it to {token} first") == []


def test_the_name_of_a_secret_speaks_for_a_made_up_token_too() -> None:
    assert kinds("API_TOKEN=ghp_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789") == ["named_secret"]


@pytest.mark.parametrize("body", ["examplexampleyourdummyxxxxxx12", "0" * 30, "abcdefghijklmnopqrstuvwxyz0123"])
@pytest.mark.parametrize(("prefix", "kind"), [("ghp_", "github_token"), ("npm_", "npm_token")])
def test_a_checksum_that_holds_needs_no_other_sign(prefix, kind, body) -> None:
    assert kinds(crc_token(prefix, body)) == [kind]


@given(st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_"]), st.text(WORD, min_size=30, max_size=30))
def test_every_real_token_is_found(prefix, body) -> None:
    token = crc_token(prefix, body)
    assert crc_base62(token)
    assert redact(f"a {token} b")[0] in ("a [redacted github_token] b", "a [redacted npm_token] b")


@given(st.text("qpzry9x8gf2tvdw0s3jn54khce6mua7l", min_size=52, max_size=52))
def test_every_age_key_is_found(data) -> None:
    assert kinds(made_bech32("age-secret-key-", data).upper()) == ["age_key"]
    assert kinds(made_bech32("age-secret-key-pq-", data).upper()) == ["age_key"]


@given(st.text(WORD, min_size=36, max_size=36))
def test_what_looks_drawn_is_redacted_whatever_its_checksum(body) -> None:
    steps = [ord(after) - ord(before) for before, after in pairwise(body.lower())]
    plain = len(set(body)) < 3 or not any(map(str.isdigit, body)) or not any(map(str.isalpha, body))
    if plain or any(steps[at : at + 5] == [1] * 5 for at in range(len(steps))) or "xxxxxx" in body.lower():
        return
    if any(word in body.lower() for word in ("example", "your")):
        return
    assert body not in redact(f"a ghp_{body} b")[0]


@pytest.mark.parametrize("glue", ["x", "Z9", "0123456789abcdef"])
def test_a_token_with_text_glued_to_its_end_is_found_whole(glue) -> None:
    token = crc_token("ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ")
    assert redact(f"{token}{glue}")[0] == "[redacted github_token]"


def test_a_longer_token_than_today_is_found_whole() -> None:
    assert redact("ghs_" + "aB3" * 200)[0] == "[redacted github_token]"


def test_what_carries_no_checksum_tells_nothing() -> None:
    assert crc_base62("github_pat_" + "a" * 36) is None
    assert crc_base62("ghp_" + "a" * 37) is None
    assert not bech32("age-secret-key-1qqqq")
    assert not bech32("1")
    assert not bech32("b" * 60)


@given(st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", min_size=1, max_size=120))
def test_base58_never_raises(text) -> None:
    assert base58(text) in (True, False)


@given(st.text(WORD + "-_", min_size=50, max_size=90))
def test_a_macaroon_never_raises(text) -> None:
    assert macaroon(f"pypi-AgE{text}") in (True, False)


def test_a_macaroon_names_its_host() -> None:
    def token(raw):
        return "pypi-" + base64.urlsafe_b64encode(raw).decode().rstrip("=")

    rest = b"\x02\x24" + b"aB3dE5gH" * 9
    assert kinds(token(b"\x02\x01\x08pypi.org" + rest)) == ["pypi_token"]
    assert kinds(token(b"\x02\x01\x0dtest.pypi.org" + rest)) == ["pypi_token"]
    assert kinds(token(b"\x02\x01\x08pypi.org" + b"\x07" + rest)) == [UNVERIFIED]
    assert kinds(token(b"\x02\x01\x08\x00\x00\x00\x00\x00\x00\x00\x00" + rest)) == [UNVERIFIED]


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_is_taken_out_of_any_surroundings(seed) -> None:
    for one in planted(len(KINDS), seed=seed):
        for text in (f"{one.text}", f"é “{one.text}”.", f"x={one.text}\n", f"\n\t{one.text} \n\n"):
            assert one.secret not in redact(text)[0], (one.kind, text)
