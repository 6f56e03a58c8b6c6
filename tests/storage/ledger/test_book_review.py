"""Closed days are checked once, and whoever changes them afterwards is found out."""

from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from tests.customers import Customer, Customers
from tests.storage.ledger.past_days import CALLS_A_DAY, calls_on, days_ago
from tollkeeper.app.database import opened
from tollkeeper.ports.books import BooksReview
from tollkeeper.settings import Settings
from tollkeeper.storage.ledger.book_review import DAYS_UNCHANGED, SEALS_UNBROKEN, BookReviewer
from tollkeeper.storage.ledger.books import audit_head, check_books
from tollkeeper.storage.ledger.seal_book import RenewedSeals, renew, reopen, versions
from tollkeeper.storage.ledger.seals import SealKeys
from tollkeeper.storage.postgres.database import Database, DatabaseRole

BOTH = {1: b"first key" * 4, 2: b"second key" * 4}
# Processes in the order of a rotation: none knows the second key, it is listed, it is in use, the first one is gone.
FIRST, LISTED = SealKeys({1: BOTH[1]}, 1), SealKeys(BOTH, 1)
IN_USE, SECOND = SealKeys(BOTH, 2), SealKeys({2: BOTH[2]}, 2)
OLDEST, MIDDLE, LATEST, OPEN = 20, 5, 3, 1


class Auditor:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def review(self, keys: SealKeys = FIRST, *, everything: bool = False) -> BooksReview:
        reviewer = BookReviewer(self.database, keys, keep_holds=timedelta(days=1), actor="test")
        return await reviewer.review(everything=everything)

    async def broken(self, keys: SealKeys = FIRST, *, everything: bool = False) -> dict[str, list[str]]:
        review = await self.review(keys, everything=everything)
        return {verdict.invariant: verdict.findings for verdict in review.verdicts if verdict.findings}


@pytest.fixture
async def customer(customers: Customers, owner: asyncpg.Connection) -> Customer:
    await customers.a_model()
    customer = await customers.a_customer()
    for days in (OLDEST, MIDDLE, LATEST, OPEN):
        await calls_on(owner, customer, days_ago(days))
    return customer


@pytest.fixture
async def auditor(settings: Settings, customer: Customer) -> AsyncIterator[Auditor]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield Auditor(database)


async def test_closed_days_are_sealed_once_and_open_ones_are_not(auditor: Auditor) -> None:
    first, second = await auditor.review(), await auditor.review()
    assert (first.is_clean, first.days_kept, first.days_sealed) == (True, 0, 3)
    assert (second.is_clean, second.days_kept, second.days_sealed) == (True, 3, 0)
    assert second.sealed_through == days_ago(LATEST)
    assert second.head == first.head


async def test_a_day_with_an_open_hold_is_not_sealed_nor_any_behind_it(
    auditor: Auditor, owner: asyncpg.Connection
) -> None:
    await owner.execute(
        "update hold set closed_at = null, charged = null where request_id = "
        "(select request_id from hold where request_id > uuid_floor($1::date) order by 1 limit 1)",
        days_ago(MIDDLE),
    )
    assert (await auditor.review()).days_sealed == 0
    await owner.execute("update hold set closed_at = now(), charged = 400 where closed_at is null")
    assert (await auditor.review()).days_sealed == 3


async def test_books_that_are_not_clean_seal_nothing(auditor: Auditor, owner: asyncpg.Connection) -> None:
    await owner.execute("update account_books set used = used + 1")
    assert (await auditor.review()).days_sealed == 0


