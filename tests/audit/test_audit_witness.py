"""The witness: what it answers (c2sp.org/tlog-witness), what it never forgets, and what strangers can do to it."""

import asyncio
import itertools
import os
import random
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import example, given
from hypothesis import strategies as st

from audit.chain import KeyChain, Rotation
from audit.checkpoint import Checkpoint
from audit.clock import SystemClock
from audit.cosignature import WitnessKey, check_cosigned
from audit.entry import Draft
from audit.errors import AuditError, KeyFileError, NoteError, SinkError
from audit.kinds import Kind, KindTable
from audit.log import Log
from audit.merkle import EMPTY_ROOT, leaf_hash
from audit.note import Signature, SigningKey, VerifyKey, encode64, parse_signature, sign, split_note
from audit.notebook import read_notes
from audit.publisher import Publisher
from audit.sinks.file import FileSink
from audit.sinks.witness import WitnessSink
from audit.verify import Outcome, verify_log
from audit.witness import key as witness_key
from audit.witness.judge import SIZE, Judge
from audit.witness.ledger import Ledger
from audit.witness.request import AddCheckpoint
from audit.witness.server import MAX_CONNECTIONS, PER_ADDRESS, Server, counted_as, serve
from audit_children import on_small_disk
from audit_outside import ENVIRONMENT, NAME, Grown, WitnessProcess, signing_key
from audit_support import KINDS, FakeClock, Home, decision
from scale import scale

LOG = Grown(600)
FORK = Grown(600, key=LOG.key, changed=20)
STRANGER = signing_key("test.example/stranger")
WITNESS = "witness.example/one"


class Watch:
    """A witness without a socket, in a folder of its own."""

    def __init__(self, folder: Path, *logs: VerifyKey, new: bool = True) -> None:
        self.folder = folder
        self.key = witness_key.create(folder, WITNESS) if new else witness_key.load(folder)
        self.clock = FakeClock()
        self.ledger = Ledger(folder)
        try:
            self.judge = Judge(self.key, self.ledger, logs or (LOG.key.verifier,), self.clock)
        except SinkError:
            self.ledger.close()
            raise

    def ask(self, body: bytes) -> tuple[int, str]:
        found = self.judge.add_checkpoint(body)
        assert (found.kind == SIZE) == (found.status == 409)
        assert found.text.startswith("\u2014 ") == (found.status == 200)
        return found.status.value, found.text

    def reopen(self, *logs: VerifyKey) -> "Watch":
        self.ledger.close()
        return Watch(self.folder, *logs, new=False)

    @property
    def size(self) -> int:
        return self.judge.sizes()[NAME]


@pytest.fixture
def watch(tmp_path):
    found = Watch(tmp_path / "state")
    yield found
    try:
        found.ledger.close()
    except OSError:
        pass  # the test reopened it


def never(old):
    raise AssertionError("nothing has to be proven here")


def body(old, path, note):
    return AddCheckpoint(old, tuple(path), note).body()


def test_a_log_that_grows_is_cosigned_and_its_checkpoint_kept(watch):
    for old, new in [(0, 0), (0, 0), (0, 1), (1, 1), (1, 5), (5, 256), (256, 257), (257, 600), (600, 600)]:
        watch.clock.now_ms += 1000
        status, text = watch.ask(LOG.request(old, new))
        assert status == 200, text
        line = parse_signature(text.removesuffix("\n"))
        assert check_cosigned(LOG.checkpoint(new).text(), (line,), watch.key.verifier) == watch.clock.now_ms // 1000
        assert watch.judge.newest(NAME) == LOG.note(new) + text
    again = watch.reopen()
    assert again.judge.newest(NAME) == LOG.note(600) + text
    assert again.judge.newest("test.example/none") is None
    again.ledger.close()


