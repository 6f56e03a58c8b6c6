"""A primary that dies and a standby that takes its place: nothing that was acknowledged is lost, no stream is cut."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.chat import chat, listening, order, read_until
from tests.client import ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customers
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import Node
from tools.services import Postgres, Redis
from tools.services.process import wait_until, wait_until_async
from tools.services.standby import Standby, wait_for_standby
from tools.simulator import Simulator

SERVED_AGAIN_SECONDS = 30.0


class Pair(msgspec.Struct):
    """A node whose address of the database names both servers."""

    primary: Postgres
    standby: Standby
    node: Node
    customers: Customers
    # Of its database, at the standby.
    taken_over: str


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    with Postgres(durable=True) as primary, Redis() as redis:
        settings = await variables(await asyncio.to_thread(Stores, primary.url, redis.url, tmp_path))
        own = settings["TOLLKEEPER_DATABASE_URL"]
        await without_limits(own)
        with Standby(primary) as standby:
            await wait_for_standby(primary)
            # The standby first: it is passed over until it takes writes.
            both = own.replace(f":{primary.port}/", f":{standby.port},127.0.0.1:{primary.port}/")
            settings |= {"TOLLKEEPER_DATABASE_URL": both, "TOLLKEEPER_STORE_PATIENCE_SECONDS": "2"}
            async with office(load(settings)) as desk:
                with Node(settings) as node:
                    taken_over = standby.database_url(own.rpartition("/")[2])
                    yield Pair(primary, standby, node, Customers(desk), taken_over)


async def test_a_standby_takes_over(pair: Pair) -> None:
    with Simulator() as provider:
        account = NewProviderAccount(name="p", vendor="openai", base_url=provider.base, secret="any")
        await pair.customers.desk.providers.add(account, actor=ACTOR)
        customer, model = await pair.customers.a_customer(), await pair.customers.a_model()
        wait_until(lambda: model in ask(pair.node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
        before = chat(pair.node, customer.key, model, "[[tokens=5]]")
        assert before.status == 200
        body = order(model, "[[tokens=200 chunk_ms=20]]", stream=True)
        with listening(pair.node, customer.key, body) as stream:
            received = read_until(stream, b"river")
            pair.primary.crash()
            pair.standby.promote()
            received += read_until(stream, b"[DONE]")
        assert b"error" not in received
        wait_until(
            lambda: chat(pair.node, customer.key, model, "[[tokens=7]]").status == 200,
            within_seconds=SERVED_AGAIN_SECONDS,
        )
    books = await asyncpg.connect(pair.taken_over, server_settings={"search_path": "tollkeeper"})

    async def every_call_is_settled() -> bool:
        return {5, 7, 200} <= {row[0] for row in await books.fetch("select output_units from usage where charged > 0")}

    await wait_until_async(every_call_is_settled, within_seconds=30)
    assert await books.fetchval("select count(*) from usage where output_units in (5, 200)") == 2
    await books.close()
