"""The ground that all sites of the proof stand on: one PostgreSQL, one provider, and customers in each database."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from decimal import Decimal

import asyncpg
import msgspec

from tollkeeper.accounts.keys import KeyWish, create_key
from tollkeeper.app import Office, office
from tollkeeper.core.catalog import Kind
from tollkeeper.core.money import quota_from_usd
from tollkeeper.ports import Credit, NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tollkeeper.storage.schema import migrate
from tools.proofs.limits_rig.line import MODEL
from tools.proofs.sdks.casting import ACTOR, PROVIDER_KEY
from tools.run import command
from tools.services import Postgres
from tools.simulator import Simulator

# Every worker process of every site has its pools.
CONNECTIONS = {"max_connections": "500"}
TEMPLATE = "with a schema"
USD_EACH = Decimal(10_000)
PRICE = NewPrice(model=Decimal("1.25"), completion=Decimal(4))


class Key(msgspec.Struct, frozen=True):
    key_id: int
    text: str


class Customer(msgspec.Struct, frozen=True):
    account_id: int
    keys: list[Key]

    @property
    def key(self) -> Key:
        return self.keys[0]


class Wish(msgspec.Struct, frozen=True):
    """A customer that a site is to have."""

    keys: int = 1
    group: str = "standard"


class Ground:
    def __init__(self, stack: ExitStack) -> None:
        self._postgres = stack.enter_context(Postgres(settings=CONNECTIONS))
        self.upstream = stack.enter_context(Simulator(key=PROVIDER_KEY)).base
        asyncio.run(self._create(TEMPLATE))
        migrate(self._postgres.database_url(TEMPLATE))

    def database(self, name: str) -> str:
        """The address of a new database with the newest schema."""
        asyncio.run(self._create(name, f'template "{TEMPLATE}"'))
        return self._postgres.database_url(name)

    async def _create(self, name: str, how: str = "") -> None:
        connection = await asyncpg.connect(self._postgres.url)
        try:
            await connection.execute(f'create database "{name}" {how}')
        finally:
            await connection.close()


def furnish(
    settings: Mapping[str, str],
    upstream: str,
    wishes: Mapping[str, Wish],
    groups: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Customer]:
    """A model, a provider account and customers, by name. `groups`: options of `group add`, by name."""
    for name, options in (groups or {}).items():
        command(dict(settings), "group", "add", name, *options)
    return asyncio.run(_furnish(settings, upstream, wishes))


async def _furnish(settings: Mapping[str, str], upstream: str, wishes: Mapping[str, Wish]) -> dict[str, Customer]:
    async with office(load(settings)) as desk:
        await desk.catalog.add_model(NewModel(id=MODEL, kind=Kind.CHAT, price=PRICE), actor=ACTOR)
        provider = NewProviderAccount(name="simulator", vendor="openai", base_url=upstream, secret=PROVIDER_KEY)
        await desk.providers.add(provider, actor=ACTOR)
        return {name: await _customer(desk, name, wish) for name, wish in wishes.items()}


async def _customer(desk: Office, name: str, wish: Wish) -> Customer:
    account_id = await desk.accounts.create(name, wish.group, actor=ACTOR)
    amount = quota_from_usd(USD_EACH)
    credit = Credit(account_id=account_id, amount=amount, source="operator", source_id=f"for {name}", months=9)
    await desk.accounts.credit(credit, actor=ACTOR)
    issued = [
        await create_key(KeyWish(account_id=account_id, name=f"key {number}"), desk.key_maker, desk.keys, actor=ACTOR)
        for number in range(wish.keys)
    ]
    return Customer(account_id, [Key(one.key_id, one.key) for one in issued])
