"""The table of places with a meaning outside of homes, for Linux and macOS: data only, read by
`shield.facts.categories`.

Names are compared in NFC and case-folded, whatever the file system does: suspicion may be too wide, never too narrow.
A pattern is a path whose components may be globs (`fnmatch`).
"""

from shield.facts.homes import HOME, places

__all__ = [
    "ABSOLUTE",
    "ANYWHERE",
    "FILLED",
    "FIXED",
    "HIDDEN",
    "NAMES",
    "NOT_CREDENTIALS",
    "SOURCE_SUFFIXES",
    "TEMPORARY",
    "TOP",
    "TREES",
]

# Below a home directory and as a sequence of components anywhere.
FIXED = HOME

# Absolute places: the place itself and everything beneath it.
ABSOLUTE: dict[str, tuple[str, ...]] = {
    "system": places("""
/bin, /boot, /efi, /etc, /lib, /lib32, /lib64, /libx32, /nix, /opt, /proc, /run, /sbin, /snap, /srv, /sys, /usr
/var, /Applications, /Library, /Network, /System, /cores, /private/etc, /private/var
"""),
    "credential": places("""
/etc/shadow*, /etc/gshadow*, /etc/sudoers, /etc/sudoers.d, /etc/security/opasswd, /etc/ssh/ssh_host_*_key
/etc/ssl/private, /etc/pki/tls/private, /etc/letsencrypt/archive, /etc/letsencrypt/live, /etc/krb5.keytab
/etc/kubernetes, /etc/rancher, /etc/docker/key.json, /etc/wireguard, /etc/openvpn, /etc/ipsec.secrets
/etc/ppp/chap-secrets, /etc/netplan, /etc/NetworkManager/system-connections, /etc/wpa_supplicant, /etc/master.passwd
/private/etc/master.passwd, /private/etc/sudoers, /private/etc/ssh/ssh_host_*_key, /private/var/db/dslocal
/var/db/dslocal, /var/lib/kubelet, /var/lib/sss, /var/run/secrets, /run/secrets, /run/credentials, /var/lib/docker
/etc/apt/auth.conf, /etc/apt/auth.conf.d, /etc/chef, /etc/consul.d, /etc/credstore, /etc/credstore.encrypted
/etc/cryptsetup-keys.d, /etc/exim4/passwd*, /etc/gitlab, /etc/gitlab-runner, /etc/ipsec.d/private
/etc/iscsi/iscsid.conf, /etc/ldap.secret, /etc/libnss-ldap.secret, /etc/mysql/debian.cnf, /etc/nomad.d
/etc/nslcd.conf, /etc/pam_ldap.secret, /etc/postfix/sasl_passwd*, /etc/puppetlabs/puppet/ssl, /etc/racoon/psk.txt
/etc/salt/pki, /etc/sssd, /etc/swanctl/private, /etc/vault.d, /run/user/*/krb5cc*, /tmp/krb5cc_*, /var/backups
/var/crash, /var/db/SystemKey, /var/lib/NetworkManager, /var/lib/bluetooth, /var/lib/cloud, /var/lib/containerd
/var/lib/containers, /var/lib/etcd, /var/lib/grafana, /var/lib/iwd, /var/lib/jenkins, /var/lib/mongodb
/var/lib/mysql, /var/lib/postgresql, /var/lib/rancher, /var/lib/redis, /var/lib/samba/private
/var/lib/systemd/coredump, /var/lib/systemd/credential.secret, /var/lib/tailscale, /var/lib/waagent
/var/lib/zerotier-one, /var/mail, /var/spool/mail, /var/vmail, /private/var/mail, /private/etc/ppp/chap-secrets
"""),
    "secret_store": places("/Library/Keychains, /System/Library/Keychains, /private/var/db/SystemKey"),
    "shell_startup": places("""
/etc/profile, /etc/profile.d, /etc/bash.bashrc, /etc/bashrc, /etc/zsh, /etc/zshrc, /etc/zshenv, /etc/zprofile
/etc/environment, /etc/ld.so.preload, /etc/ld.so.conf, /etc/ld.so.conf.d, /etc/inputrc, /etc/fish
/private/etc/profile, /private/etc/zshrc, /private/etc/zprofile, /private/etc/bashrc
"""),
    "vcs_config": places("/etc/gitconfig, /private/etc/gitconfig"),
    "scheduler": places("""
/etc/cron*, /etc/anacrontab, /etc/at.allow, /etc/at.deny, /etc/systemd, /etc/init.d, /etc/rc*.d, /etc/rc.local
/etc/xdg/autostart, /lib/systemd, /usr/lib/systemd, /run/systemd, /usr/lib/cron, /var/spool/cron, /var/spool/at
/var/spool/anacron, /var/at, /private/var/at, /Library/LaunchAgents, /Library/LaunchDaemons, /Library/StartupItems
/System/Library/LaunchAgents, /System/Library/LaunchDaemons, /etc/periodic, /private/etc/periodic
"""),
    "socket": places("""
/run/docker.sock, /var/run/docker.sock, /private/var/run/docker.sock, /run/containerd, /var/run/containerd
/run/podman, /run/crio, /run/dbus, /run/user/*/bus, /run/user/*/podman, /run/user/*/docker.sock, /run/user/*/gnupg
/run/user/*/keyring, /run/snapd.socket, /var/lib/lxd/unix.socket, /var/run/libvirt, /run/libvirt, /run/user/*/gcr
/run/user/*/ssh-agent*, /run/user/*/systemd/private, /run/systemd/private, /tmp/ssh-*, /tmp/tmux-*, /tmp/.X11-unix
/private/tmp/com.apple.launchd.*, /private/tmp/tmux-*
"""),
    "proc_environ": places("""
/proc/*/auxv, /proc/*/cmdline, /proc/*/cwd, /proc/*/environ, /proc/*/exe, /proc/*/fd, /proc/*/fdinfo, /proc/*/io
/proc/*/map_files, /proc/*/maps, /proc/*/mem, /proc/*/ns, /proc/*/numa_maps, /proc/*/pagemap, /proc/*/root
/proc/*/smaps*, /proc/*/stack, /proc/*/syscall, /proc/*/task, /proc/kcore, /proc/keys, /proc/kmem, /proc/vmcore
"""),
    "shield_code": places("""
/etc/systemd/*/shield*, /etc/systemd/*/*.wants/shield*, /run/systemd/*/shield*, /Library/LaunchDaemons/*shield*
/Library/LaunchAgents/*shield*
"""),
    "host_config": places("/etc/claude-code, /Library/Application Support/ClaudeCode, /etc/codex, /etc/gemini-cli"),
    "device": places("/dev"),
}

