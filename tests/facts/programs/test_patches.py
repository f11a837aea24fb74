"""What a patch would write, as far as it is understood: held against what patch and git apply do with it."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from scale import scale, seed
from shield.facts.programs.patches import Change, read_patch

PROGRAMS = pytest.mark.skipif(
    shutil.which("patch") is None or shutil.which("git") is None, reason="patch or git is not installed"
)
GIT = """diff --git a/src/a.py b/src/a.py
index 1234567..89abcde 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,2 @@ def f():
-one
+1
 two
"""
PLAIN = "--- b.txt\t2026-01-01 00:00:00.000000000 +0000\n+++ b.txt\n@@ -1 +1 @@\n-x\n+y\n"
MADE = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n"
GONE = "diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
MOVED = "diff --git a/b.txt b/c.txt\nsimilarity index 100%\nrename from b.txt\nrename to c.txt\n"
COPIED = "diff --git a/b.txt b/c.txt\nsimilarity index 100%\ncopy from b.txt\ncopy to c.txt\n"
FORMATTED = (
    "From 1234567 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.example>\nSubject: [PATCH] Count\n\nSay why\n---\n"
    f" src/a.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n{GIT}-- \n2.39.5\n\n"
)
UNFINISHED = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n"
SEEDS = (GIT, PLAIN, MADE, GONE, MOVED, COPIED, FORMATTED, UNFINISHED)
# Lines that begin something in one format or another.
STRANGE = (
    "--- a/z.txt", "+++ b/z.txt", "*** a/z.txt", "@@ -1 +1 @@", "Index: z.txt", "Prereq: x", "  --- z.txt", "- +++ z.txt",
    "1a", "1d", "1,2c", ".", "-x", "+y", " x", "", "\\ No newline at end of file", "X--- a/z.txt", "diff --git a/z b/z",
    "rename to z.txt", "new mode 100755", "new file mode 120000", "deleted file mode 100644", '--- "a/z.txt"', "--- a/z.txt\r",
    "+++ /dev/null", "--- /dev/null", "+++ z.txt\tThu Jan  1 00:00:00 1970", "copy to z.txt", "diff -u a/z b/z", "***************",
    "--- 1 ----", "< x", "> y", "1c1", "GIT binary patch", "==== z", "+++ b/z z.txt", "--- a//src/a.py",
)  # fmt: skip


def names(text: str, strip: int | None = 1) -> dict[str, bool]:
    """The files, and whether each may go."""
    return {name: change.goes for change in read_patch(text) or () for name in change.places(strip)}


@pytest.mark.parametrize(
    ("text", "files"),
    [
        (GIT, {"src/a.py": False}),
        (MADE, {"new.txt": False}),
        (GONE, {"b.txt": True}),
        (MOVED, {"b.txt": True, "c.txt": True}),
        (COPIED, {"b.txt": False, "c.txt": False}),
        (FORMATTED, {"src/a.py": False}),
        (UNFINISHED, {"b.txt": False}),
        (GIT + MADE + GONE, {"src/a.py": False, "new.txt": False, "b.txt": True}),
        ("Index: x/s.txt\n=====\n--- x/s.txt\n+++ x/t.txt\n@@ -1 +1 @@\n-x\n+y\n", {"s.txt": False, "t.txt": False}),
        ("--- a/e\n+++ b/e\t1970-01-01 01:00:00 +0100\n@@ -1 +0,0 @@\n-x\n", {"e": True}),
    ],
)
def test_a_patch_names_its_files(text, files):
    assert names(text) == files


@pytest.mark.parametrize(
    ("strip", "files"),
    [
        (0, {"a/src/a.py", "b/src/a.py"}),
        (1, {"src/a.py"}),
        (2, {"a.py"}),
        (3, set()),
        (None, {"a/src/a.py", "b/src/a.py", "src/a.py", "a.py"}),
    ],
)
def test_parts_are_taken_off(strip, files):
    assert set(names(GIT, strip)) == files


def test_slashes_in_a_row_count_once():
    change = Change(frozenset({"a//b///c", "/d/e"}))
    assert change.places(1) == {"b///c", "d/e"}
    assert change.places(2) == {"c", "e"}


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "---\n+++\n", "--- a/x\n+++ b/x\n", "--- a/x\n+++ b/x\nhello\n"])
def test_what_holds_no_patch_is_none(text):
    assert read_patch(text) is None


@pytest.mark.parametrize("line", ["--- a/z.txt", "*** a/z.txt", "  +++ z.txt", "1,2d", "Prereq: x", "X--- q"])
def test_what_could_begin_another_patch_is_not_passed_over(line):
    for text in (f"{line}\n{GIT}", f"{GIT}{line}\n", f"{GIT}{line}\n{PLAIN}"):
        assert read_patch(text) is None
    assert read_patch(f"{GIT}see {line}\n") is not None


def test_counts_are_those_of_the_lines():
    for head in (
        "@@ -1,3 +1,2 @@",
        "@@ -1,2 +1,3 @@",
        "@@ -1,1 +1,2 @@",
        "@@ -1,2 +1,1 @@",
        "@@ -1,2 +1,2",
        "@@ -1,2 @@",
    ):
        assert read_patch(GIT.replace("@@ -1,2 +1,2 @@", head)) is None, head


def _mutated(rng: random.Random) -> str:
    text = "".join(rng.choice(SEEDS) for _ in range(rng.randint(1, 2)))
    lines = text.split("\n")
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                lines.insert(at, rng.choice(STRANGE))
            case 1:
                lines[at] = rng.choice(STRANGE)
            case 2:
                del lines[at]
            case 3:
                lines[at] = rng.choice((" ", "- ", "X", "\t")) + lines[at]
            case 4:
                lines[at] += rng.choice((" ", "\t", "\r", " z.txt", "\tz.txt"))
            case _:
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
        lines = lines or [""]
    return "\n".join(lines)


def _files(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not name.startswith(".git/") and (path.is_symlink() or path.is_file()):
            found[name] = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
    return found


def _world(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    (folder / "src/a.py").write_text("one\ntwo\n")
    for name in ("b.txt", "z.txt", "a.py"):
        (folder / name).write_text("x\n")


@PROGRAMS
def test_nothing_else_is_touched(tmp_path):
    """Patches and broken ones: what is understood touches the files that were named, and deletes those that may go."""
    rng = random.Random(seed())
    folder = tmp_path / "w"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LC_ALL": "C",
        "GIT_CEILING_DIRECTORIES": str(tmp_path),
    }
    understood = touched = 0
    for _ in range(scale("patches")):
        text = _mutated(rng)
        strip = rng.choice((0, 1, 1, None))
        program = rng.choice(("patch", "git"))
        found = read_patch(text)
        if found is None:
            continue
        understood += 1
        words = ["patch", "-s"] if program == "patch" else ["git", "apply"]
        words += [f"-p{strip}"] if strip is not None else []
        _world(folder)
        before = _files(folder)
        subprocess.run(
            words, cwd=folder, input=text.encode(), env=environment, capture_output=True, check=False, timeout=30
        )
        after = _files(folder)
        written = {name for name in after if after[name] != before.get(name)}
        deleted = set(before) - set(after)
        places = {change: change.places(strip) for change in found}
        allowed = {name for each in places.values() for name in each}
        kept = {name + end for name in allowed for end in (".orig", ".rej")}
        assert written <= allowed | kept, (words, text)
        assert deleted <= {name for change, each in places.items() if change.goes for name in each}, (words, text)
        touched += bool(written or deleted)
    assert understood > scale("patches") / 5
    assert touched > scale("patches") / 20
