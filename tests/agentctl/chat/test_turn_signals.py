"""Signals belong to the turn in which they came: one that comes as a turn ends stops nothing that begins later."""

import asyncio
import os
import signal

import pytest

from agentctl.talk import cancelling


@pytest.fixture(autouse=True)
def heard():
    """As `chat` has it: between turns Ctrl-C does nothing here."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_the_turn_it_came_in():
    async def run():
        async with cancelling() as cancel:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(5):
                await asyncio.sleep(0)
            assert cancel.is_set

    asyncio.run(run())


@pytest.mark.parametrize("inside", [True, False], ids=["as the turn ends", "between two turns"])
def test_ctrl_c_that_comes_as_a_turn_ends_does_not_stop_the_next_one(inside):
    async def run():
        async with cancelling():
            await asyncio.sleep(0)
            if inside:
                os.kill(os.getpid(), signal.SIGINT)
        if not inside:
            os.kill(os.getpid(), signal.SIGINT)
        async with cancelling() as cancel:
            for _ in range(5):
                await asyncio.sleep(0)
            assert not cancel.is_set

    asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_that_comes_as_a_turn_ends_is_not_lost(number):
    async def run():
        with pytest.raises(asyncio.CancelledError):
            async with cancelling():
                os.kill(os.getpid(), number)

    asyncio.run(run())
