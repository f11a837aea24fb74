"""ClientHellos: the permitted host and no other, in the clear, once."""

import asyncio
import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.sandbox.proxy_hello import HelloError, check_hello, read_hello, read_second_hello, wants_second_hello
from proxied import hello

GOOD = hello("a.example")


def message(records):
    """The handshake message of a hello in one record."""
    assert records[0] == 22
    assert int.from_bytes(records[3:5], "big") == len(records) - 5
    return records[5:]


def record(piece, kind=22, version=b"\x03\x01"):
    return bytes([kind]) + version + len(piece).to_bytes(2, "big") + piece


def cut(whole, *sizes):
    """The message over several records."""
    pieces, at = [], 0
    for size in (*sizes, len(whole)):
        pieces.append(record(whole[at : at + size]))
        at += size
        if at >= len(whole):
            break
    return b"".join(pieces)


def extension(kind, content):
    return kind.to_bytes(2, "big") + len(content).to_bytes(2, "big") + content


def server_name(*names, kind=0):
    entries = b"".join(bytes([kind]) + len(name).to_bytes(2, "big") + name for name in names)
    return extension(0, len(entries).to_bytes(2, "big") + entries)


def made(*extensions, tail=b""):
    """A hello of just these extensions."""
    block = b"".join(extensions)
    body = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\x13\x01" + b"\x01\x00"
    body += len(block).to_bytes(2, "big") + block + tail
    return b"\x01" + len(body).to_bytes(3, "big") + body


def read(data, host="a.example", *, end=True):
    async def reading():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        if end:
            reader.feed_eof()
        got = await read_hello(reader, host)
        return got, await reader.read()

    return asyncio.run(reading())


def test_real_hellos_are_read_and_passed_on_as_they_came():
    assert read(GOOD) == (GOOD, b"")
    assert read(GOOD + b"more") == (GOOD, b"more")
    old = ssl.create_default_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert read(hello("a.example", context=old))[0]
    assert read(hello("A.Example"))[0]


@pytest.mark.parametrize("sizes", [(1,), (3, 1), (4, 10), (1,) * 40, (100, 100)])
def test_a_hello_in_pieces_is_read_as_one(sizes):
    data = cut(message(GOOD), *sizes)
    assert read(data) == (data, b"")
    with pytest.raises(HelloError, match=r"names `b\.example`"):
        read(cut(message(hello("b.example")), *sizes))


@pytest.mark.parametrize("name", ["b.example", "a.example.evil", "evil.a.example", "xn--a.example", "a-example", None])
def test_another_name_or_none_is_refused(name):
    with pytest.raises(HelloError, match="names"):
        read(hello(name))


def test_an_address_is_named_by_itself_or_not_at_all():
    assert read(hello(None), "93.184.216.34")[0]
    assert read(hello(None), "2606:2800:220:1::1")[0]
    assert read(record(made(server_name(b"93.184.216.34"))), "93.184.216.34")[0]
    with pytest.raises(HelloError):
        read(hello("b.example"), "93.184.216.34")


@pytest.mark.parametrize(
    "hello_message",
    [
        made(server_name(b"a.example"), server_name(b"a.example")),
        made(server_name(b"a.example"), server_name(b"b.example")),
        made(server_name(b"a.example", b"b.example")),
        made(server_name(b"a.example", b"a.example")),
        made(server_name(b"a.example", kind=1)),
        made(server_name()),
        made(extension(0, b"")),
        made(extension(0, b"\x00\x0c\x00\x00\x09a.exampleX")),
        made(server_name(b"a.example\x00.b.example")),
        made(server_name(b"a.example\x00")),
        made(server_name(b"a.example "), tail=b""),
        made(server_name("ä.example".encode())),
        made(server_name(b"a.example"), tail=b"x"),
        made(server_name(b"a.example"), extension(0xFE0D, b"\x00" * 40)),
        made(server_name(b"a.example"), extension(0xFFCE, b"\x00" * 40)),
        made(server_name(b"a.example"))[:-1],
        made(server_name(b"a.example")) + b"x",
        b"\x01\x00\x00\x00",
        b"\x02" + made(server_name(b"a.example"))[1:],
        b"\x01\xff\xff\xff" + bytes(70_000),
    ],
)
def test_broken_twins(hello_message):
    assert read(record(made(server_name(b"a.example"))))
    with pytest.raises((HelloError, asyncio.IncompleteReadError)):
        read(b"".join(record(hello_message[at : at + 16_000]) for at in range(0, len(hello_message), 16_000)))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x80\x2e\x01\x00\x02" + bytes(44),  # the hello of SSL 2
        record(message(GOOD), kind=23),
        record(message(GOOD), version=b"\x02\x00"),
        record(b"") + GOOD,
        b"\x16\x03\x01\xff\xff" + bytes(70_000),
        record(b"\x01\x00\x00") + record(b"\x00" + message(GOOD)[4:]),
        record(message(GOOD) + message(hello("b.example"))),
    ],
)
def test_what_is_no_hello_is_refused(data):
    with pytest.raises((HelloError, asyncio.IncompleteReadError)):
        read(data)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_hello_is_refused_or_still_names_the_host(data):
    """One that passes must hold the name, and no other extension of names: the server cannot read another one."""
    whole = bytearray(message(GOOD))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        check_hello(bytes(whole), "a.example")
    except HelloError:
        return
    assert bytes(whole).lower().count(b"a.example") == 1


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_an_answer(data):
    with pytest.raises((HelloError, asyncio.IncompleteReadError)):
        read(data)


def test_a_retry_is_known_by_its_random():
    retry = record(b"\x02\x00\x00\x50\x03\x03" + bytes.fromhex(
        "CF21AD74E59A6111BE1D8C021E65B891C2A211167ABB8C5E079E09E2C8A8339C") + bytes(40))  # fmt: skip
    assert wants_second_hello(retry)
    assert not wants_second_hello(record(b"\x02\x00\x00\x50\x03\x03" + bytes(72)))
    assert not wants_second_hello(b"\x15" + retry[1:])
    assert not wants_second_hello(b"")


def second(data, host="a.example"):
    async def reading():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return [piece async for piece in read_second_hello(reader, host)]

    return asyncio.run(reading())


def test_before_the_second_hello_stand_a_change_of_cipher_and_early_data():
    before = [record(b"\x01", kind=20, version=b"\x03\x03"), record(bytes(50), kind=23, version=b"\x03\x03")]
    assert second(b"".join(before) + GOOD) == [*before, GOOD]
    with pytest.raises(HelloError, match=r"names `b\.example`"):
        second(b"".join(before) + hello("b.example"))
    with pytest.raises(HelloError):
        second(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(asyncio.IncompleteReadError):
        second(b"".join(before))
