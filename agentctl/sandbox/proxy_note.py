"""What a call is told about its network: hosts it asked for and did not get, and limits that it met."""

from typing import Final

__all__ = ["Note"]

_NAMED: Final = 8  # refusals that are told one by one


class Note:
    """Bounded, whatever a child asks for. Texts come in safe to show (`proxy_hosts.shown`)."""

    def __init__(self) -> None:
        self._refused: dict[str, None] = {}
        self._more = False
        self._stopped: str | None = None

    def refuse(self, target: str) -> None:
        if target not in self._refused and len(self._refused) >= _NAMED:
            self._more = True
        else:
            self._refused[target] = None

    def stop(self, why: str) -> None:
        self._stopped = why

    @property
    def refused(self) -> tuple[str, ...]:
        """The first few, each once."""
        return tuple(self._refused)

    @property
    def text(self) -> str | None:
        """None where there is nothing to say."""
        said = []
        if self._refused:
            said.append("network refused: " + "; ".join([*self._refused, *(["and others"] if self._more else [])]))
        if self._stopped is not None:
            said.append(f"network stopped: {self._stopped}")
        return "; ".join(said) or None
