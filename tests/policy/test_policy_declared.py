"""What `default` says of tasks of tox, pre-commit, cargo, nox, invoke and rake: they delete no more than a script may."""

import pytest

from git_world import repository
from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

KEPT = {path: file for path, file in repository({"c.txt": "x\n"}).items() if path.startswith(".git/")}
HELD = ("c.txt", "src/a.py", "build/x", "dist/x", "docs/conf.py", "tests/test_a.py")
TOX = "[tox]\nenvlist=x,lint\n[testenv]\ndeps=pytest\ncommands=pytest {posargs}\n"
NOX = "import nox\n@nox.session(python=['3.11'])\ndef x(session):\n    session.install('-e', '.')\n    {}\n@nox.session\ndef gone(session):\n    session.run('rm', '-rf', 'src')\n"
INVOKE = "import shutil\nfrom invoke import task\n@task\ndef y(c):\n    {}\n@task(y)\ndef x(c):\n    c.run('pytest')\n@task\ndef gone(c):\n    shutil.rmtree('src')\n"
RAKE = "require 'rake/clean'\ntask :y do\n  {}\nend\ndesc 'x'\ntask x: [:y] do\n  puts 'x'\nend\ntask :gone do\n  rm_rf 'src'\nend\n"
HOOK = "repos:\n- repo: https://x.example/y\n  rev: v1\n  hooks: [{{id: z}}]\n- repo: local\n  hooks:\n  - id: x\n    name: x\n    entry: {}\n    language: system\n"


def decided(line, **files):
    held = {path: text("x\n", 0o644) for path in HELD} | {"ruff": MadeFile(content=b"\x7fELF", mode=0o755)}
    made = {path.replace("__", "."): text(each) for path, each in files.items()}
    return reading_policy(line, KEPT | held | made, confined=True)


@pytest.mark.parametrize("line", ["tox", "tox -e x", "tox run -e x,lint", "tox -ex", "tox -e x -- -q"])
@pytest.mark.parametrize(
    "section",
    ["[testenv:x]\ncommands = {}\n", "[testenv:x]\ncommands_pre =\n  -{}\ncommands = ls\n", "[testenv:x]\ncommands =\n  py311: {}\n", "[all]\nc =\n  {}\n[testenv:x]\ncommands = {{[all]c}}\n",
     "[testenv:x]\ncommands =\n  ls \\\n    src\n  {}\n"],
)  # fmt: skip
def test_environments_of_tox(line, section):
    assert decided(line, tox__ini=TOX + section.format("rm -rf src")) is not Decision.ALLOW
    for harmless in (
        "rm -rf {toxinidir}/build",
        "ruff check src",
        "python -c \"print('x')\"",
        "pytest {posargs:tests}",
        "rm -rf none",
    ):
        assert decided(line, tox__ini=TOX + section.format(harmless)) is Decision.ALLOW, harmless


def test_commands_that_name_themselves_end():
    said = "[testenv]\ncommands =\n" + "  {[testenv]commands}\n" * 200
    assert decided("tox", tox__ini=said + "  rm -rf src\n") is not None
    assert decided("rake x", Rakefile="task :x do\n" * 3_000 + "rm_rf 'src'\n") is not Decision.ALLOW


def test_files_of_tox():
    for command in ("rm -rf src", "rm -rf build"):
        plain = f"[testenv:x]\ncommands = {command}\n"
        listed = f'commands = [["{command.replace(" ", chr(34) + "," + chr(34))}"]]\n'
        files = [{"setup__cfg": "[tox:tox]\n" + plain}, {"pyproject__toml": f'[tool.tox]\nlegacy_tox_ini = """\n{plain}"""\n'},
                 {"pyproject__toml": "[tool.tox.env.x]\n" + listed}, {"tox__toml": "[env.x]\n" + listed}]  # fmt: skip
        for each in files:
            assert (decided("tox -e x", **each) is Decision.ALLOW) is (command == "rm -rf build"), each
    assert decided("tox -e x -- src", tox__ini="[testenv:x]\ncommands = rm -rf {posargs:build}\n") is not Decision.ALLOW
    assert decided("tox -e lint", tox__ini=TOX + "[testenv:x]\ncommands = rm -rf src\n") is Decision.ALLOW


@pytest.mark.parametrize(
    ("line", "file", "content", "gone", "kept"),
    [("nox -s x", "noxfile__py", NOX, "session.run('rm', '-rf', '{}', external=True)", "build"), ("nox -s x-3.11", "noxfile__py", NOX, "__import__('shutil').rmtree('{}')", "build"),
     ("inv x", "tasks__py", INVOKE, "c.run('rm -rf {}')", "build"), ("invoke x", "tasks__py", INVOKE, "shutil.rmtree('{}')", "build"), ("inv x", "tasks__py", INVOKE, "c.run(f'rm -rf {{c.{}}}')", None),
     ("rake x", "Rakefile", RAKE, "sh 'rm -rf {}'", "build"), ("rake x", "Rakefile", RAKE, "rm_rf '{}'", "build"), ("bundle exec rake x", "Rakefile", RAKE, "FileUtils.rm_rf('{}')", "build")],
)  # fmt: skip
def test_tasks_that_are_code(line, file, content, gone, kept):
    assert decided(line, **{file: content.format(gone.format("src"))}) is not Decision.ALLOW
    if kept is not None:
        assert decided(line, **{file: content.format(gone.format(kept))}) is Decision.ALLOW
        assert decided(line.replace(" x", " gone"), **{file: content.format(gone.format(kept))}) is not Decision.ALLOW


@pytest.mark.parametrize("line", ["pre-commit run", "pre-commit run -a", "pre-commit run x --all-files"])
def test_hooks_of_the_project(line):
    assert decided(line, **{".pre-commit-config__yaml": HOOK.format("rm -rf src")}) is not Decision.ALLOW
    assert decided(line, **{".pre-commit-config__yaml": HOOK.format("ruff check")}) is Decision.ALLOW


def test_aliases_of_cargo():
    said = '[alias]\nx = "test --workspace"\ny = ["install", "ripgrep"]\nz = "y"\n'
    assert decided("cargo x", **{".cargo/config__toml": said}) is Decision.ALLOW
    for name in ("y", "z"):
        assert decided(f"cargo {name}", **{".cargo/config__toml": said}) is not Decision.ALLOW
