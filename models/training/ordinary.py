"""Harmless text that any machine has: documentation, manual pages, code, addresses.

Split by package, so that no project stands on two sides: what is trained on, what thresholds are set by, what is
reported.
"""

import gzip
import math
import re
import sysconfig
import zlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from random import Random
from types import MappingProxyType

from models.training.piece import piece
from models.training.row import Row

__all__ = ["Part", "ordinary"]

_WINDOW = 520
_MOST_BYTES = 400_000
_MOST_ADDRESSES = 4  # of one file
_TURNS = 400
_PIECES = 0.3
_SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys((".md", ".rst", ".txt", ".html", ".adoc", ".gz"), "tool_result"),
        **dict.fromkeys(
            (".py", ".js", ".ts", ".c", ".h", ".sh", ".json", ".yaml", ".yml", ".toml", ".cfg", ".xml", ".css"), "code"
        ),
    }
)
_URL = re.compile(r"https?://[^\s<>\"'`)\]}]{8,300}")
_SENTENCES = re.compile(r"[A-Z][^\n|{}<>]{60,400}[.!?](?=\s|$)")


class Part(StrEnum):
    """Which packages: four of ten are trained on, three set thresholds, three are reported."""

    TRAIN = "train"
    CALIBRATE = "calibrate"
    TEST = "test"


def ordinary(rng: Random, part: Part, most: Mapping[str, int], *, longest: int = _WINDOW) -> Iterator[Row]:
    """Parts of this machine's files of one part, at most `most[kind]` of a kind; fewer where it has no more.

    Each is a window at most or, where `longest` is more, half of them up to so many letters, the logarithms of their
    lengths evenly: the longer a text, the more windows it has in which something may look like an attack.
    """
    left = dict(most)
    packages: dict[str, list[Path]] = {}
    for path, package in sorted(_files()):
        if _part(package) is part:
            packages.setdefault(package, []).append(path)
    for paths in packages.values():
        rng.shuffle(paths)
    # one file of each package in turn, so that the largest do not make up most of it
    for turn in range(_TURNS):
        for package in rng.sample(sorted(packages), len(packages)):
            if not any(left.values()):
                return
            paths = packages[package]
            yield from _rows(paths[turn % len(paths)], rng, left, longest)


def _rows(path: Path, rng: Random, left: dict[str, int], longest: int) -> Iterator[Row]:
    kind = _SUFFIXES[path.suffix]
    wanted = [name for name in (kind, *(("url", "prose") if kind == "tool_result" else ())) if left.get(name)]
    if not wanted:
        return
    text = _read(path)
    if text is None:
        return
    for name in wanted:
        if name == "url":
            found = sorted(set(_URL.findall(text)))
            texts = rng.sample(found, min(len(found), _MOST_ADDRESSES))
        elif name == "prose":
            sentences = _SENTENCES.findall(text)
            texts = [rng.choice(sentences)] if sentences else []
        elif longest > _WINDOW and rng.random() < 0.5:
            texts = [_long(text, rng, longest)]
        else:
            start = 0 if len(text) <= _WINDOW or rng.random() < 0.3 else rng.randint(0, len(text) - _WINDOW)
            found_here = text[start : start + rng.choice((_WINDOW, _WINDOW, 240))]
            texts = [piece(found_here, rng) if rng.random() < _PIECES else found_here]
        for one in texts:
            if left[name] and one.strip():
                left[name] -= 1
                family = f"machine-{name}{'-long' if len(one) > _WINDOW else ''}"
                yield Row(text=one, label=0, kind=name, family=family, source="machine")


def _long(text: str, rng: Random, longest: int) -> str:
    size = int(math.exp(rng.uniform(math.log(_WINDOW), math.log(longest))))
    start = rng.randint(0, max(0, len(text) - size))
    return text[start : start + size]


def _files() -> Iterator[tuple[Path, str]]:
    """Files of a known suffix with the name of the package that they belong to."""
    manuals = Path("/usr/share/man")
    for section in ("man1", "man5", "man7", "man8"):
        for path in (manuals / section).glob("*.gz"):
            yield path, re.split(r"[-_.]", path.name)[0].lower()
    for folder in (Path("/usr/share/doc"), Path("/usr/share/perl5"), Path(sysconfig.get_paths()["purelib"])):
        for path in folder.rglob("*"):
            if path.suffix in _SUFFIXES and path.is_file():
                yield path, path.relative_to(folder).parts[0].split("-")[0].lower()


def _part(package: str) -> Part:
    place = zlib.crc32(package.encode()) % 10
    return Part.TRAIN if place < 4 else Part.CALIBRATE if place < 7 else Part.TEST


def _read(path: Path) -> str | None:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                raw = file.read(_MOST_BYTES)
        else:
            with path.open("rb") as file:
                raw = file.read(_MOST_BYTES)
        text = raw.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError):
        return None
    return text if len(text) > 80 else None
