"""What a command must not see: credentials, and where programs listen that would do its work outside of any sandbox."""

import os
import re
import stat
from collections.abc import Iterator
from fnmatch import translate
from typing import Final

from agentctl.sandbox.places import TEMPORARY, Places, is_within, listed

__all__ = ["RUN", "hidden_places", "hidden_sockets", "is_agents"]

# Of the user's home. What is beneath a name is hidden with it.
_CREDENTIALS: Final = (
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".npmrc",
    ".pypirc",
    ".yarnrc.yml",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/gcloud",
    ".config/doctl",
    ".config/containers/auth.json",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/age",
    ".config/stripe",
    ".config/heroku",
    ".config/netlify",
    ".config/hcloud",
    ".config/pypoetry/auth.toml",
    ".config/composer/auth.json",
    ".config/github-copilot",
    ".config/openai",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/1Password",
    ".config/keepassxc",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    ".config/solana",
    ".docker",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget",
    ".composer/auth.json",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".databrickscfg",
    ".snowflake",
    ".snowsql",
    ".oci",
    ".aliyun",
    ".fly",
    ".railway",
    ".cloudflared",
    ".subversion/auth",
    ".Xauthority",
    ".ICEauthority",
    ".s3cfg",
    ".boto",
    ".kaggle",
    ".huggingface",
    ".cache/huggingface/token",
    ".anthropic",
    ".claude/.credentials.json",
    ".claude.json",
    ".codex",
    ".gemini",
    ".mozilla",
    ".thunderbird",
    "snap/firefox",
    "snap/chromium",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/password-store",
    ".bitcoin",
    ".ethereum",
    ".electrum",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".local/share/fish/fish_history",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Messages",
    "Library/Mail",
    "Library/Safari",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
)
# Of the system, where commands run as root.
_SYSTEM_SECRETS: Final = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
)
# Where programs listen that would do a command's work for it, outside of any sandbox.
_AGENTS_IN_TMP: Final = (
    ".ICE-unix",
    ".X11-unix",
    ".docker*",
    "*.sock",
    "dbus-*",
    "gpg-*",
    "pulse-*",
    "screens",
    "ssh-*",
    "systemd-private-*",
    "tmux-*",
    "uscreens",
    "vscode-*",
)
_AGENT_IN_TMP: Final = re.compile("|".join(translate(pattern) for pattern in _AGENTS_IN_TMP))
_AGENTS_IN_HOME: Final = (
    ".colima",
    ".docker/desktop",
    ".docker/run",
    ".gnupg",
    ".lima",
    ".local/share/containers/podman/machine",
    ".orbstack/run",
    ".rd",
    ".ssh/agent",
)
_AGENTS: Final = ("/var/lib/docker", "/var/lib/incus", "/var/lib/lxd", "/var/snap/lxd/common/lxd")
RUN: Final = "/run"


def is_agents(name: str) -> bool:
    """Whether a name in the folder for temporary files is one by which programs listen for others."""
    return _AGENT_IN_TMP.match(name) is not None


def hidden_places(places: Places, *, confined: bool) -> list[str]:
    """The session's own, and where programs listen; at `confined` credentials as well. They may not be there."""
    found = [RUN, *_AGENTS, *places.secret, *([places.runtime] if places.runtime else [])]
    found += [os.path.join(places.home, name) for name in (*_AGENTS_IN_HOME, *(_CREDENTIALS if confined else ()))]
    return [*found, *(_SYSTEM_SECRETS if confined and places.root else ())]


def hidden_sockets(places: Places, *, confined: bool) -> Iterator[str]:
    """Sockets outside /run that programs listen on: the known ones; at `confined` every one but a workspace's."""
    if not confined:
        for name in sorted(filter(is_agents, listed("/tmp"))):  # noqa: S108  # looked at, not used
            yield os.path.join("/tmp", name)  # noqa: S108
        return
    for path in _listening():
        inside = any(is_within(path, root) for root in (*places.workspace_roots, *TEMPORARY, RUN))
        if not inside and _is_socket(path):
            yield path


def _listening() -> list[str]:
    """The paths that sockets of this network namespace are bound to."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            rows = file.read().splitlines()[1:]
    except OSError:
        return []
    paths = {row.split(maxsplit=7)[-1] for row in rows if row.count(" ") >= 7 and "/" in row}
    return sorted(os.path.realpath(path) for path in paths if path.startswith("/"))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False
