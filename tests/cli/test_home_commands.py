"""`shield init|trust|status|approvals|audit`, run as programs; a person is a pseudo-terminal."""

import json
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import shield
from service_harness import approval, running
from shield.types import Role

PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout


@pytest.fixture
def folder():
    made = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    os.mkdir(f"{made}/ws")
    yield made
    shutil.rmtree(made)


def environment(folder, **more):
    kept = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb"}
    return {**kept, "PYTHONPATH": PACKAGES, "SHIELD_HOME": f"{folder}/h", **more}


def command(*words):
    return [sys.executable, "-P", "-m", "shield", *words]


def run(folder, *words, **more):
    """Without a terminal: a session of its own has none."""
    return subprocess.run(
        command(*words),
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
    )


def at_terminal(folder, *words, types=b"", pastes=b"", after=b""):
    """What the terminal showed, what stdout got, the exit code.

    Once `after` was shown `pastes` comes in one piece; then, where it is shown anew, `types` is typed, each key once
    the one before stands there.
    """
    out_read, out_write = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.dup2(out_write, 1)
        os.execve(sys.executable, command(*words), environment(folder))
    os.close(out_write)
    shown, seen, typed, typing = b"", 0, 0, False
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 20)[0]:
            break
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
        if after and after in shown[seen:]:
            seen, after = len(shown), after if pastes else b""
            if pastes:
                os.write(terminal, pastes)
                pastes = b""
                continue
            typing = True
        elif not typing or not shown[seen:].endswith(types[typed - 1 : typed]):
            continue
        if typed < len(types):
            seen, typed = len(shown), typed + 1
            os.write(terminal, types[typed - 1 : typed])
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    with os.fdopen(out_read) as out:
        return shown.decode(), out.read(), os.waitstatus_to_exitcode(status)


def test_init_shows_tokens_on_the_terminal_alone_and_once(folder):
    shown, out, code = at_terminal(folder, "init", "--json")
    assert code == 0, shown
    told = json.loads(out)
    assert told["tokens"] == ["admin", "approver", "auditor"]
    for role in told["tokens"]:
        assert f"shield_{role}_" in shown
        assert f"shield_{role}_" not in out
    again = run(folder, "init", "--no-tokens")
    assert again.returncode == 2
    assert "begun already" in again.stderr
    verify = run(folder, "audit", "verify", "--json")
    assert verify.returncode == 0, verify.stderr
    assert json.loads(verify.stdout)["log"] == told["log"]


def test_init_without_a_terminal_makes_nothing(folder):
    done = run(folder, "init")
    assert done.returncode == 2
    assert "no terminal" in done.stderr
    assert not os.path.lexists(f"{folder}/h")


