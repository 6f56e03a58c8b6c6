"""The usage log as it is read: pages, charts, totals, and what they are added up from."""

import asyncio
from collections.abc import AsyncIterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from tests.customers import Customer, Customers
from tests.storage.usage.benches import UsageBench, a_bench
from tollkeeper.core.catalog.models import UNITS, Kind, Unit, unit_of
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.usage.log import Breakdown, UnitSum, UsageFilter, UsageLine
from tollkeeper.jobs.roll_up_usage import roll_up_usage
from tollkeeper.ports import NewPrice
from tollkeeper.settings import Settings
from tollkeeper.storage.catalog.models import price_of
from tollkeeper.storage.usage.pages import SCAN_ROWS
from tollkeeper.storage.usage.rollups import SqlRollups

ROLLED = "select * from usage_day order by account_id, day, key_id, model_id, ending"


@pytest.fixture
async def bench(
    settings: Settings, owner: asyncpg.Connection, customers: Customers, tmp_path: Path
) -> AsyncIterator[UsageBench]:
    async with a_bench(settings, owner, customers, tmp_path) as made:
        yield made


async def everything(bench: UsageBench, wanted: UsageFilter, limit: int = 1_000) -> list[UsageLine]:
    """All pages, one behind the other."""
    found: list[UsageLine] = []
    after: UUID | None = None
    while True:
        page = await bench.log.page(wanted, after=after, limit=limit)
        found += page.lines
        if page.next is None:
            return found
        assert after is None or page.next < after
        after = page.next


def fits(line: UsageLine, wanted: UsageFilter) -> bool:
    return (
        wanted.account_id in {None, line.account_id}
        and wanted.key_id in {None, line.key_id}
        and wanted.model_id in {None, line.model_id}
        and wanted.ending in {None, line.ending}
        and not (wanted.not_completed and line.ending is Ending.COMPLETED)
        and wanted.request_id in {None, line.request_id}
        and wanted.first_id <= line.request_id < wanted.end_id
    )


async def test_every_combination_of_filters_finds_what_fits_it_newest_first(bench: UsageBench) -> None:
    ada, bob = await bench.customers.a_customer(), await bench.customers.a_customer()
    second = await bench.customers.a_key(ada.account_id)
    models = [await bench.a_model(), await bench.a_model()]
    begun = await bench.now()
    made: list[UUID] = []
    for day in range(4):
        for customer, model in product((ada, second, bob), models):
            ending = Ending.CUT if (day + len(made)) % 3 == 0 else Ending.COMPLETED
            made.append(await bench.call(customer, model, ending=ending))
        await bench.pass_days(1)
    await bench.roll_up()
    lines = await everything(bench, UsageFilter())
    assert [line.request_id for line in lines] == sorted(made, reverse=True)

    filters = product(
        (None, ada.account_id, bob.account_id),
        (None, second.key_id),
        (None, models[0], "no-such-model"),
        (None, Ending.CUT, Ending.COMPLETED, Ending.REFUSED, "not completed"),
        (None, made[5]),
        ((None, None), (begun + timedelta(hours=20), begun + timedelta(days=2, hours=6))),
    )
    for account_id, key_id, model_id, ended, request_id, (since, until) in filters:
        wanted = UsageFilter(
            account_id=account_id,
            key_id=key_id,
            model_id=model_id,
            ending=ended if isinstance(ended, Ending) else None,
            not_completed=ended == "not completed",
            request_id=request_id,
            since=since,
            until=until,
        )
        assert await everything(bench, wanted, limit=4) == [line for line in lines if fits(line, wanted)], wanted


async def test_a_page_looks_at_so_many_rows_and_goes_on_from_there(bench: UsageBench) -> None:
    customer, usual, rare = await bench.customers.a_customer(), await bench.a_model(), await bench.a_model()
    wanted = UsageFilter(account_id=customer.account_id, model_id=rare)
    first = await bench.call(customer, rare)
    await bench.pass_days(1)
    second = await bench.call(customer, rare)
    await bench.pass_time(timedelta(minutes=1))
    await bench.many_calls(customer, usual, SCAN_ROWS + 10)
    short = await bench.log.page(wanted, after=None, limit=10)
    assert (list(short.lines), short.next is not None) == ([], True)
    assert [line.request_id for line in await everything(bench, wanted)] == [second, first]