async def test_what_is_changed_everywhere_in_agreement_is_found_by_the_seals_alone(
    auditor: Auditor, owner: asyncpg.Connection, customer: Customer
) -> None:
    await auditor.review()
    call = await owner.fetchval("select request_id from usage order by 1 limit 1")
    await owner.execute("update usage set charged = charged - 100 where request_id = $1", call)
    await owner.execute("update hold set charged = charged - 100 where request_id = $1", call)
    await owner.execute("update entry set amount = amount - 100 where cause = $1", call)
    await owner.execute("update lot set remaining = remaining + 100 where account_id = $1", customer.account_id)
    await owner.execute("update account_books set used = used - 100 where account_id = $1", customer.account_id)
    await owner.execute("update key_books set used = used - 100 where key_id = $1", customer.key_id)
    assert not any(verdict.findings for verdict in await check_books(auditor.database))
    for everything in (False, True):
        [(invariant, found)] = (await auditor.broken(everything=everything)).items()
        assert invariant == DAYS_UNCHANGED
        assert [finding.partition(" had ")[0].split()[1] for finding in found] == ["usage", "hold", "entry"]
        assert all(finding.startswith(f"{days_ago(OLDEST)}: ") for finding in found)


async def test_a_transaction_that_was_open_while_the_day_was_sealed_hides_nothing(
    auditor: Auditor, owner: asyncpg.Connection, settings: Settings
) -> None:
    patient = await asyncpg.connect(settings.database_url.reveal(), server_settings={"search_path": "tollkeeper"})
    try:
        async with patient.transaction():
            # Its number is older than the seal.
            await patient.fetchval("select pg_current_xact_id()")
            # Another that was begun later is over before it.
            await owner.execute("update account set name = name")
            await auditor.review()
            await patient.execute(
                "update usage set ending = 'cut' where request_id = (select min(request_id::text) from usage)::uuid"
            )
    finally:
        await patient.close()
    assert list(await auditor.broken()) == [DAYS_UNCHANGED]


async def test_a_table_put_in_the_place_of_a_sealed_one_is_found(auditor: Auditor, owner: asyncpg.Connection) -> None:
    day = days_ago(MIDDLE)
    name = f"usage_{day:%Y%m%d}"
    # Written before the day was sealed, with as many rows that add up to as much.
    await owner.execute(f"create table forged (like {name} including all); insert into forged table {name};")
    await owner.execute("update forged set ending = 'cut'")
    await auditor.review()
    await owner.execute(f"alter table usage detach partition {name}; alter table {name} rename to put_away")
    bounds = await owner.fetchrow("select uuid_floor($1::date) as since, uuid_floor($1::date + 1) as until", day)
    await owner.execute(
        f"alter table usage attach partition forged for values from ('{bounds['since']}') to ('{bounds['until']}')"
    )
    assert list(await auditor.broken()) == [DAYS_UNCHANGED]


async def test_tables_that_were_written_anew_with_the_same_rows_are_clean(
    auditor: Auditor, owner: asyncpg.Connection
) -> None:
    await auditor.review()
    for table in ("usage", "hold", "entry"):
        await owner.execute(f"vacuum full {table}")
    await owner.execute("update usage set ending = ending")
    assert await auditor.broken() == {}
    review = await auditor.review()
    assert (review.is_clean, review.days_kept) == (True, 3)


async def test_days_that_were_cleaned_and_holds_that_were_dropped_leave_the_books_clean(
    auditor: Auditor, owner: asyncpg.Connection
) -> None:
    await auditor.review()
    await owner.execute("select drop_usage_day($1, $2, 'copy')", days_ago(OLDEST), CALLS_A_DAY)
    await owner.execute("select drop_old_holds(now() - interval '7 days')")
    assert await owner.fetchval("select count(*) from hold") == 3 * CALLS_A_DAY
    assert await auditor.broken() == {}
    assert await auditor.broken(everything=True) == {}


@pytest.mark.parametrize("table", ["usage", "hold"])
async def test_days_that_vanish_for_no_reason_are_found(
    auditor: Auditor, owner: asyncpg.Connection, table: str
) -> None:
    await auditor.review()
    await owner.execute(
        f"delete from {table} where request_id < uuid_floor($1::date) and request_id > uuid_floor($2::date)",  # noqa: S608
        days_ago(LATEST - 1),
        days_ago(LATEST),
    )
    found = (await auditor.broken())[DAYS_UNCHANGED]
    assert found == [f"{days_ago(LATEST)}: {table} had {CALLS_A_DAY} rows when it was checked and has 0"]


async def test_a_price_that_sealed_days_name_must_be_there(auditor: Auditor, owner: asyncpg.Connection) -> None:
    await auditor.review()
    await owner.execute(
        "set session_replication_role = replica; delete from price; set session_replication_role = default"
    )
    assert "I9 every price that sealed days name is there" in await auditor.broken()


