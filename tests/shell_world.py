"""A made Linux with a workspace, for tests of shell facts."""

from dataclasses import replace
from functools import cache

from shield.actions.request import make_action
from shield.facts.made import PLAIN_PROGRAMS, MadeFile, MadeFiles
from shield.facts.place import Place
from shield.facts.shell import ShellAnalysis, analyse
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.set import PolicySet
from shield.policy.shelf import shipped_shelf
from shield.policy.world import made_place
from shield.types import ActionRequest, Decision, Isolation, Tier

HOME = "/home/user"
WS = "/home/user/ws"
PATH = "/usr/local/bin:/usr/bin:/bin"


def place(files: dict[str, MadeFile] | None = None, **changes) -> Place:
    values = {
        "files": MadeFiles(files or {}),
        "home": HOME,
        "cwd": WS,
        "workspace_roots": (WS,),
        "env": {"PATH": PATH, "HOME": HOME, "LANG": "C.UTF-8"},
        "shell": "/usr/bin/bash",
    }
    return Place(**{**values, **changes})


def facts(command: str, files: dict[str, MadeFile] | None = None, **changes) -> ShellAnalysis:
    return analyse(command, place(files, **changes))


def names(found: ShellAnalysis) -> list[str]:
    return [command.name for command in found.commands]


def settled(found: ShellAnalysis) -> bool:
    """Whether nothing stands in the way of judging this by policy alone."""
    return (
        found.parsed
        and not found.unknown
        and all(command.dynamic.value in ("none", "argument") for command in found.commands)
        and all(path.resolved is not None for path in found.paths)
    )


def accesses(found: ShellAnalysis) -> set[tuple[str | None, str]]:
    return {(path.resolved, path.access.value) for path in found.paths}


def text(content: str, mode: int = 0o755) -> MadeFile:
    return MadeFile(content=content.encode(), mode=mode)


def reading_policy(command: str, files: dict[str, MadeFile], *, confined: bool, name: str = "default") -> Decision:
    """What the shipped policy of this name says where every program of these words is installed."""
    programs = PLAIN_PROGRAMS | frozenset(word for word in command.split() if word.isidentifier())
    made = MadeFiles(files, home=HOME, cwd=WS, programs=programs)
    isolation = Isolation.CONFINED if confined else Isolation.NONE
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": command}, WS))
    here = replace(made_place(), files=made, isolation=isolation)
    # a machine that stands still for seconds makes facts unknown, and is no part of what is asked here
    verdict, _ = dry_run(
        request, here, _policy(name), agent="agent", now_ms=0, max_tier=Tier.POLICY, monotonic=lambda: 0.0
    )
    return verdict.decision


@cache
def _policy(name: str) -> PolicySet:
    return load_policy(name, shipped_shelf())
