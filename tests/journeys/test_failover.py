"""Failover: on the main address a call moves on to another provider account until it is answered, and is paid once."""

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from uuid import uuid4

import msgspec
import pytest

from tests.chat import chat, chunks, error_in, receipt_of, words
from tests.client import Answer, ask
from tests.command_line import tollkeeper
from tests.conftest import ADDRESSES, Stores, variables
from tests.customers import ACTOR, Customer, Customers, a_model_id
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.usage.receipt import Receipt
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage.receipts import SqlReceipts
from tollkeeper_simulator.speech import text_of
from tools.node import Node
from tools.services.process import wait_until, wait_until_async
from tools.simulator import Simulator

MAIN = {"Host": "main.test"}
BACKUP = {"Host": "backup.test"}
UNITS = 1_000_000
KEY = "sk-of-the-pool"
WRONG_KEY = "sk-from-last-year"
SIMULATORS = ("a", "b", "c")
LIMITS = {
    "TOLLKEEPER_FIRST_BYTE_SECONDS": "1",
    "TOLLKEEPER_KEEP_ALIVE_SECONDS": "0.4",
    "TOLLKEEPER_PROVIDER_IDLE_SECONDS": "2",
}
TAKES_EFFECT_SECONDS = 2.0


class Circle:
    """Customers, models and provider accounts in a database that only this file knows, and the node that serves it."""

    def __init__(self, settings: Mapping[str, str], customers: Customers, receipts: SqlReceipts, node: Node) -> None:
        self.settings = settings
        self.customers = customers
        self.receipts = receipts
        self.node = node
        self.simulators: dict[str, Simulator] = {}

    async def a_line(self, *order: str, names: Mapping[str, str] | None = None, key: str = KEY) -> "Line":
        """A model of its own, served by these simulators' accounts, each to be asked before the next; and a caller."""
        model = a_model_id()
        accounts = [f"{simulator}-{uuid4().hex[:8]}" for simulator in order]
        for tier, (simulator, name) in enumerate(zip(order, accounts, strict=True), start=1):
            account = NewProviderAccount(
                name=name,
                vendor="openai",
                base_url=self.simulators[simulator].base,
                secret=key if tier == 1 else KEY,
                place=PoolPlace(tier=tier),
                models={model: (names or {}).get(simulator, model)},
            )
            await self.customers.desk.providers.add(account, actor=ACTOR)
        # Last: a node that knows the model has heard of its accounts too.
        await self.customers.a_model(model_id=model)
        line = Line(model, accounts, await self.customers.a_customer())
        wait_until(lambda: self.node_knows(line), within_seconds=20)
        return line

    def node_knows(self, line: "Line") -> bool:
        return line.model in ask(self.node, "/v1/models", key=line.customer.key, headers=MAIN).text.decode()

    def chat(self, line: "Line", text: str, *, headers: Mapping[str, str] = MAIN, **fields: object) -> Answer:
        return chat(self.node, line.customer.key, line.model, text, headers=headers, **fields)

    async def receipt(self, answer: Answer) -> Receipt:
        return await receipt_of(self.receipts, answer)


class Line(msgspec.Struct, frozen=True):
    model: str
    # Names of its provider accounts, in the order in which they are asked.
    accounts: list[str]
    customer: Customer


@pytest.fixture(scope="module")
def simulators() -> Iterator[dict[str, Simulator]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(Simulator(name=name, key=KEY)) for name in SIMULATORS}


@pytest.fixture(scope="module")
async def circle(stores: Stores, simulators: dict[str, Simulator]) -> AsyncIterator[Circle]:
    settings = await variables(stores)
    async with office(load(settings)) as desk, opened(load(settings), DatabaseRole.CONSOLE) as database:
        with Node(settings | ADDRESSES | LIMITS) as node:
            made = Circle(settings, Customers(desk), SqlReceipts(database), node)
            made.simulators = simulators
            yield made


def tried(receipt: Receipt) -> list[tuple[object, object]]:
    return [(attempt["account"], attempt["outcome"]) for attempt in receipt.attempts]


def failing_at(*simulators: str, how: str = "status=503") -> str:
    return "[[tokens=20]] " + " ".join(f"[[only={name} {how}]]" for name in simulators)


