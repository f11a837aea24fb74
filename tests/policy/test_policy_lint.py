"""`shield.policy.lint`: each code has a finding and a harmless twin, and nothing that is proven is ever wrong."""

import re
from pathlib import Path

import pytest
import yaml

from policy_conditions import shipped
from shield.facts.categories import CATEGORIES
from shield.policy.lint import CODES, Sure, lint
from shield.policy.lint.vocabulary import unknown_word
from shield.policy.load import add_workspace, load_text
from shield.policy.shelf import Shelf, shipped_shelf
from shield.policy.tools.sources import read_sources

BASELINE = """version: 1
name: baseline
rules:
  - {id: credentials, effect: block, when: 'paths.exists(p, "credential" in p.categories || "credential" in p.covers)'}
"""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "lint.md"
SECTIONS = re.findall(
    r"^## (SH\d+): (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)


def policy_of(block: str) -> str:
    """A block of the page as a whole file: where it is no mapping, it is the rules."""
    body = (
        block if isinstance(yaml.safe_load(block), dict) else "rules:\n" + re.sub("^", "  ", block, flags=re.MULTILINE)
    )
    return f"version: 1\nname: page\n{body}"


def found(text: str, folder: Path):
    """Findings in a policy beside a baseline of one rule; where it extends something, beside the shipped one."""
    (folder / "baseline.yaml").write_text(BASELINE)
    shelf = shipped_shelf() if "extends" in text else Shelf(shipped=folder)
    file = folder / "page.yaml"
    file.write_text(text)
    return lint(read_sources(load_text(text.encode(), str(file), shelf), [str(file)]))


def codes(text: str, folder: Path) -> set[str]:
    return {finding.code.id for finding in found(text, folder)}


def rule(when: str, effect: str = "block") -> str:
    grants = ", grants: path" if effect == "allow" else ""
    return f"version: 1\nname: t\nrules:\n  - {{id: r, effect: {effect}{grants}, when: {when!r}}}\n"


def test_the_page_has_every_code_and_no_other():
    assert [(code, title) for code, title, _ in SECTIONS] == [(code.id, code.title) for code in CODES.values()]
    for code, _, text in SECTIONS:
        said = text.lstrip().split(".", 1)[0].split(":", 1)[0]
        assert said == f"{CODES[code].level.value}, {CODES[code].sure.value}"


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, _, text in SECTIONS])
def test_each_code_is_found_before_and_not_after(code, text, tmp_path):
    before, after = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert code in codes(policy_of(before), tmp_path)
    assert code not in codes(policy_of(after), tmp_path)


@pytest.mark.parametrize("name", ["baseline", "default", "strict", "permissive"])
def test_the_shipped_policies_have_no_error(name):
    assert [one for one in lint(shipped(name)) if one.code.level.value == "error"] == []


@pytest.mark.parametrize(
    "when",
    [
        'paths.exists(p, p.access == "read" && p.access != "read")',
        "paths.exists(p, p.recursive) && paths.all(q, !q.recursive)",
        "!(paths.exists(p, p.recursive)) && paths.exists(x, x.recursive && x.exists)",
        "commands.exists(c, c.name in [])",
        "commands.size() > 3 && !(commands.size() > 2)",
        "malformed ? false : malformed",
        '(malformed && agent == "a") && !(malformed && agent == "a")',
        'paths.exists(p, paths.exists(q, p.access == "read" && q.access == "read" && p.access == "write"))',
        'commands.exists(c, c.name == "a" && c.name == "b") || hosts.exists(h, h.scheme == "a" && h.scheme == "b")',
    ],
)
def test_what_can_never_hold(when, tmp_path):
    assert "SH001" in codes(rule(when), tmp_path)


@pytest.mark.parametrize(
    "when",
    [
        'paths.exists(p, p.access == "read") && paths.exists(p, p.access == "write")',  # two paths
        "paths.exists(p, p.recursive) && paths.exists(q, !q.recursive)",
        'paths.exists(p, paths.exists(q, p.access == "read" && q.access == "write"))',
        'paths.all(p, p.access == "read" && p.access == "write")',  # no path at all
        '"a" in session.written && "b" in session.written',
        'commands.exists(c, "-r" in c.flags && "-f" in c.flags)',
        "commands.size() > 3 && commands.size() < 5",
        'malformed ? agent == "a" : agent == "b"',
        'commands.exists(c, c.argv.exists(a, a == "x") && c.argv.exists(b, b == "y"))',
    ],
)
def test_what_can_hold_is_left_alone(when, tmp_path):
    assert codes(rule(when), tmp_path) & {"SH001", "SH003"} == set()


def test_an_allow_rule_beside_one_that_asks_for_more_has_no_effect(tmp_path):
    text = (
        "version: 1\nname: t\nrules:\n"
        "  - {id: a, effect: allow, grants: path, min_tier: 3, when: 'path.access == \"read\"'}\n"
        "  - {id: b, effect: allow, grants: path, when: 'path.access == \"read\" && path.inside_workspace'}\n"
    )
    assert [one.rule for one in found(text, tmp_path) if one.code.id == "SH004"] == ["b"]
    other = text.replace("min_tier: 3, ", "")
    assert [one.code.id for one in found(other, tmp_path) if one.rule == "b" and "covers" in one.message] == ["SH005"]
    assert "SH004" not in codes(text.replace('path.access == "read" && ', ""), tmp_path)
    asks = text.replace("min_tier: 3, ", "").replace("id: b, effect: allow,", "id: b, effect: allow, min_tier: 3,")
    assert {"SH004", "SH005"} & codes(asks, tmp_path) == set()


