"""What a command sees at each level, as a table of paths: pure but for looking at what exists.

Both means read this table: bubblewrap makes a mount of each entry, Landlock grants rights around them. A place that
does not exist is left out: nothing is ever made on the user's disk to hide it.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from fnmatch import translate
from typing import Final

from agentctl.sandbox.aliases import aliases, mounted
from agentctl.sandbox.guarded import present
from agentctl.sandbox.places import Places, is_within, listed
from shield.types import Isolation

__all__ = ["CREDENTIALS", "PRIVATE_CACHES", "Show", "View", "moment", "view"]

# Of the user's home. What is beneath a name is hidden with it.
CREDENTIALS: Final = (
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
# Directories in the home that tools keep caches in: a confined command has its own, one for each workspace.
PRIVATE_CACHES: Final = (".cache", ".npm")
# Where programs listen that would do a command's work for it, outside of any sandbox.
_AGENTS_IN_TMP: Final = (
    ".ICE-unix",
    ".X11-unix",
    ".docker*",
    "*.sock",
    "dbus-*",
    "gpg-*",
    "pulse-*",
    "screen*",
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
# Root's commands could replace what every program is loaded from, Shield at its next start included.
_SYSTEM: Final = (
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/sbin",
    "/usr",
    "/var/spool/cron",
)
_RUN: Final = "/run"
# Of /run: name resolution, and where NixOS keeps its programs.
_RUN_KEPT: Final = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers")
_RESOLV: Final = "/etc/resolv.conf"


class Show(IntEnum):
    """How a place looks from inside. Of two rules for the same path the greater holds."""

    WRITABLE = 1
    PRIVATE = 2  # another directory stands there
    READONLY = 3
    HIDDEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The whole file system as `base` shows it, but for `places`; `sources` says what stands at a PRIVATE one.

    `watched`: directories whose change may change the view.
    """

    base: Show
    places: Mapping[str, Show]
    sources: Mapping[str, str]
    watched: tuple[str, ...]


def view(places: Places, level: Isolation, *, private: Mapping[str, str]) -> View:
    """What a command at `level` (not `none`) sees. `private` maps places to the directories that stand for them."""
    confined = level is Isolation.CONFINED
    table: dict[str, Show] = {}
    watched: set[str] = set()

    def put(path: str, show: Show) -> None:
        watched.add(os.path.dirname(path))
        if os.path.lexists(path):
            real = os.path.realpath(path)
            table[real] = max(show, table.get(real, show))

    for path in (*_RUN_KEPT, _RESOLV):
        if is_within(os.path.realpath(path), _RUN):
            put(path, Show.READONLY)
    for path in ("/sys", *places.readonly, *(_SYSTEM if places.root else ())):
        put(path, Show.READONLY)
    for path in _hidden(places, confined=confined):
        put(path, Show.HIDDEN)
    for path in aliases([path for path, show in table.items() if show is Show.HIDDEN], mounted()):
        put(path, Show.HIDDEN)
    if confined:
        for path in private:
            put(path, Show.PRIVATE)
        for path in places.caches:
            put(path, Show.WRITABLE)
        unseen = [path for path, show in table.items() if show is Show.HIDDEN]
        for repository in places.linked:
            if not any(is_within(repository.common, place) for place in unseen):
                put(repository.common, Show.READONLY)  # it may lie where the command has a directory of its own
                for path in repository.written:
                    put(path, Show.WRITABLE)
    for root in places.workspace_roots:
        put(root, Show.WRITABLE)
    return View(
        base=Show.READONLY if confined else Show.WRITABLE,
        places=table,
        sources={os.path.realpath(path): source for path, source in private.items()},
        watched=tuple(sorted({_existing(path) for path in watched})),
    )


def _hidden(places: Places, *, confined: bool) -> list[str]:
    found = [_RUN, *_AGENTS, *places.secret, *([places.runtime] if places.runtime else [])]
    found += [os.path.join(places.home, name) for name in (*_AGENTS_IN_HOME, *(CREDENTIALS if confined else ()))]
    return [*found, *(_SYSTEM_SECRETS if confined and places.root else ())]


def moment(shown: View, places: Places, level: Isolation) -> View:
    """The view with what changes from call to call: guarded names of the workspaces, and sockets that listen."""
    confined = level is Isolation.CONFINED
    table = dict(shown.places)
    for path in _sockets(places, confined=confined):
        table.setdefault(os.path.realpath(path), Show.HIDDEN)
    if confined:
        for root in places.workspace_roots:
            for path in present(root):
                real = os.path.realpath(path)
                table[real] = max(Show.READONLY, table.get(real, Show.READONLY))
    return replace(shown, places=table)


def _existing(path: str) -> str:
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _sockets(places: Places, *, confined: bool) -> Iterator[str]:
    """Sockets outside /run that programs listen on: the known ones; at `confined` every one but a workspace's."""
    if not confined:
        for name in sorted(filter(_AGENT_IN_TMP.match, listed("/tmp"))):  # noqa: S108  # looked at, not used
            yield os.path.join("/tmp", name)  # noqa: S108
        return
    for path in _listening():
        inside = any(is_within(path, root) for root in (*places.workspace_roots, "/tmp", "/var/tmp", _RUN))  # noqa: S108
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
