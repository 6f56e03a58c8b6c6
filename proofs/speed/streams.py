"""Many streams and long ones: what they take of memory, and whether their chunks come in time."""

import asyncio
import itertools

import msgspec
import uvloop

from proofs.rig.measuring.light_caller import Caller, head
from proofs.rig.measuring.measured_orders import Order, streamed
from proofs.rig.measuring.processes import own_bytes
from proofs.rig.patience import wait_until_async
from proofs.rig.proof import say
from proofs.speed.contestants import Stage

LONG_CHUNKS = 50_000
# What a stream takes from its beginning on is not growth.
EARLY_CHUNKS = 2_000
PROMPT_BYTES = 4_096
CONNECTS_AT_ONCE = 50


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """Streams that are open at once and say little. All must be open before the first ends, and for a while longer."""

    streams: int
    chunks: int
    chunk_ms: int
    # While all are open, how long their chunks are timed.
    watched_seconds: float


class Open(msgspec.Struct, frozen=True):
    """What each of many open streams takes, and how long the latest chunk of all was under way."""

    stream_kb: float
    late_ms: float


def chunks_kb(stage: Stage, streams: int) -> float:
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

    return min(uvloop.run(grown()) for _ in range(streams))


def open_at_once(stage: Stage, crowd: Crowd) -> Open:
    return uvloop.run(_open_at_once(stage, crowd))


async def _open_at_once(stage: Stage, crowd: Crowd) -> Open:
    order = streamed(crowd.chunks, chunk_ms=crowd.chunk_ms, prompt_bytes=PROMPT_BYTES)
    before, late_ns = own_bytes(stage.full.pid), list[int]()
    callers, streams = [], []
    for number, key in zip(range(crowd.streams), itertools.cycle(stage.keys), strict=False):
        callers.append(await Caller.connected(stage.full.port, late_ns))
        streams.append(asyncio.create_task(asked(callers[-1], key, order)))
        if number % CONNECTS_AT_ONCE == 0:
            await asyncio.sleep(0.05)

    async def all_speak() -> bool:
        return all(caller.events for caller in callers)

    await wait_until_async(all_speak)
    late_ns.clear()
    await asyncio.sleep(crowd.watched_seconds)
    watched_ns, during = sorted(late_ns), own_bytes(stage.full.pid)
    assert not any(stream.done() for stream in streams), "a stream ended before all were open and timed"
    say(f"{len(callers)} streams open at once, {len(watched_ns)} chunks timed")
    await asyncio.gather(*streams)
    for caller in callers:
        caller.close()
    return Open((during - before) / 1_024 / crowd.streams, watched_ns[-1] / 1e6)


async def asked(caller: Caller, key: str, order: Order) -> None:
    """One stream from its beginning to its end."""
    body = order.body.encode()
    await caller.ask(head(key, body) + body)
    assert caller.events == order.events, f"{caller.events} events came, not {order.events}"
