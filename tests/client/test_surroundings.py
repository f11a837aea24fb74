"""Where a Shield may live, whose key it is, and what a project may not set."""

import base64
import json
import os
import socket
import sys
import threading
import zlib
from pathlib import Path

import pytest

import shield
from fake_shield import TOKEN
from shield.client import AsyncClient, Client, Endpoint, check_home, pinned_key, refuse_project
from shield.client.endpoint import check_peer
from shield.errors import ClientError, Reason

KEY = bytes(range(32))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")


@pytest.fixture
def base(tmp_path):
    """A person's home directory with a project in it."""
    for name in ("user/project/.git", "user/project/sub", "user/.shield/run", "elsewhere"):
        (tmp_path / name).mkdir(mode=0o700, parents=True)
    return tmp_path.resolve()


def refused(work, *arguments, **more) -> str:
    with pytest.raises(ClientError) as caught:
        work(*arguments, **more)
    assert caught.value.reason is Reason.SERVICE_IMPOSTOR
    return caught.value.detail


# --- the key -----------------------------------------------------------------------------------------------------------


def publish(base: Path, text: bytes | None = None) -> Path:
    path = base / "user" / ".shield" / "run" / "permit.pub"
    path.write_bytes(base64.b64encode(KEY) + b"\n" if text is None else text)
    path.chmod(0o600)
    return path


def test_the_key_is_read(base):
    publish(base)
    assert pinned_key(base / "user" / ".shield") == KEY


@pytest.mark.parametrize("text", [b"", b"\n", b"x", base64.b64encode(KEY[:-1]), base64.b64encode(KEY + b"x"), KEY])
def test_what_is_no_key_is_refused(base, text):
    publish(base, text)
    refused(pinned_key, base / "user" / ".shield")


def test_a_key_that_another_could_have_put_there_is_refused(base):
    home = base / "user" / ".shield"
    assert "missing" in refused(pinned_key, home)
    path = publish(base)
    for mode in (0o644, 0o660, 0o602):
        path.chmod(mode)
        refused(pinned_key, home)
    path.chmod(0o600)
    for mode in (0o755, 0o770, 0o707):
        path.parent.chmod(mode)
        refused(pinned_key, home)
    path.parent.chmod(0o700)
    assert pinned_key(home) == KEY
    path.rename(base / "elsewhere" / "permit.pub")
    path.symlink_to(base / "elsewhere" / "permit.pub")
    refused(pinned_key, home)
    path.unlink()
    os.mkfifo(path, 0o600)
    refused(pinned_key, home)
    path.unlink()
    path.parent.rename(base / "elsewhere" / "run")
    path.parent.symlink_to(base / "elsewhere" / "run")
    refused(pinned_key, home)


@needs_root
def test_a_key_of_another_user_is_refused(base):
    path = publish(base)
    os.chown(path, 65534, 65534)
    refused(pinned_key, base / "user" / ".shield")
    os.chown(path, 0, 0)
    os.chown(path.parent, 65534, 65534)
    refused(pinned_key, base / "user" / ".shield")


# --- who listens -------------------------------------------------------------------------------------------------------


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="SO_PEERCRED")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_listener_of_another_user_gets_no_byte(base, asynchronous):
    """The socket file is ours in every way; the process behind it is not."""
    import asyncio

    path = base / "user" / ".shield" / "run" / "s"
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    listener.bind(str(path))
    os.umask(before)
    os.seteuid(65534)  # whose process listens is said by who called listen(2)
    try:
        listener.listen(4)
    finally:
        os.seteuid(0)
    heard: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                heard.append(connection.recv(4096))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()

    async def later() -> None:
        async with AsyncClient(Endpoint(socket=path), TOKEN) as client:
            await client.ready()

    def now() -> None:
        with Client(Endpoint(socket=path), TOKEN) as client:
            client.ready()

    with pytest.raises(ClientError) as caught:
        asyncio.run(later()) if asynchronous else now()
    assert caught.value.reason is Reason.SERVICE_UNREACHABLE
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)
    assert b"".join(heard) == b""


def test_a_listener_of_ours_is_talked_to():
    one, two = socket.socketpair(socket.AF_UNIX)
    with one, two:
        check_peer(one)
    with socket.socket(socket.AF_INET) as tcp, pytest.raises(ConnectionRefusedError):
        check_peer(tcp)


