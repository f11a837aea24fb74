"""The one table from an action's type to what does it. Each of these acts only with a warrant."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from agentctl.errors import ToolError
from agentctl.tools import archive, files, git, search, shell, web
from agentctl.tools.child import Runner
from agentctl.tools.output import Output
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant

__all__ = ["carry_out"]


def carry_out(warrant: Warrant, stop: Stop, runner: Runner, network: web.Network) -> Output:
    """Do what the warrant is for. Raises ToolError for a type that nothing here does, and what the tool raises."""
    if warrant.type == "http_request":
        return web.http_request(warrant, stop, network)
    starting = _STARTING.get(warrant.type)
    if starting is not None:
        return starting(warrant, stop, runner)
    with_stop = _STOPPABLE.get(warrant.type)
    if with_stop is not None:
        return with_stop(warrant, stop)
    plain = _PLAIN.get(warrant.type)
    if plain is None:
        raise ToolError(f"`{warrant.type}` cannot be done here; use another tool")
    stop.check()
    return plain(warrant)


_STARTING: Final[Mapping[str, Callable[[Warrant, Stop, Runner], Output]]] = MappingProxyType(
    {
        "execute_command": shell.execute_command,
        "git_commit": git.git_commit,
        "git_diff": git.git_diff,
        "git_log": git.git_log,
        "git_status": git.git_status,
    }
)
_STOPPABLE: Final[Mapping[str, Callable[[Warrant, Stop], Output]]] = MappingProxyType(
    {
        "archive_create": archive.archive_create,
        "archive_extract": archive.archive_extract,
        "grep_files": search.grep_files,
        "list_directory": search.list_directory,
        "search_files": search.search_files,
    }
)
_PLAIN: Final[Mapping[str, Callable[[Warrant], Output]]] = MappingProxyType(
    {
        "copy_file": files.copy_file,
        "create_directory": files.create_directory,
        "delete_directory": files.delete_directory,
        "delete_file": files.delete_file,
        "edit_file": files.edit_file,
        "move_file": files.move_file,
        "read_file": files.read_file,
        "write_file": files.write_file,
    }
)
