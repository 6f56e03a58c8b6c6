"""The price book at the operator's desk, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import asyncpg

from tollkeeper.core.money import Quota
from tollkeeper.core.prices import MILLIONTHS, Price
from tollkeeper.ports.prices import Effect, Entered, Entry, Preview, PriceChange, PriceRow, Withdrawn
from tollkeeper.storage.catalog import price_of
from tollkeeper.storage.changes import Nudges
from tollkeeper.storage.database import Database

ENTER = "select * from enter_price($1, $2, $3, $4, $5, $6, $7, $8, $9)"
ROWS = """
select id, model_id, variant, effective_from, model_multiplier, completion_multiplier, cached_multiplier, announced_at,
       entered_by, forced_because, withdrawn_at, withdrawn_by, withdraw_reason
from price where $1::text is null or model_id = $1 order by model_id, variant, effective_from, id
"""
# The formula of core.prices, call by call: NUMERIC is exact, and rounds half up as a charge does.
EFFECT = """
with calls as (
    select account_id, charged,
           round(group_millionths * $4::numeric
                 * (input_tokens - cached_tokens + cached_tokens * $6::numeric + output_tokens * $5::numeric)) as old,
           round(group_millionths * $7::numeric
                 * (input_tokens - cached_tokens + cached_tokens * $9::numeric + output_tokens * $8::numeric)) as new
    from usage
    where request_id >= uuid_floor(ledger_now() - $1::interval)
      and price_id in (select id from price where model_id = $2 and variant = $3))
select account_id, count(*) as calls, coalesce(sum(charged), 0) as charged, coalesce(sum(old), 0) as old,
       coalesce(sum(new), 0) as new, count(*) over () - 1 as accounts
from calls group by grouping sets ((account_id), ())
order by account_id is not null, abs(sum(new) - sum(old)) desc, account_id limit $10
"""
# A week of a large service's calls is read.
PATIENCE_SECONDS = 600.0


class SqlPriceDesk:
    """The `PriceDesk` port."""

    def __init__(self, database: Database, nudges: Nudges) -> None:
        self._database = database
        self._nudges = nudges

    async def enter(self, change: PriceChange, *, actor: str) -> Entry:
        figures = (change.figures.model, change.figures.completion, change.figures.cached)
        values = (change.effective_from, change.notice, change.forced_because, actor)
        row = await self._database.row(ENTER, change.model_id, change.variant, *figures, *values)
        await self._nudges.send()
        booked = row["booked"]
        return Entry(Entered(row["verdict"]), None if booked is None else price_of(booked), row["effective"])

    async def withdraw(self, price_id: int, reason: str, *, actor: str) -> Withdrawn:
        row = await self._database.row("select withdraw_price($1, $2, $3)", price_id, reason, actor)
        await self._nudges.send()
        return Withdrawn(row[0])

    async def now(self) -> datetime:
        row = await self._database.row("select ledger_now()")
        now: datetime = row[0]
        return now

    async def rows(self, model_id: str | None) -> Sequence[PriceRow]:
        return [_row(row) for row in await self._database.rows(ROWS, model_id)]

    async def effect(self, old: Price, new: Price, since: timedelta, *, accounts_most: int) -> Preview:
        asked = (since, old.model_id, old.variant, *_figures(old), *_figures(new), accounts_most + 1)
        async with (
            self._database.session(patience_seconds=PATIENCE_SECONDS) as connection,
            connection.transaction(readonly=True),
        ):
            await connection.execute("set local statement_timeout = 0")
            total, *accounts = await connection.fetch(EFFECT, *asked)
        return Preview(
            old=old,
            new=new,
            total=_effect(total),
            accounts=[_effect(row) for row in accounts],
            accounts_in_all=total["accounts"],
        )


def _figures(price: Price) -> tuple[Decimal, ...]:
    return tuple(Decimal(figure) / MILLIONTHS for figure in (price.model, price.completion, price.cached))


def _effect(row: asyncpg.Record) -> Effect:
    return Effect(
        account_id=row["account_id"],
        calls=row["calls"],
        charged=Quota(int(row["charged"])),
        old=Quota(int(row["old"])),
        new=Quota(int(row["new"])),
    )


def _row(row: asyncpg.Record) -> PriceRow:
    return PriceRow(
        price=price_of(row),
        announced_at=row["announced_at"],
        entered_by=row["entered_by"],
        forced_because=row["forced_because"],
        withdrawn_at=row["withdrawn_at"],
        withdrawn_by=row["withdrawn_by"],
        withdraw_reason=row["withdraw_reason"],
    )
