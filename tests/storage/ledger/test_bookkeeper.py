"""Lives of a worker: what one leaves behind, the next or the sweeper closes."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import asyncpg
import msgspec
import pytest

from tests.customers import Customer, Customers
from tests.storage.catalog.examples import IN_PARTS, PRICE_PARTS, USAGE_PARTS
from tests.storage.ledger.benches import RATE, a_settlement, an_order
from tollkeeper.core.errors import JournalUnavailable, StoreUnavailable, WorkerFenced
from tollkeeper.core.money.amounts import Quota
from tollkeeper.core.money.charge import Charge, Ending, UsageSource
from tollkeeper.core.money.parts import UsageParts
from tollkeeper.core.money.prices import Rate, Usage
from tollkeeper.jobs.close_stale_holds import Sweeper
from tollkeeper.ports import HEARTBEAT_SECONDS, HoldOrder, Progress, Settlement
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.bookkeeper import Bookkeeper
from tollkeeper.storage.ledger.books import check_books
from tollkeeper.storage.ledger.orphans import SqlOrphans
from tollkeeper.storage.ledger.workers import beat_until_fenced
from tollkeeper.storage.postgres.database import Database, DatabaseRole

A_MINUTE, AN_HOUR = 60.0, 3_600.0


class Office:
    """A database, a customer, and worker lives that a test may end as it likes."""

    def __init__(self, database: Database, owner: asyncpg.Connection, customer: Customer, folder: Path) -> None:
        self.database = database
        self.owner = owner
        self.customer = customer
        self.folder = folder
        self.monotonic_seconds = 1_000.0

    async def a_life(self) -> tuple[Bookkeeper, "asyncio.Task[None]"]:
        bookkeeper = Bookkeeper(self.database, "here", self.folder, patience_seconds=5)
        living = asyncio.create_task(bookkeeper.live())
        while not bookkeeper.ready:  # noqa: ASYNC110 (readiness is polled by /readyz too)
            await asyncio.sleep(0.01)
        return bookkeeper, living

    def an_order(self, amount: int = 1_000) -> HoldOrder:
        return an_order(self.customer.account_id, self.customer.key_id, amount)

    def a_sweeper(self, bookkeeper: Bookkeeper) -> Sweeper:
        return Sweeper(SqlOrphans(self.database), lambda: bookkeeper.ledger, lambda: self.monotonic_seconds)

    async def let_die(self, living: "asyncio.Task[None]") -> None:
        """The process is gone: no heartbeat any more, and nothing said good-bye."""
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)

    async def receipt(self, order: HoldOrder) -> asyncpg.Record:
        return await self.owner.fetchrow("select * from usage where request_id = $1", order.request_id)

    async def age(self, column: str, by: timedelta) -> None:
        await self.owner.execute(f"update worker set {column} = {column} - $1::interval", by)  # noqa: S608


@pytest.fixture
async def office(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, tmp_path: Path
) -> AsyncIterator[Office]:
    await customers.a_model()
    database = Database(settings.database_url, DatabaseRole.WORKER, connections=6, patience_seconds=5)
    await database.open()
    yield Office(database, owner, await customers.a_customer(), tmp_path / "journal")
    verdicts = await check_books(database)
    await database.close()
    assert [verdict for verdict in verdicts if verdict.findings] == []


async def test_before_a_life_has_begun_there_is_no_ledger(office: Office) -> None:
    bookkeeper = Bookkeeper(office.database, "here", office.folder, patience_seconds=5)
    with pytest.raises(StoreUnavailable):
        _ = bookkeeper.ledger


async def test_a_life_that_ends_in_order_leaves_nothing(office: Office) -> None:
    bookkeeper, living = await office.a_life()
    order = office.an_order()
    await bookkeeper.ledger.hold(order)
    bookkeeper.ledger.settle(a_settlement(order, 400))
    await office.let_die(living)
    await bookkeeper.close()
    assert (await office.receipt(order))["charged"] == 400
    assert list(office.folder.iterdir()) == []
    assert await office.owner.fetchval("select count(*) from worker where ended_at is null") == 0


async def test_the_next_life_settles_from_the_journal_before_it_takes_calls(office: Office) -> None:
    bookkeeper, living = await office.a_life()
    streamed, finished, unheard = office.an_order(), office.an_order(), office.an_order(20_000_000)
    never_sent = office.an_order(20_000_000)
    for order in (unheard, never_sent):
        await bookkeeper.ledger.hold(order)
    bookkeeper.ledger.note_sending(unheard.request_id)
    for order in (streamed, finished):
        await bookkeeper.ledger.hold(order)
        noted = Charge(Quota(123), Usage(10, 113), UsageSource.JOURNAL)
        bookkeeper.ledger.note(
            Settlement(
                request_id=order.request_id,
                account_id=order.account_id,
                charge=noted,
                ending=Ending.OWNER_DIED,
            )
        )
    # What `settle` writes first, before the process is killed.
    bookkeeper.ledger.note(a_settlement(finished, 700))
    await office.let_die(living)
    bookkeeper.ledger._journal.close()

    successor, living = await office.a_life()
    partly, wholly = await office.receipt(streamed), await office.receipt(finished)
    assert (partly["charged"], partly["ending"], partly["usage_source"]) == (123, "owner_died", "journal")
    assert (wholly["charged"], wholly["ending"]) == (700, "completed")
    unknown = await office.receipt(unheard)
    assert (unknown["charged"], unknown["usage_source"]) == (RATE.charge(Usage(10)), "counted_input")
    free = await office.receipt(never_sent)
    assert (free["charged"], free["ending"], free["usage_source"]) == (0, "refused", "none")
    await office.let_die(living)
    await successor.close()
    assert list(office.folder.iterdir()) == []


async def test_what_a_worker_leaves_that_ends_without_the_database_is_settled_by_one_that_lives(
    office: Office, settings: Settings
) -> None:
    """A worker that is renewed ends beside its successor, which began long before."""
    away = Database(settings.database_url, DatabaseRole.WORKER, connections=2, patience_seconds=1)
    await away.open()
    leaving = Bookkeeper(away, "here", office.folder, patience_seconds=1)
    leaving_life = asyncio.create_task(leaving.live())
    while not leaving.ready:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(0.01)
    order = office.an_order()
    await leaving.ledger.hold(order)
    staying, life = await office.a_life()
    await office.let_die(leaving_life)
    # From now on it cannot reach it.
    await away.close()
    leaving.ledger.settle(a_settlement(order, 400))
    await leaving.close()
    assert await office.receipt(order) is None
    async with asyncio.timeout(20):
        while await office.receipt(order) is None:  # noqa: ASYNC110 (the other worker looks from time to time)
            await asyncio.sleep(0.05)
    receipt = await office.receipt(order)
    assert (receipt["charged"], receipt["ending"]) == (400, Ending.COMPLETED)
    await office.let_die(life)
    await staying.close()
    assert list(office.folder.iterdir()) == []


class Surprising(Database):
    """Fails over one call as nobody has foreseen."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.database_url, DatabaseRole.WORKER, connections=2, patience_seconds=5)
        self.surprised_by: UUID | None = None

    async def rows(self, sql: str, *values: object) -> list[Any]:
        if self.surprised_by is not None and any(str(self.surprised_by) in str(column) for column in values):
            raise RuntimeError
        return await super().rows(sql, *values)


