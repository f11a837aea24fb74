"""The table of places, with the harmless twin of each."""

from dataclasses import replace

import pytest

from shield.facts.made import MadeFile, MadeFiles
from shield.facts.paths import path_fact
from shield.facts.place import Place, Protected
from shield.types import Access

_FILES = MadeFiles(
    {
        "link.txt": MadeFile(symlink="/home/user/.ssh/id_rsa"),
        "~/.ssh/id_rsa": MadeFile(content=b"x"),
        "run.sh": MadeFile(mode=0o755),
        "/tmp/looks.py": MadeFile(symlink="/home/user/.aws/credentials"),
        "svc": MadeFile(socket=True),
    }
)
_PLACE = Place(
    files=_FILES,
    home="/home/user",
    cwd="/home/user/ws",
    workspace_roots=("/home/user/ws",),
    env={"PATH": "/usr/bin"},
    protected=Protected(state=("/home/user/.shield",), code=("/usr/lib/shield",)),
)


def _categories(raw: str, access: Access = Access.READ) -> frozenset[str]:
    return path_fact(raw, access, _PLACE, base=_PLACE.cwd).categories


@pytest.mark.parametrize(
    ("category", "hits", "misses"),
    [
        (
            "credential",
            (
                "~/.ssh/id_rsa ~/.ssh ~/.ssh/ ~/.ssh/config /root/.ssh/id_ed25519 ~/.aws/credentials ~/.AWS/Credentials ~/.gnupg/x ~/.netrc "
                "~/.pgpass ~/.docker/config.json ~/.kube/config ~/.config/gcloud/x.db ~/.npmrc ~/.pypirc ~/.git-credentials .env "
                ".env.local .env.production prod.env ~/.mozilla/firefox/x ~/.config/google-chrome/Default/Cookies ~/.bitcoin/wallet.dat "
                "~/.config/gh/hosts.yml ~/.bash_history ~/.zsh_history server.pem id_rsa id_rsa.bak deploy/id_ed25519_prod app.keystore "
                "terraform.tfstate /etc/shadow /etc/shadow- /etc/sudoers.d/x /etc/ssh/ssh_host_rsa_key ~root/.ssh/id_rsa "
                "link.txt service-account-prod.json ~/.claude/.credentials.json ~/.ssh/cert.pem"
            ),
            (
                "README.md .env.example .env.sample .env.production.example ~/.ssh/id_rsa.pub deploy/key.pub ssh/config env .environment "
                "src/credentials.py aws/config history.txt /etc/passwd cert.pem src/shadow"
            ),
        ),
        (
            "secret_store",
            "~/Library/Keychains/login.keychain-db ~/.password-store/x.gpg ~/.local/share/keyrings/login.keyring x.keychain",
            "keychains.md passwords.md",
        ),
        (
            "system",
            "/etc/passwd /usr/bin/ls /bin/ls /boot/x /lib/x /var/log/syslog /System/Library/x /Library/x /private/etc/hosts /proc/meminfo",
            "README.md ~/x /tmp/x /var/tmp/x /var/folders/ab/x /data/x /home/other/x /etcetera/x",
        ),
        (
            "shell_startup",
            "~/.bashrc ~/.zshrc ~/.profile ~/.config/fish/config.fish /etc/profile.d/x.sh /etc/environment ~/.BASHRC lib/sitecustomize.py",
            "bashrc.md .bashrc.d.md",
        ),
        (
            "vcs_hook",
            (
                ".git/hooks/pre-commit .git/hooks sub/.git/hooks/x .husky/pre-push .git/modules/m/hooks/x .Git/Hooks/x .lintstagedrc "
                ".lintstagedrc.mjs lint-staged.config.js simple-git-hooks.cjs .simple-git-hooks.json"
            ),
            ".git/HEAD hooks/pre-commit .github/hooks.md git/hooks/x",
        ),
        (
            "vcs_config",
            ".git/config .git/HEAD .git sub/.git .hg/hgrc .gitmodules .gitattributes ~/.gitconfig .git/info/attributes .git/commondir a/.git/config",
            ".gitignore HEADER head config src/hooks/x src/info/attributes",
        ),
        (
            "scheduler",
            (
                "/etc/crontab /etc/cron.d/x /var/spool/cron/u ~/.config/systemd/user/x.service ~/Library/LaunchAgents/x.plist "
                "/etc/systemd/system/x /Library/LaunchDaemons/x"
            ),
            "cron.d/x crontab systemd/x.service",
        ),
        ("agent_identity", "IDENTITY.md ~/SOUL.md soul.MD", "IDENTITY.txt SOULS.md"),
        (
            "agent_instruction",
            "AGENTS.md sub/CLAUDE.md .cursorrules claude.md .cursor/rules/x.mdc .anyagent/rules/x.md .any/skills/x/SKILL.md .any/rules.md",
            "AGENTS.txt CLAUDES.md rules/x.md any/rules/x.md .any/docs/rules/x.md .cache/rules/x",
        ),
        ("agent_memory", "MEMORY.md USER.md", "MEMORIES.md"),
        (
            "host_config",
            (
                ".claude/settings.json .claude/settings.local.json ~/.claude/settings.json .claude/hooks/x.sh ~/.codex/config.toml "
                ".cursor/hooks.json .gemini/settings.json .github/hooks/x.json .mcp.json .vscode/tasks.json .vscode/settings.json "
                "~/.config/Code/User/settings.json .envrc .devcontainer/devcontainer.json .anyagent/hooks/x.sh sub/.any/mcp.json "
                ".any/extensions/x.ts .Any/Plugins/x .any/settings.json .idea/startup.xml .vs/tasks.vs.json mise-tasks/x"
            ),
            (
                ".claude/README.md settings.json .github/README.md .vscode/README.md any/hooks/x.sh .any/x/hooks .any/main.js "
                "hooks/x.sh ../hooks/x .next/settings.json .venv/plugins/x .storybook/main.js"
            ),
        ),
        (
            "ci",
            ".github/workflows/x.yml .gitlab-ci.yml Jenkinsfile .circleci/config.yml .ci/run",
            "workflows/x.yml .github/x.md ci.md",
        ),
        ("workspace_policy", ".shield.yaml sub/.shield.yaml .SHIELD.YAML", "shield.yaml .shield.yml.md"),
        ("shield_state", "~/.shield ~/.shield/audit.db ~/.Shield/x", "~/.shields ~/shield"),
        ("shield_code", "/usr/lib/shield/x.py", "/usr/lib/shielded"),
        ("device", "/dev/sda /dev/mem /dev/tcp", "/dev/null /dev/zero /dev/tty /dev/urandom device"),
        ("temp", "/tmp/x /var/tmp/x /private/tmp/x /var/folders/a/b /dev/shm/x", "tmp/x /tmpx"),
        (
            "proc_environ",
            "/proc/1/environ /proc/self/mem /proc/7/maps /proc/kcore",
            "/proc/meminfo proc/1/environ /proc/1/status",
        ),
        ("executable", "run.sh /usr/bin/ls ~/.local/bin/x /opt/x/bin/y", "README.md bin"),
        ("source", "a.py b.rs src/x.ts build.SH", "a.txt py README"),
        ("socket", "/var/run/docker.sock /run/containerd/containerd.sock svc", "docker.md"),
    ],
)
def test_table(category: str, hits: str, misses: str) -> None:
    for raw in hits.split():
        assert category in _categories(raw), raw
    for raw in misses.split():
        assert category not in _categories(raw), raw


