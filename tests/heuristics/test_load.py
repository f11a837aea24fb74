"""Heuristics files: every mistake is refused at its place with what to write instead, and its correct twin loads."""

from pathlib import Path

import pytest

from shield.errors import PolicyError
from shield.heuristics.load import MAX_FILES, load_heuristics
from shield.heuristics.patterns import MAX_PATTERNS, Filter
from shield.heuristics.rule import Pattern
from shield.types import Answer, Severity, TextKind

RULE = {
    "id": "mine.rule",
    "severity": "high",
    "kinds": "{tool_result: block, prose: escalate}",
    "patterns": "['open the gate']",
    "reason": "the text opens the gate",
}


def rule(**changes) -> str:
    """A rule in block form, one key a line; None leaves a key out."""
    keys = {key: value for key, value in {**RULE, **changes}.items() if value is not None}
    return "".join(f"{'  - ' if place == 0 else '    '}{key}: {keys[key]}\n" for place, key in enumerate(keys))


def text(*rules: str, head: str = "") -> str:
    return f"version: 1\nname: mine\n{head}rules:\n" + "".join(rules)


def load(folder: Path, *texts: str):
    for number, one in enumerate(texts):
        (folder / f"{number}.yaml").write_text(one, encoding="utf-8")
    return load_heuristics(folder)


def refused(folder: Path, *texts: str) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        load(folder, *texts)
    return caught.value


def test_a_file_says_what_it_says(tmp_path) -> None:
    heuristics = load(tmp_path, text(rule(advice="close it", case="true", near="['now']")))
    found = heuristics.rule("mine.rule")
    assert (found.severity, found.reason, found.advice, found.case) == (
        Severity.HIGH,
        "the text opens the gate",
        "close it",
        True,
    )
    assert found.kinds == {TextKind.TOOL_RESULT: Answer.BLOCK, TextKind.PROSE: Answer.ESCALATE}
    with pytest.raises(KeyError):
        heuristics.rule("another")


REFUSED = [  # rule or head, line, column, key, part of the message
    (rule(colour="red"), 9, 5, None, "unknown key `colour` in a rule"),
    (rule(reasons="x"), 9, 5, None, "did you mean `reason`?"),
    (rule(id=None), 4, 5, None, "needs the key `id`"),
    (rule(severity=None), 4, 5, None, "needs the key `severity`"),
    (rule(kinds=None), 4, 5, None, "needs the key `kinds`"),
    (rule(reason=None), 4, 5, None, "needs the key `reason`"),
    (rule(id="'A rule'"), 4, 9, None, "`id` is 1 to 64 of a-z"),
    (rule(id="model.mine"), 4, 9, "id", "is Shield's own"),
    (rule(id="tier1.mine"), 4, 9, "id", "is Shield's own"),
    (rule(severity="hihg"), 5, 15, None, "did you mean `high`?"),
    (rule(kinds="{}"), 6, 12, None, "`kinds` is empty"),
    (rule(kinds="[prose]"), 6, 12, None, "mapping"),
    (rule(kinds="{prosa: block}"), 6, 13, None, "did you mean `prose`?"),
    (rule(kinds="{prose: allow}"), 6, 20, None, "unknown `prose` `allow`"),
    (rule(kinds="{command: block}"), 6, 22, "kinds", "of a command text a phrase may only `escalate`"),
    (rule(kinds="{code: block}"), 6, 19, "kinds", "of a code text a phrase may only `escalate`"),
    (rule(patterns=None), 4, 5, "rule `mine.rule`", "either `patterns` or `secrets`"),
    (rule(secrets="all"), 4, 5, "rule `mine.rule`", "either `patterns` or `secrets`"),
    (rule(patterns="[]"), 7, 15, None, "`patterns` is empty"),
    (rule(patterns="['']"), 7, 16, None, "a pattern of `patterns` is empty"),
    (rule(patterns="open"), 7, 15, None, "`patterns` is a list"),
    (rule(patterns="['(open']"), 7, 16, "rule `mine.rule`, patterns", "missing )"),
    (rule(patterns="['a', 'b(?=c)']"), 7, 21, "rule `mine.rule`, patterns", "as RE2 takes it"),
    (rule(patterns="['(?i']"), 7, 16, "rule `mine.rule`, patterns", "as RE2 takes it"),
    (rule(patterns="['x*']"), 7, 16, "rule `mine.rule`, patterns", "matches where nothing is"),
    (rule(patterns=r"['gate', 'zz\C']"), 7, 24, "patterns", "`\\C` is a byte"),
    (rule(patterns=r"['zz\\\C']"), 7, 16, "patterns", "write `(?s:.)` for any letter"),
    (rule(near=r"['\Ca']"), 9, 12, "near", "a part of a letter"),
    (rule(near="['(']"), 9, 12, "rule `mine.rule`, near", "as RE2 takes it"),
    (rule(near="['$']"), 9, 12, "rule `mine.rule`, near", "matches where nothing is"),
    (rule(unless="['x', '^']"), 9, 19, "rule `mine.rule`, unless", "matches where nothing is"),
    (rule(patterns="['(?:abcdefgh){900}']"), 7, 16, "rule `mine.rule`, patterns", "split it"),
    (rule(patterns="['a {{gate}}']"), 7, 16, "patterns", "there is no word `gate`; name it in `words`"),
    (rule(patterns=f"[{'a' * 8001}]"), 7, 16, "patterns", "longer than 8000 characters"),
    (rule(case="'yes'"), 9, 11, None, "`case` is true or false"),
    (rule(patterns=None, secrets="all", case="true"), 9, 5, None, "the rule has none"),
    (rule(patterns=None, secrets="[githubtoken]"), 8, 15, "secrets", "did you mean `github_token`?"),
    (rule(patterns=None, secrets="[jwt, jwt]"), 8, 20, "secrets", "named twice"),
    (rule(patterns=None, secrets="[]"), 8, 14, None, "`secrets` is empty"),
    (rule(patterns=None, secrets="every"), 8, 14, None, "`secrets` is a list"),
    (rule(reason="''"), 8, 13, None, "`reason` is empty"),
    (rule(examples="{matches: []}"), 9, 16, None, "did you mean `match`?"),
    (rule(examples="{match: [{kind: code, text: x}]}"), 9, 31, None, "does not look at code texts"),
    (rule(examples="{match: [{kind: prose}]}"), 9, 24, None, "needs the key `text`"),
    (rule(examples="{no_match: [{kind: prose, text: x, answer: block}]}"), 9, 50, None, "has no answer"),
    (rule(examples="{match: [{kind: prose, text: x}]}"), 9, 44, "rule `mine.rule`, examples", "does not match, but"),
    (
        rule(examples="{no_match: [{kind: prose, text: open the gate}]}"),
        9,
        47,
        "rule `mine.rule`, examples",
        "matches the rule",
    ),
    (
        rule(examples="{match: [{kind: prose, text: open the gate, answer: block}]}"),
        9,
        44,
        "rule `mine.rule`, examples",
        "comes out as `escalate`",
    ),
]


