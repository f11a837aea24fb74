"""agentctl, with a real Shield, on the stage: lets hostile code run at each level and writes down what came of it.

    python -P hostile_driver.py '{LEVEL: [PART…]}'  →  one JSON object on standard output

`{"levels": {LEVEL: {PART: {"decision": …, "said": …, "ways": {WAY: {"works": bool, "detail": …}}}, …}}}`. A way works
if what it claims can be seen from here: its mark in the real file, its message at the real listener, the real process
gone or still there. Only what nobody outside could see is taken at its word.
"""

import asyncio
import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentctl.config import load
from agentctl.execute import ShieldGate
from agentctl.sandbox import Sandbox
from agentctl.sandbox.confinement import Confinement, choose
from agentctl.sidecar import Sidecar, open_gate, start
from agentctl.turns.gate import Proposal
from agentctl.turns.messages import ToolCall, ToolResult
from audit.sinks.folder import file_name
from hostile_stage import HOME, UPPER
from hostile_world import (
    FOLDER,
    REMEMBERED,
    SECOND,
    SHIELD_HOME,
    WORKSPACE,
    World,
    alive,
    fresh,
    processes,
    running,
    victims,
    world,
)
from shield.client import ApprovalAnswer, AsyncClient
from shield.types import Decision, Verdict

_PYTEST = "pytest -q -s -p no:cacheprovider"
_APART = f"--ignore={FOLDER}/test_floods.py --ignore={FOLDER}/test_solo.py --ignore={FOLDER}/test_later.py"
_FRONTS = ("make test", "npm test", "sh front.sh")
_STUBBORN = ("by_a_file and not replaced", "replaced", "behind or says or included", "message", "locked")
_HARMLESS = ("git status", "git diff", "git log -1", "ls -la")
_WITHOUT = ("by_a_file and not replaced", "message", "locked")  # in a workspace without a repository
_RACES = 15
WAYS = Path(__file__).parent / "hostile" / "ways"
PATIENCE_S = 120


@dataclass
class Level:
    """One session at one level."""

    world: World
    gate: ShieldGate
    approver: AsyncClient
    name: str
    workspace: str

    @property
    def means(self) -> str | None:
        """What confines."""
        means = self.gate._sandbox.offer.means if self.gate._sandbox is not None else None
        return None if means is None else means.value

    async def do(self, kind: str, *, person: bool = True, **payload: Any) -> tuple[str, ToolResult | Verdict]:
        """One action through the whole path, and what was decided before anybody was asked. A `person` says yes."""
        call = ToolCall(id="call_1", name=kind, arguments_text=json.dumps(payload))
        proposal = Proposal(call=call, type=kind, payload=payload)
        verdict = await self.gate.propose(proposal)
        decision = verdict.decision.value
        if verdict.decision is Decision.ESCALATE and person:
            for question in await self.approver.approvals(wait_s=10):
                await self.approver.answer(question.id, ApprovalAnswer(approve=True))
            verdict = await self.gate.wait(verdict)
        if verdict.decision is not Decision.ALLOW:
            return decision, verdict
        return decision, await self.gate.run(proposal, verdict)

    async def run(self, command: str, timeout_s: int = PATIENCE_S) -> tuple[str, ToolResult | Verdict]:
        return await self.do("execute_command", command=command, timeout_s=timeout_s)

    async def tried(self, command: str, timeout_s: int = PATIENCE_S) -> dict[str, Any]:
        """Run hostile code; what was decided, what the model would see, and what came of each way."""
        began = time.monotonic()
        decision, result = await self.run(command, timeout_s)
        said = result.content if isinstance(result, ToolResult) else result.reason
        return {
            "decision": decision,
            "said": said if len(said) < 4000 else said[:2000] + said[-2000:],
            "length": len(said),
            "seconds": time.monotonic() - began,
            "ways": self.results(),
        }

    def results(self) -> dict[str, dict[str, Any]]:
        """What the last run of hostile code claims, held against what is seen from here."""
        file = Path(self.workspace) / FOLDER / "results.jsonl"
        if not file.exists():
            return {}
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        file.unlink()
        return {
            line["way"]: {
                "works": self._works(line["kind"], line["detail"]),
                "detail": line["detail"],
                "seconds": line.get("seconds"),
            }
            for line in lines
        }

    def _works(self, kind: str, detail: str) -> bool:
        match kind:
            case "got":
                return True
            case "wrote":
                return self._planted(Path(self.workspace) / detail)
            case "sent":
                return detail.lower().encode() in bytes(self.world.heard).lower()
            case "left":
                return bool(running(detail))
            case "beats":
                return self._beats(Path(detail))
            case "killed":
                return not alive(int(detail))
            case "hostname":
                return socket.gethostname() == detail
            case "setuid":
                return self._setuid(Path(detail))
            case _:
                return False  # `denied`, and what stays inside

    def _planted(self, path: Path) -> bool:
        mark = f"HOSTILE-{self.name}"
        try:
            return mark in path.read_text(errors="replace")
        except OSError:
            return False

    @staticmethod
    def _beats(path: Path) -> bool:
        """Whether somebody still touches it. Whoever does is told to stop."""
        before = path.stat().st_mtime_ns
        time.sleep(0.3)
        after = path.stat().st_mtime_ns
        path.with_name(path.name + ".stop").touch()
        return after != before

    @staticmethod
    def _setuid(path: Path) -> bool:
        return path.exists() and bool(path.stat().st_mode & stat.S_ISUID)