def test_a_workspace_is_one_wherever_it_lies() -> None:
    place = replace(_PLACE, workspace_roots=("/tmp/ws",))
    facts = [path_fact(raw, Access.READ, place, base="/tmp/ws") for raw in ("a.txt", "/tmp/a.txt", "/tmp/wss/a.txt")]
    assert ["temp" in fact.categories for fact in facts] == [False, True, True]


@pytest.mark.parametrize(
    "tree",
    ["~/.codex/worktrees/a1/x", "~/.cursor/worktrees/x/a", "~/.windsurf/worktrees/x/x-1", "~/.local/share/opencode/worktree/84/a",
     "/var/lib/jenkins/workspace/job", "/var/lib/jenkins/jobs/a/workspace", "~/x/.codex/worktrees/a", "~/x/.gemini/worktrees/a"],
)  # fmt: skip
def test_a_tree_among_settings_of_a_host_is_a_projects(tree: str) -> None:
    for inner in ("", "/README.md", "/src/a.py"):
        assert not _categories(tree + inner, Access.WRITE) & {"credential", "host_config"}, inner
    found = {
        inner: _categories(f"{tree}/{inner}", Access.WRITE)
        for inner in (".env", ".codex/config.toml", ".cursor/hooks.json", ".ssh/id_rsa")
    }
    assert "credential" in found[".env"] & found[".ssh/id_rsa"]
    assert "host_config" in found[".codex/config.toml"] & found[".cursor/hooks.json"]


