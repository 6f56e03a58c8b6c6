"""The pair of billing endpoints that chat clients still ask for."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.chat import chat, receipt_of
from tests.client import ask
from tests.customers import Customers
from tollkeeper.storage.usage.receipts import SqlReceipts
from tools.node import Node
from tools.services.process import wait_until

BEGINNINGS = pytest.mark.parametrize("beginning", ["/v1", ""])


@BEGINNINGS
async def test_the_limit_is_what_the_key_can_spend_in_all(node: Node, townsfolk: Customers, beginning: str) -> None:
    customer = await townsfolk.a_customer(usd="12", quota_usd="1.5")
    told = ask(node, f"{beginning}/dashboard/billing/subscription", key=customer.key).json
    assert told == {
        "object": "billing_subscription",
        "has_payment_method": True,
        "canceled": False,
        "access_until": 4_102_444_800,
        "soft_limit_usd": 1.5,
        "hard_limit_usd": 1.5,
        "system_hard_limit_usd": 1.5,
    }
    ends = datetime(2031, 5, 1, tzinfo=UTC)
    other = await townsfolk.a_customer(usd="12", expires_at=ends)
    told = ask(node, f"{beginning}/dashboard/billing/subscription", key=other.key).json
    assert (told["hard_limit_usd"], told["access_until"]) == (12.0, ends.timestamp())


@pytest.mark.usefixtures("simulator")
@BEGINNINGS
async def test_usage_is_told_in_cents_for_days_of_the_key(
    node: Node, townsfolk: Customers, receipts: SqlReceipts, beginning: str
) -> None:
    customer, model = await townsfolk.a_customer(), await townsfolk.a_model()
    neighbour = await townsfolk.a_key(customer.account_id)
    wait_until(lambda: model in ask(node, "/v1/models", key=customer.key).text.decode(), within_seconds=20)
    charged = [(await receipt_of(receipts, chat(node, key, model, "Hello"))).charged
               for key in (customer.key, customer.key, neighbour.key)]  # fmt: skip
    cents = sum(charged[:2]) / 5_000_000_000
    today, path = datetime.now(UTC).date(), f"{beginning}/dashboard/billing/usage"
    tomorrow, long_ago = today + timedelta(days=1), today - timedelta(days=99)
    for query in ("", f"?start_date={long_ago}&end_date={tomorrow}", f"?end_date={tomorrow}", f"?start_date={today}"):
        told = ask(node, path + query, key=customer.key).json
        assert told["total_usage"] == pytest.approx(cents, rel=1e-12), query
    told = ask(node, f"{path}?start_date={today}", key=customer.key).json
    assert [item["name"] for day in told["daily_costs"] for item in day["line_items"]] == [model]
    assert ask(node, f"{path}?end_date={today}", key=customer.key).json["total_usage"] == 0
    # What is left is the difference of the two, as clients reckon.
    limit = ask(node, f"{beginning}/dashboard/billing/subscription", key=customer.key).json["hard_limit_usd"]
    assert limit == pytest.approx(10 - charged[2] / 500_000_000_000, abs=0.001)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("start_date=yesterday", "start_date"),
        ("end_date=2026-13-01", "end_date"),
        ("start_date=2026-02-01&end_date=2026-02-01", "end_date"),
        ("start_date=2020-01-01&end_date=2026-01-01", "end_date"),
        ("start_date=0001-01-01", "start_date"),
        ("end_date=9999-12-31", "end_date"),
        ("start_date=" + "9" * 2_000, "start_date"),
    ],
)
async def test_days_that_are_none_are_refused(node: Node, townsfolk: Customers, query: str, param: str) -> None:
    customer = await townsfolk.a_customer()
    answer = ask(node, f"/v1/dashboard/billing/usage?{query}", key=customer.key)
    assert (answer.status, answer.error["param"]) == (400, param)
