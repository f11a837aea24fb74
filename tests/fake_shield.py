"""A scripted Shield on a real Unix socket, with a real key: the HTTP shapes of CONTRACTS, verdicts as a test says.

It records what it was sent and can lie in every way a false or broken Shield could: see the public attributes.
"""

import base64
import hashlib
import json
import os
import socketserver
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from agentctl.turns.gate import Proposal
from agentctl.turns.messages import ToolCall
from shield import canonical
from shield.client import Endpoint
from shield.permits import Permit, PermitKey, Receipt, state_digest
from shield.types import FileIdentity, FileRole, HostFact, IpClass, Isolation, Tier

TOKEN = "shield_agent_" + "a" * 64
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}


def identities(kind: str, payload: Mapping[str, Any], cwd: str) -> tuple[FileIdentity, ...]:
    """What a permit would bind, as `shield.facts.files` says it, for the plain cases that the tests use."""

    def resolve(raw: str) -> str:
        return os.path.realpath(os.path.join(cwd, raw))

    def thing(path: str) -> FileIdentity:
        if not os.path.lexists(path):
            return FileIdentity(role=FileRole.READ, path=path, absent=True)
        found = os.lstat(path)
        folder = stat.S_ISDIR(found.st_mode)
        return FileIdentity(
            role=FileRole.DIRECTORY if folder else FileRole.READ, path=path, dev=found.st_dev, ino=found.st_ino
        )

    def target(path: str) -> FileIdentity:
        above = os.stat(os.path.dirname(path))
        absent = not os.path.lexists(path)
        return FileIdentity(role=FileRole.TARGET, path=path, dev=above.st_dev, ino=above.st_ino, absent=absent)

    match kind:
        case "read_file" | "list_directory":
            return (thing(resolve(payload["path"])),)
        case "execute_command":
            return (thing(resolve(".")),)
        case "search_files" | "grep_files":
            return (thing(resolve(payload.get("path", "."))),)
        case "write_file" | "create_directory":
            return (target(resolve(payload["path"])),)
        case "delete_file" | "delete_directory":
            path = os.path.join(cwd, payload["path"])
            return (target(path), thing(path))
        case "copy_file":
            return (thing(resolve(payload["source"])), target(resolve(payload["destination"])))
        case "move_file":
            source = os.path.join(cwd, payload["source"])
            return (target(source), thing(source), target(resolve(payload["destination"])))
        case "edit_file":
            path = resolve(payload["path"])
            content = Path(path).read_bytes()
            found = os.stat(path)
            return (
                target(path),
                FileIdentity(
                    role=FileRole.CONTENT,
                    path=path,
                    dev=found.st_dev,
                    ino=found.st_ino,
                    sha256="sha256:" + hashlib.sha256(content).hexdigest(),
                ),
            )
    return ()


