"""Notices: of prices that change, of quota that expires, of balances that are low. Each is given once."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.customers import ACTOR, Customer, Customers
from tests.storage.customers.benches import Time
from tests.storage.usage.rows import a_call
from tollkeeper.accounts.money.lots import extend_lot
from tollkeeper.accounts.prices import PriceWish, enter_price_change, withdraw_price_change
from tollkeeper.app.database import opened
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.people.mails import MailKind, compose
from tollkeeper.jobs.announce_prices import announce_prices
from tollkeeper.jobs.send_notices import send_notices
from tollkeeper.ports import NewPrice
from tollkeeper.ports.catalog.prices import NewFigures, NewParts
from tollkeeper.ports.customers.notices import NoticeChoices
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.notice_choices import SqlNoticeDesk
from tollkeeper.storage.customers.notices import SqlAnnouncements, SqlNotices
from tollkeeper.storage.people.outbox import SqlOutbox
from tollkeeper.storage.postgres.database import Database, DatabaseRole

ONE_USD = Quota(UNITS_PER_USD)


@pytest.fixture
async def worker(settings: Settings) -> AsyncIterator[Database]:
    async with opened(settings, DatabaseRole.WORKER) as database:
        yield database


@pytest.fixture
def passing(owner: asyncpg.Connection) -> Time:
    return Time(owner)


class Reader:
    """Customers with logins, and the mails that wait for them."""

    def __init__(self, customers: Customers, owner: asyncpg.Connection) -> None:
        self._customers = customers
        self._owner = owner

    async def a_customer(self, *, usd: str | None = "10", months: int = 9) -> Customer:
        customer = await self._customers.a_customer(usd=None)
        if usd is not None:
            await self._customers.credit(customer.account_id, usd, months=months)
        await self._owner.execute(
            "insert into login (account_id, email, person, password)"
            " values ($1, $2::text, sha256(convert_to($2::text, 'UTF8')), '$argon2id$none')",
            customer.account_id,
            email_of(customer),
        )
        return customer

    async def mails(self, customer: Customer) -> list[tuple[str, dict[str, object]]]:
        """Kinds and figures, the oldest first."""
        rows = await self._owner.fetch(
            "select kind, figures from outbox where email = $1 order by id", email_of(customer)
        )
        return [(row["kind"], json.loads(row["figures"])) for row in rows]

    async def spend(self, customer: Customer, left_usd: str) -> None:
        """Leave so much of what is in the account's lots, and have a call to show for it."""
        await self._owner.execute("update lot set remaining = 0 where account_id = $1", customer.account_id)
        await self._owner.execute(
            "update lot set remaining = $2 where id ="
            " (select id from lot where account_id = $1 order by granted desc limit 1)",
            customer.account_id,
            int(Decimal(left_usd) * UNITS_PER_USD),
        )
        await a_call(self._owner, customer, 1)


def email_of(customer: Customer) -> str:
    return f"customer-{customer.account_id}@people.example"


@pytest.fixture
def reader(customers: Customers, owner: asyncpg.Connection) -> Reader:
    return Reader(customers, owner)


# Prices ---------------------------------------------------------------------------------------------------------------
async def a_change(customers: Customers, model: str) -> int:
    wish = PriceWish(model_id=model, figures=NewFigures(model=Decimal("1.5")))
    return (await enter_price_change(wish, timedelta(hours=24), customers.desk.prices, actor=ACTOR)).price_id


