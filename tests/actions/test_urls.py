"""What is a URL that can be asked for, and what is none."""

import pytest

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.actions.urls import no_url
from shield.tiers.floor import floor
from shield.types import Answer, Facts, Isolation, Tier

NONE = {
    "": "scheme",
    "notaurl": "scheme",
    "example.com/x": "scheme",
    "//index.example/": "scheme",
    "../x": "scheme",
    "hello world": "scheme",
    "localhost:3000": "scheme",
    "http:/x": "scheme",
    "http://": "names no host",
    "http:///x": "host",
    "http://?q": "host",
    "http://user@/": "host",
    "http://:80/": "host",
    "javascript:alert(1)": "scheme",
    "mailto:ana@example.org": "scheme",
    "http://a b/": "blank",
    "http://[::1/": "bracket",
    "http://index.example:99999/": "port",
    "http://index.example:x/": "port",
    "http://[::1]:x/": "port",
}


@pytest.mark.parametrize(("text", "said"), NONE.items())
def test_what_names_no_host_is_no_url(text, said):
    assert said in (no_url(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "https://index.example",
        "HTTP://INDEX.example:80/x?q=a b",
        "http://[::1]:8000/",
        "http://user:word@index.example:8000/",
        "ws://localhost:3000",
        "ftp://index.example/x",
        # who sees which host here is unclear, so it is for the facts to say
        "http://exa%6dple.org/",
        "http://0x7f.1/",
        # judged as the path that it is
        "file:///etc/hosts",
        "file:x",
    ],
)
def test_what_may_be_one_is_left_to_the_rules(text):
    assert no_url(text) is None


def test_a_long_text_is_read_once():
    """What grows faster than the text would take minutes here, and a scheme of any length is none by itself."""
    none = {opening: no_url(opening * 60_000) for opening in ("a", "http://[", "http://a:", "a:")}
    assert all(none.values()), none
    assert no_url("http://" + "a@" * 60_000 + "host") is None


@pytest.mark.parametrize(
    ("kind", "payload", "blocked"),
    [
        ("http_request", {"url": "notaurl"}, True),
        ("http_request", {"url": "https://index.example/"}, False),
        # a browser's address bar, a folder, and what another field of the same call may say
        ("browser_navigate", {"url": "index.example"}, False),
        ("open", {"url": "notes.txt"}, False),
        ("git_clone", {"url": "git@index.example:x/y.git"}, False),
        # of another type than it should be: a person looks
        ("http_request", {"url": ["notaurl"]}, False),
    ],
)
def test_only_a_request_needs_a_whole_url(kind, payload, blocked):
    opinions = floor(
        make_action(kind, payload, "/w"),
        lookup(kind),
        Facts(malformed=False),
        min_tier=Tier.POLICY,
        isolation=Isolation.CONFINED,
    )
    found = [opinion for opinion in opinions if opinion.answer is Answer.BLOCK]
    assert [opinion.rule for opinion in found] == (["input.payload"] if blocked else [])
    assert all("no URL" in opinion.reason and "https://" in opinion.advice for opinion in found)
