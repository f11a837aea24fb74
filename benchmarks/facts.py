"""Facts of command lines of 1, 5 and 200 commands and of the longest one that is read; a call of the second parser."""

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator

import tree_sitter
import tree_sitter_bash

from row import MeasureError, Row, cpu_us
from shield.facts.programs.library import models
from shield.facts.shell.analyse import MAX_COMMAND_BYTES, Analyser
from shield.facts.shell.grammar.reader import read_line
from shield.facts.shell.grammar.shfmt import Shfmt, shfmt_binary
from shield.facts.shell.record import Record
from shield.policy.world import made_place

LINE = 'for f in $(git ls-files "*.py"); do grep -n "$1" "$f" || echo "${f%.py}: none" >&2; done'
_LINES = {
    "facts.shell1": "ls -la src",
    "facts.shell5": "cd src && ls -la | grep -v tests | sort | head -5",
    "facts.shell200": " && ".join(f"ls dir{index}" for index in range(200)),
    "facts.line16k": " ".join(["cat", *(f"dir/chapter/{index}.txt" for index in range(Record.MAX_PATHS))])[
        :MAX_COMMAND_BYTES
    ],
}
_LANGUAGE = tree_sitter.Language(tree_sitter_bash.language())


def rows() -> Iterator[Row]:
    """`facts.shell*` and `facts.line16k` in CPU microseconds, against the bare parse of tree-sitter, which reads a line
    and says nothing of it; `facts.second_parser` in elapsed ones of an answer that is not kept, against `bash -n`."""
    place = made_place()
    second = Shfmt(shfmt_binary())
    analyser = Analyser(models(), second)
    for name, line in _LINES.items():
        if not analyser.analyse(line, place).parsed:
            raise MeasureError(f"{name}: the line is not understood, so this measures something else")
        ours = cpu_us(lambda line=line: analyser.analyse(line, place), rounds=5)
        peer = cpu_us(lambda line=line: tree_sitter.Parser(_LANGUAGE).parse(line.encode()), rounds=5)
        yield Row(name=name, median=ours, unit="us", peer="tree-sitter parse", ratio=peer / ours)
    yield _second_parser()


def _second_parser(calls: int = 100) -> Row:
    second = Shfmt(shfmt_binary())
    if second.read(LINE) != read_line(LINE):
        raise MeasureError("facts.second_parser: the parsers differ, so this measures something else")
    lines = [f"{LINE} # {index}" for index in range(calls)]
    bash = ["bash", "-n", "-c"]
    ours = _elapsed_us(second.read, lines)
    peer = _elapsed_us(lambda line: subprocess.run([*bash, line], check=True), lines)
    return Row(name="facts.second_parser", median=ours, unit="us", peer="bash -n", ratio=peer / ours)


def _elapsed_us(work: Callable[[str], object], lines: list[str]) -> float:
    times = []
    for line in lines:
        started = time.perf_counter()
        work(line)
        times.append((time.perf_counter() - started) * 1e6)
    return statistics.median(times)
