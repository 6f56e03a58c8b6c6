"""Notices: what is chosen is kept, and what cannot be taken is told beside its field."""

import re

import asyncpg

from tests.console.browser import Browser
from tests.people import Person
from tollkeeper.console.desks import Desks
from tollkeeper.core.money.amounts import UNITS_PER_USD, Quota
from tollkeeper.ports.customers.notices import NoticeChoices


def ticked(text: str) -> set[str]:
    return set(re.findall(r'name="(\w+)" value="yes" checked', text))


async def test_everything_is_told_at_first_but_a_days_spend(signed_in: Browser) -> None:
    page = await signed_in.get("/notices")
    assert ticked(page.text) == {"low_balance", "lot_expiring", "price_change", "new_sign_in"}
    assert "Empty: below $1.00." in page.text


async def test_what_is_chosen_is_kept(
    signed_in: Browser, person: Person, desks: Desks, town_owner: asyncpg.Connection
) -> None:
    await signed_in.get("/notices")
    answer = await signed_in.post(
        "/notices", low_balance="yes", low_balance_below="7.50", day_spend="yes", day_spend_above="$20"
    )
    assert answer.goes_to == "/notices?done=notices-kept"
    page = await signed_in.follow()
    assert ticked(page.text) == {"low_balance", "day_spend"}
    assert 'value="7.5"' in page.text
    assert 'value="20"' in page.text
    assert await desks.notices.of(person.account_id) == NoticeChoices(
        low_balance=True,
        low_balance_below=Quota(75 * UNITS_PER_USD // 10),
        lot_expiring=False,
        price_change=False,
        new_sign_in=False,
        day_spend_above=Quota(20 * UNITS_PER_USD),
    )
    told = await town_owner.fetchval(
        "select action from audit where subject = $1 order by id desc limit 1", f"account:{person.account_id}"
    )
    assert told == "account.notices"
    await signed_in.post("/notices", day_spend_above="20")
    assert (await desks.notices.of(person.account_id)).day_spend_above is None


async def test_what_is_no_amount_is_told_beside_its_field(signed_in: Browser, person: Person, desks: Desks) -> None:
    for fields, wrong in (
        ({"low_balance_below": "much"}, "low_balance_below"),
        ({"low_balance_below": "0"}, "low_balance_below"),
        ({"day_spend": "yes", "day_spend_above": ""}, "day_spend_above"),
    ):
        await signed_in.get("/notices")
        answer = await signed_in.post("/notices", **fields)
        assert (answer.status, f'id="{wrong}-error"' in answer.text) == (422, True)
    assert await desks.notices.of(person.account_id) == NoticeChoices()
