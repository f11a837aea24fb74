"""Files that a repository's settings name, and what git deletes that it has no name of."""

import shutil

import pytest

from git_world import git, repository
from shell_world import facts
from shield.facts.made import MadeFile
from shield.types import Access, RunsCode

REPOSITORY = {
    ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
    ".git/refs": MadeFile(directory=True),
    ".git/objects": MadeFile(directory=True),
}


def with_config(text: str) -> dict[str, MadeFile]:
    return {**REPOSITORY, ".git/config": MadeFile(content=text.encode())}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ("[blame]\n\tignoreRevsFile = /home/user/.ssh/id_rsa\n", "/home/user/.ssh/id_rsa"),
        ("[blame]\n\tignorerevsfile=~/.netrc\n", "/home/user/.netrc"),
        ("[mailmap] file = ../x\n", "/home/user/x"),
        ("[mailmap]\n  FILE =   .mailmap  \n", "/home/user/ws/.mailmap"),
        ('[core]\n\texcludesFile = "/etc/shadow"\n', "/etc/shadow"),
        ("[commit]\n\ttemplate = ~/.aws/credentials\n", "/home/user/.aws/credentials"),
        ("[http]\n\tcookieFile = /home/user/c\n", "/home/user/c"),
        ("[format]\n\tsignatureFile=/home/user/c\n", "/home/user/c"),
        ("[fsck]\n\tskipList=/home/user/c\n", "/home/user/c"),
    ],
)
def test_a_file_that_the_settings_name_is_read(config, path):
    for line in ("git blame a.txt", "git log", "git status", "git commit -m x"):
        found = facts(line, with_config(config))
        assert (path, Access.READ) in {(fact.resolved, fact.access) for fact in found.paths}, line


@pytest.mark.parametrize(
    "config",
    [
        '[blame]\n\tignoreRevsFile = "/home/us""er/x"\n',
        "[mailmap]\n\tfile = /home/user/x ; comment\n",
        "[mailmap]\n\tfile = /home/user/\\x\n",
        "[mailmap]\n\tfile = ~other/x\n",
        "[mailmap]\n\tfile = $HOME/x\n",
        "[mailmap]\n\tfile = %(prefix)/x\n",
    ],
)
def test_a_value_that_may_be_another_one_is_not_known(config):
    assert facts("git log", with_config(config)).unknown


@pytest.mark.parametrize(
    "config",
    [
        "[core]\n\tattributesFile = /x\n",
        "[include]\n\tpath = /x\n",
        '[includeIf "gitdir:/"]\n\tpath = /x\n',
        "[diff]\n\torderFile = /x\n",
        "[core]\n\tworktree = /home/user\n",
        "[gc]\n\trecentObjectsHook = ./e\n",
        "[fetch]\n\tbundleURI = http://index.example\n",
        "[http]\n\tproxy = http://index.example\n",
        '[remote "origin"]\n\tproxy = http://index.example\n',
        '[remote "origin"]\n\turl = ext::sh -c x\n',
        '[remote "a"] vcs = x\n',
        '[remote "a"]\n\turl = x\\\nexternal = y\n',
        '[branch "a"] [core]\n\tfsmonitor = x\n',
        '[branch "a\\"]\n[core]\n\tpager = x\n#"]\n',
        '[url "x"]\n\tinsteadOf = y\n',
        '[merge "x"]\n\tname = y\n',
        "[core]\n\tfsmonitor = true x\n",
        '[x][branch "main"]\n\tremote = /home/user/other\n',
        "[x][format]\n\tsignatureFile = /home/user/c\n",
        "\ufeff[format]\n\tsignatureFile = /home/user/c\n",
        '[remote "ori\\gin"]\n\turl = /home/user/other\n',
        "[remote.origin]\n\turl = /home/user/other\n",
        "[remotes]\n\torigin = a b\n",
        "[x]\n\ty = \\\r\n[core]\r\n",
        "[core]\n\tbare = true\n",
        "[core]\n\tbare\n",
        "[core]\n\tignoreStat = true\n",
        "[core]\n\tcheckStat = minimal\n\ttrustctime = false\n",
        '[remote "origin"]\n\turl = https://git.example/x.git\n\tfetch = +refs/heads/*:refs/heads/*\n',
        '[remote "origin"]\n\turl = https://git.example/x.git\n\tfetch = ^refs/heads/main\n',
        "[format]\n\toutputDirectory = ../out\n",
        "[http]\n\tcookieFile = AGENTS.md\n\tsaveCookies = true\n",
        "[http]\n\tcurloptResolve = x:443:127.0.0.1\n",
        "[gc]\n\tpruneExpire = now\n",
        '[gc "refs/stash"]\n\treflogExpire = now\n',
        "[core]\n\tfsmonitor = ./true\n",
    ],
)
def test_settings_that_lead_further_count_as_code(config):
    assert facts("git log", with_config(config)).commands[0].runs_code is RunsCode.WORKSPACE


