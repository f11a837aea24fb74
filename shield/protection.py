"""What no policy can allow: Shield and its agent guard themselves, in code, for every tool, shell and MCP alike.

Protection looks at facts only, at `categories` and, for anything but a listing, at what a recursive access `covers`.
Deny here is final; a `need` here can be raised by policy and lowered by nobody.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shield.facts.place import Protected
from shield.types import (
    Access,
    Answer,
    CommandFact,
    Dynamic,
    Facts,
    IpClass,
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
_OWN_MODULES = frozenset({"shield", "agentctl"})
_SIGNALLERS = frozenset({"kill", "pkill", "killall", "skill", "xkill", "gdb", "strace", "ltrace", "lldb", "fuser"})


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
        advice="work on a copy outside of the directories that the running programs are imported from",
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


def protect(facts: Facts, protected: Protected) -> tuple[Opinion, ...]:
    """Every guard that the action meets, as tier 0 opinions with rules `protection.*`. No guard met is no opinion."""
    found: list[Opinion] = []
    if any(path.categories & _GUARDED or path.covers & _GUARDED for path in facts.paths):
        found.extend(_of_paths(facts))
    if any(host.ip_class is IpClass.LOOPBACK and host.port in protected.ports for host in facts.hosts):
        found.append(
            _opinion(
                "listener",
                Answer.BLOCK,
                Tier.PERSON,
                "Shield's own listener is out of reach for tools",
                "do not call Shield; it judges every call by itself",
            )
        )
    found.extend(_of_commands(facts.commands, protected))
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
            yield _opinion(guard.category, answer, need, _BENEATH, "name the single files or folders you mean")


def _covers(path: PathFact, guard: _Guard) -> bool:
    # INVARIANT: listing names above a protected place is not touching it; reading, writing or deleting all of it is
    return path.access in guard.accesses and path.access is not Access.LIST and guard.category in path.covers


def _of_commands(commands: Iterable[CommandFact], protected: Protected) -> Iterable[Opinion]:
    for command in commands:
        if _calls_us(command):
            yield _opinion(
                "command",
                Answer.BLOCK,
                Tier.PERSON,
                "the commands that administer Shield and agentctl are a person's",
                "ask the user to run it",
            )
        if command.name in _SIGNALLERS:
            if _aims_at_us(command, protected):
                yield _opinion(
                    "process",
                    Answer.BLOCK,
                    Tier.PERSON,
                    "Shield's and agentctl's processes are not signalled or traced",
                    "name the process that you mean by its number",
                )
            elif command.dynamic is not Dynamic.NONE or command.name != "kill":
                yield _opinion(
                    "process",
                    Answer.NO_OBJECTION,
                    Tier.PERSON,
                    "which process this reaches cannot be told before it runs",
                    "find the process number first, then `kill NUMBER`",
                )


def _calls_us(command: CommandFact) -> bool:
    name, arguments = command.name, command.argv[1:]
    if name.startswith(("python", "pypy")):
        module = _module(arguments)
        if module is None or module[0].partition(".")[0] not in _OWN_MODULES:
            return False
        name, arguments = module[0].partition(".")[0], module[1]
    if name not in _HARMLESS_OWN:
        return False
    words = [word for word in arguments if not word.startswith("-")]
    asks_help = any(word in ("--help", "--version") for word in arguments) and not words
    return not asks_help and (not words or words[0] not in _HARMLESS_OWN[name])


def _module(arguments: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """What `python … -m MODULE …` or `-mMODULE` names; interpreter flags before it may be combined (`-Pm`)."""
    for index, word in enumerate(arguments):
        if not word.startswith("-") or word == "-":
            return None
        if word.startswith("--"):
            continue
        head, found, tail = word[1:].partition("m")
        if found and all(letter in "bBdEhiIOPqsSuvVx" for letter in head):
            if tail:
                return tail, arguments[index + 1 :]
            rest = arguments[index + 1 :]
            return (rest[0], rest[1:]) if rest else None
    return None


def _aims_at_us(command: CommandFact, protected: Protected) -> bool:
    pids = {str(pid) for pid in protected.pids}
    words = command.argv[1:]
    if command.name == "kill":
        # `kill -9 -1` is every process of the user; a negative number is a process group
        return any(word.lstrip("-") in pids for word in words) or (len(words) > 1 and "-1" in words[1:])
    return any(word in pids or "shield" in word.lower() or "agentctl" in word.lower() for word in words)


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
