"""The guarded console: a line typed by the user, read as a tool call. It is judged and run like any other."""

import json
import shlex
from dataclasses import dataclass
from typing import Final

from agentctl.errors import ToolError
from shield.types import Json

__all__ = ["HELP", "Line", "read_line"]

HELP: Final = """\
/read PATH [FIRST [COUNT]]    show a file
/write PATH TEXT              write a file
/edit PATH OLD NEW            replace text in a file
/ls [PATH]                    list a directory
/search GLOB [PATH]           find files by name
/grep PATTERN [PATH]          find lines in files
/http [METHOD] URL [BODY]     send a request
/git status                   also: diff, log [ARGS], commit MESSAGE [PATH]
!COMMAND                      run a command line
/help, /quit
words with blanks are quoted as in a shell: /write a.txt 'two words'"""


@dataclass(frozen=True, slots=True)
class Line:
    """A tool call: the tool's name and its arguments."""

    tool: str
    payload: dict[str, Json]

    @property
    def arguments_text(self) -> str:
        return json.dumps(self.payload, ensure_ascii=False)


def read_line(text: str) -> Line:
    """The tool call that a line means. Raises ToolError with how the line should look."""
    text = text.strip()
    if text.startswith("!"):
        command = text[1:].strip()
        if not command:
            raise ToolError("write `!` and a command line, such as `!ls -la`")
        return Line("execute_command", {"command": command})
    if not text.startswith("/"):
        raise ToolError("no model is configured, so only tool calls are understood here; `/help` lists them")
    try:
        words = shlex.split(text[1:])
    except ValueError as error:
        raise ToolError(f"the line cannot be read: {str(error).lower()}") from None
    if not words:
        raise ToolError("write a tool's name after the slash; `/help` lists them")
    return _tool(words[0], words[1:])


# the word after the slash → tool, fields in the order they are written, how many must be there
_FORMS: Final[dict[str, tuple[str, tuple[str, ...], int]]] = {
    "read": ("read_file", ("path", "offset", "limit"), 1),
    "write": ("write_file", ("path", "content"), 2),
    "edit": ("edit_file", ("path", "old", "new"), 3),
    "ls": ("list_directory", ("path",), 0),
    "search": ("search_files", ("pattern", "path"), 1),
    "grep": ("grep_files", ("pattern", "path"), 1),
    "http": ("http_request", ("method", "url", "body"), 2),
    "git status": ("git_status", (), 0),
    "git commit": ("git_commit", ("message", "path"), 1),
}


def _tool(name: str, words: list[str]) -> Line:
    if name == "git" and words:
        name, words = f"git {words[0]}", words[1:]
        if name in ("git diff", "git log"):
            return Line(name.replace(" ", "_"), {"args": list(words)} if words else {})
    if name == "http" and len(words) == 1:
        words = ["GET", *words]
    if name == "ls" and not words:
        words = ["."]
    if name not in _FORMS:
        raise ToolError("there is no such tool; `/help` lists them")
    tool, fields, least = _FORMS[name]
    if not least <= len(words) <= len(fields):
        raise ToolError(f"`/{name}` is followed by {' '.join(fields) or 'nothing'}; quote words with blanks")
    payload: dict[str, Json] = dict(zip(fields, words, strict=False))
    for field in ("offset", "limit"):
        if field in payload:
            payload[field] = _count(str(payload[field]))
    if tool == "write_file":
        payload["content"] = f"{payload['content']}\n"
    if tool == "http_request":
        payload["method"] = str(payload["method"]).upper()
    return Line(tool, payload)


def _count(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise ToolError(f"`{word}` is no line number")
    return int(word)
