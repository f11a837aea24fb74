"""Hosts: the tricks undone, and None wherever two readers could differ."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shield.facts.hosts import host_fact, ip_class
from shield.types import IpClass


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port", "kind"),
    [
        ("https://index.example/x", "https", "index.example", 443, "name"),
        ("HTTP://Index.EXAMPLE.:8080/x", "http", "index.example", 8080, "name"),
        ("https://user:pw@index.example/", "https", "index.example", 443, "name"),
        ("https://index.example:80@evil.example/", "https", "evil.example", 443, "name"),
        ("//index.example/x", "", "index.example", None, "name"),
        ("index.example", "", "index.example", None, "name"),
        ("index.example:8080/x", "", "index.example", 8080, "name"),
        ("localhost:8470", "", "localhost", 8470, "loopback"),
        ("http://a.b.localhost/", "http", "a.b.localhost", 80, "loopback"),
        ("https://bücher.example/", "https", "xn--bcher-kva.example", 443, "name"),
        ("https://BÜCHER.example/", "https", "xn--bcher-kva.example", 443, "name"),
        ("https://ｅｘａｍｐｌｅ．example/", "https", "example.example", 443, "name"),
        ("https://index。example/", "https", "index.example", 443, "name"),
        ("http://%6c%6fcalhost/", "http", "localhost", 80, "loopback"),
        ("http://%31%32%37.0.0.1/", "http", "127.0.0.1", 80, "loopback"),
        ("http://①②⑦.0.0.1/", "http", "127.0.0.1", 80, "loopback"),
        ("http://2130706433/", "http", "127.0.0.1", 80, "loopback"),
        ("http://0x7f.1/", "http", "127.0.0.1", 80, "loopback"),
        ("http://0x7f000001/", "http", "127.0.0.1", 80, "loopback"),
        ("http://0177.0.0.1/", "http", "127.0.0.1", 80, "loopback"),
        ("http://127.1/", "http", "127.0.0.1", 80, "loopback"),
        ("http://127.0.0.1./", "http", "127.0.0.1", 80, "loopback"),
        ("http://0/", "http", "0.0.0.0", 80, "loopback"),
        ("http://2852039166/", "http", "169.254.169.254", 80, "metadata"),
        ("http://0xa9fea9fe/latest", "http", "169.254.169.254", 80, "metadata"),
        ("http://[::ffff:169.254.169.254]/", "http", "169.254.169.254", 80, "metadata"),
        ("http://[::ffff:a9fe:a9fe]/", "http", "169.254.169.254", 80, "metadata"),
        ("http://[64:ff9b::a9fe:a9fe]/", "http", "64:ff9b::a9fe:a9fe", 80, "metadata"),
        ("http://[2002:7f00:1::]/", "http", "2002:7f00:1::", 80, "loopback"),
        ("http://[fd00:ec2::254]/", "http", "fd00:ec2::254", 80, "metadata"),
        ("http://metadata.google.internal./x", "http", "metadata.google.internal", 80, "metadata"),
        ("http://100.100.100.200/", "http", "100.100.100.200", 80, "metadata"),
        ("http://[::1]:8080/", "http", "::1", 8080, "loopback"),
        ("http://[0:0:0:0:0:0:0:1]/", "http", "::1", 80, "loopback"),
        ("http://[::]/", "http", "::", 80, "loopback"),
        ("http://[fe80::1%25eth0]/", "http", "fe80::1", 80, "link_local"),
        ("http://[fc00::1]/", "http", "fc00::1", 80, "private"),
        ("http://10.0.0.1/", "http", "10.0.0.1", 80, "private"),
        ("http://169.254.1.1/", "http", "169.254.1.1", 80, "link_local"),
        ("http://100.64.0.1/", "http", "100.64.0.1", 80, "private"),
        ("http://224.0.0.1/", "http", "224.0.0.1", 80, "private"),
        ("http://8.8.8.8/", "http", "8.8.8.8", 80, "public"),
        ("http://[2606:4700::1111]/", "http", "2606:4700::1111", 80, "public"),
        ("ssh://git@git.example/x.git", "ssh", "git.example", 22, "name"),
        ("https://index.example?q=1", "https", "index.example", 443, "name"),
        ("https://index.example/?u=http://other@x/", "https", "index.example", 443, "name"),
    ],
)
def test_hosts(text: str, scheme: str, host: str, port: int | None, kind: str) -> None:
    fact = host_fact(text)
    assert fact is not None
    assert (fact.scheme, fact.host, fact.port, fact.ip_class.value) == (scheme, host, port, kind)
    assert "pw@" not in fact.url


@pytest.mark.parametrize(
    "text",
    [
        "",
        " https://index.example/",
        "https://index.example/ ",
        "https://in\tdex.example/",
        "https://index.example/\nHost: evil.example",
        "https:index.example",
        "https:/index.example/",
        "https:///index.example/",
        "https://\\index.example/",
        "https://index.example\\@evil.example/",
        "https://index.example\\.evil.example/",
        "https://a@b@evil.example/",
        "https://index.example#@evil.example/",
        "https://index.example?@evil.example/",
        "https://index.example%2f@evil.example/x@y",
        "https://index%2eexample%00.evil.example/",
        "https://index.example%2f.evil.example/",
        "https://%2565vil.example/",
        "https://faß.example/",
        "https://a\u200db.example/",
        "https://a\u00adb..example/",
        "https://index..example/",
        "https://.example/",
        "https://index.example../",
        "https://1.2.3.4.5/",
        "https://256.1.1.1/",
        "https://1.2.3.0x100/",
        "https://08.8.8.8/",
        "https://010.8.8.8/",
        "https://index.example.1/",
        "https://[::1/",
        "https://[::1]x/",
        "https://[fd00::1%25eth0]/",
        "https://::1/",
        "https://index.example:99999/",
        "https://index.example:８０/",
        "https://index.example:-1/",
        "https://{a,b}.example/",
        "https://a,b.example/",
        "https://a b.example/",
        "https://xn--\u00fc.example/",
        "https://" + "a" * 64 + ".example/",
        "https://" + "a." * 200 + "example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "mailto:a@b.example",
        "file:///etc/passwd",
        "https://",
        "\u202ehttps://index.example",
    ],
)
def test_unclear_hosts_are_none(text: str) -> None:
    assert host_fact(text) is None


@given(st.text(max_size=60) | st.text(alphabet="htps:/@\\.[]%0x1a#?", max_size=30).map(lambda rest: "http://" + rest))
def test_never_raises_and_is_in_normal_form(text: str) -> None:
    fact = host_fact(text)
    if fact is not None:
        assert fact.host == fact.host.lower()
        assert fact.host.isascii()
        literal = f"[{fact.host}]" if ":" in fact.host else fact.host
        again = host_fact(f"http://{literal}/")
        assert again is not None
        assert (again.host, again.ip_class) == (fact.host, fact.ip_class)


@given(st.ip_addresses())
def test_public_means_global(address: object) -> None:
    parsed = ip_address(str(address))
    if ip_class(parsed) is IpClass.PUBLIC:
        carried = getattr(parsed, "ipv4_mapped", None)
        assert (carried or parsed).is_global or str(parsed).startswith(("2001:", "2002:", "64:ff9b"))
    if parsed.is_loopback:
        assert ip_class(parsed) is IpClass.LOOPBACK
