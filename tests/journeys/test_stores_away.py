"""What callers see while a store is away: 503 and patience, never a wrong judgement."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.chat import listening, order, read_until
from tests.client import ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers
from tollkeeper.app.office import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tools.accounts import without_limits
from tools.node import Node
from tools.services import Postgres, Redis
from tools.services.process import wait_until, wait_until_async
from tools.simulator import Simulator

PATHS = ("/v1/models", "/v2/account/balance", "/v2/token/balance")


class House:
    """Stores and a node that one test may break."""

    def __init__(self, postgres: Postgres, redis: Redis, node: Node, customers: Customers) -> None:
        self.postgres = postgres
        self.redis = redis
        self.node = node
        self.customers = customers

    def status(self, customer: Customer, path: str = "/v1/models") -> int:
        return ask(self.node, path, key=customer.key).status


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    # Durable: what was committed must be there after a crash.
    with Postgres(durable=True) as postgres, Redis() as redis:
        settings = await variables(await asyncio.to_thread(Stores, postgres.url, redis.url, tmp_path))
        settings |= {"TOLLKEEPER_STORE_PATIENCE_SECONDS": "1"}
        # It is asked again and again until it notices.
        await without_limits(settings["TOLLKEEPER_DATABASE_URL"])
        async with office(load(settings)) as desk:
            with Node(settings) as node:
                yield House(postgres, redis, node, Customers(desk))


@pytest.mark.rule("X1.503")
async def test_without_its_database_it_answers_503_for_known_and_unknown_keys_and_recovers(house: House) -> None:
    customer = await house.customers.a_customer()
    stranger = Customer(0, 0, customer.key[:-4] + "zzzz")
    assert house.status(customer) == 200

    house.postgres.crash()
    # Within two seconds the last snapshot may still be used; after that it could be wrong.
    wait_until(lambda: house.status(customer) != 200, within_seconds=20)
    for path in PATHS:
        answer = ask(house.node, path, key=customer.key)
        assert answer.status == 503
        assert answer.headers["retry-after"] == "2"
        assert answer.error["code"] == "store_unavailable"
    assert house.status(stranger) == 503
    wait_until(lambda: house.node.status("/readyz") == 503, within_seconds=20)
    assert house.node.status("/livez") == 200

    house.postgres.start()
    wait_until(lambda: house.node.status("/readyz") == 200, within_seconds=30)
    assert house.status(customer) == 200
    assert house.status(stranger) == 401


async def test_a_stream_outlives_a_crash_of_the_database_and_is_charged(house: House) -> None:
    with Simulator() as provider:
        account = NewProviderAccount(name="p", vendor="openai", base_url=provider.base, secret="any")
        await house.customers.desk.providers.add(account, actor=ACTOR)
        customer, model = await house.customers.a_customer(), await house.customers.a_model()
        wait_until(lambda: model in ask(house.node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
        body = order(model, "[[tokens=150 chunk_ms=20]]", stream=True)
        with listening(house.node, customer.key, body) as stream:
            received = read_until(stream, b"river")
            house.postgres.crash()
            received += read_until(stream, b"[DONE]")
        house.postgres.start()
    assert b"error" not in received
    connection = await asyncpg.connect(house.node.settings["TOLLKEEPER_DATABASE_URL"])

    async def settled() -> bool:
        return bool(await connection.fetchval("select count(*) from tollkeeper.usage where output_units = 150"))

    await wait_until_async(settled, within_seconds=30)
    await connection.close()


@pytest.mark.rule("X1.503")
async def test_a_frozen_database_is_503_within_its_patience(house: House) -> None:
    customer = await house.customers.a_customer()
    house.postgres.freeze()
    begun = time.monotonic()
    status = house.status(customer, "/v2/account/balance")
    waited = time.monotonic() - begun
    house.postgres.thaw()
    assert status == 503
    assert waited < 10
    wait_until(lambda: house.status(customer, "/v2/account/balance") == 200, within_seconds=30)


async def test_a_node_starts_while_its_database_is_away(house: House) -> None:
    house.node.stop()
    house.postgres.crash()
    house.node.start(until_ready=False)
    assert house.node.status("/readyz") == 503
    house.postgres.start()
    wait_until(lambda: house.node.status("/readyz") == 200, within_seconds=30)


async def test_without_redis_calls_are_served_and_a_revoked_key_is_still_refused(house: House) -> None:
    customer, other = await house.customers.a_customer(), await house.customers.a_customer()
    assert house.status(customer) == 200
    house.redis.kill()
    assert house.status(other) == 200
    await house.customers.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor=ACTOR)
    wait_until(lambda: house.status(customer) == 401, within_seconds=20)
    assert house.status(other) == 200

    house.redis.start()
    wait_until(lambda: ask(house.node, "/readyz").json["redis"] == "ok", within_seconds=30)


@pytest.mark.rule("X1.500", "E1.2", "E2.3")
async def test_a_failure_of_our_own_is_500_without_internals(house: House) -> None:
    customer = await house.customers.a_customer()
    connection = await asyncpg.connect(house.node.settings["TOLLKEEPER_DATABASE_URL"])
    await connection.execute("revoke select on tollkeeper.lot from tollkeeper_gateway")
    answers = [ask(house.node, f"/v2/{whose}/balance", key=customer.key) for whose in ("account", "token")]
    await connection.execute("grant select on tollkeeper.lot to tollkeeper_gateway")
    # Its key is known again, and the list is read afresh after a change.
    wait_until(lambda: house.status(customer) == 200, within_seconds=30)
    await connection.execute("revoke select on tollkeeper.price from tollkeeper_gateway")
    await connection.execute("update tollkeeper.account_group set multiplier = multiplier")
    await connection.close()
    wait_until(lambda: house.status(customer) == 500, within_seconds=30)
    answers.append(ask(house.node, "/v1/models", key=customer.key))
    for answer in answers:
        assert answer.status == 500
        assert answer.error["code"] == "internal_error"
        assert "x-request-id" in answer.error["message"]
        for internal in ("lot", "price", "asyncpg", "permission", "Traceback", "tollkeeper."):
            assert internal not in answer.text.decode()
