"""Processes that are killed, disks that fail, fill up or turn read-only, writers that race, and the order of the
system calls: all of it real."""

import itertools
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

import audit.store
from audit.checkpoint import Checkpoint
from audit.query import Filter, select
from audit.verify import Outcome, verify_log
from audit_children import child, finish, own_mounts, strace
from audit_support import Home, decision
from scale import scale, seed

ROUNDS = scale("kill_rounds")
FRESH = 20  # rounds on one log

# every acknowledged call is said only after its append returned
COROUTINES = """
async def main():
    log = AsyncLog(begin(seal_every_ms=20), asyncio.get_running_loop())
    async def client(number):
        while True:
            say(number, (await log.append(decision(number))).seq)
            number += 32
    await asyncio.gather(*(client(int(sys.argv[2]) + at) for at in range(32)))
asyncio.run(main())
"""
THREADS = """
log = begin(seal_every_ms=20)
def client(number):
    while True:
        say(number, log.append(decision(number)).seq)
        number += 16
for at in range(16):
    threading.Thread(target=client, args=(int(sys.argv[2]) + at,)).start()
"""


def killed(home, script, first, rnd):
    """What a writer acknowledged, [call, seq] each, before it was killed: while it opened the log, or under load."""
    process = child(home, script, first)
    try:
        lines = []
        if rnd.random() < 0.1:
            time.sleep(rnd.random() * 0.4)
        else:
            lines = [process.stdout.readline() for _ in range(rnd.randrange(1, 400))]
            time.sleep(rnd.random() * 0.01)
        process.send_signal(signal.SIGKILL)
        # What still stands in the pipe was acknowledged too. Not `communicate`: it forgets what is buffered here.
        lines += process.stdout.read().splitlines(keepends=True)
        process.communicate(timeout=30)
    finally:
        process.kill()
    return [line.split() for line in lines if line.endswith(b"\n")]


