"""Pages whose ```console blocks are run: a fresh home, one shell a page on a terminal of its own, as a reader has it.

In such a block a line that begins with `$ ` is a command (a heredoc or a trailing backslash continues it), the lines
below are what it prints. `…` in a line stands for anything, a line `…` for any number of lines. Where a program asks,
what the reader types stands after the prompt. A command that ends with another code than 0 is followed by `$ echo $?`.
After ```console unordered the order of the lines does not matter: two programs print.

    python -P tests/docs/pages.py PAGE…      write what the commands print now into the pages; look at the diff
"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN_HOME = "/home/you"
PATIENCE_S = 60
_MARK = "\x1e"  # between the shell and us, on the terminal: what a command ends with
_ANSI = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_HEREDOC = re.compile(r"<<'?(\w+)'?$", re.MULTILINE)
_TOKEN = re.compile(r"shield_([a-z]+)_[0-9a-f]{64}")
# what programs ask with; the rest of a shown line is typed
_PROMPTS = re.compile(
    r"^(type `yes` to confirm: |agentctl> |allow this once\? type yes/no, (?:\d+|…) s left: |\w+ token: )", re.MULTILINE
)
# `eval` runs a command with our pipe closed, so that nothing it starts can read the next one
_SHELL = (
    r"""s=0; while IFS= read -r -d '' -u 9 c; do (exit "$s"); eval "$c" 9<&-; s=$?; printf '\036%s\036' "$s"; done"""
)


@dataclass
class Step:
    """One command, the lines shown below it, and where these stand in the page (first, one past the last)."""

    command: str
    shown: list[str]
    where: tuple[int, int]
    ordered: bool = True

    def typed(self) -> list[str]:
        return [line[found.end() :] for line in self.shown if (found := _PROMPTS.match(line))]


@dataclass
class Printed:
    text: str
    status: int


@dataclass
class Page:
    """A page and its steps, in order."""

    path: Path
    lines: list[str] = field(init=False)
    steps: list[Step] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.path.read_text(encoding="utf-8").split("\n")
        self.steps = list(_steps(self.lines))


def pages() -> list[Path]:
    """README and every page below docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _steps(lines: list[str]) -> Iterator[Step]:
    number, total = 0, len(lines)
    while number < total:
        opening = lines[number].split()
        number += 1
        if not opening or opening[0] != "```console":
            continue
        ordered = "unordered" not in opening
        while lines[number] != "```":
            assert lines[number].startswith("$ "), f"line {number + 1}: a console block begins with a command"
            command = lines[number][2:]
            number += 1
            while command.endswith("\\"):
                command, number = f"{command}\n{lines[number]}", number + 1
            if heredoc := _HEREDOC.search(command.split("\n")[0]):
                end = lines.index(heredoc[1], number) + 1
                command, number = "\n".join([command, *lines[number:end]]), end
            first = number
            while lines[number] != "```" and not lines[number].startswith("$ "):
                number += 1
            yield Step(command, lines[first:number], (first, number), ordered)


class Shell:
    """bash on a terminal, in a home that was made for it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        start = self.home / "shield"
        start.mkdir(mode=0o700, parents=True)
        for name in ("README.md", "Makefile"):
            shutil.copy(ROOT / name, start)
        self.tokens: dict[str, str] = {}
        self._seen = ""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        commands, self._commands = os.pipe()
        bash = shutil.which("bash")
        assert bash is not None
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BEGIN, str(commands), bash, _SHELL],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=start,
            env=environ(self.home, _programs(root / "bin")),
            pass_fds=(commands,),
            start_new_session=True,
        )
        os.close(slave)
        os.close(commands)

    def run(self, step: Step) -> Printed:
        """Run the command, type what the page types, and return what came. Raises AssertionError if it does not end."""
        os.write(self._commands, step.command.encode() + b"\0")
        typed, answered, quiet, limit = step.typed(), 0, False, time.monotonic() + PATIENCE_S
        while (end := re.search(f"{_MARK}(\\d+){_MARK}", self._seen)) is None:
            asked = [found for found in _PROMPTS.finditer(self._seen) if found.start() >= answered]
            # a prompt stands at the end; if not, and nothing more comes, another program wrote behind it
            if asked and (asked[-1].end() == len(self._seen) or quiet):
                answered = asked[-1].end()
                self._type(asked[-1][1], typed)
            assert time.monotonic() < limit, f"`{step.command}` does not end:\n{self._seen}"
            quiet = not self._read()
        text, self._seen = self._seen[: end.start()], self._seen[end.end() :]
        self.tokens |= {found[1]: found[0] for found in _TOKEN.finditer(text)}
        shown = text.replace(str(self.home), SHOWN_HOME)
        return Printed("\n".join(line.rstrip() for line in shown.split("\n")).rstrip("\n"), int(end[1]))

    def _type(self, prompt: str, typed: list[str]) -> None:
        if prompt.endswith("token: "):
            text = self.tokens[prompt.split()[0]]
        elif typed:
            text = typed.pop(0)
        else:
            raise AssertionError(f"the page types nothing at `{prompt}`:\n{self._seen}")
        if prompt.startswith(("allow", "type ")):
            # a person's answer: each key once the one before stands there
            for key in text:
                at = len(self._seen)
                os.write(self._master, key.encode())
                while key not in self._seen[at:]:
                    assert self._read(), f"`{key}` is not taken:\n{self._seen}"
            text = ""
        os.write(self._master, text.encode() + b"\n")

    def _read(self) -> bool:
        """False if nothing came for a while."""
        if not select.select([self._master], [], [], 0.5)[0]:
            return False
        try:
            piece = os.read(self._master, 65536)
        except OSError as error:
            raise AssertionError(f"the shell ended:\n{self._seen}") from error
        self._seen = _ANSI.sub("", self._seen + piece.decode("utf-8", "replace").replace("\r", ""))
        return True

    def close(self) -> None:
        os.close(self._commands)
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._master)


# the terminal becomes the controlling one of the new session; our pipe becomes descriptor 9
_BEGIN = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.dup2(int(sys.argv[1]), 9)
if sys.argv[1] != "9": os.close(int(sys.argv[1]))
os.execv(sys.argv[2], [sys.argv[2], "--noprofile", "--norc", "-c", sys.argv[3]])
"""


