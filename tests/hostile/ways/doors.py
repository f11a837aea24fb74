"""Sockets of other programs that do as they are told: each of them runs outside."""

import os
import socket
import subprocess
from pathlib import Path

from attack import HERE, MARK, WORLD, got, sent

DOORS = WORLD.doors


def test_docker():
    return ask("docker")


def test_podman():
    return ask("podman")


def test_docker_of_the_user():
    return ask("docker-desktop")


def test_session_bus():
    """D-Bus: systemd --user starts what it is asked to start."""
    return ask("bus")


def test_system_bus():
    return ask("system-bus")


def test_systemd_of_the_user():
    return ask("systemd")


def test_ssh_agent():
    """Signs with the user's keys."""
    return ask("ssh-agent")


def test_gpg_agent():
    return ask("gpg-agent")


def test_tmux():
    """`tmux send-keys`: type into the user's own shell. A real server where tmux is installed."""
    if not WORLD.tmux:
        return ask("tmux")
    aim = HERE / f"typed-{MARK}"
    subprocess.run(
        ["tmux", "-S", DOORS["tmux"], "run-shell", f"touch {aim}"], capture_output=True, check=False, timeout=20
    )
    return got("it ran a command of ours") if aim.exists() else None


def test_screen():
    return ask("screen")


def test_x11():
    """Types and reads every key."""
    return ask("x11")


def test_x11_abstract():
    return ask_abstract(WORLD.x11_abstract)


def test_wayland():
    return ask("wayland")


def test_editor():
    """The server of an editor evaluates what it is sent."""
    return ask("editor")


def test_remote_editor():
    """`code` of a remote window opens files and runs commands on the user's own machine."""
    return ask("vscode")


def test_keyring_daemon():
    return ask("keyring")


def test_socket_in_the_home():
    """A language server, a database: any socket of the user that nobody listed."""
    return ask("other")


def test_socket_in_the_workspace():
    """A development server of this very project."""
    token = f"{MARK}-workspace"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect(f"{WORLD.workspace}/app.sock")
        connection.sendall(f"{token}\n".encode())
    return sent(token)


def test_fifo_of_a_daemon():
    """A named pipe that another program reads commands from."""
    descriptor = os.open(WORLD.fifo, os.O_WRONLY | os.O_NONBLOCK)
    token = f"{MARK}-fifo"
    os.write(descriptor, f"{token}\n".encode())
    return sent(token)


def ask(name):
    token = f"{MARK}-door-{name}"
    if not Path(DOORS[name]).exists() and not Path(DOORS[name]).is_socket():
        raise FileNotFoundError(DOORS[name])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect(DOORS[name])
        connection.sendall(f"{token}\n".encode())
    return sent(token)


def ask_abstract(name):
    token = f"{MARK}-abstract-x11"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect("\0" + name)
        connection.sendall(f"{token}\n".encode())
    return sent(token)
