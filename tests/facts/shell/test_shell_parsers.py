"""The strict reader, the second parser and what they come to together, on a table of lines and on trouble."""

import ast
import contextlib
import stat
import threading
from itertools import groupby
from pathlib import Path

import pytest

from shell_shown import shown
from shield.facts.shell.grammar.ansi_c import ansi_c
from shield.facts.shell.grammar.parse import defined, parse
from shield.facts.shell.grammar.reader import STEPS_A_BYTE, read_line, read_within
from shield.facts.shell.grammar.reader_cursor import Budget
from shield.facts.shell.grammar.script import Group, Pipeline, RefusedLineError, Script, Simple, literal
from shield.facts.shell.grammar.shfmt import Shfmt, shfmt_binary

SHFMT = Shfmt(shfmt_binary())
CLOSERS = ("fi", "done", "esac", "}", ")", "]]", '"', "'", "`", "))")


def table():
    """(line, script as shown or None, why it is refused, whether the second parser agrees)."""
    rows = Path(__file__).with_name("shell_parsers_lines.txt").read_text(encoding="utf-8").splitlines()
    for filled, group in groupby((row for row in rows if not row.startswith("#")), key=bool):
        if filled:
            line, said, *alone = group
            refused = said.removeprefix("refused: ") if said.startswith("refused: ") else None
            script = None if refused else ast.literal_eval(said) if said[0] in "'\"" else said
            yield pytest.param(ast.literal_eval(line), script, refused, not alone, id=line[1:60])


ROWS = list(table())
ACCEPTED = [row for row in ROWS if row.values[2] is None]


@pytest.mark.parametrize(("line", "script", "refused", "agreed"), ROWS)
def test_what_the_reader_says(line, script, refused, agreed):
    if refused is None:
        assert shown(read_line(line)) == script
    else:
        with pytest.raises(RefusedLineError) as why:
            read_line(line)
        assert str(why.value) == refused


@pytest.mark.parametrize(("line", "script", "refused", "agreed"), ROWS)
def test_only_what_two_parsers_say_is_understood(line, script, refused, agreed):
    parsed = parse(line, SHFMT)
    assert bool(parsed.doubts) == (refused is not None or not agreed)
    if not parsed.doubts:
        assert parsed.readings == (parsed.script,) == (read_line(line),)
        assert parsed.functions == defined(parsed.script)


def test_the_table_is_long_and_has_its_broken_lines():
    assert len(ROWS) >= 350
    assert len(ROWS) - len(ACCEPTED) >= 100


@pytest.mark.parametrize(("line", "script", "refused", "agreed"), [row for row in ACCEPTED if row.values[0].endswith(CLOSERS)])  # fmt: skip
def test_a_line_without_its_end_is_refused(line, script, refused, agreed):
    closer = max((closer for closer in CLOSERS if line.endswith(closer)), key=len)
    cut = line.removesuffix(closer)
    try:
        left = read_line(cut)
    except RefusedLineError:
        return
    # `echo };` without its end, or an argument that only looks like one.
    assert shown(left) != script
    assert isinstance(read_line(line).lists[-1].pipelines[-1].stages[-1], Simple)


@pytest.mark.parametrize("text", ["a\rb", "'a\r'", "a\0b", "a\u00a0b", "a\u2028b", "a\x07b", "a\x7f", "\u200ba"])
def test_characters_that_look_like_blanks_are_refused(text):
    with pytest.raises(RefusedLineError):
        read_line(text)
    assert parse(text, SHFMT).doubts


def test_quoted_control_characters_are_text():
    script = read_line("a '\x07\x7f\u00a0' \"\x1b\"")
    words = script.lists[0].pipelines[0].stages[0].words
    assert [literal(word) for word in words] == ["a", "\x07\x7f\u00a0", "\x1b"]


def test_a_nul_at_the_end_of_ansi_c_quoting_ends_the_text():
    assert (ansi_c("\\0"), ansi_c("a\\x00"), ansi_c("a\\0b")) == ("", "a", None)


# --- the bound ----------------------------------------------------------------------------------------------------------


SIZE = 16_384
NASTY = {
    "substitution": "$(", "double substitution": '"$(', "arithmetic": "$((", "command arithmetic": "((",
    "arithmetic of subshells": "((a) ", "brace": "{ ", "brace word": "{", "parameter": "${x:-", "array parameter": "${x[",
    "subshell": "(", "process": "<(", "backtick": "`", "escaped backtick": "`\\`", "escapes": "\\\\`", "single": "'",
    "double": '"', "pairs": "''", "double pairs": '""', "heredoc": "<<E ", "heredoc lines": "a <<E\nE\n", "tabs": "a <<-E\n\tE\n",
    "case": "case x in a) ", "clauses": "a) b;; ", "if": "if a; then ", "while": "while ", "for": "for i in a; do ",
    "test": "[[ ", "test not": "! ", "test groups": "[[ ( ", "conditions": "[[ a && ", "function": "f() { ", "names": "f ",
    "function names": "a" * 50 + " ( ", "coproc": "coproc ", "time": "time ", "and": "a&&", "or": "a||", "pipe": "a|",
    "background": "a&", "semicolon": "a;", "newline": "a\n", "redirect": ">a", "redirect fd": "2>&1", "digits": "1",
    "assignments": "a=b ", "array": "a=(", "elements": "[x]=y ", "subscripts": "a[", "continuation": "\\\n",
    "continued words": "a \\\n", "comment": "#\n", "blanks": " ", "tabs and blanks": " \t", "dollar": "$", "dollars": "$$",
    "variables": "$x", "quoted variables": '"$x"', "ansi": "$'\\n'", "brackets": "[", "regular": "[[ a =~ (", "braces": "{a,b}",
}  # fmt: skip


