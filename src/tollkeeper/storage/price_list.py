"""The published price book, kept in memory by every node: readers cost the database nothing."""

from itertools import groupby

import asyncpg

from tollkeeper.core.catalog import Kind
from tollkeeper.core.price_book import DEFAULT_GROUP, Announced, PriceBook, PricedModel
from tollkeeper.core.prices import MILLIONTHS, millionths
from tollkeeper.storage.catalog import price_of
from tollkeeper.storage.changes import Changes
from tollkeeper.storage.database import Database
from tollkeeper.storage.snapshot import Snapshot

PUBLISHED = """
select p.id, p.model_id, p.variant, p.effective_from, p.model_multiplier, p.completion_multiplier, p.cached_multiplier,
       p.announced_at, p.withdrawn_at, m.kind
from price p join model m on m.id = p.model_id
where m.retired_at is null and (m.only_groups is null or $1 = any (m.only_groups))
order by p.model_id, p.variant, p.effective_from, p.id
"""
GROUP = "select multiplier from account_group where name = $1"


class SqlPriceList:
    """The `PriceList` port."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._snapshot = Snapshot(changes, "catalog", self._read, even_stale=False)

    async def published(self) -> PriceBook:
        return await self._snapshot.get()

    async def _read(self) -> PriceBook:
        group = await self._database.row(GROUP, DEFAULT_GROUP)
        rows = await self._database.rows(PUBLISHED, DEFAULT_GROUP)
        models = [
            PricedModel(id=model_id, kind=Kind(found[0]["kind"]), rows=tuple(map(_announced, found)))
            for model_id, found in ((key, list(each)) for key, each in groupby(rows, key=lambda row: row["model_id"]))
        ]
        return PriceBook(tuple(models), MILLIONTHS if group is None else millionths(group["multiplier"]))


def _announced(row: asyncpg.Record) -> Announced:
    return Announced(price=price_of(row), announced_at=row["announced_at"], withdrawn_at=row["withdrawn_at"])
