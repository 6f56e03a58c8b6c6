"""Work on large bodies leaves the event loop to others."""

import asyncio
import contextvars
import threading
import time

import pytest

from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.errors import MalformedBody
from tollkeeper.core.steps import between_steps, let_pause
from tollkeeper.relay.aside import LARGE_BYTES, Aside


async def test_while_a_large_body_is_worked_on_the_loop_goes_on() -> None:
    loop_went_on = threading.Event()
    working = asyncio.create_task(Aside().run(LARGE_BYTES + 1, lambda: loop_went_on.wait(30)))
    await asyncio.sleep(0)
    loop_went_on.set()
    assert await working


async def test_large_bodies_are_worked_on_one_at_a_time() -> None:
    aside, at_once, most = Aside(), 0, 0

    def work() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        at_once -= 1

    await asyncio.gather(*(aside.run(LARGE_BYTES + 1, work) for _ in range(20)))
    idents = await asyncio.gather(*(aside.run(LARGE_BYTES + 1, threading.get_ident) for _ in range(5)))
    assert most == 1
    assert len(set(idents)) == 1


async def test_a_small_body_is_read_at_once_and_a_large_one_in_a_thread_whatever_comes_of_it() -> None:
    async def reader_of(body: bytes) -> int:
        return await Aside().read(lambda _: threading.get_ident(), body)

    assert await reader_of(b"x" * LARGE_BYTES) == threading.get_ident()
    assert await reader_of(b"x" * (LARGE_BYTES + 1)) != threading.get_ident()
    with pytest.raises(MalformedBody):
        await Aside().read(read_chat, b"x" * (LARGE_BYTES + 1))


async def test_work_that_must_be_done_is_done_before_the_end_of_its_call_is_heard() -> None:
    may_end, done = threading.Event(), []

    def work() -> None:
        done.append(may_end.wait(30))

    working = asyncio.create_task(Aside().run_to_its_end(LARGE_BYTES + 1, work))
    await asyncio.sleep(0)
    working.cancel()
    await asyncio.sleep(0)
    assert not working.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert done == [True]


STEP_SECONDS = 0.02


def a_step() -> None:
    until = time.perf_counter() + STEP_SECONDS
    while time.perf_counter() < until:
        pass


async def test_between_two_steps_as_much_time_is_the_loops_as_the_first_one_took() -> None:
    def work() -> None:
        for _ in range(3):
            a_step()
            between_steps()
        a_step()

    aside, begun = Aside(), time.perf_counter()
    await aside.run(LARGE_BYTES + 1, work)
    assert time.perf_counter() - begun >= 7 * STEP_SECONDS
    await aside.run(LARGE_BYTES + 1, a_step)
    assert time.perf_counter() - begun >= 9 * STEP_SECONDS


def test_nobody_else_pauses() -> None:
    pauses: list[None] = []
    thread = threading.Thread(target=let_pause, args=(lambda: pauses.append(None),))
    thread.start()
    thread.join()
    between_steps()
    assert not pauses


def test_a_large_order_is_read_in_steps() -> None:
    """However large one of its texts is: else a call beside it would wait for the whole of it, again and again."""
    pauses: list[None] = []
    body = b'{"model":"m","messages":[{"role":"user","content":"%b"}]}' % (b"\\" * 4 * 1024 * 1024)
    beside = contextvars.copy_context()
    beside.run(let_pause, lambda: pauses.append(None))
    beside.run(read_chat, body)
    assert len(pauses) >= 15
