"""The shell tool: exactly the receipt's environment, nothing inherited, nothing left behind."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from agentctl.execute import ShieldGate
from agentctl.tools.output import MAX_CONTENT
from fake_shield import TOKEN, proposed
from shield.client import AsyncClient


def lines(text: str) -> set[str]:
    return set(text.splitlines())


def test_the_environment_is_exactly_the_sessions(bench, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "leaked")
    monkeypatch.setenv("BASH_ENV", "/tmp/evil")
    monkeypatch.setenv("LD_PRELOAD", "")
    bench.fake.env = {"PATH": "/usr/bin:/bin", "HOME": "/h", "LANG": "C.UTF-8"}
    seen = lines(bench.do("execute_command", command="env").content)
    bash_adds = {f"PWD={bench.workspace}", "SHLVL=0", "SHLVL=1", "_=/usr/bin/env", "_=/bin/env"}
    assert seen - bash_adds == {"PATH=/usr/bin:/bin", "HOME=/h", "LANG=C.UTF-8"}


def test_no_descriptor_is_inherited(bench):
    leak = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        seen = bench.do("execute_command", command="ls /proc/self/fd | sort -n | tr '\\n' ' '").content.split()
    finally:
        os.close(leak)
    assert seen[:3] == ["0", "1", "2"]
    assert len(seen) == 4, "only the one that ls itself opened"


def test_signals_mask_umask_and_terminal_are_fresh(bench):
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        status = bench.do("execute_command", command="grep -E '^Sig(Blk|Ign)' /proc/self/status; umask").content
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "SigBlk:\t0000000000000000" in status
    ignored = int(status.split("SigIgn:\t")[1][:16], 16)
    assert ignored & (1 << (signal.SIGPIPE - 1)) == 0
    assert "0022" in status
    assert bench.do("execute_command", command="cat < /dev/tty").is_error


def test_startup_files_are_not_read(bench):
    (bench.workspace / ".bashrc").write_text("echo STARTUP")
    (bench.workspace / ".bash_profile").write_text("echo STARTUP")
    bench.fake.env["HOME"] = str(bench.workspace)
    assert bench.do("execute_command", command="echo plain").content == "plain"


def test_exit_code_stderr_and_signals_are_told(bench):
    failed = bench.do("execute_command", command="echo out; echo err >&2; exit 3")
    assert failed.is_error
    assert failed.content == "out\n[stderr]\nerr\n[exit code 3]"
    assert bench.fake.sent("/v1/outcomes")[-1]["exit_code"] == 3
    killed = bench.do("execute_command", command="kill -TERM $$")
    assert "SIGTERM" in killed.content
    assert bench.fake.sent("/v1/outcomes")[-1]["exit_code"] == 143


def test_stdin_is_the_given_text_or_nothing(bench):
    assert bench.do("execute_command", command="cat", stdin="héllo").content == "héllo"
    assert bench.do("execute_command", command="cat").content == "[exit code 0]"
    large = "x" * 1_000_000
    assert bench.do("execute_command", command="wc -c", stdin=large).content.strip() == "1000000"
    assert not bench.do("execute_command", command="true", stdin=large).is_error, "an unread input is no error"


def test_output_is_cut_to_head_and_tail_and_counted_whole(bench):
    result = bench.do("execute_command", command="echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
    report = bench.fake.sent("/v1/outcomes")[-1]
    assert report["bytes"] == 3_000_000 + len("first\n\nlast\n")
    assert report["truncated"] is True
    assert sum(len(part["text"].encode()) for part in report["content"]) <= MAX_CONTENT
    assert result.content.startswith("first\n")
    assert result.content.endswith("last")


def test_bytes_that_are_no_text_stay_within_the_limit(bench):
    bench.do("execute_command", command="head -c 600000 /dev/urandom; head -c 600000 /dev/urandom >&2")
    report = bench.fake.sent("/v1/outcomes")[-1]
    assert sum(len(part["text"].encode()) for part in report["content"]) <= MAX_CONTENT


def test_the_group_is_killed_when_the_call_ends(bench):
    """The shell ends at once; what it left in the background must be gone, too."""
    bench.do("execute_command", command="(sleep 600 & echo $! > bg1); bash -c 'sleep 600 & echo $! > bg2'; true")
    for name in ("bg1", "bg2"):
        assert gone(int((bench.workspace / name).read_text())), name


def test_a_timeout_kills_the_group_and_is_told(bench):
    result = bench.do(
        "execute_command", command="trap '' TERM INT HUP; sleep 600 & echo $! > bg; echo begun; wait", timeout_s=1
    )
    assert result.is_error
    assert "begun" in result.content
    assert "stopped after 1 s" in result.content
    assert bench.fake.statuses() == ["timeout"]
    assert gone(int((bench.workspace / "bg").read_text()))


def test_one_that_left_the_group_and_holds_the_pipe_does_not_hold_us(bench):
    result = bench.do("execute_command", command="setsid sleep 30 & echo $! > bg; echo done")
    assert result.content == "done"
    os.kill(int((bench.workspace / "bg").read_text()), signal.SIGKILL)


def test_cancelling_kills_the_group_and_reports_it(bench):
    async def cancelled() -> None:
        async with AsyncClient(bench.fake.endpoint, TOKEN) as client:
            gate = ShieldGate(client, await client.open_session([str(bench.workspace)]))
            proposal = proposed("execute_command", {"command": "sleep 600 & echo $! > bg; echo > begun; wait"})
            verdict = await gate.propose(proposal)
            task = asyncio.ensure_future(gate.run(proposal, verdict))
            while not (bench.workspace / "begun").exists():  # noqa: ASYNC110  # a file, made by a child
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(asyncio.wait_for(cancelled(), 20))
    assert gone(int((bench.workspace / "bg").read_text()))
    assert bench.fake.statuses() == ["cancelled"]


@pytest.mark.parametrize("payload", [{"command": "a\0b"}, {"command": 7}, {"command": "x", "timeout_s": 0}, {}])
def test_what_cannot_be_run_is_an_error(bench, payload):
    assert bench.do("execute_command", **payload).is_error


def test_a_working_directory_swapped_for_another_is_not_entered(bench, tmp_path):
    import dataclasses

    from shield.types import FileIdentity, FileRole

    here = os.stat(bench.workspace)

    def other(receipt):
        entry = FileIdentity(role=FileRole.DIRECTORY, path=str(bench.workspace), dev=here.st_dev, ino=here.st_ino + 1)
        return dataclasses.replace(receipt, files=(entry,))

    bench.fake.change_receipt = other
    result = bench.do_with({"reevaluations": 0}, "execute_command", command="touch ran")
    assert result.is_error
    assert not (bench.workspace / "ran").exists()


def gone(pid: int) -> bool:
    """Whether a process is dead: no entry, or a zombie that its new parent has not yet reaped."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


def test_the_argv_is_exactly_the_contracts(bench):
    command = "tr '\\0' '|' < /proc/$$/cmdline; true"
    assert bench.do("execute_command", command=command).content == f"/bin/bash|--noprofile|--norc|-c|{command}|"
