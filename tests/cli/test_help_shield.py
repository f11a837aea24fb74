"""The command line as a whole: what it lists, what it costs, what it says to wrong words."""

import os
import subprocess
import sys
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from service_process import PACKAGES
from shield.cli import COMMANDS, shield


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_is_true(name):
    module, line = COMMANDS[name]
    command = import_module(f"shield.cli.{module}").command
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.get_short_help_str(120) == line


def test_commands_are_listed_in_order():
    assert list(COMMANDS) == sorted(COMMANDS)
    shown = CliRunner().invoke(shield, ["--help"]).output
    for name, (_, line) in COMMANDS.items():
        assert f"{name} " in shown
        assert line in shown


def test_help_imports_only_click():
    code = (
        "import sys\nfrom shield.__main__ import main\nsys.argv = ['shield', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'pydantic', 'httpx', 'starlette', 'uvicorn', 'cryptography', 'celpy', 'onnxruntime', 'rich', 'yaml',"
        " 'asyncio', 'sqlite3', 'jwt', 'tree_sitter'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": PACKAGES, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(("words", "said"), [(["srve"], "did you mean `serve`?"), (["--nope"], "No such option")])
def test_wrong_words(words, said):
    result = CliRunner().invoke(shield, words)
    assert result.exit_code == 2
    assert said in result.output


def test_help_of_every_command():
    for name in COMMANDS:
        result = CliRunner().invoke(shield, [name, "--help"])
        if name != "audit":
            assert result.exit_code == 0, (name, result.output)
            assert "xit codes" in result.output or name in ("check", "eval"), name


@pytest.mark.parametrize(("program", "start", "whole"), [("shield", "che", "check"), ("agentctl", "ch", "chat")])
def test_the_shell_completes_commands(program, start, whole):
    env = os.environ | {
        "PYTHONPATH": PACKAGES,
        f"_{program.upper()}_COMPLETE": "bash_complete",
        "COMP_WORDS": f"{program} {start}",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-P", "-m", program], capture_output=True, text=True, env=env, timeout=60, check=False
    )
    assert done.stdout == f"plain,{whole}\n", done.stderr
