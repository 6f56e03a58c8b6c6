"""Lots at support's desk, and those that a key can draw on, in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from tollkeeper.ports import NotOnFile
from tollkeeper.ports.customers.lots import Extended, LotRecord
from tollkeeper.storage.postgres.database import Database

LOTS = """
select id, account_id, key_id, source, granted, remaining, created_at, expires_at, closed_at, closed_as
from lot where account_id = $1 order by closed_at is not null, expires_at, id
"""
OPEN_LOTS = """
select l.id, l.account_id, l.key_id, l.source, l.granted, l.remaining, l.created_at, l.expires_at, l.closed_at,
       l.closed_as
from api_key k join lot l on l.account_id = k.account_id and (l.key_id is null or l.key_id = k.id)
where k.id = $1 and l.closed_at is null and l.expires_at > ledger_now() and l.remaining > 0
order by l.expires_at, l.id limit 50
"""
FIND = "select account_id, expires_at, closed_at from lot where id = $1"

EXTEND = "select extend_lot_on_record($1, $2, $3, $4)"


class SqlLotDesk:
    """The `LotDesk` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_account(self, account_id: int) -> Sequence[LotRecord]:
        rows = await self._database.rows(LOTS, account_id)
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


class SqlOpenLots:
    """The `OpenLots` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_key(self, key_id: int) -> Sequence[LotRecord]:
        return [LotRecord(**row) for row in await self._database.rows(OPEN_LOTS, key_id)]
