"""What is sent over a session that ends meanwhile is not done."""

import asyncpg

from tests.console.browser import Browser
from tests.people import Person
from tollkeeper.console.desks import Desks

END = "update session set revoked_at = ledger_now() where account_id = $1"


async def test_a_form_whose_session_ended_before_its_body_came_is_not_taken(
    signed_in: Browser, person: Person, desks: Desks, town_owner: asyncpg.Connection
) -> None:
    form = await signed_in.get("/keys/new")
    signed_in.before_body = lambda: town_owner.execute(END, person.account_id)
    answer = await signed_in.post("/keys/new", form_id=form.hidden()["form_id"], name="too late")
    assert (answer.status, answer.goes_to.startswith("/sign-in")) == (303, True)
    assert await desks.keys.of_account(person.account_id) == []
