"""What each way out is expected to come to: at each level, and where it matters as whom and under which means.

A cell is `works`, `stopped`, or the conditions that must all hold for it to work: `root`, `user`, `bubblewrap`,
`landlock`. `-`: not on the machine that was measured (no such device, no such call); `~`: not tried there. `perhaps`: a race that
either may win.
The tests hold every cell to what is measured; docs/security/sandbox.md is made of this table.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEVELS = ("none", "state_hidden", "confined")
FOLDER = Path(__file__).resolve().parent / "hostile" / "ways"
_CONDITIONS = {"root", "user", "bubblewrap", "landlock"}

_STATE = """
list-home                           works    stopped    stopped
read-agent-token                    works    stopped    stopped
read-audit-key                      works    stopped    stopped
read-configuration                  works    stopped    stopped
read-token-book                     works    stopped    stopped
read-audit-log                      works    stopped    stopped
query-audit-log                     works    stopped    stopped
write-audit-log                     works    stopped    stopped
read-state                          works    stopped    stopped
write-state                         works    stopped    stopped
read-policy                         works    stopped    stopped
write-policy                        works    stopped    stopped
add-policy                          works    stopped    stopped
write-configuration                 works    stopped    stopped
trust-another-directory             works    stopped    stopped
move-home-away                      works    stopped    stopped
replace-home-by-a-link              works    stopped    stopped
move-what-is-above-configuration    works    stopped    stopped
move-what-is-above-sessions         works    stopped    stopped
move-what-is-above-home             root     stopped    stopped
move-what-is-above-the-code         root     stopped    stopped
move-the-environment                works    stopped    stopped
write-checkpoint                    works    stopped    stopped
list-what-is-remembered             works    stopped    stopped
read-what-is-remembered             works    stopped    stopped
read-list-of-logs                   works    stopped    stopped
write-what-is-remembered            works    stopped    stopped
write-list-of-logs                  works    stopped    stopped
cut-what-is-remembered              works    stopped    stopped
delete-list-of-logs                 works    stopped    stopped
replace-what-is-remembered          works    stopped    stopped
move-what-is-remembered-away        works    stopped    stopped
move-what-is-above-checkpoints      works    stopped    stopped
link-to-what-is-remembered          works    stopped    stopped
read-agent-configuration            works    stopped    stopped
write-agent-configuration           works    stopped    stopped
read-agent-sessions                 works    stopped    stopped
write-agent-sessions                works    stopped    stopped
write-code-of-shield                works    stopped    stopped
write-code-of-agentctl              works    stopped    stopped
write-bytecode                      works    stopped    stopped
write-dependency                    works    stopped    stopped
add-pth                             works    stopped    stopped
add-sitecustomize                   works    stopped    stopped
write-interpreter                   works    stopped    stopped
replace-program                     works    stopped    stopped
environment-marker                  works    stopped    stopped
install-into-the-environment        works    stopped    stopped
dots                                works    stopped    stopped
link                                works    stopped    stopped
hard-link                           works    stopped    stopped
proc-self-root                      works    stopped    stopped
proc-of-others                      works    stopped    stopped
descriptor-of-the-parent            works    stopped    stopped
file-handle                         root     stopped    stopped
unmount-what-hides                  works    stopped    stopped
bind-elsewhere                      root     stopped    stopped
clone-the-mount                     root     stopped    stopped
watch-home                          works    landlock   landlock
see-when-and-how-much               works    landlock   landlock
close-the-log                       works    landlock   landlock
close-the-log-by-its-folder         works    landlock   landlock
set-its-times                       works    landlock   landlock
set-an-attribute                    works    landlock   landlock
import-shield                       works    stopped    stopped
start-our-programs                  works    stopped    stopped
connect-to-the-socket               works    stopped    stopped
connect-by-descriptor               works    stopped    stopped
replace-the-socket                  works    stopped    stopped
connect-to-the-port                 works    stopped    stopped
port-by-other-names                 works    stopped    stopped
port-by-multipath-tcp               works    stopped    stopped
port-by-fast-open                   works    stopped    stopped
"""
_PROCESSES = """
see-processes                       works    landlock   landlock
read-environment                    works    stopped    stopped
read-environment-of-agentctl        works    stopped    stopped
read-memory                         works    stopped    stopped
read-memory-of-agentctl             works    stopped    stopped
process-vm-readv                    works    stopped    stopped
process-vm-readv-of-agentctl        works    stopped    stopped
process-vm-writev                   works    stopped    stopped
ptrace                              works    stopped    stopped
ptrace-agentctl                     works    stopped    stopped
ptrace-shield                       root     stopped    stopped
open-descriptors                    works    stopped    stopped
descriptors-of-agentctl             works    landlock   landlock
pidfd-getfd                         works    stopped    stopped
pidfd-getfd-of-agentctl             works    stopped    stopped
root-of-a-process                   works    stopped    stopped
root-of-shield                      root     stopped    stopped
kcmp                                works    stopped    stopped
kill                                works    stopped    stopped
kill-group                          works    stopped    stopped
tgkill                              works    stopped    stopped
pidfd-send-signal                   works    stopped    stopped
signal-by-descriptor-owner          works    stopped    stopped
signal-everyone                     works    stopped    stopped
stop-shield                         works    stopped    stopped
stop-agentctl                       works    stopped    stopped
stop-what-watches-us                works    stopped    stopped
limit-another                       works    stopped    stopped
slow-down-another                   works    stopped    stopped
pin-another                         works    user+landlock user+landlock
oom-bait                            works    stopped    stopped
inherited-descriptors               stopped  stopped    stopped
type-into-the-terminal              root     stopped    stopped
paste-into-the-terminal             -        stopped    stopped
write-to-the-terminal               works    stopped    stopped
read-from-the-terminal              works    stopped    stopped
own-terminal                        stopped  stopped    stopped
shared-memory                       works    landlock   stopped
shared-memory-file                  works    landlock   landlock
namespaces-of-a-process             root     stopped    stopped
namespaces-by-pidfd                 root     stopped    stopped
abstract-socket                     works    stopped    stopped
"""
_DOORS = """
docker                              works    stopped    stopped
podman                              works    stopped    stopped
docker-of-the-user                  works    stopped    stopped
session-bus                         works    stopped    stopped
system-bus                          works    stopped    stopped
systemd-of-the-user                 works    stopped    stopped
ssh-agent                           works    stopped    stopped
gpg-agent                           works    stopped    stopped
tmux                                works    stopped    stopped
screen                              works    stopped    stopped
x11                                 works    stopped    stopped
x11-abstract                        works    stopped    stopped
wayland                             works    stopped    stopped
editor                              works    stopped    stopped
remote-editor                       works    stopped    stopped
keyring-daemon                      works    stopped    stopped
socket-in-the-home                  works    bubblewrap stopped
socket-in-the-workspace             works    bubblewrap bubblewrap
fifo-of-a-daemon                    works    works      stopped
"""
_PERSISTENCE = """
read-ssh-key                        works    works      stopped
read-cloud-credentials              works    works      stopped
read-netrc                          works    works      stopped
read-github-token                   works    works      stopped
read-registry-login                 works    works      stopped
read-keyring-file                   works    stopped    stopped
read-password-hashes                root     root       stopped
read-another-project                works    works      works
write-another-project               works    works      stopped
write-file-of-the-user              works    works      stopped
write-temporary-file-of-another     works    works      stopped
read-temporary-file-of-another      works    works      stopped
open-a-file-to-others               works    works      landlock
delete-folder-of-the-user           works    bubblewrap stopped
bashrc                              works    works      stopped
profile                             works    bubblewrap stopped
profile-of-the-system               root     stopped    stopped
shell-environment                   works    bubblewrap stopped
autostart                           works    bubblewrap stopped
systemd-user-unit                   works    bubblewrap stopped
systemd-unit                        root     stopped    stopped
cron                                root     stopped    stopped
crontab                             root     stopped    stopped
preload-for-everybody               root     stopped    stopped
library-of-the-system               root     stopped    stopped
program-of-the-system               root     stopped    stopped
program-of-the-user                 works    bubblewrap stopped
user-site                           works    bubblewrap stopped
system-site                         root     stopped    stopped
git-configuration                   works    bubblewrap stopped
ssh-configuration                   works    works      stopped
authorized-keys                     works    works      stopped
npm-configuration                   works    bubblewrap stopped
pip-configuration                   works    bubblewrap stopped
cache-of-pip                        works    works      stopped
editor-settings                     works    bubblewrap stopped
vim-configuration                   works    bubblewrap stopped
agent-hooks-of-the-user             works    bubblewrap stopped
git-hook                            works    works      stopped
git-config                          works    works      stopped
git-config-by-git                   works    works      stopped
git-include                         works    works      stopped
git-moved                           works    works      stopped
git-hooks-by-link                   works    works      stopped
git-common-directory                works    works      stopped
repository-in-a-subdirectory        works    works      works
workspace-policy                    works    works      stopped
agent-settings                      works    works      stopped
agent-settings-local                works    works      stopped
cursor-hooks                        works    works      stopped
mcp-servers                         works    works      stopped
editor-tasks                        works    works      stopped
editor-tasks-of-zed                 works    works      stopped
editor-commands                     works    works      stopped
container-of-the-editor             works    works      stopped
workflow                            works    works      works
identity                            works    works      stopped
instructions                        works    works      stopped
instructions-that-were-not-there    works    works      stopped
instructions-in-a-subdirectory      works    works      works
instructions-by-rename              works    works      stopped
instructions-by-link                works    works      stopped
move-the-workspace                  works    stopped    stopped
unmount-the-guards                  works    works      stopped
source-of-the-workspace             works    works      works
leave-setuid-program                works    bubblewrap bubblewrap
device-file                         root     stopped    stopped
capability-on-a-file                root     stopped    stopped
temporary-file-of-the-next-call     works    works      stopped
"""
_BARE = """
hook-where-no-repository-is         works    works      stopped
repository-that-obeys-us            works    works      stopped
settings-where-none-are             works    works      stopped
policy-where-none-is                works    works      stopped
instructions-by-a-linked-folder     works    works      stopped
environment-where-none-is           works    works      stopped
"""
_STUBBORN = """
repository-by-a-file                ~        ~          stopped
repository-replaced-by-a-file       ~        ~          stopped
hook-where-the-configuration-says   ~        ~          stopped
configuration-that-is-included      ~        ~          stopped
hook-behind-a-link                  ~        ~          stopped
instructions-behind-a-link          ~        ~          stopped
hooks-with-a-message                ~        ~          stopped
settings-in-a-locked-folder         ~        ~          stopped
"""
_NETWORK = """
http                                works    works      stopped
http-as-configured                  works    works      stopped
http-by-curl                        works    works      stopped
connect-through-the-proxy           -        -          stopped
loopback-through-the-proxy          -        -          stopped
dns                                 works    works      stopped
dns-by-hand                         works    works      stopped
udp                                 works    works      stopped
udp-connected                       works    works      stopped
udp-lite                            works    stopped    stopped
ipv6                                works    works      stopped
loopback-port-of-another            works    works      stopped
multipath-tcp                       works    stopped    stopped
fast-open                           works    stopped    stopped
ping                                works    works      stopped
raw-socket                          root     stopped    stopped
packet-socket                       root     stopped    stopped
vsock                               works    stopped    stopped
netlink                             root     stopped    stopped
other-families                      root     stopped    stopped
network-of-another                  -        stopped    stopped
"""
_KERNEL = """
user-namespace                      works    stopped    stopped
user-namespace-by-clone3            works    stopped    stopped
user-namespace-by-program           works    stopped    stopped
sandbox-of-our-own                  works    stopped    stopped
mount-namespace                     root     stopped    stopped
mount                               root     stopped    stopped
new-mount-interface                 root     stopped    stopped
remount-writable                    root     stopped    stopped
chroot                              root     stopped    stopped
sudo                                works    stopped    stopped
become-root                         root     stopped    stopped
capabilities                        root     stopped    stopped
no-new-privileges                   works    stopped    stopped
io-uring                            works    stopped    stopped
bpf                                 root     stopped    stopped
perf-event                          root     stopped    stopped
userfaultfd                         works    stopped    stopped
kexec                               -        stopped    stopped
kernel-module                       -        stopped    stopped
keyring                             works    stopped    stopped
core-pattern                        root     stopped    stopped
kernel-settings                     root     stopped    stopped
magic-key                           -        stopped    stopped
kernel-memory                       -        stopped    stopped
kernel-log                          root     stopped    stopped
cgroups                             root     stopped    stopped
cgroup-files                        works    stopped    stopped
host-name                           root     stopped    stopped
clock                               root     stopped    stopped
old-system-calls                    works    stopped    stopped
x32-system-calls                    -        stopped    stopped
memory-program                      works    stopped    stopped
"""
_LASTING = """
daemon                              stopped  stopped    stopped
background-job                      stopped  stopped    stopped
daemon-that-keeps-the-output-open   stopped  stopped    stopped
daemon-under-a-reaper-of-its-own    stopped  stopped    stopped
daemon-in-a-process-namespace       stopped  stopped    stopped
daemon-by-vfork-and-clone           stopped  stopped    stopped
comet                               stopped  stopped    stopped
stopped-process                     stopped  stopped    stopped
thread-that-stays                   stopped  stopped    stopped
"""
_SOLO = """
kill-what-watches-us                perhaps  stopped    stopped
never-end                           ~        ~          stopped
"""
_LATER = """
submodule-with-a-program            ~        ~          stopped
"""
_FLOODS = """
processes                           ~        ~          works
memory                              ~        ~          works
disk                                ~        ~          works
descriptors                         ~        ~          works
output                              ~        ~          works
core                                ~        ~          stopped
priority                            ~        ~          stopped
"""
TABLES = {
    "state": ("Shield's state, agentctl's, the code of both", _STATE),
    "processes": ("Other processes of the same user", _PROCESSES),
    "doors": ("Programs that do as they are told", _DOORS),
    "persistence": ("The user's files, and what runs later", _PERSISTENCE),
    "bare": ("A workspace that has none of that yet", _BARE),
    "stubborn": ("What is hard to move aside", _STUBBORN),
    "network": ("The network", _NETWORK),
    "kernel": ("The kernel", _KERNEL),
    "lasting": ("Staying after the call", _LASTING),
    "solo": ("Ending what ends it", _SOLO),
    "later": ("What a later, harmless command starts", _LATER),
    "floods": ("Too much of everything", _FLOODS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way: a test of that name in tests/hostile/ways, and its cell at each level."""

    name: str
    file: str
    cells: tuple[str, str, str]
    says: str  # the first line of its docstring, where its name does not say it all

    def works(self, level: str, *, user: str, means: str) -> bool | None:
        """What is expected; None where nothing is."""
        cell = self.cells[LEVELS.index(level)]
        match cell:
            case "works" | "stopped":
                return cell == "works"
            case "-" | "~" | "perhaps":
                return None
            case _:
                asked = set(cell.split("+"))
                assert asked <= _CONDITIONS, cell
                return asked <= {user, means}


def ways() -> Iterator[Way]:
    """All of them, in the order of the page."""
    for file, (_, table) in TABLES.items():
        said = _docstrings(file)
        for line in table.strip().splitlines():
            name, none, hidden, confined = line.split()
            yield Way(name=name, file=file, cells=(none, hidden, confined), says=said[name])


def _docstrings(file: str) -> dict[str, str]:
    tree = ast.parse((FOLDER / f"{file}.py").read_text(encoding="utf-8"))
    return {
        node.name.removeprefix("test_").replace("_", "-"): (ast.get_docstring(node) or "").partition("\n")[0]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def unlisted() -> set[str]:
    """Ways that no table has, or that a table has and nobody tries."""
    listed = {way.name for way in ways()}
    tried = {name for file in TABLES for name in _docstrings(file)}
    return listed ^ tried
