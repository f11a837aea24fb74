"""An embedded Shield, the real one, driven through `open_gate`: what `make demo` and `chat` stand on."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from agentctl.errors import GateError, SidecarError
from agentctl.program import import_path
from agentctl.sidecar import _lines, find, open_gate, start
from agentctl.turns.messages import ToolResult
from fake_shield import FakeShield, proposed
from shield.client import AsyncClient, Client
from shield.errors import ClientError, Reason
from shield.types import ApprovalAnswer, Decision


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        base = Path(folder).resolve()
        for name in ("home", "ws"):
            (base / name).mkdir(mode=0o700)
        (base / "home" / "shield.toml").write_text(f'[workspaces]\nroots = ["{base}/ws"]\n')
        (base / "ws" / "README.md").write_text("hello reader\n")
        yield base


def environ(place):
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(place / "user"), "LANG": "C.UTF-8"}


def started(place, **options):
    return start(place / "home", workspace=place / "ws", environ=environ(place), **options)


async def do(gate, kind, **payload):
    proposal = proposed(kind, payload)
    verdict = await gate.propose(proposal)
    if verdict.decision is not Decision.ALLOW:
        return verdict
    return await gate.run(proposal, verdict)


def test_the_whole_path_and_an_orderly_end(place):
    async def drive():
        async with open_gate(home=place / "home", workspace=place / "ws", environ=environ(place)) as gate:
            read = await do(gate, "read_file", path="README.md")
            assert isinstance(read, ToolResult)
            assert read.content == "hello reader"
            listed = await do(gate, "execute_command", command="ls -la")
            assert "README.md" in listed.content
            blocked = await do(gate, "read_file", path="~/.ssh/id_rsa")
            assert blocked.decision is Decision.BLOCK
            assert blocked.advice
            assert (await do(gate, "execute_command", command="rm -rf ~")).decision is Decision.BLOCK
            assert not (await do(gate, "write_file", path="new.txt", content="x")).is_error
            assert not (await do(gate, "edit_file", path="new.txt", old="x", new="y")).is_error
            assert (await do(gate, "grep_files", pattern="hello")).content.startswith("README.md:1:hello")
            env = await do(gate, "execute_command", command="env")
            return env if isinstance(env, ToolResult) else None, gate.session.env

    _, session_env = asyncio.run(drive())
    assert "SHIELD_HOME" not in session_env
    assert (place / "ws" / "new.txt").read_text() == "y"
    assert not (place / "home" / "run" / "shield.sock").exists()
    verified = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "audit",
            "verify",
            place / "home" / "audit.db",
            "--key",
            place / "home" / "keys" / "audit.vkey",
        ],
        capture_output=True,
        text=True,
        cwd="/",
        env=environ(place) | import_path(),
        check=False,
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_file_swapped_between_allow_and_redeem_is_refused_and_judged_again(place):
    victim = place / "ws" / "README.md"

    async def swap(proposal, verdict):
        victim.rename(place / "ws" / "old")
        victim.symlink_to("/etc/hostname")

    async def drive(reevaluations):
        async with open_gate(
            home=place / "home",
            workspace=place / "ws",
            environ=environ(place),
            before_redeem=swap,
            reevaluations=reevaluations,
        ) as gate:
            return await do(gate, "read_file", path="README.md")

    result = asyncio.run(drive(0))
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert "changed" in result.content or "state_changed" in result.content


def test_a_permit_is_good_for_one_run(place):
    async def drive():
        async with open_gate(
            home=place / "home", workspace=place / "ws", environ=environ(place), reevaluations=0
        ) as gate:
            proposal = proposed("execute_command", {"command": "ls"})
            verdict = await gate.propose(proposal)
            return await gate.run(proposal, verdict), await gate.run(proposal, verdict)

    first, second = asyncio.run(drive())
    assert not first.is_error
    assert second.is_error
    assert second.decision is Decision.BLOCK


@pytest.mark.parametrize("moment", ["verdict", "redeemed"])
def test_when_shield_is_killed_nothing_more_runs_and_the_log_verifies(place, moment):
    """Killed between verdict and redeem nothing runs; between redeem and outcome it has run once and says so."""
    sidecar = started(place)

    async def kill(*_):
        os.kill(sidecar.pid, signal.SIGKILL)

    async def drive():
        async with open_gate(
            home=place / "home",
            workspace=place / "ws",
            environ=environ(place),
            sidecar=sidecar,
            before_redeem=kill if moment == "verdict" else None,
        ) as gate:
            if moment == "redeemed":
                wait_for_outcome = gate._client.outcome

                async def outcome(report):
                    await kill()
                    return await wait_for_outcome(report)

                gate._client.outcome = outcome
            with pytest.raises(GateError):
                await do(gate, "write_file", path="ran.txt", content="x")
            with pytest.raises(GateError):
                await do(gate, "read_file", path="README.md")

    try:
        asyncio.run(drive())
    finally:
        sidecar.close()
    assert (place / "ws" / "ran.txt").exists() is (moment == "redeemed")
    with started(place) as again, Client(again.endpoint, again.token) as client:
        assert client.ready().ready, "it starts again on the same log"


def test_a_permit_does_not_survive_a_restart(place):
    async def drive():
        first = started(place)
        async with AsyncClient(first.endpoint, first.token) as client:
            session = await client.open_session([str(place / "ws")])
            from agentctl.execute import ShieldGate

            gate = ShieldGate(client, session)
            proposal = proposed("write_file", {"path": "ran.txt", "content": "x"})
            verdict = await gate.propose(proposal)
            first.close()
            second = started(place)
            try:
                result = None
                try:
                    result = await gate.run(proposal, verdict)
                except GateError:
                    return None
                return result
            finally:
                second.close()

    result = asyncio.run(drive())
    assert result is None or result.is_error
    assert not (place / "ws" / "ran.txt").exists()


def test_a_fake_shield_on_the_socket_is_found_out(place):
    """It takes the real one's place between verdict and redeem, with its token file and all."""
    sidecar = started(place)
    fake = FakeShield(place / "home2") if (place / "home2").mkdir() is None else None
    fake.socket = sidecar.endpoint.socket

    async def replace_shield(*_):
        await asyncio.to_thread(sidecar.close)
        fake.socket.unlink(missing_ok=True)
        fake.start()
        # it knows the permit's text from the request, signs what it likes, with a key of its own
        fake.key.verify_permit = lambda token: type("P", (), {"jti": seen["jti"], "act": seen["act"]})()

    seen = {}

    async def drive():
        async with open_gate(
            home=place / "home", workspace=place / "ws", environ=environ(place), sidecar=sidecar, before_redeem=None
        ) as gate:
            proposal = proposed("write_file", {"path": "ran.txt", "content": "x"})
            verdict = await gate.propose(proposal)
            from agentctl.tools.warrant import permit_terms

            seen.update(jti=permit_terms(verdict.permit, gate.session.public_key).jti, act=verdict.action_hash)
            await replace_shield()
            with pytest.raises(GateError, match="not the Shield"):
                await gate.run(proposal, verdict)

    try:
        asyncio.run(drive())
    finally:
        fake.stop()
        sidecar.close()
    assert fake.sent("/v1/permits/redeem"), "it was asked, and its receipt was refused"
    assert not (place / "ws" / "ran.txt").exists()


