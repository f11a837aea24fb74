"""The log in Shield: what remembers it outside, what a lost one leads to, its keys, and what is kept beside it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentctl.config import load as settings
from audit.checkpoint import Checkpoint, Proof
from audit.clock import SystemClock
from audit.cosignature import WitnessKey
from audit.entry import Draft
from audit.keys import read_verify_key
from audit.private import load_master, open_private
from audit.query import Filter, select
from audit.sinks.file import FileSink
from audit.sinks.register import Register
from service_harness import call
from service_process import begun, command, environment, post, run, serving, state, stop
from shield.cli import shield
from shield.config.home import Home, home_from
from shield.config.loading import load
from shield.config.sections import Audit
from shield.errors import ConfigError, RecordError, StateError
from shield.service.birth import initialise
from shield.service.home import check_root, is_empty, prepare
from shield.service.listener import claimed
from shield.service.log import load_key, open_log
from shield.service.outside import Outside, check_folder, refuse_second
from shield.service.renewal import renew
from shield.service.tokens import read_book
from shield.types import Role

READ = {"type": "read_file", "payload": {"path": "/etc/hostname"}}
NOW = 1_795_000_000_000
WITNESS = WitnessKey("w.example/one", bytes(32)).line()
QUICK = "[audit]\ninterval_s = 0.1\n"


@pytest.fixture
def folder():
    made = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    yield made
    shutil.rmtree(made)


def agent(home):
    return Path(home.agent_token).read_text().strip()


def ask(home, path, payload=READ):
    answer = post(path, "/v1/evaluate", agent(home), payload)
    assert answer.status == 200, answer
    return answer.json()


def ready(path, token=None):
    return call(path, "GET", "/readyz", token=token).json()


def invoke(home, *words):
    """A command in this process: quicker than one of its own."""
    return CliRunner().invoke(shield, words, env=environment(home))


def until(found, what):
    """What `found` gives once it satisfies `what`; the suite's own limit ends a wait for what never comes."""
    ends = time.monotonic() + 30
    while not what(value := found()):
        assert time.monotonic() < ends, value
        time.sleep(0.02)
    return value


def refused(home, *words, **more):
    done = run(home, *(words or ("serve",)), **more)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    return done.stderr


def records(home):
    return list(select(Path(home.audit_db), Filter()))


def register(folder):
    return [one.key.name for one in Register(Path(state(folder))).logs()]


def name_of(home):
    return read_verify_key(Path(home.audit_vkey)).name


# --- outside ---------------------------------------------------------------------------------------------------------


def test_the_log_is_remembered_outside_and_shown(folder):
    home, tokens = begun(folder, toml=QUICK)
    assert register(folder) == [name_of(home)]
    with serving(home) as (process, path):
        seq = ask(home, path)["seq"]
        outside = until(lambda: ready(path, tokens[Role.ADMIN])["log"], lambda log: (log["outside"]["size"] or 0) > seq)
        assert outside["id"] == name_of(home)
        (place,) = outside["outside"]["places"]
        assert (place["name"], place["trouble"]) == ("file", None)
        # an agent is told how far, not where
        assert ready(path, agent(home))["log"]["outside"]["places"] is None
        page = call(path, "GET", "/metrics").body.decode()
        assert f'shield_audit_external_checkpoint_size{{sink="file"}} {outside["size"]}' in page
        assert 'shield_audit_external_checkpoint_age_seconds{sink="file"}' in page
        told = run(home, "status", SHIELD_TOKEN=tokens[Role.ADMIN])
        assert re.search(r"^outside   \d+ records confirmed \d+ s ago, file$", told.stdout, re.MULTILINE), told
        # protected, and kept from what tools run
        write = {"type": "write_file", "payload": {"path": f"{state(folder)}/logs", "content": ""}}
        assert ask(home, path, write)["decision"] == "BLOCK"
        session = post(path, "/v1/sessions", agent(home), {"workspace_roots": [f"{folder}/ws"], "isolation": "none"})
        assert state(folder) in session.json()["hidden"]["paths"]
        # one record, proved to whoever has the key
        proof = call(path, "GET", f"/v1/audit/proof/{seq}", token=tokens[Role.AUDITOR])
        leaf = json.dumps(call(path, "GET", f"/v1/audit/records?from={seq}&limit=1", token=tokens[Role.AUDITOR]).json())
        assert '"decision"' in leaf
        found = Proof.parse(proof.body.decode()).verify(records(home)[seq].leaf, read_verify_key(Path(home.audit_vkey)))
        assert found.size > seq
        assert call(path, "GET", "/v1/audit/proof/999", token=tokens[Role.AUDITOR]).status == 404
        stop(process)
    # the last checkpoint, made while closing, went out too
    (note,) = FileSink(Path(state(folder)), name_of(home)).remembered()
    assert Checkpoint.open(note, read_verify_key(Path(home.audit_vkey))).size == len(records(home))
    done = invoke(home, "audit", "verify", "--json")
    assert done.exit_code == 0, done.output
    assert oct(os.stat(state(folder)).st_mode & 0o777) == "0o700"


