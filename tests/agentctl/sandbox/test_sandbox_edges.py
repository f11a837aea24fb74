"""At the edges of a level: ports, sockets without a path, caches, linked code, calls side by side, and real receipts."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from agentctl.errors import SettingsError, ToolError
from agentctl.execute import ShieldGate
from agentctl.sandbox import Sandbox, gather, probe, probing
from agentctl.sandbox.offer import Means, Offer
from agentctl.tools.child import Child
from fake_shield import TOKEN, fake_shield, proposed
from shield.client import AsyncClient
from shield.types import Isolation


def test_a_hidden_port_cannot_be_connected_to(inside, start_driver):
    driver = start_driver(inside.means, inside.user)
    with socket.create_server(("127.0.0.1", 0)) as hidden, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [listener.getsockname()[1] for listener in (hidden, other)]
        driver.ask({"do": "renew", "places": {"ports": ports[:1]}})
        attempts = "; ".join(f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo {port}" for port in ports)
        assert driver(attempts, "none").lines == [str(port) for port in ports]
        assert driver(attempts, "state_hidden").lines == [str(ports[1])]
        fast = (
            f"import socket; s = socket.socket(); s.sendto(b'x', 0x20000000, ('127.0.0.1', {ports[0]})); print('sent')"
        )
        assert driver(f'python3 -c "{fast}"', "state_hidden").stdout == "", "fast open connects by sending"
        assert driver(attempts, "confined").lines == []


def test_a_socket_without_a_path_cannot_be_connected_to(inside):
    name = f"agentctl-canary-{inside.pid}"
    script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect(chr(0) + '{name}'); print('connected')"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen()
        assert inside(f'python3 -c "{script}"', "none").stdout == "connected\n"
        for level in ("state_hidden", "confined"):
            assert inside(f'python3 -c "{script}"', level).stdout == ""


def test_a_socket_in_the_home_cannot_be_connected_to(inside):
    path = inside.world / "home/agent.sock"
    script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{path}'); print('connected')"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        os.chmod(path, 0o777)
        listener.listen()
        try:
            assert inside(f'python3 -c "{script}"', "none").stdout == "connected\n"
            assert inside(f'python3 -c "{script}"', "confined").stdout == ""
        finally:
            path.unlink()


def test_a_host_that_is_not_permitted_is_named(inside):
    if not inside.offer["networks"]:
        pytest.skip("no network namespaces of our own here")
    ask = "exec 3<>/dev/tcp/127.0.0.1/8118; printf 'CONNECT example.com:443 HTTP/1.1\\r\\nHost: example.com:443\\r\\n\\r\\n' >&3; head -1 <&3"
    answer = inside(ask)
    assert " 403 " in answer.stdout, answer
    assert "network refused: example.com:443" in answer.note


def test_caches_are_private_or_declared(inside, start_driver):
    home = inside.world / "home"
    wrote = inside("mkdir -p ~/.cache && echo poison > ~/.cache/pip && cat ~/.cache/pip")
    assert not (home / ".cache/pip").exists(), "the user's own is never written"
    if inside.means == "bubblewrap":
        assert wrote.stdout == "poison\n"
        assert inside("cat ~/.cache/pip").stdout == "poison\n", "kept for the workspace"
    driver = start_driver(inside.means, inside.user)
    declared = driver.world / "home/declared"
    declared.mkdir()
    os.chown(declared, inside.user, inside.user)
    assert driver("echo x > ~/declared/x").exit_code != 0
    driver.ask({"do": "renew", "places": {"caches": [str(declared)]}})
    assert driver("echo x > ~/declared/x; cat ~/declared/x").stdout == "x\n"


def test_no_program_is_put_where_the_users_are(inside, start_driver):
    driver = start_driver(inside.means, inside.user)
    home = driver.world / "home"
    for folder in ("declared/bin", ".cache/env/bin"):
        (home / folder).mkdir(parents=True)
        (home / folder / "tool").write_text("#!/bin/sh\necho theirs\n")
        (home / folder / "tool").chmod(0o755)
    (home / "declared/registry").mkdir()
    for path in (*(home / "declared").rglob("*"), home / "declared", *(home / ".cache").rglob("*"), home / ".cache"):
        os.chown(path, inside.user, inside.user)
    folders = [str(home / "declared/bin"), str(home / ".cache/env/bin")]
    driver.ask({"do": "renew", "places": {"caches": [str(home / "declared")], "programs": folders}})
    assert driver("echo x > ~/declared/registry/x; cat ~/declared/registry/x").stdout == "x\n"
    if inside.means == "bubblewrap":  # Landlock grants what is there beside the programs, and nothing new
        assert driver("echo x > ~/declared/x; cat ~/declared/x").stdout == "x\n"
    for folder in ("declared", ".cache/env"):
        for command in (
            "echo x > ~/F/bin/git",
            "echo x > ~/F/bin/tool",
            "mv ~/F/bin ~/F/old",
            "rm -rf ~/F/bin",
            "ln -sf /bin/true ~/F/bin/tool",
        ):
            driver(command.replace("F", folder))
            assert driver(f"~/{folder}/bin/tool; ls ~/{folder}/bin").stdout == "theirs\ntool\n", command


def test_the_home_of_another_workspaces_cache_is_another(inside, start_driver):
    if inside.means != "bubblewrap":
        pytest.skip("with Landlock nothing can stand for a directory")
    driver = start_driver(inside.means, inside.user)
    driver("echo poison > ~/.cache/pip")
    driver.ask({"do": "renew", "places": {"workspace_roots": [str(driver.world / "other")]}})
    assert driver("cat ~/.cache/pip", cwd=str(driver.world / "other")).stdout == ""


def test_a_place_of_ours_that_cannot_be_written_is_no_finding_about_the_machine(tmp_path, monkeypatch):
    def offered(data):
        folders = {name: tmp_path / name for name in ("shield_home", "home", "config")}
        return probe(gather(**folders, workspace_roots=[str(tmp_path / "ws")], data=data, path_env=""))

    monkeypatch.setattr(probing, "_shared_code", lambda: None)
    monkeypatch.setattr(probing, "candidates", lambda _: iter(()))
    assert offered(Path("/dev/null/x")).levels == (Isolation.NONE,), "nothing would hold here in any case"
    monkeypatch.setattr(probing, "candidates", lambda _: iter((Offer(means=Means.LANDLOCK),)))
    with pytest.raises(SettingsError, match="set XDG_DATA_HOME elsewhere"):
        offered(Path("/dev/null/x"))
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/x")
    with pytest.raises(SettingsError, match="set TMPDIR elsewhere"):
        offered(tmp_path / "data")


def test_code_with_a_second_name_offers_nothing(tmp_path):
    """A hard link to code that runs here could be written by its other name; copied code is fine."""
    script = """
