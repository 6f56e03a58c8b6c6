"""Figures of provider accounts: added up or not, they are what the log says, and every attempt counts once."""

from datetime import timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.customers import Customers
from tests.office.staff import StaffClient, told
from tests.storage.usage.rows import Counted, a_call
from tollkeeper.app.database import opened
from tollkeeper.console.staff.hour_charts import KINDS
from tollkeeper.core.money.charge import Ending
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.office.desks import Office
from tollkeeper.ports import Failure
from tollkeeper.relay.dispatch.attempt import TOO_LONG
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres import migrations
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.usage.rollups import SqlRollups

HOUR = timedelta(hours=1)
# The endings that are a provider's failure; all others are the caller's doing, a limit of the caller's, or ours.
PROVIDERS_FAULT = {Ending.UPSTREAM_BROKE, Ending.REFUSED}
VERSIONS = Path(next(iter(migrations.__path__))) / "versions"
LIVE_POOL, PROVIDER_DAYS = VERSIONS / "0040_live_pool.sql", VERSIONS / "0049_provider_days_filled.sql"


class Tried(msgspec.Struct, frozen=True):
    """One attempt, as the log tells it."""

    account: str
    outcome: str = "completed"
    first_byte_ms: int | None = 100
    cost: int = 0
    status: int | None = None


async def attempted(
    owner: asyncpg.Connection, customers: Customers, hours_ago: float, *attempts: Tried, served: bool = True
) -> None:
    customer = await customers.a_customer()
    price = await owner.fetchval("select min(id) from price")
    call = await a_call(
        owner, customer, price, usage=Counted(charged=1_000 if served else 0, served=served), days_ago=hours_ago / 24
    )
    as_json = msgspec.json.encode(attempts).decode()
    await owner.execute("update usage set attempts = $2::text::jsonb where request_id = $1", call, as_json)


@pytest.fixture
async def a_day_of_calls(office: Office, owner: asyncpg.Connection) -> None:
    customers = Customers(office)
    await customers.a_model()
    await attempted(owner, customers, 0.01, Tried("main", cost=100, first_byte_ms=40))
    await attempted(owner, customers, 2, Tried("main", "timeout", None), Tried("second", cost=600, first_byte_ms=3_000))
    await attempted(owner, customers, 2, Tried("main", "refused", None, status=400))
    await attempted(owner, customers, 20, Tried("main", cost=400, first_byte_ms=200))
    await attempted(owner, customers, 200, Tried("main", cost=900))


async def rolled_up(settings: Settings, *, rows: int = 2) -> None:
    async with opened(settings, DatabaseRole.WORKER) as database:
        await roll_up_usage(SqlRollups(database, rows_at_once=rows))


@pytest.mark.usefixtures("a_day_of_calls")
async def test_figures_are_the_same_before_and_after_they_are_added_up(
    owner_client: StaffClient, office: Office, settings: Settings
) -> None:
    before = [told(await owner_client.get(f"/figures/{by}", hours=24)) for by in ("hours", "models")]
    standing = await office.providers.standing()
    for _ in range(2):
        await rolled_up(settings)
        assert [told(await owner_client.get(f"/figures/{by}", hours=24)) for by in ("hours", "models")] == before
        assert await office.providers.standing() == standing


@pytest.mark.usefixtures("a_day_of_calls")
async def test_days_that_are_added_up_as_a_whole_count_every_attempt_once(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection, settings: Settings
) -> None:
    for hours_ago in range(25, 97, 6):
        tried = Tried("main", first_byte_ms=10 * hours_ago), Tried("second", "timeout", None)
        await attempted(owner, Customers(office), hours_ago, *tried)
    spans = [(hours, account) for hours in (3, 20, 30, 47, 50, 77, 300) for account in ("", "main")]
    before = [told(await owner_client.get("/figures/models", hours=hours, account=account)) for hours, account in spans]
    calls = [await office.figures.calls_by_model(hours) for hours, _ in spans]
    await rolled_up(settings)
    assert [
        told(await owner_client.get("/figures/models", hours=hours, account=account)) for hours, account in spans
    ] == before
    assert [await office.figures.calls_by_model(hours) for hours, _ in spans] == calls
    assert len({str(each) for each in before}) == len(spans)


@pytest.mark.usefixtures("a_day_of_calls")
async def test_an_upgrade_fills_in_the_days(owner: asyncpg.Connection, settings: Settings) -> None:
    await rolled_up(settings)
    every = "select * from provider_day order by day, account, model_id"
    before = [tuple(row) for row in await owner.fetch(every)]
    async with owner.transaction():
        # As where hours were added up by the version before, and some days by this one.
        await owner.execute("update provider_day set attempts = 7 where account = 'main'")
        await owner.execute("delete from provider_day where account <> 'main'")
        await owner.execute(PROVIDER_DAYS.read_text())
    assert [tuple(row) for row in await owner.fetch(every)] == before != []


