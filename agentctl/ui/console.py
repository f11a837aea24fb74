"""The guarded console: a line typed by the user, read as a tool call. It is judged and run like any other."""

import json
import shlex
from dataclasses import dataclass
from typing import Final

from agentctl.errors import ToolError
from shield.types import Json

__all__ = ["HELP", "Line", "read_line"]


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


@dataclass(frozen=True, slots=True)
class _Form:
    """What follows the word after the slash, `usage` in a person's words; `least` of the fields must be there."""

    tool: str
    fields: tuple[str, ...]
    least: int
    usage: str
    does: str


_FORMS: Final = {
    "read": _Form("read_file", ("path", "offset", "limit"), 1, "PATH [FIRST [COUNT]]", "show a file"),
    "write": _Form("write_file", ("path", "content"), 2, "PATH TEXT", "write a file"),
    "edit": _Form("edit_file", ("path", "old", "new"), 3, "PATH OLD NEW", "replace text in a file"),
    "ls": _Form("list_directory", ("path",), 0, "[PATH]", "list a directory"),
    "search": _Form("search_files", ("pattern", "path"), 1, "GLOB [PATH]", "find files by name"),
    "grep": _Form("grep_files", ("pattern", "path"), 1, "PATTERN [PATH]", "find lines in files"),
    "http": _Form("http_request", ("method", "url", "body"), 2, "[METHOD] URL [BODY]", "send a request"),
    "git status": _Form("git_status", (), 0, "", "what has changed"),
    "git diff": _Form("git_diff", (), 0, "[ARGS]", "how it has changed"),
    "git log": _Form("git_log", (), 0, "[ARGS]", "what was committed"),
    "git commit": _Form("git_commit", ("message", "path"), 1, "MESSAGE [PATH]", "commit"),
}
HELP: Final = "\n".join(
    [
        *(f"{f'/{name} {form.usage}':<29} {form.does}" for name, form in _FORMS.items()),
        f"{'!COMMAND':<29} run a command line",
        "/help, /quit",
        "words with blanks are quoted as in a shell: /write a.txt 'two words'",
    ]
)


def _tool(name: str, words: list[str]) -> Line:
    if name == "git" and words:
        name, words = f"git {words[0]}", words[1:]
        if name in ("git diff", "git log"):
            return Line(_FORMS[name].tool, {"args": list(words)} if words else {})
    if name == "http" and len(words) == 1:
        words = ["GET", *words]
    if name == "ls" and not words:
        words = ["."]
    form = _FORMS.get(name)
    if form is None:
        near = [f"`/{other}`" for other in _FORMS if other.startswith("git ") and name.partition(" ")[0] == "git"]
        said = f", but {', '.join(near)}" if near else ""
        raise ToolError(f"there is no such tool as `/{name[:60]}`{said}; `/help` lists all")
    if not form.least <= len(words) <= len(form.fields):
        optional = ", what is in brackets only if you like" if "[" in form.usage else ""
        raise ToolError(f"write `{f'/{name} {form.usage}'.rstrip()}`{optional}; quote words with blanks")
    payload: dict[str, Json] = dict(zip(form.fields, words, strict=False))
    for field in ("offset", "limit"):
        if field in payload:
            payload[field] = _count(str(payload[field]))
    if form.tool == "write_file":
        payload["content"] = f"{payload['content']}\n"
    if form.tool == "http_request":
        payload["method"] = str(payload["method"]).upper()
    return Line(form.tool, payload)


def _count(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise ToolError(f"`{word}` is no line number; FIRST and COUNT are whole numbers")
    return int(word)