@pytest.mark.parametrize("script", [COROUTINES, THREADS], ids=["coroutines", "threads"])
def test_a_killed_writer_loses_nothing_it_acknowledged_and_a_retry_is_no_second_record(script):
    rnd = random.Random(seed())
    total = unacknowledged = 0
    for round_ in range(ROUNDS // 2):
        if round_ % FRESH == 0:
            home, acknowledged = Home(), {}
            home.open(create=True).close()
        lines = killed(home, script, round_ * 1_000_000, rnd)
        found = {f"call-{call.decode()}": int(seq) for call, seq in lines}
        acknowledged |= found
        total += len(found)
        outside = home.checkpoint.read_text()
        report = verify_log(home.db, home.key.verifier, outside=[outside])
        assert report.outcome is Outcome.OK, report.reason
        assert Checkpoint.open(outside, home.key.verifier).size <= report.records
        stored = {one.envelope.call_id: one.envelope.seq for one in select(home.db, Filter(kind="decision"))}
        assert acknowledged.items() <= stored.items()
        unacknowledged += len(stored.keys() - acknowledged.keys())
        # retried after the restart, as a client would: those it has an answer to, and those it has none
        with home.open() as log:
            for call, seq in rnd.sample(sorted(stored.items()), min(20, len(stored))):
                again = log.append(decision(int(call.removeprefix("call-"))))
                assert (again.seq, again.duplicate) == (seq, True)
        acknowledged = stored
    assert verify_log(home.db, home.key.verifier).unsealed == 0
    print(f"{ROUNDS // 2} kills, {total} acknowledged and stored, {unacknowledged} stored without an answer")


ORDERLY = """
log = begin(seal_every_ms=0)
for number in range(5):
    say("ACK", log.append(decision(number)).seq)
log.close()
say("END")
"""
NAMES = r"audit\.db-wal|audit\.db|checkpoint\.new|checkpoint"


def traced(trace):
    """The lines of a trace in the order in which the calls ended; what was said, in the order in which it began."""
    begun = {}
    for line in trace.read_text().splitlines():
        process, _, call = line.partition(" ")
        call = call.strip()
        if call.startswith("write(1<"):
            yield call
        elif call.endswith("<unfinished ...>"):
            begun[process] = call.removesuffix("<unfinished ...>")
        elif process in begun and call.startswith("<... "):
            yield begun.pop(process) + call.partition("resumed>")[2]
        else:
            yield call


def calls_of(trace):
    """What the log asked of the kernel, in order: (call, file), and ("answer", what was said)."""
    found = []
    for line in traced(trace):
        if said := re.match(r'write\(1<[^>]*>, "(ACK[^"]*?)\\n"', line):
            found.append(("answer", said[1]))
        elif call := re.match(rf"(\w+)\((?:\d+<[^>]*/({NAMES})>|\"[^\"]*/({NAMES})\"|\d+<([^>]*)>)", line):
            found.append((call[1], call[2] or call[3] or "directory"))
    return found


def test_the_system_calls_of_a_commit_are_those_that_the_store_says():
    home = Home()
    home.open(create=True).close()
    trace = home.path / "trace"
    wrap = strace("-y", "-s", "40", "-e", "trace=pwrite64,fdatasync,fsync,rename,write", "-o", str(trace))
    finish(child(home, ORDERLY, wrap=wrap))
    steps = re.findall(r"\b(write|fdatasync|answer|fsync|rename)\b", audit.store.__doc__.partition("in order:")[2])
    assert steps == ["write", "fdatasync", "answer", "write", "fsync", "rename", "fsync"]
    commit = [("pwrite64", "audit.db-wal"), ("fdatasync", "audit.db-wal")]
    publish = [("write", "checkpoint.new"), ("fsync", "checkpoint.new"), ("rename", "checkpoint.new")]
    publish += [("fsync", "directory")]
    calls = calls_of(trace)
    answers = [at for at, (call, _) in enumerate(calls) if call == "answer"]
    assert len(answers) == 5
    # The answer is another thread's: it comes after its commit, beside or before what follows.
    between = [one for one in calls[answers[0] : answers[-1]] if one[0] != "answer"]
    between = [one for at, one in enumerate(between) if at == 0 or one != between[at - 1]]  # frames are many writes
    first = between.index(commit[0])
    assert between[first : first + 3 * 6] == (commit + publish) * 3
    for before, after in itertools.pairwise(answers):
        step = calls[before + 1 : after]
        # INVARIANT: no frame of this group follows its sync
        assert commit[0] in step
        assert commit[0] not in step[step.index(commit[1]) :]


GROUPS = """
from audit.entry import Private
from audit.private import create_master
async def main():
    log = AsyncLog(begin(seal_every_ms=5, master=create_master(home / "keys")), asyncio.get_running_loop())
    async def client(number):
        for again in range(4):
            private = Private(salt=os.urandom(32), content=b"kept aside") if number % 2 else None
            said = await log.append(decision(number + again * 100, private=private))
            say("ACK", said.seq)
    await asyncio.gather(*(client(number) for number in range(1000, 1032)))
    log.log.close()
asyncio.run(main())
"""
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"f": b"\f", b"v": b"\v"}


def written_by(line):
    """The bytes in a traced write, as strace escapes them."""
    quoted = line[line.index('"') + 1 : line.rindex('"')].encode("latin-1")

    def plain(found):
        if found[1].isdigit():
            return bytes([int(found[1], 8)])
        return _ESCAPES.get(found[1], found[1])

    return re.sub(rb"\\([0-7]{1,3}|.)", plain, quoted)


def synced_before_answers(trace, rows):
    """How many answers a trace holds; all bytes that `rows` names for each were written to the WAL and synced before."""
    written, durable, answers = b"", b"", 0
    for line in traced(trace):
        if line.startswith("pwrite64(") and "audit.db-wal>" in line:
            written += written_by(line)
        elif re.match(r"fdatasync\(\d+<[^>]*audit\.db-wal>\) += 0", line):
            durable += written
            written = b""
        elif said := re.match(r'write\(1<[^>]*>, "ACK ([^"]*?)\\n"', line):
            for piece in rows[int(said[1])]:
                assert piece in durable, f"record {said[1]} was answered before it was durable"
            answers += 1
    return answers


