"""The file tools through the whole path: what was judged is what is opened."""

import os
import stat

import pytest

from agentctl.turns.messages import ToolResult
from shield.types import Decision


def swap_after_allow(change):
    async def before(proposal, verdict):
        change()

    return before


def test_reads_a_file_and_gives_what_shield_gives_back(bench):
    (bench.workspace / "a.txt").write_text("hello\n")
    bench.fake.content = lambda content: [{"role": "content", "text": content[0]["text"].replace("hello", "[gone]")}]
    result = bench.do("read_file", path="a.txt")
    assert isinstance(result, ToolResult)
    assert (result.content, result.is_error, result.decision) == ("[gone]", False, Decision.ALLOW)
    assert bench.fake.sent("/v1/outcomes")[0]["content"] == [{"role": "content", "text": "hello\n"}]
    assert bench.fake.sent("/v1/outcomes")[0]["bytes"] == 6


def test_reads_a_window_of_lines(bench):
    (bench.workspace / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    assert bench.do("read_file", path="a.txt", offset=10, limit=2).content == "line 10\nline 11"


@pytest.mark.parametrize("payload", [{"offset": -1}, {"offset": True}, {"limit": "2"}, {"limit": 0}])
def test_a_window_that_makes_no_sense_is_an_error(bench, payload):
    (bench.workspace / "a.txt").write_text("x\n")
    assert bench.do("read_file", path="a.txt", **payload).is_error


def test_writes_a_new_file_and_keeps_the_mode_of_an_old_one(bench):
    assert not bench.do("write_file", path="new.txt", content="née\n").is_error
    assert (bench.workspace / "new.txt").read_text() == "née\n"
    tool = bench.workspace / "tool.sh"
    tool.write_text("old")
    tool.chmod(0o4751)
    assert not bench.do("write_file", path="tool.sh", content="new").is_error
    assert tool.read_text() == "new"
    assert stat.S_IMODE(tool.stat().st_mode) == 0o751, "permissions stay, set-id bits go"
    assert sorted(os.listdir(bench.workspace)) == ["new.txt", "tool.sh"], "no temporary file stays"


def test_edits_once_or_everywhere(bench):
    file = bench.workspace / "a.py"
    file.write_text("x = 1\ny = 1\n")
    assert not bench.do("edit_file", path="a.py", old="x = 1", new="x = 2").is_error
    assert file.read_text() == "x = 2\ny = 1\n"
    twice = bench.do("edit_file", path="a.py", old=" = ", new=" == ")
    assert twice.is_error
    assert "occurs 2 times" in twice.content
    assert not bench.do("edit_file", path="a.py", old=" = ", new=" == ", all=True).is_error
    assert file.read_text() == "x == 2\ny == 1\n"
    assert bench.do("edit_file", path="a.py", old="absent", new="").is_error
    assert bench.do("edit_file", path="a.py", old="", new="z").is_error


def test_makes_moves_copies_and_deletes(bench):
    assert not bench.do("create_directory", path="sub").is_error
    assert not bench.do("write_file", path="sub/a", content="A").is_error
    assert not bench.do("copy_file", source="sub/a", destination="b").is_error
    assert not bench.do("move_file", source="b", destination="c").is_error
    assert (bench.workspace / "c").read_text() == "A"
    assert not (bench.workspace / "b").exists()
    assert bench.do("delete_directory", path="sub").is_error, "not empty"
    assert not bench.do("delete_file", path="sub/a").is_error
    assert not bench.do("delete_directory", path="sub").is_error
    assert os.listdir(bench.workspace) == ["c"]


def test_a_move_replaces_nothing(bench):
    (bench.workspace / "a").write_text("A")
    (bench.workspace / "b").write_text("B")
    assert bench.do("move_file", source="a", destination="b").is_error
    assert (bench.workspace / "b").read_text() == "B"


def test_deleting_a_link_leaves_its_target(bench):
    (bench.workspace / "kept").write_text("K")
    (bench.workspace / "link").symlink_to("kept")
    assert not bench.do("delete_file", path="link").is_error
    assert os.listdir(bench.workspace) == ["kept"]


@pytest.mark.parametrize("kind", ["fifo", "link", "file", "directory"])
def test_a_file_swapped_after_the_receipt_was_signed_is_not_read(bench, kind, tmp_path):
    """The window that only the executor can close: Shield has looked, the receipt is signed, the file changes."""
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    victim = bench.workspace / "a.txt"
    victim.write_text("harmless")

    def swap(receipt):
        os.rename(victim, bench.workspace / "old")
        match kind:
            case "fifo":
                os.mkfifo(victim)
            case "link":
                victim.symlink_to(secret)
            case "file":
                victim.write_text("SECRET")
            case "directory":
                victim.mkdir()
        return receipt

    bench.fake.change_receipt = swap
    result = bench.do_with({"reevaluations": 0}, "read_file", path="a.txt")
    assert result.is_error
    assert "SECRET" not in str(bench.fake.requests) + result.content
    assert bench.fake.statuses() in (["not_run"], ["error"])


def test_a_directory_swapped_for_a_link_is_not_walked(bench, tmp_path):
    (tmp_path / "a.txt").write_text("SECRET")
    folder = bench.workspace / "sub"
    folder.mkdir()
    (folder / "a.txt").write_text("harmless")

    def swap(receipt):
        folder.rename(bench.workspace / "old")
        folder.symlink_to(tmp_path)
        return receipt

    bench.fake.change_receipt = swap
    result = bench.do_with({"reevaluations": 0}, "read_file", path="sub/a.txt")
    assert result.is_error
    assert bench.fake.statuses() == ["not_run"]
    assert "SECRET" not in str(bench.fake.requests)


def test_a_write_goes_into_the_judged_directory_or_nowhere(bench, tmp_path):
    folder = bench.workspace / "sub"
    folder.mkdir()

    def swap(receipt):
        folder.rename(bench.workspace / "old")
        folder.mkdir()
        return receipt

    bench.fake.change_receipt = swap
    result = bench.do_with({"reevaluations": 0}, "write_file", path="sub/a.txt", content="x")
    assert result.is_error
    assert os.listdir(folder) == []
    assert os.listdir(bench.workspace / "old") == []


def test_what_was_judged_as_new_replaces_nothing(bench):
    def plant(receipt):
        (bench.workspace / "a.txt").write_text("made meanwhile")
        return receipt

    bench.fake.change_receipt = plant
    result = bench.do_with({"reevaluations": 0}, "write_file", path="a.txt", content="x")
    assert result.is_error
    assert (bench.workspace / "a.txt").read_text() == "made meanwhile"


def test_an_edit_is_refused_when_the_base_holds_something_else(bench):
    file = bench.workspace / "a.py"
    file.write_text("x = 1\n")

    def change(receipt):
        file.write_text("x = 1  # changed\n")
        return receipt

    bench.fake.change_receipt = change
    result = bench.do_with({"reevaluations": 0}, "edit_file", path="a.py", old="x = 1", new="x = 2")
    assert result.is_error
    assert file.read_text() == "x = 1  # changed\n"
    assert bench.fake.statuses() == ["not_run"]


def test_a_swap_that_is_over_is_judged_again_and_then_runs(bench):
    file = bench.workspace / "a.txt"
    file.write_text("one")
    swaps = iter([True, False, False])

    def swap(receipt):
        if next(swaps):
            file.rename(bench.workspace / "old")
            file.write_text("two")
        return receipt

    bench.fake.change_receipt = swap
    assert bench.do("read_file", path="a.txt").content == "two"
    assert len(bench.fake.sent("/v1/evaluate")) == 2
    assert bench.fake.statuses() == ["not_run", "ok"]


def test_devices_and_directories_are_not_read(bench):
    (bench.workspace / "sub").mkdir()
    os.mkfifo(bench.workspace / "fifo")
    for path in ("sub", "fifo", "/dev/null"):
        assert bench.do("read_file", path=path).is_error, path


def test_binary_files_are_not_shown(bench):
    (bench.workspace / "a.bin").write_bytes(b"\x7fELF\0\0")
    assert bench.do("read_file", path="a.bin").is_error


def test_a_receipt_that_names_no_file_or_two_opens_nothing(bench):
    import dataclasses

    (bench.workspace / "a.txt").write_text("x")
    (bench.workspace / "b.txt").write_text("y")
    bench.fake.change_receipt = lambda receipt: dataclasses.replace(receipt, files=())
    assert bench.do("read_file", path="a.txt").is_error
    bench.fake.change_receipt = lambda receipt: dataclasses.replace(
        receipt, files=(*receipt.files, dataclasses.replace(receipt.files[0], path=str(bench.workspace / "b.txt")))
    )
    assert bench.do("read_file", path="a.txt").is_error
    assert "ok" not in bench.fake.statuses()


def test_lists_searches_and_greps_without_following_links_or_reading_hidden_files(bench, tmp_path):
    (tmp_path / "outside.py").write_text("needle outside")
    (bench.workspace / "src").mkdir()
    (bench.workspace / "src" / "a.py").write_text("one\nneedle here\n")
    (bench.workspace / "src" / "b.bin").write_bytes(b"\0needle")
    (bench.workspace / ".env").write_text("needle=secret")
    (bench.workspace / "out").symlink_to(tmp_path)
    os.mkfifo(bench.workspace / "fifo")
    listed = bench.do("list_directory", path=".").content
    assert listed == ".env\t13\nfifo\t0\nout@\nsrc/\n[4 entries]"
    deep = bench.do("list_directory", path=".", recursive=True).content
    assert "src/a.py\t16" in deep
    assert "outside" not in deep
    assert ".env" not in deep
    assert bench.do("search_files", pattern="*.py").content == "src/a.py\t16\n[1 file]"
    assert bench.do("search_files", pattern="src/**/*.py").content == "src/a.py\t16\n[1 file]"
    assert bench.do("search_files", pattern="s?c/[ab].py").content == "src/a.py\t16\n[1 file]"
    assert bench.do("grep_files", pattern="needle").content == "src/a.py:2:needle here\n[1 line]"
    assert bench.do("grep_files", pattern="needle", path="src/a.py").content == "a.py:2:needle here\n[1 line]"
    assert bench.do("grep_files", pattern="(").is_error


def test_no_descriptor_is_left_open(bench):
    (bench.workspace / "src").mkdir()
    (bench.workspace / "src" / "a.py").write_text("x")
    before = set(os.listdir("/proc/self/fd"))
    for kind, payload in (
        ("read_file", {"path": "src/a.py"}),
        ("read_file", {"path": "src/absent"}),
        ("write_file", {"path": "src/b.py", "content": "y"}),
        ("edit_file", {"path": "src/b.py", "old": "y", "new": "z"}),
        ("list_directory", {"path": ".", "recursive": True}),
        ("grep_files", {"pattern": "x"}),
        ("execute_command", {"command": "true"}),
    ):
        bench.do(kind, **payload)
    # the thread that serves a closed connection may take a moment to close its end
    left = {
        name
        for name in set(os.listdir("/proc/self/fd")) - before
        if os.path.lexists(f"/proc/self/fd/{name}") and "socket" not in os.readlink(f"/proc/self/fd/{name}")
    }
    assert left == set()


def test_a_file_made_between_the_last_look_and_the_rename_is_not_replaced(bench):
    """The very last window: nothing was there, then something is, and the new file must not take its place."""
    from agentctl.errors import ChangedError
    from agentctl.tools.placement import create

    (bench.workspace / "a.txt").write_text("theirs")
    folder = os.open(bench.workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(ChangedError):
            create(folder, "a.txt", b"ours", "a.txt")
    finally:
        os.close(folder)
    assert (bench.workspace / "a.txt").read_text() == "theirs"
    assert os.listdir(bench.workspace) == ["a.txt"]
