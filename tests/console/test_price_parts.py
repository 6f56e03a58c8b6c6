"""Parts of a price on the console's pages: prices, their history, and receipts."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import msgspec
import pytest

from tests.console.browser import Browser
from tests.console.calls import in_words
from tests.console.conftest import enter
from tests.people import Person
from tollkeeper.console.application import console
from tollkeeper.console.desks import Desks, Site
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.catalog.price_book import Announced, PriceBook, PricedModel
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.charge import Ending, UsageSource
from tollkeeper.core.money.parts import PriceParts, PriceTier, UsageParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate, Usage
from tollkeeper.core.usage.receipt import Receipt

CENT = UNITS_PER_USD // 100
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = PriceParts(
    written_5m=1_250_000,
    per_call=CENT,
    tools={"web_search": 2 * CENT},
    tiers=(PriceTier(above_tokens=200_000, model=3 * MILLIONTHS, completion=4 * MILLIONTHS),),
)


def a_price(number: int, parts: PriceParts | None, at: datetime = LONG_AGO) -> Price:
    return Price(
        id=number, model_id="m", effective_from=at, model=1_500_000, completion=5_000_000, cached=100_000, parts=parts
    )


class Book:
    """The `PriceList` port, with one model; the group of the public list pays twice as much."""

    def __init__(self, *prices: Price) -> None:
        rows = tuple(Announced(price=price, announced_at=LONG_AGO) for price in prices)
        self._models = (PricedModel(id="m", kind=Kind.CHAT, rows=rows),)

    async def published(self) -> PriceBook:
        return PriceBook(self._models, 2 * MILLIONTHS)

    async def for_group(self, group: str) -> PriceBook:
        return PriceBook(self._models, MILLIONTHS)


class OneReceipt:
    """The `Receipts` port."""

    def __init__(self, receipt: Receipt) -> None:
        self._receipt = receipt

    async def find(self, request_id: UUID, *, account_id: int | None) -> Receipt:
        return self._receipt


async def a_browser(person: Person, desks: Desks, site: Site, **ports: object) -> Browser:
    browser = Browser(console(msgspec.structs.replace(desks, **ports), site))
    await enter(browser, person)
    return browser


async def test_parts_stand_below_the_prices_of_their_model(person: Person, desks: Desks, site: Site) -> None:
    browser = await a_browser(person, desks, site, price_list=Book(a_price(1, PARTS)))
    for path in ("/prices", "/prices/m"):
        told = in_words((await browser.get(path)).text)
        assert "$3.00 list $6.00 $0.30 list $0.60 $15.00 list $30.00" in told, path
        for words in (
            "Written to cache for 5 minutes $3.75 (list $7.50 )",
            "Each call $0.01 (list $0.02 )",
            "Each use of web_search $0.02 (list $0.04 )",
            "Input, of calls above 200,000 input tokens $6.00 (list $12.00 )",
            "Output, of calls above 200,000 input tokens $24.00 (list $48.00 )",
        ):
            assert words in told, words


async def test_they_are_told_in_chinese_too(person: Person, desks: Desks, site: Site) -> None:
    browser = await a_browser(person, desks, site, price_list=Book(a_price(1, PARTS)))
    told = in_words((await browser.get("/prices?lang=zh")).text)
    assert "写入缓存" in told
    assert "输入超过 200,000 个 token 的调用" in told
    assert "每次使用 web_search $0.02" in told


@pytest.mark.parametrize("parts", [None, PriceParts()], ids=["no parts", "none set"])
async def test_a_model_without_parts_has_no_more_lines(
    person: Person, desks: Desks, site: Site, parts: PriceParts | None
) -> None:
    browser = await a_browser(person, desks, site, price_list=Book(a_price(1, parts)))
    assert "list-inline" not in (await browser.get("/prices")).text
    assert "list-inline" not in (await browser.get("/prices/m")).text


async def test_a_coming_change_tells_what_of_the_parts_changes(person: Person, desks: Desks, site: Site) -> None:
    later = PriceParts(written_5m=1_500_000, written_1h=1_000_000, tools={"web_search": 2 * CENT}, tiers=PARTS.tiers)
    coming = a_price(2, later, datetime.now(UTC) + timedelta(days=3))
    browser = await a_browser(person, desks, site, price_list=Book(a_price(1, PARTS), coming))
    page = (await browser.get("/prices")).text
    told = in_words(page[page.index("Coming changes") : page.index("for a million tokens")])
    assert "Written to cache for 5 minutes $3.75 $4.50" in told
    assert "Written to cache for 5 minutes, of calls above 200,000 input tokens $7.50 $9.00" in told
    assert "Each call $0.01 $0.00" in told
    # As much as plain input costs anyway, and what stays as it is.
    assert "an hour" not in told
    assert "web_search" not in told
    assert "nothing in USD" not in told


async def told_by(receipt: Receipt, person: Person, desks: Desks, site: Site) -> str:
    browser = await a_browser(person, desks, site, receipts=OneReceipt(receipt))
    return in_words((await browser.get(f"/usage/{receipt.request_id}")).text)


def a_receipt(usage: Usage, parts: PriceParts | None) -> Receipt:
    rate = Rate(a_price(1, parts), MILLIONTHS)
    return Receipt(
        request_id=uuid4(),
        account_id=1,
        key_id=2,
        rate=rate,
        usage=usage,
        usage_source=UsageSource.PROVIDER,
        ending=Ending.COMPLETED,
        held=Quota(10**15),
        charged=rate.charge(usage),
        attempts=[],
        started_at=LONG_AGO,
        settled_at=LONG_AGO,
    )


async def test_a_receipt_has_a_line_for_each_part(person: Person, desks: Desks, site: Site) -> None:
    used = UsageParts(written_5m=200, written_1h=100, image_output=10, tools={"web_search": 2})
    told = await told_by(a_receipt(Usage(1_000, 50, 400, used), PARTS), person, desks, site)
    assert (
        "group 1 × ( model 1.5 × ( 300 input + 400 read from cache × 0.1 + 200 written to cache for 5 minutes × 1.25 "
        "+ 100 written to cache for an hour × 1 + 40 output × 5 + 10 image output × 5 ) "
        "+ 5,000 quota tokens for the call + 2 × web_search, 10,000 quota tokens each ) "
        "= 26,410 quota tokens ÷ 500,000 = $0.05282"
    ) in told


async def test_a_receipt_of_a_long_call_says_from_which_length_its_price_holds(
    person: Person, desks: Desks, site: Site
) -> None:
    parts = PriceParts(tiers=PARTS.tiers)
    told = await told_by(a_receipt(Usage(200_001, 10), parts), person, desks, site)
    assert "group 1 × model 3 above 200,000 input tokens × ( 200,001 input + 10 output × 4 )" in told


async def test_a_receipt_without_parts_reads_as_it_did(person: Person, desks: Desks, site: Site) -> None:
    told = await told_by(a_receipt(Usage(1_000, 50, 400), None), person, desks, site)
    assert (
        "group 1 × model 1.5 × ( 600 input + 400 read from cache × 0.1 + 50 output × 5 ) = 1,335 quota tokens ÷ 500,000"
    ) in told
