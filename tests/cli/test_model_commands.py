"""`shield model` as a whole: its table is true, and looking at it loads nothing."""

import os
import subprocess
import sys
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from service_process import PACKAGES
from shield.cli import shield
from shield.cli.model import COMMANDS

HEAVY = ("numpy", "onnxruntime", "tokenizers", "pydantic", "yaml", "re2", "asyncio", "shield.model", "shield.tiers")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_is_true(name):
    module, line = COMMANDS[name]
    command = getattr(import_module(f"shield.cli.{module}"), name)
    assert isinstance(command, click.Command)
    assert (command.name, command.get_short_help_str(120)) == (name, line)
    assert "Exit codes" in command.get_help(click.Context(command))


def test_commands_are_in_order_and_a_near_miss_is_named():
    assert list(COMMANDS) == sorted(COMMANDS)
    done = CliRunner().invoke(shield, ["model", "scna"])
    assert done.exit_code == 2
    assert "did you mean `scan`?" in done.stderr


def test_help_loads_no_model_and_no_rules():
    code = (
        "import sys\nfrom shield.__main__ import main\nsys.argv = ['shield', 'model', 'scan', '--help']\n"
        f"try:\n    main()\nfinally:\n    print(sorted({{*{HEAVY!r}}} & sys.modules.keys()), file=sys.stderr)\n"
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
