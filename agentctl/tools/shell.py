"""The shell tool: `[shell, --noprofile, --norc, -c, command]` in exactly the environment of the receipt."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agentctl.errors import ChangedError, ToolError
from agentctl.tools.child import Child, Runner
from agentctl.tools.descriptors import directory, same_directory
from agentctl.tools.output import Output
from agentctl.tools.process import run
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant
from shield.types import FileRole

__all__ = ["execute_command", "working_directory"]

DEFAULT_S: Final = 120
MAX_S: Final = 3600


def execute_command(warrant: Warrant, stop: Stop, runner: Runner = run) -> Output:
    """Payload: command; `timeout_s` (1 to 3600, 120), `stdin` (text; without it, nothing to read)."""
    command = warrant.text("command")
    if "\0" in command:
        raise ToolError("the command holds a NUL; leave it out")
    stdin = warrant.optional_text("stdin")
    with working_directory(warrant) as cwd:
        child = Child(
            argv=(warrant.receipt.shell, "--noprofile", "--norc", "-c", command),
            env=warrant.receipt.env,
            cwd=cwd,
            timeout_s=warrant.whole("timeout_s", DEFAULT_S, least=1, most=MAX_S),
            stdin=None if stdin is None else stdin.encode("utf-8"),
        )
        return runner(warrant, child, stop)


@contextmanager
def working_directory(warrant: Warrant) -> Iterator[int]:
    """A descriptor of the action's `cwd`: the very directory that the receipt names, reached without following a link.

    A command works on the directory it is started in, so its receipt always names it. Raises ChangedError.
    """
    if warrant.cwd is None or not os.path.isabs(warrant.cwd):
        raise ToolError("the action has no working directory")
    # INVARIANT: not resolved anew. A link put in its place since may lead to another directory that the receipt names.
    path = warrant.cwd
    named = [entry for entry in warrant.receipt.files if entry.role is FileRole.DIRECTORY and entry.path == path]
    if not named:
        raise ChangedError("the receipt does not name the working directory; nothing was run")
    with directory(path) as descriptor:
        for entry in named:
            same_directory(entry, descriptor)
        yield descriptor
