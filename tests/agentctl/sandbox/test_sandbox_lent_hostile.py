"""Temporary files that a call names, where the code that runs, another call or another user means ill: real processes."""

import os
import time

import pytest

SHARED = "/tmp"


def test_what_was_written_before_a_command_ran_out_of_time_is_kept(inside, name):
    answer = inside(f"echo one > {name}; sleep 30", files={"write": [name]}, timeout_s=1)
    assert answer.status != "ok"
    assert inside(f"cat {name}", "none").stdout == "one\n"


def test_a_command_that_prints_nothing_leaves_an_empty_file(inside, name):
    for _ in range(5):
        inside(f": > {name}", files={"write": [name]})
        assert inside(f"stat -c '%s %a' {name}; rm {name}", "none").stdout == "0 644\n"


def test_a_file_with_other_names_is_read_and_not_changed(inside, name):
    inside(f"echo one > {name}; ln {name} {name}-other", "none")
    answer = inside(f"cat {name}; echo two > {name}", files={"write": [name]})
    assert answer.stdout == "one\n"
    assert "it has other names" in answer.note
    assert inside(f"cat {name}-other", "none").stdout == "one\n"


def begin_aside(inside, before: str, after: str, **more) -> None:
    """Start a command beside the others, and wait until it has done `before`; `go` lets it do `after`."""
    inside("rm -f begun go")
    inside.aside(f"{before}; : > begun; until [ -e go ]; do sleep .02; done; {after}", **more)
    begun = inside.world / "ws" / "begun"
    for _ in range(1_000):
        if begun.exists():
            return
        time.sleep(0.02)
    raise AssertionError("it did not begin")


def go(inside):
    """Let it end; how it did."""
    (inside.world / "ws" / "go").touch()
    return inside.join()


def test_calls_side_by_side_have_one_file_of_a_name(inside, name):
    """One that begins takes nothing from one that runs, and the file outside is what both have made of it."""
    for old in ("", "old\n"):
        inside(f"rm -f {name}; printf '{old}' > {name}" if old else f"rm -f {name}", "none")
        begin_aside(inside, f"echo one >> {name}", f"echo three >> {name}", files={"write": [name]})
        answer = inside(
            f"cat {name}", files={"read": [name]} if inside.means == "landlock" or old else {"write": [name]}
        )
        assert answer.stdout == f"{old}one\n", answer
        inside(f"echo two >> {name}", files={"write": [name]})
        assert go(inside).exit_code == 0
        assert inside(f"cat {name}", "none").stdout == f"{old}one\ntwo\nthree\n"


def test_the_first_of_two_calls_to_end_takes_no_file_from_the_other(inside, name):
    begin_aside(inside, "true", f"echo one >> {name}", files={"write": [name]})
    inside("true", files={"write": [name]})
    assert go(inside).exit_code == 0
    assert inside(f"cat {name}", "none").stdout == "one\n"


def test_a_session_that_ends_meanwhile_deletes_nothing(inside, name):
    inside(f"echo one > {name}", "none")
    for _ in range(3):
        begin_aside(inside, "true", "true", files={"write": [name]})
        inside.ask({"do": "renew"})
        go(inside)
        assert inside(f"cat {name}", "none").stdout == "one\n"


def test_any_name_can_be_shared(inside, name):
    for other in ("x" * (255 - len(os.path.basename(name))), "\n`x` is shared", "\udcff\udcfe", " $(id) '\""):
        path = name + other
        answer = inside('printf one > "$1"; cat "$1"', argv=shell(path), files={"write": [path]})
        assert answer.stdout == "one", answer
        assert inside('cat "$1"', "none", argv=shell(path, 'cat "$1"')).stdout == "one"
        answer = inside("", argv=shell(path, 'rm "$1"; mkdir -p "$1/x"'), files={"write": [path]})
        assert "\n" not in answer.note
        answer.note.encode()


def shell(path: str, command: str = 'printf one > "$1"; cat "$1"') -> list[str]:
    return ["/bin/bash", "--noprofile", "--norc", "-c", command, "sh", path]


def test_what_was_deleted_outside_is_not_found_inside(inside, name):
    inside(f"echo one > {name}", files={"write": [name]})
    inside(f"rm {name}", "none")
    answer = inside(f"cat {name}", files={"read": [name]})
    assert answer.exit_code != 0, answer


def test_what_is_shared_can_be_run(inside, name):
    inside(f"printf '#!/bin/sh\\necho ran\\n' > {name}; chmod 755 {name}", "none")
    assert inside(name, files={"read": [name]}).stdout == "ran\n"


def test_what_is_no_file_yet_and_holds_others_is_not_made_one(inside, name):
    """Where nothing stands for the temporary folder nobody can make one there, and is not told that it is there."""
    answer = inside(f"mkdir {name} && echo x > {name}/x", files={"write": [name, f"{name}/x"]})
    assert "exists" not in answer.stderr
    made = inside(f"cat {name}/x", "none").stdout == "x\n"
    assert made is (inside.means == "bubblewrap")
    assert answer.note.startswith("exit code")