@pytest.mark.rule("V4.1")
async def test_those_who_used_the_model_are_written_to_once(
    customers: Customers, reader: Reader, worker: Database, owner: asyncpg.Connection
) -> None:
    model, other = await customers.a_model(), await customers.a_model()
    prices = {name: await owner.fetchval("select id from price where model_id = $1", name) for name in (model, other)}
    often, once, long_ago, elsewhere = [await reader.a_customer() for _ in range(4)]
    without_login = await customers.a_customer()
    for days_ago in (0, 0.01, 3, 29.9):
        await a_call(owner, often, prices[model], days_ago=days_ago)
    await a_call(owner, once, prices[model], days_ago=29.9)
    await a_call(owner, long_ago, prices[model], days_ago=30.1)
    await a_call(owner, elsewhere, prices[other], days_ago=1)
    await a_call(owner, without_login, prices[model], days_ago=1)

    await a_change(customers, model)
    done = await asyncio.gather(*(announce_prices(SqlAnnouncements(worker)) for _ in range(3)))
    assert sum(done) == 2
    assert await announce_prices(SqlAnnouncements(worker)) == 0
    for customer in (often, once):
        [(kind, figures)] = await reader.mails(customer)
        assert kind == "price_change"
        assert (figures["model"], figures["old_model"], figures["new_model"]) == (model, "1", "1.5")
    assert await reader.mails(long_ago) == await reader.mails(elsewhere) == []


