"""Python that starts programs: what is proven to start no more than it names, and what is code like any other."""

import shlex

import pytest

from shell_world import WS, facts
from shield.facts.made import MadeFile
from shield.types import Dynamic, RunsCode

IMPORT = "import subprocess; "


def started(
    code: str, files: dict[str, MadeFile] | None = None, program: str = "python3"
) -> list[tuple[str, ...]] | None:
    """The commands that the code starts; None where it is code like any other, or anything is not known."""
    found = facts(f"{program} -c {shlex.quote(code)}", files)
    if found.unknown or any(command.runs_code is RunsCode.INLINE for command in found.commands):
        return None
    if any(command.dynamic is not Dynamic.NONE for command in found.commands):
        return None
    return [command.argv for command in found.commands[1:]]


@pytest.mark.parametrize(
    ("code", "commands"),
    [
        ("subprocess.run(['git', 'status'])", [("git", "status")]),
        ("subprocess.run(['git', 'status'], check=True)", [("git", "status")]),
        ("subprocess.run(('ls', '-l'), capture_output=True, text=True, timeout=9.5)", [("ls", "-l")]),
        ("print(subprocess.run(['ls'], capture_output=True).stdout.decode())", [("ls",)]),
        ("r = subprocess.run(['ls']); print(r.returncode, r.stderr)", [("ls",)]),
        ("subprocess.check_call(['ls']); subprocess.call(['wc', 'x'])", [("ls",), ("wc", "x")]),
        ("print(subprocess.check_output(['date'], universal_newlines=True).strip())", [("date",)]),
        ("subprocess.run('ls')", [("ls",)]),
        ("subprocess.run('ls -l | wc -l', shell=True)", [("ls", "-l"), ("wc", "-l")]),
        ("subprocess.run('ls', shell=False)", [("ls",)]),
        ("for i in range(3):\n  subprocess.run(['ls'])", [("ls",)]),
        ("try:\n  subprocess.run(['ls'], check=True)\nexcept subprocess.CalledProcessError as e:\n  print(e.returncode)", [("ls",)]),
        ("subprocess.run(['echo', '$HOME', '*', '; rm x'])", [("echo", "$HOME", "*", "; rm x")]),
    ],
)  # fmt: skip
def test_what_is_started_is_a_command_of_its_own(code, commands):
    newline = "\n" if "\n" in code else ""
    assert started(IMPORT.replace("; ", "\n" if newline else "; ") + code) == commands


def test_what_is_said_of_the_machine_is_looked_up_by_a_program():
    for name in ("platform", "system", "machine", "processor", "release"):
        assert started(f"import platform; print(platform.{name}())") == [("uname", "-p")]
    assert started("from platform import system as s; print(s(), len(s()))") == [("uname", "-p")]


def test_names_of_the_import_are_followed():
    assert started("from subprocess import run\nrun(['ls'])") == [("ls",)]
    assert started("import subprocess as s\ns.run(['ls'])") == [("ls",)]
    assert started("from subprocess import check_output as c\nprint(c(['ls']))") == [("ls",)]


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run(['ls', x])", "subprocess.run(['ls'] + ['-l'])", "subprocess.run([*['ls']])", "subprocess.run(f'ls {1}', shell=True)",
        "subprocess.run(['ls'], env={})", "subprocess.run(['ls'], cwd='/')", "subprocess.run(['ls'], executable='/bin/sh')",
        "subprocess.run(['ls'], preexec_fn=print)", "subprocess.run(['ls'], shell=True)", "subprocess.run(['ls'], **{'cwd': '/'})",
        "subprocess.run(*[['ls']])", "subprocess.run(args=['ls'])", "subprocess.run(['sh'], input=b'id')", "subprocess.run(['ls'], stdin=open('x'))",
        "subprocess.run(['ls'], -1, '/bin/id')", "subprocess.run(['ls'], check=1)", "subprocess.run('ls', shell=1)", "subprocess.run([])",
        "subprocess.run([''])", "subprocess.run(['ls', b'x'])", "subprocess.run(['ls', 'a\\0b'])", "subprocess.Popen(['ls'])",
        "subprocess.getoutput('ls')", "subprocess.os.system('ls')", "list(map(subprocess.run, [['ls']]))", "f = subprocess.run; f(['ls'])",
        "subprocess.run.__globals__", "subprocess.run(['ls'], timeout=x)", "subprocess.run = print", "subprocess.sys.exit()",
        "open('x', 'w').write('id'); subprocess.run(['sh', 'x'])", "print(open('x').read()); subprocess.run(['ls'])",
        "import os; os.chdir('/'); subprocess.run(['ls'])", "import os; os.environ['PATH'] = '.'; subprocess.run(['ls'])",
        "import app; subprocess.run(['ls'])", "subprocess.run(['ls'], check=True, **x)", "subprocess.run(['python3', '-c', 'import os; os.system(input())'])",
        "subprocess.run(['sh', '-c', '$X'])", "subprocess.run('$X', shell=True)", "subprocess.run('x=1; eval \"$(cat y)\"', shell=True)",
        "def run(a): pass\nrun(['ls'])\nsubprocess = 1", "from subprocess import run, Popen; Popen(['ls'])", "subprocess.run((x for x in ['ls']))",
    ],
)  # fmt: skip
def test_what_is_not_constant_is_code(code):
    assert started(IMPORT + code) is None


def test_a_module_of_that_name_in_the_way_is_code():
    assert started(IMPORT + "subprocess.run(['ls'])", {"subprocess.py": MadeFile(content=b"x")}) is None
    assert started(IMPORT + "subprocess.run(['ls'])", {"selectors.py": MadeFile(content=b"x")}) is None


def test_another_program_of_that_name_is_code():
    found = facts(
        "./python3 -c \"import subprocess; subprocess.run(['ls'])\"", {"python3": MadeFile(content=b"x", mode=0o755)}
    )
    assert any(command.runs_code is not RunsCode.NONE for command in found.commands)


def test_a_command_that_puts_a_module_there_is_noticed():
    assert started(IMPORT + "subprocess.run(['cp', 'x', 'json.py'])") is None


def test_what_it_is_fed_is_not_lost():
    """A shell that Python starts reads what Python is fed."""
    found = facts("echo id | python3 -c \"import subprocess; subprocess.run(['sh'])\"")
    assert any(command.runs_code is RunsCode.INLINE for command in found.commands)
    found = facts("python3 - <<'EOF'\nimport subprocess\nsubprocess.run(['sh'])\nEOF")
    assert any(command.runs_code is RunsCode.INLINE for command in found.commands)


def test_paths_are_those_of_where_it_stands():
    found = facts(
        "cd src && python3 -c \"import subprocess; subprocess.run(['cat', 'x'])\"", {"src/x": MadeFile(content=b"x")}
    )
    assert f"{WS}/src/x" in {fact.resolved for fact in found.paths}
