"""A child to start, what starts it, and how it ended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentctl.tools.output import Output
from agentctl.tools.stop import Stop
from agentctl.tools.warrant import Warrant

__all__ = ["Child", "End", "Runner", "Running", "Starter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """What to start. `argv[0]` is absolute; `cwd` is an open directory; `env` is the whole environment."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: int
    timeout_s: float
    stdin: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How it ended: by itself with `exit_code`, or by `signal`. `notes` are our own words about it."""

    exit_code: int | None = None
    signal: int | None = None
    notes: tuple[str, ...] = ()


class Running(Protocol):
    """A child that was started. The descriptors belong to whoever runs it and are closed there.

    `notice` becomes readable when it has ended; where it is None, `has_ended` is asked from time to time.
    """

    stdin: int | None
    stdout: int
    stderr: int
    notice: int | None

    def has_ended(self) -> bool: ...

    def finish(self) -> End:
        """End whatever still runs and wait for it; the second time only the answer. Raises ToolError."""
        ...


Starter = Callable[[Child], Running]


class Runner(Protocol):
    """What a tool starts a child with."""

    def __call__(self, warrant: Warrant, child: Child, stop: Stop) -> Output: ...
