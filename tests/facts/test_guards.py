"""What is guarded stays so under other names: a link, a mount, another case, a process's view. On real file systems."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from shield.facts.local import LocalFiles
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.paths import path_fact
from shield.facts.place import Place, Protected
from shield.types import Access


@pytest.fixture
def top():
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    for name in ("home", "ws", "state/keys", "code/lib/site-packages/pkg"):
        os.makedirs(f"{folder}/{name}")
    for name in ("state/audit.db", "state/keys/audit.pem", "code/lib/site-packages/pkg/x.py", "ws/a.txt"):
        Path(folder, name).write_text("x")
    yield folder
    shutil.rmtree(folder)


def guarded(top):
    identities = set()
    for path in Path(top).rglob("*"):
        if path.is_relative_to(f"{top}/state") or path.is_relative_to(f"{top}/code"):
            identities.add((path.lstat().st_dev, path.lstat().st_ino, str(path)))
    return Protected(
        state=(f"{top}/state",),
        code=(f"{top}/code", f"{top}/code/lib/site-packages"),
        identities=frozenset(identities),
        pids=frozenset({4242}),
    )


def categories(top, path, protected=None, access=Access.WRITE):
    place = Place(
        files=LocalFiles(),
        home=f"{top}/home",
        cwd=f"{top}/ws",
        workspace_roots=(f"{top}/ws",),
        protected=protected or guarded(top),
    )
    return path_fact(path, access, place, base=place.cwd).categories


def test_a_hard_link_to_state_is_state(top):
    os.link(f"{top}/state/audit.db", f"{top}/ws/innocent.txt")
    os.link(f"{top}/ws/a.txt", f"{top}/ws/b.txt")
    assert {"shield_state", "hard_link"} <= categories(top, "innocent.txt", access=Access.READ)
    twin = categories(top, "b.txt")
    assert "hard_link" in twin
    assert not twin & {"shield_state", "shield_code"}


def test_also_to_state_that_is_newer_than_the_start(top):
    protected = guarded(top)
    os.makedirs(f"{top}/state/new/deep")
    Path(f"{top}/state/new/deep/file").write_text("x")
    os.link(f"{top}/state/new/deep/file", f"{top}/ws/x")
    assert "shield_state" in categories(top, "x", protected)
    assert "shield_state" in categories(top, "x", Protected(state=(f"{top}/state",)))


def test_a_file_that_shares_its_content_with_our_code_is_our_code(top):
    # what `uv` makes by default: the environments of other projects hold links to the same files
    other = f"{top}/ws/.venv/lib/python3.11/site-packages/pkg"
    os.makedirs(other)
    os.link(f"{top}/code/lib/site-packages/pkg/x.py", f"{other}/x.py")
    Path(other, "own.py").write_text("x")
    code = Protected(code=guarded(top).code)
    assert "shield_code" in categories(top, f"{other}/x.py", code)
    assert "shield_code" not in categories(top, f"{other}/own.py", code)
    os.link(f"{other}/own.py", f"{other}/x2.py")
    assert "shield_code" not in categories(top, f"{other}/x2.py")


def test_a_number_that_was_given_anew_says_nothing(top):
    protected = guarded(top)
    stat = os.stat(f"{top}/ws/a.txt")
    stale = (stat.st_dev, stat.st_ino, f"{top}/state/gone-wal")
    changed = Protected(state=protected.state, identities=protected.identities | {stale})
    assert "shield_state" not in categories(top, "a.txt", changed)
    live = (stat.st_dev, stat.st_ino, f"{top}/ws/a.txt")
    known = Protected(code=(f"{top}/elsewhere",), identities=frozenset({live}))
    assert "shield_code" in categories(top, "a.txt", known)


def test_links_lead_to_what_they_lead_to(top):
    os.symlink(f"{top}/state", f"{top}/ws/l")
    os.symlink("l/keys", f"{top}/ws/ll")
    os.symlink("../state/audit.db", f"{top}/ws/f")
    for path in ("l", "l/audit.db", "ll/audit.pem", "f", "l/../state/x", "l/new"):
        assert "shield_state" in categories(top, path), path
    assert "shield_state" not in categories(top, "l/../ws/a.txt")


def test_a_process_sees_the_same_by_its_root(top):
    for path in (
        f"/proc/self/root{top}/state/audit.db",
        f"/proc/1/root/{top}/state",
        f"/proc/7/task/8/root{top}/state/x",
    ):
        assert "shield_state" in categories(top, path), path
    assert "shield_state" not in categories(top, f"/proc/self/root{top}/ws/a.txt")
    assert "shield_state" in categories(top, "/proc/4242/cwd/x")
    assert "shield_state" not in categories(top, "/proc/4243/cwd/x")


def test_case_is_no_way_around():
    files = MadeFiles({"/srv/Shield/keys/a": MadeFile()}, folds_case=True)
    for name in ("/srv/shield/KEYS/a", "/SRV/SHIELD", "/srv/Shield/new", "/srv/\uff33hield/x"):
        place = Place(
            files=files, home="/home/user", cwd="/", workspace_roots=(), protected=Protected(state=("/srv/Shield",))
        )
        found = path_fact(name, Access.READ, place, base="/").categories
        assert ("shield_state" in found) == name.isascii(), name


def test_what_nothing_is_imported_from_is_spared():
    protected = Protected(code=("/py/lib", "/py/lib/site-packages/shield"), apart=("/py/lib/site-packages",))
    place = Place(files=MadeFiles({}), home="/home/user", cwd="/", workspace_roots=(), protected=protected)
    found = {
        name: "shield_code" in path_fact(name, Access.WRITE, place, base="/").categories
        for name in ("/py/lib/os.py", "/py/lib/site-packages/other/x.py", "/py/lib/site-packages/shield/x.py")
    }
    assert list(found.values()) == [True, False, True]


MOUNTED = """
import json, sys
sys.path[:0] = [{here!r}]
import test_guards as t
protected = t.Protected(
    **{{name: tuple(paths) for name, paths in json.loads(sys.argv[2]).items()}},
    identities=frozenset(map(tuple, json.loads(sys.argv[3]))),
)
print(json.dumps({{path: sorted(t.categories(sys.argv[1], path, protected)) for path in sys.argv[4:]}}))
"""


def test_a_second_mount_is_known_by_what_it_shows(top):
    protected = guarded(top)
    for name in ("ws/m", "ws/k", "ws/other", "ws/lib"):
        os.makedirs(f"{top}/{name}")
    Path(f"{top}/ws/file").write_text("")
    mounts = {
        "state": "ws/m", "state/keys": "ws/k", "state/audit.db": "ws/file", "home": "ws/other",
        "code/lib/site-packages": "ws/lib",
    }  # fmt: skip
    line = " && ".join(f"mount --bind {top}/{source} {top}/{target}" for source, target in mounts.items())
    asked = ["m", "m/audit.db", "m/keys/new", "k/audit.pem", "file", "other", "other/x", "lib/pkg/x.py", "a.txt"]
    done = subprocess.run(
        [
            *("unshare", "--mount", "sh", "-c", f'{line} && exec "$@"', "sh", sys.executable, "-c"),
            MOUNTED.format(here=str(Path(__file__).parent)),
            top,
            json.dumps({"state": protected.state, "code": protected.code}),
            json.dumps(sorted(protected.identities)),
            *asked,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != 0 and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip(f"this user cannot mount: {done.stderr.strip()[:120]}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    state = {path for path in asked if "shield_state" in found[path]}
    assert state == {"m", "m/audit.db", "m/keys/new", "k/audit.pem", "file"}
    assert {path for path in asked if "shield_code" in found[path]} == {"lib/pkg/x.py"}