# As a sequence of components anywhere; in a workspace root they are fixed places, too.
ANYWHERE: dict[str, tuple[str, ...]] = {
    "vcs_hook": places("""
.git/hooks, .husky, .githooks, .git/modules/*/hooks, .pre-commit-config.yaml, .hg/hgrc, lefthook.yml, .lefthook.yml
lefthook.yaml, .overcommit.yml, .git-hooks, .huskyrc, .huskyrc.js, .huskyrc.json, .lefthook, .lefthook-local.yml
.lefthook.toml, captainhook.json, .huskyrc.yaml, .huskyrc.yml
grumphp.yml, lefthook-local.yml, lefthook.json, lefthook.toml, prek.toml
.cargo-husky/hooks, .hk.pkl, .huskyrc.cjs, .lefthook.json, .rusty-hook.toml, hk.pkl, lefthook.jsonc
git-hooks, .git_hooks, .lefthook-local, .lefthook-local.json, .lefthook-local.jsonc
.lefthook-local.toml, .lefthook-local.yaml, .lefthook.jsonc, .lefthook.yaml, lefthook-local.json, lefthook-local.jsonc
lefthook-local.toml, lefthook-local.yaml, .moon/workspace.hcl, .moon/workspace.json, .moon/workspace.jsonc
.moon/workspace.pkl, .moon/workspace.toml, .moon/workspace.yaml, .moon/workspace.yml, .pre-commit-config.yml
grumphp.dist.yml, grumphp.yml.dist, .captainhook.json, captainhook.config.json
"""),
    # All of `.git`: a `HEAD`, a gitlink file or a directory moved there makes another repository of the place.
    "vcs_config": places("""
.git, .hg, .jj, .gitmodules, .gitattributes, .lfsconfig, .svn, .bzr, .fossil-settings, .pijul, .repo, .sl, _darcs
.arcconfig, .gclient, .gitreview, .arclint, .arcunit, .hgsub, .lazygit.yml
"""),
    "ci": places("""
.github/workflows, .github/actions, .github/dependabot.yml, .gitlab-ci.yml, .gitlab, .circleci, .travis.yml
.azure-pipelines, azure-pipelines.yml, .drone.yml, .woodpecker, .woodpecker.yml, .buildkite, .forgejo/workflows
.gitea/workflows, .ci, .teamcity, Jenkinsfile, bitbucket-pipelines.yml, appveyor.yml, cloudbuild.yaml, .appveyor.yml
.azuredevops, .build.yml, .builds, .cirrus.star, .cirrus.yml, .codefresh, .drone.jsonnet, .drone.star, .drone.yaml
.github/dependabot.yaml, .github/mergify.yml, .gitlab-ci.yaml, .harness, .jenkins, .mergify.yml, .prow.yaml
.readthedocs.yaml, .readthedocs.yml, .renovaterc, .renovaterc.json, .renovaterc.json5, renovate.json5
.github/renovate.json, .github/renovate.json5, .screwdriver, .semaphore, .shippable.yml
.tekton, .woodpecker.yaml, .zuul.yaml, azure-pipelines.yaml, bitrise.yml, buildspec.yml, buildspec.yaml
cloudbuild.yml, codefresh.yml, codemagic.yaml, renovate.json, screwdriver.yaml, shippable.yml, wercker.yml, zuul.d
.circleci.yml, .do/app.yaml, .ebextensions, .github/settings.yaml, .github/settings.yml, .gitlab-ci
.onedev-buildspec.yml, .pipelines, .platform.app.yaml, .sourcehut.yml, .vela.yaml, .vela.yml, .vsts-ci.yml, amplify.yml
appspec.yaml, appspec.yml
.github/copilot-setup-steps.yml, circle.yml, netlify.toml, render.yaml, screwdriver.yml, vercel.json
.bulldozer.yml, .ci-operator.yaml, .copr/Makefile, .do/deploy.template.yaml, .evergreen.yml, .kodiak.toml, .packit.json
.packit.yaml, .packit.yml, .policy.yml, .scrutinizer.yml, .taskcluster.yml, .upsun, apprunner.yaml, bors.toml
buildkite.json, buildkite.yaml, buildkite.yml, ci_scripts/ci_post_clone.sh, ci_scripts/ci_post_xcodebuild.sh
ci_scripts/ci_pre_xcodebuild.sh, codeship-services.yml, codeship-steps.json, codeship-steps.yml, heroku.yml
nixpacks.toml, packit.yaml, packit.yml, railway.toml
"""),
    "host_config": places("""
.claude/settings*.json, .claude/hooks, .claude/commands, .claude/agents, .claude/skills, .claude-plugin, .codex
.cursor/hooks.json, .cursor/hooks, .cursor/mcp.json, .cursor/cli.json, .cursor/environment.json
.gemini/settings.json, .gemini/commands, .gemini/extensions, .qwen/settings.json, .github/hooks, .mcp.json, mcp.json
.vscode/settings.json, .vscode/tasks.json, .vscode/launch.json, .vscode/mcp.json, .vscode/extensions.json
.idea/runConfigurations, .idea/externalDependencies.xml, .idea/tools, .idea/watcherTasks.xml, .fleet/run.json
.idea/workspace.xml, .zed/settings.json, .zed/tasks.json, .devcontainer, .devcontainer.json, .opencode
opencode.json, .aider.conf.yml, .continue/config.*, .windsurf/hooks.json, .amp/settings.json, .kiro/hooks
.kiro/settings, .envrc, .direnv, mise.toml, .mise.toml, .mise/config.toml, .config/mise, .gitpod.yml
.gitpod.Dockerfile, .amazonq/cli-agents, .amazonq/mcp.json, .autoenv, .autoenv.zsh, .claude/plugins
.codesandbox/tasks.json, .continue/mcpServers, .crush.json, .cursor/permissions.json, .devfile.yaml, .factory/hooks
.factory/mcp.json, .factory/settings.json, .helix/config.toml, .helix/languages.toml, .idx/dev.nix, .junie/mcp
.kilocode/mcp.json, .nova/Tasks, .openhands/pre-commit.sh, .openhands/setup.sh, .qwen/hooks, .replit, .roo/mcp.json
.run, .trae/mcp.json, crush.json, devfile.yaml, opencode.jsonc, replit.nix, .idea/startup.xml
.vscode/c_cpp_properties.json, .vscode/cmake-kits.json, .vs, .emdash.json, .superset, conductor.json, .rtx.toml
mise/config.toml, mise-tasks, .mise-tasks, .rvmrc, .powrc, .github/extensions, .github/lsp.json, .github/plugin
.bsp, .codebuff, .crush, .externalToolBuilders, .hie-bios, .neoconf.json, .nvim, .ondirrc, .pi, .rovodev, .shadowenv.d
.tmuxinator.yml, .tmuxp.yaml, .vscode/sftp.json, codebuff.json, gemini-extension.json, hie.yaml
.autoenv.sh, .loadrc, .lapce/settings.toml
.aider.model.settings.yml, .autoenv.leave, .autoenv_leave.zsh, .codesandbox, .envrc.local, .envrc.override
.envrc.private, .envrc.user, .github/copilot, .gitpod, .idx, .mise/conf.d, .mise/config.local.toml, .miserc.toml, .ona
.opencode.json, .opencode.jsonc, .tmuxp.json, .tmuxp.yml, .vscode/cody.json, mise/conf.d, mise/config.local.toml
"""),
    # By which a tool or an editor runs programs, loads plug-ins or fetches from elsewhere. Of the project's own build
    # (a Makefile, a `build.rs`, a `conftest.py`) nothing: that is the code which is being worked on.
    "tool_config": places("""
.npmrc, .yarnrc, .yarnrc.yml, .yarn/plugins, .yarn/releases, .pnpmfile.cjs, .pnpmfile.mjs, .pnp.cjs, .pnp.loader.mjs
bunfig.toml
pip.conf, pip.ini, uv.toml, .condarc, .pypirc, .cargo/config, .cargo/config.toml, .bundle/config, .bundle/plugin
.bazelrc, .bazeliskrc, .buckconfig, .mvn, .sbtopts, .jvmopts, gradle/wrapper, nuget.config, .ansible.cfg
ansible.cfg, .curlrc, .wgetrc, .ripgreprc, .ackrc, .ctags, .ctags.d, .sqliterc, .Rprofile, .RData, .iex.exs, .octaverc
.rdbgrc
.actrc, .bazelversion, .buckconfig.d, .buckconfig.local, .byebugrc, .erlang, .ghcid, .mambarc, .mill-jvm-opts
.mill-opts, .pants.rc, .pdm.toml, .pixi/config.toml, .proverc, .psysh.php, .sbtrc, .swiftpm/configuration
Directory.Build.rsp, MSBuild.rsp, pdm.toml, poetry.toml, renv/activate.R
.factorypath, .flox, .gh-dash.yml, .gtrconfig, .kateproject, .lsp/config.edn, .merlin, .nova/Configuration.json
.phpactor.json, .phpactor.yml, .powenv, .project, .prototools, .pumaenv, .rbenv-vars, .rust-project.json, .stackblitzrc
.vimspector.json, .workmux.yaml, hermit.hcl, launch.vs.json, omnisharp.json, rust-analyzer.toml, rust-project.json
tasks.vs.json
"""),
    "agent_instruction": places("""
.cursor/rules, .github/copilot-instructions.md, .github/instructions, .windsurfrules, .clinerules, .roo/rules*
.agents/skills, .amazonq/rules, .continue/prompts, .continue/rules, .github/agents, .github/chatmodes
.github/prompts, .kilocode/rules, .openhands/microagents, .windsurf/rules, .windsurf/workflows, CRUSH.md
.kiro/steering, .junie, .trae/rules, .augment/rules, .claude/rules, .claude/output-styles, .goosehints, .roomodes
.rules, .roorules, .goosehints.local, .augment-guidelines, .github/skills, AGENTS.override.md
GROK.md, IFLOW.md, copilot-instructions.md, firebender.json, .rovodev/instructions.md, .trae/project_rules.md
.zencoder, JULES.md, replit.md, .agent.md
CLAUDE.local.md, GEMINI.md, QWEN.md, WARP.md, .claude/CLAUDE.md
AGENTS.local.md, CODEBUDDY.md, .hermes.md, .bolt/prompt, .builderrules, .claude/loop.md, .coderabbit.yaml
.coderabbit.yml, .greptile, greptile.json, .kilocodemodes, .kilocoderules, .openhands_instructions, .pr_agent.toml
.ruler, .voidrules
"""),
    "workspace_policy": places(".shield.yaml"),
}

