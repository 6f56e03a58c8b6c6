"""Deliveries of events: signed, at least once under one id, each receiver by itself, and none lost."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import msgspec
import pytest

from tests.customers import Customers
from tests.webhook_receiver import Receiver
from tollkeeper.app.database import opened
from tollkeeper.app.secrets import envelope_keys_of
from tollkeeper.core.webhooks import WAITS, WebhookKind
from tollkeeper.jobs.deliver_webhooks import Courier
from tollkeeper.ports.webhooks import WebhookChange, WebhookRecord
from tollkeeper.providers.http import HttpUpstream
from tollkeeper.providers.post import HttpPoster
from tollkeeper.settings import Settings
from tollkeeper.storage.postgres.database import Database, DatabaseRole
from tollkeeper.storage.webhooks.deliveries import SqlDeliveries, forget_old_events, webhooks_standing
from tollkeeper.storage.webhooks.desk import SqlWebhookDesk

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
KINDS = [kind.value for kind in WebhookKind]
STATE = "select * from webhook_delivery order by id desc limit 1"


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[SqlWebhookDesk]:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        yield SqlWebhookDesk(database, envelope_keys_of(settings))


@pytest.fixture
async def courier(settings: Settings, worker: Database) -> AsyncIterator[Courier]:
    poster = a_poster(private_allowed=True)
    yield Courier(SqlDeliveries(worker, envelope_keys_of(settings)), poster, lambda: 0.5)
    await poster.close()


def a_poster(*, private_allowed: bool, attempt_seconds: float = 1.0) -> HttpPoster:
    upstream = HttpUpstream(connect_seconds=1, idle_seconds=1, private_allowed=private_allowed)
    return HttpPoster(upstream, private_allowed=private_allowed, attempt_seconds=attempt_seconds)


async def a_webhook(desk: SqlWebhookDesk, url: str) -> WebhookRecord:
    return await desk.add(url, KINDS, "", SECRET, actor="a test")


async def due_now(owner: asyncpg.Connection) -> None:
    await owner.execute("update webhook_delivery set next_try_at = ledger_now()")


def answering(status: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "content-length: 0", *headers, "", ""]).encode()


async def test_an_event_arrives_signed_once_and_is_on_record(
    desk: SqlWebhookDesk, courier: Courier, owner: asyncpg.Connection
) -> None:
    async with Receiver() as receiver:
        made = await a_webhook(desk, receiver.url)
        await desk.test(made.id, actor="a test")
        assert await courier.round() == 1
        assert await courier.round() == 0
    [got] = receiver.received
    told = got.verified(SECRET)
    assert (told["type"], told["data"]) == ("webhook.test", {"webhook": made.id})
    [delivery] = await desk.deliveries(made.id, before_id=None, limit=10)
    assert got.headers["webhook-id"] == f"evt_{delivery.event_id}"
    assert (delivery.attempts, delivery.last_status, delivery.next_try_at) == (1, 204, None)
    assert delivery.delivered_at is not None
    assert SECRET.encode() not in await owner.fetchval("select secret_sealed from webhook")


async def test_a_failed_delivery_is_tried_again_later_under_the_same_id(
    desk: SqlWebhookDesk, courier: Courier, owner: asyncpg.Connection
) -> None:
    answers = [answering("500 No"), answering("302 Found", "location: http://127.0.0.1:1/"), answering("200 OK")]
    async with Receiver(lambda count: answers[count - 1]) as receiver:
        made = await a_webhook(desk, receiver.url)
        await desk.test(made.id, actor="a test")
        for words, wait in (("it answered 500", WAITS[0]), ("redirects are not followed", WAITS[1])):
            assert await courier.round() == 0
            state = await owner.fetchrow(STATE)
            assert words in state["last_error"]
            assert abs(state["next_try_at"] - state["last_try_at"] - wait) < timedelta(milliseconds=1)
            assert (await desk.find(made.id)).failing_since is not None
            # Not before its time has come.
            before = len(receiver.received)
            await courier.round()
            assert len(receiver.received) == before
            await due_now(owner)
        assert await courier.round() == 1
    assert len({got.headers["webhook-id"] for got in receiver.received}) == 1
    assert len({got.body for got in receiver.received}) == 1
    assert all(got.verified(SECRET) for got in receiver.received)
    assert (await desk.find(made.id)).failing_since is None


async def test_after_the_last_attempt_it_is_given_up_and_can_be_sent_again(
    desk: SqlWebhookDesk, courier: Courier, owner: asyncpg.Connection
) -> None:
    async with Receiver(lambda count: answering("503 Later" if count == 1 else "200 OK")) as receiver:
        made = await a_webhook(desk, receiver.url)
        delivery = await desk.test(made.id, actor="a test")
        await owner.execute("update webhook_delivery set attempts = $1", len(WAITS))
        await courier.round()
        assert (await owner.fetchrow(STATE))["given_up_at"] is not None
        await due_now(owner)
        assert await courier.round() == 0
        await desk.again(delivery, actor="a test")
        assert await courier.round() == 1
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


async def test_a_dead_and_a_silent_receiver_delay_nobody(desk: SqlWebhookDesk, courier: Courier) -> None:
    async with Receiver(lambda _: None) as silent, Receiver() as lively:
        dead = await a_webhook(desk, "http://127.0.0.1:1/")
        slow = await a_webhook(desk, silent.url)
        well = await a_webhook(desk, lively.url)
        for webhook in (dead, slow, well):
            for _ in range(3):
                await desk.test(webhook.id, actor="a test")
        under_way = asyncio.create_task(courier.round())
        await lively.wait_for(3)
        # What comes while the silent one is waited for is delivered at once, too.
        await silent.wait_for(3)
        await desk.test(well.id, actor="a test")
        await lively.wait_for(4)
        assert not under_way.done()
        assert await under_way == 4
    [*found] = await desk.deliveries(slow.id, before_id=None, limit=10)
    assert {each.last_error for each in found} == {"it did not answer in time"}
    assert (await desk.find(dead.id)).failing_since is not None


async def test_a_worker_that_dies_loses_nothing(
    settings: Settings, desk: SqlWebhookDesk, worker: Database, owner: asyncpg.Connection
) -> None:
    async with Receiver(lambda count: None if count == 1 else answering("200 OK")) as receiver:
        made = await a_webhook(desk, receiver.url)
        await desk.test(made.id, actor="a test")
        poster = a_poster(private_allowed=True, attempt_seconds=60)
        deliveries = SqlDeliveries(worker, envelope_keys_of(settings))
        killed = asyncio.create_task(Courier(deliveries, poster).round())
        await receiver.wait_for(1)
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
        # Its claim is another's after two minutes.
        other = Courier(deliveries, poster)
        assert await other.round() == 0
        await due_now(owner)
        assert await other.round() == 1
        await poster.close()
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


async def test_several_workers_deliver_each_event_once(
    settings: Settings, desk: SqlWebhookDesk, worker: Database
) -> None:
    async with Receiver() as receiver:
        made = await a_webhook(desk, receiver.url)
        for _ in range(12):
            await desk.test(made.id, actor="a test")
        poster = a_poster(private_allowed=True)
        couriers = [Courier(SqlDeliveries(worker, envelope_keys_of(settings)), poster) for _ in range(3)]
        assert sum(await asyncio.gather(*(each.round() for each in couriers))) == 12
        await poster.close()
    assert len({got.headers["webhook-id"] for got in receiver.received}) == len(receiver.received) == 12


async def test_private_addresses_are_refused_when_called_unless_a_setting_allows_them(
    settings: Settings, desk: SqlWebhookDesk, worker: Database
) -> None:
    async with Receiver() as receiver:
        for url in (receiver.url, f"https://localhost:{receiver.port}/", f"https://127.0.0.1:{receiver.port}/"):
            await desk.test((await a_webhook(desk, url)).id, actor="a test")
        poster = a_poster(private_allowed=False)
        assert await Courier(SqlDeliveries(worker, envelope_keys_of(settings)), poster).round() == 0
        await poster.close()
    assert receiver.received == []
    for webhook in await desk.listed():
        [delivery] = await desk.deliveries(webhook.id, before_id=None, limit=10)
        assert "nothing is sent there" in (delivery.last_error or "")


async def test_after_a_rotation_both_secrets_sign_for_a_day(
    desk: SqlWebhookDesk, courier: Courier, owner: asyncpg.Connection
) -> None:
    new = "whsec_" + "QUJD" * 8
    async with Receiver() as receiver:
        made = await a_webhook(desk, receiver.url)
        await desk.rotate(made.id, new, timedelta(days=1), actor="a test")
        await desk.test(made.id, actor="a test")
        await courier.round()
        await owner.execute("update webhook set former_until = ledger_now()")
        await desk.test(made.id, actor="a test")
        await courier.round()
    both, alone = receiver.received
    assert both.verified(SECRET) == both.verified(new)
    assert alone.verified(new)
    assert len(alone.headers["webhook-signature"].split()) == 1


async def test_a_receiver_that_is_gone_or_takes_nothing_for_days_is_switched_off_on_the_record(
    desk: SqlWebhookDesk, courier: Courier, owner: asyncpg.Connection, worker: Database
) -> None:
    async with Receiver(lambda _: answering("410 Gone")) as gone, Receiver(lambda _: answering("500 No")) as broken:
        first, second = await a_webhook(desk, gone.url), await a_webhook(desk, broken.url)
        await owner.execute(
            "update webhook set failing_since = ledger_now() - interval '6 days' where id = $1", second.id
        )
        for webhook in (first, second):
            await desk.test(webhook.id, actor="a test")
        await courier.round()
        because = [each.disabled_because for each in await desk.listed()]
        assert because == ["its receiver answered 410 (gone)", "its receiver took nothing for 5 days"]
        assert await webhooks_standing(worker) == (2, 0)
        acts = await owner.fetch("select subject from audit where action = 'webhook.switch_off' order by id")
        assert {row["subject"] for row in acts} == {f"webhook:{first.id}", f"webhook:{second.id}"}
        on = await desk.change(second.id, WebhookChange(is_on=True), actor="a test")
        assert (on.disabled_at, on.failing_since) == (None, None)


async def test_a_secret_that_cannot_be_opened_keeps_back_nobody_elses_events(
    desk: SqlWebhookDesk, courier: Courier, owner: asyncpg.Connection
) -> None:
    async with Receiver() as receiver:
        lost, well = await a_webhook(desk, receiver.url), await a_webhook(desk, receiver.url)
        await owner.execute("update webhook set secret_sealed = $2 where id = $1", lost.id, b"x" * 100)
        for webhook in (lost, well):
            await desk.test(webhook.id, actor="a test")
        assert await courier.round() == 1
    [delivery] = await desk.deliveries(lost.id, before_id=None, limit=10)
    assert "rotate" in (delivery.last_error or "")


@pytest.mark.parametrize("address", ["https://xn--a.example/", "https://\\x.example/"])
async def test_an_address_that_nobody_can_call_keeps_back_nobody_elses_events(
    desk: SqlWebhookDesk, courier: Courier, address: str
) -> None:
    async with Receiver() as receiver:
        odd, well = await a_webhook(desk, address), await a_webhook(desk, receiver.url)
        for webhook in (odd, well):
            await desk.test(webhook.id, actor="a test")
        assert await courier.round() == 1
    [delivery] = await desk.deliveries(odd.id, before_id=None, limit=10)
    assert (delivery.attempts, delivery.last_error is not None) == (1, True)


async def test_old_events_are_forgotten_with_their_deliveries(
    desk: SqlWebhookDesk, worker: Database, owner: asyncpg.Connection
) -> None:
    made = await a_webhook(desk, "https://hooks.example.com/")
    for _ in range(2):
        await desk.test(made.id, actor="a test")
    await owner.execute(
        "update webhook_event set at = ledger_now() - interval '31 days'"
        " where id = (select min(id::text)::uuid from webhook_event)"
    )
    assert await forget_old_events(worker) == 1
    assert await owner.fetchval("select count(*) from webhook_delivery") == 1


async def test_data_of_events_is_small_and_has_no_secret(
    desk: SqlWebhookDesk, owner: asyncpg.Connection, customers: Customers
) -> None:
    await a_webhook(desk, "https://hooks.example.com/")
    customer = await customers.a_customer()
    await owner.execute("update account set disabled_at = ledger_now() where id = $1", customer.account_id)
    row = await owner.fetchrow("select kind, data::text as data from webhook_event")
    assert row["kind"] == "account.disabled"
    assert msgspec.json.decode(row["data"])["account"] == customer.account_id
    assert customer.key not in row["data"]
