"""Hosts: the tricks undone, and None wherever two readers could differ."""

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shield.facts.addresses import ip_class
from shield.facts.hosts import host_fact
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
        ("http://[fe80::a9fe:a9fe%25eth0]/", "http", "fe80::a9fe:a9fe", 80, "metadata"),
        ("http://[fd00:c1::a9fe:a9fe]/", "http", "fd00:c1::a9fe:a9fe", 80, "metadata"),
        ("http://[::ffff:0:169.254.169.254]/", "http", "::ffff:0:a9fe:a9fe", 80, "metadata"),
        ("http://[64:ff9b:1:a9fe:a9:fe00::]/", "http", "64:ff9b:1:a9fe:a9:fe00::", 80, "metadata"),
        ("http://[64:ff9b:1::a9fe:a9fe]/", "http", "64:ff9b:1::a9fe:a9fe", 80, "metadata"),
        ("http://[2001:db8::a9fe:a9fe]/", "http", "2001:db8::a9fe:a9fe", 80, "private"),
        ("http://[2606:4700::a9fe:a9fe]/", "http", "2606:4700::a9fe:a9fe", 80, "public"),
        ("http://[::ffff:0:169.254.1.1]/", "http", "::ffff:0:a9fe:101", 80, "link_local"),
        ("http://1.169.254.169.254.nip.io/", "http", "1.169.254.169.254.nip.io", 80, "metadata"),
        ("http://169.254.42.42/", "http", "169.254.42.42", 80, "metadata"),
        ("http://0xA9.0xFE.0xA9.0xFE/", "http", "169.254.169.254", 80, "metadata"),
        ("http://0251.0376.0251.0376/", "http", "169.254.169.254", 80, "metadata"),
        ("http://169.254.43518/", "http", "169.254.169.254", 80, "metadata"),
        ("http://169.254.169.254.nip.io/", "http", "169.254.169.254.nip.io", 80, "metadata"),
        ("http://a-169-254-169-254.x.sslip.io/", "http", "a-169-254-169-254.x.sslip.io", 80, "metadata"),
        ("http://a9fea9fe.nip.io/", "http", "a9fea9fe.nip.io", 80, "metadata"),
        ("http://fd00-ec2--254.sslip.io/", "http", "fd00-ec2--254.sslip.io", 80, "metadata"),
        ("http://0--ffff-a9fe-a9fe.backname.io/", "http", "0--ffff-a9fe-a9fe.backname.io", 80, "metadata"),
        ("http://08080808.a9fea9fe.rbndr.us/", "http", "08080808.a9fea9fe.rbndr.us", 80, "metadata"),
        (
            "http://make-1.2.3.4-rebind-169.254.169.254-rr.1u.ms/",
            "http",
            "make-1.2.3.4-rebind-169.254.169.254-rr.1u.ms",
            80,
            "metadata",
        ),
        ("http://169.254.169.254.anything.example/", "http", "169.254.169.254.anything.example", 80, "metadata"),
        ("http://127.0.0.1.nip.io/", "http", "127.0.0.1.nip.io", 80, "private"),
        ("http://10-0-0-1.sslip.io/", "http", "10-0-0-1.sslip.io", 80, "private"),
        ("http://localtest.me:3000/", "http", "localtest.me", 3000, "private"),
        ("http://app.lvh.me/", "http", "app.lvh.me", 80, "private"),
        ("http://x.rbndr.us/", "http", "x.rbndr.us", 80, "private"),
        # twins: an address that is public, a name that only looks like one of these, numbers that are no address
        ("http://8.8.8.8.nip.io/", "http", "8.8.8.8.nip.io", 80, "name"),
        ("http://ec2-54-10-0-1.compute.example/", "http", "ec2-54-10-0-1.compute.example", 80, "name"),
        ("http://ip-10-0-0-1.example/", "http", "ip-10-0-0-1.example", 80, "name"),
        ("http://mylvh.me/", "http", "mylvh.me", 80, "name"),
        ("http://nip.io/", "http", "nip.io", 80, "name"),
        ("http://169-254-169.example/", "http", "169-254-169.example", 80, "name"),
        ("http://1169.254.169.254.example/", "http", "1169.254.169.254.example", 80, "name"),
        ("https://xn--bcher-kva.example/", "https", "xn--bcher-kva.example", 443, "name"),
        ("https://日本語テスト.example/", "https", "xn--zckzah9945czlbtz6h.example", 443, "name"),
        ("https://пример.example/", "https", "xn--e1afmkfd.example", 443, "name"),
        ("https://παράδειγμα.example/", "https", "xn--hxajbheg2az3al.example", 443, "name"),
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
        # one letter of another script, in both forms
        "https://\u0430pple.com/",
        "https://xn--pple-43d.com/",
        "https://g\u03bfogle.com/",
        "https://paypa\u04cf.com/",
        # all of another script, and read as a Latin name
        "https://\u0430\u0440\u0440\u04cf\u0435.com/",
        "https://xn--80ak6aa92e.com/",
        "https://xn--a.example/",
        "https://xn--.example/",
        "https://xn--index-.example/",
        "https://a\u0301\u0301\u0301\u0301.example/",
        # programs part on what these are: a number, or a name that somebody may own
        "https://b%61r.example/",
        "https://%38.8.8.8/",
        "https://8.8.2056/",
        "https://134744072/",
        "https://0x8.8.8.8/",
        "https://8.8.8.8./",
        "https://0x/",
        "https://0x.0x.0x.0x/",
        "https://index.example:0/",
        "ssh://b\u00fccher.example/",
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


