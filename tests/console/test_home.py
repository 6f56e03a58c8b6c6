"""Home: what there is, what was spent, and steps that tick themselves off."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import asyncpg
import pytest

from tests.console.browser import Browser
from tests.console.calls import CallMade, a_call, in_words
from tests.console.conftest import enter
from tests.customers import Customer, Customers
from tests.people import People, Person
from tollkeeper.console.connect import CLIENTS
from tollkeeper.console.desks import Site
from tollkeeper.core.money.charge import Ending

ONE_USD = 500_000_000_000


async def test_the_balance_is_taken_apart_by_lots_with_the_day_on_which_each_lapses(
    signed_in: Browser, person: Person, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    await townsfolk.credit(person.account_id, "25")
    soon = await townsfolk.credit(person.account_id, "20")
    await town_owner.execute(
        "update lot set expires_at = ledger_now() + interval '17 days 1 hour', remaining = remaining / 2 where id = $1",
        soon,
    )
    told = in_words((await signed_in.get("/")).text)
    assert "Where your $35.00 is" in told
    assert f'href="/statements?month={datetime.now(UTC):%Y-%m}#credits"' in signed_in.page.text
    assert "$10.00 of $20.00 · lapses in 17 days" in told
    assert "$25.00 of $25.00 · lapses" in told


async def test_what_lapses_or_is_bound_to_a_key_does_not_make_the_balance_last_longer(
    signed_in: Browser, key_holder: Customer, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    account_id, model = key_holder.account_id, await townsfolk.a_model()
    lapsing, bound = await townsfolk.credit(account_id, "100"), await townsfolk.credit(account_id, "100")
    other_key = await townsfolk.a_key(account_id)
    set_week = """insert into usage_day values
        ($1, (ledger_now() at time zone 'UTC')::date - 1, $2, $3, 'completed', 1, 1, 0, 1, $4)"""
    await town_owner.execute(set_week, account_id, key_holder.key_id, model, 7 * ONE_USD)
    await town_owner.execute("update lot set key_id = $2 where id = $1", bound, other_key.key_id)
    told = in_words((await signed_in.get("/")).text)
    assert "Balance $200.00 · about 100 days at your pace" in told
    assert told.count("about 100 days at your pace") == 2
    await town_owner.execute("update lot set expires_at = ledger_now() + interval '30 hours' where id = $1", lapsing)
    assert "Balance $200.00 · about 1 day at your pace" in in_words((await signed_in.get("/")).text)


async def test_held_quota_is_named_as_held_and_not_as_spent(
    signed_in: Browser, person: Person, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    await townsfolk.credit(person.account_id, "10")
    assert "held" not in in_words((await signed_in.get("/")).text).lower()
    await town_owner.execute("update account_books set held = $2 where account_id = $1", person.account_id, ONE_USD)
    told = in_words((await signed_in.get("/")).text)
    await town_owner.execute("update account_books set held = 0 where account_id = $1", person.account_id)
    assert "$1.00 held by running calls" in told
    assert "Held by running calls $1.00 not spent" in told
    assert "Spent today $0.00" in told


async def test_figures_are_of_their_days_and_lead_to_their_calls(
    signed_in: Browser, key_holder: Customer, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    model = await townsfolk.a_model()
    for days, usd in ((0, 1), (1, 2), (5, 4), (10, 8), (25, 16), (31, 32)):
        call = CallMade(model=model, charged=usd * ONE_USD, ago=timedelta(days=days))
        await a_call(town_owner, key_holder, call)
    await a_call(town_owner, key_holder, CallMade(model=model, charged=0, ending=Ending.REFUSED))
    page = await signed_in.get("/")
    told = in_words(page.text)
    assert "Spent today $1.00 yesterday $2.00" in told
    assert "Last 7 days $7.00 the week before $8.00" in told
    assert "Last 30 days $31.00 6 calls" in told
    assert "Calls, 7 days 4 1 not completed" in told
    assert page.text.count('<a class="card stat" href="/usage?from=') == 3
    [not_completed] = re.findall(r'href="(/usage[^"]*ending=not_completed)"', page.text)
    assert "$0.00 in 1 call" in in_words((await signed_in.get(unescape(not_completed))).text)
    assert f"{model}, $16.00" in page.text
    assert "a key, $16.00" in (await signed_in.get("/?by=key")).text


async def test_first_steps_tick_themselves_off(
    browser: Browser, people: People, person: Person, townsfolk: Customers, town_owner: asyncpg.Connection
) -> None:
    await enter(browser, person)

    async def done() -> str:
        told = in_words((await browser.get("/")).text)
        return told.partition("First steps ")[2][:6]

    assert await done() == "0 of 4"
    await townsfolk.credit(person.account_id, "10")
    assert await done() == "1 of 4"
    customer = await townsfolk.a_key(person.account_id)
    assert await done() == "2 of 4"
    await a_call(town_owner, customer, CallMade(model=await townsfolk.a_model()))
    assert await done() == "3 of 4"
    browser.cookies["__Host-tollkeeper"] = (await people.enrol(person)).token
    assert await done() == ""
    assert "Connect" in browser.page.text


@pytest.mark.parametrize("client", CLIENTS)
async def test_what_to_paste_has_this_services_address_and_a_model(
    signed_in: Browser, townsfolk: Customers, site: Site, client: str
) -> None:
    await townsfolk.a_model()
    page = await signed_in.get(f"/?connect={client}")
    shown = page.text.partition('<pre class="code">')[2].partition("</pre>")[0]
    assert site.main_url in shown
    assert "YOUR_KEY" in shown
    assert "{" + "BASE" not in shown
    assert "{" + "MODEL" not in shown


async def test_quota_that_one_key_alone_can_spend_says_so(signed_in: Browser, person: Person) -> None:
    form = await signed_in.get("/faucet")
    await signed_in.post("/faucet", form_id=form.hidden()["form_id"])
    assert "of $1.00 · for the key “Faucet” alone · lapses" in in_words((await signed_in.get("/")).text)
