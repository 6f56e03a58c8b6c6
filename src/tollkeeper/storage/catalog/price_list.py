"""The price books of all groups, kept in memory by every node: readers cost the database nothing."""

from collections.abc import Mapping
from itertools import groupby

import asyncpg

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import DEFAULT_GROUP, Announced, PriceBook, PricedModel
from tollkeeper.core.errors import StoreUnavailable
from tollkeeper.core.money.prices import MILLIONTHS, millionths
from tollkeeper.storage.catalog.models import price_of
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.snapshot import Snapshot

PUBLISHED = """
select p.id, p.model_id, p.variant, p.effective_from, p.model_multiplier, p.completion_multiplier, p.cached_multiplier,
       p.parts, p.announced_at, p.withdrawn_at, m.kind, m.only_groups
from price p join model m on m.id = p.model_id
where m.retired_at is null
order by p.model_id, p.variant, p.effective_from, p.id
"""
GROUPS = "select name, multiplier from account_group"


class SqlPriceList:
    """The `PriceList` port."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._snapshot = Snapshot(changes, "catalog", self._read, even_stale=False)

    async def published(self) -> PriceBook:
        return await self.for_group(DEFAULT_GROUP)

    async def for_group(self, group: str) -> PriceBook:
        found = (await self._snapshot.get()).get(group)
        if found is None:
            raise StoreUnavailable
        return found

    async def _read(self) -> Mapping[str, PriceBook]:
        groups = {row["name"]: millionths(row["multiplier"]) for row in await self._database.rows(GROUPS)}
        rows = await self._database.rows(PUBLISHED)
        priced = [
            (
                found[0]["only_groups"],
                PricedModel(id=model_id, kind=Kind(found[0]["kind"]), rows=tuple(map(_announced, found))),
            )
            for model_id, found in ((key, list(each)) for key, each in groupby(rows, key=lambda row: row["model_id"]))
        ]
        return {
            name: PriceBook(tuple(model for only, model in priced if only is None or name in only), multiplier)
            for name, multiplier in ({DEFAULT_GROUP: MILLIONTHS} | groups).items()
        }


def _announced(row: asyncpg.Record) -> Announced:
    return Announced(price=price_of(row), announced_at=row["announced_at"], withdrawn_at=row["withdrawn_at"])
