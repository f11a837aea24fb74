"""What a workspace's settings and links make of files is found in time that grows with what there is to read."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shell_world import place, text
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import fold, guards, inside
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.naming import git_names, host_names, known_names, shell_names
from shield.facts.obeyed import obeyed
from shield.facts.paths import path_fact, resolve_path, resolved_roots
from shield.facts.place import Place
from shield.facts.table import table
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

    named = [*git_names(root, here), *shell_names(root, here), *host_names(root, here), *linked(root, 3)]
    ends = [(_resolved(here, real), name) for real, name in named]
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
    assert known_names(names) is None


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
