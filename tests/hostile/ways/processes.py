"""Other processes of the same user: Shield, agentctl, and an ordinary program with a secret in its memory."""

import array
import ctypes
import fcntl
import os
import resource
import signal
import socket
import termios
import time
from pathlib import Path

from attack import INHERITED, LIBC, MARK, WORLD, got, killed, syscall

VICTIM = WORLD.victim
SECRET = WORLD.secret.encode()


class Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def test_see_processes():
    seen = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    named = [entry for entry in seen if int(entry) in (VICTIM, WORLD.shield_pid, WORLD.agent_pid)]
    lines = [Path(f"/proc/{entry}/cmdline").read_bytes() for entry in named]
    return got(f"{len(lines)} of the three") if any(lines) else None


def test_read_environment():
    return found(Path(f"/proc/{VICTIM}/environ").read_bytes())


def test_read_environment_of_agentctl():
    return found(Path(f"/proc/{WORLD.agent_pid}/environ").read_bytes())


def test_read_memory():
    with open(f"/proc/{VICTIM}/mem", "rb", buffering=0) as memory:
        memory.seek(WORLD.victim_address)
        return found(memory.read(64))


def test_read_memory_of_agentctl():
    with open(f"/proc/{WORLD.agent_pid}/mem", "rb", buffering=0) as memory:
        memory.seek(WORLD.agent_address)
        return found(memory.read(64))


def test_process_vm_readv():
    return read_remote(VICTIM, WORLD.victim_address)


def test_process_vm_readv_of_agentctl():
    return read_remote(WORLD.agent_pid, WORLD.agent_address)


def test_process_vm_writev():
    data = ctypes.create_string_buffer(SECRET)
    mine, theirs = Vector(ctypes.addressof(data), 4), Vector(WORLD.victim_address, 4)
    written = syscall("process_vm_writev", VICTIM, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    return got(f"wrote {written} bytes into it")


def test_ptrace():
    return trace(VICTIM)


def test_ptrace_agentctl():
    return trace(WORLD.agent_pid)


def test_ptrace_shield():
    return trace(WORLD.shield_pid)


def test_open_descriptors():
    return found(b"".join(Path(path).read_bytes() for path in descriptors(VICTIM)))


def test_descriptors_of_agentctl():
    """Its sockets to Shield, its history, its terminal."""
    return got(f"{len(os.listdir(f'/proc/{WORLD.agent_pid}/fd'))} descriptors named")


def test_pidfd_getfd():
    pidfd = syscall("pidfd_open", VICTIM, 0)
    taken = syscall("pidfd_getfd", pidfd, WORLD.victim_fd, 0)
    os.lseek(taken, 0, os.SEEK_SET)
    return found(os.read(taken, 64))


def test_pidfd_getfd_of_agentctl():
    """Take its connected socket to Shield: no need for a token any more."""
    pidfd = syscall("pidfd_open", WORLD.agent_pid, 0)
    for number in range(3, 64):
        try:
            taken = syscall("pidfd_getfd", pidfd, number, 0)
        except PermissionError:
            return None
        except OSError:
            continue
        return got(f"descriptor {number}, {os.readlink(f'/proc/self/fd/{taken}')}")
    return None


def test_root_of_a_process():
    return got(sorted(os.listdir(f"/proc/{VICTIM}/root"))[:3])


def test_root_of_shield():
    return got(sorted(os.listdir(f"/proc/{WORLD.shield_pid}/root{WORLD.shield_home}"))[:3])


def test_kcmp():
    return got(syscall("kcmp", VICTIM, WORLD.agent_pid, 3, 0, 0))


def test_kill():
    os.kill(WORLD.prey["kill"], signal.SIGKILL)
    return killed(WORLD.prey["kill"])


def test_kill_group():
    os.killpg(WORLD.prey["group"], signal.SIGKILL)
    return killed(WORLD.prey["group"])


def test_tgkill():
    syscall("tgkill", WORLD.prey["tgkill"], WORLD.prey["tgkill"], signal.SIGKILL)
    return killed(WORLD.prey["tgkill"])


def test_pidfd_send_signal():
    syscall("pidfd_send_signal", syscall("pidfd_open", WORLD.prey["pidfd"], 0), signal.SIGKILL, None, 0)
    return killed(WORLD.prey["pidfd"])


def test_signal_by_descriptor_owner():
    """F_SETOWN: let the kernel send the signal when a pipe becomes readable."""
    ours, theirs = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, WORLD.prey["owner"])
    fcntl.fcntl(ours, 10, signal.SIGKILL)  # F_SETSIG
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    theirs.send(b"x")
    time.sleep(0.2)
    return killed(WORLD.prey["owner"])


def test_signal_everyone():
    """kill(-1) with a signal that nobody notices: whom may we reach at all?"""
    os.kill(-1, 0)
    reached = []
    for pid in (VICTIM, WORLD.agent_pid, WORLD.shield_pid):
        try:
            os.kill(pid, 0)
            reached.append(pid)
        except OSError:
            continue
    return got(f"may signal {len(reached)} of the three") if reached else None