def test_a_folder_that_is_gone_outside_is_gone_inside(inside, name):
    for again in range(2):
        inside(f"mkdir {name} && echo y > {name}/y", files={"write": [name, f"{name}/y"]})
        inside(f"rm -rf {name}", "none")
        inside(f"echo x > {name}", files={"write": [name]})
        assert inside(f"cat {name}", "none").stdout == "x\n", again
        inside(f"rm -rf {name}", "none")


def test_a_folder_can_be_made_and_removed_again_and_again(mounted):
    name = f"{SHARED}/lent-{mounted.pid}"
    for _ in range(2):
        mounted(f"mkdir {name}; echo x > {name}/x", files={"write": [name]})
        assert mounted(f"stat -c '%F %a' {name}", "none").stdout == "directory 755\n"
        assert mounted(f"cat {name}/x").stdout == "x\n"
        assert mounted(f"rm -r {name}", files={"delete": [name]}).note == "exit code 0"
        assert mounted(f"ls {name}", "none").exit_code != 0


def test_beside_a_workspace_in_the_temporary_folder(inside, name):
    inside(f"mkdir -p {name}/ws; echo one > {name}/x; echo own > {name}/ws/x", "none")
    inside.ask({"do": "renew", "root": f"{name}/ws"})
    files = {"read": [f"{name}/ws/x"], "write": [f"{name}/x", f"{name}/ws/y"]}
    try:
        command = f"cat {name}/x x; echo two > {name}/x; echo y > {name}/ws/y; rm -f {name}/ws/x"
        answer = inside(command, files=files, cwd=f"{name}/ws")
        assert answer.stdout == "one\nown\n", answer
        assert answer.note == "exit code 0"
        assert inside(f"cat {name}/x {name}/ws/y; ls {name}/ws", "none", cwd="/").stdout == "two\ny\ny\n"
    finally:
        inside.ask({"do": "renew"})


@pytest.mark.parametrize("level", ["confined", "state_hidden"])
def test_no_file_of_the_command_itself_is_missed(mounted, level):
    """What a command makes itself is not told of as if it had looked for it."""
    name = f"{SHARED}/lent-{mounted.pid}"
    mounted(f"echo inside > {name}")
    try:
        assert mounted(f"echo x > {name}", level, files={"write": [name]}).note == "exit code 0"
    finally:
        mounted(f"rm -f {name}", "none")


def test_the_folder_that_confined_commands_have_for_themselves_is_no_part_of_the_machines(mounted):
    path = f"{SHARED}/agentctl-{mounted.user}/lent-{mounted.pid}"
    there = mounted(f"ls -d {SHARED}/agentctl-{mounted.user}", "none").stdout
    assert mounted(f"echo x > {path}", files={"write": [path]}).exit_code == 0
    assert mounted(f"cat {path}", "none").exit_code != 0
    assert mounted(f"ls -d {SHARED}/agentctl-{mounted.user}", "none").stdout == there


def test_a_mode_gives_nobody_more_than_to_run_what_he_may_read(mounted):
    name = f"{SHARED}/lent-{mounted.pid}"
    try:
        for old, asked, new in (
            (None, "6777", "755"),
            ("644", "755", "755"),
            ("600", "6777", "700"),
            ("640", "777", "750"),
            ("644", "600", "600"),
            ("755", "644", "644"),
        ):
            mounted(f"rm -f {name}" + (f"; echo one > {name}; chmod {old} {name}" if old else ""), "none")
            answer = mounted(f"echo two >> {name}; chmod {asked} {name}", files={"write": [name]})
            assert answer.note == "exit code 0"
            assert mounted(f"stat -c %a {name}", "none").stdout == f"{new}\n", (old, asked)
        mounted(f"echo one > {name}; chmod 644 {name}", "none")
        mounted(f"chmod +x {name}", files={"write": [name]})
        assert mounted(f"stat -c %a {name}", "none").stdout == "755\n"
    finally:
        mounted(f"rm -f {name}", "none")


def test_no_file_outside_comes_to_run_with_the_rights_of_the_user(inside, name):
    """Whether it is shared or not, by whichever call."""
    inside(f"cp /bin/true {name}; cp {name} {name}-other; mkdir {name}-d; chmod 2755 {name}-d", "none")
    calls = "".join(
        f"os.path.exists({path!r}) and attempt(lambda: {call}); "
        for path in (name, f"{name}-other")
        for call in (f"os.chmod({path!r}, 0o4755)", f"os.fchmod(os.open({path!r}, 0), 0o6755)")
    )
    script = (
        "import ctypes, os\ndef attempt(call):\n try: call()\n except OSError: pass\n"
        f"{calls}\nlibc = ctypes.CDLL(None)\n"
        f"for path in ({name!r}, {name + '-other'!r}):\n"
        "  libc.syscall(452, -100, path.encode(), 0o4755, 0); libc.fchmodat(-100, path.encode(), 0o4755, 0)\n"
    )
    inside(f'chmod u+s {name} {name}-other; python3 -c "$SCRIPT"', env={"SCRIPT": script}, files={"write": [name]})
    assert inside(f"stat -c %a {name} {name}-other", "none").stdout == "755\n755\n"
    inside(
        f"chmod 700 {name}; cp /bin/true x; chmod 755 x; mkdir -p g; chmod g+s g; chmod 755 g", files={"write": [name]}
    )
    assert inside(f"stat -c %a {name} x g; rm -r x g", "none").stdout == "700\n755\n2755\n"


