"""What all sites of the proof share: one PostgreSQL, one provider, and customers in each database."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from decimal import Decimal

import msgspec

from proofs.limits.line import MODEL
from proofs.rig.customers import ACTOR, PROVIDER_KEY, a_key, an_account
from proofs.rig.database import fresh_database, migrated
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.office.desks import Office
from tollkeeper.ports import NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tools.node import command
from tools.services import Postgres
from tools.simulator import Simulator

# Every worker process of every site has its pools.
CONNECTIONS = {"max_connections": "500"}
TEMPLATE = "with_a_schema"
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


class SharedStores:
    def __init__(self, stack: ExitStack) -> None:
        self._postgres = stack.enter_context(Postgres(settings=CONNECTIONS))
        self.upstream = stack.enter_context(Simulator(key=PROVIDER_KEY)).base
        migrated(asyncio.run(fresh_database(self._postgres.url, TEMPLATE)))

    def database(self, name: str) -> str:
        """The address of a new database with the newest schema."""
        return asyncio.run(fresh_database(self._postgres.url, name, template=TEMPLATE))


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
    account_id = await an_account(desk, name, USD_EACH, group=wish.group)
    issued = [await a_key(desk, account_id, f"key {number}") for number in range(wish.keys)]
    return Customer(account_id, [Key(one.key_id, one.key) for one in issued])
