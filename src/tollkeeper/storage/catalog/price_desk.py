"""The price book at the operator's desk, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.prices import Price
from tollkeeper.ports.catalog.prices import (
    Entered,
    Preview,
    PriceChange,
    PriceEntry,
    PriceQuery,
    PriceRow,
    Withdrawn,
)
from tollkeeper.storage.catalog.models import parts_text, price_of
from tollkeeper.storage.catalog.price_preview import OF_A_PAGE, ReadingBounds, preview_of
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.nodes import older_nodes

ENTER = "select * from enter_price($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::jsonb)"
FOLLOWED = """
select coalesce(max(b.id), 0) from (
    select p.id from price p
    where p.model_id = $1 and p.variant = $2 and p.effective_from < $3 and p.withdrawn_at is null
    order by p.effective_from desc limit 1) b
"""
COLUMNS = """
select p.id, p.model_id, p.variant, p.effective_from, p.model_multiplier, p.completion_multiplier, p.cached_multiplier,
       p.parts, p.announced_at, p.entered_by, p.forced_because, p.withdrawn_at, p.withdrawn_by, p.withdraw_reason,
       m.kind
from price p join model m on m.id = p.model_id
"""
ORDER = "order by p.model_id, p.variant, p.effective_from, p.id"
ROWS = COLUMNS + "where $1::text is null or p.model_id = $1 " + ORDER
# `n`: when the price that holds now took effect.
OF_PAGE = """
left join lateral (
    select max(f.effective_from) as at from price f
    where f.model_id = p.model_id and f.variant = p.variant and f.withdrawn_at is null
      and f.effective_from <= ledger_now()) n on true
where ($1::text[] is null or p.model_id = any ($1))
  and case $2
      when 'all' then true
      when 'standing' then p.withdrawn_at is null and p.effective_from >= coalesce(n.at, '-infinity')
      when 'in_force' then p.withdrawn_at is null and p.effective_from = n.at
      when 'coming' then p.withdrawn_at is null and p.effective_from > ledger_now()
      else p.withdrawn_at is not null or p.effective_from < n.at end
  and ($3::bigint is null or (p.model_id, p.variant, p.effective_from, p.id) > (
      select b.model_id, b.variant, b.effective_from, b.id from price b where b.id = $3))
"""
PAGE = COLUMNS + OF_PAGE + ORDER + " limit $4"


class _Overtaken(Exception):
    """Undoes what was booked."""


class SqlPriceDesk:
    """The `PriceDesk` port. `previews`: how much a preview may read."""

    def __init__(self, database: Database, notifier: ChangeNotifier, *, previews: ReadingBounds = OF_A_PAGE) -> None:
        self._database = database
        self._previews = previews
        self._notifier = notifier

    async def enter(self, change: PriceChange, *, actor: str) -> PriceEntry:
        figures = (change.figures.model, change.figures.completion, change.figures.cached)
        values = (change.effective_from, change.notice, change.forced_because, actor, parts_text(change.parts))
        of = (change.model_id, change.variant)
        try:
            async with self._database.transaction() as connection:
                row = await connection.fetchrow(ENTER, *of, *figures, *values)
                booked = row["booked"]
                # The model is locked by now: the price before stays the one that it is.
                if booked is not None and change.follows not in (
                    None,
                    await connection.fetchval(FOLLOWED, *of, booked["effective_from"]),
                ):
                    raise _Overtaken
        except _Overtaken:
            return PriceEntry(Entered.OVERTAKEN, None, None)
        await self._notifier.send()
        return PriceEntry(Entered(row["verdict"]), None if booked is None else price_of(booked), row["effective"])

    async def withdraw(self, price_id: int, reason: str, *, actor: str) -> Withdrawn:
        row = await self._database.row("select withdraw_price($1, $2, $3)", price_id, reason, actor)
        await self._notifier.send()
        return Withdrawn(row[0])

    async def now(self) -> datetime:
        row = await self._database.row("select ledger_now()")
        now: datetime = row[0]
        return now

    async def older_nodes(self) -> Sequence[str]:
        return [f"{node.name} ({node.version})" for node in await older_nodes(self._database)]

    async def rows(self, model_id: str | None) -> Sequence[PriceRow]:
        return [_row(row) for row in await self._database.rows(ROWS, model_id)]

    async def page(self, query: PriceQuery, *, after_id: int | None, limit: int | None) -> Sequence[PriceRow]:
        models = None if query.models is None else list(query.models)
        return [_row(row) for row in await self._database.rows(PAGE, models, query.time, after_id, limit)]

    async def effect(self, old: Price, new: Price, since: timedelta, *, accounts_most: int) -> Preview:
        return await preview_of(self._database, old, new, since, accounts_most=accounts_most, bounds=self._previews)


def _row(row: asyncpg.Record) -> PriceRow:
    return PriceRow(
        price=price_of(row),
        kind=Kind(row["kind"]),
        announced_at=row["announced_at"],
        entered_by=row["entered_by"],
        forced_because=row["forced_because"],
        withdrawn_at=row["withdrawn_at"],
        withdrawn_by=row["withdrawn_by"],
        withdraw_reason=row["withdraw_reason"],
    )