def test_each_of_32_clients_is_answered_after_the_sync_that_holds_its_record_and_what_is_private_to_it():
    home = Home()
    home.open(create=True).close()
    trace = home.path / "trace"
    # whole pages: the record itself must be among what was written
    wrap = strace("--seccomp-bpf", "-y", "-s", "5000", "-e", "trace=pwrite64,fdatasync,write", "-o", str(trace))
    finish(child(home, GROUPS, wrap=wrap))
    with closing(sqlite3.connect(home.db)) as database:
        rows = {seq: [leaf] for seq, leaf in database.execute("SELECT seq, CAST(leaf AS BLOB) FROM entries")}
        sealed = list(database.execute("SELECT seq, sealed FROM private"))
    assert len(sealed) == 64
    for seq, piece in sealed:
        rows[seq].append(piece)
    assert synced_before_answers(trace, rows) == 128


def test_what_a_killed_writer_left_in_the_wal_is_in_the_database_before_the_next_answer():
    """Its last sync may have failed, and the kernel does not say so twice."""
    home = Home()
    home.open(create=True).close()
    process = child(home, "log = begin()\nlog.append(decision(1))\nos.kill(os.getpid(), 9)\n")
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert (home.path / "audit.db-wal").stat().st_size > 0
    trace = home.path / "trace"
    wrap = strace("--seccomp-bpf", "-y", "-s", "5000", "-e", "trace=pwrite64,fdatasync,write", "-o", str(trace))
    finish(child(home, ORDERLY, wrap=wrap))
    lines = list(traced(trace))
    answer = next(at for at, line in enumerate(lines) if line.startswith("write(1<") and "ACK" in line)
    pages = [at for at, line in enumerate(lines[:answer]) if line.startswith("pwrite64(") and "audit.db>" in line]
    syncs = [at for at, line in enumerate(lines[:answer]) if re.match(r"fdatasync\(\d+<[^>]*audit\.db>", line)]
    assert any(b'"call-1"' in written_by(lines[at]) for at in pages)
    assert max(syncs) > max(pages)


def test_an_io_error_is_never_acknowledged_and_the_log_recovers():
    """Every sync of a whole stretch of work fails in turn; what was refused is written at the next attempt."""
    home = Home()
    home.open(create=True).close()
    script = """
failed = 0
def insist(step):
    global failed
    for attempt in range(5):
        try:
            return step()
        except WriteFailedError:
            failed += 1
log = insist(lambda: unbegun(seal_every_ms=0))  # the fault may meet the opening: the next attempt opens
insist(lambda: log.append(OPEN))
for number in range(12):
    say("ACK", number, insist(lambda: log.append(decision(number))).seq)
say("FAILED", failed)
log.close()
"""
    # three in a row: the recovery's own sync fails too
    wrap = strace("-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=8..10", "-o", "/dev/null")
    lines = [line.split() for line in finish(child(home, script, wrap=wrap))]
    stored = {one.envelope.call_id: one.envelope.seq for one in select(home.db, Filter(kind="decision"))}
    acknowledged = {f"call-{words[1]}": int(words[2]) for words in lines if words[0] == "ACK"}
    assert len(acknowledged) == 12
    assert acknowledged.items() <= stored.items()
    report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
    assert report.outcome is Outcome.OK, report.reason
    assert int(lines[-1][1]) >= 1


