"""Packing and unpacking: what goes in comes out, and what no archive may bring does not arrive."""

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile

import pytest

from agentctl.errors import CancelledTurnError, ChangedError, ToolError
from agentctl.tools.members import MAX_ENTRIES, MAX_TOTAL
from agentctl.tools.stop import Stop

ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".zip")


def tar(*members, mode="w", **options):
    """A tar archive of (name, content) or of TarInfo values."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, **options) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member, io.BytesIO(b"\0" * member.size))
                continue
            name, content = member
            info = tarfile.TarInfo(name)
            if content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def special(kind, name, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_packed_is_unpacked_again(shop, ending):
    source = shop.workspace / "src"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "a.txt").write_text("née\n" * 1000)
    (source / "sub" / "tool").write_bytes(bytes(range(256)))
    (source / "sub" / "tool").chmod(0o755)
    (source / ("l" * 120)).write_text("long name")
    packed = shop.do("archive_create", path=f"out{ending}", sources=["src"])
    assert packed.note.startswith("packed 3 files")
    done = shop.do("archive_extract", path=f"out{ending}", destination="new")
    assert done.note.startswith("unpacked 3 files")
    assert "src/sub/tool" in done.parts[0].text
    assert (shop.workspace / "new/src/a.txt").read_text() == "née\n" * 1000
    assert (shop.workspace / "new/src/sub/tool").read_bytes() == bytes(range(256))
    assert (shop.workspace / "new/src/sub/tool").stat().st_mode & 0o111
    assert not (shop.workspace / "new/src/a.txt").stat().st_mode & 0o111
    assert (shop.workspace / "new/src/sub/empty").is_dir()
    assert not [name for name in shop.names() if ".agentctl-" in name]


def test_the_workspace_is_packed_without_the_archive_itself_links_devices_and_shared_files(shop, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("SECRET")
    (shop.workspace / "a.txt").write_text("A")
    (shop.workspace / "link").symlink_to(outside)
    os.link(outside, shop.workspace / "twin")
    os.mkfifo(shop.workspace / "fifo")
    (shop.workspace / "all.tar").write_text("an older archive")
    output = shop.do("archive_create", path="all.tar")
    assert "3 links, devices and files with further names were left out" in output.note
    with tarfile.open(shop.workspace / "all.tar") as archive:
        assert archive.getnames() == ["a.txt"]
        member = archive.getmember("a.txt")
        assert (member.uname, member.gname, member.uid, member.gid) == ("", "", 0, 0)
    assert b"SECRET" not in (shop.workspace / "all.tar").read_bytes()


def test_other_programs_read_what_is_packed(shop):
    (shop.workspace / "a").mkdir()
    (shop.workspace / "a" / "b.txt").write_text("B")
    shop.do("archive_create", path="x.zip", sources="a")
    with zipfile.ZipFile(shop.workspace / "x.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["a/", "a/b.txt"]
    shop.do("archive_create", path="x.tar.xz", sources=["a/b.txt"])
    with tarfile.open(shop.workspace / "x.tar.xz") as archive:
        assert archive.getnames() == ["a/b.txt"]


@pytest.mark.parametrize("path", ["x.rar", "x", "x.tar.zst", "x.7z"])
def test_other_formats_are_not_guessed(shop, path):
    (shop.workspace / "a.txt").write_text("A")
    with pytest.raises(ToolError, match="names no format"):
        shop.do("archive_create", path=path, sources="a.txt")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_archives_of_other_programs_are_read(shop, pack):
    raw = tar(("./", None), ("./a/b.txt", b"B" * 700), ("c" * 200, b"C"), format=tarfile.GNU_FORMAT)
    (shop.workspace / "x.tar").write_bytes(pack(raw))
    shop.do("archive_extract", path="x.tar", destination="out")
    assert (shop.workspace / "out/a/b.txt").read_bytes() == b"B" * 700
    assert (shop.workspace / "out" / ("c" * 200)).read_bytes() == b"C"


def test_streams_packed_one_after_the_other_are_one_archive(shop):
    raw = tar(("a.txt", b"A" * 5000))
    (shop.workspace / "x.tgz").write_bytes(gzip.compress(raw[:700]) + gzip.compress(raw[700:]) + bytes(100))
    shop.do("archive_extract", path="x.tgz", destination="out")
    assert (shop.workspace / "out/a.txt").read_bytes() == b"A" * 5000


@pytest.mark.parametrize(
    "name",
    [
        "../a",
        "a/../../b",
        "/etc/a",
        "//a",
        "a//b",
        "a/./b",
        "..",
        "a\\b",
        "..\\a",
        "C:a",
        "c:/a",
        "a ",
        "a.",
        "a./b",
        " a",
        "a\nb",
        "a\x7fb",
        "a\u202eb",
        "a\u200db",
        "a\u2028b",
        "x" * 256,
        "/".join("a" * 40),
        "é" * 200,
    ],
)
@pytest.mark.parametrize("make", [tar, zipped])
def test_names_that_lead_elsewhere_are_refused(shop, name, make):
    (shop.workspace / "x").write_bytes(make(("ok.txt", b"ok"), (name, b"bad")))
    with pytest.raises(ToolError, match="nothing was unpacked"):
        shop.do("archive_extract", path="x", destination="out")
    assert shop.names() == ["x"]


@pytest.mark.parametrize(
    "name",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        "sub/.git/config",
        "git~1/config",
        ".ｇit/config",
        ".shield.yaml",
        ".Shield.YAML",
        ".claude/settings.json",
        ".cursorrules",
        ".cursor/hooks.json",
        ".vscode/tasks.json",
        ".mcp.json",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".envrc",
        ".env",
        ".npmrc",
        ".bashrc",
        ".husky/pre-commit",
        ".ssh/authorized_keys",
        "authorized_keys",
        ".agentctl-0011223344556677.tmp",
        "AGENTS.md",
        "docs/agents.md",
        "CLAUDE.md",
        "MEMORY.md",
        "SOUL.md",
        "lib/evil.pth",
        "sitecustomize.py",
    ],
)
@pytest.mark.parametrize("make", [tar, zipped])
def test_guarded_names_are_refused_wherever_they_stand(shop, name, make):
    (shop.workspace / "x").write_bytes(make(("ok.txt", b"ok"), (name, b"bad")))
    with pytest.raises(ToolError, match="nothing was unpacked"):
        shop.do("archive_extract", path="x", destination="out")
    assert shop.names() == ["x"]


@pytest.mark.parametrize("destination", [".git", ".git/hooks", "sub/.claude", ".github/workflows"])
def test_a_guarded_destination_is_refused(shop, destination):
    (shop.workspace / destination).mkdir(parents=True)
    before = shop.names()
    (shop.workspace / "x").write_bytes(tar(("pre-commit", b"bad")))
    with pytest.raises(ToolError, match="steer programs"):
        shop.do("archive_extract", path="x", destination=destination)
    assert shop.names() == sorted([*before, "x"])


@pytest.mark.parametrize("name", [".gitignore", "src/.gitkeep", ".editorconfig", ".env.example", "README.md", "a.b.c"])
def test_harmless_names_are_unpacked(shop, name):
    (shop.workspace / "x").write_bytes(tar((name, b"ok")))
    shop.do("archive_extract", path="x", destination="out")
    assert (shop.workspace / "out" / name).read_bytes() == b"ok"


@pytest.mark.parametrize(
    "names",
    [
        ("a.txt", "a.txt"),
        ("a.txt", "A.TXT"),
        ("caf\u00e9", "cafe\u0301"),
        ("stra\u00dfe", "STRASSE"),
        ("\ufb01le", "file"),
        ("a", "a/b"),
        ("a/b", "a"),
        ("A/b", "a/c"),
        ("a/b/c", "a/B/d"),
        ("K", "\u212a"),
    ],
)
@pytest.mark.parametrize("make", [tar, zipped])
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_two_entries_for_one_place_are_refused(shop, names, make):
    (shop.workspace / "x").write_bytes(make(*((name, b"x") for name in names)))
    with pytest.raises(ToolError, match="nothing was unpacked"):
        shop.do("archive_extract", path="x", destination="out")
    assert shop.names() == ["x"]


def test_links_devices_and_fifos_are_left_out_and_told_of(shop, tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("canary")
    raw = tar(
        ("ok.txt", b"ok"),
        special(tarfile.SYMTYPE, "out", str(tmp_path)),
        special(tarfile.SYMTYPE, "passwd", "/etc/passwd"),
        special(tarfile.LNKTYPE, "hard", str(canary)),
        special(tarfile.CHRTYPE, "null"),
        special(tarfile.BLKTYPE, "disk"),
        special(tarfile.FIFOTYPE, "fifo"),
    )
    (shop.workspace / "x").write_bytes(raw)
    output = shop.do("archive_extract", path="x", destination="out")
    assert "left out: 3 links, 3 device or FIFOs" in output.note
    assert shop.names() == ["out", "out/ok.txt", "x"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_and_then_a_file_behind_it_stays_inside(shop, tmp_path, kind):
    """CVE-2001-1267 and all that followed: the link is never made, so the name is a directory of ours."""
    raw = tar(special(kind, "out", str(tmp_path)), ("out/evil", b"bad"))
    (shop.workspace / "x").write_bytes(raw)
    shop.do("archive_extract", path="x", destination="new")
    assert os.listdir(tmp_path) == []
    assert (shop.workspace / "new/out/evil").read_bytes() == b"bad"


def test_a_zip_link_is_left_out(shop, tmp_path):
    link = zipfile.ZipInfo("out")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    (shop.workspace / "x").write_bytes(zipped((link, str(tmp_path)), ("ok", b"ok")))
    assert "left out: 1 link" in shop.do("archive_extract", path="x", destination="new").note
    assert shop.names() == ["new", "new/ok", "x"]


def test_set_id_bits_and_foreign_owners_do_not_arrive(shop):
    info = tarfile.TarInfo("tool")
    info.mode, info.size, info.uid, info.gid = 0o6755, 2, 4242, 4242
    (shop.workspace / "x").write_bytes(tar(info))
    shop.do("archive_extract", path="x", destination="new")
    found = (shop.workspace / "new/tool").stat()
    assert not found.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX)
    assert not found.st_mode & 0o022, "the umask holds"
    assert found.st_uid == os.getuid()


@pytest.mark.parametrize("existing", ["file", "directory", "link", "dangling"])
def test_nothing_that_exists_is_replaced_or_filled(shop, tmp_path, existing):
    place = shop.workspace / "a"
    match existing:
        case "file":
            place.write_text("mine")
        case "directory":
            place.mkdir()
        case "link":
            place.symlink_to(tmp_path)
        case "dangling":
            place.symlink_to("nowhere")
    before = shop.names()
    (shop.workspace / "x").write_bytes(tar(("b.txt", b"B"), ("a/c.txt", b"C")))
    with pytest.raises(ToolError, match="exists"):
        shop.do("archive_extract", path="x")
    assert shop.names() == sorted([*before, "x"])
    assert os.listdir(tmp_path) == []


def test_into_a_directory_that_is_there(shop):
    (shop.workspace / "keep.txt").write_text("mine")
    (shop.workspace / "x").write_bytes(tar(("a/b.txt", b"B"), ("c.txt", b"C")))
    shop.do("archive_extract", path="x")
    assert shop.names() == ["a", "a/b.txt", "c.txt", "keep.txt", "x"]


# --- bombs -----------------------------------------------------------------------------------------------------------


def test_a_small_archive_that_unpacks_to_much_is_refused(shop):
    bomb = tar(("zeros", bytes(40 << 20)))
    for name, raw in (
        ("x.tgz", gzip.compress(bomb)),
        ("x.tbz", bz2.compress(bomb)),
        ("x.txz", lzma.compress(bomb, preset=0)),
        ("x.zip", zipped(("zeros", bytes(40 << 20)))),
    ):
        (shop.workspace / name).write_bytes(raw)
        with pytest.raises(ToolError, match="would unpack to more"):
            shop.do("archive_extract", path=name, destination="out")
    assert not (shop.workspace / "out").exists()


def test_sizes_that_are_only_stated_are_not_believed(shop):
    huge = tarfile.TarInfo("huge")
    huge.size = 8 << 60
    header = huge.tobuf(format=tarfile.GNU_FORMAT)
    (shop.workspace / "x").write_bytes(header + bytes(1024))
    with pytest.raises(ToolError, match="cut off"):
        shop.do("archive_extract", path="x", destination="out")
    honest = bytearray(zipped(("a", b"hello"), method=zipfile.ZIP_STORED))
    at = honest.rfind(b"PK\x01\x02")
    for size in (4, 6, MAX_TOTAL + 1):
        struct.pack_into("<L", honest, at + 24, size)
        (shop.workspace / "x").write_bytes(honest)
        with pytest.raises(ToolError):
            shop.do("archive_extract", path="x", destination="out")
    assert shop.names() == ["x"]


def test_too_many_entries_are_refused(shop):
    raw = tar(*((f"d{number}", None) for number in range(MAX_ENTRIES + 1)))
    (shop.workspace / "x").write_bytes(gzip.compress(raw))
    with pytest.raises(ToolError, match=f"more than {MAX_ENTRIES} entries"):
        shop.do("archive_extract", path="x", destination="out")
    assert shop.names() == ["x"]


def test_an_xz_that_asks_for_gigabytes_is_refused(shop):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    raw = bytearray(lzma.compress(tar(("a", b"A")), filters=[{**filters[0], "dict_size": 1 << 20}]))
    # the dictionary size stands in the block header: rewrite it and its checksum
    header = raw[12 : 12 + (raw[12] + 1) * 4]
    place = header.index(0x21)  # LZMA2's id, then one byte of length, then the size
    header[place + 2] = 36  # 1 GiB
    header[-4:] = struct.pack("<L", __import__("zlib").crc32(bytes(header[:-4])))
    raw[12 : 12 + len(header)] = header
    (shop.workspace / "x").write_bytes(raw)
    with pytest.raises(ToolError, match="memory"):
        shop.do("archive_extract", path="x", destination="out")


def test_many_empty_streams_end(shop):
    (shop.workspace / "x").write_bytes(bz2.compress(b"") * 20_000)
    with pytest.raises(ToolError, match="too many pieces"):
        shop.do("archive_extract", path="x", destination="out")


def test_sparse_files_are_refused(shop):
    for kind in (b"S", b"M", b"V", b"D", b"Q"):
        info = tarfile.TarInfo("a")
        info.type = kind
        (shop.workspace / "x").write_bytes(info.tobuf() + bytes(1024))
        with pytest.raises(ToolError, match="sparse"):
            shop.do("archive_extract", path="x", destination="out")
    info = tarfile.TarInfo("a")
    info.pax_headers = {"GNU.sparse.realsize": "99999999999"}
    (shop.workspace / "x").write_bytes(info.tobuf(format=tarfile.PAX_FORMAT) + bytes(1024))
    with pytest.raises(ToolError, match="sparse"):
        shop.do("archive_extract", path="x", destination="out")


def test_a_header_cannot_send_the_reader_back(shop):
    """CVE-2025-8194: a negative size made Python's own reader go round for ever."""
    for field in (b"\xff" * 12, b"\xff" * 11 + b"\0", b"-0000000200\0"):
        header = bytearray(tarfile.TarInfo("a").tobuf(format=tarfile.GNU_FORMAT))
        header[124:136] = field
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header[:512])
        (shop.workspace / "x").write_bytes(bytes(header) + bytes(1024))
        with pytest.raises(ToolError):
            shop.do("archive_extract", path="x", destination="out")


