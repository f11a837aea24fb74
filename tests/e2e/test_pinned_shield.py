"""A session keeps to one Shield: the one whose key was pinned before it began, at home where a person put it."""

import asyncio
import base64
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentctl.errors import GateError, SidecarError
from agentctl.sidecar import Sidecar, find, open_gate, start
from agentctl.turns.messages import ToolResult
from fake_shield import FakeShield
from guarded import ground, kill, proposal
from model_server import Turn
from shield.client import pinned_key
from shield.errors import ClientError, Reason
from shield.types import Decision
from terminal import PATIENCE_S, ROOT, agentctl_command, environ, tell

WRITE = proposal("write_file", {"path": "ran.txt", "content": "x"})


@pytest.fixture
def place():
    with ground() as made:
        yield made


def key_file(place) -> Path:
    return place.shield_home / "run" / "permit.pub"


def write_key(place, key: bytes) -> None:
    key_file(place).write_bytes(base64.b64encode(key) + b"\n")
    key_file(place).chmod(0o600)


async def carried_out(gate) -> ToolResult | None:
    verdict = await gate.propose(WRITE)
    assert verdict.decision is Decision.ALLOW, verdict.reason
    done = await gate.run(WRITE, verdict)
    return done if isinstance(done, ToolResult) else None


def gate_of(place, **more):
    return open_gate(home=place.shield_home, workspace=place.workspace, environ=place.environ(), **more)


async def opened(place, sidecar: Sidecar | None = None) -> None:
    async with gate_of(place, sidecar=sidecar) as gate:
        await carried_out(gate)


def impostor(place, sidecar: Sidecar | None = None) -> str:
    """No session is opened, nothing is run."""
    with pytest.raises(ClientError) as caught:
        asyncio.run(opened(place, sidecar))
    assert caught.value.reason is Reason.SERVICE_IMPOSTOR
    assert not (place.workspace / "ran.txt").exists()
    return caught.value.detail


# --- the key that is published -------------------------------------------------------------------------------------------


def test_the_key_is_there_while_shield_runs_and_for_its_owner_only(place):
    with place.start() as sidecar:
        assert pinned_key(place.shield_home) == sidecar.public_key
        assert stat.S_IMODE(key_file(place).stat().st_mode) == 0o600
        assert stat.S_IMODE(key_file(place).parent.stat().st_mode) == 0o700
        first = sidecar.public_key
    assert not key_file(place).exists(), "it ends with the Shield whose key it is"
    with place.start() as sidecar:
        assert pinned_key(place.shield_home) == sidecar.public_key != first


def test_a_killed_shields_key_is_replaced_by_the_next_one(place):
    sidecar = place.start()
    kill(sidecar)
    assert key_file(place).exists()
    with place.start() as again:
        assert pinned_key(place.shield_home) == again.public_key != sidecar.public_key


def test_a_start_that_fails_leaves_no_key(place):
    place.configure("colour = 1\n")
    with pytest.raises(SidecarError):
        place.start()
    assert not key_file(place).exists()


def test_a_second_shield_on_the_home_does_not_replace_the_key(place):
    with place.start() as sidecar:
        with pytest.raises(SidecarError, match="another Shield"):
            place.start()
        assert pinned_key(place.shield_home) == sidecar.public_key


# --- a Shield that is found --------------------------------------------------------------------------------------------


def test_a_shield_that_is_found_is_pinned_by_its_published_key(place):
    with place.start() as sidecar:
        found = asyncio.run(find(place.shield_home))
        assert found is not None
        assert found.public_key == sidecar.public_key
        asyncio.run(opened(place))
    assert (place.workspace / "ran.txt").exists()


def test_a_shield_without_the_published_key_opens_no_session(place):
    with place.start():
        write_key(place, bytes(32))
        assert "another Shield" in impostor(place)
        key_file(place).unlink()
        assert "missing" in impostor(place)


def test_a_key_file_that_others_could_write_is_not_believed(place):
    with place.start() as sidecar:
        key_file(place).chmod(0o666)
        impostor(place)
        key_file(place).rename(place.root / "elsewhere")
        key_file(place).symlink_to(place.root / "elsewhere")
        impostor(place)
        key_file(place).unlink()
        write_key(place, sidecar.public_key)
        asyncio.run(opened(place))


