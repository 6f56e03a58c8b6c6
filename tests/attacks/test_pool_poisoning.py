"""One customer's calls fail on purpose; everybody else's calls are answered all the while."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from uuid import uuid4

import msgspec
import pytest

from tests.chat import chat, listening, order, receipt_of
from tests.client import Answer, ask
from tests.conftest import Stores, variables
from tests.customers import ACTOR, Customer, Customers, a_model_id
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.accounts import without_limits
from tools.node import Node
from tools.services.process import wait_until, wait_until_async
from tools.simulator import Simulator

KEY = "sk-of-the-pool"
# Longer than half a minute without a first byte, and less than an answer may take to begin.
LATE_SECONDS = 31.0
# One worker, so that every call meets the same pool.
PATIENT = {"TOLLKEEPER_WORKERS": "1", "TOLLKEEPER_FIRST_BYTE_SECONDS": "90"}
UNAVAILABLE = (503, "provider_unavailable")
REFUSED = (400, "provider_rejected")
TOO_LARGE = (400, "request_too_large")
REQUEST_TOO_LARGE = (
    "status=429 error_type=tokens error_code=rate_limit_exceeded retry_after=60 "
    'status_text="Request too large for gpt-4o '
    'in organization org-abc123 on tokens per min (TPM): Limit 30000, Requested 40000. The input must be reduced."'
)
NOT_AFFORDED = 'status=402 status_text="This request requires more credits, or fewer max_tokens. You requested 65536."'

ATTACKS = [
    pytest.param(REQUEST_TOO_LARGE, TOO_LARGE, id="429 about its size"),
    pytest.param(NOT_AFFORDED, TOO_LARGE, id="402 about its size"),
    pytest.param("status=403", REFUSED, id="403"),
    pytest.param("status=451", REFUSED, id="451"),
    pytest.param("status=501", REFUSED, id="501"),
    pytest.param("status=418", REFUSED, id="418"),
    pytest.param("status=404", UNAVAILABLE, id="404"),
    pytest.param("status=408", UNAVAILABLE, id="408"),
    pytest.param("status=409", UNAVAILABLE, id="409"),
    pytest.param("redirect=http://127.0.0.1:9/", UNAVAILABLE, id="302"),
    pytest.param("status=401", UNAVAILABLE, id="401"),
    pytest.param("status=402", UNAVAILABLE, id="402"),
    pytest.param("status=429 retry_after=60", UNAVAILABLE, id="429"),
    pytest.param("status=500", UNAVAILABLE, id="500"),
    pytest.param("status=503 retry_after=60", UNAVAILABLE, id="503"),
    pytest.param("status=529", UNAVAILABLE, id="529"),
    pytest.param("cut_at=0", UNAVAILABLE, id="reset"),
    pytest.param("json_garbage=1", UNAVAILABLE, id="garbage"),
]


class Street(msgspec.Struct, frozen=True):
    """A model with accounts of its own, and two customers."""

    node: Node
    model: str
    accounts: list[str]
    attacker: Customer
    bystander: Customer

    def attack(self, direction: str, *, stream: bool = False) -> Answer:
        return chat(self.node, self.attacker.key, self.model, f"[[{direction}]]", stream=stream)

    def bystander_is_served(self) -> bool:
        return chat(self.node, self.bystander.key, self.model, "[[tokens=2]]").status == 200


class Streets:
    def __init__(self, node: Node, customers: Customers, receipts: SqlReceipts) -> None:
        self.node = node
        self.customers = customers
        self.receipts = receipts

    async def one_with(self, *simulators: Simulator) -> Street:
        """Each simulator's account is asked before the next."""
        model, accounts = a_model_id(), [f"account-{uuid4().hex[:8]}" for _ in simulators]
        for tier, (name, simulator) in enumerate(zip(accounts, simulators, strict=True), start=1):
            account = NewProviderAccount(
                name=name,
                vendor="openai",
                base_url=simulator.base,
                secret=KEY,
                place=PoolPlace(tier=tier),
                models={model: model},
            )
            await self.customers.desk.providers.add(account, actor=ACTOR)
        # Last: a node that knows the model has heard of its accounts too.
        await self.customers.a_model(model_id=model)
        attacker, bystander = await self.customers.a_customer(), await self.customers.a_customer()
        wait_until(lambda: model in ask(self.node, "/v1/models", key=bystander.key).text.decode(), within_seconds=20)
        return Street(self.node, model, accounts, attacker, bystander)


