"""Customers, models and accounts at every vendor, and a node that serves them: for journeys over several vendors."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any
from uuid import uuid4

import msgspec

from tests.chat import chat, receipt_of
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers, a_model_id
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import NewPrice, NewProviderAccount
from tollkeeper.settings import load
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

KEY = "the-key-of-the-vendor"
UNITS = 1_000_000
# Prices of a model here: an output token is 4 input tokens, a cached one a quarter of one.
OUTPUT = 4
CACHED_PART = 4
PRICE = NewPrice(model=Decimal(1), completion=Decimal(OUTPUT), cached=1 / Decimal(CACHED_PART))
# The vendor's own name of a model.
THEIRS = {"openai": "gpt-9", "azure": "our-deployment", "anthropic": "claude-opus-5", "gemini": "gemini-3-pro"}

FIRST = PoolPlace()


class Line(msgspec.Struct, frozen=True):
    """A model of its own, the vendors that serve it, in the order in which they are asked, and a caller."""

    model: str
    accounts: list[str]
    customer: Customer


class Market:
    """Customers, models and accounts at every vendor in a database of its own, and the node that serves it."""

    def __init__(self, settings: Mapping[str, str], customers: Customers, receipts: SqlReceipts, node: Node) -> None:
        self.settings = settings
        self.customers = customers
        self.receipts = receipts
        self.node = node
        self.simulator: Simulator

    async def a_line(
        self,
        *vendors: str,
        key: str = KEY,
        rejects: frozenset[str] = frozenset(),
        place: PoolPlace = FIRST,
        kind: Kind = Kind.CHAT,
    ) -> Line:
        """`key` and `place` are of the first account."""
        model = a_model_id()
        names = [f"{vendor}-{uuid4().hex[:8]}" for vendor in vendors]
        for tier, (vendor, name) in enumerate(zip(vendors, names, strict=True), start=1):
            base = self.simulator.base
            account = NewProviderAccount(
                name=name,
                vendor=vendor,
                base_url=base if vendor == "openai" else base.removesuffix("/v1"),
                secret=key if tier == 1 else KEY,
                place=place if tier == 1 else PoolPlace(tier=tier),
                models={model: THEIRS[vendor]},
                rejects=rejects,
            )
            await self.customers.desk.providers.add(account, actor=ACTOR)
        # Last: a node that knows the model has heard of its accounts too.
        await self.customers.a_model(model_id=model, price=PRICE, kind=kind)
        line = Line(model, names, await self.customers.a_customer())
        wait_until(lambda: line.model in ask(self.node, "/v1/models", key=line.customer.key).text.decode())
        return line

    def chat(self, line: Line, text: str, **fields: Any) -> Answer:
        return chat(self.node, line.customer.key, line.model, text, **fields)

    async def receipt(self, answer: Answer | str) -> Receipt:
        return await receipt_of(self.receipts, answer)

    def truth(self, answer: Answer) -> dict[str, Any]:
        return self.simulator.wait_for(answer.headers["x-request-id"])


@asynccontextmanager
async def a_market(stores: Stores, provider: Simulator, **more: str) -> AsyncIterator[Market]:
    settings = await variables(stores) | more
    async with office(load(settings)) as desk, opened(load(settings), DatabaseRole.CONSOLE) as database:
        with Node(settings) as node:
            made = Market(settings, Customers(desk), SqlReceipts(database), node)
            made.simulator = provider
            yield made


def price_of(truth: Mapping[str, Any]) -> int:
    fresh = truth["input_tokens"] - truth["cached_tokens"]
    quarters = fresh * CACHED_PART + truth["cached_tokens"] + truth["output_tokens"] * OUTPUT * CACHED_PART
    return int(quarters) * UNITS // CACHED_PART
