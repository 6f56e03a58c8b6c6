"""Models, provider accounts and customers of the pool, entered through the operator's own desks."""

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from proofs.rig.customers import ACTOR, PROVIDER_KEY, Customer, a_key, an_account
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.office.desks import Office
from tollkeeper.ports import NewModel, NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import command

MODEL = "gpt-4o"
USD_EACH = Decimal(1_000)
# The price that `exact_charge` reckons with.
PRICE = NewPrice(model=Decimal("1.25"), completion=Decimal(4))
AT_ONCE = 8

FIRST, USUAL = PoolPlace(tier=1), PoolPlace(tier=2)


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """A provider account. One with a model of its own is asked first for it; the usual ones serve every model."""

    name: str
    base_url: str
    own_model: str | None = None

    def new(self) -> NewProviderAccount:
        return NewProviderAccount(
            name=self.name,
            vendor="openai",
            base_url=self.base_url,
            secret=PROVIDER_KEY,
            place=USUAL if self.own_model is None else FIRST,
            models=None if self.own_model is None else {self.own_model: MODEL},
        )


def furnish(settings: Mapping[str, str], accounts: Sequence[Account], customers: int) -> list[Customer]:
    """Everything the nodes need before they start."""
    command(dict(settings), "migrate")
    asyncio.run(without_limits(settings["TOLLKEEPER_DATABASE_URL"]))
    return asyncio.run(_furnish(settings, accounts, customers))


async def _furnish(settings: Mapping[str, str], accounts: Sequence[Account], customers: int) -> list[Customer]:
    async with office(load(settings)) as desk:
        for model_id in (MODEL, *(account.own_model for account in accounts if account.own_model)):
            await desk.catalog.add_model(NewModel(id=model_id, kind=Kind.CHAT, price=PRICE), actor=ACTOR)
        for account in accounts:
            await desk.providers.add(account.new(), actor=ACTOR)
        free = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(*(_customer(desk, number, free) for number in range(customers)))


async def _customer(desk: Office, number: int, free: asyncio.Semaphore) -> Customer:
    async with free:
        return await a_key(desk, await an_account(desk, f"customer {number}", USD_EACH))
