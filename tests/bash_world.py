"""A real bash in a root of its own, where every program is a stand-in that writes down that it was run; and the made
world that Shield judges the same lines in, so that a line has the same text in both.

Nothing outside that root can be reached: it has namespaces of its own (`unshare`), a home, a workspace and no network.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from shield.facts.made import PLAIN_PROGRAMS, MadeFile
from shield.facts.place import Place
from shield.policy.world import HOME, WORKSPACE, made_place
from shield.types import Isolation

__all__ = ["FILES", "HOME", "WORKSPACE", "BashWorld", "Ran", "Run", "bash_world", "judged_place", "needs_bash_world"]

# A text is a file, None a directory, a list a link.
FILES: Mapping[str, str | list[str] | None] = {
    f"{HOME}/.ssh/id_rsa": "key\n",
    f"{HOME}/.aws/credentials": "key\n",
    f"{HOME}/.netrc": "key\n",
    f"{HOME}/.bashrc": "# rc\n",
    f"{HOME}/.claude/settings.json": "{}\n",
    f"{HOME}/.shield/shield.toml": "version = 1\n",
    f"{HOME}/notes.txt": "text\n",
    f"{WORKSPACE}/a.txt": "a\n",
    f"{WORKSPACE}/b.txt": "b\n",
    f"{WORKSPACE}/src/m.py": "x = 1\n",
    f"{WORKSPACE}/build/out.o": "o\n",
    f"{WORKSPACE}/.env": "TOKEN=x\n",
    f"{WORKSPACE}/.git/HEAD": "ref: refs/heads/main\n",
    f"{WORKSPACE}/.git/hooks": None,
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\n",
    "/etc/shadow": "root:*:1::::::\n",
    "/tmp": None,
}
# These do their work besides being written down: without them wrappers and decoders would do nothing.
_PASSING_TEXT = """
awk base64 bash cat cut echo env expr find flock head ionice ln nice nohup printf sed seq setsid sh stdbuf tail tee
timeout tr true xargs xxd
"""
PASSING = tuple(_PASSING_TEXT.split())
# Wrappers that may not be installed, or would refuse: they run what follows their options.
_FORWARDING = frozenset(("sudo", "busybox"))
_STAND_IN = """#!/real/dash
cd -P .
printf '%s\\0' "$PWD" $(($# + 1)) "${0##*/}" "$@" >>/log/ran
"""
_ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "USER": "user"}


@dataclass(frozen=True)
class Ran:
    """One program that was started. `real` has each word as the path that it would be in `cwd`, links followed."""

    cwd: str
    argv: tuple[str, ...]
    real: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.argv[0]


@dataclass(frozen=True)
class Run:
    """What a line did: programs in order, files that are new or changed, directories and links that are new,
    and what is no longer there."""

    ran: tuple[Ran, ...]
    written: tuple[str, ...]
    made: tuple[str, ...]
    gone: tuple[str, ...]
    late: bool


class BashWorld:
    """Asks the driver; one line at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, line: str) -> Run:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the driver ended at {line!r}"
        found = json.loads(answer)
        ran = tuple(Ran(one["cwd"], tuple(one["argv"]), tuple(one["real"])) for one in found["ran"])
        return Run(ran, tuple(found["written"]), tuple(found["made"]), tuple(found["gone"]), found["late"])


@cache
def _reason() -> str | None:
    missing = [name for name in ("bash", "unshare", "mount", "ldd") if shutil.which(name) is None]
    if missing:
        return f"`{missing[0]}` is not installed"
    done = subprocess.run(["unshare", "-rmpf", "true"], capture_output=True, check=False)
    return None if done.returncode == 0 else "this machine lets nobody make namespaces (`unshare -rmpf`)"


def needs_bash_world() -> "pytest.MarkDecorator":
    """Skips, with the reason, where a root of its own cannot be made."""
    reason = _reason()
    return pytest.mark.skipif(reason is not None, reason=reason or "")


@contextmanager
def bash_world(*passing: str) -> Iterator[BashWorld]:
    """Makes the root and the driver in it; both are gone afterwards. Programs of `passing` do their work, too."""
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        root = Path(folder)
        _fill(root, (*PASSING, *passing))
        process = subprocess.Popen(
            ["unshare", "-rmpf", sys.executable, "-IS", str(Path(__file__).with_name("bash_driver.py")), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdin is not None
            given = {"shell": "/real/bash", "env": _ENV, "cwd": WORKSPACE, "entries": dict(FILES)}
            process.stdin.write(json.dumps(given) + "\n")
            yield BashWorld(process)
        finally:
            process.communicate(timeout=60)


def judged_place(isolation: Isolation = Isolation.CONFINED) -> Place:
    """The made world of policies' examples with the files of the real root in it."""
    made = made_place(_made(), isolation=isolation)
    assert dict(made.env) == _ENV
    return made


@cache
def _made() -> Mapping[str, MadeFile]:
    return {path: _entry(entry) for path, entry in FILES.items()}


def _entry(entry: str | list[str] | None) -> MadeFile:
    if entry is None:
        return MadeFile(directory=True)
    return MadeFile(symlink=entry[0]) if isinstance(entry, list) else MadeFile(content=entry.encode())


def _fill(root: Path, wanted: Sequence[str]) -> None:
    for name in ("usr/bin", "usr/local/bin", "real", "dev", "proc", "log", "home", "tmp", "etc"):
        (root / name).mkdir(parents=True)
    (root / "dev/null").touch()
    (root / "dev/fd").symlink_to("/proc/self/fd")
    for at, name in enumerate(("stdin", "stdout", "stderr")):
        (root / f"dev/{name}").symlink_to(f"/proc/self/fd/{at}")
    for name in ("bin", "sbin"):
        (root / name).symlink_to("usr/bin")
    passing = {name for name in wanted if _copy(name, root)}
    for found in Path("/usr/libexec/coreutils").glob("libstdbuf.so"):  # what stdbuf loads into the program it runs
        (root / "usr/libexec/coreutils").mkdir(parents=True)
        shutil.copy(found, root / "usr/libexec/coreutils")
    _copy("dash" if shutil.which("dash") else "bash", root, "dash")
    for name in PLAIN_PROGRAMS:
        stand_in = root / "usr/bin" / name
        text = _STAND_IN
        if name in passing:
            text += f'exec /real/{name} "$@"\n'
        elif name in _FORWARDING:
            text += 'exec "$@"\n'
        stand_in.write_text(text)
        stand_in.chmod(0o755)


def _copy(name: str, root: Path, alias: str | None = None) -> bool:
    """The real program and the libraries that it asks for; False where it is not installed."""
    found = shutil.which(name, path="/usr/bin:/bin")
    if found is None:
        return False
    shutil.copy(found, root / "real" / (alias or name))
    listed = subprocess.run(["ldd", found], capture_output=True, text=True, check=False).stdout
    for word in listed.split():
        if word.startswith("/") and not (root / word.lstrip("/")).exists():
            (root / word.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(word), root / word.lstrip("/"))
    return True
