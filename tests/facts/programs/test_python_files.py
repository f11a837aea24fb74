"""Files that Python code names by constants: what is proven of them, what is no proof, and what the code really does."""

import os
import shlex
import subprocess
import sys

import pytest

from shell_world import HOME, WS, accesses, facts
from shield.facts.made import MadeFile
from shield.facts.programs.python.files import FileUse
from shield.facts.programs.python.proof import proven
from shield.types import Access, Operation, RunsCode

R, W, D, L = "read", "write", "delete", "list"

# code, what it does to which file
NAMED = [
    ("open('a', 'w').write('x')", {("a", W)}), ("open('a', mode='a').write('x')", {("a", W)}), ("open('a', 'r+')", {("a", R), ("a", W)}),
    ("open('a', 'xb').write(b'x')", {("a", W)}), ("open('a', encoding='utf-8')", {("a", R)}), ("open('a', 'w', newline='')", {("a", W)}),
    ("with open('a') as f, open('b', 'w') as g: g.write(f.read())", {("a", R), ("b", W)}),
    ("with open('a', 'w') as f:\n print('x', file=f)\n f.writelines(['y'])", {("a", W)}),
    ("import json; json.dump({'a': 1}, open('out.json', 'w'), indent=2)", {("out.json", W)}),
    ("import json, sys; json.dump({'a': 1}, sys.stdout)", set()),
    ("import csv; w = csv.writer(open('a.csv', 'w')); w.writerow([1])", {("a.csv", W)}),
    ("import sys; sys.stdout.buffer.write(b'x')", set()),
    ("import os; os.remove('a')", {("a", D)}), ("import os; os.unlink('a'); os.rmdir('b')", {("a", D), ("b", D)}),
    ("from os import remove as r; r('a')", {("a", D)}), ("import os; os.makedirs('a/b', exist_ok=True)", {("a/b", W)}),
    ("import os; os.mkdir('a', mode=0o755)", {("a", W)}), ("import shutil; shutil.rmtree('build')", {("build", D)}),
    ("import shutil; shutil.rmtree('build', ignore_errors=True)", {("build", D)}), ("from shutil import rmtree; rmtree('b')", {("b", D)}),
    ("from pathlib import Path; Path('a').unlink(missing_ok=True)", {("a", D)}),
    ("from pathlib import Path; print(Path('a').read_text().strip())", {("a", R)}),
    ("import pathlib; pathlib.Path('a', 'b').write_text('x' * 3)", {("a/b", W)}),
    ("import pathlib as p; p.Path('a').mkdir(parents=True, exist_ok=True)", {("a", W)}),
    ("from pathlib import Path; p = Path('a') / 'b'; p.touch(); print(p, f'{p}', p.exists())", {("a/b", W), ("a/b", L)}),
    ("from pathlib import Path; d = Path('a'); (d / 'b').write_bytes(b'x')", {("a/b", W)}),
    ("from pathlib import Path; Path('a').open('w').write('x')", {("a", W)}), ("from pathlib import Path; open(Path('a'))", {("a", R)}),
    ("n = 'a'; open(n + '.txt', 'w')", {("a.txt", W)}), ("n = 'a'; open(f'{n}.txt', 'w')", {("a.txt", W)}),
    ("import os; n = 'a'; os.remove(os.path.join('d', n))", {("d/a", D)}),
    ("import os\nfor n in ['a', 'b']:\n os.remove(n)", {("a", D), ("b", D)}),
    ("import os\nfor n in ('a', 'b'):\n if os.path.exists(n + '.o'): os.remove(f'{n}.o')", {("a.o", D), ("b.o", D), ("a.o", L), ("b.o", L)}),
    ("from pathlib import Path; [Path(n).touch() for n in ['a', 'b']]", {("a", W), ("b", W)}),
    ("def f():\n n = 'a'\n return open(n).read()\nprint(f())", {("a", R)}),
    ("import sys; open(sys.argv[1], 'w').write('x')", {("given", W)}),
]  # fmt: skip

