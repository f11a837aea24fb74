"""The host of a URL as programs see it: Node's URL, Python's urllib and curl against ours, on generated odd spellings.

The promise: where a host is known, every reader that takes the text at all goes to that host and port.
"""

import json
import random
import shutil
import socket
import subprocess
import threading
from ipaddress import IPv6Address
from urllib.parse import urlsplit

import pytest

from scale import scale, seed
from shield.facts.hosts import DEFAULT_PORTS, host_fact

_SCHEMES = ["http://", "https://", "HTTP://", "http:/", "http:", "http:///", "http:\\\\", "ws://", "ftp://", "hTTp://"]
_USER_TEXT = "|u@|u:p@|u@v@|u%40@|a.example:80@|u\\@|u/@|u#@|u?@|:@|@|a:b:c@|%2f@|u;v@|[@|u @|a.example#@|a.example%23@"
_USERS = _USER_TEXT.split("|")
_HOST_TEXT = """
a.example 127.0.0.1 0x7f.1 [::1] localhost 169.254.169.254 2130706433 0177.1 b%41.example %31.1.1.1 ex_a.mple
-a.example a-.example a..b 1.2.3 [::ffff:1.2.3.4] [fe80::1%25e] ｅ.example ß.de xn--bcher-kva.example xn--a 1e2 1_1 0x 09
a.0x7 a.1 a%2e.b a.b. a,b a;b a!b a~b a*b a$b a'b a(b) {a} a|b a^b a`b a"b a<b> a+b a=b a&b 0x7f000001. 1.2.3.4. ①.example
xn-- xn--0 a\u00adb.example a。b ﬀ.example \u212a.example İ.example xn--fa-hia.de XN--A.example 0X7F.1 00000000177.1
[::1]] [1.2.3.4] [::127.0.0.1] [v1.a] 0.0.0.0x100000000 4294967296 1.16777216 1.2.65536 пример.example аpple.com
bücher.example 008.8.8.8 8.8.8.8 0x8.0x8.0x8.0x8 134744072 8.8.2056 a%00b a%0ab a%5cb a%e3%80%82b ☃.example
"""
_HOSTS = _HOST_TEXT.split()
_PORTS = ["", ":80", ":", ":0", ":00080", ":65535", ":65536", ":8x", ":-1", ":+80", ":８", ":8_0", ":0x50", ":8080"]
_TAILS = [
    "",
    "/",
    "/x",
    "?q",
    "#f",
    "\\x",
    "\\@e.example",
    "/@e.example",
    "?@e.example",
    "#@e.example",
    "/..//e",
    "%2f",
]
_STRANGE = [*"\t\n\r /\\@#?%[]:.\x00\x0b\u200b\u2028é\u3002\uff0f"]
_NODE = """
require('readline').createInterface({input: process.stdin}).on('line', line => {
  let found = null;
  try { const url = new URL(JSON.parse(line)); found = [url.protocol, url.hostname, url.port]; } catch (error) {}
  console.log(JSON.stringify(found));
});
"""


def spelled(random_: random.Random) -> str:
    plain = random_.random() < 0.5
    text = (
        random_.choice(_SCHEMES[:3] if plain else _SCHEMES)
        + (random_.choice(_USERS) if random_.random() < 0.4 else "")
        + random_.choice(_HOSTS)
        + (random_.choice(_PORTS) if random_.random() < 0.4 else "")
        + random_.choice(_TAILS)
    )
    if random_.random() < 0.15:
        at = random_.randrange(len(text) + 1)
        text = text[:at] + random_.choice(_STRANGE) + text[at:]
    return text


def known(texts):
    facts = [(text, host_fact(text)) for text in texts]
    return [(text, fact) for text, fact in facts if fact is not None and fact.scheme]


def plain(host):
    """A host as the socket layer takes it: brackets, dots at the end and numbers undone."""
    host = host.strip("[]").lower().removesuffix(".")
    try:
        address = IPv6Address(host.partition("%")[0])
    except ValueError:
        pass
    else:
        return str(address.ipv4_mapped or address)
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host


def texts_of(name):
    random_ = random.Random(f"{seed()} {name}")
    return [spelled(random_) for _ in range(scale("host_readers"))]


def test_node_goes_where_we_say():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    facts = known(texts_of("node"))
    done = subprocess.run(
        [node, "-e", _NODE],
        input="".join(json.dumps(text) + "\n" for text, _ in facts),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(facts) > 50
    taken = 0
    for (text, fact), answer in zip(facts, answers, strict=True):
        if answer is None:
            continue
        taken += 1
        scheme, host, port = answer
        assert plain(host) == fact.host, text
        assert (int(port) if port else DEFAULT_PORTS.get(scheme.removesuffix(":"))) == fact.port, text
    assert taken > len(facts) // 2


def test_urllib_goes_where_we_say():
    facts = known(texts_of("urllib"))
    taken = 0
    for text, fact in facts:
        try:
            parts = urlsplit(text)
            host = (parts.hostname or "").removesuffix(".")
            # what `http.client` and `socket` make of it
            asked = host if ":" in host else host.encode("idna").decode()
            port = parts.port
        except ValueError:
            continue
        if fact.ip_class.value not in ("name", "public"):
            # nobody is led elsewhere by what is no leave, and percent signs go to the name service as they are
            continue
        taken += 1
        assert plain(asked) == fact.host, text
        assert (port or DEFAULT_PORTS.get(fact.scheme)) == fact.port, text
    assert taken > 20


class Proxy(threading.Thread):
    """An HTTP proxy that notes what it is asked for, by the `X-Number` of the request, and fetches nothing."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.asked = {}

    def run(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            with stream:
                data = b""
                while b"\r\n\r\n" not in data and (piece := stream.recv(65536)):
                    data += piece
                lines = data.decode("utf-8", "replace").split("\r\n")
                number = next((line.split(":")[1] for line in lines if line.lower().startswith("x-number:")), None)
                if number is not None:
                    self.asked[int(number)] = lines[0]
                stream.sendall(b"HTTP/1.1 502 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def test_curl_goes_where_we_say(tmp_path):
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    facts = [(text, fact) for text, fact in known(texts_of("curl")) if fact.scheme in ("http", "https")]
    facts = facts[: scale("host_readers") // 20]
    proxy = Proxy()
    proxy.start()
    blocks = []
    for number, (text, _) in enumerate(facts):
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        blocks.append(
            f'url = "{quoted}"\nproxy = "http://127.0.0.1:{proxy.port}"\nnoproxy = ""\nheader = "X-Number: {number}"\n'
            f'proxy-header = "X-Number: {number}"\ngloboff\nsilent\nmax-time = 5\noutput = "{tmp_path}/out"\n'
        )
    config = tmp_path / "curlrc"
    config.write_text("next\n".join(blocks), encoding="utf-8")
    subprocess.run(
        [curl, "-q", "-K", str(config)],
        capture_output=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
    )
    proxy.listener.close()
    assert len(proxy.asked) > len(facts) // 3
    for number, line in proxy.asked.items():
        text, fact = facts[number]
        target = line.split(" ")[1]
        authority = target if line.startswith("CONNECT") else target.partition("://")[2]
        authority = authority.partition("/")[0].partition("?")[0].rpartition("@")[2]
        host, colon, port = authority.rpartition(":")
        if not colon or not port.isdigit():
            host, port = authority, ""
        assert plain(host) == fact.host, (text, line)
        assert int(port or DEFAULT_PORTS.get(fact.scheme)) == fact.port, (text, line)
