"""The places with a meaning below a home directory, for Linux and macOS: data only, read by `shield.facts.categories`.

A place stands for itself and for everything beneath it. Each is also looked for as this sequence of components anywhere
(other homes, backups, mounted disks, a folder of dotfiles). Components may be globs (`fnmatch`), the first may not.
"""

__all__ = ["HOME", "OWN", "places"]


def places(text: str) -> tuple[str, ...]:
    """The places in a text, apart by commas and line breaks."""
    return tuple(place.strip() for place in text.replace("\n", ",").split(",") if place.strip())


_MACHINES = """
.ssh, .putty, .gnupg, .pki/nssdb, .rhosts, .shosts, .Xauthority, .ICEauthority, .krb5, .k5login, .smbcredentials
.davfs2/secrets, .vnc, .config/tigervnc, .config/freerdp, .config/remmina, .local/share/remmina, .config/filezilla
.filezilla, .config/rclone, .rclone.conf, .config/age, .config/sops, .config/op, .config/keyring, .config/1Password
.mozilla/firefox/*/key4.db, .local/share/mkcert, Library/Application Support/mkcert, .step, .acme.sh, .lego
.config/letsencrypt, .tailscale, .config/wireguard, .config/openvpn, .local/share/networkmanagement/certificates
"""

_CLOUDS = """
.aws, .azure, .config/gcloud, .config/doctl, .oci, .aliyun, .bluemix, .tccli, .config/hcloud, .config/linode-cli
.config/scw, .config/exoscale, .config/yandex-cloud, .vultr-cli.yaml, .civo.json, .ovh.conf, .fly, .railway
.config/heroku, .local/share/heroku, .config/netlify, .netlify/config.json, Library/Preferences/netlify
.config/vercel, .local/share/com.vercel.cli, Library/Application Support/com.vercel.cli, .wrangler/config
.config/.wrangler, .config/wrangler, Library/Preferences/.wrangler, .supabase, .config/planetscale, .config/turso
.config/neonctl, .config/configstore, .cf/config.json, .serverlessrc, .pulumi/credentials.json, .terraformrc
.terraform.d/credentials.tfrc.json, .vault-token, .infisical, .doppler, .config/stripe, .sentryclirc, .ngrok2
.config/ngrok, Library/Application Support/ngrok, .cloudflared, .s3cfg, .boto, .mc/config.json, .config/akamai
.edgerc, .databrickscfg, .databricks/token-cache.json, .snowflake, .config/snowflake, .snowsql, .dbt/profiles.yml
.bigqueryrc, .kube, .config/argocd, .argocd, .config/helm/registry, .config/helm/repositories.yaml
Library/Preferences/helm/registry, .minikube/certs, .minikube/profiles, .rancher, .chef, .docker/config.json
.docker/contexts, .docker/trust, .docker/machine, .config/containers/auth.json
"""

_FORGES = """
.netrc, _netrc, .authinfo, .authinfo.gpg, .git-credentials, .config/git/credentials, .cache/git/credential
.config/gh/hosts.yml, .config/glab-cli, .config/hub, .config/tea, .subversion/auth, .circleci/cli.yml
.travis/config.yml, .gitlab-runner/config.toml, .jenkins/secrets, .config/pagure, .config/hut, .config/snapcraft
.config/bitbucket, .arcrc
"""

_REGISTRIES = """
.npmrc, .pypirc, .config/pip, .pip/pip.conf, Library/Application Support/pip, .continuum, .config/anaconda
.local/share/uv/credentials, .config/pypoetry/auth.toml, .local/share/pypoetry/auth.toml
Library/Application Support/pypoetry/auth.toml, .gem/credentials, .local/share/gem/credentials, .cargo/credentials
.cargo/credentials.toml, .m2/settings.xml, .m2/settings-security.xml, .gradle/gradle.properties, .ivy2/.credentials
.sbt/.credentials, .sbt/1.0/credentials.sbt, .nuget/nuget.config, .nuget/NuGet/NuGet.Config
.config/NuGet/NuGet.Config, .composer/auth.json, .config/composer/auth.json, .hex/hex.config
.pub-cache/credentials.json, .config/dart/pub-credentials.json, .luarocks/upload_config.lua, .lein/credentials.clj
.lein/credentials.clj.gpg, .jfrog, .dockercfg, .config/jsr, .config/hatch
"""