EMPTY = Checkpoint(NAME, 0, EMPTY_ROOT)
# the witness knows 21 records; every change of a good request, and what it must be answered with
ATTACKS = {
    "rolled back": (409, LOG.request(0, 20)),
    "rolled back, with the size that is known": (400, body(21, (), LOG.note(20))),
    "cut to nothing": (409, LOG.request(0, 0)),
    "begun anew": (409, FORK.request(0, 300)),
    "forked, of the same size": (409, body(21, (), FORK.note(21))),
    "forked and grown, with the fork's proof": (422, FORK.request(21, 300)),
    "forked and grown, with the log's proof": (422, body(21, LOG.proof(21, 300), FORK.note(300))),
    "replayed with the proof of another growth": (409, LOG.request(19, 300)),
    "a proof of more than asked": (422, body(21, LOG.proof(21, 301), LOG.note(300))),
    "without a proof": (422, body(21, (), LOG.note(300))),
    "a hash too many": (422, body(21, (*LOG.proof(21, 300), bytes(32)), LOG.note(300))),
    "a hash missing": (422, body(21, LOG.proof(21, 300)[:-1], LOG.note(300))),
    "hashes in another order": (422, body(21, LOG.proof(21, 300)[::-1], LOG.note(300))),
    "a proof where there is nothing to prove": (422, body(21, (bytes(32),), LOG.note(21))),
    "of a log that nobody named": (404, Grown(300, key=STRANGER).request(0, 300)),
    "signed by a stranger": (403, LOG.request(21, 300, STRANGER)),
    "signed by a stranger under the log's name": (403, LOG.request(21, 300, signing_key())),
    "signed for another text": (
        403,
        body(21, LOG.proof(21, 300), LOG.checkpoint(300).text() + "\n" + sign("x\n", LOG.key).line()),
    ),
    "signed twice, once wrongly": (
        403,
        body(21, LOG.proof(21, 300), LOG.note(300) + sign("x\n", LOG.key).line()),
    ),
    "without a signature": (400, body(21, LOG.proof(21, 300), LOG.checkpoint(300).text() + "\n")),
    "with an extension line": (
        400,
        body(21, (), "\n".join([*LOG.checkpoint(300).text().split("\n")[:3], "x", "", ""])),
    ),
    "an old size above the new one": (400, body(301, (), LOG.note(300))),
}


@pytest.mark.parametrize(("status", "request_"), ATTACKS.values(), ids=ATTACKS)
def test_whatever_goes_back_or_is_not_the_logs_is_answered_as_the_page_says(watch, status, request_):
    assert watch.ask(LOG.request(0, 21))[0] == 200
    before = watch.ledger.path(NAME).read_bytes()
    found, text = watch.ask(request_)
    assert found == status, text
    if status == 409:
        assert text == "21\n"
    assert (watch.ledger.path(NAME).read_bytes(), watch.size) == (before, 21)
    assert watch.ask(LOG.request(21, 300))[0] == 200  # nothing of it took the log's own growth away


@pytest.mark.parametrize(
    ("status", "request_"),
    [
        (422, body(0, (), Checkpoint(NAME, 0, leaf_hash(b"")).sign(LOG.key))),
        (422, body(0, (bytes(32),), EMPTY.sign(LOG.key))),
        (422, body(0, (bytes(32),), LOG.note(1))),
        (409, body(1, (), LOG.note(1))),
        (400, body(1, (), EMPTY.sign(LOG.key))),
        (200, LOG.request(0, 0)),
    ],
)
def test_before_the_first_checkpoint_the_log_is_empty(watch, status, request_):
    assert watch.ask(request_)[0] == status
    assert watch.size == 0


GARBAGE = [
    b"",
    b"\n",
    b"old 0\n",
    b"old 0\n\n",
    b"old 00\n\n" + LOG.note(1).encode(),
    b"old -1\n\n" + LOG.note(1).encode(),
    b"old +1\n\n" + LOG.note(1).encode(),
    b"old 9007199254740992\n\n" + LOG.note(1).encode(),
    b"old\t0\n\n" + LOG.note(1).encode(),
    b"old 0 \n\n" + LOG.note(1).encode(),
    b"Old 0\n\n" + LOG.note(1).encode(),
    b"old \xd9\xa0\n\n" + LOG.note(1).encode(),  # an Arabic 0
    b"old 0\r\n\r\n" + LOG.note(1).encode(),
    b"old 0\n" + LOG.note(1).encode(),
    b"old 0\n\n\n" + LOG.note(1).encode(),
    b"old 0\n" + b"A" * 43 + b"=\n" * 1 + LOG.note(1).encode(),
    b"old 0\nAAAA\n\n" + LOG.note(1).encode(),
    b"old 0\n" + b"A" * 42 + b"B=\n\n" + LOG.note(1).encode(),  # stray bits
    b"old 0\n" + (encode64(bytes(32)) + "\n").encode() * 64 + b"\n" + LOG.note(1).encode(),
    b"old 0\n\n" + LOG.note(1).encode() + b"\n",
    b"old 0\n\n" + LOG.note(1).encode()[:-1],
    b"old 0\n\n\xff" + LOG.note(1).encode(),
    b"old 0\n\n" + LOG.note(1).encode() * 400,
    b"old 0\n\n" + LOG.note(1).replace("\n1\n", "\n1e0\n").encode(),
]


@pytest.mark.parametrize("request_", GARBAGE)
def test_what_is_no_request_is_a_bad_one(watch, request_):
    assert watch.ask(request_)[0] == 400
    assert watch.judge.newest(NAME) is None


def pieces():
    whole = LOG.request(1, 300)
    cut = st.tuples(st.integers(0, len(whole)), st.integers(0, 40), st.binary(max_size=40)).map(
        lambda way: whole[: way[0]] + way[2] + whole[way[0] + way[1] :]
    )
    return st.binary(max_size=200) | cut


