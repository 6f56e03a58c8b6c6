"""E-mails that change, in PostgreSQL."""

from tollkeeper.ports.email_changes import EmailChange, EmailChanged
from tollkeeper.ports.people import LoginRecord
from tollkeeper.storage.people.logins import AS_IT_WAS, CLOSE_EMAIL_CHANGES, NOTIFY
from tollkeeper.storage.people.sessions import REVOKE_ALL
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

REQUEST = """
with asked as (
    insert into email_change (account_id, email, expires_at)
    values ($1, $2, ledger_now() + interval '24 hours') returning id, email)
insert into outbox (kind, email, email_change_id) select 'email_change', email, id from asked
"""
LOOK = """
select c.account_id, c.email from mail_token t join email_change c on c.id = t.email_change_id
where t.digest = $1 and t.expires_at > ledger_now() and c.closed_at is null
"""
REDEEM = "select * from change_email($1, $2)"


class SqlEmailChanges:
    """The `EmailChanges` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def request(self, login: LoginRecord, email: str) -> bool:
        account_id, who = login.account_id, f"account:{login.account_id}"
        async with self._database.transaction() as connection:
            if await connection.fetchval(AS_IT_WAS, account_id, login.password_changed_at) is None:
                return False
            await connection.execute(CLOSE_EMAIL_CHANGES, account_id)
            await connection.execute(REQUEST, account_id, email)
            await connection.execute(NOTIFY, "email_change_asked", login.email)
            await audit(connection, who, "login.ask_email_change", who, {})
        return True

    async def look(self, token_digest: bytes) -> EmailChange | None:
        row = await self._database.row(LOOK, token_digest)
        return None if row is None else EmailChange(row["account_id"], row["email"])

    async def redeem(self, token_digest: bytes, person: bytes, *, keep_session_id: int | None) -> EmailChanged:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(REDEEM, token_digest, person)
            became = EmailChanged(row["verdict"])
            if became is EmailChanged.CHANGED:
                who = f"account:{row['account']}"
                ended = len(await connection.fetch(REVOKE_ALL, row["account"], keep_session_id))
                await connection.execute(NOTIFY, "email_changed", row["former"])
                await audit(connection, who, "login.change_email", who, {"sessions": ended})
        return became
