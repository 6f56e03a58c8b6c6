"""Requests that are done once: the first one acts, those that are sent again get its answer."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable

import msgspec

from tollkeeper.console.admin.refusals import RequestKeyReused, StillUnderWay
from tollkeeper.ports.operators import RequestBook

# How long a request waits for another one of the same key, and how often it looks.
PATIENCE_SECONDS = 10.0
LOOK_SECONDS = 0.1


def digest_of(name: str, wish: msgspec.Struct) -> bytes:
    """By which a request is known again: everything that it asks for."""
    return hashlib.sha256(name.encode() + b"\0" + msgspec.json.encode(wish)).digest()


async def answer_once(
    book: RequestBook, asker: str, key: str, digest: bytes, make: Callable[[], Awaitable[tuple[int, bytes]]]
) -> tuple[int, bytes, bool]:
    """Status, body, and whether they are those of an earlier request. Raise RequestKeyReused, StillUnderWay, and
    what the act raises: a refusal moved nothing, and whoever sends it again may be luckier."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        claim = await book.claim(asker, key, digest)
        if claim.digest != digest:
            raise RequestKeyReused
        if claim.status is not None:
            return claim.status, claim.answer, True
        if claim.is_ours:
            break
        if time.monotonic() > until:
            raise StillUnderWay
        await asyncio.sleep(LOOK_SECONDS)
    is_done = False
    try:
        status, answer = await make()
        is_done = True
    finally:
        if not is_done:
            await book.release(asker, key)
    await book.answered(asker, key, status, answer)
    return status, answer, False
