"""Usage: what is shown is what was called, filtered as asked, to the last unit, and nobody else's."""

import csv
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.console.browser import Browser
from tests.console.calls import CallMade, a_call, in_words
from tests.customers import DEAR_OUTPUT, Customer, Customers
from tests.people import People
from tollkeeper.console.figures import usd_fine
from tollkeeper.console.usage.endings import COUNTED, SHORT, WHOLE
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.ports import NewPrice

ROW = re.compile(r'<td class="when"><a href="/usage/([0-9a-f-]{36})">')
ONE_USD = 500_000_000_000


def rows(text: str) -> list[UUID]:
    return [UUID(found) for found in ROW.findall(text)]


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


async def test_every_call_is_shown_newest_first_with_its_charge_and_the_total(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    model = await townsfolk.a_model()
    old = await a_call(town_owner, key_holder, CallMade(model=model, charged=ONE_USD, ago=timedelta(days=2)))
    new = await a_call(town_owner, key_holder, CallMade(model=model, charged=ONE_USD // 4, input_units=12_345))
    page = await signed_in.get("/usage")
    assert rows(page.text) == [new, old]
    assert usd_fine(ONE_USD // 4) == "$0.250000"
    assert "$0.250000" in page.text
    assert "12,345" in page.text
    assert "$1.25 in 2 calls" in in_words(page.text)
    # The bars and the table beside them are links to the calls that they sum.
    day = days_ago(2)
    assert f"/usage?from={day}&amp;to={day}&amp;model={model}" in page.text
    assert f'<a href="/usage?from={day}&amp;to={day}">1</a>' in page.text
    assert re.search(r'<tfoot>.*<a href="/usage\?from=[^"]*">2</a>.*</tfoot>', page.text, re.DOTALL)


async def test_of_an_id_that_is_not_there_it_is_said_that_refused_calls_are_not_in_the_log(signed_in: Browser) -> None:
    told = in_words((await signed_in.get(f"/usage?id={uuid4()}")).text)
    assert "This call is not here A call that was refused before any quota was held for it is not in the log" in told
    assert "This call is not here" not in in_words((await signed_in.get("/usage?model=none")).text)


async def test_filters_are_those_of_the_address(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    ours, other = await townsfolk.a_model(), await townsfolk.a_model()
    second = await townsfolk.a_key(key_holder.account_id)
    usual = await a_call(town_owner, key_holder, CallMade(model=ours, ago=timedelta(minutes=3)))
    by_other = await a_call(town_owner, key_holder, CallMade(model=other, ago=timedelta(minutes=2)))
    by_second = await a_call(town_owner, second, CallMade(model=ours, ago=timedelta(minutes=1)))
    left = await a_call(town_owner, key_holder, CallMade(model=ours, ending=Ending.CLIENT_LEFT))
    long_ago = await a_call(town_owner, key_holder, CallMade(model=ours, ago=timedelta(days=40)))
    wishes = {
        "": [left, by_second, by_other, usual],
        f"model={other}": [by_other],
        f"key={second.key_id}": [by_second],
        "ending=client_left": [left],
        "ending=not_completed": [left],
        f"ending=not_completed&id={usual}": [],
        f"id={usual}": [usual],
        f"id={long_ago}": [long_ago],
        f"from={days_ago(40)}&to={days_ago(40)}": [long_ago],
        f"model={ours}&key={key_holder.key_id}&ending=completed": [usual],
        f"id={uuid4()}": [],
    }
    for query, found in wishes.items():
        page = await signed_in.get(f"/usage?{query}")
        assert (page.status, rows(page.text)) == (200, found), query
        assert f" in {len(found)} call" in in_words(page.text), query


async def test_a_chart_by_key_names_the_keys_and_adds_up_what_has_no_colour(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    for price in range(1, 9):
        model = await townsfolk.a_model()
        await a_call(town_owner, key_holder, CallMade(model=model, charged=price * ONE_USD))
    page = await signed_in.get("/usage")
    assert "Others" in page.text
    assert "$36.00</span> in 8 calls" in page.text
    # 1 + 2 + 3 are the others: five have a colour of their own.
    assert "Others, $6.00" in page.text
    assert "a key, $36.00" in (await signed_in.get("/usage?by=key")).text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from=yesterday", "Write a day like"),
        ("from=0001-01-01", "Write a day like"),
        ("from=2026-02-02&to=2026-02-01", "comes after the last one"),
        ("from=2020-01-01&to=2026-01-01", "a year at most"),
        ("id=nonsense", "This is no request id"),
    ],
)
async def test_what_cannot_be_read_is_said_beside_its_field(signed_in: Browser, query: str, words: str) -> None:
    for path in ("/usage", "/usage.csv"):
        page = await signed_in.get(f"{path}?{query}")
        assert (page.status, words in page.text) == (422, True)


@pytest.mark.parametrize("query", ["key=abc", "key=99999999999999999999", "ending=nothing", "after=x", "by=colour"])
async def test_other_nonsense_counts_as_not_asked_for(signed_in: Browser, query: str) -> None:
    assert (await signed_in.get(f"/usage?{query}")).status == 200


async def test_older_calls_follow_page_by_page(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    model = await townsfolk.a_model()
    made = [await a_call(town_owner, key_holder, CallMade(model=model, ago=timedelta(seconds=at))) for at in range(120)]
    seen, path = [], "/usage"
    while path:
        page = await signed_in.get(path)
        seen += rows(page.text)
        older = re.search(r'rel="next" href="([^"]+)"', page.text)
        path = unescape(older[1]) if older else ""
    assert seen == sorted(made, reverse=True)


async def test_the_csv_has_exactly_the_calls_of_the_table(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    model, other = await townsfolk.a_model(), await townsfolk.a_model()
    for at in range(5):
        await a_call(
            town_owner, key_holder, CallMade(model=model, charged=(at + 1) * 1_000_003, ago=timedelta(hours=at))
        )
    await a_call(town_owner, key_holder, CallMade(model=other))
    query = f"from={days_ago(3)}&to={days_ago(0)}&model={model}"
    table = await signed_in.get(f"/usage?{query}")
    answer = await signed_in.get(f"/usage.csv?{query}")
    assert (answer.header("content-type"), "attachment" in answer.header("content-disposition")) == (
        "text/csv; charset=utf-8",
        True,
    )
    found = list(csv.DictReader(answer.text.splitlines()))
    assert [UUID(row["request_id"]) for row in found] == rows(table.text)
    assert len(found) == 5
    for row in found:
        assert f'title="${row["charged_usd"]}"' in table.text


async def test_a_receipt_tells_the_story_and_the_formula(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    model = await townsfolk.a_model(price=DEAR_OUTPUT)
    attempts = [
        {"account": "secret-provider-account", "outcome": "unreachable", "ms": 200, "cost": 7},
        {"account": "secret-provider-account", "outcome": "client_left", "ms": 900, "cost": 7, "first_byte_ms": 512},
    ]
    call = CallMade(
        model=model,
        input_units=1_100,
        cached_units=100,
        output_units=200,
        charged=1_850_000_000,
        ending=Ending.CLIENT_LEFT,
        source=UsageSource.COUNTED,
        attempts=attempts,
        held=5_000_000_000,
    )
    request_id = await a_call(town_owner, key_holder, call)
    page = await signed_in.get(f"/usage/{request_id}")
    assert page.status == 200
    told = in_words(page.text)
    for words in (
        str(request_id),
        "you hung up",
        WHOLE[Ending.CLIENT_LEFT],
        COUNTED[UsageSource.COUNTED],
        "no connection",
        "first word after 0.51 s",
        "1,000 input",
        "100 read from cache × ",
        "200 output × 4",
        "Why it cost $0.0037",
        "Held before $0.01",
        "Came back $0.0063",
    ):
        assert words in told, words
    # Which of our accounts it was, and what it cost us, is nobody's business.
    assert "secret-provider-account" not in page.text


async def test_a_receipt_of_images_says_what_each_cost(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    model = await townsfolk.a_model(kind=Kind.IMAGE, price=NewPrice(model=Decimal(20_000), variant="1024x1024"))
    call = CallMade(model=model, input_units=3, output_units=0, charged=60_000_000_000, source=UsageSource.MEASURED)
    page = await signed_in.get(f"/usage/{await a_call(town_owner, key_holder, call)}")
    told = in_words(page.text)
    assert "20000 quota tokens for each image (1024x1024) × 3 = 60,000 quota tokens ÷ 500,000 = $0.12" in told


SIZED, PLAIN = NewPrice(model=Decimal(20_000), variant="1024x1024"), NewPrice(model=Decimal(2))
# What is counted of a call, and its unit in English, in Chinese and in a table.
COUNTS = (
    (Kind.IMAGE, SIZED, 3, "3 images", "3 张图片", "image"),
    (Kind.IMAGE, SIZED, 1, "1 image", "1 张图片", "image"),
    (Kind.IMAGE, PLAIN, 1_056, "1,056", "1,056", "token"),
    (Kind.SPEECH, PLAIN, 4_711, "4,711 characters", "4,711 个字符", "character"),
    (Kind.TRANSCRIPTION, PLAIN, 90, "90 seconds", "90 秒", "second"),
    (Kind.EMBEDDING, PLAIN, 77, "77", "77", "token"),
)


async def test_the_unit_stands_beside_a_count_that_is_not_of_tokens(
    signed_in: Browser, town_owner: asyncpg.Connection, key_holder: Customer, townsfolk: Customers
) -> None:
    for kind, price, count, english, chinese, unit in COUNTS:
        model = await townsfolk.a_model(kind=kind, price=price)
        await a_call(town_owner, key_holder, CallMade(model=model, input_units=count, output_units=0))
        for language, words in (("en", english), ("zh", chinese)):
            page = await signed_in.get(f"/usage?model={model}&lang={language}")
            assert re.findall(r'<td class="n count[^>]*>([^<]*)</td>', page.text) == [words, "0", "0"]
        [row] = csv.DictReader((await signed_in.get(f"/usage.csv?model={model}")).text.splitlines())
        assert (row["unit"], row["input_units"]) == (unit, str(count))


async def test_nobody_sees_the_calls_of_another(
    signed_in: Browser, town_owner: asyncpg.Connection, people: People, townsfolk: Customers
) -> None:
    other = await townsfolk.a_key((await people.a_person()).account_id)
    request_id = await a_call(town_owner, other, CallMade(model=await townsfolk.a_model()))
    assert (await signed_in.get(f"/usage/{request_id}")).status == 404
    for query in (f"id={request_id}", f"key={other.key_id}", ""):
        page = await signed_in.get(f"/usage?{query}")
        assert rows(page.text) == []
        assert " in 0 calls" in page.text
        assert str(request_id) not in (await signed_in.get(f"/usage.csv?{query}")).text
    for nonsense in ("nonsense", str(uuid4())):
        assert (await signed_in.get(f"/usage/{nonsense}")).status == 404


async def test_an_empty_page_says_what_to_do_first(signed_in: Browser) -> None:
    assert "Make a key and send your first call" in (await signed_in.get("/usage")).text


def test_every_ending_and_every_way_of_counting_has_words() -> None:
    assert set(SHORT) == set(WHOLE) == set(Ending)
    assert set(COUNTED) == set(UsageSource)
    assert len(set(SHORT.values())) == len(Ending)