# Directly in a workspace root, further down these are plain names of documents and data.
TOP: dict[str, tuple[str, ...]] = {
    "agent_instruction": places("AGENT.md, BOOT.md, BOOTSTRAP.md, CODEX.md, HEARTBEAT.md, HERMES.md, TOOLS.md"),
    "ci": places("now.json, railway.json"),
    "host_config": places("kilo.json, kilo.jsonc"),
    "shell_startup": places("Session.vim"),
    "tool_config": places("sandbox.config.json"),
}

# What stands in a hidden folder, whatever that is called: agents and editors, of which a table never holds all,
# look for these each in a folder of its own.
HIDDEN: dict[str, tuple[str, ...]] = {
    "host_config": places("""
debug.json, extensions, hooks*, launch.json, lsp.json, mcp*, plugin, plugins, settings.json, settings.local.json
tasks, tasks.json, toolbox
"""),
    "agent_instruction": places("""
agent, agent-memory*, agents*, assistants, chatmodes, checks, command, commands*, droids, guidelines*, instructions*
memories, memory, memory-bank, microagents, modes, output-styles, personas, playbooks, prompts*, recipes, rules*
skill, skills*, steering, subagents, workflows
"""),
}
# Hidden folders that tools fill with what they make or fetch, and obey nothing in.
FILLED = places("""
.angular, .cache, .eggs, .git, .gradle, .hypothesis, .ipynb_checkpoints, .mypy_cache, .next, .nox, .nuxt, .nyc_output
.output, .parcel-cache, .pnpm, .pnpm-store, .pytest_cache, .ruff_cache, .svelte-kit, .terraform, .tox, .turbo, .venv
.vite
""")

