"""Shield as a process: how it starts, what stops it from starting, how it ends."""

import base64
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import shield
from service_harness import call
from shield.config.home import Home
from shield.facts.programs.special import DECLARED
from shield.service.birth import initialise
from shield.service.listener import claimed
from shield.types import Role

PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout
MAIL = {"type": "send_email", "payload": {"to": "a@b.example", "subject": "hi", "body": "there"}}


@pytest.fixture
def place():
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    os.mkdir(f"{folder}/ws")
    Path(folder, "ws", "README.md").write_text("hello\n")
    yield folder
    shutil.rmtree(folder)


def begun(folder, *, toml=""):
    home = Home(path=f"{folder}/h")
    os.umask(0o077)
    os.makedirs(home.run, mode=0o700)
    with claimed(home):
        born = initialise(home, now_ms=1_795_000_000_000, checkpoints=f"{folder}/state/shield")
    Path(home.toml).write_text(toml or f'[workspaces]\nroots = ["{folder}/ws"]\n')
    os.chmod(home.toml, 0o600)
    return home, born.secrets


def environment(home, **more):
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    beside = f"{os.path.dirname(home.path)}/state"
    return {**kept, "PYTHONPATH": PACKAGES, "SHIELD_HOME": home.path, "XDG_STATE_HOME": beside, **more}


def command(*words):
    return [sys.executable, "-P", "-W", "error", "-m", "shield", *words]