def test_an_embedded_shield_is_pinned_by_what_it_told_us_not_by_the_file(place):
    with place.start() as sidecar:
        write_key(place, bytes(32))
        asyncio.run(opened(place, sidecar))
        assert (place.workspace / "ran.txt").exists()


@contextmanager
def fake_in_place_of(place):
    """Somebody of the same user on the home's socket: token, socket file and modes are all right."""
    fake = FakeShield(place.shield_home)
    fake.publishes = False
    fake.start()
    try:
        yield fake
    finally:
        fake.stop()


def test_a_fake_shield_on_the_socket_opens_no_session(place):
    with place.start() as sidecar:
        real = sidecar.public_key
    with fake_in_place_of(place) as fake:
        impostor(place)  # no key at all
        write_key(place, real)  # the key of the last one
        assert "another Shield" in impostor(place)
        assert not fake.sent("/v1/evaluate")


# --- within a session ----------------------------------------------------------------------------------------------------


async def goes_on(gate, verdict) -> None:
    """Use a permit of before, then ask for another one."""
    done = await gate.run(WRITE, verdict)
    assert isinstance(done, ToolResult)
    assert done.is_error, "a permit of the first one is worth nothing"
    await gate.propose(WRITE)


@pytest.mark.parametrize("how", ["asked to end", "killed"])
def test_a_shield_that_starts_anew_within_a_session_is_not_followed(place, how):
    """The new one is the real one, with the same home, token and log. Its key is another one, and nothing runs."""

    async def drive() -> None:
        first = await asyncio.to_thread(place.start)
        async with gate_of(place, sidecar=first) as gate:
            assert await carried_out(gate)
            (place.workspace / "ran.txt").unlink()
            verdict = await gate.propose(WRITE)
            await asyncio.to_thread(kill if how == "killed" else Sidecar.close, first)
            second = await asyncio.to_thread(place.start)
            try:
                assert second.public_key != first.public_key
                with pytest.raises(GateError):
                    await goes_on(gate, verdict)
                # and the session stays over, even if the old key came back
                write_key(place, first.public_key)
                with pytest.raises(GateError):
                    await gate.propose(WRITE)
            finally:
                await asyncio.to_thread(second.close)

    asyncio.run(drive())
    assert not (place.workspace / "ran.txt").exists()


def test_a_fake_that_takes_over_within_a_session_runs_nothing(place):
    async def drive() -> None:
        first = await asyncio.to_thread(place.start)
        async with gate_of(place, sidecar=first) as gate:
            await gate.propose(WRITE)
            await asyncio.to_thread(kill, first)
            (place.shield_home / "run" / "shield.sock").unlink(missing_ok=True)
            with fake_in_place_of(place) as fake:
                write_key(place, fake.key.public)  # a file changes nothing any more
                with pytest.raises(GateError, match="not the Shield"):
                    await carried_out(gate)
                with pytest.raises(GateError):
                    await gate.propose(WRITE)

    asyncio.run(drive())
    assert not (place.workspace / "ran.txt").exists()


# --- where a session looks for its Shield ----------------------------------------------------------------------------------


def once(place, *, cwd: Path | str = "/", said: str = "look", **env: str) -> subprocess.CompletedProcess[str]:
    """`agentctl run` in an environment; the model reads README.md."""
    with tell({"look": [Turn(text="Nothing to do.")]}) as model:
        return subprocess.run(
            agentctl_command("run", "-w", str(place.workspace), said),
            env={**environ(place, model), **env},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S * 2,
            cwd=cwd,
            check=False,
        )


def test_it_runs_where_nothing_is_wrong(place):
    done = once(place)
    assert (done.returncode, done.stdout.strip()) == (0, "Nothing to do."), done.stderr


