"""Measures what hostile code gets at each level, with each means, as root and as an ordinary user.

A combination is measured once in a run of the tests, whichever worker comes first; the others read what it found.
"""

import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hostile_stage import SECRET

TESTS = Path(__file__).resolve().parent
_NOBODY = 65534
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROGRAMS = ("bash", "curl", "getent", "git", "make", "node", "npm", "setsid", "unshare")
_PATIENCE_S = 400
_PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py.py", "pygments")
_UNSHARE = ("--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One machine for hostile code: the user who is attacked, and what confines."""

    user: str  # `root` or `user`
    means: str  # `bubblewrap` or `landlock`

    @property
    def levels(self) -> tuple[str, ...]:
        """The strongest first: at `none` little stays whole. It is the same whatever confines, so it is measured once."""
        levels = ("confined", "state_hidden")
        return (*levels, "none") if self.means == "bubblewrap" else levels

    def parts(self, level: str) -> tuple[str, ...]:
        """What is tried there: the ways everywhere; what does not depend on who it is, as an ordinary user alone."""
        found = ["pytest", "solo"]
        if level == "confined":
            found += ["bare", "stubborn"]
        if self.user == "user":
            found += ["sh front.sh"]
            if self.means == "bubblewrap":
                found += ["bare", "make test", "npm test"]
            if level == "confined":
                found += ["floods", "endless", "race", "later"]
        return tuple(dict.fromkeys(found))

    @property
    def uid(self) -> int:
        return 0 if self.user == "root" else _NOBODY


STAGES = tuple(Stage(user=user, means=means) for user in ("root", "user") for means in ("bubblewrap", "landlock"))


@functools.cache
def missing() -> str | None:
    """Why there can be no stage here; None where there can."""
    if os.geteuid() != 0:
        return "only root can build a machine on which nothing real can be hit"
    if sys.platform != "linux":
        return "namespaces are Linux's"
    for name in _PROGRAMS:
        if shutil.which(name, path=_PATH) is None:
            return f"there is no `{name}` here"
    shown = ["/usr/bin/python3", "-c", "import sys; sys.exit(sys.version_info < (3, 10))"]
    if not Path(shown[0]).exists() or subprocess.run(shown, check=False).returncode != 0:
        return "there is no /usr/bin/python3 of 3.10 or later for hostile code to run with"
    probe = {"folder": None, "uid": 0, "argv": ["/bin/true"], "env": {}, "keep": [], "packages": []}
    done = _on_stage({**probe, "owned": [], "without": []}, timeout=60)
    return None if done.returncode == 0 else f"no stage can be built here: {done.stderr.strip()[-200:]}"


def measured(stage: Stage, folder: Path) -> dict[str, Any]:
    """What `hostile_driver` reports. `folder` is shared by all workers of a run."""
    if not _taken(stage, folder, wait=False):
        # another worker is at it: rather than wait, this one measures what nobody has measured yet
        for other in STAGES:
            _taken(other, folder, wait=False)
        _taken(stage, folder, wait=True)
    found: dict[str, Any] = json.loads(_file(stage, folder).read_text())
    assert "failed" not in found, found["failed"]
    return found


def _taken(stage: Stage, folder: Path, *, wait: bool) -> bool:
    """Whether it is measured by now; False where somebody else is measuring it and we do not `wait`."""
    file = _file(stage, folder)
    with open(f"{file}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        if not file.exists():
            file.write_text(json.dumps(_attempt(stage)))
    return True


def _file(stage: Stage, folder: Path) -> Path:
    return folder / f"hostile-{stage.user}-{stage.means}.json"


def _attempt(stage: Stage) -> dict[str, Any]:
    """A stage that fails fails once, not for every test that asks for it."""
    try:
        return measure(stage)
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def measure(stage: Stage) -> dict[str, Any]:
    """Build the stage, run the driver on it, tear it down."""
    prefix = Path(sys.prefix)
    site = Path(sysconfig.get_path("purelib"))
    packages = {name: Path(find_spec(name).origin or "").parent for name in ("shield", "agentctl")}  # type: ignore[union-attr]
    checkout = packages["shield"].parent
    path = [str(TESTS)] if checkout == site else [str(checkout), str(TESTS)]
    owned = [
        *packages.values(),
        packages["shield"] / "errors.py",
        packages["agentctl"] / "execute.py",
        *(packages["shield"] / "__pycache__").glob("errors.*.pyc"),
        packages["shield"] / "__pycache__",
        prefix.parent,
        prefix,
        prefix / "bin",
        prefix / "bin" / "agentctl",
        prefix / "pyvenv.cfg",
        site,
        site / "click",
        site / "click" / "__init__.py",
        Path(os.__file__).parent,
    ]
    plan = {level: stage.parts(level) for level in stage.levels}
    # a machine on which nobody installed bubblewrap
    bwrap = shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")
    spec = {
        "uid": stage.uid,
        "argv": [sys.executable, "-P", str(TESTS / "hostile_driver.py"), json.dumps(plan)],
        "env": {
            "HOME": "/home/you",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": ":".join(path),
            "LANG": "C.UTF-8",
            "API_KEY": SECRET,
        },
        "keep": [str(TESTS.parent), sys.prefix, sys.base_prefix],
        "packages": [str(site / name) for name in _PACKAGES if (site / name).exists()],
        "owned": [str(path) for path in owned if path.exists()],
        "without": [bwrap] if bwrap and stage.means == "landlock" else [],
    }
    done = _on_stage(spec, timeout=_PATIENCE_S)
    assert done.returncode == 0, f"{stage}: exit code {done.returncode}\n{done.stderr[-4000:]}"
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _on_stage(spec: dict[str, Any], *, timeout: int) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        return subprocess.run(
            ["unshare", *_UNSHARE, sys.executable, "-P", str(TESTS / "hostile_stage.py")],
            input=json.dumps({**spec, "folder": folder}),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
