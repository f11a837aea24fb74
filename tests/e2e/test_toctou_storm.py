"""A storm of swaps around evaluate, redeem and open: no tool reads or writes anything but what was judged.

A hostile process (`swapper.py`) swaps files, links, FIFOs and directories of the workspace for others all the while.
Outside stand canaries: none of their bytes may be seen, none of them may change. What is read, copied, moved, packed or
deleted must be the very file that the receipt names, and what is written must lie in the very directory.
"""

import asyncio
import base64
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentctl.errors import ToolError
from agentctl.tools.process import run
from agentctl.tools.stop import Stop
from agentctl.tools.syscalls import rename_to_free
from agentctl.tools.table import carry_out
from agentctl.tools.warrant import Warrant, canonical_action
from agentctl.tools.web import SystemNetwork
from agentctl.turns.messages import ToolResult
from guarded import Ground, ground, proposal
from scale import scale, seed
from shield import canonical
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.files import identities
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.permits import PermitKey, Receipt, state_digest
from shield.types import Decision, FileRole

SWAPPER = Path(__file__).with_name("swapper.py")
CANARY = "CANARY"
KINDS = ("link", "twin", "fifo", "other")  # what a file is swapped for
FOLDERS = ("link", "other")  # what a directory is swapped for
POLICY = """
version: 1
name: storm
extends: [default]
overrides: [files.temp.write, files.temp.read]  # everything here lies in the temporary folder
rules:
  - id: storm.delete
    effect: allow
    grants: path
    when: path.inside_workspace && path.access == "delete"
    reason: deleting inside the workspace
  - id: storm.twins
    effect: block
    when: paths.exists(p, "hard_link" in p.categories)
    severity: high
    reason: A file with further names is not touched here.
    advice: Take another file.
"""


class Arena:
    """A workspace, the decoys that it is swapped with, and canaries outside, all on one file system."""

    def __init__(self, root: Path, workspace: Path) -> None:
        self.workspace, self.decoys, self.outside = workspace, root / "decoys", root / "outside"
        self.pairs: list[tuple[Path, Path]] = []
        self.contents: dict[int, bytes] = {}
        self.folders: dict[int, int] = {}
        for folder in (self.decoys, self.outside, self.outside / "sub"):
            folder.mkdir()
        for name in ("f.txt", "canary-only.txt", "sub/deep.txt"):
            (self.outside / name).write_text(f"{CANARY} # {name}\n")
        for letter in "rwemx":  # read, written, edited, moved, deleted
            for kind in KINDS:
                self._file(f"{letter}-{kind}.txt", kind)
        for kind in FOLDERS:
            self._folder(f"d-{kind}", kind)
        self.before = self._outside()

    def _file(self, name: str, kind: str) -> None:
        honest, decoy = self.workspace / name, self.decoys / name
        self._put(honest, f"honest {name} #\n")
        match kind:
            case "link":
                decoy.symlink_to(self.outside / "f.txt")
            case "twin":
                os.link(self.outside / "f.txt", decoy)
            case "fifo":
                os.mkfifo(decoy)
            case "other":
                self._put(decoy, f"other {name} #\n")
        self.pairs.append((honest, decoy))

    def _folder(self, name: str, kind: str) -> None:
        honest, decoy = self.workspace / name, self.decoys / name
        honest.mkdir()
        self._put(honest / "f.txt", f"honest {name} #\n")
        if kind == "link":
            decoy.symlink_to(self.outside)
        else:
            decoy.mkdir()
            self._put(decoy / "f.txt", f"other {name} #\n")
            self._pin(decoy)
        self._pin(honest)
        self.pairs.append((honest, decoy))

    def _put(self, path: Path, text: str) -> None:
        path.write_text(text)
        self.contents[path.stat().st_ino] = text.encode()

    def _pin(self, folder: Path) -> None:
        self.folders[folder.stat().st_ino] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        for descriptor in self.folders.values():
            os.close(descriptor)

    def _outside(self) -> list[tuple[str, int, int, int, bytes | None]]:
        found = []
        for path in sorted([self.outside, *self.outside.rglob("*")]):
            stat = path.lstat()
            content = path.read_bytes() if path.is_file() else None
            found.append((str(path), stat.st_ino, stat.st_mode, stat.st_mtime_ns, content))
        return found

    def unharmed(self) -> None:
        """INVARIANT: after any number of actions the canaries are as they were, and so is everything beside them."""
        assert self._outside() == self.before

    def remake(self, path: Path, number: int) -> None:
        """Put a new file where the hostile process finds nothing to swap any more."""
        fresh = self.decoys / f"fresh{number}"
        self._put(fresh, f"again {number} #\n")
        rename_to_free(str(fresh), str(path), source_folder=-100, folder=-100)


