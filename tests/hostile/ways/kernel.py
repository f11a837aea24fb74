"""What the kernel offers to whoever asks: namespaces, tracing, programs in the kernel, other ways to call it."""

import ctypes
import os
import signal
import socket
import subprocess
from pathlib import Path

from attack import HERE, LIBC, WORLD, apart, got, plant, python, syscall

NEWUSER, NEWNS, NEWNET, NEWPID = 0x10000000, 0x00020000, 0x40000000, 0x20000000
NAMESPACE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare({flags}) != 0:
    sys.exit(f"errno {{ctypes.get_errno()}}")
print(open("/proc/self/status").read().split("CapEff:")[1].split()[0])
"""


def test_user_namespace():
    """A root of our own: mount, network and every capability inside it."""
    done = python(NAMESPACE.format(flags=NEWUSER))
    return got(f"capabilities {done.stdout.strip()}") if done.stdout else None


def test_user_namespace_by_clone3():
    """clone3 takes its flags by pointer, where seccomp cannot look."""
    arguments = (ctypes.c_uint64 * 11)(NEWUSER, 0, 0, 0, signal.SIGCHLD)
    child = syscall("clone3", arguments, 88)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return got("a child in a user namespace")


def test_user_namespace_by_program():
    done = subprocess.run(["unshare", "-Ur", "id", "-u"], capture_output=True, text=True, check=False, timeout=20)
    return got(f"uid {done.stdout.strip()}") if done.returncode == 0 else None


def test_sandbox_of_our_own():
    """bubblewrap inside: were it to work, what hides our state could be mounted over."""
    done = subprocess.run(
        ["bwrap", "--bind", "/", "/", "--proc", "/proc", "cat", f"{WORLD.shield_home}/shield.toml"],
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    return got("read it") if "[workspaces]" in done.stdout else None


def test_mount_namespace():
    done = python(NAMESPACE.format(flags=NEWNS))
    return got("a mount namespace of our own") if done.stdout else None


@apart
def test_mount():
    target = HERE / "mounted"
    target.mkdir(exist_ok=True)
    syscall("mount", b"none", os.fsencode(target), b"tmpfs", 0, None)
    return got("mounted")


def test_new_mount_interface():
    return got(f"descriptor {syscall('fsopen', b'tmpfs', 0)}")


@apart
def test_remount_writable():
    syscall("mount", b"none", b"/", None, 4096 | 32, None)
    return got("remounted")


def test_chroot():
    """With the root elsewhere, `..` leads out of what was meant as root."""
    done = python(f"import os; os.chroot({str(HERE)!r}); print(os.listdir('/'))")
    return got("changed the root") if done.stdout else None


def test_sudo():
    """A stand-in for sudo: a program of root's with the setuid bit."""
    done = subprocess.run(
        ["/opt/sudo/cat", "/proc/self/status"], capture_output=True, text=True, check=False, timeout=20
    )
    effective = done.stdout.split("CapEff:")[1].split()[0]
    return got(f"capabilities {effective}") if int(effective, 16) else None


def test_become_root():
    """What a root that kept its capabilities can do."""
    done = python("import os; os.setresuid(1234, 1234, 1234); print(os.getresuid())")
    return got("changed the user") if done.stdout else None


def test_capabilities():
    status = Path("/proc/self/status").read_text()
    effective = int(status.split("CapEff:")[1].split()[0], 16)
    bounding = int(status.split("CapBnd:")[1].split()[0], 16)
    return got(f"effective {effective:x}, bounding {bounding:x}") if effective else None


def test_no_new_privileges():
    return None if "NoNewPrivs:\t1" in Path("/proc/self/status").read_text() else got("programs may give new ones")


def test_io_uring():
    """System calls past seccomp and past whoever traces."""
    return got(f"descriptor {syscall('io_uring_setup', 8, ctypes.create_string_buffer(256))}")


def test_bpf():
    """A map in the kernel's memory."""
    attributes = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
    return got(f"descriptor {syscall('bpf', 0, attributes, 128)}")


def test_perf_event():
    """Watch what other programs of the user do."""
    attributes = (ctypes.c_uint32 * 32)(1, 128, 1, 0)
    return got(f"descriptor {syscall('perf_event_open', attributes, WORLD.victim, -1, -1, 0)}")