def test_records_that_nobody_signed_are_taken_over_and_said(folder):
    home, tokens = begun(folder, toml=QUICK)
    filled(home)
    with opened(home) as log:
        log.append(Draft(kind="log.open", body={}))
        log.checkpoint()
        files = {home.audit_checkpoint: Path(home.audit_checkpoint).read_bytes()}
        log.append(Draft(kind="decision", body={"decision": "ALLOW", "reason": "somebody wrote this without the key"}))
        files |= {path: Path(path).read_bytes() for path in (home.audit_db, f"{home.audit_db}-wal")}
    for path, content in files.items():
        Path(path).write_bytes(content)
    with serving(home) as (process, path):
        assert "record 6 was not sealed when the log was opened" in process.said()
        (note,) = ready(path, tokens[Role.ADMIN])["notes"]
        assert note["reason"] == "audit.outside"
        assert "record 6 was not sealed when the log was opened" in note["detail"]
        assert "record 6 was not sealed" in run(home, "status", SHIELD_TOKEN=tokens[Role.ADMIN]).stdout
        assert "record 6" not in json.dumps(ready(path, agent(home)))
        stop(process)
    opening = records(home)[7].envelope
    assert (opening.kind, opening.body["log"]["sealed"], opening.body["log"]["size"]) == ("log.open", 6, 7)
    done = invoke(home, "audit", "verify")
    assert done.exit_code == 0, done.output
    assert "note: records 6 to 6 were not sealed when the log was opened at 7" in done.output
    with serving(home) as (process, path):
        assert ready(path, tokens[Role.ADMIN])["notes"] == []
        stop(process)


def test_agentctl_names_the_home_as_it_was_named(folder):
    home, other = Home(path=f"{folder}/h"), Path(f"{folder}/elsewhere/h")
    for path in (home.path, f"{folder}/elsewhere"):
        os.mkdir(path, 0o700)
    os.symlink(home.path, f"{folder}/link")
    os.symlink(f"{folder}/elsewhere", f"{folder}/out")

    def named(given):
        return settings({"HOME": folder, "SHIELD_HOME": given}, cwd=Path("/")).home

    assert named(f"{folder}/link/./") == Path(f"{folder}/link")
    # the Shield that is started with it knows both
    assert home_from({"SHIELD_HOME": str(named(f"{folder}/link"))}).names == (home.path, f"{folder}/link")
    # `..` behind a link leads elsewhere than it reads
    other.mkdir(0o700)
    assert named(f"{folder}/out/../elsewhere/h") == other
    os.mkdir(f"{folder}/elsewhere/deep", 0o700)
    os.symlink(f"{folder}/elsewhere/deep", f"{folder}/far")
    assert named(f"{folder}/far/../h") == other


