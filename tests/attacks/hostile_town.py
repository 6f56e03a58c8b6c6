"""A gateway whose only provider is malicious, in each vendor's format, and somebody who calls it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.chat import chat, receipt_of
from tests.client import Answer, ask
from tests.conftest import HASTE, Stores, variables
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.office.desks import Office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.accounts import without_limits
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

PROVIDER_KEY = "sk-of-the-hostile-provider-4711"
# So many that calls which fail on purpose do not take them all out.
ACCOUNTS = 40
THEIRS = {"openai": "gpt-9", "anthropic": "claude-opus-5", "gemini": "gemini-3-pro"}


class Town(NamedTuple):
    """A gateway whose only provider is malicious, in each vendor's format, and somebody who calls it."""

    settings: Mapping[str, str]
    node: Node
    customer: Customer
    models: Mapping[str, str]
    receipts: SqlReceipts
    simulator: Simulator
    customers: Customers

    def call(self, vendor: str, text: str, *, stream: bool, **fields: Any) -> Answer:
        return chat(self.node, self.customer.key, self.models[vendor], text, stream=stream, **fields)

    async def receipt(self, answer: Answer) -> Receipt:
        return await receipt_of(self.receipts, answer)


@asynccontextmanager
async def a_hostile_town(stores: Stores, limits_of_time: Mapping[str, str] = HASTE) -> AsyncIterator[Town]:
    settings = await variables(stores) | dict(limits_of_time)
    await without_limits(settings["TOLLKEEPER_DATABASE_URL"])
    with Simulator(key=PROVIDER_KEY, hostile=True) as simulator:
        async with office(load(settings)) as desk, opened(load(settings), DatabaseRole.CONSOLE) as database:
            customers = Customers(desk)
            customer = await customers.a_customer(usd="1000")
            models = {vendor: await customers.a_model() for vendor in THEIRS}
            for vendor, model in models.items():
                await _add_accounts(desk, vendor, model, simulator.base)
            with Node(settings) as node:
                wait_until(lambda: _are_served(node, customer, models), within_seconds=30)
                yield Town(settings, node, customer, models, SqlReceipts(database), simulator, customers)


async def _add_accounts(desk: Office, vendor: str, model: str, base: str) -> None:
    for number in range(ACCOUNTS):
        account = NewProviderAccount(
            name=f"{vendor}-{number}",
            vendor=vendor,
            base_url=base if vendor == "openai" else base.removesuffix("/v1"),
            secret=PROVIDER_KEY,
            models={model: THEIRS[vendor]},
        )
        await desk.providers.add(account, actor=ACTOR)


def _are_served(node: Node, customer: Customer, models: Mapping[str, str]) -> bool:
    listed = ask(node, "/v1/models", key=customer.key).text.decode()
    return all(model in listed for model in models.values())
