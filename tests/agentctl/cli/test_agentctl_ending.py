"""How agentctl ends where its streams are closed, full or read by nobody, and where Ctrl-C comes early: no traceback,
and no exit code that says something else than what went wrong."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile

import pytest

from agentctl_process import ROOT, agentctl_run, environ, model_env
from model_server import Call, ScriptedModel, Turn

FULL = "agentctl: the output cannot be written: No space left on device\n"
CLOSED = "agentctl: the output cannot be written: it is closed\n"


NOBODY = "| true"


def shell(line: str, *, module="agentctl.cli", **env):
    """`agentctl …` in a line of bash. Where it ends in `| true`, the pipe's reader has gone before it begins."""
    program = shlex.join([sys.executable, "-P", "-m", module])
    read, write = os.pipe()
    os.close(read)
    unread = line.endswith(NOBODY)
    try:
        with tempfile.TemporaryDirectory(prefix="ho") as home:
            return subprocess.run(
                ["bash", "-c", f'agentctl() {{ {program} "$@"; }}; {line.removesuffix(NOBODY)}'],
                stdin=subprocess.DEVNULL,
                stdout=write if unread else subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd="/",
                timeout=60,
                check=False,
                env=environ(home) | env,
            )
    finally:
        os.close(write)


@pytest.mark.parametrize("command", ["tools", "tools --json", "config", "config --json", "--help", "chat --help"])
@pytest.mark.parametrize(
    ("output", "said"), [(">/dev/full", FULL), (">&-", CLOSED), (NOBODY, ""), (">/dev/full 2>&1", ""), (">&- 2>&-", "")]
)
def test_what_cannot_be_written_ends_with_2(command, output, said):
    done = shell(f"agentctl {command} {output}")
    assert (done.returncode, done.stderr, done.stdout or "") == (2, said, "")


@pytest.mark.parametrize("messages", [">/dev/full", ">&-"])
def test_messages_that_nobody_sees_change_no_exit_code(messages):
    assert shell(f"agentctl nonsense 2{messages}").returncode == 2
    assert shell(f"agentctl config 2{messages}").returncode == 0
    assert shell(f"agentctl config 2{messages}", AGENTCTL_MAX_TOKENS="x").returncode == 2


def in_session(shield, line, **env):
    with tempfile.TemporaryDirectory(prefix="da") as data:
        place = {"SHIELD_HOME": str(shield.folder), "XDG_DATA_HOME": data}
        return shell(line.replace("WS", shlex.quote(shield.workspace)), **place, **env)


@pytest.mark.parametrize(("output", "said"), [(">/dev/full", FULL), (">&-", CLOSED), (NOBODY, "")])
def test_a_chat_that_nobody_reads_ends_with_2_and_runs_nothing_more(shield, output, said):
    done = in_session(shield, f"printf '/read README.md\\n/read README.md\\n' | agentctl chat -w WS {output}")
    assert (done.returncode, done.stderr) == (2, said)
    assert len(shield.sent("/v1/evaluate")) <= 1


@pytest.mark.parametrize(("output", "said"), [(">/dev/full", FULL), (">&-", CLOSED), (NOBODY, "")])
def test_a_run_that_nobody_reads_ends_with_2(shield, output, said):
    with ScriptedModel(
        [Turn(text="hello " * 9, calls=(Call("read_file", {"path": "README.md"}),)), Turn(text="it")]
    ) as model:
        done = in_session(shield, f"agentctl run hi -w WS {output}", **model_env(model))
    assert done.returncode == 2, done
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr


def test_a_closed_input_is_an_empty_one(shield):
    done = in_session(shield, "agentctl chat -w WS <&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("/quit ends\n")


def test_an_input_that_cannot_be_read_is_said(shield):
    done = in_session(shield, "agentctl chat -w WS 0>/dev/null")
    assert done.returncode == 2
    assert done.stderr == "agentctl: `/dev/stdin` cannot be used: Bad file descriptor\n"


@pytest.mark.parametrize("command", ["config", "chat", "run hi"])
def test_a_directory_that_is_no_more_is_said(tmp_path, command):
    gone = shlex.quote(str(tmp_path / "gone"))
    done = shell(f"mkdir {gone} && cd {gone} && rmdir {gone} && agentctl {command}")
    assert done.returncode == 2
    said = "agentctl: the current directory is no more, go to another one: No such file or directory\n"
    assert done.stderr == said


def test_a_prompt_of_blanks_is_none():
    done = agentctl_run("run", " ")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "Error: Invalid value for PROMPT: say what is to be done",
    )


def test_a_line_that_is_no_text_is_refused_and_the_next_one_read(shield):
    lines = "printf '/read \\xff\\x1b[2J\\n/read README.md\\n'"
    done = in_session(shield, f"{lines} | agentctl chat -w WS", PYTHONIOENCODING="utf-8:strict")
    assert done.returncode == 0, done.stderr
    assert "agentctl> /read \\udcff\\x1b[2J\nBLOCK" in done.stdout
    assert "| hello" in done.stdout


@pytest.mark.parametrize(
    ("module", "interrupted", "words"),
    [("agentctl", "click", "--help"), ("agentctl", "tomllib", "config"), ("agentctl.cli", "tomllib", "run hi")],
)
def test_ctrl_c_while_modules_are_imported(tmp_path, module, interrupted, words):
    """The module stands first on Python's path, and what it does is to press Ctrl-C."""
    (tmp_path / f"{interrupted}.py").write_text(f"import os; os.kill(os.getpid(), {signal.SIGINT.value})\n")
    done = shell(f"agentctl {words}", module=module, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (done.returncode, done.stderr, done.stdout) == (130, "", "")


def test_the_version_is_that_of_shield():
    versions = [
        subprocess.run(
            [sys.executable, "-P", "-m", module, "--version"],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
            env=environ("/"),
        ).stdout
        for module in ("agentctl", "shield")
    ]
    assert versions[0].removeprefix("agentctl") == versions[1].removeprefix("shield")


def test_no_text_of_the_help_is_cut():
    for words in (["--help"], ["chat", "--help"], ["run", "--help"]):
        text = agentctl_run(*words, env={"COLUMNS": "60"}).stdout
        assert "..." not in text.replace("[OPTIONS] COMMAND [ARGS]...", "")
        assert "xit codes: 0 done" in text
