"""What a workspace's settings and links make of files is found in time that grows with what there is to read."""

import time

import pytest

from shell_world import place, text
from shield.facts.entering import shell_names
from shield.facts.homed import home_names
from shield.facts.hosting import host_names
from shield.facts.made import MadeFile
from shield.facts.obeyed import obeyed
from shield.facts.paths import path_fact, resolve_path, resolved_roots
from shield.facts.started import started
from shield.types import Access

_GIT = {".git/HEAD": text("ref: refs/heads/main\n")}


def _led(config: str, files: dict[str, MadeFile] | None = None) -> tuple[tuple[str, str], ...]:
    here = place({**_GIT, ".git/config": text(config), **(files or {})})
    return obeyed(here, resolved_roots(here), lambda name: resolve_path(name, here, base=None).path)


def test_names_by_which_files_are_obeyed() -> None:
    found = _led("[core]\n\thooksPath = tools/h\n[include]\n\tpath = ../shared\n")
    assert ("/home/user/ws/tools/h", "/home/user/ws/.git/hooks") in found
    assert ("/home/user/ws/shared", "/home/user/ws/.git/config") in found


def test_what_lies_outside_or_includes_itself_adds_nothing() -> None:
    assert _led("[include]\n\tpath = ~/.gitconfig.work\n\tpath = config\n[core]\n\thooksPath = .\n") == ()


def test_reading_is_nothing_special() -> None:
    here = place({**_GIT, ".git/config": text("[core]\n\thooksPath = h\n"), "h/pre-commit": text("x")})
    assert not path_fact("h/pre-commit", Access.READ, here, base="/home/user/ws").categories & {"vcs_hook"}
    assert "vcs_hook" in path_fact("h/pre-commit", Access.WRITE, here, base="/home/user/ws").categories