@pytest.mark.parametrize("where", ["workspace", "tree", "link", "relative", "others", "file"])
def test_a_home_that_a_project_could_have_made_is_refused(place, where):
    """With a Shield of the project's own behind it, that says yes to everything."""
    home = place.workspace / ".shield"
    if where == "tree":
        (place.workspace.parent / "outer" / ".git").mkdir(parents=True)
        place.workspace = place.workspace.rename(place.workspace.parent / "outer" / "project")
        home = place.workspace.parent / ".shield"
    if where in ("others", "link"):
        home = place.root / "open"
    home.mkdir(mode=0o700)
    given = str(home)
    if where == "link":
        (place.workspace / "home").symlink_to(home)
        given = str(place.workspace / "home")
    if where == "relative":
        given = ".shield"
    with tempfile.TemporaryDirectory(prefix="sh") as short:
        fake = FakeShield(Path(short))
        for name in ("run", "tokens"):
            shutil.rmtree(home / name, ignore_errors=True)
            (home / name).symlink_to(Path(short) / name)
        (Path(short) / "run" / "permit.pub").write_bytes(base64.b64encode(fake.key.public))
        (Path(short) / "run" / "permit.pub").chmod(0o600)
        if where == "others":
            home.chmod(0o777)
        if where == "file":
            shutil.rmtree(home)
            home.write_text("")
        fake.start()
        try:
            done = once(place, cwd=place.workspace, SHIELD_HOME=given)
        finally:
            fake.stop()
    assert done.returncode in (2, 3), done.stdout + done.stderr
    assert "Shield's home" in done.stderr or "SHIELD_HOME" in done.stderr
    assert "Traceback" not in done.stderr
    assert fake.requests == []


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        (".env", "SHIELD_HOME={other}\n", "SHIELD_HOME"),
        (".envrc", "export SHIELD_HOME={other}\n", "SHIELD_HOME"),
        (".env", "AGENTCTL_BASE_URL={url}\n", "AGENTCTL_BASE_URL"),
        (".devcontainer.json", '{{"remoteEnv": {{"AGENTCTL_MODEL": "evil"}}}}', "AGENTCTL_MODEL"),
    ],
)
def test_a_variable_of_the_project_redirects_nothing(place, file, text, name):
    with ground() as other:
        (place.workspace / file).write_text(text.format(other=other.shield_home, url="http://127.0.0.1:9"))
        loaded = {"SHIELD_HOME": str(other.shield_home)} if name == "SHIELD_HOME" else {}
        done = once(place, **loaded)
        assert done.returncode in (2, 3), done.stdout
        assert f"`{name}` is set by the project" in done.stderr
        assert not (other.shield_home / "audit.db").exists(), "no Shield was started there"
        assert not (place.shield_home / "audit.db").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a directory away needs root")
def test_a_home_of_another_user_is_refused(place):
    os.chown(place.shield_home, 65534, 65534)
    done = once(place)
    os.chown(place.shield_home, 0, 0)
    assert done.returncode in (2, 3)
    assert "another user" in done.stderr


# --- our own processes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def hostile_cwd(place):
    """A project whose files have the names of what our programs import."""
    mark = place.root / "imported"
    text = f"import os; open({str(mark)!r}, 'a').write(__name__ + ' ' + str(os.getpid()) + chr(10))\n"
    for name in ("json", "click", "httpx", "sitecustomize", "usercustomize", "encodings", "readline", "jwt", "yaml"):
        (place.workspace / f"{name}.py").write_text(text)
    for name in ("shield", "agentctl", "audit", "uvicorn"):
        (place.workspace / name).mkdir()
        (place.workspace / name / "__init__.py").write_text(text)
    return mark


def test_nothing_is_imported_from_the_directory_that_is_worked_in(place, hostile_cwd):
    done = once(place, cwd=place.workspace, PYTHONSTARTUP=str(place.workspace / "json.py"))
    assert done.returncode == 0, done.stderr
    assert not hostile_cwd.exists(), hostile_cwd.read_text()


