"""Staff's pages of the house: the overview, figures, jobs, nodes, settings."""

import re
from datetime import UTC, datetime

import asyncpg
import msgspec
import pytest
from starlette.applications import Starlette

from tests.console.browser import Browser
from tests.console.test_staff_pages import staff_browser
from tests.customers import Customers
from tests.people import People
from tests.storage.usage.rows import Counted, a_call
from tollkeeper.console.staff.overview import part_failed_for_callers
from tollkeeper.console.staff.sums import Sums
from tollkeeper.core.people.logins import Role
from tollkeeper.office.figures import FailureView
from tollkeeper.settings import Secret, Settings

ATTEMPTS = (
    '[{"account": "%s", "outcome": "refused", "status": 429, "first_byte_ms": 20, "cost": 0},'
    ' {"account": "%s-2", "outcome": "completed", "first_byte_ms": 800, "cost": 400}]'
)


@pytest.fixture
async def staff(application: Starlette, people: People) -> Browser:
    return await staff_browser(application, people, Role.SUPPORT)


@pytest.fixture
async def provider_name(townsfolk: Customers, town_owner: asyncpg.Connection) -> str:
    """An account that just said "busy" to a call, which another one answered."""
    model = await townsfolk.a_model()
    customer = await townsfolk.a_customer()
    price = await town_owner.fetchval("select id from price where model_id = $1", model)
    call = await a_call(town_owner, customer, price, usage=Counted(charged=1_000_000), days_ago=0.001)
    name = f"of-{model}"
    await town_owner.execute(
        "update usage set attempts = $2::text::jsonb where request_id = $1", call, ATTEMPTS % (name, name)
    )
    return name


async def test_the_overview_has_four_figures_four_charts_and_the_house(staff: Browser, provider_name: str) -> None:
    page = await staff.get("/staff")
    assert page.status == 200
    for words in ("Calls answered", "Failed for callers", "Ours, p50 / p99", "Margin", "The house", "Open holds"):
        assert words in page.text
    assert page.text.count('<svg class="chart half"') == 4
    assert "busy (429)" in page.text
    assert page.text.count('class="card stat') == 4
    assert provider_name


@pytest.mark.parametrize(
    ("delivered", "broke_off", "unanswered", "shown"),
    [(10, 0, 90, "90.00 %"), (0, 0, 7, "100.00 %"), (4, 1, 0, "25.00 %"), (0, 0, 0, "–")],
    ids=["most failed", "an outage", "one broke off", "no call"],
)
def test_what_failed_for_callers_is_a_part_of_all_calls(
    delivered: int, broke_off: int, unanswered: int, shown: str
) -> None:
    """Calls that broke off count as delivered, too: something of them came."""
    hour = datetime(2026, 11, 1, 12, tzinfo=UTC)
    heard = broke_off + unanswered
    failures = [FailureView(hour=hour, failure="server", times=500, for_callers=heard, unanswered=unanswered)]
    assert part_failed_for_callers(Sums(delivered=delivered), failures) == shown


async def test_the_overview_is_live_and_shows_losses_and_no_way_to_accounts_that_are_gone(
    staff: Browser, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    model, customer = await townsfolk.a_model(), await townsfolk.a_customer()
    price = await town_owner.fetchval("select id from price where model_id = $1", model)
    at_a_loss = '[{"account": "gone", "outcome": "completed", "cost": 900000000000}]'
    call = await a_call(town_owner, customer, price, usage=Counted(charged=1_000), days_ago=0.001)
    await town_owner.execute("update usage set attempts = $2::text::jsonb where request_id = $1", call, at_a_loss)
    page = await staff.get("/staff")
    assert 'data-refresh="15"' in page.text
    # Of calls and of failures: a loss has no line, and our own latency has no hours.
    assert page.text.count('class="spark"') == 2
    [anchor] = set(re.findall(r"/staff/figures\?hours=23#(h-\d{10})[^>]*calls", page.text)[-1:])
    assert f'id="{anchor}"' in (await staff.get("/staff/figures?hours=23")).text
    assert 'href="/staff/providers/gone"' not in (await staff.get(f"/staff/calls/{call}")).text
    assert 'href="/staff/providers/gone"' not in (await staff.get("/staff/figures?account=gone")).text


async def test_figures_are_rows_by_hour_account_and_kind(staff: Browser, provider_name: str) -> None:
    page = await staff.get(f"/staff/figures?account={provider_name}")
    assert "busy" in page.text
    assert provider_name in page.text
    assert "list of provider accounts" in (await staff.get("/staff/figures?hours=24")).text
    assert "No calls in this time" in (await staff.get("/staff/figures?account=nobody")).text
    assert (await staff.get("/staff/figures?hours=never")).status == 422


async def test_jobs_say_how_they_went_and_which_are_late(staff: Browser, town_owner: asyncpg.Connection) -> None:
    await town_owner.execute(
        "insert into job (name, every_seconds, due_at, began_at, ended_at, seconds, went_well, outcome, runs, failures)"
        " values ('turn_partitions', 60, now() - interval '1 day', now(), now(), 1.5, true, '2 made', 3, 1)"
        " on conflict (name) do update set due_at = excluded.due_at, outcome = excluded.outcome"
    )
    page = await staff.get("/staff/jobs")
    for words in ("turn partitions", "2 made", ">late<", "The books"):
        assert words in page.text
    assert "The job turn_partitions was due" in (await staff.get("/staff")).text
    await town_owner.execute("delete from job where name = 'turn_partitions'")


async def test_nodes_are_shown_with_their_versions(staff: Browser, town_owner: asyncpg.Connection) -> None:
    await town_owner.execute("insert into node (name, version) values ('gw-of-a-test', '1.2.3')")
    page = await staff.get("/staff/nodes")
    assert "gw-of-a-test" in page.text
    assert "1.2.3" in page.text
    await town_owner.execute("delete from node where name = 'gw-of-a-test'")


async def test_settings_are_shown_and_secrets_never(staff: Browser, town_settings: Settings) -> None:
    page = await staff.get("/staff/settings")
    assert "TOLLKEEPER_PORT" in page.text
    secrets = [
        value for value in msgspec.structs.astuple(town_settings) if isinstance(value, Secret) and value.reveal()
    ]
    assert secrets
    assert not any(secret.reveal() in page.text for secret in secrets)
    found = await staff.get("/staff/settings?q=database_url")
    assert "TOLLKEEPER_DATABASE_URL" in found.text
    assert "TOLLKEEPER_PORT" not in found.text
    assert "No setting fits" in (await staff.get("/staff/settings?q=nothing+like+it")).text