@pytest.mark.parametrize(
    "opening", ["[", " ", "[a]", "path=", "\t", "path = \n", "\\\n", '"', "[include]path=x\n", "a=!x y\n", "a = ! x"]
)
def test_long_settings_take_no_time(opening: str) -> None:
    begun = time.process_time()
    _led(opening * (60_000 // len(opening)))
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "opening",
    ["source ", ". x\n", ";", "then ", "{", "source x/y;", "$PWD/", "\n", "PATH_add ", "PATH=a:", "PATH=$PWD/a\n"],
)
def test_long_files_that_a_shell_reads_take_no_time(opening: str) -> None:
    begun = time.process_time()
    long = text(opening * (60_000 // len(opening)))
    here = place({".envrc": long, "mise.toml": text("[env]\n_.source = [" + "'x/y'," * 10_000 + "]\n")})
    assert len(list(shell_names("/home/user/ws", here))) <= 1_000
    assert time.process_time() - begun < 2


def test_a_script_is_one_by_its_path_alone() -> None:
    """A folder of that name, a program of the machine and a file called like an option's word are none."""
    found = _led("[alias]\n\tl = !git log -- docs/ ./x\n\tn = !node x\n", {"docs/a.md": text("x")})
    assert [end for end, _ in found] == ["/home/user/ws/x"]


@pytest.mark.parametrize("opening", ["[", '{"command":', '{"command":"a/b"},', "[[0],"])
def test_long_settings_of_hosts_take_no_time(opening: str) -> None:
    begun = time.process_time()
    here = place({".claude/settings.json": text("[" + opening * (60_000 // len(opening)))})
    assert list(host_names("/home/user/ws", here)) == []
    lines = ",".join(f'{{"command": "a/{number}"}}' for number in range(2_000))
    here = place({".claude/settings.json": text(f"[{lines}]")})
    assert len(list(host_names("/home/user/ws", here))) == 500
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "opening",
    [
        "{",
        "{{",
        "$(",
        "`",
        "${",
        "/*",
        '"',
        '\\"',
        "entry: x/y.sh\n",
        "a/b.sh ",
        "cd a;",
        "@a.md ",
        "use flake ",
        "~/",
        "-m a ",
    ],
)
@pytest.mark.parametrize(
    "file", [".pre-commit-config.yaml", ".husky/pre-commit", "lefthook.json", ".envrc", ".mcp.json", "CLAUDE.md"]
)
def test_long_settings_of_any_kind_take_no_time(file: str, opening: str) -> None:
    here = place({**_GIT, file: text(opening * (60_000 // len(opening)))})
    begun = time.process_time()
    assert len(obeyed(here, resolved_roots(here), lambda name: resolve_path(name, here, base=None).path)) <= 500
    assert time.process_time() - begun < 2


def test_what_a_hook_works_on_is_no_part_of_it() -> None:
    hook = "eslint --fix src/index.html\nprettier --check README.md docs/*.md\ngit diff --name-only origin/main\nnpm test\n"
    here = place({**_GIT, ".husky/pre-commit": text(hook), "README.md": text("x"), "docs/a.md": text("x")})
    found = obeyed(here, resolved_roots(here), lambda name: resolve_path(name, here, base=None).path)
    assert [end for end, _ in found if not end.endswith("origin/main")] == []


@pytest.mark.parametrize(
    "line",
    [
        "tools/x.py",
        "./tools/x.py --fix src/a.py",
        "X=1 env Y=2 timeout 5 tools/x.py",
        "python3.12 -W error tools/x.py src/a.py",
        "/usr/bin/env python tools/x.py",
        "cd tools && python x.py",
        "python -m tools.x src/a.py",
        "bash -lc 'set -e; tools/x.py'",
        "git ls-files | xargs -n1 python tools/x.py",
        "find src -name '*.py' -exec tools/x.py {} +",
        "if [ -f src/a.py ]; then sh tools/x.py; fi",
        "node --import tsx tools/x",
        'eval "$(tools/x.py)"',
        "$(git rev-parse --show-toplevel)/tools/x.py",
        "uv run tools/x.py",
    ],
)
def test_what_a_line_starts(line: str) -> None:
    here = place({"tools/x.py": text("x"), "tools/x.js": text("x"), "src/a.py": text("x")})
    found = set(started(line, "/home/user/ws", here))
    assert found
    assert found <= {
        "/home/user/ws/tools/x.py",
        "/home/user/ws/tools/x.js",
        "/home/user/ws/x.py",
        "/home/user/ws/tools/x",
    }


@pytest.mark.parametrize(
    "line",
    [
        "mypy src/a.py",
        "eslint --fix 'src/a.js'",
        "python -m mypy src/a.py",
        "prettier --check README.md",
        "git diff origin/main -- src/a.py",
        "echo tools/x.py",
        "python -c 'import x' src/a.py",
        "node_modules/.bin/eslint src/a.js",
        ".venv/bin/python -m nbstripout",
    ],
)
def test_what_a_line_only_works_on(line: str) -> None:
    here = place({"tools/x.py": text("x"), "src/a.js": text("x"), "src/a.py": text("x"), "README.md": text("x")})
    assert not [path for path in started(line, "/home/user/ws", here) if path.startswith("/home/user/ws/src/")]
    assert "/home/user/ws/tools/x.py" not in started(line, "/home/user/ws", here)


@pytest.mark.parametrize("opening", ["/home/user/ws/", "~/ws/a ", "$HOME/ws/", "PATH=~/ws/a:", "~/", "source ~/ws/x\n"])
def test_long_files_of_a_home_take_no_time(opening: str) -> None:
    here = place({"~/.bashrc": text(opening * (60_000 // len(opening)))})
    begun = time.process_time()
    assert len(list(home_names("/home/user/ws", here))) <= 600
    assert time.process_time() - begun < 2


def test_of_a_home_only_what_is_obeyed_leads_here() -> None:
    """Neither a link that nobody reads, nor one in a folder of too many names."""
    links = {f"~/{name}": MadeFile(symlink="/home/user/ws/x") for name in ("notes", "Documents/a", ".cache/a")}
    many = {f"~/.config/nvim/{number}": text("x") for number in range(201)}
    many["~/.config/nvim/a.lua"] = MadeFile(symlink="/home/user/ws/x")
    here = place({"x": text("x"), **links, **many})
    roots = resolved_roots(here)
    assert obeyed(here, roots, lambda name: resolve_path(name, here, base=None).path) == ()