async def test_a_call_that_surprises_keeps_no_other_of_its_worker_from_being_settled(
    office: Office, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tollkeeper.storage.postgres.batch.RETRY_SECONDS", (0.001,) * 5)
    monkeypatch.setattr("tollkeeper.storage.ledger.bookkeeper.SETTLED_AT_ONCE", 1)
    bookkeeper, living = await office.a_life()
    odd, good = office.an_order(), office.an_order()
    for order in (odd, good):
        await bookkeeper.ledger.hold(order)
        bookkeeper.ledger.note(a_settlement(order, 400))
    await office.let_die(living)
    bookkeeper.ledger._journal.close()

    database = Surprising(settings)
    database.surprised_by = odd.request_id
    await database.open()
    following = Bookkeeper(database, "here", office.folder, patience_seconds=5)
    life = asyncio.create_task(following.live())
    while await office.receipt(good) is None:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(0.01)
    assert (await office.receipt(good))["charged"] == 400
    assert await office.receipt(odd) is None
    assert not following.ready
    database.surprised_by = None
    while not following.ready:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(0.01)
    assert (await office.receipt(odd))["charged"] == 400
    await office.let_die(life)
    await following.close()
    await database.close()
    assert list(office.folder.iterdir()) == []
    assert await office.owner.fetchval("select count(*) from worker where ended_at is null") == 0


async def test_a_file_that_is_no_journal_is_told_of_once(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    office.folder.mkdir(mode=0o700)
    (office.folder / "notes.journal").touch(mode=0o600)
    for _ in range(2):
        bookkeeper, living = await office.a_life()
        await office.let_die(living)
        await bookkeeper.close()
    assert [record.getMessage() for record in caplog.records if "notes.journal" in record.getMessage()] == [
        f"{office.folder / 'notes.journal'} is left alone: no journal has such a name"
    ]


async def test_parts_of_price_and_usage_count_though_their_worker_died(office: Office) -> None:
    await office.owner.execute("update price set parts = $1", msgspec.json.encode(PRICE_PARTS).decode())
    bookkeeper, living = await office.a_life()
    noted, unheard = office.an_order(), office.an_order(20_000_000)
    for order in (noted, unheard):
        await bookkeeper.ledger.hold(order)
        bookkeeper.ledger.note_sending(order.request_id)
    bookkeeper.ledger.note(a_settlement(noted, 700, usage=IN_PARTS))
    await office.let_die(living)
    bookkeeper.ledger._journal.close()

    successor, living = await office.a_life()
    assert msgspec.json.decode((await office.receipt(noted))["parts"], type=UsageParts) == USAGE_PARTS
    by_parts = Rate(msgspec.structs.replace(RATE.price, parts=PRICE_PARTS), RATE.group)
    assert (await office.receipt(unheard))["charged"] == by_parts.charge(Usage(10)) > RATE.charge(Usage(10))
    await office.let_die(living)
    await successor.close()


async def test_a_journal_of_many_segments_is_read_as_one(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    # Room for one line, or two.
    monkeypatch.setattr("tollkeeper.storage.ledger.journal.SEGMENT_BYTES", 350)
    bookkeeper, living = await office.a_life()
    orders = [office.an_order(20_000_000) for _ in range(5)]
    for order in orders:
        await bookkeeper.ledger.hold(order)
    for charged in (123, 700):
        for order in orders:
            bookkeeper.ledger.note(a_settlement(order, charged))
    await office.let_die(living)
    bookkeeper.ledger._journal.close()
    assert len(list(office.folder.iterdir())) > 3

    successor, living = await office.a_life()
    assert [(await office.receipt(order))["charged"] for order in orders] == [700] * 5
    await office.let_die(living)
    await successor.close()
    assert list(office.folder.iterdir()) == []


async def test_a_settlement_is_booked_even_if_the_journal_cannot_be_written(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookkeeper, living = await office.a_life()
    order = office.an_order()
    await bookkeeper.ledger.hold(order)
    # /dev/full takes nothing, as a full disk would.
    full = os.open("/dev/full", os.O_WRONLY)
    segment = bookkeeper.ledger._journal._segments[-1]
    monkeypatch.setattr(segment, "_descriptor", full)
    monkeypatch.setattr(segment, "_room", None)
    assert await bookkeeper.ledger.settle(a_settlement(order, 400)) is True
    await office.let_die(living)
    await bookkeeper.close()
    assert (await office.receipt(order))["charged"] == 400


async def test_a_hold_granted_in_the_moment_its_caller_leaves_is_voided(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    bookkeeper, living = await office.a_life()
    order = office.an_order()
    ledger = bookkeeper.ledger
    asking = asyncio.create_task(ledger.hold(order))
    deliver = ledger._holds._resolve

    def deliver_and_cancel(*told: Any) -> None:
        deliver(*told)
        asking.cancel()

    monkeypatch.setattr(ledger._holds, "_resolve", deliver_and_cancel)
    with pytest.raises(asyncio.CancelledError):
        await asking
    await office.let_die(living)
    await bookkeeper.close()
    receipt = await office.receipt(order)
    assert (receipt["charged"], receipt["ending"]) == (0, "refused")


async def test_a_hold_whose_caller_was_told_503_is_voided_though_the_process_dies(office: Office) -> None:
    bookkeeper = Bookkeeper(office.database, "here", office.folder, patience_seconds=0.3)
    living = asyncio.create_task(bookkeeper.live())
    while not bookkeeper.ready:  # noqa: ASYNC110 (readiness is polled by /readyz too)
        await asyncio.sleep(0.01)
    order = office.an_order()
    async with office.owner.transaction():
        await office.owner.execute("select from account_books for update")
        with pytest.raises(StoreUnavailable):
            await bookkeeper.ledger.hold(order)
        await office.let_die(living)
        bookkeeper.ledger._journal.close()
        sending = bookkeeper.ledger._holds._running
        assert sending is not None
    # The statement that nobody waits for commits now; then the process is gone.
    while not await office.owner.fetchval("select count(*) from hold"):  # noqa: ASYNC110 (as above)
        await asyncio.sleep(0.01)
    sending.cancel()

    successor, living = await office.a_life()
    receipt = await office.receipt(order)
    assert (receipt["charged"], receipt["ending"]) == (0, "refused")
    await office.let_die(living)
    await successor.close()


async def test_one_orphan_that_cannot_be_settled_does_not_stop_the_sweeper(office: Office) -> None:
    watching, alive = await office.a_life()
    poisoned, good = (msgspec.structs.replace(office.an_order(), seconds=0) for _ in range(2))
    for order in (poisoned, good):
        await watching.ledger.hold(order)
    await office.owner.execute(
        "alter table usage add constraint poison check (request_id <> '%s')" % poisoned.request_id  # noqa: UP031
    )
    sweeper = office.a_sweeper(watching)
    assert await sweeper.sweep() == 1
    assert sweeper._last_contact == office.monotonic_seconds
    assert (await office.receipt(good))["ending"] == "owner_died"
    await office.owner.execute("alter table usage drop constraint poison")
    assert await sweeper.sweep() == 1
    await office.let_die(alive)
    await watching.close()


async def test_a_budgets_day_never_goes_back(office: Office) -> None:
    bookkeeper, living = await office.a_life()
    clock = "create or replace function ledger_now() returns timestamptz language sql stable return timestamptz '%s'"
    orders = [office.an_order(1_000) for _ in range(3)]
    # A transaction that began before midnight may get its turn after one that began behind it.
    for order, moment in zip(
        orders, ("2026-11-16 00:00:00+00", "2026-11-15 23:59:59+00", "2026-11-16 00:00:01+00"), strict=True
    ):
        await office.owner.execute(clock % moment)
        assert (await bookkeeper.ledger.hold(order)).granted
    row = await office.owner.fetchrow("select * from key_books where key_id = $1", office.customer.key_id)
    assert (str(row["day"]), row["day_total"], row["month_total"]) == ("2026-11-16", 3_000, 3_000)
    for order in orders:
        assert await bookkeeper.ledger.settle(a_settlement(order, 10)) is True
    row = await office.owner.fetchrow("select * from key_books where key_id = $1", office.customer.key_id)
    assert (row["day_total"], row["month_total"]) == (30, 30)
    await office.let_die(living)
    await bookkeeper.close()


async def test_the_sweeper_closes_a_dead_workers_holds_from_checkpoint_or_input(office: Office) -> None:
    dead, living = await office.a_life()
    silent, halfway = office.an_order(20_000_000), office.an_order(20_000_000)
    for order in (silent, halfway):
        await dead.ledger.hold(order)
    await dead.ledger.checkpoint(Progress(request_id=halfway.request_id, usage=Usage(10, 4), seconds=60))
    await office.let_die(living)
    await office.age("heartbeat_at", timedelta(seconds=20))

    watching, alive = await office.a_life()
    sweeper = office.a_sweeper(watching)
    assert await sweeper.sweep() == 0
    office.monotonic_seconds += 2 * HEARTBEAT_SECONDS - 0.1
    sweeper._last_contact = office.monotonic_seconds
    assert await sweeper.sweep() == 0
    assert await office.owner.fetchval("select count(*) from worker where fenced_at is not null") == 0
    office.monotonic_seconds += 0.2
    assert await sweeper.sweep() == 0
    assert await office.owner.fetchval("select count(*) from worker where fenced_at is not null") == 1

    # Fenced, but its journal may still be replayed for half a minute.
    await office.age("fenced_at", timedelta(seconds=31))
    assert await sweeper.sweep() == 2
    assert await sweeper.sweep() == 0
    unknown, known = await office.receipt(silent), await office.receipt(halfway)
    assert (unknown["charged"], unknown["usage_source"]) == (RATE.charge(Usage(10)), "counted_input")
    assert (known["charged"], known["usage_source"]) == (RATE.charge(Usage(10, 4)), "checkpoint")
    # The dead worker was only slow: its settle comes too late and changes nothing.
    assert await dead.ledger.settle(a_settlement(silent, 5)) is False
    with pytest.raises(WorkerFenced):
        await dead.ledger.hold(office.an_order())
    await office.let_die(alive)
    await watching.close()
    dead.ledger._journal.close()


async def test_a_sweeper_that_was_without_the_database_judges_nobody_at_once(office: Office) -> None:
    watching, alive = await office.a_life()
    sweeper = office.a_sweeper(watching)
    await sweeper.sweep()
    for _ in range(4):
        office.monotonic_seconds += HEARTBEAT_SECONDS - 1
        await sweeper.sweep()
    # It judges now. Then it hears nothing for a while, as everybody else, and heartbeats are old.
    office.monotonic_seconds += 60
    await office.owner.execute("insert into worker (node, heartbeat_at) values ('far', now() - interval '1 minute')")
    await sweeper.sweep()
    assert await office.owner.fetchval("select count(*) from worker where fenced_at is not null") == 0
    for _ in range(3):
        office.monotonic_seconds += HEARTBEAT_SECONDS - 1
        await sweeper.sweep()
    assert await office.owner.fetchval("select count(*) from worker where fenced_at is not null") == 1
    await office.let_die(alive)
    await watching.close()


async def test_a_hold_past_its_deadline_is_closed_though_its_owner_lives(office: Office) -> None:
    watching, alive = await office.a_life()
    order = msgspec.structs.replace(office.an_order(20_000_000), seconds=0)
    await watching.ledger.hold(order)
    assert await office.a_sweeper(watching).sweep() == 1
    assert (await office.receipt(order))["ending"] == "owner_died"
    await office.let_die(alive)
    await watching.close()


async def test_a_caller_who_gave_up_on_a_hold_gets_it_voided(office: Office) -> None:
    bookkeeper, living = await office.a_life()
    order = office.an_order()
    async with office.owner.transaction():
        await office.owner.execute("select from account_books for update")
        asking = asyncio.create_task(bookkeeper.ledger.hold(order))
        while not await office.owner.fetchval(  # noqa: ASYNC110 (PostgreSQL has no event for it)
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        ):
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await office.let_die(living)
    await bookkeeper.close()
    receipt = await office.receipt(order)
    assert (receipt["charged"], receipt["ending"]) == (0, "refused")


async def test_a_bad_row_does_not_sink_its_batch(office: Office) -> None:
    bookkeeper, living = await office.a_life()
    orders = [office.an_order() for _ in range(9)]
    orders[4] = msgspec.structs.replace(orders[4], input_units=-1)
    orders[7] = msgspec.structs.replace(orders[7], amount=Quota(2**63))
    verdicts = await asyncio.gather(*map(bookkeeper.ledger.hold, orders), return_exceptions=True)
    assert [isinstance(verdict, Exception) for verdict in verdicts] == [number in {4, 7} for number in range(9)]
    good = [order for number, order in enumerate(orders) if number not in {4, 7}]
    assert all(await asyncio.gather(*(bookkeeper.ledger.settle(a_settlement(order, 1)) for order in good)))
    await office.let_die(living)
    await bookkeeper.close()


async def test_a_fenced_life_is_followed_by_another(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollkeeper.storage.ledger.workers.HEARTBEAT_SECONDS", 0.02)
    bookkeeper, living = await office.a_life()
    first = bookkeeper.ledger
    await office.owner.execute("update worker set fenced_at = now() where id = $1", bookkeeper._worker_id)
    while not bookkeeper.ready or bookkeeper.ledger is first:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    order = office.an_order()
    assert (await bookkeeper.ledger.hold(order)).granted
    assert await bookkeeper.ledger.settle(a_settlement(order, 1)) is True
    await office.let_die(living)
    await bookkeeper.close()


async def test_a_life_is_over_as_soon_as_a_hold_is_refused(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollkeeper.storage.ledger.workers.HEARTBEAT_SECONDS", AN_HOUR)
    bookkeeper, living = await office.a_life()
    first = bookkeeper.ledger
    await office.owner.execute("update worker set fenced_at = now() where id = $1", bookkeeper._worker_id)
    with pytest.raises(WorkerFenced):
        await first.hold(office.an_order())
    # Long before the next heartbeat.
    async with asyncio.timeout(A_MINUTE):
        while not bookkeeper.ready or bookkeeper.ledger is first:  # noqa: ASYNC110 (as /readyz sees it)
            await asyncio.sleep(0.01)
    assert (await bookkeeper.ledger.hold(order := office.an_order())).granted
    assert await bookkeeper.ledger.settle(a_settlement(order, 1)) is True
    await office.let_die(living)
    await bookkeeper.close()


async def test_a_heartbeat_that_fails_is_repeated_before_the_next_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollkeeper.storage.ledger.workers.HEARTBEAT_SECONDS", AN_HOUR)

    class Away:
        """Out of reach for two heartbeats; then it says that this life is over."""

        asked = 0

        async def row(self, _sql: str, _worker_id: int) -> dict[str, bool]:
            self.asked += 1
            if self.asked < 3:
                raise StoreUnavailable
            return {"over": True}

    async with asyncio.timeout(A_MINUTE):
        await beat_until_fenced(cast("Database", Away()), 1, asyncio.Event())


async def test_no_life_begins_by_a_schema_that_is_too_old(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tollkeeper.storage.ledger.bookkeeper.RETRY_SECONDS", 0.02)
    revision = await office.owner.fetchval("select version_num from alembic_version")
    await office.owner.execute("update alembic_version set version_num = '0001'")
    bookkeeper = Bookkeeper(office.database, "here", office.folder, patience_seconds=4)
    living = asyncio.create_task(bookkeeper.live())
    while "at revision 0001" not in bookkeeper.trouble:  # noqa: ASYNC110 (as /readyz sees it)
        await asyncio.sleep(0.01)
    with pytest.raises(StoreUnavailable):
        _ = bookkeeper.ledger
    await office.owner.execute("update alembic_version set version_num = $1", revision)
    while not bookkeeper.ready:  # noqa: ASYNC110 (as above)
        await asyncio.sleep(0.01)
    assert (await bookkeeper.ledger.hold(office.an_order())).granted
    await office.let_die(living)
    await bookkeeper.close()


async def test_without_room_in_the_journal_no_hold_is_taken_and_what_is_held_is_settled(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tollkeeper.storage.ledger.bookkeeper.RETRY_SECONDS", 0.02)
    bookkeeper, living = await office.a_life()
    held = office.an_order()
    await bookkeeper.ledger.hold(held)
    with monkeypatch.context() as full:

        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        full.setattr(os, "posix_fallocate", refuse)
        full.setattr("tollkeeper.storage.ledger.journal.SEGMENT_BYTES", 1_000)
        for _ in range(3):
            bookkeeper.ledger.note(a_settlement(held, 7, Ending.OWNER_DIED))
        assert "No space left on device" in bookkeeper.trouble
        with pytest.raises(JournalUnavailable):
            await bookkeeper.ledger.hold(office.an_order())
        assert await bookkeeper.ledger.settle(a_settlement(held, 400)) is True
    while not bookkeeper.ready:  # noqa: ASYNC110 (as /readyz sees it)
        await asyncio.sleep(0.01)
    assert (await bookkeeper.ledger.hold(office.an_order())).granted
    await office.let_die(living)
    await bookkeeper.close()
    assert (await office.receipt(held))["charged"] == 400
