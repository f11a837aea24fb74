"""What the schema of a SQLite database would run, and that it is read as SQLite reads it."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace

import pytest

from shell_world import PATH, WS, facts, place
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.programs.stored import harmless, schema
from shield.facts.shell import analyse
from shield.facts.snapshot import Snapshot
from shield.types import Access, RunsCode

HARMLESS = (
    "CREATE TABLE t(a)",
    "CREATE TABLE \"a b\"(id INTEGER PRIMARY KEY AUTOINCREMENT, n VARCHAR(20) NOT NULL DEFAULT (upper('x')), UNIQUE (n))",
    "CREATE TABLE IF NOT EXISTS 't'(a DECIMAL(10,2) CHECK (a > 0 AND length(a) < 9), FOREIGN KEY (a) REFERENCES b(id))",
    'CREATE TABLE j(x TEXT CHECK ((JSON_VALID("x") OR "x" IS NULL)), k TEXT GENERATED ALWAYS AS (json_extract(x, \'$.k\')))',
    "CREATE INDEX i ON t(a, lower(b)) WHERE a IS NOT NULL",
    "CREATE UNIQUE INDEX [i] ON `t`(a)",
    "CREATE VIEW v AS SELECT a, count(*) FROM t WHERE a IN (1, 2) GROUP BY a -- edit('x')",
    "CREATE VIEW v AS SELECT 'edit(1)' AS \"edit\", row_number() OVER (PARTITION BY a) FROM t JOIN u USING (a)",
    "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO u(a, b) VALUES (new.a, datetime('now')); END",
    "CREATE VIRTUAL TABLE f USING fts5(a, b, content='t')",
    'CREATE VIRTUAL TABLE IF NOT EXISTS "f" USING rtree(id, x, y)',
    "",
)
RUNS = (
    "CREATE VIEW v AS SELECT edit('x', '/path/x')",
    "CREATE VIEW v AS SELECT \"edit\"('x', '/path/x')",
    "CREATE VIEW v AS SELECT [edit]('x', '/path/x')",
    "CREATE VIEW v AS SELECT `EDIT` /* ( */ ('x', '/path/x')",
    "CREATE VIEW v AS SELECT edit -- (\n('x', '/path/x')",
    "CREATE VIEW v AS SELECT * FROM a JOIN b ON edit('x', '/path/x')",
    "CREATE VIEW v AS SELECT 1 WHERE NOT EXISTS (SELECT edit('x'))",
    "CREATE VIEW v AS SELECT '''' || edit('x', '/path/x') || ''",
    "CREATE TABLE t(a CHECK (edit(a, '/path/x') IS NOT NULL))",
    "CREATE TABLE t(a DEFAULT (edit('x', '/path/x')))",
    "CREATE TABLE t(a, b AS (readfile(a)))",
    "CREATE INDEX i ON t(edit(a, '/path/x'))",
    "CREATE TRIGGER r AFTER INSERT ON t WHEN load_extension('x') BEGIN SELECT 1; END",
    "CREATE VIEW v AS SELECT data FROM fsdir WHERE path = '/x'",
    "CREATE VIEW v AS SELECT * FROM zipfile",
    'CREATE VIEW v AS SELECT * FROM "ZipFile"',
    "CREATE VIEW v AS SELECT * FROM [lsdir]",
    "CREATE VIEW v AS SELECT data FROM 'fsdir' WHERE path = '/x'",
    "CREATE VIEW v AS SELECT sha3_query('select 1')",
    "CREATE VIRTUAL TABLE z USING zipfile('/path/x.zip')",
    "CREATE /* x */ VIRTUAL TABLE z USING other('/path/x.zip')",
    "CREATE VIRTUAL TABLE f USING fts4(a, compress=edit, uncompress=edit)",
    "CREATE VIEW v AS SELECT 'x",
    "CREATE VIEW v AS SELECT $edit('x')",
    "CREATE VIEW v AS SELECT \N{ZERO WIDTH SPACE}edit('x')",
)


def made(*statements: str, before: str = "", changed: str = "") -> bytes:
    """A database; `changed` is run over its own schema."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(before)
        database.create_function("edit", 2, lambda text, _: text)
        for statement in statements:
            database.execute(statement)
        if changed:
            database.execute("PRAGMA writable_schema = ON")
            database.execute(changed)
        database.commit()
        return database.serialize()


