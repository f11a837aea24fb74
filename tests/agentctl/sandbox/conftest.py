"""A sandbox in a process of its own, so that it can be another user's: each means, as root and as nobody."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from temporary_files import free_name, open_files, own, shared

__all__ = ["free_name", "open_files", "own", "shared"]

ROOT = Path(__file__).resolve().parents[3]
DRIVER = Path(__file__).with_name("sandbox_driver.py")
NOBODY = 65534
MEANS = ("bubblewrap", "landlock")


@dataclass
class Answer:
    """What one command did; `error` where it was not run."""

    stdout: str
    stderr: str
    exit_code: int | None
    note: str
    status: str
    error: str | None

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()


class Driver:
    """Sends steps to `sandbox_driver.py` and gives back its answers."""

    def __init__(self, world: Path, means: str, user: int, interpreter: str) -> None:
        self.world = world
        self.means = means
        self.user = user
        command = [interpreter, "-B", str(DRIVER), str(world), means]
        if user != os.geteuid():
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(world / "home"), "PYTHONPATH": import_path()}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/", env=env, text=True, start_new_session=True
        )
        self.offer = self._read()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def spawner(self) -> int:
        return self.ask({"do": "spawner"})["pid"]

    def __call__(self, command: str, level: str = "confined", **more: Any) -> Answer:
        """Run a shell command at a level."""
        return Answer(**self.ask({"do": "run", "command": command, "level": level, **more}))

    def begin(self, command: str, level: str = "confined", **more: Any) -> None:
        """Start one and do not wait; `end` gives its answer."""
        self._send({"do": "run", "command": command, "level": level, **more})

    def end(self) -> Answer:
        return Answer(**self._read())

    def aside(self, command: str, level: str = "confined", **more: Any) -> None:
        """Start one in a thread of its own, so that others may run meanwhile; `join` gives its answer."""
        self.ask({"do": "aside", "command": command, "level": level, **more})

    def join(self) -> Answer:
        return Answer(**self.ask({"do": "join"}))

    def ask(self, step: dict[str, Any]) -> dict[str, Any]:
        self._send(step)
        return self._read()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()

    def _send(self, step: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the driver has ended; its trouble is on stderr"
        answer = json.loads(line)
        assert "trouble" not in answer, answer["trouble"]
        return answer


def import_path() -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "tests"), *(path for path in sys.path if "site-packages" in path)])


def interpreter_for(user: int) -> str | None:
    """A Python that this user can start, and start again from there."""
    if user == os.geteuid():
        return sys.executable
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    # a checkout in a folder of the caller's alone cannot be read by anybody else
    script = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True); "
        f"import jwt, cryptography, agentctl, shield; open({str(DRIVER)!r}).close()"
    )
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", candidate, "-B", "-c", script]
        tried = subprocess.run(become, env={"PYTHONPATH": import_path()}, capture_output=True, cwd="/", check=False)
        if tried.returncode == 0:
            return candidate
    return None


def capable(means: str, user: int) -> bool:
    """Whether the machine has what the means needs: asked of others than the code that is tested.

    INVARIANT: where it has, a level that does not hold is a failure and not a reason to skip.
    """
    become = [] if user == os.geteuid() else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    if means == "bubblewrap":
        if shutil.which("bwrap") is None:
            return False
        asked = [*become, "bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
        return subprocess.run(asked, capture_output=True, cwd="/", check=False).returncode == 0
    if means == "landlock":
        libc = ctypes.CDLL(None)
        return int(libc.syscall(444, None, ctypes.c_size_t(0), 1)) >= 6
    return True


def has_networks(user: int) -> bool:
    """Whether this user can make a network namespace."""
    become = [] if user == os.geteuid() else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    asked = [*become, "unshare", "--user", "--map-current-user", "--net", "true"]
    return subprocess.run(asked, capture_output=True, cwd="/", check=False).returncode == 0


def make_world(user: int, interpreter: str) -> Path:
    """A home, a Shield home with a secret, and a workspace, all of this user's.

    Not in /tmp where that can be avoided: a confined command has another one, so nothing would be seen of it anyway.
    """
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    passed = user == os.geteuid() or can_pass(build, user, interpreter)
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="sh", dir=build if passed else None)))
    for name in ("ws/src", "home/.ssh", "home/.config/agentctl", "home/.local/share/agentctl", "shield/run", "other"):
        (base / name).mkdir(parents=True)
    (base / "shield" / "secret").write_text("SECRET")
    (base / "home" / ".ssh" / "id_rsa").write_text("SECRET")
    (base / "home" / ".config" / "agentctl" / "config.toml").write_text("SECRET")
    (base / "home" / "notes.txt").write_text("notes")
    (base / "other" / "file").write_text("other")
    for folder, _, files in os.walk(base):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            os.chown(path, user, user)
            os.chmod(path, 0o755 if path == folder else 0o644)
    return base


def can_pass(folder: Path, user: int, interpreter: str) -> bool:
    become = [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        interpreter,
        "-c",
        "import os, sys; os.stat(sys.argv[1])",
    ]
    return subprocess.run([*become, f"{folder}/."], capture_output=True, cwd="/", check=False).returncode == 0


def users() -> list[int]:
    return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


@pytest.fixture(scope="session")
def start_driver() -> Iterator[Callable[[str, int], Driver]]:
    """Starts a driver for a means and a user, or skips with the reason."""
    begun: list[Driver] = []
    interpreters: dict[int, str | None] = {}
    can: dict[tuple[str, int], bool] = {}
    networks: dict[int, bool] = {}

    def start(means: str, user: int) -> Driver:
        if sys.platform != "linux":
            pytest.skip("bubblewrap and Landlock are Linux's")
        if user != os.geteuid() and shutil.which("setpriv") is None:
            pytest.skip("no setpriv to become another user")
        if user not in interpreters:
            interpreters[user] = interpreter_for(user)
        interpreter = interpreters[user]
        if interpreter is None:
            pytest.skip("no Python and checkout here that an unprivileged user can use")
        if (means, user) not in can:
            can[means, user] = capable(means, user)
        if not can[means, user]:
            pytest.skip(f"this machine has no {means} for user {user}")
        driver = Driver(make_world(user, interpreter), means, user, interpreter)
        begun.append(driver)
        assert driver.offer["levels"] == ["none", "state_hidden", "confined"], driver.offer["reasons"]
        assert driver.offer["networks"] is networks.setdefault(user, has_networks(user))
        return driver

    yield start
    for driver in begun:
        driver.close()
        shutil.rmtree(driver.world, ignore_errors=True)


@pytest.fixture(scope="module", params=[(means, user) for means in MEANS for user in users()], ids=str)
def inside(request: pytest.FixtureRequest, start_driver: Callable[[str, int], Driver]) -> Driver:
    """A driver for each means and user."""
    return start_driver(*request.param)


@pytest.fixture(scope="module", params=list(zip(MEANS, [*reversed(users()), *users()], strict=False)), ids=str)
def either(request: pytest.FixtureRequest, start_driver: Callable[[str, int], Driver]) -> Driver:
    """A driver for each means, each as another user where there are two."""
    return start_driver(*request.param)


@pytest.fixture(params=users())
def mounted(request: pytest.FixtureRequest, start_driver: Callable[[str, int], Driver]) -> Driver:
    """A fresh driver of bubblewrap's for each user."""
    return start_driver("bubblewrap", request.param)


def gone(pid: int) -> bool:
    """Whether a process is dead: no entry, or a zombie that its new parent has not yet reaped."""
    for _ in range(300):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(name="gone")
def gone_fixture() -> Callable[[int], bool]:
    return gone
