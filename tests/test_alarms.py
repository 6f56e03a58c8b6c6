"""Each alarm rings at its time, unless it was cancelled; and those that are over are cleared away."""

import asyncio
import threading
from functools import partial

from tests.relay.virtual_time import in_virtual_time
from tollkeeper.steady import Alarm, Alarms, later


@in_virtual_time
async def test_each_rings_at_its_time() -> None:
    loop, rung = asyncio.get_running_loop(), list[tuple[str, float]]()
    begun = loop.time()
    for name, seconds in (("late", 60.0), ("soon", 0.25), ("at once", 0.0), ("before now", -1.0), ("between", 30.0)):
        later(seconds, lambda name=name: rung.append((name, loop.time() - begun)))  # type: ignore[misc]
    await asyncio.sleep(61)
    assert [name for name, _ in rung] == ["before now", "at once", "soon", "between", "late"]
    assert [round(at, 6) for _, at in rung] == [0, 0, 0.25, 30, 60]


@in_virtual_time
async def test_one_that_is_cancelled_does_not_ring() -> None:
    rung = list[str]()
    alarm = later(1, partial(rung.append, "cancelled"))
    later(2, partial(rung.append, "rings"))
    alarm.cancel()
    alarm.cancel()
    await asyncio.sleep(3)
    assert rung == ["rings"]


@in_virtual_time
async def test_one_may_cancel_another_that_rings_in_the_same_moment() -> None:
    """A call that comes to its end in the moment of its cut is not cut."""
    rung = list[str]()
    others = list[Alarm]()

    def first() -> None:
        rung.append("first")
        others[0].cancel()

    later(1, first)
    others.append(later(1, partial(rung.append, "second")))
    await asyncio.sleep(2)
    assert rung == ["first"]


@in_virtual_time
async def test_one_that_fails_does_not_keep_the_others() -> None:
    rung, told = list[str](), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
    later(1, partial(rung.remove, "what is not there"))
    later(1, partial(rung.append, "rings"))
    await asyncio.sleep(2)
    assert rung == ["rings"]
    assert [type(problem) for problem in told] == [ValueError]


async def test_those_that_are_over_are_cleared_away() -> None:
    """A busy process sets a thousand alarms a second, of minutes, and cancels nearly all."""
    alarms = Alarms(asyncio.get_running_loop())
    kept = alarms.set(600, lambda: None)
    for _ in range(20 * Alarms.OVER_MOST):
        alarms.set(600, lambda: None).cancel()
    assert alarms.awaited == 1
    assert len(alarms._set) <= Alarms.OVER_MOST + 3
    kept.cancel()


async def test_loops_of_several_threads_have_their_own() -> None:
    rung = list[str]()

    async def wait_for_it(name: str) -> None:
        done = asyncio.Event()
        later(0.01, done.set)
        await asyncio.wait_for(done.wait(), 10)
        rung.append(name)

    thread = threading.Thread(target=asyncio.run, args=(wait_for_it("there"),))
    thread.start()
    await wait_for_it("here")
    await asyncio.to_thread(thread.join)
    assert sorted(rung) == ["here", "there"]