import os, sys
sys.path.insert(0, sys.argv[1])
import linked
from pathlib import Path
from agentctl.sandbox import gather, probe
base = Path(sys.argv[1])
names = ("ws", "home", "shield", "config", "data")
for name in names: (base / name).mkdir()
offer = probe(gather(shield_home=base / "shield", workspace_roots=[str(base / "ws")], home=base / "home", config=base / "config", data=base / "data", path_env=""))
print(len(offer.levels), *offer.reasons)
"""
    for name, linked in (("a", False), ("b", True)):
        base = tmp_path / name
        base.mkdir()
        (base / "linked.py").write_text("")
        if linked:
            os.link(base / "linked.py", base / "other.py")
        env = {"PYTHONPATH": str(Path(__file__).resolve().parents[3]), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", script, str(base)], capture_output=True, text=True, env=env, check=True
        )
        assert ("has a second name" in done.stdout) is linked, done.stdout


def test_a_domain_cannot_be_left_by_what_it_inherits(inside):
    """What a confined command starts is confined: by exec, by fork, in the background, by another shell."""
    secret = inside.world / "shield/secret"
    for level in ("state_hidden", "confined"):
        command = f"(cat {secret}) ; env -i /bin/sh -c 'cat {secret}'; setsid -w cat {secret}; nohup cat {secret}; find {secret} -exec cat {{}} +"
        assert "SECRET" not in inside(command, level).stdout


def test_a_second_mount_of_the_same_place_is_hidden(inside, start_driver, gone):
    """Where root's tests can make one: Shield's home, seen once more by a bind mount."""
    if os.geteuid() != 0:
        pytest.skip("only root makes a mount")
    driver = start_driver(inside.means, inside.user)
    second = driver.world / "second"
    second.mkdir()
    subprocess.run(["mount", "--bind", str(driver.world / "shield"), str(second)], check=True)
    try:
        driver.ask({"do": "renew", "places": {}})
        assert "SECRET" in driver(f"cat {second}/secret", "none").stdout
        for level in ("state_hidden", "confined"):
            assert "SECRET" not in driver(f"cat {second}/secret", level).stdout
    finally:
        subprocess.run(["umount", str(second)], check=True)


# --- in this process -----------------------------------------------------------------------------------------------------


@pytest.fixture
def sandbox(tmp_path):
    """The best that this machine offers to whoever runs the tests."""
    base = Path(os.path.realpath(tmp_path))
    for name in ("ws", "home", "shield", "config", "data"):
        (base / name).mkdir()
    places = gather(
        shield_home=base / "shield",
        workspace_roots=[str(base / "ws")],
        home=base / "home",
        config=base / "config",
        data=base / "data",
        path_env="/usr/bin:/bin",
    )
    offer = probe(places)
    if Isolation.CONFINED not in offer.levels:
        pytest.skip(f"no sandbox holds here: {offer.reasons}")
    with Sandbox(places, offer) as made:
        yield made


def test_probing_leaves_nothing_behind(sandbox):
    data = Path(sandbox.places.scratch)
    assert [name for name in os.listdir(data) if "canary" in name] == []
    assert [name for name in os.listdir(sandbox.places.home) if "canary" in name] == []


def test_many_calls_at_once(sandbox):
    workspace = sandbox.places.workspace_roots[0]
    found: dict[int, str] = {}

    def call(number: int) -> None:
        descriptor = os.open(workspace, os.O_RDONLY)
        try:
            argv = ("/bin/sh", "-c", f"sleep 0.0{number % 5}; echo {number}")
            child = Child(argv=argv, env={"PATH": "/usr/bin:/bin"}, cwd=descriptor, timeout_s=30)
            output = sandbox.trial(child, tuple(Isolation)[number % 3])
            found[number] = "".join(part.text for part in output.parts)
        finally:
            os.close(descriptor)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {number: f"{number}\n" for number in range(12)}


def test_a_large_order_arrives(sandbox):
    descriptor = os.open(sandbox.places.workspace_roots[0], os.O_RDONLY)
    try:
        env = {"PATH": "/usr/bin:/bin", **{f"N{number}": "x" * 100_000 for number in range(10)}}
        argv = ("/bin/sh", "-c", "echo ${#N0} ${#N9}; wc -c", "y" * 100_000)
        child = Child(argv=argv, env=env, cwd=descriptor, timeout_s=30, stdin=b"z" * 1_000_000)
        for level in Isolation:
            output = sandbox.trial(child, level)
            assert "".join(part.text for part in output.parts).split() == ["100000", "100000", "1000000"], output
    finally:
        os.close(descriptor)


def test_closing_ends_everything_before_it_returns(sandbox):
    descriptor = os.open(sandbox.places.workspace_roots[0], os.O_RDONLY)
    child = Child(
        argv=("/bin/sh", "-c", "touch begun; sleep 600"), env={"PATH": "/usr/bin:/bin"}, cwd=descriptor, timeout_s=60
    )
    call = threading.Thread(target=sandbox.trial, args=(child, Isolation.CONFINED))
    call.start()
    begun = Path(sandbox.places.workspace_roots[0]) / "begun"
    while not begun.exists():
        time.sleep(0.01)
    sandbox._plain.ahead()
    spawner = sandbox._plain.pid
    beneath = descendants(spawner)
    assert len(beneath) >= 3
    sandbox.close()
    assert [pid for pid in (spawner, *beneath) if Path(f"/proc/{pid}").exists()] == []
    call.join(30)
    os.close(descriptor)
    assert not [name for name in os.listdir(sandbox.places.scratch) if name.startswith("session-")]


def descendants(pid: int) -> list[int]:
    below = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*below, *(further for child in below for further in descendants(child))]


def test_a_receipts_command_runs_in_it(sandbox):
    """Through the gate: a command that was judged whole runs where the state is hidden; cancelling ends it."""
    workspace = Path(sandbox.places.workspace_roots[0])

    async def through() -> tuple[str, str]:
        with fake_shield() as fake:
            async with AsyncClient(fake.endpoint, TOKEN) as client:
                gate = ShieldGate(client, await client.open_session([str(workspace)]), sandbox=sandbox)
                first = await run(gate, "grep NoNewPrivs /proc/self/status; touch new; setsid sleep 600 & exit 4")
                proposal = proposed("execute_command", {"command": "touch begun; sleep 600"})
                verdict = await gate.propose(proposal)
                task = asyncio.ensure_future(gate.run(proposal, verdict))
                while not (workspace / "begun").exists():  # noqa: ASYNC110  # a file, made by a child
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return first, fake.statuses()[-1]

    async def run(gate: ShieldGate, command: str) -> str:
        proposal = proposed("execute_command", {"command": command})
        return (await gate.run(proposal, await gate.propose(proposal))).content

    content, status = asyncio.run(asyncio.wait_for(through(), 60))
    assert content.startswith("NoNewPrivs:\t1\n[exit code 4"), content
    assert status == "cancelled"
    assert (workspace / "new").exists()


def test_after_the_end_nothing_starts(sandbox):
    sandbox.close()
    descriptor = os.open(sandbox.places.workspace_roots[0], os.O_RDONLY)
    try:
        child = Child(argv=("/bin/sh", "-c", "touch ran"), env={}, cwd=descriptor, timeout_s=5)
        with pytest.raises(ToolError, match="the session has ended"):
            sandbox.trial(child, Isolation.NONE)
    finally:
        os.close(descriptor)
    assert not os.path.exists(f"{sandbox.places.workspace_roots[0]}/ran")
