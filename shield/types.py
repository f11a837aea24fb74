"""The vocabulary: values that pass between modules. Frozen, closed, and nothing here does I/O.

Data goes one way: bytes → Action → Facts → Opinion → Verdict → record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final

__all__ = [
    "CONFINED_NAMES",
    "PROTECTED_CATEGORIES",
    "PROXY_PORT",
    "Access",
    "Action",
    "ActionRequest",
    "Answer",
    "Approval",
    "ApprovalAnswer",
    "ApprovalState",
    "CommandFact",
    "Decision",
    "Dynamic",
    "Effect",
    "Facts",
    "FileIdentity",
    "FileRole",
    "Hidden",
    "HostFact",
    "IpClass",
    "Isolation",
    "Json",
    "Labels",
    "Operation",
    "Opinion",
    "Origin",
    "Outcome",
    "OutcomePart",
    "OutcomeReply",
    "OutcomeStatus",
    "PathFact",
    "Redaction",
    "Redirect",
    "ResultFact",
    "Role",
    "RunsCode",
    "Scope",
    "SecretFact",
    "Session",
    "SessionFacts",
    "Severity",
    "ShellFact",
    "TextFact",
    "TextFinding",
    "TextKind",
    "Tier",
    "Verdict",
    "confined_env",
]

# What the strict reader yields.
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Decision(StrEnum):
    ALLOW = "ALLOW"
    ESCALATE = "ESCALATE"
    BLOCK = "BLOCK"


class Tier(IntEnum):
    """Who settles. `need` is a Tier, too: the least one that may answer ALLOW."""

    POLICY = 0
    CLASSIFIER = 1
    JUDGE = 2
    PERSON = 3


class Answer(StrEnum):
    """What one tier says. `NO_OBJECTION` is silence, which is not consent."""

    ALLOW = "ALLOW"
    NO_OBJECTION = "no_objection"
    ESCALATE = "ESCALATE"
    BLOCK = "BLOCK"


class Effect(StrEnum):
    """What a rule does; also the strength order of deny-overrides, strongest first: block, escalate, allow."""

    BLOCK = "block"
    ESCALATE = "escalate"
    ALLOW = "allow"


class Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Role(StrEnum):
    """What a token may do at the service."""

    AGENT = "agent"
    APPROVER = "approver"
    AUDITOR = "auditor"
    ADMIN = "admin"


class Operation(StrEnum):
    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    EXECUTE = "execute"
    NETWORK = "network"
    MESSAGE = "message"
    MEMORY = "memory"
    SCHEDULE = "schedule"
    AGENT = "agent"
    BROWSE = "browse"
    META = "meta"


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


class Isolation(StrEnum):
    """Sandbox levels, weakest first."""

    NONE = "none"
    STATE_HIDDEN = "state_hidden"
    CONFINED = "confined"

    @property
    def rank(self) -> int:
        return _ISOLATION_RANK[self]

    def covers(self, required: "Isolation") -> bool:
        """Whether this level is at least `required`."""
        return self.rank >= required.rank


_ISOLATION_RANK = {Isolation.NONE: 0, Isolation.STATE_HIDDEN: 1, Isolation.CONFINED: 2}

PROXY_PORT: Final = 8118  # on the loopback of a confined command; only hosts that its receipt permits are behind it
_PROXY: Final = f"http://127.0.0.1:{PROXY_PORT}"
_PAST_PROXY: Final = "localhost,127.0.0.1,::1"
_CONFINED_ENV: Final[Mapping[str, str]] = MappingProxyType(
    {
        "HTTP_PROXY": _PROXY,
        "HTTPS_PROXY": _PROXY,
        "NO_PROXY": _PAST_PROXY,
        "http_proxy": _PROXY,
        "https_proxy": _PROXY,
        "no_proxy": _PAST_PROXY,
    }
)
# INVARIANT: facts take these for variables of unknown content, so what is judged holds with and without them
CONFINED_NAMES: Final = frozenset((*_CONFINED_ENV, "TMPDIR"))


def confined_env(uid: int) -> dict[str, str]:
    """What a confined command's environment holds besides the session's: its proxy, and the folder of its own."""
    return {**_CONFINED_ENV, "TMPDIR": f"/tmp/agentctl-{uid}"}  # noqa: S108  # made by the executor, for it alone


class Scope(StrEnum):
    """How far a person's approval reaches."""

    ONCE = "once"
    SESSION = "session"


class ApprovalState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"


class FileRole(StrEnum):
    """How a permit's `state` binds a file, see `shield.facts.files`."""

    CONTENT = "content"
    LARGE = "large"
    DIRECTORY = "directory"
    TARGET = "target"
    GLOB = "glob"
    READ = "read"


class OutcomeStatus(StrEnum):
    """How a redeemed call ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What is proposed, in the exact bytes that are judged, hashed, logged and run.

    `type` is the canonical name (aliases replaced), `payload` and `cwd` are the values parsed back from `canonical`.
    `hash` is `sha256:` + 64 hex digits over `canonical`, the `shield-jcs-1` form of `{"cwd","payload","type"}`.
    """

    type: str
    payload: Mapping[str, Json]
    cwd: str | None
    canonical: bytes
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest:
    """One request to judge an action. `intent` is an unverified claim; `min_tier` can only raise."""

    id: str
    action: Action
    session: str | None = None
    tool_call_id: str | None = None
    min_tier: Tier = Tier.POLICY
    intent: str | None = None