async def test_a_key_that_is_listed_and_not_in_use_seals_nothing(auditor: Auditor) -> None:
    assert (await auditor.review(LISTED)).days_sealed == 3
    assert await versions(auditor.database) == {1: 4}
    assert await auditor.broken(FIRST) == {}


async def test_seals_are_renewed_under_the_key_in_use_and_the_old_one_can_be_retired(auditor: Auditor) -> None:
    await auditor.review(FIRST)
    assert list(await auditor.broken(SECOND)) == [SEALS_UNBROKEN]
    assert await renew(auditor.database, IN_USE, actor="test") == RenewedSeals(4, [])
    assert await versions(auditor.database) == {2: 4}
    assert await renew(auditor.database, IN_USE, actor="test") == RenewedSeals(0, [])
    review = await auditor.review(SECOND)
    assert (review.is_clean, review.days_kept) == (True, 3)
    assert list(await auditor.broken(FIRST)) == [SEALS_UNBROKEN]


async def test_a_check_leaves_seals_under_the_key_that_they_have(auditor: Auditor) -> None:
    await auditor.review(FIRST)
    await renew(auditor.database, IN_USE, actor="test")
    assert await auditor.broken(LISTED) == {}
    assert await versions(auditor.database) == {1: 1, 2: 3}
    [told] = (await auditor.broken(SECOND))[SEALS_UNBROKEN]
    assert told.startswith("the mark of the last check was made under envelope key 1, which")
    assert await renew(auditor.database, IN_USE, actor="test") == RenewedSeals(1, [])
    assert await auditor.broken(SECOND) == {}


@pytest.mark.parametrize(
    "harm",
    [
        "update books_seal set contents = replace(contents, '\"rows\":6', '\"rows\":7') where day = $1",
        "delete from books_seal where day = $1",
        "update books_mark set mark = mark || ' ' where $1::date is not null",
    ],
    ids=["a seal", "the last seal", "the mark"],
)
async def test_no_mac_is_made_anew_of_seals_that_were_changed(
    auditor: Auditor, owner: asyncpg.Connection, harm: str
) -> None:
    await auditor.review(FIRST)
    await owner.execute(harm, days_ago(LATEST))
    before = await versions(auditor.database)
    renewed = await renew(auditor.database, IN_USE, actor="test")
    assert (renewed.macs, len(renewed.broken)) == (0, 1)
    assert await versions(auditor.database) == before
    assert SEALS_UNBROKEN in await auditor.broken(IN_USE)


async def test_days_whose_envelope_key_is_lost_are_reopened_and_sealed_under_another(auditor: Auditor) -> None:
    await auditor.review(FIRST)
    assert (await renew(auditor.database, SECOND, actor="test")).broken
    assert await reopen(auditor.database, days_ago(OLDEST), "key 1 is lost", actor="somebody") == 3
    review = await auditor.review(SECOND)
    assert (review.is_clean, review.days_sealed) == (True, 3)


async def test_days_that_are_reopened_are_checked_whole_and_sealed_anew_on_record(
    auditor: Auditor, owner: asyncpg.Connection
) -> None:
    await auditor.review()
    await owner.execute("update usage set ending = 'cut' where request_id > uuid_floor($1::date)", days_ago(MIDDLE))
    assert list(await auditor.broken()) == [DAYS_UNCHANGED]
    before = await audit_head(auditor.database)
    assert await reopen(auditor.database, days_ago(MIDDLE), "mended", actor="somebody") == 2
    assert await audit_head(auditor.database) != before
    review = await auditor.review()
    assert (review.is_clean, review.days_kept, review.days_sealed) == (True, 1, 2)


async def test_a_check_that_was_overtaken_adds_nothing(auditor: Auditor, owner: asyncpg.Connection) -> None:
    await auditor.review()
    rows = await owner.fetchval("select count(*) from audit where action = 'books.seal'")
    await auditor.review()
    assert await owner.fetchval("select count(*) from audit where action = 'books.seal'") == rows == 1
