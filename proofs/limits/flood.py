"""A flood of invalid calls from one IP, over every worker of some nodes, until each of them has shut the door."""

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping

import msgspec

from proofs.limits.line import Line, Reply, get

INVALID_CALLS = 300
INVALID_STATUSES = {400, 401, 404, 405, 413}
BANNED = (403, "ip_banned")
PAUSE_SECONDS = 0.01
GIVE_UP_AFTER_SECONDS = 20.0
WRONG_KEY = "sk-a" + "wrong" * 9

Headers = Callable[[int], Mapping[str, str]]


class Flood(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    # Invalid answers before anybody was refused as banned.
    invalid_before: int
    # From the first call too many until every worker refused; None where one never did.
    seconds: float | None
    other: list[str]


def no_headers(_: int) -> Mapping[str, str]:
    return {}


async def flood(lines: Mapping[int, Line], headers: Headers = no_headers) -> Flood:
    """`headers`: what the nth call carries beside the usual."""
    numbers = itertools.count()
    heard: list[Reply] = []
    shut: dict[int, Reply] = {}

    async def pour(worker: int, line: Line) -> None:
        gives_up_at = time.monotonic() + GIVE_UP_AFTER_SECONDS
        while worker not in shut and time.monotonic() < gives_up_at:
            number = next(numbers)
            path = "/v1/models" if number % 2 else f"/v1/unknown-{number}"
            reply = await line.ask(get(path, WRONG_KEY, headers(number)))
            if is_banned(reply):
                shut[worker] = reply
            else:
                heard.append(reply)
            await asyncio.sleep(PAUSE_SECONDS)

    await asyncio.gather(*(pour(worker, line) for worker, line in lines.items()))
    invalid = sorted((reply for reply in heard if reply.status in INVALID_STATUSES), key=lambda one: one.heard_at)
    first_shut_at = min((reply.sent_at for reply in shut.values()), default=time.time())
    seconds = None
    if len(shut) == len(lines):
        crossed_at = invalid[INVALID_CALLS].heard_at if len(invalid) > INVALID_CALLS else time.time()
        seconds = round(max(0.0, max(reply.heard_at for reply in shut.values()) - crossed_at), 3)
    return Flood(
        invalid_before=sum(reply.sent_at <= first_shut_at for reply in invalid),
        seconds=seconds,
        other=[f"{reply.status} {reply.code}" for reply in heard if reply.status not in INVALID_STATUSES],
    )


def is_banned(reply: Reply) -> bool:
    return (reply.status, reply.code) == BANNED


async def seconds_until_served(lines: Mapping[int, Line], asked: bytes) -> float | None:
    """Until every worker has answered 200; None where one does not."""
    begun = time.monotonic()

    async def served(line: Line) -> bool:
        while time.monotonic() - begun < GIVE_UP_AFTER_SECONDS:
            if (await line.ask(asked)).status == 200:
                return True
            await asyncio.sleep(0.05)
        return False

    found = await asyncio.gather(*(served(line) for line in lines.values()))
    return round(time.monotonic() - begun, 3) if all(found) else None


async def statuses(lines: Mapping[int, Line], asked: bytes) -> set[str]:
    """What every worker answers now."""
    replies = await asyncio.gather(*(line.ask(asked) for line in lines.values()))
    return {f"{reply.status} {reply.code}".strip() for reply in replies}
