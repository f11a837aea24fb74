"""What a person pastes into `agentctl chat`: several lines are one thing that is said, and in the console one call each."""

import subprocess

from guarded import ground
from model_server import Request, ScriptedModel, Turn
from terminal import Terminal, agentctl_command, environ

BEGIN, END = "\x1b[200~", "\x1b[201~"
ASKED, NOT_ASKED = "\x1b[?2004h", "\x1b[?2004l"


def paste(terminal: Terminal, text: str) -> None:
    """As a terminal does it: in brackets where the program asked for them."""
    asked = terminal.raw.rfind(ASKED) > terminal.raw.rfind(NOT_ASKED)
    terminal.type(f"{BEGIN}{text}{END}" if asked else text)


def echo(request: Request) -> Turn:
    said = request.body["messages"][-1]["content"]
    return Turn(text=f"{len(said.splitlines())} lines, the last is {said.splitlines()[-1]}.")


def test_pasted_lines_are_one_message():
    with ground() as place, ScriptedModel([echo] * 9) as model:
        env = environ(place, model, TERM="xterm")
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), env) as terminal:
            terminal.until("you> ")
            paste(terminal, "first\rsecond\rthird")
            terminal.until("third")
            terminal.type("\r")
            terminal.until(r"3 lines, the last is third\.")
            terminal.until("you> ")
            terminal.type("typed\r")
            terminal.until(r"1 lines, the last is typed\.")
            terminal.until("you> ")
            terminal.type("\x04")
            assert terminal.end() == 0
        said = [request.body["messages"][-1]["content"] for request in model.requests]
        assert said == ["first\nsecond\nthird", "typed"]


def test_a_line_from_a_pipe_is_said_without_its_end():
    with ground() as place, ScriptedModel([echo] * 2) as model:
        subprocess.run(
            agentctl_command("chat", "-w", str(place.workspace)),
            input="hello\r\nlast",
            capture_output=True,
            text=True,
            env=environ(place, model),
            cwd="/",
            timeout=60,
            check=True,
        )
    assert [request.body["messages"][-1]["content"] for request in model.requests] == ["hello", "last"]


def test_in_the_console_each_pasted_line_is_a_call():
    with ground() as place:
        env = environ(place, TERM="xterm")
        with Terminal(agentctl_command("chat", "-w", str(place.workspace)), env) as terminal:
            terminal.until("agentctl> ")
            paste(terminal, "/ls\r/read README.md\r")
            terminal.until("ALLOW    list_directory")
            terminal.until("ALLOW    read_file")
