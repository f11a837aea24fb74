"""The parts by themselves: places, views, options, rulesets, orders, profiles, and the program of the filter."""

import dataclasses
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from agentctl.errors import SettingsError, ToolError
from agentctl.sandbox import Means, Offer, Sandbox, bubblewrap, gather, landlock, with_session
from agentctl.sandbox.aliases import aliases
from agentctl.sandbox.limits import Limits, default_limits
from agentctl.sandbox.mounts import Show, View, moment, view
from agentctl.sandbox.order import Network, Order, decode_order, encode_order
from agentctl.sandbox.places import installation, is_within
from agentctl.sandbox.profile import profile
from agentctl.sandbox.register import Register
from agentctl.sandbox.scratch import Scratch
from agentctl.sandbox.seccomp import Strictness, assemble
from agentctl.sandbox.shown import Shown
from agentctl.tools.child import Child
from shield.types import Hidden, Isolation


@pytest.fixture
def places(tmp_path):
    base = Path(os.path.realpath(tmp_path))
    for name in ("ws/.git/hooks", "home/.ssh", "home/.config/agentctl", "home/.local/share/agentctl", "shield", "x"):
        (base / name).mkdir(parents=True)
    (base / "ws/.git/config").write_text("")
    return gather(
        shield_home=base / "shield",
        workspace_roots=[str(base / "ws")],
        home=base / "home",
        config=base / "home/.config/agentctl",
        data=base / "home/.local/share/agentctl",
        path_env="/usr/bin",
    )


# --- places ------------------------------------------------------------------------------------------------------------


def test_a_workspace_in_a_hidden_place_is_refused(places):
    for hidden in (places.shield_home, f"{places.home}/.config/agentctl"):
        with pytest.raises(SettingsError, match="lies in"):
            dataclasses.replace(places, workspace_roots=(f"{hidden}/project",))


def test_what_shield_names_is_added(places, tmp_path):
    named = with_session(places, Hidden(paths=(str(tmp_path / "x/../x"),), ports=(8470,)), places.workspace_roots)
    assert os.path.realpath(tmp_path / "x") in named.hidden
    assert set(places.hidden) < set(named.hidden)
    assert named.ports == (8470,)


def test_the_code_that_runs_here_is_hidden():
    import agentctl
    import shield

    found = installation((), "/usr/bin")
    for module in (agentctl, shield):
        assert any(is_within(os.path.realpath(module.__path__[0]), place) for place in found.hidden)
    prefix = os.path.realpath(sys.prefix)
    if sys.prefix != sys.base_prefix:
        assert prefix in found.hidden
        for shared in (
            installation((), f"/usr/bin:{prefix}/bin"),
            installation((prefix + "/ws",), ""),
            installation((os.path.dirname(prefix),), ""),
        ):
            assert prefix not in shared.hidden, "commands use it, too"
            assert prefix in shared.readonly
            assert os.path.join(prefix, "bin/shield") in shared.hidden or not os.path.exists(f"{prefix}/bin/shield")


TABLE = """\
1 0 8:1 / / rw - ext4 /dev/vda rw
2 1 8:2 / /home rw - ext4 /dev/vdb rw
3 1 8:1 /srv /mnt/srv rw - ext4 /dev/vda rw
4 1 8:2 / /mnt/all\\040homes rw - ext4 /dev/vdb rw
5 1 8:2 /u/.shield/run /mnt/run rw - ext4 /dev/vdb rw
6 1 0:5 / /proc rw - proc proc rw
7 1 8:2 /@home /mnt/sub rw - btrfs /dev/vdb rw
"""


def test_other_names_of_a_place_are_found():
    assert aliases(["/home/u/.shield"], TABLE) == {
        "/mnt/all homes/u/.shield": "/home/u/.shield",
        "/mnt/run": "/home/u/.shield",
    }
    assert aliases(["/srv/x"], TABLE) == {"/mnt/srv/x": "/srv/x"}
    assert aliases(["/opt"], TABLE) == {}
    assert aliases(["/opt"], "") == {}


# --- views, options, rulesets ------------------------------------------------------------------------------------------


