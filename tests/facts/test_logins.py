"""Passwords in the settings of a repository: to show them is to show a secret."""

from dataclasses import replace

import pytest

from shell_world import HOME, MadeFile, place, reading_policy, text
from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.logins import holds_login, says_login
from shield.facts.made import MadeFiles
from shield.types import Decision

REPOSITORY = {
    ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
    ".git/objects": MadeFile(directory=True),
    ".git/refs": MadeFile(directory=True),
    "src/a.py": text("x = 1\n"),
}
LOGINS = [
    '[remote "origin"]\n\turl = https://ana:hunter2@git.example/x.git\n',
    '[remote "origin"]\n\turl = https://9f86d081884c7d659a2feaa0c55ad015@git.example/x.git\n',
    '[remote "origin"]\n\turl = "https://x-access-token:abc@git.example/x.git"\n',
    '[url "https://ana:hunter2@git.example/"]\n\tinsteadOf = https://git.example/\n',
    "[http]\n\tproxy = http://ana:hunter2@proxy.example:3128\n",
]
OTHERS = [
    '[http "https://git.example/"]\n\textraheader = AUTHORIZATION: basic eDpn\n',
    "[sendemail]\n\tsmtpPass = hunter2\n",
]
PLAIN = [
    "",
    '[remote "origin"]\n\turl = https://git.example/x.git\n',
    '[remote "origin"]\n\turl = https://ana@git.example/x.git\n',
    '[remote "origin"]\n\turl = ssh://git@git.example/x.git\n',
    '[remote "origin"]\n\turl = git@git.example:x/y.git\n',
    "[user]\n\temail = ana@example.org\n",
]
ADDRESSES = """
git remote -v
git remote --verbose
git -C src remote -v
git remote get-url origin
git config --get remote.origin.url
git config remote.origin.url
git config --local --list
git config --local --get-regexp url
""".strip().split("\n")
READERS = """
cat .git/config
head -5 .git/config
sed -n 1,5p .git/config
cp .git/config x
grep -rn url .
grep -rn url .git
tar czf x.tgz .
""".strip().split("\n")


@pytest.mark.parametrize("line", ADDRESSES + READERS)
def test_settings_with_a_password_are_a_secret(line):
    for said in LOGINS + (OTHERS if line in READERS else []):
        files = REPOSITORY | {".git/config": text(said)}
        assert reading_policy(line, files, confined=True) is Decision.BLOCK, said
    for said in PLAIN:
        files = REPOSITORY | {".git/config": text(said)}
        assert reading_policy(line, files, confined=True) is Decision.ALLOW, said


@pytest.mark.parametrize("line", ADDRESSES)
def test_addresses_are_shown_as_the_users_settings_write_them(line):
    files = REPOSITORY | {".git/config": text(PLAIN[1])}
    for name in (".gitconfig", ".config/git/config"):
        said = {f"{HOME}/{name}": text(LOGINS[3])}
        assert reading_policy(line, files | said, confined=True) is not Decision.ALLOW
        assert reading_policy("git status", files | said, confined=True) is Decision.ALLOW


@pytest.mark.parametrize(
    "line", ["git status", "git remote", "git log -3", "cat .git/HEAD", "grep -r x src", "git config user.name"]
)
def test_what_does_not_show_them_goes_ahead(line):
    for said in LOGINS[:3]:
        assert reading_policy(line, REPOSITORY | {".git/config": text(said)}, confined=True) is Decision.ALLOW


def test_a_header_is_no_address():
    files = REPOSITORY | {".git/config": text(OTHERS[0])}
    assert reading_policy("git remote -v", files, confined=True) is Decision.ALLOW
    assert reading_policy("git config --local --list", files, confined=True) is Decision.BLOCK


def test_a_file_that_cannot_be_read_may_hold_one():
    class Hidden(MadeFiles):
        def read(self, path, limit):
            raise FileSystemUnknownError

    files = Hidden({"x": text("x")})
    assert holds_login("/home/user/ws/x", replace(place(), files=files))
    assert not holds_login("/home/user/ws/none", replace(place(), files=files))
    assert not says_login("://@ https://@x")
