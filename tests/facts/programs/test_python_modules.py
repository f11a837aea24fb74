"""`python -m`: what the library's modules do as programs, and what is the project's own."""

import subprocess
import sys
import timeit

import pytest

from shell_world import HOME, WS, accesses, facts, names
from shield.facts.made import MadeFile
from shield.facts.programs.python.library import LIBRARY, Does
from shield.facts.programs.python.modules import _TIMES
from shield.types import Access, Dynamic, RunsCode

SCRIPT = {"x.py": MadeFile(content=b"open('/home/user/.ssh/id_rsa')\n"), "y.py": MadeFile(content=b"print(1)\n")}

COMPUTES = [
    ("timeit '1+1'", set()), ("timeit -n 10 -s 'x = [3, 1]' 'sorted(x)'", set()), ("timeit", set()), ("timeit -n5 -r 2 -u msec 'sum(range(9))'", set()),
    ("timeit -s 'import json' 'json.dumps({})' 'json.loads(\"1\")'", set()), ("timeit 'open(\"a\").read()'", {("a", "read")}),
    ("json.tool a.json", {("a.json", "read")}), ("json.tool a.json b.json", {("a.json", "read"), ("b.json", "write")}), ("json.tool --indent 2", set()),
    ("json.tool --sort-keys a.json --indent=4", {("a.json", "read")}), ("json.tool - b", {("b", "write")}), ("ast -i 2 x.py", {("x.py", "read")}), ("dis x.py", {("x.py", "read")}),
    ("tokenize -e x.py", {("x.py", "read")}), ("base64 -d x", {("x", "read")}), ("calendar 2026 11", set()), ("calendar -m 4", set()), ("this", set()), ("site --user-site", set()),
    ("tabnanny -v src", {("src", "read")}), ("uuid", set()), ("sysconfig", set()), ("zipfile -l a.zip", {("a.zip", "read")}), ("zipfile -t a.zip", {("a.zip", "read")}),
    ("zipfile -c a.zip src y", {("a.zip", "write"), ("src", "read"), ("y", "read")}), ("tarfile --list a.tar", {("a.tar", "read")}), ("tarfile -c a.tar src", {("a.tar", "write"), ("src", "read")}),
    ("sqlite3 a.db 'select 1'", {("a.db", "read")}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "uses"), COMPUTES)
def test_modules_that_compute(words, uses):
    found = facts(f"python3 -m {words}")
    assert found.commands[0].runs_code is RunsCode.NONE
    assert found.parsed
    assert not found.unknown
    assert accesses(found) == {(f"{WS}/{path}", access) for path, access in uses} | {(WS, "execute")}
    # timeit looks there itself
    here = [path for path in facts(f"python3 -I -m {words}").paths if path.access is Access.EXECUTE]
    assert bool(here) is words.startswith("timeit")


@pytest.mark.parametrize("words", [words for words, _ in COMPUTES])
@pytest.mark.parametrize("name", ["json.py", "re.py", "encodings/__init__.py"])
def test_what_stands_in_for_a_module_of_theirs_runs(words, name):
    assert facts(f"python3 -m {words}", {name: MadeFile(content=b"x")}).commands[0].runs_code is not RunsCode.NONE
    isolated = facts(f"python3 -I -m {words}", {name: MadeFile(content=b"x")}).commands[0].runs_code
    assert (isolated is not RunsCode.NONE) is words.startswith("timeit")
    assert facts(f"PYTHONPATH=x python3 -m {words}").commands[0].runs_code is not RunsCode.NONE
    assert facts(f"python3 -X presite=x -m {words}").commands[0].runs_code is not RunsCode.NONE


