"""What reads bytes that others may have written, as fuzz targets: only `AuditError` may come out, and what is taken in
must come out again as it was. `tests/audit/fuzz/guided.py` runs them guided by coverage; `churn` runs them in CI.
"""

import csv
import io
import json
import random
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from audit import reader
from audit.chain import Rotation
from audit.checkpoint import Checkpoint, Proof
from audit.cosignature import WitnessKey, check_cosigned, cosign
from audit.entry import Draft, Private, canonical, decode, encode
from audit.errors import AuditError, SignatureError
from audit.export import export_bundle
from audit.formats import Format, renderer
from audit.kinds import KindTable
from audit.log import Log
from audit.merkle import prove_inclusion
from audit.note import VerifyKey, open_note, parse_signature, split_note
from audit.notebook import read_notes
from audit.private import MasterKey, open_private
from audit.query import Filter, record_of, select
from audit.redaction import Redaction
from audit.schema import reading
from audit.stats import stats
from audit.story import tell
from audit.verify import Outcome
from audit.verify import verify_log as verify_path
from audit.witness.request import AddCheckpoint
from audit_bundles import KINDS, Story, key, leaf_hash, write
from audit_support import KINDS as TABLE
from audit_support import NEVER, Home, decision
from audit_tales import small, tale

_CHANGE: Final = 5
_PAGE: Final = 4096
_PROVEN: Final = 2
_PRIVATE: Final = 25
_OUT_OF_ORDER: Final = bytes.fromhex("413affeeefff3aa7ef")  # records that the database gives in another order
CONTROLS: Final = "\x00\x07\x08\t\n\r\x1b[2J\x1f\x7f\x85\u2028,;\"'"
_MASTER: Final = MasterKey(bytes(range(32)))


@dataclass(frozen=True)
class Target:
    """`run` takes any bytes; `seeds` are good ones to start from."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


def run_decode(data: bytes) -> None:
    with suppress(AuditError):
        envelope = decode(data)
        members = {name: getattr(envelope, name) for name in envelope.__slots__}
        assert canonical(members).encode() == data


def run_note(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    with suppress(AuditError):
        said, lines = split_note(text)
        assert f"{said}\n{''.join(line.line() for line in lines)}" == text
        for line in lines:
            assert parse_signature(line.line()[:-1]) == line
        assert Checkpoint.parse(said).text() == said
        with suppress(SignatureError):
            said = open_note(text, key(0).verifier)
            assert said in {note.split("\n\n")[0] + "\n" for note in small().bundle().notes}, "a forged note was opened"


def run_proof(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    with suppress(AuditError):
        proof = Proof.parse(text)
        assert proof.text() == text
        proof.verify(small().leaves()[_PROVEN], key(0).verifier)
        assert proof.index == _PROVEN, "a record was proven at another place"


def run_vkey(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for kind in (VerifyKey, WitnessKey):
        with suppress(AuditError):
            assert kind.parse(text).line() == text.removesuffix("\n")


def run_cosignature(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    with suppress(AuditError):
        said, lines = split_note(text)
        seconds = check_cosigned(said, lines, _witness())
        assert (said, seconds) == (_cosigned().split("\n\n")[0] + "\n", 1_795_000_000), "a forged cosignature was taken"


def run_request(data: bytes) -> None:
    with suppress(AuditError):
        asked = AddCheckpoint.parse(data)
        assert asked.body() == data


def run_kinds(data: bytes) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    with suppress(AuditError):
        assert KindTable.parse(value).as_json() == value


def run_rotation(data: bytes) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        with suppress(AuditError):
            assert Rotation.parse(7, value).as_json() == value["log"]


def run_bundle(data: bytes) -> None:
    """Changes to the files of a good bundle; whatever verifies still holds only records of the log."""
    good = _bundle()
    files = changed(good, data)
    with tempfile.TemporaryDirectory() as place:
        report = verify_path(write(Path(place) / "bundle", files), key(1).verifier)
    if report.outcome is Outcome.OK:
        shown, own = (set(some["records.jsonl"].splitlines()) for some in (files, good))
        assert shown <= own, "a changed record verifies"


def run_database(data: bytes) -> None:
    """Changes to a database and its WAL; whatever verifies or is proven is the log's own."""
    home, leaves, files = _log()
    verifier = home.key.verifier
    with tempfile.TemporaryDirectory() as place:
        path = _put(Path(place), changed(files, data)) / "audit.db"
        report = verify_path(path, verifier)
        with suppress(AuditError):
            for seq in (0, len(leaves) - 1):
                assert reader.prove(path, seq, verifier)[0] == leaves[seq], "a changed record was proven"
        with suppress(AuditError):
            for _ in select(path, Filter()):
                pass
        if report.outcome is Outcome.OK:
            with reading(path) as database:
                found = [row[0] for row in database.execute("SELECT CAST(leaf AS BLOB) FROM entries ORDER BY seq")]
            assert found[: report.signed] == leaves[: report.signed], "a changed record verifies"


