"""Texts that an agent chooses so that looking at them takes more than their length: memory, or steps for each two
letters. What would end the process is read in one of its own; of the others, each would take minutes."""

import subprocess
import sys
from pathlib import Path

import pytest

import shield
from shell_world import WS, facts
from shield.facts.hosts import host_fact
from shield.facts.made import MadeFile
from shield.facts.programs.literals import literal_deeds
from shield.facts.shell.grammar.parse import parse
from shield.facts.shell.grammar.script import Script
from shield.facts.shell.grammar.tree import Tree, read_tree
from shield.facts.shell.record import Record

SPRAWLING = ["a|" * 20_000, "\\" + "]|" * 8_000 + "case a infithen", "[[)" * 8_000, ")" * 40_000]


def in_half_a_gigabyte(code: str) -> int:
    """The exit status of a process that runs `code` and has no more memory."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
    environ = {"PYTHONPATH": str(Path(shield.__file__).resolve().parents[1])}
    return subprocess.run([sys.executable, "-P", "-c", limit + code], env=environ, check=False).returncode


@pytest.mark.parametrize("line", SPRAWLING, ids=lambda line: line[:9])
def test_a_line_that_makes_no_sense_costs_no_memory(line):
    assert in_half_a_gigabyte(f"from shield.facts.shell.grammar.parse import parse; parse({line!r}, None)") == 0


def test_a_text_that_is_too_long_for_the_tree_is_not_understood_by_it():
    assert read_tree(b"a|" * 4_000) == Tree(Script(()), complete=False, functions=frozenset())
    assert parse("a|" * 4_000, None).doubts
    assert not parse("a; " * 300 + "a", None).doubts


@pytest.mark.parametrize("form", ["f'{%s}'", "'%%s' %% (%s,)", "'{}'.format(%s)"])
def test_constants_that_hold_each_other_are_not_written_out(form):
    inner = form % "b"
    found = facts(f"python3 -c \"b = (('/etc/passwd',) * 9,); open({inner})\"")
    assert not any("(" in fact.raw for fact in found.paths)
    plain = facts(f"python3 -c \"b = '/etc/passwd'; open({inner})\"")
    assert [fact.raw for fact in plain.paths if "etc" in fact.raw] == ["/etc/passwd"]
    code = f"a = ('x',) * 8192; b = (a,) * 8192; b = (b,) * 8192; open({inner})"
    script = f"""
from shield.facts.programs.python.code import python_deeds
assert python_deeds({code!r}, home="/h") is not None"""
    assert in_half_a_gigabyte(script) == 0


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *(('\\"', language) for language in ("perl", "ruby", "node", "php", "lua", "r", "osascript")),
        *(("/* ", "node"), ("[[", "lua"), ("\\'", "perl"), ("\\`", "php")),
    ],
)
def test_strings_that_nothing_closes_hide_nothing(text, language):
    many = text * (60_000 // len(text))
    names = {language: "unlink", "lua": "os.remove", "r": "unlink", "node": "unlinkSync"}
    quote = "'" if "'" not in text else '"'
    deed = f"{names[language]}({quote}/etc/x{quote})\n"
    for whole in (deed + many, many + "\n" + deed):
        found = literal_deeds(whole, language, home="/h")
        assert found is not None
        assert any("/etc/x" in str(path) for path in found.paths), whole[:40]


def test_a_requirement_behind_a_million_blanks_is_read():
    files = {"r.txt": MadeFile(content=b" " * 1_000_000 + b"a # why\n")}
    assert facts("pip install -r r.txt", files, cwd=WS).commands


def test_settings_of_empty_lines_are_read():
    head = '[remote "origin"]'
    files = {".git/config": MadeFile(content=(head + "\n" * 60_000 + "\turl = https://git.example/x.git\n").encode())}
    assert [fact.host for fact in facts("git push origin main", files).hosts] == ["git.example"]


@pytest.mark.parametrize("line", ["{}", "{}x", "[core]{}\\", "x = a{}b", "x{}\\", "# {}\\"])
@pytest.mark.parametrize("told", ["git status", "git branch -d fix"])
def test_settings_of_many_blanks_are_read(line, told):
    content = ('[remote "origin"]\n' + line.format(" " * 60_000)).encode()
    files = {".git/config": MadeFile(content=content), ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n")}
    assert facts(told, files).commands


def test_words_of_many_letters_and_blanks_are_read():
    script = MadeFile(content=b"run --x=" + b"a" * 60_000 + b" - a" + b"a" * 60_000 + b"b\n")
    assert facts("bash x.sh", {"x.sh": script}).commands
    assert facts("just all", {"justfile": MadeFile(content=b'all a="' + b" " * 60_000 + b'":\n    true\n')}).commands
    assert facts("just all", {"justfile": MadeFile(content=b"x := a" + b" " * 60_000 + b"b\nall:\n")}).commands


def test_a_host_of_marks_is_none():
    assert host_fact("http://a" + "\u0f73" * 20_000 + ".com/") is None


@pytest.mark.parametrize("line", ["find {} -delete", "find {} -exec rm {{}} +", "rm {}", "cat {}"])
def test_no_more_paths_are_looked_at_than_a_rule_can_ask_about(line):
    found = facts(line.format(" ".join(f"d{at}" for at in range(2_000))))
    assert len(found.paths) <= Record.MAX_PATHS * 2
    assert found.unknown


def test_as_many_paths_as_one_works_with_are_looked_at():
    found = facts("cat " + " ".join(f"d{at}" for at in range(900)))
    assert len(found.paths) >= 900
    assert not found.unknown
