"""What `default` says of a line that enters an environment of the workspace: its other programs are the system's still."""

import pytest

from shell_world import MadeFile, facts, reading_policy, text
from shield.types import Decision, RunsCode

ACTIVATE = """deactivate () {
    if [ -n "${_OLD_VIRTUAL_PATH:-}" ] ; then
        PATH="${_OLD_VIRTUAL_PATH:-}"
        export PATH
    fi
}
deactivate nondestructive
VIRTUAL_ENV="/home/user/ws/.venv"
export VIRTUAL_ENV
_OLD_VIRTUAL_PATH="$PATH"
PATH="$VIRTUAL_ENV/bin:$PATH"
export PATH
"""
FILES = {
    ".venv/bin/activate": text(ACTIVATE),
    ".venv/pyvenv.cfg": text("home = /usr/bin\n"),
    ".venv/bin/pytest": MadeFile(content=b"#!/bin/sh\n", mode=0o755),
    "src/a.py": text("x\n"),
    "Makefile": text("x:\n\tls\n"),
}


def decided(line, *, confined=True):
    return reading_policy(f"source .venv/bin/activate && {line}", FILES, confined=confined)


@pytest.mark.parametrize(
    "line",
    ["pytest -q 2>&1 | tail -20", "ls src; grep -rn x src | head", "make x && ls", "rm -rf build; pytest", "cat > src/b.py <<'E'\nx\nE",
     "pytest > /tmp/out.txt 2>&1; tail -5 /tmp/out.txt", "sed -i s/a/b/ src/a.py"],
)  # fmt: skip
def test_programs_beside_the_environment_are_the_systems(line):
    assert decided(line) is Decision.ALLOW
    assert decided(line, confined=False) is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["rm -rf src", "kubectl get pods", "docker ps", "gh pr view 1", "git fetch origin", "git push", "curl https://x.example", "sudo ls", "/tmp/x",
     "PATH=/home/user/ws/bin:$PATH; ls", "PATH=.:$PATH ls", "export PATH=$PWD/bin:$PATH && ls", "cat /etc/shadow", "cat ~/notes.txt"],
)  # fmt: skip
def test_it_opens_nothing_else(line):
    assert decided(line) is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["PATH=/home/user/ws/bin:$PATH; source .venv/bin/activate; ls", "cp x .venv/bin/activate; source .venv/bin/activate; ls",
     "if true; then source .venv/bin/activate; else PATH=/home/user/ws/bin:$PATH; fi; ls", "source src/activate; ls", "source /tmp/x/bin/activate; ls",
     "source ../x/.venv/bin/activate; ls"],
)  # fmt: skip
def test_another_way_to_look_for_programs_is_none(line):
    assert reading_policy(line, FILES, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize(
    "script",
    ["ls() { rm -rf ~/x; }\n", "alias ls=x\n", "PATH=/tmp/evil:$PATH\n", "VIRTUAL_ENV=/tmp/evil\n", "rm -rf src\n", "cd /tmp\n", "set -a\n", "LD_PRELOAD=./x\nexport LD_PRELOAD\n", ". ./x.sh\n",
     "$(./x)\n", "VIRTUAL_ENV_PROMPT=$(./x)\n", 'PS1="(`./x`) ${PS1:-}"\n', "VIRTUAL_ENV='/home/user/ws/.venv'; ls() { :; }\n", "export PATH; cd /tmp\n", "trap ./x EXIT\n", "ls ()\n"],
)  # fmt: skip
def test_a_script_that_does_more_than_enter_is_any_script(script):
    for text_ in (ACTIVATE + script, script + ACTIVATE, script):
        here = FILES | {".venv/bin/activate": text(text_)}
        assert reading_policy("source .venv/bin/activate && ls", here, confined=True) is not Decision.ALLOW


def test_what_the_line_has_set_before_may_be_looked_in():
    for before in (
        "_OLD_VIRTUAL_PATH=/tmp/evil; ",
        "export _OLD_VIRTUAL_PATH=/tmp/evil; ",
        "_OLD_VIRTUAL_PATH=/tmp/evil ",
        "hash() { ls; }; ",
    ):
        assert reading_policy(f"{before}source .venv/bin/activate && ls", FILES, confined=True) is not Decision.ALLOW


@pytest.mark.parametrize(
    "lines",
    ['case "$(uname)" in\n    CYGWIN*|MSYS*|MINGW*)\n        VIRTUAL_ENV=$(cygpath /home/user/ws/.venv)\n        export VIRTUAL_ENV\n        ;;\n    *)\n        export VIRTUAL_ENV=/home/user/ws/.venv\n        ;;\nesac\n',
     'if [ -z "${VIRTUAL_ENV_DISABLE_PROMPT:-}" ] ; then\n    _OLD_VIRTUAL_PS1="${PS1:-}"\n    PS1="(.venv) ${PS1:-}"\n    export PS1\n    VIRTUAL_ENV_PROMPT="(.venv) "\nfi\n',
     'VIRTUAL_ENV_PROMPT=.venv\nPS1="("my-app") ${PS1:-}"\n', "VIRTUAL_ENV='/home/user/ws/.venv'\n"],
)  # fmt: skip
def test_what_venv_writes_is_known(lines):
    here = FILES | {".venv/bin/activate": text(ACTIVATE + lines)}
    assert reading_policy("source .venv/bin/activate && ls", here, confined=True) is Decision.ALLOW


def test_what_reaches_further_counts_as_the_workspaces():
    found = {
        c.name: c.runs_code
        for c in facts("source .venv/bin/activate; ls; curl -s http://localhost:8000/", FILES).commands
    }
    assert found["ls"] is RunsCode.NONE
    assert found["curl"] is RunsCode.WORKSPACE