_DATABASES = """
.pgpass, .pg_service.conf, .my.cnf, .mylogin.cnf, .config/pgcli, .config/mycli, .myclirc, .mongorc.js, .mongodb
.config/mongosh, .dbshell, .cassandra/cqlshrc, .cassandra/credentials, .clickhouse-client, .local/share/DBeaverData
Library/DBeaverData, .redisclirc, .htpasswd
"""

_MAIL = """
.msmtprc, .config/msmtp, .fetchmailrc, .mbsyncrc, .offlineimaprc, .getmail, .esmtprc, .mutt, .config/mutt
.config/neomutt, .config/aerc, .config/himalaya, .thunderbird, .config/evolution, .local/share/evolution
.local/share/geary, .local/share/kmail2, .claws-mail, .maildir, .local/share/mail, snap/thunderbird
.var/app/org.mozilla.Thunderbird, Library/Mail, Library/Thunderbird, Library/Containers/com.apple.mail
Library/Group Containers/*.Office/Outlook
"""

_MESSENGERS = """
.irssi, .weechat, .config/weechat, .config/hexchat, .purple, .config/Signal, .local/share/signal-cli, .config/Slack
.config/discord, .config/discordcanary, .local/share/TelegramDesktop, .config/Element, .config/Mattermost
.config/Microsoft, .config/keybase, .config/skypeforlinux, .zoom, .config/zoomus.conf, snap/signal-desktop, snap/slack
.var/app/org.signal.Signal, .var/app/org.telegram.desktop, .var/app/com.slack.Slack, .var/app/com.discordapp.Discord
Library/Messages, Library/Application Support/Signal, Library/Application Support/Slack
Library/Application Support/discord, Library/Application Support/Telegram Desktop
Library/Application Support/WhatsApp, Library/Group Containers/*.ru.keepcoder.Telegram
Library/Group Containers/group.net.whatsapp.WhatsApp.shared, Library/Containers/com.tinyspeck.slackmacgap
"""

_AGENTS = """
.huggingface/token, .cache/huggingface/token, .cache/huggingface/stored_tokens, .kaggle/kaggle.json, .config/kaggle
.comet.config, .modal.toml, .runpod, .lightning/credentials.json, .config/openai, .openai, .anthropic
.config/anthropic, .config/io.datasette.llm, Library/Application Support/io.datasette.llm, .mcp-auth
.claude/.credentials.json, .claude.json, .claude/history.jsonl, .claude/projects/*/*.jsonl, .codex/auth.json
.codex/sessions, .codex/history.jsonl, .codex/log, .gemini/oauth_creds.json, .gemini/google_accounts.json, .gemini/tmp
.qwen/oauth_creds.json, .config/cursor/auth.json, .config/github-copilot, .copilot/config.json, .local/share/opencode
.config/goose/secrets.yaml, .local/share/goose, .aider/oauth-keys.env, .aider.input.history, .aider.chat.history.md
.aider.llm.history, .continue/sessions, .local/share/amp, .factory/auth.json, .augment/session.json
.local/share/crush, .openclaw/credentials, .openclaw/agents, .config/Code/User/globalStorage
.config/VSCodium/User/globalStorage, .config/Cursor/User/globalStorage, .config/Windsurf/User/globalStorage
.config/Code/User/History, .config/Cursor/User/History, Library/Application Support/Code/User/globalStorage
Library/Application Support/Cursor/User/globalStorage, Library/Application Support/Windsurf/User/globalStorage
Library/Application Support/Claude
"""