def test_a_missing_place_is_left_out(places):
    seen = view(places, Isolation.CONFINED, private={})
    assert seen.places[f"{places.home}/.ssh"] is Show.HIDDEN
    assert f"{places.home}/.aws" not in seen.places


def test_hiding_wins_over_the_workspace(places):
    inner = f"{places.workspace_roots[0]}/.git"
    changed = dataclasses.replace(places, hidden=(*places.hidden, inner), caches=(places.shield_home,))
    seen = view(changed, Isolation.CONFINED, private={})
    assert seen.places[inner] is Show.HIDDEN
    assert seen.places[places.shield_home] is Show.HIDDEN


def test_programs_in_a_cache_are_readonly_at_confined(places):
    home, root = places.home, places.workspace_roots[0]
    for folder in (
        ".cargo/bin",
        ".cargo/registry",
        ".cache/x/env/bin",
        ".cache/x/bin",
        ".local/bin",
        "../ws/.venv/bin",
    ):
        os.makedirs(f"{home}/{folder}", exist_ok=True)
    Path(home, ".cache/x/env/pyvenv.cfg").touch()
    path_env = f"{home}/.cargo/bin:{home}/.cache/x/env/bin:{home}/.cache/x/bin:{home}/.local/bin:{root}/.venv/bin:{home}/none:x::/"
    gathered = gather(
        shield_home=Path(places.shield_home), workspace_roots=[root], home=Path(home), config=Path(home, "c"), data=Path(home, "d"),
        path_env=path_env, caches=[f"{home}/.cargo", root],
    )  # fmt: skip
    private = {f"{home}/.cache": f"{home}/d/sandbox/x"}
    shown = view(gathered, Isolation.CONFINED, private=private).places
    found = {
        path.removeprefix(home): show
        for path, show in shown.items()
        if path.startswith((f"{home}/.ca", f"{home}/.local"))
    }
    assert found == {"/.cargo": Show.WRITABLE, "/.cargo/bin": Show.READONLY, "/.cache": Show.PRIVATE,
                     "/.cache/x/env": Show.READONLY, "/.cache/x/bin": Show.READONLY}  # fmt: skip
    assert shown[root] is Show.WRITABLE
    assert f"{root}/.venv/bin" not in shown
    assert f"{home}/.cargo/bin" not in view(gathered, Isolation.STATE_HIDDEN, private={}).places


def test_guarded_names_are_readonly_at_confined_only(places):
    root = places.workspace_roots[0]
    confined = moment(view(places, Isolation.CONFINED, private={}), places, Isolation.CONFINED)
    assert confined.places[f"{root}/.git/config"] is Show.READONLY
    assert f"{root}/.git" not in confined.places
    assert (
        f"{root}/.git/config"
        not in moment(view(places, Isolation.STATE_HIDDEN, private={}), places, Isolation.STATE_HIDDEN).places
    )


def mounts(options: tuple[str, ...]) -> list[tuple[str, str]]:
    """(kind, destination) in order."""
    found = []
    for index, option in enumerate(options):
        if option in ("--bind", "--ro-bind"):
            found.append((option, options[index + 2]))
        elif option == "--tmpfs":
            found.append((option, options[index + 1]))
    return found


def test_deeper_mounts_come_later_and_directories_above_are_pinned(places):
    seen = moment(view(places, Isolation.CONFINED, private={}), places, Isolation.CONFINED)
    made = mounts(bubblewrap.options(seen, program="bwrap", cwd="/", offline=True))
    root = places.workspace_roots[0]
    order = [path for _, path in made if is_within(path, root)]
    assert order == [root, f"{root}/.git", f"{root}/.git/config", f"{root}/.git/hooks"]
    hidden = moment(view(places, Isolation.STATE_HIDDEN, private={}), places, Isolation.STATE_HIDDEN)
    made = mounts(bubblewrap.options(hidden, program="bwrap", cwd="/", offline=False))
    assert ("--bind", f"{places.home}/.config") in made, "it could be renamed, and another one put there"
    assert made.index(("--bind", f"{places.home}/.config")) < made.index(("--tmpfs", f"{places.home}/.config/agentctl"))
    assert sorted(path.count("/") for _, path in made[1:]) == [path.count("/") for _, path in made[1:]]