@contextmanager
def shell() -> Iterator[Shell]:
    """A shell in a folder with a short name: socket paths end at 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="sh", ignore_cleanup_errors=True) as folder:
        opened = Shell(Path(folder).resolve())
        try:
            yield opened
        finally:
            opened.close()


def environ(home: Path, programs: Path) -> dict[str, str]:
    """Nothing of the environment that the tests run in."""
    return {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "TERM": "dumb",
    }


def command(name: str) -> list[str]:
    """How `shield` or `agentctl` is started here: the installed program, in a checkout the module."""
    if import_path() is None:
        return [str(Path(sys.executable).parent / name)]
    return [sys.executable, "-P", "-m", {"agentctl": "agentctl.cli"}.get(name, name)]


def import_path() -> str | None:
    """What a process needs in PYTHONPATH to import the shield that is tested here; None where it is installed."""
    found = find_spec("shield")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).resolve().parents[1]
    return None if "site-packages" in folder.parts else str(folder)


def _programs(folder: Path) -> Path:
    """A folder with `shield`, `agentctl`, `python` and a `make` that runs the demo as the Makefile does."""
    folder.mkdir()
    path = import_path()
    export = f"export PYTHONPATH='{path}'\n" if path else ""
    recipe = re.search(r"^demo:.*\n\t@?(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    demo = recipe[1].replace("$(BIN)/python", f"'{sys.executable}'")
    scripts = {
        "shield": f'exec {_quoted(command("shield"))} "$@"',
        "agentctl": f'exec {_quoted(command("agentctl"))} "$@"',
        "python": f"exec '{sys.executable}' \"$@\"",
        # `make test` is the run that this is part of
        "make": f"case \"$1\" in demo) cd '{ROOT}' && exec {demo};; test) ;; *) exit 2;; esac",
    }
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{export}{script}\n")
        (folder / name).chmod(0o755)
    return folder


def _quoted(words: list[str]) -> str:
    return " ".join(f"'{word}'" for word in words)


# --- comparing -------------------------------------------------------------------------------------------------------


def difference(step: Step, printed: Printed) -> str | None:
    """None where what was printed is what the page shows; otherwise both."""
    got = printed.text.split("\n") if printed.text else []
    same = _matches(step.shown, got) if step.ordered else _matches_unordered(step.shown, got)
    if same:
        return None
    return "\n".join([f"$ {step.command}", "--- shown", *step.shown, "--- printed", *got])


def _matches(shown: list[str], got: list[str]) -> bool:
    reached = {0}  # lines of `got` that may be behind what was compared
    for line in shown:
        if line == "…":
            reached = set(range(min(reached), len(got) + 1))
        else:
            pattern = re.compile(_pattern(line))
            reached = {at + 1 for at in reached if at < len(got) and pattern.fullmatch(got[at])}
        if not reached:
            return False
    return len(got) in reached


def _matches_unordered(shown: list[str], got: list[str]) -> bool:
    left = [_PROMPTS.sub("", line) for line in got]
    for line in (_PROMPTS.sub("", line) for line in shown):
        if line == "…":
            continue
        fits = next((other for other in left if re.fullmatch(_pattern(line), other)), None)
        if fits is None:
            return False
        left.remove(fits)
    return not left or "…" in shown


def _pattern(line: str) -> str:
    """`…` is anything; milliseconds are those of another run; runs of blanks are one."""
    pieces = []
    for piece in re.split(r"(…| +\d+(?:\.\d)? {2}| +)", line):
        if piece == "…":
            pieces.append(".*")
        elif piece.strip() and piece.startswith(" "):
            pieces.append(r" +\d+(?:\.\d)? {2}")
        else:
            pieces.append(" +" if piece and not piece.strip() else re.escape(piece))
    return "".join(pieces).replace(r"\ ", " ")


# --- writing ---------------------------------------------------------------------------------------------------------


def update(path: Path) -> int:
    """Write what the commands print now in place of what the page shows; how many differed."""
    page, changed = Page(path), 0
    results = []
    with shell() as opened:
        for step in page.steps:
            printed = opened.run(step)
            results.append(printed)
            if printed.status:
                print(f"{path.name}:{step.where[0]}: `{step.command}` ended with {printed.status}", file=sys.stderr)
    for step, printed in reversed(list(zip(page.steps, results, strict=True))):
        if difference(step, printed) is not None:
            text = _TOKEN.sub(r"shield_\1_…", printed.text)
            page.lines[slice(*step.where)] = text.split("\n") if text else []
            changed += 1
    path.write_text("\n".join(page.lines), encoding="utf-8")
    return changed


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {update(Path(name).resolve())} changed")
