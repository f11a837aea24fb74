"""What is printed: the start line, verdicts, output. Colours only where someone looks at them."""

from dataclasses import dataclass
from typing import TextIO

from agentctl.ui.text import clip, single_line, visible
from shield.types import Decision

__all__ = ["Screen"]

_COLOURS = {Decision.ALLOW: "32", Decision.ESCALATE: "33", Decision.BLOCK: "31"}


@dataclass(frozen=True, slots=True)
class Screen:
    """Prints to `out`. INVARIANT: foreign text passes through `visible`; only our own escape sequences are sent."""

    out: TextIO
    colour: bool = False

    def line(self, text: str = "") -> None:
        """A line of our own words."""
        self._put(visible(text) + "\n")

    def verdict(self, decision: Decision, what: str, reason: str, advice: str | None = None) -> None:
        """`ALLOW  read_file README.md · reading inside the workspace`, the advice on a line of its own."""
        word = decision.value.ljust(8)
        if self.colour:
            word = f"\x1b[1;{_COLOURS[decision]}m{word}\x1b[0m"
        self._put(f"{word} {single_line(what, 160)} · {single_line(reason, 400)}\n")
        if advice:
            self._put(f"         → {single_line(advice, 400)}\n")

    def output(self, text: str, *, error: bool = False) -> None:
        """What a tool gave back, each line set off."""
        shown = visible(clip(text, 64_000)).rstrip("\n")
        mark = "! " if error else "| "
        for row in shown.split("\n"):
            self._put(self._dim(mark) + row + "\n")

    def stream(self, text: str) -> None:
        """A piece of the model's answer as it comes."""
        self._put(visible(text))

    def _dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def _put(self, text: str) -> None:
        encoding = self.out.encoding or "utf-8"
        self.out.write(text.encode(encoding, "replace").decode(encoding))
        self.out.flush()