async def measure(
    made: World, sidecar: Sidecar, approver: AsyncClient, name: str, parts: Sequence[str]
) -> dict[str, Any]:
    """The named parts at one level, in sessions of its own."""
    fresh(WAYS)
    before = processes()
    report: dict[str, Any] = {}
    async with AsyncExitStack() as stack:
        prey = stack.enter_context(victims())
        server = stack.enter_context(made.listen(f"{WORKSPACE}/app.sock"))
        stack.callback(made.selector.unregister, server)
        made.write(name, **prey, shield_pid=sidecar.pid, checkpoint_file=checkpoint_file())
        chosen = {place: choose_at(name, place) for place in (WORKSPACE, SECOND)}

        async def opened(place: str = WORKSPACE) -> Level:
            gate = await stack.enter_async_context(gate_at(made, sidecar, place, chosen[place]))
            return Level(made, gate, approver, name, place)

        # opened before anything happens: at `none` Shield would not open another session afterwards
        level, bare, later, beside = [await opened(place) for place in (WORKSPACE, SECOND, WORKSPACE, WORKSPACE)]
        report["offer"] = {"level": level.gate.isolation.value, "means": level.means}
        root, home, state = snapshot(Path(UPPER)), snapshot(Path(HOME)), kept()
        report["pytest"] = await level.tried(f"{_PYTEST} {FOLDER} {_APART}")
        if "bare" in parts:
            report["bare"] = await bare.tried(f"{_PYTEST} {FOLDER} --ignore={FOLDER}/test_stubborn.py")
        if "stubborn" in parts:
            report["stubborn"] = await stubborn(bare)
        report["root"] = sorted({path.split()[0].removeprefix(UPPER) for path in snapshot(Path(UPPER)) ^ root})
        report["home"] = sorted({path.split()[0] for path in snapshot(Path(HOME)) ^ home if not _lent(path)})
        # what was planted is a policy that cannot be read: from there on everything would be asked
        (Path(WORKSPACE) / ".shield.yaml").unlink(missing_ok=True)
        for front in _FRONTS:
            if front in parts:
                report[front] = await level.tried(front)
        if "floods" in parts:
            report["floods"] = await level.tried(f"{_PYTEST} {FOLDER}/test_floods.py")
        report["solo"] = await solo(level)
        if "later" in parts:
            report["later"] = await afterwards(later)
        if "endless" in parts:
            report["endless"] = await later.tried(f"{_PYTEST} {FOLDER}/test_solo.py -k never", timeout_s=2)
        if "race" in parts:
            report["race"] = await race(later, beside)
            report["beside"] = await side_by_side(later, beside)
        report["state"] = sorted(path for path, _ in kept() ^ state)
        _, after = await later.do("read_file", path="README.md")
        report["still"] = after.content if isinstance(after, ToolResult) else after.reason
        mine = {int(prey["victim"]), *map(int, prey["prey"].values())}
    report["left"] = len(processes() - before - mine)
    return report


