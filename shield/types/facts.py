"""What an action would do: all that rules see of it besides its payload."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from shield.types.action import Operation

__all__ = [
    "PROTECTED_CATEGORIES",
    "Access",
    "CommandFact",
    "Dynamic",
    "Facts",
    "HostFact",
    "IpClass",
    "Labels",
    "Origin",
    "PathFact",
    "Redirect",
    "ResultFact",
    "RunsCode",
    "SecretFact",
    "SessionFacts",
    "ShellFact",
    "TextFact",
]

# Protection and approvals of scope `session` look at these; see DESIGN "Protection".
PROTECTED_CATEGORIES = frozenset(
    {"shield_state", "shield_code", "host_config", "agent_identity", "agent_instruction", "agent_memory"}
)


class Access(StrEnum):
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute"
    LIST = "list"


class Origin(StrEnum):
    """Where a command's program comes from; `builtin` and `function` have no file."""

    SYSTEM = "system"
    USER = "user"
    WORKSPACE = "workspace"
    TEMP = "temp"
    BUILTIN = "builtin"
    FUNCTION = "function"
    UNKNOWN = "unknown"


class RunsCode(StrEnum):
    """Whether a command runs code that its program file does not hold, and whose."""

    NONE = "none"
    WORKSPACE = "workspace"
    FETCHED = "fetched"
    INLINE = "inline"


class Dynamic(StrEnum):
    """What cannot be known before the shell runs it. `program` and `code` never settle below tier 3."""

    NONE = "none"
    ARGUMENT = "argument"
    PROGRAM = "program"
    CODE = "code"


class IpClass(StrEnum):
    NAME = "name"
    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link_local"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFact:
    """A path that the action names. `resolved` is absolute with every link followed, None where it cannot be known.

    `source` is a JSON pointer into the payload (`/path`) or `commands[i]`.
    """

    raw: str
    resolved: str | None
    access: Access
    inside_workspace: bool = False
    exists: bool = False
    symlink: bool = False
    recursive: bool = False
    categories: frozenset[str] = frozenset()
    covers: frozenset[str] = frozenset()
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A redirection of a command. `target` is None where it is not a constant; `fd` where the shell chooses it."""

    op: str
    target: str | None
    fd: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFact:
    """One simple command that would run. `argv[0]` is the name as written (dequoted); a word of unknown value stands
    as its source text and shows in `dynamic`. `flags` are the option words of `argv[1:]`, one per flag, values cut."""

    name: str
    program: str | None = None
    origin: Origin = Origin.UNKNOWN
    argv: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    assignments: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    redirects: tuple[Redirect, ...] = ()
    via: tuple[str, ...] = ()
    operations: frozenset[Operation] = frozenset(Operation)
    runs_code: RunsCode = RunsCode.INLINE
    dynamic: Dynamic = Dynamic.CODE


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellFact:
    """Whether a command line, if there is one, was understood as a whole. True where the action has none."""

    parsed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFact:
    """A host that the action would talk to, never looked up in the DNS. `port` is None where scheme implies none."""

    url: str
    scheme: str
    host: str
    port: int | None
    ip_class: IpClass


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretFact:
    """A secret found in a payload string: its kind and place, never its value. Offsets count code points."""

    kind: str
    where: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFact:
    """A string of the payload by role; `layer` is `raw` or names how it was decoded."""

    role: str
    where: str
    layer: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFact:
    """What a write, edit or append would leave: size and hash of the whole; `text` is None where it is too large."""

    path: str
    sha256: str
    bytes: int
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    confidentiality: str = "public"
    integrity: str = "trusted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What the session has been so far. `counts` is per action type; `written` are resolved paths."""

    labels: Labels = Labels()
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    written: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that rules see besides the payload, computed once per action.

    `operations` are the type's own widened by what was found. `unknown` says, one short line each, what could not be
    established; anything in it keeps the action from being allowed by tier 0. `absent` are names of commands that no
    file on PATH has while it is judged: words for whoever asks, and nothing that a rule may build on.
    """

    paths: tuple[PathFact, ...] = ()
    commands: tuple[CommandFact, ...] = ()
    shell: ShellFact = ShellFact()
    hosts: tuple[HostFact, ...] = ()
    recipients: tuple[str, ...] = ()
    secrets: tuple[SecretFact, ...] = ()
    text: tuple[TextFact, ...] = ()
    result: tuple[ResultFact, ...] = ()
    operations: frozenset[Operation] = frozenset(Operation)
    malformed: bool = True
    session: SessionFacts = SessionFacts()
    unknown: tuple[str, ...] = ("facts were not computed",)
    absent: tuple[str, ...] = ()
