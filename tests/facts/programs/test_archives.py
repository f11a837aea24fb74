"""What an archive would put on the disk, as far as it is understood: held against what tar and unzip do with it."""

import bz2
import gzip
import io
import lzma
import os
import random
import shutil
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scale import scale, seed
from shell_world import WS, facts, place
from shield.facts.made import MadeFile
from shield.facts.programs.compressed import Compression, expanded
from shield.facts.programs.members import Member, UnclearArchiveError
from shield.facts.programs.tarballs import tar_members
from shield.facts.programs.zipballs import zip_members
from shield.facts.shell import analyse
from shield.facts.snapshot import Snapshot
from shield.types import Access, Operation, RunsCode

TAR = pytest.mark.skipif(shutil.which("tar") is None, reason="tar is not installed")
UNZIP = pytest.mark.skipif(shutil.which("unzip") is None, reason="unzip is not installed")
LIMIT = 1 << 20


def entry(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def tar(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT, end: bool = True) -> bytes:
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w", format=form) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    content = found.getvalue()
    return content if end else content.rstrip(b"\0").ljust(-(-len(content.rstrip(b"\0")) // 512) * 512, b"\0")


def block(content: bytes, at: int, start: int, data: bytes) -> bytes:
    """The archive with `data` in the header at `at`, its checksum made right again."""
    header = bytearray(content[at : at + 512])
    header[start : start + len(data)] = data
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return content[:at] + bytes(header) + content[at + 512 :]


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED, mode: int = 0o100644) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", method) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            info.create_system, info.external_attr, info.compress_type = 3, mode << 16, method
            archive.writestr(info, data)
    return found.getvalue()


def named(members: tuple[Member, ...]) -> set[str]:
    return {member.name for member in members}


PLAIN = (entry("src/a.py", b"x\n"), entry("b.txt", b"y" * 700), entry("d", type=tarfile.DIRTYPE, mode=0o755))
LONG = "xy/" * 40 + "long.txt"


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_form_of_tar_is_read(form):
    assert named(tar_members(tar(*PLAIN, form=form))) == {"src/a.py", "b.txt", "d"}
    assert LONG in named(tar_members(tar(entry(LONG, b"x"), form=form)))


def test_an_archive_without_its_end_is_read():
    assert named(tar_members(tar(*PLAIN, end=False))) == {"src/a.py", "b.txt", "d"}


def test_a_name_of_each_header_counts():
    """Some programs take no notice of pax headers: the name that stands there otherwise counts, too."""
    content = tar(entry("é.txt", b"x"))
    plain = block(content, 1024, 0, b"other.txt".ljust(100, b"\0"))
    assert named(tar_members(plain)) == {"é.txt", "other.txt"}


def _as(kind: bytes) -> Callable[[], bytes]:
    return lambda: tar(entry("a.txt", type=kind, linkname="b", size=0))


def test_a_long_name_of_old_gnu_takes_the_place_of_the_other():
    content = tar(entry("é" * 80, b"x"), form=tarfile.GNU_FORMAT)
    assert named(tar_members(block(content, 1024, 0, b"/etc/x".ljust(100, b"\0")))) == {"é" * 80}


UNCLEAR: dict[str, Callable[[], bytes]] = {
    "symbolic link": _as(tarfile.SYMTYPE),
    "hard link": _as(tarfile.LNKTYPE),
    "device": _as(tarfile.CHRTYPE),
    "block device": _as(tarfile.BLKTYPE),
    "pipe": _as(tarfile.FIFOTYPE),
    "contiguous": _as(tarfile.CONTTYPE),
    "sparse": _as(tarfile.GNUTYPE_SPARSE),
    "volume": _as(b"V"),
    "link name of a plain file": lambda: block(tar(entry("a.txt")), 0, 157, b"b"),
    "absolute": lambda: tar(entry("/a.txt", b"x")),
    "above": lambda: tar(entry("../a.txt", b"x")),
    "above within": lambda: tar(entry("a/../../b.txt", b"x")),
    "above at the end": lambda: tar(entry("a/..", type=tarfile.DIRTYPE)),
    "dot as a file": lambda: tar(entry("a/.", b"x")),
    "backslash": lambda: tar(entry("a\\b", b"x")),
    "control character": lambda: tar(entry("a\nb", b"x")),
    "direction mark": lambda: tar(entry("a\u202eb", b"x")),
    "no UTF-8": lambda: block(tar(entry("aaa")), 0, 0, b"\xff"),
    "set-user-ID": lambda: tar(entry("a", b"x", mode=0o4755)),
    "sticky": lambda: tar(entry("d", type=tarfile.DIRTYPE, mode=0o1777)),
    "long part": lambda: tar(entry("x" * 250, b"x")),
    "nothing": lambda: tar(),
    "empty": lambda: b"",
    "text": lambda: b"x" * 1024,
    "checksum": lambda: b"b" + tar(entry("a", b"x"))[1:],
    "cut off": lambda: tar(entry("a", b"x" * 600))[:1000],
    "cut header": lambda: tar(entry("a", b"x"))[:300],
    "second archive": lambda: tar(*PLAIN) + tar(entry(".envrc", b"x")),
    "zero block between": lambda: tar(*PLAIN, end=False) + bytes(512) + tar(entry(".envrc", b"x")),
    "name of the old format": lambda: block(tar(entry("a", b"x"), form=tarfile.GNU_FORMAT), 0, 345, b"/etc"),
    "no magic": lambda: block(tar(entry("a", b"x")), 0, 257, bytes(8)),
    "binary size": lambda: block(tar(entry("a", b"x")), 0, 124, b"\x80" + bytes(10) + b"\x01"),
    "other pax name": lambda: tar(entry("é", b"x", pax_headers={"GNU.sparse.name": "z"})),
    "pax link": lambda: tar(entry("é", b"x", pax_headers={"linkpath": "z"})),
    "pax size": lambda: tar(entry("é", b"x", pax_headers={"size": "4"})),
    "pax charset": lambda: tar(entry("é", b"x", pax_headers={"hdrcharset": "BINARY"})),
    "pax path above": lambda: tar(entry("a", b"x", pax_headers={"path": "../é"})),
    "pax path absolute": lambda: tar(entry("a", b"x", pax_headers={"path": "/é"})),
    "pax header before the name of a directory with data": lambda: block(
        tar(entry("é", b"x" * 512)), 1024, 0, b"a/".ljust(9, b"\0")
    ),
    "two names": lambda: (
        tar(entry("é" * 80), form=tarfile.GNU_FORMAT)[:1024] + tar(entry("é" * 80), form=tarfile.GNU_FORMAT)
    ),
    "name of nothing": lambda: tar(entry("é" * 80), form=tarfile.GNU_FORMAT)[:1024],
    "directory with data": lambda: block(tar(entry("a", b"x" * 512)), 0, 156, b"5"),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_is_more_than_files_and_directories_is_unclear(name):
    with pytest.raises(UnclearArchiveError):
        tar_members(UNCLEAR[name]())


def test_a_pax_header_may_tell_times_and_no_name():
    content = tar(entry("a", b"x", pax_headers={"mtime": "1.5", "comment": "x"}))
    assert named(tar_members(content)) == {"a"}


def test_a_global_header_may_only_comment():
    found = io.BytesIO()
    for headers, fine in (({"comment": "1234"}, True), ({"path": "z"}, False), ({"mtime": "1"}, False)):
        found = io.BytesIO()
        with tarfile.open(fileobj=found, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive:
            archive.addfile(*_file("a"))
        if fine:
            assert named(tar_members(found.getvalue())) == {"a"}
        else:
            with pytest.raises(UnclearArchiveError):
                tar_members(found.getvalue())


def _file(name: str) -> tuple[tarfile.TarInfo, io.BytesIO]:
    return entry(name)[0], io.BytesIO()


@pytest.mark.parametrize(
    ("name", "strip", "left"),
    [
        ("a/b/c", 0, {"a/b/c"}),
        ("a/b/c", 2, {"c"}),
        ("a", 1, set()),
        ("./a/b", 1, {"a/b", "b"}),
        (".", 0, set()),
    ],
)
def test_parts_that_are_taken_off(name, strip, left):
    assert Member(name).places(strip) == left


# --- compression -----------------------------------------------------------------------------------------------------

PACK = {Compression.GZIP: gzip.compress, Compression.BZIP2: bz2.compress, Compression.XZ: lzma.compress}


@pytest.mark.parametrize("form", Compression)
def test_streams_are_expanded_one_after_the_other(form):
    pack = PACK[form]
    assert Compression.of(pack(b"x")) is form
    assert expanded(pack(b"x" * 5000) + pack(b"y"), form, LIMIT) == b"x" * 5000 + b"y"
    assert expanded(pack(b"x" * LIMIT), form, LIMIT) == b"x" * LIMIT


@pytest.mark.parametrize("form", Compression)
def test_what_is_behind_a_stream_or_missing_is_not_expanded(form):
    pack = PACK[form]
    whole = pack(random.Random(1).randbytes(500))
    for content in (whole + b"x", whole + bytes(4), whole[:-1], whole[:20], whole[:9] + b"\0\0\0" + whole[12:]):
        assert expanded(content, form, LIMIT) is None
    assert expanded(pack(bytes(LIMIT + 1)), form, LIMIT) is None  # a bomb
    assert expanded(pack(bytes(LIMIT)) + pack(b"x"), form, LIMIT) is None
    assert expanded(pack(b"") * 65, form, LIMIT) is None
    other = next(each for each in Compression if each is not form)
    assert expanded(whole + PACK[other](b"x"), form, LIMIT) is None


def test_a_gzip_stream_in_parts_is_not_expanded():
    whole = gzip.compress(b"x")
    assert expanded(whole[:3] + b"\x20" + whole[4:], Compression.GZIP, LIMIT) is None


def test_a_dictionary_that_takes_too_much_memory_is_refused():
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 256 << 20, "preset": 0}]
    assert expanded(lzma.compress(b"x", filters=filters), Compression.XZ, LIMIT) is None


# --- zip -------------------------------------------------------------------------------------------------------------


def test_members_of_a_zip_are_read():
    assert named(zip_members(zipped(("src/a.py", b"x"), ("d/", b"")))) == {"src/a.py", "d"}
    assert named(zip_members(zipped(("a", b"x"), method=zipfile.ZIP_STORED))) == {"a"}


def test_a_zip_that_was_written_to_a_pipe_is_read():
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override] # as zipfile calls it
            self.content += bytes(data)
            return len(data)

    found = Pipe()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload] # any writer does
        archive.writestr("a.txt", b"x" * 50)
    assert named(zip_members(found.content)) == {"a.txt"}