def test_an_approval_by_the_token_that_only_the_prompt_gets(place):
    read, write = os.pipe()
    sidecar = started(place, approver_fd=write)
    os.close(write)
    token = os.read(read, 4096).decode().strip()
    os.close(read)
    assert token != sidecar.token
    for path in (place / "home").rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path

    async def drive():
        async with (
            open_gate(home=place / "home", workspace=place / "ws", environ=environ(place), sidecar=sidecar) as gate,
            AsyncClient(sidecar.endpoint, token) as approver,
        ):
            with pytest.raises(ClientError) as caught:
                await gate._client.approvals()
            assert caught.value.reason is Reason.AUTH_ROLE
            await approver.approvals()
            proposal = proposed("execute_command", {"command": "python3 -c 'import ctypes; print(6*7)'"})
            verdict = await gate.propose(proposal)
            assert verdict.decision is Decision.ESCALATE
            (question,) = await approver.approvals(wait_s=10)
            await approver.answer(question.id, ApprovalAnswer(approve=True))
            return await gate.run(proposal, await gate.wait(verdict))

    with sidecar:
        assert asyncio.run(drive()).content == "42"


def test_no_orphan_stays_when_we_are_killed(place):
    script = (
        "import sys,time;from pathlib import Path;from agentctl.sidecar import start\n"
        f"s=start(Path({str(place / 'home')!r}),workspace=Path({str(place / 'ws')!r}),environ={environ(place)!r})\n"
        "print(s.pid,flush=True);time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-P", "-c", script], stdout=subprocess.PIPE, cwd="/", env=environ(place) | import_path()
    ) as process:
        pid = int(process.stdout.readline())
        process.kill()
    for _ in range(400):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    pytest.fail("Shield outlived the process that started it")