def test_what_lies_in_a_hidden_place_is_not_mounted_but_a_workspace_is(tmp_path):
    seen = View(
        base=Show.WRITABLE,
        places={"/run": Show.HIDDEN, "/run/x": Show.HIDDEN, "/run/media/ws": Show.WRITABLE},
        sources={},
        watched=(),
    )
    made = mounts(bubblewrap.options(seen, program="bwrap", cwd="/", offline=False))
    assert made[-2:] == [("--tmpfs", "/run"), ("--bind", "/run/media/ws")]


def granted(rules: tuple[tuple[str, int], ...], path: str) -> int:
    """What a ruleset lets be done with a path: the sum of the rules on it and above it."""
    found = 0
    for place, rights in rules:
        if is_within(path, place):
            found |= rights
    return found


WRITE, READ, EXECUTE = 1 << 1, 1 << 2, 1 << 0


def test_a_ruleset_gives_what_the_view_shows(places):
    root = places.workspace_roots[0]
    (Path(places.home) / "notes").write_text("")
    (Path(root) / "src").mkdir()
    for level in (Isolation.STATE_HIDDEN, Isolation.CONFINED):
        rules = landlock.domain(view(places, level, private={}), offline=True).paths
        for hidden in (
            f"{places.shield_home}/audit.db",
            f"{places.home}/.config/agentctl/config.toml",
            places.hidden[-1],
        ):
            assert granted(rules, hidden) == 0, hidden
        assert granted(rules, f"{root}/src/new") & (WRITE | READ) == WRITE | READ
        assert bool(granted(rules, f"{places.home}/notes") & WRITE) is (level is Isolation.STATE_HIDDEN)
        assert granted(rules, f"{places.home}/notes") & READ
        assert granted(rules, "/usr/bin/env") & (EXECUTE | WRITE) in (EXECUTE, EXECUTE | (0 if places.root else WRITE))
        assert granted(rules, "/run/docker.sock") == 0
        assert granted(rules, "/proc/sys/kernel/core_pattern") & WRITE == 0
        assert granted(rules, "/dev/pts/0") == granted(rules, "/dev/sda") == 0
        assert granted(rules, "/dev/null") & WRITE
    assert (
        granted(
            landlock.domain(view(places, Isolation.CONFINED, private={}), offline=True).paths, f"{places.home}/.ssh/id"
        )
        == 0
    )


def test_views_are_made_anew_when_a_directory_changed(places):
    now = 10**19
    shown = Shown(places, clock_ns=lambda: now)
    try:
        first = shown.view(Isolation.CONFINED, {})
        assert shown.view(Isolation.CONFINED, {}) is first
        os.mkdir(f"{places.home}/.aws")
        second = shown.view(Isolation.CONFINED, {})
        assert second.places[f"{places.home}/.aws"] is Show.HIDDEN
        now = 0
        os.mkdir(f"{places.home}/.kube")
        assert shown.view(Isolation.CONFINED, {}) is not shown.view(Isolation.CONFINED, {}), "too fresh to be trusted"
    finally:
        shown.close()


# --- orders and limits -------------------------------------------------------------------------------------------------


def test_an_order_comes_out_as_it_went_in():
    order = Order(
        argv=("/bin/x", "a b", "\udcff", "é"),
        env=(("A", "1"), ("B", "")),
        umask=0o22,
        deadline_s=3.5,
        limits=Limits(cpu=1, processes=2),
        wrapper=("bwrap", "--bind"),
        landlock=True,
        seccomp=b"\0\1\2",
        network=Network.LISTENER,
        listen=8118,
        privileges=False,
        pinned=(("/x", 1, 2),),
    )
    assert decode_order(encode_order(order)[4:]) == order
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode_order(encode_order(order)[5:])


