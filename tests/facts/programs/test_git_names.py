"""Names that git hands to xargs: what the facts say they are, held against what the real programs hand on."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from git_world import git
from shell_world import settled
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.programs.git.index import read_index
from shield.facts.shell import analyse
from shield.types import Access, RunsCode

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def ws(tmp_path):
    top = tmp_path / "home/ws"
    top.mkdir(parents=True)
    (tmp_path / "home/secret").write_text("key\n")
    git(top, "init", "-q", "-b", "main")
    return top


def put(top: Path, *names: str) -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x\n")


def commit(top: Path) -> None:
    git(top, "add", "-A", "-f")
    git(top, "commit", "-q", "-m", "x")


def found(top: Path, line: str, cwd: Path | None = None):
    place = Place(
        files=LocalFiles(),
        home=str(top.parent),
        cwd=str(cwd or top),
        workspace_roots=(str(top),),
        env={"PATH": os.environ["PATH"], "HOME": str(top.parent)},
        shell="/bin/bash",
    )
    return analyse(line, place)


def handed(top: Path, lister: str, xargs: str = "xargs", cwd: Path | None = None) -> list[str]:
    """The words that a program really gets."""
    script = f'{lister} | {xargs} sh -c \'printf "%s\\0" "$@"\' sh'
    env = {"PATH": os.environ["PATH"], "HOME": str(top.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["bash", "-c", script], cwd=cwd or top, env=env, capture_output=True, check=False)
    return [os.fsdecode(word) for word in done.stdout.split(b"\0") if word]


LISTERS = (
    ("git ls-files", "xargs"),
    ("git ls-files -z", "xargs -0"),
    ("git ls-files -m", "xargs"),
    ("git ls-files src", "xargs"),
    ("git ls-files '*.py' | sort | head -5", "xargs"),
    ("git diff --name-only", "xargs"),
    ("git diff --name-only -z", "xargs -0"),
    ("git diff --name-only --diff-filter=d HEAD", "xargs"),
    ("git diff --cached --name-only --diff-filter=ACMR", "xargs"),
    ("git grep -l x", "xargs"),
    ("git grep -lz x", "xargs -0"),
    ("git grep -l x -- src", "xargs"),
    ("rg -l x", "xargs"),
    ("rg --files", "xargs"),
    ("grep -rl x", "xargs"),
    ("grep -rlZ x .", "xargs -0"),
)


def needs(lister: str) -> None:
    if shutil.which(lister.split()[0]) is None:
        pytest.skip(f"{lister.split()[0]} is not installed")


@pytest.mark.parametrize(("lister", "xargs"), LISTERS)
def test_the_names_of_a_plain_repository_are_known(ws, lister, xargs):
    needs(lister)
    put(ws, "a.py", "src/b.py", "src/deep/c.txt")
    commit(ws)
    (ws / "a.py").write_text("x changed\n")
    facts = found(ws, f"{lister} | {xargs} cat")
    assert settled(facts), facts.unknown
    assert all(path.inside_workspace for path in facts.paths)


ODD = (
    "a b",
    "it's",
    'qu"ote',
    "back\\slash",
    "tab\tname",
    "-n",
    "--flag",
    "a=b",
    "host:path",
    "é",
    "new\nline",
    "@file",
)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize(("lister", "xargs"), LISTERS)
def test_a_name_that_comes_apart_is_not_taken_for_itself(ws, lister, xargs, name):
    put(ws, "a.py", f"src/{name}" if name not in ("-n", "--flag", "@file") else name)
    commit(ws)
    for path in (ws / "a.py", ws / "src" / name, ws / name):
        if path.exists():
            path.write_text("x changed\n")
    if not settled(found(ws, f"{lister} | {xargs} cat")):
        return
    there = {str(path.relative_to(ws)) for path in ws.rglob("*")}
    for word in handed(ws, lister, xargs):
        assert word.removeprefix("./") in there, word
        assert not word.startswith(("-", "@")), word
        assert "=" not in word or word.startswith("./"), word


def test_a_word_with_a_blank_would_be_another_file(ws):
    """Why: `x /home/…/secret` is one name to git and two words to xargs."""
    put(ws, "a.py")
    commit(ws)
    evil = f"x {ws.parent}/secret"
    blob = git(ws, "hash-object", "a.py").strip()
    git(ws, "update-index", "--add", "--cacheinfo", f"100644,{blob},{evil}")
    assert f"{ws.parent}/secret" in handed(ws, "git ls-files")
    assert not settled(found(ws, "git ls-files | xargs cat"))
    assert not settled(found(ws, "git ls-files '*.py' | xargs cat"))


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "src/../../secret", "./a", "a//b", "a/", ".git/config"])
@pytest.mark.parametrize("version", ["2", "4"])
def test_an_index_that_names_other_places_is_not_believed(ws, name, version):
    put(ws, "z" * len(name), "a.py")
    commit(ws)
    git(ws, "update-index", "--index-version", version)
    index = ws / ".git/index"
    content = index.read_bytes()
    assert content.count(b"z" * len(name) + b"\0") == 1
    index.write_bytes(content.replace(b"z" * len(name) + b"\0", name.encode() + b"\0"))
    assert read_index(index.read_bytes()) is None
    for line in ("git ls-files -z | xargs -0 cat", "git ls-files | xargs cat"):
        assert not settled(found(ws, line))
    for line in ("git diff", "git status", "git add -u", "git commit -a -m x", "git grep x", "git rm -r src"):
        assert found(ws, line).commands[0].runs_code is RunsCode.WORKSPACE, line


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_index_is_read_as_git_reads_it(ws, version):
    put(ws, *(f"dir{at % 7}/{'n' * (at % 11)}file{at}" for at in range(300)), "d" * 200 + "/" + "e" * 200)
    commit(ws)
    git(ws, "update-index", "--index-version", version)
    put(ws, "later")
    git(ws, "add", *(("-N",) if version == "3" else ()), "later")
    index = read_index((ws / ".git/index").read_bytes())
    listed = git(ws, "ls-files", "--stage", "-z").split("\0")[:-1]
    assert index is not None
    assert [entry.name.decode() for entry in index.entries] == [line.partition("\t")[2] for line in listed]
    assert not any(entry.assumed for entry in index.entries)


def test_a_split_index_is_not_believed(ws):
    put(ws, "a.py")
    commit(ws)
    git(ws, "update-index", "--split-index")
    assert read_index((ws / ".git/index").read_bytes()) is None
    assert not settled(found(ws, "git ls-files | xargs cat"))


def test_a_name_that_is_a_link_is_followed_by_whoever_reads_it(ws):
    put(ws, "a.py")
    (ws / "link").symlink_to("../secret")
    commit(ws)
    facts = found(ws, "git ls-files | xargs cat")
    assert any(path.resolved == str(ws.parent / "secret") and path.access is Access.READ for path in facts.paths)


def test_a_directory_on_the_way_may_have_become_a_link(ws):
    put(ws, "src/secret")
    commit(ws)
    shutil.rmtree(ws / "src")
    (ws / "src").symlink_to("..")
    facts = found(ws, "git ls-files | xargs cat")
    assert any(path.resolved == str(ws.parent) and not path.inside_workspace for path in facts.paths)


def test_a_tracked_secret_counts_and_an_untracked_one_does_not(ws):
    put(ws, "a.py", ".env")
    git(ws, "add", "a.py")
    assert not any("credential" in path.categories for path in found(ws, "git ls-files | xargs cat").paths)
    git(ws, "add", "-f", ".env")
    assert any("credential" in path.categories for path in found(ws, "git ls-files | xargs cat").paths)
    # of another kind of file it is never among the names
    assert not any("credential" in path.categories for path in found(ws, "git ls-files '*.py' | xargs cat").paths)


@pytest.mark.parametrize("guarded", [".github/workflows/ci.yml", ".claude/settings.json", "AGENTS.md"])
@pytest.mark.parametrize(
    "lister", ["git ls-files", "find . -type f", "grep -rl x .", "rg -l --hidden x", "git grep -l x"]
)
def test_a_guarded_name_is_met_by_whoever_writes(ws, guarded, lister):
    put(ws, "a.py", guarded)
    commit(ws)
    needs(lister)
    marked = guarded.split("/")[0]

    def met(line: str) -> list[str]:
        found_there = found(ws, line).paths
        changed = [path for path in found_there if path.access is Access.WRITE and marked in str(path.resolved)]
        return [path.raw for path in changed if (path.categories | path.covers) - {"temp", "source"}]

    assert met(f"{lister} | xargs sed -i s/a/b/")
    if not lister.startswith(("grep", "rg")):
        assert not met(rf"{lister} | grep '\.py$' | xargs sed -i s/a/b/")


UNKNOWN = (
    "git diff --name-only HEAD~1",
    "git diff --name-only main dev",
    "git diff --name-only main...dev",
    "git diff --cached --name-only",
    "git diff --cached --name-only --diff-filter=AD",
    "git diff --name-only --diff-filter= HEAD",
    "git diff --name-only --stat",
    "git ls-files -o",
    "git ls-files -s",
    "git ls-files --format=%(path)",
    "git ls-files ../x",
    "git ls-files :/",
    "git ls-files /etc",
    "git ls-files --with-tree=HEAD~3",
    "git grep -l x HEAD",
    "git grep -l x src",
    "git grep -l --untracked x",
    "git grep -n x",
    "git grep -l --no-index x",
    "git log --name-only --format=",
    "git show --name-only --format=",
    "git -C sub ls-files",
    "git --work-tree=/ ls-files",
    "git --git-dir=/x/.git ls-files",
    "git -c color.ui=always grep -l x",
    "GIT_INDEX_FILE=/tmp/i git ls-files",
    "git status --porcelain",
    "git ls-files | sed s,a,b,",
    "git ls-files | grep -o py",
    "git ls-files | cut -c2-",
    "git ls-files -z",
    "rg --files --null",
    "rg -l x --color always",
    "rg --files --path-separator //",
    "rg -l x -- -n",
)


@pytest.mark.parametrize("lister", UNKNOWN)
def test_other_lists_are_not_known(ws, lister):
    put(ws, "a.py", "sub/b.py")
    commit(ws)
    assert not settled(found(ws, f"{lister} | xargs cat"))


def test_colours_that_the_repository_asks_for_change_the_names(ws):
    put(ws, "a.py")
    commit(ws)
    git(ws, "config", "color.grep", "always")
    assert handed(ws, "git grep -l x") != ["a.py"]
    assert not settled(found(ws, "git grep -l x | xargs cat"))


def test_names_of_a_directory_below_the_top(ws):
    put(ws, "top.py", "src/b.py", "src/.env")
    commit(ws)
    below = ws / "src"
    (ws / "top.py").write_text("x changed\n")
    assert handed(ws, "git ls-files '*.py'", cwd=below) == ["b.py"]
    assert any("credential" in path.categories for path in found(ws, "git ls-files | xargs cat", below).paths)
    # what `diff` prints begins at the top, so here it is another file
    (below / "top.py").symlink_to("../../secret")
    assert handed(ws, "git diff --name-only", cwd=below) == ["top.py"]
    facts = found(ws, "git diff --name-only | xargs cat", below)
    assert any(path.resolved == str(ws.parent / "secret") for path in facts.paths)


def test_without_a_repository_nothing_is_handed_on(ws):
    shutil.rmtree(ws / ".git")
    put(ws, "a.py")
    assert handed(ws, "git ls-files") == []
    assert settled(found(ws, "git ls-files | xargs wc -l"))


def test_a_line_that_adds_a_name_is_not_settled_by_the_old_index(ws):
    put(ws, "a.py")
    commit(ws)
    for line in (
        "git merge other; git ls-files | xargs cat",
        "git add -A && git ls-files | xargs cat",
        "git mv a.py b.py; git diff --name-only | xargs cat",
        "git reset HEAD a.py; git ls-files | xargs cat",
        "git checkout other && rg --files | xargs cat",
        "ln -s ../secret l; git add l; git ls-files | xargs cat",
        "for i in 1 2; do git ls-files | xargs cat; ln -s ../secret l; git add l; done",
    ):
        assert not settled(found(ws, line))


@pytest.mark.parametrize("where", ["home/.gitconfig", "home/.config/git/config", "home/ws/.git/config"])
@pytest.mark.parametrize("content", ["[diff]\n\trelative = true\n", "[include]\n\tpath = more\n"])
def test_names_that_a_setting_shortens_are_not_known_beneath_the_top(ws, tmp_path, where, content):
    put(ws, "src/a.txt", "src/src/a.txt")
    commit(ws)
    for name in ("src/a.txt", "src/src/a.txt"):
        (ws / name).write_text("y\n")
    line = "git diff --name-only | xargs cat"
    beneath = ws / "src"
    assert settled(found(ws, line, beneath))
    (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
    with (tmp_path / where).open("a") as file:
        file.write(content)
    if "relative" in content:
        assert handed(ws, "git diff --name-only", cwd=beneath) == ["a.txt", "src/a.txt"]
    assert not settled(found(ws, line, beneath))
    assert settled(found(ws, line)) or where.endswith("ws/.git/config")
