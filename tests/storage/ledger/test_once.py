"""Calls that must not be paid for twice: the contract of both ledgers, and what only the one in PostgreSQL can show."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.customers import Customers
from tests.storage.ledger.benches import Bench, a_credit, a_settlement, an_extension, an_order
from tollkeeper.core.money.balance import of_account
from tollkeeper.core.money.charge import Ending
from tollkeeper.ports import CallClaim, HoldOrder, HoldOutcome, HoldVerdict
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.journal import Journal
from tollkeeper.storage.ledger.old_claims import forget_old_claims
from tollkeeper.storage.ledger.orphans import SqlOrphans
from tollkeeper.storage.ledger.sql_ledger import SqlLedger
from tollkeeper.storage.ledger.workers import register
from tollkeeper.storage.postgres.database import Database, DatabaseRole

ADMITTED, RUNNING, REPEATED = HoldOutcome.ADMITTED, HoldOutcome.REPEATED_RUNNING, HoldOutcome.REPEATED
BODY = b"b" * 32
DAY = timedelta(days=1)


def claimed(account: int, key: int, digest: bytes, *, amount: int = 100, body: bytes = BODY) -> HoldOrder:
    return msgspec.structs.replace(an_order(account, key, amount), claim=CallClaim(digest, body))


async def a_customer(bench: Bench, quota: int = 1_000) -> tuple[int, int]:
    account = await bench.account()
    await bench.treasury.credit(a_credit(account, quota))
    return account, await bench.key(account)


async def test_while_the_first_runs_and_after_it_the_second_holds_nothing(bench: Bench) -> None:
    account, key = await a_customer(bench)
    digest = os.urandom(32)
    first = claimed(account, key, digest)
    assert (await bench.ledger.hold(first)).outcome is ADMITTED
    again = claimed(account, key, digest)
    assert await bench.ledger.hold(again) == HoldVerdict(RUNNING, 100, first.request_id)  # type: ignore[arg-type]
    await bench.ledger.settle(a_settlement(first, 70))
    assert await bench.ledger.hold(again) == HoldVerdict(REPEATED, 70, first.request_id)  # type: ignore[arg-type]
    standing = of_account(await bench.standing(key))
    assert (standing.used, standing.held, standing.remaining) == (70, 0, 930)


async def test_the_same_key_with_another_body_is_told_apart(bench: Bench) -> None:
    account, key = await a_customer(bench)
    digest = os.urandom(32)
    first = claimed(account, key, digest)
    await bench.ledger.hold(first)
    other = claimed(account, key, digest, body=b"c" * 32)
    assert (await bench.ledger.hold(other)).outcome is HoldOutcome.OTHER_BODY
    await bench.ledger.settle(a_settlement(first, 70))
    assert (await bench.ledger.hold(other)).outcome is HoldOutcome.OTHER_BODY


@pytest.mark.parametrize("body", [BODY, b"c" * 32], ids=["the same body", "a corrected body"])
async def test_a_key_whose_call_ended_uncharged_is_free_again(bench: Bench, body: bytes) -> None:
    account, key = await a_customer(bench)
    digest = os.urandom(32)
    first = claimed(account, key, digest)
    await bench.ledger.hold(first)
    await bench.ledger.settle(a_settlement(first, 0, Ending.REFUSED))
    second = claimed(account, key, digest, body=body)
    assert (await bench.ledger.hold(second)).outcome is ADMITTED
    # From now on it is the second's.
    third = await bench.ledger.hold(claimed(account, key, digest, body=body))
    assert third == HoldVerdict(RUNNING, 100, second.request_id)  # type: ignore[arg-type]
    await bench.ledger.settle(a_settlement(second, 10))


async def test_a_call_that_was_refused_for_want_of_quota_takes_no_key(bench: Bench) -> None:
    account, key = await a_customer(bench, quota=50)
    digest = os.urandom(32)
    assert (await bench.ledger.hold(claimed(account, key, digest))).outcome is HoldOutcome.ACCOUNT_SHORT
    await bench.treasury.credit(a_credit(account, 100))
    second = claimed(account, key, digest)
    assert (await bench.ledger.hold(second)).outcome is ADMITTED
    await bench.ledger.settle(a_settlement(second, 10))


async def test_other_accounts_and_other_keys_have_nothing_to_do_with_it(bench: Bench) -> None:
    account, key = await a_customer(bench)
    other_account, other_key = await a_customer(bench)
    digest = os.urandom(32)
    orders = [
        claimed(account, key, digest),
        claimed(other_account, other_key, digest),
        claimed(account, key, os.urandom(32)),
        an_order(account, key, 100),
    ]
    for order in orders:
        assert (await bench.ledger.hold(order)).outcome is ADMITTED
        await bench.ledger.settle(a_settlement(order, 1))


async def test_another_api_key_of_the_account_is_not_told_which_call_it_was(bench: Bench) -> None:
    account, key = await a_customer(bench)
    digest = os.urandom(32)
    first = claimed(account, key, digest)
    await bench.ledger.hold(first)
    told = await bench.ledger.hold(claimed(account, await bench.key(account), digest))
    assert (told.outcome, told.first) == (RUNNING, None)
    await bench.ledger.settle(a_settlement(first, 5))


async def test_a_key_is_free_again_after_a_day(bench: Bench) -> None:
    account, key = await a_customer(bench)
    digest = os.urandom(32)
    first = claimed(account, key, digest)
    await bench.ledger.hold(first)
    await bench.ledger.settle(a_settlement(first, 5))
    await bench.pass_time(DAY - timedelta(minutes=1))
    assert (await bench.ledger.hold(claimed(account, key, digest))).outcome is REPEATED
    await bench.pass_time(timedelta(minutes=2))
    again = claimed(account, key, digest)
    assert (await bench.ledger.hold(again)).outcome is ADMITTED
    await bench.ledger.settle(a_settlement(again, 5))


async def test_a_hold_that_is_sent_again_is_no_second_call(bench: Bench) -> None:
    account, key = await a_customer(bench)
    order = claimed(account, key, os.urandom(32))
    assert (await bench.ledger.hold(order)).outcome is ADMITTED
    assert (await bench.ledger.hold(order)).outcome is HoldOutcome.REPLAYED
    assert (await bench.ledger.extend(an_extension(order, 1, 50))).outcome is ADMITTED
    await bench.ledger.settle(a_settlement(order, 5))
    assert (await bench.ledger.hold(order)).outcome is HoldOutcome.CLOSED


async def test_who_only_looks_takes_no_key_and_finds_what_was_cut(bench: Bench) -> None:
    account, key = await a_customer(bench)
    claim = CallClaim(os.urandom(32), BODY, is_taken=False)

    def a_retry() -> HoldOrder:
        return msgspec.structs.replace(an_order(account, key, 100), claim=claim)

    looked = [a_retry(), a_retry()]
    for order in looked:
        assert (await bench.ledger.hold(order)).outcome is ADMITTED
    await bench.ledger.note_cut(looked[0].request_id, account, claim)
    told = await bench.ledger.hold(a_retry())
    assert told == HoldVerdict(RUNNING, 100, looked[0].request_id)  # type: ignore[arg-type]
    for order in looked:
        await bench.ledger.settle(a_settlement(order, 5))


async def test_of_many_at_once_one_is_admitted(bench: Bench) -> None:
    account, key = await a_customer(bench)
    digest = os.urandom(32)
    orders = [claimed(account, key, digest) for _ in range(200)]
    others = [an_order(account, key, 1) for _ in range(5)]
    verdicts = await asyncio.gather(*map(bench.ledger.hold, [*orders, *others]))
    outcomes = [verdict.outcome for verdict in verdicts]
    assert outcomes == [ADMITTED, *[RUNNING] * 199, *[ADMITTED] * 5]
    assert {verdict.first for verdict in verdicts[1:200]} == {orders[0].request_id}
    for order in (orders[0], *others):
        await bench.ledger.settle(a_settlement(order, 1))


async def test_of_many_at_once_that_cannot_be_paid_none_takes_the_key(bench: Bench) -> None:
    account, key = await a_customer(bench, quota=50)
    digest = os.urandom(32)
    verdicts = await asyncio.gather(*(bench.ledger.hold(claimed(account, key, digest)) for _ in range(10)))
    assert {verdict.outcome for verdict in verdicts} == {HoldOutcome.ACCOUNT_SHORT}
    small = claimed(account, key, digest, amount=10)
    assert (await bench.ledger.hold(small)).outcome is ADMITTED
    await bench.ledger.settle(a_settlement(small, 1))


@asynccontextmanager
async def a_process(settings: Settings, folder: Path) -> AsyncIterator[tuple[SqlLedger, Database, int]]:
    database = Database(settings.database_url, DatabaseRole.WORKER, connections=4, patience_seconds=10)
    await database.open()
    worker_id = await register(database, folder.name)
    ledger = SqlLedger(database, worker_id, Journal(folder, worker_id), patience_seconds=10)
    try:
        yield ledger, database, worker_id
    finally:
        await ledger.close()
        await database.close()


async def test_processes_agree_on_who_was_first_and_a_dead_owners_receipt_decides(
    settings: Settings, customers: Customers, owner: asyncpg.Connection, tmp_path: Path
) -> None:
    await customers.a_model()
    customer = await customers.a_customer(usd="1")
    account, key, digest = customer.account_id, customer.key_id, os.urandom(32)
    async with (
        a_process(settings, tmp_path / "one") as (one, database, _),
        a_process(settings, tmp_path / "two") as (two, _, _),
    ):
        orders = [claimed(account, key, digest) for _ in range(40)]
        verdicts = await asyncio.gather(*((one, two)[at % 2].hold(order) for at, order in enumerate(orders)))
        assert sorted(verdict.outcome for verdict in verdicts) == sorted([ADMITTED, *[RUNNING] * 39])
        # Its owner dies; until somebody has settled it nobody knows what it cost.
        await owner.execute("update worker set fenced_at = now() - interval '1 hour'")
        [settlement] = await SqlOrphans(database).find()
        await owner.execute("update worker set fenced_at = null")
        assert (await two.hold(claimed(account, key, digest))).outcome is RUNNING
        assert await two.settle(settlement) is True
        assert settlement.charge.amount > 0
        told = await one.hold(claimed(account, key, digest))
        assert (told.outcome, told.available) == (REPEATED, settlement.charge.amount)


async def test_what_is_kept_is_forgotten_after_a_day_and_no_sooner(
    settings: Settings, customers: Customers, owner: asyncpg.Connection, tmp_path: Path
) -> None:
    await customers.a_model()
    customer = await customers.a_customer(usd="1")
    async with a_process(settings, tmp_path / "one") as (ledger, database, _):
        for _ in range(5):
            order = claimed(customer.account_id, customer.key_id, os.urandom(32))
            await ledger.hold(order)
            await ledger.settle(a_settlement(order, 1))
        await owner.execute(
            "update idempotency set at = at - interval '26 hours'"
            " where digest in (select digest from idempotency limit 3)"
        )
        assert await forget_old_claims(database, at_once_most=2) == 3
        assert await owner.fetchval("select count(*) from idempotency") == 2