def test_limits_are_only_ever_lowered():
    script = "import resource; from agentctl.sandbox.limits import *; from agentctl.sandbox.limits import apply\n"
    script += "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); apply(default_limits(1.5)); apply(Limits(cpu=9))\n"
    script += "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_CPU)[0], resource.getrlimit(resource.RLIMIT_CORE)[1])"
    env = {"PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    said = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["64", "9" if (os.cpu_count() or 1) > 3 else str(min(9, default_limits(1.5).cpu)), "0"]


# --- a level that is not there -----------------------------------------------------------------------------------------


def test_a_level_that_is_not_offered_runs_nothing(places):
    offers = [
        Offer(reasons=("because",)),
        Offer(levels=tuple(Isolation)),
        Offer(levels=(Isolation.NONE, Isolation.STATE_HIDDEN), means=Means.LANDLOCK),
    ]
    ws = os.open(places.workspace_roots[0], os.O_RDONLY)
    child = Child(argv=("/bin/sh", "-c", "touch ran"), env={}, cwd=ws, timeout_s=5)
    try:
        for offer in offers:
            with Sandbox(places, offer) as sandbox, pytest.raises(ToolError, match="cannot be run at `confined`"):
                sandbox.trial(child, Isolation.CONFINED)
    finally:
        os.close(ws)
    assert not os.path.exists(f"{places.workspace_roots[0]}/ran")


def test_a_workspace_that_became_a_link_runs_nothing(places):
    root = places.workspace_roots[0]
    os.rename(root, root + "2")
    os.symlink(root + "2", root)
    ws = os.open(root + "2", os.O_RDONLY)
    child = Child(argv=("/bin/sh", "-c", "touch ran"), env={}, cwd=ws, timeout_s=5)
    offer = Offer(levels=tuple(Isolation), means=Means.BUBBLEWRAP, program="/usr/bin/bwrap")
    try:
        with Sandbox(places, offer) as sandbox, pytest.raises(ToolError, match="replaced by a link"):
            sandbox.trial(child, Isolation.CONFINED)
    finally:
        os.close(ws)
    assert not os.path.exists(f"{root}2/ran")


# --- scratch and register ----------------------------------------------------------------------------------------------


def test_a_killed_sessions_files_go_with_the_next(places, tmp_path):
    folder = str(tmp_path / "scratch")
    lives = Scratch(folder)
    kept = lives.private(places)["/tmp"]
    left = Path(folder) / "session-of-one-that-was-killed"
    (left / "tmp").mkdir(parents=True)
    (left / "tmp" / "closed").mkdir(mode=0)
    other = Scratch(folder)
    other.private(places)
    assert not left.exists()
    assert os.path.isdir(kept), "another session's, which lives"
    lives.close()
    assert not os.path.exists(kept)
    other.close()


def test_a_home_that_is_not_there_is_not_made(places, tmp_path):
    scratch = Scratch(str(tmp_path / "scratch"))
    missing = str(tmp_path / "missing")
    assert set(scratch.private(dataclasses.replace(places, home=missing))) == {"/tmp", "/var/tmp"}
    assert not os.path.exists(missing)
    scratch.close()


def test_a_shared_temporary_directory_is_ours_alone(tmp_path):
    import agentctl.sandbox.places as module

    place = module.private_tmp(os.geteuid())
    before = os.path.isdir(place)
    scratch = Scratch(str(tmp_path))
    assert scratch.shared_tmp()["/tmp"] == place
    os.chmod(place, 0o755)
    try:
        with pytest.raises(ToolError, match="of yours alone"):
            scratch.shared_tmp()
    finally:
        os.chmod(place, 0o700)
        if not before:
            os.rmdir(place)


def test_a_register_holds_while_a_call_runs(tmp_path):
    register = Register(str(tmp_path / "calls"))
    with register.entering("/ws") as entering:
        assert entering.others() == []
        entry = entering.leave({"a": {"there": False}})
    with register.entering("/other") as entering:
        assert entering.others() == []
    with register.entering("/ws") as entering:
        assert entering.others() == [{"a": {"there": False}}]
    entry.close()
    with register.entering("/ws") as entering:
        assert entering.others() == []


def test_a_killed_calls_entry_does_not_hold(tmp_path):
    register = Register(str(tmp_path / "calls"))
    with register.entering("/ws") as entering:
        entry = entering.leave({"a": {}})
        os.close(os.dup(entry._descriptor))
        os.close(entry._descriptor)
    with register.entering("/ws") as entering:
        assert entering.others() == []


# --- macOS -------------------------------------------------------------------------------------------------------------


def last_matching(text: str, operation: str, path: str) -> str:
    """What the profile says of an operation on a path: the last rule that names both."""
    said = "allow"
    for line in text.splitlines():
        words = line.strip("()").replace("(", " ").replace(")", " ").split()
        if operation not in words or "remote" in words:
            continue
        places_named = [word.strip('"') for word in words if word.startswith('"')]
        if not places_named or any(
            path == place if "literal" in words else is_within(path, place) for place in places_named
        ):
            said = words[0]
    return said


def test_the_profile_of_macos_says_what_the_view_shows():
    seen = View(
        base=Show.READONLY,
        places={
            "/Users/u/.shield": Show.HIDDEN,
            "/Users/u/ws": Show.WRITABLE,
            "/Users/u/ws/.git/hooks": Show.READONLY,
            "/private/tmp": Show.PRIVATE,
        },
        sources={"/private/tmp": "/private/tmp/agentctl-501"},
        watched=(),
    )
    text = profile(seen, ports=(8470,))
    assert text.startswith("(version 1)\n")
    expected = {
        ("file-write*", "/Users/u/ws/a"): "allow",
        ("file-write*", "/Users/u/ws/.git/hooks/x"): "deny",
        ("file-write*", "/Users/u/other"): "deny",
        ("file-read*", "/Users/u/other"): "allow",
        ("file-read*", "/Users/u/.shield/audit.db"): "deny",
        ("file-write*", "/Users/u/.shield/audit.db"): "deny",
        ("file-read*", "/private/tmp/x"): "deny",
        ("file-write*", "/private/tmp/agentctl-501/x"): "allow",
        ("file-write-unlink", "/Users/u/ws/.git"): "deny",
        ("file-write-unlink", "/Users/u"): "deny",
        ("file-write*", "/dev/null"): "allow",
        ("network*", "anywhere"): "deny",
    }
    assert {key: last_matching(text, *key) for key in expected} == expected
    hidden = dataclasses.replace(seen, base=Show.WRITABLE)
    assert '(deny network-outbound (remote ip "localhost:8470"))' in profile(hidden, ports=(8470,))
    assert last_matching(profile(hidden, ports=()), "file-write*", "/Users/u/other") == "allow"


def test_names_cannot_break_out_of_the_profile():
    evil = '/x")(allow file-read* (subpath "/Users'
    seen = View(base=Show.WRITABLE, places={evil: Show.HIDDEN}, sources={}, watched=())
    assert '\\")(allow file-read* (subpath \\"' in profile(seen, ports=())


# --- the filter --------------------------------------------------------------------------------------------------------

X86, ARM, X32 = 0xC000003E, 0xC00000B7, 1 << 30
ALLOW, KILL = 0x7FFF0000, 0x80000000


def judged(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """Run a classic BPF program on one `struct seccomp_data`, as the kernel would."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=iIQ6Q", number, arch, 0, *padded)
    steps = [struct.unpack_from("=HBBI", program, offset) for offset in range(0, len(program), 8)]
    at, accumulator = 0, 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, k)
        elif code == 0x54:
            accumulator &= k
        elif code == 0x06:
            return k
        else:
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[code]
            at += yes if holds else no


def denied(error: int) -> int:
    return 0x50000 | error


@pytest.mark.parametrize(
    ("machine", "arch", "socket", "ioctl", "clone", "mount", "read"),
    [("x86_64", X86, 41, 16, 56, 165, 0), ("aarch64", ARM, 198, 29, 220, 40, 63)],
)
def test_the_filter_judges_calls(machine, arch, socket, ioctl, clone, mount, read):
    namespaces, landlocked, offline = (assemble(machine, strictness) for strictness in Strictness)
    for program in (namespaces, landlocked, offline):
        assert judged(program, arch, read) == ALLOW
        assert judged(program, arch, mount) == denied(1)
        assert judged(program, arch, 425) == denied(38), "io_uring"
        assert judged(program, arch, 435) == denied(38), "clone3, so that clone is used"
        assert judged(program, X86 ^ arch ^ ARM, read) == KILL, "another architecture"
        assert judged(program, arch, ioctl, 0, 0x5412) == denied(1)
        assert judged(program, arch, ioctl, 0, 0x1_0000_5412) == denied(1), "the kernel looks at the low half"
        assert judged(program, arch, ioctl, 0, 0x5413) == ALLOW
        assert judged(program, arch, clone, 0x10000000 | 17) == denied(1)
        assert judged(program, arch, clone, 0x3D0F00) == ALLOW, "a thread"
        assert judged(program, arch, socket, 40, 1, 0) == denied(97), "AF_VSOCK"
        assert judged(program, arch, socket, 16, 3, 0) == ALLOW
        assert judged(program, arch, socket, 16, 3, 4) == denied(93)
        assert judged(program, arch, socket, 2, 1 | 0x80000, 0) == ALLOW
        assert judged(program, arch, socket, 2, 1, 262) == denied(93), "MPTCP"
        assert judged(program, arch, socket, 10, 3, 58) == denied(93), "raw"
    if machine == "x86_64":
        assert judged(namespaces, arch, X32 | 41, 1, 1, 0) == KILL
    assert judged(namespaces, arch, socket, 1, 1, 0) == ALLOW
    assert judged(landlocked, arch, socket, 1, 1, 0) == judged(offline, arch, socket, 1, 1, 0) == denied(1)
    assert judged(landlocked, arch, socket, 2, 2, 17) == ALLOW
    assert judged(offline, arch, socket, 2, 2, 17) == judged(offline, arch, socket, 10, 2, 0) == denied(93)
    pair = {"x86_64": 53, "aarch64": 199}[machine]
    assert judged(landlocked, arch, pair, 1, 1 | 0x80000, 0) == ALLOW
    assert judged(landlocked, arch, pair, 1, 2, 0) == denied(1)
    assert judged(namespaces, arch, pair, 1, 2, 0) == ALLOW
    limit = {"x86_64": 302, "aarch64": 261}[machine]
    assert judged(landlocked, arch, limit, 0) == ALLOW
    assert judged(landlocked, arch, limit, 4711) == denied(1)
    modes = {"x86_64": {90: 1, 91: 1, 268: 2, 452: 2}, "aarch64": {52: 1, 53: 2, 452: 2}}[machine]
    for number, at in modes.items():
        for mode, answer in ((0o4755, denied(1)), (1 << 40 | 0o4755, denied(1)), (0o2755, ALLOW)):
            arguments = (*[0o4000] * at, mode)
            assert judged(landlocked, arch, number, *arguments) == judged(offline, arch, number, *arguments) == answer
            assert judged(namespaces, arch, number, *arguments) == ALLOW
    fast = {"x86_64": (44, 46), "aarch64": (206, 211)}[machine]
    assert judged(offline, arch, fast[0], 3, 0, 0, 0x20000000) == denied(95)
    assert judged(offline, arch, fast[1], 3, 0, 0x20000000) == denied(95)
    assert judged(offline, arch, fast[0], 3, 0, 0, 0x4000) == ALLOW


def test_the_filter_of_an_unknown_machine_is_refused():
    with pytest.raises(KeyError):
        assemble("riscv64", Strictness.NAMESPACES)


def test_the_numbers_are_the_kernels():
    """Compared with what this machine's C library says, where there is a compiler to ask."""
    import shutil

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("no C compiler")
    from agentctl.sandbox import syscalls

    numbers = syscalls.MACHINES[os.uname().machine][2]
    source = "#include <sys/syscall.h>\n" + "\n".join(
        f"#ifdef SYS_{name}\n={name} SYS_{name}\n#endif" for name in numbers
    )
    done = subprocess.run([compiler, "-E", "-P", "-"], input=source, capture_output=True, text=True, check=True).stdout
    found = {line[1:].split()[0]: int(line.split()[1]) for line in done.splitlines() if line.startswith("=")}
    assert len(found) > 30
    assert found == {name: numbers[name] for name in found}
