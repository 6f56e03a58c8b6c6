"""Evidence: for each call, what its caller heard, what the provider's truth says was made, and what was charged."""

import asyncio
import contextlib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import asyncpg
import msgspec

from tools.proofs.attack_rig.ground import Ground
from tools.proofs.attack_rig.search import Tried
from tools.proofs.ledger_rig.ground import connect
from tools.services.process import wait_until

MOVED_WITHIN_SECONDS = 15.0
TOLD_WITHIN_SECONDS = 10.0
# What a provider sends so soon after a caller has left was made for that caller.
AFTERWARDS_SECONDS = 0.5
QUOTA_PER_INPUT_TOKEN = 1_250_000
QUOTA_PER_OUTPUT_TOKEN = 4 * QUOTA_PER_INPUT_TOKEN

RECEIPTS = """
select request_id::text, key_id, input_tokens, output_tokens, usage_source, ending, charged
from usage where key_id = any($1)
"""
ENTERED = """
select cause::text as request_id, sum(amount)::bigint as charged
from entry where kind in ('charged', 'overrun', 'debt') group by cause
"""
SETTLED = "select count(*) from usage where key_id = any($1)"
UNDER_WAY = "select count(*) from hold where closed_at is null"


class Truth(msgspec.Struct, frozen=True):
    """One line of the simulator's truth file."""

    request_id: str
    output_tokens: int
    ending: str
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
    input_tokens: int
    output_tokens: int
    usage_source: str
    ending: str
    charged: int


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of one call."""

    tried: Tried
    receipts: Sequence[Receipt]
    truths: Sequence[Truth]
    entered: int

    @property
    def made(self) -> int:
        """What was made for this caller, by whichever accounts were asked."""
        left_at = self.tried.heard.left_at
        return sum(truth.made_by(None if left_at is None else left_at + AFTERWARDS_SECONDS) for truth in self.truths)

    @property
    def made_in_all(self) -> int:
        return sum(truth.output_tokens for truth in self.truths)

    @property
    def reported(self) -> int | None:
        """What the provider said of it, where it came to the end of its answer and said it."""
        last = self.truths[-1] if self.truths else None
        if last is None or last.ending != "finished":
            return None
        return self.tried.tried.way.answer.reported(last.output_tokens)

    @property
    def charged_quota(self) -> int:
        """For the output alone."""
        return self.entered - sum(receipt.input_tokens for receipt in self.receipts) * QUOTA_PER_INPUT_TOKEN

    @property
    def charged_tokens(self) -> int:
        return self.charged_quota // QUOTA_PER_OUTPUT_TOKEN


def gather(ground: Ground, tried: Sequence[Tried]) -> list[Evidence]:
    """Wait until no call is under way any more, and lay side by side what everybody says."""
    receipts, entered = asyncio.run(_books(ground.settings, [one.tried.customer.key_id for one in tried]))
    booked = {receipt.request_id for own in receipts.values() for receipt in own if receipt.ending != "refused"}
    with contextlib.suppress(TimeoutError):
        wait_until(
            lambda: {line["request_id"] for line in ground.simulator.truth()} >= booked,
            within_seconds=TOLD_WITHIN_SECONDS,
        )
    truths = defaultdict(list)
    for line in msgspec.convert(ground.simulator.truth(), list[Truth]):
        truths[line.request_id].append(line)
    return [
        Evidence(
            tried=one,
            receipts=(own := receipts[one.tried.customer.key_id]),
            truths=[line for receipt in own for line in truths[receipt.request_id]],
            entered=sum(entered.get(receipt.request_id, 0) for receipt in own),
        )
        for one in tried
    ]


async def _books(
    settings: Mapping[str, str], key_ids: Sequence[int]
) -> tuple[Mapping[int, list[Receipt]], Mapping[str, int]]:
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        await _wait_until_settled(connection, key_ids)
        receipts = defaultdict(list)
        for row in await connection.fetch(RECEIPTS, key_ids):
            receipts[row["key_id"]].append(Receipt(*row))
        return receipts, {row["request_id"]: row["charged"] for row in await connection.fetch(ENTERED)}
    finally:
        await connection.close()


async def _wait_until_settled(connection: asyncpg.Connection, key_ids: Sequence[int]) -> None:
    """Until nothing is under way and nothing moves any more. What is missing then is judged, call by call."""
    count, moved_at = -1, time.monotonic()
    while time.monotonic() - moved_at < MOVED_WITHIN_SECONDS:
        before, count = count, await connection.fetchval(SETTLED, key_ids)
        if count > before:
            moved_at = time.monotonic()
        elif not await connection.fetchval(UNDER_WAY):
            return
        await asyncio.sleep(0.5)