def test_userfaultfd():
    """The favourite of exploits of the kernel."""
    return got(f"descriptor {syscall('userfaultfd', 1)}")


def test_kexec():
    try:
        syscall("kexec_load", 0, 99, None, 0)
    except OSError as error:
        return got("may be asked for") if error.errno == 22 else None
    return got("loaded nothing")


def test_kernel_module():
    try:
        syscall("finit_module", -1, b"", 0)
    except OSError as error:
        return got("may be asked for") if error.errno in (9, 8) else None
    return got("loaded")


def test_keyring():
    """A key that another program of the user keeps in the kernel."""
    if not WORLD.key:
        raise OSError("the kernel has no keyrings")
    found = syscall("keyctl", 10, -4, b"user", WORLD.key.encode(), 0)  # KEYCTL_SEARCH in the user's keyring
    data = ctypes.create_string_buffer(64)
    syscall("keyctl", 11, found, data, 64)  # KEYCTL_READ
    return got("its content") if WORLD.secret.encode() in data.raw else None


def test_core_pattern():
    """Opened for writing, never written to: what crashes next would start a program of ours, as root."""
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    return got("opened for writing")


def test_kernel_settings():
    os.close(os.open("/proc/sys/vm/overcommit_memory", os.O_WRONLY))
    return got("opened for writing")


def test_magic_key():
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return got("opened for writing")


def test_kernel_memory():
    with open("/proc/kcore", "rb") as memory:
        return got("opened") if memory.read(4) == b"\x7fELF" else None


def test_kernel_log():
    LIBC.klogctl.restype = ctypes.c_int
    size = LIBC.klogctl(10, None, 0)
    return got("may be read") if size > 0 else None


@apart
def test_cgroups():
    """release_agent: a program that the kernel starts as root when a group runs empty."""
    target = HERE / "cgroup"
    target.mkdir(exist_ok=True)
    syscall("mount", b"none", os.fsencode(target), b"cgroup2", 0, None)
    return got("mounted")


def test_cgroup_files():
    """What stands in for release_agent, where groups are mounted."""
    return plant("/sys/fs/cgroup/release_agent")


def test_host_name():
    """Of everybody, were it not a name space of our own."""
    LIBC.sethostname(b"hostile", 7)
    return ("hostname", "hostile") if socket.gethostname() == "hostile" else None


def test_clock():
    """Permits and checkpoints live by it. settimeofday(NULL, NULL) sets nothing and asks whether it may."""
    done = syscall("settimeofday", 0, 0)
    return got("may be set") if done == 0 else None


def test_old_system_calls():
    """int 0x80 from 64-bit code: other numbers, past a filter that knows one table. Here: unshare(CLONE_NEWUSER)."""
    if os.uname().machine != "x86_64":
        raise OSError("there is no such gate on this processor")
    code = "import ctypes, mmap, os\n" + _GATE + "print(call(310, 0x10000000))\n"
    done = python(code)
    return got("a user namespace") if done.stdout.strip() == "0" else None


_GATE = """
def call(number, argument):
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(b"\\x53\\xb8" + number.to_bytes(4, "little") + b"\\xbb" + argument.to_bytes(4, "little")
               + b"\\xcd\\x80\\x48\\x98\\x5b\\xc3")
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(at)()
"""


def test_x32_system_calls():
    """The third table of x86-64: numbers with bit 30 set."""
    if os.uname().machine != "x86_64":
        raise OSError("there is no such table on this processor")
    done = python("import ctypes\nprint(ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 272), 0x10000000))")
    return got("a user namespace") if done.stdout.strip() == "0" else None


def test_memory_program():
    """memfd and exec: no file for anybody to look at. It runs where its parent runs, no more."""
    descriptor = syscall("memfd_create", b"x", 0)
    os.write(descriptor, Path("/bin/cat").read_bytes())
    done = subprocess.run(
        [f"/proc/self/fd/{descriptor}", f"{WORLD.shield_home}/shield.toml"],
        pass_fds=(descriptor,), capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    return got("read what is hidden") if "[workspaces]" in done.stdout else None
