"""A machine of our own for hostile code: pid 1 of fresh namespaces, on a root of which every change is thrown away.

    unshare --mount --pid --net --ipc --uts --fork --kill-child python -P hostile_stage.py < SPEC

Nothing real can be hit from here, whatever the code that is tried may do and whatever sandbox does not hold: the root
is an overlay whose upper half is a tmpfs, /home /root /tmp /run /dev are new, no disk and no other network is there,
and no process but those that were started here. When this process ends, the kernel ends all others.

SPEC is JSON: `{"folder": DIR, "uid": N, "argv": […], "env": {…}, "keep": [DIR…], "packages": [DIR…], "owned": [PATH…],
"without": [PATH…]}`. `argv` is run as
`uid` with $HOME=/home/you; its exit code is ours. Of what lies in the hidden directories, those of `keep` stay readable.
`packages` are copied to where the system's Python looks for what an administrator installed; `owned` are given to the
user, who may have installed them; `without` are taken away.
"""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
from pathlib import Path

HOME = "/home/you"
SECRET = "secret-7f3a91c2"  # in every file, memory and environment that nobody may read
UPPER = "/run/stage/upper"  # what was written to the root: nothing of it where a sandbox holds
ELSEWHERE = "203.0.113.7"  # TEST-NET-3 (RFC 5737): the world outside, where the driver listens
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18,
)  # fmt: skip
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> int:
    """Set everything up, run `argv`, reap until it ends."""
    os.umask(0o022)
    spec = json.load(sys.stdin)
    assert os.getpid() == 1, "run under `unshare --pid --fork`"
    _root(Path(spec["folder"]), [Path(path) for path in spec["keep"]], [Path(path) for path in spec["packages"]])
    for path in spec["owned"]:
        os.chown(path, spec["uid"], spec["uid"])
    for path in spec["without"]:
        os.unlink(path)
    _network()
    return _run(spec["argv"], spec["env"], spec["uid"])


