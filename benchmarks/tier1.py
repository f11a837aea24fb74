"""Tier 1: the heuristics over 10 kB of a document."""

from collections.abc import Iterator
from pathlib import Path

import re2

from row import Row, cpu_us
from shield.heuristics.load import load_heuristics
from shield.resources import data_folder
from shield.types import TextKind

ROOT = Path(__file__).resolve().parent.parent
SIZE = 10_000


def rows() -> Iterator[Row]:
    """Each row by itself; all in CPU time."""
    yield _heuristics()


def _heuristics() -> Row:
    """`tier1.heuristics10k`: every rule and every kind of secret over 10 kB of this project's pages and code, which
    speak of agents, instructions and tokens more than most, against every pattern by itself. Each text comes again only
    after all others have, as it does at work: what RE2 remembers of ten in turn says nothing of the eleventh."""
    heuristics = load_heuristics(data_folder("policies") / "heuristics")
    pages = sorted((ROOT / "docs").rglob("*.md"))
    code = sorted((ROOT / "shield").rglob("*.py"))
    parts = [*_parts(pages, 24), *_parts(code, 24)]
    options = re2.Options()
    options.case_sensitive = False
    alone = [re2.compile(one.text, options) for rule in heuristics.rules.values() for one in rule.patterns]
    ours = cpu_us(lambda: [heuristics.scan(part, TextKind.TOOL_RESULT) for part in parts], rounds=5) / len(parts)
    raw = [part.encode() for part in parts]
    peer = cpu_us(lambda: [regex.search(part) for part in raw for regex in alone], rounds=5) / len(parts)
    return Row(
        name="tier1.heuristics10k", median=ours / 1e3, unit="ms", goal=2.0, peer="RE2, one by one", ratio=peer / ours
    )


def _parts(paths: list[Path], number: int) -> list[str]:
    """So many parts of `SIZE` characters of these files' text."""
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    return [text[start : start + SIZE] for start in range(0, number * SIZE, SIZE)]
