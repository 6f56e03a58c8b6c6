"""The outbox in PostgreSQL: each mail is claimed by one worker, and its token is made as it is claimed.

Rules of this file
1. A claim is a promise to send within two minutes; then, and after each further attempt twice as long, it is due again.
2. Who is behind an e-mail is found out here, where nobody waits for the answer.
3. Mails that could not be sent for a day are given up.
4. The claim is committed before anything is made of it: a mail that cannot be written has had its attempt.
5. Notices, of which there may be very many at once, wait for mails that somebody waits for.
"""

from collections.abc import Callable, Sequence

import asyncpg
import msgspec

from tollkeeper.core.logins import mint_token, token_digest
from tollkeeper.core.mails import MailKind
from tollkeeper.ports.logins import Claim, Letter
from tollkeeper.storage.database import Database

AT_ONCE_MOST = 10

CLAIM = """
with due as materialized (
    select id from outbox where sent_at is null and given_up_at is null and next_try_at <= ledger_now()
    order by (figures is not null), next_try_at limit $1 for update skip locked)
update outbox o
set attempts = attempts + 1, next_try_at = ledger_now() + least(interval '2 minutes' * 2 ^ attempts, interval '1 hour')
from due where o.id = due.id
returning o.id, o.attempts
"""
READ = """
select o.id, o.kind, o.email, o.sign_up_id, o.figures,
       (select account_id from login l where l.email = o.email) as account_id
from outbox o where o.id = $1
"""
VERIFY = """
insert into mail_token (digest, purpose, sign_up_id, expires_at)
select $1, 'verify', id, expires_at from sign_up where id = $2
"""
RESET = """
insert into mail_token (digest, purpose, account_id, expires_at)
values ($1, 'reset', $2, ledger_now() + interval '1 hour')
"""
SENT = "update outbox set sent_at = ledger_now() where id = $1"
GIVE_UP = "update outbox set given_up_at = ledger_now() where id = $1"
GIVE_UP_OLD = """
update outbox set given_up_at = ledger_now()
where sent_at is null and given_up_at is null and next_try_at <= ledger_now()
  and made_at < ledger_now() - interval '24 hours'
returning id
"""
WAITING = "select count(*) from outbox where sent_at is null and given_up_at is null"

decode_figures = msgspec.json.Decoder(dict[str, str | int]).decode


class SqlOutbox:
    """The `Outbox` port."""

    def __init__(self, database: Database, choose: Callable[[str], str]) -> None:
        self._database = database
        self._choose = choose

    async def claim(self) -> Sequence[Claim]:
        return [Claim(row["id"], row["attempts"]) for row in await self._database.rows(CLAIM, AT_ONCE_MOST)]

    async def letter(self, claim: Claim) -> Letter | None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(READ, claim.outbox_id)
            return None if row is None else await self._letter(connection, row)

    async def sent(self, outbox_id: int) -> None:
        await self._database.row(SENT, outbox_id)

    async def give_up(self, outbox_id: int) -> None:
        await self._database.row(GIVE_UP, outbox_id)

    async def give_up_old(self) -> int:
        return len(await self._database.rows(GIVE_UP_OLD))

    async def waiting(self) -> int:
        row = await self._database.row(WAITING)
        return int(row[0])

    async def _letter(self, connection: asyncpg.Connection, row: asyncpg.Record) -> Letter | None:
        kind, account_id = _kind(row), row["account_id"]
        if kind is None:
            await connection.execute(GIVE_UP, row["id"])
            return None
        token = mint_token(self._choose)
        if kind is MailKind.VERIFY:
            await connection.execute(VERIFY, token_digest(token), row["sign_up_id"])
        if kind is MailKind.RESET:
            await connection.execute(RESET, token_digest(token), account_id)
        figures = None if row["figures"] is None else decode_figures(row["figures"])
        return Letter(email=row["email"], kind=kind, token=token, figures=figures)


def _kind(row: asyncpg.Record) -> MailKind | None:
    """What is to be said; nothing to somebody who has no login and did not sign up."""
    if row["kind"] == "sign_up":
        return MailKind.VERIFY if row["account_id"] is None else MailKind.ALREADY_HERE
    return None if row["account_id"] is None else MailKind(row["kind"])