# --- the home ----------------------------------------------------------------------------------------------------------


def check(base: Path, home: Path | str, workspace: str = "user/project/sub") -> None:
    check_home(Path(home), workspace=base / workspace, user=base / "user")


def test_homes_that_a_person_may_choose(base):
    os.chmod(base, 0o1777)  # sticky, as /tmp is
    (base / "elsewhere" / "link").symlink_to(base / "user" / ".shield")
    for home in ("user/.shield", "elsewhere", "elsewhere/not/made/yet", "elsewhere/link"):
        check(base, base / home)
    # settings under version control: the tree around the project is the person's own home
    (base / "user" / "project" / ".git").rmdir()
    (base / "user" / ".git").mkdir()
    check(base, base / "user" / ".shield")
    # a person who stands in their own home directory
    check(base, base / "user" / ".shield", "user")
    check(base, base / "user" / ".shield", ".")


@pytest.mark.parametrize("home", ["user/project/sub/.shield", "user/project/sub", "user/project/.shield"])
def test_a_home_in_the_project_is_refused(base, home):
    assert "project" in refused(check, base, base / home)
    (base / "elsewhere" / "link").symlink_to(base / home)
    refused(check, base, base / "elsewhere" / "link")
    refused(check, base, base / "elsewhere" / ".." / home)


def test_a_home_that_is_a_link_out_of_the_project_is_refused(base):
    """The link is the project's: it can lead elsewhere tomorrow."""
    link = base / "user" / "project" / "sub" / "home"
    link.symlink_to(base / "elsewhere")
    assert "project" in refused(check, base, link)


def test_a_home_that_others_can_write_is_refused(base):
    home = base / "elsewhere" / "home"
    home.mkdir()
    for path, modes in ((home, (0o777, 0o770, 0o1777)), (home.parent, (0o777, 0o775))):
        for mode in modes:
            path.chmod(mode)
            assert "others can write" in refused(check, base, home)
        path.chmod(0o700)
    check(base, home)
    (base / "elsewhere" / "file").write_text("")
    refused(check, base, base / "elsewhere" / "file")
    refused(check, base, base / "elsewhere" / "file" / "home")
    refused(check, base, "relative/home")


@needs_root
def test_a_home_of_another_user_is_refused(base):
    home = base / "elsewhere" / "home"
    home.mkdir()
    for path in (home, home.parent):
        os.chown(path, 65534, 65534)
        assert "another user" in refused(check, base, home)
        os.chown(path, 0, 0)
    link = base / "link"
    link.symlink_to(home)
    os.lchown(link, 65534, 65534)
    refused(check, base, link)


# --- what a project sets -------------------------------------------------------------------------------------------------


def refuse(base: Path, environ: dict[str, str], workspace: str = "user/project/sub", **more) -> None:
    refuse_project(
        {"HOME": str(base / "user"), "PATH": "/usr/bin", **environ}, base / workspace, user=base / "user", **more
    )