@pytest.mark.parametrize("limit", [1, 2, 1_000])
async def test_a_model_with_several_prices_is_read_in_one_order(bench: UsageBench, limit: int) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    old_price = [await bench.call(customer, model) for _ in range(3)]
    await bench.pass_time(timedelta(minutes=1))
    await bench.owner.execute("insert into price (model_id, model_multiplier) values ($1, 2)", model)
    new_price = [await bench.call(customer, model) for _ in range(2)]
    await bench.pass_time(timedelta(minutes=1))
    await bench.many_calls(customer, model, SCAN_ROWS + 10, ending=Ending.CUT)
    # The calls at the new price are more than a page looks at; those at the old one fill a small page by themselves.
    found = await everything(bench, UsageFilter(model_id=model, ending=Ending.COMPLETED), limit)
    assert [line.request_id for line in found] == sorted(old_price + new_price, reverse=True)


@pytest.mark.parametrize("limit", [1, 2, 1_000])
async def test_calls_that_did_not_complete_are_read_in_one_order_whatever_ended_them(
    bench: UsageBench, limit: int
) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    endings = (Ending.CUT, Ending.REFUSED, Ending.COMPLETED, Ending.CUT, Ending.CLIENT_LEFT)
    made = [(await bench.call(customer, model, ending=ending), ending) for ending in endings]
    await bench.pass_time(timedelta(minutes=1))
    # More than a page looks at; they are none of what is asked for.
    await bench.many_calls(customer, await bench.a_model(), SCAN_ROWS + 10, ending=Ending.CUT)
    wanted = UsageFilter(account_id=customer.account_id, model_id=model, not_completed=True)
    found = [line.request_id for line in await everything(bench, wanted, limit)]
    assert found == sorted((call for call, ending in made if ending is not Ending.COMPLETED), reverse=True)


async def test_days_without_such_calls_are_passed_over(bench: UsageBench) -> None:
    customer, usual, rare = await bench.customers.a_customer(), await bench.a_model(), await bench.a_model()
    wanted = UsageFilter(account_id=customer.account_id, model_id=rare)
    only = await bench.call(customer, rare)
    for _ in range(2):
        await bench.pass_days(1)
        await bench.many_calls(customer, usual, SCAN_ROWS + 10)
    await bench.pass_days(1)
    await bench.roll_up()
    # As much as one page may look at has none; then comes the day that has one, and no day between.
    page = await bench.log.page(wanted, after=None, limit=10)
    assert list(page.lines) == []
    page = await bench.log.page(wanted, after=page.next, limit=10)
    assert ([line.request_id for line in page.lines], page.next) == ([only], None)
    nothing = UsageFilter(account_id=customer.account_id, model_id="no-such-model")
    assert (await bench.log.page(nothing, after=None, limit=10)).next is None


async def test_a_chart_is_the_same_from_the_log_and_from_what_was_added_up(bench: UsageBench) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    other = await bench.customers.a_customer()
    for charged in (100, 200, 300):
        await bench.call(customer, model, charged=charged)
        await bench.call(other, model, charged=1, ending=Ending.CUT)
        await bench.pass_days(1)
    await bench.call(customer, model, charged=400)
    wishes = [
        UsageFilter(account_id=customer.account_id),
        UsageFilter(),
        UsageFilter(key_id=customer.key_id),
        UsageFilter(model_id=model),
        UsageFilter(ending=Ending.CUT),
        UsageFilter(not_completed=True),
    ]
    before = [await bench.log.chart(wanted, days=5) for wanted in wishes]
    await bench.roll_up()
    assert [await bench.log.chart(wanted, days=5) for wanted in wishes] == before
    assert [each.sum.charged for each in before[0]] == [0, 100, 200, 300, 400]
    assert [each.sum.charged for each in before[1]] == [0, 101, 201, 301, 400]
    assert [each.sum.calls for each in before[4]] == [0, 1, 1, 1, 0]
    assert before[5] == before[4]


