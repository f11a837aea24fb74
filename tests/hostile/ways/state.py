"""Shield's state, agentctl's, the code of both, and the ways around a name that is not there."""

import contextlib
import ctypes
import os
import shutil
import socket
import sqlite3
import subprocess
from pathlib import Path

from attack import HERE, LIBC, MARK, WORLD, apart, got, plant, read, sent, syscall

SHIELD = Path(WORLD.shield_home)
TOKEN = SHIELD / "tokens" / "agent.token"
LOG = SHIELD / "audit.db"
SQLITE = "SQLite format 3"


def test_list_home():
    return got(sorted(os.listdir(SHIELD))) if os.listdir(SHIELD) else None


def test_read_agent_token():
    return read(TOKEN, "shield_agent_")


def test_read_audit_key():
    return read(SHIELD / "keys" / "audit.pem", "PRIVATE KEY")


def test_read_configuration():
    return read(SHIELD / "shield.toml", "[workspaces]")


def test_read_token_book():
    (book,) = [path for path in SHIELD.rglob("*.json") if "token" in path.name]
    return read(book, "{")


def test_read_audit_log():
    return read(LOG, SQLITE)


def test_query_audit_log():
    with sqlite3.connect(f"file:{LOG}?mode=ro&immutable=1", uri=True) as log:
        return got(log.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def test_write_audit_log():
    return same_byte(LOG)


def test_read_state():
    return read(SHIELD / "state.db", SQLITE)


def test_write_state():
    return same_byte(SHIELD / "state.db")


def test_read_policy():
    return read(SHIELD / "policies" / "mine.yaml", "version: 1")


def test_write_policy():
    return plant(SHIELD / "policies" / "mine.yaml")


def test_add_policy():
    return plant(SHIELD / "policies" / "zz.yaml", "version: 1\nname: zz\n# {}\n")


def test_write_configuration():
    return plant(SHIELD / "shield.toml")


def test_trust_another_directory():
    return plant(SHIELD / "trusted.json")


def test_move_home_away():
    aside = SHIELD.with_name(".shield-aside")
    os.rename(SHIELD, aside)
    os.rename(aside, SHIELD)
    return got("renamed, and back")


def test_replace_home_by_a_link():
    aside = SHIELD.with_name(".shield-behind")
    os.rename(SHIELD, aside)
    os.symlink(HERE, SHIELD)
    SHIELD.unlink()
    os.rename(aside, SHIELD)
    return got("a link stood in its place")


def test_move_what_is_above_configuration():
    """The mount that hides goes with its parent: a new `~/.config` could hold a configuration of ours."""
    return move(Path(WORLD.agent_config).parent.parent)


def test_move_what_is_above_sessions():
    return move(Path(WORLD.agent_history).parent.parent)


def test_move_what_is_above_home():
    """The user's whole home, with everything hidden in it."""
    return move(SHIELD.parent)


def test_move_what_is_above_the_code():
    return move(Path(WORLD.shield_package).parent)


def test_move_the_environment():
    return move(Path(WORLD.environment))


def test_write_checkpoint():
    return plant(Path(WORLD.checkpoints) / "latest.txt")


def test_list_what_is_remembered():
    found = os.listdir(WORLD.checkpoints)
    return got(sorted(found)) if found else None


def test_read_what_is_remembered():
    return read(WORLD.checkpoint_file, "shield.local/")


def test_read_list_of_logs():
    return read(Path(WORLD.checkpoints) / "logs", "shield.local/")


def test_write_what_is_remembered():
    return same_byte(WORLD.checkpoint_file)


def test_write_list_of_logs():
    return same_byte(Path(WORLD.checkpoints) / "logs")


def test_cut_what_is_remembered():
    """As long as it was: it could have been made shorter."""
    with open(WORLD.checkpoint_file, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.truncate(size)
    return got(f"{size} bytes stay") if size else None


def test_delete_list_of_logs():
    """Without the list a second log could be begun in place of the first."""
    path = Path(WORLD.checkpoints) / "logs"
    before = b""
    with contextlib.suppress(OSError):
        before = path.read_bytes()
    path.unlink()
    path.write_bytes(before)
    return got("gone, and back")


def test_replace_what_is_remembered():
    """By a file of ours with the same name."""
    new = HERE / "checkpoints-of-ours"
    new.write_text("")
    aside = Path(f"{WORLD.checkpoint_file}.aside")
    os.rename(WORLD.checkpoint_file, aside)
    os.rename(new, WORLD.checkpoint_file)
    os.rename(aside, WORLD.checkpoint_file)
    return got("another file stood in its place")


def test_move_what_is_remembered_away():
    return move(Path(WORLD.checkpoints))


def test_move_what_is_above_checkpoints():
    return move(Path(WORLD.checkpoints).parent)


def test_link_to_what_is_remembered():
    link = HERE / "innocent-checkpoints"
    link.symlink_to(WORLD.checkpoint_file)
    try:
        return read(link, "shield.local/")
    finally:
        link.unlink()


def test_read_agent_configuration():
    return read(WORLD.agent_config, "base_url")


def test_write_agent_configuration():
    return plant(WORLD.agent_config, '\nproxy = "http://{}.example"\n')


def test_read_agent_sessions():
    return read(WORLD.agent_history, SQLITE)


def test_write_agent_sessions():
    return same_byte(WORLD.agent_history)


def test_write_code_of_shield():
    return plant(Path(WORLD.shield_package) / "errors.py")


def test_write_code_of_agentctl():
    return plant(Path(WORLD.agentctl_package) / "execute.py")


def test_write_bytecode():
    (cached, *_) = sorted((Path(WORLD.shield_package) / "__pycache__").glob("errors.*.pyc"))
    return same_byte(cached)


def test_write_dependency():
    return plant(Path(WORLD.site_packages) / "click" / "__init__.py")


def test_add_pth():
    return plant(Path(WORLD.site_packages) / "zz.pth", "import sys # {}\n")


def test_add_sitecustomize():
    return plant(Path(WORLD.site_packages) / "sitecustomize.py")


def test_write_interpreter():
    return plant(Path(WORLD.base_stdlib) / "sitecustomize.py")


def test_replace_program():
    return plant(Path(WORLD.environment) / "bin" / "agentctl", "#!/bin/sh\n# {}\n")


def test_environment_marker():
    return plant(Path(WORLD.environment) / "pyvenv.cfg")


def test_dots():
    return read(f"{HERE}/../../.cache/../.shield/tokens/agent.token", "shield_agent_")


def test_link():
    link = HERE / "innocent"
    link.symlink_to(TOKEN)
    try:
        return read(link, "shield_agent_")
    finally:
        link.unlink()  # a link that may not be followed stops pytest itself


def test_hard_link():
    os.link(TOKEN, HERE / "hard")
    return read(HERE / "hard", "shield_agent_")


def test_proc_self_root():
    return read(f"/proc/self/root{TOKEN}", "shield_agent_")


def test_proc_of_others():
    """Through the root or the working directory of every process that can be seen."""
    for entry in os.listdir("/proc"):
        for link in ("root", "cwd") if entry.isdigit() and entry != str(os.getpid()) else ():
            for path in (f"/proc/{entry}/{link}{TOKEN}", f"/proc/{entry}/{link}/.shield/tokens/agent.token"):
                try:
                    if found := read(path, "shield_agent_"):
                        return found
                except OSError:
                    continue
    return None


def test_descriptor_of_the_parent():
    home = os.open(SHIELD.parent, os.O_PATH)
    inside = os.open(SHIELD.name, os.O_PATH, dir_fd=home)
    descriptor = os.open("tokens/agent.token", os.O_RDONLY, dir_fd=inside)
    return got("by descriptors") if os.read(descriptor, 13) == b"shield_agent_" else None


def test_file_handle():
    """open_by_handle_at: by inode number, past every path (the Shocker escape)."""

    class Handle(ctypes.Structure):
        _fields_ = (("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_char * 128))

    handle, mount = Handle(size=128), ctypes.c_int()
    above = os.open(HERE, os.O_RDONLY)
    syscall("name_to_handle_at", -100, os.fsencode(TOKEN), ctypes.byref(handle), ctypes.byref(mount), 0)
    descriptor = syscall("open_by_handle_at", above, ctypes.byref(handle), os.O_RDONLY)
    return got("by handle") if os.read(descriptor, 13) == b"shield_agent_" else None


@apart
def test_unmount_what_hides():
    for path in (SHIELD, SHIELD.parent, "/proc", "/run", "/tmp"):
        try:
            syscall("umount2", os.fsencode(path), 2)
        except OSError:
            continue
    return read(TOKEN, "shield_agent_")


@apart
def test_bind_elsewhere():
    target = HERE / "seen"
    target.mkdir()
    syscall("mount", os.fsencode(SHIELD), os.fsencode(target), None, 4096, None)
    return read(target / "tokens" / "agent.token", "shield_agent_")


def test_clone_the_mount():
    """open_tree(OPEN_TREE_CLONE) of `/` without what is mounted on it."""
    tree = syscall("open_tree", -100, b"/home", 1)
    descriptor = os.open(TOKEN.relative_to("/home"), os.O_RDONLY, dir_fd=tree)
    return got("through a clone of the mount") if os.read(descriptor, 13) == b"shield_agent_" else None


def test_watch_home():
    """inotify on what is hidden: learn when what happens."""
    watch = LIBC.inotify_init()
    paths = [LIBC.inotify_add_watch(watch, os.fsencode(path), 0xFFF) for path in (SHIELD / "run", LOG)]
    return got("told of every change") if max(paths) >= 0 else None


def test_see_when_and_how_much():
    """Size and time of the log: that something was decided, and when."""
    return got(f"{LOG.stat().st_size} bytes")


def test_close_the_log():
    """The mode that it has, set once more: any other would do, and Shield could not open it again."""
    os.chmod(LOG, LOG.stat().st_mode & 0o7777)
    return got("its mode can be set")


def test_close_the_log_by_its_folder():
    os.chmod(SHIELD, SHIELD.stat().st_mode & 0o7777)
    return got("its mode can be set")


def test_set_its_times():
    found = os.stat(WORLD.agent_config)
    os.utime(WORLD.agent_config, ns=(found.st_atime_ns, found.st_mtime_ns))
    return got("its times can be set")


def test_set_an_attribute():
    """An attribute of ours on Shield's configuration, and away again."""
    os.setxattr(SHIELD / "shield.toml", "user.hostile", b"1")
    os.removexattr(SHIELD / "shield.toml", "user.hostile")
    return got("set")


def test_import_shield():
    """The code of both programs, where the interpreter that runs here can load it."""
    done = subprocess.run(
        [WORLD.python, "-c", "import shield.client, agentctl.execute; print('in')"],
        capture_output=True, text=True, timeout=30, check=False, env={"PYTHONPATH": WORLD.import_path},
    )  # fmt: skip
    return got("imported") if done.stdout == "in\n" else None


def test_start_our_programs():
    """`shield approvals list` and friends, as the user would start them."""
    done = subprocess.run(
        [WORLD.python, "-P", "-m", "shield", "status"], capture_output=True, text=True, timeout=30, check=False,
        env={"PYTHONPATH": WORLD.import_path, "HOME": WORLD.home, "SHIELD_HOME": str(SHIELD), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    return got(done.stdout[:80]) if "policy" in done.stdout else None


def test_connect_to_the_socket():
    """Ask Shield with the agent's own token, or without."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect(WORLD.socket)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: shield\r\nConnection: close\r\n\r\n")
        return got("it answered") if connection.recv(12).startswith(b"HTTP/1.1") else None


def test_connect_by_descriptor():
    """The socket's directory by descriptor: sun_path of /proc/self/fd."""
    folder = os.open(os.path.dirname(WORLD.socket), os.O_PATH)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(WORLD.socket)}")
        return got("connected")


def test_replace_the_socket():
    aside = WORLD.socket + ".aside"
    os.rename(WORLD.socket, aside)
    try:
        with socket.socket(socket.AF_UNIX) as mine:
            mine.bind(WORLD.socket)
            return got("another one answers now")
    finally:
        if os.path.exists(WORLD.socket):
            os.unlink(WORLD.socket)
        os.rename(aside, WORLD.socket)


def test_connect_to_the_port():
    return sent(knock("127.0.0.1", WORLD.hidden_port))


def test_port_by_other_names():
    """The same port under every other name of this machine."""
    for host in (
        "127.1",
        "0.0.0.0",
        "localhost",
        "127.0.0.2",
        "::1",
        "::ffff:127.0.0.1",
        "0x7f000001",
        WORLD.elsewhere,
    ):
        try:
            return sent(knock(host, WORLD.hidden_port))
        except OSError:
            continue
    return None


def test_port_by_multipath_tcp():
    """IPPROTO_MPTCP: another socket type than Landlock's rules for TCP know."""
    return sent(knock("127.0.0.1", WORLD.hidden_port, protocol=262))


def test_port_by_fast_open():
    """sendto(MSG_FASTOPEN) connects without connect()."""
    token = f"{MARK}-fastopen"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        connection.sendto(f"{token}\n".encode(), socket.MSG_FASTOPEN, ("127.0.0.1", WORLD.hidden_port))
    return sent(token)


def knock(host, port, *, protocol=0):
    token = f"{MARK}-{host}-{port}-{protocol}"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, protocol) as connection:
        connection.settimeout(3)
        connection.connect((host, port))
        connection.sendall(f"{token}\n".encode())
    return token


def move(path):
    """Put a folder of ours in the place of another for a moment."""
    if WORLD.level == "confined" and path.is_relative_to("/tmp"):
        return None  # of a private /tmp: what moves is an empty folder that stands there for a mount
    aside = path.with_name(path.name + "-aside")
    os.rename(path, aside)
    path.mkdir()
    path.rmdir()
    os.rename(aside, path)
    return got(f"{path} was another one")


def same_byte(path):
    """Write the byte that is there: nothing changes, and it is proven that it could."""
    with open(path, "r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(first)
    return got(f"wrote to {path}") if first else None


def test_install_into_the_environment():
    """What `pip install` does: a package beside ours."""
    target = Path(WORLD.site_packages) / "zz_evil"
    shutil.rmtree(target, ignore_errors=True)
    return plant(target / "__init__.py")
