"""Harmless actions as the corpora write them: a day's commands, texts that mention danger, tools, recorded sessions."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from git_world import repository
from shield.actions.request import make_action
from shield.facts.made import PLAIN_PROGRAMS, MadeFile, MadeFiles
from shield.pipeline import dry_run
from shield.policy.load import load_policy, load_text
from shield.policy.set import PolicySet
from shield.policy.shelf import shipped_shelf
from shield.policy.world import HOME, NOW, WORKSPACE, made_place
from shield.types import ActionRequest, Facts, Isolation, Tier, Verdict

CORPORA = Path(__file__).parent / "corpora"
# What a developer's machine has besides a plain Linux.
_NAMES = """
ag apt-cache aws az bat black brew bundle clear cloc cmake ctest dotnet eza gcloud gofmt gradle hadolint helm history
javac just lscpu mix mvn mypy ninja nproc poetry psql rake redis-cli rev rspec rubocop ruff rustup shellcheck size swift
terraform tox tput twine uuidgen vmstat yq zgrep zig zip
"""
INSTALLED = PLAIN_PROGRAMS | frozenset(_NAMES.split())
# Whether a call is asked about at `confined` and at `none`, as it was marked before it was judged: goes ahead, goes ahead
# where the sandbox confines it, is asked always.
MARKS = {"gg": (False, False), "ga": (False, True), "aa": (True, True)}
_SCRIPT = "#!/bin/sh\nls # old\n"
_PACKS = b"version: 1\nname: packs\nextends: [default, cloud, databases, git, kubernetes, supply-chain]\n"
# A commit message, a note, a comment … that holds a text; in every one it is data.
_AS_COMMAND = {
    "echo": "echo {word}",
    "commit": "git commit -m {word}",
    "heredoc": "cat > docs/new.md <<'EOF'\n{text}\nEOF",
    "append": 'cat >> docs/guide.md << "END"\n{text}\nEND\nls docs',
    "grep": "grep -rnF -e {word} docs",
    "message": "git commit -m \"$(cat <<'EOF'\nSay why\n\n{text}\nEOF\n)\"",
    "count": "printf '%s\\n' {word} | sort | wc -l",
}


@dataclass(frozen=True, kw_only=True)
class Act:
    """`share` is how much of a day's commands this is, of 1. `at` is the second of its session, `mark` what a sensible
    user wants: see `MARKS`."""

    type: str
    payload: Mapping[str, Any]
    files: MadeFiles
    group: str
    asked: str | None = None
    share: float = 0.0
    at: int = 0
    mark: str | None = None

    @property
    def text(self) -> str:
        return str(self.payload.get("command", f"{self.type} {self.payload}"))


@dataclass(frozen=True, kw_only=True, eq=False)
class Session:
    """One recorded piece of work, its calls in order."""

    name: str
    about: str
    calls: tuple[Act, ...]
    left: Mapping[str, str]

    @property
    def hours(self) -> float:
        return (self.calls[-1].at - self.calls[0].at) / 3600


@cache
def policy(name: str) -> PolicySet:
    """A shipped policy; `packs` is `default` with every pack."""
    if name == "packs":
        return load_text(_PACKS, "packs.yaml", shipped_shelf())
    return load_policy(name, shipped_shelf())


def judge(act: Act, name: str = "default", *, isolation: Isolation = Isolation.CONFINED) -> tuple[Verdict, Facts]:
    """As `shield check --max-tier 0 --isolation confined` does."""
    request = ActionRequest(id="x", action=make_action(act.type, dict(act.payload), WORKSPACE))
    place = replace(made_place(), files=act.files, isolation=isolation)
    now = int(NOW.timestamp() * 1000)
    return dry_run(request, place, policy(name), agent="agent", now_ms=now, max_tier=Tier.POLICY, monotonic=lambda: 0.0)


def commands() -> Iterator[Act]:
    data = _read("benign/commands.yaml")
    worlds = {name: _world(entries) for name, entries in data["worlds"].items()}
    for group in data["groups"]:
        for line in group["run"]:
            yield Act(
                type="execute_command",
                payload={"command": str(line)},
                files=worlds[group["world"]],
                group=group["name"],
                asked=group.get("asked"),
                share=group["share"] / 1000 / len(group["run"]),
            )


def documents() -> Iterator[Act]:
    files = _world({"docs/guide.md": "old\n", "src/a.py": "x = 1\n"})
    for text in _read("benign/documents.yaml")["texts"]:
        carried: list[tuple[str, str, dict[str, Any]]] = [
            (name, "execute_command", {"command": form.format(word=shlex.quote(text), text=text)})
            for name, form in _AS_COMMAND.items()
        ]
        carried += [
            ("write", "write_file", {"path": "docs/new.md", "content": f"# Notes\n\n{text}\n"}),
            ("edit", "edit_file", {"path": "docs/guide.md", "old": "old", "new": text}),
            ("git", "git_commit", {"message": text}),
            ("notify", "notify", {"message": f"I wrote: {text}"}),
            ("search", "grep_files", {"pattern": text, "path": "docs"}),
        ]
        for name, kind, payload in carried:
            yield Act(type=kind, payload=payload, files=files, group=f"texts, {name}")


def tools() -> Iterator[Act]:
    data = _read("benign/tools.yaml")
    files = _world(data["files"])
    for group in data["groups"]:
        for action in group["actions"]:
            yield Act(
                type=action["type"],
                payload=action["payload"],
                files=files,
                group=group["name"],
                asked=group.get("asked"),
            )


def sessions() -> tuple[Session, ...]:
    """Every file of `corpora/work`. A call is `SECOND [MARK] TOOL WORDS`; what the session's edits replace is there, and
    `left` says why a call is judged other than it is marked, by the second at which it comes."""
    found = []
    for path in sorted((CORPORA / "work").glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        programs = INSTALLED | set(data["programs"].split())
        calls = [_parted(line) for line in data["calls"]]
        edited = {words: data["files"].get(words, "") for _, _, tool, words in calls if tool == "edit"}
        edited = {path: text if "old" in text else f"{text}old\n" for path, text in edited.items()}
        files = _world(
            {**data["files"], **edited, "run": data["run"], "committed": data.get("committed", "")}, programs
        )
        acts = tuple(_call(at, mark, tool, words, files, path.stem) for at, mark, tool, words in calls)
        left = {str(at): reason for at, reason in data.get("left", {}).items()}
        found.append(Session(name=path.stem, about=data["about"], calls=acts, left=left))
    return tuple(found)


def _parted(line: str) -> tuple[int, str | None, str, str]:
    second, _, rest = line.partition(" ")
    first, _, after = rest.partition(" ")
    mark, rest = (first, after) if first in MARKS else (None, rest)
    tool, _, words = rest.partition(" ")
    return int(second), mark, tool, words


def _call(at: int, mark: str | None, tool: str, words: str, files: MadeFiles, group: str) -> Act:
    pattern, _, where = words.rpartition(" ")
    kind, payload = {
        "$": ("execute_command", {"command": words}),
        "ls": ("list_directory", {"path": words}),
        "read": ("read_file", {"path": words}),
        "write": ("write_file", {"path": words, "content": "x = 1\n"}),
        "edit": ("edit_file", {"path": words, "old": "old", "new": "new"}),
        "glob": ("search_files", {"pattern": words}),
        "grep": ("grep_files", {"pattern": pattern.strip('"'), "path": where}),
        "search": ("memory_search", {"query": words}),
        "notify": ("notify", {"message": words}),
        "http": ("http_request", None),
        "tool": ("", None),
    }[tool]
    if payload is None:
        given = json.loads(words)
        kind, payload = (kind, given) if kind else (given["type"], given["payload"])
    return Act(type=kind, payload=payload, files=files, group=group, at=at, mark=mark)


def _read(name: str) -> Any:
    return yaml.safe_load((CORPORA / name).read_text(encoding="utf-8"))


def _world(entries: Mapping[str, Any], programs: frozenset[str] | set[str] = INSTALLED) -> MadeFiles:
    """`run` names the files that can be run; the workspace is a repository with a remote, in which all files and folders
    that `committed` names are."""
    texts = {path: text for path, text in entries.items() if path not in ("run", "committed")}
    kept = tuple(entries.get("committed", "").split())
    made = {path: MadeFile(content=text.encode() if isinstance(text, str) else text) for path, text in texts.items()}
    made |= _repository({path: text for path, text in texts.items() if path.startswith(kept)} if kept else {})
    for path in entries.get("run", "").split():
        text = texts.get(path, "")
        made[path] = MadeFile(content=(text if text.startswith("#!") else _SCRIPT).encode(), mode=0o755)
    return MadeFiles(made, home=HOME, cwd=WORKSPACE, programs=frozenset(programs))


def _repository(committed: Mapping[str, str]) -> dict[str, MadeFile]:
    """A `.git` with a remote, made by git itself where anything is in it."""
    made = {
        ".git/HEAD": MadeFile(content=b"ref: refs/heads/main\n"),
        ".git/objects": MadeFile(directory=True),
        ".git/refs": MadeFile(directory=True),
    }
    if committed:
        made |= {path: file for path, file in repository(committed).items() if path.startswith(".git/")}
    return made | {".git/config": MadeFile(content=b'[remote "origin"]\n\turl = https://github.com/x/y.git\n')}
