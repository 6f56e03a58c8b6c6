"""Refunds and withdrawals on staff's pages: with a reason, once, and paid by another person than approved."""

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.test_partner import EARNED, a_partner, as_owner
from tests.console.test_staff_customers import do, last_act
from tests.console.test_staff_pages import staff_browser
from tests.customers import Customers
from tests.people import People, Person
from tollkeeper.console.desks import Desks
from tollkeeper.core.people.logins import Role
from tollkeeper.settings import Settings

ASK = "insert into withdrawal (account_id, usd_micros, payee) values ($1, 10000000, 'Ada, a bank') returning id"


@pytest.fixture
async def partner(people: People, townsfolk: Customers, desks: Desks, town_settings: Settings) -> tuple[Person, Person]:
    found = await a_partner(people, townsfolk, desks)
    await as_owner(town_settings, EARNED, found[0].account_id)
    return found


@pytest.fixture
async def asked(partner: tuple[Person, Person], town_owner: asyncpg.Connection) -> int:
    number: int = await town_owner.fetchval(ASK, partner[0].account_id)
    return number


async def test_a_top_up_is_refunded_with_a_reason_and_once(
    application: Starlette, people: People, partner: tuple[Person, Person], town_owner: asyncpg.Connection
) -> None:
    operator, friend = await staff_browser(application, people, Role.OPERATOR), partner[1].account_id
    top_up = await town_owner.fetchval("select id from top_up where account_id = $1", friend)
    listed = await operator.get(f"/staff/top-ups?account={friend}")
    assert f"/staff/top-ups/{top_up}" in listed.text
    assert "$1000.00" in listed.text
    assert f"/staff/top-ups/{top_up}/refund" in (await operator.get(f"/staff/top-ups/{top_up}")).text
    path = f"/staff/top-ups/{top_up}/refund"
    page = await operator.get(path)
    sent = page.hidden() | {"reason": "charged back"}
    assert (await operator.post(path, **sent)).goes_to == f"/staff/top-ups/{top_up}?done=refunded"
    shown = await operator.follow()
    assert "charged back" in shown.text
    assert "Taken back" in shown.text
    assert (await operator.post(path, **sent)).goes_to == f"{path}?done=sent-before"
    assert "refunded before" in (await operator.follow()).text
    assert (await last_act(town_owner, f"top_up:{top_up}"))[0::2] == ("top_up.revoke", "charged back")
    assert (await operator.get("/staff/top-ups/999999999")).status == 404
    assert (await operator.get("/staff/top-ups?account=x")).status == 422
    support = await staff_browser(application, people, Role.SUPPORT)
    assert "Refunds are for operators" not in shown.text
    assert (await support.get(path)).status == 403


async def test_whoever_approves_a_withdrawal_does_not_pay_it(
    application: Starlette, people: People, asked: int, town_owner: asyncpg.Connection
) -> None:
    first, second = [await staff_browser(application, people, Role.OPERATOR) for _ in range(2)]
    here = f"/staff/withdrawals/{asked}"
    assert here in (await first.get("/staff/withdrawals")).text
    early = await do(first, f"{here}/pay", reason="transfer 1")
    assert (early.status, "not approved yet" in early.text) == (422, True)
    kept = (await first.get(f"{here}/pay")).hidden()
    assert (await do(first, f"{here}/approve", reason="known to us")).goes_to == f"{here}?done=withdrawal-approved"
    assert "You approved it" in (await first.get(here)).text
    assert "It is paid" not in (await first.get(f"{here}/pay")).text
    # It is not offered, and a form that was open before is refused.
    alone = await first.post(f"{here}/pay", **kept, reason="transfer 1")
    assert alone.status == 422
    assert "You approved it" in alone.text
    assert await town_owner.fetchval("select state from withdrawal where id = $1", asked) == "approved"
    assert "You approved it" not in (await second.get(here)).text
    assert (await do(second, f"{here}/pay", reason="transfer 1")).goes_to == f"{here}?done=withdrawal-paid"
    assert "transfer 1" in (await second.follow()).text
    row = await town_owner.fetchrow("select state, approved_by, decided_by from withdrawal where id = $1", asked)
    assert row["state"] == "paid"
    assert row["approved_by"] != row["decided_by"]
    assert here not in (await first.get("/staff/withdrawals")).text
    assert here in (await first.get("/staff/withdrawals?which=all")).text
    assert "already" in (await first.get(f"{here}/refuse")).text


async def test_noting_a_payment_is_not_offered_where_a_key_that_may_be_ones_own_approved(
    application: Starlette, people: People, asked: int, town_owner: asyncpg.Connection
) -> None:
    operator = await staff_browser(application, people, Role.OPERATOR)
    here = f"/staff/withdrawals/{asked}"
    approve = (
        "update withdrawal set state = 'approved', approved_at = ledger_now(), approved_by = $2, approved_why = 'known'"
        " where id = $1"
    )
    await town_owner.execute(approve, asked, "operator:of-nobody")
    assert f"{here}/pay" not in (await operator.get(here)).text
    form = await operator.get(f"{here}/pay")
    assert "approved by a key that may be yours" in form.text
    assert "It is paid" not in form.text
    await town_owner.execute(approve, asked, "account:1")
    assert f"{here}/pay" in (await operator.get(here)).text


async def test_a_withdrawal_is_refused_with_a_reason(
    application: Starlette, people: People, asked: int, town_owner: asyncpg.Connection
) -> None:
    operator = await staff_browser(application, people, Role.OPERATOR)
    answer = await do(operator, f"/staff/withdrawals/{asked}/refuse", reason="names differ")
    assert answer.goes_to == f"/staff/withdrawals/{asked}?done=withdrawal-refused"
    assert (await last_act(town_owner, f"withdrawal:{asked}"))[0::2] == ("withdrawal.refuse", "names differ")
    assert (await operator.get("/staff/withdrawals/999999999")).status == 404
    assert (await operator.get("/staff/withdrawals?after=what")).status == 422