@given(pieces())
@example(LOG.request(1, 300))
@example(b"old 0\n\n\xed\xa0\x80")
def test_nothing_but_our_errors_leaves_the_parser_and_what_it_reads_is_what_was_sent(found):
    try:
        request = AddCheckpoint.parse(found)
    except NoteError:
        return
    assert request.body() == found


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    found = Watch(tmp_path_factory.mktemp("shared") / "state")
    assert found.ask(LOG.request(0, 1))[0] == 200
    yield found
    found.ledger.close()


@given(pieces())
def test_nothing_that_was_changed_on_the_way_is_cosigned(shared, found):
    before = shared.judge.newest(NAME)
    answer = shared.judge.add_checkpoint(found)
    if answer.status == 200:  # only the log's own growth, with bytes that no signature covers left out
        assert shared.size in (1, 300)
        shared.ledger.path(NAME).write_text(before)
        shared.__dict__["judge"] = Judge(shared.key, shared.ledger, [LOG.key.verifier], shared.clock)
    assert shared.judge.newest(NAME) == before


# requests that the tests of litewitness (FiloSottile/torchwood, internal/witness) use against a race of its own
ORIGIN = "sigsum.org/v1/tree/4d6d8825a6bb689d459628312889dfbb0bcd41b5211d9e1ce768b0ff0309e562"
SIGSUM = VerifyKey(ORIGIN, bytes.fromhex("ffdc2d4d98e4124d3feaf788c0c2f9abfd796083d1f0495437f302ec79cf100f"))
FIRST, SHORT, LONG = (
    f"old {old}\n{proof}\n{ORIGIN}\n{size}\n{root}\n\n\u2014 {ORIGIN} {line}\n".encode()
    for old, proof, size, root, line in [
        (
            0,
            "",
            1,
            "KgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            "UgIom7fPZTqpxWWhyjWduBvTvGVqsokMbqTArsQilegKoFBJQjUFAmQ0+YeSPM3wfUQMFSzVnnNuWRTYrajXpNUbIQY=",
        ),
        (
            1,
            "KgEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nKgIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
            3,
            "RcCI1Nk56ZcSmIEfIn0SleqtV7uvrlXNccFx595Iwl0=",
            "UgIom2VbtIcdFbwFAy1n7s6IkAxIY6J/GQOTuZF2ORV39d75cbAj2aQYwyJre36kezNobZs4SUUdrcawfAB8WVrx6go=",
        ),
        (
            1,
            (
                "KgEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n+fUDV+k970B4I3uKrqJM4aP1lloPZP8mvr2Z4wRw2LI=\n"
                "KgQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
            ),
            5,
            "QrtXrQZCCvpIgsSmOsah7HdICzMLLyDfxToMql9WTjY=",
            "UgIomw/EOJmWi0i1FQsOj+etB7F8IccFam/jgd6wzRns4QPVmyEZtdvl1U2KEmLOZ/ASRcWJi0tW90dJWAShei7sDww=",
        ),
    ]
)


@pytest.mark.parametrize(("one", "other", "size"), [(SHORT, LONG, 3), (LONG, SHORT, 5)])
def test_requests_of_another_implementation_are_judged_as_it_judges_them(tmp_path, one, other, size):
    watch = Watch(tmp_path / "state", SIGSUM)
    assert watch.ask(FIRST)[0] == 200
    assert watch.ask(one)[0] == 200
    assert watch.ask(other) == (409, f"{size}\n")
    assert watch.judge.sizes() == {ORIGIN: size}
    watch.ledger.close()


def test_of_many_requests_at_once_only_those_count_that_never_go_back(watch):
    """Sixteen threads send whatever grew from any size to any other, log and fork; what was cosigned is one line."""
    assert watch.ask(LOG.request(0, 10))[0] == 200
    cosigned, lock, rnd = [10], threading.Lock(), random.Random(5)
    jobs = [(tree, old, old + step) for old in range(10, 90) for step in (0, 1, 7) for tree in (LOG, FORK)]
    rnd.shuffle(jobs)
    todo = itertools.cycle(sorted(jobs, key=lambda job: job[1]))  # again: a thread that is slow lets all others pass by

    def work():
        while watch.size < 80:
            with lock:
                tree, old, new = next(todo)
            status, _ = watch.ask(tree.request(old, new))
            if status == 200:
                with lock:
                    cosigned.append((tree is LOG, old, new))

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    steps = sorted(cosigned[1:], key=lambda step: step[2])
    at, taken = 10, Counter()
    # from each size there is at most one way up, and all that was cosigned lies on one way of one tree
    assert len({is_log for is_log, _, new in steps if new > 20}) == 1, "log and fork were cosigned"
    for _, old, new in steps:
        taken[old] += new > old
        assert taken[old] <= 1
        at = max(at, new)
    assert watch.size == at == watch.reopen().size


