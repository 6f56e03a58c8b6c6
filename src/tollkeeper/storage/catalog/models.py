"""The catalog in PostgreSQL, and the snapshot of it that a node keeps in memory."""

from collections.abc import Coroutine
from itertools import groupby

import asyncpg
import msgspec

from tollkeeper.core.calls.media import MediaLimits
from tollkeeper.core.catalog.models import Kind, Model, Shelf
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import Price, millionths
from tollkeeper.core.money.quote import TokenCaps
from tollkeeper.storage.catalog.groups import rates_of
from tollkeeper.storage.postgres.changes import Changes
from tollkeeper.storage.postgres.database import Database
from tollkeeper.storage.postgres.snapshot import Snapshot

MODELS = """
select id, kind, introduced_at, only_groups, context_tokens, max_output_tokens, hold_output_tokens, hold_part_tokens,
       hidden_reasoning, media
from model where retired_at is null order by id
"""

# The price in force and those to come; what is past no call is admitted under any more. It is left out a minute after
# its end, for nodes whose clocks are late.
PRICES = """
select p.id, p.model_id, p.effective_from, p.model_multiplier, p.completion_multiplier, p.cached_multiplier, p.variant,
       p.parts
from price p join model m on m.id = p.model_id
where m.retired_at is null and p.withdrawn_at is null
  and p.effective_from >= coalesce((select max(f.effective_from) from price f
                                    where f.model_id = p.model_id and f.variant = p.variant
                                      and f.withdrawn_at is null
                                      and f.effective_from <= ledger_now() - interval '1 minute'), '-infinity')
order by p.model_id, p.variant, p.effective_from
"""

GROUPS = "select * from account_group"

decode_media = msgspec.json.Decoder(MediaLimits).decode
decode_parts = msgspec.json.Decoder(PriceParts).decode


class SqlCatalog:
    """The `Catalog` port."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        # A price must be the price: without a fresh feed the database is asked.
        self._snapshot = Snapshot(changes, "catalog", self._read, even_stale=False)

    def shelf(self) -> Coroutine[None, None, Shelf]:
        return self._snapshot.get()

    async def _read(self) -> Shelf:
        groups = await self._database.rows(GROUPS)
        prices = {
            model_id: tuple(map(price_of, rows))
            for model_id, rows in groupby(await self._database.rows(PRICES), key=lambda row: row["model_id"])
        }
        models = [_model(row, prices.get(row["id"], ())) for row in await self._database.rows(MODELS)]
        return Shelf(
            {model.id: model for model in models},
            {row["name"]: millionths(row["multiplier"]) for row in groups},
            {row["name"]: rates_of(row) for row in groups},
        )


def _model(row: asyncpg.Record, prices: tuple[Price, ...]) -> Model:
    return Model(
        id=row["id"],
        kind=Kind(row["kind"]),
        introduced_at=row["introduced_at"],
        only_groups=None if row["only_groups"] is None else frozenset(row["only_groups"]),
        prices=prices,
        token_caps=token_caps_of(row),
        media=media_of(row),
    )


def token_caps_of(row: asyncpg.Record) -> TokenCaps:
    return TokenCaps(
        context_tokens=row["context_tokens"],
        max_output_tokens=row["max_output_tokens"],
        hold_output_tokens=row["hold_output_tokens"],
        hold_part_tokens=row["hold_part_tokens"],
        hidden_reasoning=row["hidden_reasoning"],
    )


def media_of(row: asyncpg.Record) -> MediaLimits:
    return MediaLimits() if row["media"] is None else decode_media(row["media"])


def price_of(row: asyncpg.Record) -> Price:
    return Price(
        id=row["id"],
        model_id=row["model_id"],
        effective_from=row["effective_from"],
        model=millionths(row["model_multiplier"]),
        completion=millionths(row["completion_multiplier"]),
        cached=millionths(row["cached_multiplier"]),
        variant=row["variant"],
        parts=None if row["parts"] is None else decode_parts(row["parts"]),
    )


def parts_text(parts: PriceParts | None) -> str | None:
    """As the price book has them: JSON, without what is not set."""
    return None if parts is None else msgspec.json.encode(parts).decode()
