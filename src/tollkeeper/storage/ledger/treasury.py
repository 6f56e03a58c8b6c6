"""Quota coming in and the ends of lots, in PostgreSQL."""

from datetime import timedelta

import asyncpg

from tollkeeper.core.money.amounts import Quota
from tollkeeper.ports import AlreadyOnFile, Credit, Credited, NotOnFile, Revoked
from tollkeeper.storage.postgres.database import Database

CREDIT = "select * from credit_on_record($1, $2, $3, $4, $5, $6, $7, $8, $9)"
REVOKE = "select * from revoke_lot_on_record($1, $2, $3)"
LOTS_AT_ONCE = 1_000


class SqlTreasury:
    """The `Treasury` port. The console's role takes quota in and back, the worker's closes lots, makes partitions."""

    def __init__(self, database: Database, *, actor: str = "treasury") -> None:
        """`actor`: who is on the record for quota that comes or goes."""
        self._database = database
        self._actor = actor

    async def credit(self, credit: Credit) -> Credited:
        async with self._database.transaction() as connection:
            return await take_in(connection, credit, actor=self._actor)

    async def close_lots(self, grace: timedelta) -> int:
        total = 0
        while True:
            row = await self._database.row("select close_lots($1, $2)", grace, LOTS_AT_ONCE)
            closed: int = row[0]
            total += closed
            if closed < LOTS_AT_ONCE:
                return total

    async def turn_partitions(self, keep_holds: timedelta) -> None:
        for row in await self._database.rows("select * from missing_partitions(ledger_now())"):
            await self._database.row("select make_partition($1, $2, $3)", row["parent"], row["since"], row["until"])
        await self._database.row("select drop_old_holds(ledger_now() - $1::interval)", keep_holds)

    async def revoke(self, lot_id: int, reason: str = "") -> Revoked:
        async with self._database.transaction() as connection:
            taken = await take_back(connection, lot_id, reason, actor=self._actor)
        return taken or Revoked(Quota(0), Quota(0))


async def take_in(connection: asyncpg.Connection, credit: Credit, *, actor: str, reason: str = "") -> Credited:
    """Credit within a transaction of the caller's, and put it on the record."""
    values = (credit.account_id, credit.key_id, credit.amount, credit.source, credit.source_id)
    try:
        row = await connection.fetchrow(CREDIT, *values, credit.months, credit.days, actor, reason)
    except asyncpg.ForeignKeyViolationError as problem:
        named = f": {problem}" if credit.key_id is not None else ""
        raise NotOnFile(f"There is no account {credit.account_id}{named}.") from None
    except asyncpg.UniqueViolationError as problem:
        raise AlreadyOnFile(f"Nothing was credited: {problem}.") from None
    return Credited(lot_id=row["lot_id"], expires_at=row["lot_expires_at"], replayed=row["replayed"])


async def take_back(connection: asyncpg.Connection, lot_id: int, reason: str, *, actor: str) -> Revoked | None:
    """Revoke a lot within a transaction of the caller's, on the record. None: there is none, or it is closed."""
    row = await connection.fetchrow(REVOKE, lot_id, reason, actor)
    return None if row["revoked"] is None else Revoked(Quota(row["revoked"]), Quota(row["owed"]))