def run_readers(data: bytes) -> None:
    """The same changes; everything else that reads a log either reads it or says why not."""
    home, leaves, files = _log()
    verifier = home.key.verifier
    with tempfile.TemporaryDirectory() as place:
        path = _put(Path(place), changed(files, data)) / "audit.db"
        with suppress(AuditError):
            stats(path, Filter())
        with suppress(AuditError):
            for render in Format:
                "".join(renderer(render)(select(path, Filter(session="s1", reverse=True))))
        for trusted in (None, verifier):
            with suppress(AuditError):
                steps = tell(path, len(leaves) - 3, key=trusted).steps
                told = [(step.record.envelope.seq, step.record.leaf) for step in steps]
                assert trusted is None or all(leaf == leaves[seq] for seq, leaf in told), "a changed record was told of"
        with suppress(AuditError):
            for seq in (_PRIVATE, _PRIVATE + 1):
                assert open_private(path, seq, _MASTER).content == b"content", "other content was opened"
        with suppress(AuditError):
            export_bundle(path, Path(place) / "bundle", verifier)
            shown = (Path(place) / "bundle" / "records.jsonl").read_bytes().splitlines()
            assert shown == leaves[: len(shown)], "a changed record was exported"


def run_formats(data: bytes) -> None:
    """One record in every format: a line each, where it is a format of lines, without control characters; only CSV
    carries them as they are, in cells that are read back as two rows."""
    with suppress(AuditError):
        one = record_of(decode(data).seq, data, leaf_hash(data))
        for name in Format:
            text = "".join(renderer(name)([one]))
            if name is Format.CSV:
                header, row = csv.reader(io.StringIO(text, newline=""), strict=True)
                assert len(header) == len(row)
            elif name is not Format.TABLE:
                assert not any(char < " " and char not in "\r\n" for char in text), name
            if name in {Format.JSONL, Format.OCSF, Format.CEF}:
                assert text.count("\n") == 1, name
            if name in {Format.JSON, Format.JSONL, Format.OCSF}:
                json.loads(text)


def _odd() -> bytes:
    """A record that shows what must be escaped where readers look."""
    body = {"decision": f"ALLOW{CONTROLS}", "reason": CONTROLS, "args": {"view": {"command": CONTROLS}}}
    draft = encode(Draft(kind="decision", body=body), log="test.example/01K")
    return draft.leaf(log="test.example/01K", seq=0, prev=None, time=0, mono_ns="0", boot_id="b")


