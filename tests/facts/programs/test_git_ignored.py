"""What `git add .` would take: secrets that git is not told to ignore, held against what the real git ignores."""

import os
import random
import shutil
import subprocess
from dataclasses import replace

import pytest

from git_world import git, repository
from shell_world import facts, place
from shield.facts.local import LocalFiles
from shield.facts.made import MadeFile
from shield.facts.programs.git.ignored import Ignored
from shield.facts.repositories import Repository
from shield.types import Access

ENV = {".env": MadeFile(content=b"x"), "a.txt": MadeFile(content=b"x")}
REPOSITORY = {
    "docs/x": MadeFile(),
    ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
    ".git/refs": MadeFile(directory=True),
    ".git/objects": MadeFile(directory=True),
}


def taken(line: str, files: dict[str, MadeFile]) -> set[str]:
    found = facts(line, {**ENV, **files}).paths
    return {str(fact.resolved).removeprefix("/home/user/ws/") for fact in found if "credential" in fact.categories}


@pytest.mark.parametrize("line", ["git add .", "git add -A", "git add --all", "git stage .", "git add *"])
def test_a_secret_that_nothing_ignores_is_taken(line):
    assert taken(line, {}) == ({".env"} if line != "git add *" else set())
    assert taken(line, {".gitignore": MadeFile(content=b".env\n")}) == set()


@pytest.mark.parametrize("line", ["git add a.txt", "git add src", "git add -u", "git add -n .", "git status"])
def test_others_take_none(line):
    assert taken(line, {"src/x": MadeFile()}) == set()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_secret_where_git_has_a_folder_is_taken():
    tracked = repository({".env/x": "x", "id_rsa": "x", "a/b/c.pem": "x"})
    there = {name: file for name, file in tracked.items() if name == ".git" or name.startswith(".git/")}
    assert taken("git add .", {**tracked, ".env": MadeFile(directory=True)}) == set()
    assert taken("git add .", there) == {".env"}
    assert taken("git add .", {**there, "a/b": MadeFile(symlink=".env"), "id_rsa/id_rsa": MadeFile()}) == {
        ".env",
        "id_rsa/id_rsa",
    }


def test_a_secret_beside_packages_is_taken_and_not_what_they_hold():
    files = {
        "node_modules/.env": MadeFile(),
        "node_modules/x/.env": MadeFile(),
        ".gitignore": MadeFile(content=b"/.env\n"),
    }
    assert taken("git add .", files) == {"node_modules/.env"}
    assert taken("grep -r x .", files) == {".env", "node_modules/.env"}
    assert taken("git add .", {**files, ".gitignore": MadeFile(content=b"/.env\nnode_modules/\n")}) == set()


def test_a_folder_is_looked_through():
    files = {"config/.env": MadeFile(), "config/deep/id_rsa": MadeFile()}
    assert taken("git add config", files) == {"config/.env", "config/deep/id_rsa"}
    assert taken("git add config", {**files, "config/.gitignore": MadeFile(content=b"deep/\n")}) == {"config/.env"}
    assert taken("cd config && git add .", files) == {"config/.env", "config/deep/id_rsa"}
    assert taken("git add *", files) == {"config/.env", "config/deep/id_rsa"}
    assert taken("git add ..", {"docs/x": MadeFile()}) == set()  # outside, which is a path of its own


@pytest.mark.parametrize(
    "line",
    [
        "git add '*'",
        "git add '.e*'",
        "git add '.[^x]nv'",
        "git add ':/'",
        "git add ':(top)'",
        "git add ':(icase).EN?'",
        "git add ':(glob)**/.e*'",
        "git add -- ':!a.txt'",
        "git add . ':!a.txt'",
        "cd docs && git add ':/'",
        "cd docs && git add ':/.e*'",
        "cd docs && git add '../.e*'",
        "cd docs; git add -A",
        "cd docs; git add ':/'",
        "git -C . add .",
        "git -C docs add ..",
    ],
)
def test_git_has_patterns_of_its_own(line):
    assert taken(line, REPOSITORY) == {".env"}
    assert taken(line, {**REPOSITORY, ".gitignore": MadeFile(content=b".env\n")}) == set()


