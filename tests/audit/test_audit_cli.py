import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import audit
from audit.checkpoint import Proof
from audit.entry import Draft
from audit.query import Filter, select
from audit.schema import FORMATS, OBJECTS
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


def test_verify_says_ok_and_how_far_trust_reaches(alone, home):
    done = run(alone, "verify", home.db, "--key", home.vkey, "--checkpoint", home.checkpoint)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "OK  test.example/01K",
        "7 records, signed to 7, outside confirmed to 7, unsealed 0",
        "note: record 6 (`executing`) has no `outcome`",
    ]


def test_verify_needs_neither_the_writer_nor_the_rest_of_the_project(alone, home):
    done = run(alone, "verify", home.db, "--key", home.vkey, "--json", options=("-X", "importtime"))
    assert json.loads(done.stdout) == {
        "outcome": "ok",
        "log": "test.example/01K",
        "records": 7,
        "signed": 7,
        "confirmed": None,
        "bad": None,
        "reason": None,
        "notes": ["record 6 (`executing`) has no `outcome`"],
        "unsealed": 0,
    }
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "audit.verify" in loaded
    assert not {name for name in loaded if name.split(".")[0] in {"shield", "agentctl"}}
    assert not loaded & {"audit.log", "audit.store", "audit.batch", "audit.state", "audit.aio", "fcntl"}


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
        ("nothing",),
    ):
        done = run(alone, *arguments)
        assert done.returncode == 2, (arguments, done)
        assert "Traceback" not in done.stderr
        assert done.stdout + done.stderr


def test_prove_prints_a_proof_that_verifies(alone, home):
    done = run(alone, "prove", home.db, 2, "--key", home.vkey)
    assert done.returncode == 0
    leaf = next(iter(select(home.db, Filter(start=2)))).leaf
    assert Proof.parse(done.stdout).verify(leaf, home.key.verifier).size == 7


def test_checkpoint_prints_the_newest(alone, home):
    assert run(alone, "checkpoint", home.db).stdout == home.checkpoint.read_text()


def test_list_filters(alone, home):
    def seqs(*arguments):
        done = run(alone, "list", home.db, "--json", *arguments)
        assert done.returncode == 0, done.stderr
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


def test_a_record_cannot_steer_the_terminal(alone, home):
    for arguments in (("list", home.db), ("list", home.db, "--json"), ("verify", home.db, "--key", home.vkey)):
        text = run(alone, *arguments).stdout
        assert all(char.isascii() and (char.isprintable() or char == "\n") for char in text)


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
    assert all(name in done.stdout for name in ("verify", "prove", "list", "checkpoint"))


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