# By the last component alone.
NAMES: dict[str, tuple[str, ...]] = {
    "credential": places("""
.env, .env.*, .env-*, .env_*, .dev.vars*, .secrets, *.env, id_rsa*, id_dsa*, id_ecdsa*, id_ed25519*, *.pem, *.ppk
*.pfx, *.p12, *.jks, *.keystore, *.keytab, *.kdbx, *.key, *.p8, *.pk8, *.pkcs12, *.kdb, *.psafe3, *.1pif, *.asc.key
*.agekey, *.ovpn, .*_history, *bash_history*, *zsh_history*, authorized_keys, credentials, credentials.json
credentials.yml, credentials.yaml, credentials.toml, client_secret*.json, service-account*.json
service_account*.json, application_default_credentials.json, secrets.json, secrets.yml, secrets.yaml, secrets.toml
secrets.env, kubeconfig, *.kubeconfig, *.tfstate, *.tfstate.backup, *.tfvars, *.tfvars.json, wallet.dat, *.wallet
logins.json, key3.db, key4.db, cookies.sqlite, login data, .dockercfg, .dockerconfigjson, master.key
vault-password*, .vault_pass*, *firebase-adminsdk*.json, cookies.binarycookies, secring.gpg, signons.sqlite
ssh_host_*_key
"""),
    "secret_store": places("*.keychain, *.keychain-db, *.agilekeychain, *.opvault"),
    # The editors' are read by one that is started in the directory.
    "shell_startup": places("""
sitecustomize.*, usercustomize.*, .exrc, .nvimrc, .nvim.lua, .lvimrc, .dir-locals.el, .dir-locals-2.el, *.code-workspace
.local.vimrc, .vimrc.local, _vimrc_local.vim
*.sublime-project, .emacs.desktop, .lazy.lua, .ycm_extra_conf.py
"""),
    "host_config": places(".mise.*.toml, mise.*.toml"),
    "vcs_hook": places("""
.lintstagedrc*, lint-staged.config.*, .simple-git-hooks.*, simple-git-hooks.*, husky.config.*, .nano-staged.*
nano-staged.*, .nanostagedrc*
"""),
    "ci": places("""
azure-pipelines*.yml, azure-pipelines*.yaml, *.gitlab-ci.yml, jenkinsfile.*, jenkinsfile-*, *.jenkinsfile
*.gocd.yaml, *.gocd.yml, *.gocd.json
"""),
    # Jupyter's are Python, and run by it where it is started (CVE-2022-39286: before 4.11.2 of its core). File managers
    # start what launchers say, some when a folder is only looked at (CVE-2019-14744; Windows: `desktop.ini`, `*.scf`).
    "tool_config": places("""
*.bazelrc, jupyter_config.*, jupyter_*_config.*, *.run.xml, *.ipr, *.iws, *.desktop, .directory, *.command, *.terminal
*.inetloc, *.fileloc, *.lnk, *.scf, *.library-ms, *.url, desktop.ini, autorun.inf
"""),
    # `.cursorrules` and its like, of whichever agent; some with the name of a mode behind it.
    "agent_instruction": places(".*rules, .*rules-*"),
    "socket": places("""
buildkitd.sock, containerd.sock, containerd.sock.ttrpc, cri-dockerd.sock, crio.sock, docker.sock, podman.sock
s.gpg-agent*, ssh-agent.sock, tailscaled.sock
"""),
}