@contextmanager
def serving(home, **more):
    process = subprocess.Popen(
        command("serve", "--json"),
        env=environment(home, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=20)


def test_what_judges_was_read_before_the_first_question(place):
    """A reader that is imported for the first call of its program would be what lies there then."""
    home, _ = begun(place)
    with (
        open(f"{place}/imported", "w+") as said,
        subprocess.Popen(
            command("serve", "--json"),
            env=environment(home, PYTHONVERBOSE="1"),
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process,
    ):
        assert process.stdout.readline()
        process.terminate()
        process.communicate(timeout=20)
        said.seek(0)
        imported = set(re.findall(r"^import 'shield\.facts\.programs\.([\w.]+)'", said.read(), re.MULTILINE))
    missing = {module for module, _, _ in DECLARED} - imported
    assert not missing


def refused(home, *words, cwd=None, **more):
    done = subprocess.run(
        command(*(words or ("serve",))),
        env=environment(home, **more),
        capture_output=True,
        text=True,
        timeout=20,
        cwd=cwd,
        check=False,
    )
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


def post(path, target, token, value):
    return call(path, "POST", target, token=token, body=json.dumps(value).encode())


def kinds(home):
    from audit.query import Filter, select

    return [record.envelope.kind for record in select(Path(home.audit_db), Filter())]


def test_from_start_to_end(place):
    home, secrets = begun(place)
    agent = Path(home.agent_token).read_text().strip()
    with serving(home) as (process, told):
        path = told["socket"]
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        assert process.pid == told["pid"]
        # a second one on the same home
        assert "another Shield runs" in refused(home)
        # a session, a verdict with a permit, a refusal on the record
        root = f"{place}/ws"
        session = post(path, "/v1/sessions", agent, {"workspace_roots": [root], "isolation": "none"}).json()
        assert session["public_key"] == told["public_key"]
        request = {"type": "read_file", "payload": {"path": "README.md"}, "session": session["session"]}
        verdict = post(path, "/v1/evaluate", agent, request).json()
        assert verdict["decision"] == "ALLOW"
        assert verdict["reason"] == "reading inside the workspace"
        redeem = {
            "permit": verdict["permit"],
            "action": {"type": "read_file", "payload": {"path": "README.md"}, "cwd": root},
            "nonce": "0" * 32,
            "isolation": "none",
        }
        assert "receipt" in post(path, "/v1/permits/redeem", agent, redeem).json()
        assert post(path, "/v1/permits/redeem", agent, redeem).json()["reason"] == "used"
        assert post(path, "/v1/evaluate", "shield_agent_wrong", request).status == 401
        state = post(path, "/v1/evaluate", agent, {"type": "read_file", "payload": {"path": home.audit_key}}).json()
        assert state["decision"] == "BLOCK"
        assert post(path, "/v1/sessions", agent, {"workspace_roots": [home.path], "isolation": "none"}).status == 403
        # a reload that swaps, one that is refused, one by signal
        mine = Path(home.policies, "default.yaml")
        mine.write_text("version: 1\nname: default\nextends: [baseline]\ndefault: {effect: block}\nrules: []\n")
        done = post(path, "/v1/reload", secrets[Role.ADMIN], {})
        assert done.status == 200, done
        assert done.json()["policy"] != done.json()["previous"]
        assert post(path, "/v1/evaluate", agent, request).json()["decision"] == "BLOCK"
        mine.write_text("version: 1\nname: default\nefect: block\n")
        broken = post(path, "/v1/reload", secrets[Role.ADMIN], {})
        assert (broken.status, broken.json()["reason"]) == (422, "policy.invalid")
        assert "default.yaml:3" in broken.json()["detail"]
        ready = call(path, "GET", "/readyz", token=secrets[Role.ADMIN]).json()
        assert ready["policy"]["running"] == done.json()["policy"]
        process.send_signal(signal.SIGHUP)
        assert "not reloaded, the running policy stays" in process.stderr.readline()
        assert post(path, "/v1/evaluate", agent, request).json()["decision"] == "BLOCK"
        # the end
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        assert process.returncode == 0, process.stderr.read()
        assert not os.path.lexists(path)
    found = kinds(home)
    assert found[0] == "log.open"
    assert found[-1] == "log.close"
    assert {"decision", "executing", "refused", "rejected", "policy.change"} <= set(found)
    verify = subprocess.run(
        command("audit", "verify", "--json"), env=environment(home), capture_output=True, text=True, check=False
    )
    assert verify.returncode == 0, verify
    everything = b"".join(file.read_bytes() for file in Path(home.path).rglob("*") if file.is_file())
    for secret in secrets.values():
        assert secret.encode() not in everything


@pytest.mark.parametrize("after_s", [0, 0.3, 0.9])
def test_a_stop_while_rules_and_model_are_loaded_is_an_orderly_end(place, after_s):
    """A thread inside a C++ library would take the process down: exit code -6, `terminate called`."""
    home, _ = begun(place)
    with serving(home) as (process, told):
        time.sleep(after_s)  # somewhere in the loading; nothing below depends on where
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
        assert not os.path.lexists(told["socket"])
    assert kinds(home)[-1] == "log.close"


def test_a_stop_before_it_listens_ends_it_at_once_and_says_nothing(place):
    """Nothing waits yet that an orderly end would have to answer: the signal ends it, and the next start goes on."""
    home, _ = begun(place)
    process = subprocess.Popen(
        command("serve"), env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while not os.path.lexists(f"{home.run}/permit.pub") and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in said
    assert "terminate called" not in said
    with serving(home) as (again, _):
        again.send_signal(signal.SIGTERM)
        assert again.wait(20) == 0
    verify = subprocess.run(
        command("audit", "verify", "--json"), env=environment(home), capture_output=True, text=True, check=False
    )
    assert verify.returncode == 0, verify


def test_killed_and_started_again_no_permit_survives(place):
    home, _ = begun(place)
    agent = Path(home.agent_token).read_text().strip()
    root = f"{place}/ws"
    with serving(home) as (process, told):
        path = told["socket"]
        session = post(path, "/v1/sessions", agent, {"workspace_roots": [root], "isolation": "none"}).json()
        request = {"type": "read_file", "payload": {"path": "README.md"}, "session": session["session"]}
        verdict = post(path, "/v1/evaluate", agent, request).json()
        process.kill()
        process.wait(20)
        assert os.path.lexists(path)  # left behind, and cleared by the next start
    with serving(home) as (_, again):
        assert again["public_key"] != told["public_key"]
        redeem = {
            "permit": verdict["permit"],
            "action": {"type": "read_file", "payload": {"path": "README.md"}, "cwd": root},
            "nonce": "0" * 32,
            "isolation": "none",
        }
        answer = post(path, "/v1/permits/redeem", agent, redeem)
        assert answer.status == 409
        assert post(path, "/v1/evaluate", agent, request).status == 404


def test_what_stops_a_start(place):
    home, _ = begun(place)
    Path(home.toml).write_text('policy = "mine"\n')
    Path(home.policies, "mine.yaml").write_text("version: 1\nname: mine\nrules:\n  - id: a\n    efect: block\n")
    assert "mine.yaml:5" in refused(home)
    Path(home.toml).write_text("[servce]\nqueue = 1\n")
    assert "unknown key `servce" in refused(home)
    Path(home.toml).write_text('\npolicy = "nosuch"\n')
    assert f"{home.toml}, line 2: `policy`: there is no policy named `nosuch`" in refused(home)
    assert "SHIELD_POLICY: `policy`: there is no policy named `none`" in refused(home, SHIELD_POLICY="none")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        Path(home.toml).write_text(f'[service]\ntcp = "127.0.0.1:{taken.getsockname()[1]}"\n')
        assert f"{home.toml}, line 2: `service.tcp`: `127.0.0.1:" in refused(home)
    Path(home.toml).write_text("")
    raw = Path(home.audit_db).read_bytes()
    os.rename(home.audit_db, f"{place}/kept.db")
    assert "missing while other state is there" in refused(home)
    Path(home.audit_db).write_bytes(raw[:4096])
    os.chmod(home.audit_db, 0o600)
    assert "the audit log c" in refused(home)
    os.remove(home.audit_db)
    shutil.copy(f"{place}/kept.db", home.audit_db)
    Path(home.token_book).write_text("{}")
    assert "tokens.json` is damaged" in refused(home)


@contextmanager
def embedded(home, *, cwd="/", **more):
    ready, ready_end = os.pipe()
    approver, approver_end = os.pipe()
    parent, leash = os.pipe()
    words = ("--embedded", "--ready-fd", str(ready_end), "--approver-fd", str(approver_end), "--parent-fd", str(parent))
    process = subprocess.Popen(
        command(*words),
        env=environment(home, **more),
        pass_fds=(ready_end, approver_end, parent),
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    )
    for end in (ready_end, approver_end, parent):
        os.close(end)
    with os.fdopen(ready) as told, os.fdopen(approver) as secret, os.fdopen(leash, "wb") as held:
        try:
            yield process, told, secret, held
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=20)


def test_embedded_begins_a_home_hands_over_a_token_and_leaves_no_orphan(place):
    home = Home(path=f"{place}/h")
    # settings of the environment do not count here
    with embedded(home, SHIELD_POLICY="permissive", SHIELD_NOT__THERE="1") as (process, told, secret, held):
        line = told.readline()
        assert line, process.stderr.read()
        at = json.loads(line)
        assert told.read() == ""
        assert len(base64.b64decode(at["public_key"])) == 32
        token = secret.read().strip()
        assert token.startswith("shield_approver_")
        agent = Path(home.agent_token).read_text().strip()
        assert call(at["socket"], "GET", "/v1/approvals", token=agent).status == 403
        verdict = post(at["socket"], "/v1/evaluate", agent, MAIL).json()
        assert verdict["decision"] == "ESCALATE", verdict
        (question,) = call(at["socket"], "GET", "/v1/approvals?wait=10", token=token).json()["approvals"]
        assert question["evaluation"] == verdict["evaluation"]
        denied = post(at["socket"], f"/v1/approvals/{question['id']}", token, {"answer": "deny"})
        assert denied.json()["state"] == "denied"
        after = call(at["socket"], "GET", f"/v1/evaluations/{verdict['evaluation']}?wait=10", token=agent)
        assert after.json()["decision"] == "BLOCK"
        held.close()
        process.wait(20)
        assert process.returncode == 0
        assert not os.path.lexists(at["socket"])
    everything = b"".join(file.read_bytes() for file in Path(home.path).rglob("*") if file.is_file())
    assert token.encode() not in everything
    assert kinds(home)[-1] == "log.close"


def test_embedded_refuses_what_could_be_prepared_by_an_agent(place):
    home = Home(path=f"{place}/ws/.shield")
    with embedded(home, cwd=f"{place}/ws") as (process, told, secret, _):
        assert told.readline() == ""
        assert secret.read() == ""
        process.wait(20)
        assert process.returncode == 2
        assert "lies in the workspace" in process.stderr.read()
    assert not os.path.lexists(home.path)
    outside = Home(path=f"{place}/h")
    assert "no pipe" in refused(outside, "--embedded", "--ready-fd", "1")
    assert "is missing" in refused(outside, "--embedded")
    assert "each once" in refused(outside, "--embedded", "--ready", "3")
    done = subprocess.run(
        [sys.executable, "-m", "shield", "--embedded", "--ready-fd", "7"],
        env=environment(outside),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 2
    assert not os.path.lexists(outside.path)


def test_a_page_cannot_reach_the_tcp_listener(place):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home, _ = begun(place, toml=f'[service]\ntcp = "127.0.0.1:{port}"\n')
    agent = Path(home.agent_token).read_text().strip()
    import http.client

    with serving(home) as (_, told):
        assert told["socket"] == f"127.0.0.1:{port}"
        for host, token, status in (
            (f"127.0.0.1:{port}", agent, 200),
            (f"127.0.0.1:{port}", "x", 401),
            (f"rebound.example:{port}", agent, 403),
            ("127.0.0.1", agent, 403),
        ):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/healthz", headers={"Host": host, "Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            assert answer.status == status, host
            connection.close()
