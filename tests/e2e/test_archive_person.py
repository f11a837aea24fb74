"""Packing goes ahead; what an archive holds nobody has judged, so a person is asked, for exactly these bytes."""

import asyncio
import os
import tarfile

import pytest

from agentctl.turns.messages import ToolResult
from guarded import ground, proposal
from shield.client import AsyncClient
from shield.types import ApprovalAnswer, Decision


@pytest.fixture
def asked():
    """A Shield with an approver, whose token the test holds."""
    with ground() as place:
        read, write = os.pipe()
        sidecar = place.start(approver_fd=write)
        os.close(write)
        token = os.read(read, 4096).decode().strip()
        os.close(read)
        with sidecar:
            yield place, sidecar, token


async def approved(gate, approver, wanted):
    verdict = await gate.propose(wanted)
    assert verdict.decision is Decision.ESCALATE
    (question,) = await approver.approvals(wait_s=10)
    await approver.answer(question.id, ApprovalAnswer(approve=True))
    return await gate.wait(verdict)


def test_what_was_packed_is_unpacked_after_a_person_agreed(asked):
    place, sidecar, token = asked
    (place.workspace / "src").mkdir()
    (place.workspace / "src" / "a.txt").write_text("A")
    (place.workspace / "there").mkdir()

    async def main():
        async with place.gate(sidecar) as gate, AsyncClient(sidecar.endpoint, token) as approver:
            pack = proposal("archive_create", {"path": "x.tar.gz", "sources": ["src"]})
            verdict = await gate.propose(pack)
            assert verdict.decision is Decision.ALLOW, verdict.reason
            assert not (await gate.run(pack, verdict)).is_error
            for destination in ("new", "there"):
                unpack = proposal("archive_extract", {"path": "x.tar.gz", "destination": destination})
                verdict = await approved(gate, approver, unpack)
                assert verdict.decision is Decision.ALLOW
                result = await gate.run(unpack, verdict)
                assert isinstance(result, ToolResult)
                assert not result.is_error, result.content
                assert "src/a.txt" in result.content

    asyncio.run(main())
    for destination in ("new", "there"):
        assert (place.workspace / destination / "src" / "a.txt").read_text() == "A"


def test_an_archive_rewritten_after_the_person_agreed_is_not_unpacked(asked):
    place, sidecar, token = asked
    archive = place.workspace / "x.tar"

    def write(name):
        with tarfile.open(archive, "w") as file:
            file.addfile(tarfile.TarInfo(name))

    write("good.txt")

    async def main():
        async with place.gate(sidecar) as gate, AsyncClient(sidecar.endpoint, token) as approver:
            unpack = proposal("archive_extract", {"path": "x.tar", "destination": "new"})
            verdict = await approved(gate, approver, unpack)
            inode = archive.stat().st_ino
            write("evil.txt")
            assert archive.stat().st_ino == inode
            return await gate.run(unpack, verdict)

    again = asyncio.run(main())
    assert not isinstance(again, ToolResult), "a person is asked anew"
    assert again.decision is Decision.ESCALATE
    assert not (place.workspace / "new").exists()
