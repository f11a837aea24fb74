"""Secrets: one made-up example of each kind, and what must not be taken for one. All values are made here."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secrets_world import planted
from shield.facts.secrets import _LEAST_BITS, KINDS, _bits, find_secrets, redact

_WORD = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_MADE = {one.kind: one for one in planted(len(KINDS), seed=7)}
_TRUE = {kind: one.text for kind, one in _MADE.items()}

_FALSE = (
    "AKIAIOSFODNN7EXAMPLE",
    "the password is stored elsewhere",
    "password = getpass.getpass()",
    "password: os.environ['DB_PASSWORD']",
    "PASSWORD=${DB_PASSWORD}",
    "api_key = settings.api_key",
    "token = self.access_token",
    'secret_key = "changeme"',
    "api_key: <your-api-key>",
    "client_secret=xxxxxxxxxxxxxxxx",
    "export API_KEY=your_api_key_here_1",
    "git commit -m 'rotate api keys'",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "https://example.com/path:with@sign",
    "https://user@example.com/",
    "postgres://localhost/db",
    "eyJ.not.ajwt",
    "sk-learn-is-a-library",
    "hf_hub_download",
    "npm_config_registry",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "def reset_password(user, token):",
    "passwordless login",
    "public_key_token = None",
)


def test_there_is_an_example_of_every_kind() -> None:
    assert set(_TRUE) == set(KINDS)
    assert len(KINDS) >= 100


@pytest.mark.parametrize("kind", sorted(_TRUE))
def test_true(kind: str) -> None:
    for text in (_TRUE[kind], f"é before\n{_TRUE[kind]}\nafter", f'{{"x": "{_TRUE[kind]}"}}'):
        found = find_secrets(text, "/body")
        assert kind in {secret.kind for secret in found}, text
        for secret in found:
            assert 0 <= secret.start < secret.end <= len(text)
            assert secret.where == "/body"


@pytest.mark.parametrize("text", _FALSE)
def test_false(text: str) -> None:
    assert find_secrets(text) == ()


@pytest.mark.parametrize("kind", sorted(_TRUE))
def test_a_broken_twin_of_a_token_is_none(kind: str) -> None:
    half = _TRUE[kind][: min(len(_TRUE[kind]) // 2, 14)]
    if kind not in ("private_key", "putty_key"):
        assert kind not in {secret.kind for secret in find_secrets(half)}


def test_redaction_takes_all_of_it() -> None:
    inside = [_MADE[kind] for kind in sorted(_MADE) if kind not in ("putty_key", "private_key")]
    text = " ; ".join(one.text for one in inside)
    redacted, found = redact(text, "stdout")
    assert "[redacted github_token]" in redacted
    assert [one.kind for one in inside if one.secret in redacted] == []
    for secret in found:
        assert text[secret.start : secret.end] not in redacted
    assert find_secrets(redacted) == ()


def test_a_private_key_is_redacted_to_its_end_even_where_it_is_cut_off() -> None:
    body = "".join(random.Random(2).choices(_WORD, k=70))
    redacted, _ = redact(f"a\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n{body}")
    assert redacted == "a\n[redacted private_key]"
    redacted, _ = redact(f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nafter")
    assert redacted == "[redacted private_key]\nafter"


def test_the_threshold_holds_for_random_values() -> None:
    draws = random.Random(1)
    hexes = sum(_bits("".join(draws.choice(_HEX) for _ in range(16))) >= _LEAST_BITS for _ in range(2000))
    words = sum(_bits("".join(draws.choice(_WORD) for _ in range(16))) >= _LEAST_BITS for _ in range(2000))
    assert hexes >= 1998
    assert words == 2000
    assert _bits("aaaaaaaa1") < _LEAST_BITS


@given(st.text(max_size=200))
def test_redacting_never_raises_and_keeps_the_rest(text: str) -> None:
    redacted, found = redact(text)
    assert (redacted == text) == (found == ())
    at = 0
    for secret in found:
        assert secret.start >= at
        assert redacted.find(text[at : secret.start]) >= 0
        at = secret.end


def test_a_text_full_of_beginnings_is_one_pass() -> None:
    # quadratic work would take minutes here: the suite's own timeout is the assertion
    text = "-----BEGIN RSA PRIVATE KEY-----\n" * 20_000
    assert len(find_secrets(text)) == 1
    assert len(find_secrets(text.replace("BEGIN", "END") + text)) == 1


def test_limit() -> None:
    text = " ".join(
        f"AKIA{number:016d}".replace("0", "Q").replace("1", "Z").replace("8", "W").replace("9", "Y")
        for number in range(50)
    )
    assert len(find_secrets(text, limit=10)) == 10
    assert len(find_secrets(text)) == 50


@pytest.mark.parametrize("kind", ["anthropic_key", "docker_token", "github_token", "gitlab_token"])
@pytest.mark.parametrize("glue", ["x", "_", "9", "prefix_"])
def test_a_prefix_that_means_nothing_else_is_found_glued_to_other_text(kind: str, glue: str) -> None:
    secret = _TRUE[kind]
    redacted, found = redact(f"{glue}{secret}")
    assert [item.kind for item in found] == [kind]
    assert secret not in redacted


@pytest.mark.parametrize("before", ["", "bot", "token=", r"line\n", r"\t", "q%3D", "\x1b[31m", "/"])
@pytest.mark.parametrize("kind", ["telegram_token", "twilio_key", "xai_key", "terraform_token"])
def test_a_letter_that_is_no_part_of_a_word_hides_no_token_behind_it(kind: str, before: str) -> None:
    if before == "bot" and kind != "telegram_token":
        return
    (token,) = {one.secret for one in planted(len(KINDS), seed=3) if one.kind == kind}
    text = before + token
    assert (kind, token) in {(found.kind, text[found.start : found.end]) for found in find_secrets(text)}
