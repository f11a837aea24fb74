"""Which processes, services and sockets a command that signals, traces, stops or filters is aimed at.

A fact about the words of one command; whether something guarded is among what it reaches is for `shield.protection`.
"""

import posixpath
from dataclasses import replace

from shield.facts.programs.aiming import READERS, Aim
from shield.regex import regex
from shield.types import CommandFact, Dynamic, Operation, Origin, RunsCode

__all__ = ["Aim", "aim", "only_signals"]

_OWN_WORD = regex(r"-(?:SIG)?[A-Z0-9]+|%\d+|\d+|\$!")
# INVARIANT: where such a word may be more than numbers, the facts list it as unknown.
_FOUND = regex(r"\$\(|`|\$\{?[A-Za-z_]")
_PARENT = frozenset(("$PPID", "${PPID}"))
_FORWARDED = frozenset(("kill", "pkill", "killall", "systemctl"))
_SIGNALLING = frozenset(("kill", "pkill", "killall"))
_SYSTEM = (Origin.SYSTEM, Origin.BUILTIN)
# What starts the command here, as a child of its own. A service that is asked to start it would do so elsewhere.
_STARTING = frozenset(("bash", "command", "dash", "env", "exec", "nice", "nohup", "sh", "time", "timeout", "xargs"))
_CAUTIOUS = frozenset({Operation.EXECUTE, Operation.READ, Operation.WRITE, Operation.NETWORK, Operation.DELETE})


def aim(command: CommandFact) -> Aim | None:
    """What the command is aimed at; None where it is no such command."""
    reader = READERS.get(command.name)
    if reader is not None:
        found = reader(command.argv[1:])
        if command.name == "kill" and not command.via and any(word.strip('"') in _PARENT for word in command.argv):
            # the parent of a shell that runs a command is the program that guards it
            return Aim(everything=True)
        if found is None or command.dynamic is Dynamic.NONE:
            return found
        return replace(found, unsure=True)
    if command.operations >= _CAUTIOUS:
        # a program that is not known may run its arguments: `systemd-run kill 7`
        for index, word in enumerate(command.argv[1:], start=1):
            inner = READERS[posixpath.basename(word)] if posixpath.basename(word) in _FORWARDED else None
            found = inner(command.argv[index + 1 :]) if inner is not None else None
            if found is not None:
                return replace(found, unsure=False)
    return None


def only_signals(command: CommandFact) -> bool:
    """Whether all it does is to send signals, to processes that its words name and do not show to be the line's own.

    INVARIANT: no sandbox level holds that lets a signal out; `agentctl.sandbox.probing` tries one before a session.
    """
    if command.name not in _SIGNALLING or command.origin not in _SYSTEM or not _STARTING.issuperset(command.via):
        return False
    if command.runs_code is not RunsCode.NONE or not _names_all(command):
        return False
    aimed = aim(command)
    return aimed is not None and (aimed.unsure or aimed.everything or bool(aimed.pids))


def _names_all(command: CommandFact) -> bool:
    """Whether no word is unknown but numbers of processes: `$!`, and what programs print that print nothing else."""
    if command.dynamic is Dynamic.ARGUMENT and command.name == "kill":
        return all(_OWN_WORD.fullmatch(word) or _FOUND.match(word) for word in command.argv[1:])
    return command.dynamic is Dynamic.NONE
