"""Callers: each sends one call over a connection of its own, hears it to its end, or leaves when it was told to."""

import asyncio
import json
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from tools.proofs import say
from tools.proofs.fault_rig.answer import Answer, read_answer
from tools.proofs.fault_rig.ground import Customer

# No fault of the proof lasts nearly as long: whoever still waits then waits for ever.
HUNG_AFTER_SECONDS = 45.0
RESET_AT_ONCE = struct.pack("ii", 1, 0)
READ_BYTES = 65_536
CONNECTS_MOST = 120


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """When a caller hangs up: after so many bytes of the answer or so much time, whichever comes first."""

    after_bytes: int | None = None
    after_seconds: float | None = None
    by_reset: bool = False


class Order(msgspec.Struct, frozen=True, kw_only=True):
    customer: Customer
    text: str
    stream: bool
    model: str = "gpt-4o"
    host: str = "main.test"
    leaving: Leaving | None = None

    def body(self) -> bytes:
        messages = [{"role": "user", "content": self.text}]
        return json.dumps({"model": self.model, "messages": messages, "stream": self.stream}).encode()

    def request(self) -> bytes:
        body = self.body()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.customer.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call, for its caller."""

    answer: Answer
    seconds: float
    hung: bool = False
    left_at: float | None = None


async def call(port: int, order: Order) -> Heard:
    """Send the call, and read until the gateway closes the connection."""
    leaving = order.leaving or Leaving()
    begun, left_at, hung = time.monotonic(), None, False
    received = bytearray()
    reader, writer = await connect(port)
    try:
        writer.write(order.request())
        async with asyncio.timeout(leaving.after_seconds or HUNG_AFTER_SECONDS):
            while piece := await reader.read(READ_BYTES):
                received += piece
                if leaving.after_bytes is not None and len(received) >= leaving.after_bytes:
                    left_at = time.time()
                    break
    except TimeoutError:
        hung = leaving.after_seconds is None
        left_at = None if hung else time.time()
    except ConnectionError:
        # A call that is broken off is judged by what came of it.
        pass
    finally:
        hang_up(writer, by_reset=leaving.by_reset)
    answer = read_answer(bytes(received))
    return Heard(answer=answer, seconds=time.monotonic() - begun, hung=hung, left_at=left_at)


async def connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """However busy the machine is: a call that cannot be sent shows nothing."""
    for _ in range(CONNECTS_MOST - 1):
        with suppress(OSError):
            return await asyncio.open_connection("127.0.0.1", port)
        await asyncio.sleep(0.5)
    return await asyncio.open_connection("127.0.0.1", port)


def hang_up(writer: asyncio.StreamWriter, *, by_reset: bool) -> None:
    if by_reset:
        with suppress(OSError):
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
    writer.transport.abort()


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