_BROWSERS = """
.mozilla, .librewolf, .waterfox, .zen, .tor-browser, .local/share/torbrowser, .config/google-chrome
.config/google-chrome-beta, .config/google-chrome-unstable, .config/chromium, .config/BraveSoftware
.config/microsoft-edge, .config/microsoft-edge-dev, .config/opera, .config/vivaldi, .config/yandex-browser
.config/falkon, .local/share/qutebrowser, .local/share/epiphany, snap/firefox, snap/chromium, snap/brave, snap/opera
.var/app/org.mozilla.firefox, .var/app/com.google.Chrome, .var/app/com.brave.Browser, .var/app/org.chromium.Chromium
.var/app/io.gitlab.librewolf-community, Library/Safari, Library/Cookies, Library/HTTPStorages
Library/Containers/com.apple.Safari, Library/Containers/*/Data/Library/Cookies
Library/Application Support/Google/Chrome, Library/Application Support/Google/Chrome Beta
Library/Application Support/Google/Chrome Canary, Library/Application Support/Chromium
Library/Application Support/BraveSoftware, Library/Application Support/Microsoft Edge
Library/Application Support/Firefox, Library/Application Support/Arc, Library/Application Support/Vivaldi
Library/Application Support/com.operasoftware.Opera, Library/Application Support/zen
Library/Application Support/LibreWolf, Library/Application Support/Orion, Library/Application Support/Dia
Library/Application Support/TorBrowser-Data
"""

_WALLETS = """
.bitcoin, .ethereum, .electrum, .electrum-ltc, .electron-cash, .litecoin, .dogecoin, .dashcore, .zcash, .monero
.bitmonero, .lnd, .sparrow, .walletwasabi, .local/share/Bisq, .config/solana, .config/Exodus, .config/Ledger Live
.config/atomic, .foundry/keystores, .brownie/accounts, .near-credentials, .aptos, .sui/sui_config, .starkli-wallets
Library/Ethereum, Library/Application Support/Exodus, Library/Application Support/Electrum
Library/Application Support/Bitcoin, Library/Application Support/Ledger Live, Library/Application Support/atomic
Library/Application Support/Sparrow, Library/Application Support/Bisq
"""

_PERSONAL = """
.bash_history, .zsh_history, .zhistory, .sh_history, .history, .python_history, .node_repl_history, .psql_history
.mysql_history, .sqlite_history, .rediscli_history, .irb_history, .local/share/fish/fish_history, .zsh_sessions
.bash_sessions, .local/share/atuin, .config/fish/fish_variables, Library/Accounts, Library/Calendars
Library/Application Support/AddressBook, Library/Application Support/com.apple.TCC
Library/Application Support/MobileSync, Library/Group Containers/group.com.apple.notes, Library/IdentityServices
Library/HomeKit, Library/Suggestions
"""

_VAULTS = """
Library/Keychains, .local/share/keyrings, .local/share/kwalletd, .gnome2/keyrings, .kde/share/apps/kwallet
.password-store, .local/share/password-store, .local/share/gopass, .config/gopass/age, .config/1Password, .op
Library/Group Containers/*.com.agilebits, Library/Group Containers/*.com.1password, .config/Bitwarden
.config/Bitwarden CLI, Library/Application Support/Bitwarden, Library/Application Support/Bitwarden CLI, .config/rbw
.local/share/rbw, .config/keepassxc, .cache/keepassxc, .config/KeePass, .lastpass, .local/share/lpass, .config/Enpass
.config/dashlane, .local/share/python_keyring, .var/app/org.keepassxc.KeePassXC, .var/app/com.bitwarden.desktop
"""

