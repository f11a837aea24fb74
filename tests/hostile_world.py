"""The targets that hostile code is let loose on: files, processes, sockets and ports, all made here.

It runs on the machine of `hostile_stage`, as the user who is attacked, and stands for agentctl and for every other
program of that user. What reaches one of its listeners is kept, so that nobody has to believe an attack's own words.
"""

import ctypes
import json
import os
import selectors
import shutil
import socket
import sqlite3
import subprocess
import sys
import termios
import threading
import tty
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import agentctl
import shield
from hostile_stage import ELSEWHERE, HOME, SECRET

WORKSPACE = f"{HOME}/project"
SECOND = f"{HOME}/second"
SHIELD_HOME = f"{HOME}/.shield"
REMEMBERED = f"{HOME}/.local/state/shield"  # where Shield keeps checkpoints of its log, out of the log's reach
FOLDER = "hostile"  # where the attacks lie in the workspace
_PREY = ("kill", "group", "tgkill", "pidfd", "owner")
_VICTIM = """
import ctypes, os, sys, tempfile, time
secret = sys.stdin.readline().strip().encode()
held = ctypes.create_string_buffer(secret)
file = tempfile.TemporaryFile()
file.write(secret); file.flush()
print(os.getpid(), ctypes.addressof(held), file.fileno(), flush=True)
time.sleep(600)
"""
_SHELL = {
    "LEVEL": "level",
    "SHIELD_HOME": "shield_home",
    "USER_HOME": "home",
    "SECRET": "secret",
    "VICTIM": "victim",
    "AGENT": "agent_pid",
    "SHIELD": "shield_pid",
    "SOCKET": "socket",
    "AGENT_CONFIG": "agent_config",
    "AGENTCTL": "agentctl_package",
    "SITE": "site_packages",
    "ELSEWHERE": "elsewhere",
    "WEB": "web_port",
}
_FILES = {
    ".ssh/id_rsa": SECRET,
    ".aws/credentials": SECRET,
    ".netrc": SECRET,
    ".config/gh/hosts.yml": SECRET,
    ".docker/config.json": SECRET,
    ".gnupg/private-keys-v1.d/key": SECRET,
    "other/notes.txt": SECRET,
    "photos/one.jpg": "a photo",
    "letter.txt": "a letter",
    ".bashrc": "# mine\n",
    ".cache/pip/http/entry": "cached",
    ".config/agentctl/config.toml": 'model = "m"\nbase_url = "http://127.0.0.1:9/v1"\n',
    "project/README.md": "# a project\n",
    "project/main.py": "print('hello')\n",
    "project/AGENTS.md": "# how to work here\n",
    "project/SOUL.md": "# who I am\n",
    "project/race/note.txt": "a note\n",
    "project/race/folder/file.txt": "a file\n",
    "second/README.md": "# another\n",
}


@dataclass
class World:
    """What `world.json` is made of. `heard` is everything that came to any listener."""

    uid: int
    facts: dict[str, object] = field(default_factory=dict)
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    heard: bytearray = field(default_factory=bytearray)
    _held: ctypes.Array[ctypes.c_char] = field(default_factory=lambda: ctypes.create_string_buffer(SECRET.encode()))

    def listen(self, path: str) -> socket.socket:
        """A program of the user, at a socket in the file system. Whoever closes it ends it."""
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        door = socket.socket(socket.AF_UNIX)
        door.bind(path)
        door.listen(16)
        door.setblocking(False)
        self.selector.register(door, selectors.EVENT_READ)
        return door

    def write(self, level: str, **more: object) -> None:
        """Hand the attacks their targets. Each level has marks of its own."""
        facts = {**self.facts, **more, "level": level}
        for workspace in (WORKSPACE, SECOND):
            (Path(workspace) / FOLDER / "world.json").write_text(json.dumps(facts))
        (Path(WORKSPACE) / FOLDER / "world.sh").write_text(
            "".join(f"{name}='{facts[key]}'\n" for name, key in _SHELL.items())
        )


@contextmanager
def world(uid: int) -> Iterator[World]:
    """All that lasts: files that are only read, listeners, a terminal, memory."""
    made = World(uid)
    with ExitStack() as stack:
        doors = _doors(uid)
        ports = _listen(made, doors, stack)
        terminal, slave = os.openpty()
        tty.setraw(slave, termios.TCSANOW)
        stack.callback(os.close, terminal)
        stack.callback(os.close, slave)
        stack.callback(_sit_at(slave).kill)
        home = Path(shield.__file__).resolve().parent
        site = next(path for path in map(Path, sys.path) if (path / "click").is_dir())
        made.facts = {
            "uid": uid,
            "user": "root" if uid == 0 else "nobody",
            "home": HOME,
            "workspace": WORKSPACE,
            "second": SECOND,
            "secret": SECRET,
            "shield_home": SHIELD_HOME,
            "checkpoints": REMEMBERED,
            "socket": f"{SHIELD_HOME}/run/shield.sock",
            "agent_config": f"{HOME}/.config/agentctl/config.toml",
            "agent_history": f"{HOME}/.local/share/agentctl/history.db",
            "shield_package": str(home),
            "agentctl_package": str(Path(agentctl.__file__).resolve().parent),
            "site_packages": str(site),
            "environment": sys.prefix,
            "import_path": str(home.parent),
            "python": sys.executable,
            "python_version": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "base_stdlib": os.path.dirname(os.__file__),
            "system_site": _system_site(),
            "agent_pid": os.getpid(),
            "agent_address": ctypes.addressof(made._held),
            "elsewhere": ELSEWHERE,
            "terminal": os.ttyname(slave),
            "doors": doors,
            "tmux": _tmux(doors["tmux"], stack),
            "key": _key(),
            "shared_tmp": "/tmp/of-another-program",
            "fifo": "/tmp/commands",
            "abstract": "hostile-abstract",
            "x11_abstract": "/tmp/.X11-unix/X7",
            **_shared_memory(stack),
            **ports,
        }
        yield made


