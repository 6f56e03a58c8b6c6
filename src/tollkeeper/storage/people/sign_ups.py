"""Sign-ups in PostgreSQL, from the request to the account."""

import asyncpg

from tollkeeper.core.people.faucet import person_digest
from tollkeeper.ports import AlreadyOnFile
from tollkeeper.ports.people import FiledSignUp, Opening, SignUpRequest
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

REQUEST = """
with asked as (
    insert into sign_up (email, name, gift_code, expires_at)
    values ($1, $2, $3, ledger_now() + interval '24 hours') returning id, email)
insert into outbox (kind, email, sign_up_id) select 'sign_up', email, id from asked
"""
LOOK = """
select s.email, s.name, s.gift_code,
       t.used_at is not null or exists (select from login l where l.email = s.email) as account_there
from mail_token t join sign_up s on s.id = t.sign_up_id
where t.digest = $1 and t.purpose = 'verify' and t.expires_at > ledger_now()
"""
# Locked: a link may be followed twice at once, and a request may have several.
FOLLOW = """
select s.id, s.email, s.name, s.account_id
from mail_token t join sign_up s on s.id = t.sign_up_id
where t.digest = $1 and t.purpose = 'verify' and t.expires_at > ledger_now()
for update of s
"""
CLOSE = "update sign_up set account_id = $2 where id = $1"
USE = "update mail_token set used_at = ledger_now() where sign_up_id = $1 and used_at is null"
ACCOUNT = "insert into account (name) values ($1) returning id"
LOGIN = "insert into login (account_id, email, person, password, verified_at) values ($1, $2, $3, $4, ledger_now())"
ACCEPT_INVITATION = "select accept_invitation($1, $2, $3)"

ON_FILE = "This e-mail has an account already."


class SqlSignUps:
    """The `SignUps` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def request(self, request: SignUpRequest) -> None:
        await self._database.row(REQUEST, request.email, request.name, request.gift_code)

    async def look(self, token_digest: bytes) -> FiledSignUp | None:
        row = await self._database.row(LOOK, token_digest)
        if row is None:
            return None
        request = SignUpRequest(email=row["email"], name=row["name"], gift_code=row["gift_code"])
        return FiledSignUp(request, row["account_there"])

    async def open(self, opening: Opening) -> int | None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(FOLLOW, opening.token_digest)
            if row is None:
                return None
            if row["account_id"] is not None:
                raise AlreadyOnFile(ON_FILE)
            account_id = await _open_account(connection, row["name"], row["email"], opening.password_hash)
            await connection.execute(CLOSE, row["id"], account_id)
            await connection.execute(USE, row["id"])
            subject, invited = f"account:{account_id}", False
            if opening.gift_code is not None:
                invited = await connection.fetchval(ACCEPT_INVITATION, account_id, opening.gift_code, subject)
            detail = {"by": "sign-up", "sign_up": row["id"], "invited": invited}
            await audit(connection, subject, "login.open", subject, detail)
        return account_id

    async def open_at_once(self, request: SignUpRequest, password_hash: str, *, actor: str) -> int:
        async with self._database.transaction() as connection:
            account_id = await _open_account(connection, request.name, request.email, password_hash)
            await audit(connection, actor, "login.open", f"account:{account_id}", {"by": "operator"})
        return account_id


async def _open_account(connection: asyncpg.Connection, name: str, email: str, password_hash: str) -> int:
    account_id: int = await connection.fetchval(ACCOUNT, name)
    try:
        await connection.execute(LOGIN, account_id, email, person_digest(email), password_hash)
    except asyncpg.UniqueViolationError:
        raise AlreadyOnFile(ON_FILE) from None
    return account_id