def test_nothing_is_given_to_another_user(mounted):
    if mounted.user != 0:
        pytest.skip("only root can make another user's file")
    name = f"{SHARED}/lent-{mounted.pid}"
    try:
        mounted(f"echo one > {name}; chmod 666 {name}; chown 65534 {name}", "none")
        answer = mounted(f"echo secret > {name}", files={"write": [name]})
        assert "another user" in answer.note
        assert mounted(f"cat {name}", "none").stdout == "one\n"
    finally:
        mounted(f"rm -f {name}", "none")


HOSTILE = {
    "folder": "rm -f {0}; mkdir {0}",
    "full folder": "rm -f {0}; mkdir {0}; touch {0}/x",
    "fifo": "rm -f {0}; mkfifo {0}",
    "link to a file": "ln -sf {1} {0}",
    "link to nothing": "ln -sf {1}-none {0}",
    "link to itself": "ln -sf {0} {0}",
    "sealed": "chmod 000 {0}",
    "huge": "truncate -s 300G {0}",
    "socket": "rm -f {0}; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"{0}\")'",
    "endless": "(while :; do rm -rf {0}; ln -s {1} {0}; rm -f {0}; mkfifo {0}; rm {0}; echo x > {0}; done) & sleep 0.3",
}


def test_whatever_a_command_leaves_under_a_name_does_no_harm(mounted):
    """The next call has its file, nothing of the user's gets out, and nobody waits."""
    key = f"{mounted.world}/home/.ssh/id_rsa"
    begun = time.monotonic()
    try:
        for index, (way, command) in enumerate(HOSTILE.items()):
            name = f"{SHARED}/lent-{mounted.pid}-{index}"
            for files in ({"write": [name]}, {"read": [name]}, {"delete": [name]}, {}):
                mounted(f"rm -rf {name}; echo one > {name}", "none")
                mounted(command.format(name, key), files=files)
                answer = mounted(f"test ! -p {name} -a ! -L {name} && cat {key} {name}", "none")
                assert answer.stdout.count("SECRET") == 1, (way, files)
                assert files.keys() == {"write"} or "SECRETone" in answer.stdout or files.keys() == {"delete"}, (
                    way,
                    files,
                )
            mounted(f"rm -rf {name}; echo two > {name}", "none")
            found = mounted(f"cat {name}", files={"read": [name]})
            assert found.stdout == "two\n", (way, found)
    finally:
        mounted(f"rm -rf {SHARED}/lent-{mounted.pid}-*", "none")
    assert time.monotonic() - begun < 60


SWAPS = """
mkdir -p {0}; cd {0} || exit
while :; do
  rm -rf d; ln -s {1}/home/.ssh d; rm -f d; ln -s {1}/other d; rm -f d; mkdir d; ln -s {1}/home/.ssh/id_rsa d/x
  rm -rf d; mkdir -p d/x; rm -rf d; mkdir d; mkfifo d/x; rm -f d/x; echo hostile > d/x; ln -f d/x d/y
done
"""


def test_a_call_beside_one_that_swaps_what_it_shares_does_no_harm(mounted):
    """Folders, links and files change places all the while that files are brought in and taken back."""
    name = f"{SHARED}/lent-{mounted.pid}"
    keys = f"cd {mounted.world} && cat home/.ssh/id_rsa; ls -A home/.ssh other"
    before = mounted(keys, "none").stdout
    opened = f"ls /proc/{mounted.pid}/fd | wc -l"
    mounted(f"mkdir -p {name}/d", "none")
    mounted("true", files={"write": [f"{name}/d/x"]})
    held = mounted(opened, "none").stdout
    try:
        mounted.aside(SWAPS.format(name, mounted.world), files={"read": [f"{name}/z"]}, timeout_s=4)
        begun = time.monotonic()
        while time.monotonic() - begun < 3:
            mounted(f"echo outside > {name}/d/x; rm -f {name}/d/y", "none")
            files = {"read": [f"{name}/d/z"], "write": [f"{name}/d/x", f"{name}/d/y", f"{name}/d"]}
            mounted(f"echo one >> {name}/d/x", files=files, timeout_s=1)  # it may be a FIFO
            assert "SECRET" not in mounted(f"cat {name}/d/*; test -d {name}/d -a ! -L {name}/d", "none").stdout
            assert mounted(keys, "none").stdout == before
        mounted.join()
        assert mounted(opened, "none").stdout == held
    finally:
        mounted(f"rm -rf {name}", "none")
