"""What words of git, of Python and of scripts that look like a path, a setting or a release are none."""

import pytest

from shell_world import reading_policy, text
from shield.types import Decision

FILES = {
    "a.py": "def f():\n    return 1\n",
    ".env": "KEY=x\n",
    "scripts/release_notes.py": "print(1)\n",
    "scripts/release_notes_upload.py": "print(1)\n",
    "scripts/release.py": "print(1)\n",
}
PLAIN = [
    "git blame -L '/def/,+3' a.py",
    "git blame -w -L /def/,/return/ HEAD -- a.py",
    "git annotate -L '/x/,+1' a.py",
    "git bisect start --no-checkout HEAD v1.3.0 && git bisect log",
    "git bisect start --first-parent HEAD v1.3.0",
    "PYTHONFAULTHANDLER=1 timeout 60 python3 -m pytest -x a.py 2>&1 | tail -25",
    "python3 scripts/release_notes.py > /tmp/notes.md && cat /tmp/notes.md",
]
ASKED = [
    "git blame -L '/x/,+3' ../../../etc/passwd",
    "git blame -L '/x/,+3' ~/.ssh/id_rsa",
    "git blame -L '/x/,+3' .env",
    "git blame -L /x/ --contents=/home/user/.ssh/id_rsa a.py",
    "git blame -L /x/ --ignore-revs-file=/home/user/.aws/credentials a.py",
    "git blame -L $X a.py",
    "git blame --textconv -L /x/ a.py",
    "git log -L '1,5:/home/user/.ssh/id_rsa'",
    "git log -L '/x/,+3:.env'",
    "git bisect start --no-checkout HEAD v1; git bisect run ./a.sh",
    "git bisect start --no-checkout HEAD -- ../x",
    "git bisect good --no-checkout",
    "git bisect start --no-checkout $X",
    "git bisect start --no-checkout --exec=x",
    "git bisect replay --no-checkout /tmp/x",
    "PYTHONFAULTHANDLER=1 PYTHONSTARTUP=/tmp/x.py python3 -c 'print(1)'",
    "PYTHONFAULTHANDLER=1 PYTHONWARNINGS=error::x.y python3 -c 'print(1)'",
    "PYTHONFAULTHANDLER=$GITHUB_TOKEN python3 -c 'print(1)'",
    "python3 scripts/release_notes_upload.py",
    "python3 scripts/release_notes.py upload",
    "python3 scripts/release.py",
    "make release-notes",
]


def decided(line):
    return reading_policy(line, {path: text(said) for path, said in FILES.items()}, confined=True)


@pytest.mark.parametrize("line", PLAIN)
def test_they_stand_for_nothing_else(line):
    assert decided(line) is Decision.ALLOW


@pytest.mark.parametrize("line", ASKED)
def test_what_stands_beside_them_is_seen(line):
    assert decided(line) is not Decision.ALLOW