# a disk stops taking writes, and takes them again: the same process goes on
STARVED = """
def fill(log, first):
    said, number = [], first
    while len(said) < 3:
        try:
            acknowledged.append(log.append(decision(number)).seq)
            number += 1
        except WriteFailedError as error:
            said.append(str(error))
            assert not log.healthy.ok, log.healthy
    say("SAID", said[-1])
    return number
def resume(log, number):
    for again in range(number, number + 5):
        acknowledged.append(log.append(decision(again)).seq)
    assert log.healthy.ok
    assert acknowledged == sorted(set(acknowledged))
    log.close()
    say("DONE", len(acknowledged))
acknowledged = []
"""
FULL = (
    STARVED
    + """
log = begin(path=home / "disk" / "audit.db", create=True)
acknowledged.append(log.append(decision(0)).seq)
filler = home / "disk" / "filler"
descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(descriptor, b"x" * 4096)
except OSError:
    os.close(descriptor)
number = fill(log, 1)
filler.unlink()
resume(log, number)
import shutil
shutil.copy(home / "disk" / "audit.db", home / "audit.db")
"""
)
LIMITED = (
    STARVED
    + """
import resource
log = begin()
acknowledged.append(log.append(decision(0)).seq)
wal = os.stat(home / "audit.db-wal").st_size
# the limit cuts a write in two: what fits is written, the rest is refused
resource.setrlimit(resource.RLIMIT_FSIZE, (wal + 10_000, resource.RLIM_INFINITY))
number = fill(log, 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
resume(log, number)
"""
)
ASIDE = (
    STARVED
    + """
import subprocess
log = begin(seal_every_ms=0, create=True)
acknowledged.append(log.append(decision(0)).seq)
mount = home / "aside"
# until the seal of that one has been written: a file open for writing holds a mount
while (done := subprocess.run(["mount", "-o", "remount,ro", mount], capture_output=True)).returncode:
    assert b"busy" in done.stderr, done.stderr
number = fill(log, 1)
subprocess.run(["mount", "-o", "remount,rw", mount], check=True)
resume(log, number)
import shutil
shutil.copy(home / "checkpoint", home / "copy")
"""
)
IMMUTABLE = (
    STARVED
    + """
import subprocess
disk = home / "disk"
log = begin(path=disk / "audit.db", create=True)
acknowledged.append(log.append(decision(0)).seq)
held = [disk, disk / "audit.db", disk / "audit.db-wal"]
subprocess.run(["chattr", "+i", *held], check=True)
number = fill(log, 1)
subprocess.run(["chattr", "-i", *held], check=True)
resume(log, number)
# and now the file system itself finds an error and turns read-only for good
log = begin(path=disk / "audit.db")
acknowledged = [log.append(decision(10_000)).seq]
device = os.stat(disk).st_dev
device = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
Path("/sys/fs/ext4", os.path.basename(device), "trigger_fs_error").write_text("1")
fill(log, 10_001)
say("KEPT", *acknowledged)
os._exit(0)
"""
)


def check_starved(home, lines, why):
    assert lines[0].startswith("SAID")
    assert re.search(why, lines[0])
    report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
    assert (report.outcome, report.unsealed) == (Outcome.OK, 0), report.reason
    assert report.records >= int(lines[1].split()[1])


def test_a_full_disk_is_refused_and_left_behind_without_a_restart():
    home = Home()
    (home.path / "disk").mkdir()
    wrap = own_mounts(f"mount -t tmpfs -o size=2m tmpfs {home.path / 'disk'}")
    check_starved(home, finish(child(home, FULL, wrap=wrap)), "full|disk")


def test_a_file_that_may_grow_no_more_is_refused_and_left_behind_without_a_restart():
    home = Home()
    home.open(create=True).close()
    check_starved(home, finish(child(home, LIMITED)), "disk I/O error|full")


def test_a_read_only_mount_for_the_checkpoint_stops_the_log_until_it_is_writable_again():
    home = Home()
    (home.path / "aside").mkdir()
    home.checkpoint.symlink_to(home.path / "aside" / "checkpoint")
    wrap = own_mounts(f"mount -t tmpfs -o size=2m tmpfs {home.path / 'aside'}")
    lines = finish(child(home, ASIDE, wrap=wrap))
    home.checkpoint.unlink()
    (home.path / "copy").rename(home.checkpoint)
    check_starved(home, lines, "[Rr]ead-only")