class FakeShield:
    """`judge` gives the decision of an action; the other attributes are the lies."""

    def __init__(self, folder: Path) -> None:
        self.key = PermitKey()
        self.receipt_key = self.key
        self.judge: Callable[[Mapping[str, Any]], str] = lambda action: "ALLOW"
        self.change_receipt: Callable[[Receipt], Receipt] = lambda receipt: receipt
        self.raw_receipt: str | None = None
        self.refuse_redeem: list[str] = []
        self.answers: dict[str, tuple[int, str, bytes]] = {}
        self.hash: Callable[[str], str] = lambda digest: digest
        self.content: Callable[[list[dict[str, str]]], list[dict[str, str]]] = lambda content: content
        self.hosts: tuple[HostFact, ...] = ()
        self.publishes = True
        self.env = dict(ENV)
        self.shell = "/bin/bash"
        self.roots: list[str] = []
        self.requests: list[tuple[str, str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.seq = 0
        self.jtis: dict[str, Mapping[str, Any]] = {}
        self.approved: dict[str, str] = {}
        self.folder = folder
        self.socket = folder / "run" / "shield.sock"
        self.socket.parent.mkdir(mode=0o700, exist_ok=True)
        (folder / "tokens").mkdir(mode=0o700, exist_ok=True)
        token = folder / "tokens" / "agent.token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        self._server: _Server | None = None

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(socket=self.socket)

    def start(self) -> None:
        if self.publishes:
            published = self.folder / "run" / "permit.pub"
            published.write_bytes(base64.b64encode(self.key.public) + b"\n")
            published.chmod(0o600)
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            self.socket.unlink(missing_ok=True)

    def sent(self, path: str) -> list[Any]:
        """The bodies of all requests to a path."""
        return [body for _, seen, body in self.requests if seen.partition("?")[0] == path]

    def statuses(self) -> list[str]:
        return [outcome["status"] for outcome in self.sent("/v1/outcomes")]

    # --- the routes --------------------------------------------------------------------------------------------------

    def handle(self, method: str, path: str, body: Any) -> tuple[int, str, bytes]:
        self.requests.append((method, path, body))
        route = path.partition("?")[0]
        if route in self.answers:
            return self.answers[route]
        if route == "/v1/sessions":
            self.roots = body["workspace_roots"]
            return self.json(
                {
                    "session": "01KSESSION",
                    "workspace_roots": self.roots,
                    "shell": self.shell,
                    "env": self.env,
                    "public_key": base64.b64encode(self.key.public).decode(),
                    "isolation_required": "state_hidden",
                    "hidden": {"paths": [], "ports": []},
                }
            )
        if route == "/v1/evaluate":
            return self.json(self.verdict(body))
        if route.startswith("/v1/evaluations/"):
            evaluation = route.rsplit("/", 1)[1]
            action = self.jtis[evaluation]
            return self.json(self.verdict(action, self.approved.get(evaluation, "ESCALATE")))
        if route == "/v1/permits/redeem":
            return self.redeem(body)
        if route == "/v1/outcomes":
            return self.json(
                {
                    "seq": self.next(),
                    "content": self.content(body["content"]),
                    "labels": {"confidentiality": "public", "integrity": "untrusted"},
                    "redactions": [],
                }
            )
        if route == "/healthz":
            return self.json({"status": "ok"})
        if route == "/readyz":
            return self.json({"ready": True, "log": {"id": "shield.local/FAKE", "size": self.seq, "unsealed": 0}})
        return self.problem(404, "route.unknown", f"no route `{route}`")

    def verdict(self, action: Mapping[str, Any], decision: str | None = None) -> dict[str, Any]:
        decision = decision or self.judge(action)
        digest = canonical.digest(
            canonical.encode({"type": action["type"], "payload": action["payload"], "cwd": action["cwd"]})
        )
        seq = self.next()
        evaluation = f"01KEVAL{seq:06d}"
        self.jtis[evaluation] = action
        permit = None
        if decision == "ALLOW":
            now = int(time.time())
            permit = self.key.sign_permit(
                Permit(
                    jti=evaluation,
                    sub="agent",
                    sid="01KSESSION",
                    tcid="c",
                    iat=now,
                    exp=now + 60,
                    act=digest,
                    state="sha256:" + "0" * 64,
                    env="sha256:" + "0" * 64,
                    pol="sha256:" + "0" * 64,
                    need=Tier.POLICY,
                    tier=Tier.POLICY,
                    seq=seq,
                    wsr=tuple(self.roots),
                    iso=Isolation.NONE,
                )
            )
        return {
            "id": action.get("tool_call_id") or "x",
            "evaluation": evaluation,
            "decision": decision,
            "reason": f"because {decision}",
            "advice": None if decision == "ALLOW" else "do something else",
            "action_hash": self.hash(digest),
            "expires_at": "2026-11-21T20:16:03.412Z",
            "approval": {"id": "01KAPPROVAL", "expires_at": "2026-11-21T20:16:03.412Z"}
            if decision == "ESCALATE"
            else None,
            "permit": permit,
            "seq": seq,
        }

    def redeem(self, body: Any) -> tuple[int, str, bytes]:
        if self.refuse_redeem:
            reason = self.refuse_redeem.pop(0)
            return self.problem(409, reason, f"the permit is {reason}")
        if self.raw_receipt is not None:
            return self.json({"receipt": self.raw_receipt})
        permit = self.key.verify_permit(body["permit"])
        action = body["action"]
        files = identities(action["type"], action["payload"], action["cwd"])
        receipt = Receipt(
            jti=permit.jti,
            act=permit.act,
            state=state_digest(files),
            nonce=body["nonce"],
            seq=self.next(),
            exp=int(time.time()) + 30,
            files=files,
            shell=self.shell,
            env=self.env,
            allow_hosts=self.hosts,
        )
        return self.json({"receipt": self.receipt_key.sign_receipt(self.change_receipt(receipt))})

    def next(self) -> int:
        self.seq += 1
        return self.seq

    @staticmethod
    def json(value: Any, status: int = 200) -> tuple[int, str, bytes]:
        return status, "application/json", json.dumps(value).encode()

    @staticmethod
    def problem(status: int, reason: str, detail: str) -> tuple[int, str, bytes]:
        body = {"type": "https://shield.invalid/problems/" + reason, "title": reason, "status": status}
        return status, "application/problem+json", json.dumps(body | {"reason": reason, "detail": detail}).encode()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, fake: FakeShield) -> None:
        self.fake = fake
        before = os.umask(0o177)
        try:
            super().__init__(str(fake.socket), _Handler)
        finally:
            os.umask(before)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *args: Any) -> None:
        pass

    def _any(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        fake = self.server.fake
        fake.headers.append(dict(self.headers))
        status, media, body = fake.handle(self.command, self.path, json.loads(raw) if raw else None)
        if status == 0:  # hang up without an answer
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        if 300 <= status < 400:
            self.send_header("Location", "/elsewhere")
        if status == 429:
            self.send_header("Retry-After", "7")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _any  # noqa: N815  # the names that http.server asks for


@contextmanager
def fake_shield():
    """A started FakeShield with a fresh, short home."""
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        fake = FakeShield(Path(folder))
        fake.start()
        try:
            yield fake
        finally:
            fake.stop()


def loopback(port: int, *, scheme: str = "http") -> HostFact:
    return HostFact(
        url=f"{scheme}://127.0.0.1:{port}/", scheme=scheme, host="127.0.0.1", port=port, ip_class=IpClass.LOOPBACK
    )


def proposed(kind: str, payload: dict[str, Any]) -> Proposal:
    """A tool call of a model, as the loop hands it to the gate."""
    return Proposal(
        call=ToolCall(id="call_1", name=kind, arguments_text=json.dumps(payload)), type=kind, payload=payload
    )
