"""Ending calls from outside: once, wherever they stand, and without harm to those that ended by themselves."""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest

from tests.relay.house import Request
from tollkeeper.core.errors import NodeStopping, TimeLimitReached
from tollkeeper.core.money.charge import Ending
from tollkeeper.edge.http.exchange import Exchange
from tollkeeper.relay.call import Call, ClientLeft, Running


def a_call() -> Call:
    return Call(Request(uuid4()))


async def wait_for_ever(call: Call, meanwhile: Callable[[], None], *, after_seconds: float | None = None) -> None:
    async with call.endable(after_seconds=after_seconds):
        asyncio.get_running_loop().call_soon(meanwhile)
        await asyncio.Event().wait()


async def test_a_call_that_waits_leaves_with_the_reason_it_was_ended_for() -> None:
    call = a_call()
    with pytest.raises(ClientLeft):
        await wait_for_ever(call, lambda: call.end(ClientLeft(), Ending.CLIENT_LEFT))
    assert call.ended_as is Ending.CLIENT_LEFT
    await asyncio.sleep(0)  # No cancellation is left behind.


async def test_the_first_reason_counts() -> None:
    call = a_call()

    def end_twice() -> None:
        call.end(ClientLeft(), Ending.CLIENT_LEFT)
        call.end(NodeStopping(), Ending.NODE_STOPPED)

    with pytest.raises(ClientLeft):
        await wait_for_ever(call, end_twice)
    assert call.ended_as is Ending.CLIENT_LEFT


async def test_a_call_that_went_on_without_its_caller_is_told_by_that() -> None:
    call = a_call()
    with pytest.raises(TimeLimitReached):
        await wait_for_ever(call, lambda: call.goes_on(Ending.CUT), after_seconds=0.01)
    assert call.ended_as is Ending.CUT


async def test_a_call_that_is_ended_as_it_ends_has_ended_well() -> None:
    """The block is left in the same turn of the loop: the cancellation must not hit what comes after it."""
    call = a_call()
    async with call.endable(after_seconds=None):
        call.end(TimeLimitReached(), Ending.TIME_LIMIT)
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancellation_of_somebody_elses_passes_through() -> None:
    entered = asyncio.Event()

    async def work() -> None:
        async with a_call().endable(after_seconds=None):
            entered.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await entered.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_a_call_that_is_over_cannot_be_ended() -> None:
    call = a_call()
    async with call.endable(after_seconds=0.001):
        pass
    call.end(NodeStopping(), Ending.NODE_STOPPED)
    await asyncio.sleep(0.01)
    assert call.ended_as is None


async def test_calls_that_come_after_the_end_of_all_are_ended_too() -> None:
    running, call = Running(), a_call()
    running.end_all()

    async def come() -> None:
        async with call.endable(after_seconds=None, among=running):
            await asyncio.Event().wait()

    with pytest.raises(NodeStopping):
        await come()
    running.discard(call)
    async with asyncio.timeout(1):
        await running.wait_until_none()


def test_a_call_refers_to_its_request_and_carries_nothing_of_it() -> None:
    assert set(Call.__slots__) & set(Exchange.__slots__) == set()
