"""Ordinary work beside the agent: editors, formatters, test caches, git. None of it costs the model a call.

A refusal because something changed (`state_changed`, or a tool that found another file) is judged again by agentctl,
at most twice; here none may come through to the model. What is counted is what a model would be told.
"""

import asyncio
import os
import random
import subprocess
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from agentctl.turns.messages import ToolResult
from guarded import ground, proposal
from scale import scale, seed
from shield.types import Decision

AGENTS = 3
THOUGHT_S = 0.07  # before each call; no model is faster, and Shield takes 50 evaluations a second from one token
FILES = 6
GIT = ["git", "-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "commit.gpgsign=false"]


def editor(work: Path, dice: random.Random) -> None:
    """Saves as vim, VS Code and most others do: a new file moved over the old one, or the old one moved aside first."""
    file = work / "notes" / f"n{dice.randrange(FILES)}.txt"
    content = f"note {dice.random()}\nTODO keep\n"
    if dice.random() < 0.5:
        fresh = file.with_name(f".{file.name}.swp{dice.random()}")
        fresh.write_text(content)
        fresh.replace(file)
    else:
        backup = file.with_name(file.name + "~")
        file.rename(backup)
        file.write_text(content)
        backup.unlink()


def formatter(work: Path, dice: random.Random) -> None:
    """Leaves most sources as they are but for their times, and saves some anew with the content that they had."""
    if dice.random() < 0.8:
        os.utime(work / "src" / f"m{dice.randrange(FILES)}.py")
        return
    file = work / "src" / f"a{dice.randrange(AGENTS)}.py"  # what an agent edits: bound by content, not by inode
    fresh = file.with_name(f"{file.name}.{dice.random()}.tmp")
    fresh.write_text(file.read_text())
    fresh.replace(file)


def cache(work: Path, dice: random.Random) -> None:
    """As pytest and Python do beside the sources that are worked on."""
    folder = work / "src" / "__pycache__"
    folder.mkdir(exist_ok=True)
    name = f"m{dice.randrange(FILES)}.cpython-311.pyc"
    (folder / f"{name}.1").write_bytes(b"x" * 100)
    (folder / f"{name}.1").replace(folder / name)
    last = work / ".pytest_cache" / "v"
    last.mkdir(parents=True, exist_ok=True)
    (last / "lastfailed").write_text("{}")


def repository(work: Path, dice: random.Random) -> None:
    """A person's own git, in another directory of the same repository."""
    (work / "doc" / "page.md").write_text(f"page {dice.random()}\n")
    for command in (["add", "doc"], ["commit", "-qm", "page"], ["status", "-s"], ["stash", "list"]):
        subprocess.run([*GIT, *command], cwd=work, capture_output=True, check=False, timeout=60)


# Seconds between two steps. Two people save one of six files every second each; what never makes another file of
# one that is judged goes on as fast as a disk lets it.
PACES = (
    (editor, (0.5, 1.5)),
    (editor, (0.5, 1.5)),
    (formatter, (0.002, 0.02)),
    (cache, (0.002, 0.02)),
    (repository, (0.0, 0.05)),
)


@contextmanager
def others(work: Path):
    """All of them at work, each in a thread."""
    over = threading.Event()
    did: Counter[str] = Counter()
    broken: list[BaseException] = []

    def go(step, number: int, pace: tuple[float, float]) -> None:
        dice = random.Random(seed() + number)
        while not over.is_set():
            try:
                step(work, dice)
            except FileNotFoundError:
                continue  # the other editor has just this file
            except BaseException as error:  # noqa: BLE001  # told to the test
                broken.append(error)
                return
            did[step.__name__] += 1
            over.wait(dice.uniform(*pace))

    threads = [threading.Thread(target=go, args=(step, number, pace)) for number, (step, pace) in enumerate(PACES)]
    for thread in threads:
        thread.start()
    try:
        yield did
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    assert not broken, broken


def found(place):
    work = place.workspace
    for name in ("notes", "src", "doc"):
        (work / name).mkdir()
    for number in range(FILES):
        (work / "notes" / f"n{number}.txt").write_text("note\nTODO keep\n")
        (work / "src" / f"m{number}.py").write_text("x = 1\n")
    (work / "doc" / "page.md").write_text("page\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*GIT, *command], cwd=work, check=True, timeout=60)
    return work


def calls(agent: int, number: int, dice: random.Random):
    """A tool call of an agent at work. Each agent has files of its own in folders that all share."""
    note, mine = f"notes/n{dice.randrange(FILES)}.txt", f"src/a{agent}.py"
    return [
        ("read_file", {"path": note}),
        ("write_file", {"path": mine, "content": f"y = {number}\n"}),
        ("edit_file", {"path": mine, "old": "y = ", "new": "y = 1"}),
        ("list_directory", {"path": "notes"}),
        ("grep_files", {"pattern": "TODO", "path": "notes"}),
        ("read_file", {"path": f"src/m{dice.randrange(FILES)}.py"}),
        ("execute_command", {"command": "cat src/m*.py | wc -l"}),
        ("search_files", {"pattern": "*.py"}),
        ("write_file", {"path": f"src/new{agent}-{number}.txt", "content": "x"}),
        ("move_file", {"source": f"src/new{agent}-{number - 1}.txt", "destination": f"src/old{agent}-{number}.txt"}),
        ("execute_command", {"command": f"grep -n TODO {note}"}),
        ("git_status", {}),
        ("git_diff", {"path": "src"}),
        ("copy_file", {"source": note, "destination": f"src/copy{agent}-{number}.txt"}),
        ("execute_command", {"command": "ls -la notes src"}),
        ("create_directory", {"path": f"src/d{agent}-{number}"}),
        ("archive_create", {"path": f"a{agent}.zip", "sources": ["notes"]}),
        ("execute_command", {"command": "git status --short && git log --oneline -3"}),
        ("execute_command", {"command": f"sort doc/*.md > src/sorted{agent}.txt"}),
    ][number % 19]


def test_nothing_that_changes_beside_it_costs_the_model_a_call():
    with ground() as place:
        work = found(place)
        told: list[str] = []
        counts: Counter[str] = Counter()

        async def agent(gate, name: int) -> None:
            dice = random.Random(seed() + 100 + name)
            for number in range(scale("quiet_actions") // AGENTS):
                await asyncio.sleep(THOUGHT_S)
                kind, payload = calls(name, number, dice)
                wanted = proposal(kind, payload)
                verdict = await gate.propose(wanted)
                assert verdict.decision is Decision.ALLOW, (kind, payload, verdict.reason)
                result = await gate.run(wanted, verdict)
                counts[kind] += 1
                if not isinstance(result, ToolResult):
                    told.append(f"{kind} {payload}: {result.decision} {result.reason}")
                elif result.decision is not Decision.ALLOW or (result.is_error and "no such" not in result.content):
                    told.append(f"{kind} {payload}: {result.content}")

        async def main() -> None:
            async with place.gate(sidecar) as one, place.gate(sidecar) as two, place.gate(sidecar) as three:
                await asyncio.gather(*(agent(gate, name) for name, gate in enumerate((one, two, three))))

        with place.start() as sidecar, others(work) as did:
            asyncio.run(main())
        refused = Counter(record["body"]["reason"] for record in place.records() if record["kind"] == "refused")
        print(f"{sum(counts.values())} calls beside {dict(did)}; judged again: {dict(refused)}")
        assert not told, "\n".join(told)
        assert len(did) == 4, "somebody did not work"
        assert place.verify()[0] == 0