def _swapped(content: bytes, old: bytes, new: bytes, which: int) -> bytes:
    """The archive with the `which`-th `old` replaced."""
    parts = content.split(old)
    return old.join(parts[: which + 1]) + new + old.join(parts[which + 1 :])


def _extra(kind: int, data: bytes) -> bytes:
    info = zipfile.ZipInfo("a.txt")
    info.extra = struct.pack("<2H", kind, len(data)) + data
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr(info, b"x")
    return found.getvalue()


ONE = zipped(("a.txt", b"x"))
UNCLEAR_ZIPS: dict[str, Callable[[], bytes]] = {
    "symbolic link": lambda: zipped(("a", b"/etc"), mode=0o120777),
    "device": lambda: zipped(("a", b""), mode=0o020666),
    "set-user-ID": lambda: zipped(("a", b""), mode=0o104755),
    "directory without slash": lambda: zipped(("a", b""), mode=0o040755),
    "absolute": lambda: zipped(("/a", b"")),
    "above": lambda: zipped(("../a", b"")),
    "backslash": lambda: _swapped(_swapped(zipped(("a/b", b"")), b"a/b", b"a\\b", 0), b"a/b", b"a\\b", 0),
    "version": lambda: zipped((".envrc;1", b"")),
    "no ASCII": lambda: zipped(("é", b"")),
    "control character": lambda: zipped(("a\x07", b"")),
    "other name in front of the member": lambda: _swapped(ONE, b"a.txt", b"b.txt", 0),
    "other name in the directory": lambda: _swapped(ONE, b"a.txt", b"b.txt", 1),
    "in front": lambda: b"#!/bin/sh\n" + ONE,
    "behind": lambda: ONE + b"x",
    "twice": lambda: ONE + ONE,
    "unicode path": lambda: _extra(0x7075, b"\x01" + struct.pack("<L", zlib.crc32(b"a.txt")) + b".envrc"),
    "zip64": lambda: _extra(0x0001, bytes(16)),
    "unknown extra field": lambda: _extra(0x9999, b"x"),
    "cut extra field": lambda: _extra(0x5455, b"x").replace(b"UT\x01\x00", b"UT\x09\x00"),
    "encrypted": lambda: _swapped(_swapped(ONE, b"\x14\0\0\0\x08\0", b"\x14\0\1\0\x08\0", 0), b"\x14\0\0\0\x08\0", b"\x14\0\1\0\x08\0", 0),
    "nothing": lambda: zipped(),
    "empty": lambda: b"",
    "cut off": lambda: ONE[:-10],
    "no directory": lambda: ONE[: ONE.index(b"PK\x01\x02")],
}  # fmt: skip