_SHELLS = """
.bashrc, .bashrc.d, .bash_profile, .bash_login, .bash_logout, .bash_aliases, .bash_functions, .bash_completion
.local/share/bash-completion, .config/bash, .profile, .shrc, .shinit, .zshrc, .zshrc.d, .zshenv, .zprofile, .zlogin
.zlogout, .zsh, .config/zsh, .zinit, .antigen, .p10k.zsh, .oh-my-zsh, .oh-my-bash, .bash_it, .fzf.bash, .fzf.zsh
.kshrc, .mkshrc, .yashrc, .cshrc, .tcshrc, .login, .logout, .inputrc, .config/fish/config.fish, .config/fish/conf.d
.config/fish/functions, .config/fish/completions, .local/share/fish/vendor_conf.d, .config/nushell, .elvish
.config/elvish, .xonshrc, .config/xonsh, .config/powershell, .config/starship.toml, .config/environment.d
.pam_environment, .direnvrc, .config/direnv, .config/mise, Library/Application Support/nushell
Library/Application Support/Sublime Text/Packages/User
"""

_STARTED = """
.xinitrc, .xprofile, .xsession, .xsessionrc, .xserverrc, .config/autostart, .config/autostart-scripts, .kde/Autostart
.config/plasma-workspace/env, .config/plasma-workspace/shutdown, .config/lxsession, .config/openbox, .config/i3, .i3
.config/sway, .config/hypr, .config/awesome, .config/bspwm, .config/sxhkd, .config/niri, .config/kitty
.config/alacritty, .config/wezterm, .wezterm.lua, .config/ghostty, .tmux.conf, .tmux, .config/tmux, .byobu, .screenrc
.config/zellij, .vimrc, .gvimrc, .vim, .config/vim, .config/nvim, .local/share/nvim, .emacs, .emacs.d, .config/emacs
.doom.d, .config/doom, .spacemacs, .spacemacs.d, .config/helix, .config/kak, .nanorc, .config/nano, .config/micro
.config/sublime-text, .config/sublime-text-3, .gdbinit, .config/gdb, .lldbinit, .irbrc, .pryrc, .Rprofile, .Renviron
.julia/config, .ghci, .ghc/ghci.conf, .ocamlinit, .psqlrc, .sqliterc, .mongoshrc.js, .perldb, .pdbrc, .pythonrc
.pythonrc.py, .pystartup, .ipython, .jupyter, .lessfilter, .mailcap, .local/share/applications, .forward, .procmailrc
.local/share/kservices5, .local/share/nautilus/scripts, site-packages/*.pth, dist-packages/*.pth, sitecustomize
usercustomize, Library/Services
Library/Scripts, Library/Application Scripts, Library/Workflows, Library/Input Methods, Library/QuickLook
Library/Spotlight, Library/PreferencePanes, Library/Screen Savers, Library/Application Support/iTerm2/Scripts
.hammerspoon, .config/karabiner, .skhdrc, .yabairc, .config/aerospace, .aerospace.toml
"""

# What stands in an environment's folder of programs is a command of every shell in which it is active.
_ACTIVATED = """
.venv/bin, .venv/Scripts, .venv/pyvenv.cfg, venv/bin, venv/Scripts, venv/pyvenv.cfg
"""

_SCHEDULERS = """
.config/systemd/user, .config/systemd/user.conf, .config/systemd/user.conf.d, .local/share/systemd/user, .crontab
.config/crontab, .local/share/dbus-1/services, .pm2/dump.pm2, .config/supervisor, .launchd.conf, Library/LaunchAgents
Library/LaunchDaemons, Library/Preferences/com.apple.loginitems.plist
Library/Application Support/com.apple.backgroundtaskmanagementagent
Library/Preferences/ByHost/com.apple.loginwindow.*
"""

# of Shield itself: of other people's and copies of them, too; the running one's is known by its own path
_SHIELD_STATE = """
.shield/audit.*, .shield/keys, .shield/policies, .shield/run, .shield/shield.toml, .shield/state.*, .shield/tokens
.shield/trusted.json, .config/agentctl, .local/share/agentctl
"""

