"""Second factors in PostgreSQL: secrets in envelopes, recovery codes as digests, each code used once.

An account's row is locked while a code is judged, so that a code sent twice at once is used once.
"""

import asyncpg

from tollkeeper.core.keys import Peppers
from tollkeeper.core.people.totp import is_of_app, is_recovery, matching_step, plain
from tollkeeper.ports.people import Confirmation
from tollkeeper.storage.envelope import EnvelopeKeys, seal, unseal
from tollkeeper.storage.people.sessions import REVOKE_ALL
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

PROPOSE = """
update login set totp_sealed = $2, totp_last_step = null where account_id = $1 and totp_confirmed_at is null
returning account_id
"""
READ = """
select totp_sealed, totp_confirmed_at, totp_last_step, extract(epoch from ledger_now())::bigint as now_seconds
from login where account_id = $1 for update
"""
# Of the very secret that the code was judged by, and only where none is confirmed: of two at once, one wins.
CONFIRM = """
update login set totp_confirmed_at = ledger_now(), totp_last_step = $3
where account_id = $1 and totp_sealed = $2 and totp_confirmed_at is null returning email
"""
FORGET_CODES = "delete from recovery_code where account_id = $1"
KEEP_CODES = "insert into recovery_code (account_id, digest, pepper_version) select $1, unnest($2::bytea[]), $3"
GO_ON = """
update session set digest = $3, second_factor_at = ledger_now()
where id = $2 and account_id = $1 and revoked_at is null and expires_at > ledger_now() returning id
"""
SPEND_STEP = "update login set totp_last_step = $2 where account_id = $1"
SPEND_CODE = """
update recovery_code set used_at = ledger_now()
where account_id = $1 and digest = any($2) and used_at is null returning digest
"""
TURN_OFF = """
update login set totp_sealed = null, totp_confirmed_at = null, totp_last_step = null
where account_id = $1 and totp_confirmed_at is not null returning email
"""
NOTIFY = "insert into outbox (kind, email) values ($1, $2)"


class SqlSecondFactors:
    """The `SecondFactors` port."""

    def __init__(self, database: Database, envelope_keys: EnvelopeKeys, peppers: Peppers) -> None:
        self._database = database
        self._envelope_keys = envelope_keys
        self._peppers = peppers

    async def propose(self, account_id: int, secret: str) -> bool:
        sealed = seal(secret, self._envelope_keys, sealed_for=sealed_name(account_id))
        return await self._database.row(PROPOSE, account_id, sealed) is not None

    async def confirm(self, confirmation: Confirmation) -> bool:
        account_id = confirmation.account_id
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(READ, account_id)
            if row is None or row["totp_sealed"] is None or row["totp_confirmed_at"] is not None:
                return False
            step = self._step(account_id, row, plain(confirmation.code))
            if step is None:
                return False
            going_on = (account_id, confirmation.session_id, confirmation.token_digest)
            if await connection.fetchval(GO_ON, *going_on) is None:
                # It ended while the code was on its way: whoever has it has nothing to say here any more.
                return False
            email: str = await connection.fetchval(CONFIRM, account_id, row["totp_sealed"], step)
            await connection.execute(FORGET_CODES, account_id)
            codes = list(confirmation.recovery_digests)
            await connection.execute(KEEP_CODES, account_id, codes, self._peppers.in_use)
            await connection.execute(REVOKE_ALL, account_id, confirmation.session_id)
            await connection.execute(NOTIFY, "second_factor_on", email)
            await audit(connection, _owner(account_id), "login.second_factor_on", _owner(account_id), {})
        return True

    async def use(self, account_id: int, code: str) -> bool:
        code = plain(code)
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(READ, account_id)
            if row is None or row["totp_confirmed_at"] is None:
                return False
            if is_recovery(code):
                return await self._use_recovery(connection, account_id, code)
            step = self._step(account_id, row, code)
            if step is not None:
                await connection.execute(SPEND_STEP, account_id, step)
        return step is not None

    async def turn_off(self, account_id: int, *, keep_session_id: int | None, actor: str) -> bool:
        async with self._database.transaction() as connection:
            return await turn_factor_off(connection, account_id, keep_session_id=keep_session_id, actor=actor)

    async def _use_recovery(self, connection: asyncpg.Connection, account_id: int, code: str) -> bool:
        used = await connection.fetchval(SPEND_CODE, account_id, self._peppers.digests(code)) is not None
        if used:
            await audit(connection, _owner(account_id), "login.recovery_code", _owner(account_id), {})
        return used

    def _step(self, account_id: int, row: asyncpg.Record, code: str) -> int | None:
        if not is_of_app(code):
            return None
        secret = unseal(row["totp_sealed"], self._envelope_keys, sealed_for=sealed_name(account_id))
        return matching_step(secret, code, now_seconds=row["now_seconds"], last_step=row["totp_last_step"])


async def turn_factor_off(
    connection: asyncpg.Connection, account_id: int, *, keep_session_id: int | None, actor: str
) -> bool:
    """Within a transaction of the caller's. Whether it was on."""
    email = await connection.fetchval(TURN_OFF, account_id)
    if email is not None:
        await connection.execute(FORGET_CODES, account_id)
        ended = len(await connection.fetch(REVOKE_ALL, account_id, keep_session_id))
        await connection.execute(NOTIFY, "second_factor_off", email)
        await audit(connection, actor, "login.second_factor_off", _owner(account_id), {"sessions": ended})
    return email is not None


def sealed_name(account_id: int) -> str:
    """What the envelope of a second factor is bound to."""
    return f"totp:{account_id}"


def _owner(account_id: int) -> str:
    return f"account:{account_id}"
