"""Accounts and their quota in PostgreSQL."""

from typing import Any

import asyncpg

from tollkeeper.core.balance import Standing
from tollkeeper.ports import Credit, Credited, NotOnFile
from tollkeeper.storage.audit import audit
from tollkeeper.storage.database import Database
from tollkeeper.storage.treasury import take_in

STANDING = """
select coalesce(sum(l.remaining) filter (where l.key_id is null), 0) as free_lots,
       coalesce(sum(l.remaining) filter (where l.key_id = k.id), 0) as lots_bound_to_key,
       coalesce(sum(l.remaining) filter (where l.key_id <> k.id), 0) as lots_bound_elsewhere,
       b.debt, b.used as account_used, k.quota as key_quota, kb.used as key_used, kb.held as key_held
from api_key k
join account_books b on b.account_id = k.account_id
join key_books kb on kb.key_id = k.id
left join lot l on l.account_id = k.account_id and l.expires_at > ledger_now() and l.closed_at is null
where k.id = $1
group by k.id, b.account_id, kb.key_id
"""


class SqlBalances:
    """The `Balances` port: read afresh each time, because money lives in no snapshot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def standing(self, key_id: int) -> Standing:
        row = await self._database.row(STANDING, key_id)
        if row is None:
            raise NotOnFile(f"There is no key {key_id}.")
        # Sums of BIGINT are NUMERIC: they cannot overflow.
        figures: dict[str, Any] = {name: None if figure is None else int(figure) for name, figure in row.items()}
        return Standing(**figures)


class SqlAccountDesk:
    """The `AccountDesk` port: opens accounts and takes quota in, on the record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, name: str, group: str, *, actor: str) -> int:
        async with self._database.transaction() as connection:
            try:
                account_id: int = await connection.fetchval(
                    "insert into account (name, group_name) values ($1, $2) returning id", name, group
                )
            except asyncpg.ForeignKeyViolationError:
                raise NotOnFile(f"There is no group '{group}'.") from None
            await audit(connection, actor, "account.create", f"account:{account_id}", {"group": group})
        return account_id

    async def credit(self, credit: Credit, *, actor: str) -> Credited:
        async with self._database.transaction() as connection:
            credited = await take_in(connection, credit)
            if not credited.replayed:
                detail = {"amount": credit.amount, "source": credit.source, "source_id": credit.source_id}
                await audit(connection, actor, "account.credit", f"account:{credit.account_id}", detail)
        return credited