@pytest.mark.parametrize(
    ("field", "pattern", "whole"),
    [
        ("host.host", "^a$", True),
        ("host.host", "^(a|b)$", True),
        ("host.host", "^a|b$", False),
        ("host.host", "a$", False),
        ("host.host", "^a\\\\$", False),
        ("host.url", "^https://a/", False),
        ("path.raw", "^/srv/", True),
        ("path.raw", "/src/", True),
        ("path.raw", "src", False),
        ("agent", "^a", True),
        ("agent", "a", False),
    ],
)
def test_where_a_pattern_ends(field, pattern, whole, tmp_path):
    grants = field.partition(".")[0] if "." in field else "path"
    when = f'{field}.matches("{pattern}")'
    text = f"version: 1\nname: t\nrules:\n  - id: r\n    effect: allow\n    grants: {grants}\n    when: {when}\n"
    assert ("SH014" in codes(text, tmp_path)) is not whole


def test_a_shadow_needs_the_same_element_and_the_same_types(tmp_path):
    shadowed = rule('path.access == "read" && "credential" in path.categories && path.inside_workspace', "allow")
    assert "SH004" in codes(shadowed, tmp_path)
    # another path of the action is no reason
    other = rule('path.access == "read" && path.inside_workspace', "allow")
    assert "SH004" not in codes(other, tmp_path)
    narrow = (
        "version: 1\nname: t\nrules:\n"
        "  - {id: a, effect: block, actions: [read_file], when: 'malformed'}\n"
        "  - {id: b, effect: escalate, when: 'malformed'}\n"
    )
    assert "SH004" not in codes(narrow, tmp_path)
    assert "SH004" in codes(narrow.replace("actions: [read_file], ", ""), tmp_path)
    agents = narrow.replace("actions: [read_file]", "agents: [one]")
    assert "SH004" not in codes(agents, tmp_path)
    tried = narrow.replace("actions: [read_file]", "enforce: false")
    assert "SH004" not in codes(tried, tmp_path)


def test_of_two_equal_rules_one_is_needless(tmp_path):
    text = (
        "version: 1\nname: t\nrules:\n"
        "  - {id: a, effect: block, when: 'commands.exists(c, c.name == \"x\")'}\n"
        "  - {id: b, effect: block, when: 'commands.exists(d, \"x\" == d.name)'}\n"
    )
    assert [one.rule for one in found(text, tmp_path) if one.code.id == "SH005"] == ["b"]


def test_findings_stand_where_they_belong(tmp_path):
    text = rule('malformed && paths.exists(p, "credentialz" in p.categories)')
    one = next(one for one in found(text, tmp_path) if one.code.id == "SH019")
    line = text.splitlines()[one.mark.line - 1]
    assert line[one.mark.column - 1 :].startswith('"credentialz"')
    assert one.fix == "did you mean `credential`?"


def test_leave_is_looked_at_behind_a_not_as_well(tmp_path):
    assert "SH017" in codes(rule('!hosts.all(h, h.host.endsWith("example.org"))'), tmp_path)
    assert "SH017" not in codes(rule('hosts.exists(h, h.host.endsWith("example.org"))'), tmp_path)


def test_lists_and_macros_are_resolved_before_anything_is_said(tmp_path):
    text = (
        "version: 1\nname: t\nlists: {a: [x, y], b: [z]}\nmacros: {named(c): 'c.name in lists.a'}\nrules:\n"
        "  - {id: r, effect: block, when: 'commands.exists(c, macros.named(c) && c.name in lists.b)'}\n"
    )
    assert {"SH001"} <= codes(text, tmp_path)
    assert {"SH001", "SH008", "SH009"} & codes(text.replace("b: [z]", "b: [y]"), tmp_path) == set()


def test_a_workspace_file_is_linted_on_top_of_a_policy(tmp_path):
    file = tmp_path / ".shield.yaml"
    file.write_text("version: 1\nrules:\n  - {id: r, effect: block, when: 'malformed && !malformed'}\n")
    policy = add_workspace(shipped("default").policy, file.read_bytes(), str(file))
    said = lint(read_sources(policy, [str(file)]))
    assert {(one.code.id, one.file) for one in said} >= {("SH001", str(file))}
    assert {one.file for one in said} == {str(file)}


@pytest.mark.parametrize(
    ("field", "word", "known"),
    [
        ("categories", "credential", True),
        ("covers", "vcs_hook", True),
        ("categories", "credentials", False),
        ("kind", "private_key", True),
        ("kind", "privatekey", False),
        ("name", "ls", True),
        ("name", "/bin/ls", False),
        ("host", "example.org", True),
        ("host", "Example.org", False),
        ("host", "https://example.org", False),
        ("scheme", "https:", False),
        ("resolved", "src", False),
        ("anything", "Else/", True),
    ],
)
def test_words_that_facts_are_made_of(field, word, known):
    assert (unknown_word(field, word) is None) == known


def test_the_categories_are_those_that_the_shipped_policies_name():
    text = "".join(shipped_shelf().find(name).read_text() for name in ("baseline", "default", "strict"))
    assert {"credential", "device", "temp", "vcs_hook", "agent_memory", "workspace_policy"} <= CATEGORIES
    assert set(re.findall(r'"([a-z_]+)" in p(?:ath)?\.(?:categories|covers)', text)) <= CATEGORIES


def test_every_code_says_how_sure_it_is():
    assert {code.sure for code in CODES.values()} == set(Sure)