def test_a_file_system_that_turns_read_only_is_refused_and_what_was_acknowledged_is_there_afterwards():
    if shutil.which("mkfs.ext4") is None or shutil.which("chattr") is None:
        pytest.skip("no tools for an ext4 of its own")
    home = Home()
    disk, image = home.path / "disk", home.path / "image"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(16 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, timeout=30)
    mount = f"mount -o loop,errors=remount-ro {image} {disk} && test -d /sys/fs/ext4"
    lines = finish(child(home, IMMUTABLE, wrap=own_mounts(mount)))
    assert [line.split()[0] for line in lines] == ["SAID", "DONE", "SAID", "KEPT"]
    copy = f"cp -a {disk}/audit.db {disk}/audit.db-wal {home.path}"
    subprocess.run([*own_mounts(mount), "sh", "-c", copy], check=True, timeout=30)
    report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
    assert report.outcome is Outcome.OK, report.reason
    stored = [one.envelope.seq for one in select(home.db, Filter(call_id="call-10000"))]
    assert stored == [int(lines[-1].split()[1])]
    home.open().close()
    check_starved(home, lines, "I/O|disk|permitted")


RACE = """
rounds, mode = int(sys.argv[2]), sys.argv[3]
for number in range(rounds):
    sys.stdin.readline()  # all contenders are let go at once
    try:
        log = unbegun(create=mode == "create" and number == 0)
    except AuditError as error:
        say(number, type(error).__name__)
    else:
        say(number, "WON")
        log.append(OPEN)
        log.append(Draft(kind="decision", body={}, call_id=f"{number}-{os.getpid()}"))
        sys.stdin.readline()  # held until every other one has been refused
        log.close()
        say(number, "DONE")
"""


@pytest.mark.parametrize("mode", ["open", "create"])
def test_of_writers_that_race_exactly_one_wins(mode):
    home, contenders, rounds = Home(), 4, scale("races")
    if mode == "open":
        home.open(create=True).close()
    racing = [child(home, RACE, rounds, mode) for _ in range(contenders)]

    def tell(one):
        one.stdin.write(b"go\n")
        one.stdin.flush()

    try:
        for _ in range(rounds):
            for one in racing:
                tell(one)
            said = [one.stdout.readline().split()[1].decode() for one in racing]
            winners = [one for one, word in zip(racing, said, strict=True) if word == "WON"]
            assert len(winners) == 1, said
            assert set(said) == {"WON", "LogBusyError"}, said
            tell(winners[0])
            assert winners[0].stdout.readline().endswith(b"DONE\n")
        for one in racing:
            assert one.wait(timeout=30) == 0
    finally:
        for one in racing:
            one.kill()
            one.communicate()
    report = verify_log(home.db, home.key.verifier, outside=[home.checkpoint.read_text()])
    assert (report.outcome, report.records, report.unsealed) == (Outcome.OK, 2 * rounds + (mode == "open"), 0), report


def test_a_second_process_is_refused_until_the_first_is_gone():
    home = Home()
    home.open(create=True).close()
    holder = child(home, "log = begin()\nsay('UP')\nsys.stdin.read()\n")
    try:
        assert holder.stdout.readline() == b"UP\n"
        second = finish(child(home, "try:\n    begin()\nexcept AuditError as error:\n    say(type(error).__name__)"))
        assert second == ["LogBusyError"]
        holder.send_signal(signal.SIGKILL)
        holder.communicate(timeout=30)
    finally:
        holder.kill()
    home.open().close()


def test_the_checkpoint_outside_never_runs_ahead_of_the_database():
    """Killed at every published checkpoint in turn, the log still opens: the file follows the commit."""
    home = Home()
    home.open(create=True).close()
    process = child(home, "log = begin(seal_every_ms=0)\nfor n in range(9999):\n    say(log.append(decision(n)).seq)\n")
    try:
        for _ in range(30):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    finally:
        process.kill()
    outside = Checkpoint.open(home.checkpoint.read_text(), home.key.verifier)
    with home.open() as log:
        assert log.size > outside.size > 20