def test_an_older_copy_of_the_home_does_not_start(folder):
    home, _ = begun(folder)
    shutil.copytree(home.path, f"{folder}/older")
    filled(home)
    shutil.rmtree(home.path)
    os.rename(f"{folder}/older", home.path)
    said = refused(home)
    assert "the audit log cannot be trusted" in said
    assert "--new-log" in said
    # what it says to find out with finds it: `python -P -m audit verify` alone has nothing to compare with
    named = re.search(r"find out with `SHIELD_HOME=(\S+) shield (audit verify)`", said)
    assert named is not None, said
    assert named[1] == home.path
    assert run(home, *named[2].split()).returncode == 1
    # without the memory outside nobody could tell
    opened(home, outside=False).close()


def test_a_home_that_was_removed_is_not_begun_anew(folder):
    home, _ = begun(folder)
    shutil.rmtree(home.path)
    ready_end = os.pipe()
    try:
        for words in (
            ("serve",),
            ("init", "--no-tokens"),
            ("--embedded", "--ready-fd", str(ready_end[1])),
        ):
            done = run(home, *words, pass_fds=(ready_end[1],))
            assert done.returncode == 2
            assert "was begun before" in done.stderr
            assert "`shield init --new-log REASON`" in done.stderr
    finally:
        for end in ready_end:
            os.close(end)
    assert not os.path.lexists(home.audit_db)
    # another home of the same person is begun as ever
    other = Home(path=f"{folder}/h2")
    prepare(other)
    initialise(other, now_ms=NOW, checkpoints=state(folder), roles=())
    assert len(register(folder)) == 2


def test_a_list_that_cannot_be_read_lets_no_home_begin(folder):
    os.makedirs(state(folder), mode=0o700)
    Path(state(folder), "logs").write_text("2026-11-22T00:00:00.000Z nonsense\n")
    home = Home(path=f"{folder}/h")
    prepare(home)
    with pytest.raises(StateError, match="nobody can tell"):
        initialise(home, now_ms=NOW, checkpoints=state(folder), roles=())
    assert is_empty(home)


def test_a_folder_that_cannot_be_written_stops_no_verdict(folder):
    home, tokens = begun(folder, toml=QUICK)
    os.remove(f"{state(folder)}/logs")
    os.chmod(state(folder), 0o777)  # refused: anybody could change what it remembers
    with serving(home) as (process, path):
        assert "is not listed out of its reach" in process.said()
        assert ask(home, path)["seq"] == 1
        report = until(lambda: ready(path, tokens[Role.ADMIN]), lambda report: report["notes"])
        assert report["ready"]
        assert report["notes"][0]["reason"] == "audit.outside"
        assert report["log"]["outside"]["size"] is None
        told = run(home, "status", SHIELD_TOKEN=tokens[Role.ADMIN])
        assert told.returncode == 0
        assert "audit.outside: file: " in told.stdout
        assert "outside   nothing confirmed yet" in told.stdout
        os.chmod(state(folder), 0o700)
        report = until(lambda: ready(path, tokens[Role.ADMIN]), lambda report: report["log"]["outside"]["size"])
        # that the list was gone stays to be seen
        assert "knows nothing of the log" in report["notes"][0]["detail"]
        assert report["log"]["outside"]["size"] >= 2
        stop(process)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("@/h/checkpoints", "lies in Shield's home"),
        ("@/h", "lies in Shield's home"),
        ("@/ws/x", "where agents work"),
        ("@/ws", "where agents work"),
        ("@", "holds your home directory or Shield's"),
        ("@/user", "holds your home directory or Shield's"),
        ("@/link", "where agents work"),
    ],
)
def test_the_folder_lies_where_no_agent_works(folder, given, said):
    home = Home(path=f"{folder}/h")
    os.makedirs(home.path, mode=0o700)
    os.makedirs(f"{folder}/ws")
    os.symlink(f"{folder}/ws", f"{folder}/link")
    path = given.replace("@", folder)
    Path(home.toml).write_text(f'[workspaces]\nroots = ["{folder}/ws"]\n[audit]\ncheckpoints = "{path}"\n')
    environ = {"HOME": f"{folder}/user"}
    with pytest.raises(ConfigError, match=said) as refused:
        check_folder(load(home, {}), home, environ)
    assert "`[audit] checkpoints`" in str(refused.value)


