"""The network of a confined command: the hosts of its receipt by agentctl's proxy, and nothing else whatever it tries.

By each means that holds here, as the user who runs the tests and, where that is root, as an unprivileged one, too.
"""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import threading
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import shield
from agentctl.config import load
from agentctl.errors import CancelledTurnError
from agentctl.execute import ShieldGate
from agentctl.program import import_path
from agentctl.sandbox import Means, Offer, Places, Sandbox, kernel, with_session
from agentctl.sandbox.confinement import choose
from agentctl.sandbox.landlock import LEAST_ABI
from agentctl.sidecar import find
from agentctl.tools.child import Child
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant, canonical_action
from guarded import ground, proposal
from proxied import Town, certificates, fact, site
from shield import canonical
from shield.client import AsyncClient
from shield.permits import PermitKey, Receipt
from shield.types import PROXY_PORT, Decision, Isolation, OutcomeStatus, confined_env

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
PYTHON = os.path.realpath(sys.executable)
NETWORKS = ("bubblewrap", "landlock")  # in a network namespace of the call's own
MEANS = (*NETWORKS, "landlock-only")  # without one: no network at all


@dataclass
class Box:
    """A sandbox with its workspace; `town` is what the proxy finds outside."""

    workspace: str
    sandbox: Sandbox
    town: Town
    key: PermitKey

    def run(self, command, *hosts, level=Isolation.CONFINED, env=None, timeout_s=30.0, stop=None):
        """The output of a shell command that may reach `hosts`."""
        action = canonical_action("execute_command", {"command": command}, self.workspace)
        receipt = Receipt(
            jti="01K",
            act=canonical.digest(action),
            state="sha256:",
            nonce="n",
            seq=1,
            exp=int(time.time()) + 60,
            files=(),
            shell="/bin/bash",
            env={},
            allow_hosts=hosts,
        )
        warrant = Warrant(
            self.key.sign_receipt(receipt),
            public_key=self.key.public,
            action=action,
            jti="01K",
            nonce="n",
            now_s=time.time(),
        )
        cwd = os.open(self.workspace, os.O_RDONLY | os.O_DIRECTORY)
        try:
            child = Child(
                argv=["/bin/bash", "--noprofile", "--norc", "-c", command],
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": self.sandbox.places.home,
                    **confined_env(os.geteuid()),
                    **(env or {}),
                },
                cwd=cwd,
                timeout_s=timeout_s,
            )
            return self.sandbox.run(warrant, child, stop or Stop(), level=level, hosts=warrant.receipt.allow_hosts)
        finally:
            os.close(cwd)

    def python(self, code, *hosts, **options):
        """The same with a Python program."""
        Path(self.workspace, "program.py").write_text(code)
        return self.run(f"{PYTHON} -I program.py", *hosts, **options)


def text(output):
    return "".join(part.text for part in output.parts)


@contextlib.contextmanager
def boxed(means, town):
    with tempfile.TemporaryDirectory(prefix="sh", ignore_cleanup_errors=True) as folder:
        folder = os.path.realpath(folder)
        for name in ("ws", "home", "scratch", "shield"):
            os.mkdir(os.path.join(folder, name), 0o700)
        places = Places(
            shield_home=f"{folder}/shield",
            workspace_roots=(f"{folder}/ws",),
            home=f"{folder}/home",
            scratch=f"{folder}/scratch",
        )
        with Sandbox(places, offered(means), outside=town) as sandbox:
            yield Box(f"{folder}/ws", sandbox, town, PermitKey())


def offered(means):
    """What `probe` would offer, or a skip: what it needs is tried without our own code."""
    program = shutil.which("bwrap") or ""
    if means == "bubblewrap" and not program:
        pytest.skip("bubblewrap is not installed")
    if means != "bubblewrap" and kernel.landlock_abi() < LEAST_ABI:
        pytest.skip("the kernel has no Landlock that scopes signals")
    kind = "--user" if os.geteuid() else "--mount"
    if means in NETWORKS and subprocess.run(["unshare", kind, "--net", "true"], capture_output=True).returncode:
        pytest.skip("no network namespace can be made here")
    kind = Means.BUBBLEWRAP if means == "bubblewrap" else Means.LANDLOCK
    return Offer(
        levels=tuple(Isolation),
        means=kind,
        program=program,
        userns=os.geteuid() != 0,
        scopes=True,
        networks=means in NETWORKS,
    )