# where it is installed as a tool, and what starts it
_SHIELD_CODE = """
.local/share/uv/tools/shield-sidecar, .local/share/pipx/venvs/shield-sidecar, .local/pipx/venvs/shield-sidecar
.config/systemd/user/shield*, .config/systemd/user/agentctl*, .config/systemd/user/*.wants/shield*
.config/systemd/user/*.wants/agentctl*, .local/share/systemd/user/shield*, .local/share/systemd/user/agentctl*
Library/LaunchAgents/*shield*, Library/LaunchAgents/*agentctl*
"""

_HOSTS = """
.claude/settings*.json, .claude/hooks, .claude/commands, .claude/agents, .claude/plugins, .claude/skills, .claude.json
.claude/keybindings.json, .codex, .cursor, .gemini, .qwen, .copilot, .config/github-copilot, .config/opencode
.config/goose, .config/amp, .config/crush, .aider.conf.yml, .continue, .codeium, .windsurf, .factory/settings.json
.factory/mcp.json, .factory/hooks, .augment/settings.json, .aws/amazonq, .kiro/settings, .kiro/hooks, .roo/mcp.json
.openclaw/openclaw.json, .openclaw/hooks, .openclaw/extensions, .vscode/argv.json, .vscode/extensions
.vscode-oss/extensions, .vscode-server, .cursor-server, .windsurf-server, .config/Code/User, .config/Code - OSS/User
.config/VSCodium/User, .config/Cursor/User, .config/Windsurf/User, .config/zed, .config/Claude, .config/JetBrains
.local/share/JetBrains, Library/Application Support/Code/User, Library/Application Support/Cursor/User
Library/Application Support/Windsurf/User, Library/Application Support/VSCodium/User
Library/Application Support/Claude, Library/Application Support/Zed, Library/Application Support/JetBrains
"""

_TOOLS = """
.curlrc, .config/curlrc, .wgetrc, .ripgreprc, .config/ripgrep, .ackrc, .ctags, .ctags.d, .config/ctags, .config/pip
.pip/pip.conf, .config/uv, .cargo/config, .cargo/config.toml, .rustup/settings.toml, .gradle/init.d
.gradle/init.gradle, .gradle/init.gradle.kts, .gradle/gradle.properties, .m2/settings.xml, .m2/extensions.xml
.mavenrc, .sbt/1.0/plugins, .yarnrc, .config/yarn, .pnpmrc, .config/pnpm, .bunfig.toml, .config/go/env, .ansible.cfg
.ansible/plugins, .ansible/collections, .terraform.d/plugins, .terraform.d/terraform.rc, .docker/cli-plugins
.docker/daemon.json, .config/docker, .config/containers, .kube/plugins, .krew, .config/helm/plugins
.local/share/helm/plugins, .config/gh/config.yml, .local/share/gh/extensions, .asdfrc, .config/bat
"""

# Only in a home directory, elsewhere these are a project's or a folder's plain names.
OWN: dict[str, tuple[str, ...]] = {
    "credential": places(".yarnrc.yml, .bundle/config, .condarc, Mail, Maildir, mbox, Monero/wallets"),
}

HOME: dict[str, tuple[str, ...]] = {
    "credential": places(
        _MACHINES
        + _CLOUDS
        + _FORGES
        + _REGISTRIES
        + _DATABASES
        + _MAIL
        + _MESSENGERS
        + _AGENTS
        + _BROWSERS
        + _WALLETS
        + _PERSONAL
    ),
    "secret_store": places(_VAULTS),
    "shell_startup": places(_SHELLS + _STARTED),
    "shield_state": places(_SHIELD_STATE),
    "shield_code": places(_SHIELD_CODE),
    "vcs_config": places(
        ".gitconfig, .config/git, .hgrc, .config/hg, .config/jj, .jjconfig.toml, .subversion/config"
        ", .subversion/servers, .bazaar, .config/breezy"
    ),
    "vcs_hook": places(".git-templates, .git_template, .config/git/hooks, .config/git/template"),
    "scheduler": places(_SCHEDULERS),
    "host_config": places(_HOSTS),
    "tool_config": places(_TOOLS),
    "environment": places(_ACTIVATED),
}
