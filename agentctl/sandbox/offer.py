"""What this machine can hold: which levels, by which means."""

from dataclasses import dataclass
from enum import StrEnum

from shield.types import Isolation

__all__ = ["Means", "Offer"]


class Means(StrEnum):
    """What holds a level."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SANDBOX_EXEC = "sandbox-exec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """`levels`, weakest first, always with NONE. `reasons` say what is missing and how to get it.

    `program` is the absolute path of what the means needs; `userns` and `networks` say whether user namespaces and
    network namespaces of our own can be made here, `scopes` whether Landlock can keep abstract sockets out of reach.
    """

    levels: tuple[Isolation, ...] = (Isolation.NONE,)
    means: Means | None = None
    reasons: tuple[str, ...] = ()
    program: str = ""
    userns: bool = True
    scopes: bool = False
    networks: bool = False

    @property
    def strongest(self) -> Isolation:
        return self.levels[-1]
