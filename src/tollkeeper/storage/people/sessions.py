"""Sessions in PostgreSQL, each under the digest of its token."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg

from tollkeeper.core.people.familiar import SignInPlace, is_news
from tollkeeper.core.people.logins import Role, SessionRecord, SessionStanding, standing
from tollkeeper.ports.people import NewSession, PasskeyUse
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

# A session that is used all the time is written that often.
SEEN_EVERY = timedelta(seconds=60)
LISTED_MOST = 100

SESSION = """
select s.id, s.account_id, l.role, s.created_at, s.last_seen_at, s.expires_at, s.ip, s.agent, s.second_factor_at,
       s.revoked_at, l.totp_confirmed_at is not null as has_second_factor,
       a.disabled_at is not null as account_disabled, ledger_now() as now
from session s join login l on l.account_id = s.account_id join account a on a.id = s.account_id
"""
BY_DIGEST = SESSION + "where s.digest = $1"
BY_ACCOUNT = SESSION + (
    "where s.account_id = $1 and s.revoked_at is null and s.expires_at > ledger_now() order by s.id desc limit $2"
)
# The lock lets whoever changes the login or disables the account meanwhile come before, and be seen, or after, and see
# this session.
OPEN = """
insert into session (account_id, digest, expires_at, ip, agent, second_factor_at)
select l.account_id, $2, ledger_now() + $3::interval, $4, $5,
       case when l.totp_confirmed_at is not null then ledger_now() end
from login l join account a on a.id = l.account_id
where l.account_id = $1 and l.password_changed_at = $6 and l.role = $7 and (l.totp_confirmed_at is not null) = $8
  and a.disabled_at is null
for share
returning id
"""
# Locks the passkey: whoever removes it comes before, and there is no session, or after, and ends this one.
USE_PASSKEY = """
update passkey set sign_count = $3, last_used_at = ledger_now()
where id = $1 and account_id = $2 and (sign_count < $3 or (sign_count = 0 and $3 = 0)) returning id
"""
BEFORE = """
select distinct ip, agent from session where account_id = $1 and id < $2 order by ip, agent limit 500
"""
TELL_OF = """
insert into outbox (kind, email, figures)
select 'new_sign_in', l.email,
       jsonb_build_object('at', to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'ip', $2::text)
from session s join login l using (account_id) left join notice_choice c using (account_id)
where s.id = $1 and coalesce(c.new_sign_in, true)
"""
SEEN = "update session set last_seen_at = ledger_now() where id = $1"
REVOKE = """
update session set revoked_at = ledger_now()
where account_id = $1 and id = $2 and revoked_at is null and expires_at > ledger_now() returning id
"""
REVOKE_ALL = """
update session set revoked_at = ledger_now()
where account_id = $1 and id is distinct from $2 and revoked_at is null and expires_at > ledger_now() returning id
"""


class SqlSessions:
    """The `Sessions` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, session: NewSession) -> int | None:
        login = session.login
        who, as_it_was = (
            f"account:{login.account_id}",
            (login.password_changed_at, login.role.value, login.second_factor),
        )
        values = (login.account_id, session.digest, session.lasts, session.ip, session.agent, *as_it_was)
        async with self._database.transaction() as connection:
            if session.passkey is not None and not await _use(connection, session.passkey, login.account_id):
                return None
            session_id: int | None = await connection.fetchval(OPEN, *values)
            if session_id is not None:
                await _tell_if_new(connection, session_id, session)
            if session_id is not None and login.role.is_staff:
                detail = {"session": session_id, "role": login.role.value, "ip": session.ip}
                await audit(connection, who, "login.sign_in", who, detail)
        return session_id

    async def find(self, digest: bytes) -> tuple[SessionRecord, datetime] | None:
        row = await self._database.row(BY_DIGEST, digest)
        if row is None:
            return None
        session, now = _record(row), row["now"]
        if now - session.last_seen_at >= SEEN_EVERY and standing(session, now) is not SessionStanding.OVER:
            await self._database.row(SEEN, session.session_id)
        return session, now

    async def of(self, account_id: int) -> tuple[Sequence[SessionRecord], datetime]:
        async with self._database.session() as connection:
            rows = await connection.fetch(BY_ACCOUNT, account_id, LISTED_MOST)
            return [_record(row) for row in rows], await connection.fetchval("select ledger_now()")

    async def revoke(self, account_id: int, session_id: int, *, actor: str) -> bool:
        async with self._database.transaction() as connection:
            revoked = await connection.fetchval(REVOKE, account_id, session_id) is not None
            if revoked:
                detail = {"session": session_id}
                await audit(connection, actor, "login.revoke_session", f"account:{account_id}", detail)
        return revoked

    async def revoke_all(self, account_id: int, *, keep_session_id: int | None, actor: str) -> int:
        async with self._database.transaction() as connection:
            revoked = len(await connection.fetch(REVOKE_ALL, account_id, keep_session_id))
            if revoked:
                detail = {"sessions": revoked}
                await audit(connection, actor, "login.revoke_sessions", f"account:{account_id}", detail)
        return revoked


async def _use(connection: asyncpg.Connection, passkey: PasskeyUse, account_id: int) -> bool:
    given = (passkey.passkey_id, account_id, passkey.sign_count)
    return await connection.fetchval(USE_PASSKEY, *given) is not None


async def _tell_if_new(connection: asyncpg.Connection, session_id: int, session: NewSession) -> None:
    login = session.login
    before = [
        SignInPlace(row["ip"], row["agent"]) for row in await connection.fetch(BEFORE, login.account_id, session_id)
    ]
    here, now = SignInPlace(session.ip, session.agent), await connection.fetchval("select ledger_now()")
    if is_news(here, before, opened_at=login.created_at, now=now):
        await connection.execute(TELL_OF, session_id, session.ip or "unknown")


def _record(row: asyncpg.Record) -> SessionRecord:
    return SessionRecord(
        session_id=row["id"],
        account_id=row["account_id"],
        role=Role(row["role"]),
        created_at=row["created_at"],
        last_seen_at=row["last_seen_at"],
        expires_at=row["expires_at"],
        ip=row["ip"],
        agent=row["agent"],
        second_factor_at=row["second_factor_at"],
        revoked_at=row["revoked_at"],
        has_second_factor=row["has_second_factor"],
        account_disabled=row["account_disabled"],
    )
