"""Words of tools that are no path as a whole: which secret they name, and what they may write that others go by."""

from dataclasses import replace

import pytest

from model_world import WORLD, WS
from shell_world import accesses
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.programs.library import models
from shield.facts.shell import analyse

FILES = {
    ".env": MadeFile(content=b"SECRET=1\n"),
    ".git/config": MadeFile(content=b"x"),
    ".github/workflows/ci.yml": MadeFile(content=b"x"),
    "AGENTS.md": MadeFile(content=b"x"),
    "src/a.py": MadeFile(content=b"x"),
}
SECRET = [
    "mypy @.env", "pytest @.env", "ruff check @./.env", "clang-format -style=file:.env a.c", "gcc -Wl,-T,.env a.c", "gcc -Wa,@.env a.c",
    "make MAKEFILES=.env", "php -d auto_prepend_file=.env x.php", "yamllint -d '{extends: .env}' .", "python3 x.py --file=a:.env",
]  # fmt: skip
WRITTEN = [
    ("pytest --cov-report=html:.git/hooks", ".git/hooks"), ("pytest -o log_file=.git/config", ".git/config"), ("gcc -MF.git/config a.c", ".git/config"),
    ("gcc -Wp,-MD,.git/config a.c", ".git/config"), ("rustc --emit=dep-info=.git/config x.rs", ".git/config"), ("tsc --generateTrace .git/hooks", ".git/hooks"),
    ("mvn -l .git/config test", ".git/config"), ("sphinx-build docs .git/hooks", ".git/hooks"), ("golangci-lint run --output.json.path=.git/config", ".git/config"),
    ("pytest --unlisted .github/workflows/ci.yml", ".github/workflows/ci.yml"), ("eslint --unlisted=AGENTS.md src", "AGENTS.md"), ("python3 x.py --out=AGENTS.md", "AGENTS.md"),
    ("make -C src OUT=../.git/config", "../.git/config"), (f"mypy --x-report={WS}/.git/config", f"{WS}/.git/config"), ("ld -Map .GIT/config a.o", ".GIT/config"),
]  # fmt: skip
HARMLESS = [
    "flake8 --exclude .git,__pycache__ src", "codespell --skip='./.git/*' src", "mypy --strict src/a.py", "prettier --check AGENTS.md",
    "pytest -x src/a.py", "yamllint .github/workflows/ci.yml", "pre-commit run --files .github/workflows/ci.yml AGENTS.md", "gcc -O2 -o app src/a.c", "commitlint --edit .git/COMMIT_EDITMSG",
]  # fmt: skip


PROGRAMS = frozenset(name for name in models() if "/" not in name and name not in (".", "[", ":"))


def facts(line, files):
    return analyse(line, replace(WORLD, files=MadeFiles(files, programs=PROGRAMS)))


@pytest.mark.parametrize("line", SECRET)
def test_a_part_of_a_word_that_names_a_secret_is_read(line):
    assert (f"{WS}/.env", "read") in accesses(facts(line, FILES))
    without = {name: file for name, file in FILES.items() if name != ".env"}
    assert (f"{WS}/.env", "read") not in accesses(facts(line, without))


@pytest.mark.parametrize(("line", "name"), WRITTEN)
def test_what_others_go_by_may_be_written(line, name):
    assert name in {path.raw for path in facts(line, FILES).paths if path.access == "write"}


def test_a_word_of_too_many_parts_is_said():
    assert (f"{WS}/.env", "read") in accesses(facts("gcc -Wl," + "-x," * 200 + "@.env a.c", FILES))
    assert facts("gcc -Wl," + "-x," * 300 + "@.env a.c", FILES).unknown


LEFT_OUT = [
    "flake8 --exclude .git,.env src", "flake8 --exclude=.git,.env src", "codespell --skip .git,.env src", "eslint --ignore-pattern=.env src", "black --extend-exclude '.env' src",
    "pytest --ignore=.env",
]  # fmt: skip


@pytest.mark.parametrize("line", LEFT_OUT)
def test_what_a_tool_has_nothing_to_do_with_is_not_read(line):
    found = accesses(facts(line, FILES))
    assert not {(f"{WS}/.env", "read"), (f"{WS}/.git", "write")} & found


@pytest.mark.parametrize("line", ["codespell --ignore-words=.env src", "flake8 --excluded .git,.env src"])
def test_a_file_of_what_is_left_out_is_read(line):
    assert (f"{WS}/.env", "read") in accesses(facts(line, FILES))


@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_left_out_or_only_read_is_not_written(line):
    written = {path.raw for path in facts(line, FILES).paths if path.access == "write"}
    assert written <= {"app"}
    assert not facts(line, FILES).unknown


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("COVERAGE_FILE=.git/config coverage run x.py", ".git/config"),
        ("export X_OUT=AGENTS.md; ruff check", "AGENTS.md"),
    ],
)
def test_a_variable_may_name_what_is_written(line, name):
    assert name in {path.raw for path in facts(line, FILES).paths if path.access == "write"}
    assert (f"{WS}/.env", "read") not in accesses(facts("DOTENV=.env pytest", FILES))


@pytest.mark.parametrize(
    "line",
    [
        "GNUMAKEFLAGS='--eval=x:;id' make",
        "MAVEN_OPTS='-XX:OnOutOfMemoryError=id -Xmx2m' mvn test",
        "MAVEN_ARGS=exec:exec mvn test",
        "RUSTFLAGS='-C linker=rm' cargo build",
        "export TOX_OVERRIDE=testenv.commands=id; tox",
    ],
)
def test_a_variable_may_bring_code(line):
    assert facts(line, FILES).commands[-1].dynamic == "code"


@pytest.mark.parametrize("line", ["MAVEN_OPTS=-Xmx1g mvn test", "RUSTFLAGS='-D warnings' cargo build", "X=1 make"])
def test_or_a_plain_setting(line):
    assert facts(line, FILES).commands[-1].dynamic == "none"


def test_what_a_package_manager_starts_by_name():
    bins = {**FILES, "node_modules/.bin/tsc": MadeFile(content=b"x", mode=0o755)}
    for line in ("yarn tsc @.env", "yarn run tsc @.env", "pnpm tsc @.env", "bun run tsc @.env", "bun tsc @.env"):
        assert (f"{WS}/.env", "read") in accesses(facts(line, bins)), line
    own = {"package.json": MadeFile(content=b'{"scripts": {"watch": "x", "rm": "y"}}')}
    for line in ("pnpm watch", "bun run rm -rf src", "yarn sh -c x"):
        assert [command.name for command in facts(line, own).commands if command.name in ("watch", "rm", "sh")] == []
    for line in ("pnpm watch ls", "bun run rm -rf src", "pnpm sh -c x"):
        assert len(facts(line, FILES).commands) > 1, line
