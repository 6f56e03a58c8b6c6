"""Keys: made, changed, rotated and revoked on their pages, by whoever has them."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import asyncpg
import pytest
from starlette.applications import Starlette

from tests.console.browser import ORIGIN, Answer, Browser
from tests.console.calls import in_words
from tests.console.conftest import enter
from tests.customers import Customers
from tests.people import People, Person
from tollkeeper.console.desks import Desks, Site
from tollkeeper.console.seals import Seals
from tollkeeper.core.money.amounts import UNITS_PER_USD
from tollkeeper.ports import KeyOnFile
from tollkeeper.settings import Settings

# On the list: the name itself, and for screen readers beside each of four links and buttons.
NAMED_IN_A_ROW = 5
KEY = re.compile(r"sk-[0-9A-Za-z]{49}")
DRAWN = re.compile(r'data-copy="(sk-[0-9A-Za-z]{49})"')


async def make(browser: Browser, **fields: str) -> Answer:
    form = await browser.get("/keys/new")
    return await browser.post("/keys/new", **{"form_id": form.hidden()["form_id"], "name": "laptop"} | fields)


def key_in(answer: Answer) -> str:
    found = DRAWN.search(answer.text)
    assert found is not None
    return found[1]


async def the_key(desks: Desks, person: Person) -> KeyOnFile:
    [key] = await desks.keys.of_account(person.account_id)
    return key


async def test_an_account_without_keys_is_shown_the_next_step(signed_in: Browser) -> None:
    page = await signed_in.get("/keys")
    assert "You have no key yet" in page.text
    assert 'href="/keys/new"' in page.text


async def test_a_key_is_shown_once_and_its_digest_is_on_file(
    signed_in: Browser, person: Person, desks: Desks, town_settings: Settings
) -> None:
    page = await make(signed_in)
    key = key_in(page)
    assert page.status == 200
    digests = desks.key_maker.peppers.digests(key)
    owner = await asyncpg.connect(town_settings.database_url.reveal(), server_settings={"search_path": "tollkeeper"})
    filed = await owner.fetchval("select account_id from api_key where digest = any($1::bytea[])", digests)
    await owner.close()
    assert filed == person.account_id
    shown = await signed_in.get("/keys")
    assert "laptop" in shown.text
    assert not KEY.search(shown.text)
    assert f"{key[:4]}…{key[-4:]}" in shown.text


async def test_a_form_that_is_sent_twice_makes_one_key(signed_in: Browser, person: Person, desks: Desks) -> None:
    form_id = (await signed_in.get("/keys/new")).hidden()["form_id"]
    token = signed_in.page.hidden()["form_token"]
    assert (await signed_in.post("/keys/new", form_id=form_id, name="one")).status == 200
    again = await signed_in.post("/keys/new", form_id=form_id, name="one", form_token=token)
    assert again.goes_to == "/keys/new?done=sent-before"
    assert len(await desks.keys.of_account(person.account_id)) == 1


async def test_every_limit_of_the_form_is_on_the_key(
    signed_in: Browser, person: Person, desks: Desks, townsfolk: Customers
) -> None:
    model = await townsfolk.a_model()
    page = await make(
        signed_in,
        expires_on="2099-12-31",
        quota="20",
        daily_budget="1.5",
        monthly_budget="$10.25",
        which_models="some",
        model=model,
        networks="203.0.113.7\r\n2001:db8::/48",
    )
    assert page.status == 200
    key = await the_key(desks, person)
    assert key.expires_at == datetime(2100, 1, 1, tzinfo=UTC)
    assert key.quota == 20 * UNITS_PER_USD
    assert key.daily_budget == 15 * UNITS_PER_USD // 10
    assert key.monthly_budget == 1025 * UNITS_PER_USD // 100
    assert key.only_models == [model]
    assert list(map(str, key.only_networks or ())) == ["203.0.113.7/32", "2001:db8::/48"]
    for path in ("/keys", f"/keys/{key.key_id}"):
        shown = (await signed_in.get(path)).text
        for told in ("$0.00 of $20.00 used, in all", "$0.00 of $1.50 used, today", "$0.00 of $10.25 used, this month"):
            assert told in shown


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("name", ""),
        ("name", "x" * 65),
        ("name", "two\nlines"),
        ("expires_on", "tomorrow"),
        ("expires_on", "2026-02-30"),
        ("expires_on", "9999-12-31"),
        ("expires_on", "2020-01-01"),
        ("quota", "-1"),
        ("quota", "0"),
        ("quota", "1e999999999"),
        ("quota", "1,5"),
        ("daily_budget", "much"),
        ("monthly_budget", "NaN"),
        ("networks", "203.0.113.7/24"),
        ("networks", " ".join(f"192.0.2.{last}" for last in range(101))),
    ],
)
async def test_what_cannot_be_taken_is_told_beside_its_field(
    signed_in: Browser, person: Person, desks: Desks, field: str, given: str
) -> None:
    answer = await make(signed_in, **{field: given})
    assert (answer.status, f'id="{field}-error"' in answer.text) == (422, True)
    assert await desks.keys.of_account(person.account_id) == []
    assert "form_id" in answer.hidden()


@pytest.mark.parametrize("chosen", [{}, {"model": "no-such-model"}], ids=["none", "unknown"])
async def test_a_key_for_some_models_names_some(signed_in: Browser, chosen: dict[str, str]) -> None:
    answer = await make(signed_in, which_models="some", **chosen)
    assert (answer.status, 'id="which_models-error"' in answer.text) == (422, True)


async def test_a_key_is_changed_and_what_was_not_touched_stays(
    signed_in: Browser, person: Person, desks: Desks, townsfolk: Customers
) -> None:
    expires_at = datetime.now(UTC) + timedelta(days=40)
    key_id = (await townsfolk.a_key(person.account_id, quota_usd="5", expires_at=expires_at)).key_id
    page = await signed_in.get(f"/keys/{key_id}")
    day = re.search(r'name="expires_on"[^>]* value="([0-9-]+)"', page.text)
    assert day is not None
    assert (await signed_in.post(f"/keys/{key_id}", name="", quota="5")).status == 422
    answer = await signed_in.post(f"/keys/{key_id}", name="server", quota="7.5", expires_on=day[1])
    assert answer.goes_to == "/keys?done=key-changed"
    changed = await the_key(desks, person)
    assert (changed.name, changed.quota) == ("server", 75 * UNITS_PER_USD // 10)
    assert changed.expires_at == expires_at
    assert "The key is changed." in (await signed_in.follow()).text


async def test_a_rotated_key_is_another_text_and_the_old_one_is_kept_for_the_time_chosen(
    signed_in: Browser, person: Person, desks: Desks
) -> None:
    old = key_in(await make(signed_in))
    key_id = (await the_key(desks, person)).key_id
    path = f"/keys/{key_id}/rotate"
    assert (await signed_in.get(path)).status == 200
    form_id = signed_in.page.hidden()["form_id"]
    page = await signed_in.post(path, form_id=form_id, keep_hours="24")
    new = key_in(page)
    assert new != old
    key = await the_key(desks, person)
    assert key.key_id == key_id
    assert key.former_until is not None
    assert timedelta(hours=23) < key.former_until - datetime.now(UTC) < timedelta(hours=25)
    assert (await signed_in.post(path, form_id=form_id, keep_hours="24")).goes_to == f"{path}?done=sent-before"
    await signed_in.get(path)
    form_id = signed_in.page.hidden()["form_id"]
    refused = await signed_in.post(path, form_id=form_id, keep_hours="1")
    assert (refused.status, 'id="keep_hours-error"' in refused.text) == (422, True)
    ended = await signed_in.post(path, form_id=refused.hidden()["form_id"], keep_hours="0")
    assert key_in(ended) != new


async def test_what_calls_hold_counts_in_the_budgets_and_is_told_as_held(
    signed_in: Browser, person: Person, desks: Desks, town_owner: asyncpg.Connection
) -> None:
    await make(signed_in, daily_budget="1", monthly_budget="10")
    key_id = (await the_key(desks, person)).key_id
    await town_owner.execute(
        "update key_books set day = (ledger_now() at time zone 'UTC')::date, day_total = $2, month_total = $3,"
        " held = $4 where key_id = $1",
        key_id,
        UNITS_PER_USD * 9 // 10,
        UNITS_PER_USD * 3,
        UNITS_PER_USD * 2 // 10,
    )
    for path in ("/keys", f"/keys/{key_id}"):
        page = await signed_in.get(path)
        assert "$0.90 of $1.00 used, today" in page.text
        assert "$3.00 of $10.00 used, this month" in page.text
        assert page.text.count("fill warn") == 1
        assert "$0.20 held by running calls, counted in the budgets" in in_words(page.text)
        assert f"key={key_id}" in page.text
    await town_owner.execute("update key_books set day = day - 40 where key_id = $1", key_id)
    assert "$0.00 of $1.00 used, today" in (await signed_in.get("/keys")).text
    assert "$0.00 of $10.00 used, this month" in (await signed_in.get("/keys")).text


async def test_a_key_is_paused_and_resumed_by_buttons_and_twice_is_once(
    signed_in: Browser, person: Person, desks: Desks
) -> None:
    await make(signed_in)
    key_id = (await the_key(desks, person)).key_id
    for _ in range(2):
        await signed_in.get("/keys")
        assert (await signed_in.post(f"/keys/{key_id}/pause")).goes_to == "/keys?done=key-paused"
    page = await signed_in.follow()
    assert "The key is paused." in page.text
    assert f'action="/keys/{key_id}/resume"' in page.text
    assert f'action="/keys/{key_id}/pause"' not in page.text
    assert (await the_key(desks, person)).paused_at is not None
    assert "Calls with it are refused until you resume it." in in_words((await signed_in.get(f"/keys/{key_id}")).text)
    for _ in range(2):
        await signed_in.get("/keys")
        assert (await signed_in.post(f"/keys/{key_id}/resume")).goes_to == "/keys?done=key-resumed"
    assert "The key is resumed." in (await signed_in.follow()).text
    assert (await the_key(desks, person)).paused_at is None


async def test_a_revoked_key_is_listed_and_can_not_be_changed_any_more(
    signed_in: Browser, person: Person, desks: Desks
) -> None:
    await make(signed_in)
    key_id = (await the_key(desks, person)).key_id
    assert (await signed_in.get(f"/keys/{key_id}/revoke")).status == 200
    assert (await signed_in.post(f"/keys/{key_id}/revoke")).goes_to == "/keys?done=key-revoked"
    assert (await the_key(desks, person)).revoked_at is not None
    assert "1 revoked key" in (await signed_in.follow()).text
    for path in ("", "/rotate", "/revoke"):
        assert (await signed_in.get(f"/keys/{key_id}{path}")).status == 404


async def test_anothers_key_is_as_unknown_as_one_that_is_none(
    application: Starlette, signed_in: Browser, person: Person, people: People, desks: Desks, site: Site
) -> None:
    await make(signed_in)
    before = await the_key(desks, person)
    other = Browser(application)
    await enter(other, await people.a_person())
    for key_id in (before.key_id, 2**70):
        for path in ("", "/rotate", "/revoke"):
            assert (await other.get(f"/keys/{key_id}{path}")).status == 404
        await other.get("/keys")
        assert (await other.post(f"/keys/{key_id}", name="mine now")).status == 404
        for verb in ("pause", "resume", "revoke"):
            await other.get("/keys")
            assert (await other.post(f"/keys/{key_id}/{verb}")).status == 404
        rotate = f"/keys/{key_id}/rotate"
        await other.get("/keys")
        # Such a form as no page would have given them.
        form_id = Seals(site.secret).form_id(other.cookies["__Host-tollkeeper"], rotate)
        assert (await other.post(rotate, form_id=form_id, keep_hours="0")).status == 404
    assert await the_key(desks, person) == before


async def test_a_key_revoked_twice_is_told_as_revoked(signed_in: Browser, person: Person, desks: Desks) -> None:
    await make(signed_in)
    path = f"/keys/{(await the_key(desks, person)).key_id}/revoke"
    await signed_in.get(path)
    token = signed_in.page.hidden()["form_token"]
    for _ in range(2):
        assert (await signed_in.post(path, form_token=token)).goes_to == "/keys?done=key-revoked"


async def test_an_account_has_a_thousand_keys_and_pages_stay_small(
    signed_in: Browser, person: Person, desks: Desks, town_owner: asyncpg.Connection
) -> None:
    many = """
    insert into api_key (account_id, name, pepper_version, digest, hint, revoked_at)
    select $1, 'one of many', 1, sha256(convert_to($1::bigint || ' ' || each, 'UTF8')), 'sk-...',
           case when $2 then ledger_now() end
    from generate_series($3::int, $4::int) each
    """
    await town_owner.execute(many, person.account_id, False, 1, 1_000)
    await town_owner.execute(many, person.account_id, True, 1_001, 2_000)
    refused = await make(signed_in)
    assert (refused.status, "You have 1000 keys" in refused.text) == (422, True)
    page = await signed_in.get("/keys")
    assert page.text.count("one of many") == 1_000 * NAMED_IN_A_ROW + 100
    assert "are not listed" in page.text
    newest = "select max(id) from api_key where account_id = $1 and revoked_at is null"
    await desks.keys.revoke(
        await town_owner.fetchval(newest, person.account_id), account_id=person.account_id, actor="a test"
    )
    assert (await make(signed_in)).status == 200


async def test_a_key_for_hundreds_of_models_is_made(
    signed_in: Browser, person: Person, desks: Desks, townsfolk: Customers
) -> None:
    model = await townsfolk.a_model()
    form = await signed_in.get("/keys/new")
    fields = {
        "form_token": form.hidden()["form_token"],
        "form_id": form.hidden()["form_id"],
        "name": "choosy",
        "which_models": "some",
    }
    body = urlencode([*fields.items(), *[("model", model)] * 500])
    answer = await signed_in.send("POST", "/keys/new", body=body.encode(), headers={"origin": ORIGIN})
    assert answer.status == 200
    assert (await the_key(desks, person)).only_models == [model]


async def test_beside_a_key_that_is_shown_once_there_is_no_button_that_would_lose_it(signed_in: Browser) -> None:
    form = await signed_in.get("/keys/new")
    assert 'action="/preferences"' in form.text
    page = await signed_in.post("/keys/new", form_id=form.hidden()["form_id"], name="laptop")
    assert key_in(page)
    assert 'action="/preferences"' not in page.text
