"""Every action type there is: its payload fields with their roles, its least operations, its least tier.

Schemas find roles, they do not refuse: an unknown field is kept, hashed and judged by its name and value, and where
that does not say all that it changes, the action is unknown. A type that is not in the table, and every `mcp:` tool,
has every operation and least tier 3; nothing it says of itself lowers that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shield.actions.fields import Field, FieldRole, Kind
from shield.types import Access, Operation, Tier

__all__ = ["FIELDS_BY_NAME", "ActionType", "aliases", "canonical_name", "lookup", "names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionType:
    """One type. `targets`: of each inner tuple at least one field must be there. `known` False has every operation."""

    name: str
    operations: frozenset[Operation] = frozenset(Operation)
    fields: Mapping[str, Field] = field(default_factory=lambda: MappingProxyType({}))
    targets: tuple[tuple[str, ...], ...] = ()
    least_tier: Tier = Tier.PERSON
    known: bool = False

    @property
    def server(self) -> str | None:
        """The server of an `mcp:<server>/<tool>` type."""
        return self.name[4:].partition("/")[0] if self.name.startswith("mcp:") else None

    @property
    def tool(self) -> str:
        """The tool's own name: what stands behind `mcp:<server>/`, else the type's name."""
        return self.name.partition("/")[2] if self.name.startswith("mcp:") else self.name


def lookup(name: str) -> ActionType:
    """The type of this name or alias; a type with every operation for a name that is not in the registry."""
    known = _TYPES.get(canonical_name(name))
    return known if known is not None else ActionType(name=name)


def canonical_name(name: str) -> str:
    """The name that is hashed: an alias is replaced, everything else stands as it is."""
    return _ALIASES.get(name, name)


def aliases(name: str) -> tuple[str, ...]:
    """The other names of a registered type, sorted."""
    return tuple(sorted(alias for alias, known in _ALIASES.items() if known == name))


def names() -> tuple[str, ...]:
    """Every registered type, sorted."""
    return tuple(sorted(_TYPES))


# --- the table -------------------------------------------------------------------------------------------------------

_READ = Field(role=FieldRole.PATH, access=Access.READ)
_WRITE = Field(role=FieldRole.PATH, access=Access.WRITE)
_DELETE = Field(role=FieldRole.PATH, access=Access.DELETE)
_LIST = Field(role=FieldRole.PATH, access=Access.LIST)
_SEARCH = Field(role=FieldRole.PATH, access=Access.READ, recursive=True)
_REMOVE_TREE = Field(role=FieldRole.PATH, access=Access.DELETE, recursive=True)
_READ_LIST = Field(role=FieldRole.PATH, access=Access.READ, kind=Kind.STRINGS, recursive=True)
_TEXT = Field(role=FieldRole.TEXT)
_ANY_TEXT = Field(role=FieldRole.TEXT, kind=Kind.ANY)
_COMMAND = Field(role=FieldRole.COMMAND)
_URL = Field(role=FieldRole.URL)
_RECIPIENT = Field(role=FieldRole.RECIPIENT, kind=Kind.STRINGS)
_PATTERN = Field(role=FieldRole.PATTERN)
_NAME = Field(role=FieldRole.OPTION)
_NAMES = Field(role=FieldRole.OPTION, kind=Kind.STRINGS)
_FLAG = Field(role=FieldRole.OPTION, kind=Kind.BOOLEAN)
_NUMBER = Field(role=FieldRole.OPTION, kind=Kind.INTEGER)

# What a field of this name is where the type's own table does not say: other types, `mcp:` tools, unknown fields.
FIELDS_BY_NAME: Mapping[str, Field] = MappingProxyType(
    dict.fromkeys(("path", "file", "file_path", "filename", "filepath", "directory", "dir", "folder", "cwd"), _WRITE)
    | dict.fromkeys(("source", "src", "sources"), Field(role=FieldRole.PATH, kind=Kind.STRINGS, access=Access.READ))
    | dict.fromkeys(("destination", "dest", "dst", "output", "target"), _WRITE)
    | {"attachments": Field(role=FieldRole.PATH, kind=Kind.STRINGS, access=Access.READ)}
    | dict.fromkeys(("url", "uri", "href", "endpoint", "link", "base_url", "callback", "webhook"), _URL)
    | dict.fromkeys(("host", "hostname", "server", "domain", "proxy", "registry", "repo", "repository"), _URL)
    | dict.fromkeys(("command", "cmd", "script", "shell", "shell_command", "bash", "exec", "execute"), _COMMAND)
    | dict.fromkeys(("command_line", "commandline", "cmdline"), _COMMAND)
    | dict.fromkeys(("to", "cc", "bcc", "recipient", "recipients", "channel", "attendees", "email"), _RECIPIENT)
    | dict.fromkeys(("content", "text", "body", "message", "subject", "description", "title", "value"), _ANY_TEXT)
    | dict.fromkeys(("instruction", "instructions", "task", "prompt", "query", "note", "data"), _ANY_TEXT)
    | dict.fromkeys(("pattern", "regex", "glob"), _PATTERN)
    | dict.fromkeys(
        ("password", "secret", "token", "api_key", "apikey", "access_token", "private_key"),
        Field(role=FieldRole.SECRET, kind=Kind.ANY),
    )
)

_FILE_OPTIONS = {"offset": _NUMBER, "limit": _NUMBER, "recursive": _FLAG}
_GIT_OPTIONS = {"message": _TEXT, "branch": _NAME, "remote": _NAME, "url": _URL, "args": _NAMES, "force": _FLAG}
_EVENT = {
    "title": _TEXT,
    "id": _NAME,
    "start": _NAME,
    "end": _NAME,
    "time": _NAME,
    "attendees": _RECIPIENT,
    "description": _TEXT,
}
_TEAM = {"task": _TEXT, "instruction": _TEXT, "content": _TEXT, "agent": _NAME, "from_agent": _NAME, "to_agent": _NAME}
_PAGE = {"url": _URL, "selector": _NAME, "text": _TEXT}
_MAIL = {
    "subject": _TEXT,
    "body": _TEXT,
    "cc": _RECIPIENT,
    "bcc": _RECIPIENT,
    "attachments": Field(role=FieldRole.PATH, kind=Kind.STRINGS, access=Access.READ),
}

_Row = tuple[str, str, dict[str, Field], tuple[tuple[str, ...], ...], tuple[str, ...]]


# name, operations, fields, targets, aliases
_TABLE: tuple[_Row, ...] = (
    ("read_file", "read", {"path": _READ, **_FILE_OPTIONS}, (("path",),), ("read", "view_file")),
    ("write_file", "write", {"path": _WRITE, "content": _TEXT}, (("path",),), ("write", "create_file")),
    (
        "edit_file",
        "read write",
        {"path": _WRITE, "old": _TEXT, "new": _TEXT, "all": _FLAG},
        (("path",),),
        ("edit", "replace_in_file"),
    ),
    ("delete_file", "delete", {"path": _DELETE}, (("path",),), ("remove_file",)),
    (
        "move_file",
        "read write delete",
        {"source": _DELETE, "destination": _WRITE},
        (("source",), ("destination",)),
        ("rename_file",),
    ),
    ("copy_file", "read write", {"source": _READ, "destination": _WRITE}, (("source",), ("destination",)), ()),
    ("list_directory", "read", {"path": _LIST, **_FILE_OPTIONS}, (("path",),), ("list_dir", "ls")),
    ("create_directory", "write", {"path": _WRITE, "recursive": _FLAG}, (("path",),), ("make_directory", "mkdir")),
    ("delete_directory", "delete", {"path": _REMOVE_TREE, "recursive": _FLAG}, (("path",),), ("remove_directory",)),
    (
        "search_files",
        "read",
        {"pattern": _PATTERN, "path": Field(role=FieldRole.PATH, access=Access.LIST, recursive=True)},
        (("pattern",),),
        ("glob", "find_files"),
    ),
    ("grep_files", "read", {"pattern": _PATTERN, "path": _SEARCH}, (("pattern",),), ("grep", "search_content")),
    (
        "execute_command",
        "execute",
        {"command": _COMMAND, "timeout_s": _NUMBER, "stdin": _TEXT},
        (("command",),),
        ("bash", "shell", "run_command", "run_shell_command", "exec", "terminal"),
    ),
    (
        "http_request",
        "network",
        {
            "url": _URL,
            "method": _NAME,
            "headers": Field(role=FieldRole.TEXT, kind=Kind.OBJECT),
            "body": _ANY_TEXT,
            "json": _ANY_TEXT,
        },
        (("url",),),
        ("http", "fetch", "web_fetch"),
    ),
    ("send_email", "message network", {"to": _RECIPIENT, **_MAIL}, (("to",),), ("email",)),
    (
        "send_message",
        "message network",
        {"to": _RECIPIENT, "channel": _RECIPIENT, **_MAIL},
        (("to", "channel"),),
        ("message",),
    ),
    ("git_status", "read", {"path": _SEARCH, **_GIT_OPTIONS}, (), ()),
    ("git_diff", "read", {"path": _SEARCH, **_GIT_OPTIONS}, (), ()),
    ("git_log", "read", {"path": _SEARCH, **_GIT_OPTIONS}, (), ()),
    ("git_commit", "read write", {"path": _SEARCH, **_GIT_OPTIONS}, (), ()),
    ("git_push", "read network", {"path": _SEARCH, **_GIT_OPTIONS}, (), ()),
    ("git_pull", "write network", {"path": _WRITE, **_GIT_OPTIONS}, (), ()),
    ("git_branch", "write delete", {"path": _WRITE, **_GIT_OPTIONS}, (), ()),
    ("git_checkout", "write delete", {"path": _WRITE, **_GIT_OPTIONS}, (), ()),
    ("git_clone", "write network", {"path": _WRITE, **_GIT_OPTIONS}, (), ()),
    ("browser_navigate", "browse network", _PAGE, (("url", "selector"),), ()),
    ("browser_click", "browse network", _PAGE, (("url", "selector"),), ()),
    ("browser_type", "browse network", _PAGE, (("url", "selector"),), ()),
    ("browser_extract", "browse read", _PAGE, (), ()),
    ("browser_screenshot", "browse read", _PAGE, (), ()),
    (
        "memory_write",
        "memory write",
        {"content": _ANY_TEXT, "value": _ANY_TEXT, "key": _NAME},
        (("content", "value"),),
        (),
    ),
    ("memory_search", "memory read", {"query": _TEXT, "key": _NAME, "limit": _NUMBER}, (("query",),), ()),
    (
        "create_schedule",
        "schedule",
        {"command": _COMMAND, "task": _TEXT, "id": _NAME, "cron": _NAME},
        (("command", "task", "id"),),
        (),
    ),
    (
        "delete_schedule",
        "schedule delete",
        {"command": _TEXT, "task": _TEXT, "id": _NAME, "cron": _NAME},
        (("command", "task", "id"),),
        (),
    ),
    ("list_schedules", "read", {}, (), ()),
    ("read_calendar", "read", {}, (), ()),
    ("create_event", "schedule message", _EVENT, (("title", "id"),), ()),
    ("update_event", "schedule message", _EVENT, (("title", "id"),), ()),
    ("delete_event", "schedule delete", _EVENT, (("title", "id"),), ()),
    ("create_agent", "agent", _TEAM, (("task", "instruction", "content"),), ()),
    ("agent_message", "agent message", _TEAM, (("task", "instruction", "content"),), ()),
    ("agent_status", "agent read", {"agent": _NAME}, (), ()),
    ("agent_result", "agent message", _TEAM, (("task", "instruction", "content"),), ()),
    ("clipboard_read", "read", {}, (), ()),
    ("clipboard_write", "write", {}, (), ()),
    ("open", "execute read network", {"path": _READ, "url": _URL}, (("path", "url"),), ()),
    ("notify", "message", {"message": _TEXT, "title": _TEXT, "body": _TEXT}, (), ()),
    ("system_info", "read", {}, (), ()),
    ("archive_create", "read write", {"path": _WRITE, "sources": _READ_LIST, "destination": _WRITE}, (("path",),), ()),
    (
        "archive_extract",
        "read write",
        {
            "path": _READ,
            "sources": _READ_LIST,
            "destination": Field(role=FieldRole.PATH, access=Access.WRITE, recursive=True),
        },
        (("path",),),
        (),
    ),
    ("load_tools", "meta", {"name": _NAME, "names": _NAMES, "query": _TEXT}, (), ()),
    ("load_skills", "meta", {"name": _NAME, "names": _NAMES, "query": _TEXT}, (), ()),
)

_TYPES: Mapping[str, ActionType] = MappingProxyType(
    {
        name: ActionType(
            name=name,
            operations=frozenset(Operation(word) for word in operations.split()),
            fields=MappingProxyType(fields),
            targets=targets,
            least_tier=Tier.POLICY,
            known=True,
        )
        for name, operations, fields, targets, _ in _TABLE
    }
)
_ALIASES: Mapping[str, str] = MappingProxyType({alias: row[0] for row in _TABLE for alias in row[4]})
