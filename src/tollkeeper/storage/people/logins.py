"""Logins in PostgreSQL: found, given roles and new passwords, on the record."""

from collections.abc import Sequence

import asyncpg

from tollkeeper.core.people.logins import Role
from tollkeeper.ports import NotOnFile
from tollkeeper.ports.people import LoginRecord
from tollkeeper.storage.people.sessions import REVOKE_ALL
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

LOGIN = """
select l.account_id, l.email, l.password, l.role, l.verified_at, l.created_at, l.password_changed_at,
       l.totp_confirmed_at is not null as second_factor, a.disabled_at is not null as account_disabled,
       a.closed_at is not null as account_closed
from login l join account a on a.id = l.account_id
"""
BY_EMAIL = LOGIN + "where l.email = $1"
BY_ACCOUNT = LOGIN + "where l.account_id = $1"
LISTED = LOGIN + "where l.account_id < coalesce($1, 9223372036854775807) order by l.account_id desc limit $2"
LISTED_STAFF = LOGIN + (
    "where l.role <> 'customer' and l.account_id < coalesce($1, 9223372036854775807)"
    " order by l.account_id desc limit $2"
)

SET_ROLE = "select set_login_role($1, $2, $3)"
REHASH = "update login set password = $3 where account_id = $1 and password = $2"
AS_IT_WAS = "select account_id from login where account_id = $1 and password_changed_at = $2 for no key update"
REPLACE_HASH = """
update login set password = $2, password_changed_at = ledger_now() where account_id = $1 returning email
"""
CLOSE_LINKS = "update mail_token set used_at = ledger_now() where account_id = $1 and used_at is null"
CLOSE_EMAIL_CHANGES = "update email_change set closed_at = ledger_now() where account_id = $1 and closed_at is null"
VALID_LINK = """
from mail_token t join login l on l.account_id = t.account_id
where t.digest = $1 and t.purpose = 'reset' and t.used_at is null and t.expires_at > ledger_now()
"""
EMAIL_TO_RESET = "select l.email " + VALID_LINK
# Locked: a link is good for one new password, however often it is sent at once.
USE_LINK = "select l.account_id " + VALID_LINK + "for update of t"
NOTIFY = "insert into outbox (kind, email) values ($1, $2)"
NOTIFY_OWNER = "insert into outbox (kind, email) select 'reset', email from login where account_id = $1 returning id"


class SqlLogins:
    """The `Logins` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, email: str) -> LoginRecord | None:
        row = await self._database.row(BY_EMAIL, email)
        return None if row is None else _record(row)

    async def of(self, account_id: int) -> LoginRecord:
        row = await self._database.row(BY_ACCOUNT, account_id)
        if row is None:
            raise NotOnFile(f"Account {account_id} has no login.")
        return _record(row)

    async def listed(self, *, staff_only: bool, before: int | None, limit: int) -> Sequence[LoginRecord]:
        rows = await self._database.rows(LISTED_STAFF if staff_only else LISTED, before, limit)
        return [_record(row) for row in rows]

    async def set_role(self, account_id: int, role: Role, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            verdict = await connection.fetchval(SET_ROLE, account_id, role.value, actor)
        if verdict == "unknown":
            raise NotOnFile(f"Account {account_id} has no login.")
        return bool(verdict == "set")

    async def rehash(self, account_id: int, old_hash: str, new_hash: str) -> None:
        await self._database.row(REHASH, account_id, old_hash, new_hash)

    async def change_password(self, login: LoginRecord, new_hash: str, *, keep_session_id: int | None) -> bool:
        async with self._database.transaction() as connection:
            same = await connection.fetchval(AS_IT_WAS, login.account_id, login.password_changed_at) is not None
            if same:
                await _set_password(connection, login.account_id, new_hash, keep_session_id, "login.change_password")
        return same

    async def request_reset(self, email: str) -> None:
        await self._database.row(NOTIFY, "reset", email)

    async def send_reset(self, account_id: int, *, actor: str) -> None:
        async with self._database.transaction() as connection:
            if await connection.fetchval(NOTIFY_OWNER, account_id) is None:
                raise NotOnFile(f"Account {account_id} has no login.")
            await audit(connection, actor, "login.send_reset", f"account:{account_id}", {})

    async def email_to_reset(self, token_digest: bytes) -> str | None:
        row = await self._database.row(EMAIL_TO_RESET, token_digest)
        return None if row is None else str(row["email"])

    async def reset_password(self, token_digest: bytes, new_hash: str) -> int | None:
        async with self._database.transaction() as connection:
            account_id: int | None = await connection.fetchval(USE_LINK, token_digest)
            if account_id is not None:
                await _set_password(connection, account_id, new_hash, None, "login.reset_password")
        return account_id


async def _set_password(
    connection: asyncpg.Connection, account_id: int, new_hash: str, keep_session_id: int | None, action: str
) -> None:
    email = await connection.fetchval(REPLACE_HASH, account_id, new_hash)
    ended = len(await connection.fetch(REVOKE_ALL, account_id, keep_session_id))
    await connection.execute(CLOSE_LINKS, account_id)
    await connection.execute(CLOSE_EMAIL_CHANGES, account_id)
    await connection.execute(NOTIFY, "password_changed", email)
    subject = f"account:{account_id}"
    await audit(connection, subject, action, subject, {"sessions": ended})


def _record(row: asyncpg.Record) -> LoginRecord:
    return LoginRecord(
        account_id=row["account_id"],
        email=row["email"],
        password_hash=row["password"],
        role=Role(row["role"]),
        verified_at=row["verified_at"],
        created_at=row["created_at"],
        password_changed_at=row["password_changed_at"],
        second_factor=row["second_factor"],
        account_disabled=row["account_disabled"],
        account_closed=row["account_closed"],
    )
