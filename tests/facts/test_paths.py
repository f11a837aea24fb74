"""The resolver on real file systems: what the kernel would do, or unknown; never a guess."""

import os
import posixpath
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scale import scale
from shield.facts.filesystem import FileKind, FileSystemUnknownError, Stat
from shield.facts.local import LocalFiles
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.paths import path_fact, resolve_path
from shield.facts.place import Place, Protected
from shield.facts.snapshot import Snapshot
from shield.facts.unseen import UnknownFiles
from shield.facts.written import normal
from shield.types import Access


@pytest.fixture
def top() -> Iterator[str]:
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _place(top: str, files: object | None = None, **more: object) -> Place:
    os.makedirs(f"{top}/home/ws", exist_ok=True)
    return Place(
        files=files or LocalFiles(),
        home=f"{top}/home",
        cwd=f"{top}/home/ws",
        workspace_roots=(f"{top}/home/ws",),
        **more,
    )


def _path(raw: str, place: Place, **more: object) -> str | None:
    return resolve_path(raw, place, base=place.cwd, **more).path


def test_plain_forms(top: str) -> None:
    place = _place(top)
    Path(f"{top}/home/ws/a.txt").write_text("x")
    ws = f"{top}/home/ws"
    for raw in (
        "a.txt",
        "./a.txt",
        ".//./a.txt",
        f"{ws}/a.txt",
        f"//{ws}/a.txt",
        "~/ws/a.txt",
        "../ws/a.txt",
        "a.txt/",
    ):
        found = resolve_path(raw, place, base=place.cwd)
        assert (found.path, found.exists, found.symlink) == (f"{ws}/a.txt", True, False), raw
        assert found.stat is not None
        assert found.stat.kind is FileKind.FILE
    assert _path("~", place) == _path("~/", place) == _path("~/.", place) == f"{top}/home"
    assert _path("~/ws", place, expand_tilde=False) == f"{ws}/~/ws"
    assert _path("/", place) == _path("/..", place) == _path("/../..", place) == "/"
    assert _path("new", place) == f"{ws}/new"
    assert not resolve_path("new", place, base=place.cwd).exists
    assert _path("new/deeper/still", place) == f"{ws}/new/deeper/still"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "a\0b",
        "~root",
        "~root/.ssh/id_rsa",
        "~+/x",
        "x" * 5000,
        "a/" * 3000,
        "n" * 300,
        "missing/../etc",
        "a.txt/b",
        "a.txt/..",
        "file://other.example/etc/passwd",
        "file:relative",
        "file:///etc/passwd?x",
        "file:///a%00b",
        "file:///a%2fb",
        "file:///%ff",
        "/proc/self/environ",
        "/dev/fd/3",
        "/dev/stdin/x",
        "\ud800",
    ],
)
def test_unknown_forms(top: str, raw: str) -> None:
    place = _place(top)
    Path(f"{top}/home/ws/a.txt").write_text("x")
    found = resolve_path(raw, place, base=place.cwd)
    assert found.path is None
    assert found.unknown
    assert not path_fact(raw, Access.READ, place, base=place.cwd).inside_workspace


def test_relative_without_a_base_is_unknown(top: str) -> None:
    place = _place(top)
    assert resolve_path("a", place, base=None).path is None
    assert resolve_path("a", place, base="relative").path is None
    assert resolve_path(f"{top}/a", place, base=None).path == f"{top}/a"


def test_file_uri_and_percent(top: str) -> None:
    place = _place(top)
    ws = f"{top}/home/ws"
    Path(f"{ws}/%61").write_text("x")
    assert _path(f"file://{ws}/b%20c", place) == _path(f"FILE://localhost{ws}/b%20c", place) == f"{ws}/b c"
    assert _path(f"file:{ws}/b", place) == f"{ws}/b"
    assert _path("%61", place) == f"{ws}/%61"  # a percent sign is one in a path
    os.makedirs(f"{ws}/file:")
    assert _path(f"file://{ws}/b", place) is None  # now it is also a relative path