# -- keys ----------------------------------------------------------------------------------------------------------------


def test_a_log_whose_key_was_changed_goes_on_and_the_old_key_is_worth_nothing(tmp_path):
    old, new = LOG.key, signing_key()
    logs = (old.verifier, new.verifier)
    watch = Watch(tmp_path / "state", *logs)
    assert watch.ask(LOG.request(0, 20, old))[0] == 200
    assert watch.ask(LOG.request(20, 21, old, new))[0] == 200  # the record that changes the key is the 21st
    assert watch.ask(LOG.request(21, 30, old))[0] == 403  # whoever stole the old key
    watch = watch.reopen(*logs)
    assert watch.ask(LOG.request(21, 30, old))[0] == 403
    assert watch.ask(LOG.request(21, 30, new))[0] == 200
    assert watch.ask(LOG.request(30, 30, old))[0] == 403
    watch = watch.reopen(new.verifier)
    assert watch.ask(LOG.request(30, 31, new))[0] == 200
    watch.ledger.close()
    with pytest.raises(SinkError, match="give all keys"):  # a key that is not known any more
        Watch(tmp_path / "state", old.verifier, new=False)


def test_a_witness_that_does_not_know_the_new_key_yet_cosigns_up_to_the_change(watch):
    new = signing_key()
    assert watch.ask(LOG.request(0, 21, LOG.key, new))[0] == 200
    assert watch.ask(LOG.request(21, 22, new))[0] == 403
    chain = KeyChain(new.verifier, [Rotation(20, LOG.key.verifier, new.verifier)])
    assert chain.open(watch.judge.newest(NAME)).size == 21  # both keys' lines are kept for auditors
    watch = watch.reopen(LOG.key.verifier, new.verifier)
    assert watch.ask(LOG.request(21, 22, new))[0] == 200
    watch.ledger.close()


def test_what_others_put_into_a_note_is_not_passed_on(watch):
    more = "".join(sign("spam", signing_key(f"spam.example/{number}")).line() for number in range(9))
    status, line = watch.ask(body(0, (), LOG.note(5) + more))
    assert status == 200
    assert watch.judge.newest(NAME) == LOG.note(5) + line


