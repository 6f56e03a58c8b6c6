"""Accounts and their quota in PostgreSQL."""

from typing import Any

import asyncpg

from tollkeeper.core.money.balance import BalanceFigures
from tollkeeper.core.one_line import one_line
from tollkeeper.ports import Credit, Credited, NotOnFile
from tollkeeper.storage.ledger.treasury import take_in
from tollkeeper.storage.people.sessions import REVOKE_ALL
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.changes import ChangeNotifier
from tollkeeper.storage.postgres.database import Database

STANDING = """
select coalesce(sum(l.remaining) filter (where l.key_id is null), 0) as free_lots,
       coalesce(sum(l.remaining) filter (where l.key_id = k.id), 0) as lots_bound_to_key,
       coalesce(sum(l.remaining) filter (where l.key_id <> k.id), 0) as lots_bound_elsewhere,
       b.debt, b.used as account_used, b.held as account_held,
       k.quota as key_quota, kb.used as key_used, kb.held as key_held
from api_key k
join account_books b on b.account_id = k.account_id
join key_books kb on kb.key_id = k.id
left join lot l on l.account_id = k.account_id and l.expires_at > ledger_now() and l.closed_at is null
where k.id = $1
group by k.id, b.account_id, kb.key_id
"""
# Locked before sessions are looked for: a sign-in at the same moment is either signed out here, or refused.
IS_DISABLED = "select disabled_at is not null from account where id = $1 for no key update"
DISABLE = "update account set disabled_at = ledger_now() where id = $1"
ENABLE = "update account set disabled_at = null, closed_at = null where id = $1"


class SqlBalances:
    """The `Balances` port: read afresh each time, because money lives in no snapshot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def standing(self, key_id: int) -> BalanceFigures:
        row = await self._database.row(STANDING, key_id)
        if row is None:
            raise NotOnFile(f"There is no key {key_id}.")
        # Sums of BIGINT are NUMERIC: they cannot overflow.
        figures: dict[str, Any] = {name: None if figure is None else int(figure) for name, figure in row.items()}
        return BalanceFigures(**figures)


class SqlAccountDesk:
    """The `AccountDesk` port: opens, disables and enables accounts and takes quota in, on the record."""

    def __init__(self, database: Database, notifier: ChangeNotifier) -> None:
        self._database = database
        self._notifier = notifier

    async def create(self, name: str, group: str, *, actor: str) -> int:
        one_line(name, "An account's name")
        async with self._database.transaction() as connection:
            try:
                account_id: int = await connection.fetchval(
                    "insert into account (name, group_name) values ($1, $2) returning id", name, group
                )
            except asyncpg.ForeignKeyViolationError:
                raise NotOnFile(f"There is no group '{group}'.") from None
            await audit(connection, actor, "account.create", f"account:{account_id}", {"group": group})
        return account_id

    async def credit(self, credit: Credit, *, actor: str, reason: str = "") -> Credited:
        async with self._database.transaction() as connection:
            return await take_in(connection, credit, actor=actor, reason=reason)

    async def need(self, account_id: int) -> None:
        if await self._database.row("select from account where id = $1", account_id) is None:
            raise NotOnFile(f"There is no account {account_id}.")

    async def disable(self, account_id: int, reason: str, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            if await _is_disabled(connection, account_id):
                return False
            await connection.execute(DISABLE, account_id)
            ended = len(await connection.fetch(REVOKE_ALL, account_id, None))
            detail = {"reason": reason, "sessions": ended}
            await audit(connection, actor, "account.disable", f"account:{account_id}", detail)
        await self._notifier.send()
        return True

    async def enable(self, account_id: int, reason: str, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            if not await _is_disabled(connection, account_id):
                return False
            await connection.execute(ENABLE, account_id)
            await audit(connection, actor, "account.enable", f"account:{account_id}", {"reason": reason})
        await self._notifier.send()
        return True


async def _is_disabled(connection: asyncpg.Connection, account_id: int) -> bool:
    disabled: bool | None = await connection.fetchval(IS_DISABLED, account_id)
    if disabled is None:
        raise NotOnFile(f"There is no account {account_id}.")
    return disabled
