"""Journeys of whoever keeps the catalog: models, prices, groups and codes, and what callers notice of them."""

from base64 import b64decode
from decimal import Decimal
from uuid import uuid4

from openai import APIStatusError
from playwright.sync_api import Browser

from proofs.operators.staff import staff_member
from proofs.rig.console.calling import UNITS_PER_USD, called, refused_with
from proofs.rig.console.place import Person, Place
from proofs.rig.console.visitor import Visitor
from proofs.rig.patience import came_true
from tollkeeper.core.people.logins import Role
from tollkeeper.office.desks import Office

HELD_WITHIN_SECONDS = 20.0
# A forced change leaves nodes the time to hear of it.
FORCED_WITHIN_SECONDS = 60.0
MILLION = 1_000_000
OUTPUT_USD = Decimal(8)


def a_model_added_edited_and_hidden(browser: Browser, place: Place) -> None:
    operator, customer = staff_member(browser, place, Role.OPERATOR), Customer(browser, place)
    model = _a_model(operator, usd="2")
    assert operator.says("$2.00")
    assert operator.says("$8.00")
    assert came_true(lambda: refused_with(place, customer.key, model) == 200, within_seconds=HELD_WITHIN_SECONDS)
    operator.send("/staff/models/change", max_output_tokens="3", hold_output_tokens="3")
    assert operator.says("The model is changed.")
    [caps] = place.rows("select max_output_tokens from model where id = $1", model)
    assert caps["max_output_tokens"] == 3
    operator.send("/staff/models/hide", reason="a journey")
    assert operator.says("The model is hidden")
    assert came_true(lambda: refused_with(place, customer.key, model) == 404, within_seconds=HELD_WITHIN_SECONDS)
    operator.go("/staff/models?hidden=true")
    assert model in operator.main
    operator.go(f"/staff/models/one?model={model}")
    operator.send("/staff/models/unhide", reason="a journey")
    assert came_true(lambda: refused_with(place, customer.key, model) == 200, within_seconds=HELD_WITHIN_SECONDS)
    _over(operator, customer.visitor)


def a_price_previewed_announced_and_charged(browser: Browser, place: Place) -> None:
    operator, customer = staff_member(browser, place, Role.OPERATOR), Customer(browser, place)
    model = _a_model(operator, usd="2")
    assert came_true(lambda: refused_with(place, customer.key, model) == 200, within_seconds=HELD_WITHIN_SECONDS)
    charged = _charged(place, customer, model)
    assert charged == _cost(place, customer, model, Decimal(2))
    operator.go(f"/staff/prices/change?model={model}")
    change = "/staff/prices/change"
    assert operator.send(change, usd_unit="0.3", usd_output="2.5000001") == 422, "it would have to be rounded"
    assert operator.says("2.50 and 2.500002 USD"), operator.main
    operator.send(change, usd_unit="4", usd_output="8.00")
    assert operator.says("What real calls would have cost"), operator.main
    assert operator.says("1 dearer"), operator.main
    operator.form(change).locator("[name=effective_from]").fill("")
    _announce(operator)
    assert operator.says("coming")
    assert came_true(lambda: _is_coming(customer.visitor, model), within_seconds=HELD_WITHIN_SECONDS)
    [coming] = place.rows("select id from price where model_id = $1 and effective_from > ledger_now()", model)
    operator.send(f"/staff/prices/{coming['id']}/withdraw", reason="a slip")
    assert operator.says("The change is withdrawn")
    operator.go(f"/staff/prices/change?model={model}")
    operator.form(change).locator("[name=usd_unit]").fill("4")
    operator.form(change).locator("[name=forced_because]").fill("theirs rose")
    _announce(operator)
    in_force = (
        "select count(*) from price where model_id = $1 and withdrawn_at is null and effective_from <= ledger_now()"
    )
    assert came_true(lambda: place.value(in_force, model) == 2, within_seconds=FORCED_WITHIN_SECONDS)
    _charged(place, customer, model)
    assert came_true(
        lambda: _charged(place, customer, model) == _cost(place, customer, model, Decimal(4)),
        within_seconds=HELD_WITHIN_SECONDS,
    )
    _over(operator, customer.visitor)


def codes_made_exported_redeemed_and_revoked(browser: Browser, place: Place) -> None:
    operator, customer = staff_member(browser, place, Role.OPERATOR), Customer(browser, place)
    operator.go("/staff/codes/new")
    operator.send("/staff/codes/new", usd="25", codes="3", valid_days="30", note="a journey", reason="a journey")
    batch = operator.path
    operator.send(f"{batch}/export", reason="a journey")
    codes = operator.page.locator("#codes").input_value().split()
    assert len(codes) == 3
    file = operator.page.locator("a[download]").get_attribute("href") or ""
    assert b64decode(file.partition(",")[2]).decode().split() == codes
    with operator.page.expect_download() as download:
        operator.page.locator("a[download]").click()
    assert download.value.path().read_text().split() == codes
    operator.go(batch)
    assert not any(code in operator.text for code in codes), "they are shown once"
    assert operator.form(f"{batch}/export").count() == 0
    customer.visitor.go("/top-up")
    customer.visitor.send("/top-up", code=codes[0])
    assert customer.visitor.says("$25.00"), customer.visitor.main
    operator.send(f"{batch}/revoke", reason="the rest was lost")
    assert operator.says("Revoked")
    assert operator.page.locator("dt:has-text('Redeemed') + dd").inner_text() == "1"
    customer.visitor.go("/top-up")
    assert customer.visitor.send("/top-up", code=codes[1]) == 422
    _over(operator, customer.visitor)