async def test_a_mail_tells_the_parts_of_a_price_before_and_after(
    customers: Customers, reader: Reader, worker: Database, owner: asyncpg.Connection
) -> None:
    parts = PriceParts(written_5m=1_250_000)
    model, customer = await customers.a_model(price=NewPrice(model=Decimal(1), parts=parts)), await reader.a_customer()
    await a_call(owner, customer, await owner.fetchval("select max(id) from price"), days_ago=1)
    named = NewParts(written_5m=None, written_1h=Decimal(2), tools={"web_search": Quota(UNITS_PER_USD // 100)})
    wish = PriceWish(model_id=model, figures=NewFigures(parts=named))
    await enter_price_change(wish, timedelta(hours=24), customers.desk.prices, actor=ACTOR)
    assert await announce_prices(SqlAnnouncements(worker)) == 1
    [(kind, figures)] = await reader.mails(customer)
    text = compose(
        MailKind(kind), token=None, console_url="", figures=msgspec.convert(figures, dict[str, str | int])
    ).text
    assert (
        "    cached      1 -> 1\n"
        "    written for 5 minutes: 1.25 -> not set\n"
        "    written for an hour: not set -> 2\n"
        "    each use of web_search: not set -> 5000 quota tokens\n\n"
    ) in text


async def test_a_price_change_is_told_in_usd_as_the_reader_pays(
    customers: Customers, reader: Reader, worker: Database, owner: asyncpg.Connection
) -> None:
    model, customer, outbox = await customers.a_model(), await reader.a_customer(), SqlOutbox(worker, secrets.choice)
    await owner.execute("insert into account_group (name, multiplier) values ('half', 0.5) on conflict do nothing")
    await owner.execute("update account set group_name = 'half' where id = $1", customer.account_id)
    await a_call(owner, customer, await owner.fetchval("select max(id) from price"), days_ago=1)
    await a_change(customers, model)
    assert await announce_prices(SqlAnnouncements(worker)) == 1
    [claim] = await outbox.claim()
    letter = await outbox.letter(claim)
    assert letter is not None
    text = compose(letter.kind, token=letter.token, console_url="", figures=letter.figures).text
    assert "    a million input tokens: 1.000 -> 1.500\n" in text


async def test_whoever_was_told_is_told_that_it_was_withdrawn(
    customers: Customers, reader: Reader, worker: Database, owner: asyncpg.Connection
) -> None:
    model = await customers.a_model()
    told, untold = await reader.a_customer(), await reader.a_customer()
    await a_call(owner, told, await owner.fetchval("select max(id) from price"), days_ago=1)
    price = await a_change(customers, model)
    await announce_prices(SqlAnnouncements(worker))
    await withdraw_price_change(price, "a slip", customers.desk.prices, actor=ACTOR)
    assert await announce_prices(SqlAnnouncements(worker)) == 1
    assert await announce_prices(SqlAnnouncements(worker)) == 0
    assert [kind for kind, _ in await reader.mails(told)] == ["price_change", "price_withdrawn"]
    assert await reader.mails(untold) == []


async def test_a_change_withdrawn_before_anybody_was_told_is_told_to_nobody(
    customers: Customers, reader: Reader, worker: Database, owner: asyncpg.Connection
) -> None:
    model, customer = await customers.a_model(), await reader.a_customer()
    await a_call(owner, customer, await owner.fetchval("select max(id) from price"), days_ago=1)
    await withdraw_price_change(await a_change(customers, model), "a slip", customers.desk.prices, actor=ACTOR)
    assert await announce_prices(SqlAnnouncements(worker)) == 0
    assert await reader.mails(customer) == []


# Lots -----------------------------------------------------------------------------------------------------------------
async def test_a_lot_that_expires_is_told_of_30_7_and_1_days_before(
    reader: Reader, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    customer = await reader.a_customer(usd="10", months=2)
    expires = await owner.fetchval("select expires_at from lot where account_id = $1", customer.account_id)
    told: list[float] = []
    for days in (31, 30, 29, 8, 7, 6, 2, 1, 0.5):
        await passing.go_to(expires - timedelta(days=days) + timedelta(minutes=1))
        sent = await asyncio.gather(*(send_notices(SqlNotices(worker), ONE_USD) for _ in range(2)))
        told += [days] * sum(sent)
    assert told == [30, 7, 1]
    assert [figures for _, figures in await reader.mails(customer)] == [
        {"amount": 10 * UNITS_PER_USD, "at": f"{expires:%Y-%m-%d %H:%M}"}
    ] * 3


async def test_of_several_that_are_due_at_once_the_last_is_told(
    reader: Reader, worker: Database, passing: Time
) -> None:
    customer = await reader.a_customer(months=2)
    await passing.pass_by(days=58)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 1
    assert [kind for kind, _ in await reader.mails(customer)] == ["lot_expiring"]


async def test_what_is_used_up_or_a_keys_own_or_has_nobody_to_tell_is_passed_over(
    customers: Customers, reader: Reader, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    used_up, bound, almost = [await reader.a_customer(months=2) for _ in range(3)]
    await owner.execute("update lot set remaining = 0 where account_id = $1", used_up.account_id)
    await owner.execute("update lot set key_id = $2 where account_id = $1", bound.account_id, bound.key_id)
    await owner.execute("update lot set remaining = 499999999 where account_id = $1", almost.account_id)
    nobody = await customers.a_customer(usd=None)
    await customers.credit(nobody.account_id, "5", months=2)
    await passing.pass_by(days=40)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0


async def test_an_extended_lot_is_told_of_before_its_new_end(
    customers: Customers, reader: Reader, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    customer = await reader.a_customer(months=2)
    lot, expires = await owner.fetchrow("select id, expires_at from lot where account_id = $1", customer.account_id)
    await passing.go_to(expires - timedelta(days=20))
    assert await send_notices(SqlNotices(worker), ONE_USD) == 1
    await extend_lot(lot, expires + timedelta(days=60), "a gesture", customers.desk.lots, actor=ACTOR)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0
    await passing.go_to(expires + timedelta(days=40))
    assert await send_notices(SqlNotices(worker), ONE_USD) == 1
    assert len(await reader.mails(customer)) == 2


# Balances -------------------------------------------------------------------------------------------------------------
async def test_a_low_balance_is_told_once_for_each_time_that_it_falls(
    customers: Customers, reader: Reader, worker: Database, passing: Time
) -> None:
    await customers.a_model()
    customer = await reader.a_customer(usd="10")

    async def told_after(left_usd: str) -> int:
        await reader.spend(customer, left_usd)
        await passing.pass_by(minutes=1)
        return await send_notices(SqlNotices(worker), ONE_USD)

    assert await told_after("1") == 0
    assert await told_after("0.999") == 1
    assert await told_after("0.4") == 0
    # Not enough to have been above once more.
    await customers.credit(customer.account_id, "0.0001")
    assert await told_after("0.3") == 0
    await customers.credit(customer.account_id, "5")
    assert await told_after("4") == 0
    assert await told_after("0.2") == 1
    assert await told_after("0.1") == 0
    assert [(kind, figures["amount"]) for kind, figures in await reader.mails(customer)] == [
        ("low_balance", 999 * UNITS_PER_USD // 1_000),
        ("low_balance", UNITS_PER_USD // 5),
    ]


async def test_a_call_that_took_long_is_seen_at_the_second_look(
    customers: Customers, reader: Reader, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    await customers.a_model()
    customer = await reader.a_customer(usd="10")
    await passing.pass_by(minutes=20)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0
    await owner.execute("update lot set remaining = 1 where account_id = $1", customer.account_id)
    await a_call(owner, customer, 1, days_ago=9 / 1_440)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0
    await passing.pass_by(minutes=3)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 1


async def test_what_calls_under_way_hold_is_not_missing(
    customers: Customers, reader: Reader, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    await customers.a_model()
    customer = await reader.a_customer(usd="10")
    await owner.execute(
        "update account_books set held = $2 where account_id = $1", customer.account_id, 5 * UNITS_PER_USD
    )
    await reader.spend(customer, "0.5")
    await passing.pass_by(minutes=1)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0


# What customers chose -------------------------------------------------------------------------------------------------
async def chosen(settings: Settings, customer: Customer, **choices: Any) -> None:
    async with opened(settings, DatabaseRole.CONSOLE) as database:
        await SqlNoticeDesk(database).choose(customer.account_id, NoticeChoices(**choices), actor=ACTOR)


async def test_whoever_does_not_want_to_be_told_of_a_price_is_not(
    settings: Settings, customers: Customers, reader: Reader, worker: Database, owner: asyncpg.Connection
) -> None:
    model, told, untold = await customers.a_model(), await reader.a_customer(), await reader.a_customer()
    await chosen(settings, told, lot_expiring=False, low_balance=False, new_sign_in=False)
    await chosen(settings, untold, price_change=False)
    for customer in (told, untold):
        await a_call(owner, customer, await owner.fetchval("select max(id) from price"), days_ago=1)
    price = await a_change(customers, model)
    assert await announce_prices(SqlAnnouncements(worker)) == 1
    await withdraw_price_change(price, "a slip", customers.desk.prices, actor=ACTOR)
    assert await announce_prices(SqlAnnouncements(worker)) == 1
    assert await reader.mails(untold) == []


async def test_whoever_does_not_want_to_be_told_of_lots_is_not(
    settings: Settings, reader: Reader, worker: Database, passing: Time
) -> None:
    told, untold = await reader.a_customer(months=2), await reader.a_customer(months=2)
    await chosen(settings, told, price_change=False, low_balance=False, new_sign_in=False)
    await chosen(settings, untold, lot_expiring=False)
    await passing.pass_by(days=40)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 1
    assert await reader.mails(untold) == []


async def test_a_low_balance_is_what_the_customer_calls_low(
    settings: Settings,
    customers: Customers,
    reader: Reader,
    worker: Database,
    passing: Time,
    owner: asyncpg.Connection,
) -> None:
    await customers.a_model()
    usual, early, late, never = [await reader.a_customer(usd="10") for _ in range(4)]
    nobody = await customers.a_customer(usd="10")
    await chosen(settings, early, low_balance_below=Quota(5 * UNITS_PER_USD))
    await chosen(settings, late, low_balance_below=Quota(UNITS_PER_USD // 2))
    await chosen(settings, never, low_balance=False)

    async def told_at(left_usd: str) -> list[int]:
        for customer in (usual, early, late, never, nobody):
            await reader.spend(customer, left_usd)
        await passing.pass_by(minutes=1)
        await send_notices(SqlNotices(worker), ONE_USD)
        return [len(await reader.mails(customer)) for customer in (usual, early, late, never)]

    assert await told_at("5") == [0, 0, 0, 0]
    assert await told_at("4.9") == [0, 1, 0, 0]
    assert await told_at("0.9") == [1, 1, 0, 0]
    assert await told_at("0.4") == [1, 1, 1, 0]
    # Who wants no mail, or has no login, has the notice none the less, once: webhooks go by it.
    noticed = await owner.fetch("select account_id from notice where kind = 'low_balance' order by account_id")
    assert [row["account_id"] for row in noticed] == [each.account_id for each in (usual, early, late, never, nobody)]
    [(_, figures)] = await reader.mails(early)
    assert figures == {"amount": 49 * UNITS_PER_USD // 10, "threshold": 5 * UNITS_PER_USD}


async def test_much_spent_in_a_day_is_told_once_for_each_day_to_whoever_asked(
    settings: Settings, reader: Reader, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    asked, other = await reader.a_customer(), await reader.a_customer()
    today = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=1)
    await passing.go_to(today)

    async def spend(customer: Customer, usd: int) -> None:
        """As it stands when calls were added up."""
        await owner.execute(
            "insert into usage_day select $1, (ledger_now() at time zone 'UTC')::date, $2, 'm', 'completed',"
            " 1, 0, 0, 0, $3 on conflict (account_id, day, key_id, model_id, ending)"
            " do update set charged = usage_day.charged + $3",
            customer.account_id,
            customer.key_id,
            usd * UNITS_PER_USD,
        )

    for customer in (asked, other):
        await spend(customer, 50)
    await passing.go_to(today + timedelta(days=1))
    await chosen(settings, asked, day_spend_above=Quota(5 * UNITS_PER_USD))
    # Yesterday is nobody's news.
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0
    for customer in (asked, other):
        await spend(customer, 5)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0
    await spend(asked, 1)
    sent = await asyncio.gather(*(send_notices(SqlNotices(worker), ONE_USD) for _ in range(3)))
    assert sum(sent) == 1
    await spend(asked, 9)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0
    await passing.go_to(today + timedelta(days=2))
    await spend(asked, 7)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 1
    mails = await reader.mails(asked)
    assert [(kind, figures["amount"], figures["day"]) for kind, figures in mails] == [
        ("day_spend", 6 * UNITS_PER_USD, f"{today + timedelta(days=1):%Y-%m-%d}"),
        ("day_spend", 7 * UNITS_PER_USD, f"{today + timedelta(days=2):%Y-%m-%d}"),
    ]
    notice = compose(MailKind.DAY_SPEND, token=None, console_url="", figures={**mails[0][1]})  # type: ignore[dict-item]
    assert "6.000 USD were spent" in notice.text


async def test_closed_accounts_are_told_nothing(
    reader: Reader, worker: Database, passing: Time, owner: asyncpg.Connection
) -> None:
    customer = await reader.a_customer(months=2)
    await owner.execute("update account set disabled_at = now(), closed_at = now() where id = $1", customer.account_id)
    await passing.pass_by(days=40)
    assert await send_notices(SqlNotices(worker), ONE_USD) == 0


# Mails ----------------------------------------------------------------------------------------------------------------
async def test_many_notices_do_not_keep_anybody_waiting_for_a_link(
    reader: Reader, worker: Database, owner: asyncpg.Connection
) -> None:
    customer, outbox = await reader.a_customer(), SqlOutbox(worker, secrets.choice)
    await owner.execute(
        "insert into outbox (kind, email, figures, next_try_at)"
        " select 'low_balance', $1, '{\"amount\": 250000000000, \"threshold\": 500000000000}', now() - interval '1 h'"
        " from generate_series(1, 15)",
        email_of(customer),
    )
    await owner.execute("insert into outbox (kind, email) values ('reset', $1)", email_of(customer))
    letters = [await outbox.letter(claim) for claim in await outbox.claim()]
    kinds = Counter(letter.kind for letter in letters if letter is not None)
    assert kinds == {MailKind.RESET: 1, MailKind.LOW_BALANCE: 9}
    letters += [await outbox.letter(claim) for claim in await outbox.claim()]
    assert len(letters) == 16
    last = letters[-1]
    assert last is not None
    notice = compose(last.kind, token=last.token, console_url="", figures=last.figures)
    assert "0.500 USD are left of your quota." in notice.text
