"""The places with a meaning on Linux and macOS, theme by theme, each with twins that only sound like it."""

from dataclasses import replace

import pytest

from shield.facts.categories import CATEGORIES
from shield.facts.fixed import ABSOLUTE, ANYWHERE, NAMES, TOP
from shield.facts.homes import HOME, OWN
from shield.facts.made import MadeFiles
from shield.facts.paths import path_fact
from shield.facts.place import Place
from shield.types import Access

_LINUX = Place(files=MadeFiles(), home="/home/user", cwd="/home/user/ws", workspace_roots=("/home/user/ws",))
_MAC = Place(
    files=MadeFiles(home="/Users/user", cwd="/Users/user/ws", programs=frozenset()),
    home="/Users/user",
    cwd="/Users/user/ws",
    workspace_roots=("/Users/user/ws",),
    platform="darwin",
)


def categories(raw, place=_LINUX):
    return path_fact(raw, Access.READ, place, base=place.cwd).categories


_THEMES = [
    (
        "clouds",
        "credential",
        """~/.aws/config|~/.azure/msal_token_cache.json|~/.config/gcloud/credentials.db|~/.oci/config|~/.config/scw/config.yaml
        ~/.config/configstore/firebase-tools.json|~/.wrangler/config/default.toml|~/.pulumi/credentials.json|~/.dbt/profiles.yml
        ~/.config/doctl/config.yaml|~/.fly/config.yml|~/.terraform.d/credentials.tfrc.json|~/.cf/config.json|/home/other/.aws/config
        ~/.kube/config|~/.config/argocd/config|~/.docker/config.json|~/.config/helm/registry/config.json|prod.tfvars.json""",
        "aws/config|docs/aws.md|.github/gcloud.md|~/.config/fonts.conf|kube/config.yaml|src/azure.py|example.tfvars|a.tf",
    ),
    (
        "registries",
        "credential",
        """~/.npmrc|.npmrc|~/.yarnrc.yml|~/.pypirc|~/.config/pip/pip.conf|~/.condarc|~/.bundle/config|~/.cargo/credentials.toml
        ~/.m2/settings.xml|~/.gradle/gradle.properties|~/.nuget/NuGet/NuGet.Config|~/.composer/auth.json|~/.hex/hex.config
        ~/.config/dart/pub-credentials.json|~/.ivy2/.credentials|~/.jfrog/jfrog-cli.conf""",
        ".yarnrc.yml|.bundle/config|.condarc|gradle.properties|m2/settings.xml|pip.conf|composer.json|auth.json|src/npmrc.md",
    ),
    (
        "git and forges",
        "credential",
        "~/.git-credentials|~/.config/git/credentials|~/.netrc|~/.config/gh/hosts.yml|~/.config/glab-cli/config.yml|~/.config/tea/x",
        "docs/netrc.md|git-credentials.md|~/.config/gh/config.yml|hosts.yml",
    ),
    (
        "databases",
        "credential",
        "~/.pgpass|~/.pg_service.conf|~/.my.cnf|~/.mylogin.cnf|~/.cassandra/credentials|~/.local/share/DBeaverData/x",
        "my.cnf|pgpass.md|db/schema.sql|db/credentials_test.py",
    ),
    (
        "keys",
        "credential",
        """server.key|tls.p12|AuthKey_X.p8|android.jks|release.keystore|db.kdbx|x.agekey|deploy/id_ed25519|ssh_host_rsa_key
        ~/.putty/sshhostkeys|client.ovpn|app-firebase-adminsdk-1.json|~/.acme.sh/x/x.key|.secrets|.dev.vars|.env-prod|.env_prod""",
        """id_rsa.pub|server.crt|docs/ssh.md|tests/fixtures/id_rsa.pub|key.py|keys.ts|monkey|ca.pem|site-cert.pem|public.pem|dhparam.pem
        .env-example|.env_sample|.env.example.local|.env.production.template|local.example.env|.environment|secrets.md""",
    ),
    (
        "agents",
        "credential",
        """~/.claude/.credentials.json|~/.claude.json|~/.claude/projects/-home-x/1.jsonl|~/.codex/auth.json|~/.codex/sessions/1.jsonl
        ~/.gemini/oauth_creds.json|~/.config/openai/x|~/.local/share/opencode/auth.json|~/.config/github-copilot/apps.json
        ~/.cache/huggingface/token|~/.mcp-auth/x|~/.config/Code/User/globalStorage/state.vscdb|~/.aider.chat.history.md""",
        "~/.claude/projects/x/memory/notes.md|~/.claude/todo.md|docs/openai.md|src/anthropic/client.py|~/.codex/README.md",
    ),
    (
        "browsers and mail and messengers and wallets",
        "credential",
        """~/.mozilla/firefox/x/key4.db|~/.config/BraveSoftware/x|~/.librewolf/x|~/snap/firefox/x|~/.var/app/com.google.Chrome/x
        ~/.thunderbird/x|~/.mutt/muttrc|~/.config/aerc/accounts.conf|~/Maildir/new/1|~/Mail/x|/var/mail/user|~/.config/Signal/x
        ~/.config/Slack/Cookies|~/.weechat/irc.conf|~/.local/share/TelegramDesktop/x|~/.bitcoin/wallet.dat|~/.config/solana/id.json
        ~/.foundry/keystores/x|~/.near-credentials/x|~/.config/Ledger Live/app.json|~/Library/Ethereum/keystore/x""",
        "Mail/x|mail/template.html|src/signal.py|discord.md|wallet.py|firefox.md|~/Documents/Slack.md|chrome/manifest.json",
    ),
    (
        "macOS secrets",
        "credential",
        """~/Library/Mail/V10/x|~/Library/Messages/chat.db|~/Library/Safari/History.db|~/Library/Cookies/Cookies.binarycookies
        ~/Library/Application Support/Google/Chrome/Default/Login Data|~/Library/Containers/com.apple.mail/x
        ~/Library/Containers/com.x.y/Data/Library/Cookies/x|~/Library/Group Containers/group.com.apple.notes/NoteStore.sqlite
        ~/Library/Application Support/com.apple.TCC/TCC.db|~/Library/Application Support/MobileSync/Backup/x
        ~/Library/Application Support/Slack/x|/private/var/db/dslocal/nodes/x|/var/db/SystemKey|/private/etc/master.passwd""",
        "~/Library/Fonts/x.ttf|~/Library/Caches/x|~/Library/Application Support/Foo/x|~/Library/Containers/com.x.y/Data/Documents/x",
    ),
    (
        "machines",
        "credential",
        """/etc/shadow|/etc/apt/auth.conf.d/x|/etc/NetworkManager/system-connections/x|/etc/wireguard/wg0.conf|/tmp/krb5cc_1000
        /etc/gitlab-runner/config.toml|/var/lib/cloud/instance/user-data.txt|/var/lib/waagent/x|/run/secrets/db|/var/backups/shadow.bak
        /etc/mysql/debian.cnf|/var/lib/postgresql/15/main/base/1|/etc/postfix/sasl_passwd.db|/root/.ssh/id_rsa|/mnt/disk/home/u/.aws/x""",
        "/etc/passwd|/etc/hosts|/etc/os-release|/var/log/syslog|/var/lib/dpkg/status|/etc/mysql/my.cnf|/usr/share/doc/ssh",
    ),
    (
        "vaults",
        "secret_store",
        """~/.password-store/x.gpg|~/.local/share/gopass/x|~/.local/share/keyrings/x|~/Library/Keychains/login.keychain-db|x.agilekeychain
        ~/.config/Bitwarden CLI/data.json|~/Library/Application Support/Bitwarden/data.json|~/.config/keepassxc/x|~/.op/config
        ~/Library/Group Containers/2BUA8C4S2C.com.1password/x|/Library/Keychains/System.keychain""",
        "password-store.md|keyrings/x|keychain.py|bitwarden.md",
    ),
    (
        "shells",
        "shell_startup",
        """~/.bashrc|~/.bashrc.d/x|~/.bash_completion|~/.zshrc|~/.config/zsh/.zshrc|~/.config/fish/completions/x.fish|~/.kshrc|~/.cshrc
        ~/.config/nushell/config.nu|~/.config/elvish/rc.elv|~/.xonshrc|~/.config/powershell/profile.ps1|~/.config/starship.toml
        ~/.oh-my-zsh/custom/x.zsh|dotfiles/.zshrc|/etc/profile.d/x.sh|~/.inputrc|~/.config/environment.d/x.conf""",
        "bashrc|zshrc.md|completions/x.fish|profile.py|.profile.md|~/.config/user-dirs.dirs",
    ),
    (
        "what starts by itself",
        "shell_startup",
        """~/.config/autostart/x.desktop|~/.xprofile|~/.vimrc|~/.config/nvim/init.lua|~/.emacs.d/init.el|~/.tmux.conf|~/.gdbinit|~/.irbrc
        ~/.config/i3/config|~/.config/hypr/hyprland.conf|~/.config/kitty/kitty.conf|~/.ipython/profile_default/startup/x.py|~/.mailcap
        .venv/lib/python3.11/site-packages/x.pth|lib/sitecustomize.py|.exrc|~/Library/Services/x|~/Library/Input Methods/x
        ~/.local/share/applications/x.desktop|~/.hammerspoon/init.lua""",
        "model.pth|checkpoints/best.pth|vimrc.md|nvim/init.lua|emacs.md|site-packages.md|~/.config/gtk-3.0/settings.ini",
    ),
    (
        "schedulers and login items",
        "scheduler",
        """~/.config/systemd/user/x.timer|/etc/cron.d/x|/var/spool/cron/crontabs/u|~/Library/LaunchAgents/x.plist|~/.pm2/dump.pm2
        /Library/LaunchDaemons/x.plist|~/.local/share/dbus-1/services/x.service|~/Library/Preferences/com.apple.loginitems.plist
        ~/Library/Application Support/com.apple.backgroundtaskmanagementagent/backgrounditems.btm""",
        "systemd/user/x.service|deploy/app.timer|cron.md|LaunchAgents/x.plist",
    ),
    (
        "repositories",
        "vcs_config",
        ".git/config|.git|.hg/hgrc|.svn/wc.db|.gitmodules|.gitattributes|~/.gitconfig|~/.config/git/config|~/.hgrc|srv/x.git/config|.jj/repo",
        ".gitignore|.github/CODEOWNERS|git/config|.gitkeep|hgrc.md|x.gitconfig.md",
    ),
    (
        "hooks",
        "vcs_hook",
        """.git/hooks/pre-commit|.husky/pre-push|.githooks/x|.pre-commit-config.yaml|lefthook.yml|lefthook-local.yml|.lintstagedrc.json
        .simple-git-hooks.json|prek.toml|~/.git-templates/hooks/x|srv/x.git/hooks/update|.git/modules/m/hooks/x""",
        "hooks/useState.ts|src/hooks/index.ts|git-hooks.md|lefthook.md|.pre-commit-hooks.md",
    ),
    (
        "continuous integration",
        "ci",
        """.github/workflows/x.yml|.gitlab-ci.yml|.circleci/config.yml|Jenkinsfile|Jenkinsfile.release|azure-pipelines-nightly.yml
        .woodpecker.yaml|.cirrus.yml|.drone.star|.semaphore/semaphore.yml|bitbucket-pipelines.yml|buildspec.yml|.tekton/x.yaml|.builds/x.yml
        renovate.json|.readthedocs.yaml|.buildkite/pipeline.yml|sub.gitlab-ci.yml|.teamcity/settings.kts""",
        "workflows/x.yml|docs/ci.md|.github/FUNDING.yml|.github/ISSUE_TEMPLATE/x.md|pipeline.yml|docker-compose.yml|Makefile",
    ),
    (
        "editors and agents that run code",
        "host_config",
        """.vscode/settings.json|.vscode/tasks.json|.idea/runConfigurations/x.xml|.run/x.run.xml|.claude/settings.local.json|.mcp.json
        .claude/hooks/x.sh|.cursor/mcp.json|.gemini/settings.json|.codex/config.toml|.continue/mcpServers/x.yaml|.aider.conf.yml|.envrc
        .devcontainer/devcontainer.json|.roo/mcp.json|.amazonq/mcp.json|.kiro/hooks/x|.replit|opencode.jsonc|mise.toml|mise.local.toml
        .helix/languages.toml|.zed/tasks.json|~/.config/Code/User/settings.json|~/.config/zed/settings.json|~/.vscode/extensions/x""",
        """.vscode/README.md|.idea/vcs.xml|.idea/misc.xml|.editorconfig|.claude/README.md|.envrc.md|settings.json|tasks.json|.kiro/specs/x.md
        .roo/notes.md|.cursorignore|src/mcp/server.py|.tool-versions""",
    ),
    (
        "tools",
        "tool_config",
        """.npmrc|.yarnrc.yml|.yarn/plugins/x.cjs|.pnpmfile.cjs|bunfig.toml|pip.conf|.cargo/config.toml|.bazelrc|.mvn/extensions.xml
        gradle/wrapper/gradle-wrapper.properties|ansible.cfg|.curlrc|.ripgreprc|~/.config/pip/pip.conf|~/.cargo/config.toml|~/.wgetrc
        ~/.docker/cli-plugins/docker-x|~/.local/share/gh/extensions/x|~/.gradle/init.d/x.gradle|.bundle/config|nuget.config""",
        """Makefile|package.json|conftest.py|build.rs|Cargo.toml|pyproject.toml|setup.cfg|build.gradle|pom.xml|tox.ini|.eslintrc.js|go.mod
        .prettierrc|requirements.txt|cargo/config.toml|.yarn/cache/x.zip|noxfile.py|Dockerfile""",
    ),
    (
        "instructions",
        "agent_instruction",
        "AGENTS.md|CLAUDE.md|GEMINI.md|.cursor/rules/x.mdc|.github/copilot-instructions.md|.roo/rules-code/x.md|.windsurf/rules/x.md|.junie/g.md",
        "agents.py|docs/agent.md|rules.md|instructions.txt|src/rules/x.md|CONTRIBUTING.md|README.md",
    ),
    (
        "sockets",
        "socket",
        """/var/run/docker.sock|/run/user/1000/podman/podman.sock|~/.colima/default/docker.sock|/run/k3s/containerd/containerd.sock
        /run/user/1000/gnupg/S.gpg-agent|/tmp/ssh-abc/agent.1|/tmp/tmux-1000/default|/run/user/1000/bus|/run/buildkit/buildkitd.sock""",
        "docker.sock.md|src/socket.py|/tmp/x|agent.sock.md",
    ),
    (
        "processes",
        "proc_environ",
        """/proc/1/environ|/proc/self/environ|/proc/thread-self/mem|/proc/7/task/8/environ|/proc/7/fd/3|/proc/7/root/etc|/proc/7/cwd
        /proc/7/maps|/proc/7/smaps_rollup|/proc/7/numa_maps|/proc/7/cmdline|/proc/kcore|/proc/keys""",
        "/proc/meminfo|/proc/cpuinfo|/proc/7/status|/proc/7/stat|/proc/self/mountinfo|/proc/loadavg|proc/1/environ|/proc",
    ),
    (
        "devices",
        "device",
        "/dev/sda|/dev/nvme0n1p1|/dev/mem|/dev/kmsg|/dev/input/event0|/dev/tcp/x/1|/dev/disk0",
        "/dev/null|/dev/zero|/dev/urandom|/dev/tty|/dev/shm/x|/dev/fd/3|/dev/stdout|dev/sda|device.py",
    ),
]