def fresh(ways: Path) -> None:
    """The home as its user left it: whatever an earlier level planted is gone. Shield's own state stays."""
    for entry in Path(HOME).iterdir():
        if entry.name not in (".shield", ".local", ".docker"):
            subprocess.run(["chmod", "-R", "u+rwX", entry], check=False, stderr=subprocess.DEVNULL)
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name, text in _FILES.items():
        path = Path(HOME) / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text)
    Path("/tmp/of-another-program").write_text(SECRET)
    history = Path(HOME) / ".local/share/agentctl/history.db"
    history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with sqlite3.connect(history) as database:
        database.execute("CREATE TABLE IF NOT EXISTS sessions (id TEXT)")
    git = {"HOME": HOME, "PATH": os.environ["PATH"]}
    subprocess.run(["git", "init", "-q", WORKSPACE], check=True, env=git)
    names = {"attack.py": "attack.py", "race.py": "race.py", "ways_conftest.py": "conftest.py"}
    for workspace in (WORKSPACE, SECOND):
        target = Path(workspace) / FOLDER
        target.mkdir()
        for source in ways.glob("*.py"):
            if source.name in names or (source.name in ("bare.py", "stubborn.py")) == (workspace == SECOND):
                shutil.copy(source, target / names.get(source.name, f"test_{source.name}"))
    for source in ways.glob("front/*"):
        shutil.copy(source, Path(WORKSPACE) / source.name)


@contextmanager
def victims() -> Iterator[Mapping[str, object]]:
    """Ordinary programs of the same user: one with a secret, some that are only there to be killed."""
    environ = {"PATH": os.environ["PATH"], "API_KEY": SECRET}
    victim = subprocess.Popen(
        [sys.executable, "-I", "-c", _VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
    )
    prey = {name: subprocess.Popen(["sleep", "600"], start_new_session=True) for name in _PREY}
    try:
        assert victim.stdin is not None
        assert victim.stdout is not None
        victim.stdin.write(f"{SECRET}\n")
        victim.stdin.flush()
        pid, address, descriptor = map(int, victim.stdout.readline().split())
        yield {
            "victim": pid,
            "victim_address": address,
            "victim_fd": descriptor,
            "prey": {name: process.pid for name, process in prey.items()},
        }
    finally:
        for process in (victim, *prey.values()):
            process.kill()
            process.communicate()


def alive(pid: int) -> bool:
    """Neither gone nor a zombie."""
    try:
        return _state(Path(f"/proc/{pid}")) not in "ZX"
    except OSError:
        return False


def _state(folder: Path) -> str:
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


def running(mark: str) -> list[int]:
    """Every process that has the mark among its arguments. One whose first thread has ended still runs."""
    found = []
    for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
        try:
            if mark.encode() in (task / "cmdline").read_bytes() and _state(task) not in "ZX":
                found.append(int(task.name))
        except OSError:
            continue
    return found


def processes() -> set[int]:
    return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and alive(int(entry.name))}


# --- listeners -------------------------------------------------------------------------------------------------------


def _doors(uid: int) -> dict[str, str]:
    session = f"/run/user/{uid}"
    return {
        "docker": "/run/docker.sock",
        "podman": f"{session}/podman/podman.sock",
        "docker-desktop": f"{HOME}/.docker/run/docker.sock",
        "bus": f"{session}/bus",
        "system-bus": "/run/dbus/system_bus_socket",
        "systemd": f"{session}/systemd/private",
        "ssh-agent": "/tmp/ssh-Ab3dEf5h/agent.17",
        "gpg-agent": f"{session}/gnupg/S.gpg-agent",
        "tmux": f"/tmp/tmux-{uid}/default",
        "screen": f"/run/screen/S-{uid}/17.pts-0.host",
        "x11": "/tmp/.X11-unix/X7",
        "wayland": f"{session}/wayland-0",
        "editor": f"{session}/emacs/server",
        "vscode": f"{session}/vscode-ipc-1f.sock",
        "keyring": f"{session}/keyring/control",
        "other": f"{HOME}/.local/state/app.sock",
    }