@pytest.fixture(params=NETWORKS)
def box(request):
    with boxed(request.param, Town({})) as made:
        yield made


@pytest.fixture(params=MEANS)
def any_box(request):
    with boxed(request.param, Town({})) as made:
        yield made


PLAIN = fact("a.example", scheme="http")


# --- what may be reached ---------------------------------------------------------------------------------------------


def test_a_permitted_host_is_reached_and_no_other(box):
    with site() as server:
        box.town.ports = {80: server.server_port, 443: server.server_port}
        output = box.run("curl -sS http://a.example/x; curl -sS http://b.example/; curl -sS https://a.example/", PLAIN)
    assert text(output).startswith("hello ")
    assert "may not reach `b.example:80`" in text(output)
    assert output.note == "network refused: b.example:80; a.example:443; exit code 56"
    assert [(method, path) for method, path, _, _ in server.seen] == [("GET", "/x")]
    assert box.town.asked == ["a.example"]


def test_without_hosts_nothing_is_reached(any_box):
    output = any_box.run("curl -sS -m 5 http://a.example/; curl -sS -m 5 --noproxy '*' http://a.example/")
    assert output.status is OutcomeStatus.ERROR
    assert "hello" not in text(output)
    assert any_box.town.asked == []
    assert "network refused: a.example:80" in output.note or not any_box.sandbox.offer.networks


def test_where_a_call_cannot_have_a_network_it_is_said():
    with boxed("landlock-only", Town({})) as box:
        output = box.run("curl -sS -m 5 http://a.example/", PLAIN)
    assert "no network" in output.note
    assert box.town.asked == []


def test_a_redirect_leads_to_permitted_hosts_only(box):
    def elsewhere(request):
        request.wfile.write(b"HTTP/1.1 302 Found\r\nLocation: http://b.example/\r\nContent-Length: 0\r\n\r\n")

    with site(elsewhere) as server:
        box.town.ports = {80: server.server_port}
        output = box.run("curl -sS -L http://a.example/", PLAIN)
    assert "may not reach `b.example:80`" in text(output)
    assert len(server.seen) == 1


def test_each_call_has_a_way_out_of_its_own(box):
    """Two at once on the same port: neither uses what the other may."""
    with site() as server:
        box.town.ports = {80: server.server_port}
        go = Path(box.workspace, "go")
        outputs = {}

        def call(name, *hosts):
            outputs[name] = box.run(
                "touch ready." + name + "; until [ -e go ]; do sleep 0.02; done; curl -sS http://a.example/", *hosts
            )

        calls = [
            threading.Thread(target=call, args=("first", PLAIN)),
            threading.Thread(target=call, args=("second", fact("b.example", scheme="http"))),
        ]
        for thread in calls:
            thread.start()
        until(lambda: all(Path(box.workspace, f"ready.{name}").exists() for name in ("first", "second")))
        # nobody outside has it
        outside = socket.socket()
        with outside:
            refused = outside.connect_ex(("127.0.0.1", PROXY_PORT)) != 0
        go.touch()
        for thread in calls:
            thread.join(60)
    assert text(outputs["first"]) == "hello "
    assert "may not reach `a.example:80`" in text(outputs["second"])
    assert outputs["second"].note.startswith("network refused: a.example:80; ")
    assert refused, f"something listens on {PROXY_PORT} here"


# --- what it tries ---------------------------------------------------------------------------------------------------

# every attempt in a process of its own, which sends its own name
PROGRAM = """
import ctypes, fcntl, json, os, socket, struct, sys
given = json.load(open("given.json"))
socket.setdefaulttimeout(3)
def reached(why=""):
    print("REACHED", why)
def stream(address, family=socket.AF_INET, data=None):
    s = socket.socket(family, socket.SOCK_STREAM); s.connect(address); s.sendall(data or me); reached(s.recv(100))
def datagram(address, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM); s.sendto(me, address); reached("sent")
results = {}
for name, body in given["attempts"].items():
    ours, theirs = os.pipe()
    if os.fork() == 0:
        os.dup2(theirs, 1)
        me = name.encode()
        try:
            exec(body)
        except BaseException as error:
            print("failed:", type(error).__name__, error)
        sys.stdout.flush()
        os._exit(0)
    os.close(theirs)
    results[name] = os.fdopen(ours).read()
    os.wait()
print(json.dumps(results))
"""