def test_no_directory_around_the_folder_is_trusted(folder):
    home = Home(path=f"{folder}/h")
    prepare(home)
    environ = {"HOME": f"{folder}/user", "XDG_STATE_HOME": f"{folder}/state"}
    os.makedirs(f"{state(folder)}/inner")
    for root in (f"{folder}/state", state(folder), f"{state(folder)}/inner"):
        with pytest.raises(ConfigError, match="where the log is remembered"):
            check_root(root, home, environ)


@pytest.mark.parametrize(
    "lines",
    [
        ("https://w.example not-a-key",),
        ("https://u@w.example w.example+00000000+AAAA",),
        (f"https://w.example {WITNESS}", f"https://other.example {WITNESS}"),
    ],
)
def test_a_witness_that_cannot_be_used_stops_the_start(folder, lines):
    with pytest.raises(ConfigError, match=r"`audit\.witnesses`"):
        Outside.of(Audit(witnesses=lines), folder, "shield.local/X", SystemClock.read())


def test_a_witness_confirms_the_log(folder):
    home, tokens = begun(folder)
    witness = subprocess.Popen(
        [*command()[:-1], "audit", "witness", "--state", f"{folder}/w", "--new-key", "w.example/one", "--log", home.audit_vkey,
         "--listen", "127.0.0.1:0"],
        env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        words: list[str] = []
        while not any(word.startswith("http://") for word in words):
            words += witness.stdout.readline().split() or pytest.fail(" ".join(words))
        url, vkey = words[-1], words[1]
        Path(home.toml).write_text(f'[audit]\ninterval_s = 0.1\nwitnesses = ["{url} {vkey}"]\n')
        with serving(home) as (process, path):
            seq = ask(home, path)["seq"]
            places = until(
                lambda: ready(path, tokens[Role.ADMIN])["log"]["outside"]["places"],
                lambda places: all((place["size"] or 0) > seq for place in places),
            )
            assert [place["name"] for place in places] == ["file", "w.example/one"]
            stop(process)
    finally:
        witness.terminate()
        witness.communicate(timeout=20)
    done = invoke(home, "audit", "verify", "--json")
    assert done.exit_code == 0, done.output
    # with the witness's key only what it cosigned counts
    Path(f"{folder}/w.vkey").write_text(f"{vkey}\n")
    done = invoke(home, "audit", "verify", "--json", "--witness-key", f"{folder}/w.vkey")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["confirmed"] > seq
    Path(f"{folder}/other.vkey").write_text(f"{WITNESS}\n")
    assert invoke(home, "audit", "verify", f"--witness-key={folder}/other.vkey").exit_code != 0


def test_the_log_of_another_home_does_not_start(folder):
    home, _ = begun(folder)
    filled(home)
    other, _ = begun(f"{folder}/2")
    theirs, ours = name_of(other), name_of(home)
    for name in ("keys", "audit.db", "audit.checkpoint"):
        target = f"{home.path}/{name}"
        shutil.rmtree(target) if name == "keys" else os.remove(target)
        os.rename(f"{other.path}/{name}", target)
    said = refused(home)
    assert theirs in said
    assert ours in said
    assert "`shield init --new-log REASON`" in said
    # it was not vouched for either
    assert register(folder) == [ours]


def test_a_link_in_place_of_the_home_begins_no_log(folder):
    home, _ = begun(folder)
    with serving(home) as (process, _):
        stop(process)
    ours = name_of(home)
    shutil.rmtree(home.path)
    os.mkdir(f"{folder}/elsewhere", 0o700)
    os.symlink(f"{folder}/elsewhere", home.path)
    for words in (("serve",), ("init", "--no-tokens")):
        assert "was begun before" in refused(home, *words)
    assert is_empty(home)
    # nor does one to a home that was begun elsewhere with the same folder
    linked = home_from({"SHIELD_HOME": home.path})
    assert linked.names == (f"{folder}/elsewhere", home.path)
    there = Home(path=linked.path)
    with claimed_of(there):
        initialise(there, now_ms=NOW, checkpoints=state(folder), roles=())
    theirs = name_of(there)
    said = refused(home)
    assert f"is `{theirs}`, but that of `{home.path}` is `{ours}`" in said
    # by its own name it is a home like any other
    with serving(home, SHIELD_HOME=there.path) as (process, _):
        stop(process)


def test_a_home_behind_a_link_is_known_by_both_names(folder):
    home, _ = begun(folder)
    os.rename(home.path, f"{folder}/first")
    os.symlink(f"{folder}/first", home.path)
    with serving(home) as (process, _):
        stop(process)
    assert {one.where for one in Register(Path(state(folder))).logs()} == {home.path, f"{folder}/first"}
    os.mkdir(f"{folder}/second", 0o700)
    os.remove(home.path)
    os.symlink(f"{folder}/second", home.path)
    assert "was begun before" in refused(home)


@pytest.mark.parametrize("gone", ["the folder", "its files", "its list"])
def test_a_folder_that_forgot_the_log_is_told(folder, gone):
    home, tokens = begun(folder, toml=QUICK)
    with serving(home) as (process, path):
        ask(home, path)
        stop(process)
        assert process.said() == ""
    match gone:
        case "the folder":
            shutil.rmtree(state(folder))
        case "its files":
            for file in Path(state(folder)).glob("*.checkpoints"):
                file.unlink()
        case "its list":
            os.remove(f"{state(folder)}/logs")
    told = "remembers none of them" if gone == "its files" else "knows nothing of the log"
    with serving(home) as (process, path):
        assert process.said().count(told) == 1
        ask(home, path)
        # it stays to be seen, also when the folder remembers the log again
        report = until(lambda: ready(path, tokens[Role.ADMIN]), lambda report: report["log"]["outside"]["size"])
        assert told in report["notes"][0]["detail"]
        assert state(folder) not in json.dumps(ready(path, agent(home)))
        stop(process)
    with serving(home) as (process, path):
        assert process.said().count(told) == 1
        assert ready(path, tokens[Role.ADMIN])["notes"] == []
        stop(process)


def test_another_folder_stands_in_the_log(folder):
    home, tokens = begun(folder, toml=QUICK)
    with serving(home) as (process, _):
        stop(process)
    shutil.copytree(f"{folder}/state", f"{folder}/moved")
    # a command of the log's own writes an opening that names no folder
    assert invoke(home, "audit", "rotate-key").exit_code == 0
    with serving(home, XDG_STATE_HOME=f"{folder}/moved") as (process, path):
        said = process.said()
        assert f"was remembered in `{state(folder)}` and is now in `{folder}/moved/shield`" in said
        (note,) = ready(path, tokens[Role.ADMIN])["notes"]
        assert f"`{folder}/moved/shield`" in note["detail"]
        stop(process)
    bodies = [record.envelope.body for record in records(home) if record.envelope.kind == "log.open"]
    assert [body.get("outside") for body in bodies] == [state(folder), None, f"{folder}/moved/shield"]


# --- a new log -------------------------------------------------------------------------------------------------------


def outside_of(home):
    return Outside.of(load(home, {}).audit, state(os.path.dirname(home.path)), name_of(home), SystemClock.read())


def opened(home, *, outside=True):
    """The log as a start opens it."""
    return open_log(home, load_key(home), outside=outside_of(home).remembered() if outside else ())


def filled(home):
    """A log with records in it, closed and remembered outside; its newest checkpoint."""
    log = opened(home)
    for number in range(5):
        log.append(Draft(kind="log.open" if number == 0 else "decision", body={"n": number}))
    note = log.checkpoint()
    log.close()
    outside_of(home).sinks[0].send(note, lambda _: ())
    return Checkpoint.open(note, read_verify_key(Path(home.audit_vkey)))


DAMAGES = {
    "no database": lambda home: os.remove(home.audit_db),
    "cut back": lambda home: shutil.copy(f"{home.path}.empty", home.audit_db),
    "garbage": lambda home: Path(home.audit_db).write_bytes(b"\x00garbage" * 4096),
    "a flipped byte": lambda home: _flip(home.audit_db),
    "no checkpoint file": lambda home: os.remove(home.audit_checkpoint),
    "no private key": lambda home: os.remove(home.audit_key),
    "no keys": lambda home: shutil.rmtree(home.keys),
    "no database, no keys": lambda home: (os.remove(home.audit_db), shutil.rmtree(home.keys)),
    "nothing at all": lambda home: shutil.rmtree(home.path),
}


def _flip(path):
    raw = bytearray(Path(path).read_bytes())
    at = raw.find(b'"n":4')
    raw[at + 4] ^= 1
    Path(path).write_bytes(raw)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_lost_log_is_followed_by_one_that_says_so(folder, damage):
    home, tokens = begun(folder)
    shutil.copy(home.audit_db, f"{home.path}.empty")
    newest = filled(home)
    for end in ("-wal", "-shm"):
        Path(f"{home.audit_db}{end}").unlink(missing_ok=True)
    old = name_of(home)
    DAMAGES[damage](home)
    kept = {file.read_bytes() for file in Path(home.path).glob("audit.db") if file.is_file()}
    kept |= {file.read_bytes() for file in Path(home.keys).glob("audit.*") if file.is_file()}
    with pytest.raises(StateError, match="--new-log"):
        refuse_second(state(folder), home) if is_empty(home) else opened(home)
    with claimed_of(home):
        done = renew(home, reason="the disk died", now_ms=NOW, checkpoints=state(folder), version="0")
    assert done.lost.name == old
    first, gap = records(home)
    assert (first.envelope.kind, gap.envelope.kind) == ("log.open", "gap")
    readable = damage in ("no checkpoint file", "no private key", "no keys", "a flipped byte")
    assert gap.envelope.body == {
        "log": old,
        "size": newest.size,
        "root": newest.root.hex(),
        "found": newest.size if readable else 0 if damage == "cut back" else None,
        "reason": "the disk died",
    }
    # nothing is deleted, nobody else can read it
    aside = Path(home.old, old.rpartition("/")[2])
    if damage == "nothing at all":
        assert done.moved is None
    else:
        assert done.moved == str(aside)
        assert oct(aside.stat().st_mode & 0o777) == "0o700"
        assert kept <= {file.read_bytes() for file in aside.rglob("*") if file.is_file()}
    assert register(folder) == [old, name_of(home)]
    opened(home).close()
    book = read_book(home)
    assert book.find(agent(home).encode()).role is Role.AGENT
    if damage != "nothing at all":
        assert book.find(tokens[Role.ADMIN].encode()).role is Role.ADMIN  # tokens stay


def claimed_of(home):
    prepare(home)
    return claimed(home)


def test_a_checkpoint_that_no_key_of_the_log_signed_proves_nothing(folder):
    home, _ = begun(folder)
    newest = filled(home)
    stranger = Home(path=f"{folder}/h2")
    prepare(stranger)
    initialise(stranger, now_ms=NOW, checkpoints=f"{folder}/state2", roles=())
    text = Path(home.audit_checkpoint).read_text().replace(f"\n{newest.size}\n", f"\n{newest.size + 90}\n", 1)
    Path(home.audit_checkpoint).write_text(text)
    with claimed_of(home):
        assert renew(home, reason="x", now_ms=NOW, checkpoints=state(folder), version="0").lost.checkpoint == newest
    with claimed_of(stranger), pytest.raises(ConfigError, match="one line"):
        renew(stranger, reason="two\nlines", now_ms=NOW, checkpoints=state(folder), version="0")


def test_there_is_no_new_log_without_an_old_one(folder):
    home = Home(path=f"{folder}/h")
    with claimed_of(home), pytest.raises(StateError, match="was not begun yet"):
        renew(home, reason="x", now_ms=NOW, checkpoints=state(folder), version="0")
    said = refused(home, "init", "--new-log", "why")
    assert "was not begun yet" in said
    home, _ = begun(f"{folder}/2")
    assert "no terminal" in refused(home, "init", "--new-log", "why")
    assert name_of(home) in register(f"{folder}/2")


def test_a_new_log_that_cannot_be_listed_is_not_begun(folder):
    home, _ = begun(folder)
    newest, old = filled(home), name_of(home)
    os.chmod(state(folder), 0o777)
    with claimed_of(home), pytest.raises(RecordError, match="not listed"):
        renew(home, reason="x", now_ms=NOW, checkpoints=state(folder), version="0")
    assert "--new-log" in refused(home)
    os.chmod(state(folder), 0o700)
    with claimed_of(home):
        done = renew(home, reason="x", now_ms=NOW, checkpoints=state(folder), version="0")
    assert (done.lost.name, done.lost.checkpoint) == (old, newest)
    with serving(home) as (process, _):
        assert process.said() == ""
        stop(process)


def test_a_second_new_log_keeps_both_before_it(folder):
    home, _ = begun(folder)
    names = [name_of(home)]
    for _ in range(2):
        with claimed_of(home):
            renew(home, reason="again", now_ms=NOW, checkpoints=state(folder), version="0")
        names.append(name_of(home))
    assert register(folder) == names
    assert sorted(os.listdir(home.old)) == sorted(name.rpartition("/")[2] for name in names[:2])
    assert records(home)[1].envelope.body["size"] == 2


# --- keys and what is kept -------------------------------------------------------------------------------------------


def test_a_key_with_a_passphrase(folder):
    secret = "a passphrase, typed by Zoë"
    home = Home(path=f"{folder}/h")
    prepare(home)
    initialise(home, now_ms=NOW, checkpoints=state(folder), roles=(), passphrase=secret)
    assert b"ENCRYPTED" in Path(home.audit_key).read_bytes()

    def pipe(text):
        read, write = os.pipe()
        os.write(write, text.encode())
        os.close(write)
        return read

    right = pipe(f"{secret}\n")
    with serving(home, "--passphrase-fd", str(right), pass_fds=(right,)) as (process, path):
        assert ask(home, path)["seq"] == 1
        stop(process)
    os.close(right)
    wrong = pipe("another\n")
    assert "does not open" in refused(home, "serve", "--passphrase-fd", str(wrong), pass_fds=(wrong,))
    os.close(wrong)
    with pytest.raises(StateError, match="nobody can be asked"):
        load_key(home)
    ready_end = os.pipe()
    said = refused(home, "--embedded", "--ready-fd", str(ready_end[1]), pass_fds=(ready_end[1],))
    assert "run `shield serve` in a terminal" in said
    for end in ready_end:
        os.close(end)
    everything = b"".join(file.read_bytes() for file in Path(folder).rglob("*") if file.is_file())
    assert secret.encode() not in everything
    assert b"another" not in everything


def test_a_lost_public_half_is_put_back_as_it_was_remembered_outside(folder):
    home, _ = begun(folder)
    with serving(home) as (process, _):
        stop(process)
    kept = Path(home.audit_vkey).read_text()
    os.remove(home.audit_vkey)
    said = refused(home)
    assert not os.path.lexists(home.audit_vkey), "nothing is put back that nobody looked at"
    told = re.search(r"run `(\(umask .*?\))`", said)
    assert told is not None, said
    subprocess.run(["/bin/sh", "-c", told[1]], check=True, timeout=20)
    assert Path(home.audit_vkey).read_text() == kept
    with serving(home) as (process, _):
        stop(process)


def test_another_key_in_place_of_a_lost_public_half_is_not_vouched_for(folder):
    home, _ = begun(folder)
    other = Home(path=f"{folder}/other")
    prepare(other)
    initialise(other, now_ms=NOW, checkpoints=state(folder), roles=())
    os.remove(home.audit_vkey)
    shutil.copy(other.audit_key, home.audit_key)
    told = re.search(r"run `(\(umask .*?\))`", refused(home))
    subprocess.run(["/bin/sh", "-c", told[1]], check=True, timeout=20)
    assert "not halves of one key" in refused(home)
    # a home of which nothing is remembered outside has nothing to propose
    os.remove(home.audit_vkey)
    shutil.rmtree(state(folder))
    said = refused(home)
    assert "put the key back from a copy" in said
    assert "umask" not in said


def test_what_is_kept_can_be_opened_and_destroyed(folder):
    home, _ = begun(folder, toml="[audit]\npayloads = true\n")
    with serving(home) as (process, path):
        seq = ask(home, path)["seq"]
        for words in (("redact", "--seq", str(seq), "--reason", "asked to", "--yes"), ("rotate-key",)):
            done = invoke(home, "audit", *words)
            assert done.exit_code == 2
            assert "another Shield runs" in done.output
        stop(process)
    shown = invoke(home, "audit", "open", str(seq))
    assert shown.exit_code == 0, shown.output
    assert "commits to it" in shown.output
    assert "/etc/hostname" in shown.output
    old = read_verify_key(Path(home.audit_vkey))
    done = invoke(home, "audit", "rotate-key", "--reason", "yearly")
    assert done.exit_code == 0, done.output
    assert read_verify_key(Path(home.audit_vkey)) != old
    done = invoke(home, "audit", "redact", "--seq", str(seq), "--reason", "asked to", "--yes")
    assert done.exit_code == 0, done.output
    again = invoke(home, "audit", "open", str(seq))
    assert again.exit_code != 0
    assert "nothing is kept beside" in again.output
    # the log goes on under the new key, and everything outside agrees with it
    with serving(home) as (process, path):
        stop(process)
    assert [one.key for one in Register(Path(state(folder))).logs()] == [old, read_verify_key(Path(home.audit_vkey))]
    done = invoke(home, "audit", "verify", "--json")
    assert done.exit_code == 0, done.output


def test_only_the_salt_is_kept_unless_payloads_are_wanted(folder):
    home, _ = begun(folder)
    with serving(home) as (process, path):
        seq = ask(home, path)["seq"]
        stop(process)
    private = open_private(Path(home.audit_db), seq, load_master(Path(home.audit_private)))
    assert (len(private.salt), private.content) == (32, b"")
    assert "kept" not in records(home)[seq].envelope.body["args"]
    assert os.stat(home.audit_private).st_mode & 0o777 == 0o600
    os.rename(home.audit_private, f"{folder}/private.key")
    # a new master key would lose what the old one sealed
    with pytest.raises(StateError, match=r"private\.key"):
        opened(home)
    os.replace(f"{folder}/private.key", home.audit_private)
    opened(home).close()


def test_what_lies_beside_the_log_confirms_nothing(folder):
    home, _ = begun(folder)
    log = opened(home)
    log.append(Draft(kind="log.open", body={}))
    log.close()
    told = json.loads(invoke(home, "audit", "verify", "--json").output)
    assert told["confirmed"] is None
    newest = filled(home)
    told = json.loads(invoke(home, "audit", "verify", "--json").output)
    assert told["confirmed"] == newest.size
    # and what was cut back is found by what is outside
    shutil.copy(home.audit_db, f"{folder}/kept.db")
    shutil.copy(home.audit_checkpoint, f"{folder}/kept.checkpoint")
    log = opened(home)
    log.append(Draft(kind="log.open", body={}))
    log.close()
    outside_of(home).sinks[0].send(Path(home.audit_checkpoint).read_text(), lambda _: ())
    for end in ("-wal", "-shm"):
        Path(f"{home.audit_db}{end}").unlink(missing_ok=True)
    shutil.copy(f"{folder}/kept.db", home.audit_db)
    shutil.copy(f"{folder}/kept.checkpoint", home.audit_checkpoint)
    assert invoke(home, "audit", "verify").exit_code == 1
    # nor does a command write on
    for words in (("rotate-key",), ("redact", "--seq", "1", "--reason", "asked to", "--yes")):
        done = invoke(home, "audit", *words)
        assert done.exit_code != 0, done.output
    assert len(records(home)) == newest.size
