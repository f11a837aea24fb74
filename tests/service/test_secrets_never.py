"""Secrets through every door of a real Shield: afterwards no byte that it left anywhere holds one, in any form.

What a person has to judge they must see: an open question stands in `state.db` in clear. That ends with the answer.
"""

import base64
import json
import os
import shutil
import tempfile
import urllib.parse
from pathlib import Path

import pytest
import re2
from click.testing import CliRunner

from audit.cli import main as audit
from audit.errors import PrivateError
from audit.private import load_master, open_private
from audit.query import Filter, select
from secrets_world import planted
from service_harness import call
from service_process import begun, post, run, serving, state, stop
from shield.actions.fields import Kind
from shield.actions.registry import lookup, names
from shield.facts.secrets import KINDS
from shield.types import Role

NONCE = "0" * 32
LEAST = 200


class Desk:
    """An agent and the people around it, at one running Shield."""

    def __init__(self, path, folder, agent, secrets):
        self.path, self.folder, self.agent, self.people = path, folder, agent, secrets
        self.asked, self.held = 0, []
        self.session = self.open().json()["session"]

    def open(self, **more):
        value = {"workspace_roots": [f"{self.folder}/ws"], "isolation": "none", **more}
        return post(self.path, "/v1/sessions", self.agent, value)

    def evaluate(self, kind, payload, *, hold=False, note="", **more):
        """Ask; a question is answered at once, unless it is to be left open."""
        value = {"type": kind, "payload": payload, "session": self.session, **more}
        answer = post(self.path, "/v1/evaluate", self.agent, value).json()
        if answer.get("decision") == "ESCALATE":
            if hold:
                self.held.append(answer["approval"]["id"])
            else:
                self.asked += 1
                said = {"answer": "approve" if self.asked % 2 else "deny", "note": note}
                assert self.person("POST", f"/v1/approvals/{answer['approval']['id']}", said).status == 200
                again = f"/v1/evaluations/{answer['evaluation']}"
                assert call(self.path, "GET", again, token=self.agent).status == 200
        return answer

    def person(self, method, target, value=None, role=Role.APPROVER):
        body = None if value is None else json.dumps(value).encode()
        return call(self.path, method, target, token=self.people[role], body=body)

    def run_read(self, **outcome):
        """Have a call permitted, redeem it, and report what came of it."""
        verdict = self.evaluate("read_file", {"path": "README.md"})
        action = {"type": "read_file", "payload": {"path": "README.md"}, "cwd": f"{self.folder}/ws"}
        redeem = {"permit": verdict["permit"], "action": action, "nonce": NONCE, "isolation": "none"}
        receipt = post(self.path, "/v1/permits/redeem", self.agent, redeem)
        assert receipt.status == 200, receipt
        jti = json.loads(_segment(verdict["permit"]))["jti"]
        return post(self.path, "/v1/outcomes", self.agent, {"jti": jti, "status": "ok", **outcome})


