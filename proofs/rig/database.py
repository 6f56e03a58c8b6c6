"""Databases for proofs: fresh and migrated, and filled by SQL with accounts, keys, quota and one price."""

from datetime import UTC, datetime

import asyncpg

from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate
from tollkeeper.storage.postgres.schema import migrate

QUOTA_EACH = 10**17

FILL = """
insert into account (name) select 'account ' || n from generate_series(1, $1::int) n;
insert into api_key (account_id, name, pepper_version, digest, hint)
    select n, 'key', 1, sha256(n::text::bytea), 'sk-a…' from generate_series(1, $1::int) n;
insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
    select n, $2::bigint, $2::bigint, 'operator', n::text, interval '9 months', now() + interval '9 months'
    from generate_series(1, $1::int) n;
insert into model (id, kind) values ('gpt-4o', 'chat');
insert into price (model_id, model_multiplier, completion_multiplier) values ('gpt-4o', 1.25, 4);
"""


def a_rate() -> Rate:
    """The price that `fill` enters."""
    price = Price(
        id=1,
        model_id="gpt-4o",
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
        model=1_250_000,
        completion=4 * MILLIONTHS,
        cached=MILLIONTHS,
    )
    return Rate(price, MILLIONTHS)


def exact_charge(input_tokens: int, output_tokens: int) -> int:
    """What such a call costs, reckoned without the product: 1.25 × (input + 4 × output) quota tokens."""
    return 1_250_000 * (input_tokens + 4 * output_tokens)


async def connect(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(url, server_settings={"search_path": "tollkeeper"})


async def fill(url: str, accounts: int, quota_each: int = QUOTA_EACH) -> None:
    connection = await connect(url)
    try:
        for statement in FILL.split(";"):
            if statement.strip():
                values = [accounts, quota_each][: statement.count("$1") and 1 + ("$2" in statement)]
                await connection.execute(statement, *values)
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


async def fresh_database(cluster_url: str, name: str, *, template: str = "template1") -> str:
    connection = await asyncpg.connect(cluster_url)
    try:
        await connection.execute(f'create database "{name}" template "{template}"')
    finally:
        await connection.close()
    return cluster_url.rpartition("/")[0] + f"/{name}"


def migrated(url: str) -> str:
    migrate(url)
    return url