def test_the_log_is_remembered_where_the_person_keeps_state(place):
    sidecar = start(
        place / "home",
        workspace=place / "ws",
        environ={**environ(place), "XDG_STATE_HOME": str(place / "state")},
    )
    sidecar.close()
    assert (place / "state" / "shield" / "logs").read_text().count("\n") == 1
    assert not (place / "user").exists()


def test_what_a_shield_of_ours_says_of_its_log_is_kept(place):
    """What it says goes to no terminal, and its log may be another one than the person knows."""
    with started(place) as sidecar:
        assert [remark.split("`")[0] for remark in sidecar.remarks] == ["began the log "]
    with started(place) as sidecar:
        assert sidecar.remarks == ()
    shutil.rmtree(place / "user" / ".local" / "state" / "shield")
    with started(place) as sidecar:
        (remark,) = sidecar.remarks
        assert "knows nothing of the log" in remark


def test_what_a_shield_of_ours_says_is_read_without_moving_where_it_writes():
    with tempfile.TemporaryFile() as said:
        said.write(b"shield: first\n" + b"x" * 5000 + b"\nshield: last\n")
        said.flush()
        at = os.lseek(said.fileno(), 7, os.SEEK_SET)
        assert _lines(said)[-1] == "shield: last"
        assert os.lseek(said.fileno(), 0, os.SEEK_CUR) == at


def test_a_home_in_the_workspace_is_refused(place):
    with pytest.raises(SidecarError, match="outside"):
        start(place / "ws" / "home", workspace=place / "ws", environ=environ(place))


def test_a_shield_that_does_not_start_says_why(place):
    (place / "home" / "shield.toml").write_text("colour = 1\n")
    with pytest.raises(SidecarError, match="colour"):
        started(place)


def test_find_takes_what_answers_and_nothing_else(place):
    assert asyncio.run(find(place / "home")) is None
    with started(place):
        found = asyncio.run(find(place / "home"))
        assert found is not None
        assert not found.embedded
    assert asyncio.run(find(place / "home")) is None
    stale = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    stale.bind(str(place / "home" / "run" / "shield.sock"))
    os.umask(before)
    stale.close()
    assert asyncio.run(find(place / "home")) is None, "a stale socket"
    (place / "home" / "run" / "shield.sock").chmod(0o666)
    with pytest.raises(ClientError):
        asyncio.run(find(place / "home"))


def test_ones_own_home_directory_is_no_workspace(place):
    user = environ(place) | {"HOME": str(place)}
    with pytest.raises(SidecarError, match="is or holds your home directory"):
        start(place / "home", workspace=place, environ=user)


def test_a_token_that_the_running_shield_does_not_know_is_named(place):
    with started(place):
        token = place / "home" / "tokens" / "agent.token"
        token.write_text("shield_agent_" + "0" * 64 + "\n")
        with pytest.raises(ClientError, match=f"does not know the token in `{token}`; restart it"):
            asyncio.run(find(place / "home"))


def test_an_untrusted_workspace_is_named(place):
    (place / "home" / "shield.toml").write_text("")

    async def drive():
        async with open_gate(home=place / "home", workspace=place / "ws", environ=environ(place)):
            pass

    with pytest.raises(ClientError) as caught:
        asyncio.run(drive())
    assert caught.value.reason is Reason.WORKSPACE_UNTRUSTED
    assert "shield trust" in caught.value.detail
    assert json.dumps(str(place / "ws"))[1:-1] in caught.value.detail


@pytest.mark.parametrize("runs", [False, True])
def test_a_shield_that_listens_on_tcp_is_not_found_and_that_is_said(place, runs):
    """Nothing of `use it`: only the socket is known here."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    toml = place / "home" / "shield.toml"
    toml.write_text(f'[service]\ntcp = "{address}"\n{toml.read_text()}')
    env = environ(place) | import_path() | {"SHIELD_HOME": str(place / "home")}
    # as `shield serve` holds it, and a Shield that was begun by another client
    with (
        subprocess.Popen(
            [sys.executable, "-P", "-m", "shield", "serve"], env=env, cwd="/", stderr=subprocess.PIPE, text=True
        )
        if runs
        else contextlib.nullcontext() as server
    ):
        try:
            if runs:
                assert any("listens on" in line for line in iter(server.stderr.readline, ""))
            with pytest.raises(SidecarError) as error:
                started(place)
        finally:
            if runs:
                server.terminate()
    assert "`service.tcp`" in error.value.detail
    assert "SHIELD_HOME" in error.value.detail
    assert "use it" not in error.value.detail
    assert (str(place / "home" / "run" / "shield.sock") if runs else address) in error.value.detail
