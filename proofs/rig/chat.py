"""Chat calls: each order over a connection of its own, and what its caller heard, read from the bytes that came."""

import asyncio
import json
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from proofs.rig.answer import Answer, read_answer
from proofs.rig.customers import Customer
from proofs.rig.proof import say
from proofs.rig.raw_calls import (
    CONNECTS_MOST,
    LONGEST_SECONDS,
    STAYING,
    ByTls,
    Leaving,
    LeftAt,
    chat_request,
    exchange,
)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    customer: Customer
    text: str
    stream: bool
    model: str = "gpt-4o"
    host: str = "main.test"
    leaving: Leaving = STAYING
    max_tokens: int | None = None

    def body(self) -> bytes:
        messages = [{"role": "user", "content": self.text}]
        cap = {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        return json.dumps({"model": self.model, "messages": messages, "stream": self.stream} | cap).encode()

    def request(self) -> bytes:
        return chat_request(self.customer.key, self.body(), host=self.host)


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call, for its caller."""

    answer: Answer
    seconds: float
    hung: bool = False
    left_at: LeftAt | None = None


async def call(
    port: int,
    order: Order,
    tls: ssl.SSLContext | None = None,
    *,
    connects: int = CONNECTS_MOST,
    longest_seconds: float = LONGEST_SECONDS,
) -> Heard:
    secured = None if tls is None else ByTls(tls, order.host)
    received = await exchange(
        port, order.request(), order.leaving, tls=secured, connects=connects, longest_seconds=longest_seconds
    )
    return Heard(
        answer=read_answer(received.raw), seconds=received.seconds, hung=received.hung, left_at=received.left_at
    )


async def place(port: int, orders: Sequence[Order], *, at_once: int, per_second: float) -> list[Heard]:
    """Place the orders at an even pace, no more than `at_once` under way; what their callers heard, in order."""
    free = asyncio.Semaphore(at_once)
    begun = time.monotonic()
    ended = 0

    async def one(order: Order) -> Heard:
        nonlocal ended
        try:
            return await call(port, order)
        finally:
            free.release()
            ended += 1

    async def tell() -> None:
        while True:
            await asyncio.sleep(5)
            say(f"{ended:,} of {len(orders):,} calls ended")

    telling = asyncio.create_task(tell())
    placed = []
    for number, order in enumerate(orders):
        await asyncio.sleep(max(0.0, begun + number / per_second - time.monotonic()))
        await free.acquire()
        placed.append(asyncio.create_task(one(order)))
    heard = await asyncio.gather(*placed)
    telling.cancel()
    with suppress(asyncio.CancelledError):
        await telling
    return heard
