"""What a workspace's settings and links make of files is found in time that grows with what there is to read."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shell_world import place, text
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import fold, guards, inside
from shield.facts.homed import home_names
from shield.facts.looking import Looked
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.naming import named
from shield.facts.obeyed import obeyed
from shield.facts.paths import path_fact, resolve_path, resolved_roots
from shield.facts.place import Place
from shield.facts.table import table
from shield.led.entering import shell_files, shell_folders
from shield.led.hosting import host_scripts
from shield.led.started import started
from shield.led.starting import at_start
from shield.types import Access

_WS = "/home/user/ws"
_GIT = {".git/HEAD": text("ref: refs/heads/main\n")}


def _look(here: Place) -> Looked:
    return Looked(here, {})


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
    assert len([*shell_files(_WS, _look(here)), *shell_folders(_WS, _look(here))]) <= 1_000
    assert time.process_time() - begun < 2


def test_a_script_is_one_by_its_path_alone() -> None:
    """A folder of that name, a program of the machine and a file called like an option's word are none."""
    found = _led("[alias]\n\tl = !git log -- docs/ ./x\n\tn = !node x\n", {"docs/a.md": text("x")})
    assert [end for end, _ in found] == ["/home/user/ws/x"]


@pytest.mark.parametrize("opening", ["[", '{"command":', '{"command":"a/b"},', "[[0],"])
def test_long_settings_of_hosts_take_no_time(opening: str) -> None:
    begun = time.process_time()
    here = place({".claude/settings.json": text("[" + opening * (60_000 // len(opening)))})
    assert list(host_scripts(_WS, _look(here))) == []
    lines = ",".join(f'{{"command": "a/{number}"}}' for number in range(2_000))
    here = place({".claude/settings.json": text(f"[{lines}]")})
    assert len(list(host_scripts(_WS, _look(here)))) == 500
    assert time.process_time() - begun < 2


def _resolved(here: Place, path: str) -> str | None:
    return resolve_path(path, here, base=None, expand_tilde=False).path


def _asked_for_each(here: Place, root: str) -> set[tuple[str, str]]:
    """All of them, where every name that there may be is looked for, and every one that there is followed."""

    def linked(folder: str, depth: int) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for name in here.files.listdir(folder, 2_000):
            folded, path = fold(name), f"{folder}/{name}"
            leads = table().leads(folded) or folded == ".git" or depth < 3
            groups = (table().sequences, table().top, guards(here.protected).files)
            if not (leads or any(folded in group for group in groups) or table().named(folded)):
                continue
            entry = here.files.lstat(path)
            if entry is not None and entry.kind is FileKind.DIRECTORY and folded == ".git":
                hooks = here.files.lstat(f"{path}/hooks")
                found += [(f"{path}/hooks", f"{path}/hooks")]
                if hooks is not None and hooks.kind is FileKind.DIRECTORY:
                    found += [(f"{path}/hooks/{each}",) * 2 for each in here.files.listdir(f"{path}/hooks", 2_000)]
            elif entry is not None and entry.kind is FileKind.DIRECTORY and depth:
                found += linked(path, depth - 1) if table().leads(folded) or depth < 3 else []
            elif entry is not None and entry.kind is FileKind.LINK:
                found.append((path, path))
        return found

    every = [*named(root, here, Looked(here, {})), *home_names(root, here), *linked(root, 3)]
    ends = [(_resolved(here, real), name) for real, name in every]
    return {(end, name) for end, name in ends if end not in (None, name, root) and inside(end, (root,))}


_FILES = {
    ".envrc": text("source tools/env\nPATH_add tools/bin\n"),
    ".ENVRC": text(". other/env\n"),
    ".envrc.local": text("source_env a/b\n"),
    "mise.toml": text('[env]\n_.source = ["m/x"]\n_.path = "m/bin"\n'),
    "Mise.toml": text('[env]\n_.source = "n/x"\n'),
    ".config/mise.toml": text('[env]\n_.source = "c/x"\n'),
    ".claude/settings.json": text('{"hooks": [{"command": "scripts/a.sh"}]}'),
    ".CLAUDE/settings.json": text('{"hooks": [{"command": "scripts/b.sh"}]}'),
    ".cursor/hooks.json": text('{"bash": "./c.sh"}'),
    ".git/config": text("[core]\n\thooksPath = tools/h\n[alias]\n\tx = !./run.sh\n"),
    ".git/hooks/pre-commit": MadeFile(symlink="../../tools/pre"),
    ".git/hooks/commit-msg.sample": text("x"),
    "AGENTS.md": MadeFile(symlink="docs/agents.md"),
    ".github/deep/er/x.md": MadeFile(symlink="../../../docs/agents.md"),
    ".vscode": MadeFile(symlink="editor"),
    "package.json": MadeFile(symlink="tools/package.json"),
    "docs/agents.md": text("x"),
    "tools/pre": text("x"),
    "editor/tasks.json": text("{}"),
    ".env\u00adrc": text("source soft/hyphen\n"),
    "n\u00f6tes": text("x"),
}


@given(st.sets(st.sampled_from(sorted(_FILES))), st.booleans())
def test_what_is_not_listed_need_not_be_looked_for(given: set[str], folds: bool) -> None:
    if folds:  # one entry for each name without case
        given = set({name.casefold(): name for name in sorted(given)}.values())
    files = {".git/HEAD": text("x"), **{name: _FILES[name] for name in sorted(given)}}
    here = replace(place(), files=MadeFiles(files, folds_case=folds))
    found = set(obeyed(here, resolved_roots(here), lambda name: _resolved(here, name)))
    assert found == _asked_for_each(here, "/home/user/ws")


@pytest.mark.parametrize("names", [None, ("\u00e4",), ("a", ".env\u00adrc")])
def test_where_names_cannot_be_compared_each_is_looked_for(names: tuple[str, ...] | None) -> None:
    look = Looked(place({".envrc": text("x")}), {_WS: names})
    assert look.text(f"{_WS}/.envrc") == "x"


@pytest.mark.parametrize("named", ["../ws/tools/x", "./tools/x", "to\u017fls/x", "TOOLS/x"])
def test_a_listing_rules_out_no_name_that_may_be_in_it(named: str) -> None:
    """By `..` a path may come back, and a file system may take a long s for an s, as one does that folds case."""
    here = replace(place(), files=MadeFiles({named.casefold().removeprefix("../ws/"): text("x")}, folds_case=True))
    look = Looked(here, {_WS: ("tools",)})
    assert look.is_there(f"{_WS}/{named}") is Looked(here, {}).is_there(f"{_WS}/{named}")
    assert not look.is_there(f"{_WS}/others/x")


def test_what_cannot_be_examined_hides_nothing_else() -> None:
    """A file by which a folder cannot be listed, or an entry of it not be looked at, is no way to hide a link."""

    class Refusing(MadeFiles):
        def listdir(self, path: str, limit: int) -> tuple[str, ...]:
            if path.endswith("/.aaa"):
                raise FileSystemUnknownError(path)
            return super().listdir(path, limit)

        def lstat(self, path: str) -> object:
            if path.endswith(("/.bbb", "/applypatch-msg")):
                raise FileSystemUnknownError(path)
            return super().lstat(path)

    hooks = {".git/hooks/applypatch-msg": text("x"), ".git/hooks/pre-commit": MadeFile(symlink="../../tools/pre")}
    files = {**_GIT, **hooks, ".aaa/x": text("x"), ".bbb/x": text("x"), "AGENTS.md": MadeFile(symlink="docs/a.md")}
    here = replace(place(), files=Refusing({**files, "docs/a.md": text("x"), "tools/pre": text("x")}))
    found = obeyed(here, resolved_roots(here), lambda name: _resolved(here, name))
    assert ("/home/user/ws/docs/a.md", "/home/user/ws/AGENTS.md") in found
    assert ("/home/user/ws/tools/pre", "/home/user/ws/.git/hooks/pre-commit") in found


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
    found = set(started(line, _WS, _look(here)))
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
    assert not [path for path in started(line, _WS, _look(here)) if path.startswith("/home/user/ws/src/")]
    assert "/home/user/ws/tools/x.py" not in started(line, _WS, _look(here))


@pytest.mark.parametrize("opening", ["/home/user/ws/", "~/ws/a ", "$HOME/ws/", "PATH=~/ws/a:", "~/", "source ~/ws/x\n"])
def test_long_files_of_a_home_take_no_time(opening: str) -> None:
    here = place({"~/.bashrc": text(opening * (60_000 // len(opening)))})
    begun = time.process_time()
    assert len([*home_names(_WS, here), *at_start(_WS, _look(here))]) <= 600
    assert time.process_time() - begun < 2


def test_of_a_home_only_what_is_obeyed_leads_here() -> None:
    """Neither a link that nobody reads, nor one in a folder of too many names."""
    links = {f"~/{name}": MadeFile(symlink="/home/user/ws/x") for name in ("notes", "Documents/a", ".cache/a")}
    many = {f"~/.config/nvim/{number}": text("x") for number in range(201)}
    many["~/.config/nvim/a.lua"] = MadeFile(symlink="/home/user/ws/x")
    here = place({"x": text("x"), **links, **many})
    roots = resolved_roots(here)
    assert obeyed(here, roots, lambda name: resolve_path(name, here, base=None).path) == ()
