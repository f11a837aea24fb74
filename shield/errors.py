"""Everything that a public function of `shield` may raise.

    ShieldError
    ├── InputError        what came in cannot be read or breaks a limit: nothing was judged
    ├── RefusedError      the caller may not do this (who it is, what it may, how often)
    ├── PermitError       a permit or receipt does not hold
    ├── RecordError       the decision could not be recorded: nothing is released
    ├── PolicyError       a policy or case file does not load
    ├── ConfigError       shield.toml, a token, a key or the home directory is not usable
    ├── StateError        the state database or the audit log is damaged or already in use
    └── ClientError       no verdict came back from Shield: a client treats it as BLOCK

Messages: lower case, no full stop, user input in backticks, and what to do next. `reason` is one of `Reason`.
"""

from enum import StrEnum

__all__ = [
    "ClientError",
    "ConfigError",
    "InputError",
    "ModelError",
    "PermitError",
    "PolicyError",
    "Reason",
    "RecordError",
    "RefusedError",
    "ShieldError",
    "StateError",
]


class Reason(StrEnum):
    """The closed set of reasons in RFC 9457 problems, refused redeems and `rejected` records."""

    INPUT_JSON = "input.json"
    INPUT_ENCODING = "input.encoding"
    INPUT_DUPLICATE_KEY = "input.duplicate_key"
    INPUT_NUMBER = "input.number"
    INPUT_SURROGATE = "input.surrogate"
    INPUT_DEPTH = "input.depth"
    INPUT_NODES = "input.nodes"
    INPUT_SIZE = "input.size"
    INPUT_KEY = "input.key"
    INPUT_FIELD = "input.field"
    INPUT_PAYLOAD = "input.payload"
    INPUT_MEDIA_TYPE = "input.media_type"

    AUTH_MISSING = "auth.missing"
    AUTH_INVALID = "auth.invalid"
    AUTH_ROLE = "auth.role"
    AUTH_PEER = "auth.peer"
    AUTH_HOST = "auth.host"

    ROUTE_UNKNOWN = "route.unknown"
    ROUTE_METHOD = "route.method"
    SESSION_UNKNOWN = "session.unknown"
    SESSION_LIMIT = "session.limit"
    WORKSPACE_UNTRUSTED = "workspace.untrusted"
    EVALUATION_UNKNOWN = "evaluation.unknown"
    APPROVAL_UNKNOWN = "approval.unknown"
    APPROVAL_ANSWERED = "approval.answered"
    APPROVAL_SCOPE = "approval.scope"
    OUTCOME_NO_PERMIT = "outcome.no_permit"
    RECORD_UNKNOWN = "record.unknown"

    PERMIT_USED = "used"
    PERMIT_EXPIRED = "expired"
    PERMIT_STATE_CHANGED = "state_changed"
    PERMIT_POLICY = "policy"
    PERMIT_LABELS = "labels"
    PERMIT_ISOLATION = "isolation"
    PERMIT_MISMATCH = "mismatch"

    ADMISSION_QUEUE = "admission.queue"
    ADMISSION_RATE = "admission.rate"
    ADMISSION_APPROVALS = "admission.approvals"

    AUDIT_UNAVAILABLE = "audit.unavailable"
    POLICY_INVALID = "policy.invalid"
    CONFIG_INVALID = "config.invalid"
    STATE_UNAVAILABLE = "state.unavailable"
    SERVICE_STOPPING = "service.stopping"
    SERVICE_UNREACHABLE = "service.unreachable"
    SERVICE_ANSWER = "service.answer"
    SERVICE_IMPOSTOR = "service.impostor"
    INTERNAL = "internal"


class ShieldError(Exception):
    """Base of the tree. `detail` says what is wrong and what to do; it never holds a secret."""

    reason: Reason = Reason.INTERNAL

    def __init__(self, detail: str, *, reason: Reason | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if reason is not None:
            self.reason = reason


class InputError(ShieldError):
    """What came in cannot be read. `pointer` is an RFC 6901 JSON pointer, `offset` a byte offset into the body."""

    reason = Reason.INPUT_FIELD

    def __init__(
        self, detail: str, *, reason: Reason | None = None, pointer: str | None = None, offset: int | None = None
    ) -> None:
        super().__init__(detail, reason=reason)
        self.pointer = pointer
        self.offset = offset


class RefusedError(ShieldError):
    """The caller may not do this. `retry_after` (seconds) is set where trying later can help."""

    reason = Reason.AUTH_INVALID

    def __init__(self, detail: str, *, reason: Reason | None = None, retry_after: int | None = None) -> None:
        super().__init__(detail, reason=reason)
        self.retry_after = retry_after


class PermitError(ShieldError):
    """A permit or receipt does not hold; `reason` is one of the seven of a refused redeem."""

    reason = Reason.PERMIT_MISMATCH


class RecordError(ShieldError):
    """The log did not take the record: no verdict, no permit."""

    reason = Reason.AUDIT_UNAVAILABLE


class ModelError(ShieldError):
    """A model cannot be loaded, adopted, calibrated or run. It never yields ALLOW: what needed it goes to a person."""

    reason = Reason.CONFIG_INVALID


class PolicyError(ShieldError):
    """A policy, heuristic or case file does not load. `line` and `column` count from 1."""

    reason = Reason.POLICY_INVALID

    def __init__(
        self,
        detail: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.file = file
        self.line = line
        self.column = column
        self.key = key

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        what = f"{self.key}: {self.detail}" if self.key else self.detail
        return f"{where}: {what}" if where else what


class ConfigError(ShieldError):
    """The owner's configuration is not usable; start-up stops."""

    reason = Reason.CONFIG_INVALID


class StateError(ShieldError):
    """The state database or audit log is damaged, foreign, or in use by another Shield; start-up stops."""

    reason = Reason.STATE_UNAVAILABLE


class ClientError(ShieldError):
    """Shield did not answer with a verdict. `status` is the HTTP status, None where nothing came back."""

    reason = Reason.SERVICE_UNREACHABLE

    def __init__(
        self, detail: str, *, reason: Reason | None = None, status: int | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(detail, reason=reason)
        self.status = status
        self.retry_after = retry_after