@pytest.mark.parametrize(
    "beside",
    ["~/.codex/config.toml", "~/.codex/worktrees", "~/.codex/worktrees/a/../../config.toml", "~/.cursor/mcp.json", "~/.cursor/hooks/x.sh",
     "~/.cursor/worktrees/../hooks.json", "~/.local/share/opencode/auth.json", "/var/lib/jenkins/secrets/master.key",
     "/var/lib/jenkins/jobs/a/config.xml", "~/.ssh/.codex/worktrees/a/id", "~/.windsurf/hooks.json",
     "/var/lib/jenkins/workspace/a@tmp/secretFiles/x", "/var/lib/jenkins/workspace/f/a@2@tmp/durable-1/script.sh", "/var/lib/jenkins/workspace/a@script/x/Jenkinsfile",
     "/var/lib/jenkins/workspace/a@libs/x/vars/x.groovy", "~/.codex/worktrees/.. /auth.json", "~/.codex/worktrees/.aws/x", "~/.codex/worktrees/.codex/config.toml"],
)  # fmt: skip
def test_what_lies_beside_such_trees_is_the_hosts(beside: str) -> None:
    assert _categories(beside, Access.WRITE) & {"credential", "host_config"}


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
def test_what_python_imports_wherever_it_looks_is_startup_in_every_form(name: str) -> None:
    """An editable install puts a folder of the workspace among those that every start of that Python searches."""
    for form in (
        ".py",
        ".pyc",
        ".so",
        ".cpython-312-x86_64-linux-gnu.so",
        ".abi3.so",
        "/__init__.py",
        "/__init__.pyc",
        "",
    ):
        assert "shell_startup" in _categories(f"src/{name}{form}", Access.WRITE), form
    assert "shell_startup" not in _categories(f"src/{name}_test.py", Access.WRITE)


def test_a_link_gives_suspicion_but_no_leave() -> None:
    # /tmp/looks.py is a link to a credential: what it is called must not make it temporary or source.
    found = _categories("/tmp/looks.py")
    assert "credential" in found
    assert not found & {"temp", "source"}
    # and a link that is called like a credential is one, wherever it leads
    files = MadeFiles({"~/.ssh/id_rsa": MadeFile(symlink="/data/key"), "/data/key": MadeFile()})
    fact = path_fact("~/.ssh/id_rsa", Access.READ, replace(_PLACE, files=files), base=None)
    assert (fact.resolved, "credential" in fact.categories) == ("/data/key", True)


def _covers(raw: str, access: Access = Access.DELETE) -> frozenset[str]:
    return path_fact(raw, access, _PLACE, base=_PLACE.cwd, recursive=True).covers


def test_covers_from_fixed_places() -> None:
    home = _covers("~")
    assert {"credential", "secret_store", "shell_startup", "shield_state", "scheduler", "host_config"} <= home
    assert {"vcs_hook", "ci", "agent_identity", "agent_instruction", "agent_memory", "workspace_policy"} <= home
    everything = _covers("/")
    assert home | {"system", "shield_code", "device", "proc_environ", "socket"} <= everything
    assert "credential" in _covers("/home") & _covers("~/.config") & _covers("/etc")
    assert "shield_state" in _covers("~/.config") & _covers("~/.local/share")
    assert "shield_state" not in _covers("~/.config/git") | _covers("~/.local/lib")
    assert not _covers("~/notes")
    assert not _covers("src")


def test_a_workspace_covers_its_own_places_only_where_they_change() -> None:
    changed = _covers(".")
    assert {"vcs_hook", "vcs_config", "ci", "host_config", "agent_instruction", "workspace_policy"} <= changed
    assert "credential" not in changed
    assert not _covers(".", Access.READ)
    assert "vcs_hook" in _covers(".git")
    assert {"host_config", "agent_instruction"} <= _covers(".any", Access.WRITE)
    assert not _covers(".any") | _covers("any", Access.WRITE) | _covers("sub/.any/x", Access.WRITE)
    assert not _covers(".cache", Access.WRITE)
    assert "ci" in _covers("sub/.github", Access.WRITE)
    assert not _covers("sub/.cache", Access.WRITE) | _covers("sub/.github", Access.READ) | _covers("sub/.github")
    assert "credential" not in _covers("sub/.config", Access.WRITE)
    assert "environment" in _covers("sub/.venv", Access.WRITE)
    assert "credential" in _covers("~", Access.READ)


def test_a_recursive_link_covers_where_it_leads() -> None:
    files = MadeFiles({"d": MadeFile(symlink="/home/user")})
    fact = path_fact("d", Access.READ, replace(_PLACE, files=files), base=_PLACE.cwd, recursive=True)
    assert "credential" in fact.covers


def test_a_workspace_in_a_system_directory_is_the_users() -> None:
    files = MadeFiles({"/opt/app/x": MadeFile()})
    place = replace(_PLACE, files=files, workspace_roots=("/opt/app",))
    assert "system" not in path_fact("/opt/app/x", Access.WRITE, place, base=None).categories
    assert "system" in path_fact("/opt/other", Access.WRITE, place, base=None).categories


def test_a_name_that_holds_a_secret_as_a_file_holds_none_as_a_directory():
    for made, secret in (
        ({"src/.env": MadeFile(content=b"x")}, True),
        ({"src/.env/bin/x": MadeFile(content=b"x")}, False),
        ({"src/.env": MadeFile(content=b"x")}, True),
    ):
        place = replace(_PLACE, files=MadeFiles(made))
        found = path_fact("src/.env", Access.READ, place, base=place.cwd)
        assert found.exists
        assert ("credential" in found.categories) is secret