# --- facts -----------------------------------------------------------------------------------------------------------

# Protection and approvals of scope `session` look at these; see DESIGN "Protection".
PROTECTED_CATEGORIES = frozenset(
    {"shield_state", "shield_code", "host_config", "agent_identity", "agent_instruction", "agent_memory"}
)


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


class TextKind(StrEnum):
    """What a text is read as: who would write it and what an honest one looks like. Thresholds and rules go by it."""

    PROSE = "prose"  # what a user, an agent or a message says
    TOOL_RESULT = "tool_result"  # what a tool brought back: pages, mails, documents, output
    COMMAND = "command"
    CODE = "code"  # the body of a file
    URL = "url"  # addresses and queries


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFinding:
    """What speaks against one text. `start` and `end` are code points of the text itself; of what stands in a decoded
    layer they are those of the whole text. `score` is calibrated, 0 to 1; a rule has none."""

    rule: str
    answer: Answer
    kind: TextKind
    where: str = ""
    layer: str = "raw"
    start: int = 0
    end: int = 0
    score: float | None = None


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
    established; anything in it keeps the action from being allowed by tier 0.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentity:
    """One entry of a permit's `files[]`: what must still be the same when the action runs.

    `sha256` is set for role `content` and for `glob` (digest of its matches); `dev`/`ino` are of the file, or of the
    parent directory for role `target`. `absent` says that the file did not exist.
    """

    role: FileRole
    path: str
    dev: int | None = None
    ino: int | None = None
    size: int | None = None
    ctime_ns: int | None = None
    kind: str | None = None
    sha256: str | None = None
    absent: bool = False


# --- opinions and verdicts -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What one tier says of an action. The default is BLOCK.

    `need` is the least tier that this opinion asks for. `consents_to_silence` is set by tier 0 only: an allow rule
    with `min_tier: 1` is among those that cover the action, so tier 1's `no_objection` counts as its ALLOW.
    `absent`: the tier is not there, it only raises.
    """

    tier: Tier
    answer: Answer = Answer.BLOCK
    need: Tier = Tier.PERSON
    rule: str = "internal"
    reason: str = "nothing allowed this"
    advice: str | None = None
    severity: Severity | None = None
    confidence: float | None = None
    consents_to_silence: bool = False
    absent: bool = False
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A question to a person, as `GET /v1/approvals/{id}` shows it. Times are unix milliseconds."""

    id: str
    state: ApprovalState
    created_at: int
    expires_at: int
    request: Mapping[str, Json]
    facts: Mapping[str, Json]
    rule: str
    reason: str
    scopes: tuple[Scope, ...]
    pattern: str | None
    evaluation: str
    session: str
    agent: str
    answered_by: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """What a person said."""

    approve: bool
    scope: Scope = Scope.ONCE
    pattern: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer to one ActionRequest. Times are unix milliseconds. The default is BLOCK."""

    id: str
    evaluation: str
    decision: Decision = Decision.BLOCK
    tier: Tier = Tier.POLICY
    need: Tier = Tier.PERSON
    rule: str = "internal"
    reason: str = "nothing allowed this"
    advice: str | None = None
    confidence: float | None = None
    action_hash: str | None = None
    policy: str | None = None
    evaluated_at: int = 0
    expires_at: int | None = None
    approval: str | None = None
    approval_expires_at: int | None = None
    permit: str | None = None
    seq: int | None = None
    latency_us: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    dry_run: bool = False
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What an executor keeps out of reach of what it runs: absolute paths, and loopback TCP ports."""

    paths: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """An agent's session: where it may work and what its commands are run with. `owner` is the token's id, `pids` are
    the processes and process groups that opened it, as far as they are known; `root_ids` are device and inode of each
    workspace root at that moment."""

    id: str
    owner: str
    agent: str
    workspace_roots: tuple[str, ...]
    shell: str
    env: Mapping[str, str]
    isolation: Isolation
    home: str
    label: str | None = None
    env_digest: str = ""
    created_at: int = 0
    root_ids: tuple[tuple[int, int], ...] = ()
    pids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomePart:
    """A piece of what a tool gave back, by role (`stdout`, `content`, …)."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an executor reports of a redeemed call. `content` is head and tail; `bytes`, `sha256` are of the whole."""

    jti: str
    status: OutcomeStatus
    exit_code: int | None = None
    duration_us: int = 0
    content: tuple[OutcomePart, ...] = ()
    bytes: int = 0
    sha256: str | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What was taken out of a part of this role; offsets count code points of the text that came in."""

    kind: str
    role: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReply:
    """What may be shown to the model, and where the outcome is recorded."""

    seq: int
    content: tuple[OutcomePart, ...] = ()
    labels: Labels = Labels()
    redactions: tuple[Redaction, ...] = ()
