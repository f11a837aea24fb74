"""A table for a terminal: one line a record, as wide as the terminal, nothing in it steers the terminal."""

from collections.abc import Iterable, Iterator
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.color import ColorSystem
from rich.style import Style

from audit.known import Known, summary
from audit.plain import printable, rfc3339
from audit.query import Record

STYLES: Final = {
    "ALLOW": Style.parse("green"),
    "BLOCK": Style.parse("bold red"),
    "ESCALATE": Style.parse("bold yellow"),
}
"""How a decision is coloured; others are not."""
_DIM: Final = Style.parse("dim")
_WIDE: Final = 110  # from here on there is room for the date's year, the type, the session and the agent
_NAMES: Final = ("seq", "time", "kind→ref", "decision", "type", "what", "session", "agent")


class Table:
    """`what` takes the room that the other columns leave; narrow terminals get no type, session and agent."""

    def __init__(self, *, width: int, colour: bool) -> None:
        wide = width >= _WIDE
        fixed = (8, 23, 17, 8, 15, 0, 9, 10) if wide else (7, 14, 13, 8, 0, 0, 0, 0)
        rest = width - sum(fixed) - sum(1 for one in fixed if one)
        self._widths = tuple(max(8, rest) if name == "what" else one for name, one in zip(_NAMES, fixed, strict=True))
        self._wide, self._colour = wide, colour

    def __call__(self, records: Iterable[Record]) -> Iterator[str]:
        """A line of names, then one line a record."""
        yield self._line(_NAMES, [_DIM] * len(_NAMES))
        for record in records:
            yield self._record(record)

    def _record(self, record: Record) -> str:
        one, known = record.envelope, Known.of(record.envelope.body)
        time = rfc3339(one.time).replace("T", " ").removesuffix("Z")
        decision = known.decision or ""
        cells = (
            str(one.seq),
            time if self._wide else time[5:19],
            one.kind if one.ref is None else f"{one.kind}→{one.ref}",
            decision,
            known.type or "",
            summary(one.body, known),
            _end(one.session or "", 8),
            one.agent or "",
        )
        style = STYLES.get(decision)
        return self._line(cells, [None, _DIM, None, style, None, None, _DIM, _DIM])

    def _line(self, cells: Iterable[str], styles: list[Style | None]) -> str:
        out: list[str] = []
        for at, (cell, width, style) in enumerate(zip(cells, self._widths, styles, strict=True)):
            if width:
                text = fitted(printable(cell), width, right=at == 0)
                out.append(style.render(text, color_system=ColorSystem.STANDARD) if style and self._colour else text)
        return " ".join(out).rstrip() + "\n"


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly `width` columns, cut with `…` where it is longer."""
    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - cell_len(text)) + text if right else set_cell_size(text, width)


def _end(text: str, width: int) -> str:
    """The end of a name: ids of one day begin alike."""
    return text if len(text) <= width else f"…{text[1 - width :]}"
