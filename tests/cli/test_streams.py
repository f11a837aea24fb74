"""What stops a command that is no verdict: streams that are closed, full or unread, and Ctrl-C. Status 1 is a verdict."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import shield

PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout
PROGRAM = (sys.executable, "-P", "-m", "shield")
FULL = "standard output cannot be written: no space left on device; see where it goes and try again"
CLOSED = "standard output is closed; open it, or send it to a file"
UNREAD = "standard output cannot be written: broken pipe; see where it goes and try again"
COMMANDS = {
    "help": ("--help",),
    "version": ("--version",),
    "help of a command": ("lint", "--help"),
    "check": ("check", "read_file", "path=a"),
    "explain": ("explain", "read_file", "path=a"),
    "lint": ("lint", "default"),
    "eval": ("eval", "mine.yaml", "--cases", "cases.yaml"),
    "diff": ("diff", "mine.yaml", "mine.yaml", "--cases", "cases.yaml"),
    "schema": ("schema", "policy"),
    "status": ("status",),
    "trust": ("trust", "--json"),
    "model verify": ("model", "verify"),
}
POLICY = "version: 1\nname: mine\nrules:\n  - {id: a, effect: allow, grants: path, when: path.inside_workspace}\n"
CASES = "version: 1\ncases:\n  - {id: a, action: {type: read_file, payload: {path: a}}, expect: {decision: ALLOW}}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    (folder / "mine.yaml").write_text(POLICY)
    (folder / "cases.yaml").write_text(CASES)
    return folder


def environment(place):
    return {"PATH": os.environ["PATH"], "HOME": f"{place}/home", "SHELL": "/bin/bash", "PYTHONPATH": PACKAGES}


def in_shell(place, command, *, program=PROGRAM, **more):
    """A command line with its redirections; `"$@"` is the program."""
    return subprocess.run(
        ["/bin/sh", "-c", command, "sh", *program],
        env=environment(place),
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )


def unread(place, *words, program=PROGRAM):
    """The command with a pipe for its output that nobody reads any more: what `| true` comes to, in any order."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [*program, *words],
            env=environment(place),
            cwd=place,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_nobody_can_be_told_is_no_verdict(place, name):
    words = COMMANDS[name]
    for done, why in (
        (unread(place, *words), UNREAD),
        (in_shell(place, '"$@" >/dev/full', program=(*PROGRAM, *words)), FULL),
        (in_shell(place, '"$@" >&-', program=(*PROGRAM, *words)), CLOSED),
    ):
        (line,) = done.stderr.splitlines()
        assert line in (f"shield: {why}", f"shield {words[0]}: {why}")
        assert done.returncode == 2


@pytest.mark.parametrize("words", [("--help",), ("check", "read_file", "path=a"), ("lint", "default")])
def test_nor_where_nothing_is_held_back(place, words):
    unbuffered = ("/usr/bin/env", "PYTHONUNBUFFERED=1", *PROGRAM, *words)
    for redirected, why in ((">/dev/full", FULL), (">&-", CLOSED)):
        done = in_shell(place, f'"$@" {redirected}', program=unbuffered)
        (line,) = done.stderr.splitlines()
        assert line.endswith(why)
        assert done.returncode == 2


@pytest.mark.parametrize("words", [("check",), ("explain",), ("model", "scan", "--no-model", "-")])
def test_a_standard_input_that_is_closed_is_no_verdict(place, words):
    done = in_shell(place, '"$@" <&-', program=(*PROGRAM, *words))
    (line,) = done.stderr.splitlines()
    assert f"{words[0]}" in line
    assert ": standard input is closed; pipe the " in line
    assert (done.returncode, done.stdout) == (2, "")


def test_what_is_said_to_people_and_not_heard_leaves_the_status_as_it_is(place):
    for words, status in ((("check", "read_file"), 1), (("lint", "none.yaml"), 2), (("eval", "default"), 2)):
        for stream in ("2>/dev/full", "2>&-"):
            assert in_shell(place, f'"$@" {stream}', program=(*PROGRAM, *words)).returncode == status


def interrupted(place, *words):
    """The status and the words of a command that waits for standard input, or for a pipe, and gets Ctrl-C then.

    It has answered its first line before it is told: no clock is asked.
    """
    process = subprocess.Popen(
        [*PROGRAM, *words],
        env=environment(place),
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with contextlib.ExitStack() as open_things:
        assert process.stdin is not None
        assert process.stdout is not None
        open_things.enter_context(process)
        process.stdin.write('{"type": "read_file", "payload": {"path": "a"}}\n')
        process.stdin.flush()
        assert process.stdout.readline()  # it is at work, and waits for the second line
        process.send_signal(signal.SIGINT)
        return process.wait(60), process.stderr.read()


def test_ctrl_c_is_no_verdict(place):
    assert interrupted(place, "check") == (130, "shield: interrupted\n")


@pytest.mark.parametrize(
    "words", [("check", "read_file", "path=a"), ("explain", "read_file", "path=a"), ("trust", ".")]
)
def test_a_directory_that_was_removed_is_named(place, words):
    done = in_shell(place, 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', program=(*PROGRAM, *words))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith(
        ": the current directory cannot be named: no such file or directory; `cd` to one that is there"
    )
