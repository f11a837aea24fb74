"""What every hostile file here shares: where its targets are, and what it can say it got.

These files are copied into a workspace and run there by pytest. Each test is one way out; a way that gets nowhere
raises, or returns None. What it claims, the driver checks from outside wherever that can be seen from outside.
Targets are only what `world.json` names: everything in it was made by the test, in namespaces of its own.
"""

import ctypes
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
WORLD = SimpleNamespace(**json.loads((HERE / "world.json").read_text()))
MARK = "HOSTILE-" + WORLD.level  # in everything that is planted
LIBC = ctypes.CDLL(None, use_errno=True)
_SYSCALLS = {
    "x86_64": {
        "bpf": 321, "clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "keyctl": 250, "add_key": 248,
        "kexec_load": 246, "memfd_create": 319, "mount": 165, "move_mount": 429, "open_tree": 428, "fsopen": 430,
        "open_by_handle_at": 304, "name_to_handle_at": 303, "perf_event_open": 298, "pidfd_getfd": 438,
        "pidfd_open": 434, "pidfd_send_signal": 424, "process_vm_readv": 310, "process_vm_writev": 311, "ptrace": 101,
        "setns": 308, "tgkill": 234, "umount2": 166, "unshare": 272, "userfaultfd": 323, "finit_module": 313,
        "kcmp": 312, "settimeofday": 164,
    },
    "aarch64": {
        "bpf": 280, "clone3": 435, "io_uring_setup": 425, "io_uring_enter": 426, "keyctl": 219, "add_key": 217,
        "kexec_load": 104, "memfd_create": 279, "mount": 40, "move_mount": 429, "open_tree": 428, "fsopen": 430,
        "open_by_handle_at": 265, "name_to_handle_at": 264, "perf_event_open": 241, "pidfd_getfd": 438,
        "pidfd_open": 434, "pidfd_send_signal": 424, "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117,
        "setns": 268, "tgkill": 131, "umount2": 39, "unshare": 97, "userfaultfd": 282, "finit_module": 273,
        "kcmp": 272, "settimeofday": 170,
    },
}  # fmt: skip
# what was open before anything here opened something: this module is the first of ours that is loaded
INHERITED = [os.readlink(f"/proc/self/fd/{n}") for n in range(3, 256) if os.path.lexists(f"/proc/self/fd/{n}")]
NUMBER = _SYSCALLS[os.uname().machine]


def syscall(name, *arguments):
    """The system call itself, past everything that libc thinks of it. Raises OSError."""
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBER[name]), *given)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return result


def apart(way):
    """The way, in a child with a mount namespace of its own where it can have one: what it unmounts or mounts over
    is not missed or met by the ways after it."""

    @functools.wraps(way)
    def forked():
        ours, theirs = os.pipe()
        if os.fork() == 0:
            said = ("denied", "it ended")
            try:
                if LIBC.unshare(0x20000) == 0:
                    LIBC.mount(b"none", b"/", None, ctypes.c_ulong(1 << 18 | 16384), None)
                said = way() or ("denied", "nothing came of it")
            except BaseException as error:  # noqa: BLE001  # whatever it is, it is what came of it
                said = ("denied", f"{type(error).__name__}: {error}")
            finally:
                os.write(theirs, json.dumps(said).encode())
                os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as pipe:
            return tuple(json.loads(pipe.read() or '["denied", "killed"]'))

    return forked


def got(detail):
    """It worked, and only this process can tell."""
    return "got", str(detail)


def wrote(path):
    """`path` holds MARK now; the driver looks whether the real one does."""
    return "wrote", str(path)


def left(mark):
    """A process with `mark` in its command line stays; the driver looks for it after the call."""
    return "left", mark


def sent(token):
    """`token` is on its way to one of the driver's listeners."""
    return "sent", token


def killed(pid):
    """The process is dead; the driver looks."""
    return "killed", str(pid)


def plant(path, text=None):
    """Write a file that some other program will trust later."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "a") as file:
        file.write((text or "# {}\n").replace("{}", MARK))
    return wrote(target)


def read(path, begins):
    """The content of a secret, recognised by how it begins: an empty stand-in is no success."""
    with open(path, "rb") as file:
        data = file.read(4096)
    return got(f"{len(data)} bytes of {path}") if begins.encode() in data else None


def python(code, *arguments, timeout=20, env=None):
    """Run code in a process of its own, which may be killed for it."""
    return subprocess.run(
        [sys.executable, "-I", "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, check=False, env=env,
    )  # fmt: skip
