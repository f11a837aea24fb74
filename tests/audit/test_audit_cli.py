import fcntl
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from click.testing import CliRunner

import audit
from audit.checkpoint import Proof
from audit.cli import COMMANDS, main
from audit.entry import Draft
from audit.query import Filter, select
from audit.schema import FORMATS, OBJECTS
from audit_bodies import HARM, Told
from audit_support import Home, decision

PACKAGE = Path(audit.__file__).parent


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A folder that holds the package `audit` and nothing else of the project."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(PACKAGE, folder / "audit", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def home():
    home = Home()
    with home.open(create=True) as log:
        for number in range(1, 6):
            log.append(decision(number))
        log.append(Draft(kind="executing", body={"x": "\x9b31m\u202e"}, ref=1))
    return home


def run(alone, *arguments, safe=True, cwd=None, options=(), timeout=60):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(alone), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *options, *(["-P"] if safe else []), "-m", "audit", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd or alone.parent,
        timeout=timeout,
        check=False,
    )


def environment(alone):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COLUMNS", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": str(alone), "PYTHONDONTWRITEBYTECODE": "1", "TERM": "xterm-256color"}


def inside(*arguments):
    """A command run in this process, where only its output and its code matter."""
    done = CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="audit")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def started(alone, *arguments, **more):
    words = [sys.executable, "-P", "-m", "audit", *map(str, arguments)]
    return subprocess.Popen(words, env=environment(alone), cwd=alone.parent, **more)