# Templates and public halves that the names above would catch; they hold no secret of their own.
NOT_CREDENTIALS = places("""
.env?example*, .env?sample*, .env?template*, .env?dist, .env?defaults, .env?tpl, .env?tmpl, .env?schema
.env.*.example, .env.*.sample, .env.*.template, .env.*.dist, example.env, sample.env, template.env, *.example.env
*.sample.env, *.template.env, *.pub, *.example.tfvars, example.tfvars, example.tfvars.json, ca.pem, ca-cert.pem
ca-certificates.pem, ca-bundle.pem, cacert.pem, cert.pem, chain.pem, csr.pem, dhparam*.pem, fullchain.pem
public.pem, *public[-_]key.pem, *[-_.]public.pem, *[-_.]pub.pem, *[-_.]ca.pem, *[-_]cert.pem
""")

# Where hosts and a build server keep working trees, among their own settings and secrets: each of these is one, or a
# folder of them. What is in a tree is a project's.
TREES = places("""
.codex/worktrees/*, .cursor/worktrees/*, .gemini/worktrees/*, .windsurf/worktrees/*, .local/share/opencode/worktree/*
var/lib/jenkins/workspace/*, var/lib/jenkins/jobs/*/workspace
""")

TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders")  # noqa: S108 - the places themselves are the subject

_SUFFIXES = """
.asm .astro .bash .bat .c .cc .cjs .clj .cljs .cmake .coffee .cpp .cr .cs .css .cu .cxx .d .dart .elm .erl .ex .exs
.f90 .fish .fs .go .gradle .groovy .h .hh .hpp .hrl .hs .htm .html .hxx .ipynb .java .jl .js .jsx .kt .kts .less .lisp
.lua .m .mjs .ml .mli .mm .mts .nim .nix .pas .php .pl .pm .proto .ps1 .py .pyi .pyx .r .rb .rkt .rs .s .sass .scala
.scm .scss .sh .sol .sql .svelte .swift .tcl .tf .thrift .toml .ts .tsx .v .vala .vb .vhd .vim .vue .wat .xml .yaml
.yml .zig .zsh
"""
SOURCE_SUFFIXES = frozenset(_SUFFIXES.split())
