"""Hosts of a receipt and hosts as clients write them: one spelling, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.sandbox.proxy_hosts import Hosts, authority, canonical, shown
from proxied import fact
from shield.facts.hosts import host_fact
from shield.types import IpClass


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pypi.org:443", ("pypi.org", 443)),
        ("PyPI.ORG:443", ("pypi.org", 443)),
        ("pypi.org.:443", ("pypi.org", 443)),
        ("pypi.org", ("pypi.org", 80)),
        ("xn--bcher-kva.example:443", ("xn--bcher-kva.example", 443)),
        ("93.184.216.34:443", ("93.184.216.34", 443)),
        ("[2606:2800:0220:1::1]:443", ("2606:2800:220:1::1", 443)),
        ("[::ffff:93.184.216.34]:443", ("93.184.216.34", 443)),
        ("pypi.org:", None),
        ("pypi.org:0", None),
        ("pypi.org:0443", None),
        ("pypi.org:65536", None),
        ("pypi.org:443:443", None),
        ("user@pypi.org:443", None),
        ("pypi%2eorg:443", None),
        ("pypi.org%00.evil.example:443", None),
        ("pypi.org\\.evil.example:443", None),
        ("pypi.org/:443", None),
        ("pypi.org#:443", None),
        ("pypi .org:443", None),
        ("bücher.example:443", None),
        ("pypi.org\uff0eevil:443", None),
        ("pypi..org:443", None),
        (".pypi.org:443", None),
        ("pypi.org..:443", None),
        (".:443", None),
        (":443", None),
        ("", None),
        ("2130706433:443", None),
        ("0x7f.1:443", None),
        ("0177.0.0.1:443", None),
        ("127.1:443", None),
        ("1.2.3.4.5:443", None),
        ("[::1%25lo]:443", None),
        ("[::1]x:443", None),
        ("::1:443", None),
        ("[127.0.0.1]:443", None),
        ("a" * 300 + ":443", None),
    ],
)
def test_an_authority_has_one_reading_or_none(text, expected):
    assert authority(text, 80) == expected


@given(st.text(alphabet="aA1.0xX:[]%-_ @/\\\x00é", max_size=24))
def test_what_is_read_is_spelled_as_shield_spells_it(text):
    """INVARIANT: where both read a host in the same text, it is the same host."""
    found, judged = authority(text, 80), host_fact(f"http://{text}/")
    if found is not None and judged is not None:
        assert (judged.host, judged.port) == found


@given(st.ip_addresses())
def test_an_address_is_spelled_as_shield_spells_it(address):
    text = f"[{address}]" if address.version == 6 else str(address)
    judged = host_fact(f"http://{text}/")
    assert judged is not None
    assert canonical(judged.host) == judged.host
    assert authority(text, 80) == (judged.host, 80)


def test_only_the_very_host_port_and_kind_is_found():
    judged = fact("pypi.org", port=443)
    hosts = Hosts([judged])
    assert hosts.find("pypi.org", 443, secure=True) is judged
    assert hosts.find("pypi.org", 443, secure=False) is None
    assert hosts.find("pypi.org", 80, secure=False) is None
    assert hosts.find("pypi.org", 8443, secure=True) is None
    assert hosts.find("files.pypi.org", 443, secure=True) is None
    assert hosts.find("org", 443, secure=True) is None
    assert Hosts([]).find("pypi.org", 443, secure=True) is None


@pytest.mark.parametrize(
    ("scheme", "port", "ways"),
    [
        ("https", None, {(True, 443)}),
        ("https", 8443, {(True, 8443)}),
        ("http", None, {(False, 80)}),
        ("http", 8080, {(False, 8080)}),
        ("http", 443, {(False, 443)}),
        ("wss", None, {(True, 443)}),
        ("ws", None, {(False, 80)}),
        ("", None, {(True, 443), (False, 80)}),
        ("", 443, {(True, 443)}),
        ("", 8080, {(True, 8080), (False, 8080)}),
        ("ssh", 22, set()),
        ("git", 9418, set()),
        ("ftp", 21, set()),
        ("smtp", 25, set()),
        ("socks5", 1080, set()),
    ],
)
def test_how_a_fact_may_be_reached(scheme, port, ways):
    hosts = Hosts([fact("a.example", scheme=scheme, port=port)])
    tried = {(secure, port) for secure in (True, False) for port in (21, 22, 25, 80, 443, 1080, 8080, 8443, 9418)}
    assert {way for way in tried if hosts.find("a.example", way[1], secure=way[0])} == ways


@pytest.mark.parametrize("url", ["http://localhost:8000/", "http://127.0.0.2:8000/", "http://[::1]:8000/",
                                 "http://169.254.169.254/", "http://metadata.google.internal/"])  # fmt: skip
def test_the_loopback_of_the_machine_and_metadata_are_never_reached(url):
    judged = host_fact(url)
    assert judged.ip_class in (IpClass.LOOPBACK, IpClass.METADATA)
    assert Hosts([judged]).names() == []


def test_names_are_told_once_in_order():
    assert Hosts([fact("b.example"), fact("a.example", scheme=""), fact("b.example")]).names() == [
        "b.example:443",
        "a.example:443",
        "a.example:80",
    ]


def test_what_a_stranger_chose_is_shown_without_its_power():
    assert shown("a.example:443") == "a.example:443"
    assert shown("a\x1b[31m\r\n\u202e`b` c") == r"a\x1b[31m\x0d\x0a\x202e\x60b\x60\x20c"
    assert len(shown("\x00" * 10_000)) < 500