@pytest.mark.parametrize(("theme", "category", "hits", "misses"), _THEMES, ids=[theme[0] for theme in _THEMES])
def test_places_and_their_twins(theme, category, hits, misses):
    for raw in (each.strip() for each in hits.replace("\n", "|").split("|")):
        assert category in categories(raw), (theme, raw)
    for raw in (each.strip() for each in misses.replace("\n", "|").split("|")):
        assert category not in categories(raw), (theme, raw)


def _example(place):
    """A path of the place: each glob filled in."""
    return place.replace("[-_]", "-").replace("*", "x").replace("?", "-")


@pytest.mark.parametrize("place", [_LINUX, _MAC], ids=["linux", "macos"])
def test_every_place_of_the_tables_is_found(place):
    """Below this home, another one, a backup; itself and beneath it; in upper case."""
    for category, names in HOME.items():
        for name in names:
            path = _example(name)
            for raw in (f"~/{path}", f"/mnt/backup/home/x/{path}", f"~/{path}/deeper/x", f"~/{path.upper()}"):
                if category in ("credential", "secret_store") and raw.endswith(".pub"):
                    continue
                assert category in categories(raw, place), raw
    for category, names in OWN.items():
        for name in names:
            assert category in categories(f"~/{_example(name)}/x", place), name
            assert category not in categories(f"ws/{_example(name)}/x", place), name
    for category, names in ANYWHERE.items():
        for name in names:
            assert category in categories(_example(name), place), name
            assert category in categories(f"deep/er/{_example(name)}/x", place), name
    for category, names in NAMES.items():
        for name in names:
            assert category in categories(f"src/{_example(name)}", place), name
    for category, names in TOP.items():
        for name in names:
            assert category in categories(name, place), name
            assert category in categories(name.swapcase(), place), name
            assert category not in categories(f"docs/{name}", place), name
    for category, names in ABSOLUTE.items():
        for name in names:
            if category == "device" or (category == "system" and name.startswith(("/private/var", "/var"))):
                continue
            assert category in categories(_example(name), place), name


