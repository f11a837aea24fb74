"""What stops a command that says nothing about the log: streams that are closed, full or unread, and Ctrl-C."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import audit
from audit_support import Home, decision

PACKAGES = str(Path(audit.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout
PROGRAM = (sys.executable, "-P", "-m", "audit")
FULL, UNREAD, CLOSED = "No space left on device", "Broken pipe", "it is closed"
ENDS_WELL = frozenset({"list", "stats"})  # whoever closes their pipe has seen enough


@pytest.fixture(scope="module")
def home():
    home = Home()
    with home.open(create=True) as log:
        for number in range(1, 4):
            log.append(decision(number))
    return home


def words(home, name):
    key = ("--key", str(home.vkey))
    return {
        "help": ("--help",),
        "verify": ("verify", str(home.db), *key),
        "verify as JSON": ("verify", str(home.db), *key, "--json"),
        "prove": ("prove", str(home.db), "1", *key),
        "checkpoint": ("checkpoint", str(home.db)),
        "list": ("list", str(home.db)),
        "stats": ("stats", str(home.db)),
    }[name]


def in_shell(command, *program):
    """A command line with its redirections; `"$@"` is the program."""
    return subprocess.run(
        ["/bin/sh", "-c", command, "sh", *PROGRAM, *program],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGES},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def started(*program, **more):
    return subprocess.Popen(
        [*PROGRAM, *program], env={"PATH": os.environ["PATH"], "PYTHONPATH": PACKAGES}, text=True, **more
    )


@pytest.mark.parametrize("name", ["help", "verify", "verify as JSON", "prove", "checkpoint", "list", "stats"])
def test_a_good_log_is_not_tampered_with_where_nobody_can_be_told(home, name):
    reader, writer = os.pipe()
    os.close(reader)
    with started(*words(home, name), stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        assert process.stderr is not None
        said = process.stderr.read()
    if name in ENDS_WELL:
        assert (process.returncode, said) == (0, "")
    else:
        assert (process.returncode, said) == (2, f"cannot write the output: {UNREAD}\n")
    for where, why in ((">/dev/full", FULL), (">&-", CLOSED)):
        done = in_shell(f'"$@" {where}', *words(home, name))
        assert (done.returncode, done.stderr) == (2, f"cannot write the output: {why}\n")


def test_what_is_said_by_the_status_alone_needs_no_output(home, tmp_path):
    quiet = (*words(home, "verify"), "--quiet")
    assert in_shell('"$@" >&- 2>&- <&-', *quiet).returncode == 0
    (tmp_path / "noise").write_bytes(b"\xff")
    for where in ("2>/dev/full", "2>&-"):
        assert in_shell(f'"$@" {where}', "verify", str(tmp_path / "noise"), "--key", str(home.vkey)).returncode == 2


def test_ctrl_c_where_a_person_is_asked_does_not_say_tampered(home):
    ours, theirs = pty.openpty()
    rotate = ("rotate-key", str(home.db), "--keys", str(home.path / "keys"), "--new-passphrase")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "start_new_session": True}
    with started(*rotate, stdin=theirs, **quiet) as process:
        os.close(theirs)
        assert process.stderr is not None
        said = ""
        while "New passphrase" not in said and (char := process.stderr.read(1)):
            said += char
        process.send_signal(signal.SIGINT)
        said += process.stderr.read()
    os.close(ours)
    assert process.returncode == 2, said
    assert said.endswith("interrupted\n")


def test_a_log_whose_checkpoint_is_missing_cannot_be_told(home, tmp_path):
    rotate = (
        "rotate-key",
        str(home.db),
        "--keys",
        str(home.path / "keys"),
        "--checkpoint-file",
        str(tmp_path / "none"),
    )
    done = in_shell('"$@"', *rotate)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"`{tmp_path}/none` is missing: nothing shows the log is whole; put it back\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("list", "--decision", "allowed"), "Invalid value for '--decision': 'allowed' is not one of 'allow',"),
        (("list", "--seq", "5..2"), "Invalid value for '--seq': `5..2` is empty: it ends before it begins"),
    ],
)
def test_a_filter_that_nothing_can_pass_is_wrong_usage(home, given, said):
    name, *filters = given
    done = in_shell('"$@"', name, str(home.db), *filters)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("given", [("-h",), ("list", "-h"), ("verify", "-h")])
def test_help_has_a_short_name_everywhere(given):
    done = in_shell('"$@"', *given)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: audit ")


def test_the_version_is_told():
    done = in_shell('"$@"', "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("audit, version ")
