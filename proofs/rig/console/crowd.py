"""A crowd: many customers, a month of their calls in the log and the books; few call much, many little."""

import secrets
from datetime import UTC, datetime, timedelta

import asyncpg
import msgspec

from proofs.rig.database import connect, fill
from proofs.rig.past_calls import CALLS
from proofs.rig.proof import say
from tollkeeper.core.people.logins import mint_token, token_digest
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.rollups import SqlRollups

DAYS = 30
MODELS = 20
# One of them.
A_MODEL = "m1"
KEYS_OF_THE_MEASURED = 10
DAY = timedelta(days=1)

LOGINS = """
insert into login (account_id, email, person, password, verified_at)
select id, 'customer-' || id || '@example.com', sha256(id::text::bytea), '$argon2id$none', ledger_now() from account
"""
# Every call is in the log and in the books: pages read both.
ROWS = """
with calls as materialized ({calls}), logged as (
    insert into usage (request_id, account_id, key_id, price_id, group_millionths, input_units, cached_units,
                       output_units, held, charged, usage_source, ending, attempts, started_at, settled_at)
    select request_id, account, account, 1 + n % $5, 1000000, 100, 0, 50, 1000000, 300000, 'provider', ending, '[]', at,
           at + interval '1 s'
    from calls)
insert into entry (cause, kind, lot_id, account_id, key_id, amount, at)
select request_id, 'charged', account, account, account, 300000, at from calls
"""
KEYS = """
insert into api_key (account_id, name, pepper_version, digest, hint)
select $1::bigint, 'key ' || n, 1, sha256(gen_random_uuid()::text::bytea), 'sk-a…' from generate_series(2, $2::int) n
"""
SESSION = (
    "insert into session (digest, account_id, expires_at, ip, agent) values ($1, $2, now() + interval '1 day', '', '')"
)
A_CALL = "select request_id from usage where account_id = $1 order by request_id desc limit 1"


class Measured(msgspec.Struct, frozen=True):
    """A customer whose pages are measured."""

    account_id: int
    session: str
    request_id: str
    calls: int


async def gather(url: str, *, rows: int, customers: int) -> list[Measured]:
    """Fill a migrated database; the customers to measure: who calls most, much, and seldom."""
    await fill(url, customers)
    connection = await connect(url)
    try:
        await connection.execute(LOGINS)
        await connection.execute(
            "insert into model (id, kind) select 'm' || n, 'chat' from generate_series(1, $1) n", MODELS
        )
        await connection.execute(
            "insert into price (model_id, model_multiplier) select 'm' || n, 1 from generate_series(1, $1) n", MODELS
        )
        await _call(connection, rows, customers)
        await _add_up(url)
        await connection.execute("vacuum analyze")
        return [await _measured(connection, account_id) for account_id in (1, 2, customers // 20)]
    finally:
        await connection.close()


async def _call(connection: asyncpg.Connection, rows: int, customers: int) -> None:
    now = datetime.now(UTC)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for number in range(DAYS, -1, -1):
        day = today - number * DAY
        await connection.execute("select make_partition('usage', $1, $2)", day, day + DAY)
        until = min(day + DAY, now) - timedelta(seconds=1)
        await connection.execute(ROWS.format(calls=CALLS), day, until, rows // (DAYS + 1), customers, MODELS)
        if number % 10 == 0:
            say(f"{rows // (DAYS + 1) * (DAYS + 1 - number):,} of {rows:,} calls are in the log")


async def _add_up(url: str) -> None:
    """As the job does beside the calls."""
    worker = Database(url, DatabaseRole.WORKER, connections=2, patience_seconds=600)
    await worker.open()
    try:
        await roll_up_usage(SqlRollups(worker))
    finally:
        await worker.close()


async def _measured(connection: asyncpg.Connection, account_id: int) -> Measured:
    token = mint_token(secrets.choice)
    await connection.execute(SESSION, token_digest(token), account_id)
    await connection.execute(KEYS, account_id, KEYS_OF_THE_MEASURED)
    calls = await connection.fetchval("select count(*) from usage where account_id = $1", account_id)
    return Measured(account_id, token, str(await connection.fetchval(A_CALL, account_id)), calls)
