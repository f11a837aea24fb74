"""The log as the service sees it: durable answers, errors of our own tree, readers beside the writer."""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from shield.config.home import Home
from shield.errors import RecordError, ShieldError, StateError
from shield.service import home as homes
from shield.service.birth import initialise
from shield.service.journal import AuditJournal
from shield.service.log import KINDS, load_key, open_log


@pytest.fixture
def home():
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sh"))
    found = Home(path=f"{folder}/h")
    homes.prepare(found)
    initialise(found, now_ms=0, checkpoints=f"{folder}/state", roles=())
    yield found
    shutil.rmtree(folder)


def test_kinds_are_those_of_the_design():
    names = {kind.name for kind in KINDS.kinds}
    assert names == {
        "log.open",
        "decision",
        "approval",
        "executing",
        "refused",
        "outcome",
        "inspection",
        "rejected",
        "policy.change",
        "key.rotate",
        "redaction",
        "gap",
        "log.close",
    }


def test_appends_and_reads(home):
    async def main():
        journal = AuditJournal(open_log(home, load_key(home)), home, asyncio.get_running_loop())
        try:
            assert (await journal.append("log.open", {"version": "0"})).seq == 0
            seqs = await asyncio.gather(*(journal.append("decision", {"n": n}, call_id=f"c{n}") for n in range(5)))
            assert sorted(item.seq for item in seqs) == [1, 2, 3, 4, 5]
            assert (await journal.append("executing", {"x": "y"}, ref=1)).seq == 6
            for wrong in (
                journal.append("executing", {"x": "y"}),
                journal.append("nonsense", {}),
                journal.append("decision", {"float": 0.5}),
                journal.append("decision", {"big": "x" * 20_000}),
                journal.append("outcome", {}, ref=1),
            ):
                with pytest.raises(RecordError):
                    await wrong
            assert journal.healthy
            assert journal.trouble is None
            assert journal.size == 7
            leaves = await asyncio.to_thread(journal.records, 1, 2, {"kind": "decision"})
            assert [b'"seq":1' in leaves[0], b'"seq":2' in leaves[1], len(leaves)] == [True, True, 2]
            note = await asyncio.to_thread(journal.checkpoint)
            assert note.splitlines()[:2] == [journal.name, "7"]
            assert journal.unsealed == 0
        finally:
            journal.close()
        assert journal.trouble is not None
        with pytest.raises(RecordError):
            await journal.append("decision", {})

    asyncio.run(main())


@pytest.mark.parametrize("what", ["no log", "truncated", "no checkpoint", "no key", "other key", "open key", "garbage"])
def test_a_log_that_is_not_ours_whole_is_refused(home, what):
    async def fill():
        journal = AuditJournal(open_log(home, load_key(home)), home, asyncio.get_running_loop())
        await journal.append("log.open", {})
        journal.close()

    before = Path(home.audit_db).read_bytes()
    asyncio.run(fill())
    if what == "no log":
        os.remove(home.audit_db)
    elif what == "truncated":
        Path(home.audit_db).write_bytes(before)
    elif what == "no checkpoint":
        os.remove(home.audit_checkpoint)
    elif what == "no key":
        os.remove(home.audit_key)
    elif what == "open key":
        os.chmod(home.audit_key, 0o640)
    elif what == "garbage":
        Path(home.audit_db).write_bytes(os.urandom(8192))
    else:
        other = Home(path=f"{home.path}2")
        homes.prepare(other)
        initialise(other, now_ms=0, checkpoints=f"{home.path}/../state", roles=())
        shutil.rmtree(home.keys)
        os.rename(other.keys, home.keys)
    with pytest.raises(StateError) as refused:
        open_log(home, load_key(home))
    assert isinstance(refused.value, ShieldError)
    assert ";" in str(refused.value)  # what is wrong; what to do
    assert not homes.is_empty(home)