ATTEMPTS = {
    "tcp to the loopback of the machine": 'stream(("127.0.0.1", given["tcp"]))',
    "tcp to another loopback address": 'stream(("127.0.0.2", given["tcp"]))',
    "tcp to 0.0.0.0": 'stream(("0.0.0.0", given["tcp"]))',
    "tcp to the address of the machine": 'stream((given["address"], given["tcp"]))',
    "tcp over ipv6": 'stream(("::1", given["tcp"]), socket.AF_INET6)',
    "tcp over a mapped address": 'stream(("::ffff:127.0.0.1", given["tcp"]), socket.AF_INET6)',
    "tcp to the proxy's port elsewhere": 'stream(("127.0.0.2", 8118))',
    "tcp fast open": (
        "s = socket.socket(); s.sendto(me, 0x20000000, ('127.0.0.1', given['tcp'])); reached(s.recv(100))"
    ),
    "mptcp": 's = socket.socket(2, 1, 262); s.connect(("127.0.0.1", given["tcp"])); reached()',
    "sctp": 's = socket.socket(2, 1, 132); s.connect(("127.0.0.1", given["tcp"])); reached()',
    "udp to the loopback of the machine": 'datagram(("127.0.0.1", given["udp"]))',
    "udp to the address of the machine": 'datagram((given["address"], given["udp"]))',
    "udp over ipv6": 'datagram(("::1", given["udp"]), socket.AF_INET6)',
    "udp broadcast": (
        's = socket.socket(2, 2); s.setsockopt(1, socket.SO_BROADCAST, 1); s.sendto(b"x", ("255.255.255.255", 9)); '
        "reached()"
    ),
    "a name by the name service": 'reached(socket.getaddrinfo("secret.a.example", 80))',
    "a permitted name by the name service": 'reached(socket.getaddrinfo("a.example", 80))',
    "dns to a server": 'datagram(("1.1.1.1", 53))',
    "tcp to the internet": 'stream(("1.1.1.1", 443))',
    "ipv6 to the internet": 'stream(("2606:4700:4700::1111", 443), socket.AF_INET6)',
    "an abstract socket": r'stream("\0" + given["abstract"], socket.AF_UNIX)',
    "a raw socket": "socket.socket(2, socket.SOCK_RAW, 1).sendto(b'x' * 8, ('1.1.1.1', 0)); reached()",
    "icmp": "socket.socket(2, socket.SOCK_DGRAM, 1).sendto(b'\\x08' + b'\\0' * 7, ('1.1.1.1', 0)); reached()",
    "a packet socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3); reached()",
    "vsock": "socket.socket(40, 1).connect((2, 22)); reached()",
    "the network namespace of the machine": (
        "libc = ctypes.CDLL(None, use_errno=True); fd = os.open('/proc/%d/ns/net' % given['pid'], os.O_RDONLY)\n"
        "    assert libc.setns(fd, 0x40000000) == 0, ctypes.get_errno()\nstream(('127.0.0.1', given['tcp']))"
    ),
    "the network namespace of init": (
        "libc = ctypes.CDLL(None, use_errno=True); fd = os.open('/proc/1/ns/net', os.O_RDONLY)\n"
        "    assert libc.setns(fd, 0x40000000) == 0, ctypes.get_errno()\nstream(('127.0.0.1', given['tcp']))"
    ),
    "the machine's loopback by the proxy": (
        "stream(('127.0.0.1', 8118), data=b'GET http://127.0.0.1:%d/ HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n' "
        "% (given['tcp'], given['tcp']))"
    ),
    "another interface": ("s = socket.socket(); fcntl.ioctl(s, 0x8914, struct.pack('16sh', b'eth0', 1)); reached()"),
}
# what would be reached if nothing stood in the way, which the same program shows at `state_hidden`
REACHABLE = {name for name in ATTEMPTS if "127.0.0.1" in ATTEMPTS[name] and "given['tcp']" in ATTEMPTS[name] and (
    "setns" not in ATTEMPTS[name])} | {"tcp to the loopback of the machine", "tcp to another loopback address",
    "tcp over ipv6", "udp to the loopback of the machine", "udp over ipv6"}  # fmt: skip
