"""The second parser for lines beyond plain words: `shfmt --to-json`, the parser of mvdan.cc/sh, in its own process."""

import contextlib
import importlib.metadata
import json
import os
import resource
import selectors
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shield.facts.shell.grammar.script import RefusedLineError, Script
from shield.facts.shell.grammar.shfmt_tree import script_of

__all__ = ["LIMIT_S", "Shfmt", "shfmt_binary"]

# Wall time of one process: 4 ms on two half busy cores, 105 ms (at most 290) with eight calls at once beside sixteen
# busy processes. A limit near those makes verdicts depend on the neighbours: this one only ends a process that hangs.
LIMIT_S = 5.0
# CPU seconds of one process, where the system can say so: the densest line of 16 KiB takes 0.4, but what the program
# prints grows with the square of a chain's length (2,300 commands joined by `|` take 35).
_CPU_S = 2
# 16 KiB of the densest line give 6 MB of JSON.
_MAX_OUTPUT = 16 << 20
# Processes for one line: one, and one for each pair of backticks with escapes in it.
_MAX_PROCESSES = 8
_MAX_ANSWERS = 2_048
_MAX_CACHED_TEXT = 1 << 20
_READ = 1 << 16


def shfmt_binary() -> Path | None:
    """The program that the installed distribution `shfmt-py` brought, never one found through PATH; None if absent."""
    try:
        files = importlib.metadata.files("shfmt-py") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [Path(str(file.locate())).resolve() for file in files if file.name == "shfmt"]
    found.append(Path(sys.executable).parent / "shfmt")
    return next((path for path in found if path.is_file() and os.access(path, os.X_OK)), None)


class Shfmt:
    """A `SecondParser`. Answers are kept by text, the most recent ones; one object serves every thread."""

    def __init__(
        self,
        binary: Path | None,
        *,
        limit_s: float = LIMIT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._binary = binary
        self._limit_s = limit_s
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, Script | str] = OrderedDict()
        self._held = 0

    def read(self, text: str) -> Script:
        """The whole line.

        Raises:
            RefusedLineError: no program, no answer in time, not well-formed, or more than `Script` can say.
        """
        with self._lock:
            answer = self._answers.get(text)
            if answer is not None:
                self._answers.move_to_end(text)
        if answer is None:
            answer = self._ask(text)
            self._keep(text, answer)
        if isinstance(answer, str):
            raise RefusedLineError(answer)
        return answer

    def _keep(self, text: str, answer: Script | str) -> None:
        with self._lock:
            if text not in self._answers:
                self._held += len(text)
            self._answers[text] = answer
            while len(self._answers) > _MAX_ANSWERS or self._held > _MAX_CACHED_TEXT:
                old, _ = self._answers.popitem(last=False)
                self._held -= len(old)

    def _ask(self, text: str) -> Script | str:
        """What the parser says of the text itself, which does not change: a script, or why there is none.

        Raises:
            RefusedLineError: trouble that may be gone the next time.
        """
        asked = 0

        def tree_of(part: str) -> dict[str, Any] | None:
            nonlocal asked
            asked += 1
            return self._tree(part) if asked <= _MAX_PROCESSES else None

        found = tree_of(text)
        if found is None:
            return "the second parser does not accept it"
        try:
            return script_of(text, found, tree_of)
        except RefusedLineError as error:
            return str(error)
        except RecursionError:
            return "nested too deep for the second parser"
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            return f"the second parser's answer is not what it should be ({type(error).__name__})"

    def _tree(self, text: str) -> dict[str, Any] | None:
        """The typed JSON for one text; None where it is not well-formed."""
        if self._binary is None:
            raise RefusedLineError("the second parser `shfmt` is not installed")
        try:
            process = subprocess.Popen(  # noqa: S603  # the installed distribution's program, no word of the line
                [self._binary, "--to-json", "-ln", "bash"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                bufsize=0,
            )
        except OSError as error:
            raise RefusedLineError("the second parser `shfmt` could not be started") from error
        with process:
            try:
                _limit(process.pid)
                output = self._exchange(process, text.encode("utf-8"))
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            return None
        try:
            tree = json.loads(output)
        except (ValueError, RecursionError) as error:
            raise RefusedLineError("nested too deep for the second parser") from error
        return tree if isinstance(tree, dict) else None

    def _exchange(self, process: subprocess.Popen[bytes], data: bytes) -> bytes:
        """Write all of `data`, read all there is, and wait for the end, within the limit."""
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = self._clock() + self._limit_s
        chunks: list[bytes] = []
        size = 0
        left = memoryview(data)
        os.set_blocking(process.stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - self._clock()))
                if not ready:
                    raise RefusedLineError("the second parser took too long")
                for key, _ in ready:
                    if key.fileobj is process.stdin:
                        try:
                            left = left[os.write(key.fd, left) :] if left else left
                        except BrokenPipeError:
                            left = left[:0]
                        if not left:
                            selector.unregister(process.stdin)
                            process.stdin.close()
                        continue
                    chunk = os.read(key.fd, _READ)
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > _MAX_OUTPUT:
                        raise RefusedLineError("the second parser says too much")
                    if not chunk:
                        selector.unregister(process.stdout)
        try:
            process.wait(max(0.001, deadline - self._clock()))
        except subprocess.TimeoutExpired as error:
            raise RefusedLineError("the second parser took too long") from error
        return b"".join(chunks)


def _limit(pid: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