def test_links_as_the_kernel_follows_them(top: str) -> None:
    place = _place(top)
    ws = f"{top}/home/ws"
    os.makedirs(f"{top}/out/deep")
    Path(f"{top}/out/secret").write_text("x")
    os.symlink(f"{top}/out/deep", f"{ws}/d")
    os.symlink("d/../secret", f"{ws}/s")
    os.symlink("loop2", f"{ws}/loop1")
    os.symlink("loop1", f"{ws}/loop2")
    os.symlink(f"{top}/out/nothing", f"{ws}/dangling")
    assert _path("d/../secret", place) == f"{top}/out/secret"  # `..` after the link, not before
    assert _path("s", place) == f"{top}/out/secret"
    assert _path("loop1", place) is None
    assert _path("loop1/x", place) is None
    assert _path("dangling", place) == f"{top}/out/nothing"
    fact = path_fact("s", Access.READ, place, base=place.cwd)
    assert (fact.symlink, fact.inside_workspace, fact.exists) == (True, False, True)
    assert not path_fact("d/../x", Access.WRITE, place, base=place.cwd).inside_workspace
    assert not path_fact("dangling", Access.WRITE, place, base=place.cwd).inside_workspace


def test_as_many_links_as_the_kernel_follows(top: str) -> None:
    place = _place(top)
    Path(f"{top}/home/ws/l0").write_text("x")
    for number in range(1, 43):
        os.symlink(f"l{number - 1}", f"{top}/home/ws/l{number}")
    assert _path("l40", place) == f"{top}/home/ws/l0"
    assert os.path.exists(f"{top}/home/ws/l40") or sys.platform == "darwin"
    assert _path("l41", place) is None


def test_deleting_a_link_needs_both_ends_inside(top: str) -> None:
    place = _place(top)
    ws = f"{top}/home/ws"
    Path(f"{ws}/mine").write_text("x")
    os.symlink(f"{ws}/mine", f"{top}/home/outside")
    os.symlink(f"{ws}/mine", f"{ws}/inside")
    assert not path_fact("~/outside", Access.DELETE, place, base=place.cwd).inside_workspace
    assert path_fact("inside", Access.DELETE, place, base=place.cwd).inside_workspace
    assert resolve_path("inside", place, base=place.cwd).entry == f"{ws}/inside"
    assert resolve_path("inside/", place, base=place.cwd).entry == f"{ws}/mine"


def test_a_workspace_root_is_compared_resolved_and_by_component(top: str) -> None:
    place = _place(top)
    os.symlink(f"{top}/home/ws", f"{top}/alias")
    os.makedirs(f"{top}/home/ws-evil")
    aliased = replace(place, workspace_roots=(f"{top}/alias",))
    assert path_fact("x", Access.WRITE, aliased, base=aliased.cwd).inside_workspace
    assert path_fact(".", Access.LIST, place, base=place.cwd).inside_workspace
    assert not path_fact("../ws-evil/x", Access.READ, place, base=place.cwd).inside_workspace
    assert not path_fact("..", Access.LIST, place, base=place.cwd).inside_workspace
    everything = replace(place, workspace_roots=("/",))
    for raw in ("/etc/hosts", "/", f"{top}/home/ws/x"):
        assert not path_fact(raw, Access.READ, everything, base=None).inside_workspace


def test_streams_in_their_direction_only(top: str) -> None:
    place = _place(top)
    if not os.path.islink("/dev/stdout"):
        pytest.skip("the streams are no links here")
    assert path_fact("/dev/stdout", Access.WRITE, place, base=None).resolved == "/dev/stdout"
    assert path_fact("/dev/stdin", Access.READ, place, base=None).resolved == "/dev/stdin"
    assert path_fact("/dev/stdin", Access.WRITE, place, base=None).resolved is None
    assert path_fact("/dev/stdout", Access.READ, place, base=None).resolved is None


