"""Redemption codes in PostgreSQL."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.partner.plan import CASH_MILLIONTHS, GIFT_MILLIONTHS, ReferralTerms
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.redemption import (
    BatchRecord,
    NewBatch,
    RedeemAttempt,
    Redeemed,
    Redemption,
    TopUp,
    TopUpRevoked,
)
from tollkeeper.storage.postgres.database import Database

LISTED_MOST = 1_000

MAKE = "select make_codes($1, $2, $3, $4, $5, $6, $7)"
BATCHES = """
select b.id, b.made_by, b.made_at, b.codes, b.usd_micros, b.months, b.note, b.rewards, b.exported_at, b.revoked_at,
       b.revoked_by, b.revoke_reason,
       (select count(*) from redemption_code c where c.batch_id = b.id and c.redeemed_at is not null) as redeemed
from redemption_batch b order by b.id desc limit $1
"""
REDEEM = "select * from redeem($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
TOP_UPS = """
select t.id, t.at, t.quota, t.usd_micros, t.lot_id, l.expires_at as lot_expires_at, coalesce(r.amount, 0) as gift,
       v.revoked_at
from top_up t join lot l on l.id = t.lot_id
left join reward r on r.top_up_id = t.id and r.kind = 'gift_received'
left join top_up_revocation v on v.top_up_id = t.id
"""


class SqlCodeDesk:
    """The `CodeDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def make(self, batch: NewBatch, *, actor: str) -> int:
        values = (list(batch.digests), batch.quota, batch.usd_micros, batch.months, batch.note, batch.rewards, actor)
        row = await self._database.row(MAKE, *values)
        batch_id: int = row[0]
        return batch_id

    async def mark_exported(self, batch_id: int, *, actor: str) -> bool:
        row = await self._database.row("select export_codes($1, $2)", batch_id, actor)
        return bool(row[0])

    async def batches(self) -> Sequence[BatchRecord]:
        return [BatchRecord(**row) for row in await self._database.rows(BATCHES, LISTED_MOST)]

    async def revoke(self, batch_id: int, reason: str, *, actor: str) -> int | None:
        row = await self._database.row("select revoke_codes($1, $2, $3)", batch_id, reason, actor)
        stopped: int | None = row[0]
        known = "select true from redemption_batch where id = $1"
        if stopped is None and await self._database.row(known, batch_id) is None:
            raise NotOnFile(f"There is no batch {batch_id}.")
        return stopped

    async def revoke_top_up(self, top_up_id: int, *, write_off: bool, why: str, actor: str) -> TopUpRevoked:
        values = (top_up_id, write_off, why, actor)
        row = await self._database.row("select * from revoke_top_up($1, $2, $3, $4)", *values)
        if row["verdict"] == "unknown":
            raise NotOnFile(f"There is no top-up {top_up_id}.")
        return TopUpRevoked(
            before=row["verdict"] == "revoked_before",
            taken_back=Quota(row["taken_back"] or 0),
            owed=Quota(row["owed"] or 0),
            written_off=Quota(row["written_off"] or 0),
            rewards=row["rewards"] or 0,
        )


class SqlRedemptions:
    """The `Redemptions` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def redeem(self, attempt: RedeemAttempt, terms: ReferralTerms, *, actor: str) -> Redemption:
        rates = (CASH_MILLIONTHS, GIFT_MILLIONTHS, terms.pending_days, terms.cash_cap, terms.gift_cap)
        values = (attempt.account_id, attempt.ip, attempt.digest, attempt.gift_code, *rates, actor)
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(REDEEM, *values)
            found = row["top_up_id"]
            top_up = None if found is None else await connection.fetchrow(f"{TOP_UPS} where t.id = $1", found)
        return Redemption(Redeemed(row["verdict"]), None if top_up is None else _top_up(top_up), row["until"])

    async def top_ups(self, account_id: int) -> Sequence[TopUp]:
        sql = f"{TOP_UPS} where t.account_id = $1 order by t.id desc limit $2"
        return [_top_up(row) for row in await self._database.rows(sql, account_id, LISTED_MOST)]


def _top_up(row: asyncpg.Record) -> TopUp:
    return TopUp(**row)
