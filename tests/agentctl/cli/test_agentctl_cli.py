"""agentctl's command line and settings."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentctl.config import ProviderName, load
from agentctl.errors import SettingsError
from agentctl.tools.registry import Registry
from agentctl_process import ROOT, agentctl_run, model_env, talk
from model_server import Call, ScriptedModel, Turn
from shield.types import Isolation


@pytest.mark.parametrize("arguments", [["--help"], ["chat", "--help"], ["run", "--help"], ["tools", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    program = (
        "import sys;from agentctl.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m.partition('.')[0] in"
        " {'httpx','pydantic','rich','jwt','cryptography','re2','asyncio','sqlite3','shield'}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
        cwd="/",
        check=True,
    )
    assert done.stderr.strip() == "[]"
    assert "Usage" in done.stdout


def test_tools_are_listed_with_schemas():
    shapes = json.loads(agentctl_run("tools", "--json").stdout)
    assert [shape["name"] for shape in shapes] == [spec.name for spec in Registry().specs()]
    assert len(shapes) == 14
    for shape in shapes:
        schema = shape["parameters"]
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= schema["properties"].keys()
    assert "read_file" in agentctl_run("tools").stdout


def test_config_shows_settings_and_no_key():
    done = agentctl_run(
        "config",
        "--json",
        env={"AGENTCTL_PROVIDER": "anthropic", "AGENTCTL_MODEL": "m", "ANTHROPIC_API_KEY": "sk-SECRET"},
    )
    shape = json.loads(done.stdout)
    assert (shape["provider"], shape["model"], shape["key_env"]) == ("anthropic", "m", "ANTHROPIC_API_KEY")
    assert "SECRET" not in done.stdout


def test_wrong_settings_end_with_2():
    done = agentctl_run("config", env={"AGENTCTL_PROVIDER": "nobody", "AGENTCTL_MODEL": "m"})
    assert done.returncode == 2
    assert "`nobody`" in done.stderr


def settings(folder, text=None, *, cwd="/elsewhere", **env):
    if text is not None:
        file = folder / "agentctl" / "config.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
    return load({"HOME": "/home/u", "XDG_CONFIG_HOME": str(folder), **env}, cwd=Path(cwd))


def test_settings_come_from_the_file_and_the_environment_goes_first(tmp_path):
    assert settings(tmp_path).model is None
    read = settings(tmp_path, 'provider = "ollama"\nmodel = "small"\n').model
    assert (read.provider, read.model, read.base_url) == (ProviderName.OLLAMA, "small", "http://127.0.0.1:11434")
    over = settings(tmp_path, AGENTCTL_MODEL="large", AGENTCTL_MAX_TOKENS="100").model
    assert (over.model, over.max_tokens) == ("large", 100)
    assert settings(tmp_path).home == Path("/home/u/.shield")
    assert settings(tmp_path, SHIELD_HOME="/x").home == Path("/x")


@pytest.mark.parametrize(
    "text",
    [
        'modle = "x"',
        "model = 1",
        'model = ""',
        'provider = "openai"',
        'model = "m"\nprovider = "x"',
        'model = "m"\nbase_url = "file:///etc/passwd"',
        'model = "m"\nbase_url = "https://user:pass@x.example"',
        'model = "m"\nmax_tokens = 0',
        'model = "m"\nkey_env = 3',
        'isolation = "total"',
        "isolation = 1",
        'caches = "~/.cargo"',
        "caches = [1]",
        'caches = ["/"]',
        'caches = ["~/"]',
        'caches = ["relative"]',
        'caches = ["~/.cache/../.ssh"]',
        "model = ",
        "\xff",
    ],
)
def test_settings_that_make_no_sense_stop_the_start(tmp_path, text):
    with pytest.raises(SettingsError):
        settings(tmp_path, text)


def test_how_commands_are_confined_comes_from_the_file_alone(tmp_path):
    assert (settings(tmp_path).isolation, settings(tmp_path).caches) == (None, ())
    read = settings(tmp_path, 'isolation = "state_hidden"\ncaches = ["~/.cargo/registry", "/srv/cache"]')
    assert read.isolation is Isolation.STATE_HIDDEN
    assert read.caches == (Path("/home/u/.cargo/registry"), Path("/srv/cache"))
    # a project may export variables; none of them weakens what its own code runs in
    assert settings(tmp_path, AGENTCTL_ISOLATION="none", AGENTCTL_CACHES="/").isolation is Isolation.STATE_HIDDEN


def test_nothing_in_the_workspace_or_open_to_others_is_read(tmp_path):
    with pytest.raises(SettingsError, match="worked in"):
        settings(tmp_path, 'model = "m"', cwd=str(tmp_path))
    (tmp_path / "agentctl" / "config.toml").chmod(0o666)
    with pytest.raises(SettingsError, match="chmod 600"):
        settings(tmp_path)
    with pytest.raises(SettingsError, match="absolute"):
        load({"HOME": "/h", "SHIELD_HOME": "relative"}, cwd=Path("/"))


# --- with a Shield that is found -------------------------------------------------------------------------------------


def test_the_console_judges_each_line(shield):
    shield.judge = lambda action: "BLOCK" if "secret" in json.dumps(action["payload"]) else "ALLOW"
    done = talk(shield, "chat", stdin="/read README.md\n/read secret\nwhat?\n/help\n!exit 3\n/quit\n")
    assert done.returncode == 0, done.stderr
    assert "found" in done.stdout
    assert "| hello \\x1b[31mreader" in done.stdout
    assert "\x1b" not in done.stdout, "no colours and no escapes into a pipe"
    assert "BLOCK    read_file secret · because BLOCK" in done.stdout
    assert "→ do something else" in done.stdout
    assert "no model is configured, so only tool calls" in done.stdout
    assert "! [exit code 3]" in done.stdout


NOTICE = "[withheld by Shield: this text holds what reads like orders to an agent, and was not passed on.]"


def test_what_is_withheld_is_told_the_person_with_the_command_that_says_why(shield):
    shield.content = lambda parts: [{**part, "text": NOTICE} for part in parts]
    script = [Turn(calls=(Call("read_file", {"path": "README.md"}),)), Turn(text="It was withheld.")]
    with ScriptedModel(script) as model:
        done = talk(shield, "run", "read it", **model_env(model))
    assert f"| {NOTICE}\n→ the model was not given it either; `shield audit show " in done.stderr
    told = json.dumps(model.requests[1].body)
    assert "withheld by Shield" in told
    assert "shield audit" not in told
    assert "hello" not in told + done.stderr


def test_a_tool_that_prints_a_notice_withholds_nothing(shield):
    (Path(shield.workspace) / "notice.txt").write_text(NOTICE)
    done = talk(shield, "chat", stdin="/read notice.txt\n")
    assert NOTICE in done.stdout
    assert "shield audit show" not in done.stdout


def test_when_shield_is_lost_the_console_ends_with_3(shield):
    shield.answers["/v1/evaluate"] = (500, "text/plain", b"")
    done = talk(shield, "chat", stdin="/read README.md\n/read README.md\n")
    assert done.returncode == 3
    assert "README" not in done.stderr
    assert len(shield.sent("/v1/evaluate")) == 1


def test_run_needs_a_model(shield):
    done = talk(shield, "run", "do it")
    assert done.returncode == 2
    assert "AGENTCTL_MODEL" in done.stderr
    assert shield.requests == []


def test_run_lets_a_model_work_through_shield(shield):
    shield.judge = lambda action: "BLOCK" if action["type"] == "execute_command" else "ALLOW"
    script = [
        Turn(calls=(Call("read_file", {"path": "README.md"}), Call("execute_command", {"command": "rm x"}))),
        Turn(text="I read it \x1b[2J and was refused."),
    ]
    with ScriptedModel(script) as model:
        done = talk(shield, "run", "read it", **model_env(model))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "I read it \\x1b[2J and was refused.\n", "the answer, and nothing else"
    assert "ALLOW    read_file" in done.stderr
    assert "BLOCK    execute_command" in done.stderr
    answered = json.dumps(model.requests[1].body)
    assert "hello" in answered
    assert "do something else" in answered
    assert {outcome["status"] for outcome in shield.sent("/v1/outcomes")} == {"ok"}


def test_run_gives_a_program_one_object(shield):
    shield.judge = lambda action: "BLOCK" if action["type"] == "execute_command" else "ALLOW"
    script = [
        Turn(
            text="Now.", calls=(Call("read_file", {"path": "README.md"}), Call("execute_command", {"command": "rm x"}))
        ),
        Turn(calls=(Call("no_such_tool", {}),)),
        Turn(text="I read \x1b[2J it."),
    ]
    with ScriptedModel(script) as model:
        done = talk(shield, "run", "--json", "read it", **model_env(model))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    session = report.pop("session")
    assert f"session {session} " in done.stderr
    assert report == {
        "answer": "I read \x1b[2J it.",
        "end": "done",
        "exit": 0,
        "calls": {"ALLOW": 1, "ESCALATE": 0, "BLOCK": 1, "not_proposed": 1},
    }
    assert "\x1b" not in done.stdout + done.stderr


def test_the_object_of_a_run_that_failed_has_no_answer_and_the_exit_code(shield):
    shield.answers["/v1/evaluate"] = (500, "text/plain", b"")
    with ScriptedModel([Turn(text="I look.", calls=(Call("read_file", {"path": "x"}),))]) as model:
        done = talk(shield, "run", "--json", "go", **model_env(model))
    report = json.loads(done.stdout)
    assert (done.returncode, report["exit"], report["end"], report["answer"]) == (3, 3, "gate_failed", None)
    assert sum(report["calls"].values()) == 0


def test_run_ends_with_4_when_the_model_keeps_asking_and_3_without_shield(shield):
    shield.judge = lambda action: "BLOCK"
    again = Turn(calls=(Call("read_file", {"path": "x"}),))
    with ScriptedModel([again] * 6) as model:
        done = talk(shield, "run", "go", **model_env(model))
    assert done.returncode == 4, done.stdout + done.stderr
    shield.answers["/v1/evaluate"] = (500, "text/plain", b"")
    with ScriptedModel([again] * 6) as model:
        done = talk(shield, "run", "go", **model_env(model))
    assert done.returncode == 3, done.stdout + done.stderr


def test_chat_with_a_model_keeps_a_conversation(shield):
    with ScriptedModel([Turn(text="first answer"), Turn(text="second answer")]) as model:
        done = talk(shield, "chat", stdin="one\n/help\n\ntwo\n/quit\n", **model_env(model))
    assert done.returncode == 0, done.stderr
    assert "first answer" in done.stdout
    assert "second answer" in done.stdout
    assert "/quit or Ctrl-D ends" in done.stdout
    assert "/help" not in json.dumps(model.requests[1].body), "it is ours to answer"
    assert "first answer" in json.dumps(model.requests[1].body)


def test_a_request_to_end_stops_the_tool_that_runs(shield, tmp_path):
    """No pipe, terminal or parent is left to stop it afterwards."""
    folder = Path(shield.workspace)
    seconds = f"600.{os.getpid()}{time.monotonic_ns()}"
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "agentctl.cli", "chat", "-w", shield.workspace],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
            "SHIELD_HOME": str(shield.folder),
        },
    ) as process:
        process.stdin.write(f"!sleep {seconds} & echo > begun; wait\n".encode())
        process.stdin.flush()
        until(lambda: (folder / "begun").exists())
        until(lambda: sleeping(seconds))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
    until(lambda: not sleeping(seconds))
    assert shield.statuses() == ["cancelled"]


def sleeping(seconds: str) -> list[Path]:
    """The processes that sleep just so long, by their command lines: inside a sandbox numbers are others."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(entry.parent)
        except OSError:
            continue  # it ended meanwhile
    return found


def until(condition):
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("it did not come about")