def test_nobody_can_put_in_so_much_that_the_memory_cannot_be_read_again(watch):
    room = 65_536 - len(body(0, (), LOG.note(5))) - 100
    long = Signature(NAME, b"long", bytes(room // 4 * 3)).line()
    assert watch.ask(body(0, (), LOG.note(5) + long))[0] == 200
    watch = watch.reopen()
    assert watch.size == 5
    flood = "".join(sign("forged", signing_key()).line() for _ in range(15))
    assert watch.ask(body(5, LOG.proof(5, 7), LOG.note(7) + flood))[0] == 200
    watch = watch.reopen()
    assert watch.judge.newest(NAME).startswith(LOG.note(7))  # the line that was checked is among those that are kept
    watch.ledger.close()


def test_what_others_add_later_changes_nothing(watch):
    status, line = watch.ask(body(0, (), LOG.note(5)))
    assert status == 200
    # under the log's own name, be it for a key that may be its next one
    watch.clock.now_ms += 5000
    status, line = watch.ask(body(5, (), LOG.note(5) + sign("forged", signing_key()).line()))
    assert status == 200
    assert watch.judge.newest(NAME) == LOG.note(5) + line


def test_the_key_is_private_and_never_replaced(tmp_path):
    folder = tmp_path / "state"
    made = witness_key.create(folder, WITNESS)
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(folder / "witness.pem").st_mode) == 0o600
    assert (folder / "witness.vkey").read_text() == made.verifier.line() + "\n"
    assert witness_key.load(folder).verifier == made.verifier
    with pytest.raises(KeyFileError, match="already"):
        witness_key.create(folder, "witness.example/two")
    for bits in (0o640, 0o604):
        (folder / "witness.pem").chmod(bits)
        with pytest.raises(KeyFileError, match="0600"):
            witness_key.load(folder)
    (folder / "witness.pem").chmod(0o600)
    other = witness_key.create(tmp_path / "other", WITNESS)
    for content in (other.verifier.line(), LOG.key.verifier.line(), "", "\xff"):
        (folder / "witness.vkey").write_text(content, encoding="latin-1")
        with pytest.raises(KeyFileError, match="restore"):
            witness_key.load(folder)
    (folder / "witness.vkey").write_text(made.verifier.line())
    for content in (b"", (tmp_path / "other" / "witness.pem").read_bytes()):
        (folder / "witness.pem").write_bytes(content)
        with pytest.raises(KeyFileError, match="restore"):
            witness_key.load(folder)
    folder.chmod(0o755)
    with pytest.raises(KeyFileError, match="0700"):
        witness_key.load(folder)
    with pytest.raises(KeyFileError):
        witness_key.load(tmp_path / "none")
    with pytest.raises(NoteError):
        witness_key.create(tmp_path / "third", "two words")


# -- memory --------------------------------------------------------------------------------------------------------------


def test_two_witnesses_never_share_a_memory(watch):
    with pytest.raises(SinkError, match="another witness uses"):
        Ledger(watch.folder)
    with pytest.raises(SinkError):
        Ledger(watch.folder / "none")


def test_a_memory_that_is_not_its_own_is_no_reason_to_begin_anew(watch):
    assert watch.ask(LOG.request(0, 20))[0] == 200
    watch.ledger.close()
    path = watch.ledger.path(NAME)
    good = path.read_text()
    text, signatures = split_note(good)
    stranger = Watch(watch.folder.parent / "stranger")
    assert stranger.ask(LOG.request(0, 5))[0] == 200
    for other in (
        *("", "\xff", good[:-1], text + "\n" + signatures[0].line(), text + "\n" + signatures[1].line()),
        *(good.replace("\n20\n", "\n19\n"), stranger.judge.newest(NAME), good + good),
    ):
        path.write_text(other, encoding="latin-1" if other == "\xff" else "utf-8")
        with pytest.raises(SinkError, match="restore"):
            Watch(watch.folder, new=False)
    path.unlink()
    path.mkdir()
    with pytest.raises(SinkError, match="restore"):
        Watch(watch.folder, new=False)
    stranger.ledger.close()


def test_what_cannot_be_remembered_is_not_cosigned(watch):
    assert watch.ask(LOG.request(0, 20))[0] == 200
    draft = Path(f"{watch.ledger.path(NAME)}.new")
    draft.mkdir()  # nothing can be written in its place
    status, text = watch.ask(LOG.request(20, 30))
    assert (status, watch.size) == (500, 20)
    assert "\u2014" not in text
    draft.rmdir()
    assert watch.ask(LOG.request(20, 30))[0] == 200


# Runs in mounts of its own: the memory on a tmpfs that fills up.
DISK = """
import os, sys
from pathlib import Path
from audit.witness import key
from audit.witness.judge import Judge
from audit.witness.ledger import Ledger
from audit_outside import NAME, Grown
from audit_support import FakeClock
disk, log = Path(sys.argv[1]), Grown(50)
made = key.create(disk / "state", "witness.example/one")
judge = Judge(made, Ledger(disk / "state"), [log.key.verifier], FakeClock())
assert judge.add_checkpoint(log.request(0, 20)).status == 200
filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
try:
    while os.write(filler, bytes(512)):
        pass
except OSError:
    pass
for _ in range(3):
    answer = judge.add_checkpoint(log.request(20, 30))
    assert answer.status == 500 and "No space left" in answer.text and "\u2014" not in answer.text, answer
assert judge.add_checkpoint(log.request(0, 20)).text == "20\\n"
os.ftruncate(filler, 0)
os.close(filler)
assert judge.add_checkpoint(log.request(20, 30)).status == 200
print("DONE", judge.sizes()[NAME])
"""


def test_a_full_disk_is_a_500_without_a_cosignature_and_over_when_there_is_room(tmp_path):
    assert on_small_disk(DISK, tmp_path) == ["DONE 30"]


# -- the process ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def vkey(tmp_path):
    path = tmp_path / "log.vkey"
    path.write_text(LOG.key.verifier.line() + "\n")
    return path


def test_the_process_says_who_and_where_it_is_and_ends_when_told(tmp_path, vkey):
    with WitnessProcess(tmp_path / "state", vkey, new=WITNESS) as witness:
        key = WitnessKey.parse(witness.vkey)
        assert witness.said["log"] == [f"{NAME}, cosigned to 0"]
        assert witness.ask(b"", "GET", "/") == (200, "text/plain; charset=utf-8", key.line() + "\n")
        assert witness.ask(b"", "GET", f"/checkpoint/{NAME}")[0] == 404
        status, _, text = witness.ask(LOG.request(0, 20))
        assert status == 200
        assert witness.ask(b"", "GET", f"/checkpoint/{NAME}")[2] == LOG.note(20) + text
        assert witness.ask(LOG.request(0, 9)) == (409, "text/x.tlog.size", "20\n")
        for method, target, status in [
            *(("GET", "/add-checkpoint", 405), ("PUT", "/add-checkpoint", 405), ("POST", "/", 405), ("GET", "/x", 404)),
            *(
                ("POST", "/add-checkpoint/", 404),
                ("GET", "/checkpoint/", 404),
                ("GET", "/checkpoint/../witness.pem", 404),
            ),
            ("DELETE", f"/checkpoint/{NAME}", 405),
        ]:
            assert witness.ask(b"", method, target)[0] == status, (method, target)
        connection = HTTPConnection("127.0.0.1", witness.port, timeout=30)
        for _ in range(3):  # one connection, several requests
            connection.request("POST", "/add-checkpoint", LOG.request(20, 20))
            assert connection.getresponse().read().startswith("\u2014 ".encode())
        witness.process.send_signal(signal.SIGTERM)
        assert witness.process.wait(30) == 0
        assert witness.process.stderr.read() == b""
        connection.close()
    with WitnessProcess(tmp_path / "state", vkey) as witness:
        assert witness.said["log"] == [f"{NAME}, cosigned to 20"]
        witness.process.send_signal(signal.SIGINT)
        assert witness.process.wait(30) == 0


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-P", "-m", "audit", "witness", *map(str, arguments)],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_what_cannot_begin_says_why(tmp_path, vkey):
    state = tmp_path / "state"
    with WitnessProcess(state, vkey, new=WITNESS) as witness:
        for arguments, why in [
            (("--state", state, "--log", vkey), b"another witness uses"),
            (("--state", state, "--new-key", WITNESS), b"already"),
            (("--state", state), b"--log"),
            (("--state", tmp_path / "none", "--log", vkey), b"cannot read the folder"),
            (("--state", state, "--log", state / "witness.vkey"), b"vkey line"),
            (("--state", state, "--log", vkey, "--listen", "8199"), b"no address"),
        ]:
            done = run(*arguments)
            assert (done.returncode, why in done.stderr) == (2, True), (arguments, done.stderr)
        second = tmp_path / "second"
        assert run("--state", second, "--new-key", WITNESS).returncode == 0
        done = run("--state", second, "--log", vkey, "--listen", f"127.0.0.1:{witness.port}")
        assert (done.returncode, b"cannot listen" in done.stderr) == (2, True), done.stderr


def test_a_witness_killed_at_any_moment_never_takes_less_than_it_cosigned(tmp_path, vkey):
    state, cosigned, rnd = tmp_path / "state", 0, random.Random(11)
    WitnessProcess(state, vkey, new=WITNESS).__exit__()
    for _ in range(scale("witness_kills")):
        with WitnessProcess(state, vkey) as witness:
            (said,) = witness.said["log"]
            at = int(said.rpartition(" ")[2])
            assert at >= cosigned
            assert witness.ask(LOG.request(0, cosigned or 1))[0] == (409 if at else 200)
            at = max(at, 1)
            delay = rnd.uniform(0, 0.05)
            killer = threading.Timer(delay, witness.process.kill)
            killer.start()
            try:
                while at < 590:
                    status, _, text = witness.ask(LOG.request(at, at + 1))
                    assert (status, text[:1]) == (200, "\u2014")
                    cosigned = at = at + 1
            except (OSError, HTTPException):
                pass  # killed
            killer.join()
    assert cosigned > 1


@contextmanager
def listening(state, **limits):
    """A witness in a thread: yields what connects to it from an address of this machine."""
    watch = Watch(state)
    ready, ports = threading.Event(), []

    async def main():
        stop = asyncio.Event()
        ports.append(stop)
        ports.append(asyncio.get_running_loop())

        def say(host, port):
            ports.append(port)
            ready.set()

        await serve(watch.judge, "127.0.0.1", 0, stop=stop, ready=say, **limits)

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    assert ready.wait(20)
    stop, loop, port = ports
    try:
        yield lambda at="127.0.0.1": socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(at, 0))
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        watch.ledger.close()
    assert not thread.is_alive()


