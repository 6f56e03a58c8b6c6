"""Single calls over the operator API: their receipts, and why they were refused."""

from uuid import uuid4

import asyncpg

from tests.console.calls import CallMade, a_call
from tests.customers import Customers
from tests.office.staff import StaffClient, refused, told
from tollkeeper.app.database import opened
from tollkeeper.settings import Settings
from tollkeeper.storage.people.old_logins import forget_old_logins
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.usage.refused import KEPT_IN_AN_HOUR, WAITING_MOST, SqlRefusalBook


async def test_a_settled_call_is_shown_with_its_receipt_and_its_attempts(
    owner_client: StaffClient, owner: asyncpg.Connection, customers: Customers
) -> None:
    customer, model = await customers.a_customer(), await customers.a_model()
    made = await a_call(owner, customer, CallMade(model=model))
    shown = told(await owner_client.get(f"/calls/{made}"))
    assert (shown["state"], shown["receipt"]["model"]) == ("settled", model)
    assert shown["receipt"]["charged"]["usd"]
    assert isinstance(shown["receipt"]["attempts"], list)
    other = await owner_client.get(f"/calls/{made}", account=customer.account_id + 1)
    assert refused(other) == (404, "not_found")


async def test_a_refused_call_is_found_with_its_reason_and_by_its_own_account_alone(
    owner_client: StaffClient, database: Database, customers: Customers
) -> None:
    customer = await customers.a_customer()
    request_id, book = uuid4(), SqlRefusalBook(database)
    book.note(request_id, customer.account_id, 1, "insufficient_account_quota")
    await book.flush()
    found = told(await owner_client.get(f"/calls/{request_id}", account=customer.account_id))
    assert (found["state"], found["account"], found["key"]) == ("refused", customer.account_id, 1)
    assert found["refusal"]["code"] == "insufficient_account_quota"
    assert found["refusal"]["meaning"].startswith("The account's balance is too small")
    assert found["receipt"] is None
    other = await owner_client.get(f"/calls/{request_id}", account=customer.account_id + 1)
    assert refused(other) == (404, "not_found")
    assert refused(await owner_client.get("/calls/nonsense")) == (400, "bad_request")


async def test_a_flood_of_refusals_fills_nothing_and_hides_no_other_reason(
    owner_client: StaffClient, database: Database, owner: asyncpg.Connection
) -> None:
    several = [SqlRefusalBook(database) for _ in range(3)]
    for book in several:
        for _ in range(2 * WAITING_MOST):
            book.note(uuid4(), 1, 1, "rate_limit_exceeded")
        await book.flush()
    assert await owner.fetchval("select count(*) from refused_call") == KEPT_IN_AN_HOUR
    asked_about = uuid4()
    several[0].note(asked_about, 1, 1, "paused_api_key")
    await several[0].flush()
    assert told(await owner_client.get(f"/calls/{asked_about}"))["refusal"]["code"] == "paused_api_key"


async def test_refused_calls_wait_for_the_database_and_are_forgotten_after_a_day(
    settings: Settings, database: Database, owner: asyncpg.Connection
) -> None:
    book = SqlRefusalBook(database)
    for account in range(2 * WAITING_MOST):
        book.note(uuid4(), account, 1, "rate_limit_exceeded")
    await book.flush()
    assert await owner.fetchval("select count(*) from refused_call") == WAITING_MOST
    await owner.execute("update refused_call set at = at - interval '23 h' where account_id < 10")
    await owner.execute("update refused_call set at = at - interval '25 h' where account_id >= 10")
    async with opened(settings, DatabaseRole.WORKER) as worker:
        await forget_old_logins(worker)
    assert await owner.fetchval("select count(*) from refused_call") == 10