@pytest.mark.parametrize(("one", "line", "column", "key", "part"), REFUSED, ids=[row[-1] for row in REFUSED])
def test_a_rule_refused_at_its_place(tmp_path, one, line, column, key, part) -> None:
    error = refused(tmp_path, text(one))
    assert part in error.detail
    assert (error.file, error.line, error.column, error.key) == (str(tmp_path / "0.yaml"), line, column, key)
    assert error.detail[0] == error.detail[0].lower()
    assert not error.detail.endswith(".")


@pytest.mark.parametrize(
    ("whole", "line", "part"),
    [
        ("version: 2\nname: mine\nrules:\n" + rule(), 1, "`version` must be 1, not `2`"),
        ("name: mine\nrules:\n" + rule(), 1, "needs the key `version`"),
        ("version: 1\nrules:\n" + rule(), 1, "needs the key `name`"),
        ("version: 1\nname: mine\n", 1, "needs the key `rules`"),
        ("version: 1\nname: mine\nrules: []\n", 3, "`rules` is empty"),
        ("version: 1\nname: Mine\nrules:\n" + rule(), 2, "`name` is 1 to 64"),
        (text(rule(), head="macros: {}\n"), 3, "unknown key `macros`"),
        (text(rule(), head="words: {1a: x}\n"), 3, "a word's name"),
        (text(rule(), head="words: {a: ''}\n"), 3, "`a` is empty"),
        (text(rule(), head="words: {a: x, b: 'y{{a}}'}\n"), 3, "stands in a word itself"),
        (text(rule(patterns="['{{a}}']"), head="words: {a: 'x\\C'}\n"), 8, "`\\C` is a byte"),
        (text(rule(), head="unless: ['(']\n"), 3, "as RE2 takes it"),
        (text(rule(), rule()), 9, "the id `mine.rule` is used twice"),
        ("- 1\n", 1, "a heuristics file is a mapping"),
        ("version: 1\nname: mine\nrules: [1]\n", 3, "a rule is a mapping"),
        ("version: 1\nname: &a mine\nrules: []\n", 2, "anchor"),
        ("", 1, "empty"),
    ],
)
def test_a_file_refused_at_its_place(tmp_path, whole, line, part) -> None:
    error = refused(tmp_path, whole)
    assert part in error.detail
    assert error.line == line