FAILURES = [
    pytest.param("status=500", "refused", id="500"),
    pytest.param("status=503", "refused", id="503"),
    pytest.param("status=404", "refused", id="404"),
    pytest.param("status=429 retry_after=1", "refused", id="429"),
    pytest.param("status=401", "refused", id="401"),
    pytest.param("status=402", "refused", id="402"),
    pytest.param("cut_at=0", "broken", id="reset"),
    pytest.param("json_garbage=1", None, id="garbage"),
]


@pytest.mark.rule("S1.1", "L5.1")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("how", "outcome"), FAILURES)
async def test_a_call_that_fails_at_one_account_is_answered_by_another(
    circle: Circle, how: str, outcome: str | None, stream: bool
) -> None:
    line = await circle.a_line("a", "b")
    answer = circle.chat(line, failing_at("a", how=how), stream=stream)
    assert answer.status == 200, answer.text
    said = words(answer.text) if stream else answer.json["choices"][0]["message"]["content"]
    assert said == text_of(20)
    receipt = await circle.receipt(answer)
    first, second = tried(receipt)
    assert [first[0], second] == [line.accounts[0], (line.accounts[1], "completed")]
    assert first[1] != "completed"
    assert outcome is None or first[1] == outcome
    assert (receipt.ending, receipt.usage_source) == (Ending.COMPLETED, UsageSource.PROVIDER)
    assert receipt.charged == (receipt.usage.input_units + 20) * UNITS, "charged once, for what was delivered"


@pytest.mark.rule("L5.1")
@pytest.mark.parametrize("how", ["delay_ms=5000", "stall_at=0", "first_chunk_ms=5000"])
async def test_a_stream_that_does_not_begin_is_begun_elsewhere(circle: Circle, how: str) -> None:
    line = await circle.a_line("a", "b")
    begun = time.monotonic()
    answer = circle.chat(line, failing_at("a", how=how), stream=True)
    assert time.monotonic() - begun < 4, "it waited for the account that stalls"
    assert answer.status == 200
    assert words(answer.text) == text_of(20)
    assert not any("error" in chunk for chunk in chunks(answer.text))
    receipt = await circle.receipt(answer)
    assert tried(receipt) == [(line.accounts[0], "silent"), (line.accounts[1], "completed")]
    assert receipt.charged == (receipt.usage.input_units + 20) * UNITS


@pytest.mark.parametrize("how", ["error_at=0", "malformed_at=0", "half_close_at=0"])
async def test_a_stream_whose_first_event_is_bad_is_begun_elsewhere(circle: Circle, how: str) -> None:
    line = await circle.a_line("a", "b")
    answer = circle.chat(line, failing_at("a", how=how), stream=True)
    assert answer.status == 200
    assert words(answer.text) == text_of(20)
    receipt = await circle.receipt(answer)
    assert [name for name, _ in tried(receipt)] == line.accounts


@pytest.mark.parametrize("how", ["cut_at=3", "error_at=3", "malformed_at=3"])
async def test_a_stream_that_has_begun_is_not_begun_again(circle: Circle, how: str) -> None:
    line = await circle.a_line("a", "b")
    # Apart in time, so that the first event is on its way before the end.
    answer = circle.chat(line, failing_at("a", how=f"chunk_ms=30 {how}"), stream=True)
    assert answer.status == 200
    assert error_in(answer.text)["code"] == "stream_broken"
    receipt = await circle.receipt(answer)
    assert [name for name, _ in tried(receipt)] == line.accounts[:1]
    assert receipt.ending is Ending.UPSTREAM_BROKE


@pytest.mark.rule("L5.1")
async def test_two_may_fail_before_the_third_answers(circle: Circle) -> None:
    line = await circle.a_line("a", "b", "c")
    answer = circle.chat(line, failing_at("a", "b"))
    assert answer.status == 200
    receipt = await circle.receipt(answer)
    assert [name for name, _ in tried(receipt)] == line.accounts
    assert receipt.charged == (receipt.usage.input_units + 20) * UNITS


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_after_three_failures_the_caller_is_told_and_pays_nothing(circle: Circle, stream: bool) -> None:
    line = await circle.a_line("a", "b", "c", "a", "b")
    answer = circle.chat(line, failing_at("a", "b", "c"), stream=stream)
    assert (answer.status, answer.error["code"]) == (503, "provider_unavailable")
    assert int(answer.headers["retry-after"]) >= 1
    receipt = await circle.receipt(answer)
    assert [name for name, _ in tried(receipt)] == line.accounts[:3]
    assert (receipt.ending, receipt.charged) == (Ending.REFUSED, 0)