def test_what_is_recursive_covers_every_place_beneath():
    for category, names in HOME.items():
        for name in names:
            parent = "~/" + _example(name).rpartition("/")[0]
            fact = path_fact(parent, Access.DELETE, _LINUX, base=None, recursive=True)
            assert category in fact.covers or category in fact.categories, name
    for category, names in OWN.items():
        for name in names:
            if "/" in name:
                parent = "~/" + name.rpartition("/")[0]
                assert category in path_fact(parent, Access.READ, _LINUX, base=None, recursive=True).covers, name
    everything = path_fact("~", Access.READ, _LINUX, base=None, recursive=True).covers
    assert set(HOME) | set(OWN) <= everything


def test_categories_are_all_that_there_are():
    seen = {category for _, category, hits, _ in _THEMES for raw in hits.split("|") for category in categories(raw)}
    assert seen <= CATEGORIES
    for raw in ("/", "~", "/usr/bin/ls", "/tmp/x", "a.py", "AGENTS.md", "IDENTITY.md", "MEMORY.md", ".shield.yaml"):
        fact = path_fact(raw, Access.DELETE, _LINUX, base="/home/user/ws", recursive=True)
        assert fact.categories | fact.covers <= CATEGORIES
    assert {"hard_link", "tool_config", "proc_environ", "temp"} <= CATEGORIES


