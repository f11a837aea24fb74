"""What no policy can allow: Shield and its agent guard themselves, in code, for every tool, shell and MCP alike.

Protection looks at facts only, at `categories` and, for anything but a listing, at what a recursive access `covers`.
Deny here is final; a `need` here can be raised by policy and lowered by nobody.
"""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from shield.facts.place import Protected
from shield.facts.programs.aims import Aim, aim, only_signals
from shield.facts.programs.ours import module_of, own_command
from shield.regex import regex
from shield.types import (
    Access,
    Answer,
    CommandFact,
    Dynamic,
    Facts,
    IpClass,
    Isolation,
    Operation,
    Opinion,
    PathFact,
    Severity,
    Tier,
)

__all__ = ["protect"]

_CHANGES = frozenset({Access.WRITE, Access.DELETE})
_ANY = frozenset(Access)

# Commands of our own that only judge: they change nothing and hold no secret.
_HARMLESS_OWN = {"shield": frozenset({"check", "eval", "lint", "explain", "diff"}), "agentctl": frozenset({"tools"})}
_OWN_NAME = regex(r"(?<![a-z0-9])(?:shield|agentctl)(?:-sidecar)?(?![a-z0-9])", re.IGNORECASE)
_OWN_SERVICES = ("shield", "shield.service", "agentctl", "agentctl.service")
_FINDERS = frozenset({"pgrep", "pidof", "ps", "grep", "egrep", "rg", "awk", "lsof", "fuser", "cat", "ss", "netstat"})
_PORTLESS = frozenset({"ping", "ping6", "dig", "host", "nslookup", "drill", "traceroute", "tracepath", "mtr", "whois"})
_KEYRINGS = frozenset({"secret-tool", "security", "keyring", "kwallet-query", "kwalletcli", "keyctl", "lssecret"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guard:
    """One guarded category: which accesses, whether beneath counts, and what follows."""

    category: str
    accesses: frozenset[Access]
    answer: Answer
    need: Tier
    reason: str
    advice: str


_GUARDS = (
    _Guard(
        category="shield_state",
        accesses=_ANY,
        answer=Answer.BLOCK,
        need=Tier.PERSON,
        reason="Shield's own state, keys, policies and logs are out of reach for agents",
        advice="leave that directory out; ask the user to run `shield status` if something about Shield is unclear",
    ),
    _Guard(
        category="shield_code",
        accesses=_CHANGES,
        answer=Answer.BLOCK,
        need=Tier.PERSON,
        reason="the code that guards this agent is not changed by this agent",
        advice="work on a copy elsewhere, and install into an environment of the project's own",
    ),
    _Guard(
        category="host_config",
        accesses=_CHANGES,
        answer=Answer.BLOCK,
        need=Tier.PERSON,
        reason="the hook settings of agents are not changed by agents",
        advice="tell the user which setting to change",
    ),
    _Guard(
        category="agent_identity",
        accesses=_CHANGES,
        answer=Answer.BLOCK,
        need=Tier.PERSON,
        reason="an agent's identity file is read-only",
        advice="propose the change to the user in words",
    ),
    _Guard(
        category="workspace_policy",
        accesses=_CHANGES,
        answer=Answer.NO_OBJECTION,
        need=Tier.PERSON,
        reason="a workspace's policy file is changed with a person's consent only",
        advice="explain the change; a person has been asked",
    ),
    _Guard(
        category="agent_instruction",
        accesses=_CHANGES,
        answer=Answer.NO_OBJECTION,
        need=Tier.JUDGE,
        reason="instruction files steer later sessions, so changing one needs a second look",
        advice="explain the change in `intent`",
    ),
    _Guard(
        category="agent_memory",
        accesses=_CHANGES,
        answer=Answer.NO_OBJECTION,
        need=Tier.CLASSIFIER,
        reason="memory files steer later sessions, so changing one needs a second look",
        advice="explain the change in `intent`",
    ),
)


_GUARDED = frozenset(guard.category for guard in _GUARDS)
_NEVER_COVERED = frozenset({"shield_state", "shield_code"})
_BENEATH = "this reaches everything beneath a directory that holds protected files"
_NAMED = "name the single files or folders you mean"
_BLANK = (
    "where `mktemp` fails its name is empty, and this reaches everything beneath a directory that holds protected files"
)
_MADE = 'end there: `t=$(mktemp -d) || exit 1`, `set -e` in front, or `"${t:?}"` in its place'


def protect(facts: Facts, protected: Protected, isolation: Isolation = Isolation.NONE) -> tuple[Opinion, ...]:
    """Every guard that the action meets, as tier 0 opinions with rules `protection.*`. No guard met is no opinion.

    `isolation` is the level that the session offers: no signal leaves a sandbox.
    """
    found: list[Opinion] = []
    if any(path.categories & _GUARDED or path.covers & _GUARDED for path in facts.paths):
        found.extend(_of_paths(facts))
    found.extend(_of_hosts(facts, protected.ports))
    found.extend(_of_commands(facts.commands, protected, isolation))
    return tuple(found)


def _of_paths(facts: Facts) -> Iterable[Opinion]:
    met: set[str] = set()
    for guard in _GUARDS:
        if any(path.access in guard.accesses and guard.category in path.categories for path in facts.paths):
            met.add(guard.category)
            yield _opinion(guard.category, guard.answer, guard.need, guard.reason, guard.advice)
    for guard in _GUARDS:
        above = [path for path in facts.paths if _covers(path, guard)]
        if above and guard.category not in met:
            answer, need = guard.answer, guard.need
            if guard.category not in _NEVER_COVERED and all(path.access is Access.WRITE for path in above):
                # unpacking or copying a tree may bring such a file along, and mostly does not: a person looks
                answer, need = Answer.NO_OBJECTION, Tier.PERSON
            unmade = all("unmade" in path.categories for path in above)
            yield _opinion(guard.category, answer, need, *((_BLANK, _MADE) if unmade else (_BENEATH, _NAMED)))


def _covers(path: PathFact, guard: _Guard) -> bool:
    # INVARIANT: listing names above a protected place is not touching it; reading, writing or deleting all of it is
    return path.access in guard.accesses and path.access is not Access.LIST and guard.category in path.covers


def _of_hosts(facts: Facts, ports: frozenset[int]) -> Iterable[Opinion]:
    if any(host.ip_class is IpClass.LOOPBACK and host.port in ports for host in facts.hosts):
        yield _listener(Answer.BLOCK)
        return
    # Names are not looked up: one may lead here. Of this machine without a port, any port may be meant.
    portless = bool(facts.commands) and all(
        command.name in _PORTLESS or Operation.NETWORK not in command.operations for command in facts.commands
    )
    for host in facts.hosts:
        # `localtest.me` and its like lead here by their very purpose: their class is private
        named = host.ip_class in (IpClass.NAME, IpClass.PRIVATE) and host.port in ports
        if named or (ports and host.ip_class is IpClass.LOOPBACK and host.port is None and not portless):
            yield _listener(Answer.NO_OBJECTION)
            return


def _listener(answer: Answer) -> Opinion:
    return _opinion(
        "listener",
        answer,
        Tier.PERSON,
        "Shield's own listener is out of reach for tools",
        "do not call Shield; it judges every call by itself",
    )


def _of_commands(commands: tuple[CommandFact, ...], protected: Protected, isolation: Isolation) -> Iterable[Opinion]:
    for command in commands:
        if _calls_us(command):
            yield _opinion(
                "command",
                Answer.BLOCK,
                Tier.PERSON,
                "the commands that administer Shield and agentctl are a person's",
                "ask the user to run it",
            )
        if _asks_keyring(command):
            yield _opinion(
                "keyring",
                Answer.BLOCK,
                Tier.PERSON,
                "Shield's own keys and tokens are out of reach for agents",
                "ask the user to answer the question that is open",
            )
        aimed = aim(command)
        if aimed is None:
            continue
        if aimed.ports & protected.ports:
            yield _listener(Answer.BLOCK)
        elif _reaches(aimed, protected) or (aimed.unsure and _finds_us(command, commands, protected)):
            yield _opinion(
                "process",
                Answer.BLOCK,
                Tier.PERSON,
                "Shield's and agentctl's processes are not signalled, traced or stopped",
                "name the process or service that you mean, by its number or full name",
            )
        elif aimed.unsure and not (isolation.covers(Isolation.STATE_HIDDEN) and only_signals(command)):
            yield _opinion(
                "process",
                Answer.NO_OBJECTION,
                Tier.PERSON,
                "which process this reaches cannot be told before it runs",
                "find the process number first, then `kill NUMBER`",
            )


def _reaches(aimed: Aim, protected: Protected) -> bool:
    if aimed.everything or aimed.pids & protected.pids:
        return True
    if any(_OWN_NAME.search(word) or _globs(word, _OWN_SERVICES) for word in (*aimed.services, *aimed.names)):
        return True
    programs = {_program(line) for line in protected.processes}
    if any(word.casefold() in programs for word in aimed.names):
        return True
    return any(_matches(pattern, protected, full=aimed.full) for pattern in aimed.patterns)


def _finds_us(killer: CommandFact, commands: tuple[CommandFact, ...], protected: Protected) -> bool:
    """Whether the line looks for our processes and signals what it finds: `kill $(pgrep -f shield)`."""
    if killer.dynamic is Dynamic.NONE:
        return False
    for command in commands:
        if command.name in _FINDERS:
            words = [word for word in command.argv[1:] if not word.startswith("-")]
            if any(_OWN_NAME.search(word) for word in words):
                return True
            if command.name in ("pgrep", "pidof") and any(_matches(word, protected, full=True) for word in words):
                return True
    return False


def _matches(pattern: str, protected: Protected, *, full: bool) -> bool:
    """Whether the extended regular expression finds one of our processes. One that RE2 does not take finds none."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        expression = re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        return False
    return any(expression.search(line if full else _program(line)) for line in protected.processes)


def _program(line: str) -> str:
    """The name that the kernel gives a process of this command line: TASK_COMM_LEN is 16 with the NUL."""
    return posixpath.basename(line.partition(" ")[0])[:15].casefold()


def _globs(word: str, names: Iterable[str]) -> bool:
    return any(mark in word for mark in "*?[") and any(fnmatchcase(name, word.lower()) for name in names)


def _asks_keyring(command: CommandFact) -> bool:
    words = command.argv[1:]
    module = module_of(words) if command.name.startswith(("python", "pypy")) else None
    if command.name in _KEYRINGS or (module is not None and module[0] == "keyring"):
        return any(_OWN_NAME.search(word) for word in words)
    return False


def _calls_us(command: CommandFact) -> bool:
    run = own_command(command)
    if run is None:
        return False
    name, arguments = run
    words = [word for word in arguments if not word.startswith("-")]
    asks_help = any(word in ("--help", "--version") for word in arguments) and not words
    return not asks_help and (not words or words[0] not in _HARMLESS_OWN[name])


def _opinion(rule: str, answer: Answer, need: Tier, reason: str, advice: str) -> Opinion:
    return Opinion(
        tier=Tier.POLICY,
        answer=answer,
        need=need,
        rule=f"protection.{rule}",
        reason=reason,
        advice=advice,
        severity=Severity.CRITICAL if answer is Answer.BLOCK else Severity.HIGH,
    )
