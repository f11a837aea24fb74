"""`agentctl run`: one task, nobody asked. Exit codes, a dying Shield, other wires, conversations, a shared Shield."""

import os
import signal
import sqlite3
import subprocess

import pytest

from guarded import Ground, ground, kill
from model_server import Call, Fault, ScriptedModel, Turn
from terminal import Terminal, actions, agentctl_command, environ, judged, refused, results, shield_command, tell

ASK = r"type yes/no, \d+ s left: "
WRITE = Call("write_file", {"path": "made.txt", "content": "made\n"}, id="call_w")
CODE = Call("execute_command", {"command": 'python3 -c \'import ctypes; open("ran.txt", "w")\''}, id="call_c")


@pytest.fixture(scope="module")
def standing():
    """A Shield that stays, so that each run only has to find it. Nobody is configured to approve."""
    with ground() as place, place.start():
        yield place


def run(place: Ground, model: ScriptedModel | None, prompt: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        agentctl_command("run", "-w", str(place.workspace), prompt),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environ(place, model, **env),
        cwd="/",
        timeout=60,
        check=False,
    )


def test_the_answer_is_on_stdout_and_the_talk_on_stderr(standing):
    with tell({"make it": [Turn(text="I make it. ", calls=(WRITE,)), Turn(text="Done.")]}) as model:
        done = run(standing, model, "make it")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Done.\n"
    assert "I make it. " in done.stderr
    assert "ALLOW    write_file" in done.stderr
    assert (standing.workspace / "made.txt").read_text() == "made\n"
    assert "found" in done.stderr
    assert "isolation " in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    (action,) = judged(standing, "write_file", path="made.txt")
    assert action["outcome"]["body"]["status"] == "ok"


def test_without_an_approver_an_escalation_is_refused_at_once(standing):
    with tell({"run code": [Turn(calls=(CODE,)), Turn(text="Nobody may say yes.")]}) as model:
        done = run(standing, model, "run code")
    assert done.returncode == 0, done.stderr
    said = refused(results(model, "run code")["call_c"])
    assert said["decision"] == "BLOCK"
    assert said["advice"]
    assert not (standing.workspace / "ran.txt").exists()
    (action,) = judged(standing, "execute_command")
    assert action["decision"]["body"]["rule"] == "no_approver"
    assert not any(record["kind"] == "approval" for record in standing.records())


def configured(place: Ground) -> None:
    """As `shield init` leaves a home: there is an approver's token, and no Shield runs."""
    read, write = os.pipe()
    with os.fdopen(read) as pipe:
        command = shield_command("init", "--token-fd", str(write))
        subprocess.run(command, env=environ(place), pass_fds=(write,), check=True, capture_output=True)
        os.close(write)
        assert "shield_approver_" in pipe.read()


@pytest.mark.parametrize("words", ["run", "chat"])
def test_a_shield_that_was_started_for_it_alone_asks_nobody_and_waits_for_nobody(words):
    """The token's holder is somewhere else: nobody watches a Shield that came up with this call."""
    with ground() as place, tell({"run code": [Turn(calls=(CODE,)), Turn(text="Nobody may.")]}) as model:
        place.configure("[approvals]\ntimeout_s = 300\n")
        configured(place)
        if words == "run":
            done = run(place, model, "run code")
            assert done.stdout == "Nobody may.\n"
            said = refused(results(model, "run code")["call_c"])
            assert said["decision"] == "ESCALATE"
            assert "nobody has approved" in said["advice"]
            talk = done.stderr
        else:
            lines = '!python3 -c \'import ctypes; open("ran.txt", "w")\'\n'
            command = agentctl_command("chat", "-w", str(place.workspace))
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                input=lines,
                env=environ(place),
                cwd="/",
                timeout=60,
                check=False,
            )
            talk = done.stdout
        assert done.returncode == 0, done.stderr
        assert "asks nobody" in talk
        assert "waiting for a person" not in talk
        assert "nobody is asked here" in talk
        assert not (place.workspace / "ran.txt").exists()
        assert not any(record["kind"] == "executing" for record in place.records())


@pytest.mark.parametrize("provider", ["anthropic", "ollama"])
def test_the_other_wires(standing, provider):
    script = [
        Turn(text="Looking.", calls=(Call("read_file", {"path": "README.md"}), Call("list_directory", {"path": "."}))),
        Turn(text="Key next.", calls=(Call("read_file", {"path": "~/.ssh/id_rsa"}),)),
        Turn(text="All told."),
    ]
    with ScriptedModel(script) as model:
        env = {"AGENTCTL_PROVIDER": provider, "AGENTCTL_BASE_URL": model.url, "ANTHROPIC_API_KEY": "k"}
        done = run(standing, model, "look", **env)
    assert done.returncode == 0, done.stderr
    assert "All told." in done.stdout
    assert [request.refused for request in model.requests] == [None, None, None]
    told = str(model.requests[-1].body["messages"])
    assert "# a project" in told
    assert "BLOCK" in told


