"""`shield check`: JSON lines in, one verdict a line out, in order; exit codes; nothing written."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import shield
from shield.cli.check import command

PACKAGES = str(Path(shield.__file__).resolve().parents[1])  # of what is tested: installed, else the checkout
RUN = "import sys; from shield.cli.check import command; command(prog_name='shield check')"


@pytest.fixture
def place(tmp_path):
    home = tmp_path / "home"
    workspace = home / "ws"
    workspace.mkdir(parents=True)
    (workspace / "README.md").write_text("hello\n")
    return home, workspace


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: bytes
    stderr: bytes


def environment(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "SHIELD_HOME": str(home / ".shield")}


def check(place, *words, stdin: bytes = b"") -> Done:
    home, workspace = place
    with contextlib.chdir(workspace):
        done = CliRunner(env=environment(home)).invoke(command, list(words), input=stdin)
    return Done(done.exit_code, done.stdout_bytes, done.stderr_bytes)


def check_as_process(place, *words, stdin: bytes = b""):
    home, workspace = place
    return subprocess.run(
        [sys.executable, "-c", RUN, *words],
        input=stdin,
        capture_output=True,
        env=environment(home) | {"PYTHONPATH": PACKAGES},
        cwd=workspace,
        timeout=60,
    )


def lines(*actions) -> bytes:
    return b"".join(
        (action if isinstance(action, bytes) else json.dumps(action).encode()) + b"\n" for action in actions
    )


def read(path: str, **more):
    return {"type": "read_file", "payload": {"path": path}, **more}


def run(command: str):
    return {"type": "execute_command", "payload": {"command": command}}


def test_the_policy_is_that_of_the_settings_and_is_said(place):
    home, _ = place
    state = home / ".shield"
    (state / "policies").mkdir(parents=True, mode=0o700)
    (state / "policies" / "mine.yaml").write_text("version: 1\nname: mine\ndefault: {effect: block}\n")
    (state / "shield.toml").write_text('policy = "mine"\n')
    (state / "shield.toml").chmod(0o600)
    done = check(place, "--json", "read_file", "path=README.md")
    assert (done.returncode, json.loads(done.stdout)["judged"]["policy"]) == (1, "mine")
    said = check(place, "--text", "read_file", "path=README.md").stdout
    assert b"judged by policy mine, whatever the isolation" in said
    assert b"judged by" not in check(place, "--text", "--policy", "mine", "read_file", "path=README.md").stdout
    done = check(place, "--json", "--policy", "default", "read_file", "path=README.md")
    assert (done.returncode, json.loads(done.stdout)["judged"]["policy"]) == (0, "default")
    (state / "shield.toml").write_text('policy = "mine.yaml"\n')
    assert check(place, "--json", "read_file", "path=README.md").returncode == 1
    # what does not load is no reason to judge by something else
    (state / "shield.toml").write_text('polici = "mine"\n')
    done = check(place, "read_file", "path=README.md")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"unknown key `polici`" in done.stderr


def test_the_isolation_that_a_verdict_depends_on_is_said(place):
    shape = json.loads(check(place, "--json", "read_file", "path=README.md").stdout)
    assert shape["judged"] == {"policy": "default", "isolation": None}
    for level in ("none", "confined"):
        done = check(place, "--json", "--isolation", level, "execute_command", "command=python3 x.py")
        assert json.loads(done.stdout)["judged"]["isolation"] == level
    shape = json.loads(check(place, "--json", "execute_command", "command=python3 x.py").stdout)
    assert shape["judged"]["isolation"] in ("none", "state_hidden", "confined")


def test_an_empty_line_is_not_passed_over(place):
    done = check(place, "--text", stdin=lines(read("README.md"), b"", b" \r"))
    assert done.returncode == 2
    told = done.stdout.splitlines()
    assert [line[:9].strip() for line in told] == [b"ALLOW", b"BLOCK", b"BLOCK"]
    assert b"line 2: an empty line, and each is one action; leave it out" in told[1]


def test_one_verdict_a_line_in_order(place):
    done = check_as_process(
        place,
        stdin=lines(read("README.md", id="a"), read("~/.ssh/id_rsa", id="b"), run("ls; x"), run("ls -la")),
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [verdict["decision"] for verdict in found] == ["ALLOW", "BLOCK", "ESCALATE", "ALLOW"]
    assert [verdict["id"] for verdict in found[:2]] == ["a", "b"]
    assert found[0] | {"rule": "files.read.workspace", "reason": "reading inside the workspace", "need": 0} == found[0]
    assert found[1]["rule"] == "credentials"
    assert all(verdict["dry_run"] and verdict["permit"] is None and verdict["seq"] is None for verdict in found)
    assert all(verdict["approval"] is None and verdict["policy"].startswith("sha256:") for verdict in found)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("actions", "code"),
    [
        ([read("README.md")], 0),
        ([read("README.md"), run("x")], 3),
        ([run("x"), read("~/.ssh/id_rsa")], 1),
        ([read("~/.ssh/id_rsa"), b"{", run("x")], 2),
        ([b""], 2),
        ([], 2),
    ],
)
def test_exit_codes_have_a_precedence(place, actions, code):
    assert check(place, stdin=lines(*actions)).returncode == code


def test_a_line_that_cannot_be_read_is_blocked_and_the_run_goes_on(place):
    bad = [
        b'{"type":"read_file","type":"x","payload":{}}',
        b"\xff",
        b'{"type":"read_file"}',
        b'{"type":"read_file","payload":{},"nope":1}',
        b"[" * 100_000,
        b"",
    ]
    done = check(place, stdin=lines(*bad, read("README.md")))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(bad) + 1
    assert found[0] == {
        "id": None, "line": 1, "decision": "BLOCK", "tier": 0, "rule": "input.duplicate_key",
        "reason": found[0]["reason"],
    }  # fmt: skip
    assert [verdict["line"] for verdict in found[:-1]] == [1, 2, 3, 4, 5, 6]
    assert all(verdict["decision"] == "BLOCK" and verdict["rule"].startswith("input.") for verdict in found[:-1])
    assert found[-1]["decision"] == "ALLOW"
    assert done.returncode == 2


def test_words_on_the_command_line(place):
    done = check(place, "read_file", "path=README.md")
    assert (json.loads(done.stdout)["decision"], done.returncode) == ("ALLOW", 0)
    done = check(place, "delete_directory", "path=src", "recursive=true", "--facts")
    assert json.loads(done.stdout)["facts"]["paths"][0]["recursive"] is True
    done = check(place, "http_request", "url=https://x.example/", 'headers:={"a": "b"}')
    assert done.returncode == 3
    for words in (["read_file", "README.md"], ["read_file", "path=a", "path=b"], ["read_file", "path:={"]):
        done = check(place, *words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr


def test_home_and_workspace_are_what_they_are_told(place, tmp_path):
    elsewhere = ["--home", str(tmp_path / "nobody"), "--workspace", str(tmp_path / "nobody" / "proj")]
    done = check(place, *elsewhere, stdin=lines(read("README.md"), read("~/.ssh/id_rsa"), run("cat $HOME/.ssh/x")))
    found = [json.loads(line)["decision"] for line in done.stdout.splitlines()]
    assert found == ["ALLOW", "BLOCK", "BLOCK"]
    assert not (tmp_path / "nobody").exists()
    for root in ("/", str(tmp_path / "nobody"), str(tmp_path)):
        done = check(place, "--home", str(tmp_path / "nobody"), "--workspace", root, stdin=lines(read("a")))
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"cannot be a workspace" in done.stderr


def test_cwd_of_the_action_confers_nothing(place):
    done = check(place, stdin=lines(read("etc/fstab", cwd="/"), read("README.md", cwd=str(place[1]))))
    assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["ESCALATE", "ALLOW"]


def test_facts_have_the_shape_of_the_contract(place):
    done = check(place, "--facts", stdin=lines(run("cat ~/.ssh/id_rsa")))
    facts = json.loads(done.stdout)["facts"]
    home = str(place[0])
    path = facts["paths"][0]
    assert path | {
        "raw": "~/.ssh/id_rsa", "resolved": f"{home}/.ssh/id_rsa", "access": "read", "inside_workspace": False,
        "exists": False, "symlink": False, "recursive": False, "covers": [],
        "source": "commands[0]",
    } == path  # fmt: skip
    assert "credential" in path["categories"]
    assert set(facts) >= {"paths", "commands", "shell", "hosts", "recipients", "secrets", "text", "result"}
    assert facts["commands"][0]["argv"] == ["cat", f"{home}/.ssh/id_rsa"]


def test_other_policies_by_name_and_by_file(place, tmp_path):
    done = check(place, "--policy", "strict", stdin=lines(run("x")))
    assert json.loads(done.stdout)["decision"] == "BLOCK"
    mine = tmp_path / "mine.yaml"
    mine.write_text("version: 1\nname: mine\ndefault: {effect: block}\n")
    done = check(place, "--policy", str(mine), stdin=lines(read("README.md")))
    assert json.loads(done.stdout)["rule"] == "default"
    mine.write_text("version: 1\nname: mine\nrules:\n  - {id: a, effect: blok, when: 'true'}\n")
    done = check(place, "--policy", str(mine), stdin=lines(read("README.md")))
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{mine}:4:21" in done.stderr.decode()
    assert "did you mean `block`" in done.stderr.decode()
    assert check(place, "--policy", "nope", stdin=lines(read("README.md"))).returncode == 2


def test_the_workspace_policy_counts_and_a_broken_one_asks(place):
    file = place[1] / ".shield.yaml"
    file.write_text("version: 1\nrules: [{id: mine, effect: block, actions: [read_file], reason: not here}]\n")
    verdict = json.loads(check(place, stdin=lines(read("README.md"))).stdout)
    assert (verdict["decision"], verdict["rule"]) == ("BLOCK", "workspace:mine")
    assert "not here" not in verdict["reason"]
    file.write_text("version: 1\nrules: [{id: mine, effect: allow, grants: path, when: 'true'}]\n")
    done = check(place, stdin=lines(read("README.md"), read("~/.ssh/id_rsa")))
    assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["ESCALATE", "BLOCK"]


def test_nothing_is_written_and_no_home_is_needed(place):
    before = sorted(path for path in place[0].rglob("*"))
    check_as_process(place, stdin=lines(read("README.md"), run("mkdir x"), run("rm -rf .")))
    assert sorted(path for path in place[0].rglob("*")) == before


def test_text_shows_no_control_characters(place):
    done = check(place, "--text", stdin=lines(run("ls; \x1b]0;x\x07")))
    assert b"\x1b" not in done.stdout
    assert done.stdout.startswith((b"ESCALATE", b"BLOCK"))


def test_long_lines_are_refused_without_holding_them(place):
    done = check(place, stdin=b"x" * (9 << 20) + b"\n" + lines(read("README.md")))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [verdict.get("rule") for verdict in found] == ["input.size", "files.read.workspace"]


def test_max_tier_is_only_a_ceiling(place):
    for tier in ("0", "1", "2", "3"):
        done = check(place, "--max-tier", tier, stdin=lines(run("x"), read("README.md")))
        assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["ESCALATE", "ALLOW"]


def test_an_interrupted_reader_is_no_success(place):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=lines(*[read("README.md")] * 2000),
        stdout=write_end,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(place[0]), "PYTHONPATH": PACKAGES},
        cwd=place[1],
        timeout=60,
    )
    os.close(write_end)
    assert done.returncode != 0


def test_a_home_too_long_for_a_socket_is_no_matter(place, tmp_path):
    home = tmp_path / ("x" * 100)
    (home / "ws").mkdir(parents=True)
    done = check((home, home / "ws"), stdin=lines(read("README.md"), read("~/.shield/keys/audit.pem")))
    assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["ALLOW", "BLOCK"]


@pytest.mark.parametrize("policy", ["default", "strict"])
def test_a_start_loads_no_more_than_it_judges_with(place, policy):
    """Hosts start it for every call of a tool."""
    home, workspace = place
    code = (
        "import sys\nfrom shield.__main__ import main\n"
        f"sys.argv = ['shield', 'check', '--isolation', 'confined', '--policy', '{policy}', 'execute_command', 'command=ls']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'pydantic', 'httpx', 'starlette', 'uvicorn', 'cryptography', 'celpy', 'lark', 'onnxruntime', 'rich', 'jwt',"
        " 'asyncio', 'sqlite3', 'numpy', 'difflib'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": PACKAGES, "PATH": os.environ["PATH"], "HOME": str(home)},
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["action_hash"], done.stderr
    assert done.stderr.strip() == "[]", "a shipped policy that is not in shield/policy/proven.txt needs celpy and lark"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("read_file", "path:=["), "what follows `path:=` is not JSON"),
        (("read_file", "path:=3"), "`path` in the payload has another JSON type than it should: string"),
        (("read_file", "path=a", "limit=x"), "`limit` in the payload has another JSON type than it should: integer"),
    ],
)
def test_what_is_wrong_with_a_word_names_its_key(place, words, said):
    done = check(place, "--text", *words)
    assert done.returncode in (2, 3)
    assert said in (done.stdout + done.stderr).decode()


def test_a_workspace_file_that_does_not_load_is_named_with_its_line(place):
    _, workspace = place
    Path(workspace, ".shield.yaml").write_text("version: 1\nrules: [\n")
    done = check(place, "--text", "read_file", "path=a")
    assert done.returncode == 3
    first, second = done.stdout.decode().splitlines()
    assert first.startswith("ESCALATE  workspace: the workspace's policy file does not load, so a person decides")
    assert second.strip().startswith(f"{workspace}/.shield.yaml:3:1: ")
