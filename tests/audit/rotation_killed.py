"""Changes a log's key in child processes, each killed before another file operation, and looks at what is left.

Prints how many operations there were, and after how many of the kills the old key was still in force.
"""

import os
import shutil
import signal
import sys

from test_audit_rotation import opened

from audit import keys
from audit.rotation import rotate
from audit.verify import Outcome, verify_log
from audit_support import Home, decision

WATCHED = {"open", "os.rename", "os.remove", "os.truncate"}


def change(home: Home, last: int) -> None:
    """Runs in the child; no return if it has more than `last` operations."""
    log = opened(home, key=keys.load(home.path / "keys", log=home.db))
    count = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        # files that are only looked at change nothing
        if event in WATCHED and str(home.path) in repr(arguments):
            count += 1
            if count > last:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    rotate(log, home.path / "keys", {})
    log.append(decision(3))
    os._exit(0)


def copied(home: Home) -> Home:
    """The same log in another place."""
    twin = Home()
    shutil.rmtree(twin.path / "keys")
    shutil.copytree(home.path, twin.path, dirs_exist_ok=True)
    twin.key = home.key
    return twin


def main() -> None:
    undone = steps = 0
    first = Home()
    with opened(first, create=True) as log:
        log.append(decision(1))
    while True:
        home = copied(first)
        child = os.fork()
        if child == 0:
            try:
                change(home, steps)
            finally:
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        assert status in {0, signal.SIGKILL}, status
        key = keys.load(home.path / "keys", log=home.db)
        with opened(home, key=key) as log:
            changed = log.key != home.key.verifier
            log.append(decision(9))
            if steps % 4 == 0:  # and it can be changed again
                rotate(log, home.path / "keys", {})
        for trusted in (home.key, key):
            report = verify_log(home.db, trusted.verifier, outside=[home.checkpoint.read_text()])
            assert report.outcome is Outcome.OK, (steps, report.reason)
        assert keys.load(home.path / "keys", log=home.db).verifier == log.key
        if status == 0:
            assert changed
            break
        undone += not changed
        steps += 1
    print(steps, undone)


if __name__ == "__main__":
    main()