def test_the_installed_commands_do_not_import_from_it_either(place, hostile_cwd):
    found = [Path(sys.executable).with_name(name) for name in ("agentctl", "shield")]
    if not all(path.exists() for path in found):
        pytest.skip("the commands are not installed here")
    for path in found:
        done = subprocess.run(
            [str(path), "--help"], cwd=place.workspace, env=environ(place), capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0
    assert not hostile_cwd.exists()


def test_an_import_path_into_the_project_is_refused_and_told(place):
    (place.workspace / "src").mkdir()
    done = once(place, PYTHONPATH=f"{ROOT}{os.pathsep}{place.workspace}/src")
    assert done.returncode in (2, 3), done.stdout
    assert "PYTHONPATH" in done.stderr
    assert not (place.shield_home / "audit.db").exists()


def test_shield_gets_nothing_that_steers_python_or_the_loader(place, hostile_cwd):
    """Even where our own process was started with it: the one that decides is not."""
    bad = {
        "PYTHONPATH": str(place.workspace),
        "PYTHONHOME": str(place.workspace),
        "PYTHONSTARTUP": str(place.workspace / "json.py"),
        "PYTHONUSERBASE": str(place.workspace),
        "PYTHONINSPECT": "1",
        "LD_PRELOAD": str(place.workspace / "evil.so"),
        "LD_LIBRARY_PATH": str(place.workspace),
        "SSL_CERT_FILE": "/nonexistent",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "SHIELD_POLICY": "permissive",
        "SHIELD_SERVICE__TCP": "127.0.0.1:9",
        "SHIELD_TOKEN": "x",
    }
    with start(place.shield_home, workspace=place.workspace, environ={**place.environ(), **bad}) as sidecar:
        if sys.platform == "linux" and os.geteuid() == 0:
            given = Path(f"/proc/{sidecar.pid}/environ").read_bytes().split(b"\0")
            names = {item.partition(b"=")[0].decode() for item in given if item}
            assert names <= {"HOME", "LANG", "PATH", "SHIELD_HOME", "PYTHONPATH", "LC_CTYPE"}
            assert not any(str(place.workspace).encode() in item for item in given)
        asyncio.run(opened(place, sidecar))
    assert not hostile_cwd.exists(), hostile_cwd.read_text()


def test_proxies_and_certificates_of_the_environment_do_not_come_between(place):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
        done = once(place, **dict.fromkeys(names, dead), SSL_CERT_FILE="/nonexistent", SSL_CERT_DIR="/nonexistent")
    assert done.returncode == 0, done.stderr


def test_agentctl_run_never_has_a_token_that_can_answer(place):
    """What asks nobody is given nothing to answer with: not by a pipe, not by a variable, not by a file."""
    with place.start() as sidecar:
        for path in place.shield_home.rglob("*"):
            if path.is_file():
                assert b"shield_approver_" not in path.read_bytes(), path
        assert sidecar.token.startswith("shield_agent_")
    done = once(place)
    assert done.returncode == 0
    assert "asks nobody" in done.stderr


# --- a person's token ------------------------------------------------------------------------------------------------------


def approvals(place, *, cwd: Path, token: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`shield approvals list` with a token from a pipe, as a keyring's tool gives it."""
    read, write = os.pipe()
    os.write(write, token.encode() + b"\n")
    os.close(write)
    try:
        return subprocess.run(
            [sys.executable, "-P", "-m", "shield", "approvals", "--token-fd", str(read), "list"],
            env={**environ(place), **env},
            cwd=cwd,
            pass_fds=(read,),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        os.close(read)


def test_a_persons_token_comes_by_a_pipe(place):
    read, write = os.pipe()
    with place.start(approver_fd=write):
        os.close(write)
        token = os.read(read, 4096).decode().strip()
        os.close(read)
        done = approvals(place, cwd=place.root, token=token)
        assert done.returncode == 0, done.stderr
        assert "no open questions" in done.stderr
        wrong = approvals(place, cwd=place.root, token="shield_approver_" + "0" * 64)
        assert wrong.returncode == 2


def test_a_persons_token_is_not_kept_in_a_file(place):
    with open(place.root / "token", "w+b") as file:
        file.write(b"shield_approver_" + b"0" * 64)
        file.flush()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "shield", "approvals", "--token-fd", str(file.fileno()), "list"],
            env=environ(place),
            pass_fds=(file.fileno(),),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 2
    assert "no pipe" in done.stderr


@pytest.mark.parametrize("how", ["another address", "another home", "a home in the project"])
def test_a_persons_token_is_not_sent_where_a_project_says(place, how):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        home = place.workspace / ".shield" if how == "a home in the project" else place.root / "other"
        home.mkdir(mode=0o700)
        (home / "shield.toml").write_text(f'[service]\ntcp = "{address}"\n')
        (home / "shield.toml").chmod(0o600)
        name, value = ("SHIELD_HOME", str(home)) if "home" in how else ("SHIELD_SERVICE__TCP", address)
        if how != "a home in the project":
            (place.workspace / ".env").write_text(f"{name}={value}\n")
        done = approvals(place, cwd=place.workspace, token="shield_approver_" + "0" * 64, **{name: value})
        assert done.returncode == 2
        assert "project" in done.stderr
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