def rest(line):
    """What comes until the other side is done."""
    found = b""
    try:
        while piece := line.recv(65536):
            found += piece
    except ConnectionError:
        pass
    return found


ASK = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"


def test_a_stranger_cannot_use_the_witness_up(tmp_path):
    """Slow heads, slow bodies, too many bytes: each ends, and the log is served meanwhile."""

    def drip(line, piece):
        for _ in range(20_000):
            line.sendall(piece)
            time.sleep(0.005)

    with listening(tmp_path / "state", request_s=0.5) as connect:
        head = b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\n"
        for begin, piece in [(b"", b"P"), (head, b"A: b\r\n"), (head + b"Content-Length: 60000\r\n\r\n", b"o")]:
            with connect() as line:
                line.sendall(begin)
                with pytest.raises(OSError, match=r"reset|pipe|timed out"):
                    drip(line, piece)
        for sent, status in [
            (head + b"Content-Length: 65537\r\n\r\n", 413),
            (head + b"\r\n", 411),
            (head + b"Content-Length: 1e3\r\n\r\n", 400),
            (head + b"Content-Length: -1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
            (head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nold 0\r\n0\r\n\r\n", 501),
            (head + b"X: " + b"y" * 20_000 + b"\r\n\r\n", 431),
            (head + b" folded: x\r\n\r\n", 400),
            (head + b"Bad Header: x\r\n\r\n", 400),
            (b"POST /add-checkpoint HTTP/2.0\r\n\r\n", 400),
            (b"POST http://x/add-checkpoint HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nX: a\nContent-Length: 5\r\n\r\n", 400),
            (b"\x16\x03\x01" + b"\0" * 100 + b"\r\n\r\n", 400),
        ]:
            with connect() as line:
                line.sendall(sent)
                found = rest(line)
                assert found.startswith(b"HTTP/1.1 %d " % status), (sent[:80], found)
        with connect() as line:
            request = LOG.request(0, 20)
            line.sendall(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(request))
            assert line.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
            line.sendall(request)
            assert b" 200 OK" in line.recv(1000)
        with connect() as line:
            line.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert b"Connection: close" in rest(line)


def status(line):
    with line:
        line.sendall(ASK)
        return int(rest(line).split()[1])


def test_silent_connections_shut_nobody_out(tmp_path):
    if sys.platform != "linux":
        pytest.skip("connects from several addresses of 127.0.0.0/8, which only Linux has all of")
    with listening(tmp_path / "state", silent_s=600, request_s=600) as connect:
        addresses = [f"127.0.1.{number + 1}" for number in range(MAX_CONNECTIONS // PER_ADDRESS)]
        idle = [connect(addresses[0]) for _ in range(PER_ADDRESS)]
        # one address has its share and no more, and all others are served
        assert status(connect(addresses[0])) == 503
        assert status(connect(addresses[1])) == 200
        idle += [connect(address) for address in addresses[1:] for _ in range(PER_ADDRESS)]
        assert status(connect("127.0.2.1")) == 503
        for line in idle[:2]:  # what is let go counts no more
            assert status(line) == 200
        assert [status(connect("127.0.2.1")) for _ in range(3)] == [200] * 3
        for line in idle:
            line.close()


def test_a_connection_that_says_nothing_is_let_go_before_and_between_requests(tmp_path):
    with listening(tmp_path / "state", silent_s=0.05, request_s=600) as connect:
        for asked in (0, 1):
            with connect() as line:
                line.sendall(b"GET / HTTP/1.1\r\n\r\n" * asked)
                assert rest(line).count(b"HTTP/1.1 200 ") == asked
    # who has begun to ask has longer
    with listening(tmp_path / "other", silent_s=0.05, request_s=600) as connect, connect() as line:
        line.sendall(ASK[:1])
        time.sleep(0.2)
        line.sendall(ASK[1:])
        assert rest(line).startswith(b"HTTP/1.1 200 ")


def test_a_connection_without_an_address_is_one_like_any_other(watch):
    async def main():
        here, there = socket.socketpair()
        with there:
            there.sendall(ASK)
            await Server(watch.judge).connected(*await asyncio.open_connection(sock=here))
            return await asyncio.to_thread(rest, there)

    assert asyncio.run(main()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
    ],
)
def test_neighbours_in_ipv6_count_as_one(host, counted):
    assert counted_as(host) == counted


# -- all together --------------------------------------------------------------------------------------------------------


def rewritten(home, records):
    """What whoever has the log's key can make in its place: another past, signed, whole in itself."""
    os.mkdir(home.path / "forged")
    twin = Home.__new__(Home)
    twin.__dict__.update(home.__dict__)
    twin.db, twin.checkpoint = home.path / "forged" / "audit.db", home.path / "forged" / "checkpoint"
    with twin.open(create=True) as log:
        for number in range(records):
            log.append(decision(number + 1000))
    return twin


def test_whoever_has_the_key_cannot_rewrite_what_a_file_and_a_witness_hold(tmp_path):
    home = Home()
    out = tmp_path / "out"
    with WitnessProcess(tmp_path / "state", home.vkey, new=WITNESS) as witness:
        key = WitnessKey.parse(witness.vkey)

        def sinks():
            asking = WitnessSink(witness.url, key, out, home.key.name, clock=SystemClock.read())
            return [FileSink(out, home.key.name), asking]

        log = home.open(create=True)
        publisher = Publisher(log, sinks(), interval_s=0.02, clock=SystemClock.read())
        for number in range(40):
            log.append(decision(number))
            if number % 10 == 9:
                log.checkpoint()
        log.close()
        publisher.close()
        assert [(one.size, one.error, one.warning) for one in publisher.status()] == [(41, None, None)] * 2
        # an auditor asks the witness, not whoever holds the log
        status, _, note = witness.ask(b"", "GET", f"/checkpoint/{log.name}")
        assert status == 200
        check_cosigned(*split_note(note), key)
        (file,) = sinks()[0].files()
        held = [note, *(one.note for one in read_notes(file))]
        report = verify_log(home.db, home.key.verifier, outside=held)
        assert (report.outcome, report.confirmed) == (Outcome.OK, 41), report.reason

        for records in (40, 60, 30):  # the same size, longer, shorter
            twin = rewritten(home, records)
            own = [twin.checkpoint.read_text()]
            assert verify_log(twin.db, home.key.verifier, outside=own).outcome is Outcome.OK
            for notes in ([note], held[1:]):
                assert verify_log(twin.db, home.key.verifier, outside=notes).outcome is Outcome.TAMPERED
            # nor does the forged log get anywhere with the sinks
            with twin.open(begin=False) as forged:
                publisher = Publisher(forged, sinks(), interval_s=0.02, clock=SystemClock.read())
                publisher.close()
                to_file, to_witness = publisher.status()
            assert to_witness.error is not None
            assert (to_file.error is None) == (records == 60)  # a file alone cannot tell a longer fork
            assert witness.ask(b"", "GET", f"/checkpoint/{log.name}")[2] == note
            shutil.rmtree(home.path / "forged")
            shutil.copy(file, tmp_path / "seen")
            if records == 60:  # but the log can, when it is opened with what the file holds
                file.write_text("\n".join(held[1:]) + "\n")


def test_a_change_of_key_goes_through_to_the_file_and_the_witness(tmp_path):
    home, clock = Home(), SystemClock.read()
    new = SigningKey(home.key.name, Ed25519PrivateKey.generate())
    vkey = tmp_path / "new.vkey"
    vkey.write_text(new.verifier.line())
    with WitnessProcess(tmp_path / "state", home.vkey, vkey, new=WITNESS) as witness:
        asking = WitnessSink(witness.url, WitnessKey.parse(witness.vkey), tmp_path, home.key.name, clock=clock)
        sinks = [FileSink(tmp_path, home.key.name), asking]
        log = Log.open(
            home.db,
            key=home.key,
            checkpoint_file=home.checkpoint,
            kinds=KindTable.of([*KINDS.kinds, Kind(name="key.rotate")]),
            clock=home.clock,
            create=True,
        )
        log.append(Draft(kind="log.open", body={}))
        publisher = Publisher(log, sinks, interval_s=0.01, clock=clock)

        def settled():
            deadline = time.monotonic() + 20
            size = int(log.note.split("\n")[1])
            while [(one.size, one.error) for one in publisher.status()] != [(size, None)] * 2:
                assert time.monotonic() < deadline, publisher.status()
                time.sleep(0.005)

        log.checkpoint()
        settled()
        log.rotate(new, {})
        settled()
        log.append(decision(1))
        log.checkpoint()
        settled()
        stolen = Checkpoint.parse(split_note(log.note)[0]).sign(home.key)  # whoever has the old key
        assert witness.ask(body(3, (), stolen))[0] == 403
        log.close()
        publisher.close()
        held = [witness.ask(b"", "GET", f"/checkpoint/{log.name}")[2]]
        held += [one.note for one in read_notes(sinks[0].files()[0])]
        for key in (home.key, new):
            report = verify_log(home.db, key.verifier, outside=held)
            assert (report.outcome, report.confirmed) == (Outcome.OK, 3), report.reason


def test_a_witness_in_another_place_has_its_own_word(tmp_path):
    """Two witnesses: the one that was shown a fork first keeps it, and the other's note gives the fork away."""
    one, two = Watch(tmp_path / "one"), Watch(tmp_path / "two")
    assert one.ask(LOG.request(0, 30))[0] == 200
    assert two.ask(FORK.request(0, 30))[0] == 200
    assert one.ask(FORK.request(30, 30))[0] == two.ask(LOG.request(30, 30))[0] == 409
    for watch, tree in ((one, LOG), (two, FORK)):
        text, signatures = split_note(watch.judge.newest(NAME))
        check_cosigned(text, signatures, watch.key.verifier)
        assert Checkpoint.parse(text).root == tree.roots[30]
        watch.ledger.close()
    with pytest.raises(AuditError):
        check_cosigned(text, signatures, one.key.verifier)


def test_the_sink_brings_a_log_to_a_witness_that_knows_it_from_elsewhere(tmp_path):
    home = Home()
    with (
        WitnessProcess(tmp_path / "state", home.vkey, new=WITNESS) as witness,
        home.open(create=True) as log,
    ):
        clock = SystemClock.read()

        def sink(folder):
            return WitnessSink(witness.url, WitnessKey.parse(witness.vkey), tmp_path / folder, log.name, clock=clock)

        def send(folder):
            note = log.checkpoint()
            return sink(folder).send(note, lambda old: log.prove_consistency(old, note)[1])

        assert send("a") == 1
        log.append(decision(1))
        assert send("b") == 2  # a folder that was lost: the witness says from where to prove
        log.append(decision(2))
        assert send("a") == 3
        with sqlite3.connect(home.db) as database:
            (first,) = database.execute("SELECT note FROM checkpoints WHERE size = 1").fetchone()
        database.close()
        shutil.rmtree(tmp_path / "b")
        with pytest.raises(SinkError, match="cosigned 3 records and the log shows 1"):
            sink("b").send(first, never)
