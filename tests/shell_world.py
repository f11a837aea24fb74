"""A made Linux with a workspace, for tests of shell facts."""

from shield.facts.made import MadeFile, MadeFiles
from shield.facts.place import Place
from shield.facts.shell import ShellAnalysis, analyse

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
