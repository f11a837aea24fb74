"""What git has kept: every file that is called so can be brought back as it was, by git itself."""

import hashlib
import os
import random
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from git_world import ENV, git, repository
from shell_world import place as made_place
from shield.facts.local import LocalFiles
from shield.facts.paths import path_fact
from shield.facts.place import Place
from shield.facts.programs.git.objects import Objects
from shield.facts.repositories import Repository
from shield.facts.shell import analyse
from shield.facts.snapshot import Snapshot
from shield.types import Access

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def ws(tmp_path):
    top = tmp_path / "home/ws"
    top.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    put(top, "a.txt", "docs/guide.md", "docs/api/x.md", "run.sh")
    (top / "run.sh").chmod(0o755)
    commit(top)
    return top


def put(top: Path, *names: str, text: str = "x\n") -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)


def commit(top: Path) -> None:
    git(top, "add", "-A", "-f")
    git(top, "commit", "-q", "-m", "x")


def kept(top: Path, name: str, *, recursive: bool = False, roots: tuple[Path, ...] = ()) -> bool:
    place = Place(
        files=Snapshot(LocalFiles()),
        home=str(top.parent),
        cwd=str(top),
        workspace_roots=tuple(str(root) for root in roots or (top,)),
        env={"PATH": "/usr/bin:/bin", "HOME": str(top.parent)},
        shell="/bin/bash",
    )
    fact = path_fact(name, Access.DELETE, place, base=str(top), recursive=recursive)
    other = path_fact(name, Access.WRITE, place, base=str(top), recursive=recursive)
    assert "committed" not in other.categories
    return "committed" in fact.categories


def git_object(top: Path, name: str) -> str:
    return git(top, "rev-parse", name)


def contents(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["a.txt", "docs/guide.md", "run.sh", "docs", "docs/api", "./docs/../a.txt"])
def test_what_is_in_a_commit_comes_back(ws, name):
    assert kept(ws, name, recursive=True)
    before = contents(ws / "docs") | {"a.txt": (ws / "a.txt").read_bytes()}
    path = ws / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    git(ws, "checkout", "--", ".")
    assert contents(ws / "docs") | {"a.txt": (ws / "a.txt").read_bytes()} == before


def test_a_directory_needs_all_that_is_in_it(ws):
    put(ws, "docs/api/notes.md")
    assert not kept(ws, "docs", recursive=True)
    assert not kept(ws, "docs/api", recursive=True)
    assert kept(ws, "docs/guide.md")
    (ws / "docs/api/notes.md").unlink()
    assert kept(ws, "docs", recursive=True)
    assert not kept(ws, "docs")  # a directory that is not walked
    assert not kept(ws, ".", recursive=True)
    put(ws, "docs/__pycache__/x.cpython-311.pyc")
    assert kept(ws, "docs", recursive=True)
    put(ws, "docs/__pycache__/notes.txt")
    assert not kept(ws, "docs", recursive=True)


def test_what_changed_is_not_kept(ws):
    put(ws, "a.txt", text="y\n")
    assert not kept(ws, "a.txt")
    git(ws, "add", "a.txt")
    assert not kept(ws, "a.txt")  # staged: the next `git add` forgets it
    assert kept(ws, "docs", recursive=True)
    assert kept(ws, "run.sh")
    git(ws, "commit", "-q", "-m", "y")
    assert kept(ws, "a.txt")


@pytest.mark.parametrize("line", ["git commit -m ''", "git commit -m x", "git write-tree", "git stash; git stash pop"])
def test_a_commit_that_was_given_up_is_none(ws, line):
    hook = ws / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    put(ws, "new.txt", "docs/new.txt")
    git(ws, "add", "-A")
    subprocess.run(line, shell=True, cwd=ws, env=ENV, check=False, capture_output=True)
    assert git(ws, "diff", "--cached", "--name-only").split() == ["docs/new.txt", "new.txt"]
    assert not kept(ws, "new.txt")
    assert not kept(ws, "docs", recursive=True)
    assert kept(ws, "docs/guide.md")
    hook.unlink()
    git(ws, "commit", "-q", "-m", "x")
    assert kept(ws, "new.txt")
    assert kept(ws, "docs", recursive=True)