@pytest.mark.usefixtures("a_day_of_calls")
async def test_attempts_failures_charge_and_cost_belong_to_who_made_them(
    owner_client: StaffClient, settings: Settings
) -> None:
    await rolled_up(settings)
    rows = told(await owner_client.get("/figures/models", hours=24))["data"]
    by_account = {row["account"]: row["figures"] for row in rows}
    main, second = by_account["main"], by_account["second"]
    assert (main["attempts"], main["failed"], main["delivered"]) == (4, 1, 3)
    assert (second["attempts"], second["failed"], second["delivered"]) == (1, 0, 1)
    assert main["revenue"]["micro_quota"] == 3_000
    assert main["cost"]["micro_quota"] == 500
    assert second["margin"]["micro_quota"] == 400
    assert 2_263 <= second["first_byte_p99_ms"] <= 3_200
    assert [row["account"] for row in told(await owner_client.get("/figures/models", account="second"))["data"]] == [
        "second"
    ]


@pytest.mark.usefixtures("a_day_of_calls")
async def test_what_is_older_than_was_asked_for_is_left_out(owner_client: StaffClient, settings: Settings) -> None:
    await rolled_up(settings)
    hours = told(await owner_client.get("/figures/hours", hours=24))["data"]
    assert sum(row["figures"]["attempts"] for row in hours) == 5
    assert hours == sorted(hours, key=lambda row: row["hour"])
    longer = told(await owner_client.get("/figures/hours", hours=24 * 30))["data"]
    assert sum(row["figures"]["attempts"] for row in longer) == 6


@pytest.mark.usefixtures("a_day_of_calls")
async def test_failures_are_told_by_kind_and_whether_a_caller_heard_of_them(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection, settings: Settings
) -> None:
    customers = Customers(office)
    await attempted(owner, customers, 3, Tried("main", "refused", None, status=429), Tried("second", "broken", None))
    before = told(await owner_client.get("/figures/failures", hours=24))["data"]
    found = {row["failure"]: (row["times"], row["for_callers"]) for row in before}
    assert found == {"timeout": (1, 0), "busy": (1, 0), "broken": (1, 1)}
    await rolled_up(settings)
    assert told(await owner_client.get("/figures/failures", hours=24))["data"] == before
    [busy] = told(await owner_client.get("/figures/failures", account="second"))["data"]
    assert busy["failure"] == "broken"


@pytest.mark.usefixtures("a_day_of_calls")
async def test_hours_together_have_percentiles_of_all_their_calls(owner_client: StaffClient) -> None:
    whole = told(await owner_client.get("/figures", hours=24))
    assert (whole["attempts"], whole["failed"], whole["delivered"]) == (5, 1, 4)
    assert whole["first_byte_p50_ms"] < 300
    assert whole["first_byte_p99_ms"] >= 2_263


async def test_what_a_call_ended_of_is_a_failure_of_the_providers_only_where_it_is_its_fault(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    customers = Customers(office)
    await customers.a_model()
    for ending in Ending:
        await attempted(owner, customers, 1, Tried("main", ending.value))
    failures = told(await owner_client.get("/figures/failures"))["data"]
    assert {row["failure"] for row in failures} == {ending.value for ending in PROVIDERS_FAULT}
    whole = told(await owner_client.get("/figures"))
    assert (whole["attempts"], whole["failed"]) == (len(Ending), len(PROVIDERS_FAULT))


async def test_every_kind_of_failure_that_is_recorded_has_words_of_its_own(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection
) -> None:
    customers = Customers(office)
    await customers.a_model()
    for outcome in (*Failure, TOO_LONG, *Ending):
        await attempted(owner, customers, 1, Tried("main", str(outcome)))
    for status in (401, 402, 403, 404, 429, 500, 503, 529):
        await attempted(owner, customers, 1, Tried("main", "refused", status=status))
    recorded = {row["failure"] for row in told(await owner_client.get("/figures/failures"))["data"]}
    assert recorded == set(KINDS) - {"not_kept"}


async def test_calls_that_failed_are_answered_or_not(
    owner_client: StaffClient, office: Office, owner: asyncpg.Connection, settings: Settings
) -> None:
    customers = Customers(office)
    await customers.a_model()
    await attempted(owner, customers, 2, Tried("main", "upstream_broke"))
    for _ in range(2):
        await attempted(owner, customers, 2, Tried("main", "refused", None, status=503), served=False)
    before = told(await owner_client.get("/figures/failures"))["data"]
    found = {row["failure"]: (row["for_callers"], row["unanswered"]) for row in before}
    assert found == {"upstream_broke": (1, 0), "server": (2, 2)}
    await rolled_up(settings)
    assert told(await owner_client.get("/figures/failures"))["data"] == before


@pytest.mark.usefixtures("a_day_of_calls")
async def test_an_upgrade_fills_in_the_last_days_kinds_and_the_number_of_those_before(
    office: Office, owner: asyncpg.Connection, settings: Settings
) -> None:
    await attempted(owner, Customers(office), 60, Tried("main", "silent", None))
    await rolled_up(settings)
    every = "select * from failure_hour order by account, hour, failure"
    before = [tuple(row) for row in await owner.fetch(every)]
    filling = LIVE_POOL.read_text().partition("-- What is added up already, by kind")[2].partition("grant execute")[0]
    async with owner.transaction():
        await owner.execute("delete from failure_hour")
        await owner.execute(f"--{filling}")
    after = [tuple(row) for row in await owner.fetch(every)]
    assert after == [(*row[:2], "not_kept", row[3], 0, 0) if row[2] == "silent" else row for row in before]
    assert len(after) == 4