def test_hard_links_are_noted(top: str) -> None:
    place = _place(top)
    Path(f"{top}/secret").write_text("x")
    os.link(f"{top}/secret", f"{top}/home/ws/innocent")
    assert "hard_link" in path_fact("innocent", Access.READ, place, base=place.cwd).categories
    Path(f"{top}/home/ws/alone").write_text("x")
    assert "hard_link" not in path_fact("alone", Access.READ, place, base=place.cwd).categories


def test_what_cannot_be_examined_is_unknown_and_not_absent(top: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    place = _place(top)
    os.makedirs(f"{top}/closed/in")
    os.chmod(f"{top}/closed", 0o700)
    os.chmod(top, 0o755)
    assert _path(f"{top}/closed/in/x", place) == f"{top}/closed/in/x"
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # INVARIANT: the child never returns into the test run.
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            fact = path_fact(f"{top}/closed/in/x", Access.READ, replace(place, workspace_roots=(top,)), base=None)
            os.write(writer, f"{fact.resolved} {fact.exists} {fact.inside_workspace}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    assert os.read(reader, 1000).split() == [b"None", b"False", b"False"]
    os.close(reader)


def test_an_invisible_disk_knows_nothing() -> None:
    place = Place(files=UnknownFiles(), home="/home/u", cwd="/home/u/ws", workspace_roots=("/home/u/ws",))
    for raw in ("a", "/etc/passwd", "~/.ssh/id_rsa"):
        fact = path_fact(raw, Access.READ, place, base=place.cwd)
        assert (fact.resolved, fact.inside_workspace, fact.exists) == (None, False, False)
    # suspicion does not need the disk
    assert "credential" in path_fact("~/.ssh/id_rsa", Access.READ, place, base=place.cwd).categories
    assert "credential" in path_fact("~", Access.DELETE, place, base=place.cwd, recursive=True).covers


def test_a_failing_file_system_is_unknown() -> None:
    class Failing(UnknownFiles):
        def lstat(self, path: str) -> Stat | None:
            raise OSError(5, "Input/output error")

    place = Place(files=Failing(), home="/home/u", cwd="/home/u/ws", workspace_roots=("/home/u/ws",))
    assert resolve_path("a", place, base=place.cwd).path is None


@given(st.text("/.ab", max_size=12))
def test_lexical_paths_are_what_normpath_says(text: str) -> None:
    assert normal(text) == "/" + posixpath.normpath("/" + text).lstrip("/")


def test_case_and_unicode_folding() -> None:
    made = MadeFiles({"Src/Main.py": MadeFile(), "~/.ssh/id_rsa": MadeFile()}, folds_case=True)
    place = Place(files=made, home="/home/user", cwd="/home/user/ws", workspace_roots=("/home/user/ws",))
    assert _path("sRC/mAIN.PY", place) == "/home/user/ws/Src/Main.py"
    assert path_fact("/HOME/USER/WS/src", Access.READ, place, base=None).inside_workspace
    assert "credential" in path_fact("~/.SSH/ID_RSA", Access.READ, place, base=None).categories
    strict = replace(place, files=MadeFiles({"Src/Main.py": MadeFile()}))
    assert not resolve_path("src/Main.py", strict, base=strict.cwd).exists


def test_darwin_names_by_number_and_firmlinks() -> None:
    files = {
        "/System/Volumes/Data/Users/u/x": MadeFile(),
        "/.vol/1/2": MadeFile(),
    }
    place = Place(files=MadeFiles(files), home="/Users/u", cwd=None, workspace_roots=("/Users/u",), platform="darwin")
    assert _path("/System/Volumes/Data/Users/u/x", place) == "/Users/u/x"
    assert _path("/.vol/1/2", place) is None


def test_two_hardlinked_spellings_stay_two(top: str) -> None:
    place = _place(top)
    Path(f"{top}/home/ws/name").write_text("x")
    os.link(f"{top}/home/ws/name", f"{top}/home/ws/NAME")
    assert _path("name", place) == f"{top}/home/ws/name"
    assert _path("NAME", place) == f"{top}/home/ws/NAME"


def test_a_snapshot_examines_each_entry_once(top: str) -> None:
    class Counting(LocalFiles):
        __slots__ = ("asked",)

        def __init__(self) -> None:
            super().__init__()
            self.asked: list[str] = []

        def lstat(self, path: str) -> Stat | None:
            self.asked.append(path)
            return super().lstat(path)

    counting = Counting()
    place = _place(top, Snapshot(counting))
    for _ in range(3):
        path_fact("a/b/c", Access.READ, place, base=place.cwd)
        path_fact("a/b/d", Access.READ, place, base=place.cwd)
    assert len(counting.asked) == len(set(counting.asked))
    os.makedirs(f"{top}/home/ws/a")
    assert not place.files.lstat(f"{top}/home/ws/a")  # one view for one action
    assert Snapshot(counting).lstat(f"{top}/home/ws/a")


# --- laws ------------------------------------------------------------------------------------------------------------

_NAMES = ("a", "b", "c")
_TARGETS = ("a", "b", "..", "../a", "a/..", "../..", "b/c", ".", "c/a", "/TOP/a", "/TOP/b/c", "/TOP/ws", "../b/../c")
_ENTRY = st.tuples(
    st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3).map("/".join),
    st.one_of(st.just(("dir", "")), st.just(("file", "")), st.sampled_from(_TARGETS).map(lambda to: ("link", to))),
)
_TREES = st.lists(_ENTRY, max_size=8)
_ASKED = st.lists(st.sampled_from((*_NAMES, "..", ".", "")), min_size=1, max_size=5).map("/".join).filter(bool)


def _build(top: str, tree: list[tuple[str, tuple[str, str]]]) -> dict[str, MadeFile]:
    os.makedirs(f"{top}/ws", exist_ok=True)
    made: dict[str, MadeFile] = {f"{top}/ws": MadeFile(directory=True)}
    for where, (kind, target) in tree:
        path = f"{top}/ws/{where}"
        parent = os.path.dirname(path)
        # Only below real directories, so that both worlds get the same tree.
        if os.path.lexists(path) or os.path.realpath(parent) != parent or not os.path.isdir(parent):
            continue
        if kind == "dir":
            os.mkdir(path)
            made[path] = MadeFile(directory=True)
        elif kind == "file":
            Path(path).write_text("x")
            made[path] = MadeFile(content=b"x")
        else:
            to = target.replace("/TOP", top)
            os.symlink(to, path)
            made[path] = MadeFile(symlink=to)
    return made


@settings(max_examples=scale("resolver_trees"), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tree=_TREES, asked=st.lists(_ASKED, min_size=1, max_size=4))
def test_resolving_laws_on_random_link_trees(tree: list[tuple[str, tuple[str, str]]], asked: list[str]) -> None:
    box = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    top = f"{box}/1/2/3/4/5/6"  # what lies beside a temporary folder is everybody's, and the made world lacks it
    os.makedirs(top)
    try:
        made = _build(top, tree)
        real = Place(files=LocalFiles(), home=top, cwd=f"{top}/ws", workspace_roots=(f"{top}/ws",))
        copy = replace(real, files=MadeFiles(made, home=top, cwd=f"{top}/ws", programs=frozenset()))
        once = replace(real, files=Snapshot(LocalFiles()))
        for raw in asked:
            found = resolve_path(raw, real, base=real.cwd)
            again = resolve_path(raw, once, base=once.cwd)
            # what is above `top` is everybody's and changes meanwhile
            assert again._replace(stat=None) == found._replace(stat=None), raw
            assert (again.stat and (again.stat.dev, again.stat.ino)) == (
                found.stat and (found.stat.dev, found.stat.ino)
            )
            if found.path is not None:
                joined = os.path.join(real.cwd or "", raw)
                assert found.path == os.path.realpath(joined), raw
                assert found.exists == os.path.exists(os.path.realpath(joined)), raw
                again = resolve_path(found.path, real, base=None)
                assert (again.path, again.symlink) == (found.path, False)
                # in one view of the disk that is known without walking, and it is the same
                known = resolve_path(found.path, once, base=None, expand_tilde=False)
                assert known._replace(stat=None) == again._replace(stat=None), raw
                fact = path_fact(raw, Access.WRITE, real, base=real.cwd)
                inside = os.path.commonpath([os.path.realpath(joined), f"{top}/ws"]) == f"{top}/ws"
                assert fact.inside_workspace == inside, raw
            # the made world answers as the real one does
            twin = resolve_path(raw, copy, base=copy.cwd)
            assert (twin.path, twin.exists, twin.symlink, twin.entry) == (
                found.path,
                found.exists,
                found.symlink,
                found.entry,
            ), raw
    finally:
        shutil.rmtree(box, ignore_errors=True)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gets_an_answer(raw: str) -> None:
    place = Place(files=MadeFiles(), home="/home/user", cwd="/home/user/ws", workspace_roots=("/home/user/ws",))
    fact = path_fact(raw, Access.WRITE, place, base=place.cwd, recursive=True)
    assert fact.resolved is None or fact.resolved.startswith("/")
    if fact.inside_workspace:
        assert fact.resolved is not None
        assert (fact.resolved + "/").startswith("/home/user/ws/")


# --- the real disk ---------------------------------------------------------------------------------------------------


def test_only_regular_files_are_opened(top: str) -> None:
    files = LocalFiles()
    os.mkfifo(f"{top}/fifo")
    Path(f"{top}/file").write_bytes(b"12345")
    os.symlink("file", f"{top}/link")
    for name in ("fifo", "link", "missing", "."):
        with pytest.raises(FileSystemUnknownError):
            files.read(f"{top}/{name}", 10)
    with pytest.raises(FileSystemUnknownError):
        files.read("/dev/zero", 10)
    assert files.read(f"{top}/file", 5) == b"12345"
    assert files.read(f"{top}/file", 4) is None
    assert files.listdir(top, 3) == ("fifo", "file", "link")
    with pytest.raises(FileSystemUnknownError):
        files.listdir(top, 2)
    assert files.lstat(f"{top}/file/x") is None
    with pytest.raises(FileSystemUnknownError):
        files.lstat(f"{top}/" + "n" * 300)
    stat = files.lstat(f"{top}/file")
    assert stat is not None
    assert not files.folds(top, files.lstat(top), "file", stat)
    os.link(f"{top}/file", f"{top}/FILE")
    assert files.folds(top, files.lstat(top), "file", stat)


def test_protected_roots_by_every_name(top: str) -> None:
    os.makedirs(f"{top}/home/.shield/keys")
    place = _place(top, protected=Protected(state=(f"{top}/home/.shield",), code=(f"{top}/code",)))
    os.symlink(f"{top}/home/.shield", f"{top}/home/ws/innocent")
    for raw in ("~/.shield", "~/.shield/keys/x", "innocent/keys", "~/.SHIELD/x", f"file://{top}/home/.shield/x"):
        assert "shield_state" in path_fact(raw, Access.READ, place, base=place.cwd).categories, raw
    assert "shield_state" not in path_fact("~/.shielded", Access.READ, place, base=place.cwd).categories
    covers = path_fact(f"{top}", Access.DELETE, place, base=place.cwd, recursive=True).covers
    assert {"shield_state", "shield_code"} <= covers
    assert not path_fact(f"{top}", Access.DELETE, place, base=place.cwd).covers
