"""Receipts: whether each call was charged at the price that was in force when it was admitted, to the last unit."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg

from proofs.time.clock import time_of
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Price, Rate, Usage, in_force, millionths

# A node knows the database's time to about a round trip.
CLOCKS_APART = timedelta(milliseconds=150)

SETTLED = """
select u.request_id, u.price_id, u.group_millionths, u.input_units, u.cached_units, u.output_units, u.charged,
       u.ending, u.started_at, h.created_at, p.model_id
from usage u join price p on p.id = u.price_id left join hold h on h.request_id = u.request_id
where u.settled_at >= $1
"""
PRICES = """
select id, model_id, effective_from, model_multiplier, completion_multiplier, cached_multiplier
from price where withdrawn_at is null
"""
# What is known of these is less than what they used, and no more is charged than was held.
BY_WHAT_IS_KNOWN = {Ending.OWNER_DIED}
OVERLAP = timedelta(hours=1)


class Receipts:
    def __init__(self, owner: asyncpg.Connection) -> None:
        self._owner = owner
        self._seen: set[UUID] = set()
        self._since = datetime(2000, 1, 1, tzinfo=UTC)
        self.exact = 0
        self.wrong: list[str] = []

    async def read(self) -> None:
        """Look at those that came since, before the log is cleaned of them."""
        prices = await self._prices()
        for row in await self._owner.fetch(SETTLED, self._since - OVERLAP):
            if row["request_id"] in self._seen:
                continue
            self._seen.add(row["request_id"])
            problem = _problem(row, prices)
            if problem is None:
                self.exact += 1
            else:
                self.wrong.append(f"call {row['request_id']}: {problem}")
        self._since = (await self._owner.fetchval("select ledger_now()")).astimezone(UTC)

    async def _prices(self) -> dict[int, Price]:
        return {
            row["id"]: Price(
                id=row["id"],
                model_id=row["model_id"],
                effective_from=row["effective_from"],
                model=millionths(row["model_multiplier"]),
                completion=millionths(row["completion_multiplier"]),
                cached=millionths(row["cached_multiplier"]),
            )
            for row in await self._owner.fetch(PRICES)
        }


def _problem(row: asyncpg.Record, prices: dict[int, Price]) -> str | None:
    of_model = [price for price in prices.values() if price.model_id == row["model_id"]]
    came = time_of(row["request_id"])
    admitted = row["created_at"] or row["started_at"]
    # Whoever came just before a change and was admitted just after it may have either.
    right = {in_force(of_model, at) for at in (came - CLOCKS_APART, admitted + CLOCKS_APART)}
    paid = prices[row["price_id"]]
    if paid not in right:
        return f"came {came}, admitted {admitted}, at price {paid.id} from {paid.effective_from}"
    usage = Usage(row["input_units"], row["output_units"], row["cached_units"])
    due = 0 if row["ending"] == Ending.REFUSED else Rate(paid, row["group_millionths"]).charge(usage)
    if row["charged"] != due and not (row["ending"] in BY_WHAT_IS_KNOWN and row["charged"] <= due):
        return f"charged {row['charged']}, not {due}, as {row['ending']}"
    return None
