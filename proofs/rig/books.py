"""The books and the provider's truth about the same calls, read once nothing is under way any more."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set

import asyncpg
import msgspec

from proofs.rig.database import connect
from proofs.rig.patience import came_true, patience
from tools.simulator import Simulator

# Longer than any call goes on without its caller.
MOVED_WITHIN_SECONDS = 10.0
LOOK_EVERY_SECONDS = 0.25

RECEIPTS = """
select request_id::text, key_id, input_units, output_units, usage_source, ending, charged,
    jsonb_array_length(attempts) as attempts, held
from usage where key_id = any($1)
"""
# What was really taken from lots, or is owed, for each call; of all calls where none are named.
ENTERED = """
select cause::text as request_id, sum(amount)::bigint as charged
from entry where kind in ('charged', 'overrun', 'debt') and ($1::text[] is null or cause::text = any($1)) group by cause
"""
SETTLED = "select count(*) from usage where key_id = any($1)"
UNDER_WAY = "select count(*) from hold where closed_at is null"


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the simulator's truth file."""

    request_id: str
    input_tokens: int
    output_tokens: int
    # Of these, thoughts, shown or not.
    thinking_tokens: int = 0
    ending: str
    closed_at: float
    # Where the order asked for it: when so many tokens were out, by the monotonic clock.
    made_at: list[tuple[float, int]] = []

    def made_by(self, moment: float | None) -> int:
        """Tokens that were out by then; all of them where nobody left."""
        if moment is None:
            return self.output_tokens
        return max((tokens for at, tokens in self.made_at if at <= moment), default=0)


class Receipt(msgspec.Struct, frozen=True):
    """One row of the usage log."""

    request_id: str
    key_id: int
    input_units: int
    output_units: int
    usage_source: str
    ending: str
    charged: int
    # How often it was sent to a provider, or was about to be.
    attempts: int
    held: int = 0


class Books(msgspec.Struct, frozen=True, kw_only=True):
    receipts: Mapping[int, Sequence[Receipt]]
    entered: Mapping[str, int]

    def of(self, key_id: int) -> Sequence[Receipt]:
        return self.receipts.get(key_id, ())

    def of_answer(self, key_id: int, request_id: str) -> "Books":
        """The same books with nothing in them but this call."""
        own = [receipt for receipt in self.of(key_id) if receipt.request_id == request_id]
        return Books(receipts={key_id: own}, entered=self.entered)

    def entered_for(self, receipts: Sequence[Receipt]) -> int:
        return sum(self.entered.get(receipt.request_id, 0) for receipt in receipts)


def settled_books(settings: Mapping[str, str], key_ids: Sequence[int], *, expected: int = 0) -> Books:
    """Of the calls by these keys. `expected`: so many of them must have a receipt, if they get one at all."""
    return asyncio.run(_settled_books(settings, key_ids, expected))


def truths_of(simulator: Simulator, request_ids: Set[str], *, within_seconds: float) -> Mapping[str, list[Truth]]:
    """Each call's lines, in the order in which they ended. What the simulator never heard of is judged by the proof."""
    came_true(lambda: {line["request_id"] for line in simulator.truth()} >= request_ids, within_seconds=within_seconds)
    truths: defaultdict[str, list[Truth]] = defaultdict(list)
    for line in msgspec.convert(simulator.truth(), list[Truth]):
        truths[line.request_id].append(line)
    return truths


async def entered(connection: asyncpg.Connection, request_ids: Set[str] | None = None) -> dict[str, int]:
    return {row["request_id"]: row["charged"] for row in await connection.fetch(ENTERED, request_ids)}


async def _settled_books(settings: Mapping[str, str], key_ids: Sequence[int], expected: int) -> Books:
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        await _wait_until_settled(connection, key_ids, expected)
        receipts = defaultdict(list)
        for row in await connection.fetch(RECEIPTS, key_ids):
            receipts[row["key_id"]].append(Receipt(*row))
        return Books(receipts=receipts, entered=await entered(connection))
    finally:
        await connection.close()


async def _wait_until_settled(connection: asyncpg.Connection, key_ids: Sequence[int], expected: int) -> None:
    """Until nothing is under way and all that is expected is there, or nothing moves any more."""
    count, moved_at = -1, time.monotonic()
    while time.monotonic() - moved_at < patience(MOVED_WITHIN_SECONDS):
        before, count = count, await connection.fetchval(SETTLED, key_ids)
        if count > before:
            moved_at = time.monotonic()
        elif count >= expected and not await connection.fetchval(UNDER_WAY):
            return
        await asyncio.sleep(LOOK_EVERY_SECONDS)
