"""Provider accounts: their place in the pool, their suspensions, and how they are doing."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from tests.customers import ACTOR, Customers
from tollkeeper.app.database import opened
from tollkeeper.core.money.prices import MILLIONTHS
from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.ports import AlreadyOnFile, NewProviderAccount, NotOnFile, ProviderAccount, ProviderState
from tollkeeper.settings import Settings, keys_by_version
from tollkeeper.storage.envelope import EnvelopeKeys
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.postgres.changes import ChangeNotifier, Changes
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.providers.accounts import SqlProviderAccounts, SqlSuspensions, suspended_accounts

PLACE = PoolPlace(tier=2, weight=30, requests_per_minute=60, tokens_per_minute=9_000, concurrency=4)
BECAUSE = "its key was refused with 401"


class Silent(ChangeNotifier):
    """As if Redis were not there."""

    def __init__(self) -> None:
        """Nothing to connect to."""

    async def send(self, text: bytes = b"") -> None:
        """Nobody hears."""


def an_account(name: str = "first", **more: Any) -> NewProviderAccount:
    usual = {"vendor": "openai", "base_url": "https://api.example/v1", "secret": "s"}
    return NewProviderAccount(name=name, **(usual | more))


@pytest.fixture
def envelope_keys(settings: Settings) -> EnvelopeKeys:
    return EnvelopeKeys(keys_by_version(settings.envelope_keys, least_bytes=32))


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


class Node:
    """One node's view of the pool."""

    def __init__(self, database: Database, envelope_keys: EnvelopeKeys) -> None:
        self._changes = Changes(database)
        self._accounts = SqlProviderAccounts(database, self._changes, envelope_keys)

    async def sees(self) -> dict[str, ProviderAccount]:
        await self._changes.look()
        return {account.name: account for account in await self._accounts.all()}

    async def trouble(self) -> str | None:
        await self.sees()
        return self._accounts.trouble


@pytest.fixture
def node(database: Database, envelope_keys: EnvelopeKeys) -> Node:
    return Node(database, envelope_keys)


async def test_an_account_keeps_its_place_models_and_cost(customers: Customers, node: Node) -> None:
    names = {"gpt-4o": "my-deployment", "o3": "o3"}
    await customers.desk.providers.add(an_account(place=PLACE, models=names, cost=Decimal("0.8")), actor=ACTOR)
    account = (await node.sees())["first"]
    assert account.place == PLACE
    assert account.models == names
    assert account.cost == 800_000
    assert account.secret.reveal() == "s"
    assert account.takes_calls


async def test_an_account_of_which_nothing_is_said_serves_everything_at_list_price(
    customers: Customers, node: Node
) -> None:
    await customers.desk.providers.add(an_account(), actor=ACTOR)
    account = (await node.sees())["first"]
    assert (account.place, account.models, account.cost) == (PoolPlace(), None, MILLIONTHS)


async def test_a_name_is_given_once(customers: Customers) -> None:
    await customers.desk.providers.add(an_account(), actor=ACTOR)
    with pytest.raises(AlreadyOnFile, match="'first' exists already"):
        await customers.desk.providers.add(an_account(), actor=ACTOR)


@pytest.mark.parametrize(
    "sql",
    [
        "update provider_account set models = '[]'",
        """update provider_account set models = '{"a": 1}'""",
        "update provider_account set tier = 0",
        "update provider_account set weight = 1001",
        "update provider_account set state = 'gone'",
        "update provider_account set concurrency = 0",
        "update provider_account set suspended_at = now()",
    ],
)
async def test_nonsense_is_refused(customers: Customers, owner: asyncpg.Connection, sql: str) -> None:
    await customers.desk.providers.add(an_account(), actor=ACTOR)
    with pytest.raises(asyncpg.CheckViolationError):
        await owner.execute(sql)


