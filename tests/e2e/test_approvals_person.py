"""What only a person does: trusting a directory, and answering from another terminal with `shield approvals`."""

import json
import os
import subprocess
from contextlib import contextmanager

import pytest

from guarded import ground
from model_server import Call, Turn
from terminal import (
    PATIENCE_S,
    Terminal,
    actions,
    agentctl_command,
    environ,
    judged,
    refused,
    results,
    shield_command,
    tell,
)


def code(name: str) -> Turn:
    command = f'python3 -c \'import ctypes; open("{name}.txt", "w")\''
    return Turn(text=f"I make {name}.", calls=(Call("execute_command", {"command": command}, id=f"call_{name}"),))


STORIES = {name: [code(name), Turn(text=f"{name}: over.")] for name in ("approved", "denied")}


@pytest.fixture
def untrusted():
    with ground() as place:
        (place.shield_home / "shield.toml").write_text("")
        yield place


def chat(place, *, workspace=None):
    return Terminal(agentctl_command("chat", "-w", str(workspace or place.workspace)), environ(place))


def test_the_person_is_asked_once_whether_a_directory_is_trusted(untrusted):
    with chat(untrusted) as terminal:
        asked = terminal.until("type `yes` to confirm: ")
        assert str(untrusted.workspace) in asked
        terminal.answer("yes")
        terminal.until("agentctl> ")
        terminal.type("/read README.md\n")
        terminal.until("# a project\nagentctl> ")
        terminal.type("\x04")
        assert terminal.end() == 0
    with chat(untrusted) as terminal:
        assert "confirm" not in terminal.until("agentctl> ")
    with chat(untrusted, workspace=untrusted.root / "home") as terminal:
        # what is above a trusted directory is not trusted, and home never is
        assert terminal.end() == 3


@pytest.mark.parametrize("answer", ["\n", "\x04", "\x03"])
def test_anything_but_yes_ends_it(untrusted, answer):
    with chat(untrusted) as terminal:
        terminal.until("type `yes` to confirm: ")
        terminal.type(answer)
        assert terminal.end() in (3, 130)
        assert "Traceback" not in terminal.seen
        assert "agentctl> " not in terminal.seen
    assert (
        not (untrusted.shield_home / "trusted.json").exists()
        or "project" not in (untrusted.shield_home / "trusted.json").read_text()
    )


@pytest.mark.parametrize("where", ["/", "~"])
def test_never_root_or_home(untrusted, where):
    workspace = "/" if where == "/" else str(untrusted.root / "home")
    with chat(untrusted, workspace=workspace) as terminal:
        assert terminal.end() == 3
        assert "confirm" not in terminal.seen
        assert "Traceback" not in terminal.seen
    trusting = Terminal(shield_command("trust", workspace), environ(untrusted))
    with trusting as terminal:
        assert terminal.end() == 2
        assert "confirm" not in terminal.seen


@contextmanager
def served(place):
    """`shield init` and `shield serve` by hand; the approver's token, as the person was shown it."""
    read, write = os.pipe()
    env = environ(place)
    subprocess.run(
        shield_command("init", "--token-fd", str(write)), env=env, pass_fds=(write,), check=True, capture_output=True
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        token = json.load(pipe)["approver"]
    server = subprocess.Popen(shield_command("serve"), env=env, stderr=subprocess.PIPE, text=True, cwd="/")
    try:
        lines = iter(server.stderr.readline, "")
        assert any("listens on" in line for line in lines)
        yield token
    finally:
        server.terminate()
        server.communicate(timeout=PATIENCE_S)


def test_another_terminal_watches_shows_approves_and_denies():
    with ground() as place, served(place) as token, tell(STORIES) as model:
        person = environ(place, SHIELD_TOKEN=token)

        def approvals(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                shield_command("approvals", *arguments),
                env=person,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )

        with Terminal(shield_command("approvals", "watch"), person) as watch:
            for name, verb in (("approved", "approve"), ("denied", "deny")):
                agent = subprocess.Popen(
                    agentctl_command("run", "-w", str(place.workspace), name),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environ(place, model),
                    cwd="/",
                )
                approval = watch.until(r"[0-9A-Z]{26}  until .*execute_command").splitlines()[-1].split()[0]
                assert approval in approvals("list").stdout
                shown = approvals("show", approval)
                assert f"{name}.txt" in shown.stdout, shown.stderr
                settled = approvals(verb, approval, "--note", "as agreed")
                assert settled.returncode == 0, settled.stderr
                out, talk = agent.communicate(timeout=PATIENCE_S)
                assert agent.returncode == 0, talk
                assert f"{name}: over." in out
                assert "shield approvals" in talk, "the start line says where questions go"
                again = approvals("approve" if verb == "deny" else "deny", approval)
                assert again.returncode == 2
                assert "already" in again.stderr
            watch.type("\x03")
            watch.end()
            assert "Traceback" not in watch.seen
        assert (place.workspace / "approved.txt").exists()
        assert not (place.workspace / "denied.txt").exists()
        assert refused(results(model, "denied")["call_denied"])["decision"] == "BLOCK"
        bodies = [record["body"] for record in place.records() if record["kind"] == "approval"]
        assert [body["state"] for body in bodies] == ["approved", "denied"]
        assert bodies[-1]["note"] == "as agreed"
        assert "no open questions" in approvals("list").stderr
        # the agent's own token cannot answer
        agent_token = (place.shield_home / "tokens" / "agent.token").read_text().strip()
        denied = subprocess.run(
            shield_command("approvals", "list"),
            env=environ(place, SHIELD_TOKEN=agent_token),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert denied.returncode == 2
        assert len(actions(place)) >= 3
        assert sum(bool(action["executing"]) for action in judged(place, "execute_command")) == 1