@pytest.mark.parametrize("name", UNCLEAR_ZIPS)
def test_a_zip_that_can_be_read_in_two_ways_is_unclear(name):
    assert zip_members(ONE)
    with pytest.raises(UnclearArchiveError):
        zip_members(UNCLEAR_ZIPS[name]())


# --- against the programs --------------------------------------------------------------------------------------------

_NAMES = (
    "a", "b.txt", "src/a.py", "./x/y", "x//y", ".git/hooks/p", "d/", "./", "../z", "/tmp/never", "a/../b", "x/./y", "a b", "é", "~",
    "-x", "*", "x" * 99, "x" * 101, "y/" * 70 + "z", "a;1", "a\\b", "A", "$(id)", "x:y", "a/", "..", "...", ".envrc", "#U0041",
)  # fmt: skip
_KINDS = (tarfile.REGTYPE,) * 8 + (
    tarfile.AREGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    b"7",
    b"A",
    b"L",
    b"x",
)


def _random_tar(dice: random.Random) -> bytes:
    entries = []
    for _ in range(dice.randint(1, 4)):
        kind = dice.choice(_KINDS)
        data = dice.randbytes(dice.choice((0, 3, 512, 700))) if kind in (tarfile.REGTYPE, b"7", b"A") else b""
        pax = {} if dice.random() < 0.8 else {dice.choice(("path", "mtime", "linkpath", "x.y")): dice.choice(_NAMES)}
        fields = {"type": kind, "linkname": dice.choice(("", "", "../z", "/tmp")), "pax_headers": pax}
        entries.append(entry(dice.choice(_NAMES), data, **fields))
    form = dice.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    try:
        content = tar(*entries, form=form, end=dice.random() < 0.8)
    except ValueError:
        return b""
    blocks = len(content) // 512
    while dice.random() < 0.3 and blocks:
        at = 512 * dice.randrange(blocks)
        change = dice.choice((b"5", b"0", b"L", b"x", b"g", b"\0", b"2", b"S"))
        start, data = dice.choice(
            ((156, change), (0, b"other\0"), (345, b"pre"), (257, b"ustar  \0"), (157, b"b"), (124, b"%011o\0" % dice.choice((0, 5, 512))))
        )  # fmt: skip
        content = block(content, at, start, data)
    if dice.random() < 0.1:
        content += tar(entry("tail", b"x"))
    return content