# Paths of ordinary projects: nothing in them has a meaning, whatever it is about.
_ORDINARY = """
README.md docs/ssh.md docs/security/secrets.md docs/credentials.md src/auth/token.py src/keys/index.ts lib/wallet/model.rb
src/credentials/store.py tests/test_secrets.py tests/fixtures/passwords.txt tests/data/history.json config/settings.toml
config/database.yml app/models/order_history.rb src/components/ChatHistory.tsx migrations/0001_add_history.sql .gitignore
.editorconfig .prettierrc .eslintrc.json .dockerignore Dockerfile docker-compose.yml Makefile CMakeLists.txt package.json
package-lock.json yarn.lock Cargo.toml Cargo.lock go.sum pyproject.toml requirements.txt setup.cfg tox.ini noxfile.py
conftest.py build.gradle pom.xml main.tf variables.tf k8s/deployment.yaml k8s/secret.yaml.md charts/app/values.yaml
public/index.html static/app.js dist/main.js node_modules/react/index.js .venv/lib/python3.11/site-packages/x.py
target/debug/app build/out.o .next/cache/x coverage/lcov.info .pytest_cache/v/x .mypy_cache/x .ruff_cache/x htmlcov/x
.vscode/README.md .idea/misc.xml .github/PULL_REQUEST_TEMPLATE.md .github/CODEOWNERS LICENSE CHANGELOG.md env.d.ts
environment.ts .nvmrc .node-version .python-version .ruby-version Gemfile Gemfile.lock Rakefile rust-toolchain.toml
cert.pem certs/ca.pem certs/server.crt keys/id_ed25519.pub .env.example .env.sample config/master.key.example
src/hooks/useAuth.ts src/ci/runner.py src/agents/planner.py prompts/system.md notes.md data/users.csv img/logo.png
"""


def test_ordinary_projects_meet_nothing():
    met = {raw: found for raw in _ORDINARY.split() if (found := categories(raw) - {"source", "executable"})}
    assert met == {}


def test_a_home_that_is_elsewhere_has_its_own_places():
    place = replace(_LINUX, home="/srv/people/u", cwd="/work/x", workspace_roots=("/work/x",))
    assert "credential" in categories("/srv/people/u/.yarnrc.yml", place)
    assert "credential" in categories("~/Mail/x", place)
    assert "credential" not in categories("/work/x/.yarnrc.yml", place)
