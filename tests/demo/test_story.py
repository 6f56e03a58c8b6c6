"""The demo's past: its books are clean, its clock is put right again, and there is something for every page."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tests.conftest import Stores, variables
from tollkeeper.accounts.people.front_desk import RequestOrigin
from tollkeeper.accounts.people.sign_in import Credentials, sign_in
from tollkeeper.app.database import opened
from tollkeeper.app.office import office
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.people.logins import WrongCredentials
from tollkeeper.demo.past.people import EMAIL
from tollkeeper.demo.past.story import Told, tell_story
from tollkeeper.office.desks import Office
from tollkeeper.ports.partner import WithdrawalState
from tollkeeper.settings import Settings, load
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.postgres.database import DatabaseRole
from tools.stored_functions import mismatched

pytestmark = pytest.mark.not_quick

WITHOUT_ENTRIES = """
select request_id from usage u
where charged <> (select coalesce(sum(amount), 0) from entry where cause = u.request_id and kind = 'charged')
"""
SPENT_OF_QUOTA = "select quota, used from api_key join key_books on key_id = id where name = 'newsletter bot'"


@pytest.fixture(scope="module")
async def place(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    site = tmp_path_factory.mktemp("log-site")
    return load(await variables(stores) | {"TOLLKEEPER_LOG_SITE": f"file://{site}"})


@pytest.fixture(scope="module")
async def told(place: Settings) -> Told:
    return await tell_story(place)


@pytest.fixture(scope="module")
async def desk(place: Settings) -> AsyncIterator[Office]:
    async with office(place) as found:
        yield found


@pytest.fixture
async def reader(place: Settings, told: Told) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(place.database_url, server_settings={"search_path": "tollkeeper"})
    yield connection
    await connection.close()


async def test_its_books_are_clean(place: Settings, told: Told) -> None:
    async with opened(place, DatabaseRole.WORKER) as database:
        verdicts = await check_books(database)
    assert [(verdict.invariant, verdict.findings) for verdict in verdicts if verdict.findings] == []


async def test_every_call_has_its_entries_and_none_is_ahead_of_its_time(reader: asyncpg.Connection) -> None:
    assert await reader.fetchval("select count(*) from usage") > 500
    assert await reader.fetch(WITHOUT_ENTRIES) == []
    assert await reader.fetchval("select max(settled_at) < now() and bool_and(started_at < settled_at) from usage")
    assert await reader.fetchval("select count(*) from hold where closed_at is null") == 0


async def test_the_clock_is_right_again(reader: asyncpg.Connection) -> None:
    assert await reader.fetchval("select ledger_now() = now()")
    assert await reader.fetchval("select to_regclass('moved_clock')") is None
    assert await mismatched(reader) == []


async def test_there_is_something_of_everything(reader: asyncpg.Connection) -> None:
    kinds = "select distinct kind from usage u join price p on p.id = u.price_id join model m on m.id = p.model_id"
    assert {Kind(row["kind"]) for row in await reader.fetch(kinds)} == set(Kind)
    endings = {row["ending"] for row in await reader.fetch("select distinct ending from usage")}
    assert endings >= {Ending.COMPLETED, Ending.REFUSED, Ending.CLIENT_LEFT, Ending.UPSTREAM_BROKE}
    assert await reader.fetchval("select exists (select from usage where jsonb_array_length(attempts) > 1)")
    assert await reader.fetchval("select exists (select from lot where closed_as = 'expired')")
    assert await reader.fetchval("select exists (select from price where effective_from > now())")


async def test_keys_are_in_every_state(desk: Office, told: Told, reader: asyncpg.Connection) -> None:
    now = datetime.now(UTC)
    keys = {key.name: key for key in await desk.keys.of_account(told.account_id)}
    assert keys["old phone"].revoked_at is not None
    expires_at = keys["workshop"].expires_at
    assert expires_at is not None
    assert now < expires_at < now + timedelta(days=3)
    bot = await reader.fetchrow(SPENT_OF_QUOTA)
    assert bot is not None
    assert bot["quota"] * 0.85 < bot["used"] < bot["quota"]


async def test_the_partner_plan_has_rewards_and_a_withdrawal(desk: Office, told: Told) -> None:
    statement = await desk.partners.statement(told.account_id)
    assert statement.invited == 3
    assert [each.state for each in statement.withdrawals] == [WithdrawalState.PAID]
    assert statement.cash.pending > 0
    assert statement.cash.available > 0


async def test_each_story_has_a_password_of_its_own(told: Told, desk: Office) -> None:
    given = Credentials(email=EMAIL, password=told.password)
    assert (await sign_in(desk.front_desk, given, RequestOrigin())).token
    with pytest.raises(WrongCredentials):
        await sign_in(desk.front_desk, Credentials(email=EMAIL, password="correct horse battery"), RequestOrigin())
