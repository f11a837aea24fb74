"""Every name of a file counts: links, hard links, mounts, spellings. On real file systems and made ones."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shield.facts.filesystem import FileKind, Stat
from shield.facts.local import LocalFiles
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.mounts import OtherNames, other_names
from shield.facts.paths import path_fact
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot
from shield.types import Access


@pytest.fixture
def top():
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    for name in ("home/.ssh", "home/.aws/sso/cache", "home/.config/systemd/user", "home/ws"):
        os.makedirs(f"{folder}/{name}")
    for name in (".ssh/id_rsa", ".ssh/id_rsa.pub", ".aws/sso/cache/x.json", ".bashrc", "notes.txt", "ws/a.txt"):
        Path(folder, "home", name).write_text("x")
    yield folder
    shutil.rmtree(folder)


def place_of(top, files=None):
    return Place(
        files=files or Snapshot(LocalFiles()),
        home=f"{top}/home",
        cwd=f"{top}/home/ws",
        workspace_roots=(f"{top}/home/ws",),
    )


def categories(path, place, access=Access.READ):
    return path_fact(path, access, place, base=place.cwd).categories


def test_a_link_with_a_harmless_name_takes_nothing_away(top):
    home = f"{top}/home"
    for name, target in (
        ("x.pub", f"{home}/.ssh/id_rsa"),
        (".env.example", f"{home}/.aws/sso/cache/x.json"),
        ("cert.pem", f"{home}/.ssh/id_rsa"),
        ("twin.pub", f"{home}/.ssh/id_rsa.pub"),
    ):
        os.symlink(target, f"{home}/ws/{name}")
        assert ("credential" in categories(name, place_of(top))) == (name != "twin.pub"), name


def test_a_link_in_shared_memory_to_a_device_is_a_device():
    files = MadeFiles({"/dev/shm/x": MadeFile(symlink="/dev/sda"), "/dev/shm/y": MadeFile(), "/dev/sda": MadeFile()})
    place = Place(files=files, home="/home/user", cwd="/", workspace_roots=())
    assert "device" in categories("/dev/shm/x", place)
    assert "device" not in categories("/dev/shm/y", place)


def test_a_hard_link_is_what_its_other_name_is(top):
    home = f"{top}/home"
    for number, (name, category) in enumerate(
        (
            (".ssh/id_rsa", "credential"),
            (".aws/sso/cache/x.json", "credential"),
            (".bashrc", "shell_startup"),
            ("notes.txt", None),
        )
    ):
        os.link(f"{home}/{name}", f"{home}/ws/{number}.txt")
        found = categories(f"{number}.txt", place_of(top))
        assert "hard_link" in found
        assert found & {"credential", "shell_startup", "scheduler"} == ({category} - {None}), name
    # the twin on the other side: a second name that stands among the places, of a file of the workspace
    os.link(f"{home}/ws/a.txt", f"{home}/.config/systemd/user/a.service")
    assert "scheduler" in categories("a.txt", place_of(top), Access.WRITE)


def test_the_home_is_walked_once_for_an_action(top):
    home = f"{top}/home"
    for number in range(3):
        os.link(f"{home}/notes.txt", f"{home}/ws/{number}.txt")

    class Counting(LocalFiles):
        __slots__ = ("listed",)

        def __init__(self):
            super().__init__()
            self.listed = []

        def listdir(self, path, limit):
            self.listed.append(path)
            return super().listdir(path, limit)

    counting = Counting()
    place = place_of(top, Snapshot(counting))
    categories("0.txt", place)
    listed = list(counting.listed)
    assert listed.count(f"{home}/.ssh") == 2  # for hard links, and for links
    for number in range(3):
        categories(f"{number}.txt", place)
    assert counting.listed == listed


def test_a_home_full_of_secrets_is_walked_no_further_than_its_bound(top):
    home = f"{top}/home"
    os.makedirs(f"{home}/.mozilla/deep")
    for number in range(3_000):
        os.makedirs(f"{home}/.mozilla/{number % 60}/{number}")
    os.link(f"{home}/.ssh/id_rsa", f"{home}/ws/x")

    class Counting(LocalFiles):
        __slots__ = ("asked",)

        def __init__(self):
            super().__init__()
            self.asked = 0

        def lstat(self, path):
            self.asked += 1
            return super().lstat(path)

    counting = Counting()
    assert "credential" in categories("x", place_of(top, Snapshot(counting)))
    assert 2_000 < counting.asked < 2_100


# --- mounts ----------------------------------------------------------------------------------------------------------

_LINE = "{number} 1 {device} {root} {point} rw,relatime shared:1 - ext4 /dev/x rw\n"


def table(*mounts):
    return "".join(
        _LINE.format(number=number, device=device, root=root, point=point)
        for number, (device, root, point) in enumerate(mounts)
    ).encode()


def mounted(*mounts, files=None):
    made = {"/proc/self/mountinfo": MadeFile(content=table(*mounts)), **(files or {})}
    return MadeFiles(made)


def test_other_names_by_the_table_of_mounts():
    files = mounted(
        ("8:1", "/", "/"),
        ("8:1", "/home/user/.ssh", "/home/user/ws/m"),
        ("8:2", "/", "/data"),
        ("8:2", "/with\\040blank", "/mnt/b"),
        ("8:3", "/vol/.aws", "/mnt/elsewhere"),
    )
    assert other_names("/home/user/ws/m/id_rsa", files) == OtherNames(
        seen=("/home/user/.ssh/id_rsa",), within="/home/user/.ssh/id_rsa"
    )
    assert other_names("/home/user/.ssh/id_rsa", files).seen == ("/home/user/ws/m/id_rsa",)
    assert other_names("/mnt/b/x", files).seen == ("/data/with blank/x",)
    assert other_names("/mnt/elsewhere/credentials", files) == OtherNames(seen=(), within="/vol/.aws/credentials")
    assert other_names("/home/user/ws/more", files) == OtherNames()
    assert other_names("/", files) == OtherNames()
    # what was mounted last at a place covers what was there
    files = mounted(("8:1", "/", "/"), ("8:2", "/", "/mnt/x"), ("8:3", "/vol/.aws", "/mnt/x"))
    assert other_names("/mnt/x/config", files).within == "/vol/.aws/config"


@pytest.mark.parametrize("content", [b"", b"x", b"\xff\n", b"1 2 3 4 5\n", b"1 1 8:1 / / rw\n1 1 8:1 a b rw\n" * 3])
def test_a_broken_table_adds_nothing(content):
    files = MadeFiles({"/proc/self/mountinfo": MadeFile(content=content)})
    assert other_names("/home/user/x", files).seen == ()


def test_a_mount_of_a_secret_is_one_and_a_workspace_on_a_volume_is_none():
    files = mounted(
        ("0:30", "/", "/"),
        ("8:1", "/home/someone/.aws", "/home/user/ws/conf"),
        ("8:1", "/var/lib/docker/volumes/work/_data", "/home/user/ws"),
        ("8:1", "/var/lib/docker/containers/1/hosts", "/etc/hosts"),
        files={"conf/credentials": MadeFile(), "src/a.py": MadeFile(), "/etc/hosts": MadeFile()},
    )
    place = Place(files=files, home="/home/user", cwd="/home/user/ws", workspace_roots=("/home/user/ws",))
    assert "credential" in categories("conf/credentials", place)
    assert "credential" in categories("conf/new", place)
    assert categories("src/a.py", place) == {"source"}
    assert categories("/etc/hosts", place) == {"system"}
    # a second mount here of what has a meaning by where it stands
    files = mounted(("8:1", "/", "/"), ("8:1", "/etc", "/home/user/ws/e"), files={"e/shadow": MadeFile()})
    assert "credential" in categories("e/shadow", replace(place, files=files))
    assert "credential" not in categories("e/hosts", replace(place, files=files))
    # on another platform there is no such table
    assert "credential" not in categories("conf/new", replace(place, platform="darwin"))


_MOUNTED = """
import json, sys
sys.path[:0] = [{here!r}]
import test_names as t
place = t.place_of(sys.argv[1])
print(json.dumps({{path: sorted(t.categories(path, place)) for path in sys.argv[2:]}}))
"""


def test_a_real_mount_of_a_secret_is_one(top):
    for name in ("keys", "notes", "cache"):
        os.makedirs(f"{top}/home/ws/{name}")
    Path(f"{top}/home/ws/one").write_text("")
    binds = {".ssh": "keys", ".config": "notes", ".aws/sso": "cache", ".ssh/id_rsa": "one"}
    line = " && ".join(f"mount --bind {top}/home/{source} {top}/home/ws/{to}" for source, to in binds.items())
    asked = ["keys/id_rsa", "keys/new", "cache/cache/x.json", "one", "notes/x", "a.txt", "keys/id_rsa.pub"]
    done = subprocess.run(
        [
            *("unshare", "--mount", "sh", "-c", f'{line} && exec "$@"', "sh", sys.executable, "-c"),
            *(_MOUNTED.format(here=str(Path(__file__).parent)), top, *asked),
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
    assert {path for path in asked if "credential" in found[path]} == {
        *("keys/id_rsa", "keys/new", "cache/cache/x.json", "one")
    }


# --- spellings -------------------------------------------------------------------------------------------------------

_PLACE = Place(
    files=MadeFiles(
        {"~/.ssh/id_rsa": MadeFile(content=b"x"), ".env": MadeFile(), ".git/hooks": MadeFile(directory=True)}
    ),
    home="/home/user",
    cwd="/home/user/ws",
    workspace_roots=("/home/user/ws",),
)
_GUARDED = {
    "/home/user/.ssh/id_rsa": "credential",
    "/home/user/.aws/credentials": "credential",
    "/home/user/Library/Keychains/login.keychain-db": "secret_store",
    "/home/user/.bashrc": "shell_startup",
    "/home/user/ws/.env": "credential",
    "/home/user/ws/.git/hooks/pre-commit": "vcs_hook",
    "/home/user/ws/.git/config": "vcs_config",
    "/home/user/ws/.github/workflows/ci.yml": "ci",
    "/home/user/ws/.vscode/tasks.json": "host_config",
    "/home/user/ws/.npmrc": "tool_config",
    "/etc/shadow": "credential",
    "/etc/crontab": "scheduler",
    "/proc/1/environ": "proc_environ",
    "/var/run/docker.sock": "socket",
    "/dev/sda": "device",
}


def _dotted(path, draw):
    at = draw(st.sampled_from([index for index, character in enumerate(path) if character == "/"]))
    return path[:at] + draw(st.sampled_from(["/.", "//", "/./", "///"])) + path[at:]


def _climbing(path, draw):
    head, _, rest = path[1:].partition("/")
    return f"/{head}/../{head}/{rest}" if rest else path


def _cased(path, draw):
    return "".join(draw(st.sampled_from((character, character.upper()))) for character in path)


def _ended(path, draw):
    return path + draw(st.sampled_from(["/", "/.", "//", "."]))


def _windows(path, draw):
    return path + draw(st.sampled_from([".", " ", "...", "::$DATA", ":$DATA".replace(":", "::")]))


def _unseen(path, draw):
    at = draw(st.integers(1, len(path)))
    return path[:at] + draw(st.sampled_from("\u200b\u200c\u200d\ufeff\u202e"[1:])) + path[at:]


def _rooted(path, draw):
    return (
        draw(st.sampled_from(["/proc/self/root", "/proc/1/root", "/proc/thread-self/root", "/proc/7/task/8/root"]))
        + path
    )


def _as_uri(path, draw):
    return draw(st.sampled_from(["file://", "file:", "FILE://localhost"])) + path.replace(".", "%2e")


@st.composite
def _spelled(draw):
    path = draw(st.sampled_from(sorted(_GUARDED)))
    # in this order: nothing may come to stand within a `..`
    ways = (_unseen, _cased, _dotted, _climbing, draw(st.sampled_from((_ended, _windows))))
    name = path
    for way in ways:
        name = way(name, draw) if draw(st.booleans()) else name
    last = draw(st.sampled_from((None, None, _rooted, _as_uri)))
    return path, last(name, draw) if last else name


@settings(max_examples=400, deadline=None)
@given(_spelled())
def test_another_spelling_never_loses_a_category(spelling):
    path, name = spelling
    assert _GUARDED[path] in categories(path, _PLACE)
    assert _GUARDED[path] in categories(name, _PLACE), name


@given(
    st.sampled_from(["Bücher/.ssh/id_rsa", "文書/.aws/credentials", "é/.git/config"]), st.sampled_from(["NFC", "NFD"])
)
def test_unicode_forms_are_one(path, form):
    name = unicodedata.normalize(form, path)
    assert categories(name, _PLACE) & {"credential", "vcs_config"}


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("git~1/config", "vcs_config"),
        (".git./config", "vcs_config"),
        (".git /hooks/x", "vcs_hook"),
        (".g\u200cit/config", "vcs_config"),
        ("bare.git/hooks/post-receive", "vcs_hook"),
        ("bare.git/config", "vcs_config"),
        ("/home/other/.SSH./Id_Rsa", "credential"),
        ("/mnt/c/Users/u/.aws/credentials", "credential"),
        ("/System/Volumes/Data/Users/u/.ssh/id_rsa", "credential"),
        ("/private/var/root/.ssh/id_rsa", "credential"),
        ("//etc//shadow", "credential"),
        ("/proc/self/cwd/.env", "credential"),
        ("/proc/self/root/../etc/crontab", "scheduler"),
        ("/./proc//7/root/x/../../etc/crontab", "scheduler"),
        ("/proc/7/task/8/root/../../etc/crontab", "scheduler"),
        ("/home/proc/7/root/../etc/crontab", None),
        ("/proc/self/fd/3", "proc_environ"),
        (".env\n", None),
        ("a\n/.env", "credential"),
        ("x" * 5000 + "/.env", None),
        ("~root/.ssh/id_rsa", "credential"),
        ("src.git/main.py", None),
        ("git~x/config", None),
        ("bare.git/config/app.yml", None),
    ],
)
def test_spellings(path, category):
    found = categories(path, _PLACE) - {"temp", "source", "system"}
    assert category in found if category else not found


def test_long_paths_and_loops_are_unknown_and_bounded(top):
    home = f"{top}/home"
    os.symlink("b", f"{home}/ws/a")
    os.symlink("a", f"{home}/ws/b")
    os.symlink(".", f"{home}/ws/self")
    place = place_of(top)
    for raw in ("a", "a/x", "b/../a", "self/" * 50 + "a.txt", "x/" * 4000, "d" * 300):
        fact = path_fact(raw, Access.WRITE, place, base=place.cwd)
        assert (fact.resolved, fact.inside_workspace) == (None, False), raw[:20]
    assert path_fact("self/" * 40 + "a.txt", Access.READ, place, base=place.cwd).resolved == f"{home}/ws/a.txt"


def test_what_is_a_directory_is_no_secret_by_its_name():
    made = {".env/bin/python": MadeFile(), "src/credentials/x.py": MadeFile(), "deploy.key": MadeFile(directory=True)}
    place = replace(_PLACE, files=MadeFiles(made))
    for name in (".env", "src/credentials", "deploy.key", ".env/bin/python"):
        assert "credential" not in categories(name, place, Access.LIST), name
    # unless nobody knows what it is, or it is a place of secrets as a whole
    assert "credential" in categories(".env", replace(place, files=MadeFiles({})))
    assert "credential" in categories("~/.ssh", replace(place, files=MadeFiles({"~/.ssh": MadeFile(directory=True)})))


def test_a_file_on_another_device_is_not_searched_for():
    class Elsewhere(MadeFiles):
        device = 1

        def lstat(self, path):
            found = super().lstat(path)
            if found is None:
                return None
            if path == "/home/user/ws/x":
                key = super().lstat("/home/user/.ssh/id_rsa")
                return Stat(FileKind.FILE, 0o644, self.device, key.ino, 0, 0, 1000, 2)
            return found._replace(links=2)

    files = Elsewhere({"~/.ssh/id_rsa": MadeFile(), "x": MadeFile()})
    assert "credential" not in categories("x", replace(_PLACE, files=files))
    Elsewhere.device = files.lstat("/home/user").dev
    assert "credential" in categories("x", replace(_PLACE, files=files))
