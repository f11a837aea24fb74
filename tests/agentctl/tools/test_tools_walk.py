"""Reaching a directory: the kernel in one step and the walk component by component come to the same."""

import os

import pytest

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.descriptors import by_component, directory, in_one_step, walk_here
from agentctl.tools.syscalls import open_without_links

WALKS = [in_one_step, by_component]


def outcome(walk, path):
    try:
        with directory(str(path), walk=walk) as descriptor:
            found = os.fstat(descriptor)
            return found.st_dev, found.st_ino
    except ToolError as error:
        return type(error).__name__, error.detail


@pytest.fixture
def tree(tmp_path):
    top = tmp_path.resolve()
    (top / "a" / "b" / "c").mkdir(parents=True)
    (top / "file").write_text("x")
    (top / "link").symlink_to("a")
    (top / "a" / "loop").symlink_to("loop")
    (top / "a" / "up").symlink_to("/")
    (top / "a" / "b" / "out").symlink_to("/etc")
    os.mkfifo(top / "fifo")
    (top / ("n" * 255)).mkdir()
    (top / "-x y\n*").mkdir()
    return top


PLAIN = ("", "a", "a/b/c", "file", "file/x", "link", "link/b", "a/loop", "a/loop/x", "a/up", "a/up/etc", "a/b/out")
ODD = ("fifo", "gone", "gone/x", "a/gone", "n" * 255, "n" * 256, "-x y\n*", "a/b/out/passwd")


@pytest.mark.parametrize("path", [*PLAIN, *ODD])
def test_both_walks_come_to_the_same(tree, path):
    whole = f"{tree}/{path}".rstrip("/")
    one, other = (outcome(walk, whole) for walk in WALKS)
    assert one[0] == other[0]
    if isinstance(one[0], int):
        assert one == other == (os.stat(whole).st_dev, os.stat(whole).st_ino)
    else:
        assert os.path.realpath(whole) != whole or not os.path.isdir(whole)


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("path", ["a", "", "/a/../b", "/a//b", "/a/.", "/a/", "//", "/a\0b", "./a"])
def test_only_resolved_paths_are_walked(walk, path):
    with pytest.raises(ChangedError, match="not a resolved path"), directory(path, walk=walk):
        pytest.fail("opened")


@pytest.mark.parametrize("walk", WALKS)
def test_the_root_and_deep_paths_are_reached(walk, tmp_path):
    assert outcome(walk, "/") == (os.stat("/").st_dev, os.stat("/").st_ino)
    # longer than PATH_MAX: no single call takes it
    top = os.open(tmp_path, os.O_RDONLY)
    path = str(tmp_path.resolve())
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=top)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=top)
        os.close(top)
        top, path = below, f"{path}/{'d' * 250}"
    found = os.fstat(top)
    os.close(top)
    assert len(path) > 4096
    assert outcome(walk, path) == (found.st_dev, found.st_ino)


@pytest.mark.parametrize("walk", WALKS)
def test_magic_links_lead_nowhere(walk, tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        for path in (f"/proc/self/fd/{descriptor}", f"/proc/{os.getpid()}/cwd", f"/proc/{os.getpid()}/root"):
            assert outcome(walk, path)[0] == "ChangedError"
            assert outcome(walk, f"{path}/x")[0] == "ChangedError"
    finally:
        os.close(descriptor)


def test_this_kernel_walks_in_one_step_if_it_can():
    try:
        os.close(open_without_links("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as error:
        assert walk_here() is by_component
        pytest.skip(f"no openat2 here: {error.strerror}")
    assert walk_here() is in_one_step


@pytest.mark.parametrize("walk", WALKS)
def test_no_descriptor_is_left_open_by_a_walk(walk, tree):
    before = os.listdir("/proc/self/fd")
    for path in ("a/b/c", "link/b", "gone", "file"):
        outcome(walk, f"{tree}/{path}")
    assert os.listdir("/proc/self/fd") == before
    with directory(f"{tree}/a", walk=walk) as descriptor:
        assert not os.get_inheritable(descriptor)
