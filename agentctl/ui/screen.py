"""What is printed: the start line, verdicts, output. Colours and wrapping only where someone looks at them."""

import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TextIO

from agentctl.ui.text import clip, prose, single_line, visible
from shield.types import Decision

__all__ = ["Screen", "columns"]

_COLOURS: Final = {Decision.ALLOW: "32", Decision.ESCALATE: "33", Decision.BLOCK: "31"}
_INDENT: Final = " " * 9  # the longest decision and a blank
_LEAST_WIDTH: Final = 40  # a narrower terminal wraps by itself


def columns(out: TextIO) -> Callable[[], int | None]:
    """How wide the terminal of `out` is now; None where it is none or does not know."""

    def width() -> int | None:
        try:
            return os.get_terminal_size(out.fileno()).columns or None
        except (OSError, ValueError):
            return None

    return width


@dataclass(frozen=True, slots=True)
class Screen:
    """Prints to `out`. INVARIANT: foreign text passes through `visible` or `prose`, no sequences but ours.

    `width` says how many columns there are; with None lines are left as long as they are.
    """

    out: TextIO
    colour: bool = False
    width: Callable[[], int | None] = lambda: None

    def line(self, text: str = "") -> None:
        """Our own words, wrapped between words. Line ends in `text` stay."""
        for row in visible(text).split("\n"):
            self._put("\n".join(self._wrapped(row, indent=row[: len(row) - len(row.lstrip())])) + "\n")

    def verdict(self, decision: Decision, what: str, reason: str, advice: str | None = None) -> None:
        """`ALLOW    read_file README.md · reading inside the workspace`, the advice on a line of its own."""
        word = decision.value.ljust(8)
        text = f"{word} {single_line(what, 160)} · {single_line(reason, 400)}"
        rows = self._wrapped(text, indent=_INDENT)
        if self.colour:
            rows[0] = f"\x1b[1;{_COLOURS[decision]}m{rows[0][: len(word)]}\x1b[0m{rows[0][len(word) :]}"
        if advice:
            rows += self._wrapped(f"{_INDENT}→ {single_line(advice, 400)}", indent=f"{_INDENT}  ")
        self._put("\n".join(rows) + "\n")

    def label(self, what: str) -> None:
        """Which call the output below is of, where that is not the line above."""
        self._put(self._dim(f"── {single_line(what, 70)}") + "\n")

    def output(self, text: str, *, error: bool = False) -> None:
        """What a tool gave back, each line set off."""
        shown = prose(clip(text, 64_000)).rstrip("\n")
        mark = "! " if error else "| "
        for row in shown.split("\n"):
            self._put(self._dim(mark) + row + "\n")

    def stream(self, text: str, *, before: str = "") -> None:
        """A piece of the model's answer as it comes, `before` it the end of the last one."""
        self._put(prose(text, before=before))

    def _wrapped(self, row: str, *, indent: str) -> list[str]:
        width = self.width()
        if width is None or width < _LEAST_WIDTH or len(row) < width:
            return [row]
        return textwrap.wrap(
            row,
            width - 1,
            subsequent_indent=indent,
            expand_tabs=False,
            replace_whitespace=False,
            break_on_hyphens=False,
        ) or [row]

    def _dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.colour else text

    def _put(self, text: str) -> None:
        encoding = self.out.encoding or "utf-8"
        self.out.write(text.encode(encoding, "replace").decode(encoding))
        self.out.flush()