def _root(folder: Path, keep: list[Path], packages: list[Path]) -> None:
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _mount("stage", folder, "tmpfs", 0, "size=64m,mode=755")
    for name in ("upper", "work", "root"):
        (folder / name).mkdir()
    root = folder / "root"
    _mount("overlay", root, "overlay", 0, f"lowerdir=/,upperdir={folder}/upper,workdir={folder}/work,redirect_dir=on")
    _devices(root)
    for name, options in {
        "home": "size=300m,mode=755",
        "root": "mode=755",
        "tmp": "size=300m,mode=1777",
        "run": "size=16m,mode=755",
    }.items():
        _mount("stage", root / name, "tmpfs", _MS_NOSUID * (name != "home"), options)
    for number, path in enumerate(keep):
        for above in reversed(path.parents):
            if (there := root / above.relative_to("/")).exists():
                # whoever is attacked here may run the programs that are tested
                there.chmod(there.stat().st_mode | 0o055)
        below = root / path.relative_to("/")
        if not below.exists():
            below.mkdir(parents=True)
            halves = [folder / f"{half}-{number}" for half in ("upper", "work")]
            for half in halves:
                half.mkdir()
            _mount(
                "overlay",
                below,
                "overlay",
                0,
                f"lowerdir={path},upperdir={halves[0]},workdir={halves[1]},redirect_dir=on",
            )
    (root / "run/stage/upper").mkdir(parents=True)
    _mount(folder / "upper", root / "run/stage/upper", None, _MS_BIND)
    _mount("proc", root / "proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _mount("sysfs", root / "sys", "sysfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_RDONLY)
    # stands for the groups of processes, whose release_agent the kernel starts as root
    _mount("stage", root / "sys/fs/cgroup", "tmpfs", _MS_NOSUID, "size=1m,mode=777")
    (root / "sys/fs/cgroup/release_agent").touch()
    (root / "sys/fs/cgroup/release_agent").chmod(0o666)
    _install(root, packages)
    old = root / "mnt"
    os.chdir(root)
    if _libc.syscall(ctypes.c_long(_PIVOT_ROOT[os.uname().machine]), b".", b"mnt") != 0:
        raise OSError(ctypes.get_errno(), "pivot_root")
    os.chdir("/")
    if _libc.umount2(b"/mnt", 2) != 0:  # MNT_DETACH
        raise OSError(ctypes.get_errno(), f"umount of {old}")


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def _devices(root: Path) -> None:
    dev = root / "dev"
    _mount("stage", dev, "tmpfs", _MS_NOSUID, "size=1m,mode=755")
    for name, (major, minor) in _DEVICES.items():
        os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        (dev / name).chmod(0o666)
    for name in ("pts", "shm"):
        (dev / name).mkdir()
    _mount("devpts", dev / "pts", "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    _mount("stage", dev / "shm", "tmpfs", _MS_NOSUID | _MS_NODEV, "size=64m,mode=1777")
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")):  # fmt: skip
        (dev / name).symlink_to(target)


def _install(root: Path, packages: list[Path]) -> None:
    """Files that the code which is tried may aim at; the overlay takes them."""
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    lines = (root / "etc/passwd").read_text().splitlines()
    users = {"root": "root:x:0:0:root:/home/you:/bin/bash", "nobody": "nobody:x:65534:65534::/home/you:/bin/bash"}
    kept = [line for line in lines if line.split(":", 1)[0] not in users]
    (root / "etc/passwd").write_text("\n".join([*users.values(), *kept]) + "\n")
    (root / "etc/shadow").write_text(f"root:{SECRET}:20000::::::\n")
    (root / "etc/shadow").chmod(0o600)
    for name in ("etc/cron.d", "var/spool/cron/crontabs", "etc/profile.d"):
        (root / name).mkdir(parents=True, exist_ok=True)
    shown = subprocess.run(
        ["/usr/bin/python3", "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    site = root / Path(shown.stdout.strip()).relative_to("/")
    for package in packages:
        if package.is_dir():
            shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns("*.pyc"), dirs_exist_ok=True)
        else:
            shutil.copy(package, site / package.name)
    if packages:
        program = root / "usr/local/bin/pytest"
        program.unlink(missing_ok=True)
        program.write_text("#!/usr/bin/python3\nimport pytest\nraise SystemExit(pytest.main())\n")
        program.chmod(0o755)
    # a program that is root's whoever starts it
    (root / "opt/sudo").mkdir(parents=True)
    shutil.copy("/bin/cat", root / "opt/sudo/cat")
    (root / "opt/sudo/cat").chmod(0o4755)


def _network() -> None:
    """Loopback up, and an address that is not of loopback's net: it stands for the world."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, address in (("lo", "127.0.0.1"), ("lo:1", ELSEWHERE)):
            packed = struct.pack("16sH2x4s8x", name.encode(), socket.AF_INET, socket.inet_aton(address))
            fcntl.ioctl(control, 0x8916, packed)  # SIOCSIFADDR
            fcntl.ioctl(control, 0x8914, struct.pack("16sh", name.encode(), 0x41))  # SIOCSIFFLAGS: up, running
    # any user may listen at the ports of DNS and HTTP here
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
    Path("/proc/sys/net/ipv4/ping_group_range").write_text("0 65534")


def _run(argv: list[str], env: dict[str, str], uid: int) -> int:
    for name in (HOME, f"/run/user/{uid}"):
        os.makedirs(name, mode=0o700)
        os.chown(name, uid, uid)
    for name in ("/run/lock", "/run/systemd", "/run/dbus", "/run/screen"):
        os.makedirs(name, mode=0o755)
        os.chown(name, uid, uid)
    os.chown("/run", uid, uid)  # whose sockets stand there does not matter; that they are out of reach does
    # far above the numbers in a process namespace of somebody else's: none is mistaken for one of ours
    Path("/proc/sys/kernel/ns_last_pid").write_text("20000")
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if uid:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            os.chdir(HOME)
            os.execve(argv[0], argv, env)
        except BaseException as error:  # noqa: BLE001  # the child must not go on as pid 1 would
            print(f"stage: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(125)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(124))
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _mount(source: object, target: object, kind: str | None, flags: int, data: str = "") -> None:
    raw = [None if part is None else os.fsencode(str(part)) for part in (source, target, kind)]
    if _libc.mount(*raw, ctypes.c_ulong(flags), data.encode() or None) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount of {target}: {os.strerror(code)}")


if __name__ == "__main__":
    sys.exit(main())
