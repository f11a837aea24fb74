"""What is guarded on a machine: found out from the Python that runs us, told to executors, and enforced by a real Shield."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import shield
from guarded import ground
from service_harness import call
from shield.config.home import Home, agent_homes
from shield.config.sections import Config
from shield.facts.place import Protected
from shield.protection import protect
from shield.service.guarded import hidden, own_processes, processes_of, protected
from shield.service.installation import PACKAGES, installation
from shield.types import CommandFact, Dynamic, Facts, Hidden

ROOT = Path(__file__).resolve().parents[2]
SHIELD = str(Path(shield.__file__).resolve().parent)


@pytest.fixture
def folder():
    path = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    yield path
    shutil.rmtree(path)


def look(folder, **given):
    home = Home(path=f"{folder}/h")
    installed = installation(**{"import_path": (), "modules": {}, **given})
    return protected(home, Config(), pids=frozenset(), installed=installed)


def test_without_a_configuration_the_same_files_are_guarded():
    """`shield check` judges without reading `shield.toml`."""
    plain, configured = Protected(), Config().protection
    assert (plain.identity, plain.instructions, plain.memory) == (
        configured.identity,
        configured.instructions,
        configured.memory,
    )


def covers(guarded, path):
    return any(path == root or path.startswith(f"{root}/") for root in guarded.code)


def test_every_entry_of_the_import_path_counts_also_what_is_not_there(folder):
    os.makedirs(f"{folder}/real")
    os.symlink(f"{folder}/real", f"{folder}/link")
    path = ("", ".", "relative", "/", f"{folder}/missing", f"{folder}/python311.zip", f"{folder}/link")
    guarded = look(folder, import_path=path)
    assert {f"{folder}/missing", f"{folder}/python311.zip", f"{folder}/link", f"{folder}/real"} <= set(guarded.code)
    assert not {"", "/", ".", os.getcwd(), os.path.abspath("relative")} & (set(guarded.code) - {str(ROOT)})


def test_an_environment_is_guarded_as_a_whole(folder):
    Path(folder, "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    os.makedirs(f"{folder}/bin")
    os.symlink("/usr/bin/python3", f"{folder}/bin/python")
    guarded = look(folder, prefix=folder, base_prefix="/usr", executable=f"{folder}/bin/python")
    for name in ("pyvenv.cfg", "bin/python", "bin/activate", "lib/python3.11/site-packages/x.pth", "lib64", "share"):
        assert covers(guarded, f"{folder}/{name}"), name
    assert covers(guarded, os.path.realpath("/usr/bin/python3"))
    assert not covers(guarded, "/usr/share/x")


def test_the_users_own_packages_count_where_the_next_start_imports_them(folder):
    user = os.path.expanduser("~")
    config = Path(folder, "pyvenv.cfg")
    found = {}
    for shared in ("false", "true"):
        config.write_text(f"home = /usr/bin\ninclude-system-site-packages = {shared}\n")
        guarded = look(folder, prefix=folder, base_prefix="/usr", executable=f"{folder}/bin/python")
        found[shared] = any(
            root.startswith(f"{user}/") and "site-packages" in root
            for root in guarded.code
            if folder not in root and not root.startswith(sys.prefix)
        )
    assert found == {"false": False, "true": True}
    plain = look(folder, prefix="/usr", base_prefix="/usr", executable="/usr/bin/python3")
    assert any("site-packages" in root and root.startswith(user) for root in plain.code)


def test_a_python_of_the_users_is_guarded_but_not_the_packages_that_we_do_not_import(folder):
    lib = os.path.dirname(os.__file__)
    guarded = look(folder, prefix=folder, base_prefix=sys.base_prefix, executable=f"{folder}/bin/python")
    assert covers(guarded, f"{lib}/os.py")
    assert f"{lib}/site-packages" in guarded.apart
    used = look(folder, import_path=(f"{lib}/site-packages",), prefix=sys.base_prefix, base_prefix=sys.base_prefix)
    assert f"{lib}/site-packages" not in used.apart


def test_commands_are_guarded_wherever_people_find_them(folder):
    os.makedirs(f"{folder}/a/bin")
    os.makedirs(f"{folder}/tool/bin")
    Path(folder, "tool/bin/shield").write_text("#!/x\n")
    os.symlink(f"{folder}/tool/bin/shield", f"{folder}/a/bin/shield")
    guarded = look(folder, path=f"{folder}/a/bin:relative::{folder}/none")
    wanted = {
        f"{folder}/a/bin/shield",
        f"{folder}/tool/bin/shield",
        f"{folder}/a/bin/agentctl",
        f"{folder}/none/shield",
    }
    assert wanted <= set(guarded.code)
    assert f"{folder}/a/bin" not in guarded.code
    # by a link to the directory, too: what stands there is a link again, and both may be replaced
    os.symlink(f"{folder}/a/bin", f"{folder}/l")
    guarded = look(folder, path=f"{folder}/l")
    assert {f"{folder}/l/shield", f"{folder}/a/bin/shield", f"{folder}/tool/bin/shield"} <= set(guarded.code)


def test_modules_are_guarded_wherever_they_were_found(folder):
    package, plain, main = ModuleType("pkg"), ModuleType("plain"), ModuleType("__main__")
    package.__file__, package.__path__ = f"{folder}/editable/pkg/__init__.py", [f"{folder}/editable/pkg"]
    plain.__file__ = f"{folder}/other/plain.py"
    main.__file__ = f"{folder}/bin/tool"
    guarded = look(folder, modules={"pkg": package, "plain": plain, "__main__": main, "built": ModuleType("built")})
    assert covers(guarded, f"{folder}/editable/pkg/deep/x.py")
    assert covers(guarded, f"{folder}/other/plain.py")
    assert not covers(guarded, f"{folder}/other/neighbour.py")
    assert not covers(guarded, f"{folder}/bin/tool")


def test_a_command_line_that_is_no_text_is_still_searched(folder):
    home = Home(path=f"{folder}/h")
    installed = replace(installation(modules={}), command=("/x/python", "\udcff-m"))
    guarded = protected(home, Config(), pids=frozenset(), installed=installed)
    command = CommandFact(name="pkill", argv=("pkill", "-f", "x/python"), dynamic=Dynamic.NONE)
    facts = Facts(commands=(command,), unknown=(), malformed=False)
    assert [opinion.rule for opinion in protect(facts, guarded)] == ["protection.process"]


def test_a_second_name_of_what_is_imported_is_noticed(folder):
    module = ModuleType("m")
    module.__file__ = f"{folder}/m.py"
    Path(module.__file__).write_text("")
    assert installation(modules={"m": module}).linked is None
    os.link(module.__file__, f"{folder}/n.py")
    assert installation(modules={"m": module}).linked == module.__file__


def test_our_own_packages_are_known():
    found = installation()
    for name in PACKAGES:
        assert any(os.path.basename(path) == name for path in found.own), name
    assert found.own <= found.code


def test_a_real_environment_that_finds_us_by_a_path_file(folder):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", f"{folder}/v"], check=True, timeout=120)
    (site,) = Path(f"{folder}/v/lib").glob("python*/site-packages")
    libraries = next(entry for entry in sys.path if entry.endswith("site-packages"))
    (site / "__editable__.shield.pth").write_text(f"{ROOT}\n{libraries}\n")
    script = (
        "import json, sys; from shield.service.installation import installation; found = installation();"
        "print(json.dumps([sorted(found.code), sorted(found.own), sorted(found.apart)]))"
    )
    done = subprocess.run(
        [f"{folder}/v/bin/python", "-P", "-c", script],
        env={"HOME": folder},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    code, own, apart = map(set, json.loads(done.stdout))
    assert {f"{folder}/v", str(site), str(ROOT), libraries, str(ROOT / "shield")} <= code
    assert {str(ROOT / name) for name in PACKAGES} <= own
    assert not any(path.startswith(f"{folder}/v") for path in apart)
    assert not any(path.startswith(f"{folder}/.local") for path in code)


def test_what_executors_hide(folder):
    guarded = Protected(
        state=(f"{folder}/h", f"{folder}/h/run/shield.sock", f"{folder}/checkpoints"),
        code=("/usr/lib/python3.11",),
        own=(f"{folder}/venv/lib/shield", f"{folder}/venv/lib/shield/cli"),
        ports=frozenset({8471, 8470}),
    )
    assert hidden(guarded) == Hidden(
        paths=(f"{folder}/checkpoints", f"{folder}/h", f"{folder}/venv/lib/shield"), ports=(8470, 8471)
    )


def test_a_socket_elsewhere_does_not_take_its_directory_along(folder):
    config = Config.model_validate({"service": {"socket": f"{folder}/run/s.sock"}})
    guarded = protected(Home(path=f"{folder}/h"), config, pids=frozenset(), installed=installation(modules={}))
    assert f"{folder}/run/s.sock" in guarded.state
    assert f"{folder}/run" not in guarded.state
    assert guarded.ports == frozenset()


def test_state_that_is_kept_elsewhere(folder):
    environ = {"HOME": f"{folder}/u", "XDG_CONFIG_HOME": f"{folder}/xdg", "XDG_DATA_HOME": "relative"}
    places = agent_homes(environ)
    assert places == (f"{folder}/xdg/agentctl", f"{folder}/u/.local/share/agentctl")
    elsewhere = (*places, f"{folder}/usb")
    guarded = protected(Home(path=f"{folder}/h"), Config(), pids=frozenset(), elsewhere=elsewhere)
    assert set(elsewhere) <= set(guarded.state)
    assert set(elsewhere) <= set(hidden(guarded).paths)


def test_a_home_is_guarded_by_the_name_that_it_was_given_too(folder):
    os.makedirs(f"{folder}/real/h")
    os.symlink(f"{folder}/real", f"{folder}/named")
    os.symlink(f"{folder}/named/h", f"{folder}/link")
    home = Home(path=f"{folder}/real/h", given=f"{folder}/link")
    state = protected(home, Config(), pids=frozenset(), installed=installation(import_path=(), modules={})).state
    assert {f"{folder}/real/h", f"{folder}/link"} <= set(state)


def test_processes_and_their_groups():
    own = own_processes(embedded=False)
    assert {os.getpid(), os.getpgid(0)} <= own
    assert os.getppid() in own_processes(embedded=True) | {0, 1}
    assert processes_of(None) == processes_of(0) == processes_of(1) == processes_of(-1) == frozenset()
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    assert processes_of(child.pid) == {child.pid}
    child.kill()
    child.wait()
    assert processes_of(child.pid) == {child.pid}


def test_a_real_shield_guards_itself_and_who_asks():
    with ground() as place, place.start() as sidecar:
        token = sidecar.token
        path = str(sidecar.endpoint.socket)

        def post(target, value):
            return call(path, "POST", target, token=token, body=json.dumps(value).encode()).json()

        session = post("/v1/sessions", {"workspace_roots": [str(place.workspace)], "isolation": "none"})
        assert {str(place.shield_home), SHIELD} <= set(session["hidden"]["paths"])
        assert session["hidden"]["ports"] == []

        def judged(command):
            action = {"type": "execute_command", "payload": {"command": command}, "session": session["session"]}
            return post("/v1/evaluate", action)

        for command in (
            f"kill {sidecar.pid}",
            f"kill {os.getpid()}",
            f"kill -- -{os.getpgid(0)}",
            f"gdb -p {os.getpid()}",
            f"cat /proc/{sidecar.pid}/status",
            "pkill -f -- --embedded",
            f"{sys.executable} -m pip install x",
            f"echo x > {SHIELD}/evil.py",
            f"cat {place.shield_home}/audit.db",
        ):
            verdict = judged(command)
            assert verdict["decision"] == "BLOCK", command
            assert any(ours in verdict["reason"] for ours in ("Shield", "guards this agent")), (command, verdict)
        other = subprocess.Popen(["sleep", "60"], start_new_session=True)
        try:
            # nobody is there to be asked
            assert "needs a person" in judged(f"kill {other.pid}")["reason"]
        finally:
            other.kill()
            other.wait()


OPENS = """
import json, sys
sys.path[:0] = {path!r}
from service_harness import call
value = {{"workspace_roots": [sys.argv[3]], "isolation": "none"}}
answer = call(sys.argv[1], "POST", "/v1/sessions", token=sys.argv[2], body=json.dumps(value).encode())
print(answer.json()["session"], flush=True)
sys.stdin.read()
"""


def test_the_process_that_opened_a_session_is_guarded_in_it():
    script = OPENS.format(path=[str(ROOT / "tests")])
    with ground() as place, place.start() as sidecar:
        path, token = str(sidecar.endpoint.socket), sidecar.token
        agent = subprocess.Popen(
            [sys.executable, "-c", script, path, token, str(place.workspace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            session = agent.stdout.readline().strip()
            action = {"type": "execute_command", "payload": {"command": f"kill {agent.pid}"}}

            def reason(**more):
                body = json.dumps({**action, **more}).encode()
                return call(path, "POST", "/v1/evaluate", token=token, body=body).json()["reason"]

            assert "Shield's and agentctl's processes" in reason(session=session)
            assert "needs a person" in reason()
        finally:
            agent.communicate("", timeout=20)


def test_the_port_that_is_listened_on_is_the_one_that_is_guarded():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        config = Config.model_validate({"service": {"tcp": "127.0.0.1:0"}})
        port = probe.getsockname()[1]
        guarded = protected(Home(path="/nonexistent/h"), config, pids=frozenset(), ports=frozenset({port}))
        assert guarded.ports == {port}
        assert protected(Home(path="/nonexistent/h"), config, pids=frozenset()).ports == frozenset()