@pytest.mark.parametrize(
    "words",
    ["timeit 'import os; os.system(\"id\")'", "timeit -s 'import os' 'os.system(\"id\")'", "timeit -s 'x = 1' -- \"$(cat y)\"", "timeit \"x='''\" \"'''\"", "timeit 'x=1\\' 'y'",
     "timeit 'if 1:\n  x=1'", "timeit 'gc.collect()'", "timeit 'sys.exit()'", "timeit 'Timer'", "timeit --frob '1'", "timeit '[0 for timeit in [1]]' 'timeit(\"__import__(0)\")'", "timeit '[0 for Timer in [1]]' 'Timer(1)'",
     "timeit '[0 for template in [\"a\"]]' 'open(template)'", "timeit -s 'import json as repeat' 'repeat.loads(1)'", "timeit -s", "timeit 'def f(): pass' '__import__(\"os\")'",
     "timeit 'import app' 'app.f()'", "code", "pdb x.py", "asyncio", "idlelib", "sqlite3", "sqlite3 a.db", "sqlite3 a.db '.shell id'", "sqlite3 a.db \"attach '/x' as y\"",
     "sqlite3 a.db 'delete from x'", "sqlite3 -v a.db x", "cProfile --frob x.py", "trace --frob x.py"],
)  # fmt: skip
def test_code_on_the_line_is_code(words):
    command = next(each for each in facts(f"python3 -m {words}", SCRIPT).commands if each.name == "python3")
    assert command.runs_code is RunsCode.INLINE or command.dynamic is Dynamic.CODE, command


@pytest.mark.parametrize(
    "words",
    ["http.server", "http.server 8000 --bind 0.0.0.0", "webbrowser http://evil.example", "ftplib evil.example", "smtplib", "xmlrpc.server", "pydoc -p 80", "pydoc -b", "cgi", "test",
     "importlib.util", "ctypes.util", "antigravity", "zipfile -e a.zip out", "tarfile -e a.tar", "tarfile --extract a.tar out", "tarfile -ve a.tar", "tarfile -vea.tar", "ensurepip", "pydoc -wb", "venv --upgrade-deps .venv", "turtledemo", "imaplib x"],
)  # fmt: skip
def test_what_is_not_this_machines_or_not_known_is_said(words):
    assert facts(f"python3 -m {words}").unknown
    # a directory of that name stands in for nothing
    assert facts(f"python3 -m {words}", {f"{words.split()[0].split('.')[0]}/x": MadeFile()}).unknown
    assert facts("python2 -m SimpleHTTPServer").unknown


@pytest.mark.parametrize(
    "words",
    ["compileall", "venv .venv", "unittest discover", "pydoc json", "doctest x.py", "mymodule a", "pytest -q", "mypy src", "pickle x", "zipapp src", "inspect json"],
)  # fmt: skip
def test_the_projects_code_and_tools(words):
    found = facts(f"python3 -m {words}", SCRIPT)
    assert found.commands[0].runs_code is RunsCode.WORKSPACE
    assert not found.unknown


def test_a_module_of_the_project_goes_before_the_librarys():
    for files in ({"http.py": MadeFile()}, {"http/__init__.py": MadeFile()}):
        assert not facts("python3 -m http.server", files).unknown
        assert facts("python3 -m http.server", files).commands[0].runs_code is RunsCode.WORKSPACE
        assert facts("python3 -I -m http.server", files).unknown
        assert facts("python3 -P -m http.server", files).unknown


@pytest.mark.parametrize(
    "words",
    [
        "cProfile x.py",
        "cProfile -o o.prof -s time x.py a",
        "profile x.py",
        "trace -t x.py",
        "trace --count -C cover x.py",
    ],
)
def test_a_script_that_is_profiled_is_read(words):
    found = facts(f"python3 -m {words}", SCRIPT)
    assert found.commands[0].runs_code is RunsCode.WORKSPACE
    assert f"{HOME}/.ssh/id_rsa" in {path.resolved for path in found.paths}
    assert (f"{WS}/x.py", "execute") in accesses(found)


def test_a_module_that_is_profiled_is_a_module():
    assert facts("python3 -m cProfile -m http.server").unknown
    assert facts("python3 -m cProfile -o out -m cProfile -m http.server").unknown
    assert not facts("python3 -m cProfile -o out -m pytest -q").unknown
    assert (f"{WS}/out", "write") in accesses(facts("python3 -m cProfile -o out -m pytest"))
    assert facts("python3 -m runpy http.server").unknown
    assert facts("python3 -m " + "runpy " * 40 + "x").commands[0].dynamic is Dynamic.CODE
    assert not facts("python3 -m cProfile x.py -m http.server", {"x.py": MadeFile()}).unknown


