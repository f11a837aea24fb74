"""A fault in every single system call that the log makes on its files, one run each (the method of Tessera's tests).

Of each run: nothing acknowledged is lost, the process goes on by itself or the next one opens the log, and no verifier
calls an honest log tampered with.
"""

import random
import re
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import zip_longest

import pytest

from audit.errors import LogMissingError
from audit.query import Filter, select
from audit.verify import Outcome, verify_log
from audit_children import child, finish, strace
from audit_support import Home
from scale import scale, seed

FILES = ("", "/audit.db", "/audit.db-wal", "/audit.db-shm", "/audit.db-journal", "/audit.db.lock")
FILES += ("/audit.db.new", "/audit.db.new-journal", "/checkpoint", "/checkpoint.new")
# What each call can fail with; `retval=0`: nothing was written, which is no error.
ERRORS = {
    "openat": ("error=EIO", "error=ENOSPC"),
    "pwrite64": ("error=EIO", "error=ENOSPC", "retval=0"),
    "write": ("error=EIO", "error=ENOSPC", "retval=0"),
    "fdatasync": ("error=EIO", "error=ENOSPC"),
    "fsync": ("error=EIO", "error=ENOSPC"),
    "rename": ("error=EIO", "error=ENOSPC"),
    "link": ("error=EIO", "error=ENOSPC"),
    "ftruncate": ("error=EIO", "error=ENOSPC"),
    "fcntl": ("error=EIO", "error=ENOLCK"),
    **dict.fromkeys(("unlink", "flock", "pread64", "read", "mmap", "lseek", "close"), ("error=EIO",)),
    **dict.fromkeys(("newfstatat", "fstat", "lstat", "stat"), ("error=EIO",)),
}
READS = ("pread64", "read", "mmap", "lseek")
WRITES = ("openat", "pwrite64", "write", "fdatasync", "fsync", "rename", "ftruncate", "unlink")

WRITE = """
def insist(what, step):
    for attempt in range(4):
        try:
            return step()
        except LogError as error:
            say("REFUSED", what, type(error).__name__, error)
    say("GAVE-UP", what)
    say("END")
    os._exit(0)  # as one that has nothing left to do but to be restarted
log = insist("open", lambda: unbegun(seal_every_ms=0, create=sys.argv[2] == "create"))
insist("begin", lambda: log.append(OPEN))
def group(numbers):
    waiting = [(number, log.submit(decision(number))) for number in numbers]
    for number, one in waiting:
        try:
            say("ACK", number, one.result().seq)
        except LogError as error:
            say("REFUSED", number, type(error).__name__, error)
            say("ACK", number, insist(number, lambda: log.append(decision(number))).seq)
group(range(100, 108))
insist("checkpoint", log.checkpoint)
group(range(200, 204))
say("HEALTHY", log.healthy.ok)
insist("close", log.close)
say("END")
"""


@dataclass(frozen=True)
class Fault:
    """In each thread the calls of this name on one of the log's files that `when` names fail, in strace's notation: the
    third is `3`, all from the third on `3+`, and from it every second one `3+2`."""

    mode: str  # "create": a log is begun; "open": one of 21 records is opened
    call: str
    what: str
    when: str


def files(home):
    return [word for name in FILES for word in ("-P", f"{home.path}{name}")]


def prepared(mode):
    home = Home()
    if mode == "open":
        home.fill(20, seal_at=(10,))
    return home


def calls_of(mode):
    """How often an undisturbed run makes each call, counted by the thread that makes it most."""
    home = prepared(mode)
    trace = home.path / "trace"
    wrap = strace("--seccomp-bpf", "-e", f"trace={','.join(f'?{call}' for call in ERRORS)}", *files(home))
    lines = finish(child(home, WRITE, mode, wrap=[*wrap, "-o", str(trace)]))
    assert lines[-2:] == ["HEALTHY True", "END"], lines
    counted = Counter(re.findall(r"^(\d+) +(\w+)\(", trace.read_text(), re.MULTILINE))
    most = {call: max((times for (_, name), times in counted.items() if name == call), default=0) for call in ERRORS}
    assert {call for call in WRITES if most[call]} == set(WRITES), most
    return most


def every_fault(mode):
    """Every call of an undisturbed run with all that it can be made to say."""
    most = calls_of(mode)
    return [
        Fault(mode, call, what, str(nth))
        for call, errors in ERRORS.items()
        for nth in range(1, most[call] + 1)
        for what in errors
    ]