def test_init_hands_tokens_over_a_pipe_but_not_to_a_file(folder):
    with open(f"{folder}/file", "wb") as file:
        done = subprocess.run(
            command("init", "--token-fd", str(file.fileno())),
            env=environment(folder),
            capture_output=True,
            text=True,
            pass_fds=(file.fileno(),),
            timeout=30,
            check=False,
        )
    assert done.returncode == 2
    assert "never written to a file" in done.stderr
    assert not os.path.lexists(f"{folder}/h")
    read, write = os.pipe()
    done = subprocess.run(
        command("init", "--token-fd", str(write)),
        env=environment(folder),
        capture_output=True,
        text=True,
        pass_fds=(write,),
        timeout=30,
        check=False,
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        secrets = json.load(pipe)
    assert done.returncode == 0, done.stderr
    assert set(secrets) == {"approver", "admin", "auditor"}
    assert not any(secret in done.stdout + done.stderr for secret in secrets.values())


def test_audit_of_a_home_that_was_not_begun_says_what_to_do(folder):
    for name in ("verify", "list", "rotate-key"):
        done = run(folder, "audit", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"shield: `{folder}/h` has not been begun, so it has no log; run `shield init`\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_of_audit_asks_for_nothing_that_the_home_fills_in(folder, option):
    for name, usage in (("list", "[OPTIONS]"), ("verify", "[OPTIONS]"), ("prove", "[OPTIONS] SEQ")):
        done = run(folder, "audit", name, option)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Usage: shield audit {name} {usage}\n")
        assert "What this home knows is filled in" in done.stdout


def test_what_is_wrong_with_a_call_of_audit_is_said_as_its_help_says_it(folder):
    assert run(folder, "init", "--no-tokens").returncode == 0
    for words in (("show", "abc"), ("prove", "abc"), ("list", "--ref", "abc")):
        done = run(folder, "audit", *words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"Usage: shield audit {words[0]} [OPTIONS]"), done.stderr
        assert "DB" not in done.stderr
        assert "'abc' is not a valid number of a record" in done.stderr
    # the log has records only once Shield has run
    done = run(folder, "audit", "rotate-key", "--reason", "x")
    assert done.returncode == 2
    assert "start it once" in done.stderr


def test_trust_asks_a_person(folder):
    root = f"{folder}/ws"
    refused = run(folder, "trust", root)
    assert refused.returncode == 2
    assert "no terminal" in refused.stderr
    assert run(folder, "trust").stdout == ""
    for typed in (b"y\n", b"\n"):
        _, _, code = at_terminal(folder, "trust", root, types=typed, after=b"to confirm: ")
        assert code == 1
    shown, out, code = at_terminal(folder, "trust", root, types=b"yes\n", pastes=b"yes\n", after=b"to confirm: ")
    assert code == 0, shown
    assert shown.count("never taken from a paste") == 1
    assert root in shown
    assert out.strip() == f"trusted {root}"
    assert json.loads(run(folder, "trust", "--json").stdout) == {"roots": [root]}
    assert run(folder, "trust", f"{root}").returncode == 0  # known already: nothing to ask


@pytest.mark.parametrize("path", ["/", "{folder}", "{folder}/none", "{folder}/h"])
def test_trust_refuses_without_asking(folder, path):
    os.makedirs(f"{folder}/h")
    done = run(folder, "trust", path.format(folder=folder))
    assert done.returncode == 2
    assert "no terminal" not in done.stderr


def test_a_token_that_a_running_shield_does_not_know_is_no_shield_that_is_down(folder):
    with running() as service:
        os.makedirs(f"{folder}/h", mode=0o700)
        Path(f"{folder}/h/shield.toml").write_text(f'[service]\nsocket = "{service.path}"\n')
        os.chmod(f"{folder}/h/shield.toml", 0o600)
        for words in (("status",), ("status", "--json")):
            done = run(folder, *words, SHIELD_TOKEN="foo")
            assert (done.returncode, done.stdout) == (2, "")
            said = "shield: Shield runs and does not take `SHIELD_TOKEN`: the token is not known; "
            assert done.stderr.startswith(said), done.stderr


def test_a_lost_token_of_agents_is_said_and_made_good(folder):
    assert run(folder, "init", "--no-tokens").returncode == 0
    lost = f"{folder}/h/tokens/agent.token"
    os.remove(lost)
    service = subprocess.Popen(
        command("serve", "--json"), env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert service.stdout.readline()
        assert f"`{lost}` is missing, so no agent can ask; make new tokens with `shield init --new-tokens`" in said(
            service
        )
        status = run(folder, "status")
        assert status.returncode == 2
        assert status.stderr.startswith("shield: Shield runs, but the agent token"), status
        assert "shield init --new-tokens" in status.stderr
        read, write = os.pipe()
        with open(read, "rb"):
            subprocess.run(
                command("init", "--new-tokens", "--token-fd", str(write)),
                env=environment(folder), pass_fds=[write], timeout=30, check=True, capture_output=True,
            )  # fmt: skip
            os.close(write)
        service.send_signal(signal.SIGHUP)
        assert "reloaded" in said(service)
        assert run(folder, "status").returncode == 0
    finally:
        service.terminate()
        service.communicate(timeout=30)
    os.remove(lost)
    assert "Shield does not run, but the agent token" in run(folder, "status").stderr


def test_a_person_is_asked_for_a_token_only_where_shield_answers_and_told_of_no_header(folder):
    done = run(folder, "approvals", "list")
    assert done.returncode == 2
    assert "shield serve" in done.stderr, done.stderr
    assert "token" not in done.stderr
    with running() as service:
        os.makedirs(f"{folder}/h", mode=0o700)
        Path(f"{folder}/h/shield.toml").write_text(f'[service]\nsocket = "{service.path}"\n')
        os.chmod(f"{folder}/h/shield.toml", 0o600)
        done = run(folder, "approvals", "list", SHIELD_TOKEN="xx")
        assert done.returncode == 2
        assert "the token is not known" in done.stderr
        assert "Bearer" not in done.stderr
    # a socket file that a killed Shield left behind is none that answers
    Path(f"{folder}/h/shield.toml").write_text(f'[service]\nsocket = "{folder}/h/left"\n')
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{folder}/h/left")
    os.chmod(f"{folder}/h/left", 0o600)
    done = run(folder, "approvals", "list")
    assert (done.returncode, "no Shield answers" in done.stderr) == (2, True), done


def test_status_of_nothing(folder):
    done = run(folder, "status", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["running"] is False
    assert "Traceback" not in done.stderr


def test_status_and_approvals_of_a_running_service(folder):
    with running() as service:
        os.makedirs(f"{folder}/h", mode=0o700)
        Path(f"{folder}/h/shield.toml").write_text(f'[service]\nsocket = "{service.path}"\n')
        os.chmod(f"{folder}/h/shield.toml", 0o600)
        evil = approval(1)
        service.judge.approvals.rows = {"ap-1": evil}
        token = service.tokens[Role.APPROVER]
        status = run(folder, "status", SHIELD_TOKEN=service.tokens[Role.ADMIN])
        assert status.returncode == 0, status.stderr
        assert status.stdout.startswith("ready\n")
        assert "some.rule: 2" in status.stdout
        assert run(folder, "approvals", "list").returncode == 2  # no token, no terminal
        listed = run(folder, "approvals", "list", "--json", SHIELD_TOKEN=token)
        assert json.loads(listed.stdout)[0]["id"] == "ap-1", listed
        shown = run(folder, "approvals", "show", "ap-1", SHIELD_TOKEN=token)
        assert "recipients" in shown.stdout
        agent = run(folder, "approvals", "approve", "ap-1", SHIELD_TOKEN=service.tokens[Role.AGENT])
        assert agent.returncode == 2
        assert service.judge.approvals.get("ap-1").state == "pending"
        denied = run(folder, "approvals", "deny", "ap-1", "--note", "no", SHIELD_TOKEN=token)
        assert denied.returncode == 0, denied.stderr
        assert service.judge.approvals.get("ap-1").state == "denied"
        again = run(folder, "approvals", "approve", "ap-1", SHIELD_TOKEN=token)
        assert again.returncode == 2
        assert token not in again.stdout + again.stderr


def served(folder):
    process = subprocess.Popen(
        command("serve", "--json"), env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout.readline()  # it answers from now on
    return process


def said(process):
    assert select.select([process.stderr], [], [], 60)[0], "it says nothing"
    return process.stderr.readline()


def ended(process, number):
    process.send_signal(number)
    process.wait(30)
    process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_watch_goes_on_when_shield_is_started_again(folder, number):
    read, write = os.pipe()
    subprocess.run(
        command("init", "--token-fd", str(write)), env=environment(folder), pass_fds=[write], timeout=30, check=True
    )
    os.close(write)
    with open(read, "rb") as pipe:
        token = json.loads(pipe.read())["approver"]
    assert run(folder, "approvals", "watch", SHIELD_TOKEN=token).returncode == 2, "nothing answers from the start"
    service = served(folder)
    with subprocess.Popen(
        command("approvals", "watch"),
        env=environment(folder, SHIELD_TOKEN=token),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as watch:
        try:
            assert said(watch) == "no open questions yet\n"
            ended(service, number)
            assert "waiting until it does" in said(watch)
            service = served(folder)
            assert "it answers again" in said(watch)
            assert watch.poll() is None
        finally:
            watch.kill()
            ended(service, signal.SIGTERM)


def test_a_new_log_needs_a_yes_that_is_typed(folder):
    run(folder, "init", "--no-tokens")
    old = json.loads(run(folder, "audit", "verify", "--json").stdout)["log"]
    os.remove(f"{folder}/h/audit.db")
    words = ("init", "--json", "--new-log", "the disk died")
    for said in ({"types": b"no\n"}, {"types": b"y\n"}, {"pastes": b"yes\n", "types": b"no\n"}):
        shown, out, code = at_terminal(folder, *words, after=b"to confirm: ", **said)
        assert (code, out) == (1, ""), shown
        assert old in shown
        assert "proved    0 records" in shown
        assert not os.path.lexists(f"{folder}/h/old")
    shown, out, code = at_terminal(folder, *words, after=b"to confirm: ", types=b"yes\n")
    assert code == 0, shown
    told = json.loads(out)
    assert told["old"] == old != told["log"]
    assert os.path.isdir(told["moved"])
    gap = json.loads(run(folder, "audit", "list", "--kind", "gap", "--json").stdout)
    assert gap["body"]["reason"] == "the disk died"
    assert gap["body"]["log"] == old
    assert run(folder, "audit", "verify").returncode == 0


def unseen(folder, *words, answers):
    """What the terminal showed and the exit code, where what is asked for is not echoed."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, command(*words), environment(folder))
    shown, left = b"", dict(answers)
    while select.select([terminal], [], [], 20)[0]:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        shown += chunk
        for prompt in [prompt for prompt in left if prompt in shown]:
            os.write(terminal, left.pop(prompt))
        if not chunk:
            break
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(status)


def test_a_passphrase_is_typed_twice_and_unseen(folder):
    pem = Path(folder, "h", "keys", "audit.pem")
    first, again = b"passphrase for the audit key: ", b"once more: "
    for answers in ({first: b"one\n", again: b"another\n"}, {first: b"\n"}):
        shown, code = unseen(folder, "init", "--no-tokens", "--passphrase", answers=answers)
        assert code == 2, shown
        assert "not the same, or empty" in shown
        assert not pem.exists()
    answers = {first: b"Xq secret\n", again: b"Xq secret\n"}
    shown, code = unseen(folder, "init", "--no-tokens", "--passphrase", answers=answers)
    assert code == 0, shown
    assert "secret" not in shown
    assert b"ENCRYPTED" in pem.read_bytes()
    shown, code = unseen(folder, "serve", answers={b"passphrase of the audit key: ": b"wrong\n"})
    assert code == 2
    assert "does not open" in shown


def test_the_options_of_init_that_do_not_go_together(folder):
    for words in (
        ("--new-log", "x", "--new-tokens"),
        ("--new-log", "x", "--no-tokens"),
        ("--passphrase", "--new-tokens"),
    ):
        assert run(folder, "init", *words).returncode == 2
    assert not os.path.lexists(f"{folder}/h")