async def test_an_account_that_was_tried_is_not_tried_again(circle: Circle) -> None:
    line = await circle.a_line("a")
    answer = circle.chat(line, failing_at("a"))
    assert (answer.status, answer.error["code"]) == (503, "provider_unavailable")
    receipt = await circle.receipt(answer)
    assert tried(receipt) == [(line.accounts[0], "refused")]
    assert [row["request_id"] for row in circle.simulators["a"].truth()].count(answer.headers["x-request-id"]) == 1


@pytest.mark.rule("L4.1")
@pytest.mark.parametrize("how", ["status=503", "status=401", "cut_at=0"])
async def test_on_the_backup_address_there_is_one_attempt(circle: Circle, how: str) -> None:
    line = await circle.a_line("a", "b")
    answer = circle.chat(line, failing_at("a", how=how), headers=BACKUP)
    assert (answer.status, answer.error["code"]) == (503, "provider_unavailable")
    receipt = await circle.receipt(answer)
    assert [name for name, _ in tried(receipt)] == line.accounts[:1]
    assert receipt.charged == 0


@pytest.mark.rule("L4.1")
async def test_on_the_backup_address_a_well_account_answers(circle: Circle) -> None:
    line = await circle.a_line("a", "b")
    answer = circle.chat(line, "[[tokens=5]]", headers=BACKUP)
    assert answer.status == 200
    assert tried(await circle.receipt(answer)) == [(line.accounts[0], "completed")]


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_what_the_caller_must_correct_is_asked_nowhere_else(circle: Circle, status: int) -> None:
    line = await circle.a_line("a", "b")
    answer = circle.chat(line, failing_at("a", how=f"status={status}"))
    assert answer.status == 400
    receipt = await circle.receipt(answer)
    assert [name for name, _ in tried(receipt)] == line.accounts[:1]
    again = circle.chat(line, "[[tokens=2]]")
    assert tried(await circle.receipt(again)) == [(line.accounts[0], "completed")], "the account is not to blame"


async def test_a_refused_key_is_not_used_again_until_it_was_tested(circle: Circle) -> None:
    line = await circle.a_line("a", "b", key=WRONG_KEY)
    receipts = [await circle.receipt(circle.chat(line, "[[tokens=2]]")) for _ in range(5)]
    assert [len(receipt.attempts) for receipt in receipts] == [2, 1, 1, 1, 1]
    assert all(receipt.ending is Ending.COMPLETED for receipt in receipts)
    tested = tollkeeper(circle.settings, "provider", "test", line.accounts[0])
    assert tested.returncode == 1, tested.stdout
    assert WRONG_KEY not in tested.stdout + tested.stderr
    assert len((await circle.receipt(circle.chat(line, "[[tokens=2]]"))).attempts) == 1


async def test_an_operator_pauses_and_resumes_an_account(circle: Circle) -> None:
    line = await circle.a_line("a", "b")
    preferred, other = line.accounts

    async def answered_by(account: str | None) -> bool:
        receipt = await circle.receipt(circle.chat(line, "[[tokens=2]]"))
        return [name for name, _ in tried(receipt)] == ([] if account is None else [account])

    assert await answered_by(preferred)
    for command, account, then_answered_by in (
        ("pause", preferred, other),
        ("drain", other, None),
        ("resume", other, other),
        ("resume", preferred, preferred),
    ):
        assert tollkeeper(circle.settings, "provider", command, account, "--reason", "a test").returncode == 0
        await wait_until_async(partial(answered_by, then_answered_by), within_seconds=TAKES_EFFECT_SECONDS)


@pytest.mark.rule("S1.1")
async def test_each_account_is_asked_for_the_model_by_its_own_name_for_it(circle: Circle) -> None:
    line = await circle.a_line("a", "b", names={"a": "vendor/large-2024", "b": "large-deployment-7"})
    answer = circle.chat(line, failing_at("a"))
    assert answer.status == 200
    asked = {name: circle.simulators[name].wait_for(answer.headers["x-request-id"])["model"] for name in ("a", "b")}
    assert asked == {"a": "vendor/large-2024", "b": "large-deployment-7"}
