"""What `default` says of tasks that a pyproject.toml names: what they run is seen, as in a script."""

import pytest

from shell_world import facts, reading_policy, text
from shield.types import Decision

RUNS = {
    "poe {}": '[tool.poe.tasks]\nx = "{}"\n',
    "poe x {}": None,
    "pdm run {}": '[tool.pdm.scripts]\nx = "{}"\n',
    "hatch run {}": '[tool.hatch.envs.default.scripts]\nx = "{}"\n',
    "hatch run dev:{}": '[tool.hatch.envs.dev.scripts]\nx = ["ls", "{}"]\n',
    "rye run {}": '[tool.rye.scripts]\nx = "{}"\n',
}
SHAPES = [
    ("poe x", '[tool.poe.tasks]\nx = {{ shell = "{}" }}\n'),
    ("poe x", '[tool.poe.tasks]\nx = {{ cmd = "{}" }}\n'),
    ("poe x", '[tool.poe.tasks]\nx = ["y", {{ cmd = "ls" }}]\ny = "{}"\n'),
    ("poe x", '[tool.poe.tasks.x]\nsequence = [{{ shell = "{}" }}]\n'),
    ("poe x", '[tool.poe.tasks]\nx = {{ cmd = "ls", deps = ["y"] }}\ny = "{}"\n'),
    ("poe -q x", '[tool.poe.tasks]\nx = "{}"\n'),
    ("pdm run x", '[tool.pdm.scripts]\nx = {{ composite = ["ls", "y"] }}\ny = {{ shell = "{}" }}\n'),
    ("pdm run -v x", '[tool.pdm.scripts]\nx = "{}"\n'),
    ("hatch run x", '[tool.hatch.envs.default.scripts]\nx = "y"\ny = ["{}"]\n'),
    ("hatch run dev:x", '[tool.hatch.envs.default.scripts]\nx = "{}"\n'),
    ("poe x", '[tool.poe.tasks.x]\ncontrol = {{ cmd = "{}" }}\nswitch = [{{ cmd = "ls" }}]\n'),
    (
        "poe x",
        '[tool.poe.tasks.x]\ncontrol = {{ expr = "1" }}\nswitch = [{{ case = "1", cmd = "ls" }}, {{ cmd = "{}" }}]\n',
    ),
    ("poe x", '[tool.poe.tasks.x]\nparallel = ["ls", {{ cmd = "{}" }}]\n'),
    ("pdm run x", '[tool.pdm.scripts]\nx = "ls"\npre_x = "{}"\n'),
    ("pdm run x", '[tool.pdm.scripts]\nx = "ls"\npost_run = {{ shell = "{}" }}\n'),
    ("pdm run x", '[tool.pdm.scripts]\nx = {{ composite = ["y"] }}\ny = "ls"\npost_y = "{}"\n'),
    (
        "hatch run dev:x",
        '[tool.hatch.envs.dev]\npost-install-commands = ["ls", "{}"]\n[tool.hatch.envs.dev.scripts]\nx = "ls"\n',
    ),
    ("hatch -e test run x", '[tool.hatch.envs.default.scripts]\nx = "ls"\n[tool.hatch.envs.test.scripts]\nx = "{}"\n'),
    (
        "HATCH_ENV=test hatch run x",
        '[tool.hatch.envs.default.scripts]\nx = "ls"\n[tool.hatch.envs.test.scripts]\nx = "{}"\n',
    ),
    ("rye run x", '[tool.rye.scripts]\nx = {{ chain = ["y"] }}\ny = "{}"\n'),
    ("cd sub && poe x", '[tool.poe.tasks]\nx = "{}"\n'),
]
HARMFUL = ["rm -rf src", "git reset --hard", "cat /etc/shadow", "sudo ls"]


def files(table, command):
    return {
        "pyproject.toml": text(table.format(command), 0o644),
        "src/a.py": text("x\n", 0o644),
        "sub/a": text("x\n", 0o644),
    }


@pytest.mark.parametrize(("line", "table"), [*((run.format("x"), each) for run, each in RUNS.items() if each), *SHAPES])
def test_what_a_task_runs_is_judged(line, table):
    assert reading_policy(line, files(table, "pytest -q"), confined=True) is Decision.ALLOW
    assert reading_policy(line, files(table, "pytest -q"), confined=False) is not Decision.ALLOW
    for command in HARMFUL:
        assert reading_policy(line, files(table, command), confined=True) is not Decision.ALLOW, command


@pytest.mark.parametrize("run", ["poe x", "pdm run x", "hatch run x", "rye run x"])
def test_words_for_a_task_are_words_of_its_command(run):
    table = "\n".join(each for each in RUNS.values() if each)
    for command, words in (
        ("python", "-c 'import os; os.remove(input())'"),
        ("rm -rf", "src"),
        ("bash", "-c 'rm -rf src'"),
    ):
        assert (
            reading_policy(f"{run} {words}", files(table.replace("{}", command), ""), confined=True)
            is not Decision.ALLOW
        )
    assert reading_policy(f"{run} -k parser", files(table.replace("{}", "pytest"), ""), confined=True) is Decision.ALLOW


def test_hatch_puts_words_where_they_are_asked_for():
    table = '[tool.hatch.envs.default.scripts]\nx = "rm -rf {args:build}"\n'
    here = {"pyproject.toml": text(table), "src/a.py": text("x\n")}
    assert reading_policy("hatch run x", here, confined=True) is Decision.ALLOW
    assert reading_policy("hatch run x src", here, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize(
    "table",
    ['[tool.poe.tasks]\nx = "x"\n', '[tool.poe.tasks]\nx = ["y"]\ny = ["x"]\n', "[tool.poe.tasks]\nx = 1\n", "[tool]\npoe = 1\n", "not toml", "[tool.poe.tasks.x]\nsequence = [[[]]]\n"],
)  # fmt: skip
def test_a_table_that_says_nothing_is_no_trouble(table):
    found = facts("poe x; pdm run x; hatch run x; rye run x", {"pyproject.toml": text(table)})
    assert found.parsed


@pytest.mark.parametrize(
    "tasks",
    ["x = [" + "{cmd = 'ls'}, " * 300 + "{cmd = 'rm -rf src'}]\n", f"x = [{{cmd = 'echo {'a' * 40_000}'}}, {{cmd = 'rm -rf src'}}]\n",
     "x = ['t0']\n" + "".join(f"t{each} = [{', '.join(repr(f't{other}') for other in range(40))}]\n" for each in range(40))],
)  # fmt: skip
def test_more_than_is_followed_is_asked(tasks):
    here = {"pyproject.toml": text("[tool.poe.tasks]\n" + tasks), "src/a.py": text("x\n")}
    assert reading_policy("poe x", here, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize("field", ["{env:D:src}", "{root}/src", "{env:D}", "{root:uri}/src"])
def test_fields_that_hatch_fills_in_are_not_known(field):
    here = {
        "pyproject.toml": text(f'[tool.hatch.envs.default.scripts]\nx = "rm -rf {field}"\n'),
        "src/a.py": text("x\n"),
    }
    assert reading_policy("hatch run x", here, confined=True) is not Decision.ALLOW