def test_zip_entries_that_share_bytes_are_refused(shop):
    """The overlap of https://www.bamsoftware.com/hacks/zipbomb/: two directory entries for one local one."""
    raw = zipped(("a", b"hello" * 100))
    at = raw.rfind(b"PK\x01\x02")
    end = raw.rfind(b"PK\x05\x06")
    entry = raw[at:end]
    tail = bytearray(raw[end:])
    struct.pack_into("<HHL", tail, 8, 2, 2, 2 * len(entry))
    (shop.workspace / "x").write_bytes(raw[:at] + entry + entry + tail)
    with pytest.raises(ToolError, match="share the same bytes"):
        shop.do("archive_extract", path="x", destination="out")


@pytest.mark.parametrize("change", ["name", "flags", "method", "crc", "cut", "comment", "disk", "zip64"])
def test_a_zip_that_contradicts_itself_is_refused(shop, change):
    raw = bytearray(zipped(("abc.txt", b"hello" * 100)))
    central, end = raw.rfind(b"PK\x01\x02"), raw.rfind(b"PK\x05\x06")
    match change:
        case "name":
            raw[central + 46] = ord("x")
        case "flags":
            raw[central + 8] |= 1
        case "method":
            raw[central + 10] = 14
        case "crc":
            raw[central + 16] ^= 1
        case "cut":
            del raw[end - 10 :]
        case "comment":
            raw += b"PK\x05\x06"
        case "disk":
            raw[end + 4] = 1
        case "zip64":
            raw[end + 16 : end + 20] = b"\xff" * 4
    (shop.workspace / "x").write_bytes(raw)
    with pytest.raises(ToolError):
        shop.do("archive_extract", path="x", destination="out")
    assert shop.names() == ["x"]