@pytest.mark.parametrize("piece", NASTY.values(), ids=NASTY)
@pytest.mark.parametrize("head", ["", "[[ a ", "a=(", "a <<E\n", "$(("])
def test_every_repetition_ends_within_a_step_for_each_byte_and_more(piece, head):
    line = (head + piece * SIZE)[:SIZE]
    budget = Budget(STEPS_A_BYTE * SIZE)
    with contextlib.suppress(RefusedLineError):
        read_within(line, budget)
    assert budget.spent <= 8 * SIZE


def test_a_budget_that_is_spent_refuses():
    budget = Budget(3)
    with pytest.raises(RefusedLineError, match="too many steps"):
        read_within("a; b; c", budget)
    assert budget.spent == 4


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("$(", ")"),
        ("( ", ")"),
        ("{ ", "; }"),
        ("if a; then ", "; fi"),
        ("a <(", ")"),
        ("! [[ ! ", " ]]"),
        ("${x:-", "}"),
    ],
)
def test_depth_is_bounded(head, tail):
    deep = head * 40 + "a" + tail * 40
    with pytest.raises(RefusedLineError):
        read_line(deep)
    assert parse(deep, SHFMT).doubts
    if not head.startswith("!"):
        read_line(head * 9 + "a" + tail * 9)


def test_a_long_chain_is_no_depth():
    line = "a\n" + "b | c && d\n" * 1_000
    assert len(parse(line, SHFMT).script.lists) == 1_001
    assert not parse(line, SHFMT).doubts
    chain = "|".join(["a $x"] * 120) + "&&" + "||".join(["b $x"] * 120)
    assert not parse(chain, SHFMT).doubts


CHAINS = {
    "pipe": ("a $x | ", "b"), "list": ("a $x && ", "b"), "expression": ("", "a $((" + "1+" * 4_000 + "1))"),
    "command": ("", "((" + "(" * 600 + "1" + ")" * 600 + "))"), "test": ("", "[[ " + "a || " * 1_000 + "b ]]"),
    "index": ("", "a=([" + "1+" * 600 + "1]=b)"), "offset": ("", "a ${x:" + "1+" * 600 + "1}"),
    "within": ("", "a $(b <(" + "c $x | " * 400 + "d))"), "element": ("", "a ${x[" + "1+" * 600 + "1]}"),
    "counting": ("", "for ((i=0;" + "1+" * 600 + "1;)); do a; done"), "subscript": ("", "x[" + "1+" * 600 + "1]=2"),
    "refused": ("", "$(" * 300 + "a" + ")" * 300 + " " * 200),
}  # fmt: skip


