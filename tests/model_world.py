"""The world in which the cases of the program models are judged, and how facts are written there in one line each."""

from pathlib import Path

import yaml

from shield.facts.made import MadeFile, MadeFiles
from shield.facts.place import Place
from shield.facts.programs.library import models
from shield.facts.shell import ShellAnalysis, analyse

__all__ = ["CASES", "MODELS", "OTHERS", "WORLD", "entries", "facts", "only_looks", "written"]

HOME, WS = "/home/user", "/home/user/ws"
CASES = Path(__file__).parent / "facts" / "programs" / "cases"
MODELS = Path(__file__).parents[1] / "shield" / "facts" / "programs"
# Entries of the shell itself and of what runs its arguments have tables of their own.
OTHERS = frozenset(("builtins.yaml", "wrappers.yaml"))
_FILES = {
    "a.txt": MadeFile(content=b"x\n"),
    "b.txt": MadeFile(content=b"y\n"),
    "a.tar": MadeFile(content=b"x"),
    "a.zip": MadeFile(content=b"x"),
    "a.gz": MadeFile(content=b"x"),
    "x.db": MadeFile(content=b"x"),
    "Makefile": MadeFile(content=b"all:\n\techo x\n"),
    "package.json": MadeFile(content=b"{}"),
    "src/main.py": MadeFile(content=b"print(1)\n"),
    ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
    ".git/config": MadeFile(content=b'[remote "origin"]\n\turl = https://github.com/a/b.git\n'),
    ".git/objects": MadeFile(directory=True),
    ".git/refs": MadeFile(directory=True),
}
_NAMES = frozenset(name for name in models() if "/" not in name and name not in (".", "[", ":"))
WORLD = Place(
    files=MadeFiles(_FILES, programs=_NAMES),
    home=HOME,
    cwd=WS,
    workspace_roots=(WS,),
    env={"PATH": "/usr/bin", "HOME": HOME, "LANG": "C.UTF-8"},
    shell="/usr/bin/bash",
)


def entries() -> dict[str, tuple[str, ...]]:
    """`file: first name` of every entry of the files that are tested here, with all its names."""
    found: dict[str, tuple[str, ...]] = {}
    for file in sorted(MODELS.glob("*.yaml")):
        if file.name not in OTHERS:
            for names in yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader):
                found[f"{file.stem}: {names.split()[0]}"] = tuple(names.split())
    return found


def facts(line: str) -> ShellAnalysis:
    return analyse(line, WORLD)


def only_looks(found: ShellAnalysis) -> bool:
    """Whether nothing is said but that something is read, here or of a service that the user has configured."""
    return (
        not (found.unknown or found.hosts)
        and found.operations <= {"read", "network"}
        and all(path.access in ("read", "list") for path in found.paths)
        and all(command.dynamic == "none" and command.runs_code == "none" for command in found.commands)
    )


def written(found: ShellAnalysis) -> dict[str, str]:
    """The facts as a case states them; what is empty is left out."""
    first = found.commands[0]
    paths = {f"{path.access} {_short(path.resolved, path.raw)}{'/**' * path.recursive}" for path in found.paths}
    texts = {
        "does": " ".join(sorted(first.operations)),
        "paths": ", ".join(sorted(paths)),
        "hosts": " ".join(sorted({host.host for host in found.hosts})),
        "runs": first.runs_code.value if first.runs_code != "none" else "",
        "then": ", ".join(" ".join(command.argv) for command in found.commands[1:]),
        "dynamic": first.dynamic.value if first.dynamic != "none" else "",
        "asks": "yes" if found.unknown else "",
    }
    return {key: text for key, text in texts.items() if text}


def _short(resolved: str | None, raw: str) -> str:
    if resolved is None:
        return f"?{raw}"
    if resolved == WS:
        return "."
    return resolved.removeprefix(WS + "/") if resolved.startswith(WS + "/") else resolved.replace(HOME, "~", 1)