@pytest.mark.parametrize(
    "file",
    [
        *(".env", ".envrc", ".env.local", "mise.toml", ".mise.toml", ".devcontainer.json", ".vscode/settings.json"),
        *("mise.dev.toml", ".mise/config.toml", ".devcontainer/gpu/devcontainer.json", "team.code-workspace"),
        *(".zed/settings.json", "devbox.json", "pixi.toml", ".gitpod.yml"),
    ],
)
@pytest.mark.parametrize("folder", ["user/project", "user/project/sub"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SHIELD_HOME", "SHIELD_HOME=/evil\n"),
        ("SHIELD_HOME", "export SHIELD_HOME=/evil\n"),
        ("SHIELD_HOME", '{"remoteEnv": {"SHIELD_HOME": "/evil"}}'),
        ("SHIELD_SERVICE__TCP", "# x\nSHIELD_SERVICE__TCP = '127.0.0.1:1'"),
        ("SHIELD_TOKEN", "SHIELD_TOKEN=x"),
        ("AGENTCTL_BASE_URL", "AGENTCTL_BASE_URL=https://evil.example/"),
        ("AGENTCTL_KEY_ENV", "A=1\nAGENTCTL_KEY_ENV=GITHUB_TOKEN"),
        ("XDG_CONFIG_HOME", "XDG_CONFIG_HOME=$PWD/.config"),
        ("XDG_STATE_HOME", "XDG_STATE_HOME=$PWD/.state"),
        ("HOME", "HOME=/evil"),
        ("PYTHONPATH", "PYTHONPATH=src"),
        ("LD_PRELOAD", "LD_PRELOAD=./x.so"),
        ("PYTHONPYCACHEPREFIX", "PYTHONPYCACHEPREFIX=.cache"),
        ("OPENSSL_CONF", "OPENSSL_CONF=./ssl.cnf"),
    ],
)
def test_a_variable_that_a_file_of_the_project_sets_is_refused(base, folder, file, name, text):
    path = base / folder / file
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    said = refused(refuse, base, {name: "x"})
    assert f"`{name}`" in said
    assert str(path) in said
    if name != "HOME":
        refuse(base, {})  # not loaded: nothing happened


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"SHIELD_HOME": "/own", "OPENAI_API_KEY": "k"}, "OPENAI_API_KEY=k\nPORT=80\n"),
        ({"SHIELD_HOME": "/own"}, "PATH_add $SHIELD_HOME/bin\nX=${SHIELD_HOME:-/x}\nMY_SHIELD_HOME=/x\n"),
        ({}, "JAVA_HOME=/x\nexport GOPATH=$HOME/go\n"),
        ({"XDG_RUNTIME_DIR": "/run/user/0"}, "XDG_RUNTIME_DIR=/x\n"),
    ],
)
def test_what_a_profile_sets_and_a_project_says_beside_it_is_fine(base, environ, text):
    (base / "user" / "project" / ".env").write_text(text)
    refuse(base, environ)


def test_a_file_above_the_project_is_the_persons(base):
    (base / "user" / ".env").write_text("SHIELD_HOME=/own\n")
    refuse(base, {"SHIELD_HOME": "/own"})
    refuse(base, {"SHIELD_HOME": "/own"}, "user")


def diff(*names: str) -> str:
    shape = {"p": {}, "n": dict.fromkeys(names, "x")}
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(shape).encode())).decode()


def test_a_variable_that_direnv_set_is_refused(base):
    (base / "user" / "project" / ".envrc").write_text("n=SHIELD; export ${n}_HOME=/evil\n")
    told = {"DIRENV_DIFF": diff("PATH", "SHIELD_HOME"), "DIRENV_FILE": "/p/.envrc"}
    assert "/p/.envrc" in refused(refuse, base, {"SHIELD_HOME": "/evil", **told})
    refuse(base, {"SHIELD_HOME": "/own", "DIRENV_DIFF": diff("PATH", "PORT")})
    for broken in ("x", "AAAA", diff()[:-6], base64.urlsafe_b64encode(zlib.compress(b"[]")).decode()):
        refused(refuse, base, {"SHIELD_HOME": "/own", "DIRENV_DIFF": broken})
        refuse(base, {"DIRENV_DIFF": broken})


def test_a_bomb_is_not_unpacked(base):
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * (64 * 1024 * 1024))).decode()
    refused(refuse, base, {"SHIELD_HOME": "/own", "DIRENV_DIFF": bomb})


def test_a_folder_for_a_key_is_refused(base):
    (base / "user" / ".shield" / "run" / "permit.pub").mkdir()
    refused(pinned_key, base / "user" / ".shield")


def test_files_that_cannot_be_read_do_no_harm(base):
    os.mkfifo(base / "user" / "project" / ".env")
    (base / "user" / "project" / ".env.local").mkdir()
    (base / "user" / "project" / ".envrc").symlink_to(base / "nowhere")
    (base / "user" / "project" / ".env.big").write_bytes(b"\xff" * 10_000)
    refuse(base, {"SHIELD_HOME": "/own"})


def test_an_import_path_in_the_project_is_refused(base):
    project = base / "user" / "project"
    for entry in (str(project), str(project / "sub"), str(project / "src")):
        assert "PYTHONPATH" in refused(refuse, base, {}, import_path=["/usr/lib/python3", entry])
    refuse(base, {}, import_path=["/usr/lib/python3", str(base / "elsewhere")])
    # agentctl installed in the project's own environment
    venv = project / ".venv"
    refuse(base, {}, import_path=[str(venv / "lib" / "python3" / "site-packages")], prefixes=[str(venv)])


def test_our_own_checkout_may_be_the_project():
    root = Path(shield.__file__).resolve().parents[1]
    refuse_project({}, root, user=Path("/nobody"), import_path=[str(root), str(root / "tests")])