@pytest.mark.parametrize("state", [ProviderState.PAUSED, ProviderState.DRAINING])
async def test_a_paused_account_is_seen_and_takes_no_calls(
    customers: Customers, node: Node, state: ProviderState
) -> None:
    desk = customers.desk.providers
    await desk.add(an_account(), actor=ACTOR)
    assert (await node.sees())["first"].takes_calls
    assert await desk.set_state("first", state, actor=ACTOR)
    assert not (await node.sees())["first"].takes_calls
    assert not await desk.set_state("first", state, actor=ACTOR)
    assert await desk.set_state("first", ProviderState.ACTIVE, actor=ACTOR)
    assert (await node.sees())["first"].takes_calls


async def test_nobody_can_be_paused_who_is_not_there(customers: Customers) -> None:
    with pytest.raises(NotOnFile, match="no provider account 'nobody'"):
        await customers.desk.providers.set_state("nobody", ProviderState.PAUSED, actor=ACTOR)
    with pytest.raises(NotOnFile, match="no provider account 'nobody'"):
        await customers.desk.providers.find("nobody")


async def test_the_gateway_suspends_and_the_worker_lifts(
    customers: Customers, node: Node, database: Database, worker: Database, envelope_keys: EnvelopeKeys
) -> None:
    account_id = await customers.desk.providers.add(an_account(), actor=ACTOR)
    await customers.desk.providers.add(an_account("second"), actor=ACTOR)
    await SqlSuspensions(database, Silent()).suspend(account_id, BECAUSE)
    seen = await node.sees()
    assert (seen["first"].takes_calls, seen["second"].takes_calls) == (False, True)
    assert [account.name for account in await suspended_accounts(worker, envelope_keys)] == ["first"]
    suspensions = SqlSuspensions(worker, Silent())
    assert await suspensions.lift(account_id, actor="worker")
    assert not await suspensions.lift(account_id, actor="worker")
    assert (await node.sees())["first"].takes_calls
    assert await suspended_accounts(worker, envelope_keys) == []


async def test_the_first_suspension_stands_and_nodes_hear_of_it_once(
    customers: Customers, database: Database, owner: asyncpg.Connection
) -> None:
    account_id = await customers.desk.providers.add(an_account(), actor=ACTOR)
    news = "select count(*) from change where kind = 'pool'"
    before = await owner.fetchval(news)
    suspensions = SqlSuspensions(database, Silent())
    for because in (BECAUSE, "another reason"):
        await suspensions.suspend(account_id, because)
    assert await owner.fetchval("select suspended_because from provider_account") == BECAUSE
    assert await owner.fetchval(news) == before + 1


async def test_lifting_a_suspension_leaves_the_operators_pause(
    customers: Customers, node: Node, database: Database
) -> None:
    account_id = await customers.desk.providers.add(an_account(), actor=ACTOR)
    await customers.desk.providers.set_state("first", ProviderState.PAUSED, actor=ACTOR)
    await SqlSuspensions(database, Silent()).suspend(account_id, BECAUSE)
    assert await customers.desk.suspensions.lift(account_id, actor=ACTOR)
    assert not (await node.sees())["first"].takes_calls


async def test_everything_is_on_the_record(
    customers: Customers, database: Database, worker: Database, owner: asyncpg.Connection
) -> None:
    account_id = await customers.desk.providers.add(an_account(secret="not-for-the-record"), actor=ACTOR)
    await customers.desk.providers.set_state("first", ProviderState.DRAINING, actor=ACTOR)
    await SqlSuspensions(database, Silent()).suspend(account_id, BECAUSE)
    await SqlSuspensions(worker, Silent()).lift(account_id, actor="worker")
    rows = await owner.fetch("select actor, action, subject, detail from audit order by id")
    assert [(row["actor"], row["action"]) for row in rows] == [
        (ACTOR, "provider.add"),
        (ACTOR, "provider.set_state"),
        ("gateway", "provider.suspend"),
        ("worker", "provider.lift_suspension"),
    ]
    assert {row["subject"] for row in rows} == {"provider_account:first"}
    assert "not-for-the-record" not in str([row["detail"] for row in rows])
    assert not any(verdict.findings for verdict in await check_books(worker))