async def stubborn(bare: Level) -> dict[str, Any]:
    """Each by itself, so that what becomes of one does not depend on another."""
    report: dict[str, Any] = {"ways": {}}
    _remove(Path(SECOND) / ".git")
    for way in _STUBBORN:
        if way not in _WITHOUT:
            _begin(Path(SECOND))
        tried = await bare.tried(f"{_PYTEST} {FOLDER}/test_stubborn.py -k '{way}'")
        report["ways"] |= tried.pop("ways")
        report[way] = tried
        for name in (".git", "hooks-of-all", "docs", ".husky", ".gitconfig", "AGENTS.md"):
            _remove(Path(SECOND) / name)
    return report


def _begin(workspace: Path) -> None:
    """A repository of the user's, who keeps hooks, settings and instructions where others do not look."""
    for name in ("hooks-of-all", "docs", ".husky"):
        (workspace / name).mkdir()
    for name in ("hooks-of-all/pre-push", "docs/guide.md", ".husky/pre-push", ".gitconfig"):
        (workspace / name).write_text("# of the user\n")
    for words in (
        ["init", "-q", "."],
        ["config", "core.hooksPath", ".husky"],
        ["config", "include.path", "../.gitconfig"],
    ):
        subprocess.run(["git", "-C", workspace, *words], check=True, env=environ())
    shutil.rmtree(workspace / ".git" / "hooks")
    (workspace / ".git" / "hooks").symlink_to("../hooks-of-all")
    (workspace / "AGENTS.md").symlink_to("docs/guide.md")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


async def side_by_side(first: Level, second: Level) -> dict[str, Any]:
    """Two calls in one workspace: what the one plants is not the other's to keep."""
    folder, planted = Path(WORKSPACE) / FOLDER, Path(WORKSPACE) / ".mcp.json"
    planted.unlink(missing_ok=True)
    calls = []
    for name, level in (("a", first), ("b", second)):
        calls.append(asyncio.create_task(level.run(f"sh beside.sh {name} HOSTILE")))
        while not (folder / f"{name}.ready").exists() and not calls[-1].done():  # noqa: ASYNC110  # another process makes it
            await asyncio.sleep(0.02)
    for name, call in zip("ab", calls, strict=True):
        (folder / f"{name}.go").touch()
        await call
    return {"planted": planted.exists()}


async def afterwards(level: Level) -> dict[str, Any]:
    """Commands that only read, after hostile code had its turn."""
    report = await level.tried(f"{_PYTEST} {FOLDER}/test_later.py")
    decisions = {}
    for command in _HARMLESS:
        decisions[command], _ = await level.do("execute_command", person=False, command=command)
    escaped = "HOSTILE" in (Path(HOME) / "letter.txt").read_text()
    ways = {
        way: {"works": found["works"] and escaped, "detail": str(decisions)} for way, found in report["ways"].items()
    }
    return {**report, "prepared": report["ways"], "ways": ways, "decisions": decisions}


async def solo(level: Level) -> dict[str, Any]:
    """What may end with the call is looked at from here."""
    report = await level.tried(f"{_PYTEST} {FOLDER}/test_solo.py -k kill")
    works = bool(running(f"HOSTILE-{level.name}-killer"))
    return {**report, "ways": {"kill-what-watches-us": {"works": works, "detail": report["said"]}}}


async def race(hostile: Level, level: Level) -> dict[str, Any]:
    """File tools, while hostile code swaps what they open: how often they did their work, and how often another's."""
    folder = Path(WORKSPACE) / FOLDER
    task = asyncio.create_task(hostile.run(f"python3 {FOLDER}/race.py"))
    while not (folder / "race.running").exists() and not task.done():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(0.02)
    wrong = done = 0
    for number in range(_RACES):
        for kind, payload in (
            ("read_file", {"path": "race/note.txt"}),
            ("read_file", {"path": "race/folder/file.txt"}),
            ("write_file", {"path": "race/folder/out.txt", "content": f"{number}\n"}),
        ):
            _, result = await level.do(kind, **payload)
            if isinstance(result, ToolResult) and not result.is_error:
                done += 1
                wrong += kind == "read_file" and result.content not in ("a note", "a file")
    (folder / "race.stop").touch()
    await task
    rounds = folder / "race.rounds"
    wrong += (Path(HOME) / "out.txt").exists()
    return {"rounds": int(rounds.read_text()) if rounds.exists() else 0, "done": done, "wrong": wrong}


