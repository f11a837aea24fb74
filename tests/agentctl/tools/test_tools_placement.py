"""Writing: whole or not at all, in the judged place, with what belongs to a file kept; and the same on older kernels."""

import ctypes
import errno
import os
import re
import signal
import stat
import struct
import subprocess
import time

import pytest

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.placement import create, remove, rename_free, replace

LEFTOVER = re.compile(r"\.agentctl-[0-9a-f]{16}\.tmp")


def acl(*entries):
    """posix_acl_xattr(5): version 2, then tag, permissions, id."""
    return struct.pack("<L", 2) + b"".join(struct.pack("<HHL", *entry) for entry in entries)


# owner rw, user 4242 rw, group nothing, mask rw, others nothing
FOR_4242 = acl((1, 6, 0xFFFFFFFF), (2, 6, 4242), (4, 0, 0xFFFFFFFF), (0x10, 6, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF))


def with_attribute(file, name, value):
    try:
        os.setxattr(file, name, value)
    except OSError as error:
        pytest.skip(f"this file system has no {name}: {error.strerror}")


@pytest.fixture
def folder(shop):
    descriptor = os.open(shop.workspace, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


# --- what belongs to a file ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o4755, 0o2770, 0o1666])
@pytest.mark.parametrize("how", ["write", "edit"])
def test_permission_bits_stay_and_set_id_bits_go(shop, mode, how):
    file = shop.workspace / "a"
    file.write_text("old")
    file.chmod(mode)
    if how == "write":
        shop.do("write_file", path="a", content="new")
    else:
        shop.do("edit_file", path="a", old="old", new="new")
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == mode & 0o777


def test_an_access_list_stays(shop):
    file = shop.workspace / "a"
    file.write_text("old")
    file.chmod(0o600)
    with_attribute(file, "system.posix_acl_access", FOR_4242)
    shop.do("edit_file", path="a", old="old", new="new")
    assert os.getxattr(file, "system.posix_acl_access") == FOR_4242
    assert stat.S_IMODE(file.stat().st_mode) == 0o660


def test_the_default_list_of_a_folder_widens_no_file_that_had_none(shop):
    file = shop.workspace / "a"
    file.write_text("old")
    file.chmod(0o660)
    with_attribute(shop.workspace, "system.posix_acl_default", FOR_4242)
    shop.do("write_file", path="a", content="new")
    assert "system.posix_acl_access" not in os.listxattr(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o660


def test_user_attributes_stay_and_capabilities_go(shop):
    file = shop.workspace / "a"
    file.write_text("old")
    with_attribute(file, "user.origin", b"here")
    if os.getuid() == 0:
        os.setxattr(file, "security.capability", struct.pack("<LLLLL", 0x02000001, 1 << 10, 0, 0, 0))
        assert "security.capability" in os.listxattr(file)
    shop.do("write_file", path="a", content="new")
    assert os.getxattr(file, "user.origin") == b"here"
    assert "security.capability" not in os.listxattr(file)


def test_owner_and_group_stay_where_they_can(shop):
    if os.getuid() != 0:
        pytest.skip("only root gives files away")
    file = shop.workspace / "a"
    file.write_text("old")
    os.chown(file, 4242, 4343)
    shop.do("write_file", path="a", content="new")
    assert (file.stat().st_uid, file.stat().st_gid) == (4242, 4343)


def test_a_file_of_somebody_else_is_not_taken_over(shop, as_nobody):
    file = shop.workspace / "a"
    file.write_text("theirs")
    file.chmod(0o666)
    answer = as_nobody(lambda: shop.do("write_file", path="a", content="ours"))
    assert answer.startswith("ToolError: `")
    assert "belongs to another user" in answer
    assert (file.read_text(), file.stat().st_uid) == ("theirs", 0)
    assert shop.names() == ["a"]


def test_in_a_sticky_folder_only_ones_own_file_is_replaced(shop, as_nobody):
    theirs = shop.workspace / "tmp"
    theirs.mkdir()
    theirs.chmod(0o1777)
    file = theirs / "a"
    file.write_text("theirs")
    file.chmod(0o666)
    assert as_nobody(lambda: shop.do("write_file", path="tmp/b", content="b").note).startswith("wrote")
    assert as_nobody(lambda: shop.do("write_file", path="tmp/b", content="c").note).startswith("wrote")
    assert "Error" in as_nobody(lambda: shop.do("write_file", path="tmp/a", content="ours"))
    assert "Error" in as_nobody(lambda: shop.do("delete_file", path="tmp/a"))
    assert shop.names() == ["tmp", "tmp/a", "tmp/b"]
    assert file.read_text() == "theirs"


def test_a_folder_that_may_not_be_written_stays_as_it_is(shop, as_nobody):
    folder = shop.workspace / "ro"
    folder.mkdir()
    (folder / "a").write_text("a")
    folder.chmod(0o755)
    for kind, more in (("write_file", {"content": "x"}), ("delete_file", {})):
        assert "Permission denied" in as_nobody(lambda kind=kind, more=more: shop.do(kind, path="ro/a", **more))
    assert "Permission denied" in as_nobody(lambda: shop.do("write_file", path="ro/b", content="x"))
    assert shop.names() == ["ro", "ro/a"]


def test_a_new_file_takes_the_group_of_a_set_group_id_folder(shop):
    if os.getuid() != 0:
        pytest.skip("only root gives folders away")
    os.chown(shop.workspace, -1, 4343)
    shop.workspace.chmod(0o2770)
    shop.do("write_file", path="a", content="x")
    assert (shop.workspace / "a").stat().st_gid == 4343
    shop.do("write_file", path="a", content="y")
    assert (shop.workspace / "a").stat().st_gid == 4343


@pytest.mark.parametrize("kind", ["write_file", "edit_file", "copy_file"])
def test_a_file_with_further_names_is_not_cut_off_from_them(shop, kind, tmp_path):
    twin = tmp_path / "twin"
    twin.write_text("old")
    os.link(twin, shop.workspace / "a")
    (shop.workspace / "source").write_text("new")
    payload = {
        "write_file": {"path": "a", "content": "new"},
        "edit_file": {"path": "a", "old": "old", "new": "new"},
        "copy_file": {"source": "source", "destination": "a"},
    }[kind]
    with pytest.raises(ToolError, match="hard links"):
        shop.do(kind, **payload)
    assert twin.read_text() == "old"
    assert twin.stat().st_nlink == 2
    assert shop.names() == ["a", "source"]


def test_a_further_name_is_moved_and_deleted_alone(shop, tmp_path):
    twin = tmp_path / "twin"
    twin.write_text("old")
    os.link(twin, shop.workspace / "a")
    shop.do("move_file", source="a", destination="b")
    assert twin.stat().st_nlink == 2
    shop.do("delete_file", path="b")
    assert (twin.stat().st_nlink, twin.read_text()) == (1, "old")


def test_a_read_only_file_is_not_replaced(shop):
    file = shop.workspace / "a"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        shop.do("write_file", path="a", content="new")
    assert file.read_text() == "old"
    assert shop.names() == ["a"]


@pytest.mark.parametrize("flag", ["i", "a"])
def test_an_immutable_or_append_only_file_stays(shop, flag):
    file = shop.workspace / "a"
    file.write_text("old")
    set_ = subprocess.run(["chattr", f"+{flag}", file], capture_output=True, text=True, check=False)
    if set_.returncode:
        pytest.skip(f"no such attribute here: {set_.stderr.strip()}")
    try:
        for kind, payload in (
            ("write_file", {"path": "a", "content": "new"}),
            ("edit_file", {"path": "a", "old": "old", "new": "new"}),
            ("delete_file", {"path": "a"}),
            ("move_file", {"source": "a", "destination": "b"}),
        ):
            with pytest.raises(ToolError):
                shop.do(kind, **payload)
    finally:
        subprocess.run(["chattr", f"-{flag}", file], check=True)
    assert file.read_text() == "old"
    assert shop.names() == ["a"]


def test_a_copy_is_as_open_as_its_source(shop):
    for mode in (0o600, 0o640, 0o755, 0o4755):
        source = shop.workspace / "s"
        source.write_text("x")
        source.chmod(mode)
        shop.do("copy_file", source="s", destination=f"d{mode}")
        umask = os.umask(0o077)
        os.umask(umask)
        assert stat.S_IMODE((shop.workspace / f"d{mode}").stat().st_mode) == mode & 0o777 & ~umask


def test_while_two_files_change_places_neither_is_open_to_others(shop, folder):
    file = shop.workspace / "secret"
    file.write_text("old")
    file.chmod(0o600)
    umask = os.umask(0)
    seen = []

    def look():
        seen.extend(stat.S_IMODE(os.stat(name, dir_fd=folder).st_mode) for name in os.listdir(folder))
        return True

    try:
        replace(folder, "secret", b"new", file.stat(), "secret", unchanged=look)
    finally:
        os.umask(umask)
    assert seen == [0o600, 0o600]


# --- names -----------------------------------------------------------------------------------------------------------


def test_names_of_any_length_and_form(shop):
    for name in ("n" * 255, "é" * 127, " a b ", "new\nline", "-rf", "*", "$(id)", "\u202eexe"):
        shop.do("write_file", path=name, content="x")
        shop.do("write_file", path=name, content="y")
        assert (shop.workspace / name).read_text() == "y"
        shop.do("delete_file", path=name)
    assert shop.names() == []


def test_no_name_makes_up_a_line(shop):
    (shop.workspace / "a\nb.txt\t99").write_text("needle")
    (shop.workspace / "\u202etxt.exe").write_text("needle")
    listed = shop.do("list_directory", path=".").parts[0].text
    assert listed.splitlines() == ["\\u202etxt.exe\t6", "a\\nb.txt\\t99\t6"]
    found = shop.do("grep_files", pattern="needle").parts[0].text
    assert found.splitlines() == ["a\\nb.txt\\t99:1:needle", "\\u202etxt.exe:1:needle"]


def test_names_that_are_not_utf8_are_listed_and_left_alone(shop):
    raw = os.fsencode(shop.workspace) + b"/\xff\xfe.txt"
    with open(raw, "w") as file:
        file.write("needle")
    (shop.workspace / "link").symlink_to(os.fsdecode(raw))
    assert "\ufffd\ufffd.txt" in shop.do("list_directory", path=".").parts[0].text
    assert "needle" in shop.do("grep_files", pattern="needle").parts[0].text
    shop.do("archive_create", path="x.zip")
    assert os.path.exists(raw)


# --- whole or not at all ---------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file_and_nothing_else(shop, on_small_disk):
    big = "x" * 400_000

    def fill():
        small = shop.workspace / "small"
        shop.do("write_file", path="small/a", content="old")
        for kind, payload in (
            ("write_file", {"path": "small/a", "content": big}),
            ("write_file", {"path": "small/b", "content": big}),
            ("edit_file", {"path": "small/a", "old": "old", "new": big}),
        ):
            with pytest.raises(ToolError, match="No space left"):
                shop.do(kind, **payload)
        shop.do("write_file", path="big", content=big)
        with pytest.raises(ToolError, match="No space left"):
            shop.do("copy_file", source="big", destination="small/c")
        shop.do("archive_create", path="big.tar", sources=["big"])
        with pytest.raises(ToolError, match="No space left"):
            shop.do("archive_extract", path="big.tar", destination="small/d")
        with pytest.raises(ToolError, match="No space left"):
            shop.do("archive_create", path="small/e.tar", sources=["big"])
        shop.do("write_file", path="small/a", content="still writable")
        return [(name, (small / name).read_text()) for name in os.listdir(small)]

    assert on_small_disk(fill) == [("a", "still writable")]


def test_another_file_system_is_no_place_to_move_to(shop, on_small_disk):
    def move():
        (shop.workspace / "a").write_text("a")
        with pytest.raises(ToolError, match="another file system"):
            shop.do("move_file", source="a", destination="small/a")
        shop.do("copy_file", source="a", destination="small/a")
        return os.listdir(shop.workspace / "small")

    assert on_small_disk(move) == ["a"]
    assert (shop.workspace / "a").read_text() == "a"


def test_on_the_file_system_of_a_container(shop, on_overlay):
    for name in ("a", "b", "c", "d"):
        (shop.workspace / name).write_text(f"lower {name}")
    (shop.workspace / "empty").mkdir()

    def work():
        shop.do("write_file", path="a", content="new")
        shop.do("edit_file", path="b", old="lower", new="upper")
        shop.do("move_file", source="c", destination="moved")
        shop.do("delete_file", path="d")
        shop.do("delete_directory", path="empty")
        shop.do("archive_create", path="x.zip", sources=["a", "b"])
        shop.do("archive_extract", path="x.zip", destination="out")
        return {name: (shop.workspace / name).read_text() for name in shop.names() if "." not in name and name != "out"}

    assert on_overlay(work) == {"a": "new", "b": "upper b", "moved": "lower c", "out/a": "new", "out/b": "upper b"}


def test_a_process_that_is_killed_leaves_no_half(shop):
    file = shop.workspace / "a"
    contents = {letter: letter * 300_000 for letter in "xyz"}
    file.write_text(contents["x"])
    for round_ in range(8):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                for number in range(10_000):
                    shop.do("write_file", path="a", content=contents["xyz"[number % 3]])
                    os.write(writing, b".")
            finally:
                os._exit(0)
        os.close(writing)
        os.read(reading, 1)
        time.sleep(0.003 * round_)  # somewhere in a write, each time at another place
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
        assert file.read_text() in contents.values()
    for name in set(shop.names()) - {"a"}:  # killed between giving it a name and taking that away: rare
        assert LEFTOVER.fullmatch(name)
        assert (shop.workspace / name).read_text() in contents.values()


def test_a_file_saved_by_somebody_else_meanwhile_is_put_back(shop, folder):
    file = shop.workspace / "a"
    file.write_text("judged")
    inode = file.stat().st_ino
    with pytest.raises(ChangedError):
        replace(folder, "a", b"ours", file.stat(), "a", unchanged=lambda: False)
    assert (file.read_text(), file.stat().st_ino) == ("judged", inode)
    old = file.stat()
    os.utime(file, ns=(1, 1))
    with pytest.raises(ChangedError):
        replace(folder, "a", b"ours", old, "a")
    other = shop.workspace / "other"
    other.write_text("theirs")
    other.rename(file)
    with pytest.raises(ChangedError):
        replace(folder, "a", b"ours", old, "a")
    assert file.read_text() == "theirs"
    file.unlink()
    with pytest.raises(ChangedError):
        replace(folder, "a", b"ours", old, "a")
    assert shop.names() == []


def test_an_edit_notices_a_save_in_the_last_moment(shop, folder):
    """As `edit_file` asks: the old file has lost its name, and does not hold what was edited."""
    file = shop.workspace / "a"
    file.write_text("base")
    descriptor = os.open(file, os.O_RDONLY)

    def still():
        file_now = os.pread(descriptor, 100, 0)
        return file_now == b"base"

    stamp = file.stat()
    with open(file, "r+") as editor:
        editor.write("BASE")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # within the clock's own step
    with pytest.raises(ChangedError):
        replace(folder, "a", b"edited", stamp, "a", unchanged=still)
    os.close(descriptor)
    assert file.read_text() == "BASE"


def test_what_is_not_what_was_judged_is_not_deleted(shop, folder):
    (shop.workspace / "a").write_text("theirs")
    (shop.workspace / "b").write_text("judged")
    with pytest.raises(ChangedError):
        remove(folder, "a", (shop.workspace / "b").stat(), "a")
    with pytest.raises(ChangedError):
        remove(folder, "gone", (shop.workspace / "b").stat(), "gone")
    assert shop.names() == ["a", "b"]
    assert (shop.workspace / "a").read_text() == "theirs"


def test_a_directory_is_deleted_only_when_it_is_empty(shop, folder):
    (shop.workspace / "d" / "sub").mkdir(parents=True)
    inode = (shop.workspace / "d").stat().st_ino
    with pytest.raises(ToolError, match="not empty"):
        shop.do("delete_directory", path="d")
    with pytest.raises(ToolError, match="cannot be deleted"):  # something came in at the last moment
        remove(folder, "d", (shop.workspace / "d").stat(), "d")
    assert (shop.names(), (shop.workspace / "d").stat().st_ino) == (["d", "d/sub"], inode)
    shop.do("delete_directory", path="d/sub")
    shop.do("delete_directory", path="d")
    assert shop.names() == []


def test_a_rename_to_a_free_name_replaces_nothing(shop, folder):
    (shop.workspace / "a").write_text("a")
    (shop.workspace / "d").mkdir()
    for place in ("b", "c"):
        (shop.workspace / place).mkdir() if place == "b" else (shop.workspace / place).symlink_to("nowhere")
        for what in ("a", "d"):
            with pytest.raises(FileExistsError):
                rename_free(what, place, source_folder=folder, folder=folder)
    assert shop.names() == ["a", "b", "c", "d"]


# --- older kernels ---------------------------------------------------------------------------------------------------


def every_tool(shop):
    """What a session of all file tools leaves, and what they say to links put in their way."""
    workspace = shop.workspace
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "canary").write_text("canary")
    shop.do("create_directory", path="d")
    shop.do("write_file", path="d/a", content="one")
    shop.do("write_file", path="d/a", content="two")
    shop.do("edit_file", path="d/a", old="two", new="three")
    shop.do("copy_file", source="d/a", destination="b")
    shop.do("move_file", source="b", destination="c")
    shop.do("move_file", source="d", destination="e")
    shop.do("write_file", path="gone", content="x")
    shop.do("delete_file", path="gone")
    shop.do("archive_create", path="x.tar", sources=["e", "c"])
    shop.do("archive_extract", path="x.tar", destination="out")
    said = [shop.do("list_directory", path=".", recursive=True).parts[0].text]
    said.append(shop.do("grep_files", pattern="three").parts[0].text)
    (workspace / "taken").write_text("taken")
    (workspace / "taken2").symlink_to("nowhere")
    with pytest.raises(ToolError):
        shop.do("move_file", source="c", destination="taken")
    warrants = [
        shop.warrant("read_file", path="e/a"),
        shop.warrant("write_file", path="e/a", content="x"),
        shop.warrant("write_file", path="e/new", content="x"),
        shop.warrant("edit_file", path="e/a", old="three", new="x"),
        shop.warrant("copy_file", source="e/a", destination="copy"),
        shop.warrant("move_file", source="e/a", destination="moved"),
        shop.warrant("delete_file", path="e/a"),
        shop.warrant("list_directory", path="e"),
        shop.warrant("grep_files", pattern=".", path="e"),
        shop.warrant("archive_create", path="e/y.tar", sources=["c"]),
        shop.warrant("archive_extract", path="x.tar", destination="e/new"),
    ]
    (workspace / "e").rename(workspace / "old")
    (workspace / "e").symlink_to(outside)
    (outside / "a").write_text("SECRET")
    for warrant in warrants:
        try:
            output = shop.run(warrant)
            said.append(f"{warrant.type}: {output.note}")
        except ToolError as error:
            said.append(f"{warrant.type}: {type(error).__name__}")
    assert sorted(os.listdir(outside)) == ["a", "canary"]
    assert (outside / "a").read_text() == "SECRET"
    files = {name: (workspace / name).read_bytes() for name in shop.names() if (workspace / name).is_file()}
    return said, shop.names(), {name: content for name, content in files.items() if not name.endswith(".tar")}


def test_older_kernels_come_to_the_same(shop, on_old_kernel):
    old = on_old_kernel(lambda: every_tool(shop))
    assert isinstance(old, tuple), old
    for name in ("ws", "outside"):
        (shop.workspace.parent / name).rename(shop.workspace.parent / f"{name}-old")
    shop.workspace.mkdir()
    new = every_tool(shop)
    assert new == old
    assert {line.partition(": ")[2] for line in new[0][2:]} == {"ChangedError"}
    assert not [name for name in new[1] if LEFTOVER.search(name)]


def test_older_kernels_replace_nothing_either(shop, on_old_kernel):
    def races():
        (shop.workspace / "a").write_text("theirs")
        descriptor = os.open(shop.workspace, os.O_RDONLY | os.O_DIRECTORY)
        old = (shop.workspace / "a").stat()
        said = []
        for work in (
            lambda: create(descriptor, "a", b"ours", "a"),
            lambda: replace(descriptor, "a", b"ours", old, "a", unchanged=lambda: False),
            lambda: replace(descriptor, "gone", b"ours", old, "gone"),
            lambda: remove(descriptor, "a", os.stat("/"), "a"),
            lambda: rename_free("a", "a", source_folder=descriptor, folder=descriptor),
        ):
            try:
                work()
                said.append("done")
            except (ToolError, FileExistsError) as error:
                said.append(type(error).__name__)
        return said, shop.names(), (shop.workspace / "a").read_text()

    assert on_old_kernel(races) == (
        ["ChangedError", "ChangedError", "ChangedError", "ChangedError", "FileExistsError"],
        ["a"],
        "theirs",
    )


def test_the_filter_of_these_tests_does_hide_the_calls(on_old_kernel):
    def ask():
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.renameat2(-100, b"/nowhere/a", -100, b"/nowhere/b", 1)
        return failed, errno.errorcode[ctypes.get_errno()]

    assert on_old_kernel(ask) == (-1, "EINVAL")