async def a_call(
    owner: asyncpg.Connection, *attempts: dict[str, object], charged: int = 0, ago: timedelta = timedelta(0)
) -> None:
    """On the usage log, as if it had begun a while ago."""
    await owner.execute(
        "insert into usage values ((left(uuid_floor(now() - $1::interval)::text, 15) || right(gen_random_uuid()::text,"
        " 21))::uuid, 1, 1, 1, 1, 0, 0, 0, 0, $2, 'provider', $3, $4::text::jsonb, now(), now())",
        ago,
        charged,
        attempts[-1]["outcome"],
        json.dumps(attempts),
    )


def attempt(account: str, outcome: str = "completed", **more: object) -> dict[str, object]:
    return {"account": account, "outcome": outcome, "ms": 900} | more


async def test_standing_tells_of_ten_minutes_and_of_a_day(customers: Customers, owner: asyncpg.Connection) -> None:
    for name in ("first", "second", "third"):
        await customers.desk.providers.add(an_account(name, place=PLACE, models={"m": "m"}), actor=ACTOR)
    await a_call(owner, attempt("first", first_byte_ms=100, cost=70), charged=100)
    await a_call(
        owner,
        attempt("first", "silent", cost=5),
        attempt("second", first_byte_ms=300, cost=80),
        charged=100,
        ago=timedelta(minutes=1),
    )
    await a_call(owner, attempt("first", "refused", status=503, first_byte_ms=9_000))
    await a_call(owner, attempt("second", "refused", status=400, first_byte_ms=100))
    await a_call(owner, attempt("first", "client_left", cost=50), charged=40, ago=timedelta(hours=3))
    await a_call(owner, attempt("first", cost=1_000), charged=1_000, ago=timedelta(hours=25))
    first, second, third = await customers.desk.providers.standing()
    assert (first.attempts, first.failed, first.first_byte_ms) == (3, 2, 100)
    assert (first.delivered, first.charged, first.cost) == (2, 140, 125)
    assert (second.attempts, second.failed, second.first_byte_ms) == (2, 0, 200)
    assert (second.delivered, second.charged, second.cost) == (1, 100, 80)
    assert (third.attempts, third.first_byte_ms, third.delivered, third.charged, third.cost) == (0, None, 0, 0, 0)
    assert (third.place, third.models, third.state, third.suspended_at) == (PLACE, 1, ProviderState.ACTIVE, None)


async def test_standing_tells_of_suspensions_and_of_every_model(customers: Customers, database: Database) -> None:
    account_id = await customers.desk.providers.add(an_account(), actor=ACTOR)
    await SqlSuspensions(database, Silent()).suspend(account_id, BECAUSE)
    [standing] = await customers.desk.providers.standing()
    assert standing.suspended_at is not None
    assert (standing.suspended_because, standing.models) == (BECAUSE, None)


async def test_a_node_that_can_open_none_of_the_accounts_says_so_and_one_without_accounts_is_well(
    database: Database, envelope_keys: EnvelopeKeys, customers: Customers
) -> None:
    known, stranger = Node(database, envelope_keys), Node(database, EnvelopeKeys({7: bytes(32)}))
    assert [await known.trouble(), await stranger.trouble()] == ["", ""]
    await customers.desk.providers.add(an_account(), actor=ACTOR)
    assert await known.trouble() == ""
    told = await stranger.trouble()
    assert told is not None
    assert told.startswith("none of 1 accounts can be opened: TOLLKEEPER_ENVELOPE_KEYS")


async def test_a_node_that_has_not_read_the_accounts_yet_does_not_say_that_all_is_well(
    database: Database, envelope_keys: EnvelopeKeys
) -> None:
    assert SqlProviderAccounts(database, Changes(database), envelope_keys).trouble is None