REACHABLE -= {"sctp", "mptcp", "tcp fast open", "the machine's loopback by the proxy"}

OWN = {"udp to the loopback of the machine", "udp over ipv6"}


class Listeners:
    """On every address of this machine: what came to them."""

    def __init__(self, stack):
        self.got = []
        self.abstract = "shield-test-" + secrets.token_hex(8)
        self.tcp = stack.enter_context(socket.socket(socket.AF_INET6))
        self.tcp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.tcp.bind(("::", 0))
        self.udp = stack.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
        self.udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.udp.bind(("::", 0))
        self.unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        self.unix.bind("\0" + self.abstract)
        for server in (self.tcp, self.unix):
            server.listen()
            threading.Thread(target=self._accept, args=(server,), daemon=True).start()
            stack.callback(server.shutdown, socket.SHUT_RDWR)
        self.udp.settimeout(0)

    def _accept(self, server):
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError):
                self.got.append(peer.recv(100))
                peer.sendall(b"welcome")

    def all(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.got.append(self.udp.recv(100))
        return list(self.got)


@pytest.fixture(scope="module")
def listeners():
    with contextlib.ExitStack() as stack:
        try:
            yield Listeners(stack)
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")


def address_of_this_machine():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.3"
        return probe.getsockname()[0]


def attempted(box, names, listeners, level):
    """What each attempt printed."""
    given = {
        "attempts": {name: ATTEMPTS[name] for name in names},
        "tcp": listeners.tcp.getsockname()[1],
        "udp": listeners.udp.getsockname()[1],
        "abstract": listeners.abstract,
        "address": address_of_this_machine(),
        "pid": os.getpid(),
    }
    Path(box.workspace, "given.json").write_text(json.dumps(given))
    output = box.python(PROGRAM, PLAIN, level=level, timeout_s=120)
    return json.loads(text(output))


@dataclass
class Tried:
    """What the attempts printed where the network is closed, and, those that can, where it is open."""

    closed: dict[str, str]
    open: dict[str, str]
    arrived: list[bytes]
    town: Town


@pytest.fixture(scope="module", params=MEANS)
def tried(request, listeners):
    before = len(listeners.all())
    with boxed(request.param, Town({})) as box:
        closed = attempted(box, ATTEMPTS, listeners, Isolation.CONFINED)
        arrived = listeners.all()[before:]
        return Tried(closed, attempted(box, REACHABLE, listeners, Isolation.STATE_HIDDEN), arrived, box.town)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_reaches_nothing(tried, name):
    said = tried.closed[name]
    # a datagram to its own loopback, and the proxy's refusal, are all that it gets
    assert said.startswith(("failed:", "REACHED b'HTTP/1.1 403")) or (name in OWN and said == "REACHED sent\n")
    assert name.encode() not in tried.arrived


def test_the_attempts_leave_no_trace_outside(tried):
    assert tried.arrived == []
    assert tried.town.connected == []
    assert tried.town.asked == []


@pytest.mark.parametrize("name", sorted(REACHABLE))
def test_the_same_attempt_reaches_it_where_the_network_is_open(tried, name):
    """The broken twin: the attempts are real ones."""
    assert tried.open[name].startswith("REACHED"), tried.open[name]


def test_a_command_has_a_loopback_of_its_own(box):
    output = box.python("""
import socket, threading
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.9")):
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    client = socket.create_connection(server.getsockname()[:2], timeout=5)
    peer, _ = server.accept(); peer.sendall(b"inside"); print(client.recv(6).decode(), address)
one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "ab")
one.bind(("127.0.0.1", 0)); two.sendto(b"datagram", one.getsockname()); print(one.recv(10).decode())
import http.server, urllib.request
site = http.server.HTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=site.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d/program.py" % site.server_port, timeout=5).status)
""", PLAIN)  # fmt: skip
    assert "inside 127.0.0.1\ninside ::1\ninside 127.0.0.9\ndatagram\n200\n" in text(output)
    assert "network refused" not in output.note


def test_the_proxys_place_cannot_be_taken(box):
    """A command that listens on its port, or closes every descriptor that it has, harms only itself."""
    with site() as server:
        box.town.ports = {80: server.server_port}
        output = box.python("""
import os, socket, urllib.request
for address in ("127.0.0.1", "0.0.0.0"):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try: s.bind((address, 8118)); s.listen(); print("taken")
    except OSError as error: print(error.strerror)
print(sorted(int(name) for name in os.listdir("/proc/self/fd"))[:4])
os.closerange(3, 4096)
print(urllib.request.urlopen("http://a.example/", timeout=10).read())
""", PLAIN)  # fmt: skip
    assert text(output).count("Address already in use") == 2
    assert "[0, 1, 2, 3]" in text(output)  # 3 is the directory that is being listed
    assert "b'hello '" in text(output)


def test_a_flood_of_connections_ends_with_the_call(box):
    with site() as server:
        box.town.ports = {80: server.server_port}
        output = box.python("""
import socket, urllib.request
held = []
for _ in range(150):
    s = socket.socket(); s.settimeout(1)
    try: s.connect(("127.0.0.1", 8118)); s.sendall(b"CONNECT a.")
    except OSError: break
    held.append(s)
print("held" if len(held) >= 64 else "few")
for s in held: s.close()
print(urllib.request.urlopen("http://a.example/", timeout=20).read())
""", PLAIN)  # fmt: skip
        assert "held" in text(output)
        assert "b'hello '" in text(output)
    assert not ours()


# --- its end ---------------------------------------------------------------------------------------------------------


def until(holds):
    limit = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


def ours():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sandbox-proxy")]


@pytest.mark.parametrize("how", ["stopped", "left behind"])
def test_a_call_that_ends_takes_its_connections_with_it(box, how):
    """Stopped by the user, or over while a process that it left in a session of its own still waits for an answer."""
    gone = threading.Event()
    arrived = Path(box.workspace, "arrived")

    def slowly(request):
        arrived.touch()
        request.connection.settimeout(60)
        with contextlib.suppress(OSError):
            if not request.connection.recv(1):
                gone.set()

    with site(slowly) as server:
        box.town.ports = {80: server.server_port}
        if how == "stopped":
            stop = Stop()
            threading.Thread(target=lambda: (until(arrived.exists), stop.set())).start()
            with pytest.raises(CancelledTurnError):
                box.run("curl -sS http://a.example/", PLAIN, stop=stop)
        else:
            output = box.run(
                "setsid curl -sS http://a.example/ & until [ -e arrived ]; do sleep 0.02; done; echo over", PLAIN
            )
            assert text(output) == "over\n"
        assert not ours()
        assert gone.wait(30)


# --- installs from lock files ----------------------------------------------------------------------------------------


def wheel():
    data = io.BytesIO()
    info = "tinypkg-1.0.dist-info"
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tinypkg.py", "VALUE = 7\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return data.getvalue()


def tarball():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in (
            ("package/package.json", b'{"name":"tinypkg","version":"1.0.0","main":"index.js"}'),
            ("package/index.js", b"module.exports = 7\n"),
        ):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


@contextlib.contextmanager
def index(box, wheel_bytes=b"", tarball_bytes=b"", name="ca.pem"):
    """A package index and a registry under their real names, with the certificate in the workspace."""
    digest = hashlib.sha256(wheel_bytes).hexdigest()
    file = "tinypkg-1.0-py3-none-any.whl"
    listing = f'<!DOCTYPE html><a href="https://files.pythonhosted.org/p/{file}#sha256={digest}">{file}</a>'.encode()

    def answer(request):
        return {"pypi.org": listing, "files.pythonhosted.org": wheel_bytes, "registry.npmjs.org": tarball_bytes}[
            request.headers["host"]
        ]

    with certificates("pypi.org", "files.pythonhosted.org", "registry.npmjs.org") as papers:
        shutil.copy(papers.file, Path(box.workspace, name))
        with site(answer, tls=papers.server()) as server:
            box.town.ports = {443: server.server_port}
            yield server


def lock_file(workspace, package):
    """A project whose one dependency is locked."""
    described = {"name": "x", "version": "1.0.0", "dependencies": {"tinypkg": "1.0.0"}}
    locked = {
        "version": "1.0.0",
        "resolved": "https://registry.npmjs.org/tinypkg/-/tinypkg-1.0.0.tgz",
        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode(),
    }
    packages = {"": described, "node_modules/tinypkg": locked}
    (workspace / "package.json").write_text(json.dumps(described))
    (workspace / "package-lock.json").write_text(
        json.dumps(described | {"lockfileVersion": 3, "requires": True, "packages": packages})
    )


def requirement(package):
    return f"tinypkg==1.0 --hash=sha256:{hashlib.sha256(package).hexdigest()}\n"


def pip():
    if subprocess.run([PYTHON, "-I", "-m", "pip", "--version"], capture_output=True, timeout=60).returncode:
        pytest.skip("this Python has no pip")
    return f"{PYTHON} -I -m pip --disable-pip-version-check --no-cache-dir"


def test_pip_installs_what_its_hashes_name(box):
    program, good = pip(), wheel()
    Path(box.workspace, "requirements.txt").write_text(requirement(good))
    command = f"{program} install --cert ca.pem --target out --require-hashes -r requirements.txt"
    hosts = (fact("pypi.org"), fact("files.pythonhosted.org"))
    with index(box, good) as server:
        output = box.run(command, *hosts, timeout_s=60)
        assert output.exit_code == 0, text(output)
        assert Path(box.workspace, "out", "tinypkg.py").read_text() == "VALUE = 7\n"
        assert [path for _, path, _, _ in server.seen] == ["/simple/tinypkg/", "/p/tinypkg-1.0-py3-none-any.whl"]
        # the same where the receipt names the index but not where the files are
        output = box.run(command.replace("out", "other"), hosts[0], timeout_s=60, env={"PIP_RETRIES": "0"})
        assert output.exit_code != 0
        assert "network refused: files.pythonhosted.org:443" in output.note
        assert not Path(box.workspace, "other", "tinypkg.py").exists()


def test_npm_installs_what_its_lock_names(box):
    npm = shutil.which("npm", path="/usr/bin:/bin:/usr/local/bin")
    if npm is None:
        pytest.skip("npm is not installed")
    package = tarball()
    lock_file(Path(box.workspace), package)
    with index(box, tarball_bytes=package) as server:
        # where nothing can stand for ~/.npm (Landlock) it must be named
        command = f"{npm} ci --no-audit --no-fund --cafile ca.pem --cache ./.npm-cache"
        output = box.run(command, fact("registry.npmjs.org"), timeout_s=90)
        assert output.exit_code == 0, text(output)
        assert "/tinypkg/-/tinypkg-1.0.0.tgz" in [path for _, path, _, _ in server.seen]
        assert Path(box.workspace, "node_modules", "tinypkg", "index.js").read_text() == "module.exports = 7\n"
        assert json.loads(text(box.run("node -p \"JSON.stringify(require('tinypkg'))\""))) == 7


# --- through the whole path ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def served(place, **env):
    """A Shield of its own process, found as agentctl finds one. The owner lets these variables through to tools."""
    names = ", ".join(f'"{name}"' for name in env)
    place.configure(f"[approvals]\ntimeout_s = 5\n[exec]\nenv = [{names}]\n")
    environ = place.environ() | env | {"SHIELD_HOME": str(place.shield_home)} | import_path()
    log = place.root / "log"
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-P", "-m", "shield", "serve"], env=environ, stderr=file)
    try:
        limit = time.monotonic() + 60
        while (sidecar := asyncio.run(find(place.shield_home))) is None:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < limit, log.read_text()
            time.sleep(0.05)
        yield sidecar
    finally:
        process.terminate()
        process.wait(30)


def test_an_install_from_a_lock_file_is_judged_confined_and_led_to_its_index_alone():
    """A real Shield with the policy `default`: nobody is asked, and the log says how it ran."""
    if shutil.which("pip", path="/usr/bin:/bin") is None:
        pytest.skip("pip is not installed")
    with ground() as place:
        settings = load(place.environ() | {"SHIELD_HOME": str(place.shield_home)}, cwd=place.workspace)
        confinement = choose(settings, place.workspace, environ=place.environ())
        if Isolation.CONFINED not in confinement.offer.levels:
            pytest.skip("; ".join(confinement.offer.reasons))
        package, town = wheel(), Town({})
        (place.workspace / "requirements.txt").write_text(requirement(package))
        box = Box(str(place.workspace), None, town, None)
        with (
            index(box, package, name="trusted.crt") as server,
            served(place, REQUESTS_CA_BUNDLE=str(place.workspace / "trusted.crt")) as sidecar,
        ):
            install = "pip install --require-hashes -r requirements.txt --target out"
            fetch = "curl https://pypi.org/"
            results = asyncio.run(_through(place, sidecar, confinement, town, install, fetch, f"{install} && {fetch}"))
        assert results[0].decision is Decision.ALLOW, results[0].reason
        assert not results[0].is_error, results[0].content
        assert (place.workspace / "out" / "tinypkg.py").exists()
        assert "/p/tinypkg-1.0-py3-none-any.whl" in [path for _, path, _, _ in server.seen]
        assert town.asked == ["pypi.org", "files.pythonhosted.org"]
        # the host is one of the list, but what comes from it is pinned by nothing
        assert [result.decision for result in results[1:]] == [Decision.BLOCK, Decision.BLOCK]
        ran = [record["body"] for record in place.records() if record["kind"] == "executing"]
        assert [body["isolation"] for body in ran] == ["confined"]
        assert place.verify()[0] == 0


async def _through(place, sidecar, confinement, town, *commands):
    async with AsyncClient(sidecar.endpoint, sidecar.token) as client:
        session = await client.open_session([str(place.workspace)], isolation=confinement.offer.strongest)
        places = with_session(confinement.places, session.hidden, session.workspace_roots)
        results = []
        with Sandbox(places, confinement.offer, outside=town) as sandbox:
            gate = ShieldGate(client, session, sandbox=sandbox)
            for command in commands:
                wanted = proposal("execute_command", {"command": command})
                verdict = await gate.propose(wanted)
                allowed = verdict.decision is Decision.ALLOW
                results.append(await gate.run(wanted, verdict) if allowed else verdict)
        return results


# --- as somebody without rights --------------------------------------------------------------------------------------


def python_for(user):
    """An interpreter like ours that this user can start, with what ours can import; None where there is none."""
    check = "import sys, pytest, cryptography; print(sys.version_info[:2])"
    for program in (sys.executable, f"/usr/bin/python3.{sys.version_info[1]}", "/usr/bin/python3"):
        done = subprocess.run([*user, program, "-c", check], env=IMPORTS, capture_output=True, text=True, timeout=60)
        # its own children must be able to start it, too
        inner = f"import subprocess, sys; sys.exit(subprocess.call([{program!r}, '-c', '']))"
        again = subprocess.run([*user, program, "-c", inner], env=IMPORTS, capture_output=True, timeout=60)
        if done.stdout.strip() == str(tuple(sys.version_info[:2])) and again.returncode == 0:
            return program
    return None


IMPORTS = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONPATH": os.pathsep.join([str(Path(shield.__file__).resolve().parents[1]), sysconfig.get_path("purelib")])}  # fmt: skip


def test_it_holds_for_an_unprivileged_user():
    if os.geteuid() != 0:
        pytest.skip("the tests run as an unprivileged user already")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    python = python_for(user)
    if python is None:
        pytest.skip("no interpreter that an unprivileged user can start has what the tests import")
    command = [*user, python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-x", "-rs", "--rootdir", str(ROOT),
               "-k", "attempt or permitted_host or of_its_own or without_hosts or place_cannot",
               __file__]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="sh", dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        env = IMPORTS | {"HOME": folder, "TMPDIR": folder}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    print(done.stdout)  # which means did not hold for this user, and why
