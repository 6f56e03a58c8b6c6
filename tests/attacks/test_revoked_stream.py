"""A stream ends soon after its key was revoked or its account disabled."""

from collections.abc import Awaitable, Callable

import pytest

from tests.chat import chat, listening, order, read_until, receipt_of
from tests.customers import ACTOR, Customer, Customers
from tests.journeys.test_endings import header_in
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until
from tools.simulator import Simulator

# Half a minute of words, if nobody ends it.
LONG = "[[tokens=1500 chunk_ms=20]]"
WORDS = 1500


async def revoke(customers: Customers, customer: Customer) -> None:
    await customers.desk.keys.revoke(customer.key_id, account_id=customer.account_id, actor=ACTOR)


async def disable(customers: Customers, customer: Customer) -> None:
    await customers.desk.accounts.disable(customer.account_id, "a test", actor=ACTOR)


@pytest.mark.parametrize(
    ("act", "code"), [(revoke, "revoked_api_key"), (disable, "account_disabled")], ids=["revoked", "disabled"]
)
async def test_a_stream_ends_when_its_key_or_account_does_and_costs_what_was_delivered(
    node: Node,
    simulator: Simulator,
    townsfolk: Customers,
    receipts: SqlReceipts,
    act: Callable[[Customers, Customer], Awaitable[None]],
    code: str,
) -> None:
    customer, other = await townsfolk.a_customer(), await townsfolk.a_customer()
    model = await townsfolk.a_model()
    wait_until(lambda: chat(node, other.key, model, "Hi").status == 200, within_seconds=30)
    with (
        listening(node, customer.key, order(model, LONG, stream=True)) as ended,
        listening(node, other.key, order(model, LONG, stream=True)) as bystander,
    ):
        received = read_until(ended, b"river")
        read_until(bystander, b"river")
        await act(townsfolk, customer)
        received += read_until(ended, b"[DONE]")
        told = read_until(bystander, b"[DONE]")
    assert f'"code":"{code}"'.encode() in received
    assert b"What was delivered until then is charged" in received
    receipt = await receipt_of(receipts, header_in(received, b"x-request-id"))
    assert (receipt.ending, receipt.usage_source) == (Ending.REVOKED, UsageSource.COUNTED)
    assert 0 < receipt.usage.output_units < WORDS
    assert b"error" not in told
