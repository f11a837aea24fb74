"""Secrets out of an action: by shape, by the name they stand under, and never at the price of another change."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shield.actions.request import make_action
from shield.canonical import MAX_SAFE_INTEGER
from shield.facts.secrets import find_secrets
from shield.pipeline import bodies, redacted
from shield.pipeline.redacted import Known, Spot
from shield.types import Facts, SecretFact

NONE = Facts(secrets=())


def view(action, facts=NONE):
    return bodies.view(action, Known(action, facts))


def content(action, facts=NONE):
    return redacted.content(action, Known(action, facts))


def paired(name, value):
    return Spot(Known(make_action("x", {}, None), NONE), name).clean(value)


PLAIN = "Qz7v1Xw9Lk3p"  # a secret only where something names it
TOKEN = "ghp_" + "a1B2" * 9
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda items: st.lists(items, max_size=4) | st.dictionaries(st.text(max_size=8), items, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("payload", "secret"),
    [
        ({"x": f"token {TOKEN}"}, TOKEN),
        ({"headers": {"Authorization": f"Bearer {PLAIN}{PLAIN}"}}, PLAIN),
        ({"headers": [["Authorization", f"Bearer {PLAIN}{PLAIN}"]]}, PLAIN),
        ({"headers": [{"name": "Authorization", "value": f"Bearer {PLAIN}{PLAIN}"}]}, PLAIN),
        ({"env": {"DB_PASSWORD": PLAIN}}, PLAIN),
        ({"password": PLAIN}, PLAIN),
        ({f"{'x' * 70}_password": PLAIN}, PLAIN),
        ({"args": ["--password", PLAIN]}, PLAIN),
        ({"deep": [{"client_secret": PLAIN}]}, PLAIN[1:]),
        ({f"DB_PASSWORD={PLAIN}": 1}, PLAIN),
        ({f"a {TOKEN}": "the name is one itself"}, TOKEN),
        ({"command": f"DB_PASSWORD={PLAIN} ./run"}, PLAIN),
    ],
)
def test_a_secret_is_taken_out_of_the_view_and_of_what_is_kept(payload, secret):
    action = make_action("http_request", payload, None)
    assert secret in action.canonical.decode()
    for shown in (json.dumps(view(action)), content(action).decode()):
        assert secret not in shown
        assert "[redacted " in shown


def test_what_shows_only_across_strings_is_not_kept_at_all():
    action = make_action("x", {"password": 8.2345e-25, "z": 1}, None)  # no string of it is a secret
    assert find_secrets(action.canonical.decode())
    assert content(action) == b""
    assert view(action)["password"] == "[redacted named_secret]"


@given(
    st.dictionaries(st.text(max_size=8), _JSON, max_size=5),
    st.text(min_size=1, max_size=10),
    st.none() | st.just("/ws"),
)
def test_without_a_secret_the_very_bytes_are_kept(payload, kind, cwd):
    action = make_action(kind, payload, cwd)
    if not find_secrets(action.canonical.decode()):
        assert content(action) in (action.canonical, b"")


def test_large_integers_and_escapes_are_kept_as_they_are():
    action = make_action("x", {"n": MAX_SAFE_INTEGER + 2, "o": {"$int": "7"}, "f": 1.5}, "/ws")
    assert content(action) == action.canonical


@given(st.text(max_size=80), st.text(max_size=60))
def test_a_name_changes_nothing_where_there_is_no_secret(name, value):
    if not find_secrets(f"{name}: {value}") and not find_secrets(value):
        assert paired(name, value) == value


@given(st.sampled_from(["token", "password", TOKEN, f"x{TOKEN}"]), st.sampled_from([PLAIN, TOKEN, f"{TOKEN} {PLAIN}"]))
def test_the_name_never_becomes_a_part_of_the_value(name, value):
    assert TOKEN not in paired(name, value)
    assert not paired(name, value).startswith(name)


def test_what_the_facts_know_is_taken_out_too():
    # as where the string is base64: nothing in the view could tell
    payload = {"a/b": [{"deep": "0123456789"}], "same": "0123456789"}
    action = make_action("x", payload, None)
    for start, end, left in (
        (0, 10, "[redacted jwt]"),
        (2, 4, "01[redacted jwt]456789"),
        (8, 99, "01234567[redacted jwt]"),
    ):
        facts = Facts(secrets=(SecretFact(kind="jwt", where="/a~1b/0/deep", start=start, end=end),))
        shown = view(action, facts)
        assert shown == {"a/b": [{"deep": left}], "same": "0123456789"}
        assert json.loads(content(action, facts))["payload"] == shown
