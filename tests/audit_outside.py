"""What remembers a log elsewhere, to test with: trees with real proofs, a real witness process, scripted answers."""

import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import audit
from audit.checkpoint import Checkpoint
from audit.merkle import Edge, leaf_hash, prove_consistency
from audit.note import SigningKey
from audit.witness.request import AddCheckpoint

PACKAGES, TESTS = Path(audit.__file__).resolve().parents[1], Path(__file__).resolve().parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{PACKAGES}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1"}
NAME = "test.example/01K"


def signing_key(name: str = NAME) -> SigningKey:
    return SigningKey(name, Ed25519PrivateKey.generate())


class Grown:
    """A log of `size` leaves as its owner could show it: checkpoints of every size, proofs between them."""

    def __init__(self, size: int, *, key: SigningKey | None = None, changed: int | None = None) -> None:
        self.key = key or signing_key()
        self.roots = []
        self.tiles = {}
        edge = Edge()
        for number in range(size):
            self.roots.append(edge.root())
            leaf = b"another" if number == changed else b"leaf %d" % number
            for level, index, hashes in edge.append(leaf_hash(leaf)):
                self.tiles[level, index] = hashes
        self.roots.append(edge.root())
        self.tiles.update({(level, index): hashes for level, index, hashes in edge.partial()})

    def checkpoint(self, size: int) -> Checkpoint:
        return Checkpoint(self.key.name, size, self.roots[size])

    def note(self, size: int, *keys: SigningKey) -> str:
        return self.checkpoint(size).sign(*(keys or (self.key,)))

    def proof(self, old: int, new: int) -> tuple[bytes, ...]:
        return tuple(prove_consistency(old, new, lambda *place: self.tiles[place])) if 0 < old < new else ()

    def growth(self, new: int):
        return lambda old: self.proof(old, new)

    def request(self, old: int, new: int, *keys: SigningKey) -> bytes:
        return AddCheckpoint(old, self.proof(old, new), self.note(new, *keys)).body()


class WitnessProcess:
    """`python -P -m audit witness` on a socket of this machine."""

    def __init__(self, state: Path, *vkeys: Path, new: str | None = None, wrap: tuple[str, ...] = ()) -> None:
        self.state = state
        if new is not None:
            subprocess.run(
                [*_COMMAND, "--state", str(state), "--new-key", new], env=ENVIRONMENT, check=True, capture_output=True
            )
        logs = [word for vkey in vkeys for word in ("--log", str(vkey))]
        self.process = subprocess.Popen(
            [*wrap, *_COMMAND, "--state", str(state), "--listen", "127.0.0.1:0", *logs],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said = {}
        for line in iter(self.process.stdout.readline, b""):
            word, _, rest = line.decode().strip().partition("  ")
            self.said.setdefault(word, []).append(rest)
            if word == "url":
                break
        else:
            raise AssertionError(self.process.communicate()[1].decode())
        self.url = self.said["url"][0]
        self.vkey = self.said["key"][0]
        self.port = int(self.url.rpartition(":")[2])

    def __enter__(self) -> "WitnessProcess":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, body: bytes, method: str = "POST", target: str = "/add-checkpoint") -> tuple[int, str, str]:
        """Status, media type, text."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, target, body)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read().decode()
        finally:
            connection.close()

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)


_COMMAND = (sys.executable, "-P", "-m", "audit", "witness")


@contextmanager
def answering(*scripts):
    """A server whose n-th connection is handled by the n-th script (the last one for all more): yields its URL and what
    it was asked. A script takes the socket, its request being read, and may do what it likes; bytes are just sent."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked = []

    def serve():
        for number in range(1000):
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line:
                line.settimeout(30)
                asked.append(_request(line))
                script = scripts[min(number, len(scripts) - 1)]
                try:
                    line.sendall(script) if isinstance(script, bytes) else script(line)
                except OSError:
                    pass  # the client hung up, as some scripts want

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(30)


def _request(line: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        found += line.recv(65536)
    head, _, body = found.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
    while len(body) < length:
        body += line.recv(65536)
    return head + b"\r\n\r\n" + body


def reply(status: int, body: str | bytes, kind: str = "text/plain", *more: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    head = "".join(f"{line}\r\n" for line in (f"Content-Type: {kind}", f"Content-Length: {len(content)}", *more))
    return f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + content
