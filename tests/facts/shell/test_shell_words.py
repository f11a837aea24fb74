"""Words against the real bash: what the analysis calls a known argument is the argument bash passes."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shield
from scale import seed
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.facts.shell import analyse
from shield.facts.shell.glob import superset
from shield.facts.shell.grammar.ansi_c import ansi_c
from shield.facts.shell.grammar.reader import read_line
from shield.facts.shell.grammar.script import RefusedLineError
from shield.facts.shell.grammar.tree import read_tree
from shield.types import Dynamic

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
PIECES = [
    "a", "b c", "$HOME", "${HOME}", "~", "~/x", "/", "'", '"', "\\", "\\ ", "\\$", " ", "$", "=", ":", "A=~/y", "é", "#", "{}",
    "$'\\n'", "$'\\x41'", "''", '""', "'q $x'", '"d \\" $HOME"', "-", "!", "@", "%", "^", ",", ".", "1", "\t",
]  # fmt: skip


@needs_bash
def test_known_arguments_are_what_bash_passes(tmp_path):
    rng = random.Random(seed())
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    place = Place(
        files=LocalFiles(),
        home=str(tmp_path),
        cwd=str(tmp_path),
        workspace_roots=(str(tmp_path),),
        env=env,
        shell="/bin/bash",
    )
    lines, expected = [], []
    while len(lines) < 600:
        line = "echo x" + "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 7)))
        found = analyse(line, place)
        if found.parsed and len(found.commands) == 1 and found.commands[0].dynamic is Dynamic.NONE:
            lines.append(line)
            expected.append(list(found.commands[0].argv[1:]))
    script = "echo() { printf '%s\\0' \"$@\"; printf '\\1'; }\n" + "\n".join(lines)
    run = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", script],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    got = [[word.decode() for word in chunk.split(b"\0")[:-1]] for chunk in run.stdout.split(b"\1")[:-1]]
    wrong = [(line, want, have) for line, want, have in zip(lines, expected, got, strict=True) if want != have]
    assert not wrong, wrong[:5]


@needs_bash
@pytest.mark.parametrize(
    "body",
    [
        "a\\nb",
        "\\x41\\101\\u00e9\\U0001F600",
        "\\'\\\"\\?\\\\",
        "\\e\\a\\b\\f\\v\\t\\r",
        "\\x4",
        "\\7z",
        "a\\0",
        "\\x00",
        "\\[\\}",
    ],
)
def test_ansi_c_is_what_bash_makes(body):
    run = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", f"printf %s $'{body}'"], capture_output=True, timeout=20, check=True,
        env={"LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert ansi_c(body) == run.stdout.decode()


@pytest.mark.parametrize("body", ["\\0a", "\\x00b", "\\xff", "\\q", "\\c", "a\\", "\\ud800"])
def test_ansi_c_that_is_not_plain_text_is_refused(body):
    assert ansi_c(body) is None


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*PIECES, "|", ";", "&&", "||", "\n", ">", "<", "2>&1", "$(ls)", "ls", "x=1", " # "]),
        max_size=12,
    )
)
def test_where_the_strict_reader_agrees_the_tree_says_the_same(pieces):
    # Disagreement is allowed, and makes the line `dynamic: code`; equal scripts must come with equal sources.
    line = " ".join(pieces)
    tree = read_tree(line.encode())
    try:
        plain = read_line(line)
    except RefusedLineError:
        return
    if tree.complete and plain == tree.script:
        assert read_line(line) == plain


@pytest.mark.parametrize("line", ["rm x \\", "a | b | rm x \\", "rm 'x", 'rm "x', "cat <<E", "a |", "a && ", "( a"])
def test_a_line_that_does_not_end_is_not_understood(line):
    # the tree is read with a newline behind the line: that must not make a whole one of it
    place = Place(files=LocalFiles(), home="/h", cwd="/", workspace_roots=(), env={"PATH": "/usr/bin"})
    assert not analyse(line, place).parsed


@pytest.mark.parametrize("line", ["a | b | c", "a | b | c | d # e", "a && b | c | d &", "a\nb | c | d"])
def test_a_line_says_the_same_with_and_without_a_newline_at_its_end(line):
    tree = read_tree(line.encode())
    assert tree == read_tree(f"{line}\n".encode())
    assert (tree.complete, tree.script) == (True, read_line(line))


def test_no_character_ends_the_process():
    # a scanner in C that looks a character up behind its table: whether that ends the process is up to where the
    # system puts its libraries, so several of them try
    every = (
        "for at in range(0x80, 0x110000, 0x400): read_tree(f'echo {{{chr(at)}..{chr(at)}}}'.encode('utf-8', 'replace'))"
    )
    script = f"from shield.facts.shell.grammar.tree import read_tree\n{every}"
    environ = {"PYTHONPATH": str(Path(shield.__file__).resolve().parents[1])}
    started = [subprocess.Popen([sys.executable, "-P", "-c", script], env=environ) for _ in range(8)]
    assert [process.wait() for process in started] == [0] * 8


@pytest.mark.parametrize(
    "line", ["écho é=1 'é' \"é\" a\\é", "é=1", "x=é ls", "ls é | wc é; x", "a >é", "ls {é,a}", "# é"]
)
def test_a_tree_says_what_characters_stood_there(line):
    tree = read_tree(line.encode())
    assert (tree.complete, tree.script) == (True, read_line(line))


@needs_bash
@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.sampled_from([*PIECES, "|", ";", "&", "(", ")", "`", "\n", ">", "<", "<<", "$(", "${", "if", "}"]),
        max_size=8,
    )
)
def test_what_is_parsed_bash_accepts(pieces):
    line = "".join(pieces)
    place = Place(files=LocalFiles(), home="/h", cwd="/", workspace_roots=(), env={"PATH": "/usr/bin"})
    if analyse(line, place).parsed:
        run = subprocess.run([BASH, "-n", "-c", "--", line], capture_output=True, timeout=20, check=False)
        assert run.returncode == 0, (line, run.stderr)


@needs_bash
@pytest.mark.parametrize(
    "pattern",
    [
        "[.]*", "[!a]*", "[^]]*", "[]x]*", "[[]*", "[[:alpha:]]*", "[a", "[a-]*", "a[^]]", "*[b-]*", "[!]]*", "[^]]]",
        "[]", "[]]", "[!", "[a]b[", "[a-z][0-9]", ".[!.]*", "?[b]*", "[^]a]?*",
    ],
)  # fmt: skip
def test_every_name_that_bash_matches_is_known(pattern, tmp_path):
    names = (".b", "a", "ab", "a1", "x]", "[x", "-", "^a", "b-c", "]", "[", "[a]", "a]b", "[]")
    for name in names:
        (tmp_path / name).touch()
    printed = subprocess.run([BASH, "-c", f"printf '%s\\n' {pattern}"], cwd=tmp_path, capture_output=True, check=True)
    matched = set(printed.stdout.decode().splitlines()) & {*names, ".", ".."}
    world = Place(files=LocalFiles(), home="/", cwd=str(tmp_path), workspace_roots=(), env={}, shell=BASH)
    assert matched - {pattern} <= {*(superset(pattern, world, str(tmp_path)) or ())}
