"""Lines from a grammar, run by the real bash with stub programs that log their names: what ran must be in the facts."""

import json
import os
import random
import shutil
import string
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scale import scale, seed
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.shell import ShellAnalysis, analyse
from shield.types import Dynamic, Origin

BASH = shutil.which("bash")
STUBS = ["rm", "ls", "cat", "curl", "grep", "zap", "mv", "cp", "wc", "tee", "id", "touch"]
pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")

# Programs that really run their arguments, so that wrappers do in the run what they do in the facts.
REAL = ["env", "nice", "nohup", "timeout", "xargs", "find", "setsid", "stdbuf"]


class Grammar:
    """Random lines, most of them well-formed, with the constructs that guards get wrong."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def name(self) -> str:
        name = self.rng.choice(STUBS)
        spell = self.rng.randrange(14)
        cut = self.rng.randrange(len(name))
        return {
            0: f"\\{name}",
            1: f"{name[:cut]}''{name[cut:]}",
            2: f'"{name}"',
            3: f"'{name}'",
            4: "$'" + "".join(f"\\x{ord(char):02x}" for char in name) + "'",
            5: f"command {name}",
            6: f'$"{name}"' if self.rng.random() < 0.3 else name,
            7: f"{name[:cut]}\\\n{name[cut:]}" if self.rng.random() < 0.3 else name,
            8: f"{{{name},x}}" if self.rng.random() < 0.3 else name,
            9: "$v" if self.rng.random() < 0.3 else name,
        }.get(spell, name)

    def word(self, depth: int) -> str:
        kinds = [
            lambda: self.rng.choice(
                ["-rf", "-la", "x", "a.b", "/tmp/zz", "~/q", "--", "-", "1", "a=b", "{}", "é", "@{u}", "foo#bar", "!x"]
            ),
            lambda: "'a b;" + self.rng.choice(["rm", "|", "`", "$(", "#"]) + "'",
            lambda: '"a ' + self.rng.choice(["$v", "${v}", "\\$v", "\\`", "b", "\\\\", "'"]) + '"',
            lambda: self.rng.choice(["*.zz", "[ab]", "?", "$v", "${v}", "$?", "a\\ b", "\\;", "{a,b}", "~", "$HOME"]),
            lambda: f"$({self.line(depth + 1)})" if depth < 3 else "z",
            lambda: f'"x$({self.line(depth + 1)})y"' if depth < 3 else "z",
            lambda: f"`{self.rng.choice(STUBS)} x`" if self.rng.random() < 0.5 else "w",
            lambda: f"${{v:-$({self.rng.choice(STUBS)})}}" if self.rng.random() < 0.5 else "w",
            lambda: f'"${{v:-`{self.rng.choice(STUBS)} 1`}}"' if self.rng.random() < 0.5 else "w",
            lambda: f"$((1+$({self.rng.choice(STUBS)})))" if self.rng.random() < 0.3 else "w",
            lambda: f"<({self.rng.choice(STUBS)})" if self.rng.random() < 0.3 else "w",
        ]
        weights = [9, 3, 4, 4, 2, 2, 1, 1, 1, 1, 1]
        return self.rng.choices(kinds, weights)[0]()

    def simple(self, depth: int) -> str:
        lead = "v=" + self.rng.choice(["1", "'a b'", "rm", "$(id)"]) + " " if self.rng.random() < 0.12 else ""
        words = [self.word(depth) for _ in range(self.rng.randrange(4))]
        text = " ".join([self.name(), *words])
        wrap = self.rng.randrange(30)
        if depth < 3:
            stub = self.rng.choice(STUBS)
            text = {
                0: f"env A=1 {stub} x",
                1: f"nice -n 1 {stub}",
                2: f"timeout 5 {stub} x",
                3: f"bash -c '{self.rng.choice(STUBS)} a; {stub}'",
                4: f"eval '{stub} x'",
                5: f"echo 1 | xargs {stub}",
                6: f"find . -maxdepth 0 -exec {stub} {{}} \\;",
                7: f"nohup env -S '{stub} x y'",
                8: f"echo {stub} | bash",
                9: f"if true; then {stub}; fi",
                10: f"for i in 1 2; do {stub} $i; done",
                11: f"( {stub} )",
                12: f"{{ {stub}; }}",
                13: f"f() {{ {stub}; }}; f",
                14: f"case x in x) {stub};; esac",
                15: f"while {stub}; do break; done",
                16: f"! {stub}",
                17: f"time {stub} x",
                18: f"[[ -n $({stub}) ]]",
                19: f"cat <<E\n$({stub})\nE\n",
                20: f"bash <<'E'\n{stub}\nE\n",
                21: f"sh -ec '{stub}'",
                22: f"v={stub}; $v x",
                23: f"exec {stub}",
            }.get(wrap, text)
        redirect = self.rng.choice(
            [" >/dev/null", " 2>&1", " </dev/null", " 2>/dev/null", " &>/dev/null", " <<<x", " >|/dev/null"]
        )
        return lead + text + (redirect if self.rng.random() < 0.2 else "")

    def line(self, depth: int = 0) -> str:
        text = self.simple(depth)
        for _ in range(self.rng.randrange(3 if depth else 4)):
            joint = self.rng.choice(["; ", " && ", " || ", " | ", "\n", " & ", ";", "|", " |& ", " # c\n"])
            text += joint + self.simple(depth)
        return text


@pytest.fixture(scope="module")
def world():
    home = Path(tempfile.mkdtemp(prefix="sh"))
    stubs = home / "bin"
    work = home / "work"
    stubs.mkdir()
    work.mkdir()
    for name in STUBS:
        stub = stubs / name
        # fd 9 is this line's log; nothing else is touched.
        stub.write_text('#!/bin/sh\necho "${0##*/}" >&9\n')
        stub.chmod(0o755)
    for name in [*REAL, "bash", "sh"]:
        found = shutil.which(name)
        if found is not None:
            (stubs / name).symlink_to(found)
    yield home
    shutil.rmtree(home)


def executed(lines: list[str], world: Path) -> list[set[str]]:
    """The names of the stubs that each line executes, all lines in one bash."""
    log = world / "log"
    script = []
    for number, line in enumerate(lines):
        source = world / f"{number}.line"
        source.write_text(line)
        script.append(
            f'exec 9>"{log}.{number}"; ( {BASH} --noprofile --norc -c "$(<{source})" ) >/dev/null 2>/dev/null </dev/null & wait $!'
        )
    env = {"PATH": str(world / "bin"), "HOME": str(world), "LC_ALL": "C.UTF-8"}
    subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", "\n".join(script) + "\n"],
        env=env,
        cwd=world / "work",
        timeout=300,
        check=False,
        capture_output=True,
    )
    out = []
    for number in range(len(lines)):
        file = Path(f"{log}.{number}")
        out.append(set(file.read_text().split()) if file.exists() else set())
    return out


def place_in(world: Path) -> Place:
    env = {"PATH": str(world / "bin"), "HOME": str(world), "LC_ALL": "C.UTF-8"}
    work = str(world / "work")
    return Place(files=LocalFiles(), home=str(world), cwd=work, workspace_roots=(work,), env=env, shell="/bin/bash")


def missed(facts: ShellAnalysis, ran: set[str]) -> set[str]:
    if any(command.dynamic in (Dynamic.CODE, Dynamic.PROGRAM) for command in facts.commands):
        return set()
    if any(command.runs_code.value != "none" and command.name in ("bash", "sh") for command in facts.commands):
        return set()
    return ran - {command.name for command in facts.commands}


def test_every_program_that_bash_executes_is_listed(world):
    rng = random.Random(seed())
    total = scale("shell_fuzz")
    place = place_in(world)
    misses = []
    known = 0
    for start in range(0, total, 500):
        lines = [Grammar(rng).line() for _ in range(min(500, total - start))]
        lines = [line for line in lines if "\0" not in line]
        for line, ran in zip(lines, executed(lines, world), strict=True):
            facts = analyse(line, place)
            lost = missed(facts, ran)
            known += facts.parsed
            if lost:
                misses.append((line, sorted(lost)))
    assert not misses, json.dumps(misses[:5], indent=1)
    # A fuzzer that only makes lines that are given up on would prove nothing.
    assert known > total // 10


def test_the_fuzzer_notices_a_lost_command(world):
    lines = ["ls; zap x", "echo $(zap)"]
    assert executed(lines, world) == [{"ls", "zap"}, {"zap"}]
    assert missed(analyse("ls", place_in(world)), {"ls", "zap"}) == {"zap"}


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from(list(string.printable + "é\u00a0\u2028\x00\ud7ff")), max_size=60))
def test_no_text_crashes_the_analysis(text):
    place = Place(files=LocalFiles(), home="/home/user", cwd="/", workspace_roots=("/",), env={"PATH": "/usr/bin"})
    facts = analyse(text, place)
    for command in facts.commands:
        assert command.dynamic is Dynamic.CODE or facts.parsed
    assert facts.parsed or facts.commands


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_mutated_lines_never_crash(rng, edits):
    line = Grammar(rng).line()
    for _ in range(edits):
        at = rng.randrange(len(line) + 1)
        line = line[:at] + rng.choice("\"'`$(){}|&;<>\\\n#~*[]!=") + line[at + rng.randrange(2) :]
    facts = analyse(line, Place(files=LocalFiles(), home="/h", cwd="/", workspace_roots=(), env={"PATH": os.defpath}))
    assert facts.parsed or any(command.dynamic is Dynamic.CODE for command in facts.commands)
    assert all(command.origin is not Origin.SYSTEM or command.program for command in facts.commands)
