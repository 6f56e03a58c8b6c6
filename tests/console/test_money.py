"""Top-ups, the faucet and prices on their pages."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.codes import sold
from tests.console.browser import Answer, Browser
from tests.console.calls import in_words
from tests.console.conftest import enter
from tests.customers import ACTOR, Customers
from tests.people import People, Person
from tollkeeper.accounts.money.codes import BatchWish
from tollkeeper.accounts.money.redeem import RedeemWish, redeem
from tollkeeper.console.desks import Desks
from tollkeeper.console.figures import exact
from tollkeeper.console.money.prices import figures_of, price_cell, price_usd
from tollkeeper.core.catalog.models import Kind
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.core.money.prices import MILLIONTHS, Price
from tollkeeper.core.partner.plan import micros_from_usd
from tollkeeper.ports import NewPrice
from tollkeeper.ports.catalog.prices import NewFigures, PriceChange

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
WRONG = "TK-2222-2222-2222-2222-2222-2222-2222"


async def a_code(townsfolk: Customers, *, usd: str = "10") -> str:
    wish = BatchWish(codes=1, usd_micros=micros_from_usd(Decimal(usd)), months=9)
    [code] = await sold(townsfolk.desk.codes, wish)
    return code


async def send(browser: Browser, code: str, **fields: str) -> Answer:
    page = await browser.get("/top-up")
    return await browser.post("/top-up", **{"form_id": page.hidden()["form_id"], "code": code} | fields)


async def balance(desks: Desks, person: Person) -> int:
    return (await desks.wallets.of(person.account_id)).balance


async def test_a_code_is_redeemed_and_stays_on_record(
    signed_in: Browser, person: Person, desks: Desks, townsfolk: Customers
) -> None:
    answer = await send(signed_in, await a_code(townsfolk, usd="12.34"))
    assert re.fullmatch(r"/top-up/\d+\?done=topped-up", answer.goes_to)
    page = await signed_in.follow()
    assert "The code is redeemed" in page.text
    assert "$12.34" in page.text
    assert await balance(desks, person) == 1234 * UNITS_PER_USD // 100
    assert "$12.34" in (await signed_in.get("/top-up")).text


async def test_a_form_that_is_sent_twice_adds_once(
    signed_in: Browser, person: Person, desks: Desks, townsfolk: Customers
) -> None:
    code = await a_code(townsfolk)
    page = await signed_in.get("/top-up")
    fields = {"form_id": page.hidden()["form_id"], "form_token": page.hidden()["form_token"], "code": code}
    await signed_in.post("/top-up", **fields)
    assert (await signed_in.post("/top-up", **fields)).goes_to == "/top-up?done=sent-before"
    assert await balance(desks, person) == 10 * UNITS_PER_USD


async def test_a_code_that_was_redeemed_before_is_told_as_that(
    signed_in: Browser, person: Person, desks: Desks, townsfolk: Customers
) -> None:
    code = await a_code(townsfolk)
    first = (await send(signed_in, code)).goes_to
    again = (await send(signed_in, code)).goes_to
    assert (first.partition("?")[0], again.partition("?")[2]) == (again.partition("?")[0], "done=topped-up-before")
    page = await signed_in.follow()
    assert "You redeemed this code before. Nothing was added now" in page.text
    assert "The code is redeemed" not in page.text
    assert await balance(desks, person) == 10 * UNITS_PER_USD


async def test_a_gift_code_gives_both_sides_something(
    signed_in: Browser, person: Person, people: People, desks: Desks, townsfolk: Customers
) -> None:
    friend = await people.a_person()
    gift_code = (await desks.partners.statement(friend.account_id)).gift_code
    await send(signed_in, await a_code(townsfolk), gift_code=f"https://console.example/i/{gift_code}")
    assert "$0.50" in (await signed_in.follow()).text
    assert await balance(desks, person) == 105 * UNITS_PER_USD // 10
    assert await balance(desks, friend) == 5 * UNITS_PER_USD // 10


async def test_whatever_is_not_accepted_has_one_answer_beside_the_code(
    signed_in: Browser, person: Person, people: People, desks: Desks, townsfolk: Customers
) -> None:
    used, good = await a_code(townsfolk), await a_code(townsfolk)
    other = RedeemWish(account_id=(await people.a_person()).account_id, code=used, ip=None)
    await redeem(other, desks.referral_terms, desks.redemptions, actor=ACTOR)
    own = (await desks.partners.statement(person.account_id)).gift_code
    told = set()
    for code, gift_code in [(used, ""), ("", ""), ("nonsense", ""), (good, own), (good, "ZZZZZ")]:
        answer = await send(signed_in, code, gift_code=gift_code)
        assert answer.status == 422
        found = re.search(r'id="code-error">([^<]+)<', answer.text)
        assert found is not None
        told.add(found[1])
    assert len(told) == 1
    assert await balance(desks, person) == 0


async def test_guessing_is_locked(signed_in: Browser, person: Person, desks: Desks, townsfolk: Customers) -> None:
    answer = await send(signed_in, WRONG)
    for _ in range(30):
        if answer.status != 422:
            break
        answer = await send(signed_in, WRONG)
    assert answer.status == 429
    assert (await send(signed_in, await a_code(townsfolk))).status == 429
    assert await balance(desks, person) == 0


async def test_anothers_top_up_is_as_unknown_as_one_that_is_none(
    application: Starlette, signed_in: Browser, people: People, townsfolk: Customers
) -> None:
    path = (await send(signed_in, await a_code(townsfolk))).goes_to.partition("?")[0]
    other = Browser(application)
    await enter(other, await people.a_person())
    assert (await signed_in.get(path)).status == 200
    assert (await other.get(path)).status == 404
    assert (await other.get(f"/top-up/{2**70}")).status == 404


# The faucet -----------------------------------------------------------------------------------------------------------
async def test_the_faucet_gives_a_key_once(signed_in: Browser, person: Person, desks: Desks) -> None:
    page = await signed_in.get("/faucet")
    given = await signed_in.post("/faucet", form_id=page.hidden()["form_id"])
    assert given.status == 200
    assert re.search(r'data-copy="sk-[0-9A-Za-z]{49}"', given.text)
    page = await signed_in.get("/faucet")
    again = await signed_in.post("/faucet", form_id=page.hidden()["form_id"])
    assert (again.status, "once in 24 hours. Come again after" in again.text) == (429, True)
    [key] = await desks.keys.of_account(person.account_id)
    assert key.name == "Faucet"


# Prices ---------------------------------------------------------------------------------------------------------------
async def test_prices_are_listed_with_what_is_to_come(signed_in: Browser, townsfolk: Customers) -> None:
    model = await townsfolk.a_model(
        price=NewPrice(model=Decimal("0.075"), completion=Decimal(4), cached=Decimal("0.5"))
    )
    change = PriceChange(
        model_id=model,
        variant="",
        figures=NewFigures(model=Decimal("0.1")),
        effective_from=None,
        notice=timedelta(days=14),
    )
    await townsfolk.desk.prices.enter(change, actor=ACTOR)
    page = await signed_in.get(f"/prices?q={model}")
    listed = page.text[page.text.index("for a million tokens") :]
    assert re.findall(r">(\$[0-9.]+)<", listed) == ["$0.15", "$0.075", "$0.60"]
    assert "Coming changes" in page.text
    history = await signed_in.get(f"/prices/{model}")
    assert (history.status, "to come" in history.text, "$0.20" in history.text) == (200, True, True)


async def test_prices_are_those_of_ones_own_group_with_the_list_price_beside_them(
    signed_in: Browser, person: Person, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    group = f"g{uuid4().hex[:8]}"
    await town_owner.execute("insert into account_group (name, multiplier) values ($1, 0.8)", group)
    for_all = await townsfolk.a_model(price=NewPrice(model=Decimal(1), completion=Decimal(4), cached=Decimal("0.5")))
    for_us, hidden = await townsfolk.a_model(only_groups=[group]), await townsfolk.a_model(only_groups=["standard"])
    before = await signed_in.get(f"/prices?q={for_all}")
    assert "list $" not in in_words(before.text)
    assert (await signed_in.get(f"/prices/{for_us}")).status == 404
    await town_owner.execute("update account set group_name = $2 where id = $1", person.account_id, group)
    page = in_words((await signed_in.get(f"/prices?q={for_all}")).text)
    assert "its group counts 0.8 times" in page
    assert f"{for_all} $1.60 list $2.00 $0.80 list $1.00 $6.40 list $8.00" in page
    assert "$1.60 list $2.00" in in_words((await signed_in.get(f"/prices/{for_us}")).text)
    assert (await signed_in.get(f"/prices/{hidden}")).status == 404
    form = (await signed_in.get("/keys/new")).text
    assert (f'value="{for_us}"' in form, f'value="{hidden}"' in form) == (True, False)


async def test_a_model_that_is_not_published_has_no_page(signed_in: Browser, townsfolk: Customers) -> None:
    hidden = await townsfolk.a_model(only_groups=[])
    assert (await signed_in.get(f"/prices/{hidden}")).status == 404
    assert (await signed_in.get("/prices/no/such/model")).status == 404
    assert hidden not in (await signed_in.get("/prices")).text


@pytest.mark.parametrize(
    ("kind", "size", "unit", "output"),
    [
        (Kind.CHAT, "", "$2.00", "$8.00"),
        (Kind.IMAGE, "1024x1024", "$0.000002", "$0.00"),
        (Kind.IMAGE, "", "$2.00", "$8.00"),
        (Kind.SPEECH, "", "$2.00", "$0.00"),
        (Kind.EMBEDDING, "", "$2.00", "$0.00"),
    ],
    ids=str,
)
def test_a_price_is_of_what_is_counted(kind: Kind, size: str, unit: str, output: str) -> None:
    price = Price(
        id=1, model_id="m", effective_from=NOW, model=MILLIONTHS, completion=4 * MILLIONTHS, cached=0, variant=size
    )
    figures = figures_of(kind, price, MILLIONTHS)
    assert (price_usd(figures.unit), price_usd(figures.output)) == (unit, output)


async def test_embeddings_and_images_by_token_are_listed_by_the_million(
    signed_in: Browser, townsfolk: Customers
) -> None:
    price = NewPrice(model=Decimal(1), completion=Decimal(8))
    image = await townsfolk.a_model(kind=Kind.IMAGE, price=price)
    embedding = await townsfolk.a_model(kind=Kind.EMBEDDING, price=price)
    assert f"{image} $2.00 $2.00 $16.00" in in_words((await signed_in.get(f"/prices?q={image}")).text)
    assert f"{embedding} a million tokens $2.00" in in_words((await signed_in.get(f"/prices?q={embedding}")).text)
    assert "$16.00" in in_words((await signed_in.get(f"/prices/{image}")).text)
    assert "In USD, for a million tokens" in in_words((await signed_in.get(f"/prices/{embedding}")).text)


@pytest.mark.parametrize(
    ("usd", "shown"),
    [("1234", "$1,234.00"), ("0.075", "$0.075"), ("2.49999", "$2.50"), ("0", "$0.00"), ("0.00012345", "$0.0001235")],
)
def test_a_price_has_two_decimals_or_four_digits(usd: str, shown: str) -> None:
    amount = Quota(int(Decimal(usd) * UNITS_PER_USD))
    assert price_usd(amount) == shown
    assert f'title="{exact(amount)}"' in price_cell(amount)