@pytest.fixture(scope="module")
def simulators() -> Iterator[list[Simulator]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Simulator(name=name, key=KEY)) for name in ("first", "second")]


@pytest.fixture(scope="module")
async def streets(stores: Stores) -> AsyncIterator[Streets]:
    settings = await variables(stores)
    await without_limits(settings["TOLLKEEPER_DATABASE_URL"])
    async with office(load(settings)) as desk, opened(load(settings), DatabaseRole.CONSOLE) as database:
        with Node(settings | PATIENT) as node:
            yield Streets(node, Customers(desk), SqlReceipts(database))


@pytest.mark.parametrize("accounts", [1, 2], ids=["one account", "two accounts"])
@pytest.mark.parametrize(("direction", "told"), ATTACKS)
async def test_calls_that_fail_on_purpose_take_nothing_from_others(
    streets: Streets, simulators: list[Simulator], direction: str, told: tuple[int, str], accounts: int
) -> None:
    street = await streets.one_with(*simulators[:accounts])
    for number in range(8):
        answer = street.attack(direction, stream=number % 2 == 1)
        assert (answer.status, answer.error["code"]) == told
        assert "org-abc123" not in answer.text.decode()
        assert street.bystander_is_served(), f"after {number + 1} calls"
    receipt = await receipt_of(streets.receipts, street.attack(direction))
    assert (receipt.ending, receipt.charged) == (Ending.REFUSED, 0)


async def test_streams_that_are_hung_up_late_take_nothing_from_others(
    streets: Streets, simulators: list[Simulator]
) -> None:
    street = await streets.one_with(simulators[0])
    begun = time.monotonic()
    with ExitStack() as stack:
        for _ in range(18):
            body = order(street.model, "[[delay_ms=80000]]", stream=True)
            stack.enter_context(listening(street.node, street.attacker.key, body))
        assert street.bystander_is_served()
        wait_until(lambda: time.monotonic() - begun > LATE_SECONDS, within_seconds=2 * LATE_SECONDS)
    ended = time.monotonic()
    while time.monotonic() - ended < 2:
        assert street.bystander_is_served()


async def test_an_account_that_is_really_dead_is_left_alone_for_everybody(
    streets: Streets, simulators: list[Simulator]
) -> None:
    """Its calls and our probe say so, though one customer only has called."""
    with Simulator(name="mortal", key=KEY) as mortal:
        street = await streets.one_with(mortal, simulators[0])
        assert street.bystander_is_served()
        mortal.kill()

        def first_is_out() -> bool:
            answer = street.attack("tokens=2")
            assert answer.status == 200
            return f"provider account {street.accounts[0]} is out" in street.node.log.read_text()

        async def is_left_alone() -> bool:
            # Now and then a call tries whether it is back.
            answer = chat(street.node, street.bystander.key, street.model, "[[tokens=2]]")
            assert answer.status == 200
            receipt = await receipt_of(streets.receipts, answer)
            return [attempt["account"] for attempt in receipt.attempts] == street.accounts[1:]

        wait_until(first_is_out, within_seconds=30)
        await wait_until_async(is_left_alone, within_seconds=30)


async def test_a_last_account_that_said_it_is_busy_still_answers_somebody(
    streets: Streets, simulators: list[Simulator]
) -> None:
    street = await streets.one_with(simulators[0])
    accomplice = await streets.customers.a_customer()
    for key in (street.attacker.key, accomplice.key):
        answer = chat(street.node, key, street.model, "[[status=429 retry_after=60]]")
        assert answer.status == 503
    wait_until(street.bystander_is_served, within_seconds=20)