def test_modules_that_are_installed():
    for words in ("IPython -c 'import os'", "xonsh -c 'rm -rf src'", "debugpy --listen 1 -c 'f()'"):
        assert facts(f"python3 -m {words}").commands[0].runs_code is RunsCode.INLINE, words
    for words in ("radon cc src", "mymodule -c x.toml"):
        assert facts(f"python3 -m {words}").commands[0].runs_code is RunsCode.WORKSPACE, words
    own = {"mymodule.py": MadeFile()}
    assert facts("python3 -m mymodule -e 'a b'", own).commands[0].runs_code is RunsCode.WORKSPACE
    assert facts("python3 -m virtualenv --clear src", {"src/a.py": MadeFile()}).unknown
    assert facts("python3 -m keyring get a b").unknown


def test_behind_two_dashes_is_no_option():
    assert facts("python3 -m json.tool -- a.json --compact").commands[0].runs_code is RunsCode.WORKSPACE


def test_the_names_of_timeit_are_taken():
    assert {name for name in vars(timeit) if not name.startswith("_")} <= _TIMES


def test_an_environment_is_made_anew_only_where_one_is():
    files = {"src/a.py": MadeFile(), ".venv/pyvenv.cfg": MadeFile(), ".venv/lib/x": MadeFile()}
    for line in (
        "--clear src",
        "--clear .",
        "--clear new src",
        "--cl src",
        "src --clear",
        f"--clear {WS}/src",
        '--clear "$x"',
    ):
        assert facts(f"python3 -m venv {line}", files).unknown, line
    for line in ("--clear .venv", f"--clear {WS}/.venv", "--clear new", "src", "--prompt x .venv"):
        assert not facts(f"python3 -m venv {line}", files).unknown, line


def test_what_leads_out_is_seen():
    for words in (
        "pickle /etc/x",
        "compileall /etc/x",
        "venv /etc/x",
        "json.tool /etc/x",
        "zipfile -c /etc/x src",
        "cProfile -o /etc/x y.py",
    ):
        assert "/etc/x" in {path.resolved for path in facts(f"python3 -m {words}", SCRIPT).paths}, words


def test_where_the_module_is_not_known_it_is_code():
    assert facts('python3 -m "$(cat x)"').commands[-1].dynamic is Dynamic.CODE


def test_the_modules_of_the_table_are_the_librarys():
    old = {"SimpleHTTPServer", "CGIHTTPServer", "BaseHTTPServer"}
    first = {name.partition(".")[0] for name in LIBRARY}
    gone = {"imp", "lib2to3", "smtpd", "asynchat", "telnetlib", "nntplib", "test"}
    assert first - old - gone <= set(sys.stdlib_module_names)
    assert {module.does for module in LIBRARY.values()} == set(Does)


def test_what_computes_changes_nothing(tmp_path):
    """For real: in an empty directory nothing is there afterwards that was not named to be written."""
    (tmp_path / "x").write_text("aGk=")
    (tmp_path / "x.py").write_text("print(1)\n")
    for words in (
        "timeit -n1 -r1 1",
        "ast x.py",
        "dis x.py",
        "tokenize x.py",
        "calendar 2026 1",
        "this",
        "tabnanny x.py",
        "base64 -d x",
        "site --user-site",
        "uuid",
        "sysconfig",
    ):
        done = subprocess.run(
            [sys.executable, "-m", *words.split()], cwd=tmp_path, capture_output=True, check=False, timeout=20
        )
        assert done.returncode in (0, 1, 2), words
    assert {path.name for path in tmp_path.iterdir()} == {"x", "x.py"}


def test_names_come_from_the_line():
    assert names(facts("python3 -m cProfile x.py", {"x.py": MadeFile(content=b"import os; os.system('ls src')")})) == [
        "python3",
        "ls",
    ]