def a_group_that_holds_for_its_members(browser: Browser, place: Place) -> None:
    operator, customer = staff_member(browser, place, Role.OPERATOR), Customer(browser, place)
    model, group = _a_model(operator, usd="2"), f"gold-{uuid4().hex[:6]}"
    assert came_true(lambda: refused_with(place, customer.key, model) == 200, within_seconds=HELD_WITHIN_SECONDS)
    operator.go("/staff/groups/new")
    operator.send("/staff/groups/new", group=group, multiplier="0.5", key_rate="3", standard_rate="100")
    assert operator.says("The group is made.")

    async def move(desk: Office) -> None:
        await desk.groups.move(customer.person.account_id, group, actor="proof")

    place.operate(move)
    assert came_true(
        lambda: _charged(place, customer, model) * 2 == _cost(place, customer, model, Decimal(2)),
        within_seconds=HELD_WITHIN_SECONDS,
    )
    # Of its key, three in any minute: those of the minute before count as well.
    statuses = [refused_with(place, customer.key, model) for _ in range(4)]
    assert statuses[-1] == 429, statuses
    operator.go("/staff/groups")
    row = operator.page.locator(f"tr:has-text('{group}')")
    assert row.locator("td").nth(1).inner_text() == "1"
    operator.go(f"/staff/groups/one?group={group}")
    assert operator.send("/staff/groups/remove", reason="a journey") == 422, "it has an account"
    operator.send("/staff/groups/change", multiplier="0.25", reason="a better deal", key_rate="")
    assert operator.says("The group is changed.")
    assert came_true(
        lambda: (
            refused_with(place, customer.key, model) == 200
            and _charged(place, customer, model) * 4 == _cost(place, customer, model, Decimal(2))
        ),
        within_seconds=HELD_WITHIN_SECONDS,
    )
    _over(operator, customer.visitor)


class Customer:
    """Somebody with a key."""

    def __init__(self, browser: Browser, place: Place) -> None:
        self.person: Person = place.a_person()
        self.visitor = Visitor(browser, place, self.person.ip)
        self.visitor.sign_in(self.person)
        self.visitor.go("/keys/new")
        self.visitor.send("/keys/new", name="of a journey")
        self.key = self.visitor.one(".copied-from")


def _a_model(operator: Visitor, *, usd: str) -> str:
    """Another one, whose output costs 8 USD for a million tokens."""
    model = f"gpt-{uuid4().hex[:8]}"
    operator.go("/staff/models/new")
    operator.send("/staff/models/new", model=model, kind="chat", usd_unit=usd, usd_cached=usd, usd_output="8")
    assert operator.path == "/staff/models/one", operator.main
    return model


def _announce(operator: Visitor) -> None:
    with operator.another_page():
        operator.page.get_by_role("button", name="Announce the change").click()
    assert operator.says("The change is in the book and announced."), operator.main


def _is_coming(visitor: Visitor, model: str) -> bool:
    visitor.go("/prices")
    coming = visitor.page.locator("section[aria-labelledby=coming-title]")
    return coming.count() == 1 and model in coming.inner_text()


def _charged(place: Place, customer: Customer, model: str) -> int:
    """What a call is charged that is made now, in units."""
    try:
        call = called(place, customer.key, model=model)
    except APIStatusError as refusal:
        return -refusal.status_code
    found = "select charged, input_units, output_units from usage where request_id = $1::text::uuid"
    assert came_true(lambda: bool(place.rows(found, call.request_id)), within_seconds=HELD_WITHIN_SECONDS)
    return int(place.value(found, call.request_id))


def _cost(place: Place, customer: Customer, model: str, usd: Decimal) -> int:
    """What the account's last call costs by the list, reckoned without the product."""
    [row] = place.rows(
        "select u.input_units, u.output_units from usage u join price p on p.id = u.price_id"
        " where u.account_id = $1 and p.model_id = $2 order by u.request_id desc limit 1",
        customer.person.account_id,
        model,
    )
    cost = (usd * row["input_units"] + OUTPUT_USD * row["output_units"]) / MILLION * UNITS_PER_USD
    assert cost == int(cost)
    return int(cost)


def _over(*visitors: Visitor) -> None:
    for visitor in visitors:
        assert visitor.complaints == []
        visitor.close()