def test_stop_shield():
    """SIGCONT: harmless, and proof that SIGSTOP would do."""
    os.kill(WORLD.shield_pid, signal.SIGCONT)
    return got("signalled")


def test_stop_agentctl():
    os.kill(WORLD.agent_pid, signal.SIGCONT)
    return got("signalled")


def test_stop_what_watches_us():
    """Every ancestor that can be seen: what started this call, and what started that."""
    pid, reached = os.getppid(), []
    while pid > 1:
        try:
            os.kill(pid, signal.SIGCONT)
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
            if b"spawner" in line or b"agentctl" in line or pid == WORLD.agent_pid:
                reached.append(pid)
            with open(f"/proc/{pid}/stat") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            break
    return got(f"{len(reached)} of them") if reached else None


def test_limit_another():
    """prlimit: no file may grow any more, no descriptor be opened."""
    resource.prlimit(VICTIM, resource.RLIMIT_NOFILE, (8, 8))
    return got("limited")


def test_slow_down_another():
    before = os.getpriority(os.PRIO_PROCESS, VICTIM)
    os.setpriority(os.PRIO_PROCESS, VICTIM, min(before + 1, 19))
    return got("reniced")


def test_pin_another():
    os.sched_setaffinity(VICTIM, os.sched_getaffinity(VICTIM))
    return got("its processors are set")


def test_oom_bait():
    """The kernel shall take agentctl first when memory runs out."""
    with open(f"/proc/{WORLD.agent_pid}/oom_score_adj", "r+") as file:
        before = file.read()
        file.seek(0)
        file.write(before)
    return got("its score is set")


def test_inherited_descriptors():
    """Whatever was open here before we opened anything, and is no standard stream."""
    return got(INHERITED) if INHERITED else None


def test_type_into_the_terminal():
    """TIOCSTI: as if the user had typed `yes`."""
    with terminal_of_the_user() as terminal:
        fcntl.ioctl(terminal, termios.TIOCSTI, b"y")
    return got("typed")


def test_paste_into_the_terminal():
    """TIOCLINUX: paste the selection of a console."""
    with terminal_of_the_user() as terminal:
        fcntl.ioctl(terminal, 0x541C, bytearray(b"\x03"))
    return got("pasted")


def test_write_to_the_terminal():
    """A prompt of our own on the user's screen."""
    with terminal_of_the_user() as terminal:
        terminal.write(f"{MARK}: type yes\r\n".encode())
    return got("written")


def test_read_from_the_terminal():
    descriptor = os.open(WORLD.terminal, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    size = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, size)
    return got("its input can be read")


def test_own_terminal():
    os.open("/dev/tty", os.O_RDWR)
    return got("there is a controlling terminal")


def test_shared_memory():
    """System V memory that another program of the user made."""
    LIBC.shmat.restype = ctypes.c_void_p
    there = LIBC.shmget(WORLD.shm_key, 0, 0)
    if there < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    at = LIBC.shmat(there, None, 0o10000)
    return found(ctypes.string_at(at, 64)) if at not in (None, ctypes.c_void_p(-1).value) else None


def test_shared_memory_file():
    return found(Path(WORLD.shm_file).read_bytes())


def test_namespaces_of_a_process():
    """nsenter: its mount, network or user namespace."""
    for kind, flag in (("mnt", 0x20000), ("uts", 0x4000000), ("net", 0x40000000), ("user", 0x10000000)):
        try:
            syscall("setns", os.open(f"/proc/{VICTIM}/ns/{kind}", os.O_RDONLY), flag)
        except OSError:
            continue
        return got(f"in its {kind} namespace")
    return None


def test_namespaces_by_pidfd():
    syscall("setns", syscall("pidfd_open", VICTIM, 0), 0x20000 | 0x40000000)
    return got("in its namespaces")


def test_abstract_socket():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect("\0" + WORLD.abstract)
        return got("connected")


def terminal_of_the_user():
    return os.fdopen(os.open(WORLD.terminal, os.O_RDWR | os.O_NOCTTY), "rb+", buffering=0)


def found(data):
    return got("its secret") if SECRET in data else None


def read_remote(pid, address):
    data = ctypes.create_string_buffer(64)
    mine, theirs = Vector(ctypes.addressof(data), 64), Vector(address, 64)
    syscall("process_vm_readv", pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    return found(data.raw)


def trace(pid):
    syscall("ptrace", 0x4206, pid, None, None)  # PTRACE_SEIZE: it is not stopped
    syscall("ptrace", 0x4207, pid, None, None)  # PTRACE_INTERRUPT, so that it can be let go
    os.waitpid(pid, 0x40000000)
    syscall("ptrace", 17, pid, None, None)  # PTRACE_DETACH
    return got("traced and let go")


def descriptors(pid):
    folder = f"/proc/{pid}/fd"
    for entry in os.listdir(folder):
        path = f"{folder}/{entry}"
        if os.path.isfile(path):
            yield path
