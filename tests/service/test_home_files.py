"""The home on disk: private files, tokens, trusted directories, the lock and the socket."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from shield.config.home import Home
from shield.errors import ConfigError, StateError
from shield.service import home as homes
from shield.service.birth import SHOWN_ONCE, initialise, new_tokens, with_approver
from shield.service.listener import claimed, listen_tcp, listen_unix
from shield.service.tokens import TokenBook, agent_trouble, issue, read_book, write_agent_token, write_book
from shield.types import Role

NOW = 1_795_000_000_000


@pytest.fixture
def folder():
    made = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def home(folder):
    found = Home(path=f"{folder}/h")
    homes.prepare(found)
    return found


def beside(home):
    return f"{os.path.dirname(home.path)}/state/shield"


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_prepare_makes_private_directories_and_closes_open_ones(folder):
    home = Home(path=f"{folder}/h")
    os.mkdir(home.path, 0o755)
    os.chmod(home.path, 0o755)
    said = homes.prepare(home)
    assert len(said) == 1
    assert "0755" in said[0]
    assert homes.prepare(home) == ()
    for path in (home.path, home.keys, home.tokens, home.run, home.policies, home.models):
        assert mode(path) == 0o700


def test_prepare_refuses_what_is_no_directory_of_ours(folder):
    os.symlink(folder, f"{folder}/link")
    with pytest.raises(ConfigError):
        homes.prepare(Home(path=f"{folder}/link"))
    open(f"{folder}/file", "w").close()
    with pytest.raises(ConfigError):
        homes.prepare(Home(path=f"{folder}/file"))
    home = Home(path=f"{folder}/h")
    os.mkdir(home.path)
    os.symlink(folder, home.run)
    with pytest.raises(ConfigError):
        homes.prepare(home)


def test_private_files(home):
    path = f"{home.path}/x"
    assert homes.read_private(path) is None
    homes.write_private(path, b"one")
    homes.write_private(path, b"two")
    assert homes.read_private(path) == b"two"
    assert mode(path) == 0o600
    assert [name for name in os.listdir(home.path) if name.startswith("x")] == ["x"]
    os.chmod(path, 0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        homes.read_private(path)
    os.remove(path)
    os.mkfifo(path, 0o600)
    with pytest.raises(ConfigError):
        homes.read_private(path)  # and does not wait for a writer
    os.remove(path)
    os.mkdir(path)
    with pytest.raises(ConfigError):
        homes.read_private(path)
    os.rmdir(path)
    homes.write_private(f"{home.path}/y", b"secret")
    os.symlink(f"{home.path}/y", path)
    with pytest.raises(ConfigError):
        homes.read_private(path)


def test_what_a_crash_left_behind_is_in_nobodys_way(home):
    """In a container every start has the same process id."""
    path = f"{home.path}/x"
    Path(f"{path}.{os.getpid()}").write_bytes(b"half of")
    homes.write_private(path, b"one")
    assert homes.read_private(path) == b"one"


def test_a_write_that_fails_leaves_nothing_behind(home):
    path = f"{home.path}/x"
    os.mkdir(path)
    before = os.listdir(home.path)
    with pytest.raises(ConfigError, match="nothing was changed"):
        homes.write_private(path, b"secret")
    assert os.listdir(home.path) == before
    with pytest.raises(ConfigError, match="run `shield init` first"):
        homes.write_private(f"{home.path}/nowhere/x", b"secret")


def test_birth_is_once(home):
    with claimed(home):
        born = initialise(home, checkpoints=beside(home), now_ms=NOW)
        assert set(born.secrets) == set(SHOWN_ONCE)
        with pytest.raises(StateError, match="begun already"):
            initialise(home, checkpoints=beside(home), now_ms=NOW)
    assert mode(home.agent_token) == mode(home.token_book) == mode(home.audit_key) == 0o600
    book = read_book(home)
    assert {token.role for token in book.tokens} == set(Role)
    for role, secret in born.secrets.items():
        assert book.find(secret.encode()).role is role
    agent = Path(home.agent_token).read_bytes().strip()
    assert book.find(agent).role is Role.AGENT


@pytest.mark.parametrize(
    "left", ["audit_db", "audit_checkpoint", "audit_key", "audit_private", "state_db", "token_book", "old"]
)
def test_a_home_with_anything_left_of_an_earlier_log_is_not_begun_anew(home, left):
    assert homes.is_empty(home)
    os.symlink("nowhere", getattr(home, left))  # even a dangling link
    assert not homes.is_empty(home)
    with pytest.raises(StateError):
        initialise(home, checkpoints=beside(home), now_ms=NOW)


def test_new_tokens_replace_the_old(home):
    before = initialise(home, checkpoints=beside(home), now_ms=NOW).secrets
    after = new_tokens(home, (Role.APPROVER,), now_ms=NOW)
    book = read_book(home)
    assert book.find(before[Role.APPROVER].encode()) is None
    assert book.find(after[Role.APPROVER].encode()).role is Role.APPROVER
    assert book.find(before[Role.ADMIN].encode()).role is Role.ADMIN
    with pytest.raises(ConfigError):
        new_tokens(home, (Role.AGENT,), now_ms=NOW)


@pytest.mark.parametrize("left", [b"garbage", b'{"version": 1, "tokens": [{}]}', None])
def test_new_tokens_are_the_way_out_where_the_book_is_lost(home, left):
    before = initialise(home, checkpoints=beside(home), now_ms=NOW).secrets
    os.remove(home.token_book) if left is None else homes.write_private(home.token_book, left)
    with pytest.raises(ConfigError, match="run `shield init --new-tokens`"):
        read_book(home)
    with pytest.raises(ConfigError):
        new_tokens(home, (), now_ms=NOW)  # nobody was asked
    after = new_tokens(home, (Role.APPROVER, Role.ADMIN), now_ms=NOW)
    book = read_book(home)
    assert book.find(Path(home.agent_token).read_bytes().strip()).role is Role.AGENT
    assert [book.find(secret.encode()).role for secret in after.values()] == [Role.APPROVER, Role.ADMIN]
    assert len(book.tokens) == 3
    assert all(book.find(secret.encode()) is None for secret in before.values())


@pytest.mark.parametrize("lost", ["gone", "another", "open"])
def test_new_tokens_make_a_fresh_one_for_agents_where_theirs_is_lost(home, lost):
    initialise(home, checkpoints=beside(home), now_ms=NOW)
    path = Path(home.agent_token)
    before = path.read_text().strip()
    assert agent_trouble(home, read_book(home)) is None
    if lost == "gone":
        path.unlink()
    elif lost == "another":
        path.write_text(f"shield_agent_{'0' * 64}\n")
    else:
        path.chmod(0o644)
    assert agent_trouble(home, read_book(home)) is not None
    new_tokens(home, (Role.APPROVER,), now_ms=NOW)
    book, after = read_book(home), path.read_text().strip()
    assert agent_trouble(home, book) is None
    assert book.find(after.encode()).role is Role.AGENT
    assert book.find(before.encode()) is None, "what was lost, somebody else may have"
    assert [token.role for token in book.tokens].count(Role.AGENT) == 1


def test_new_tokens_replace_no_book_that_others_can_read(home):
    initialise(home, checkpoints=beside(home), now_ms=NOW)
    os.chmod(home.token_book, 0o644)
    with pytest.raises(ConfigError):
        new_tokens(home, (Role.APPROVER,), now_ms=NOW)


def test_the_terminal_token_is_never_stored(home):
    initialise(home, checkpoints=beside(home), now_ms=NOW, roles=())
    book, secret = with_approver(read_book(home), now_ms=NOW)
    assert book.find(secret.encode()).role is Role.APPROVER
    assert read_book(home).find(secret.encode()) is None


def test_only_an_agents_secret_may_be_written(home):
    _, secret = issue(Role.APPROVER, "a", os.urandom, created_at=0)
    with pytest.raises(ConfigError):
        write_agent_token(home, secret)
    assert not os.path.lexists(home.agent_token)


def test_tokens_are_found_by_their_whole_secret_alone():
    token, secret = issue(Role.AGENT, "agent", os.urandom, created_at=0)
    book = TokenBook([token])
    assert book.find(secret.encode()) is token
    for wrong in (b"", secret[:-1].encode(), secret.encode() + b" ", token.sha256.encode(), token.id.encode()):
        assert book.find(wrong) is None
    assert TokenBook([]).find(b"") is None


GOOD = {"id": "tok_" + "0" * 16, "role": "agent", "name": "a", "sha256": "0" * 64, "created_at": 0}


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"version": 2, "tokens": []},
        {"version": 1, "tokens": {}, "more": 1},
        {"version": 1, "tokens": [{}]},
        {"version": 1, "tokens": [GOOD | {"role": "root"}]},
        {"version": 1, "tokens": [GOOD | {"sha256": "0" * 63}]},
        {"version": 1, "tokens": [GOOD | {"sha256": None}]},
        {"version": 1, "tokens": [GOOD | {"created_at": True}]},
        {"version": 1, "tokens": [GOOD | {"name": "a b"}]},
        {"version": 1, "tokens": [GOOD | {"scope": "all"}]},
        {"version": 1, "tokens": [GOOD, GOOD]},
    ],
)
def test_a_damaged_book_is_refused(home, value):
    homes.write_private(home.token_book, json.dumps(value).encode())
    with pytest.raises(ConfigError):
        read_book(home)


def test_a_book_reads_back(home):
    token, _ = issue(Role.AUDITOR, "eve", os.urandom, created_at=7)
    write_book(home, [token])
    assert read_book(home).tokens == (token,)
    os.chmod(home.token_book, 0o644)
    with pytest.raises(ConfigError):
        read_book(home)
    os.remove(home.token_book)
    with pytest.raises(ConfigError, match="shield init"):
        read_book(home)


def test_trusted_directories(home, folder):
    environ = {"HOME": f"{folder}/user"}
    os.makedirs(f"{folder}/user/proj/sub")
    assert homes.read_trusted(home) == ()
    root = homes.check_root(f"{folder}/user/proj", home, environ)
    homes.trust(home, root)
    homes.trust(home, root)
    assert homes.read_trusted(home) == (root,)
    trusted = homes.read_trusted(home)
    assert homes.within_trusted(f"{root}/sub", trusted)
    assert not homes.within_trusted(f"{root}2", trusted)
    assert not homes.within_trusted(os.path.dirname(root), trusted)
    assert not homes.within_trusted("/", ())


@pytest.mark.parametrize(
    "path", ["/", "{user}", "{folder}", "{home}", "{home}/policies", "proj", "{user}/none", "{up}"]
)
def test_what_can_never_be_a_workspace(home, folder, path):
    os.makedirs(f"{folder}/user")
    os.symlink(folder, f"{folder}/user/up")
    given = path.format(user=f"{folder}/user", folder=folder, home=home.path, up=f"{folder}/user/up")
    with pytest.raises(ConfigError):
        homes.check_root(given, home, {"HOME": f"{folder}/user"})


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b'{"version":1}', b'{"version":1,"roots":["rel"]}', b'{"version":1,"roots":[1]}']
)
def test_a_damaged_list_trusts_nothing(home, raw):
    homes.write_private(home.trusted, raw)
    with pytest.raises(ConfigError, match="damaged"):
        homes.read_trusted(home)


def test_one_shield_a_home(home):
    with claimed(home), pytest.raises(StateError, match="another Shield"), claimed(home):
        pass
    with claimed(home):
        pass
    os.remove(home.lock)
    os.symlink("/tmp/elsewhere", home.lock)
    with pytest.raises(StateError), claimed(home):
        pass


def test_the_socket_is_private_from_its_first_moment(home):
    path = f"{home.run}/s"
    with listen_unix(path) as listener:
        assert mode(path) == 0o600
        assert not listener.get_inheritable()
        with pytest.raises(StateError, match="listens on"):
            listen_unix(path)
        assert os.path.lexists(path)
    # dead now: nobody listens, so it is cleared
    with listen_unix(path):
        pass


@pytest.mark.parametrize("what", ["file", "link", "directory", "fifo"])
def test_only_a_dead_socket_is_removed(home, what):
    path = f"{home.run}/s"
    if what == "link":
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(f"{home.run}/other")
        os.symlink(f"{home.run}/other", path)
    elif what == "file":
        open(path, "w").close()
    elif what == "directory":
        os.mkdir(path)
    else:
        os.mkfifo(path)
    with pytest.raises(StateError, match="no socket of yours"):
        listen_unix(path)
    assert os.path.lexists(path)


def test_a_full_live_socket_is_not_mistaken_for_a_dead_one(home):
    path = f"{home.run}/s"
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(path)
        live.listen(0)
        waiting = []
        try:
            for _ in range(4):
                one = socket.socket(socket.AF_UNIX)
                one.setblocking(False)
                waiting.append(one)
                try:
                    one.connect(path)
                except BlockingIOError:
                    break
            with pytest.raises(StateError):
                listen_unix(path)
        finally:
            for one in waiting:
                one.close()
    assert os.path.lexists(path)


def test_the_socket_needs_a_private_directory(folder):
    os.mkdir(f"{folder}/open")
    os.chmod(f"{folder}/open", 0o755)
    with pytest.raises(ConfigError, match="0700"):
        listen_unix(f"{folder}/open/s")
    with pytest.raises(ConfigError, match="too long"):
        listen_unix(f"{folder}/{'a' * 100}/s")


def test_tcp_is_loopback_only():
    for address in ("0.0.0.0:0", "192.168.1.1:80", "localhost:80", "127.0.0.1", "127.0.0.1:99999", "::1:80"):
        with pytest.raises(ConfigError):
            listen_tcp(address)
    with listen_tcp("127.0.0.1:0") as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass


# a second name for a directory, as case gives one on many a Mac; here a mount does
SECOND_NAME = """
import json, os, subprocess, sys
from shield.config.home import Home
from shield.pipeline.sessions import Execution, SessionBook
from shield.service.embedded import refuse_inside
from shield.service.home import check_root
from shield.types import Isolation
top = sys.argv[1]
for name, place in (("HOME", "u"), ("all", "."), ("state", "u/.shield"), ("work", "u/work")):
    os.makedirs(f"{top}/{name}")
    subprocess.run(["mount", "--bind", f"{top}/{place}", f"{top}/{name}"], check=True)
