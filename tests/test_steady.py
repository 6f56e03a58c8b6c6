"""Time limits of what every call goes through: as `asyncio.timeout` keeps them."""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from tollkeeper.core.errors import ForOperators, StoreUnavailable
from tollkeeper.steady import RepeatedStep, Timeout, in_a_thread_of_its_own

Limit = Callable[[float], AbstractAsyncContextManager[object]]
LIMITS: tuple[Limit, ...] = (Timeout, asyncio.timeout)
NAMES = ("ours", "theirs")


async def for_ever() -> None:
    await asyncio.Event().wait()


def cancellations() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


@pytest.mark.parametrize("limit", LIMITS, ids=NAMES)
@pytest.mark.parametrize("seconds", [0.01, 0.0, -1.0])
async def test_who_takes_too_long_is_told(limit: Limit, seconds: float) -> None:
    with pytest.raises(TimeoutError):
        async with limit(seconds):
            await for_ever()
    assert cancellations() == 0


@pytest.mark.parametrize("limit", LIMITS, ids=NAMES)
async def test_who_is_in_time_hears_nothing(limit: Limit) -> None:
    async with limit(0.01):
        pass
    await asyncio.sleep(0.03)


async def test_more_time_may_be_given_when_it_is_over() -> None:
    given = [0.01, 0.01, 0.0]
    with pytest.raises(TimeoutError):
        async with Timeout(0.01, lambda: given.pop(0)):
            await for_ever()
    assert not given
    assert cancellations() == 0


@pytest.mark.parametrize("limit", LIMITS, ids=NAMES)
async def test_what_is_raised_within_passes(limit: Limit) -> None:
    with pytest.raises(LookupError):
        async with limit(1):
            raise LookupError


@pytest.mark.parametrize("limit", LIMITS, ids=NAMES)
async def test_of_two_limits_the_shorter_one_is_told(limit: Limit) -> None:
    async with limit(60):
        with pytest.raises(TimeoutError):
            async with limit(0.01):
                await for_ever()
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with limit(0.01), limit(60):
            await for_ever()
    assert cancellations() == 0


@pytest.mark.parametrize("limit", LIMITS, ids=NAMES)
async def test_somebody_elses_wish_to_end_the_task_counts_more(limit: Limit) -> None:
    async def work(seconds: float, cancel: Callable[[asyncio.Task[object]], object]) -> None:
        task = asyncio.current_task()
        assert task is not None
        async with limit(seconds):
            cancel(task)
            await for_ever()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(work(60, lambda task: task.cancel()))
    # In the very turn in which the time is over, too.
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(work(-1, lambda task: asyncio.get_running_loop().call_soon(task.cancel)))


@pytest.mark.parametrize("limit", LIMITS, ids=NAMES)
async def test_a_task_that_was_cancelled_before_can_still_be_timed(limit: Limit) -> None:
    async def work() -> str:
        try:
            await for_ever()
        except asyncio.CancelledError:
            with pytest.raises(TimeoutError):
                async with limit(0.01):
                    await for_ever()
            return "cleaned up"
        return "never"

    working = asyncio.create_task(work())
    await asyncio.sleep(0)
    working.cancel()
    assert await working == "cleaned up"


async def test_a_thread_of_its_own_makes_something_or_fails() -> None:
    assert await in_a_thread_of_its_own(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await in_a_thread_of_its_own(lambda: 1 // 0)


async def test_a_thread_that_nobody_waits_for_any_more_disturbs_nobody() -> None:
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait()
        done.set()

    waiting = in_a_thread_of_its_own(work)
    waiting.cancel()
    go_on.set()
    await asyncio.to_thread(done.wait)
    await asyncio.sleep(0.01)
    assert waiting.cancelled()


async def test_a_step_that_fails_again_and_again_says_so_once_and_when_it_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    step, outcomes = RepeatedStep("the step"), [StoreUnavailable()] * 3 + [ForOperators("no room")] * 2 + [None] * 2

    async def turn() -> None:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome

    with caplog.at_level(logging.INFO):
        assert [await step.run(turn) for _ in range(7)] == [False] * 5 + [True] * 2
    assert caplog.messages == [
        "the step waits: a store is out of reach",
        "the step failed: no room",
        "the step goes on",
    ]