@pytest.mark.parametrize("seed", range(20))
def test_damaged_archives_end_in_an_error_or_in_files_below_the_destination(shop, seed):
    import random

    random_ = random.Random(seed)
    made = [
        tar(("a/b.txt", b"B" * 3000), ("c" * 150, b"C"), format=tarfile.PAX_FORMAT),
        gzip.compress(tar(("a/b.txt", b"B" * 3000))),
        zipped(("a/b.txt", b"B" * 3000), ("c", b"C")),
        lzma.compress(tar(("a", b"A" * 600)), preset=0),
    ]
    for number in range(60):
        raw = bytearray(made[number % len(made)])
        for _ in range(random_.randint(1, 6)):
            raw[random_.randrange(len(raw))] = random_.randrange(256)
        if random_.random() < 0.2:
            del raw[random_.randrange(len(raw)) :]
        (shop.workspace / "x").write_bytes(raw)
        try:
            shop.do("archive_extract", path="x", destination=f"out{number}")
        except ToolError:
            assert not (shop.workspace / f"out{number}").exists()
    assert not [name for name in shop.names() if ".agentctl-" in name]
    assert {name.partition("/")[0][:3] for name in shop.names()} <= {"x", "out"}
    assert os.listdir(shop.workspace.parent) == ["ws"]


