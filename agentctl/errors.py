"""Everything that a public function of `agentctl` may raise.

    AgentError
    ├── ModelError            no usable answer came from the model
    │   ├── ModelConfigError       its address, key or settings cannot be used; nothing was sent
    │   ├── ModelUnreachableError  no connection, a time-out, or it is overloaded; asking again may help
    │   ├── ModelRefusedError      it refused the request; asking again does not help
    │   └── ModelAnswerError       its answer breaks the protocol, a limit, or ended early
    ├── ArgumentsError        a tool call's arguments are no strict JSON object; nothing was proposed
    ├── ToolError             an allowed tool could not do its work; the model is told why
    │   ├── ChangedError           what stands there is not what was judged: nothing was done
    │   └── UnsetError             a sandbox could not be set up: nothing was started, another try may go better
    ├── SidecarError          no Shield is there and none could be started
    ├── SettingsError         agentctl's own configuration cannot be used
    ├── GateError             Shield gave no verdict or receipt that can be trusted: nothing more is run
    ├── CancelledTurnError    the user stopped the turn
    └── HistoryError          the session database cannot be used

Messages: lower case, no full stop, user input in backticks, and what to do next. No message holds an API key.
"""

__all__ = [
    "AgentError",
    "ArgumentsError",
    "CancelledTurnError",
    "ChangedError",
    "GateError",
    "HistoryError",
    "ModelAnswerError",
    "ModelConfigError",
    "ModelError",
    "ModelRefusedError",
    "ModelUnreachableError",
    "SettingsError",
    "SidecarError",
    "ToolError",
    "UnsetError",
]


class AgentError(Exception):
    """Base of the tree. `detail` says what is wrong and what to do; it never holds a secret."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class ModelError(AgentError):
    """No usable answer came from the model. `status` is the HTTP status, None where nothing came back."""

    def __init__(self, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail)
        self.status = status


class ModelConfigError(ModelError):
    """The model's address, key or settings cannot be used; nothing was sent."""


class ModelUnreachableError(ModelError):
    """No connection, a time-out, or the model is overloaded; `retry_after` is in seconds where the server named it."""

    def __init__(self, detail: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(detail, status=status)
        self.retry_after = retry_after


class ModelRefusedError(ModelError):
    """The server refused the request: key, model name, context length, shape."""


class ModelAnswerError(ModelError):
    """The answer breaks the protocol or a limit, or ended before it was complete: no call in it is proposed."""


class ArgumentsError(AgentError):
    """A tool call's arguments are not one strict JSON object."""


class GateError(AgentError):
    """Shield gave nothing that can be trusted. The turn ends and nothing more is run."""


class CancelledTurnError(AgentError):
    """The user stopped the turn."""

    def __init__(self, detail: str = "stopped by the user") -> None:
        super().__init__(detail)


class HistoryError(AgentError):
    """The session database is damaged, foreign, unsafe or in use."""


class ToolError(AgentError):
    """An allowed tool could not do its work; nothing is hidden from the model."""


class ChangedError(ToolError):
    """A file is not the one that was judged: nothing was done, and the action may be judged again."""


class UnsetError(ToolError):
    """The sandbox of a command could not be set up. The command was not started, so it may be tried again."""


class SidecarError(AgentError):
    """No Shield answers and none could be started."""


class SettingsError(AgentError):
    """agentctl's own configuration cannot be used; start-up stops."""