@pytest.mark.parametrize(
    ("turns", "code", "says"),
    [
        ([Turn(fault=Fault(status=401))], 1, "401"),
        ([Turn(text="It goes on", stop="length")], 4, "cut off"),
        ([Turn(calls=(Call("read_file", {"path": "~/.ssh/id_rsa"}),))] * 3, 4, "same refused"),
    ],
)
def test_exit_codes_of_a_turn(standing, turns, code, says):
    with ScriptedModel(turns) as model:
        done = run(standing, model, "go")
    assert done.returncode == code, done.stderr
    assert says in done.stdout + done.stderr


def test_without_a_model_it_says_what_to_set(standing):
    done = run(standing, None, "go")
    assert done.returncode == 2
    assert "AGENTCTL_MODEL" in done.stderr
    assert not done.stdout


def test_an_untrusted_workspace_is_refused_with_the_command_to_run(standing):
    other = standing.root / "home" / "other"
    other.mkdir(exist_ok=True)
    with ScriptedModel([Turn(text="never")]) as model:
        command = agentctl_command("run", "-w", str(other), "go")
        done = subprocess.run(
            command, capture_output=True, text=True, env=environ(standing, model), cwd="/", timeout=60, check=False
        )
        assert done.returncode == 3
        assert f"shield trust {other}" in done.stderr
        assert not model.requests, "nothing was sent to the model"


def test_ctrl_c_ends_a_run_with_130_and_leaves_no_child(standing):
    with ScriptedModel([Turn(text="thinking", fault=Fault(hang_at=-1))]) as model:
        process = subprocess.Popen(
            agentctl_command("run", "-w", str(standing.workspace), "go"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ(standing, model),
            cwd="/",
        )
        assert model.hanging.wait(30)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130


def test_shield_killed_between_two_calls_ends_the_turn_and_nothing_more_runs():
    with ground() as place:
        sidecar = place.start()

        def killing(request):
            kill(sidecar)
            return Turn(text="Once more.", calls=(Call("write_file", {"path": "two.txt", "content": "x"}),))

        stories = {"go": [Turn(calls=(WRITE,)), killing, Turn(text="never said")]}
        with tell(stories) as model:
            done = run(place, model, "go")
        assert done.returncode == 3
        assert "nothing more is run" in done.stdout + done.stderr
        assert len(model.requests) == 2
        assert (place.workspace / "made.txt").exists()
        assert not (place.workspace / "two.txt").exists()
        assert len(actions(place)) == 1


def test_a_stored_conversation_holds_every_call_and_its_result():
    """What is stored when a turn ends is what a later session goes on from."""
    from agentctl.history.store import History
    from agentctl.sessions.session import Session
    from agentctl.turns.messages import AssistantMessage, ToolMessage, UserMessage

    with ground() as place, place.start():
        with tell({"make it": [Turn(text="I make it.", calls=(WRITE,)), Turn(text="Done.")]}) as model:
            assert run(place, model, "make it").returncode == 0
        data = place.root / "home" / ".local" / "share" / "agentctl"
        with History(str(data / "history.db"), now=lambda: 0) as history:
            (stored,) = history.sessions()
            assert stored.workspace == str(place.workspace)
            with Session.resume(history, stored.id, locks=str(data / "locks")) as session:
                user, asked, answered, last = session.messages
        assert isinstance(user, UserMessage)
        assert isinstance(asked, AssistantMessage)
        assert isinstance(answered, ToolMessage)
        assert isinstance(last, AssistantMessage)
        assert [result.id for result in answered.results] == [call.id for call in asked.calls] == ["call_w"]
        assert os.stat(data / "history.db").st_mode & 0o077 == 0
        with sqlite3.connect(data / "history.db") as database:
            assert "sk-" not in "".join(database.iterdump())


def test_two_agents_on_one_home_share_its_shield_and_its_person():
    with ground() as place, tell({"run code": [Turn(text="Code.", calls=(CODE,)), Turn(text="It ran.")]}) as model:
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), environ(place)) as first:
            first.until("agentctl> ")
            second = subprocess.Popen(
                agentctl_command("run", "-w", str(place.workspace), "run code"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environ(place, model),
                cwd="/",
            )
            question = first.until(ASK)
            assert "ran.txt" in question
            first.answer("yes")
            out, talk = second.communicate(timeout=30)
            assert second.returncode == 0, talk
            assert "found" in talk
            assert "It ran." in out
            assert (place.workspace / "ran.txt").exists()
            first.until("approved")
            first.type("/read README.md\n")
            first.until("# a project")
        assert len({action["decision"]["session"] for action in actions(place)}) == 2
        assert sum(record["kind"] == "log.open" for record in place.records()) == 1