@contextmanager
def swapping(pairs, limit=10_000_000):
    """The hostile process at work; gives it, and afterwards a list with the number of its swaps."""
    made: list[int] = []
    process = subprocess.Popen(
        [sys.executable, "-I", str(SWAPPER), str(limit), str(seed()), *(f"{one}={other}" for one, other in pairs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process, made
        out, _ = process.communicate(timeout=60)
        made.append(int(out))
    finally:
        process.kill()
        process.communicate()


class Service:
    """Through a real Shield: the gate of agentctl, whose receipts are looked at on their way."""

    def __init__(self, gate) -> None:
        self.gate, self.files, self.doing = gate, (), None
        self._client, gate._client = gate._client, self

    def __getattr__(self, name):
        return getattr(self._client, name)

    async def redeem(self, redemption):
        receipt = await self._client.redeem(redemption)
        claims = receipt.split(".")[1]
        self.files = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["files"]
        return receipt

    async def outcome(self, report):
        assert CANARY not in "".join(part.text for part in report.content), (
            self.doing,
            self.gate.isolation,
            self.files,
        )
        return await self._client.outcome(report)

    async def act(self, kind, payload):
        """What the model is told; None where nothing was done."""
        self.files, self.doing = (), (kind, payload)
        wanted = proposal(kind, payload)
        verdict = await self.gate.propose(wanted)
        while "evaluations a second" in verdict.reason:
            await asyncio.sleep(0.2)
            verdict = await self.gate.propose(wanted)
        if verdict.decision is not Decision.ALLOW:
            return None
        result = await self.gate.run(wanted, verdict)
        if not isinstance(result, ToolResult):
            return None
        assert CANARY not in result.content
        return None if result.is_error else result.content


class Tools:
    """Facts, what a permit binds, and the tools, in this process: many times as often, and for every type."""

    def __init__(self, workspace: Path) -> None:
        self._key = PermitKey()
        self._workspace = str(workspace)
        self.files = ()

    async def act(self, kind, payload, before_redeem=lambda: None):
        self.files = ()
        for _ in range(3):
            judged = self._look(kind, payload)  # evaluate
            if judged is None:
                return None
            before_redeem()
            if self._look(kind, payload) != judged:  # redeem
                continue
            warrant = self._warrant(kind, payload, judged)
            try:
                output = carry_out(warrant, Stop(), run, SystemNetwork())
            except ToolError:
                continue
            self.files = [
                {"role": each.role.value, "path": each.path, "ino": each.ino, "sha256": each.sha256} for each in judged
            ]
            text = "\n".join(part.text for part in output.parts)
            assert CANARY not in text
            return text
        return None

    def _look(self, kind, payload):
        place = Place(
            files=LocalFiles(),
            home=str(Path(self._workspace).parent),
            cwd=self._workspace,
            workspace_roots=(self._workspace,),
            env={"PATH": "/usr/bin:/bin"},
        )
        action = make_action(kind, payload, self._workspace)
        facts = compute(action, lookup(kind), place)
        known = kind == "archive_extract" or not facts.unknown  # what an archive holds never is
        fine = all(path.inside_workspace and "hard_link" not in path.categories for path in facts.paths)
        return identities(action, facts, place) if known and fine else None

    def _warrant(self, kind, payload, files):
        raw = canonical_action(kind, payload, self._workspace)
        receipt = Receipt(
            jti="j",
            act=canonical.digest(raw),
            state=state_digest(files),
            nonce="n",
            seq=1,
            exp=1000,
            files=files,
            shell="/bin/bash",
            env={"PATH": "/usr/bin:/bin"},
            allow_hosts=(),
        )
        token = self._key.sign_receipt(receipt)
        return Warrant(token, public_key=self._key.public, action=raw, jti="j", nonce="n", now_s=999.0)


class Storm:
    """One action after the other; each knows what must be true after it, whatever was swapped meanwhile."""

    def __init__(self, arena: Arena, actor: Service | Tools, dice: random.Random) -> None:
        self.arena, self.actor, self.dice = arena, actor, dice
        self.counts: Counter[str] = Counter()
        self.kinds = [self.read, self.write, self.write_new, self.edit, self.copy, self.move, self.delete]
        self.kinds += [self.make, self.list, self.search, self.grep, self.pack]
        if isinstance(actor, Tools):
            self.kinds.append(self.unpack)

    async def rage(self, times: int) -> None:
        for number in range(times):
            step = self.kinds[number % len(self.kinds)]
            did = await step(number)
            self.counts[f"{step.__name__} {'done' if did else 'not done'}"] += 1
            if number % 100 == 0:
                self.arena.unharmed()
        self.arena.unharmed()

    async def calm(self) -> None:
        """Nobody swaps any more: every tool does its work, so that the storm did not only meet closed doors."""
        for number, step in enumerate(self.kinds):
            assert await step(1_000_000 + number), step.__name__

    def _file(self, letter: str) -> str:
        return f"{letter}-{self.dice.choice(KINDS)}.txt"

    def _folder(self) -> str:
        return f"d-{self.dice.choice(FOLDERS)}"

    def _named(self, role: FileRole, path: str) -> dict:
        whole = str(self.arena.workspace / path)
        (found,) = (each for each in self.actor.files if each["role"] == role.value and each["path"] == whole)
        return found

    def _lies_in(self, folder: str, name: str, path: str) -> bytes | None:
        """The content of what was made: it is in the directory that the receipt names, and in no other."""
        (inode,) = {each["ino"] for each in self.actor.files if each["path"] == path and each["role"] == "target"}
        folders = self.arena.folders.items()
        found = {number: descriptor for number, descriptor in folders if name in os.listdir(descriptor)}
        assert list(found) == [inode], (folder, name)
        return found[inode]

    async def read(self, number: int) -> bool:
        path = self.dice.choice([self._file("r"), f"{self._folder()}/f.txt"])
        said = await self.actor.act("read_file", {"path": path})
        if said is None:
            return False
        expected = self.arena.contents[self._named(FileRole.READ, path)["ino"]].decode()
        assert said.strip() == expected.strip()
        return True

    async def write(self, number: int) -> bool:
        path = self._file("w")
        return await self.actor.act("write_file", {"path": path, "content": f"written {number}\n"}) is not None

    async def write_new(self, number: int) -> bool:
        folder, name = self._folder(), f"n{number}.txt"
        path = f"{folder}/{name}"
        if await self.actor.act("write_file", {"path": path, "content": "new"}) is None:
            return False
        descriptor = self._lies_in(folder, name, str(self.arena.workspace / path))
        os.unlink(name, dir_fd=descriptor)
        return True

    async def make(self, number: int) -> bool:
        folder, name = self._folder(), f"m{number}"
        path = f"{folder}/{name}"
        if await self.actor.act("create_directory", {"path": path}) is None:
            return False
        os.rmdir(name, dir_fd=self._lies_in(folder, name, str(self.arena.workspace / path)))
        return True

    async def edit(self, number: int) -> bool:
        return await self.actor.act("edit_file", {"path": self._file("e"), "old": " #", "new": ". #"}) is not None

    async def copy(self, number: int) -> bool:
        source = self._file("r")
        if await self.actor.act("copy_file", {"source": source, "destination": f"c{number}"}) is None:
            return False
        copied = self.arena.workspace / f"c{number}"
        assert copied.read_bytes() == self.arena.contents[self._named(FileRole.READ, source)["ino"]]
        copied.unlink()
        return True

    async def move(self, number: int) -> bool:
        source = self._file("m")
        if await self.actor.act("move_file", {"source": source, "destination": f"o{number}"}) is None:
            return False
        moved = self.arena.workspace / f"o{number}"
        assert moved.lstat().st_ino == self._named(FileRole.READ, source)["ino"]
        rename_to_free(str(moved), str(self.arena.workspace / source), source_folder=-100, folder=-100)
        return True

    async def delete(self, number: int) -> bool:
        path = self._file("x")
        pair = (self.arena.workspace / path, self.arena.decoys / path, self.arena.decoys / f"{path}.away")
        known = there(pair)
        if await self.actor.act("delete_file", {"path": path}) is None:
            return False
        deleted = self._named(FileRole.READ, path)["ino"]
        left = there(pair)
        assert deleted not in left
        assert left == known - {deleted}, "something else is gone"
        self.arena.remake(pair[0], number)
        return True

    async def list(self, number: int) -> bool:
        said = await self.actor.act("list_directory", {"path": self._folder(), "recursive": number % 2 == 0})
        assert said is None or ("canary-only" not in said and "deep.txt" not in said)
        return said is not None

    async def search(self, number: int) -> bool:
        said = await self.actor.act(
            "search_files", {"pattern": "*.txt", "path": self.dice.choice([self._folder(), "."])}
        )
        assert said is None or ("canary-only" not in said and "deep.txt" not in said)
        return said is not None

    async def grep(self, number: int) -> bool:
        path = self.dice.choice([self._folder(), self._file("r"), "."])
        return await self.actor.act("grep_files", {"pattern": f"{CANARY}|#", "path": path}) is not None

    async def pack(self, number: int) -> bool:
        sources = self.dice.choice([[self._folder()], [self._file("r"), self._folder()], ["."]])
        if await self.actor.act("archive_create", {"path": f"a{number}.tar", "sources": sources}) is None:
            return False
        packed = self.arena.workspace / f"a{number}.tar"
        assert CANARY.encode() not in packed.read_bytes()
        assert b"canary-only" not in packed.read_bytes()
        packed.unlink()
        return True

    async def unpack(self, number: int) -> bool:
        folder, name = self._folder(), f"u{number}"
        path = f"{folder}/{name}"
        if await self.actor.act("archive_extract", {"path": "good.tar", "destination": path}) is None:
            return False
        descriptor = self._lies_in(folder, name, str(self.arena.workspace / path))
        shutil.rmtree(name, dir_fd=descriptor)
        return True


def there(names) -> set[int]:
    """The files that go by these names, though they change places while they are looked at."""
    found = set()
    for _ in range(50):
        for name in names:
            try:
                found.add(os.lstat(name).st_ino)
            except FileNotFoundError:
                continue
    return found


def good_archive(workspace: Path) -> None:
    with tarfile.open(workspace / "good.tar", "w") as archive:
        for name in ("p/q/r.txt", "p/s.txt"):
            info = tarfile.TarInfo(name)
            archive.addfile(info)


def over(arena: Arena, storm: Storm, made: list[int]) -> None:
    """After the storm: it was one, tools came through it, and nothing is where it should not be."""
    print(f"{made[0]} swaps; {dict(sorted(storm.counts.items()))}")
    arena.unharmed()
    assert sum(count for name, count in storm.counts.items() if not name.endswith("not done")), "nothing came through"
    assert sum(count for name, count in storm.counts.items() if name.endswith("not done")), (
        "nothing was ever in the way"
    )
    assert made[0] > sum(storm.counts.values())
    for file, _ in arena.pairs:
        if file.is_file():
            assert re.fullmatch(r"(honest|other|again) [^#]*#\n|written \d+\n", file.read_text()), file
    assert not list(arena.workspace.rglob(".agentctl-*"))


def test_a_storm_around_the_tools():
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        root = Path(folder).resolve()
        (root / "ws").mkdir()
        arena = Arena(root, root / "ws")
        good_archive(arena.workspace)
        storm = Storm(arena, Tools(arena.workspace), random.Random(seed()))

        async def main() -> None:
            with swapping(arena.pairs) as (_, made):
                await storm.rage(scale("storm_tools"))
            await storm.calm()
            over(arena, storm, made)

        asyncio.run(main())
        arena.close()


def test_a_storm_around_a_real_shield():
    with ground() as place:
        storms(place)
        arena = Arena(place.root, place.workspace)

        async def main() -> None:
            async with place.gate(sidecar) as gate:
                storm = Storm(arena, Service(gate), random.Random(seed()))
                with swapping(arena.pairs) as (_, made):
                    await storm.rage(scale("storm_service"))
                await storm.calm()
                over(arena, storm, made)

        with place.start() as sidecar:
            asyncio.run(main())
        arena.close()
        refused = [record["body"]["reason"] for record in place.records() if record["kind"] == "refused"]
        print(f"refused at redeem: {Counter(refused)}")
        assert place.verify()[0] == 0


# --- what a command is started in, and what it starts -----------------------------------------------------------------


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_storm_around_the_working_directory(kind):
    """The workspace itself is swapped: a command runs in the directory that was judged, or not at all."""
    with ground() as place:
        storms(place)
        decoy, outside = place.root / "decoy", place.root / "outside"
        outside.mkdir()
        (outside / "marker.txt").write_text(f"{CANARY}\n")
        markers = {place.workspace.stat().st_ino: "honest"}
        (place.workspace / "marker.txt").write_text("honest\n")
        if kind == "link":
            decoy.symlink_to(outside)
        else:
            decoy.mkdir()
            (decoy / "marker.txt").write_text("other\n")
            markers[decoy.stat().st_ino] = "other"
        seen: Counter[str] = Counter()

        async def rage(actor: Service) -> None:
            for number in range(scale("storm_root")):
                kind, payload = ("execute_command", {"command": "cat marker.txt"})
                if number % 3 == 1:
                    kind, payload = ("read_file", {"path": "marker.txt"})
                elif number % 3 == 2:
                    kind, payload = ("write_file", {"path": f"new{number}.txt", "content": "x"})
                said = await actor.act(kind, payload)
                if said is not None and kind == "execute_command":
                    (inode,) = {each["ino"] for each in actor.files if each["role"] == "directory"}
                    assert said.strip() == markers[inode]
                seen[f"{kind} {'done' if said is not None else 'not done'}"] += 1

        async def main() -> None:
            async with place.gate(sidecar) as gate:
                actor = Service(gate)
                with swapping([(place.workspace, decoy)]) as (_, made):
                    await rage(actor)
                assert await actor.act("execute_command", {"command": "cat marker.txt"}) == "honest"
                print(f"{made[0]} swaps; {dict(sorted(seen.items()))}")

        with place.start() as sidecar:
            asyncio.run(main())
        assert sum(count for name, count in seen.items() if name.endswith("not done"))
        assert os.listdir(outside) == ["marker.txt"]


def test_a_workspace_that_becomes_a_link_has_nothing_inside():
    with ground() as place:
        storms(place)
        outside = place.root / "outside"
        outside.mkdir()
        (outside / "a.txt").write_text(CANARY)
        (place.workspace / "a.txt").write_text("mine")
        before = os.listdir(outside), (outside / "a.txt").stat().st_mtime_ns

        async def main() -> None:
            async with place.gate(sidecar) as gate:
                actor = Service(gate)
                assert await actor.act("read_file", {"path": "a.txt"}) == "mine"
                place.workspace.rename(place.root / "moved")
                place.workspace.symlink_to(outside)
                for kind, payload in (
                    ("read_file", {"path": "a.txt"}),
                    ("read_file", {"path": str(outside / "a.txt")}),
                    ("write_file", {"path": "a.txt", "content": "x"}),
                    ("write_file", {"path": "new.txt", "content": "x"}),
                    ("delete_file", {"path": "a.txt"}),
                    ("list_directory", {"path": "."}),
                    ("grep_files", {"pattern": "."}),
                    ("archive_create", {"path": "a.tar", "sources": ["."]}),
                    ("execute_command", {"command": "cat a.txt"}),
                    ("execute_command", {"command": "touch made"}),
                ):
                    assert await actor.act(kind, payload) is None, (kind, payload)

        with place.start() as sidecar:
            asyncio.run(main())
        assert (os.listdir(outside), (outside / "a.txt").stat().st_mtime_ns) == before


def test_a_storm_around_a_program():
    """Swapped from evaluate to redeem, the hostile process then stands still: what runs is what was judged."""
    with tempfile.TemporaryDirectory(prefix="sh") as folder:
        root = Path(folder).resolve()
        workspace = root / "ws"
        workspace.mkdir()
        scripts = {}
        for place, word in ((workspace, "honest"), (root, "other")):
            script = place / "tool.sh"
            script.write_text(f"#!/bin/sh\necho {word}\n")
            script.chmod(0o755)
            scripts["sha256:" + hashlib.sha256(script.read_bytes()).hexdigest()] = word
        seen: Counter[str] = Counter()
        actor = Tools(workspace)

        async def rage(hostile: Standstill) -> None:
            for _ in range(scale("storm_root")):
                said = await actor.act("execute_command", {"command": "./tool.sh"}, hostile.stop)
                hostile.go_on()
                judged = {each["sha256"] for each in actor.files if each["path"] == str(workspace / "tool.sh")}
                if said is None or not judged:
                    seen["nothing"] += 1  # caught while nothing had that name
                    continue
                assert {scripts[digest] for digest in judged if digest} == {said.strip()}
                seen[said.strip()] += 1

        with swapping([(workspace / "tool.sh", root / "tool.sh")]) as (process, made):
            asyncio.run(rage(Standstill(process)))
        print(f"{made[0]} swaps; {dict(seen)}")
        assert {"honest", "other"} <= seen.keys()


class Standstill:
    """The hostile process held still, and let go again."""

    def __init__(self, process) -> None:
        self._process, self._still = process, False

    def stop(self) -> None:
        if not self._still:
            self._process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)
            self._still = True

    def go_on(self) -> None:
        if self._still:
            self._process.send_signal(signal.SIGCONT)
            self._still = False


def storms(place: Ground) -> None:
    (place.shield_home / "policies").mkdir(mode=0o700, exist_ok=True)
    (place.shield_home / "policies" / "storm.yaml").write_text(POLICY)
    place.configure('policy = "storm"\n')