@pytest.mark.parametrize("text", ["8.8.8.8", "127.0.0.1", "10.1.2.3", "169.254.169.254", "100.100.100.200"])
@given(form=st.integers(0, 7), hexadecimal=st.lists(st.sampled_from("dxoX"), min_size=4, max_size=4))
def test_another_spelling_of_an_address_is_no_weaker(text: str, form: int, hexadecimal: list[str]) -> None:
    plain = host_fact(f"http://{text}/")
    octets = [int(part) for part in text.split(".")]
    count = form % 4 + 1
    numbers = [*octets[: count - 1], int.from_bytes(bytes(octets[count - 1 :]), "big")]
    ways = {"d": str, "x": hex, "X": lambda number: hex(number).upper(), "o": lambda number: f"0{number:o}"}
    odd = ".".join(ways[way](number) for way, number in zip(hexadecimal, numbers, strict=False))
    if form > 3:
        odd = "".join(f"%{ord(character):02x}" for character in odd)
    fact = host_fact(f"http://{odd}/")
    assert plain is not None
    assert fact is None or (fact.host, fact.ip_class) == (plain.host, plain.ip_class)
    if plain.ip_class is not IpClass.PUBLIC:
        assert fact is not None


_CARRIED = st.sampled_from(["{}.nip.io", "www.{}.sslip.io", "x-{}.nip.io", "{}.a.b.sslip.io", "08080808.{}.rbndr.us"])


@given(address=st.ip_addresses(v=4), around=_CARRIED, form=st.sampled_from([".", "-", "hex"]))
def test_a_name_that_carries_an_address_is_never_more_trusted_than_it(address: object, around: str, form: str) -> None:
    parsed = IPv4Address(str(address))
    written = f"{int(parsed):08x}" if form == "hex" else str(parsed).replace(".", form)
    fact = host_fact(f"http://{around.format(written)}/")
    assert fact is not None
    kind = ip_class(parsed)
    assert fact.ip_class is not IpClass.LOOPBACK
    if kind in (IpClass.METADATA, IpClass.LINK_LOCAL):
        assert fact.ip_class is kind
    elif kind is not IpClass.PUBLIC:
        assert fact.ip_class is not IpClass.NAME


@given(st.ip_addresses())
def test_public_means_global(address: object) -> None:
    parsed = ip_address(str(address))
    if ip_class(parsed) is IpClass.PUBLIC:
        carried = getattr(parsed, "ipv4_mapped", None)
        assert (carried or parsed).is_global or str(parsed).startswith(("2001:", "2002:", "64:ff9b"))
    if parsed.is_loopback:
        assert ip_class(parsed) is IpClass.LOOPBACK