REFUSED = [
    # a name with two values, in all the ways that Python gives one
    "n = 'a'; n = 'b'; open(n)", "n = 'a'; n += 'b'; open(n)", "n = 'a'\nfor n in ['b']: pass\nopen(n)", "n = 'a'; [0 for n in ['b']]; open(n)",
    "n = 'a'\ndef f(n): open(n, 'w')\nf('b')", "n = 'a'\ndef n(): pass\nopen(n)", "n = 'a'; (lambda n: open(n))('b')", "n = 'a'; (n := 'b'); open(n)",
    "n = 'a'\nwith open('x') as n: pass\nopen(n)", "n = 'a'\ntry: pass\nexcept Exception as n: pass\nopen(n)", "n = 'a'; n, m = 'b', 'c'; open(n)",
    "n = 'a'; del n; open(n)", "n: str = 'a'; open(n)", "m = n = 'a'; open(n)", "n = m; m = n; open(n)", "n = n + 'a'; open(n)", "a, b = 'x', 'y'; open(a)",
    "n = 'a' if x else 'b'; open(n)", "n = ['a']; open(n[0])", "l = ['a']; l.append('b')\nfor n in l: open(n)", "for n in {'a'}: open(n)",
    "for n in 'ab': open(n)", "for n in ['a', *m]: open(n)", "for n, m in [('a', 'b')]: open(n)", "import os\nfor n in os.listdir('.'): os.remove(n)",
    "n = input; open(n)", "open(b'a')", "open(1)", "open(True)", "open('')", "open('\\udcff')", "open('\\ud800', 'w')", "open('a\\x1b[0m')", "open('\\u202egpj.sh')", "open('a\\0b')", "open()", "open(file='a')", "open('a', *['w'])", "open(*['a'])",
    "open('a', 'w', opener=print)", "open('a', 'w', 1)", "open('a', 'w', closefd=False)", "open('a', 'q')", "open('a', '')", "open('a', mode='w', mode=m)",
    "m = 'w'; open('a', m)", "open('a', **{'mode': 'w'})", "open(f'{n!r}')", "n = 'a'; open(f'{n!r}')", "n = 'a'; open(f'{n:>5}')", "open('%s' % 'a')",
    "open('a' * 2)", "open('{}'.format('a'))", "open('a'.upper())", "import sys; n = 1; open(sys.argv[n])", "import sys; open(sys.argv[-1])",
    "import sys; open(sys.argv[True])", "import sys; open(sys.argv[9])",
    # a path object as a value
    "from pathlib import Path; Path('a').replace('b')", "from pathlib import Path; p = Path('a'); p.replace('b')", "from pathlib import Path; p = Path('a'); p.rename('b')",
    "from pathlib import Path; x = [Path('a')]", "from pathlib import Path; p = Path('a'); q = [p]; q[0].replace('b')", "from pathlib import Path; p = Path('a'); f = p.unlink; f()",
    "from pathlib import Path\nfor p in [Path('a')]: p.replace('b')", "from pathlib import Path; p = Path('a'); q = p; q.replace('b')", "from pathlib import Path; print(Path('a').parent)",
    "from pathlib import Path; (lambda p: p.replace('b'))(Path('a'))", "from pathlib import Path; f = Path; f('a').replace('b')", "from pathlib import Path; list(map(Path, ['a']))",
    "from pathlib import Path; Path('a').symlink_to('b')", "from pathlib import Path; Path('a').chmod(0o777)", "from pathlib import Path; [p for p in Path('.').glob('*')]",
    "from pathlib import Path; Path(n).unlink()", "from pathlib import Path; Path().mkdir()", "from pathlib import Path; Path('~').expanduser().unlink()",
    "from pathlib import Path; p = Path('a'); p /= 'b'; p.unlink()", "from pathlib import Path; (Path('a') / n).unlink()", "from pathlib import Path; n = Path('a/'); open(f'{n}b')",
    "from pathlib import Path; Path('a').write_text(Path('b'))", "from pathlib import Path; Path('a').unlink(**{'x': 1})", "from pathlib import Path; Path.unlink('a')",
    "from pathlib import Path; p = Path('a'); p.x = 1", "from pathlib import Path; Path('a').hardlink_to('b')", "from pathlib import Path; p = Path('a') if 1 else Path('b'); p.unlink()",
    # what reaches further than its words say
    "import os; os.remove('a', dir_fd=3)", "import os; os.removedirs('a/b')", "import shutil; shutil.rmtree('a', onerror=print)", "import shutil; shutil.rmtree('a', True, print)",
    "import os; f = os.remove; f('a')", "import os; list(map(os.remove, ['a']))", "import os; os.rename('a', 'b')", "import os; os.symlink('a', 'b')", "import shutil; shutil.move('a', 'b')",
    "import shutil; shutil.copy('a', 'b')", "import os; os.chdir('/'); os.remove('a')", "import os; os.makedirs(name='a')", "import os; os.mkdir('a', n)", "import functools, os; functools.partial(os.remove, 'a')()",
    "import xml.etree.ElementTree as E; E.parse('a').write('b')", "from xml.etree.ElementTree import parse; parse('a').write('b')", "import xml.etree.ElementTree; xml.etree.ElementTree.parse('a').write('b')",
    "import json, app; json.dump(1, open('a', 'w'))", "import tempfile", "import shutil; shutil.disk_usage('x')", "import shutil as s; s.os.remove('a')", "import pathlib; pathlib.os.remove('a')",
    # a name that leads elsewhere once the code has changed something
    "import os; os.remove('l'); os.mkdir('l'); open('l/../../x')", "open('a/../b', 'w')", "from pathlib import Path; Path('a/../../b').unlink()", "open('x', 'w'); open('./a/..')",
    # the names would be too many
    "import os\nfor a in ['1','2','3','4','5','6','7','8','9']:\n for b in ['1','2','3','4','5','6','7','8','9']: open(a + b)",
]  # fmt: skip


