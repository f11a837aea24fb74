"""`shield lint`: exit codes, formats, names, files and workspaces."""

import contextlib
import json

import pytest
from click.testing import CliRunner

from cli.test_eval_tools import check_sarif
from shield.cli.lint import command
from shield.config.home import Home
from shield.errors import ConfigError
from shield.heuristics.schema import is_heuristics
from shield.policy.keys import RULE_KEYS
from shield.resources import data_folder
from shield.service.home import prepare

BAD = "version: 1\nname: bad\nrules:\n  - {id: r, effect: block, reason: x, when: malformed && !malformed}\n"
NOTES = "version: 1\nname: notes\nrules:\n  - {id: r, effect: block, reason: x, advice: y, when: malformed}\n"
GOOD = """version: 1
name: good
rules:
  - id: r
    effect: block
    reason: x
    advice: y
    when: commands.exists(c, c.name == "x")
    examples:
      match: [{type: execute_command, payload: {command: x}}]
      no_match: [{type: execute_command, payload: {command: y}}]
"""

HOUSE = """version: 1
name: house
rules:
  - id: house.heron
    severity: high
    kinds: {tool_result: escalate}
    patterns: ['project heron']
    reason: x
    examples:
      no_match:
        - {kind: tool_result, text: "A heron stood in the river."}
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (("bad", BAD), ("notes", NOTES), ("good", GOOD), ("broken", BAD.replace("!malf", "!!malg"))):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def run(folder, *words, env=None):
    with contextlib.chdir(folder):
        return CliRunner().invoke(command, list(words), env={"GITHUB_ACTIONS": "", **(env or {})})


def test_exit_codes(folder):
    assert run(folder, "good.yaml").exit_code == 0
    assert run(folder, "notes.yaml").exit_code == 0
    assert run(folder, "notes.yaml", "--strict").exit_code == 1
    assert run(folder, "notes.yaml", "--strict", "--ignore", "SH016").exit_code == 0
    assert run(folder, "bad.yaml").exit_code == 1
    assert run(folder, "good.yaml", "bad.yaml").exit_code == 1
    assert run(folder, "broken.yaml", "bad.yaml").exit_code == 2
    assert run(folder, "missing.yaml").exit_code == 2
    assert run(folder, "good.yaml", "--ignore", "SH999").exit_code == 2
    assert run(folder).exit_code == 2


def test_text_names_file_line_rule_and_fix(folder):
    done = run(folder, "bad.yaml", "--format", "text")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bad.yaml:4:10: SH011 note: r: ")
    assert "bad.yaml:4:45: SH001 error: r: the condition can never hold, so the rule does nothing" in lines
    assert "  correct the condition or remove the rule" in lines
    assert lines[-1] == "1 error, 0 warnings, 2 notes"


def test_a_policy_that_does_not_load_is_said_in_every_format(folder):
    done = run(folder, "broken.yaml", "--format", "text")
    assert "broken.yaml:4:60: SH000 error: does not load: unknown name `malgormed`" in done.stdout
    assert "broken.yaml:4:60" in done.stderr
    assert json.loads(run(folder, "broken.yaml").stdout)["findings"][0]["code"] == "SH000"
    check_sarif(json.loads(run(folder, "broken.yaml", "--format", "sarif").stdout), {"SH000"})
    assert run(folder, "broken.yaml", "--format", "github").stdout.startswith("::error file=broken.yaml,line=4,col=60")


def test_json_and_sarif(folder):
    shape = json.loads(run(folder, "bad.yaml", "--json").stdout)["findings"]
    one = next(finding for finding in shape if finding["code"] == "SH001")
    assert one == {
        "code": "SH001",
        "level": "error",
        "file": "bad.yaml",
        "line": 4,
        "column": 45,
        "rule": "r",
        "message": "the condition can never hold, so the rule does nothing",
        "fix": "correct the condition or remove the rule",
    }
    check_sarif(json.loads(run(folder, "bad.yaml", "--format", "sarif").stdout), {"SH001"})


def test_github_by_itself_in_a_workflow(folder):
    done = run(folder, "bad.yaml", env={"GITHUB_ACTIONS": "true"})
    assert "::error file=bad.yaml,line=4,col=45,title=SH001 r::the condition can never hold" in done.stdout


def test_heuristics_are_known_by_their_rules_and_held_to_their_examples(folder):
    own = folder / "house.yaml"
    own.write_text(HOUSE)
    done = run(folder, "house.yaml", "good.yaml", "--format", "text")
    assert (done.exit_code, done.stdout) == (0, "0 errors, 0 warnings, 0 notes\n")
    own.write_text(HOUSE.replace("A heron stood", "The project heron stood"))
    done = run(folder, "house.yaml", "--format", "text")
    assert done.exit_code == 2
    assert "house.yaml:11:37: SH000 error: does not load: this example matches the rule" in done.stdout
    own.write_text(HOUSE.replace("house.heron", "goal.exfiltrate"))
    assert (
        "house.yaml:4:9: rule `goal.exfiltrate`, id: the id `goal.exfiltrate` is used twice"
        in run(folder, "house.yaml").stderr
    )
    own.write_text(HOUSE.replace("kinds:", "kind:"))
    assert "did you mean `kinds`?" in run(folder, "house.yaml").stderr
    own.write_text(HOUSE.replace("patterns:", "pattern:").replace("kinds:", "kind:"))
    assert "did you mean `" in run(folder, "house.yaml").stderr
    (folder / "house.yml").write_text(HOUSE)
    assert "rename it" in run(folder, "house.yml").stderr
    shipped = data_folder("policies/heuristics") / "goals.yaml"
    assert run(folder, str(shipped)).exit_code == 0
    (folder / "loop.yaml").symlink_to("loop.yaml")
    looped = run(folder, "loop.yaml")
    assert (looped.exit_code, "cannot be read" in looped.stderr) == (2, True)
    (folder / ".shield.yaml").write_text(HOUSE)
    assert "unknown key `kinds`" in run(folder, ".shield.yaml", "--base", "good.yaml").stderr


def test_what_is_named_in_the_home_is_there_and_is_read(folder):
    home = folder / "home"
    own = home / "heuristics"
    own.mkdir(parents=True)
    env = {"SHIELD_HOME": str(home)}
    (own / "one.yaml").write_text(HOUSE)
    for name in ("notes.txt", ".two.yaml", ".#one.yaml", "#one.yaml#", "one.yaml~"):
        (own / name).write_text("x")
        done = run(folder, f"home/heuristics/{name}", env=env)
        assert (done.exit_code, "this is not read" in done.stderr) == (2, True), name
    for name in ("home/heuristics/missing.yaml", str(own / "notes")):
        done = run(folder, name, env=env)
        assert (done.exit_code, "there is no such file" in done.stderr) == (2, True), name
        assert json.loads(done.stdout)["findings"][0]["file"] == name
    assert run(folder, "home/heuristics/one.yaml", env=env).exit_code == 0
    # a policy's name is none of a file that lies here
    for name in ("one", "nonexistent", "heuristics"):
        for here in (own, home):
            assert "there is no policy named" in run(here, name, env=env).stderr
    (own / "default.yaml").write_text("version: 1\n")
    assert run(own, "default", env=env).stderr == ""
    assert run(own, "default.yaml", env=env).exit_code == 2
    assert run(own, ".", env=env).exit_code == 2
    (own / "default.yaml").unlink()
    assert run(own, ".", env=env).exit_code == 0
    own.rename(folder / "there")
    assert run(folder, "home/heuristics", env=env).exit_code == 2


def test_a_link_in_place_of_the_owner_s_folder_is_none(folder):
    home, there = folder / "home", folder / "there"
    home.mkdir()
    there.mkdir()
    (there / "one.yaml").write_text(HOUSE)
    (home / "heuristics").symlink_to(there)
    env = {"SHIELD_HOME": str(home)}
    for name in ("home/heuristics", "home/heuristics/one.yaml", "there/one.yaml"):
        done = run(folder, name, env=env)
        assert (done.exit_code, "`shield serve` takes a folder" in done.stderr) == (2, True), name
    with pytest.raises(ConfigError, match="not a directory of this user"):
        prepare(Home(path=str(home)))


@pytest.mark.parametrize("name", ["", ".", "/dev/null", "nonexistent", "two words"])
def test_what_is_no_policy_is_a_finding_in_every_format(folder, name):
    done = run(folder, name)
    assert done.exit_code == 2
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["code"], found["file"], found["line"]) == ("SH000", name or ".", 1)
    assert found["message"].removeprefix("does not load: ") in done.stderr
    check_sarif(json.loads(run(folder, name, "--format", "sarif").stdout), {"SH000"})
    assert "SH000" in run(folder, name, "--format", "github").stdout


def test_a_shipped_file_that_is_being_edited_is_not_loaded_beside_itself(folder, monkeypatch):
    (folder / "shipped").mkdir()
    edited = folder / "shipped" / "house.yaml"
    edited.write_text(HOUSE)
    monkeypatch.setattr("shield.resources.data_folder", lambda name: folder / "shipped")
    for name in ("shipped/house.yaml", str(edited)):
        assert (run(folder, name).exit_code, run(folder, name).stderr) == (0, "")
    (folder / "house.yaml").write_text(HOUSE)
    assert "used twice" in run(folder, "house.yaml").stderr
    edited.write_text(HOUSE.replace("A heron stood", "The project heron stood"))
    assert "this example matches the rule" in run(folder, "shipped/house.yaml").stderr


@pytest.mark.parametrize("key", [key for key in RULE_KEYS if key != "id"])
def test_no_key_of_a_policy_s_rule_makes_heuristics_of_it(key):
    assert not is_heuristics(f"version: 1\nname: x\nrules:\n  - {{id: r, {key}: x}}\n".encode(), "x.yaml")


def test_what_lies_in_the_home_is_held_together_as_a_service_does(folder):
    own = folder / "home" / "heuristics"
    own.mkdir(parents=True)
    env = {"SHIELD_HOME": str(folder / "home")}
    (own / "one.yaml").write_text(HOUSE)
    for name in ("home/heuristics/one.yaml", str(own), "home/heuristics/"):
        assert run(folder, name, env=env).exit_code == 0
    (own / "two.yaml").write_text(HOUSE)
    for name in ("home/heuristics/one.yaml", "home/heuristics"):
        done = run(folder, name, env=env)
        assert (done.exit_code, "the id `house.heron` is used twice" in done.stderr) == (2, True)
    (own / "two.yaml").write_bytes((data_folder("policies/heuristics") / "goals.yaml").read_bytes())
    assert run(folder, "home/heuristics/two.yaml", env=env).exit_code == 2
    (own / "two.yaml").write_text("version: 1\nname: two\nrules: []\n")
    assert "`rules` is empty" in run(folder, "home/heuristics/two.yaml", env=env).stderr


def test_a_workspace_file_is_one_by_its_name(folder):
    (folder / ".shield.yaml").write_text(
        "version: 1\nrules: [{id: w, effect: block, when: 'malformed && !malformed'}]\n"
    )
    done = run(folder, ".shield.yaml", "--base", "good.yaml", "--format", "text")
    assert done.exit_code == 1
    assert ".shield.yaml:2:" in done.stdout
    (folder / ".shield.yaml").write_text("version: 1\nextends: [default]\n")
    done = run(folder, ".shield.yaml", "--base", "good.yaml", "--format", "text")
    assert done.exit_code == 2
    assert ".shield.yaml:2:1: SH000 error: does not load" in done.stdout


def test_a_finding_is_said_once(folder):
    once = run(folder, "bad.yaml", "--json").stdout
    assert run(folder, "bad.yaml", "bad.yaml", "--json").stdout == once
