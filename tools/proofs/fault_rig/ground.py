"""The ground: stores, a schema, models, provider accounts, and a customer for every call of the proof.

Each call has a key of its own, so that the books tell calls apart whatever their callers saw of them.
"""

import asyncio
import random
from collections.abc import Mapping

import msgspec

from tollkeeper.core.keys import Peppers, hint, mint
from tollkeeper.settings import keys_by_version
from tools.accounts import add_accounts, without_limits
from tools.proofs.ledger_rig.ground import QUOTA_EACH, connect
from tools.run import command

MODEL = "gpt-4o"
# Its thoughts are charged, and known only from the report at the end.
THINKER = "o-thinker"
PROVIDER_KEY = "sk-simulated"
KEYS_OF_ACCOUNT = 20

FILL = """
insert into account (name) select 'account ' || n from generate_series(1, $1::int) n;
insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
    select id, $1::bigint, $1::bigint, 'operator', id::text, interval '9 months', now() + interval '9 months'
    from account;
"""


# So many that faults, which are most calls here, do not take them all out.
ACCOUNTS = 1_000


class Customer(msgspec.Struct, frozen=True):
    key_id: int
    key: str


def furnish(settings: Mapping[str, str], upstream: str, customers: int, chance: random.Random) -> list[Customer]:
    """Everything the node needs before it starts."""
    given = dict(settings)
    command(given, "migrate")
    asyncio.run(without_limits(settings["TOLLKEEPER_DATABASE_URL"]))
    priced = ("--multiplier", "1.25", "--completion", "4")
    command(given, "model", "add", MODEL, *priced)
    command(given, "model", "add", THINKER, *priced, "--hidden-reasoning")
    asyncio.run(add_accounts(given, upstream, PROVIDER_KEY, ACCOUNTS))
    return asyncio.run(fill_customers(settings, customers, chance))


async def fill_customers(settings: Mapping[str, str], customers: int, chance: random.Random) -> list[Customer]:
    """So many keys, several to an account, each account with more quota than it can use."""
    peppers = Peppers(keys_by_version(settings["TOLLKEEPER_PEPPERS"], least_bytes=32))
    keys = [mint("a", chance.choice) for _ in range(customers)]
    digests = [peppers.digest(key, 1) for key in keys]
    accounts, lots = (statement for statement in FILL.split(";") if statement.strip())
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        await connection.execute(accounts, -(-customers // KEYS_OF_ACCOUNT))
        await connection.execute(lots, QUOTA_EACH)
        account_ids = [row["id"] for row in await connection.fetch("select id from account")]
        records = [
            (account_ids[number // KEYS_OF_ACCOUNT], "key", 1, digest, hint(key))
            for number, (key, digest) in enumerate(zip(keys, digests, strict=True))
        ]
        columns = ["account_id", "name", "pepper_version", "digest", "hint"]
        await connection.copy_records_to_table("api_key", records=records, columns=columns)
        await connection.execute("vacuum analyze")
        ids = {row["digest"]: row["id"] for row in await connection.fetch("select id, digest from api_key")}
    finally:
        await connection.close()
    return [Customer(ids[digest], key) for key, digest in zip(keys, digests, strict=True)]
