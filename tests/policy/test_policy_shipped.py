"""The shipped policies: they load, their cases pass, their handbook is current, and known tricks find no way through."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from git_world import repository
from policy_readme import TARGET, readme
from shared_data import shared
from shield.actions.request import make_action
from shield.cli.trial import run_trials
from shield.facts.made import PLAIN_PROGRAMS, MadeFile, MadeFiles
from shield.pipeline import dry_run
from shield.policy.cases import read_cases
from shield.policy.compiled import compile_rule, read_macros
from shield.policy.examples import read_action
from shield.policy.load import load_policy
from shield.policy.rule import RuleOrigin
from shield.policy.schema import read_policy
from shield.policy.set import PolicySet
from shield.policy.shape import Shape
from shield.policy.shelf import shipped_shelf
from shield.policy.world import HOME, NOW, WORKSPACE, made_place
from shield.resources import data_folder
from shield.types import Action, ActionRequest, Decision, Effect, Isolation, Tier

PACKS = ("cloud", "databases", "git", "kubernetes", "supply-chain")
NAMES = ("baseline", "default", "strict", "permissive", "ci", "read-only", *PACKS)
POLICIES = Path(__file__).resolve().parents[2] / "policies"


@cache
def shipped(name):
    return load_policy(name, shipped_shelf())


def decide(policy, command, isolation=Isolation.CONFINED, files=None):
    return answer(policy, make_action("execute_command", {"command": command}, WORKSPACE), isolation, files)


def answer(policy, action: Action, isolation=Isolation.CONFINED, files=None):
    now = int(NOW.timestamp() * 1000)
    place = made_place(isolation=isolation)
    if files is not None:
        place = replace(place, files=files)
    request = ActionRequest(id="x", action=action)
    return dry_run(request, place, policy, agent="agent", now_ms=now, max_tier=Tier.POLICY)[0]


@pytest.mark.parametrize("name", NAMES)
def test_the_cases_of_each_policy_pass(name):
    files = [POLICIES / "cases" / "baseline.yaml"]
    if name != "baseline":
        files.append(POLICIES / "cases" / f"{name}.yaml")
    report = run_trials([name], files)
    assert [outcome.as_json() for outcome in report.trials[0].outcomes if outcome.status != "pass"] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_explains_itself(name):
    file = data_folder("policies") / f"{name}.yaml"
    for rule in read_policy(file.read_bytes(), str(file)).rules:
        assert rule.reason, rule.id
        assert any(example.matches for example in rule.examples), rule.id
        if rule.effect is not Effect.ALLOW:
            assert rule.advice, rule.id
            assert any(link.startswith("https://") for link in rule.references), rule.id
            assert any(not example.matches for example in rule.examples), rule.id


def test_a_workspace_among_temporary_files_is_judged_as_any_other():
    policy = shipped("default")
    judged = 0
    for rule in policy.rules:
        for example in rule.text.examples:
            action, files, cwd = read_action(example.action, Shape(rule.file))
            if action.type == "execute_command" and cwd == WORKSPACE and HOME not in action.payload["command"]:
                found = [_at(root, policy, action.payload["command"], files) for root in (WORKSPACE, "/tmp/ws")]
                assert found[0] == found[1], action.payload
                judged += 1
    assert judged > 300


def _at(root, policy, command, files):
    place = replace(made_place(), files=MadeFiles(files, home=HOME, cwd=root), cwd=root, workspace_roots=(root,))
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": command}, root))
    verdict = dry_run(request, place, policy, agent="agent", now_ms=0, max_tier=Tier.POLICY)[0]
    return verdict.decision


@pytest.mark.parametrize(
    "folder",
    ["/home/user/.cargo/bin", "/home/user/.nvm/versions/node/v22.1.0/bin", "/home/user/miniconda3/bin", "/home/user/.local/bin",
     "/run/current-system/sw/bin", "/home/user/.nix-profile/bin", "/etc/profiles/per-user/user/bin", "/opt/homebrew/bin"],
)  # fmt: skip
@pytest.mark.parametrize(
    "command",
    ["rg TODO src", "fd -e py", "node --version", "git status", "git log -3", "git commit -m x", "python3 -c 'print(1)'", "cat $(git ls-files '*.py')",
     "rg -l x | xargs cat", "curl -s http://localhost:3000/health", "jq . package.json", "git show $(git rev-parse HEAD)"],
)  # fmt: skip
def test_what_a_user_has_installed_is_what_it_is_called(folder, command):
    """Where a compiler's or a language's own installer puts programs; an agent cannot write there without being asked."""
    assert _with_programs(folder, command, WORKSPACE + "/package.json") is Decision.ALLOW


@pytest.mark.parametrize("folder", [WORKSPACE + "/bin", "/tmp/bin", "/data/bin", WORKSPACE + "/node_modules/.bin"])
@pytest.mark.parametrize(
    "command", ["rg TODO src", "git status", "python3 -c 'print(1)'", "cat $(git ls-files '*.py')"]
)
def test_what_anybody_may_have_put_there_is_not(folder, command):
    assert _with_programs(folder, command, isolation=Isolation.NONE) is Decision.ESCALATE


@pytest.mark.parametrize("folder", ["/usr/local/bin", "/home/user/.cargo/bin", "/opt/x/bin"])
@pytest.mark.parametrize("mode", [0o757, 0o777])
def test_what_anybody_may_write_is_not_either(folder, mode):
    assert _with_programs(folder, "rg TODO src") is Decision.ALLOW
    for isolation in Isolation:
        assert _with_programs(folder, "rg TODO src", isolation=isolation, mode=mode) is Decision.ESCALATE


@pytest.mark.parametrize(
    ("command", "decision"),
    [("rg TODO", "ALLOW"), ("rg TODO | head", "ALLOW"), ("eslint src", "ALLOW"), ("kubectl get pods", "ALLOW"), ("kubectl delete ns prod", "ESCALATE"),
     ("frobnicate", "ESCALATE"), ("make && rg TODO", "ESCALATE"), ("command_not_found_handle() { rm -rf src; }; rg TODO", "ESCALATE"),
     ("command_not_found_handle() { rm -rf src; }; false || (rg TODO)", "ESCALATE"), ("cp a ~/bin/rg; rg TODO", "ESCALATE")],
)  # fmt: skip
def test_what_is_installed_nowhere_is_judged_as_it_would_be(command, decision):
    """Nothing runs, or what the system or the user puts into the folders of PATH meanwhile."""
    assert _without_programs(command).name == decision


@pytest.mark.parametrize(
    ("path", "files"),
    [("bin:/usr/bin", {}), (f"{WORKSPACE}/bin:/usr/bin", {}), ("/usr/bin:/tmp/bin", {}), ("/usr/bin:/data/bin", {}), (":/usr/bin", {}),
     (f"{HOME}/none/bin:/usr/bin", {}), ("/usr/local/bin:/usr/bin", {"/usr/local/bin/rg": MadeFile(symlink=f"{WORKSPACE}/rg")}),
     ("/usr/local/bin:/usr/bin", {"/usr/local/bin/rg": MadeFile(mode=0o644)}), ("/opt/x/bin:/usr/bin", {"/opt/x/bin": MadeFile(directory=True, mode=0o777)})],
)  # fmt: skip
def test_what_others_may_put_into_path_is_not(path, files):
    assert _without_programs("rg TODO", path, files) is Decision.ESCALATE


def _without_programs(command, path=f"{HOME}/bin:/usr/bin:/bin", files=None):
    plain = made_place(isolation=Isolation.CONFINED)
    made = {"Makefile": MadeFile(content=b"all:\n\ttrue\n"), f"{HOME}/bin/x": MadeFile(mode=0o755), **(files or {})}
    programs = PLAIN_PROGRAMS - {"rg", "eslint", "kubectl"}
    world = MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=programs)
    place = replace(plain, files=world, env={**plain.env, "PATH": path})
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": command}, WORKSPACE))
    return dry_run(request, place, shipped("default"), agent="agent", now_ms=0, max_tier=Tier.POLICY)[0].decision


def _with_programs(folder, command, *files, isolation=Isolation.CONFINED, mode=0o755):
    """What is said where the programs of a line stand in `folder` alone, which is first in PATH."""
    names = [name for name in ("rg", "fd", "node", "git", "python3", "curl", "jq") if name in command]
    made = {f"{folder}/{name}": MadeFile(content=b"\x7fELF", mode=mode) for name in names}
    made |= {file: MadeFile(content=b"{}") for file in files}
    plain = made_place(isolation=isolation)
    world = MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=PLAIN_PROGRAMS - set(names))
    place = replace(plain, files=world, env={**plain.env, "PATH": f"{folder}:/usr/bin:/bin"})
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": command}, WORKSPACE))
    return dry_run(request, place, shipped("default"), agent="agent", now_ms=0, max_tier=Tier.POLICY)[0].decision


MISE, ASDF, PYENV, VOLTA, RYE, AQUA = (
    f"{HOME}/{folder}"
    for folder in (".local/share/mise/shims", ".asdf/shims", ".pyenv/shims", ".volta/bin", ".rye/shims", ".local/share/aquaproj-aqua/bin")
)  # fmt: skip
_LAUNCHERS = {
    MISE: f"{HOME}/.local/bin/mise",
    VOLTA: f"{HOME}/.volta/bin/volta-shim",
    AQUA: f"{HOME}/.local/share/aqua-proxy",
}
_INSTALLED = ("mise/installs/python/3.12.1", "mise/installs/node/20.1.0", "mise/installs/node/20")


def _by_shims(folder, command, files, *, isolation=Isolation.NONE, cwd=WORKSPACE):
    """What is said where the programs of a line are shims in `folder`."""
    made = {f"{HOME}/.local/share/{version}": MadeFile(directory=True) for version in _INSTALLED}
    made |= {f"{HOME}/.pyenv/versions/3.12.1/bin/python": MadeFile(mode=0o755)}
    made |= {f"{HOME}/.volta/tools/image/node/20.1.0/bin/node": MadeFile(mode=0o755)}
    launcher = _LAUNCHERS.get(folder)
    shim = MadeFile(content=b"#!/bin/sh\n", mode=0o755) if launcher is None else MadeFile(symlink=launcher)
    made |= {launcher: MadeFile(content=b"\x7fELF", mode=0o755)} if launcher is not None else {}
    names = ("rg", "node", "git", "python3", "pip")
    made |= {f"{folder}/{name}": shim for name in names}
    made |= {
        f"{WORKSPACE}/{file}" if file[0] != "/" else file: MadeFile(content=text.encode())
        for file, text in files.items()
    }
    made |= {f"{HOME}/old/bin/python3": MadeFile(symlink=f"{folder}/python3")}
    plain = made_place(isolation=isolation, cwd=cwd)
    world = MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=PLAIN_PROGRAMS - set(names))
    place = replace(plain, files=world, env={**plain.env, "PATH": f"{folder}:/usr/bin:/bin"})
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": command}, cwd))
    verdict, facts = dry_run(request, place, shipped("default"), agent="agent", now_ms=0, max_tier=Tier.POLICY)[:2]
    return verdict.decision, {command.runs_code.value for command in facts.commands}


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        (ASDF, {".tool-versions": "python path:./x\n"}),
        (ASDF, {".tool-versions": "python 3.12.1\nnodejs ref:../x\n"}),
        (ASDF, {"/home/user/ws/.tool-versions": "rg"}),
        (PYENV, {".python-version": "../../ws/x\n"}),
        (PYENV, {".python-version": "3.12.1\n/home/user/ws/x\n"}),
        (MISE, {".tool-versions": "python path:./x\n"}),
        (MISE, {".tool-versions": "python 3.13.0\n"}),
        (MISE, {".tool-versions": "ubi:evil/rg 3.12.1\n"}),
        (MISE, {"mise.toml": "[tools]\npython = '3.12.1'\n[env]\nLD_PRELOAD = './x.so'\n"}),
        (MISE, {"mise.toml": "[tools]\npython = {version = '3.12.1', postinstall = './x'}\n"}),
        (MISE, {"mise.toml": "[tools]\n'npm:evil' = '3.12.1'\n"}),
        (MISE, {"mise.toml": "[hooks]\nenter = './x'\n"}),
        (MISE, {"mise.toml": "not a table"}),
        (MISE, {".miserc.toml": "env = ['x']\n"}),
        (MISE, {".config/mise/conf.d/x.toml": "[tools]\n"}),
        (VOLTA, {"package.json": '{"volta": {"node": "18.0.0"}}'}),
        (VOLTA, {"package.json": '{"volta": {"extends": "x/package.json"}}'}),
        (VOLTA, {"package.json": '{"\\u0076olta": {"node": "18.0.0"}}'}),
        (VOLTA, {"package.json": "{", ".volta/hooks.json": "{}"}),
        (RYE, {"pyproject.toml": "[project]\n"}),
        (AQUA, {"aqua.yaml": "registries: []\n"}),
    ],
)  # fmt: skip
def test_a_shim_that_the_project_leads_is_no_program_of_the_users(folder, files):
    for isolation in Isolation:
        for command in ("rg TODO src", "python3 -c 'print(1)'"):
            assert _by_shims(folder, command, files, isolation=isolation)[0] is Decision.ESCALATE, command
    for command in ("node --version", "git status", "cd src && rg x"):
        decision, runs = _by_shims(folder, command, files)
        assert (decision, "workspace" in runs) == (Decision.ESCALATE, True), command
    assert _by_shims(folder, f"{HOME}/old/bin/python3 --version", files)[0] is Decision.ESCALATE


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        (ASDF, {}),
        (ASDF, {".tool-versions": "python 3.12.1 system # why\nnodejs 20.1.0\n"}),
        (ASDF, {"mise.toml": "[env]\nA = 'b'\n"}),
        (PYENV, {".python-version": "3.12.1\n"}),
        (PYENV, {".python-version": "3.13\nmy-environment\n", ".tool-versions": "x path:y\n"}),
        (MISE, {}),
        (MISE, {".tool-versions": "python 3.12.1\nnodejs 20.1.0\n"}),
        (MISE, {"mise.toml": "[tools]\npython = '3.12.1'\nnode = ['20', 'system']\n[tasks.x]\nrun = './x'\n"}),
        (MISE, {".nvmrc": "20\n", "package.json": "{}", "aqua/x": ""}),
        (MISE, {"~/.tool-versions": "python path:x\n", "~/.config/mise/config.toml": "[env]\nA = 'b'\n"}),
        (VOLTA, {"package.json": '{"scripts": {"a": "echo \\"x\\""}}', ".tool-versions": "x path:y"}),
        (VOLTA, {"package.json": '{"volta": {"node": "20.1.0"}}'}),
        (RYE, {"x.py": ""}),
        (AQUA, {"mise.toml": "x"}),
    ],
)  # fmt: skip
def test_a_shim_that_starts_what_is_installed_is_what_it_is_called(folder, files):
    files = {file.replace("~", HOME): text for file, text in files.items()}
    for command in ("rg TODO src", "python3 -c 'print(1)'", "node --version", "git status", "cd src && rg x"):
        assert _by_shims(folder, command, files) == (Decision.ALLOW, {"none"}), command


@pytest.mark.parametrize(
    "command",
    ["echo 'python path:./x' > .tool-versions && python3 -c 'print(1)'", "cp a .tool-versions; rg x", "cp a .Tool-Versions; rg x", "mkdir $'a\\nb'; cp a $'a\\nb/.tool-versions'; rg x", "mv a ../ws/.tool-versions && node --version",
     "MISE_PYTHON_VERSION=3.1 rg x", "export ASDF_NODEJS_VERSION=1; node --version", "tar xf a.tar; python3 -c 'print(1)'",
     "python3 -c 'print(1)' sub/a.py"],
)  # fmt: skip
def test_a_line_does_not_lead_a_shim_itself(command):
    files = {"a": "python path:./x\n", "sub/.tool-versions": "python path:./x\n"}
    assert _by_shims(MISE, command, files)[0] is Decision.ESCALATE
    assert _by_shims(MISE, command, files, isolation=Isolation.CONFINED)[0] is Decision.ESCALATE


def test_a_shim_that_is_led_fetches_nothing_where_the_network_is():
    """The network is open to git and to an installer: not to what a project names in their place."""
    files = {".git/HEAD": "ref: refs/heads/main", ".git/config": '[remote "origin"]\nurl = https://git.example/x.git\n',
             ".git/refs/x": "", ".git/objects/x": "", "requirements.txt": f"six==1.16.0 --hash=sha256:{'8' * 64}\n"}  # fmt: skip
    for command in ("git pull", "git fetch origin", "pip install --require-hashes -r requirements.txt"):
        assert _by_shims(ASDF, command, files, isolation=Isolation.CONFINED)[0] is Decision.ALLOW, command
        led = {**files, ".tool-versions": "git path:./x\n"}
        assert _by_shims(ASDF, command, led, isolation=Isolation.CONFINED)[0] is Decision.ESCALATE, command


def test_baseline_allows_nothing_and_is_in_every_policy():
    baseline = load_policy("baseline", shipped_shelf())
    assert all(rule.effect is not Effect.ALLOW for rule in baseline.rules)
    ids = {rule.id for rule in baseline.rules}
    for name in NAMES:
        rules = load_policy(name, shipped_shelf()).rules
        assert ids <= {rule.id for rule in rules if rule.origin is RuleOrigin.BASELINE}


# In the made world what this rule is for is already kept by protection, by `credentials` or by `system.write`.
SHADOWED = {"broad.delete"}


def without(rules, changed):
    """All rules but one."""
    return [rule for rule in rules if rule.id != changed.id]


def flipped(rules, changed):
    """One rule that asks instead of blocking, or blocks instead of asking."""
    blocks = changed.effect is Effect.BLOCK
    text = replace(changed.text, effect=Effect.ESCALATE if blocks else Effect.BLOCK, to=Tier.PERSON if blocks else None)
    read = read_policy(Path(changed.file).read_bytes(), changed.file)
    other = compile_rule(text, changed.file, changed.origin, read.lists, read_macros(read))
    return [other if rule.id == changed.id else rule for rule in rules]


@pytest.mark.parametrize("change", [without, flipped])
def test_no_rule_of_the_baseline_can_be_changed_unseen(change):
    """Each rule in turn is left out, then turned; `policies/cases/` notices every time."""
    policy = load_policy("default", shipped_shelf())
    found = [POLICIES / "cases" / name for name in ("baseline.yaml", "default.yaml")]
    cases = [case for file in found for case in read_cases(file.read_bytes(), str(file))]
    baseline = [rule for rule in policy.rules if rule.origin is RuleOrigin.BASELINE]
    assert not any(fails(case, policy) for case in cases)
    named = {rule.id: [case for case in cases if case.expected.rule == rule.id] for rule in baseline}
    unseen = set()
    for rule in baseline:
        rules = change(policy.rules, rule)
        changed = PolicySet(name="default", digest=policy.digest, rules=rules, default=policy.default)
        if not any(fails(case, changed) for case in named[rule.id]):
            unseen.add(rule.id)
    assert unseen == SHADOWED


def fails(case, policy) -> bool:
    now = int(NOW.timestamp() * 1000)
    verdict, _ = dry_run(case.request, case.place, policy, agent="agent", now_ms=now, max_tier=Tier.POLICY)
    wanted = case.expected
    return verdict.decision not in wanted.decisions or (wanted.rule is not None and wanted.rule != verdict.rule)


def test_the_handbook_is_current():
    assert TARGET.read_text(encoding="utf-8") == readme(), "run `python tests/policy_readme.py`"


def test_living_off_the_land_is_not_allowed_unasked():
    """Commands that turn everyday programs into shells, readers and writers (GTFOBins)."""
    rows = [json.loads(line) for line in shared("data/eval/gtfobins.jsonl").read_text().splitlines()]
    policy = load_policy("default", shipped_shelf())
    allowed = {
        level: {row["command"] for row in rows if decide(policy, row["command"], level).decision is Decision.ALLOW}
        for level in Isolation
    }
    # these open a pager on a terminal, and without one only print
    paging = {"git help config", "man man", "dpkg -l", "systemctl", "aws help", "timedatectl list-timezones"}
    assert allowed[Isolation.NONE] <= paging | {"batcat --paging always /etc/hosts"}
    # what runs the project's code may be that code's shell, in the sandbox
    starts = {command.split()[0] for command in allowed[Isolation.STATE_HIDDEN] - allowed[Isolation.NONE]}
    assert starts <= {"cargo", "java", "rustc", "echo"}
    assert allowed[Isolation.CONFINED] == allowed[Isolation.STATE_HIDDEN]


TRICKS = [
    "cat list | xargs cat", "find . | cut -c 2- | xargs cat", "cat $(cat list)", 'cat "$X"', "sort --files0-from=list", "file -f list",
    "find . -files0-from list", "tar xf a.tar", "cp -r src/. .", "cp -t .git -r hooks", "mv hooks .git/",
    "cp pre-commit .git/hooks/", "ln -s ../evil .git/hooks", "cp src/AGENTS.md .", "date -f ~/x", "awk 'BEGIN{system(\"x\")}'",
    "sed -n 's/a/b/w ../x' f", "git diff --output=../x", "git -C ~ status", "git --git-dir=/x status", "env",
    "command cat ~/x", "touch ../x", "echo x > ../x", "cd .. && cat x", "cat ../*/x", "PATH=. ls", "LD_PRELOAD=./x ls",
    "ls;x", "ls|x", "ls&x", "ls\nx", "`x`", "$(x)", "ls > >(x)", "cat <(x)", "alias ls=x; ls", "eval ls; x", "eval x ls", "exec x",
    ". ./x", "source x", "trap x EXIT", "jobs -x ls", "[[ -n $(x) ]]", "ls -la #\nx", "nohup x &", "time x", "nice x",
    "timeout 5 x", "xargs x", "busybox x", "bash -c x", "/home/user/ws/ls", "../ws/ls", "~/ls", "\\x", "'x'", "x''",
]  # fmt: skip


@pytest.mark.parametrize("name", ["default", "permissive", "strict", "ci", "read-only"])
def test_no_trick_is_allowed(name):
    policy = load_policy(name, shipped_shelf())
    found = [command for command in TRICKS if decide(policy, command).decision is Decision.ALLOW]
    assert found == []


# What git has of this is what it was before; `b.txt` has been changed since, `new.txt` is in no commit.
COMMITTED = {
    "a.txt": "a\n", "b.txt": "b\n", "docs/one.md": "1\n", "docs/two.md": "2\n", "mixed/one.md": "1\n", "AGENTS.md": "x\n",
    ".github/workflows/ci.yml": "x\n", ".gitignore": "*.log\n", "sub/deep/x.py": "x\n", "Makefile": "all:\n",
}  # fmt: skip
SINCE = {"b.txt": "changed\n", "new.txt": "new\n", "mixed/two.md": "new\n"}


@pytest.fixture(scope="module")
def kept():
    made = repository(COMMITTED, changes=SINCE) | {"link": MadeFile(symlink="docs"), "out": MadeFile(symlink="../x")}
    return MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=PLAIN_PROGRAMS)


@pytest.mark.parametrize(
    "command",
    [
        "rm a.txt", "rm -f ./a.txt docs/one.md", "rm -r docs", "rm -rf docs sub/deep", "unlink a.txt", "git diff; rm a.txt",
        "rm a.txt && git add -A && git commit -m 'Drop it'", "python3 -c 'import os; os.remove(\"a.txt\")'",
    ],
)  # fmt: skip
def test_what_git_has_kept_may_go(command, kept):
    assert decide(shipped("default"), command, Isolation.NONE, kept).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        # no commit has it, or not all of it
        "rm b.txt", "rm new.txt", "rm a.txt new.txt", "rm -r mixed", "rm -rf docs mixed", "rm -rf .", "rm -rf *", "rm -rf ../ws",
        "rm missing.txt", "shred -u a.txt", "truncate -s 0 new.txt; rm new.txt",
        # the line changes it first: facts are of before
        "mv new.txt a.txt; rm a.txt", "mv -f new.txt a.txt && rm a.txt", "cat new.txt > a.txt; rm new.txt", "cp new.txt a.txt; rm a.txt",
        "echo x > a.txt; rm a.txt", "sed -i s/a/b/ a.txt; rm a.txt", "tee a.txt < new.txt; rm a.txt", "cp new.txt docs/; rm -r docs",
        "mv new.txt docs/ && rm -r docs", "ln -f new.txt a.txt; rm a.txt", "touch docs/x; rm -r docs", "git checkout main; rm a.txt",
        "git stash pop; rm a.txt", "make; rm a.txt", "python3 -c 'open(\"a.txt\", \"w\").write(\"x\")'; rm a.txt",
        "git mv new.txt docs/; rm -r docs", "tar xf x.tar; rm a.txt", "rm a.txt; git add new.txt; rm new.txt",
        # what is guarded is guarded, whatever git has; a link is no folder
        "rm AGENTS.md", "rm -r .github", "rm .github/workflows/ci.yml", "rm -rf .git", "rm .git/index", "rm -rf .git/objects",
        "rm -r link/", "rm -rf link/*", "rm -r out/", "rm ../a.txt", "cd ..; rm a.txt", "cd docs; rm a.txt",
        # git's own records, made to say so
        "cp x .git/index; rm new.txt", "git update-index --add new.txt; rm new.txt", "git add new.txt; rm new.txt",
        "git add -A; rm -r mixed", "GIT_INDEX_FILE=x git add new.txt; rm new.txt",
    ],
)  # fmt: skip
def test_what_git_has_not_kept_is_asked(command, kept):
    assert decide(shipped("default"), command, files=kept).decision is not Decision.ALLOW


def test_other_tools_may_delete_what_git_has_kept_as_well(kept):
    policy = shipped("default")

    def asked(kind, path):
        return answer(policy, make_action(kind, {"path": path}, WORKSPACE), files=kept).decision is not Decision.ALLOW

    assert not asked("delete_file", "a.txt")
    assert asked("delete_file", "b.txt")
    assert asked("delete_file", "AGENTS.md")
    assert asked("delete_directory", "mixed")
