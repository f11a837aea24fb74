"""`shield explain`: one screen of text, all of it as JSON, and actions from the line or from standard input."""

import json

import pytest
from click.testing import CliRunner

from shield.cli.check import command as check
from shield.cli.explain import command


@pytest.fixture
def run(tmp_path):
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "a.txt").write_text("a\n")

    def invoke(*words, of=command, stdin=None):
        given = [*words, "--workspace", str(workspace), "--home", str(tmp_path)]
        done = CliRunner().invoke(of, given, input=stdin, env={"SHIELD_HOME": str(tmp_path / "state")})
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done

    return invoke


def test_text_is_one_screen(run):
    done = run("--text", "execute_command", "command=cat ~/.ssh/id_rsa")
    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert len(lines) <= 24
    assert lines[0].startswith("BLOCK     credentials: ")
    assert any(line.startswith("tier 0    BLOCK by `credentials`") for line in lines)
    assert any(line.startswith("block     credentials holds (") for line in lines)
    assert '"credential" in p.categories' in done.stdout


def test_what_is_missing_is_said(run):
    done = run("--text", "execute_command", "command=cat a.txt; terraform apply")
    assert "command 1" in done.stdout
    assert "no rule" in done.stdout
    assert "command 0   cat" in done.stdout
    assert "commands.read" in done.stdout


def test_json_has_every_rule_and_agrees_with_check(run):
    words = ("execute_command", "command=cat a.txt; git push")
    shape = json.loads(run("--json", *words).stdout)
    verdict = json.loads(run("--json", "--isolation", "confined", "--max-tier", "0", *words, of=check).stdout)
    same = ("decision", "rule", "need", "reason", "evidence")
    assert {key: shape["verdict"][key] for key in same} == {key: verdict[key] for key in same}
    assert all(story["steps"] or story["state"] == "true" for story in shape["rules"])
    assert len(shape["facts"]["commands"]) == 2
    assert shape["opinions"][-1]["tier"] == 0


def test_it_judges_where_check_judges(run):
    words = ("execute_command", "command=python3 a.py")
    told, said = json.loads(run("--json", *words).stdout), json.loads(run("--json", *words, of=check).stdout)
    assert told["judged"] == said["judged"]
    assert told["verdict"]["decision"] == said["decision"]
    for level in ("none", "confined"):
        told = json.loads(run("--json", "--isolation", level, *words).stdout)
        assert told["judged"] == {"policy": "default", "isolation": level}
    assert f"judged    by policy default, isolation {level}" in run("--text", "--isolation", level, *words).stdout


def test_a_rule_that_is_not_enforced_is_shown_and_decides_nothing(run, tmp_path):
    (tmp_path / "tried.yaml").write_text(
        "version: 1\nname: tried\nrules:\n"
        "  - {id: reads, effect: allow, grants: path, when: 'path.access == \"read\" && path.inside_workspace'}\n"
        "  - {id: later, effect: block, enforce: false, when: 'paths.exists(p, p.raw == \"a.txt\")'}\n"
    )
    words = ("--text", "--policy", str(tmp_path / "tried.yaml"), "read_file", "path=a.txt")
    for of in (command, check):
        done = run(*words, of=of)
        assert done.exit_code == 0
        assert done.stdout.startswith("ALLOW     reads")
        assert "          not enforced: `later`" in done.stdout
    assert "later holds, not enforced" in run(*words).stdout


def test_an_action_from_standard_input(run):
    done = run("--text", stdin='{"type": "read_file", "payload": {"path": "a.txt"}}')
    assert done.stdout.startswith("ALLOW     files.read.workspace")


@pytest.mark.parametrize(
    ("words", "stdin"),
    [(("read_file", "path"), None), ((), "{"), (("read_file", "path=a", "--policy", "nope"), None), ((), "")],
)
def test_what_cannot_be_read_is_exit_2(run, words, stdin):
    done = run(*words, stdin=stdin)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("shield explain: ")


def test_nothing_in_an_action_drives_the_terminal(run):
    done = run("--text", "execute_command", "command=echo \x1b[2J\u202e")
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
