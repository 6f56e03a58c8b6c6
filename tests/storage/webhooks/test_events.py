"""Every event is written where it happens, in the same transaction, once."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import asyncpg
import pytest

from tests.customers import Customers
from tollkeeper.app.database import opened
from tollkeeper.app.secrets import envelope_keys_of
from tollkeeper.core.pool.breaker import BreakerState, Trouble
from tollkeeper.core.webhooks import WebhookKind
from tollkeeper.jobs.watch_breakers import watch_breakers
from tollkeeper.ports.providers.live import BreakerReport, PoolReport
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.providers.reports import SqlPoolReports, note_outages, pool_reports
from tollkeeper.storage.webhooks.deliveries import watch_key_budgets
from tollkeeper.storage.webhooks.desk import SqlWebhookDesk


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.GATEWAY) as database:
        yield database


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[SqlWebhookDesk]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        found = SqlWebhookDesk(database, envelope_keys_of(settings))
        await found.add("https://hooks.example.com/", [kind.value for kind in WebhookKind], "", "whsec_AAAA", actor="x")
        yield found


async def events(owner: asyncpg.Connection) -> list[tuple[str, dict[str, object]]]:
    """Those that are on their way, in their order."""
    rows = await owner.fetch(
        "select e.kind, e.data::text as data from webhook_delivery d join webhook_event e on e.id = d.event_id"
        " order by d.id"
    )
    return [(row["kind"], json.loads(row["data"])) for row in rows]


@pytest.mark.usefixtures("desk")
async def test_a_restriction_and_a_ban_are_told_once(
    worker: Database, owner: asyncpg.Connection, customers: Customers
) -> None:
    account = (await customers.a_customer()).account_id
    for _ in range(2):
        await worker.row("select restrict_account($1, 60, 600, 3600, '192.0.2.1')", account)
        await worker.row("select ban_ip('192.0.2.1', 60, 'peak', '{}', $1, '')", account)
    (first, restricted), (second, banned) = await events(owner)
    assert (first, restricted["account"], restricted["peak_seconds"]) == ("account.restricted", account, 600)
    assert (restricted["began_by"], restricted["reason"]) == (None, None)
    assert (second, banned["account"], banned["ip"], banned["why"]) == ("client.banned", account, "192.0.2.1", "peak")


@pytest.mark.usefixtures("desk")
async def test_a_restriction_by_staff_is_told_with_who_and_why(owner: asyncpg.Connection, customers: Customers) -> None:
    account = (await customers.a_customer()).account_id
    await owner.execute("select restrict_by_staff($1, 60, 'floods us', 'operator:ada')", account)
    [(kind, told)] = await events(owner)
    assert (kind, told["account"]) == ("account.restricted", account)
    assert (told["began_by"], told["reason"]) == ("operator:ada", "floods us")


@pytest.mark.usefixtures("desk")
async def test_a_disabled_account_is_told_and_a_closed_one_is_not(
    owner: asyncpg.Connection, customers: Customers
) -> None:
    first, second = await customers.a_customer(), await customers.a_customer()
    for _ in range(2):
        await owner.execute("update account set disabled_at = ledger_now() where id = $1", first.account_id)
    await owner.execute(
        "update account set disabled_at = ledger_now(), closed_at = ledger_now() where id = $1", second.account_id
    )
    [(kind, data)] = await events(owner)
    assert (kind, data["account"]) == ("account.disabled", first.account_id)


@pytest.mark.usefixtures("desk")
async def test_a_provider_account_that_is_out_is_told_once_each_time(
    worker: Database, owner: asyncpg.Connection
) -> None:
    number = await owner.fetchval(
        "insert into provider_account (name, vendor, base_url, key_envelope) values ('one', 'openai', 'https://x', '')"
        " returning id"
    )
    for _ in range(2):
        for _ in range(3):
            await worker.row("select suspend_provider_account($1, 'the key was refused')", number)
        await worker.row("select lift_suspension($1, 'worker')", number)
    told = [(kind, data["name"], data["because"]) for kind, data in await events(owner)]
    assert told == [("provider.out", "one", "the key was refused")] * 2


def _same(report: PoolReport) -> PoolReport:
    return report


def heard(*breakers: BreakerReport) -> PoolReport:
    return PoolReport(breakers=breakers)


@pytest.mark.usefixtures("desk")
async def test_a_provider_account_whose_breaker_is_open_everywhere_is_told_once_for_each_outage(
    worker: Database, gateway: Database, owner: asyncpg.Connection
) -> None:
    put = "insert into provider_account (name, vendor, base_url, key_envelope) values ($1, 'openai', 'https://x', '')"
    for name in ("one", "two"):
        await owner.execute(put, name)
    trouble: dict[str, Any] = {"account": "one", "model": None, "trouble": Trouble.SERVER}
    is_open = heard(BreakerReport(**trouble, state=BreakerState.OPEN, seconds=9.0))
    is_tried = heard(BreakerReport(**trouble, state=BreakerState.HALF_OPEN, seconds=0.0))
    of_a_model = heard(BreakerReport(**trouble | {"model": "m"}, state=BreakerState.OPEN, seconds=9.0))

    async def told(*reports: PoolReport) -> int:
        await owner.execute("delete from pool_report")
        for process, report in enumerate(reports):
            await SqlPoolReports(gateway, "here", process, partial(_same, report)).write()
        return await watch_breakers(partial(pool_reports, worker), partial(note_outages, worker))

    assert await told() == 0
    assert await told(is_open, heard()) == 0, "another process has calls for it"
    assert await told(of_a_model, of_a_model) == 0
    assert await told(is_open, is_open) == 1
    assert await told(is_open, is_open) == 0
    await owner.execute("update provider_outage set ill_at = ill_at - interval '2 minutes'")
    assert await told() == 0, "nobody is heard of: it is not over"
    assert await told(is_tried, is_open) == 0
    assert await told(is_open, is_open) == 0, "it was not well in between"
    await owner.execute("update provider_outage set ill_at = ill_at - interval '2 minutes'")
    assert await told(heard(), heard()) == 0
    assert await told(is_open, is_open) == 1
    told_of = [(kind, data["name"], data["because"]) for kind, data in await events(owner)]
    assert told_of == [("provider.out", "one", "no process gives it calls: it failed again and again")] * 2


@pytest.mark.usefixtures("desk")
async def test_books_that_stop_being_clean_are_told_once(owner: asyncpg.Connection) -> None:
    await owner.execute("insert into job (name, every_seconds, holder) values ('check_books', 86400, 'x')")
    bad = "The books are NOT clean: lots_add_up"
    for well, words, judged in ((True, "clean", True), (False, bad, True), (False, bad, True), (False, "away", False)):
        await owner.execute("select end_run('check_books', 'x', 1, $1, $2, $3)", well, words, judged)
    [(kind, data)] = await events(owner)
    assert (kind, data["outcome"]) == ("books.not_clean", bad)


@pytest.mark.usefixtures("desk")
async def test_an_announced_price_is_told_and_a_first_one_is_not(
    owner: asyncpg.Connection, customers: Customers
) -> None:
    model = await customers.a_model()
    assert await events(owner) == []
    await owner.execute(
        "select verdict from enter_price("
        "$1, '', 3, null, null, ledger_now() + interval '9 days', interval '7 days', null, 'x')",
        model,
    )
    [(kind, data)] = await events(owner)
    assert (kind, data["model"], data["model_multiplier"]) == ("price.announced", model, "3")


@pytest.mark.usefixtures("desk")
async def test_a_low_balance_is_told_with_its_notice(owner: asyncpg.Connection, customers: Customers) -> None:
    account = (await customers.a_customer()).account_id
    put = "insert into notice (account_id, kind, subject, balance) values ($1, 'low_balance', 1, 17)"
    transaction = owner.transaction()
    await transaction.start()
    await owner.execute(put, account)
    await transaction.rollback()
    assert await events(owner) == []
    await owner.execute(put, account)
    [(kind, data)] = await events(owner)
    assert (kind, data["account"], data["balance_micro_quota"]) == ("account.balance_low", account, 17)


@pytest.mark.usefixtures("desk")
async def test_a_key_near_its_budget_is_told_once_a_day_and_once_a_month(
    worker: Database, owner: asyncpg.Connection, customers: Customers
) -> None:
    customer = await customers.a_customer()
    await owner.execute("update api_key set daily_budget = 100, monthly_budget = 1000 where id = $1", customer.key_id)
    spend = "update key_books set day = ledger_now()::date, day_total = $2, month_total = $2 where key_id = $1"
    for spent, told in ((79, 0), (80, 1), (99, 0), (850, 1), (900, 0)):
        await owner.execute(spend, customer.key_id, spent)
        assert await watch_key_budgets(worker) == told
    found = await events(owner)
    assert [(kind, data["period"]) for kind, data in found] == [
        ("key.budget_near", "day"),
        ("key.budget_near", "month"),
    ]
    assert found[0][1]["key"] == customer.key_id
    # The next day it begins anew.
    await owner.execute("update key_budget_notice set begins = begins - 1 where period = 'day'")
    assert await watch_key_budgets(worker) == 1


async def test_nobody_is_told_of_what_nobody_wants(
    desk: SqlWebhookDesk, owner: asyncpg.Connection, worker: Database, customers: Customers
) -> None:
    [webhook] = await desk.listed()
    await owner.execute("update webhook set kinds = '{provider.out}'")
    await worker.row("select ban_ip('192.0.2.1', 60, 'peak', '{}', null, '')")
    await desk.rotate(webhook.id, "whsec_BBBB", timedelta(days=1), actor="x")
    assert await owner.fetchval("select count(*) from webhook_event") == 0
    assert await watch_key_budgets(worker) == 0


async def test_a_webhook_that_is_just_being_removed_stops_nothing(
    desk: SqlWebhookDesk, owner: asyncpg.Connection, worker: Database
) -> None:
    [webhook] = await desk.listed()
    async with owner.transaction():
        await owner.execute("delete from webhook where id = $1", webhook.id)
        await worker.row("select ban_ip('192.0.2.1', 60, 'peak', '{}', null, '')")
    assert await owner.fetchval("select count(*) from ban") == 1
