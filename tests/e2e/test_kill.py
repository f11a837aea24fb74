"""SIGKILL of Shield at the two moments that matter, and under load: the log is whole and nothing runs twice."""

import asyncio
import threading

import pytest

from agentctl.errors import GateError
from guarded import Between, ground, kill, proposal
from scale import scale
from shield.client import Client
from shield.errors import ClientError, ShieldError
from shield.types import Decision, Isolation

APPEND = {"command": "echo ran >> ran.txt"}


@pytest.fixture
def place():
    with ground() as found:
        yield found


def ran(place) -> int:
    file = place.workspace / "ran.txt"
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_killed_between_verdict_and_redeem(place):
    async def main():
        sidecar = place.start()

        async def die(*_):
            await asyncio.to_thread(kill, sidecar)

        async with place.gate(sidecar, before_redeem=die) as gate:
            wanted = proposal("execute_command", APPEND)
            verdict = await gate.propose(wanted)
            assert verdict.decision is Decision.ALLOW
            with pytest.raises(GateError):
                await gate.run(wanted, verdict)
            # a new Shield takes the socket: this session never talks to it
            with place.start():
                with pytest.raises(GateError, match="start a new one"):
                    await gate.propose(wanted)
                with pytest.raises(GateError):
                    await gate.run(wanted, verdict)
        return verdict

    verdict = asyncio.run(main())
    assert ran(place) == 0
    code, report = place.verify()
    assert code == 0, report
    kinds = [record["kind"] for record in place.records()]
    assert "executing" not in kinds
    assert place.records()[verdict.seq]["kind"] == "decision"


def test_no_permit_survives_a_restart(place):
    async def main():
        first = place.start()
        async with place.gate(first) as gate:
            wanted = proposal("execute_command", APPEND)
            verdict = await gate.propose(wanted)
        kill(first)
        with place.start() as second:
            async with place.gate(second) as gate:
                # the old permit, offered below agentctl's own checks by the agent that holds it
                gate.session = type(gate.session)(
                    **{name: getattr(gate.session, name) for name in gate.session.__slots__}
                )
                with pytest.raises((GateError, ShieldError)):
                    await gate.run(wanted, verdict)

    asyncio.run(main())
    assert ran(place) == 0
    assert place.verify()[0] == 0


def test_killed_between_redeem_and_outcome(place):
    async def main():
        sidecar = place.start()
        async with place.gate(sidecar) as gate:
            wanted = proposal("execute_command", APPEND)
            verdict = await gate.propose(wanted)
            Between(gate, before_outcome=lambda: kill(sidecar))
            with pytest.raises(GateError, match="did not take its outcome"):
                await gate.run(wanted, verdict)
            with place.start(), pytest.raises(GateError):
                await gate.run(wanted, verdict)

    asyncio.run(main())
    assert ran(place) == 1
    code, report = place.verify()
    assert code == 0, report
    kinds = [record["kind"] for record in place.records()]
    assert kinds.count("executing") == 1
    assert "outcome" not in kinds
    assert any("no `outcome`" in note for note in report["notes"])


@pytest.mark.parametrize("after", [1, 7, 40][: max(1, scale("kill_rounds"))])
def test_killed_under_load_every_allow_that_was_seen_is_in_the_log(place, after):
    place.configure("[service]\nrate = 100000\n")
    sidecar = place.start()
    seen, enough = [], threading.Event()

    def work(number: int) -> None:
        with Client(sidecar.endpoint, sidecar.token) as client:
            try:
                session = client.open_session([str(place.workspace)], isolation=Isolation.NONE, label=None)
                for index in range(200):
                    request = {"id": f"{number}-{index}", "type": "read_file", "payload": {"path": "README.md"}}
                    verdict = client.evaluate(request | {"session": session.id})
                    seen.append(verdict)
                    if len(seen) >= after:
                        enough.set()
            except ClientError:
                enough.set()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    kill(sidecar)
    for thread in threads:
        thread.join(60)
    with place.start():
        pass
    code, report = place.verify()
    assert code == 0, report
    records = place.records()
    assert len(seen) >= after
    for verdict in seen:
        assert verdict.decision is Decision.ALLOW
        body = records[verdict.seq]["body"]
        assert (body["id"], body["decision"]) == (verdict.id, "ALLOW")
