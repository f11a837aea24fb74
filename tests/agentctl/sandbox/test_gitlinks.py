"""The index of a repository, held against what git says of it."""

import os
import subprocess

import pytest

from agentctl.sandbox.gitlinks import gitlinks, indices

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
LINKS = ("a", "deep/er/x", "z z", "ä", "n" * 200, "d/" + "m" * 4_200)
FILES = ("0", "a0", "deep/er/w", "deep/er/y", "e" * 300, "zz", "\x80\xff")


def git(folder, *arguments, stdin=None):
    done = subprocess.run(["git", *arguments], cwd=folder, env=ENV, input=stdin, capture_output=True, check=True)
    return done.stdout


@pytest.mark.parametrize("form", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "3", "4", "split"])
def test_every_link_is_found(tmp_path, form, version):
    git(tmp_path, "init", "-q", f"--object-format={form}")
    name = "1" * (40 if form == "sha1" else 64)
    lines = [f"100644 {name}\t".encode() + os.fsencode(os.fsdecode(file.encode("latin-1"))) for file in FILES]
    lines += [f"160000 {name}\t{link}".encode() for link in LINKS]
    git(tmp_path, "update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")
    if version == "split":
        git(tmp_path, "update-index", "--split-index")
    elif version == "3":
        (tmp_path / "later").write_text("x")
        git(tmp_path, "add", "-N", "later")  # an extended flag makes it version 3
    else:
        git(tmp_path, "update-index", "--index-version", version)
    listed = git(tmp_path, "ls-files", "-s", "-z").split(b"\0")
    wanted = {os.fsdecode(line.partition(b"\t")[2]) for line in listed if line.startswith(b"160000")}
    assert wanted == set(LINKS)
    found = [gitlinks(index) for index in indices(str(tmp_path / ".git"))]
    assert wanted <= {name for names in found for name in names}


def test_what_is_no_index_is_not_known(tmp_path):
    (tmp_path / "index").symlink_to("away")
    assert indices(str(tmp_path)) == [str(tmp_path / "index")]
    assert gitlinks(str(tmp_path / "index")) is None
    (tmp_path / "index").unlink()
    (tmp_path / "index").mkdir()
    assert gitlinks(str(tmp_path / "index")) is None
    assert indices(str(tmp_path / "nowhere")) == []


@pytest.mark.parametrize(
    "raw", [b"", b"DIRC", b"DIRC\0\0\0\4\xff\xff\xff\xff" + b"\0\0\xe0\0" * 40, b"\0\0\xe0\0" * 50]
)
def test_any_bytes_have_an_answer(tmp_path, raw):
    (tmp_path / "index").write_bytes(raw)
    assert isinstance(gitlinks(str(tmp_path / "index")), list)