def run(fault):
    """What the writer said, once the log's promises were checked against it."""
    home = prepared(fault.mode)
    trace = home.path / "trace"
    inject = f"inject={fault.call}:{fault.what}:when={fault.when}"
    wrap = strace("--seccomp-bpf", "-e", f"trace={fault.call}", *files(home), "-e", inject, "-o", str(trace))
    said = finish(child(home, WRITE, fault.mode, wrap=wrap), timeout=120)
    said.append(f"{trace.read_text().count('(INJECTED)')} INJECTED")
    assert "END" in said, said
    gave_up = {line.split()[1] for line in said if line.startswith("GAVE-UP")}
    # half a log that was just begun is not begun again, and what was closed unsealed cannot be closed once more
    assert "+" in fault.when or gave_up <= {"open" if fault.mode == "create" else "close", "close"}, said
    # a disk that fails for a moment is no proof of damage, though SQLite may call what it cannot read malformed
    reasons = {line.split()[2] for line in said if line.startswith("REFUSED")}
    assert fault.call in READS or not reasons & {"LogDamagedError", "LogMissingError", "LogForeignError"}, said
    acknowledged = {f"call-{line.split()[1]}": int(line.split()[2]) for line in said if line.startswith("ACK")}
    outside = [home.checkpoint.read_text()] if home.checkpoint.exists() else []
    if home.db.exists():
        report = verify_log(home.db, home.key.verifier, outside=outside)
        assert report.outcome is Outcome.OK, (report, said)
        home.open().close()
    else:
        assert not acknowledged
        with pytest.raises(LogMissingError):
            home.open()
        home.open(create=True).close()
    report = verify_log(home.db, home.key.verifier, outside=outside)
    assert (report.outcome, report.unsealed) == (Outcome.OK, 0), (report, said)
    stored = {one.envelope.call_id: one.envelope.seq for one in select(home.db, Filter(kind="decision"))}
    assert acknowledged.items() <= stored.items(), said
    return said


def run_all(faults):
    """Runs them two at a time; every one that failed is named."""

    def attempt(fault):
        try:
            return run(fault)
        except AssertionError as error:
            return f"{fault}: {error}"

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(attempt, faults))
    wrong = [one for one in told if isinstance(one, str)]
    assert not wrong, f"{len(wrong)} of {len(faults)} runs failed:\n" + "\n".join(wrong[:20])
    reached = [said for said in told if said[-1] != "0 INJECTED"]
    print(f"{len(reached)} of {len(faults)} runs met their fault")
    assert len(reached) >= len(faults) // 2
    return reached


def some(faults, name):
    """As many as the scale says, in turn of each call."""
    rnd = random.Random(seed())
    turns = defaultdict(list)
    for fault in rnd.sample(faults, len(faults)):
        turns[fault.call].append(fault)
    taken = [fault for turn in zip_longest(*turns.values()) for fault in turn if fault is not None]
    return taken[: scale(name)]


@pytest.mark.parametrize("mode", ["open", "create"])
def test_one_failing_call_loses_nothing(mode):
    run_all(some(every_fault(mode), "fault_calls"))


def test_a_disk_that_breaks_and_stays_broken_takes_nothing_with_it():
    found = [fault for fault in every_fault("open") if fault.call in WRITES and fault.what == "error=EIO"]
    run_all(some([replace(fault, when=f"{fault.when}+") for fault in found], "broken_disks"))


def test_a_disk_that_fails_now_and_then_takes_nothing_with_it():
    most = calls_of("open")
    every = [
        Fault("open", call, "error=EIO", when)
        for call in ERRORS
        for when in ("2+3", "3+4", "5+7")
        if int(when[0]) <= most[call]
    ]
    # what a stat does not tell was once taken for a file that somebody had moved away
    run_all([Fault("open", "newfstatat", "error=EIO", "2+3"), *some(every, "flaky_disks")])


BEGIN_AGAIN = """
try:
    log = unbegun(create=True)
except LogError as error:
    say(type(error).__name__)
else:
    say("BEGUN")
    log.close()
"""


@pytest.mark.parametrize("call", ["newfstatat", "openat"])
def test_no_fault_makes_a_new_log_replace_an_old_one(call):
    home = Home()
    home.fill(20)
    home.checkpoint.rename(home.path / "elsewhere")  # its disk is not mounted
    before = home.db.read_bytes()
    trace = home.path / "trace"
    for nth in range(1, 100):
        inject = f"inject={call}:error=EIO:when={nth}"
        wrap = strace("--seccomp-bpf", "-e", f"trace={call}", *files(home), "-e", inject, "-o", str(trace))
        assert finish(child(home, BEGIN_AGAIN, wrap=wrap)) in (["LogExistsError"], ["WriteFailedError"])
        assert home.db.read_bytes() == before
        if "(INJECTED)" not in trace.read_text():
            break
    assert nth > 1
    (home.path / "elsewhere").rename(home.checkpoint)
    home.open().close()