@pytest.mark.parametrize(("code", "uses"), NAMED)
def test_what_is_done_to_files_is_named(code, uses):
    proof = proven(code, ("-c", "given"))
    assert proof is not None
    assert {(use.path, use.access.value) for use in proof.files} == uses
    assert all(use.recursive == ("rmtree" in code) for use in proof.files)


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_not_surely_named_is_no_proof(code):
    assert proven(code, ("-c", "given"), lambda name: name == "app") is None


@pytest.mark.parametrize(("code", "uses"), NAMED)
def test_the_code_does_that_and_no_more(code, uses, tmp_path):
    """Run for real, every file that changes is one that was named."""
    for folder in ("d", "build/x"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("a", "a.o", "b.o", "d/a", "build/y", "a.txt", "kept"):
        if not (name == "a" and ("'b'" in code or "a/b" in code or "mkdir" in code)):
            (tmp_path / name).write_text("1")
    if not (tmp_path / "a").exists() and "mkdir" not in code:
        (tmp_path / "a").mkdir()
    before = {path: path.read_bytes() if path.is_file() else None for path in tmp_path.rglob("*")}
    subprocess.run(
        [sys.executable, "-I", "-c", code, "given"], cwd=tmp_path, capture_output=True, check=False, timeout=20
    )
    after = {path: path.read_bytes() if path.is_file() else None for path in tmp_path.rglob("*")}
    moved = {path for path in before.keys() | after.keys() if before.get(path, 0) != after.get(path, 0)}
    named = [os.path.join(tmp_path, path) for path, access in uses if access in (W, D)]
    assert not [
        path
        for path in moved
        if not any(f"{each}/".startswith(f"{path}/") or f"{path}/".startswith(f"{each}/") for each in named)
    ]
    if "rmtree('build'" in code:
        assert not (tmp_path / "build").exists()


@pytest.mark.parametrize(
    "code", ["a='x'\n" + "".join(f"a{i}=a{i + 1}+a{i + 1}\n" for i in range(200)) + "open(a0)", "open(" + "+".join(["'x'"] * 900) + ")",
             "n='x'\nopen(f'" + "{n}" * 2_000 + "')", "open(" + "(" * 90 + "'x'" + ")" * 90 + ")", "import os; open(os.path.join(" + "'a'," * 1_500 + "'b'))"]
)  # fmt: skip
def test_names_are_bounded(code):
    proof = proven(code, ("-c",))
    assert proof is None or all(len(use.path) <= 4_096 for use in proof.files)


def test_steps_are_bounded():
    assert proven("n='x'\nopen(f'" + "{n}" * 20 + "')", ("-c",)) is not None
    assert proven("n='x'\nopen(f'" + "{n}" * 2_500 + "')", ("-c",)) is None


# --- in a line --------------------------------------------------------------------------------------------------------


def run(code, files=None, **changes):
    found = facts(f"python3 -c {shlex.quote(code)}", files, **changes)
    return found, found.commands[0]


def test_a_proven_line_is_judged_by_its_files():
    found, command = run("import shutil, os; shutil.rmtree('build'); os.remove('/etc/x'); open('o', 'w').write('1')")
    assert command.runs_code is RunsCode.NONE
    assert command.operations == {Operation.EXECUTE, Operation.DELETE, Operation.WRITE}
    assert {(f"{WS}/build", D), ("/etc/x", D), (f"{WS}/o", W)} <= accesses(found)
    assert [path.recursive for path in found.paths if path.resolved == f"{WS}/build"] == [True]
    assert "vcs_hook" in {name for path in run("open('.git/hooks/x', 'w')")[0].paths for name in path.categories}
    assert f"{HOME}/.ssh/id_rsa" in {path.resolved for path in run(f"open('{HOME}/.ssh/id_rsa')")[0].paths}


@pytest.mark.parametrize(
    "name", ["json.py", "./re.py", "encodings/__init__.py", "a/../json.py", "link/random.py", f"{WS}/copy.py", "linecache.pyc", "sitecustomize.py"]
)  # fmt: skip
def test_code_that_puts_a_module_where_it_looks_is_no_proof(name):
    _, command = run(f"open({name!r}, 'w').write('x')", {"link": MadeFile(symlink=".")})
    assert command.runs_code is RunsCode.INLINE
    assert run("open('sub/json.py', 'w').write('x')")[1].runs_code is RunsCode.NONE


def test_what_it_writes_and_the_line_then_runs_is_seen():
    files = {"run.sh": MadeFile(content=b"ls\n", mode=0o755), "t.py": MadeFile(content=b"")}
    for then in ("bash run.sh", "./run.sh", ". ./run.sh"):
        assert facts(f"python3 -c \"open('run.sh', 'w').write('rm x')\"; {then}", files).unknown, then
        assert not facts(f"python3 -c \"open('log', 'w').write('rm x')\"; {then}", files).unknown, then
    assert facts("python3 -c \"open('t.py', 'w').write('x')\" && python3 t.py", files).unknown
    assert facts("python3 -c \"open('sub/x', 'w').write('x')\" && python3 -c 'print(1)'", files).unknown == ()


def test_code_that_is_fed_is_proven_alike():
    found = facts("python3 - <<'EOF'\nfrom pathlib import Path\nPath('a.txt').write_text('x')\nEOF")
    assert found.commands[-1].runs_code is RunsCode.NONE
    assert (f"{WS}/a.txt", W) in accesses(found)


def test_with_code_of_the_project_no_file_is_changed_under_proof():
    files = {"app.py": MadeFile(content=b"")}
    assert run("import app; print(open('x').read(), app.f())", files)[1].runs_code is RunsCode.WORKSPACE
    assert run("import app; open('x', 'w').write(app.f())", files)[1].runs_code is RunsCode.INLINE


def test_uses_are_listed_once():
    proof = proven("open('a'); open('a'); open('a', 'w')", ("-c",))
    assert proof is not None
    assert proof.files == (FileUse("a", Access.READ), FileUse("a", Access.WRITE))
    assert proof.changed() == ("a",)
