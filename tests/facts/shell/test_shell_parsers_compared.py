"""The strict reader against bash and shfmt: on real lines, on random ones, and on random ones that are cut up."""

import os
import random
import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scale import scale, seed
from shared_data import shared
from shell_grammar import Grammar
from shield.facts.shell.grammar.parse import parse
from shield.facts.shell.grammar.reader import read_line
from shield.facts.shell.grammar.script import (
    AndOr,
    Condition,
    Coprocess,
    Counting,
    For,
    If,
    Part,
    PartKind,
    Pipeline,
    RedirectNode,
    RefusedLineError,
    Script,
    Simple,
    literal,
)
from shield.facts.shell.grammar.shfmt import Shfmt, shfmt_binary

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
SHFMT = Shfmt(shfmt_binary())
COMMENT_CONTINUED = re.compile(r"(?:^|[\s;&|()])#[^\n]*\\\n")  # a `#` that may begin one
# One bash that asks a bash for each line: whether it accepts it without a word.
ASK = 'while IFS= read -r -d "" line; do "$BASH" -n -c -- "$line" 2>&1 | { read -r x && echo no || echo yes; }; done'


# Defines a function of each line and prints how bash writes it down itself; none of it runs.
PRINT = """set -f
while IFS= read -r -d "" line; do unset -f __f; eval "function __f {
$line
}" 2>/dev/null; declare -f __f; printf "\\0"; done"""


def accepted(lines):
    """Whether `bash -n` accepts each line and warns of nothing."""
    run = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", ASK],
        input=b"".join(line.encode() + b"\0" for line in lines),
        env={"LC_ALL": "C.UTF-8", "PATH": os.defpath},
        capture_output=True,
        timeout=3_000,
        check=True,
    )
    answers = run.stdout.split()
    assert len(answers) == len(lines)
    return [answer == b"yes" for answer in answers]


def read_or_none(line):
    try:
        return read_line(line)
    except RefusedLineError:
        return None


def printed(lines, folder):
    run = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", PRINT],
        input=b"".join(line.encode() + b"\0" for line in lines),
        cwd=folder,
        env={"LC_ALL": "C.UTF-8", "PATH": "/nonexistent"},
        capture_output=True,
        timeout=3_000,
        check=True,
    )
    texts = run.stdout.decode().split("\0")[:-1]
    assert len(texts) == len(lines)
    return texts


def without_spelling(node):
    """The node without the sources of its expansions, and with what bash writes for what a line leaves out."""
    one = (Part(PartKind.LITERAL, "1", True),)
    match node:
        case Part() if node.kind not in (PartKind.LITERAL, PartKind.VARIABLE):
            node = node._replace(text="")
        case RedirectNode():
            fd = int(node.op[0] == ">") if node.fd is None and node.op[0] != "&" else node.fd
            copies = node.op in ("<&", ">&") and literal(node.target) is not None
            op = ">&-" if node.op == "<&-" else ">&" if copies else node.op
            node = node._replace(fd=fd, op=op)
        case For(words=None):
            node = node._replace(words=((Part(PartKind.VARIABLE, "@", True),),))
        case Counting():
            node = node._replace(first=node.first or one, test=node.test or one, step=node.step or one)
        case Condition(operator="!", conditions=(Condition(operator="!", conditions=(inner,)),)):
            return without_spelling(inner)
        case If(branches=(first, *rest)) if rest:
            inner = If(tuple(rest), node.otherwise)
            node = If((first,), Script((AndOr((Pipeline((inner,)),)),)), node.redirects)
        case Coprocess(name=None, command=Simple(words=(first, *rest))):
            named = literal(first) == "COPROC"
            node = Coprocess(node.command._replace(words=tuple(rest) if named else node.command.words), "COPROC")
        case Coprocess(name=None):
            node = node._replace(name="COPROC")
    if not isinstance(node, tuple):
        return node
    inner = [without_spelling(child) for child in node]
    return type(node)(*inner) if hasattr(node, "_fields") else tuple(inner)