@pytest.mark.parametrize("by", Breakdown)
async def test_days_taken_apart_are_the_same_from_the_log_and_from_what_was_added_up(
    bench: UsageBench, by: Breakdown
) -> None:
    customer, models = await bench.customers.a_customer(), [await bench.a_model(), await bench.a_model()]
    second, other = await bench.customers.a_key(customer.account_id), await bench.customers.a_customer()
    first = await bench.today()
    for day in range(3):
        await bench.call(customer, models[0], charged=100 + day)
        await bench.call(second, models[1], charged=10, ending=Ending.CUT)
        await bench.call(other, models[0], charged=1)
        await bench.pass_days(1)
    last = await bench.today()
    names = models if by is Breakdown.MODEL else [str(customer.key_id), str(second.key_id)]
    wishes = (UsageFilter(), UsageFilter(model_id=models[0]), UsageFilter(key_id=second.key_id, ending=Ending.CUT))

    async def told(wanted: UsageFilter, until: date) -> set[tuple[date, str, int, int]]:
        parts = await bench.log.parts(customer.account_id, wanted, by=by, first=first, last=until)
        return {(part.day, part.name, part.sum.calls, part.sum.charged) for part in parts}

    before = [await told(wanted, last) for wanted in wishes]
    days = [first + timedelta(days=day) for day in range(3)]
    dear = {(day, names[0], 1, 100 + at) for at, day in enumerate(days)}
    cut = {(day, names[1], 1, 10) for day in days}
    assert before == [dear | cut, dear, cut]
    assert await told(UsageFilter(), first) == {part for part in before[0] if part[0] == first}
    await bench.roll_up()
    assert [await told(wanted, last) for wanted in wishes] == before
    await bench.call(customer, models[0], charged=7)
    assert await told(UsageFilter(), last) == before[0] | {(last, names[0], 1, 7)}


@pytest.mark.rule("S9.2")
async def test_the_total_is_the_sum_of_the_log_wherever_it_is_added_up(bench: UsageBench) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    first_day = await bench.today()
    for charged in (100, 250):
        await bench.call(customer, model, charged=charged)
        assert (await bench.log.consumed(customer.account_id)).in_log.charged == (await bench.rows())[2]
        await bench.pass_days(1)
        await bench.roll_up()
    await bench.call(customer, model, charged=7)
    found = await bench.log.consumed(customer.account_id)
    assert list(found.in_log.by_unit) == [Unit.TOKEN]
    units = found.in_log.by_unit[Unit.TOKEN].input_units
    assert (found.in_log.calls, units, found.in_log.charged) == await bench.rows()
    assert found.in_log.charged == found.lifetime == 357
    assert found.since is not None
    assert found.since <= first_day


async def test_a_call_is_added_up_when_nothing_older_can_come_any_more(
    bench: UsageBench, owner: asyncpg.Connection
) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    await bench.call(customer, model)
    await bench.roll_up()
    assert await owner.fetch(ROLLED) == [], "it ended only just now"
    await bench.pass_time(timedelta(minutes=11))
    running = await bench.begin(customer, model)
    await bench.pass_time(timedelta(seconds=1))
    await bench.call(customer, model)
    await bench.pass_time(timedelta(minutes=11))
    await bench.roll_up()
    assert [row["calls"] for row in await owner.fetch(ROLLED)] == [1, 1], "an older one still runs"
    assert (await bench.log.consumed(customer.account_id)).in_log.calls == 2
    await bench.end(running)
    await bench.roll_up()
    assert [row["calls"] for row in await owner.fetch(ROLLED)] == [3, 3]
    assert (await bench.log.consumed(customer.account_id)).in_log.calls == 3
    [today] = await bench.log.chart(UsageFilter(account_id=customer.account_id), days=1)
    assert (today.sum.calls, today.sum.charged) == (3, 1_200)


async def test_what_came_late_is_found_when_the_day_is_counted_once_more(bench: UsageBench) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    await bench.call(customer, model)
    day = await bench.today()
    await bench.pass_time(timedelta(hours=13))
    await bench.roll_up()
    # A row that should not be: a clock was wrong.
    await bench.owner.execute(
        "insert into usage select (left(request_id::text, 35) || case right(request_id::text, 1) when 'f' then '0'"
        " else 'f' end)::uuid, account_id, key_id, price_id,"
        " group_millionths, input_units, cached_units, output_units, held, charged, usage_source, ending, attempts,"
        " started_at, settled_at from usage"
    )
    assert day not in await bench.rollups.days_to_recount()
    await bench.pass_days(1)
    assert day in await bench.rollups.days_to_recount()
    await bench.roll_up()
    assert await bench.rollups.days_to_recount() == []
    assert (await bench.log.consumed(customer.account_id)).in_log.calls == 2


