"""The tools a model is offered, and the actions that their calls propose. Nothing here acts."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from agentctl.turns.gate import ToolSpec
from shield.types import Json

__all__ = ["Registry", "tool"]


def _schema(required: Sequence[str], **fields: Mapping[str, Json]) -> Mapping[str, Json]:
    properties: dict[str, Json] = {name: dict(field) for name, field in fields.items()}
    return MappingProxyType(
        {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    )


def _text(description: str) -> Mapping[str, Json]:
    return {"type": "string", "description": description}


def _whole(description: str) -> Mapping[str, Json]:
    return {"type": "integer", "minimum": 1, "description": description}


def _flag(description: str) -> Mapping[str, Json]:
    return {"type": "boolean", "description": description}


_PATH: Final = _text("path of the file, absolute or relative to the workspace")
_FOLDER: Final = _text("directory to look in, the workspace if left out")
_PATHSPEC: Final = _text("only this file or directory")
_ARGS: Final[Mapping[str, Json]] = {"type": "array", "items": {"type": "string"}}

_SPECS: Final = (
    ToolSpec(
        name="read_file",
        description="Read a text file. Long files are cut in the middle: use offset and limit to see the rest.",
        parameters=_schema(
            ["path"],
            path=_PATH,
            offset=_whole("first line to show, counted from 1"),
            limit=_whole("how many lines to show"),
        ),
        action_type="read_file",
        reads_only=True,
    ),
    ToolSpec(
        name="write_file",
        description="Write a whole file, replacing what was in it. Its directory must exist.",
        parameters=_schema(["path", "content"], path=_PATH, content=_text("the whole new content")),
        action_type="write_file",
    ),
    ToolSpec(
        name="edit_file",
        description="Replace text in a file. `old` must occur exactly once, unless `all` is true.",
        parameters=_schema(
            ["path", "old", "new"],
            path=_PATH,
            old=_text("the exact text to replace, with enough around it to be the only one"),
            new=_text("the text to put there"),
            all=_flag("replace every occurrence"),
        ),
        action_type="edit_file",
    ),
    ToolSpec(
        name="list_directory",
        description="List a directory: directories end in /, links in @, files show their size.",
        parameters=_schema(["path"], path=_text("the directory"), recursive=_flag("also what is below it")),
        action_type="list_directory",
        reads_only=True,
    ),
    ToolSpec(
        name="search_files",
        description="Find files by name. Hidden files are left out.",
        parameters=_schema(["pattern"], pattern=_text("a glob such as *.py or src/**/*.py"), path=_FOLDER),
        action_type="search_files",
        reads_only=True,
    ),
    ToolSpec(
        name="grep_files",
        description="Find lines in files. Hidden and binary files are left out.",
        parameters=_schema(["pattern"], pattern=_text("a regular expression (RE2)"), path=_FOLDER),
        action_type="grep_files",
        reads_only=True,
    ),
    ToolSpec(
        name="archive_create",
        description="Pack files and directories. Links are left out.",
        parameters=_schema(
            ["path"],
            path=_text("the archive to write; its ending is the format: .zip .tar .tar.gz .tar.bz2 .tar.xz"),
            sources={**_ARGS, "description": "files and directories to pack, the workspace if left out"},
        ),
        action_type="archive_create",
    ),
    ToolSpec(
        name="archive_extract",
        description=(
            "Unpack a zip or tar archive. Nothing that exists is replaced; links are left out; an archive with hidden"
            " files, or files that steer programs, is refused."
        ),
        parameters=_schema(
            ["path"],
            path=_text("the archive"),
            destination=_text("directory to unpack into, made if it does not exist; the workspace if left out"),
        ),
        action_type="archive_extract",
    ),
    ToolSpec(
        name="execute_command",
        description=(
            "Run a command line in bash, in the workspace. It has no terminal, and everything that it started is"
            " stopped when it ends."
        ),
        parameters=_schema(
            ["command"],
            command=_text("the command line"),
            timeout_s=_whole("seconds until it is stopped, 120 if left out"),
            stdin=_text("text on its standard input"),
        ),
        action_type="execute_command",
    ),
    ToolSpec(
        name="http_request",
        description="Send one HTTP request. Redirects are not followed: request the new address if it is wanted.",
        parameters=_schema(
            ["url"],
            url=_text("an http or https url"),
            method=_text("GET if left out"),
            headers={"type": "object", "additionalProperties": {"type": "string"}},
            body=_text("what to send"),
        ),
        action_type="http_request",
    ),
    ToolSpec(
        name="git_status",
        description="Show the branch and what is changed in the working tree.",
        parameters=_schema([], path=_PATHSPEC),
        action_type="git_status",
        reads_only=True,
    ),
    ToolSpec(
        name="git_diff",
        description="Show changes.",
        parameters=_schema(
            [], path=_PATHSPEC, args={**_ARGS, "description": "--staged, --stat, --name-only, up to two revisions"}
        ),
        action_type="git_diff",
        reads_only=True,
    ),
    ToolSpec(
        name="git_log",
        description="Show commits, the newest 50 if no count is given.",
        parameters=_schema(
            [], path=_PATHSPEC, args={**_ARGS, "description": "--oneline, --stat, -n5, up to two revisions"}
        ),
        action_type="git_log",
        reads_only=True,
    ),
    ToolSpec(
        name="git_commit",
        description="Commit what is staged; with `path`, add and commit only that. Hooks are not run.",
        parameters=_schema(
            ["message"],
            message=_text("the commit message"),
            path=_text("file or directory to add and commit"),
            args={**_ARGS, "description": "-a to commit all changes of tracked files"},
        ),
        action_type="git_commit",
    ),
)
_BY_NAME: Final = MappingProxyType({spec.name: spec for spec in _SPECS})


class Registry:
    """The tools, in a fixed order: a `Toolbox`."""

    def specs(self) -> Sequence[ToolSpec]:
        return _SPECS


def tool(name: str) -> ToolSpec:
    """The tool of this name. Raises KeyError."""
    return _BY_NAME[name]
