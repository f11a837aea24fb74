"""What each program that signals, traces, stops or filters is aimed at, by its words."""

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shield.regex import regex

__all__ = ["READERS", "Aim"]

_NUMBER = regex(r"[+-]?0*(\d{1,10})\Z")
_SIGNAL = regex(r"-(?:SIG)?[A-Z][A-Z0-9]{2,}\Z")
_NUMBERS = regex(r"\d+")
# `-p 7`, `-fp7`, `--pid=7`, `--attach`, and lldb's `-n NAME`, `-w`; as a word of its own in what they are told, where
# `target/debug/x` is a path.
_ATTACHING = regex(r"-[A-Za-z]*p(?!ty\b)|--p|-[nw]\Z|.*\b(?:attach|connect|gdb-remote|target(?!/))", re.DOTALL)
_OF_PROCESS = regex(r"-[A-Za-z]*[pPu]|--(?:pid|pgid|pgrp|uid|user)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What a command reaches, as far as its words say.

    `pids`: processes and groups by number; `everything`: all processes of the user. `patterns`: regular expressions
    for names of processes, with `full` for their command lines; `names`: names in full, or globs. `ports`: TCP ports.
    `services`: units, containers and the like that are stopped or changed. `unsure`: there may be more.
    """

    pids: frozenset[int] = frozenset()
    everything: bool = False
    patterns: tuple[str, ...] = ()
    full: bool = False
    names: tuple[str, ...] = ()
    ports: frozenset[int] = frozenset()
    services: tuple[str, ...] = ()
    unsure: bool = False


def _split(words: Sequence[str], valued: str = "") -> tuple[list[str], list[tuple[str, str]]]:
    """Operands, and options with their values; `valued` are the options that take the next word."""
    takes = frozenset(valued.split())
    operands: list[str] = []
    options: list[tuple[str, str]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += rest
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        name, joined, value = word.partition("=")
        if _SIGNAL.match(word):
            options.append((word, ""))
        elif joined:
            options.append((name, value))
        elif name in takes:
            options.append((name, rest.pop(0) if rest else ""))
        elif not name.startswith("--") and name[:2] in takes:
            options.append((name[:2], name[2:]))
        elif not name.startswith("--") and "-" + name[-1:] in takes and len(name) > 2:
            # a cluster whose last letter takes a value: `-fu user`
            options += [("-" + letter, "") for letter in name[1:-1]]
            options.append(("-" + name[-1], rest.pop(0) if rest else ""))
        else:
            options.append((name, ""))
    return operands, options


def _numbers(words: Sequence[str]) -> frozenset[int]:
    return frozenset(int(number) for word in words for number in _NUMBERS.findall(word) if len(number) <= 10)


def _kill(words: Sequence[str]) -> Aim | None:
    """kill(1) and the builtin: the signal first, then processes, groups (negative) and jobs (`%1`)."""
    rest = list(words)
    if rest and rest[0] in ("-l", "-L", "--list", "--table"):
        return None
    while rest and rest[0].startswith("-") and (len(rest) > 1 or not _NUMBER.match(rest[0])):
        word = rest.pop(0)
        if word == "--":
            break
        if word in ("-s", "-n", "-q", "--signal", "--queue", "--timeout"):
            rest = rest[2 if word == "--timeout" else 1 :]
        elif _NUMBER.match(word):
            break  # `-9`: only the first is a signal
    pids = frozenset(int(found[1]) for word in rest if (found := _NUMBER.match(word)))
    every = any(word.startswith("-") and _NUMBER.match(word) and int(word) == -1 for word in rest)
    unsure = any(not (word.startswith("%") or _NUMBER.match(word)) for word in rest)
    return Aim(pids=pids, everything=every, unsure=unsure)


def _pkill(words: Sequence[str]) -> Aim:
    operands, options = _split(
        words,
        "-g -G -P -s -t -u -U -F -r -q --pgroup --group --parent --session --terminal --euid --uid --pidfile"
        " --runstates --signal --queue --ns --nslist --cgroup --env --older",
    )
    names = {name for name, _ in options}
    inverse = bool(names & {"-v", "--inverse"})
    clusters = "".join(name[1:] for name in names if re.fullmatch(r"-[a-z]+", name))
    chosen = [value for name, value in options if name in ("-P", "-g", "-s", "--parent", "--pgroup", "--session")]
    bounded = bool(chosen) or bool(names & {"-F", "--pidfile", "-t", "--terminal"})
    return Aim(
        pids=_numbers(chosen),
        everything=inverse or not (operands or bounded),
        patterns=tuple(operands),
        full="f" in clusters or "--full" in names,
        unsure=True,
    )


def _killall(words: Sequence[str]) -> Aim:
    operands, options = _split(words, "-u -s -o -y -n -Z --user --signal --older-than --younger-than --ns --context")
    regular = any(name in ("-r", "--regexp") for name, _ in options)
    return Aim(
        everything=not operands,
        patterns=tuple(operands) if regular else (),
        names=() if regular else tuple(posixpath.basename(word) for word in operands),
        unsure=True,
    )


def _skill(words: Sequence[str]) -> Aim:
    operands, options = _split(words, "-t -u -p -c --tty --user --pid --command")
    users = any(name in ("-u", "--user", "-t", "--tty") for name, _ in options)
    named = [*operands, *(value for _, value in options if value)]
    return Aim(
        pids=frozenset(int(found[1]) for word in named if (found := _NUMBER.match(word))),
        everything=users,
        names=tuple(named),
        unsure=True,
    )


def _all(_: Sequence[str]) -> Aim:
    return Aim(everything=True)


def _attach(words: Sequence[str]) -> Aim:
    """Debuggers and tracers: any number may be a process."""
    return Aim(pids=_numbers(words), unsure=True)


def _debug(words: Sequence[str]) -> Aim | None:
    """The same of those that mostly start a program of their own: by an option they attach, gdb by a second operand."""
    alone = not any(_ATTACHING.match(word) or word[:1].isdigit() for word in words)
    return None if alone else _attach(words)


def _trace(words: Sequence[str]) -> Aim | None:
    return _attach(words) if any(_ATTACHING.match(word) for word in words) else None


def _inspect(words: Sequence[str]) -> Aim:
    return Aim(pids=_numbers(words))


def _adjust(words: Sequence[str]) -> Aim | None:
    """`-p 7` names a process; without it these run a command."""
    at = next(
        (
            index
            for index, word in enumerate(words)
            if re.match(r"-[A-Za-z]*[pPu]|--(?:pid|pgid|pgrp|uid|user)\b", word)
        ),
        None,
    )
    return None if at is None else Aim(pids=_numbers(words[at:]))


def _renice(words: Sequence[str]) -> Aim:
    return Aim(pids=_numbers(words[1:]), everything=any(word in ("-u", "--user") for word in words))


def _fuser(words: Sequence[str]) -> Aim | None:
    operands, options = _split(words, "-n --namespace")
    clusters = "".join(name[1:] for name, _ in options if re.fullmatch(r"-[A-Za-z]+", name))
    if "k" not in clusters and ("--kill", "") not in options:
        return None
    spaces = [value for name, value in options if name in ("-n", "--namespace")]
    ports = [
        word.partition("/")[0] for word in operands if re.search(r"/(?:tcp|udp)\Z", word) or {"tcp", "udp"} & {*spaces}
    ]
    return Aim(ports=_numbers(ports), unsure=True)


def _ss(words: Sequence[str]) -> Aim | None:
    """ss(8): `-K` closes the sockets that its filter chooses."""
    closes = any(word == "--kill" or re.fullmatch(r"-[A-Za-z]*K[A-Za-z]*", word) for word in words)
    if not closes:
        return None
    return Aim(ports=_numbers([word for word in words if not word.startswith("-")]), unsure=True)


def _filter(words: Sequence[str]) -> Aim:
    return Aim(ports=_numbers(words))


_READING_TEXT = """
status show list list-units list-unit-files is-active is-enabled is-failed cat list-timers list-sockets get-default
list-dependencies list-jobs print blame tail logs log describe info inspect ps images top stats port history help
version maintail avail pid
"""
_READING = frozenset(_READING_TEXT.split())


def _service(words: Sequence[str]) -> Aim | None:
    """Service managers: a verb, then units; `service NAME VERB` the other way round."""
    operands = [word for word in words if not word.startswith("-")]
    if not operands or operands[0] in _READING or (len(operands) == 2 and operands[1] in _READING):
        return None
    # without a unit a verb is about the whole session: `exit`, `isolate`, `reboot`
    return Aim(services=tuple(operands), unsure=len(operands) == 1)


_CONTAINER_VERBS = frozenset(("stop", "kill", "rm", "restart", "pause", "update", "exec", "cp", "rename", "attach"))


def _container(words: Sequence[str]) -> Aim | None:
    operands = [word for word in words if not word.startswith("-")]
    while operands and operands[0] in ("container", "compose"):
        operands.pop(0)
    if not operands or operands[0] not in _CONTAINER_VERBS:
        return None
    return Aim(services=tuple(word.partition(":")[0] for word in operands[1:]))


def _login(words: Sequence[str]) -> Aim | None:
    verbs = {"terminate-user", "kill-user", "terminate-session", "kill-session", "terminate-seat"}
    return Aim(everything=True) if verbs & {*words} else None


_TABLE: tuple[tuple[str, Callable[[Sequence[str]], Aim | None]], ...] = (
    ("kill", _kill),
    ("pkill", _pkill),
    ("killall", _killall),
    ("skill snice slay", _skill),
    ("killall5", _all),
    ("gdb lldb", _debug),
    ("strace ltrace", _trace),
    ("xkill gcore py-spy pyrasite pyrasite-shell reptyr jattach", _attach),
    ("perf bpftrace memray nsenter criu pstack eu-stack pmap pldd pwdx gstack", _inspect),
    ("prlimit ionice chrt taskset uclampset cpulimit schedtool coredumpctl", _adjust),
    ("renice", _renice),
    ("fuser", _fuser),
    ("ss", _ss),
    ("tcpkill cutter iptables ip6tables iptables-nft nft ufw firewall-cmd pfctl ipfw tc ipset ebtables", _filter),
    ("systemctl service launchctl supervisorctl sv rc-service initctl pm2 s6-svc s6-rc monit", _service),
    ("docker podman nerdctl", _container),
    ("loginctl", _login),
)
READERS: Mapping[str, Callable[[Sequence[str]], Aim | None]] = MappingProxyType(
    {name: reader for names, reader in _TABLE for name in names.split()}
)
