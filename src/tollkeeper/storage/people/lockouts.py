"""Lockouts in PostgreSQL: read, judged by `core.lockout` and written in one transaction, so that attempts made at once
are counted one after the other.

Rules of this file
1. Subjects and e-mails are kept as digests under the pepper in use: whoever reads the table cannot try e-mails on it.
   With another pepper the count begins anew.
2. A lock that begins or ends early is logged by its kind and its account, never by an e-mail or an IP.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import asyncpg

from tollkeeper.core.keys import Peppers
from tollkeeper.core.people.lockout import OF_ACCOUNTS, Attempts, Rule, Subject, count, is_locked, take_back
from tollkeeper.core.people.logins import TooManyAttempts
from tollkeeper.ports.people import LoginRecord
from tollkeeper.storage.postgres.audit import audit
from tollkeeper.storage.postgres.database import Database

ENTER = """
insert into lockout (kind, subject, email) select * from unnest($1::text[], $2::bytea[], $3::bytea[])
on conflict do nothing
"""
# In one order, so that two who try the same things never wait for each other in a circle.
READ = """
select l.kind, l.subject, failures, window_start, locked_until, locks, ledger_now() as now
from lockout l join unnest($1::text[], $2::bytea[]) asked (kind, subject) using (kind, subject)
order by kind, subject for update of l
"""
WRITE = """
update lockout set failures = $3, window_start = $4, locked_until = $5, locks = $6 where kind = $1 and subject = $2
"""
FORGET = """
delete from lockout l using unnest($1::text[], $2::bytea[]) gone (kind, subject)
where l.kind = gone.kind and l.subject = gone.subject
"""
SIGN_INS = "select kind, subject from lockout where email = any ($1) and starts_with(kind, 'sign_in_')"
# The last is how the function that redeems names an account.
AIMED_AT = """
select kind, subject from lockout
where email = any ($1) or (kind = any ($2) and subject = any ($3))
   or (kind = 'redeem_account' and subject = sha256(convert_to($4, 'UTF8')))
"""
WHOSE = "select account_id from login where email = $1"

log = logging.getLogger(__name__)

# What a row is found by.
LockoutKey = tuple[str, bytes]
Places = Mapping[LockoutKey, Subject]
Known = dict[LockoutKey, tuple[Attempts, datetime]]


class SqlLockouts:
    """The `Lockouts` port."""

    def __init__(self, database: Database, peppers: Peppers) -> None:
        self._database = database
        self._peppers = peppers

    async def begin(self, subjects: Sequence[Subject]) -> None:
        places = self._places(subjects)
        emails = [self._digest(subject.email) if subject.email else None for subject in places.values()]
        async with self._database.transaction() as connection:
            await connection.execute(ENTER, *_columns(places), emails)
            known = await _read(connection, places)
            locks = [attempts.locked_until for attempts, now in known.values() if is_locked(attempts, now)]
            if locks:
                raise TooManyAttempts(max(until for until in locks if until is not None))
            await _rewrite(connection, places, known, count)

    async def take_back(self, subjects: Sequence[Subject]) -> None:
        places = self._places(subjects)
        async with self._database.transaction() as connection:
            await _rewrite(connection, places, await _read(connection, places), take_back)

    async def forget(self, subjects: Sequence[Subject]) -> None:
        places = self._places(subjects)
        async with self._database.transaction() as connection:
            # Locked in the order of all; a deletion would choose its own.
            known = await _read(connection, places)
            await connection.execute(FORGET, *_columns(places))
            for place in _locked(known):
                await _log_change(connection, places[place], "ended")

    async def let_in(self, email: str) -> None:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(SIGN_INS, self._peppers.digests(_written(email)))
            for kind, _ in await _forget_found(connection, rows):
                await _log_change(connection, Subject.of_email(kind, email), "ended")

    async def clear(self, login: LoginRecord, *, actor: str) -> int:
        emails = self._peppers.digests(_written(login.email))
        account_id = str(login.account_id)
        accounts = self._peppers.digests(_written(account_id))
        async with self._database.transaction() as connection:
            rows = await connection.fetch(AIMED_AT, emails, list(OF_ACCOUNTS), accounts, account_id)
            ended = sorted(kind for kind, _ in await _forget_found(connection, rows))
            await audit(connection, actor, "login.unlock", f"account:{account_id}", {"locks": ended})
        return len(ended)

    def _places(self, subjects: Sequence[Subject]) -> Places:
        found = {(subject.kind, self._digest(subject.of)): subject for subject in subjects}
        return dict(sorted(found.items(), key=lambda item: item[0]))

    def _digest(self, text: str) -> bytes:
        return self._peppers.digest(_written(text), self._peppers.in_use)


def _written(text: str) -> str:
    """Unlike anything else that is digested under these peppers."""
    return f"lockout {text}"


async def _read(connection: asyncpg.Connection, places: Sequence[LockoutKey] | Places) -> Known:
    rows = await connection.fetch(READ, *_columns(places))
    return {(row["kind"], row["subject"]): (_attempts(row), row["now"]) for row in rows}


async def _forget_found(connection: asyncpg.Connection, rows: Sequence[asyncpg.Record]) -> list[LockoutKey]:
    """Forget the attempts in these rows. The keys that were locked."""
    places = [(row["kind"], row["subject"]) for row in rows]
    known = await _read(connection, places)
    await connection.execute(FORGET, *_columns(places))
    return _locked(known)


async def _rewrite(
    connection: asyncpg.Connection,
    places: Places,
    known: Known,
    judge: Callable[[Attempts, Rule, datetime], Attempts],
) -> None:
    for place, (attempts, now) in known.items():
        after = judge(attempts, places[place].rule, now)
        await connection.execute(WRITE, *place, after.failures, after.window_start, after.locked_until, after.locks)
        if is_locked(after, now) != is_locked(attempts, now):
            await _log_change(connection, places[place], "begins" if is_locked(after, now) else "ended")


async def _log_change(connection: asyncpg.Connection, subject: Subject, what: str) -> None:
    account_id = subject.of if subject.kind in OF_ACCOUNTS else await connection.fetchval(WHOSE, subject.email)
    log.warning("lock %s: %s, account %s", what, subject.kind, account_id or "unknown")


def _locked(known: Known) -> list[LockoutKey]:
    return [place for place, (attempts, now) in known.items() if is_locked(attempts, now)]


def _columns(places: Sequence[LockoutKey] | Places) -> tuple[list[str], list[bytes]]:
    return [kind for kind, _ in places], [subject for _, subject in places]


def _attempts(row: asyncpg.Record) -> Attempts:
    return Attempts(
        failures=row["failures"],
        window_start=row["window_start"],
        locked_until=row["locked_until"],
        locks=row["locks"],
    )