EVIL = "CREATE VIEW v AS SELECT edit('x', '/path/x') AS name"
PLAIN = made("CREATE TABLE t(a VARCHAR(20))", "CREATE VIEW w AS SELECT count(*) FROM t")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_computes_is_harmless(text):
    assert harmless(text)


@pytest.mark.parametrize("text", RUNS)
def test_all_else_may_run_something(text):
    assert not harmless(text)


def test_the_schema_is_what_sqlite_reads():
    assert schema(PLAIN) == ("CREATE TABLE t(a VARCHAR(20))", "CREATE VIEW w AS SELECT count(*) FROM t")
    assert schema(made("CREATE TABLE t(a)", EVIL, before="PRAGMA encoding = 'UTF-16be'"))[1] == EVIL
    # over several pages, and beyond one of the tree
    long = EVIL.replace("'x'", f"'{'x' * 9_000}'")
    many = [f"CREATE TABLE t{number}(a)" for number in range(300)]
    assert schema(made(*many, long, before="PRAGMA page_size = 512"))[-1] == long
    log = bytearray(made("CREATE TABLE t(a)", EVIL))
    log[18:20] = b"\2\2"
    assert schema(bytes(log))[1] == EVIL


def test_no_index_hides_an_entry():
    """A covering index of the schema itself, which a crafted file may have, would be read in its place."""
    moved = "UPDATE sqlite_master SET tbl_name = 'sqlite_master', sql = 'CREATE INDEX i ON sqlite_master(sql)' WHERE name = 'i'"
    kept = "CREATE TABLE m(type, name, tbl_name, rootpage, sql)"
    assert EVIL in schema(made(kept, "CREATE INDEX i ON m(sql)", EVIL, changed=moved))


def test_what_is_not_known_is_nothing():
    entry = "UPDATE sqlite_master SET sql = {} WHERE name = 'v'"
    assert schema(PLAIN[:16]) is None
    assert schema(PLAIN[:600]) is None
    assert schema(b"#!/bin/sh\n" + made(EVIL) + b"Start-Of-SQLite3-\0\0\0\0\0\0\0\n") is None
    assert schema(made(EVIL, changed=entry.format("CAST(sql AS BLOB)"))) is None
    assert schema(made(EVIL, changed=entry.format("sql || char(0) || 'x'"))) is None
    assert schema(made(EVIL.replace("'x'", f"'{'x' * 70_000}'"))) is None
    assert schema(b"") == schema(b"a,b\n") == ()


WITH = {"x.db": MadeFile(content=PLAIN), "v.db": MadeFile(content=made("CREATE TABLE t(a)", EVIL))}


@pytest.mark.parametrize(
    "line",
    [
        "sqlite3 x.db 'select * from w'",
        "sqlite3 -readonly -header x.db .schema",
        "sqlite3 x.db 'pragma integrity_check'",
        "sqlite3 'file:x.db?mode=ro' 'select 1'",
        "sqlite3 -cmd '.mode csv' x.db 'select * from t'",
    ],
)
def test_a_harmless_schema_is_bound_with_what_lies_beside_it(line):
    found = facts(line, WITH)
    assert found.commands[0].runs_code is RunsCode.NONE
    assert not found.unknown
    bound = {path.resolved for path in found.paths if path.access is Access.EXECUTE}
    assert bound == {f"{WS}/x.db", f"{WS}/x.db-wal", f"{WS}/x.db-journal"}