@pytest.mark.parametrize(
    "line",
    [
        "git add '*.py'",
        "git add 'docs/*'",
        "git add ':(exclude).e*' docs",
        "cd docs && git add '*'",
        "git add ':/docs'",
        "git -C docs add .",
    ],
)
def test_a_pattern_takes_no_others(line):
    assert taken(line, REPOSITORY) == set()


@pytest.mark.parametrize("line", ["git add -f .", "git add --force '*'", "git add -Af"])
def test_what_is_ignored_is_taken_where_that_is_said(line):
    assert taken(line, {".gitignore": MadeFile(content=b".env\n")}) == {".env"}


def test_a_file_of_names_may_hold_any():
    assert facts("git add --pathspec-from-file=a.txt", ENV).unknown


def test_without_a_repository_git_diff_goes_through_directories():
    outside = {"docs/.env": MadeFile()}
    assert taken("git diff docs src", outside) == {"docs/.env"}
    assert taken("git diff --no-index docs src", {**REPOSITORY, **outside}) == {"docs/.env"}
    assert taken("git diff docs src", {**REPOSITORY, **outside}) == set()
    assert taken("git diff a.txt docs/x", outside) == set()


NOT_IGNORED = (
    "# x\f.env", "# x\x85.env", "# x\r.env", ".env\t", ".env\xa0", "//.env", ".env//", ".env\r", ".env\n!.ENV",
    ".env\n" + "#\n" * 2001 + "!.env", ".env\n" + "#" * 70_000,
)  # fmt: skip
NOT_IGNORED += (
    "!.env",
    ".env\n!.env",
    "#.env",
    "env",
    "/src/.env",
    ".env/",
    "src/",
    "\\.env",
    "[.]env\n![.]env",
    ".en",
)
IGNORED = (".env", ".env*", "/.env", ".*", "*", "*env", ".env  ", "!.env\n.env", ".e?v", "*.x\n.env*\n!.env.example")


@pytest.mark.parametrize("text", NOT_IGNORED)
def test_what_is_not_ignored_for_certain(text):
    assert taken("git add .", {".gitignore": MadeFile(content=text.encode())}) == {".env"}


def test_the_users_own_list_may_be_another_file():
    assert taken("git add .", {"/home/user/.config/git/ignore": MadeFile(content=b".env\n")}) == {".env"}


@pytest.mark.parametrize("text", IGNORED)
@pytest.mark.parametrize("where", [".gitignore", ".git/info/exclude"])
def test_what_is_ignored(text, where):
    assert taken("git add .", {where: MadeFile(content=text.encode())}) == set()


@pytest.mark.parametrize("text", ["!.env", "!.e*", "!.ENV", "#" * 70_000 + "\n!.env", "[x]\n![x]"])
def test_a_list_beneath_may_take_it_back(text):
    files = {".gitignore": MadeFile(content=b".env\n"), "src/.env": MadeFile(), "src/x/.env": MadeFile()}
    assert taken("git add src", files) == set()
    files["src/.gitignore"] = MadeFile(content=text.encode())
    for line in ("git add src", "git add .", "git add -A"):
        assert taken(line, files) == {"src/.env", "src/x/.env"}, line


def test_a_line_ends_as_git_has_it():
    assert taken("git add .", {".gitignore": MadeFile(content=b"x\r\n.env\r\n")}) == set()


def test_patterns_in_brackets_and_of_any_case_take_in_what_they_may():
    for line in ("git add '.[!A-Z]nv'", "git add '.[Z-f]nv'", "git add '[x[:punct:]]env'"):
        assert taken(line, {}) == {".env"}, line
    assert taken("git --icase-pathspecs add SRC", {"src/.env": MadeFile()}) == {".env", "src/.env"}


def test_a_link_is_no_list():
    """git does not follow one (gitignore(5))."""
    files = {".gitignore": MadeFile(symlink="ignored"), "ignored": MadeFile(content=b".env\n")}
    assert taken("git add .", files) == {".env"}