def on_terminal(alone, *arguments, columns=80):
    """What a command writes to a terminal of so many columns, and its code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = started(alone, *arguments, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:
        pass  # the other side is gone
    os.close(ours)
    return text.decode().replace("\r\n", "\n"), process.wait(60)


@pytest.fixture(scope="module")
def told():
    return Told()


def test_verify_says_ok_and_how_far_trust_reaches(alone, home):
    done = run(alone, "verify", home.db, "--key", home.vkey, "--checkpoint", home.checkpoint)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "OK  test.example/01K",
        "7 records, signed to 7, externally confirmed to 7, unsealed none",
        "new since the checkpoint you remember: none",
        "note: record 6 (`executing`) has no `outcome`",
    ]


def test_verify_needs_neither_the_writer_nor_the_rest_of_the_project(alone, home):
    done = run(alone, "verify", home.db, "--key", home.vkey, "--json", options=("-X", "importtime"))
    assert json.loads(done.stdout) == {
        "outcome": "ok",
        "log": "test.example/01K",
        "records": 7,
        "presented": 7,
        "signed": 7,
        "confirmed": None,
        "since": None,
        "bad": None,
        "reason": None,
        "notes": ["record 6 (`executing`) has no `outcome`"],
        "unsealed": 0,
    }
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "audit.verify" in loaded
    assert not {name for name in loaded if name.split(".")[0] in {"shield", "agentctl"}}
    writers = ("log", "writer", "store", "batch", "state", "disk", "aio", "rotation", "private", "export")
    assert not loaded & {"fcntl", *(f"audit.{name}" for name in writers)}


def test_verify_names_the_bad_record_and_exits_1(alone, home, tmp_path):
    shutil.copy(home.db, tmp_path / "a.db")
    database = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    trigger = database.execute("SELECT sql FROM sqlite_schema WHERE name = 'entries_update'").fetchone()[0]
    database.execute("DROP TRIGGER entries_update")
    database.execute("UPDATE entries SET leaf = replace(leaf, 'ALLOW', 'BLOCK') WHERE seq = 3")
    database.execute(trigger)
    database.close()
    done = run(alone, "verify", tmp_path / "a.db", "--key", home.vkey)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [
        "TAMPERED  test.example/01K",
        "first bad record 3: record 3 does not hash to its leaf hash",
    ]
    assert json.loads(run(alone, "verify", tmp_path / "a.db", "--key", home.vkey, "--json").stdout)["bad"] == 3
    assert run(alone, "prove", tmp_path / "a.db", 3, "--key", home.vkey).returncode == 1


def test_what_cannot_be_told_exits_2(alone, home, tmp_path):
    other = Home("test.example/other")
    (tmp_path / "noise").write_bytes(b"\xff\xfe")
    for arguments in (
        ("verify", tmp_path / "none.db", "--key", home.vkey),
        ("verify", home.db, "--key", tmp_path / "none.vkey"),
        ("verify", home.db, "--key", home.db),
        ("verify", home.db, "--key", other.vkey),
        ("verify", home.db),
        ("verify", home.db, "--key", home.vkey, "--checkpoint", home.vkey),
        ("verify", home.db, "--key", home.vkey, "--checkpoint", tmp_path / "noise"),
        ("verify", home.db, "--key", home.vkey, "--checkpoint", tmp_path / "none"),
        ("prove", home.db, 99, "--key", home.vkey),
        ("prove", home.db, -1, "--key", home.vkey),
        ("prove", home.db, 10**30, "--key", home.vkey),
        ("list", home.db, "--ref", 10**30),
        ("list", home.db, "--kind", "\udcff"),
        ("list", tmp_path / "none.db"),
        ("list", home.db, "--since", "yesterday"),
        ("list", home.db, "--seq", "a..b"),
        ("list", home.db, "--format", "xml"),
        ("tail", tmp_path / "none.db"),
        ("stats", tmp_path / "noise"),
        ("show", home.db, 99),
        ("show", home.db, 1, "--checkpoint", home.checkpoint),
        ("show", home.db, 1, "--key", home.vkey, "--checkpoint", tmp_path / "none"),
        ("show", home.db, 1, "--key", home.vkey, "--checkpoint", tmp_path / "noise"),
        ("export", home.db, "--bundle", tmp_path / "b"),
        ("export", home.db, "--bundle", tmp_path / "b", "--key", home.vkey, "--format", "csv"),
        ("export", home.db, "--bundle", tmp_path, "--key", home.vkey),
        ("export", home.db, "--output", tmp_path / "noise"),
        ("export", home.db, "--output", tmp_path / "no" / "such"),
        ("export", home.db, "--force"),
        ("nothing",),
    ):
        done = inside(*arguments)
        assert done.exit_code == 2, (arguments, done.output)
        assert done.output
    done = run(alone, "list", tmp_path / "none.db")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"there is no database at `{tmp_path / 'none.db'}`\n"


def test_prove_prints_a_proof_that_verifies(alone, home):
    done = run(alone, "prove", home.db, 2, "--key", home.vkey)
    assert done.returncode == 0
    leaf = next(iter(select(home.db, Filter(start=2)))).leaf
    assert Proof.parse(done.stdout).verify(leaf, home.key.verifier).size == 7


def test_checkpoint_prints_the_newest(alone, home):
    assert run(alone, "checkpoint", home.db).stdout == home.checkpoint.read_text()


def test_a_note_is_parsed_and_steers_no_terminal(alone):
    home = Home()
    home.fill(2)
    harm = "\u2014 x\x9b31m\u202e\\ AAAAAAAA\n"
    (size, note) = newest_note(home.db)
    write_note(home.db, size, note + harm)
    for arguments in (("checkpoint", home.db), ("prove", home.db, 1, "--key", home.vkey)):
        assert run(alone, *arguments).stdout.endswith(note + harm)
        text, code = on_terminal(alone, *arguments)
        assert (code, text.endswith(note + "\u2014 x\\u009b31m\\u202e\\\\ AAAAAAAA\n")) == (0, True)
    for broken in ("\x1b[2J", note.replace("\n\n", "\n\x1b[2J\n\n"), note.replace("test.example", "te\x9bst.example")):
        write_note(home.db, size, broken)
        done = run(alone, "checkpoint", home.db)
        assert (done.returncode, done.stdout, "malformed" in done.stderr) == (1, "", True)


def newest_note(path):
    database = sqlite3.connect(path)
    try:
        return database.execute("SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1").fetchone()
    finally:
        database.close()


def write_note(path, size, note):
    database = sqlite3.connect(path)
    with database:
        database.execute("UPDATE checkpoints SET note = ? WHERE size = ?", (note, size))
    database.close()


def test_list_filters(home):
    def seqs(*arguments):
        done = inside("list", home.db, "--json", *arguments)
        assert done.exit_code == 0, done.output
        return [json.loads(line)["seq"] for line in done.stdout.splitlines()]

    assert seqs() == list(range(7))
    assert seqs("--seq", "2..3") == [2, 3]
    assert seqs("--seq", "5..") == [5, 6]
    assert seqs("--seq", "..1") == [0, 1]
    assert seqs("--seq", "4") == [4]
    assert seqs("--kind", "executing", "--ref", "1") == [6]
    assert seqs("--session", "s1", "--limit", "1") == [1]
    assert seqs("--call-id", "call-4", "--agent", "me") == [4]
    assert seqs("--since", "2026-11-18T10:26:40Z", "--until", "1795000000001", "--limit", "2") == [0, 1]
    assert seqs("--since", "2030-01-01") == []
    assert seqs("--kind", "log.open", "--kind", "executing") == [0, 6]
    assert seqs("--decision", "block") == []
    assert seqs("--decision", "ALLOW", "--reverse", "--limit", "2") == [5, 4]
    assert seqs("--grep", 'NUMBER":3') == [3]
    assert seqs("--type", "x") == seqs("--rule", "x") == seqs("--tier", "0") == []


def test_a_record_cannot_steer_the_terminal(alone, home):
    for arguments in (
        ("list", home.db),
        ("list", home.db, "--json"),
        ("list", home.db, "--format", "ocsf"),
        ("verify", home.db, "--key", home.vkey),
    ):
        text = run(alone, *arguments).stdout
        assert all(char.isascii() and (char.isprintable() or char == "\n") for char in text)


def test_on_a_terminal_there_is_a_table_that_fits(alone, told):
    for columns in (80, 140):
        text, code = on_terminal(alone, "list", told.home.db, columns=columns)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert code == 0
        assert len(plain.splitlines()) == 15
        assert all(len(line) <= columns for line in plain.splitlines())
        assert all(char.isprintable() or char == "\n" for char in plain)
        assert "\x1b[1;31mBLOCK" in text


def test_no_format_steers_a_terminal(alone, told):
    for form in ("table", "json", "jsonl", "csv", "ocsf", "cef"):
        text, code = on_terminal(alone, "list", told.home.db, "--seq", "12", "--format", form)
        assert code == 0
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text) if form == "table" else text
        assert all(char.isprintable() or char in "\r\n" for char in plain), form
        # elsewhere CSV carries what the record holds
        if form == "csv":
            assert HARM not in text
            out = subprocess.run(
                [sys.executable, "-P", "-m", "audit", "list", str(told.home.db), "--seq", "12", "--format", "csv"],
                env=environment(alone), capture_output=True, check=True, timeout=60,
            )  # fmt: skip
            assert HARM.replace('"', '""').encode() in out.stdout


def test_show_and_stats_fit_a_terminal(alone, told):
    text, code = on_terminal(alone, "show", told.home.db, "7", "--key", told.home.vkey)
    assert code == 0
    assert 20 < len(text.splitlines()) <= 40
    assert "proven: all of it stands under the signed checkpoint of 14 records" in text
    text, code = on_terminal(alone, "stats", told.home.db)
    assert code == 0
    assert "latency    median 1.00 ms, p95 4.99 ms" in text
    assert "refused    60.0% of 5 decisions" in text
    assert all(char.isprintable() or char == "\n" for char in text)


def test_show_as_json(alone, told):
    found = json.loads(run(alone, "show", told.home.db, 2, "--key", told.home.vkey, "--json").stdout)
    assert [step["record"]["seq"] for step in found["steps"]] == [1, 2, 3]
    assert (found["sealed"], found["proven"], found["confirmed"], found["more"]) == (14, True, None, False)
    bare = json.loads(run(alone, "show", told.home.db, 2, "--json").stdout)
    assert bare["proven"] is None


def test_show_takes_the_newest_of_many_checkpoints(alone, told, tmp_path):
    kept = sqlite3.connect(told.home.db)
    notes = [note for (note,) in kept.execute("SELECT note FROM checkpoints ORDER BY size")]
    kept.close()
    book = tmp_path / "kept"
    book.write_text("".join(f"{note}\n" for note in notes) + notes[0][:20])
    done = run(alone, "show", told.home.db, 2, "--key", told.home.vkey, "--checkpoint", book, "--json")
    assert json.loads(done.stdout)["confirmed"] == 14


def test_show_exits_1_on_what_was_changed(alone, told, tmp_path):
    (tmp_path / "a.db").write_bytes(told.home.db.read_bytes().replace(b"README.md", b"README.ms"))
    done = run(alone, "show", tmp_path / "a.db", 1, "--key", told.home.vkey)
    assert (done.returncode, done.stdout) == (1, "")
    assert "record 1 does not stand" in done.stderr


def test_stats_as_json(alone, told):
    found = json.loads(run(alone, "stats", told.home.db, "--session", "s1", "--json").stdout)
    assert found["records"] == 14
    assert found["matching"] == 10
    assert found["kinds"] == {"decision": 4, "executing": 2, "outcome": 2, "approval": 1, "refused": 1}
    assert found["decisions"] == {"ALLOW": 2, "BLOCK": 1, "ESCALATE": 1}
    assert found["refused"] == 0.5
    assert found["tiers"] == {"0": 3, "3": 1}
    assert found["days"] == {"2026-11-18": 10}
    assert found["sessions"] == 1
    assert (found["sealed"], found["unsealed"], found["checkpoints"]) == (14, 0, 3)


def test_a_closed_pipe_is_no_error(alone, told):
    for arguments in (
        ("list", told.home.db),
        ("tail", told.home.db),
        ("stats", told.home.db),
        ("export", told.home.db, "--format", "csv"),
        ("show", told.home.db, "7"),
    ):
        reader, writer = os.pipe()
        os.close(reader)
        done = started(alone, *arguments, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        _, said = done.communicate(timeout=60)
        assert (done.returncode, said) == (0, b""), arguments


def test_a_full_disk_is_one(alone, told):
    with open("/dev/full", "wb") as full:
        done = started(alone, "list", told.home.db, stdout=full, stderr=subprocess.PIPE)
        _, said = done.communicate(timeout=60)
    assert (done.returncode, said) == (2, b"cannot write the output: No space left on device\n")


def test_tail_follows_until_it_is_told_to_stop(alone):
    home = Home()
    with home.open(create=True) as log:
        for number in range(1, 20):
            log.append(decision(number))
        process = started(alone, "tail", home.db, "-n", "3", "--decision", "allow", stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert [json.loads(process.stdout.readline())["seq"] for _ in range(3)] == [17, 18, 19]
        log.append(decision(20))
        log.append(decision(21))  # a BLOCK
        log.append(decision(22))
        assert [json.loads(process.stdout.readline())["seq"] for _ in range(2)] == [20, 22]
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (b"", None)
        assert process.returncode == 0


def test_tail_notices_that_nobody_reads(alone, told):
    process = started(alone, "tail", told.home.db, "-n", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert (process.wait(60), process.stderr.read()) == (0, b"")
    process.stderr.close()


def test_tail_without_following(alone, told):
    done = run(alone, "tail", told.home.db, "-n", "2", "--no-follow")
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == [12, 13]


def test_export_writes_a_private_file_once(alone, told, tmp_path):
    out = tmp_path / "out.csv"
    assert run(alone, "export", told.home.db, "--format", "csv", "--output", out).returncode == 0
    assert out.stat().st_mode & 0o777 == 0o600
    first = out.read_bytes()
    done = run(alone, "export", told.home.db, "--output", out)
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert out.read_bytes() == first
    assert run(alone, "export", told.home.db, "--output", out, "--force", "--decision", "block").returncode == 0
    assert [json.loads(line)["seq"] for line in out.read_text().splitlines()] == [4, 12]
    assert list(tmp_path.iterdir()) == [out]


def test_an_exported_bundle_says_what_it_holds(alone, told, tmp_path):
    done = run(alone, "export", told.home.db, "--bundle", tmp_path / "all", "--key", told.home.vkey)
    assert (done.returncode, done.stdout) == (0, "all 14 records\n")
    done = run(alone, "export", told.home.db, "--bundle", tmp_path / "some", "--key", told.home.vkey, "--seq", "1..3")
    assert (done.returncode, done.stdout) == (0, "3 of 14 records\n")
    assert not (tmp_path / "some" / "tile" / "entries").exists()


def test_code_in_the_current_directory_is_never_run(alone, home, tmp_path):
    folder = tmp_path / "evidence"
    folder.mkdir()
    trap = "open('trapped', 'w').close()\nraise SystemExit(0)\n"
    for name in ("click.py", "json.py", "sqlite3.py", "hashlib.py"):
        (folder / name).write_text(trap)
        done = run(alone, "verify", home.db, "--key", home.vkey, safe=False, cwd=folder)
        assert done.returncode == 2, done
        assert "python -P -m audit" in done.stderr
        assert run(alone, "verify", home.db, "--key", home.vkey, cwd=folder).returncode == 0
        (folder / name).unlink()
    (folder / "cryptography").mkdir()
    (folder / "cryptography" / "__init__.py").write_text(trap)
    assert run(alone, "verify", home.db, "--key", home.vkey, safe=False, cwd=folder).returncode == 2
    shutil.rmtree(folder / "cryptography")
    (folder / "notes.txt").write_text("harmless")
    (folder / "mine.py").write_text(trap)
    assert run(alone, "verify", home.db, "--key", home.vkey, safe=False, cwd=folder).returncode == 0
    assert not (folder / "trapped").exists()


def test_run_from_its_own_folder_it_refuses(alone, home):
    done = run(alone, "verify", home.db, "--key", home.vkey, safe=False, cwd=alone)
    assert done.returncode == 2
    assert "python -P -m audit" in done.stderr


def test_help_names_every_command(alone):
    done = run(alone, "--help")
    assert done.returncode == 0
    listed = re.findall(r"^  ([a-z-]+) {2}", done.stdout.partition("Commands:")[2], re.MULTILINE)
    assert listed == list(COMMANDS)
    for name in COMMANDS:
        told = inside(name, "--help")
        assert told.exit_code == 0
        assert told.output.startswith(f"Usage: audit {name} ")


def test_the_specification_holds_the_schema_byte_for_byte():
    text = (PACKAGE / "SPEC.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0].strip() for block in text.split("```sql\n")[1:]]
    both, added, old = (tuple(one.removesuffix(";") for one in block.split(";\n\n")) for block in blocks)
    assert both + added == OBJECTS
    assert {1: (*both, *old), 2: OBJECTS} == FORMATS


def test_the_package_loads_lazily(alone):
    script = """
import sys, audit
assert [name for name in sys.modules if name.startswith("audit.")] == []
audit.verify_log
assert "audit.log" not in sys.modules
assert all(getattr(audit, name) for name in audit.__all__)
assert "audit.log" in sys.modules
try:
    audit.nothing
except AttributeError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(alone), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("module `audit` has no attribute `nothing`\n", "")


def test_a_list_that_finds_nothing_says_so_and_names_the_kinds_there_are(home):
    found = CliRunner().invoke(main, ["list", str(home.db), "--kind", "nosuch"])
    assert (found.exit_code, found.stdout) == (0, "")
    assert "no record matches; `nosuch` is no kind of this log, these are: " in found.stderr
    assert "decision" in found.stderr
    found = CliRunner().invoke(main, ["list", str(home.db), "--rule", "nosuch"])
    assert (found.exit_code, found.stdout, found.stderr) == (0, "", "no record matches\n")
    assert CliRunner().invoke(main, ["list", str(home.db), "--kind", "decision"]).stderr == ""