@pytest.mark.parametrize(
    "config",
    [
        "",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
        "[mailmap]\n\tfile =\n",
        '[branch "file"]\n\tremote = origin\n',
        '[remote "origin"]\n\turl = https://git.example/file = x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        "[user]\n\tname = file = /etc/passwd\n",
        '[remote "origin"]\n\turl = git@github.com:ana/webhooks-proxy.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        '[branch "fix/pager"]\n\tremote = origin\n\tmerge = refs/heads/fix/external-editor\n',
        "[core]\n\tfsmonitor = true\n\tuntrackedCache = true\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "# what stands here\r\n[core]\r\n\tbare = false\r\n",
        "[gc]\n\tauto = 0\n",
        '[remote "origin"]\n\tfetch = +refs/pull/*/head:refs/remotes/origin/pr/*\n\tfetch = refs/tags/*:refs/tags/*\n',
        "[user]\n\tname = Ana Hook\n\temail = ana@command.example\n",
    ],
)
def test_ordinary_settings_name_nothing(config):
    found = facts("git log", with_config(config))
    assert [fact.raw for fact in found.paths] == []
    assert found.commands[0].runs_code is RunsCode.NONE
    assert not found.unknown


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def deleted(line: str, files: dict[str, MadeFile]):
    return [fact for fact in facts(line, files).paths if fact.access is Access.DELETE]


@needs_git
def test_what_git_knows_is_not_cleaned_away():
    files = repository({"a.txt": "x", ".claude/settings.json": "{}", ".github/workflows/ci.yml": "x", "AGENTS.md": "x"})
    found = deleted("git clean -fd", files)
    assert [fact.raw for fact in found] == ["."]
    assert not found[0].covers
    files[".claude/settings.local.json"] = MadeFile(content=b"{}")
    files["docs/AGENTS.md"] = MadeFile(content=b"x")
    names = {fact.raw.removeprefix("/home/user/ws/") for fact in deleted("git clean -fd", files)}
    assert names == {".", ".claude/settings.local.json", "docs/AGENTS.md"}
    # of what is asked to go wherever it is, all counts
    assert deleted("git clean -ffd", files)[0].covers
    assert deleted("git clean -fd $X", files)[0].resolved is None


@needs_git
def test_the_repository_stays(tmp_path):
    """What the facts leave out is what git leaves alone."""
    git(tmp_path, "init", "-q")
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (tmp_path / ".claude").mkdir()
    for name in ("tracked", ".claude/tracked", "untracked", ".claude/untracked", "inner/x"):
        (tmp_path / name).write_text("x")
    git(tmp_path, "add", "tracked", ".claude/tracked")
    git(tmp_path, "clean", "-fdx")
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if ".git" not in path.parts}
    assert left == {"tracked", ".claude", ".claude/tracked", "inner", "inner/x"}
    assert (inner / ".git/HEAD").exists()


def test_a_tree_too_large_to_see_is_not_known():
    files = {**REPOSITORY, **{f"big/{at}": MadeFile() for at in range(10_001)}}
    (found,) = deleted("git clean -fd", files)
    assert found.resolved is None
    assert not found.covers


def test_settings_of_the_working_tree_count_where_they_are_read():
    files = with_config("[extensions]\n\tworktreeConfig = true\n")
    own = {".git/config.worktree": MadeFile(content=b"[core]\n\tfsmonitor = ./x\n")}
    assert facts("git log", files | own).commands[0].runs_code is RunsCode.WORKSPACE
    assert facts("git log", with_config("") | own).commands[0].runs_code is RunsCode.NONE
    sparse = {".git/config.worktree": MadeFile(content=b"[core]\n\tsparseCheckout = true\n")}
    assert facts("git log", files | sparse).commands[0].runs_code is RunsCode.NONE
