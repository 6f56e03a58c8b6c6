"""Lots at support's desk, and those that a key can draw on, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.lots import Extended, LotPlace, LotRecord, TakenBack
from tollkeeper.storage.ledger.treasury import take_back
from tollkeeper.storage.postgres.database import Database

LOTS = """
select id, account_id, key_id, source, granted, remaining, created_at, expires_at, closed_at, closed_as
from lot where account_id = $1
  and ($2::boolean is null or (closed_at is not null, expires_at, id) > ($2, $3::timestamptz, $4::bigint))
order by closed_at is not null, expires_at, id limit $5
"""
OPEN_LOTS = """
select l.id, l.account_id, l.key_id, l.source, l.granted, l.remaining, l.created_at, l.expires_at, l.closed_at,
       l.closed_as
from api_key k join lot l on l.account_id = k.account_id and (l.key_id is null or l.key_id = k.id)
where k.id = $1 and l.closed_at is null and l.expires_at > ledger_now() and l.remaining > 0
order by l.expires_at, l.id limit 50
"""
FIND = "select account_id, expires_at, closed_at from lot where id = $1"

HOW_IT_ENDED = "select closed_as from lot where id = $1"
# Of the first time, where it was not taken back with its top-up.
ON_RECORD = """
select (detail ->> 'revoked')::bigint as revoked, (detail ->> 'owed')::bigint as owed from audit
where subject = 'lot:' || $1::bigint and action = 'lot.revoke' order by at limit 1
"""

EXTEND = "select extend_lot_on_record($1, $2, $3, $4)"


class SqlLotDesk:
    """The `LotDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_account(
        self, account_id: int, *, after: LotPlace | None = None, limit: int | None = None
    ) -> Sequence[LotRecord]:
        place = (None, None, None) if after is None else (after.is_closed, after.expires_at, after.id)
        rows = await self._database.rows(LOTS, account_id, *place, limit)
        if not rows and await self._database.row("select from account where id = $1", account_id) is None:
            raise NotOnFile(f"There is no account {account_id}.")
        return [LotRecord(**row) for row in rows]

    async def extend(self, lot_id: int, until: datetime, reason: str, *, actor: str) -> Extended:
        async with self._database.transaction() as connection:
            before = await connection.fetchrow(FIND, lot_id)
            if before is None:
                return Extended.UNKNOWN
            if before["closed_at"] is not None:
                return Extended.CLOSED
            in_future = await connection.fetchval("select $1 > ledger_now()", until)
            if not in_future or not await connection.fetchval(EXTEND, lot_id, until, reason, actor):
                # It was closed, or extended further, in this very moment.
                return Extended.NOT_LATER
        return Extended.EXTENDED

    async def revoke(self, lot_id: int, reason: str, *, actor: str) -> TakenBack | None:
        async with self._database.transaction() as connection:
            taken = await take_back(connection, lot_id, reason, actor=actor)
            if taken is not None:
                return TakenBack(revoked=taken.revoked, owed=taken.owed)
            lot = await connection.fetchrow(HOW_IT_ENDED, lot_id)
            if lot is None:
                raise NotOnFile(f"There is no lot {lot_id}.")
            if lot["closed_as"] != "revoked":
                return None
            before = await connection.fetchrow(ON_RECORD, lot_id)
        revoked, owed = (0, 0) if before is None else before
        return TakenBack(revoked=Quota(revoked), owed=Quota(owed), was_before=True)


class SqlOpenLots:
    """The `OpenLots` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_key(self, key_id: int) -> Sequence[LotRecord]:
        return [LotRecord(**row) for row in await self._database.rows(OPEN_LOTS, key_id)]