@pytest.mark.parametrize(
    "line",
    [
        "sqlite3 v.db 'select * from v'",
        "sqlite3 v.db 'select * from t'",
        "sqlite3 -readonly v.db .schema",
        "sqlite3 v.db '.schema t'",
        "sqlite3 v.db .fullschema",
        "sqlite3 v.db 'pragma quick_check'",
        "sqlite3 -cmd 'select * from v' v.db .tables",
        "sqlite3 v.db 'select 1' -safe",
        "sqlite3 file:v.db 'select 1'",
        "sqlite3 'file:v%2Edb' 'select 1'",
        "sqlite3 'file:v.db?vfs=apndvfs' 'select 1'",
        "sqlite3 $X 'select 1'",
        "sqlite3 *.db 'select 1'",
        "sqlite3 sub 'select 1'",
        "cd $X; sqlite3 x.db 'select 1'",
    ],
)
def test_a_schema_that_may_run_something_is_code(line):
    found = facts(line, {**WITH, "sub": MadeFile(directory=True)})
    assert found.commands[-1].runs_code is not RunsCode.NONE


@pytest.mark.parametrize("beside", ["x.db-wal", "x.db-journal"])
def test_what_is_not_written_back_yet_may_be_another_schema(beside):
    line = "sqlite3 x.db 'select 1'"
    assert facts(line, {**WITH, beside: MadeFile(content=b"x")}).commands[0].runs_code is RunsCode.WORKSPACE
    assert facts(line, {**WITH, beside: MadeFile(content=b"")}).commands[0].runs_code is RunsCode.NONE
    assert facts(f"echo x > {beside}; {line}", WITH).unknown


def test_another_command_of_the_line_may_bring_another_database():
    assert facts("cp v.db x.db && sqlite3 x.db 'select 1'", WITH).unknown
    assert facts("cp v.db new.db && sqlite3 new.db 'select 1'", WITH).unknown
    assert not facts("cp x.db new.db && sqlite3 new.db .tables", WITH).unknown


@pytest.mark.parametrize("command", [".tables", ".indexes t", ".databases"])
def test_names_are_shown_whatever_the_schema_says(command):
    found = facts(f"sqlite3 v.db '{command}'", WITH)
    assert found.commands[0].operations == {"read"}
    assert {path.access for path in found.paths} <= {Access.READ, Access.LIST}


def test_a_uri_names_another_file_than_it_says():
    assert facts("sqlite3 'file:a%2F..%2F..%2Fother.db' .tables", WITH).unknown
    assert facts("sqlite3 'file:x.db#y' .tables", WITH).unknown


def test_commands_that_the_shell_runs_at_its_start():
    line = "sqlite3 x.db .tables"
    assert facts(line, {**WITH, "/home/user/.sqliterc": MadeFile()}).commands[0].runs_code is RunsCode.NONE
    for name in (".sqliterc", ".config/sqlite3/sqliterc"):
        found = facts(line, {**WITH, f"{WS}/{name}": MadeFile(content=b".shell id")}, home=WS)
        assert found.commands[0].runs_code is RunsCode.WORKSPACE
    assert facts(f"echo .shell id > ~/.sqliterc; {line}", WITH, home=WS, env={"PATH": PATH, "HOME": WS}).unknown


def test_large_databases_are_not_read():
    large = MadeFile(content=PLAIN + bytes(33_554_432))
    assert facts("sqlite3 y.db 'select 1'", {"y.db": large}).commands[0].runs_code is RunsCode.WORKSPACE
    half = {f"{name}.db": MadeFile(content=PLAIN + bytes(30_000_000)) for name in "abc"}
    one_view = replace(place(), files=Snapshot(MadeFiles(half)))
    found = analyse("sqlite3 a.db 'select 1'; sqlite3 b.db 'select 1'; sqlite3 c.db 'select 1'", one_view)
    assert [command.runs_code for command in found.commands] == [RunsCode.NONE, RunsCode.NONE, RunsCode.WORKSPACE]


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
@pytest.mark.parametrize(
    ("name", "statement"), [("v", "select * from v"), ("pragma_module_list", ".schema x"), ("v", ".tables")]
)
def test_the_real_shell_does_run_it(tmp_path, name, statement):
    program, mark = tmp_path / "program", tmp_path / "ran"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    view = EVIL.replace("VIEW v", f"VIEW {name}").replace("/path/x", str(program))
    (tmp_path / "x.db").write_bytes(made("CREATE TABLE t(a)", view))
    home = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["sqlite3", "x.db", statement], cwd=tmp_path, env=home, capture_output=True, check=False)
    assert mark.exists() is (statement != ".tables")
