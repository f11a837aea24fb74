"""The policy in force, a workspace's own file, and who is at the other end of a socket."""

import os
import shutil
import socket
import struct
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from service_harness import SESSION
from shield.client.peer import Peer, peer_of
from shield.config.home import Home
from shield.config.sections import Config
from shield.errors import PolicyError
from shield.service.guarded import protected
from shield.service.installation import installation
from shield.service.rulebook import Rulebook, load_owner_policy

OVERLAY = """
version: 1
name: ours
rules:
  - id: no.readme
    effect: block
    when: paths.exists(p, p.raw == "README.md")
    reason: not here
"""


@pytest.fixture
def folder():
    made = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    os.mkdir(f"{made}/policies")
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def shipped():
    return load_owner_policy(Home(path="/nonexistent"), Config())


def test_a_relative_policy_file_is_looked_for_in_the_home_alone(folder):
    home = Home(path=folder)
    here = os.getcwd()
    os.chdir(folder)
    try:
        Path(folder, "mine.yaml").write_text("version: 1\nname: mine\nrules: []\n")
        with pytest.raises(PolicyError):
            load_owner_policy(home, Config(policy="mine.yaml"))
        with pytest.raises(PolicyError):
            load_owner_policy(home, Config(policy="./mine.yaml"))
    finally:
        os.chdir(here)


def test_a_workspaces_file_counts_from_the_next_call_on(folder, shipped):
    book = Rulebook(shipped, lambda: shipped)
    session = replace(SESSION, workspace_roots=(folder,))
    assert book.for_session(None) is shipped
    assert book.for_session(session) is shipped
    file = Path(folder, ".shield.yaml")
    file.write_text(OVERLAY)
    overlaid = book.for_session(session)
    assert overlaid.digest != shipped.digest
    assert book.for_session(session) is overlaid
    assert book.for_session(None) is shipped
    file.write_text(OVERLAY.replace("not here", "nor there"))
    assert book.for_session(session).digest not in (overlaid.digest, shipped.digest)
    file.unlink()
    assert book.for_session(session) is shipped


@pytest.mark.parametrize("what", ["broken", "link", "directory", "fifo", "huge"])
def test_a_workspaces_file_that_cannot_be_read_is_not_ignored(folder, shipped, what):
    path = f"{folder}/.shield.yaml"
    if what == "broken":
        Path(path).write_text("rules: [")
    elif what == "link":
        os.symlink("/nonexistent", path)
    elif what == "directory":
        os.mkdir(path)
    elif what == "fifo":
        os.mkfifo(path)
    else:
        Path(path).write_bytes(b"# " + b"x" * (1024 * 1024))
    overlaid = Rulebook(shipped, lambda: shipped).for_session(replace(SESSION, workspace_roots=(folder,)))
    assert overlaid.digest != shipped.digest


def test_the_cache_of_overlays_is_bounded(folder, shipped):
    book = Rulebook(shipped, lambda: shipped)
    session = replace(SESSION, workspace_roots=(folder,))
    for number in range(70):
        Path(folder, ".shield.yaml").write_text(f"version: 1\nname: n{number}\nrules: []\n")
        book.for_session(session)
    assert len(book._overlaid) <= 64


def test_peer_credentials():
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert peer_of(one) == Peer(uid=os.getuid(), pid=os.getpid())
    with socket.socket() as tcp:
        assert peer_of(tcp) is None


def test_peer_credentials_of_macos():
    class Recorded:
        family = socket.AF_UNIX

        def getsockopt(self, level, option, size):
            assert (level, option) == (0, 1)
            return struct.pack("Iih", 0, 501, 1) + bytes(64)

    assert peer_of(Recorded(), "darwin") == Peer(uid=501)


def test_what_is_guarded(folder):
    home = Home(path=f"{folder}/h")
    config = Config.model_validate({"service": {"tcp": "127.0.0.1:8470"}})
    installed = installation(import_path=("", "/", "/usr/lib", "/nonexistent"))
    guarded = protected(home, config, pids=frozenset({7}), installed=installed)
    assert home.path in guarded.state
    assert os.path.realpath("/usr/lib") in guarded.code
    assert "/" not in guarded.code
    assert guarded.ports == {8470}
    assert guarded.pids == {7}