def _random_zip(dice: random.Random) -> bytes:
    method = dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    mode = dice.choice((0o100644,) * 6 + (0, 0o120777, 0o040755, 0o104755))
    entries = [(dice.choice(_NAMES), dice.randbytes(dice.choice((0, 3, 90)))) for _ in range(dice.randint(1, 3))]
    content = bytearray(zipped(*dict(entries).items(), method=method, mode=mode))
    while dice.random() < 0.4:
        at = dice.choice([content.find(b"PK\x01\x02"), content.find(b"PK\x05\x06"), 0]) + dice.randrange(46)
        if 0 <= at < len(content):
            content[at] = dice.choice((0, 1, 3, 8, 9, 19, dice.randrange(256)))
    return bytes(content) + dice.choice((b"",) * 8 + (b"x", bytes(content)))


def _left(top: Path) -> set[str]:
    """Everything that stands beneath, by its path."""
    return {
        str((Path(folder) / name).relative_to(top))
        for folder, inner, files in os.walk(top)
        for name in (*inner, *files)
    }


def _above(names: set[str]) -> set[str]:
    return names | {str(parent) for name in names for parent in Path(name).parents}


def _holds(tmp_path: Path, draws: list[tuple[bytes, set[str]]], argv: list[str], suffix: str) -> int:
    """Unpack each with the program; answers how many left anything."""
    some = 0
    for index, (content, names) in enumerate(draws):
        top = tmp_path / f"{index}"
        inner = top / "one" / "two"
        inner.mkdir(parents=True)
        archive = tmp_path / f"{index}{suffix}"
        archive.write_bytes(content)
        subprocess.run(
            [*argv, str(archive)], cwd=inner, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=20,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        expected = _above({str(Path("one/two") / name) for name in names})
        found = _left(top)
        assert found <= expected | {"one", "one/two"}, (content, found - expected)
        assert not [path for path in top.rglob("*") if path.is_symlink()]
        some += len(found) > 2
    return some


def _draws(
    make: Callable[[random.Random], bytes], read: Callable[[bytes], tuple[Member, ...]], count: int
) -> list[tuple[bytes, set[str]]]:
    dice = random.Random(seed())
    found = []
    for _ in range(count * 40):
        content = make(dice)
        try:
            members = read(content)
        except UnclearArchiveError:
            continue
        found.append((content, {name for member in members for name in member.places(0)}))
        if len(found) == count:
            break
    return found


@TAR
def test_what_tar_leaves_on_the_disk_was_named(tmp_path):
    draws = _draws(_random_tar, tar_members, scale("archives"))
    assert len(draws) == scale("archives")
    assert _holds(tmp_path, draws, ["tar", "-xf"], ".tar") > len(draws) // 2


@UNZIP
def test_what_unzip_leaves_on_the_disk_was_named(tmp_path):
    draws = _draws(_random_zip, zip_members, scale("archives"))
    assert len(draws) == scale("archives")
    assert _holds(tmp_path, draws, ["unzip", "-o", "-qq"], ".zip") > len(draws) // 2


# --- facts -----------------------------------------------------------------------------------------------------------

TGZ = gzip.compress(tar(*PLAIN))
WORLD = {
    "a.tgz": MadeFile(content=TGZ),
    "a.zip": MadeFile(content=zipped(("src/a.py", b"x"), ("b.txt", b""))),
    "hook.tgz": MadeFile(content=gzip.compress(tar(entry("x/.git/hooks/pre-commit", b"x"), entry("y")))),
    "many.tar": MadeFile(content=tar(*(entry(f"n/{number}") for number in range(3000)))),
    "bad.tgz": MadeFile(content=TGZ + b"x"),
    "out/kept": MadeFile(content=b"x"),
}


def understood(line: str, files: dict[str, MadeFile] | None = None, **changes: object) -> bool:
    """Whether the archive was read, and the line holds nothing that is not known."""
    world = place({**WORLD, **(files or {})}, **changes)
    found = analyse(line, replace(world, files=Snapshot(world.files)))
    ours = [command for command in found.commands if command.name in ("tar", "unzip")]
    read = all(command.operations == {Operation.READ, Operation.WRITE, Operation.EXECUTE} for command in ours)
    return read and not found.unknown and all(command.runs_code is RunsCode.NONE for command in found.commands)


def written(line: str) -> dict[str, bool]:
    found = facts(line, WORLD)
    return {f"{fact.resolved}": fact.recursive for fact in found.paths if fact.access is Access.WRITE}


def test_only_what_the_archive_holds_is_written():
    found = facts("tar xzf a.tgz -C out", WORLD)
    tree = next(fact for fact in found.paths if fact.access is Access.WRITE)
    assert (tree.resolved, tree.recursive, tree.covers) == (f"{WS}/out", True, frozenset())
    assert written("tar xf many.tar") == {WS: True}


def test_a_member_with_a_meaning_is_a_path_of_its_own():
    assert written("tar xzf hook.tgz") == {WS: True, f"{WS}/x/.git/hooks/pre-commit": False}
    assert written("tar xzf hook.tgz -C out --strip-components 1") == {
        f"{WS}/out": True,
        f"{WS}/out/.git/hooks/pre-commit": False,
    }


def test_a_part_of_a_repository_under_any_name_has_a_meaning():
    repository = {f"store/{name}": MadeFile(content=b"x") for name in ("HEAD", "objects/x", "refs/x")}
    for name, lands in (
        ("HEAD", "x/HEAD"),
        ("config", "store/config"),
        ("hooks/post-commit", "store/hooks/post-commit"),
    ):
        archive = {"a.tar": MadeFile(content=tar(entry(name, b"x")))}
        found = facts(f"tar xf a.tar -C {lands.partition('/')[0]}", repository | archive | {"x/y": MadeFile()})
        guarded = {fact.resolved for fact in found.paths if "vcs_config" in fact.categories}
        assert guarded == {f"{WS}/{lands}"}, name


def test_the_archive_is_bound_by_its_content():
    found = facts("tar xzf a.tgz", WORLD)
    assert (f"{WS}/a.tgz", Access.EXECUTE) in {(fact.resolved, fact.access) for fact in found.paths}


@pytest.mark.parametrize(
    "line",
    [
        "tar xzf a.tgz", "tar -xf a.tgz", "tar --extract --gzip --file=a.tgz", "tar xzvf a.tgz src/a.py", "tar xzf a.tgz -C out",
        "mkdir -p new && tar xzf a.tgz -C new", "tar -C out -xf ../ws/a.tgz", "tar xf a.tgz && ls src", "tar xkf a.tgz",
        "tar xf a.tgz --exclude='*.txt'", "unzip a.zip", "unzip -qo a.zip -d new", "unzip -o a.zip b.txt < a.tgz", "unzip -j a.zip",
        "cd out && tar xf ../a.tgz", "timeout 9 tar xf a.tgz",
    ],
)  # fmt: skip
def test_what_is_understood(line):
    assert understood(line)


@pytest.mark.parametrize(
    "line",
    [
        "tar xf bad.tgz", "tar xf missing.tgz", "tar xjf a.tgz", "tar xf a.zip", "unzip a.tgz", "tar xf -", "tar x", "tar xf a.tgz -P",
        "tar xf - < a.tgz", "cat a.tgz | tar xz", "tar xf a.tgz --transform s,^,/,", "tar xf a.tgz --xform=s/a/b/", "tar xf a.tgz --one-top-level=/",
        "tar xf a.tgz --to-command=id", "tar xf a.tgz -I id", "tar xf a.tgz --use-compress-program id", "tar xf a.tgz --checkpoint=1 --checkpoint-action=exec=id",
        "tar xf a.tgz --overwrite", "tar xf a.tgz -i", "tar xf a.tgz -U", "tar xf a.tgz --recursive-unlink", "tar xf a.tgz -T list",
        "tar xf a.tgz --backup", "tar xf a.tgz --suffix=x", "tar xf a.tgz -C out -C ..", "tar xf a.tgz b.txt -C out src/a.py", "tar xf a.tgz -f a.zip",
        "tar xf a.tgz --index-file=/x", "tar xf $A", "tar xf *.tgz", "tar xf a.tgz --strip-components=$N", "tar xf host:a.tgz", "tar xMf a.tgz",
        "tar xwf a.tgz", "tar xf a.tgz -g snapshot", "tar xf a.tgz --pax-option=delete=x", "tar xf a.tgz --keep-directory-symlink",
        "TAR_OPTIONS=-P tar xf a.tgz", "export TAR_OPTIONS=-P; tar xf a.tgz", "XZ_OPT=--files tar xf a.tgz", "export BZIP2=x; tar xf a.tgz",
        "UNZIP=-d.. unzip a.zip", "export UNZIP=-d..; unzip a.zip", "export UNZIPOPT=-:; unzip a.zip",
        "unzip -: a.zip", "unzip -L a.zip", "unzip -X a.zip", "unzip -K a.zip", "unzip -P x a.zip", "unzip '*.zip'", "unzip a", "unzip -d out a.zip -d ..",
        "printf 'r\\n../x\\n' | unzip a.zip", "unzip a.zip < a.tgz", "unzip a.zip <<< r", "while read x; do unzip a.zip; done < a.tgz",
        "ln -s /etc src; tar xf a.tgz", "ln -s /etc out/src && tar xf a.tgz -C out", "mv x src; tar xf a.tgz", "tar xf a.tgz; ln -s /etc src",
        "curl -o a.tgz https://x.example/; tar xf a.tgz", "cp out/kept a.tgz && tar xf a.tgz", "tar xf many.tar && tar xf n/1",
        "tar xf a.tgz && make", "tar xf a.tgz && python3 -c 'print(1)'", "tar xf a.tgz && git status", "tar xf a.tgz && sh src/a.py",
        "tar xf a.tgz && npm test", "tar xf a.tgz && ./configure", "PATH=. tar xf a.tgz", "tar() { id; }; tar xf a.tgz",
    ],
)  # fmt: skip
def test_what_is_asked(line):
    assert not understood(line)


@pytest.mark.parametrize(
    "variable", ["TAR_OPTIONS", "UNZIP", "UNZIPOPT", "ZIPINFO", "XZ_OPT", "BZIP2", "GZIP", "TAPE", "POSIXLY_CORRECT"]
)
def test_what_the_environment_gives_as_options_is_asked(variable):
    env = {"PATH": "/usr/bin", "HOME": "/home/user"}
    assert understood("tar xf a.tgz", env=env)
    assert understood("unzip a.zip", env=env)
    assert not understood("tar xf a.tgz", env={**env, variable: "-P"})
    assert not understood("unzip a.zip", env={**env, variable: "-P"})


@pytest.mark.parametrize(
    "there",
    [
        {"src": MadeFile(symlink="/etc")},
        {"b.txt": MadeFile(symlink="out/kept")},
        {"b.txt": MadeFile(symlink="/nowhere")},
        {"d": MadeFile(symlink="out")},
        {"src/a.py": MadeFile(socket=True)},
    ],
)
def test_a_link_on_the_way_is_asked(there):
    assert not understood("tar xf a.tgz", there)


def test_a_link_besides_is_no_matter():
    assert understood("tar xf a.tgz", {"other": MadeFile(symlink="/etc")})


def test_a_file_cannot_take_the_place_of_a_tree():
    """What is beneath it, is not looked at: then anything may be."""
    found = facts("tar xf a.tgz", {**WORLD, "b.txt/.git/hooks/x": MadeFile(content=b"x")})
    assert any(fact.covers for fact in found.paths if fact.access is Access.WRITE)


def test_work_on_archives_is_bounded():
    """Of one line: what is read after that is not understood."""
    assert understood("; ".join(["tar xf a.tgz -C out"] * 20))
    assert not understood("; ".join(["tar xf many.tar -C out"] * 10))
    world = place(WORLD)
    found = analyse("tar xf bad.tgz -C out; tar xf a.tgz -C out", replace(world, files=Snapshot(world.files)))
    assert all(Operation.EXECUTE not in command.operations for command in found.commands)


def test_an_archive_of_names_that_are_all_deep_is_not_looked_through():
    def deep(members: int) -> MadeFile:
        return MadeFile(content=tar(*(entry("a/" * 40 + str(number)) for number in range(members))))

    assert understood("tar xf a.tar -C out", {**WORLD, "a.tar": deep(100)})
    assert not understood("tar xf a.tar -C out", {**WORLD, "a.tar": deep(4_000)})