def tracking(top, *names):
    """A repository whose index holds these files."""
    git(top, "init", "-q")
    for name in names:
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("x")
    git(top, "add", "-f", *names)
    files = {f".git/{name}": MadeFile(content=(top / ".git" / name).read_bytes()) for name in ("index", "HEAD")}
    return {**files, ".git/refs": MadeFile(directory=True), ".git/objects": MadeFile(directory=True)}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_git_has_already_is_no_news(tmp_path):
    assert taken("git add .", tracking(tmp_path, ".env")) == set()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("verb", ["grep -n .", "diff HEAD --", "log -p --", "show HEAD --", "-C docs grep x"])
def test_a_pattern_that_takes_in_a_secret_reads_it(tmp_path, verb):
    files = {**tracking(tmp_path, "a.txt", "docs/.env"), "docs/.env": MadeFile(), ".env": MadeFile()}
    for pattern in ("*env", "*.e?v", ":(top)docs/.e*", ":/docs/*"):
        assert taken(f"git {verb} '{pattern}'", files) == {"docs/.env"}
    for pattern in ("*.py", "a*", ":!docs", ":(exclude)*.py"):
        assert taken(f"git {verb} '{pattern}'", files) == set()


def test_where_the_index_cannot_be_read_nothing_counts_as_taken_already():
    files = {".git/index": MadeFile(content=b"x"), ".git/HEAD": MadeFile(content=b"ref: refs/heads/x")}
    files |= {".git/refs": MadeFile(directory=True), ".git/objects": MadeFile(directory=True)}
    assert taken("git add .", files) == {".env"}


PIECES = (
    "a",
    "b",
    "*",
    "a*",
    "?",
    "/a",
    "a/b",
    "/a/b",
    "*/b",
    "a/",
    "b/",
    "/b/",
    "!a",
    "!b",
    "!/a",
    "!a/b",
    "#a",
    "[ab]",
)
PIECES += ("**/b", "a/**", "!**/a", "\\a", "!a/", "b/a", "", "!*", " a", "a ")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_nothing_is_called_ignored_that_git_takes(tmp_path):
    """400 random lists, in two places each: what is called ignored, git ignores; the rest it mostly does not."""
    chance = random.Random(20261122)
    git(tmp_path, "init", "-q")
    names = ["a", "b", "a/a", "a/b", "b/a", "b/b", "a/b/a", "a/a/b", "b/a/b"]
    called = missed = 0
    for at in range(400):
        top = tmp_path / str(at)
        for name in names:
            target = top / f"{name}.d" if any(other.startswith(f"{name}/") for other in names) else top / name
            target.parent.mkdir(parents=True, exist_ok=True)
        lists = {
            "": chance.choices(PIECES, k=chance.randint(1, 4)),
            "a": chance.choices(PIECES, k=chance.randint(0, 2)),
        }
        for where, lines in lists.items():
            (top / where).mkdir(parents=True, exist_ok=True)
            (top / where / ".gitignore").write_text("\n".join(lines) + "\n")
    files = [f"{at}/{name}" for at in range(400) for name in names if name.count("/") == 2]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "none"), "GIT_CONFIG_NOSYSTEM": "1"}
    said = subprocess.run(
        ["git", "check-ignore", "--stdin"],
        cwd=tmp_path,
        env=env,
        input="\n".join(files),
        capture_output=True,
        text=True,
    )
    really = set(said.stdout.split("\n"))
    for at in range(400):
        repository = Repository(str(tmp_path / str(at)), str(tmp_path / ".git"), str(tmp_path / ".git"))
        ignored = Ignored(repository, replace(place(), files=LocalFiles(), home=str(tmp_path / "none")))
        for name in names:
            if name.count("/") == 2 and ignored.holds(name):
                assert f"{at}/{name}" in really, (at, name)
                called += 1
            elif name.count("/") == 2 and f"{at}/{name}" in really:
                missed += 1
    assert called > 300
    assert missed < called / 3  # patterns in brackets, and with two stars


def test_reading_is_what_is_said_of_them():
    (fact,) = [fact for fact in facts("git add .", ENV).paths if "credential" in fact.categories]
    assert fact.access is Access.READ