environ = {"HOME": f"{top}/u"}
home = Home(path=f"{top}/u/.shield")
book = SessionBook(
    execution=Execution(shell="/bin/bash", env={}, umask=0o077), home=environ["HOME"], shield_home=home.path,
    trusted=lambda: (top,), now_ms=lambda: 0,
)
def taken(work):
    try:
        work()
    except Exception as error:
        return type(error).__name__
    return "taken"
print(json.dumps({
    name: [
        taken(lambda: check_root(f"{top}/{name}", home, environ)),
        taken(lambda: book.open((f"{top}/{name}",), Isolation.NONE, None, owner="o", agent="a")),
        taken(lambda: refuse_inside(home, f"{top}/{name}", {"HOME": "/nobody"})),
    ]
    for name in ("HOME", "all", "state", "work")
}))
"""  # fmt: skip


def test_no_second_name_of_a_home_is_a_workspace(folder):
    os.makedirs(f"{folder}/u/.shield")
    os.makedirs(f"{folder}/u/work")
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-P", "-c", SECOND_NAME, folder],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if done.returncode != 0 and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip(f"this user cannot mount: {done.stderr.strip()[:120]}")
    assert json.loads(done.stdout) == {
        "HOME": ["ConfigError", "RefusedError", "ConfigError"],
        "all": ["ConfigError", "RefusedError", "ConfigError"],
        "state": ["ConfigError", "RefusedError", "ConfigError"],
        "work": ["taken", "taken", "taken"],
    }