@pytest.mark.parametrize(
    "raw", [b"", b"x", b"hello world" * 100, bytes(100), b"PK\x05\x06", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00"]
)
def test_what_is_no_archive_is_said_to_be_none(shop, raw):
    (shop.workspace / "x").write_bytes(raw)
    with pytest.raises(ToolError):
        shop.do("archive_extract", path="x", destination="out")
    assert shop.names() == ["x"]


# --- between receipt and use -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [100, 3 << 20])
def test_an_archive_rewritten_after_the_receipt_is_not_unpacked(shop, size):
    archive = shop.workspace / "x"
    archive.write_bytes(tar(("good", os.urandom(size))))
    warrant = shop.warrant("archive_extract", path="x", destination="out")
    with open(archive, "r+b") as file:  # the same file, other bytes
        file.write(tar(("evil", os.urandom(size)))[:1024])
    with pytest.raises(ChangedError):
        shop.run(warrant)
    assert shop.names() == ["x"]


@pytest.mark.parametrize("swap", ["link", "directory", "gone", "file"])
def test_a_destination_swapped_after_the_receipt_is_not_filled(shop, tmp_path, swap):
    (shop.workspace / "x").write_bytes(tar(("a", b"A")))
    destination = shop.workspace / "out"
    destination.mkdir()
    warrant = shop.warrant("archive_extract", path="x", destination="out")
    destination.rename(shop.workspace / "old")
    match swap:
        case "link":
            destination.symlink_to(tmp_path)
        case "directory":
            destination.mkdir()
        case "file":
            destination.write_text("mine")
    with pytest.raises(ChangedError):
        shop.run(warrant)
    assert os.listdir(tmp_path) == []
    assert os.listdir(shop.workspace / "old") == []


@pytest.mark.parametrize("swap", ["link", "directory", "fifo"])
def test_a_source_swapped_after_the_receipt_is_not_packed(shop, tmp_path, swap):
    (tmp_path / "a.txt").write_text("SECRET")
    source = shop.workspace / "src"
    source.mkdir()
    (source / "a.txt").write_text("harmless")
    warrant = shop.warrant("archive_create", path="x.tar", sources=["src"])
    source.rename(shop.workspace / "old")
    match swap:
        case "link":
            source.symlink_to(tmp_path)
        case "directory":
            source.mkdir()
            (source / "a.txt").write_text("SECRET")
        case "fifo":
            os.mkfifo(source)
    with pytest.raises(ChangedError):
        shop.run(warrant)
    assert not (shop.workspace / "x.tar").exists()


def test_a_stop_leaves_nothing_behind(shop):
    class Soon(Stop):
        left = 40

        def check(self):
            self.left -= 1
            if self.left == 0:
                self.set()
            super().check()

    (shop.workspace / "x").write_bytes(tar(*((f"d/{number}", b"x") for number in range(100))))
    before = shop.names()
    warrant = shop.warrant("archive_extract", path="x", destination="out")
    for left in (5, 150, 202):
        stop = Soon()
        stop.left = left
        with pytest.raises(CancelledTurnError):
            shop.run(warrant, stop)
        assert shop.names() == before


def test_no_descriptor_is_left_open_by_archives(shop):
    (shop.workspace / "x").write_bytes(tar(("a/b/c", b"C")))
    (shop.workspace / "bad").write_bytes(tar(("../c", b"C")))
    before = set(os.listdir("/proc/self/fd"))
    shop.do("archive_extract", path="x", destination="one")
    shop.do("archive_extract", path="x")
    with pytest.raises(ToolError):
        shop.do("archive_extract", path="x")
    with pytest.raises(ToolError):
        shop.do("archive_extract", path="bad")
    shop.do("archive_create", path="y.zip", sources=["one"])
    assert set(os.listdir("/proc/self/fd")) == before