def said_otherwise(lines, folder):
    """Lines that the reader reads in another way than bash, which is asked to print what it has read."""
    # Bash prints `! time` as `time !`, `|&` as `2>&1 |`, `1<>` as `<>`, which is `0<>`, and the words behind a
    # here-document after its body.
    plain = [line for line in lines if not re.search(r"! +time|\|&|<<[^<]|\$'|\b0*1<>", line)]
    scripts = [(line, script) for line in plain if (script := read_or_none(line)) is not None and script.lists]
    assert len(scripts) >= len(plain) // 3
    for (line, script), text in zip(scripts, printed([line for line, _ in scripts], folder), strict=True):
        body = read_line(text).lists[0].pipelines[0].stages[0].body.script if text else None
        if without_spelling(body) != without_spelling(script):
            yield line


def sample_of_real_lines():
    lines = [line for line in shared("data/eval/nl2bash.txt").read_text(encoding="utf-8").split("\n") if line.strip()]
    size = scale("shell_parsers_lines")
    return lines if size >= len(lines) else random.Random(seed()).sample(lines, size)


def random_lines():
    grammar = Grammar(random.Random(seed()))
    lines = (grammar.line() for _ in range(scale("shell_parsers_fuzz")))
    return [line for line in lines if not line.startswith(("-", "+"))]


def test_real_lines_say_what_bash_prints_of_them(tmp_path):
    assert not list(said_otherwise(sample_of_real_lines(), tmp_path))


def test_random_lines_say_what_bash_prints_of_them(tmp_path):
    assert not list(said_otherwise(random_lines(), tmp_path))


def test_real_lines_are_read_by_both_parsers_and_none_that_bash_rejects():
    lines = sample_of_real_lines()
    valid = accepted(lines)
    understood = [not parse(line, SHFMT).doubts for line in lines]
    assert not [line for line, good, ours in zip(lines, valid, understood, strict=True) if ours and not good]
    share = sum(ours for good, ours in zip(valid, understood, strict=True) if good) / sum(valid)
    assert share >= 0.97, share


def test_random_lines_that_the_reader_accepts_are_valid_and_say_the_same_to_shfmt():
    lines = random_lines()
    scripts = [(line, script) for line in lines if (script := read_or_none(line)) is not None]
    assert len(scripts) >= len(lines) // 3
    valid = accepted([line for line, _ in scripts])
    assert not [line for (line, _), good in zip(scripts, valid, strict=True) if not good]
    agreed, differ = 0, []
    for line, script in scripts:
        try:
            theirs = SHFMT.read(line)
        except RefusedLineError:
            continue
        agreed += theirs == script
        # a backslash at the end of a comment continues the line for shfmt, though not for bash
        if theirs != script and not COMMENT_CONTINUED.search(line):
            differ.append(line)
    assert not differ, differ[:3]
    assert agreed >= len(scripts) // 2


@pytest.mark.parametrize("line", ["{ -:y_1=[ind; }", "{ y=[a]* P/H+=a:b[a]* test; }", "{ export -l \\;x=[a-z]*; }"])
def test_an_assignment_to_what_is_no_name_is_refused_of_shfmt(line):
    with pytest.raises(RefusedLineError, match="no name"):
        SHFMT.read(line)


@pytest.mark.parametrize("loop", ["for", "select"])
def test_what_bash_takes_for_the_end_of_a_case_is_refused_as_the_word_of_a_loop(loop):
    line = "case x in (2) {loop} i in {words}; do x; done;; esac"
    valid = accepted([line.format(loop=loop, words=words) for words in ("a esac", "'esac'", "esac")])
    assert valid == [True, True, False]
    for words, good in (("a esac", True), ("'esac'", True), ("esac", False), ("\\\n esac", False)):
        assert (read_or_none(line.format(loop=loop, words=words)) is not None) is good, words


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["a", " ", "\n", ";", "&", "|", "'", '"', "`", "\\", "$", "(", ")", "{", "}", "[[", "]]", "<", ">", "<<E", "E", "#", "=", "x=", "!",
             "if", "then", "fi", "do", "done", "for", "in", "case", "esac", "$((", "))", "${x", ":-", "$'", "time", "-p", "é", "\t", "\r", "\0", "1"]
        ),
        max_size=14,
    ).map("".join)
)  # fmt: skip
def test_any_text_is_read_or_refused(text):
    read_or_none(text)
    found = parse(text, None)
    assert found.doubts or found.readings == (found.script,)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30))
def test_any_characters_are_read_or_refused(text):
    line = text.encode("utf-8", "replace").decode()
    read_or_none(line)
    found = parse(line, None)
    assert found.doubts or found.readings == (found.script,)
