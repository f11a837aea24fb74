"""Signals belong to the turn in which they came: one that comes as a turn ends stops nothing that begins later."""

import asyncio
import signal

import pytest

from agentctl.errors import CancelledTurnError
from agentctl.talk import cancelling

# `raise_signal` and not `os.kill`: the signal has come, to this thread, when the call returns.


@pytest.fixture(autouse=True)
def heard():
    """As `chat` has it: between turns Ctrl-C does nothing here."""
    signals = []
    before = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    yield signals
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_the_turn_it_came_in():
    async def run():
        async with cancelling() as cancel:
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(CancelledTurnError):
                await cancel.guard(asyncio.Event().wait)

    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("inside", [True, False], ids=["as the turn ends", "between two turns"])
def test_ctrl_c_that_comes_as_a_turn_ends_does_not_stop_the_next_one(inside, heard):
    async def run():
        async with cancelling() as first:
            if inside:
                signal.raise_signal(signal.SIGINT)
        if not inside:
            signal.raise_signal(signal.SIGINT)
        assert (first.is_set, heard) == ((True, []) if inside else (False, [signal.SIGINT]))
        async with cancelling() as cancel:
            pass  # its end takes every signal that has come
        assert not cancel.is_set

    asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_that_comes_as_a_turn_ends_is_not_lost(number):
    async def run():
        with pytest.raises(asyncio.CancelledError):
            async with cancelling():
                signal.raise_signal(number)

    asyncio.run(run())
