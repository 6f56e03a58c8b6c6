"""Provider accounts by what nodes tell of them: breakers, what is used of limits, our own latency; and what wants a
person."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.customers import Customers
from tests.office.staff import StaffClient, told
from tollkeeper.app.database import opened
from tollkeeper.core.pool.breaker import BreakerState, Trouble
from tollkeeper.office.desks import Office
from tollkeeper.ports.providers.live import BreakerReport, PoolReport, RoomReport
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.providers.reports import SqlPoolReports

BOUNDS_MS = [1.0, 10.0, 100.0]


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.GATEWAY) as database:
        yield database


@pytest.fixture
async def first(owner_client: StaffClient, office: Office) -> None:
    await Customers(office).a_model(model_id="gpt-4o")
    address = "https://api.openai.com/v1"
    told(await owner_client.post("/providers", name="first", base_url=address, key="k", requests_per_minute=60))


def out(model: str | None, seconds: float = 30.0, trouble: Trouble = Trouble.SERVER) -> BreakerReport:
    state = BreakerState.OPEN if seconds else BreakerState.HALF_OPEN
    return BreakerReport(account="first", model=model, state=state, seconds=seconds, trouble=trouble)


async def report(gateway: Database, process: int = 1, **fields: object) -> SqlPoolReports:
    told_by = SqlPoolReports(gateway, "here", process, lambda: PoolReport(**fields))  # type: ignore[arg-type]
    await told_by.write()
    return told_by


@pytest.mark.usefixtures("first")
async def test_where_no_node_tells_nothing_is_said_to_be_used(owner_client: StaffClient) -> None:
    [row] = told(await owner_client.get("/providers"))["data"]
    assert (row["in_use"], row["breakers"], row["tag"]) == (None, [], "idle")


@pytest.mark.usefixtures("first")
async def test_what_all_processes_used_of_an_accounts_limits_is_added_up(
    owner_client: StaffClient, gateway: Database
) -> None:
    for process in (1, 2):
        await report(gateway, process, rooms=[RoomReport(account="first", calls=1, requests=10, tokens=500)])
    [row] = told(await owner_client.get("/providers"))["data"]
    assert row["in_use"] == {"calls": 2, "requests": 20, "tokens": 1_000}


@pytest.mark.usefixtures("first")
async def test_a_breaker_is_as_open_as_the_process_says_that_holds_it_longest(
    owner_client: StaffClient, gateway: Database
) -> None:
    await report(gateway, 1, breakers=[out("gpt-4o", 0.0)])
    await report(gateway, 2, breakers=[out("gpt-4o", 40.0, Trouble.BUSY)])
    row = told(await owner_client.get("/providers/first"))["standing"]
    [breaker] = row["breakers"]
    assert (breaker["model"], breaker["state"], breaker["processes"]) == ("gpt-4o", "open", 1)
    assert breaker["of_processes"] == 2
    assert row["tag"] == "partly out"
    assert "gpt-4o is out until" in row["health"]
    assert "busy" in row["health"]


@pytest.mark.usefixtures("first")
async def test_an_account_that_is_out_wants_a_person_until_it_is_back(
    owner_client: StaffClient, gateway: Database
) -> None:
    process = await report(gateway, breakers=[out(None)])
    [matter] = told(await owner_client.get("/attention"))["data"]
    assert (matter["kind"], matter["subject"]) == ("provider", "first")
    assert "it failed again and again" in matter["told"]
    await process.end()
    assert told(await owner_client.get("/attention"))["data"] == []


@pytest.mark.usefixtures("first")
async def test_an_account_that_is_half_open_is_not_out(owner_client: StaffClient, gateway: Database) -> None:
    await report(gateway, 1, breakers=[out(None, 0.0)])
    await report(gateway, 2)
    row = told(await owner_client.get("/providers/first"))["standing"]
    assert row["tag"] == "half open"
    assert "half open" in row["health"]
    [breaker] = row["breakers"]
    assert (breaker["processes"], breaker["of_processes"]) == (1, 2)
    assert told(await owner_client.get("/attention"))["data"] == []


@pytest.mark.usefixtures("first")
async def test_reports_of_processes_that_are_gone_and_of_other_versions_are_left_out(
    owner_client: StaffClient, gateway: Database, owner: asyncpg.Connection
) -> None:
    await report(gateway, 1, breakers=[out(None)])
    await owner.execute("update pool_report set at = now() - interval '1 minute'")
    await owner.execute("insert into pool_report (node, process, told) values ('new', 1, '{\"breakers\": 7}')")
    [row] = told(await owner_client.get("/providers"))["data"]
    assert (row["in_use"], row["breakers"]) == (None, [])
    await owner.execute("update pool_report set at = now() - interval '1 hour'")
    await report(gateway, 2)
    assert await owner.fetchval("select count(*) from pool_report") == 1


async def test_our_own_latency_is_that_of_all_processes_together(owner_client: StaffClient, gateway: Database) -> None:
    assert told(await owner_client.get("/house"))["own_p50_ms"] is None
    await report(gateway, 1, own_bounds_ms=BOUNDS_MS, own_counts=[98, 0, 0, 0])
    await report(gateway, 2, own_bounds_ms=BOUNDS_MS, own_counts=[0, 0, 2, 0])
    house = told(await owner_client.get("/house"))
    assert house["own_p50_ms"] <= 1.0
    assert 10.0 < house["own_p99_ms"] <= 100.0
    assert house["processes"] == 2
    assert house["redis_ms"] > 0


async def test_what_wants_a_person_is_told_in_sentences(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    customer = await Customers(office).a_customer()
    await owner.execute("update lot set expires_at = now() + interval '2 days'")
    await owner.execute(
        "insert into job (name, every_seconds, due_at, judged_at, judged_well) values"
        " ('check_books', 60, now() - interval '1 day', now(), false), ('send_mail', 60, now(), null, null)"
    )
    matters = {matter["kind"]: matter for matter in told(await owner_client.get("/attention"))["data"]}
    assert list(matters) == ["books", "job", "lots"]
    assert matters["job"]["subject"] == "check_books"
    assert "not clean" in matters["books"]["told"]
    assert "1 customer lapse" in matters["lots"]["told"]
    assert customer.account_id > 0