def test_it_is_the_commit_that_one_stands_on(ws):
    put(ws, "new.txt")
    commit(ws)
    assert kept(ws, "new.txt")
    git(ws, "tag", "-a", "-m", "x", "v1")
    for line in (
        "checkout -q --detach",
        "checkout -q -b feat/x@y",
        "checkout -q main",
        "pack-refs --all",
        "gc -q --prune=now",
    ):
        git(ws, *line.split())
        assert kept(ws, "new.txt"), line
    put(ws, "second.txt")
    commit(ws)  # a file again, beside the name in `packed-refs`
    assert kept(ws, "second.txt")
    git(ws, "reset", "-q", "--soft", "HEAD~2")
    assert not kept(ws, "new.txt")
    assert kept(ws, "a.txt")
    head = (ws / ".git/HEAD").read_text()
    for other in (
        "",
        "ref: refs/heads/none\n",
        "ref: refs/heads/../../HEAD\n",
        "ref: refs/tags/v1\n",
        "0" * 40,
        head + head,
    ):
        (ws / ".git/HEAD").write_text(other)
        assert not kept(ws, "a.txt"), other
    (ws / ".git/HEAD").write_text(git_object(ws, "refs/tags/v1"))  # no commit
    assert not kept(ws, "a.txt")


def test_times_and_sizes_are_not_believed(ws):
    path = ws / "a.txt"
    stat = path.stat()
    path.write_text("z\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    assert not kept(ws, "a.txt")
    git(ws, "update-index", "--assume-unchanged", "a.txt")
    assert not kept(ws, "a.txt")
    git(ws, "update-index", "--no-assume-unchanged", "--skip-worktree", "a.txt")
    assert not kept(ws, "a.txt")


def test_what_is_only_meant_to_be_added_is_not_kept(ws):
    put(ws, "empty", text="")
    put(ws, "there", text="")
    git(ws, "add", "there")
    git(ws, "commit", "-q", "-m", "empty")
    assert kept(ws, "there")
    git(ws, "add", "-N", "empty")
    assert not kept(ws, "empty")


def test_a_conflict_is_not_kept(ws):
    git(ws, "checkout", "-q", "-b", "other")
    put(ws, "a.txt", text="other\n")
    commit(ws)
    git(ws, "checkout", "-q", "main")
    put(ws, "a.txt", text="main\n")
    commit(ws)
    assert kept(ws, "a.txt")
    with pytest.raises(Exception, match="merge"):
        git(ws, "merge", "-q", "other")
    assert not kept(ws, "a.txt")


def objects(ws: Path) -> list[Path]:
    return [path for path in (ws / ".git/objects").rglob("*") if path.is_file()]


def test_the_object_has_to_be_there(ws):
    blob = git(ws, "rev-parse", "HEAD:a.txt").strip()
    loose = ws / ".git/objects" / blob[:2] / blob[2:]
    content = loose.read_bytes()
    loose.chmod(0o644)
    for wrong in (b"", b"x", content[:-6], zlib.compress(b"blob 2\0y\n"), zlib.compress(b"blob 2\0x\n" + b"x" * 10**6)):
        loose.write_bytes(wrong)
        assert not kept(ws, "a.txt"), wrong[:20]
    loose.write_bytes(content)
    assert kept(ws, "a.txt")
    loose.unlink()
    assert not kept(ws, "a.txt")
    loose.mkdir()
    assert not kept(ws, "a.txt")


def test_a_packed_object_is_one(ws):
    put(ws, *(f"many/{at}.txt" for at in range(200)))
    for at in range(200):
        put(ws, f"many/{at}.txt", text=f"{at}\n")
    commit(ws)
    git(ws, "gc", "-q", "--prune=now")
    assert not [path for path in objects(ws) if len(path.name) == 38]
    assert kept(ws, "many", recursive=True)
    put(ws, "many/1.txt", text="2\n")  # what another file holds is not what this one held
    assert not kept(ws, "many/1.txt")
    put(ws, "many/1.txt", text="1\n")
    assert kept(ws, "many/1.txt")
    pack = next((ws / ".git/objects/pack").glob("*.pack"))
    index = pack.with_suffix(".idx")
    moved = pack.rename(ws / "pack")
    assert not kept(ws, "a.txt")
    moved.rename(pack)
    content = index.read_bytes()
    index.chmod(0o644)
    for wrong in (b"", content[:4], content[:2000], b"x" * len(content), content[:8] + b"\xff" * (len(content) - 8)):
        index.write_bytes(wrong)
        assert not kept(ws, "a.txt"), wrong[:8]
    index.write_bytes(content)
    assert kept(ws, "a.txt")


@pytest.mark.parametrize("near", ["true", "false"])  # how a delta says what it is based on
def test_what_packs_hold_as_differences_is_read_as_git_reads_it(ws, near):
    names = [f"many/{at % 7}/{at:03}-{'x' * 40}.txt" for at in range(300)]
    for at, name in enumerate(names):
        put(ws, name, text=f"{at}\n")
    commit(ws)
    for at in range(12):
        put(ws, *names[at * 3 : at * 3 + 5], text=f"again {at}\n")
        commit(ws)
    git(ws, "config", "repack.useDeltaBaseOffset", near)
    git(ws, "repack", "-q", "-a", "-d", "-f", "--depth=20")
    git(ws, "prune-packed")
    pack = next((ws / ".git/objects/pack").glob("*.idx"))
    assert "chain length = 3" in git(ws, "verify-pack", "-v", str(pack))
    objects = Objects(Repository(str(ws), f"{ws}/.git", f"{ws}/.git"), LocalFiles())
    lines = git(ws, "ls-tree", "-r", "HEAD").splitlines()
    assert len(lines) > 300
    for mode, _, blob, name in (line.split() for line in lines):
        assert objects.committed(name) == (int(mode, 8), bytes.fromhex(blob))
    assert objects.committed("many/0") is not None
    assert objects.committed("many/9/x") is None
    assert objects.committed("a.txt/x") is None
    assert kept(ws, "many", recursive=True)


def sized(kind: int, size: int) -> bytes:
    """The head of an entry of a pack."""
    found, size = [kind << 4 | size & 15], size >> 4
    while size:
        found[-1] |= 0x80
        found.append(size & 127)
        size >>= 7
    return bytes(found)


def length(number: int) -> bytes:
    """A size as a delta says it."""
    found = [number & 127]
    while number := number >> 7:
        found[-1] |= 0x80
        found.append(number & 127)
    return bytes(found)


@pytest.mark.parametrize(("step", "read"), [(100, True), (1, False)])
def test_what_a_pack_spells_byte_by_byte_is_not_followed(ws, step, read):
    blob = git(ws, "rev-parse", "HEAD:a.txt").strip()
    tree = b"100644 a.txt\0" + bytes.fromhex(blob)
    tree += b"".join(b"100644 b%05d\0" % at + bytes.fromhex(blob) for at in range(9_000))
    pieces = [tree[at : at + step] for at in range(0, len(tree), step)]
    delta = length(0) + length(len(tree)) + b"".join(bytes([len(piece)]) + piece for piece in pieces)
    base = sized(2, 0) + zlib.compress(b"")
    far = len(base)  # less than 128, so that it is one byte
    body = b"PACK" + struct.pack(">II", 2, 2) + base + sized(6, len(delta)) + bytes([far]) + zlib.compress(delta)
    pack = ws / ".git/objects/pack/pack-1.pack"
    pack.parent.mkdir(exist_ok=True)
    pack.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())
    git(ws, "index-pack", str(pack))
    name = hashlib.sha1(b"tree %d\0" % len(tree) + tree, usedforsecurity=False).hexdigest()
    git(ws, "update-ref", "HEAD", git(ws, "commit-tree", name, "-m", "x").strip())
    assert git(ws, "rev-parse", "HEAD:a.txt").strip() == blob  # git reads both
    assert kept(ws, "a.txt") is read


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_pack_keeps_nothing_that_is_not_there(ws, seed):
    for at in range(20):
        put(ws, f"many/{at}.txt", text=f"{at}\n")
        commit(ws)
    git(ws, "gc", "-q", "--prune=now", "--aggressive")
    put(ws, "many/1.txt", text="changed\n")
    chance = random.Random(seed)
    for path in (ws / ".git/objects/pack").glob("*.*"):
        content = bytearray(path.read_bytes())
        path.chmod(0o644)
        for _ in range(20):
            content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
        path.write_bytes(content[: chance.choice((len(content), len(content) // 2))])
    assert not kept(ws, "many/1.txt")
    assert not kept(ws, "many", recursive=True)
    kept(ws, "many/2.txt")  # which may be as it was


def test_another_repository_inside_is_not_kept(ws):
    inner = ws / "docs/inner"
    (inner / ".git").mkdir(parents=True)
    assert not kept(ws, "docs", recursive=True)  # whatever may be in there one day
    git(inner, "init", "-q")
    assert not kept(ws, "docs", recursive=True)
    put(inner, "a.txt")
    assert not kept(ws, "docs/inner/a.txt")


def test_only_a_plain_repository_of_the_workspace_counts(ws, tmp_path):
    assert not kept(ws / "docs", "guide.md", roots=(ws / "docs",))
    (ws / ".git").rename(tmp_path / "elsewhere")
    (ws / ".git").symlink_to(tmp_path / "elsewhere")
    assert not kept(ws, "a.txt")
    (ws / ".git").unlink()
    (ws / ".git").write_text(f"gitdir: {tmp_path}/elsewhere\n")
    assert not kept(ws, "a.txt")


def test_a_link_is_what_it_says_and_not_what_it_leads_to(ws):
    (ws / "docs/link").symlink_to("guide.md")
    commit(ws)
    assert kept(ws, "docs", recursive=True)
    assert not kept(ws, "docs/link")
    (ws / "docs/link").unlink()
    (ws / "docs/link").symlink_to("api/x.md")
    assert not kept(ws, "docs", recursive=True)
    (ws / "docs/link").unlink()
    put(ws, "docs/link", text="guide.md")
    assert not kept(ws, "docs", recursive=True)


def test_what_git_would_write_differently_is_not_kept(ws):
    (ws / "a.txt").write_bytes(b"x\r\n")
    git(ws, "config", "core.autocrlf", "true")
    git(ws, "add", "a.txt")
    assert git(ws, "status", "--porcelain") == ""
    assert not kept(ws, "a.txt")


def test_guarded_files_are_never_called_so(ws):
    put(ws, "AGENTS.md", ".env", ".github/workflows/ci.yml")
    commit(ws)
    for name in ("AGENTS.md", ".env", ".github/workflows/ci.yml", ".git/HEAD", ".git"):
        assert not kept(ws, name, recursive=True), name


@pytest.mark.parametrize("at", range(0, 240, 3))
def test_a_damaged_index_keeps_nothing_that_is_not_there(ws, at):
    put(ws, "a.txt", text="changed\n")
    index = ws / ".git/index"
    content = bytearray(index.read_bytes())
    content[at % len(content)] ^= 0xFF
    index.write_bytes(content)
    assert not kept(ws, "a.txt")


def test_a_made_world_has_it_too():
    files = repository({"a.txt": "x\n", "b.txt": "x\n"}, changes={"b.txt": "y\n"})
    found = analyse("rm a.txt b.txt", made_place(files))
    assert {path.raw: "committed" in path.categories for path in found.paths if path.access is Access.DELETE} == {
        "a.txt": True,
        "b.txt": False,
    }


IGNORED = {
    "build/": True,
    "cmd/build/": True,
    "/cmd/build": True,
    "*": True,
    "build/\n!build/": False,
    "/build/": False,
}


@pytest.mark.parametrize("text", [*IGNORED])
def test_what_git_is_told_to_leave_out(ws, text):
    (ws / ".gitignore").write_text(text)
    put(ws, "cmd/build/main.go")
    told = git_says_ignored(ws, "cmd/build")
    assert told is IGNORED[text]
    assert ("ignored" in deleted(ws, "cmd/build")) is told
    assert "ignored" not in deleted(ws, "docs")  # of which something is kept
    git(ws, "add", "-f", "cmd/build/main.go")
    assert "ignored" not in deleted(ws, "cmd/build")


def test_before_anything_was_added_it_is_ignored_all_the_same(tmp_path):
    top = tmp_path / "home/ws"
    top.mkdir(parents=True)
    git(top, "init", "-q")
    put(top, "a/dist/x.js", "a/src/x.js", ".gitignore", text="dist\n")
    assert "ignored" in deleted(top, "a/dist")
    assert deleted(top, "a/src").isdisjoint({"ignored", "committed"})


def deleted(top: Path, name: str) -> frozenset[str]:
    place = Place(files=Snapshot(LocalFiles()), home=str(top.parent), cwd=str(top), workspace_roots=(str(top),))
    return path_fact(name, Access.DELETE, place, base=str(top), recursive=True).categories


def git_says_ignored(top: Path, name: str) -> bool:
    return bool(git(top, "status", "--porcelain", "--ignored", "-uall", name).startswith("!!"))