def test_an_id_is_one_rule_in_all_files(tmp_path) -> None:
    error = refused(tmp_path, text(rule()), text(rule()))
    assert error.file == str(tmp_path / "1.yaml")
    assert f"first in {tmp_path / '0.yaml'}:4" in error.detail


def test_a_folder_without_rules_does_not_load(tmp_path) -> None:
    assert "there is no heuristics file" in refused(tmp_path).detail
    (tmp_path / "README.md").write_text("nothing")
    assert "there is no heuristics file" in refused(tmp_path).detail
    with pytest.raises(PolicyError, match="cannot be read: no such file"):
        load_heuristics(tmp_path / "none")
    with pytest.raises(PolicyError, match="cannot be read: not a directory"):
        load_heuristics(tmp_path / "README.md")


def test_what_the_owner_adds_adds(tmp_path) -> None:
    shipped, own = tmp_path / "shipped", tmp_path / "own"
    shipped.mkdir()
    load(shipped, text(rule()))
    alone = load_heuristics(shipped)
    assert load_heuristics(shipped, own).digest == alone.digest  # nothing there
    own.mkdir()
    assert load_heuristics(shipped, own).digest == alone.digest  # nothing in it
    (own / "0.yaml").write_text(text(rule(id="house.one", patterns="['heron']")))
    both = load_heuristics(shipped, own)
    assert set(both.rules) == {"mine.rule", "house.one"}
    assert both.digest != alone.digest
    assert [found.rule for found in both.scan("the heron", TextKind.TOOL_RESULT)] == ["house.one"]
    assert load_heuristics(shipped, beside=own / "0.yaml").digest == both.digest
    (own / "link.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    (tmp_path / "elsewhere.yaml").write_text(text(rule(id="house.two")))
    assert "house.two" in load_heuristics(shipped, own).rules


def test_what_the_owner_adds_takes_no_rule_s_place(tmp_path) -> None:
    shipped, own = tmp_path / "shipped", tmp_path / "own"
    for folder in (shipped, own):
        folder.mkdir()
        (folder / "0.yaml").write_text(text(rule()))
    with pytest.raises(PolicyError) as caught:
        load_heuristics(shipped, own)
    assert caught.value.file == str(own / "0.yaml")
    assert f"used twice, first in {shipped / '0.yaml'}:4" in caught.value.detail


@pytest.mark.parametrize("name", ["0.yaml", "0.yml", "0.YAML", "0.yaml.txt", "0.Yml.bak", "sub/0.txt"])
def test_what_the_owner_adds_is_not_left_out(tmp_path, name) -> None:
    shipped, path = tmp_path / "shipped", tmp_path / "own" / name
    shipped.mkdir()
    load(shipped, text(rule()))
    path.parent.mkdir(parents=True)
    path.write_text("version: 1\n")
    with pytest.raises(PolicyError, match=str(tmp_path / "own")):
        load_heuristics(shipped, tmp_path / "own")


@pytest.mark.parametrize(
    "name",
    [".0.yaml.swp", "0.yaml~", "README.md", ".git/0.yaml", ".#0.yaml", "._0.yaml", ".0.yaml", "#0.yaml#", "#0.yaml"],
)
def test_what_is_plainly_no_file_of_rules_is_passed_over(tmp_path, name) -> None:
    shipped, path = tmp_path / "shipped", tmp_path / "own" / name
    shipped.mkdir()
    alone = load(shipped, text(rule()))
    path.parent.mkdir(parents=True)
    path.write_text("version: 1\n")
    assert load_heuristics(shipped, tmp_path / "own").digest == alone.digest


def test_a_link_that_an_editor_left_is_passed_over(tmp_path) -> None:
    alone = load(tmp_path, text(rule()))
    (tmp_path / ".#0.yaml").symlink_to("user@host.1234:1700000000")
    assert load_heuristics(tmp_path).digest == alone.digest


@pytest.mark.parametrize("what", ["link", "lost link", "file"])
def test_what_the_owner_adds_lies_in_a_folder_of_its_own(tmp_path, what) -> None:
    shipped, own, there = tmp_path / "shipped", tmp_path / "own", tmp_path / "there"
    for folder in (shipped, there):
        folder.mkdir()
    load(shipped, text(rule()))
    (there / "0.yaml").write_text(text(rule(id="house.one")))
    if what == "file":
        own.write_text(text(rule(id="house.one")))
    else:
        own.symlink_to(there if what == "link" else tmp_path / "gone")
    with pytest.raises(PolicyError, match="a link or a file, and `shield serve` takes a folder") as caught:
        load_heuristics(shipped, own)
    assert caught.value.file == str(own)
    own.unlink()
    there.rename(own)
    assert "house.one" in load_heuristics(shipped, own).rules


def test_what_cannot_be_looked_at_is_not_taken_for_missing(tmp_path) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    load(shipped, text(rule()))
    with pytest.raises(PolicyError, match="cannot be read: not a directory"):
        load_heuristics(shipped, shipped / "0.yaml" / "heuristics")


def test_only_what_was_not_released_is_tried_again(monkeypatch) -> None:
    tried = []
    monkeypatch.setattr("shield.heuristics.load._check_example", lambda _, rule, example: tried.append(rule.id))
    shipped = Path(__file__).parents[2] / "policies" / "heuristics"
    load_heuristics(shipped)
    assert tried == []
    load_heuristics(shipped, prove=True)
    assert len(tried) > 500


def test_no_file_is_passed_over(tmp_path) -> None:
    load(tmp_path, text(rule()))
    (tmp_path / "more.yml").write_text(text(rule(id="b")))
    assert "rename or move it" in refused(tmp_path).detail
    (tmp_path / "more.yml").unlink()
    (tmp_path / "folder.yaml").mkdir()
    assert "regular file" in refused(tmp_path).detail or "cannot be read" in refused(tmp_path).detail
    (tmp_path / "folder.yaml").rmdir()
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    assert "cannot be read" in refused(tmp_path).detail


def test_more_files_or_patterns_than_fit_are_refused(tmp_path) -> None:
    many = [text(rule(id=f"r{number}")) for number in range(MAX_FILES)]
    assert len(load(tmp_path, *many).rules) == MAX_FILES
    assert "merge some" in refused(tmp_path, *many, text(rule(id="last"))).detail


def test_as_many_patterns_as_are_taken_are_all_found(tmp_path) -> None:
    # RE2's filter answers "none" for every text when it has no room: here it has
    words = [f"phrase{number:04d}end" for number in range(MAX_PATTERNS)]
    heuristics = load(tmp_path, text(rule(patterns=str(words))))
    for number in (0, 1, MAX_PATTERNS // 2, MAX_PATTERNS - 1):
        assert [one.rule for one in heuristics.scan(f"a {words[number]} b", TextKind.PROSE)] == ["mine.rule"]
    error = refused(tmp_path, text(rule(patterns=str([*words, "onemore"]))))
    assert f"more than {MAX_PATTERNS} patterns" in error.detail


def test_words_are_put_in_as_one_piece(tmp_path) -> None:
    head = "words: {gate: 'gate|door', Open: open}\n"
    heuristics = load(tmp_path, text(rule(patterns="['{{Open}} the {{gate}}s']", near="['{{gate}}s?!']"), head=head))
    assert heuristics.scan("open the doors!", TextKind.PROSE)
    assert not heuristics.scan("open the gate!", TextKind.PROSE)
    assert not heuristics.scan("open the doors", TextKind.PROSE)
    assert load(tmp_path, text(rule(patterns="['a{2}\\{\\{x\\}\\}']"))).scan("aa{{x}}", TextKind.PROSE)


def test_a_backslash_before_a_c_is_no_byte(tmp_path) -> None:
    heuristics = load(tmp_path, text(rule(patterns=r"['zz\\C', 'yy(?s:.)']")))
    assert [(one.start, one.end) for one in heuristics.scan("\u00e4 zz\\C", TextKind.PROSE)] == [(2, 6)]
    assert [(one.start, one.end) for one in heuristics.scan("yy\u00e4", TextKind.PROSE)] == [(0, 3)]


def test_half_a_letter_is_counted_as_one(tmp_path) -> None:
    """No file that loads has such a pattern; whatever has, a text is judged."""
    found = load(tmp_path, text(rule())).rule("mine.rule")
    bytes_of = Filter([(found, Pattern(text=r"zz\C", mark=found.mark))])
    assert list(bytes_of.spans(0, "\u00e4 zz\u00e4".encode(), narrow=False)) == [(2, 5)]


def test_the_digest_is_of_all_that_is_said(tmp_path) -> None:
    first = load(tmp_path, text(rule())).digest
    assert first.startswith("sha256:")
    assert len(first) == 71
    assert load(tmp_path, "# a remark\n" + text(rule())).digest == first
    assert load(tmp_path, text(rule(severity="low"))).digest != first
    assert load(tmp_path, text(rule(patterns="['open the gates']"))).digest != first
    assert load(tmp_path, text(rule()), text(rule(id="b"))).digest != first
