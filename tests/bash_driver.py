"""Runs lines under a real bash in a root of their own; started by bash_world.py as process 1 of its own namespaces.

`python bash_driver.py ROOT` reads `{"shell", "env", "home", "cwd", "entries"}` and then JSON strings, a line each, from
stdin; for each it writes `{"ran": [{"cwd", "argv", "real"}…], "written": […], "made": […], "gone": […], "late": bool}`. Between
lines every file below the watched directories is made again as it was.
"""

import contextlib
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

WATCHED = ("/home", "/tmp", "/etc")
LOG = "/log/ran"
SECONDS = 5
_FIELDS = 2


def enter(root: str) -> None:
    """Mounts what bash needs into `root` and makes it the root of this process and all that it starts."""
    assert os.getpid() == 1, "only as the first process of namespaces of its own: it ends every other one"
    for options in (
        ["--bind", "/dev/null", f"{root}/dev/null"],
        ["-t", "proc", "proc", f"{root}/proc"],
        ["--bind", f"{root}/usr", f"{root}/usr"],
        ["-o", "remount,bind,ro", f"{root}/usr"],
    ):
        subprocess.run(["mount", *options], check=True, capture_output=True)
    os.chroot(root)
    os.chdir("/")


def make(entries: dict) -> None:
    """A text is a file, None a directory, `["x"]` a link to x."""
    for path, entry in sorted(entries.items()):
        if entry is None:
            os.makedirs(path, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(entry, list):
            os.symlink(entry[0], path)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(entry)


def state() -> dict[str, tuple[int, ...]]:
    found = {}
    for top in WATCHED:
        for folder, folders, files in os.walk(top):
            for name in folders + files:
                path = os.path.join(folder, name)
                entry = os.lstat(path)
                times = () if stat.S_ISDIR(entry.st_mode) else (entry.st_mtime_ns, entry.st_size)
                found[path] = (entry.st_mode, entry.st_ino, *times)
    return found


def run(line: str, given: dict) -> bool:
    """Runs the line and waits for everything that it started; whether something had to be ended."""
    child = os.fork()
    if child == 0:
        try:
            os.chdir(given["cwd"])
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.closerange(3, 64)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execve(given["shell"], ["bash", "-c", line], given["env"])
        finally:
            os._exit(127)
    until = time.monotonic() + SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.0005)
        os.kill(-1, signal.SIGKILL)
        while True:
            os.waitpid(-1, 0)
    return time.monotonic() >= until


def records() -> list[dict]:
    with open(LOG, encoding="utf-8", errors="surrogateescape") as file:
        fields = file.read().split("\0")[:-1]
    found = []
    while fields:
        cwd, count = fields[0], int(fields[1])
        argv = fields[_FIELDS : _FIELDS + count]
        real = [os.path.realpath(os.path.join(cwd, word)) for word in argv]
        found.append({"cwd": cwd, "argv": argv, "real": real})
        del fields[: _FIELDS + count]
    return found


def restore(before: dict, after: dict, entries: dict) -> bool:
    """Makes everything as it was; whether there was anything to do."""
    if before == after:
        return False
    for path in sorted((path for path in after if before.get(path) != after[path]), reverse=True):
        if os.path.isdir(path) and not os.path.islink(path):
            if path not in before:
                shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    make({path: entry for path, entry in entries.items() if not os.path.lexists(path)})
    return True


def main() -> None:
    enter(sys.argv[1])
    given = json.loads(sys.stdin.readline())
    make(given["entries"])
    before = state()
    for text in sys.stdin:
        with open(LOG, "w", encoding="utf-8"):
            pass
        late = run(json.loads(text), given)
        ran = records()
        after = state()
        kept = {path for path, entry in after.items() if before.get(path) != entry}
        files = [path for path in kept if not stat.S_ISDIR(after[path][0])]
        found = {
            "ran": ran,
            "written": sorted(os.path.realpath(path) for path in files if not stat.S_ISLNK(after[path][0])),
            "made": sorted(path for path in kept if path not in files or stat.S_ISLNK(after[path][0])),
            "gone": sorted(before.keys() - after.keys()),
            "late": late,
        }
        if restore(before, after, given["entries"]):
            before = state()
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
