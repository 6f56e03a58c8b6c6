"""Statements: by month, to the last unit, as a table and as CSV."""

import csv
from datetime import UTC, datetime

import asyncpg

from tests.console.browser import Browser
from tests.console.calls import CallMade, a_call, in_words
from tests.customers import Customer, Customers
from tollkeeper.console.statements import ITEMS, usd_signed
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.ports.customers.lots import Item

ENTRY = "insert into entry values ($1, 'charged', $2, $3, $4, $5, ledger_now())"
USED = "update account_books set used = used + $2 where account_id = $1"


async def test_a_month_adds_up_and_its_csv_says_the_same(
    signed_in: Browser, key_holder: Customer, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    lot = await townsfolk.credit(key_holder.account_id, "10")
    await townsfolk.credit(key_holder.account_id, "5")
    model = await townsfolk.a_model()
    for charged in (1_000_003, UNITS_PER_USD):
        request_id = await a_call(town_owner, key_holder, CallMade(model=model, charged=charged))
        await town_owner.execute(ENTRY, request_id, lot, key_holder.account_id, key_holder.key_id, charged)
        await town_owner.execute(USED, key_holder.account_id, charged)
    page = await signed_in.get("/statements")
    told, spent = in_words(page.text), usd_signed(1_000_003 + UNITS_PER_USD)
    assert "Top-ups 2 × $15.00" in told
    assert '<a href="#credits">Top-ups</a>' in page.text
    came_in = told.partition("What came in ")[2]
    assert [came_in.count(amount) for amount in ("$10.00", "$5.00")] == [2, 2]
    assert f"Spent on calls {model} 2 × -${spent}" in told
    closing = usd_signed(14 * UNITS_PER_USD - 1_000_003)
    assert f"Balance now ${closing}" in told
    month = f"{datetime.now(UTC):%Y-%m}"
    assert f"/usage?from={month}-01&amp;to={month}-" in page.text

    answer = await signed_in.get(f"/statements.csv?month={month}")
    assert answer.header("content-type") == "text/csv; charset=utf-8"
    found = list(csv.DictReader(answer.text.splitlines()))
    assert [(row["item"], row["detail"], row["count"], row["amount_usd"]) for row in found] == [
        ("opening balance", "", "", "0.000"),
        ("top-up", "", "2", "15.000"),
        ("spent", model, "2", f"-{spent}"),
        ("closing balance", "", "", closing),
    ]


async def test_another_month_is_another_address(signed_in: Browser, key_holder: Customer, townsfolk: Customers) -> None:
    await townsfolk.credit(key_holder.account_id, "10")
    told = in_words((await signed_in.get("/statements?month=2001-02")).text)
    assert "February 2001" in told
    assert "What came in" not in told
    assert "Opening balance, 1 Feb 2001 $0.00 Nothing came and nothing went. Closing balance, 1 Mar 2001 $0.00" in told


async def test_what_is_no_month_is_said_beside_the_field(signed_in: Browser) -> None:
    for path in ("/statements", "/statements.csv"):
        page = await signed_in.get(f"{path}?month=13")
        assert (page.status, "Write a month like 2026-10" in page.text) == (422, True)


def test_every_item_has_words() -> None:
    assert set(ITEMS) == set(Item)


async def test_what_lapsed_and_what_is_held_explain_why_the_balance_is_less(
    signed_in: Browser, key_holder: Customer, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    await townsfolk.credit(key_holder.account_id, "5")
    lapsed = await townsfolk.credit(key_holder.account_id, "2")
    await town_owner.execute("update lot set expires_at = ledger_now() - interval '1 hour' where id = $1", lapsed)
    held = "update account_books set held = $2 where account_id = $1"
    await town_owner.execute(held, key_holder.account_id, UNITS_PER_USD // 4)
    told = in_words((await signed_in.get("/statements")).text)
    await town_owner.execute(held, key_holder.account_id, 0)
    assert "Balance now $7.00 of it held by running calls $0.25 of it lapsed:" in told
    assert "is taken off within a day or two $2.00" in told
    assert "of it" not in in_words((await signed_in.get("/statements?month=2001-02")).text)
