"""Memory of streams: it grows neither with an answer's length, nor much with how many are open at once."""

import asyncio
import itertools

import uvloop

from tools.proofs import say
from tools.proofs.speed_rig.caller import Caller, request
from tools.proofs.speed_rig.orders import Order, streamed
from tools.proofs.speed_rig.processes import own_bytes
from tools.proofs.speed_rig.stage import Stage
from tools.services.process import wait_until_async

LONG_STREAMS = 4
LONG_CHUNKS = 50_000
# What a stream takes from its beginning on is not growth.
EARLY_CHUNKS = 2_000
OPEN_STREAMS = 1_000
PROMPT_BYTES = 4_096
# Long enough that all are open before the first ends, also where opening them takes a while.
SLOW_CHUNKS, SLOW_CHUNK_MS = 40, 500
CONNECTS_AT_ONCE = 50
STREAMS_IN_ALL = OPEN_STREAMS + LONG_STREAMS


def chunks_kb(stage: Stage) -> float:
    """By how much the gateway grows while a long stream passes. What grows with a stream grows with each of them; what
    is still settling in the process does not: so the least of several."""
    order = streamed(LONG_CHUNKS)

    async def grown() -> float:
        caller = await Caller.connected(stage.full.port)
        stream = asyncio.create_task(asked(caller, stage.keys[0], order))

        async def has_begun() -> bool:
            return caller.events >= EARLY_CHUNKS

        await wait_until_async(has_begun)
        before = own_bytes(stage.full.pid)
        await stream
        caller.close()
        return (own_bytes(stage.full.pid) - before) / 1_024

    return min(uvloop.run(grown()) for _ in range(LONG_STREAMS))


def stream_kb(stage: Stage) -> float:
    """What each of many open streams takes."""
    order = streamed(SLOW_CHUNKS, chunk_ms=SLOW_CHUNK_MS, prompt_bytes=PROMPT_BYTES)

    async def each() -> float:
        before = own_bytes(stage.full.pid)
        callers, streams = [], []
        for number, key in zip(range(OPEN_STREAMS), itertools.cycle(stage.keys), strict=False):
            callers.append(await Caller.connected(stage.full.port))
            streams.append(asyncio.create_task(asked(callers[-1], key, order)))
            if number % CONNECTS_AT_ONCE == 0:
                await asyncio.sleep(0.05)

        async def all_speak() -> bool:
            return all(caller.events for caller in callers)

        await wait_until_async(all_speak)
        during = own_bytes(stage.full.pid)
        assert not any(stream.done() for stream in streams), "a stream ended before all were open"
        say(f"{sum(caller.events > 0 for caller in callers)} streams open at once")
        await asyncio.gather(*streams)
        for caller in callers:
            caller.close()
        return (during - before) / 1_024 / OPEN_STREAMS

    return uvloop.run(each())


async def asked(caller: Caller, key: str, order: Order) -> None:
    """One stream from its beginning to its end."""
    await caller.ask(request(key, order.body.encode()))
    assert caller.events == order.events, f"{caller.events} events came, not {order.events}"
