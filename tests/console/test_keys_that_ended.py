"""A key after its last day: what can be done with it, and what cannot."""

from datetime import UTC, datetime

import asyncpg

from tests.console.browser import Browser
from tests.console.calls import in_words
from tests.customers import Customers
from tests.people import Person
from tollkeeper.console.desks import Desks

OVER = "update api_key set expires_at = ledger_now() - interval '1 day' where id = $1"


async def test_an_expired_key_offers_a_later_day_and_no_button_that_would_change_nothing(
    signed_in: Browser, person: Person, townsfolk: Customers, desks: Desks, town_owner: asyncpg.Connection
) -> None:
    key_id = (await townsfolk.a_key(person.account_id)).key_id
    await town_owner.execute(OVER, key_id)
    for path in ("/keys", f"/keys/{key_id}"):
        page = await signed_in.get(path)
        assert "expired" in page.text
        assert f"/keys/{key_id}/pause" not in page.text
        assert f"/keys/{key_id}/rotate" not in page.text
        assert f"/keys/{key_id}/revoke" in page.text
    assert "With a later last day it works again." in in_words(signed_in.page.text)
    await signed_in.post(f"/keys/{key_id}", name="again", expires_on="2099-12-31")
    [key] = await desks.keys.of_account(person.account_id)
    assert key.expires_at == datetime(2100, 1, 1, tzinfo=UTC)
    assert f"/keys/{key_id}/rotate" in (await signed_in.get("/keys")).text