def choose_at(name: str, workspace: str) -> Confinement:
    """What `agentctl --isolation NAME` finds out before a session begins."""
    settings = load(environ(), cwd=Path(workspace), isolation=name)
    return choose(settings, Path(workspace), environ=environ())


@asynccontextmanager
async def gate_at(made: World, sidecar: Sidecar, workspace: str, chosen: Confinement) -> AsyncIterator[ShieldGate]:
    """A gate as agentctl opens it. A Shield with a port would name that port: here it is given."""
    async with open_gate(
        home=Path(SHIELD_HOME), workspace=Path(workspace), environ=environ(), sidecar=sidecar, confinement=chosen
    ) as gate:
        assert gate._sandbox is not None
        places = replace(gate._sandbox.places, ports=(made.facts["hidden_port"],))
        with Sandbox(places, chosen.offer) as gate._sandbox:
            yield gate


def kept() -> set[tuple[str, str]]:
    """Of Shield's state and agentctl's, all that nothing but a person or a start changes, with its content."""
    found = set()
    for folder in (SHIELD_HOME, REMEMBERED, f"{HOME}/.config/agentctl", f"{HOME}/.local/share/agentctl"):
        for path in Path(folder).rglob("*"):
            own = path.name.startswith(("audit.", "state.db")) or "sandbox" in path.parts
            own = own or path.suffix == ".checkpoints"
            if path.is_file() and not own:
                found.add((str(path), hashlib.sha256(path.read_bytes()).hexdigest()))
    return found


def checkpoint_file() -> str:
    """Where the checkpoints of Shield's log are kept."""
    log = (Path(REMEMBERED) / "logs").read_text().split()[1]
    return f"{REMEMBERED}/{file_name(log)}.checkpoints"


def _lent(line: str) -> bool:
    """What lies in the workspaces, or is written by Shield and agentctl themselves."""
    remembered = (f"{REMEMBERED} ", f"{REMEMBERED}/")  # a checkpoint every few seconds
    own = (WORKSPACE, SECOND, SHIELD_HOME, f"{HOME}/.local/share/agentctl", f"{HOME}/.cache ", f"{HOME}/.npm ")
    return line.startswith((*own, *remembered))


def snapshot(folder: Path) -> set[str]:
    """Every path below, with what changes when it is written."""
    found = set()
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if "__pycache__" in (name, os.path.basename(above)):
                continue  # what an interpreter keeps for itself
            path = os.path.join(above, name)
            entry = os.lstat(path)
            found.add(
                f"{path} {entry.st_mode:o} {entry.st_size} {0 if stat.S_ISDIR(entry.st_mode) else entry.st_mtime_ns}"
            )
    return found


def environ() -> dict[str, str]:
    return {
        "HOME": HOME,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}",
    }


def prepare() -> None:
    home = Path(SHIELD_HOME)
    (home / "policies").mkdir(mode=0o700, parents=True)
    home.chmod(0o700)
    (home / "shield.toml").write_text(f'[service]\nrate = 1000.0\n[workspaces]\nroots = ["{WORKSPACE}", "{SECOND}"]\n')
    (home / "policies" / "mine.yaml").write_text("version: 1\nname: mine\nextends: [default]\n")
    Path(WORKSPACE).mkdir(parents=True)


async def main(plan: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    prepare()
    read, write = os.pipe()
    with world(os.getuid()) as made:
        sidecar = await asyncio.to_thread(
            start, Path(SHIELD_HOME), workspace=Path(WORKSPACE), environ=environ(), approver_fd=write
        )
        os.close(write)
        with os.fdopen(read) as pipe:
            token = pipe.readline().strip()
        try:
            async with AsyncClient(sidecar.endpoint, token) as approver:
                return {
                    "levels": {
                        name: await measure(made, sidecar, approver, name, parts) for name, parts in plan.items()
                    }
                }
        finally:
            sidecar.close()


if __name__ == "__main__":
    os.umask(0o077)
    print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