def _listen(made: World, doors: Mapping[str, str], stack: ExitStack) -> dict[str, object]:
    """Every listener, in one thread. Ports are the kernel's choice where their number means nothing."""
    selector = stack.enter_context(made.selector)
    ports: dict[str, object] = {}
    tmux = shutil.which("tmux") is not None

    def take(listener: socket.socket, name: str, *, port: bool = True) -> None:
        stack.callback(listener.close)
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ)
        if port:
            ports[name] = listener.getsockname()[1]

    for name, host in (("web_port", ELSEWHERE), ("hidden_port", "::")):
        take(socket.create_server((host, 0), family=_family(host), dualstack_ipv6=host == "::", backlog=64), name)
    # a port of its own on either loopback address
    plain = socket.create_server(("127.0.0.1", 0), backlog=64)
    take(plain, "plain_port")
    take(socket.create_server(("::1", plain.getsockname()[1]), family=socket.AF_INET6), "plain_port")
    for name, address in (("udp_port", (ELSEWHERE, 0)), ("dns_port", ("127.0.0.1", 53))):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(address)
        take(datagrams, name)
    try:
        lite = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)
        lite.bind((ELSEWHERE, 0))
        take(lite, "lite_port")
    except OSError:
        ports["lite_port"] = 9  # a kernel without UDP-Lite: nobody listens
    for name, path in doors.items():
        if name == "tmux" and tmux:
            continue
        stack.callback(made.listen(path).close)
    for name in ("hostile-abstract", "/tmp/.X11-unix/X7"):
        door = socket.socket(socket.AF_UNIX)
        door.bind(b"\0" + name.encode())
        door.listen(16)
        take(door, name, port=False)
    os.mkfifo("/tmp/commands")
    fifo = os.open("/tmp/commands", os.O_RDWR | os.O_NONBLOCK)
    stack.callback(os.close, fifo)
    selector.register(fifo, selectors.EVENT_READ)
    over = threading.Event()
    thread = threading.Thread(target=_attend, args=(made, selector, over), daemon=True)
    thread.start()
    stack.callback(thread.join)
    stack.callback(over.set)
    return ports


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _attend(made: World, selector: selectors.BaseSelector, over: threading.Event) -> None:
    """Take everything; answer whoever asks like a web server."""
    while not over.is_set():
        for key, _ in selector.select(0.1):
            there = key.fileobj
            try:
                if isinstance(there, int):
                    made.heard += os.read(there, 4096)
                elif there.type == socket.SOCK_DGRAM:
                    data, sender = there.recvfrom(4096)
                    made.heard += data
                    there.sendto(data[:2] + b"\x81\x83" + data[4:], sender)  # of a name: there is none
                elif there.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    caller, _ = there.accept()
                    caller.setblocking(False)
                    selector.register(caller, selectors.EVENT_READ)
                elif data := there.recv(4096):
                    made.heard += data
                    there.send(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
                else:
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                if isinstance(there, socket.socket) and not there.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    selector.unregister(there)
                    there.close()
    for key in list(selector.get_map().values()):
        if isinstance(key.fileobj, socket.socket):
            key.fileobj.close()


# --- things that are neither files nor sockets -----------------------------------------------------------------------


def _tmux(path: str, stack: ExitStack) -> bool:
    """A real tmux server, where there is tmux: it runs what it is sent, and it runs outside."""
    program = shutil.which("tmux")
    if program is None:
        return False
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    subprocess.run([program, "-f", "/dev/null", "-S", path, "new-session", "-d", "cat"], check=True, timeout=10)
    stack.callback(subprocess.run, [program, "-S", path, "kill-server"], check=False, timeout=10)
    return True


def _sit_at(terminal: int) -> subprocess.Popen[bytes]:
    """Somebody whose controlling terminal it is: nobody else gets it by opening it."""
    code = "import fcntl, termios, time; fcntl.ioctl(0, termios.TIOCSCTTY, 0); print(flush=True); time.sleep(600)"
    sitting = subprocess.Popen(
        [sys.executable, "-I", "-c", code], stdin=terminal, stdout=subprocess.PIPE, start_new_session=True
    )
    assert sitting.stdout is not None
    sitting.stdout.readline()
    return sitting


def _key() -> str | None:
    """A key in the kernel, in the keyring of the user."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
    added = libc.syscall(ctypes.c_long(number), b"user", b"hostile-key", SECRET.encode(), len(SECRET), -4)
    return "hostile-key" if added > 0 else None


def _shared_memory(stack: ExitStack) -> dict[str, object]:
    """System V and POSIX memory with the secret in it."""
    path = "/dev/shm/of-another-program"
    Path(path).write_text(SECRET)
    stack.callback(os.unlink, path)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    key = 0x5EC12E7
    segment = libc.shmget(key, 4096, 0o1600)
    assert segment >= 0
    at = libc.shmat(segment, None, 0)
    ctypes.memmove(at, SECRET.encode(), len(SECRET))
    stack.callback(libc.shmctl, segment, 0, None)
    return {"shm_key": key, "shm_file": path}


def _system_site() -> str:
    shown = subprocess.run(
        ["/usr/bin/python3", "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.strip()
