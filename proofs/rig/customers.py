"""Customers: accounts with quota and keys, one by one through the operator's own desks, or many at once by SQL.

Where each call has a key of its own, the books tell calls apart whatever their callers saw of them.
"""

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal

import asyncpg
import msgspec

from proofs.rig.database import QUOTA_EACH, connect
from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.core.keys import Peppers, hint, mint
from tollkeeper.core.money.amounts import quota_from_usd
from tollkeeper.office.desks import Office
from tollkeeper.ports import Credit
from tollkeeper.settings import keys_by_version

ACTOR = "proof"
# The simulator's, where nothing else is said.
PROVIDER_KEY = "sk-simulated"
KEYS_OF_ACCOUNT = 20

FILL = """
insert into account (name) select 'account ' || n from generate_series(1, $1::int) n;
insert into lot (account_id, granted, remaining, source, source_id, term, expires_at)
    select id, $1::bigint, $1::bigint, 'operator', id::text, interval '9 months', now() + interval '9 months'
    from account;
"""


class Customer(msgspec.Struct, frozen=True):
    key_id: int
    key: str


async def an_account(desk: Office, name: str, usd: Decimal, *, group: str = "standard") -> int:
    account_id = await desk.accounts.create(name, group, actor=ACTOR)
    credit = Credit(
        account_id=account_id, amount=quota_from_usd(usd), source="operator", source_id=f"for {name}", months=9
    )
    await desk.accounts.credit(credit, actor=ACTOR)
    return account_id


async def a_key(desk: Office, account_id: int, name: str = "key") -> Customer:
    issued = await create_key(KeyWish(account_id=account_id, name=name), desk.key_maker, desk.keys, actor=ACTOR)
    return Customer(issued.key_id, issued.key)


async def fill_customers(settings: Mapping[str, str], customers: int, chance: random.Random) -> list[Customer]:
    """So many keys, several to an account, each account with more quota than it can use."""
    accounts, lots = (statement for statement in FILL.split(";") if statement.strip())
    connection = await connect(settings["TOLLKEEPER_DATABASE_URL"])
    try:
        await connection.execute(accounts, -(-customers // KEYS_OF_ACCOUNT))
        await connection.execute(lots, QUOTA_EACH)
        account_ids = [row["id"] for row in await connection.fetch("select id from account")]
        owners = [account_ids[number // KEYS_OF_ACCOUNT] for number in range(customers)]
        return await fill_keys(connection, settings, owners, chance)
    finally:
        await connection.close()


async def fill_keys(
    connection: asyncpg.Connection, settings: Mapping[str, str], owners: Sequence[int], chance: random.Random
) -> list[Customer]:
    """A key for each of these accounts, in order; an account that is named twice has two."""
    peppers = Peppers(keys_by_version(settings["TOLLKEEPER_PEPPERS"], least_bytes=32))
    keys = [mint("a", chance.choice) for _ in owners]
    digests = [peppers.digest(key, 1) for key in keys]
    records = [(owner, "key", 1, digest, hint(key)) for owner, key, digest in zip(owners, keys, digests, strict=True)]
    columns = ["account_id", "name", "pepper_version", "digest", "hint"]
    await connection.copy_records_to_table("api_key", records=records, columns=columns)
    await connection.execute("vacuum analyze")
    ids = {row["digest"]: row["id"] for row in await connection.fetch("select id, digest from api_key")}
    return [Customer(ids[digest], key) for key, digest in zip(keys, digests, strict=True)]
