"""Redemption codes in PostgreSQL."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.partner.plan import CASH_MILLIONTHS, GIFT_MILLIONTHS, ReferralTerms
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.redemption import (
    BATCHES_MOST,
    BatchRecord,
    Filled,
    NewBatch,
    OpenedBatch,
    RedeemAttempt,
    Redeemed,
    Redemption,
    TopUp,
    TopUpRecord,
    TopUpRevoked,
)
from tollkeeper.storage.postgres.database import Database

LISTED_MOST = 1_000

OPEN = "select * from open_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
BATCHES = """
select b.id, b.made_by, b.made_at, b.codes, b.usd_micros, b.months, b.note, b.rewards, b.exported_at, b.expires_at,
       b.revoked_at, b.revoked_by, b.revoke_reason,
       (select count(*) from redemption_code c where c.batch_id = b.id and c.redeemed_at is not null) as redeemed
from redemption_batch b
"""
REDEEM = "select * from redeem($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
TOP_UPS = """
select t.id, t.at, t.quota, t.usd_micros, t.lot_id, l.expires_at as lot_expires_at, coalesce(r.amount, 0) as gift,
       v.revoked_at
from top_up t join lot l on l.id = t.lot_id
left join reward r on r.top_up_id = t.id and r.kind = 'gift_received'
left join top_up_revocation v on v.top_up_id = t.id
"""
TOP_UP_RECORDS = """
select t.id, t.at, t.account_id, c.batch_id, t.quota, t.usd_micros, t.lot_id, l.expires_at as lot_expires_at,
       coalesce(r.amount, 0) as gift, v.revoked_at, v.revoked_by, v.why as revoke_reason, v.taken_back, v.owed,
       v.written_off
from top_up t join lot l on l.id = t.lot_id join redemption_code c on c.id = t.code_id
left join reward r on r.top_up_id = t.id and r.kind = 'gift_received'
left join top_up_revocation v on v.top_up_id = t.id
"""
LAST_ID = 2**63 - 1


class SqlCodeDesk:
    """The `CodeDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open_batch(self, batch: NewBatch, *, once: str, actor: str) -> OpenedBatch:
        worth = (batch.codes, batch.quota, batch.usd_micros, batch.months)
        told = (batch.note, batch.rewards, batch.valid_days)
        row = await self._database.row(OPEN, *worth, *told, once, batch.reason, actor)
        return OpenedBatch(row["batch_id"], was_before=row["was_before"])

    async def fill_batch(self, batch_id: int, digests: Sequence[bytes], *, actor: str) -> Filled:
        row = await self._database.row("select fill_batch($1, $2, $3)", batch_id, list(digests), actor)
        return Filled(row[0])

    async def batches(self, *, before_id: int | None = None, limit: int = BATCHES_MOST) -> Sequence[BatchRecord]:
        page = f"{BATCHES} where b.id < $1 order by b.id desc limit $2"
        return [BatchRecord(**row) for row in await self._database.rows(page, before_id or LAST_ID, limit)]

    async def batch(self, batch_id: int) -> BatchRecord:
        row = await self._database.row(f"{BATCHES} where b.id = $1", batch_id)
        if row is None:
            raise NotOnFile(f"There is no batch {batch_id}.")
        return BatchRecord(**row)

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

    async def top_up(self, top_up_id: int) -> TopUpRecord:
        row = await self._database.row(f"{TOP_UP_RECORDS} where t.id = $1", top_up_id)
        if row is None:
            raise NotOnFile(f"There is no top-up {top_up_id}.")
        return TopUpRecord(**row)

    async def top_up_page(self, *, account_id: int | None, before_id: int | None, limit: int) -> Sequence[TopUpRecord]:
        whose, values = ("", ()) if account_id is None else (" and t.account_id = $3", (account_id,))
        page = f"{TOP_UP_RECORDS} where t.id < $1{whose} order by t.id desc limit $2"
        return [TopUpRecord(**row) for row in await self._database.rows(page, before_id or LAST_ID, limit, *values)]


def _top_up(row: asyncpg.Record) -> TopUp:
    return TopUp(**row)
