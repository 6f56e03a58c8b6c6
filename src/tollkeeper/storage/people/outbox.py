"""The outbox in PostgreSQL: each mail is claimed by one worker, and its token is made as it is claimed.

Rules of this file
1. A claim is a promise to send within two minutes; then, and after each further attempt twice as long, it is due again.
2. Who is behind an e-mail is found out here, where nobody waits for the answer.
3. Mails that could not be sent for a day are given up.
4. The claim is committed before anything is made of it: a mail that cannot be written has had its attempt.
5. Notices, of which there may be very many at once, wait for mails that somebody waits for.
"""

from collections.abc import Callable, Mapping, Sequence

import asyncpg
import msgspec

from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_change import in_usd
from tollkeeper.core.money.prices import millionths
from tollkeeper.core.people.logins import mint_token, token_digest
from tollkeeper.core.people.mails import MailKind
from tollkeeper.ports.people import ClaimedMail, Letter
from tollkeeper.storage.postgres.database import Database

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
MAILS_WAITING = """
select count(*)::int as mails, coalesce(extract(epoch from ledger_now() - min(made_at)), 0)::float8 as oldest_seconds
from outbox where sent_at is null and given_up_at is null
"""
READ = """
select o.id, o.kind, o.email, o.sign_up_id, o.email_change_id, o.figures,
       (select account_id from login l where l.email = o.email) as account_id
from outbox o where o.id = $1
"""
# The model that a mail names, perhaps with a variant behind it, and the reader's group.
PRICED = """
select m.id, m.kind, g.multiplier
from model m, account a join account_group g on g.name = a.group_name
where a.id = $1 and ($2 = m.id or starts_with($2, m.id || ' (')) order by length(m.id) desc limit 1
"""
VERIFY = """
insert into mail_token (digest, purpose, sign_up_id, expires_at)
select $1, 'verify', id, expires_at from sign_up where id = $2 returning digest
"""
RESET = """
insert into mail_token (digest, purpose, account_id, expires_at)
values ($1, 'reset', $2, ledger_now() + interval '1 hour') returning digest
"""
EMAIL_CHANGE = """
insert into mail_token (digest, purpose, email_change_id, expires_at)
select $1, 'email_change', id, expires_at from email_change
where id = $2 and closed_at is null and expires_at > ledger_now() returning digest
"""
# Of mails with a link: how its token is filed, and for which row.
LINKS: Mapping[MailKind, tuple[str, str]] = {
    MailKind.VERIFY: (VERIFY, "sign_up_id"),
    MailKind.RESET: (RESET, "account_id"),
    MailKind.EMAIL_CHANGE: (EMAIL_CHANGE, "email_change_id"),
}
# What is said of an e-mail that had, or wants, a login, by whether one has it now.
BY_LOGIN: Mapping[str, tuple[MailKind, MailKind]] = {
    "sign_up": (MailKind.VERIFY, MailKind.ALREADY_HERE),
    "email_change": (MailKind.EMAIL_CHANGE, MailKind.EMAIL_TAKEN),
    "email_changed": (MailKind.EMAIL_CHANGED, MailKind.EMAIL_CHANGED),
}
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


async def mails_waiting(database: Database) -> tuple[int, float]:
    """How many, and for how many seconds the oldest of them. Raise StoreUnavailable."""
    row = await database.row(MAILS_WAITING)
    return row["mails"], row["oldest_seconds"]


class SqlOutbox:
    """The `Outbox` port."""

    def __init__(self, database: Database, choose: Callable[[str], str]) -> None:
        self._database = database
        self._choose = choose

    async def claim(self) -> Sequence[ClaimedMail]:
        return [ClaimedMail(row["id"], row["attempts"]) for row in await self._database.rows(CLAIM, AT_ONCE_MOST)]

    async def letter(self, claim: ClaimedMail) -> Letter | None:
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
        kind, token = _kind(row), mint_token(self._choose)
        if kind is None or not await _file_link(connection, kind, row, token):
            await connection.execute(GIVE_UP, row["id"])
            return None
        figures = None if row["figures"] is None else decode_figures(row["figures"])
        if kind is MailKind.PRICE_CHANGE and figures is not None:
            figures |= {"usd": await _in_usd(connection, row["account_id"], figures)}
        return Letter(email=row["email"], kind=kind, token=token, figures=figures)


async def _in_usd(connection: asyncpg.Connection, account_id: int, figures: Mapping[str, str | int]) -> str:
    """What the reader pays before and after a change; empty where the model is not known."""
    row = await connection.fetchrow(PRICED, account_id, figures["model"])
    if row is None:
        return ""
    return in_usd(Kind(row["kind"]), millionths(row["multiplier"]), row["id"], figures)


def _kind(row: asyncpg.Record) -> MailKind | None:
    """What is to be said; nothing to somebody who has no login and asked for none."""
    has_login = row["account_id"] is not None
    if row["kind"] in BY_LOGIN:
        return BY_LOGIN[row["kind"]][has_login]
    return MailKind(row["kind"]) if has_login else None


async def _file_link(connection: asyncpg.Connection, kind: MailKind, row: asyncpg.Record, token: str) -> bool:
    """Whether what the link is for is still wanted; true where the mail has none."""
    if kind not in LINKS:
        return True
    file, column = LINKS[kind]
    return await connection.fetchval(file, token_digest(token), row[column]) is not None
