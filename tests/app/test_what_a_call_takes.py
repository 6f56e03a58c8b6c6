"""What one call takes of the interpreter, so that nobody adds to it unawares.

A bound that is passed is no defect in itself: look at what came, and raise it if it is worth that. On a quiet machine a
whole answer took 518 functions, 2 tasks and 1 timer; on a busy one each settlement goes alone, which adds some 60. A
chunk took 16 functions where it comes alone; of many that come together, each takes about half of that.
"""

import asyncio
from itertools import count

import pytest

from proofs.rig.measuring.measured_orders import NUMBER, Order, streamed, whole
from tests.app.counted_calls import PATH, CountingLoop, Counts, counted, in_a_gateway, posted
from tests.conftest import Stores
from tollkeeper.server.application import Application

# What else goes on in the process is in some rounds, and not in the best.
ROUNDS = 8
CALLS = 5
WARM_UP_CALLS = 10
CHUNKS = 100


def counts_of(stores: Stores, order: Order) -> dict[str, float]:
    """Of one call, in the best round for each."""
    loop, rounds = CountingLoop(), list[dict[str, float]]()

    async def act(application: Application, key: str) -> None:
        numbers = count()

        async def call() -> None:
            body = order.body.replace(NUMBER, f"{next(numbers):016d}").encode()
            status, _ = await posted(application, PATH, key, body)
            assert status == 200

        for _ in range(WARM_UP_CALLS):
            await call()
        for _ in range(ROUNDS):
            rounds.append(of_one(await counted(loop, CALLS, call)))

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(in_a_gateway(stores, act))
    return {name: min(each[name] for each in rounds) for name in rounds[0]}


def of_one(counts: Counts) -> dict[str, float]:
    asked = {"tasks": counts.tasks, "timers": counts.timers, "futures": counts.futures, "callbacks": counts.callbacks}
    return {name: number / CALLS for name, number in (asked | {"functions": counts.functions.total()}).items()}


@pytest.mark.not_quick
def test_a_whole_answer(stores: Stores) -> None:
    found = counts_of(stores, whole())
    print(found)
    assert found["functions"] <= 620, found
    assert found["tasks"] <= 4, found
    assert found["timers"] <= 4, found
    assert found["futures"] <= 11, found
    assert found["callbacks"] <= 20, found


@pytest.mark.not_quick
def test_a_chunk_of_a_stream(stores: Stores) -> None:
    """Of one that comes alone, beyond what a stream without any takes."""
    few, many = (counts_of(stores, streamed(chunks, chunk_ms=1)) for chunks in (1, 1 + CHUNKS))
    beyond = {name: round((many[name] - few[name]) / CHUNKS, 2) for name in many}
    print(beyond)
    assert beyond["functions"] <= 19, beyond
    assert beyond["tasks"] <= 0.2, beyond
    assert beyond["timers"] <= 0.2, beyond
    assert beyond["futures"] <= 0.5, beyond