def _segment(token):
    part = token.split(".")[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def ways(desk):
    """Every place where a text can be put in, as a function of that text."""

    def shell(line):
        return lambda t: desk.evaluate("execute_command", {"command": line.replace("@", t)})

    def get(target):
        return lambda t: call(desk.path, "GET", target.replace("@", urllib.parse.quote(t, safe="")), token=desk.agent)

    def body(template):
        return lambda t: post(
            desk.path, "/v1/evaluate", desk.agent, template.replace(b"@", json.dumps(t)[1:-1].encode())
        )

    def header(name):
        return lambda t: call(desk.path, "GET", "/readyz", token=desk.agent, headers={name: t.replace("\n", " ")})

    def note(text):
        desk.asked += 1
        desk.evaluate("send_email", {"to": "a@b.example", "subject": "s", "body": "b"}, note=text)

    def policy(text):
        file = Path(desk.folder, "ws", ".shield.yaml")
        for rule in (
            {"id": "mine", "effect": "block", "when": "true", "reason": text},
            {"id": "mine", "effect": "escalate", "when": "true", "reason": "r", "advice": text},
            {"id": text, "effect": "block", "when": "true", "reason": "r"},
            {"id": "mine", "effect": text, "when": text},
        ):
            file.write_text(json.dumps({"version": 1, "name": "w", "rules": [rule]}))
            desk.session = desk.open().json()["session"]
            desk.evaluate("read_file", {"path": "README.md"})
        file.write_text(f"version: 1\n{text}")
        desk.evaluate("read_file", {"path": "README.md"})
        file.unlink()
        desk.session = desk.open().json()["session"]

    def many(text):
        items = [{"type": "notify", "payload": {"x": text}, "session": desk.session}, {"type": "x", "payload": {}}]
        post(desk.path, "/v1/evaluate/batch", desk.agent, {"actions": items})
        post(desk.path, "/v1/evaluate/batch", desk.agent, {"actions": [{"type": text}]})

    def redeem(text):
        verdict = desk.evaluate("read_file", {"path": "README.md"})
        good = {"type": "read_file", "payload": {"path": "README.md"}, "cwd": f"{desk.folder}/ws"}
        base = {"permit": verdict["permit"], "action": good, "nonce": NONCE, "isolation": "none"}
        for wrong in (
            {"permit": text},
            {"permit": f"{verdict['permit']}{text}"},
            {"action": good | {"payload": {"path": text}}},
            {"nonce": text},
            {"isolation": text},
        ):
            post(desk.path, "/v1/permits/redeem", desk.agent, base | wrong)

    def mail(text):
        desk.evaluate("send_email", {"to": text, "subject": text, "body": f"Look: {text}", "cc": [text]})

    found = [
        lambda t: desk.evaluate("execute_command", {"command": f"cat <<'END' > out.txt\n{t}\nEND"}),
        shell("echo '@' > out.txt"),
        shell("X='@' ./run --flag"),
        shell("export '@'; ./run"),
        shell("curl -d '@' https://h.example/"),
        shell("curl 'https://h.example/?q=@'"),
        shell("curl -H '@' https://h.example/"),
        shell("printf %s '@' | base64 | rev"),
        shell("python3 -c 'print(\"@\")'"),
        shell("git commit -m '@' && cat '@'"),
        shell("echo @ '"),  # cannot be parsed
        lambda t: desk.evaluate("http_request", {"url": "https://h.example/", "headers": {"X-Note": t}, "body": t}),
        lambda t: desk.evaluate("http_request", {"url": f"https://h.example/{t}"}),
        lambda t: desk.evaluate("mcp:tools/do", {"a": [{"b": [t, {"c": t}]}], t: 1}),
        lambda t: desk.evaluate("mcp:tools/do", {"many": [f"{index} {t}" for index in range(40)]}),
        lambda t: desk.evaluate("write_file", {"path": "big.txt", "content": f"{'x' * 190}{t}{'y' * 90_000}"}),
        lambda t: desk.evaluate("write_file", {"path": "b.txt", "content": f"{t} " * 500}),
        lambda t: desk.evaluate(t[:256], {"x": 1}),
        lambda t: desk.evaluate("notify", {"x": 1}, intent=f"because of {t}"),
        lambda t: desk.evaluate("notify", {"x": 1}, id=t[:128]),
        lambda t: desk.evaluate("notify", {"x": 1}, tool_call_id=t),
        lambda t: desk.evaluate("notify", {"x": 1}, cwd=f"/{t}"),
        lambda t: desk.evaluate("notify", {"x": 1}, session=t),
        lambda t: desk.evaluate("notify", {"x": 1}, min_tier=t),
        mail,
        many,
        redeem,
        note,
        note,
        policy,
        policy,
        lambda t: desk.open(label=t),
        lambda t: desk.open(workspace_roots=[f"/{t}"]),
        lambda t: desk.open(isolation=t),
        lambda t: desk.run_read(content=[{"role": "stdout", "text": f"it says\n{t}\n"}]),
        lambda t: desk.run_read(content=[{"role": t, "text": "x"}]),
        lambda t: post(desk.path, "/v1/outcomes", desk.agent, {"jti": t, "status": "ok"}),
        lambda t: post(desk.path, "/v1/outcomes", desk.agent, {"jti": "j", "status": t}),
        lambda t: desk.person("POST", "/v1/approvals/none", {"answer": "approve", "note": t}),
        lambda t: desk.person("GET", f"/v1/approvals/{urllib.parse.quote(t, safe='')}"),
        lambda t: desk.person("GET", f"/v1/audit/records?session={urllib.parse.quote(t, safe='')}", role=Role.AUDITOR),
        lambda t: desk.person("GET", f"/v1/audit/proof/{urllib.parse.quote(t, safe='')}", role=Role.AUDITOR),
        lambda t: desk.person("POST", "/v1/reload", {t: 1}, role=Role.ADMIN),
        get("/v1/@"),
        get("/@"),
        get("/v1/evaluations/@"),
        get("/v1/approvals?wait=@"),
        get("/readyz?@=1"),
        body(b'{"type": "@'),
        body(b'{"type": "x", "payload": {"a": "@"}, "unknown": "@"}'),
        body(b'{"@": 1}'),
        body(b'{"type": ["@"], "payload": "@"}'),
        body(b'["@"]'),
        body(b'"@"\xff'),
        body(b'{"type": "x", "payload": {"k": 1, "k": "@"}}'),
        lambda t: call(desk.path, "POST", "/v1/evaluate", token=f"shield_agent_{t}".replace("\n", ""), body=b"{}"),
        lambda t: call(desk.path, "GET", "/readyz", headers={"Authorization": t.replace("\n", " ")}),
        *(header(name) for name in ("Origin", "Host", "User-Agent", "Cookie", "X-Api-Key", "Content-Type")),
    ]
    for kind in names():
        for name, field in lookup(kind).fields.items():
            if field.kind not in (Kind.BOOLEAN, Kind.INTEGER):
                value = (lambda t: {"k": t}) if field.kind is Kind.OBJECT else (lambda t: t)
                found.append(lambda t, kind=kind, name=name, value=value: desk.evaluate(kind, {name: value(t)}))
    return found


def searched(things, secrets):
    """Which secrets are in which of the bytes, and in which form."""
    forms = [(secret.kind, form) for secret in secrets for form in secret.forms()]
    options = re2.Options()
    options.max_mem, options.encoding = 1 << 30, re2.Options.Encoding.LATIN1
    all_of_them = re2.Set.SearchSet(options)
    for _, form in forms:
        all_of_them.Add(re2.escape(form))
    all_of_them.Compile()
    return [
        (forms[index][0], name, forms[index][1])
        for name, raw in things.items()
        for index in all_of_them.Match(raw) or ()
    ]


def files(*tops):
    return {str(file): file.read_bytes() for top in tops for file in Path(top).rglob("*") if file.is_file()}


@pytest.fixture
def folder():
    made = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    os.makedirs(f"{made}/ws")
    Path(made, "ws", "README.md").write_text("hello\n")
    yield made
    shutil.rmtree(made)


def shown(home, folder, seqs):
    """All that the auditor's command line makes of the log."""
    db, told = home.audit_db, {}
    for words in (
        *(("list", db, "--format", form) for form in ("table", "json", "jsonl", "csv", "ocsf", "cef")),
        ("stats", db),
        ("export", db, "--bundle", f"{folder}/bundle", "--key", home.audit_vkey),
        *(("show", db, str(seq)) for seq in seqs),
    ):
        done = CliRunner().invoke(audit, words)
        assert done.exit_code == 0, (words, done.output)
        told[" ".join(words)] = done.output.encode()
    return told


def test_no_secret_is_ever_kept(folder):
    home, tokens = begun(folder, toml="[service]\nrate = 1000000\n[audit]\npayloads = true\ninterval_s = 0.2\n")
    agent = Path(home.agent_token).read_text().strip()
    told = {}
    with serving(home) as (process, path):
        desk = Desk(path, folder, agent, tokens)
        doors = ways(desk)
        secrets = planted(max(len(doors), LEAST) + 4, seed=11)
        assert {secret.kind for secret in secrets} == set(KINDS)
        assert len(secrets) >= LEAST
        *inside, open_one, open_two, late_one, late_two = secrets
        assert len(searched({"all": " ".join(one.text for one in secrets).encode()}, secrets)) >= len(secrets)
        for index, secret in enumerate(inside):
            doors[index % len(doors)](secret.text)
        for question in desk.person("GET", "/v1/approvals").json()["approvals"]:  # asked in a batch
            assert desk.person("POST", f"/v1/approvals/{question['id']}", {"answer": "deny"}).status == 200
        # what a person is asked about stands in clear until they answer
        for secret in (open_one, open_two):
            desk.evaluate("send_email", {"to": "a@b.example", "subject": "s", "body": secret.text}, hold=True)
        assert searched(files(home.path), [open_one])
        assert desk.person("POST", f"/v1/approvals/{desk.held[0]}", {"answer": "approve"}).status == 200
        clear = {name for _, name, _ in searched(files(folder), [*inside, open_one])}
        assert not {name for name in clear if not name.startswith(f"{folder}/ws/")}, clear
        for name, target, role in (
            ("readyz", "/readyz", Role.ADMIN),
            ("metrics", "/metrics", Role.ADMIN),
            ("records", "/v1/audit/records?limit=1000", Role.AUDITOR),
            ("proof", "/v1/audit/proof/3", Role.AUDITOR),
            ("checkpoint", "/v1/audit/checkpoint", Role.AUDITOR),
            ("approvals", f"/v1/approvals/{desk.held[0]}", Role.APPROVER),
        ):
            answer = desk.person("GET", target, role=role)
            assert answer.status == 200, answer
            told[name] = answer.body
        told["status"] = run(home, "status", SHIELD_TOKEN=tokens[Role.ADMIN]).stdout.encode()
        stop(process)
    # an orderly end closes what is open, the next start what a crash left open
    assert searched(files(home.path), [open_two]) == []
    with serving(home) as (process, path):
        desk = Desk(path, folder, agent, tokens)
        for secret in (late_one, late_two):
            desk.evaluate("send_email", {"to": "a@b.example", "subject": "s", "body": secret.text}, hold=True)
        process.kill()
        process.wait(20)
    assert {name for _, name, _ in searched(files(home.path), [late_one])} <= {home.state_db, f"{home.state_db}-wal"}
    with serving(home) as (process, _):
        stop(process)
    leaves = list(select(Path(home.audit_db), Filter()))
    decisions = [leaf.envelope for leaf in leaves if leaf.envelope.kind == "decision"]
    assert len(decisions) >= LEAST
    assert sum(b"[redacted " in leaf.leaf for leaf in leaves) >= LEAST / 2
    told |= shown(home, folder, [one.seq for one in decisions[:: len(decisions) // 4]])
    opened = 0
    master = load_master(Path(home.audit_private))
    for one in decisions:
        try:
            private = open_private(Path(home.audit_db), one.seq, master)
        except PrivateError:
            continue
        opened += bool(private.content)
        told[f"sealed beside {one.seq}"] = private.content
    assert opened >= LEAST / 2
    left = {name: raw for name, raw in files(folder).items() if not name.startswith(f"{folder}/ws/")}
    assert {home.audit_db, home.state_db, home.audit_checkpoint, f"{folder}/stderr"} <= left.keys()
    assert any(name.startswith(state(folder)) for name in left)
    found = searched({**left, **told}, secrets)
    assert found == [], sorted({(kind, name) for kind, name, _ in found})