async def test_sums_are_alike_in_one_step_in_many_again_and_by_two_at_once(
    bench: UsageBench, owner: asyncpg.Connection
) -> None:
    model = await bench.a_model()
    customers = [await bench.customers.a_customer() for _ in range(5)]
    for customer in customers * 3:
        await bench.call(customer, model)
    day = await bench.today()
    await bench.pass_days(1)
    small = SqlRollups(bench.worker, rows_at_once=4)
    await asyncio.gather(roll_up_usage(small), roll_up_usage(small))
    in_steps = await owner.fetch(ROLLED)
    assert sum(row["calls"] for row in in_steps if row["account_id"]) == 15
    assert sum(row["calls"] for row in in_steps if not row["account_id"]) == 15
    await asyncio.gather(small.recount(day), small.recount(day), bench.rollups.recount(day))
    assert await owner.fetch(ROLLED) == in_steps


async def test_a_day_that_is_not_closed_cannot_be_counted_once_more(bench: UsageBench) -> None:
    with pytest.raises(asyncpg.ObjectNotInPrerequisiteStateError, match="not all settled and added up yet"):
        await bench.rollups.recount(await bench.today())


async def test_days_whose_rows_had_no_table_of_their_own_count_too(
    bench: UsageBench, owner: asyncpg.Connection
) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    day = await bench.today()
    await owner.execute(f"drop table usage_{day:%Y%m%d}")
    call = await bench.call(customer, model)
    await bench.pass_days(1)
    await bench.roll_up()
    assert (await bench.log.consumed(customer.account_id)).in_log.calls == 1
    assert [row["calls"] for row in await owner.fetch(ROLLED)] == [1, 1]
    assert [line.request_id for line in await everything(bench, UsageFilter())] == [call]


async def test_the_page_of_a_stranger_is_empty(bench: UsageBench) -> None:
    customer, model = await bench.customers.a_customer(), await bench.a_model()
    call = await bench.call(customer, model)
    stranger: Customer = await bench.customers.a_customer()
    for wanted in (
        UsageFilter(account_id=stranger.account_id, request_id=call),
        UsageFilter(account_id=stranger.account_id, key_id=customer.key_id),
    ):
        assert await everything(bench, wanted) == []


OF_EVERY_UNIT = (
    (Kind.CHAT, ""),
    (Kind.EMBEDDING, ""),
    (Kind.IMAGE, ""),
    (Kind.IMAGE, "1024x1024"),
    (Kind.SPEECH, ""),
    (Kind.TRANSCRIPTION, ""),
)


async def test_the_unit_of_a_call_is_that_of_its_price_and_sums_are_by_unit(bench: UsageBench) -> None:
    customer = await bench.customers.a_customer()
    account = UsageFilter(account_id=customer.account_id)
    models: dict[str, Unit] = {}
    for kind, variant in OF_EVERY_UNIT:
        model = await bench.customers.a_model(kind=kind, price=NewPrice(model=Decimal(1), variant=variant))
        row = await bench.owner.fetchrow("select * from price where model_id = $1", model)
        models[model] = UNITS[unit_of(kind, price_of(row))]
        await bench.call(customer, model)
    assert set(models.values()) == set(Unit)
    lines = await everything(bench, account)
    assert {line.model_id: line.unit for line in lines} == models
    for line in lines:
        [same] = (await bench.log.page(UsageFilter(request_id=line.request_id), after=None, limit=1)).lines
        assert same == line

    one = UnitSum(input_units=10, cached_units=2, output_units=5)
    # Of chat, embeddings, and images by token.
    by_unit = {Unit.TOKEN: one + one + one, Unit.IMAGE: one, Unit.CHARACTER: one, Unit.SECOND: one}
    # From the log, and from what was added up of it.
    for _ in range(2):
        day = await bench.today()
        assert (await bench.log.consumed(customer.account_id)).in_log.by_unit == by_unit
        chart = [each.sum for each in await bench.log.chart(account, days=3) if each.sum.calls]
        assert [found.by_unit for found in chart] == [by_unit]
        first = day - timedelta(days=2)
        parts = await bench.log.parts(customer.account_id, account, by=Breakdown.MODEL, first=first, last=day)
        assert {part.name: set(part.sum.by_unit) for part in parts} == {name: {unit} for name, unit in models.items()}
        [whole] = await bench.log.parts(customer.account_id, account, by=Breakdown.KEY, first=first, last=day)
        assert whole.sum.by_unit == by_unit
        await bench.pass_days(1)
        assert await bench.roll_up() >= 0