def run_notebook(data: bytes) -> None:
    """A file that a sink keeps."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(data)
        with suppress(AuditError):
            for stored in read_notes(Path(file.name)):
                assert "\ufffd" in stored.note or stored.note.encode() in data


def run_open(data: bytes) -> None:
    """Changes to a database, its WAL and the checkpoint beside it; a writer opens it and goes on, or says why not."""
    home, leaves, files = _log()
    with tempfile.TemporaryDirectory() as folder:
        place = _put(Path(folder), changed(files, data))
        with (
            suppress(AuditError),
            Log.open(
                place / "audit.db",
                key=home.key,
                checkpoint_file=place / "checkpoint",
                kinds=TABLE,
                clock=home.clock,
                seal_every_ms=NEVER,
                master=_MASTER,
            ) as log,
        ):
            assert log.size <= len(leaves)
            log.append(Draft(kind="log.open", body={}))
            with suppress(AuditError):
                log.redact(Redaction(first=0), {})
            log.append(decision(40, private=Private(salt=bytes(32), content=b"content")))


TARGETS: Final[Mapping[str, Target]] = {
    "decode": Target(run_decode, lambda: [*small().leaves(), *_tale().leaves()]),
    "note": Target(run_note, lambda: [note.encode() for note in small().bundle().notes]),
    "proof": Target(run_proof, lambda: [_proof().encode()]),
    "vkey": Target(run_vkey, lambda: [line.encode() for line in (key(0).verifier.line(), _witness().line() + "\n")]),
    "cosignature": Target(run_cosignature, lambda: [_cosigned().encode()]),
    "request": Target(run_request, lambda: [_request()]),
    "kinds": Target(run_kinds, lambda: [json.dumps(KINDS).encode(), json.dumps(TABLE.as_json()).encode()]),
    "notebook": Target(run_notebook, lambda: [b"".join(note.encode() + b"\n" for note in small().bundle().notes)]),
    "formats": Target(run_formats, lambda: [*_tale().leaves(), *_log()[1], _odd()]),
    "rotation": Target(run_rotation, lambda: [json.dumps(small().records[5].members["body"]).encode()]),
    "bundle": Target(run_bundle, lambda: _changes()),
    "database": Target(run_database, lambda: _changes()),
    "readers": Target(run_readers, lambda: [*_changes(), _OUT_OF_ORDER]),
    "open": Target(run_open, lambda: _changes()),
}

FILES: Final = frozenset({"bundle", "database", "readers", "open"})
"""Targets that write files, so that a run of them takes ten milliseconds and not ten microseconds."""


def churn(name: str, rounds: int, rng: random.Random) -> None:
    """Run a target on changed seeds. What a failure was found with is part of its message."""
    target = TARGETS[name]
    seeds = target.seeds()
    for data in seeds:
        target.run(data)
    for _ in range(rounds):
        data = rng.choice(seeds)
        for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
            data = _mutated(rng, data, rng.choice(seeds))
        try:
            target.run(data)
        except Exception as error:
            raise AssertionError(f"the target `{name}` failed on {data.hex()}") from error


def _mutated(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    near = at + rng.randrange(4)
    match rng.randrange(7):
        case 0 if data:
            at = min(at, len(data) - 1)
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at] + rng.randbytes(rng.randrange(1, 6)) + data[near:]
        case 2:
            return data[:at] + rng.choice(_TOKENS) + data[near:]
        case 3:
            return data[:at] + data[to:]
        case 4:
            return data[:to] + data[at:]
        case 5:
            return data[:at] + other[at : to + 1] + data[near:]
        case _:
            return data[:at] + other[rng.randrange(len(other) + 1) :][:50] + data[at:]


_TOKENS: Final = [
    *(bytes([byte]) for byte in b'\0\n\r\t "\\{}[],:+-=/0129aAn\x7f\xff'),
    *(b"null", b"true", b"\\u0000", b"\\ud800", b"1e9", b"-0", b"9007199254740992", b'{"a":', b"[" * 40, b"0" * 70),
    *("\u2014 ".encode(), b"\xed\xa0\x80", b"\xef\xbb\xbf", b"AAAA", b"\n\n", b"old 0", b"log.open", b"key.rotate"),
]


def changed(files: Mapping[str, bytes], data: bytes) -> dict[str, bytes]:
    """Apply the changes that `data` tells of, five bytes each: what, where (in all files end to end), with what."""
    out = dict(files)
    for start in range(0, min(len(data), _CHANGE * 16) - _CHANGE + 1, _CHANGE):
        what, value = data[start], data[start + 4]
        at = int.from_bytes(data[start + 1 : start + 4], "big") % sum(len(content) + 1 for content in out.values())
        for name, content in out.items():
            if at <= len(content):
                out[name] = _change(content, what, at, value)
                break
            at -= len(content) + 1
    return out


def _change(content: bytes, what: int, at: int, value: int) -> bytes:
    page, line = at // _PAGE * _PAGE, content.rfind(b"\n", 0, at) + 1
    end = content.find(b"\n", at) + 1 or len(content)
    match what % 9:
        case 0:
            return content[:at] + bytes([value]) + content[at + 1 :]
        case 1:
            return content[:at] + bytes(byte ^ 1 << value % 8 for byte in content[at : at + 1]) + content[at + 1 :]
        case 2:  # another page in the place of this one
            other = content[value * _PAGE % (len(content) + 1) // _PAGE * _PAGE :][:_PAGE]
            return content[:page] + other + content[page + len(other) :]
        case 3:
            return content[:at] + bytes(len(content[at : at + value])) + content[at + value :]
        case 4:
            return content[:at]
        case 5:
            return content[:at] + content[at + value :]
        case 6:
            return content[:at] + content[value:][:value] + content[at:]
        case 7:  # a line less
            return content[:line] + content[end:]
        case _:  # a line twice
            return content[:end] + content[line:]


_FOUND: Final = [  # once let something else out
    bytes.fromhex("07c306a7c804bdc304bdfc"),  # a leaf that reads as NULL, in a proof
    bytes.fromhex("0d999a712e824d"),  # the same, when a writer opens the log
    bytes.fromhex("e6e28254f8051a71a763"),  # no name in `meta`
]


def _changes() -> list[bytes]:
    rng = random.Random(0)
    return [b"", *_FOUND, *(bytes([what]) + rng.randbytes(4) for what in range(9))]


def _put(place: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (place / name).write_bytes(content)
    return place


@cache
def _tale() -> Story:
    return tale(random.Random(0), 40)


@cache
def _bundle() -> dict[str, bytes]:
    return small().bundle().files()


@cache
def _log() -> tuple[Home, list[bytes], dict[str, bytes]]:
    """A log whose writer has not closed it, so that some of it stands in the WAL only: home, leaves, files."""
    home = Home()
    home.fill(20, seal_at=(5,))
    with Log.open(
        home.db, key=home.key, checkpoint_file=home.checkpoint, kinds=TABLE, clock=home.clock, master=_MASTER
    ) as log:
        log.append(Draft(kind="log.open", body={}))
        for number in range(20, 30):
            beside = Private(salt=bytes(32), content=b"content") if number in {23, 24} else None
            appended = log.append(decision(number, private=beside))
            assert (beside is None) == (appended.seq not in {_PRIVATE, _PRIVATE + 1})
        log.checkpoint()
        log.append(decision(30))
        names = ("audit.db", "audit.db-wal", "checkpoint")
        files = {name: (home.path / name).read_bytes() for name in names}
        leaves = [row.leaf for row in select(home.db, Filter())]
    return home, leaves, files


@cache
def _proof() -> str:
    leaves = small().leaves()[:5]
    tile = b"".join(leaf_hash(leaf) for leaf in leaves)
    return Proof(_PROVEN, tuple(prove_inclusion(_PROVEN, 5, lambda *_: tile)), _early(5)).text()


def _early(size: int) -> str:
    return small().note(size)


def _witness() -> WitnessKey:
    return WitnessKey("witness.example", key(9).verifier.public)


@cache
def _cosigned() -> str:
    said = _early(3).split("\n\n")[0] + "\n"
    return _early(3) + cosign(said, key(9).private, "witness.example", 1_795_000_000).line()


@cache
def _request() -> bytes:
    return AddCheckpoint(old=1, path=(bytes(32), bytes(range(32))), note=_early(3)).body()
