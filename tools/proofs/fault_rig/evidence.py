"""Evidence: for each call, what its caller heard, what the simulator knows, and what the books say."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set

import asyncpg
import msgspec

from tools.proofs.fault_rig.caller import Heard, Order
from tools.proofs.ledger_rig.ground import connect
from tools.services.process import wait_until
from tools.simulator import Simulator

# Longer than any call goes on without its caller.
MOVED_WITHIN_SECONDS = 10.0
TOLD_WITHIN_SECONDS = 2.0

RECEIPTS = """
select request_id::text, key_id, input_tokens, output_tokens, usage_source, ending, charged,
    jsonb_array_length(attempts) as attempts
from usage where key_id = any($1)
"""
# What was really taken from lots, or is owed, for each call.
ENTERED = """
select cause::text as request_id, sum(amount)::bigint as charged
from entry where kind in ('charged', 'overrun', 'debt') group by cause
"""
SETTLED = "select count(*) from usage where key_id = any($1)"
UNDER_WAY = "select count(*) from hold where closed_at is null"


class Truth(msgspec.Struct, frozen=True):
    """One line of the simulator's truth file."""

    request_id: str
    input_tokens: int
    output_tokens: int
    ending: str
    closed_at: float


class Receipt(msgspec.Struct, frozen=True):
    """One row of the usage log."""

    request_id: str
    key_id: int
    input_tokens: int
    output_tokens: int
    usage_source: str
    ending: str
    charged: int
    # How often it was sent to a provider, or was about to be.
    attempts: int


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of one call. Each list should have one item."""

    order: Order
    heard: Heard
    receipts: Sequence[Receipt]
    truths: Sequence[Truth]
    entered: int


def gather(
    settings: Mapping[str, str], simulator: Simulator, orders: Sequence[Order], heard: Sequence[Heard]
) -> list[Evidence]:
    """Wait until no call is under way any more, and lay side by side what everybody says."""
    receipts, entered = asyncio.run(_books(settings, [order.customer.key_id for order in orders]))
    truths = _truths(simulator, {receipt.request_id for own in receipts.values() for receipt in own})
    return [
        Evidence(
            order=order,
            heard=one,
            receipts=(own := receipts[order.customer.key_id]),
            # Where one account after another failed, the last is the one whose answer the caller was given.
            truths=[line for receipt in own for line in truths[receipt.request_id][-1:]],
            entered=sum(entered.get(receipt.request_id, 0) for receipt in own),
        )
        for order, one in zip(orders, heard, strict=True)
    ]


def _truths(simulator: Simulator, request_ids: Set[str]) -> Mapping[str, list[Truth]]:
    # What the simulator never heard of is judged, call by call.
    with contextlib.suppress(TimeoutError):
        wait_until(
            lambda: {line["request_id"] for line in simulator.truth()} >= request_ids,
            within_seconds=TOLD_WITHIN_SECONDS,
        )
    truths = defaultdict(list)
    for line in msgspec.convert(simulator.truth(), list[Truth]):
        truths[line.request_id].append(line)
    return truths


def unbooked(settings: Mapping[str, str], simulator: Simulator) -> int:
    """How many calls reached the simulator and are in no receipt."""

    async def booked() -> set[str]:
        connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
        try:
            return {row["id"] for row in await connection.fetch("select request_id::text as id from usage")}
        finally:
            await connection.close()

    return len({line["request_id"] for line in simulator.truth()} - asyncio.run(booked()))


async def _books(
    settings: Mapping[str, str], key_ids: Sequence[int]
) -> tuple[Mapping[int, list[Receipt]], Mapping[str, int]]:
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        await _wait_until_settled(connection, key_ids)
        receipts = defaultdict(list)
        for row in await connection.fetch(RECEIPTS, key_ids):
            receipts[row["key_id"]].append(Receipt(*row))
        entered = {row["request_id"]: row["charged"] for row in await connection.fetch(ENTERED)}
    finally:
        await connection.close()
    return receipts, entered


async def _wait_until_settled(connection: asyncpg.Connection, key_ids: Sequence[int]) -> None:
    """Until every call has its receipt, or nothing moves any more. What is missing then is judged, call by call."""
    count, moved_at = -1, time.monotonic()
    while time.monotonic() - moved_at < MOVED_WITHIN_SECONDS:
        before, count = count, await connection.fetchval(SETTLED, key_ids)
        under_way = await connection.fetchval(UNDER_WAY)
        if count >= len(key_ids) and not under_way:
            return
        if count > before:
            moved_at = time.monotonic()
        await asyncio.sleep(0.1)
