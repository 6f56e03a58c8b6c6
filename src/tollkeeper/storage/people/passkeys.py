"""Passkeys in PostgreSQL. What is kept of one is public: nobody can sign in with what is read here."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.core.people.passkeys import PASSKEYS_MOST, PasskeyRecord
from tollkeeper.ports.passkeys import NewPasskey
from tollkeeper.storage.people.sessions import REVOKE_ALL
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

PASSKEY = """
select id, account_id, name, credential_id, public_key, user_handle, sign_count, transports, created_at, last_used_at
from passkey
"""
BY_CREDENTIAL = PASSKEY + "where credential_id = $1"
BY_ACCOUNT = PASSKEY + "where account_id = $1 order by id"
# Locked, so that two at once do not both find room for one more.
OWNER = "select email from login where account_id = $1 for no key update"
ADD = """
insert into passkey (account_id, name, credential_id, public_key, user_handle, sign_count, transports)
select $1, $2, $3, $4, $5, $6, $7 where (select count(*) from passkey where account_id = $1) < $8
on conflict do nothing returning id
"""
# The row is gone before sessions end. So a sign-in with it opened its session before, or opens none.
REMOVE = "delete from passkey where account_id = $1 and ($2::bigint is null or id = $2) returning id"
NOTIFY = "insert into outbox (kind, email) select $2, email from login where account_id = $1"


class SqlPasskeys:
    """The `Passkeys` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, credential_id: bytes) -> PasskeyRecord | None:
        row = await self._database.row(BY_CREDENTIAL, credential_id)
        return None if row is None else _record(row)

    async def of(self, account_id: int) -> Sequence[PasskeyRecord]:
        return [_record(row) for row in await self._database.rows(BY_ACCOUNT, account_id)]

    async def add(self, passkey: NewPasskey, *, actor: str) -> bool:
        account_id, made = passkey.account_id, passkey.made
        credential = (made.credential_id, made.public_key, passkey.user_handle, made.sign_count, list(made.transports))
        async with self._database.transaction() as connection:
            await connection.fetchval(OWNER, account_id)
            passkey_id = await connection.fetchval(ADD, account_id, passkey.name, *credential, PASSKEYS_MOST)
            if passkey_id is not None:
                await connection.execute(NOTIFY, account_id, "passkey_added")
                detail = {"passkey": passkey_id}
                await audit(connection, actor, "login.passkey_added", f"account:{account_id}", detail)
        return passkey_id is not None

    async def remove(self, account_id: int, passkey_id: int, *, keep_session_id: int | None, actor: str) -> bool:
        async with self._database.transaction() as connection:
            return bool(await _remove(connection, account_id, passkey_id, keep_session_id, actor))


async def remove_passkeys(connection: asyncpg.Connection, account_id: int, *, actor: str) -> int:
    """Remove all of an account's, within a transaction of the caller's; how many there were."""
    return await _remove(connection, account_id, None, None, actor)


async def _remove(
    connection: asyncpg.Connection, account_id: int, passkey_id: int | None, keep_session_id: int | None, actor: str
) -> int:
    removed = [row["id"] for row in await connection.fetch(REMOVE, account_id, passkey_id)]
    if removed:
        ended = len(await connection.fetch(REVOKE_ALL, account_id, keep_session_id))
        await connection.execute(NOTIFY, account_id, "passkey_removed")
        detail = {"passkeys": removed, "sessions": ended}
        await audit(connection, actor, "login.passkey_removed", f"account:{account_id}", detail)
    return len(removed)


def _record(row: asyncpg.Record) -> PasskeyRecord:
    return PasskeyRecord(
        passkey_id=row["id"],
        account_id=row["account_id"],
        name=row["name"],
        credential_id=row["credential_id"],
        public_key=row["public_key"],
        user_handle=row["user_handle"],
        sign_count=row["sign_count"],
        transports=tuple(row["transports"]),
        created_at=row["created_at"],
        last_used_at=row["last_used_at"],
    )