@pytest.mark.parametrize(("piece", "end"), CHAINS.values(), ids=CHAINS)
def test_the_second_parser_is_not_asked_for_what_it_takes_too_long_over(piece, end):
    class Asked:
        def read(self, text):
            raise AssertionError(text)

    line = piece * ((SIZE - len(end)) // len(piece)) + end if piece else end
    assert parse(line, Asked()).doubts in (("too long a chain for the second parser",), ("nested too deep",))


def test_long_text_without_chains_is_asked_for():
    for line in ("cat <<E\n" + "a | b $x && c\n" * 1_000 + "E", "a $x; " * 2_000 + "b", "a '" + "1+" * 4_000 + "' $x"):
        assert not parse(line, SHFMT).doubts


# --- what is seen where a line is not understood --------------------------------------------------------------------------


def names(script):
    found = set()
    for item in script.lists:
        for pipeline in item.pipelines:
            for stage in pipeline.stages:
                if isinstance(stage, Simple) and stage.words:
                    found.add(literal(stage.words[0]))
                elif isinstance(stage, Group):
                    found |= names(stage.script)
    return found


@pytest.mark.parametrize(
    "line",
    [
        "if a; then rm x; fi; declare -a z=(1 2)",
        "for 1 in a; do rm x; done",
        "echo \"${x:-'`rm x`'}\"",
        "f() { rm x; }; {fd}>y f",
        "case x in @(a)) rm x;; esac",
        "while a; do rm x; done; echo ${y~}",
        "rm x <<$E\n$E",
        "(rm x); !(y)",
    ],
)
def test_commands_of_a_line_that_is_not_understood_are_in_a_reading(line):
    parsed = parse(line, SHFMT)
    assert parsed.doubts
    assert parsed.readings[-1] == parsed.script
    assert "rm" in set().union(*map(names, parsed.readings))


def test_where_parsers_differ_each_reading_is_there():
    class Another:
        def read(self, text):
            return read_line("other program")

    parsed = parse("a $x", Another())
    assert parsed.doubts == ("two parsers differ",)
    assert set().union(*map(names, parsed.readings)) == {"a", "other"}
    assert {"f", "g"} <= parse("f() { a; }; function g { b; }; {fd}>x f", SHFMT).functions


def test_plain_words_need_no_second_parser():
    for line in ("a -b 'c d' \"e\" | f && g >h 2>&1; i=j k &", "\\ls a\\ b", "a\nb"):
        assert not parse(line, None).doubts
    for line in ("a $x", "a; (b)", "a `b`", "! a", "a <<E\nE", "a[1]=b"):
        assert parse(line, None).doubts == ("there is no second parser for more than plain words",)


# --- the second parser ------------------------------------------------------------------------------------------------


def program(folder: Path, text: str) -> Path:
    path = folder / "shfmt"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("exec sleep 30", "too long"),
        ("cat >/dev/null; exec >&-; exec sleep 30", "too long"),
        ("exit 1", "does not accept"),
        ("cat >/dev/null; exit 0", "too deep"),
        ("cat >/dev/null; echo '[]'", "does not accept"),
        ("cat >/dev/null; echo '{\"Stmts\": [{}]}'", "differ"),
        ('cat >/dev/null; echo \'{"Stmts": [{"Cmd": {"Type": "CallExpr", "New": 1}}]}\'', "with new"),
        ("cat >/dev/null; echo '{\"Stmts\": 7}'", "not what it should be"),
        ("exec cat /dev/zero", "too much"),
        ("kill -9 $$", "does not accept"),
        ("while :; do :; done", "does not accept"),
        ("exec 0<&-; exit 1", "does not accept"),
    ],
)
def test_trouble_with_the_program_is_a_doubt(tmp_path, text, reason):
    found = parse("a $x", Shfmt(program(tmp_path, text), limit_s=0.5 if "sleep" in text else 20.0))
    assert len(found.doubts) == 1
    assert reason in found.doubts[0]


def test_a_program_that_is_not_there_is_a_doubt(tmp_path):
    assert "not installed" in parse("a $x", Shfmt(None)).doubts[0]
    assert "could not be started" in parse("a $x", Shfmt(tmp_path / "none")).doubts[0]


def test_the_program_gets_nothing_but_the_text(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    seen = tmp_path / "seen"
    Shfmt(program(tmp_path, f'{{ pwd; echo "$*"; cat; echo; /usr/bin/env; }} >{seen}; exit 1'))._ask("a $x")
    rows = seen.read_text().splitlines()
    assert rows[:3] == ["/", "--to-json -ln bash", "a $x"]
    assert not any("SECRET" in row for row in rows)


def test_an_answer_is_kept_and_trouble_is_not(tmp_path):
    count = tmp_path / "count"
    second = Shfmt(program(tmp_path, f"echo x >>{count}; cat >/dev/null; echo '{{\"Stmts\": []}}'"))
    for _ in range(3):
        assert second.read("a $x") == Script(())
    assert count.read_text().count("x") == 1
    slow = Shfmt(program(tmp_path, f"echo x >>{count}; exec sleep 30"), limit_s=0.2)
    for _ in range(2):
        with pytest.raises(RefusedLineError, match="too long"):
            slow.read("a $x")
    assert count.read_text().count("x") == 3


def test_what_is_kept_is_bounded(tmp_path):
    second = Shfmt(program(tmp_path, "cat >/dev/null; echo '{\"Stmts\": []}'"))
    for index in range(70):
        second._keep(f"{index}" + "x" * 16_000, Script(()))
    assert len(second._answers) == 65
    assert second._held == sum(map(len, second._answers)) <= 1 << 20
    assert "69" + "x" * 16_000 in second._answers


def test_one_object_serves_many_threads():
    second = Shfmt(shfmt_binary())
    lines = [f"a $x{index % 7}; b `c` | d" for index in range(28)]
    wrong = []

    def work(part):
        wrong.extend(line for line in part if second.read(line) != read_line(line))

    threads = [threading.Thread(target=work, args=(lines[index::4],)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(second._answers) == 7


def test_backticks_with_escapes_are_read_anew_but_not_without_end():
    assert not parse('a `b "\\$x" \\`c\\`` `d \\\\e`', SHFMT).doubts
    many = " ".join(["`b \\$x`"] * 20)
    assert "does not accept" in parse(f"a {many}", SHFMT).doubts[0]


def test_a_pipeline_says_no_more_than_there_is():
    assert read_line("a |& b") == read_line("a | b")
    assert read_line("time -p a") == read_line("time a")
    assert read_line("! ! a").lists[0].pipelines[0] == Pipeline((Simple((), read_line("a").lists[0].pipelines[0].stages[0].words),))  # fmt: skip
